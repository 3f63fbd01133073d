"""Whether a piece of English text has a finite verb, by lists and endings: no model, and lenient where a form is ambiguous.

Meant for separating sentences from headings, captions and menu entries. It says nothing about grammar: "the planned visit"
passes, because "planned" may be a past tense.
"""

from __future__ import annotations

import re

_AUXILIARIES = frozenset(
    """
    is are was were am be been has have had do does did will would shall should can could may might must cannot ain't
    isn't aren't wasn't weren't hasn't haven't hadn't doesn't don't didn't won't wouldn't shan't shouldn't can't
    couldn't mightn't mustn't needn't
    """.split()  # noqa: SIM905 - lists of words are easier to read so
)
_PAST = frozenset(
    """
    arose ate awoke beat became began bent bet bit bled blew bought bound bore bred broke brought built burnt burst came
    cast caught chose clung cost crept cut dealt dove drank drew drove dug dwelt fed fell felt fled flew flung forbade
    forgave forgot fought found foresaw froze gave got grew ground held hid hit hung hurt kept knelt knew laid lay leapt
    learnt led left lent let lit lost made meant met misled mistook outgrew outran outsold overcame overrode oversaw
    overthrew overtook paid proved put quit ran rang read reread rebuilt redid remade reran reset resold retold retook
    rewon rewrote rid rode rose said sang sank sat saw sent set shed shone shook shot shrank shut slept slid slung smelt
    sold sought spat sped spelt spent spilt spoke sprang spread spun stank stole stood strode strove struck strung stuck
    stung swam swelled swept swore swung taught thought threw thrust told took tore understood undertook undid unwound
    upheld upset went wept withdrew withheld withstood woke won wore wound wove wrote
    """.split()  # noqa: SIM905
)
_BASE = frozenset(
    """
    accept accompany achieve act add address adopt affect aim air allow analyze announce appear apply appoint argue
    arise arrive ask assert assign assist associate assume attack attempt attend attract avoid award base bear become
    begin behave belong bring build call capture carry cause celebrate center centre change characterize cite claim
    climb close combine come commemorate comment compare compete complete compose comprise conclude conduct confirm
    confront connect consider consist constitute consume contain continue contrast contribute control convert cover
    create criticize cross culminate cut date deal debate declare decline defeat defend define deliver demonstrate
    depart depend depict derive describe design detail determine develop die differ direct disagree disappear discover
    discuss display distinguish divide draw drive earn eat emerge emphasize employ enable encourage encounter end engage
    enjoy ensure enter escape establish estimate examine exceed exemplify exhibit exist expand expect explain explore
    express extend face fail fall feature feed feel fight fill find finish fly focus follow force form function gain
    gather generate get give go govern grant grow guide handle happen head help highlight hold host house identify
    illustrate impact imply include incorporate increase indicate influence inform inhabit inherit inspire intend
    interact introduce investigate invite involve join keep kill know lack last launch lay lead learn leave let lie
    limit link list live locate look lose love maintain make manage mark marry mean measure meet mention mirror mix move
    murder name need note observe occupy occur offer open operate oppose order organize originate oversee own
    participate pass pay perform permit persist persuade place plan play point portray possess praise precede predict
    prefer prepare present preserve prevent proceed produce progress promise promote propose protect prove provide
    publish pull pursue push put quote raise range reach react read realize receive recall recognize recommend record
    recount reduce refer reflect refuse regain regard reject relate release rely remain remember remind remove render
    replace report represent require rescue resemble reside respond rest result return reveal revolve rise run say see
    seek seem sell send separate serve set shape share shift show sign signal sing sit span speak specialize specify
    stand star start state stay stem stop stretch strive struggle study suffer suggest support surround survive sustain
    swim symbolize take talk target teach tell tend test think threaten thrive throw trace track train transform travel
    treat trigger try turn undergo underline underpin underscore understand unite urge use utilize value vary view visit
    vote wait walk want warn watch wear weigh welcome win wish witness work worry write yield fit suit echo invade
    grapple evoke blend blur boast borrow bridge capitalize challenge chronicle coincide collect collide concern condemn
    confess construct consult contend converge convey convince cooperate correspond cost count credit decide decorate
    dedicate delve deny destroy diminish discourage dominate donate double drop embark embody embrace empower enact
    endure enforce enhance enlist enrich entail envision exhort facilitate favor favour flee flow forge foster frame
    fuel fulfil fulfill fund glow greet hang harbor hide hinge hire hope hover hunt ignore inflict initiate insist
    integrate intensify interpret intersect invest jump justify kidnap land laud lean lift linger mate merge migrate
    mimic mistake narrate narrow necessitate nest obtain outline overlap overlook overtake parallel peak pioneer plot
    pose position postulate prioritize prompt purchase question rank rebuild reconcile recruit reference refine
    reinforce reinvent reiterate remark resist resolve resonate restore retain retire rival rule sacrifice satisfy save
    score secure select shed showcase simplify solve sound spark spend spread stage steal stress strike strip submit
    succeed summarize supply suppress surpass suspect swap tackle taste testify thank tie touch trade trap uncover
    unfold unlock uphold utter vie violate weave widen wield abandon accuse acknowledge adapt admit advance advise
    advocate align allude anchor announce answer argue arrest articulate assess attribute await ban belong betray bind
    block break broadcast burn calculate cease circulate collapse commission compel compensate complement complicate
    concede confer confine confuse convene correct counter culminate cultivate damage decry deepen delay denounce deploy
    detect deteriorate devise devote dictate discard dismiss dispute disrupt distance distribute elaborate elect elevate
    elicit eliminate encapsulate encompass endorse enforce enlarge erupt escalate evade evaluate evolve exclude execute
    exempt exploit expose fear flank float foreground gather grip guarantee honor honour hurt ignite imitate impose
    imprison improve improvise incapacitate incite induce infect infer inject injure intervene invoke isolate label
    lament lend magnify manipulate mediate modify monitor motivate mourn negotiate nominate notify obey obscure overcome
    partner penetrate personify plunge predate preclude presume prevail probe profile prohibit project provoke publicize
    punctuate reassure rebel recede reclaim recover reframe regulate rehearse reign reject rejoin relax relocate renew
    renounce repeat resign resume retreat retrieve reunite reverse revisit revive ride ridicule rotate sample satirize
    scale scatter seize settle shelter shoot situate slow smuggle soar solidify sponsor stabilize stimulate subject
    substitute subvert surface surge surrender swear sweep terminate tighten toll top torture total transcend translate
    transmit tumble underlie unleash unveil update upset usher vanish verify visualize warrant weaken wonder wrestle
    analyse characterise criticise emphasise exemplify memorialise memorialize organise prioritise realise recognise
    specialise summarise symbolise utilise
    """.split()  # noqa: SIM905
)
_ALSO_NOUNS = frozenset(
    """
    act address aim air attack attempt award base bear call cause center centre change claim comment contrast control
    cost count cover credit cross cut date deal debate decline design detail display double draw drive drop echo end
    face feature feed fight fill form frame fuel function fund gain guide head help highlight hold hope host house hunt
    impact increase influence jump land last launch lead lift limit link list live look love mark mate measure meet
    mention mirror mix move murder name need nest note offer open order outline own parallel pass pay peak pioneer place
    plan play plot point position praise present produce progress promise prompt purchase push question quote range rank
    reach read record reference regard release remark report rescue rest result return rise rival rule run sacrifice
    save score set shape share shed shift show sign signal sound span spark spread stage stand star start state stay
    stem stop stress stretch strike strip struggle study suit supply support suspect swap swim talk target taste test
    think tie touch trace track trade train trap travel treat trigger try turn use value view visit vote wait walk want
    warn watch welcome win wish witness work worry yield access fly fit blend bridge challenge close complete concern
    flow glow hang harbor hide land lean narrow position secure separate thrust advance anchor ban block break burn
    broadcast collapse commission correct counter damage delay distance dispute elaborate exempt exploit fear flank
    float foreground grip hurt label partner probe profile project ride reverse sample scale shelter slow sponsor
    subject surface surge surrender sweep toll top torture total upset update warrant wonder advocate complement honor
    honour isolate retreat ridicule lament guarantee resume mediate substitute chronicle lie lack last force figure
    center dedicate
    """.split()  # noqa: SIM905
)
"""Verbs whose bare form is more often a noun or an adjective: they are taken for verbs in -s, and before a determiner."""
_NOT_PAST = frozenset(
    """
    red bed hundred need seed speed breed feed indeed wed shed sacred naked wicked beloved rugged ragged crooked kindred
    hatred deed reed weed greed creed exceed proceed succeed embed united limited based aged left-handed unlimited
    """.split()  # noqa: SIM905
)
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?(?:-[^\W\d_]+)*")
_DETERMINER = r"(?:a|an|the|his|her|its|their|this|that|these|those|him|them|it|itself|himself|herself)"
_VERB_IN_S = re.compile(rf"[a-z]{{2,}}[^s\Wu]s {_DETERMINER} ")
"""A word in -s before a determiner or pronoun: "sponsors the", "lends her". A plural seldom comes there without a verb."""
_BARE = re.compile(rf"([a-z]+) (?={_DETERMINER} )")
_CONTRACTED = re.compile(r"\w['’](?:re|ve|ll|m|d)\b|\b(?:he|she|it|that|there|who|what|here|where)['’]s\b", re.IGNORECASE)


def _third_person(verb: str) -> str:
    if verb.endswith(("s", "x", "z", "ch", "sh", "o")):
        return f"{verb}es"
    return f"{verb[:-1]}ies" if verb.endswith("y") and verb[-2] not in "aeou" else f"{verb}s"


_FINITE = _AUXILIARIES | _PAST | frozenset(map(_third_person, _BASE)) | (_BASE - _ALSO_NOUNS)


def has_finite_verb(text: str) -> bool:
    """Whether one of the words, written in lower case, may be a finite verb. A capital stands for a name or a title, but a
    text all in capitals is read as if it were small."""
    if text.isupper():
        text = text.lower()
    if _CONTRACTED.search(text) or _VERB_IN_S.search(text):
        return True
    return any(map(_may_be_finite, _WORD.findall(text))) or any(word in _BASE for word in _BARE.findall(text))


def _may_be_finite(word: str) -> bool:
    plain = word.replace("’", "'")
    if plain in _FINITE:
        return True
    last = plain.rpartition("-")[2]  # "co-wrote", "re-released"
    return last in _PAST or (last.endswith("ed") and len(last) > 3 and plain.islower() and last not in _NOT_PAST)
