"""Attacks on articles of the bundled sample, written short by the extractive system with a stand-in for the sentence model.

The commands use the real model and longer articles, so their table is another one; what is asked here is the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from benchmark import scoring
from benchmark.attacks import claims, copied, disguise, order, padding, standing
from benchmark.attacks.all_attacks import ATTACKS, Attack, chosen
from benchmark.attacks.given import Given, Other, quotes, sentences_of
from benchmark.attacks.siblings import sibling_of
from benchmark.attacks.standing import HONEST, Attacked, Rows, Standing
from data import codec
from data.errors import UserError
from data.gold import is_excluded
from data.markup import render_text
from data.settings import Settings, load_settings
from data.snapshot import SAMPLE, Snapshot
from data.stage_types import Unstored
from data.types import Article, Heading, Page, Passage, Section, Sentence, Source
from eval.catalogue import HEADLINE
from eval.metric import Metric
from eval.metrics import junk
from eval.metrics.quality import PARTS
from flows.wiring.metrics import build_metrics
from flows.wiring.page_sources import build_collect
from flows.wiring.systems import build_system
from tests.conftest import Command, stand_in_encoder

UNDEFEATED: Mapping[str, str] = {
    "headings_exchanged": "the encoder that stands in here compares letters: its headings fit no better than others do"
}
"""Attacks that the ranking of today does not put below the honest system, and why. One that is below must leave this list."""

pytestmark = pytest.mark.timeout(600)  # every attack is scored in the first test that asks for one

SNAPSHOT = Snapshot(SAMPLE)
NAMES = [attack.name for attack in ATTACKS]
MAX_WORDS = 600
"""Of shorter articles hardly two facts of one human section are told, so that no order can be lost."""
FIRST, SECOND = "9000001", "9000002"
ON_SECOND = ("headings_exchanged", "pronouns_changed")
"""Scoring one attack on one event takes 0.1 CPU seconds, so each is scored on one: these two on `SECOND`, as the first article
has headings that tell its sections apart, and no other pronoun that would fit."""


def settings() -> Settings:
    return load_settings(None, [f"writing.max_words={MAX_WORDS}"], evaluation={"judge": "lexical"})


def ranking_metrics() -> list[Metric]:
    """Those that the headline, quality and the preconditions need: the others only explain."""
    preconditions = {"fact_f", "cite_f1", "judged_share", "copied_share", "verbatim_share", "junk_share"}
    wanted = preconditions | set(HEADLINE) | set(PARTS)
    return [metric for metric in build_metrics(settings()) if wanted & metric.names.keys()]


@pytest.fixture(scope="module")
def at_length(request: pytest.FixtureRequest) -> bool:
    """In the longer run, where every attack is made of every event."""
    return "not slow" not in request.config.option.markexpr


@pytest.fixture(scope="module")
def given(at_length: bool, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Given]]:
    """Fifty attacks on an article share most of its sentences: what a sentence says of itself or of its passages is computed
    once."""
    made: dict[str, Other] = {}
    with stand_in_encoder(), pytest.MonkeyPatch.context() as patch:
        patch.setenv("WIKIGEN_RUNS", str(tmp_path_factory.mktemp("runs")))
        patch.setattr(junk, "junk_kind", cache(junk.junk_kind))
        system, collect = build_system("extractive", settings()), build_collect(SNAPSHOT, settings())
        for event_id in SNAPSHOT.ids("search") if at_length else (FIRST, SECOND):
            event = SNAPSHOT.event(event_id)
            pages = collect(event)
            made[event_id] = Other(system.write(event, pages, Unstored()), pages)
        titles = {event_id: one.article.title for event_id, one in made.items()}
        yield {i: Given(one.article, one.pages, made[str(sibling_of(i, titles))]) for i, one in made.items()}


@pytest.fixture(scope="module")
def attacked(given: dict[str, Given], at_length: bool) -> Attacked:
    made = standing.make(ATTACKS, given)
    assert not made.broken
    if at_length:
        return made
    of = {name: SECOND if name in ON_SECOND else FIRST for name in NAMES}
    return replace(made, articles={name: {of[name]: found[of[name]]} for name, found in made.articles.items()})


@pytest.fixture(scope="module")
def rows(attacked: Attacked, given: dict[str, Given], tmp_path_factory: pytest.TempPathFactory) -> Rows:
    return standing.score(attacked, given, SNAPSHOT, ranking_metrics(), tmp_path_factory.mktemp("attacks"))


@pytest.fixture(scope="module")
def found(attacked: Attacked, rows: Rows) -> dict[str, Standing]:
    return {one.attack: one for one in standing.standings(ATTACKS, attacked, rows, ranking_metrics())}


# ---- do they rank below?


@pytest.mark.parametrize("name", NAMES)
def test_an_attack_ranks_below_the_honest_system(name: str, found: dict[str, Standing]) -> None:
    attack = found[name]
    told = f"{attack.deciding}: honest {attack.honest.get(attack.deciding)}, attack {attack.means.get(attack.deciding)}"
    if name in UNDEFEATED:
        assert not attack.is_below, f"{name} is below now ({told}): take it out of UNDEFEATED"
    else:
        assert attack.is_below, f"{name} is not below ({told}; the same rank if empty)"


def test_the_honest_system_is_scored_on_every_event_and_every_attack_on_those_it_changed(
    rows: Rows, given: dict[str, Given], found: dict[str, Standing]
) -> None:
    assert list(rows[HONEST]) == list(given) and all(row.status == "ok" for row in rows[HONEST].values())
    assert found.keys() == set(NAMES)
    for name, one in found.items():
        assert one.n_events == len(rows[name]) >= 1
        assert one.honest.keys() >= set(HEADLINE)
    assert set(UNDEFEATED) <= set(NAMES)
    changed = {name: one.changed for name, one in found.items()}
    assert changed["sentences_shuffled"] == 0 and changed["words_shuffled"] == 1 and 0.4 < changed["hidden_prose"] < 0.6


# ---- what they make


def check(article: Article, given: Given) -> None:
    """A valid article about the same event."""
    assert (article.event_id, article.title) == (given.article.event_id, given.article.title)
    assert codec.from_json(Article, codec.to_json(article), where="attack") == article
    ids = [source.id for source in article.sources]
    assert len(set(ids)) == len(ids)
    assert {cite for sentence in sentences_of(article) for cite in sentence.cites} <= set(ids)
    for source in article.sources:
        passage = source.passage
        if passage.page < len(given.pages) and source not in given.article.sources:
            assert given.pages[passage.page].text[passage.start : passage.end] == passage.text
    render_text(article)


@pytest.mark.parametrize("attack", ATTACKS, ids=NAMES)
def test_an_attack_makes_a_valid_article_that_differs_and_is_always_the_same(attack: Attack, given: dict[str, Given]) -> None:
    n_changed = 0
    for one in given.values():
        article = attack.make(one)
        check(article, one)
        assert attack.make(replace(one)) == article
        n_changed += article != one.article
    assert n_changed >= 1
    assert attack.says and attack.make.__doc__


def article(*sections: tuple[str, list[str]], cites: tuple[str, ...] = ("0:0-14",)) -> Article:
    made = [Section(Heading(name), (tuple(Sentence(t, cites) for t in texts),) if texts else ()) for name, texts in sections]
    source = Source(Passage(0, 0, 14, "A town burned."), "https://example.org/", "News", None)
    return Article("7", "2031 fire", made[0], tuple(made[1:]), (), (source,))


def page(text: str, **given: object) -> Page:
    return Page("https://example.org/", "News", text, "search", **given)  # type: ignore[arg-type]


PAGES = (page("A town burned. The mayor of Halven, Ada Orsk, said on 3 May that 40 houses were lost in the fire."),)
HEBREW = "העיר בערה בלילה, אמר ראש העיר."
DEGENERATE = {
    "empty": Given(article(("", [])), PAGES),
    "no pages": Given(article(("", ["A town burned."]), ("Fire", ["It burned."])), (), Other(article(("", [])), ())),
    "no usable page": Given(article(("", ["A town burned."])), (page("A town burned.", drop_reason="blocked"),)),
    "one sentence": Given(article(("", ["A town burned."])), PAGES, Other(article(("", ["Snow fell."])), PAGES)),
    "no names": Given(article(("", ["it burned.", "they left."]), ("fire", ["it went on."])), (page("it burned."),)),
    "no citations": Given(article(("", ["A town burned."]), ("Fire", ["It burned."]), cites=()), PAGES),
    "right to left": Given(article(("", [HEBREW]), (HEBREW, [HEBREW, HEBREW]), cites=()), (page(f"{HEBREW} {HEBREW}"),)),
    "headings only": Given(article(("", []), ("Fire", []), ("Fire", [])), PAGES),
    "blank texts": Given(article(("", ["", " ", "."]), ("", ["\u200d"])), (page(""), page("\n \n"))),
    "one long word": Given(article(("", ["x" * 5000])), (page("x" * 5000),)),
}  # fmt: skip


@pytest.mark.parametrize("kind", DEGENERATE)
def test_attacks_survive_what_is_hardly_an_article(kind: str) -> None:
    one = DEGENERATE[kind]
    made = standing.make(ATTACKS, {"7": one})
    assert not made.broken
    for found in made.articles.values():
        for event_id, changed in found.items():
            assert event_id == "7"
            check(changed, one)


def test_an_attack_that_raises_loses_its_event_by_name_and_no_other(given: dict[str, Given]) -> None:
    first = next(iter(given))

    def fails(one: Given) -> Article:
        if one.article.event_id == first:
            raise ValueError("odd event")
        return copied.best_passages(one)

    made = standing.make([Attack("fails", "copied", fails)], given)
    assert [(one.attack, one.event_id, one.error) for one in made.broken] == [("fails", first, "ValueError('odd event')")]
    assert made.articles["fails"].keys() == given.keys() - {first}


# ---- single attacks


@pytest.fixture
def one(given: dict[str, Given]) -> Given:
    return next(iter(given.values()))


def texts(article: Article) -> list[str]:
    return [sentence.text for sentence in sentences_of(article)]


def test_copies_stand_in_the_pages_they_cite(one: Given) -> None:
    for make in (copied.all_passages, copied.best_passages, copied.best_passages_headed):
        made = make(one)
        passages = {source.id: source.passage.text for source in made.sources}
        assert all(s.text in passages[s.cites[0]] for s in sentences_of(made))
    assert [s.heading.text for s in copied.best_passages_headed(one).sections] == list(copied.HEADINGS)
    assert len(texts(copied.all_passages(one))) == len(quotes(one.pages))
    assert 0.7 * one.n_words <= len(" ".join(texts(copied.best_passages(one))).split()) <= one.n_words


def test_order_attacks_keep_every_sentence(one: Given) -> None:
    honest = texts(one.article)
    for make in (order.sentences_shuffled, order.paragraphs_reversed, order.sections_reversed, order.headings_exchanged):
        made = make(one)
        assert sorted(texts(made)) == sorted(honest)
        assert sorted(s.heading.text for s in made.sections) == sorted(s.heading.text for s in one.article.sections)
    assert texts(order.headings_exchanged(one)) == honest
    assert sorted(" ".join(texts(order.words_shuffled(one))).split()) == sorted(" ".join(honest).split())


def test_padding_doubles_the_article_and_leaves_what_it_said(one: Given) -> None:
    assert one.other is not None
    for make, pages in ((padding.off_point, one.pages), (padding.other_event, one.other.pages)):
        made = texts(make(one))
        added = [text for text in made if text not in texts(one.article)]
        assert [text for text in made if text in texts(one.article)] == texts(one.article)
        assert all(any(text in page.text for page in pages) for text in added)
        assert 1.7 * one.n_words <= len(" ".join(made).split()) <= 2 * one.n_words
    hidden = padding.hidden_prose(one).sections
    assert hidden[:-1] == one.article.sections and is_excluded(hidden[-1].heading.text) and hidden[-1].sentences


def test_siblings_are_chosen_by_title_then_by_hash_and_bring_their_own_sources(one: Given) -> None:
    titles = {"1": "2031 Tarn flood", "2": "2032 Tarn flood", "3": "Orsk cup final", "4": "Vell fire"}
    assert (sibling_of("1", titles), sibling_of("2", titles)) == ("2", "1")
    assert sibling_of("3", titles) == sibling_of("3", dict(reversed(titles.items()))) in {"1", "2", "4"}
    assert sibling_of("1", {"1": "2031 Tarn flood"}) is None
    assert one.other is not None
    made = padding.sibling_article(one)
    assert texts(made) == texts(one.other.article) and made.title == one.article.title
    assert all(source.passage.page >= len(one.pages) for source in made.sources)


def test_fused_claims_cite_what_both_halves_cite() -> None:
    honest = article(("", ["A fire burned the old town hall.", "The mayor opened a new market today."]))
    made = claims.claims_fused(Given(honest, PAGES))
    assert texts(made) == ["A fire burned a new market today.", "The mayor opened the old town hall."]


def test_disguised_text_reads_the_same_and_has_other_characters() -> None:
    one = Given(article(("", ["The mayor opened a new market."])), PAGES)
    assert [t.replace("\u200d", "") for t in texts(disguise.zero_width_joiners(one))] == texts(one.article)
    assert [t.replace("\u00ad", "") for t in texts(disguise.soft_hyphens(one))] == texts(one.article)
    assert texts(disguise.bidi_marks(one)) == ["The \u202eroyam\u202c opened \u202ea\u202c new market."]
    for make in (disguise.homoglyphs, disguise.in_greek_letters):
        (text,) = texts(make(one))
        assert len(text) == len(texts(one.article)[0]) and not text.isascii()
    assert texts(disguise.in_greek_letters(one))[0].encode("ascii", "ignore").decode().strip(" .") == ""


# ---- what decides


def test_the_deciding_measure_is_the_one_that_alone_moves_the_rank_furthest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "ranking_key", lambda means: (float(means.get("support", 0) > 0.9), means.get("recall", -1)))
    honest = {"support": 1.0, "recall": 0.5, "words": 0.1}
    assert standing._deciding(honest, {"support": 0.4, "recall": 0.7, "words": 0.2}) == ("support", pytest.approx(0.6))
    assert standing._deciding(honest, {"support": 0.95, "recall": 0.7, "words": 0.2}) == ("recall", pytest.approx(-0.2))
    assert standing._deciding(honest, {"support": 0.95, "recall": 0.5, "words": 0.2}) == ("", 0.0)
    assert standing._deciding(honest, {"recall": 0.7}) == ("support", pytest.approx(1.0))


def test_means_that_differ_by_rounding_alone_rank_the_same(rows: Rows) -> None:
    honest = list(rows[HONEST].values())
    shaken = [replace(row, scores={k: v if v is None else v * (1 + 1e-12) for k, v in row.scores.items()}) for row in honest]
    one = standing.standing(ATTACKS[0], shaken, honest, ranking_metrics(), 0.0)
    assert not one.is_below and one.deciding == ""


# ---- the command


def test_names_and_families_are_listed_and_chosen_and_others_refused(wikigenben: Command) -> None:
    assert [attack.name for attack in chosen(["citing", "best_passages"])] == [
        "best_passages", "everything_cited", "citations_moved", "citations_dropped",
    ]  # fmt: skip
    assert chosen([]) == ATTACKS and len(set(NAMES)) == len(NAMES)
    said = wikigenben("attacks", "--list")
    assert said.code == 0 and len(said.out.splitlines()) == len(ATTACKS)
    with pytest.raises(UserError, match=r"there is no attack 'best'; known: all_passages, .*; families: copied"):
        chosen(["best"])


FLAGS = ("--judge", "lexical", "--set", f"writing.max_words={MAX_WORDS}")


def test_the_command_says_which_attacks_are_below_and_goes_on_from_what_is_kept(
    wikigenben: Command, fixed_encoder: None, tmp_path: Path
) -> None:
    flags = ("--limit", 1, "--only", "citing", "--allow-undefeated", *FLAGS)
    said = wikigenben("attacks", "--system", "extractive", "--data", "sample", *flags, "--json")
    assert said.code == 0
    told = json.loads(said.out)
    assert [(one["attack"], one["is_below"], one["n_events"]) for one in told["attacks"]] == [
        (name, name not in UNDEFEATED, 1) for name in ("everything_cited", "citations_moved", "citations_dropped")
    ]
    assert told["headline"] == list(HEADLINE) and told["n_events"] == 1 and told["lost"] == []
    run = next((tmp_path / "runs").glob("extractive-sample-search"))
    scores = run.with_name("extractive-sample-search-attacks") / "citations_moved" / "scores.jsonl"
    kept = scores.read_text()
    again = wikigenben("attacks", "--run", run, *flags)
    assert again.code == 0 and "3 of 3 attacks rank below extractive" in again.out and scores.read_text() == kept


def test_an_undefeated_attack_and_a_lost_event_end_with_1(
    wikigenben: Command, fixed_encoder: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags = ("--data", "sample", "--limit", 2, "--only", "best_passages", *FLAGS)
    monkeypatch.setattr(scoring, "ranking_key", lambda means: ())  # every system the same
    assert wikigenben("attacks", "--system", "lead", *flags).code == 1
    assert wikigenben("attacks", "--system", "lead", *flags, "--allow-undefeated").code == 0
    events = sorted((tmp_path / "runs" / "lead-sample-search" / "events").iterdir())
    (events[0] / "article.json").write_text("{")
    said = wikigenben("attacks", "--run", events[0].parents[1], *flags, "--allow-undefeated")
    assert said.code == 1 and f"lost: {events[0].name}: " in said.err and "not below: best_passages" in said.out


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (("--system", "lead", "--data", "sample", "--limit", "0"), "--limit 0 leaves no event"),
        (("--system", "lead", "--data", "sample", "--set", "evidence.source=links"), "attacks are made from recorded pages"),
        (("--system", "lead", "--run", "x"), "not allowed with"),
        ((), "name either --run or --system"),
    ],
)
def test_wrong_input_is_told_with_exit_code_2(flags: tuple[str, ...], why: str, wikigenben: Command) -> None:
    said = wikigenben("attacks", *flags)
    assert said.code == 2 and why in said.err
