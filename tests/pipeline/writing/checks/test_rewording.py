"""What comparing a text with its facts finds. Every fact and text is invented."""

from __future__ import annotations

import pytest

from pipeline.writing.checks.rewording import compare, copied_runs, faults_of_part, proper_words

TITLE = "2031 Tolvane flood"
FACT = "The reservoir was 93 per cent full on the morning of 12 March 2031, according to the Tolvane River Authority."


def faults(text: str, *facts: str, also: tuple[str, ...] = ()) -> str:
    return "; ".join(compare(text, facts or (FACT,), TITLE, also).faults)


@pytest.mark.parametrize(
    ("fact", "text"),
    [
        (FACT, "According to the Tolvane River Authority, the reservoir stood at 93 per cent on the morning of 12 March 2031."),
        (
            "At least 23 people died when the levee gave way in Vasterlow, police said on Sunday.",
            "Police said on Sunday that the failure of the levee in Vasterlow had cost at least 23 lives.",
        ),
        (
            "Vasterlow General Hospital moved 143 patients to Osmere by bus and boat after its generators were drowned.",
            "After its generators were drowned, Vasterlow General Hospital took 143 patients to Osmere by bus and boat.",
        ),
        (
            "Nobody was hurt in the fire that destroyed the dome.",
            "The dome was destroyed in the fire, but there were no injuries.",
        ),
        ("Ida Fenn wrote about the levee in the Vasterlow Review.", "Ida Fenn wrote on the levee in the Vasterlow Review."),
        ("Fourteen people were killed in Osmere.", "The flood killed 14 people in Osmere."),
        (
            '"The dam was opened too late," said Jon Abt, a ferry pilot.',
            "Jon Abt, a ferry pilot, said that the dam was opened too late.",
        ),
        (
            "The Long Rain begins where The Levee ended, as villagers face an all-new threat.",
            "Based where “The Levee” ended, “The Long Rain” begins as villagers face a new threat.",
        ),
        ("Residents were told to boil their water.", "Residents were advised to boil their water."),
        ("About 300 people left Osmere.", "Approximately 300 people left Osmere."),
        ("Holt had set it up to expose the authority as weak.", "Holt had arranged it all to expose the authority as weak."),
        ("Like all ferries, the Merle stayed in Osmere.", "The Merle stayed in Osmere as all ferries did."),
        ("A first-hand report of the flood was printed in Osmere.", "In Osmere a direct report of the flood was printed."),
        ("It was a follow-up to the Prix d'Or winning novel.", "It came behind the Prix d'Or-winning novel."),
        ("The gauge of Osmere (it has no roof) was read.", "Osmere's gauge was read (it lacks a roof)."),
        ("The Merle sailed on Sept. 26 for Osmere.", "For Osmere the Merle left on September 26."),
        ("Osmere is named in honour of the pilot Jon Abt.", "Osmere was named after the pilot Jon Abt."),
        ("In the period 1906 to 1914 Abt lived in Osmere.", "Abt lived in Osmere between 1906 and 1914."),
        ("The Merle was one of the hits of COVID-19.", "The Merle was one of the hits in the COVID-19 pandemic."),
    ],
)
def test_faithful_texts_have_no_fault(fact: str, text: str) -> None:
    assert faults(text, fact) == ""


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("The reservoir was 95 per cent full on the morning of 12 March 2031, according to the authority.", "added: 95"),
        ("According to the River Authority, the reservoir was 93 per cent full in the morning.", "lost: 12, March"),
        ("According to Jon Abt, the Tolvane reservoir was 93 per cent full on the morning of 12 March 2031.", "Jon, Abt"),
        (
            "The Tolvane River Authority said the reservoir was not 93 per cent full on the morning of 12 March 2031.",
            "a negation came",
        ),
        (
            "The Tolvane River Authority said the reservoir was at least 93 per cent full on the morning of 12 March 2031.",
            '"at least" came',
        ),
        ("The reservoir was 93 per cent full on the morning of 12 March 2031.", "who said it is gone"),
        (
            "The reservoir, the Tolvane River Authority said, was 93 per cent full on the morning of 12 March 2031",
            "does not end",
        ),
        ("The article says that the reservoir was 93 per cent full on the morning of 12 March 2031.", "speaks of the writing"),
        (
            "Our Tolvane River Authority said that the reservoir was 93 per cent full on the morning of 12 March 2031.",
            "first or second",
        ),
        (
            "The Tolvane River Authority called it “a disaster” at 93 per cent on the morning of 12 March 2031.",
            "in quotation marks",
        ),
        (
            "The reservoir was 93 per cent full and the reservoir was 93 per cent full on the morning of 12 March "
            "2031, it said.",
            "repeats itself",
        ),
        (
            "Facts: 93 per cent was how full the reservoir was on 12 March 2031, the River Authority said.",
            "speaks of the writing",
        ),
    ],
)  # fmt: skip
def test_each_fault_is_named(text: str, fault: str) -> None:
    assert fault in faults(text)


def test_what_a_small_model_got_wrong() -> None:
    fact = "The agency counted 19 cases of overheating since June, including seven fires."
    assert "counts something else" in faults("19 deaths in the river were counted by the agency, including seven fires.", fact)
    assert "including" in faults("The agency counted 19 cases of overheating and seven fires since June.", fact)
    fact = "Some of the 40 residents were without power for four days."
    assert '"some of" is gone' in faults("The 40 residents were without power for four days.", fact)
    fact = "The bridge is expected to reopen in May 2032."
    assert '"expected" is gone' in faults("The bridge reopened in May 2032.", fact)
    fact = "A survey of 150 dealers found that prices fell by 3 per cent."
    assert "added" in faults("A survey of 150 dealers in 12 towns found that prices fell by 3 per cent.", fact)


def test_other_wordings_of_the_fact_are_no_addition() -> None:
    fact, other = "The levee gave way at night.", "The levee in Vasterlow broke at night."
    assert "Vasterlow" in faults("The levee broke in Vasterlow at night.", fact)
    assert faults("The levee broke in Vasterlow at night.", fact, also=(other,)) == ""


def test_passengers_are_people_and_not_all_people_are_passengers() -> None:
    people, passengers = "The ferry sank with 93 people.", "The ferry sank with 84 passengers."
    assert faults("With 84 people, the ferry sank.", passengers) == ""
    assert "93 counts something else" in faults("With 93 passengers, the ferry sank.", people)


def test_the_abbreviation_of_number_denies_nothing() -> None:
    fact = "Voss, the No. 1 of the world, won the final in May."
    assert "negation" not in faults("Voss, who leads the world's list, won the final in May.", fact)
    assert "a negation is gone" in faults("Voss, the No. 1 of the world, lost in May.", f"{fact} She lost no game.")


def test_names_are_found_inside_sentences_and_at_their_start() -> None:
    assert proper_words("Johnson said so. The mayor, Ana Ruiz, left in May.") == ["Johnson", "Ana", "Ruiz"]


def test_copied_runs_leave_quotations_out() -> None:
    fact = "the quick brown fox jumps over the lazy dog in the old park"
    assert copied_runs("It was the quick brown fox jumps over a fence.", [fact]) == (0.6, 6)
    assert copied_runs("He wrote “the quick brown fox jumps over the lazy dog” there.", [fact]) == (0.0, 0)


def test_a_lost_name_is_a_fault_unless_it_is_the_titles() -> None:
    fact = "Ana Ruiz and Jon Abt of the Osmere Rowing Club opened the new bridge on 3 May 2032."
    found = compare("The new bridge was opened on 3 May 2032 by Ana Ruiz and Jon Abt.", [fact], TITLE)
    assert found.faults == ("lost: Osmere Rowing Club",)
    assert not faults("The flood killed 14 people in Osmere.", "In Tolvane the flood killed 14 people in Osmere.")


def test_a_common_word_within_a_name_is_not_lost() -> None:
    assert "lost: Duel" in faults("The Merle is a game for two.", "The Merle: The Duel is a game for two.")
    assert "lost" not in faults("Four men who competed were on the Merle.", "Competing, four men were on the Merle.")


def test_a_pronoun_keeps_its_kind() -> None:
    fact = "The strong games of García earned him a place in the first team of Osmere."
    assert "another kind: her" in faults("The strong games of García earned her a place in the first team of Osmere.", fact)
    assert not faults("A place in the first team of Osmere was earned him by the strong games of García.", fact)


@pytest.mark.parametrize(
    ("fact", "text", "fault"),
    [
        (
            "She drew her skirts away from him at the harbour.",
            "He drew his skirts away from her at the harbour.",
            "another one does it: he",
        ),
        (
            "He calls it signs of “insecurity” and “vanity” in Osmere.",
            "In Osmere he calls it “signs of” and “vanity”.",
            "no fact quotes",
        ),
        (
            "Oldvik was sworn in before the town hall, because the council chamber was too small.",
            "Oldvik was sworn in because the town hall was too small.",
            "said of something else: hall was too small",
        ),
        ("Abt saw the bridge fall.", "Abt (a pilot) saw the bridge fall.", "a parenthesis came"),
        (
            "No one found ants with a sting but not a nest.",
            "No one found ants with a sting but a nest.",
            "a negation is gone",
        ),
        (
            "The insurers said in February 2032 that they had paid for all claims.",
            "The insurers said that they had paid for all claims in February 2032.",
            "when it was said is lost",
        ),
    ],
)
def test_who_does_it_and_what_is_quoted(fact: str, text: str, fault: str) -> None:
    assert fault in faults(text, fact)


def test_the_title_keeps_its_capitals() -> None:
    found = compare(
        "Under its own weight, the Well should collapse.", ["The Well should collapse under its own weight."], "The Well (film)"
    )
    assert "the title has lost a capital" in found.faults


@pytest.mark.parametrize(
    ("title", "text", "alone"),
    [
        ("2031 Osmere Cup", "The 2031 Osmere Cup was won by Ana Ruiz.", False),
        ("2031 Osmere Cup", "The Osmere Cup was won by Ana Ruiz in 2031.", True),
        ("2031 Osmere Cup", "The Osmere Cup was won by Ana Ruiz.", False),
        ("2031–32 Osmere Cup", "The Osmere Cup was won by Ana Ruiz in 2031.", True),
        ("Osmere Cup, 2031–32", "The Osmere Cup was won by Ana Ruiz in 2031.", True),
    ],
)
def test_a_number_of_the_title_belongs_to_its_name(title: str, text: str, alone: bool) -> None:
    fact = "The Osmere Cup was won by Ana Ruiz."
    assert any("a number of the title alone: 2031" in fault for fault in compare(text, (fact,), title).faults) is alone
    known = compare(text, (fact,), title, ("Ana Ruiz won the Osmere Cup in May 2031.",)).faults
    assert not any("of the title alone" in fault for fault in known)


def test_what_is_suggested_is_not_told_as_shown() -> None:
    fact = "A gauge was found under the bridge, suggesting that the levee broke at night."
    shown = compare("A gauge was found under the bridge, showing that the levee broke at night.", (fact,), "")
    hinted = compare("A gauge was found under the bridge, which suggests that the levee broke at night.", (fact,), "")
    assert '"suggested" is gone' in shown.faults and '"suggested" is gone' not in hinted.faults


def test_what_the_title_has_in_parentheses_stays_with_it() -> None:
    fact, title = "Lantern was filmed two years after Tide.", "Lantern (2031 film)"
    found = compare("Lantern was filmed two years after Tide (2031 film).", (fact,), title)
    assert "a parenthesis came" in found.faults


@pytest.mark.parametrize(
    ("fact", "text", "gone"),
    [
        ("About forty houses stood in the water.", "In the water stood forty houses.", '"about" is gone'),
        ("The levee was probably the oldest in Vasterlow.", "No levee in Vasterlow was older.", "is gone"),
    ],
)
def test_what_is_not_certain_must_not_become_certain(fact: str, text: str, gone: str) -> None:
    assert gone in faults(text, fact)


def test_what_need_not_have_happened_did() -> None:
    fact = "The flood of March 2031 need not have killed fourteen people."
    assert '"need not" is gone' in faults("The flood of March 2031 did not kill fourteen people.", fact)
    assert not faults("Fourteen people need not have been killed by the flood of March 2031.", fact)


def test_the_last_of_some_are_not_all_of_them_and_hours_before_is_not_just_before() -> None:
    assert faults(
        "Power was back for the final 300 homes in Osmere.", "Power was back for the last of the 300 homes in Osmere."
    )
    assert faults("The mayor left just before the breach.", "The mayor left, hours before the breach.")


def test_a_number_in_quotation_marks_is_no_title() -> None:
    assert "in quotation marks" in faults(
        "In Osmere “24” people were hurt by the flood.", "The flood hurt 24 people in Osmere."
    )


def test_a_story_told_from_somewhere_names_no_source() -> None:
    fact = "Good Boy is a horror film told from the view of a dog."
    assert not faults("Good Boy is a horror film that is seen through the eyes of a dog.", fact)
    assert "who said it is gone" in faults(
        "Good Boy is a horror film.", "Leonberg told Variety that Good Boy is a horror film."
    )


@pytest.mark.parametrize(
    ("part", "is_lost"),
    [
        ("The Hesk Dam was opened too late.", True),
        ("The report found that the Hesk Dam was opened too late.", False),
        ("The commission heard 61 witnesses.", False),
    ],
)
def test_a_part_keeps_who_found_what_it_says(part: str, is_lost: bool) -> None:
    fact = "After it had heard 61 witnesses, the commission’s report found that the Hesk Dam was opened too late."
    assert ("who said it is gone" in faults_of_part(part, fact, "2031 Tolvane flood")) is is_lost
