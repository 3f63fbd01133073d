"""What a judge is worth: which true and false pairs it accepts, how well it agrees with people, what a pair costs.

    python -m eval.judge_card                                   # the embedded judge on the sample
    python -m eval.judge_card --judge nli:MODEL --data DIR      # any judge on a benchmark folder
    python -m eval.judge_card --judge nli:MODEL --pairs FILE    # on claims that people labelled, in the format of WiCE
    python -m eval.judge_card --pairs A --pairs B --data DIR    # both in one table
    python -m eval.judge_card --pairs FILE --whole-pages        # the rows of a claim joined: its page read whole
    python -m eval.judge_card --agents DIR                      # on statements of research agents, labelled by reading

The first form edits verbatim sentences of evidence, moves citations, and asks the claims that ship
(`eval.cards.written_claims`); then it says whether the judge may decide headline scores. Of a benchmark only the development
third is read (events whose sha256(id) starts with 0-4). The second form gives the AUROC (a claim scores the maximum over its
rows) with the interval of a bootstrap over claims. `--agents` takes the folder of `wikigenben agents`: labels come with the
package, texts do not. Exit code: 0 done, 2 wrong input.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from data import codec
from data.errors import StageError
from data.types import Strict
from eval.cards import agent_statements
from eval.cards.judge_accuracy import (
    AcceptedOf,
    Accuracy,
    Reliability,
    Row,
    accepted_by_label,
    accepted_shares,
    accuracy,
    read_rows,
    reliability,
    whole_pages,
)
from eval.judges.lexical_judge import AcceptRate
from flows.showing.console import guarded

if TYPE_CHECKING:
    from data.snapshot import Snapshot
    from eval.judges.judge import Judge, JudgeKind, Pair

MOST_SHUFFLED = 0.10
MOST_NUMBERS = 0.30
LEAST_VERBATIM = 0.80
"""Shares accepted. A judge that accepts more shuffled citations or number edits is not used for headline scores, and one that
refuses more of what lies word for word in the passage says nothing."""
ENOUGH = 100
"""Pairs of a kind, below which its rate decides nothing: the interval is 20 points wide."""

CITATIONS_FILE = "labelled_citations.jsonl"

Headline = Literal["yes", "no", "undecided"]


@dataclass(frozen=True, slots=True)
class JudgeCard(Strict):
    """`rates` of each kind of pair, and whether the judge may decide headline scores, with the reasons if not.

    `ms_per_pair` is of the pairs that were judged now, None when all answers were known from before.
    """

    judge: str
    data: str
    rates: tuple[AcceptRate, ...]
    n_unjudged: int
    ms_per_pair: float | None
    headline: Headline
    reasons: tuple[str, ...]


class Timed:
    """A judge, with a clock."""

    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        self.name, self.revision, self.threshold = judge.name, judge.revision, judge.threshold
        self.kind: JudgeKind = judge.kind
        self.seconds, self.n = 0.0, 0

    def score(self, pairs: Sequence[Pair]) -> Sequence[float | None]:
        began = time.perf_counter()
        scores = self.judge.score(pairs)
        self.seconds += time.perf_counter() - began
        self.n += len(pairs)
        return scores

    @property
    def ms_per_pair(self) -> float | None:
        return round(1000 * self.seconds / self.n, 3) if self.n else None


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m eval.judge_card", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--judge",
        default="embedded",
        metavar="NAME",
        help="embedded, lexical, nli:MODEL_FOLDER_OR_ID or llm:NAME@BASE_URL",
    )
    parser.add_argument("--data", metavar="DIR", help="benchmark folder (default: the sample)")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N events")
    parser.add_argument(
        "--pairs",
        type=Path,
        action="append",
        metavar="FILE",
        help="labelled claims, as in WiCE's files; repeatable; without --data instead of edits",
    )
    parser.add_argument(
        "--whole-pages", action="store_true", help="join the rows of each labelled claim, as scoring reads a page"
    )
    parser.add_argument(
        "--agents", type=Path, metavar="DIR", help="statements of research agents, whose articles are in DIR/articles/<agent>/"
    )
    parser.add_argument(
        "--half", choices=("choose", "once"), help="of --agents: the half to choose on, or the one looked at once"
    )
    parser.add_argument("--device", default="auto", metavar="DEVICE", help="where an nli: judge runs: auto, cpu, cuda, ...")
    parser.add_argument("--json", action="store_true", help="one JSON line on stdout instead of a table")
    arguments = parser.parse_args(argv)

    def run() -> int:
        from eval.judges.judge import describe
        from flows.showing import console
        from flows.wiring.judges import cached, judge_card, keep_card, open_judge

        timed = Timed(open_judge(arguments.judge, device=arguments.device))
        judge = cached(timed)
        files = [on_pairs(judge, timed, path, whole=arguments.whole_pages) for path in arguments.pairs or ()]
        if arguments.agents is not None:
            files.append(on_agents(judge, timed, arguments.agents, arguments.half))
        card = None if files and arguments.data is None else make_card(judge, timed, arguments.data, arguments.limit)
        if arguments.json:
            console.result_json(_plain(describe(judge), files, card))
        else:
            own = judge_card(judge)
            _show(describe(judge), files, card, (own["edited_true"], own["edited_false"]) if "edited_true" in own else None)
        if judge.name != "embedded":  # which brings its own
            keep_card(judge, _kept(files, card))
        return 0

    return guarded(run)


def make_card(judge: Judge, timed: Timed, data: str | None, limit: int | None) -> JudgeCard:
    """`timed` is the judge behind `judge`, which may remember answers. Raises UserError when there is nothing to edit."""
    from data.errors import UserError
    from eval.cards.stress import accept_rates
    from eval.cards.written_claims import written_pairs
    from eval.judges.judge import describe

    snapshot = _snapshot(data)
    kinds = _all_pairs(snapshot, limit)
    if not kinds:
        raise UserError(f"{snapshot.root} has no event with evidence to quote; name another folder with --data, or more events")
    rates = accept_rates(judge, {**kinds, **written_pairs()})
    headline, reasons = verdict(rates)
    return JudgeCard(
        judge=describe(judge),
        data="sample" if snapshot.is_sample else "wikigenbench",
        rates=rates,
        n_unjudged=sum(rate.n_unjudged for rate in rates),
        ms_per_pair=timed.ms_per_pair,
        headline=headline,
        reasons=reasons,
    )


def _snapshot(data: str | None) -> Snapshot:
    from data.snapshot import SAMPLE, Snapshot

    return Snapshot(Path(data).expanduser() if data and data != "sample" else SAMPLE)


def _ids(snapshot: Snapshot, limit: int | None) -> list[str]:
    from eval.cards import stress

    return [i for i in snapshot.ids("search") if snapshot.is_sample or stress.is_development(i)][:limit]


def _all_pairs(snapshot: Snapshot, limit: int | None) -> dict[str, Sequence[Pair]]:
    """Pairs by kind, of pages as the systems get them."""
    from data.settings import EvidenceSettings, Settings
    from eval.cards import stress
    from flows.showing import console
    from flows.wiring.page_sources import build_collect

    found = build_collect(snapshot, Settings())
    cited = build_collect(snapshot, Settings(evidence=EvidenceSettings(track="cited")))
    ids = _ids(snapshot, limit)
    quotes: list[stress.Quote] = []
    references: list[stress.Reference] = []
    for event_id in console.tracked("reading", ids, len(ids), str):
        try:
            event = snapshot.event(event_id)
            quotes += stress.quotes_of(event_id, found(event))
            references.append(stress.read_reference(snapshot, event_id, cited(event)))
        except StageError as error:
            console.note(f"left out: {event_id}: {error}")
    pairs: dict[str, Sequence[Pair]] = {**stress.stress_pairs(quotes), **stress.edit_pairs(quotes)} if quotes else {}
    if shuffled := stress.shuffled_pairs(quotes):
        pairs[stress.SHUFFLED] = shuffled
    return pairs | stress.reference_pairs(references)


def verdict(rates: Sequence[AcceptRate]) -> tuple[Headline, tuple[str, ...]]:
    """May the judge decide headline scores? A broken rule says no; too few pairs of a kind leave it open."""
    from eval.cards.stress import NUMBER_CHANGED, SHUFFLED, VERBATIM

    known = {rate.edit: rate for rate in rates}
    broken, thin = [], []
    rules = ((VERBATIM, LEAST_VERBATIM, "least"), (NUMBER_CHANGED, MOST_NUMBERS, "most"), (SHUFFLED, MOST_SHUFFLED, "most"))
    for kind, bound, side in rules:
        rate = known.get(kind)
        if rate is None or rate.n < ENOUGH:
            thin.append(f"{kind}: {rate.n if rate else 0} pairs, {ENOUGH} are needed")
        elif (rate.accepted < bound) if side == "least" else (rate.accepted > bound):
            broken.append(f"{kind}: accepts {100 * rate.accepted:.0f}%, at {side} {100 * bound:.0f}% are allowed")
    if broken:
        return "no", (*broken, *thin)
    return ("undecided", tuple(thin)) if thin else ("yes", ())


def _kept(files: Sequence[OnPairs], card: JudgeCard | None) -> dict[str, Any]:
    """The part that goes into the judge's own card."""
    found: dict[str, Any] = {}
    if files:
        found |= {"pairs": files[-1].pairs, **codec.to_plain(files[-1].accuracy)}
    if card is not None:
        found |= {"data": card.data, "headline": card.headline, "stress": [codec.to_plain(rate) for rate in card.rates]}
    return found


def _plain(judge: str, files: Sequence[OnPairs], card: JudgeCard | None) -> dict[str, Any]:
    if not files and card is not None:
        return dict(codec.to_plain(card))
    found: dict[str, Any] = {"judge": judge, "files": [codec.to_plain(one) for one in files]}
    return found if card is None else found | {"edits": codec.to_plain(card)}


def _show(judge: str, files: Sequence[OnPairs], card: JudgeCard | None, own: tuple[float, float] | None) -> None:
    """One table of all: claims that people labelled, then sentences of pages, edited and not, and of human articles. `own`:
    shares of edited paraphrases accepted, where the judge's own card has them."""
    from rich import box
    from rich.table import Table

    from flows.showing import console

    on = f" on {card.data}" if card is not None else ""
    table = Table(title=f"{judge}{on}", box=box.SIMPLE, title_justify="left", title_style="bold")
    table.add_column("pairs")  # the one that may wrap
    table.add_column("n", justify="right", no_wrap=True)
    headings = (*(_OF_FILES if files else ()), *(_OF_KINDS if card is not None else ()))
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    blank = ("",) * (len(_OF_KINDS) if card is not None else 0)
    for one in files:
        name = f"{one.pairs}{', in-sample' if one.nested else ''}"
        table.add_row(name, *_row(codec.to_plain(one.accuracy)), *blank)
        if one.nested:
            table.add_row("  nested, by its own card", *_row(one.nested), *blank)
    for name, n, expected, accepted in _rates(card) if card is not None else ():
        table.add_row(name, str(n), *("" for _ in (_OF_FILES if files else ())), f"{100 * accepted:.1f}%", expected)
    console.show(table)
    for one in files:
        _show_reliability(one)
    if own is not None:
        console.result(
            f"statements in other words than their evidence, by its own card: {100 * own[0]:.1f}% of the true ones accepted, "
            f"{100 * own[1]:.1f}% of those with one thing changed"
        )
    if card is not None:
        if card.n_unjudged:
            console.result(f"{card.n_unjudged} pairs could not be judged and count as refused")
        console.result(_cost(card.ms_per_pair))
        why = f" ({'; '.join(card.reasons)})" if card.reasons else ""
        console.result(f"may decide headline scores: {card.headline}{why}")


_OF_FILES = ("AUROC [95%]", "bal. acc.", "F1")
_OF_KINDS = ("accepted", "should be")


def _rates(card: JudgeCard) -> list[tuple[str, int, str, float]]:
    """Kinds by what should become of them; the edits with the mean over their kinds."""
    from eval.cards.stress import FALSE, TRUE

    rates = sorted(card.rates, key=lambda rate: EXPECTED.index(_expected(rate.edit)))
    rows = [(rate.edit, rate.n, _expected(rate.edit), rate.accepted) for rate in rates]
    for kinds, expected in ((TRUE, "accepted"), (FALSE, "refused")):
        found = [rate for rate in rates if rate.edit.startswith(kinds) and rate.n]
        if found:
            mean = sum(rate.accepted for rate in found) / len(found)
            rows.append((f"{kinds}mean of {len(found)} kinds", sum(rate.n for rate in found), expected, mean))
    return rows


def _show_reliability(one: OnPairs) -> None:
    from flows.showing import console

    error = one.reliability.error
    n = one.accuracy
    console.result(
        f"{one.pairs}: {n.n_claims} claims, {n.n_supported} supported, {n.n_unjudged} could not be judged; accepted are "
        f"{100 * one.supported_accepted:.1f}% of the supported ones, {100 * one.others_accepted:.1f}% of the others"
    )
    shares = ", ".join(f"{100 * of.accepted:.0f}% of {of.n} {of.label.replace('_', ' ')}" for of in one.accepted)
    console.result(f"  accepted: {shares}")
    console.result(f"  calibration error {'-' if error is None else f'{error:.3f}'}; score, claims, share supported")
    for part in one.reliability.bins:
        share = "" if part.supported is None else f"{100 * part.supported:3.0f}% {'#' * round(40 * part.supported)}"
        console.result(f"  {part.low:.1f} {part.n:5d} {share}".rstrip())
    console.result(f"  {_cost(one.ms_per_pair)}; {one.ms_per_known_pair:.2f} ms when asked again")


EXPECTED = ("accepted", "mostly accepted", "refused")


def _expected(kind: str) -> str:
    from eval.cards.stress import REFERENCE, TRUE, VERBATIM
    from eval.cards.written_claims import is_true

    return (
        EXPECTED[0] if kind.startswith((VERBATIM, TRUE)) or is_true(kind) else EXPECTED[1] if kind == REFERENCE else EXPECTED[2]
    )


def _cost(ms_per_pair: float | None) -> str:
    return "every answer was known from before" if ms_per_pair is None else f"{ms_per_pair:.2f} ms a pair"


@dataclass(frozen=True, slots=True)
class OnPairs(Strict):
    """One file of labelled claims. `nested` is what the judge's own card says where its fit used this file; the rest is then
    in-sample. Costs are of pairs judged now (None when all were known) and of asking again. Claims are accepted at the judge's
    own threshold."""

    pairs: str
    n_pairs: int
    accuracy: Accuracy
    supported_accepted: float
    others_accepted: float
    accepted: tuple[AcceptedOf, ...]
    reliability: Reliability
    nested: dict[str, Any] | None
    ms_per_pair: float | None
    ms_per_known_pair: float


def on_pairs(judge: Judge, timed: Timed, path: Path, *, whole: bool = False) -> OnPairs:
    """`whole`: pages that the file has in pieces are joined. Raises UserError for a file that is unreadable, empty, or has one
    label only."""
    rows = whole_pages(read_rows(path)) if whole else read_rows(path)
    name = f"{path.name}, whole pages" if whole else path.name
    return on_rows(judge, timed, name, rows, None if whole else _nested(timed.judge, path.name))


def on_agents(judge: Judge, timed: Timed, place: Path, half: str | None = None) -> OnPairs:
    """Statements of agents with the page that each cites. Raises UserError where no article is there."""
    from flows.showing import console

    known = [one for one in agent_statements.read_statements() if half in (None, one.half)]
    rows, n_absent = agent_statements.rows(known, place / "articles")
    if n_absent:
        console.note(f"{n_absent} of {len(known)} statements of agents left out: their article is not there, or is another one")
    return on_rows(judge, timed, "statements of agents" + (f", half {half}" if half else ""), rows, None)


def on_rows(judge: Judge, timed: Timed, name: str, rows: Sequence[Row], nested: dict[str, Any] | None) -> OnPairs:
    pairs = [row.pair for row in rows]
    before = timed.seconds, timed.n
    scores = judge.score(pairs)
    seconds, n = timed.seconds - before[0], timed.n - before[1]
    began = time.perf_counter()
    judge.score(pairs)
    supported, others = accepted_shares(rows, scores, judge.threshold)
    return OnPairs(
        pairs=name,
        n_pairs=len(rows),
        accuracy=accuracy(rows, scores, judge.threshold),
        supported_accepted=supported,
        others_accepted=others,
        accepted=accepted_by_label(rows, scores, judge.threshold),
        reliability=reliability(rows, scores),
        nested=nested,
        ms_per_pair=round(1000 * seconds / n, 3) if n else None,
        ms_per_known_pair=round(1000 * (time.perf_counter() - began) / len(pairs), 3),
    )


def _nested(judge: Judge, file: str) -> dict[str, Any] | None:
    from eval.fitting.fit_lexical import WICE_FILE
    from flows.wiring.judges import judge_card

    card = judge_card(judge)
    if judge.name == "embedded":
        found: dict[str, Any] | None = card.get({WICE_FILE: "wice", CITATIONS_FILE: "citations"}.get(file, ""))
        return found
    if judge.name == "lexical" and file == WICE_FILE:
        return {name: value for name, value in card.items() if name != "stress"}
    return None


def _row(of: dict[str, Any]) -> tuple[str, ...]:
    return (
        str(of["n_claims"]),
        f"{of['auroc']:.3f} [{of['auroc_low']:.3f}, {of['auroc_high']:.3f}]",
        f"{of['balanced_accuracy']:.3f}",
        f"{of['f1']:.3f}",
    )
