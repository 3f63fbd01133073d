"""What a person struck or reworded: found again in other runs, undone by the sentence's own words."""

from __future__ import annotations

from data.types import Article, Heading, Passage, Section, Sentence, Source
from pipeline.editing.corrections import Correction, Corrections, carried, corrected

FIRST, SECOND = Passage(0, 0, 4, "Fire"), Passage(1, 0, 5, "Flood")


def article(*texts: str) -> Article:
    cites = [FIRST.id, SECOND.id]
    sentences = tuple(Sentence(text, (cite,)) for text, cite in zip(texts, cites))
    sources = tuple(Source(p, f"https://{p.page}.org", "T", None) for p in (FIRST, SECOND))
    lead = Section(Heading("", 1), ((Sentence("A dam broke.", (FIRST.id,)),),))
    return Article("e", "Dam", lead, (Section(Heading("Course"), (sentences,)),), (), sources)


def texts(found: Article) -> list[str]:
    return [s.text for section in found.all_sections for s in section.sentences]


def test_struck_reworded_and_listed() -> None:
    made = Corrections().with_one(Correction("Water rose at noon.")).with_one(Correction("A dam broke.", "A dam burst."))
    found = corrected(article("The fire was small.", "Water rose at noon."), made)
    assert texts(found) == ["A dam burst.", "The fire was small."]
    assert {(r.kind, r.text, r.detail) for r in found.repairs} == {
        ("sentence_replaced", "A dam broke.", "reworded by hand"),
        ("sentence_removed", "Water rose at noon.", "struck by hand"),
    }
    assert [source.id for source in found.sources] == [FIRST.id]
    whole = corrected(article("The fire was small."), Corrections((Correction("The fire was small."),)))
    assert not whole.sections and texts(whole) == ["A dam broke."]


def test_nearly_the_same_words_stay_struck_other_figures_do_not() -> None:
    made = Corrections((Correction("On 3 May the river rose above its banks in the town of Larrow."),))
    same = article("The river rose above its banks on 3 May in the town of Larrow.")
    other = article("On 4 May the river rose above its banks in the town of Larrow.")
    assert len(texts(corrected(same, made))) == 1
    assert len(texts(corrected(other, made))) == 2


def test_own_words_undo_and_the_latest_holds() -> None:
    struck = Corrections((Correction("A."),))
    assert struck.with_one(Correction("A.", "A.")).made == ()
    assert carried([struck, Corrections((Correction("A.", "B."),))]).made == (Correction("A.", "B."),)
    assert corrected(article("X."), Corrections()) == article("X.")
