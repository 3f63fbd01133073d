"""Small submissions that the leaderboard's tests are built from: valid, with scores that scatter, and one hostile name."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmark.submissions import folder as submitted
from benchmark.submissions import submission
from benchmark.submissions.submitted import SubmittedCost, SubmittedModel, SubmittedSystem, VariantScore
from data import codec
from data.scores import EventScores, SystemScores
from data.types import Article, Heading, Passage, Section, Sentence, Source
from eval.aggregate import estimate

IDS = tuple(str(9000 + n) for n in range(14))
FAILED = IDS[-1]
USUAL = {
    "cite_f1": 0.95, "judged_share": 1.0, "copied_share": 0.2, "verbatim_share": 0.1, "junk_share": 0.05,
    "conflict_share": 0.05,
}  # fmt: skip
"""Values of a system that meets all preconditions."""
LESS = {"copied_share", "verbatim_share", "junk_share", "conflict_share"}
NAMES = ("quality", "fact_f", "organisation", "cite_precision", "entity_recall", "words", *USUAL)
HOSTILE = "<script>alert(1)</script>\"><img src=x onerror='alert(2)'> =cmd"
TEXTS = ("The river rose at night.", "It fell again two days later.")


@dataclass(frozen=True)
class System:
    """What one synthetic submission is made of; `level` is about its scores, `seed` how they scatter over events."""

    name: str
    level: float
    seed: int = 0
    folder: str = ""
    signature: str = "cite:unit=sentence|judge=lexical@1>=0.6|v1"
    track: str = "search"
    leak_filter: bool = True
    with_articles: bool = True
    without: str = ""
    shifted: dict[str, float] = field(default_factory=dict)
    made: dict[str, Any] = field(default_factory=dict)


def article(event_id: str, title: str) -> Article:
    """Two sentences: the first cites what supports it and what does not, the second nothing that exists."""
    text = "Water stood high. It fell."
    passages = Passage(0, 0, 17, text[:17]), Passage(0, 18, 26, text[18:])
    sources = tuple(Source(p, "https://example.org/flood?a=1&b=2", f"Page {title}", None) for p in passages)
    cites = tuple(source.id for source in sources)
    sentences = (Sentence(TEXTS[0], cites), Sentence(TEXTS[1], ("invalid:7",)))
    return Article(event_id, title, Section(Heading("", 1), (sentences,)), (Section(Heading(HOSTILE), ()),), (), sources)


def write(into: Path, system: System) -> Path:
    """A submission folder, through `benchmark.submissions.submission.build` and the types of `benchmark.submissions.folder`."""
    folder = into / (system.folder or system.name)
    rng = random.Random(system.seed)
    rows, pages = [], {}
    for event_id in IDS:
        if event_id == FAILED:
            values = {name: None if name in {"words", "judged_share", *LESS} else 0.0 for name in NAMES}
            rows.append(EventScores(event_id, "failed", "", 0, values, f"generate: {HOSTILE}"))
            pages[event_id] = ()
            continue
        made = article(event_id, f"Flood {event_id} {HOSTILE}")
        text = codec.to_json(made, indent=1)
        around = dict.fromkeys(NAMES, system.level) | USUAL | system.shifted
        values = {name: min(max(round(level + rng.uniform(-0.05, 0.05), 4), 0.0), 1.0) for name, level in around.items()}
        values["words"] = 11.0
        rows.append(EventScores(event_id, "ok", codec.sha256(text), 11, values, title=made.title))
        pages[event_id] = (submitted.EvidencePage(0, made.sources[0].url, codec.sha256(event_id), 26),)
        if system.with_articles:
            codec.write_atomic(folder / "articles" / f"{event_id}.json", text)
            codec.write_atomic(folder / "results" / f"{event_id}.json", codec.to_json(verdicts(made)))
    rows = [replace(row, scores={n: v for n, v in row.scores.items() if n != system.without}) for row in rows]
    estimates = {
        name: estimate([row.scores[name] for row in rows], name=name, seed=3, resamples=100, n_failed=1)
        for name in NAMES
        if name != system.without
    }
    models = (SubmittedModel("writer", f"hf:{HOSTILE}", "3fa9"),)
    settings = {"leak_filter": str(system.leak_filter)}
    built = submission.build(
        SystemScores(system.name, system.track, "full", system.signature, estimates, tuple(rows)),
        SubmittedSystem(system.name, "1.0", system.track, False, models, settings=settings),
        benchmark="floods",
        leak_filter=system.leak_filter,
        resamples=100,
        seed=3,
        cost=SubmittedCost(26.0, 13, 5000, 1300),
        created="2031-03-16T12:00:00+00:00",
    )
    codec.write_atomic(folder / "evidence.json", codec.to_json(submitted.Evidence(submitted.SCHEMA, pages)))
    submission.write(folder / "submission.json", replace(built, **system.made))
    return folder


def verdicts(made: Article) -> list[submitted.JudgedSentence]:
    right, wrong = (source.id for source in made.sources)
    cited = (submitted.JudgedCitation(right, True), submitted.JudgedCitation(wrong, False))
    return [submitted.JudgedSentence(0, 0, True, cited), submitted.JudgedSentence(0, 1, False)]


FLOORS = {"lead": {"quality": 0.25, "junk_share": 0.1}}
FIRST = System(
    "first", 0.8, seed=1, made={"floors": FLOORS, "variants": {"closed_book": {"entity_recall": VariantScore(0.123)}}}
)
SECOND = System(f"second {HOSTILE}", 0.8, seed=2, folder="second", made={"floors": FLOORS})
THIRD = System("third", 0.5, seed=3, with_articles=False)
UNFILTERED = System("first", 0.85, seed=4, folder="first-unfiltered", leak_filter=False)
OTHER_JUDGE = System("judged", 0.9, seed=5, signature="cite:unit=sentence|judge=nli@2>=0.5|v1")
CHEAT = System("cheat", 0.4, seed=6)
