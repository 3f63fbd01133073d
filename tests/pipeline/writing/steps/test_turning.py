"""Orders made by rule: each has the words of its fact, in another order. Sentences that could be read otherwise stay."""

from __future__ import annotations

import pytest

from pipeline.writing.checks.rewording import compare
from pipeline.writing.steps import orders

TURNED = [
    (
        "The company will release Quiet Harbour in cinemas on 3 October.",
        "Quiet Harbour will be released by the company in cinemas on 3 October.",
    ),
    (
        "The Court of Appeal upheld the conviction of Jon Abt.",
        "The conviction of Jon Abt was upheld by the Court of Appeal.",
    ),
    (
        "Directed by Ana Ruiz in Osmere, the film opens the festival in June.",
        "The film, directed by Ana Ruiz in Osmere, opens the festival in June.",
    ),
    (
        "The old hall, designed by W. Kruger and Sons, opened its doors to students in 1974.",
        "Designed by W. Kruger and Sons, the old hall opened its doors to students in 1974.",
    ),
    (
        "The season ended with the Harbour Cup, which took place on 29 November at the Osmere track.",
        "The season ended with the Harbour Cup. The Harbour Cup took place on 29 November at the Osmere track.",
    ),
    (
        "The series remembers the work of Karl Willetts, who rejoined the band in November 2004.",
        "The series remembers the work of Karl Willetts. Willetts rejoined the band in November 2004.",
    ),
    (
        "Oldvik left the council after she lost the vote on the harbour.",
        "After Oldvik lost the vote on the harbour, she left the council.",
    ),
    (
        "The shelter is built of local stone and wood beams; the interior has four wooden benches.",
        "The shelter is built of local stone and wood beams. The interior has four wooden benches.",
    ),
    (
        "Older workers of the species are dark brown, while the lighter ones are a few days old.",
        "Older workers of the species are dark brown. The lighter ones are a few days old.",
    ),
    (
        "Dozens of roads were closed, including many along the spine of the Green Mountains.",
        "Dozens of roads were closed. They included many along the spine of the Green Mountains.",
    ),
    ("The Assembly approved a plan in May 2031.", "A plan was approved by the Assembly in May 2031."),
    (
        "Designed by Ana Ruiz, the ferry featured a hull made of aluminium.",
        "The ferry, designed by Ana Ruiz, featured a hull made of aluminium.",
    ),
    (
        "Due to internal disputes, the national council left the talks of May.",
        "The national council left the talks of May due to internal disputes.",
    ),
    (
        "After a long illness, Howard moved to his late father's house near Osmere.",
        "Howard moved to his late father's house near Osmere after a long illness.",
    ),
    ("The queens entirely depend on the workers.", "The queens depend entirely on the workers."),
    ("Martins Ferry is the biggest city in the county.", "The biggest city in the county is Martins Ferry."),
    (
        "Manganese was used in the glass mixture to add clarity to the finished product.",
        "In the glass mixture, manganese was used to add clarity to the finished product.",
    ),
    (
        "Search dogs were used in May to find survivors of the flood.",
        "To find survivors of the flood, search dogs were used in May.",
    ),
    (
        "Julia Tamm began karting at the age of eight and has been racing in national series since then.",
        "Julia Tamm began karting at the age of eight. Julia Tamm has been racing in national series since then.",
    ),
    (
        "Before “Quiet Harbour” (2019) was shown in Osmere, the council opened a new cinema.",
        "The council opened a new cinema before “Quiet Harbour” (2019) was shown in Osmere.",
    ),
]
STAYING = [
    "Sixteen fragments have come ashore near the old mill, the largest of which is a panel of the bow.",
    "After Howard left the town, Ruiz sold her house in Osmere.",  # whose house?
    "As the water rose over the old town, and the pilots of Osmere slept, the mill of the miller fell, which nobody saw.",
    "Pell Imperator, aka Mr Abt, is one of the loosely known crew.",
    "Ana Ruiz, daughter of a senator and a pilot, belonged to the council of Osmere.",
    "It is the deadliest storm in the history of the county.",  # "The deadliest storm ... is It"
    "He won again in Osmere, which is a rare thing.",  # "which" is the winning, not the town
    "A man died in Ifugao due to heavy rains.",  # "In Ifugao due, ..."
    "One is late when she shows up for an appointment.",
    "The awards are announced by a jury and presented to the winners at a conference of the two old academies.",  # a participle
]


@pytest.mark.parametrize(
    ("fact", "form"),
    [
        ("The dam was opened on 12 March 2031.", "On 12 March 2031, the dam was opened."),
        ("On 12 March 2031, the dam was opened.", "The dam was opened on 12 March 2031."),
        (
            "After the levee broke in the night, water filled the old town.",
            "Water filled the old town after the levee broke in the night.",
        ),
        (
            "Water filled the old town after the levee broke in the night.",
            "After the levee broke in the night, water filled the old town.",
        ),
        (
            "The bridge was closed for two days, the police said.",
            "According to the police, the bridge was closed for two days.",
        ),
        ("Jon Abt, 61, pulled four people out of the river.", "The 61-year-old Jon Abt pulled four people out of the river."),
        (
            "The town council raised the levee by two metres, and the province paid for a pump.",
            "The town council raised the levee by two metres. The province paid for a pump.",
        ),
    ],
)  # fmt: skip
def test_forms(fact: str, form: str) -> None:
    assert form in orders(fact)[1:]


@pytest.mark.parametrize(
    "fact",
    [
        "It happened between 3 May 2031 and in 2032.",
        "“We left on 12 March 2031,” he said.",
        "When the mayor resigned from office, he moved to Osmere.",
        "The raids on the harbour began in February 2031, when the fleet destroyed the docks.",
        "The pilot released four new songs the night her tour began in Osmere.",
        "A name.",
        "",
    ],
)
def test_doubtful_facts_are_not_turned_round(fact: str) -> None:
    assert all(
        not form.startswith(("In 2032", "On 12", "He moved", "When the fleet", "Four new songs the"))
        for form in orders(fact)[1:]
    )


def test_forms_say_what_their_fact_says() -> None:
    for fact in (
        "The reservoir was 93 per cent full on the morning of 12 March 2031.",
        "After 11 kilometres of track had been relaid, trains ran again on 2 June 2031.",
        "At least 23 people died when the levee gave way, the provincial police said.",
    ):
        assert orders(fact)[1:]
        for form in orders(fact)[1:]:
            found = compare(form, [fact], "")
            assert not [f for f in found.faults if "ends" not in f], (form, found.faults)


@pytest.mark.parametrize(("fact", "turned"), TURNED)
def test_a_step_keeps_the_meaning(fact: str, turned: str) -> None:
    found = orders(fact)
    assert found[0] == fact and turned in found
    assert not compare(turned, (fact,), "Osmere").faults


@pytest.mark.parametrize("fact", STAYING)
def test_what_could_be_read_otherwise_stays(fact: str) -> None:
    assert orders(fact) == (fact,)


def test_a_date_stays_in_its_sentence() -> None:
    found = orders("Oldvik will not have a majority on the city council, which was elected on 16 May.")
    assert "Oldvik will not have a majority on the city council. The council was elected on 16 May." in found
    assert not [text for text in found if text.startswith("On 16 May, Oldvik")]
    frozen = "The council approved the freeze of ferry fares until the end of 2034."
    assert not [text for text in orders(frozen) if "approved by the council until" in text]


@pytest.mark.parametrize(
    ("fact", "never"),
    [
        ("During a session the pilot told the board that the gun was loaded.", "loaded during a session"),
        ("The trial of four men accused of arson during the strike has been adjourned to 11 May.", "During the strike has"),
        ("The suspect arrested after the attack has been charged with the murder of a pilot.", "After the attack has"),
        ("The samples of the water were then stained according to Vindel (1983).", "According to"),
        ("A cartoon playing before the main film was a custom that lived on into the 1970s.", "Before the main"),
        ("Each part of the film deals with one of three towns, although the latter two are shorter.", "Although the latter"),
        ("In Osmere, USA pilots flew some eighty old planes over the sea.", "USA pilots"),
        ("In searching the old mill, the pilot compares himself to Ana Ruiz.", "Ruiz in searching"),
        ("Before recording the song herself, Ana Ruiz offered it to Lena Abt.", "before recording"),
        ("The queens run to hide in their nest after the first flight and do not look for another.", "After the first"),
        (
            "It rests on a chance or on many hosts, the luck in finding them, and the foes met after the first days of a nest.",
            "them. The",
        ),
        ("During the feast of the town, the rake lies below the tree, and the old glass lies in the box of ice.", "tree. The"),
        ("In addition, the council of Osmere sought other sources of aid.", "aid in addition"),
        ("At the same time, the council of Osmere recognised the mill.", "mill at the same time"),
        ("The council praised and honoured the idea of a new dam, which was an answer to the flood.", "honoured. "),
        ("Two days later the council passed a resolution on the use of force.", "council two days"),
        ("The ferry was towed into the old harbour of the town at 10 p.m. on 3 May 2031.", ".."),
        ("The old mill was shut, before the mourners entered the hall of the town.", "Before the mourners"),
        ("He could not release the names of the pilots because that would be a breach of the law.", "Because that"),
        ("It came into the hands of the Osmere Communists, who gave the old weapons to the north.", "Communists gave"),
        ("On 26 September, the police showed a photo of the man being part of the group.", "group on 26"),
        ("Most pilots of Osmere, however, were not members of the old guild.", "The however"),
        ("Most Osmere Pilots, however, were not members of the old guild of the town.", "however, Most"),
        ("Memos written and sealed in 1943 by Ana Ruiz refuted the claim of the old board.", "In 1943"),
        ("Lena Abt was arrested in October 1871 and indicted shortly thereafter.", "In October 1871"),
        ("In 1783, Abt was toying with the idea of a call for a general convention.", "convention in 1783"),
        ("The ferry quickly grew to be the pride of the town and the province.", "grew quickly"),
        ("Many pilots were merchants with ties to Osmere, who viewed themselves as its defenders.", "Osmere viewed"),
        ("Abt was the first pilot to take the post after a flood, and the only ferry man never elected to it.", "flood. The"),
        ("In the old days, seats were sold, votes were bought, and the price of a seat was a mill.", "bought. The"),
        ("Ana Ruiz was named the pilot of the month for the end of December.", "was named Ana"),
        ("After the war of 2031, the council shut the mill until a pump could be found.", "after the war"),
        ("Ana Ruiz hurt her head after a fall from the mill and won't be able to return.", "return, Ana"),
        ("The mill of the town is in the old harbour of Osmere, as Abt said.", "According to as"),
        ("In Osmere, 12 May is a milestone in the town's long fight for a new dam.", "dam in Osmere"),
        ("Ana Ruiz, front row, was one of the key pilots of the ferry.", "The front row"),
        ("Designed by Ana Ruiz, the old mill was added to the list in 1970.", "In 1970, designed"),
        ("Ana Ruiz said the mill was ready, in testimony before the board.", "According to Ana Ruiz"),
        ("Gamma, founded by Ana Ruiz in Osmere, opened three old mills.", "gamma"),
        ("The board opened the dam late, the levee had been left in poor repair, and the sirens failed.", "repair. The"),
        ("The daughter of a pilot from Osmere, and a rich miller came from Kettlin.", "Osmere. A rich"),
    ],
)
def test_what_readers_found_wrong_is_not_made(fact: str, never: str) -> None:
    assert not [form for form in orders(fact)[1:] if never in form]


def test_a_contrast_is_kept_when_its_sentence_is_divided() -> None:
    fact = "The city had planned the dam since 1950, but the council refused to pay for it again."
    assert "The city had planned the dam since 1950. However, the council refused to pay for it again." in orders(fact)


@pytest.mark.parametrize(
    "fact",
    [
        "The series is a game made by a guild of Osmere in 1995.",  # what was made then
        "Construction of the bridge began the following month, on 2 September.",
        "The bridge was built in response to the flood and was opened by Ana Ruiz.",
        "Sefa Morrin, closer to the town, left the ferry.",
        "In a talk with the Ledger, the band told why the song became a hit.",  # no hit in a talk
        "The song was a hit precisely because many people had lost a friend.",
        "According to the slaves, the farms and the council, the bridge was closed.",
        "Generally, wages rose in the towns, while the farms had lower prices.",
        "Chisso, a firm that was known then as a maker of rubber, opened four blocks from the ferry.",
    ],
)
def test_what_would_say_something_else_is_not_turned(fact: str) -> None:
    assert orders(fact) == (fact,)
