"""Word lists for `eval.cards.edits`: what a rule may put in the place of what. Plain English, written for this project."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def words_of(text: str) -> list[str]:
    return text.split()


def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    """`a/b, c d/e` -> (("a", "b"), ("c d", "e"))."""
    found = []
    for item in " ".join(text.split()).split(","):
        left, _, right = item.strip().partition("/")
        if right:
            found.append((left.strip(), right.strip()))
    return tuple(found)


ANTONYMS = _pairs("""
    won/lost, wins/loses, winner/loser, winners/losers, winning/losing, victory/defeat, increased/decreased,
    increase/decrease, increases/decreases, increasing/decreasing, rose/fell, rises/falls, rising/falling, grew/shrank,
    growing/shrinking, growth/decline, gained/lost, north/south, northern/southern, northeast/southwest,
    northwest/southeast, east/west, eastern/western, eastward/westward, northward/southward, first/last, earliest/latest,
    earlier/later, oldest/youngest, older/younger, old/new, approved/rejected, approval/rejection, accepted/refused,
    accepts/refuses, agreed/refused, arrested/released, arrest/release, guilty/innocent, convicted/acquitted,
    conviction/acquittal, largest/smallest, larger/smaller, large/small, big/little, biggest/smallest, bigger/smaller,
    highest/lowest, higher/lower, high/low, longest/shortest, longer/shorter, long/short, tall/short, taller/shorter,
    tallest/shortest, opened/closed, opens/closes, opening/closing, began/ended, begins/ends, start/end, started/ended,
    beginning/end, entered/left, enters/leaves, arrived/departed, arrives/departs, arrival/departure, appeared/disappeared,
    attacked/defended, attack/defence, bought/sold, buys/sells, buyer/seller, lent/borrowed, import/export, imports/exports,
    imported/exported, joined/left, hired/dismissed, appointed/dismissed, elected/ousted, promoted/relegated,
    promotion/relegation, succeeded/failed, success/failure, successful/unsuccessful, successfully/unsuccessfully,
    legal/illegal, legally/illegally, lawful/unlawful, public/private, publicly/privately, official/unofficial,
    officially/unofficially, civilian/military, married/divorced, born/killed, dead/alive, died/survived, survivors/victims,
    male/female, men/women, man/woman, boy/girl, boys/girls, father/mother, son/daughter, sons/daughters, brother/sister,
    brothers/sisters, husband/wife, king/queen, uncle/aunt, grandfather/grandmother, actor/actress, friend/enemy,
    friends/enemies, ally/enemy, allies/enemies, friendly/hostile, supported/opposed, supports/opposes, support/opposition,
    supporters/opponents, supporter/opponent, praised/criticized, praise/criticism, positive/negative,
    positively/negatively, favorable/unfavorable, popular/unpopular, best/worst, better/worse, good/bad, strong/weak,
    stronger/weaker, strongest/weakest, strengthened/weakened, fast/slow, faster/slower, quickly/slowly, hot/cold,
    warm/cool, warmer/cooler, dry/wet, rich/poor, richest/poorest, wealthy/poor, cheap/expensive, upper/lower, top/bottom,
    above/below, inside/outside, internal/external, front/rear, major/minor, majority/minority, maximum/minimum, more/fewer,
    most/least, heavy/light, heavier/lighter, deep/shallow, wide/narrow, wider/narrower, full/empty, ancient/modern,
    rural/urban, domestic/foreign, local/foreign, national/local, permanent/temporary, permanently/temporarily, common/rare,
    frequently/rarely, often/seldom, always/never, active/inactive, safe/dangerous, simple/complex, easy/difficult,
    easily/hardly, possible/impossible, likely/unlikely, able/unable, known/unknown, expected/unexpected, included/excluded,
    includes/excludes, including/excluding, allowed/banned, allows/forbids, permitted/prohibited, permits/prohibits,
    banned/permitted, raised/lowered, raises/lowers, created/destroyed, creates/destroys, creation/destruction,
    built/demolished, construction/demolition, expanded/reduced, expansion/reduction, accelerated/slowed,
    encouraged/discouraged, encourages/discourages, united/divided, independent/dependent, independence/dependence,
    war/peace, liberal/conservative, progressive/conservative, democratic/authoritarian, domestic/international,
    presence/absence, present/absent, advantage/disadvantage, advantages/disadvantages, profit/loss, profits/losses,
    surplus/deficit, wealth/poverty, attracts/repels, attracted/repelled, absorbs/emits, solid/liquid, acidic/basic,
    voluntary/compulsory, optional/mandatory, formal/informal, direct/indirect, directly/indirectly, morning/evening,
    summer/winter, spring/autumn, day/night, yesterday/tomorrow, ascending/descending, forward/backward
""")
"""Both ways. Words whose other meanings are more frequent (left, right, may, over) are only where the meaning is likely."""

SYNONYMS = _pairs("""
    said that/stated that, said/stated, stated that/said that, films/movies, film/movie, movie/film, movies/films,
    purchased/bought, bought/purchased, began/started, started/began, commenced/began, commence/begin, concluded that/found
    that, assisted/helped, helped/assisted, assist/help, attorney/lawyer, lawyer/attorney, lawyers/attorneys,
    physician/doctor, physicians/doctors, constructed/built, erected/built, located in/situated in, situated in/located in,
    occurred/took place, took place/occurred, happened/occurred, occurs/happens, prior to/before, numerous/many, several/a
    number of, approximately/about, approximately/roughly, roughly/about, nearly/almost, almost/nearly, due to/because of,
    because of/due to, in order to/to, attempted to/tried to, tried to/attempted to, attempts to/tries to, sought to/tried
    to, despite/in spite of, in spite of/despite, nation's/country's, nations/countries, automobile/car, automobiles/cars,
    sufficient/enough, entire/whole, rapidly/quickly, quickly/rapidly, primarily/mainly, mainly/primarily, mostly/mainly,
    chiefly/mainly, additionally/in addition, furthermore/moreover, therefore/thus, thus/therefore, consequently/as a
    result, for instance/for example, for example/for instance, photograph/photo, photographs/photos, television/TV,
    telephone/phone, allowed/permitted, permitted/allowed, allows/permits, chose/selected, selected/chose,
    demonstrated/showed, demonstrates/shows, established/set up, founded/established, gathered/collected, halted/stopped,
    resided in/lived in, resides in/lives in, terminated/ended, utilized/used, utilizes/uses, utilize/use,
    comprises/consists of, consists of/is made up of, inhabitants/residents, residents/inhabitants, remainder/rest, the
    majority of/most of, a majority of/most of, annual/yearly, yearly/annual, annually/each year, every year/each year, each
    year/every year, worldwide/around the world, around the world/worldwide, nationwide/across the country, currently/at
    present, at present/currently, previously/formerly, subsequently/later, simultaneously/at the same time,
    renowned/famous, famous/well-known, well-known/famous, crucial/vital, vital/crucial, difficult/hard, enormous/huge,
    huge/enormous, tiny/very small, wealthy/rich, error/mistake, errors/mistakes, journey/trip, manufactured/made,
    manufactures/makes, whereas/while, although/though, participated in/took part in, took part in/participated in,
    participates in/takes part in, participate in/take part in, remained/stayed, requested/asked for, led to/resulted in,
    resulted in/led to, leads to/results in, results in/leads to, portion of/part of, regarding/about, concerning/about,
    upon/on, until/till, whilst/while, amongst/among, children/kids, obtain/get, obtained/got, require/need, requires/needs,
    required/needed, sufficiently/enough, frequently/often, often/frequently, initially/at first, at first/initially,
    located near/situated near, close to/near, close to/not far from, throughout/all over, in addition to/besides, aside
    from/apart from, apart from/aside from, as well as/and also, is able to/can, are able to/can, was able to/could, were
    able to/could, has the ability to/can, aircraft/plane, soccer/football, university's/the university's, reply/answer,
    replied/answered, responded/replied, departed from/left, passed away/died, employees/staff members, beverages/drinks,
    garbage/rubbish, autumn/fall, main/principal, principal/main, purpose/aim, goal/aim, objective/goal, a large number
    of/many, a great deal of/much
""")
"""From left to right only, and only whole words: the right side must follow from the left in any sentence of prose."""

_IRREGULAR = """
    be was been, become became become, begin began begun, break broke broken, bring brought brought, build built built, buy
    bought bought, catch caught caught, choose chose chosen, come came come, deal dealt dealt, do did done, draw drew drawn,
    drive drove driven, fall fell fallen, feel felt felt, fight fought fought, find found found, fly flew flown, forbid
    forbade forbidden, forget forgot forgotten, get got got, give gave given, go went gone, grow grew grown, have had had,
    hear heard heard, hide hid hidden, hold held held, keep kept kept, know knew known, lay laid laid, lead led led, leave
    left left, lend lent lent, lose lost lost, make made made, mean meant meant, meet met met, pay paid paid, ride rode
    ridden, ring rang rung, rise rose risen, run ran run, say said said, see saw seen, seek sought sought, sell sold sold,
    send sent sent, shake shook shaken, shoot shot shot, show showed shown, sing sang sung, sink sank sunk, sit sat sat,
    sleep slept slept, speak spoke spoken, spend spent spent, stand stood stood, steal stole stolen, strike struck struck,
    swear swore sworn, swim swam swum, take took taken, teach taught taught, tell told told, think thought thought, throw
    threw thrown, understand understood understood, undergo underwent undergone, wear wore worn, win won won, withdraw
    withdrew withdrawn, write wrote written, overcome overcame overcome, undertake undertook undertaken, oversee oversaw
    overseen, retake retook retaken
"""
_REGULAR = """
    accept achieve acquire add address adopt affect announce appear appoint approve argue arrest arrive ask assist attack
    attempt attend award back ban base beat believe call cancel capture carry cause celebrate challenge change claim climb
    close collect command compete complete concern conclude condemn conduct confirm conquer consider construct contain
    continue control convert convict convince cover create criticize cross damage decide declare decline decrease defeat
    defend deliver demand demonstrate deny describe design destroy detain develop die discover dismiss divide earn elect
    emerge employ enable encourage end enjoy enter escape establish execute expand expect explain explore export express
    face feature film finish follow force form found fund gain grant guide handle happen help hire host identify implement
    import improve include increase inform inspire install intend introduce invade invent investigate invite join kill land
    last launch learn like limit list live locate look lower maintain manage march mark marry mention merge monitor move
    name need negotiate note notice obtain occupy occur offer open operate oppose order organize own pass perform place plan
    play praise prepare present prevent produce promise promote propose protect prove provide publish purchase push raise
    reach realize receive recognize recommend record recover reduce refuse regain reject release remain remove rename renew
    repair repeat replace report represent request rescue resign resolve respond restore result retain retire return reveal
    review sail save score secure seize serve settle share sign spread start state stay stop study succeed suffer suggest
    supply support surrender survive suspect tie tour trade train transfer transform travel treat try turn unite use visit
    vote wait want warn watch welcome work wound accuse acquit release reopen rebuild abandon abolish admit advise alter
    apply borrow burn calculate combine compare compose contribute cooperate criticise donate educate enforce examine exceed
    exhibit extend fail favor finance flee generate govern ignore indicate issue justify measure nominate permit persuade
    possess postpone predict preserve promote pursue ratify recruit refer reform regulate relocate rule spend stress
    transport uncover unveil uphold urge veto
"""
_DOUBLED = frozenset(
    words_of("""
    ban plan stop admit permit refer occur cancel control transfer ship drop rob
""")
) - {"cancel"}


def _regular_past(base: str) -> str:
    if base.endswith("e"):
        return base + "d"
    if base.endswith("y") and base[-2:-1] not in "aeiou":
        return base[:-1] + "ied"
    return base + (base[-1] if base in _DOUBLED else "") + "ed"


def _verbs() -> dict[str, tuple[str, str]]:
    found = {base: (_regular_past(base), _regular_past(base)) for base in _REGULAR.split()}
    found |= {"beat": ("beat", "beaten"), "flee": ("fled", "fled"), "spread": ("spread", "spread")}
    found |= {"uphold": ("upheld", "upheld"), "rebuild": ("rebuilt", "rebuilt"), "spend": ("spent", "spent")}
    for item in _IRREGULAR.replace("\n", " ").split(","):
        base, past, participle = item.split()
        found[base] = (past, participle)
    return found


VERBS: Mapping[str, tuple[str, str]] = _verbs()
"""Base form -> past and participle."""
BASE_OF_PAST: Mapping[str, str] = {
    past: base for base, (past, _) in sorted(VERBS.items()) if past != base and base not in ("be", "have", "do")
} | {"found": "find"}
BASE_OF_PARTICIPLE: Mapping[str, str] = {part: base for base, (_, part) in sorted(VERBS.items())} | {"found": "find"}
TRANSITIVE = frozenset(
    words_of("""
    accuse acquire adopt appoint approve arrest attack award back ban beat build buy capture catch challenge choose condemn
    conquer create criticize damage defeat defend destroy detain discover dismiss elect employ encourage establish fund help
    hire host inspire introduce invade invent invite join kill lead occupy oppose order organize own persuade praise produce
    promote protect publish purchase reject release replace rescue seize sell sue support teach train visit warn wound write
    design direct found construct invite select
""")
)
"""Verbs whose two sides do not exchange without changing the meaning: no "met", "married", "fought"."""

SAYING = frozenset(
    words_of("""
    said says announced announces confirmed confirms claimed claims stated states argued argues reported reports insisted
    maintained maintains acknowledged admitted admits declared declares asserted asserts concluded believed believes
    suggested revealed
""")
)

NUMBER_WORDS = words_of("""
    two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen
    twenty thirty forty fifty sixty seventy eighty ninety
""")
ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]
SCALES = ("thousand", "million", "billion", "trillion")
MONTHS = words_of("""
    January February March April May June July August September October November December
""")
WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]

UNITS: Sequence[Sequence[str]] = (
    ("kilometres", "miles", "metres", "feet", "yards", "inches", "centimetres"),
    ("kilometers", "miles", "meters", "feet", "yards", "inches", "centimeters", "nautical miles", "millimeters"),
    ("km", "mi", "m", "ft", "cm", "mm"),
    ("kilograms", "pounds", "tonnes", "tons", "grams", "ounces"),
    ("kg", "lb", "g", "t", "oz"),
    ("hectares", "acres", "square miles", "square kilometers", "square kilometres"),
    ("sq km", "sq mi", "acres", "ha"),
    ("seconds", "minutes", "hours", "days", "weeks", "months", "years", "decades", "centuries"),
    ("second", "minute", "hour", "day", "week", "month", "year", "decade", "century"),
    ("dollars", "euros", "pounds", "yen", "rupees", "francs", "marks"),
    ("litres", "gallons", "barrels", "pints"),
    ("liters", "gallons", "barrels", "pints"),
    ("km/h", "mph", "knots", "m/s"),
    ("MW", "GW", "kW"),
    ("MHz", "GHz", "kHz"),
    ("thousand", "million", "billion", "trillion"),
    ("volts", "amperes", "watts", "ohms"),
    ("newtons", "joules", "pascals"),
    ("°C", "°F"),
)
CURRENCIES = ("$", "£", "€", "¥")

PLACES = words_of("""
    France Germany Italy Spain Portugal Norway Sweden Denmark Finland Poland Hungary Romania Greece Turkey Egypt Morocco
    Kenya Nigeria Ghana India Pakistan China Japan Vietnam Thailand Indonesia Australia Canada Mexico Brazil Argentina Chile
    Peru London Paris Berlin Madrid Rome Vienna Prague Warsaw Moscow Istanbul Cairo Lagos Nairobi Delhi Mumbai Beijing Tokyo
    Seoul Bangkok Jakarta Sydney Toronto Chicago Boston Texas California Florida Ohio Michigan Scotland Wales Ireland
""")

CONSEQUENCES = (
    "causing many deaths", "prompting the minister to resign", "leading to the closure of three schools",
    "which caused a national scandal", "forcing thousands of people to leave their homes", "resulting in a lengthy lawsuit",
    "sparking protests across the country", "which led to the arrest of two officials", "winning an international award",
    "making it the most expensive project of its time", "drawing sharp criticism from the opposition",
    "costing taxpayers several million dollars", "which destroyed a nearby village", "leaving dozens of people injured",
    "after a long dispute with the local authorities", "despite warnings from scientists", "because of a lack of money",
    "for which an apology was issued a year later", "prompting an investigation by the police",
    "which was broadcast live on television", "bringing the company close to bankruptcy",
    "a decision that was reversed a few months later", "making headlines around the world",
    "which caused lasting damage to the environment", "in exchange for a large sum of money",
    "leading to the collapse of the government", "leading to a sharp rise in prices", "and the building was later torn down",
    "which surprised most observers", "killing at least a dozen people", "ending a conflict that had lasted for decades",
    "and the owner was sent to prison", "which earned widespread praise", "and was honored by the president for it",
    "in protest against new taxes", "at the request of the royal family", "with the secret help of a foreign government",
    "and all records of it were burned", "which angered the neighbors", "causing a delay of several weeks",
    "making it the first of its kind", "setting a new world record", "which was denied by the authorities",
    "ruining the harvest of that year", "and a film about it was released soon after", "triggering a wave of strikes",
    "leading to the dismissal of the director", "and the case is still before the courts", "which halved the population",
    "doubling the number of visitors", "in violation of an earlier agreement", "to the dismay of local residents",
    "and a monument was built in memory of it", "prompting calls for a boycott", "after which the plan was abandoned",
    "causing panic in the capital", "leading to the loss of hundreds of jobs", "which made him a millionaire",
    "at a cost far above the original estimate", "and no one was ever punished for it",
)  # fmt: skip
DENIALS_BEFORE = (
    "It is false that", "It is not true that", "It is a myth that", "It is untrue that", "There is no evidence that",
    "It has been disproved that", "It was wrongly reported that", "Nobody believes that", "It is doubtful that",
)  # fmt: skip
DENIALS_AFTER = (
    "which was later proven false", "which later turned out to be untrue", "although this was later disproved",
    "a claim that has since been withdrawn", "but this was a mistake", "although this never happened",
    "but the report was later retracted", "which is now known to be wrong",
)  # fmt: skip

QUANTIFIERS = _pairs("""
    some of the/all of the, some of/none of, many of the/none of the, most of the/none of the, all of the/none of the, one
    of the/the only one of the, some/all, many/few, many/all, several/all, most/all, few/most, often/always, usually/always,
    sometimes/always, generally/never, rarely/often, always/sometimes, mostly/entirely, partly/entirely,
    partially/completely, mainly/exclusively, largely/entirely, typically/always, occasionally/constantly,
    seldom/frequently, every/hardly any, half of/all of, half of/none of
""")
"""Left to right. The right side must not follow from the left: "all" never becomes "some"."""

ABBREVIATIONS = _pairs("""
    the United States/the US, United States/U.S., the United Kingdom/the UK, United Kingdom/U.K., the European Union/the EU,
    the United Nations/the UN, the Soviet Union/the USSR, Doctor/Dr., Mount/Mt., versus/vs., the U.S./the United States, the
    US/the United States, the UK/the United Kingdom, the EU/the European Union, the UN/the United Nations, World War II/the
    Second World War, World War I/the First World War, per cent/percent, kilometers/km, kilometres/km, kilograms/kg,
    centimeters/cm, millimeters/mm, Saint/St., Professor/Prof., New York City/NYC
""")
