from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from data import codec, wikigenbench
from data.errors import NoEvidence, StageError
from data.markup import render_text
from data.runs import EventFolder
from data.settings import ModelSettings, RetrievalSettings, WritingSettings
from data.stage_types import Unstored
from data.types import Article, Heading, Page
from pipeline.systems.paper import (
    PlanRetrieveRead,
    RetrievePlanRetrieveRead,
    RetrieveRead,
    split_at_headings,
)
from pipeline.writing.assembly import LEAD_HEADING
from tests.fakes import FixedEncoder, ScriptedGenerator
from tests.pipeline.flood import EVENT, PAGES, PROVINCE, RAIN, RETRIEVAL, REVIEW, page

MODEL, WRITING = ModelSettings(), WritingSettings()
ARTICLE = """Here is the article:

# 2031 Tolvane flood

The **2031 Tolvane flood** struck Vasterlow on 16 March 2031.[1] Fourteen people died.[1][9]

==Causes==
Heavy rain fell for six days.[{rain}] The moon was full.
===Levee===
- The levee had not been inspected since 2019 [{review}].

== References ==
[1] The Ledger
"""


def system(kind: type, generator: ScriptedGenerator, **more: object):  # type: ignore[no-untyped-def]
    writing = WritingSettings(**more)  # type: ignore[arg-type]
    return kind(ModelSettings(), RETRIEVAL, writing, generator, FixedEncoder())


def number_of(cite: str, generator_prompt: str) -> int:
    """The number under which a passage was shown."""
    page_title = PAGES[int(cite.split(":")[0])].title
    before = generator_prompt.split(f'(from "{page_title}")')[0]
    return int(before.rsplit("[", 1)[1].split("]")[0])


def write(kind: type, texts: list[str], folder: EventFolder | Unstored | None = None, **more: object) -> Article:
    generator = ScriptedGenerator(texts)
    article = system(kind, generator, **more).write(EVENT, PAGES, folder or Unstored())
    assert not generator.texts, "not every text was asked for"
    assert_sound(article)
    return article


def assert_sound(article: Article) -> None:
    """What must hold for every article: its citations can be followed, its sources are used, in order of first use."""
    used = [c for s in article.all_sections for x in s.sentences for c in x.cites] + [
        c for f in article.infobox for c in f.cites
    ]
    assert [source.id for source in article.sources] == list(dict.fromkeys(used))
    for source in article.sources:
        assert source.passage.text == PAGES[source.passage.page].text[source.passage.start : source.passage.end]
    assert codec.from_json(Article, codec.to_json(article), where="test") == article
    render_text(article)


def text_of(article: Article) -> list[tuple[str, list[str]]]:
    return [(s.heading.text, [x.text for x in s.sentences]) for s in article.all_sections]


# ---- retrieve-read


def test_rr_has_a_lead_and_sections() -> None:
    probe = ScriptedGenerator(["A flood came."])
    system(RetrieveRead, probe).write(EVENT, PAGES, Unstored())
    shown = probe.prompts[0][1].content
    draft = ARTICLE.format(rain=number_of(RAIN, shown), review=number_of(REVIEW, shown))

    article = write(RetrieveRead, [draft])
    assert text_of(article) == [
        ("", ["The 2031 Tolvane flood struck Vasterlow on 16 March 2031.", "Fourteen people died."]),
        ("Causes", ["Heavy rain fell for six days.", "The moon was full."]),
        ("Levee", ["The levee had not been inspected since 2019."]),
    ]
    assert [s.heading.level for s in article.sections] == [2, 3]
    assert [x.cites for x in article.sections[0].sentences] == [(RAIN,), ()], "nothing is judged"
    assert article.sections[1].sentences[0].cites == (REVIEW,)
    assert [(r.kind, r.section) for r in article.repairs] == [
        ("sentence_removed", ""),  # Here is the article:
        ("marker_dropped", ""),
        ("section_removed", "References"),
    ]


def test_rr_cut_off_by_the_token_limit() -> None:
    article = write(RetrieveRead, ["A flood came.\n==Causes==\nRain fell.[1] Then the levee at the old quay of the..."])
    assert text_of(article)[1] == ("Causes", ["Rain fell."])
    assert [r.detail for r in article.repairs] == ["cut off by the limit on new tokens"]


@pytest.mark.parametrize("text", ["", "==Causes==\n==Impact==", "<think>rain...", "no sentence at all", "\x00\x00"])
def test_rr_with_nothing_to_read_names_the_model(text: str) -> None:
    with pytest.raises(StageError, match="writing: scripted wrote no sentence about '2031 Tolvane flood'"):
        write(RetrieveRead, [text])


# ---- plan, retrieve, read


OUTLINE = "1. Causes\n2. Response"
SECTIONS = ["Heavy rain fell for six days.[{rain}]", "==Response==\nNine shelters were opened.[{province}] Frogs sang."]


def sections_for(kind: type) -> list[str]:
    """Drafts whose markers name the passages that this system shows."""
    probe = ScriptedGenerator([OUTLINE, "A text.", "A text."])
    system(kind, probe).write(EVENT, PAGES, Unstored())
    rain, province = (number_of(c, p[1].content) for c, p in zip((RAIN, PROVINCE), probe.prompts[1:], strict=True))
    return [SECTIONS[0].format(rain=rain), SECTIONS[1].format(province=province)]


def test_prr_plans_from_the_title_alone() -> None:
    generator = ScriptedGenerator([OUTLINE, "A text.", "B text."])
    system(PlanRetrieveRead, generator).write(EVENT, PAGES, Unstored())
    planning = " ".join(m.content for m in generator.prompts[0])
    assert "2031 Tolvane flood" in planning
    assert not any(p.text in planning or p.title in planning for p in PAGES)
    assert "<evidence" not in planning
    assert [s.task for s in generator.sampling] == ["outline", "section", "section"]
    assert [s.sources for s in generator.sampling] == [(), (), ("A text.",)]


def test_pages_that_address_a_model_come_last() -> None:
    pages = (replace(PAGES[0], flags=("suspicious",)), *PAGES[1:])
    generator = ScriptedGenerator(["A flood came."])
    settings = RetrievalSettings(top_k=3)
    RetrieveRead(ModelSettings(), settings, WritingSettings(), generator, FixedEncoder()).write(EVENT, pages, Unstored())
    assert PAGES[0].text not in generator.prompts[0][1].content
    generator = ScriptedGenerator(["A flood came."])
    system(RetrieveRead, generator).write(EVENT, pages, Unstored())
    assert f'[4] (from "{PAGES[0].title}")' in generator.prompts[0][1].content, "shown when there is room, after the others"


@pytest.mark.parametrize("kind", [PlanRetrieveRead, RetrievePlanRetrieveRead])
@pytest.mark.parametrize("text", ["", "I cannot plan this article.", "References"])
def test_no_outline_names_the_model_and_shows_what_it_said(kind: type, text: str) -> None:
    with pytest.raises(StageError, match="outline: scripted gave no heading, but:") as caught:
        write(kind, [text])
    assert repr(text) in str(caught.value)


def test_nothing_written_under_any_heading() -> None:
    with pytest.raises(StageError, match=r"writing: scripted wrote no sentence .*; 1 texts were removed, the first: 'none'"):
        write(PlanRetrieveRead, [OUTLINE, "none", ""])


def test_no_evidence() -> None:
    blocked: tuple[Page, ...] = (page("x", "X", "text", drop_reason="blocked"),)
    for kind in (RetrieveRead, PlanRetrieveRead, RetrievePlanRetrieveRead):
        generator = ScriptedGenerator([OUTLINE])
        with pytest.raises(NoEvidence):
            system(kind, generator).write(EVENT, blocked, Unstored())
        assert not generator.prompts, "a model is not asked about nothing"


# ---- resuming


def scripts(kind: type) -> list[str]:
    if kind is RetrieveRead:
        return ["A flood came.[1]\n==Causes==\nRain fell.[2][7]"]
    return [OUTLINE, *sections_for(kind)]


@pytest.mark.parametrize("kind", [RetrieveRead, PlanRetrieveRead, RetrievePlanRetrieveRead])
def test_a_second_run_asks_the_model_nothing(kind: type, tmp_path: Path) -> None:
    folder = EventFolder(tmp_path / "42")
    first = write(kind, scripts(kind), folder)
    stored = {p: p.read_bytes() for p in sorted(folder.path.rglob("*.json"))}

    assert write(kind, [], folder) == first
    for name in ("article", "sections/01", "outline"):
        (folder.path / f"{name}.json").unlink(missing_ok=True)
        assert write(kind, [], folder) == first
    assert {p: p.read_bytes() for p in sorted(folder.path.rglob("*.json"))} == stored


def test_a_run_cut_in_the_middle_goes_on(tmp_path: Path) -> None:
    folder, texts = EventFolder(tmp_path / "42"), scripts(RetrievePlanRetrieveRead)
    with pytest.raises(AssertionError, match="no text is left"):
        system(RetrievePlanRetrieveRead, ScriptedGenerator(texts[:2])).write(EVENT, PAGES, folder)
    resumed = write(RetrievePlanRetrieveRead, texts[2:], folder)
    assert codec.to_json(resumed) == codec.to_json(write(RetrievePlanRetrieveRead, texts))


@pytest.mark.parametrize("kind", [RetrieveRead, PlanRetrieveRead, RetrievePlanRetrieveRead])
def test_same_inputs_same_bytes(kind: type, tmp_path: Path) -> None:
    files = []
    for name in ("a", "b"):
        article = write(kind, scripts(kind), EventFolder(tmp_path / name / "42"))
        wikigenbench.write(tmp_path / name / "out.json", article)
        files.append({p.relative_to(tmp_path / name): p.read_bytes() for p in sorted((tmp_path / name).rglob("*.json"))})
    assert files[0] == files[1]


# ---- parts


def test_identity_names_all_that_the_text_depends_on() -> None:
    generator = ScriptedGenerator()

    def identity(
        kind: type = RetrieveRead, model: ModelSettings = MODEL, retrieval: RetrievalSettings = RETRIEVAL,
        writing: WritingSettings = WRITING, generator: ScriptedGenerator = generator,
    ) -> tuple[tuple[str, str], ...]:  # fmt: skip
        found = kind(model, retrieval, writing, generator, FixedEncoder()).identity
        assert all(isinstance(v, str) for v in found.values())
        return tuple(sorted(found.items()))

    changed = [
        identity(PlanRetrieveRead),
        identity(RetrievePlanRetrieveRead),
        identity(model=ModelSettings(temperature=0.5)),
        identity(model=ModelSettings(seed=1)),
        *(identity(retrieval=replace(RETRIEVAL, **{k: v})) for k, v in
          {"method": "bm25", "passage_words": 99, "passage_overlap": 1, "top_k": 3, "rrf_k": 5}.items()),
        *(identity(writing=replace(WRITING, **{k: v})) for k, v in
          {"max_words": 99, "max_sections": 3, "section_max_tokens": 99, "unsupported": "mark"}.items()),
        identity(generator=ScriptedGenerator(name="other")),
    ]  # fmt: skip
    assert len({identity(), *changed}) == 1 + len(changed)


def test_split_at_headings() -> None:
    text = "Lead.\n\n==A==\nOne.\n## B ##\n**C:**\nThree.\nA == b."
    assert split_at_headings("T", text) == [
        (LEAD_HEADING, "Lead.\n"),
        (Heading("A"), "One."),
        (Heading("B"), ""),
        (Heading("C"), "Three.\nA == b."),
    ]
    assert split_at_headings("The Flood", "# The flood\nLead.\n# A\nB.") == [(LEAD_HEADING, "Lead."), (Heading("A"), "B.")]
    assert split_at_headings("T", "**Introduction**\nLead.") == [(LEAD_HEADING, "Lead.")]
    assert split_at_headings("T", "==References==\nx") == [(LEAD_HEADING, ""), (Heading("References"), "x")]
    assert split_at_headings("T", "") == [(LEAD_HEADING, "")]


def test_rr_asks_for_the_whole_article_at_once() -> None:
    generator = ScriptedGenerator(["A flood came."])
    system(RetrieveRead, generator, max_words=600, section_max_tokens=50).write(EVENT, PAGES, Unstored())
    assert generator.sampling[0].max_new_tokens == 900
    assert "at most 600 words" in generator.prompts[0][1].content
    assert all(p.text in generator.prompts[0][1].content for p in PAGES if p.usable)
    small = ScriptedGenerator(["A flood came."], context_tokens=1000)
    system(RetrieveRead, small, max_words=600).write(EVENT, PAGES, Unstored())
    assert small.sampling[0].max_new_tokens == 500, "half the context is for the evidence"
