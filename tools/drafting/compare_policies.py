"""What to draft in each round: the mix's rule beside SpecDec++, DySpec and a learned policy, on texts that were recorded.

    python -m tools.drafting.say_prompts --out say.jsonl
    python -m tools.drafting.compare_policies record say.jsonl --model smollm2 --out runs/traces
    python -m tools.drafting.compare_policies compare runs/traces

`record` writes each text with the mix and once plainly, noting at each token what the model said and what its bridges would
have drafted. `compare` decodes the texts again on paper with every policy: events are held out in turn, heads, values and
thresholds come from the other events. A policy's own arithmetic costs nothing there.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from data.errors import UserError
from flows.showing import console

if TYPE_CHECKING:
    from decoding.drafters.drafter import Drafter
    from tools.drafting.draft_policies import Policy, Seen, Stop
    from tools.drafting.draft_traces import Conditions, Trace

FOLDS = 3
TUNED_ON = 60
"""Texts on which a threshold is chosen."""
RISKS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
NODES = (2, 3, 5, 7, 11)
LEAST = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
RULE, ORACLE = "mix", "bound: outcomes known"

Score = tuple[float, float]
"""Tokens behind the first, and their cost in plain steps."""


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.drafting.compare_policies",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record", help="write traces")
    recording.add_argument("prompts", type=Path, metavar="FILE", help="JSON lines, as tools.drafting.say_prompts writes them")
    recording.add_argument("--out", type=Path, required=True, metavar="DIR")
    recording.add_argument("--model", default="smollm2", metavar="M")
    recording.add_argument("--max-new-tokens", type=int, default=96, metavar="N")
    recording.add_argument("--threads", type=int, default=1, metavar="N")
    comparing = commands.add_parser("compare", help="read traces")
    comparing.add_argument("folder", type=Path, metavar="DIR")
    arguments = parser.parse_args(argv)
    return console.guarded(lambda: _record(arguments) if arguments.command == "record" else _compare(arguments))


def _record(arguments: argparse.Namespace) -> int:
    import torch

    from decoding.knn.prompt_files import read_prompts
    from decoding.models.naming import load_named
    from tools.drafting.draft_traces import record

    if arguments.max_new_tokens < 3 or arguments.threads < 1:
        raise UserError("--max-new-tokens takes 3 or more and --threads 1 or more")
    rows = read_prompts(arguments.prompts)
    torch.set_num_threads(arguments.threads)
    record(load_named(arguments.model), rows, arguments.max_new_tokens, arguments.out, console.note)
    return 0


def _compare(arguments: argparse.Namespace) -> int:
    from decoding.bench.result import ratio
    from tools.drafting.draft_traces import read, replay

    conditions, traces = read(arguments.folder)
    scores = compare(conditions, traces, console.note)
    rule = scores[RULE]
    console.result("| policy | tokens per plain step | over the mix's rule |\n|---|---|---|")
    for name, of in scores.items():
        own, over = ratio(of), ratio([(mix, cost) for (_, mix), (_, cost) in zip(rule, of)])
        console.result(f"| {name} | {_shown(own)} | {_shown(over)} |")
    mix = _mix(conditions, traces)
    same = sum(tuple(replay(trace, mix, conditions.costs)[2]) == trace.passes for trace in traces)
    console.result(
        f"{len(traces)} texts of {len({trace.event for trace in traces})} events, {sum(len(t.answer) for t in traces)} tokens; "
        f"on paper the mix takes the passes that it took when they were recorded in {same} of them"
    )
    return 0


def _shown(ratio: object) -> str:
    from decoding.bench.result import Ratio

    assert isinstance(ratio, Ratio)
    return f"{ratio.value:.3f}" + (f" [{ratio.low:.3f}, {ratio.high:.3f}]" if ratio.low is not None else "")


def compare(conditions: Conditions, traces: Sequence[Trace], tell: Callable[[str], None]) -> dict[str, list[Score]]:
    """Policy -> a score of each trace, in the order of `traces`. Raises UserError for fewer than `FOLDS` events."""
    events = sorted({trace.event for trace in traces})
    if len(events) < FOLDS:
        raise UserError(f"the traces are of {len(events)} events and {FOLDS} are held out in turn; record more prompts")
    found: dict[str, dict[str, Score]] = {}
    for fold in range(FOLDS):
        held_out = set(events[fold::FOLDS])
        known = [trace for trace in traces if trace.event not in held_out]
        for name, scores in _of_fold(conditions, known, [trace for trace in traces if trace.event in held_out]).items():
            found.setdefault(name, {}).update(scores)
        tell(f"fold {fold + 1} of {FOLDS}: {len(known)} texts learnt from")
    return {name: [by_id[trace.id] for trace in traces] for name, by_id in found.items()}


def _of_fold(conditions: Conditions, known: Sequence[Trace], new: Sequence[Trace]) -> dict[str, dict[str, Score]]:
    from tools.drafting import draft_policies as policies

    costs, rule, step_cost = conditions.costs, conditions.stop, _step_cost(known)
    stop: Stop | None = rule.go_on if rule is not None and step_cost is not None else None
    seen = [one for _, places in look(known, conditions) for one in places]
    copy_head, chain_head = policies.copy_head(seen, boosted=False), policies.confidence_head(seen) if stop else None

    def greedily(*, state: bool) -> Policy:
        return policies.Greedily(policies.LearnedValues(seen, stop, state=state), costs, step_cost, stop)

    def tuned(options: Sequence[Policy]) -> Policy:
        """The option with the most tokens for their cost on texts that it may learn from."""
        return max(options, key=lambda policy: _rate(_replayed(known[:TUNED_ON], policies.Chooser(policy), conditions)))

    entered: dict[str, Policy] = {
        "counts, without account and trials": greedily(state=False),
        "learned values (Learning to Draft)": greedily(state=True),
        "threshold head (SpecDec++)": tuned([policies.Heads(copy_head, chain_head, risk) for risk in RISKS]),
        "tree of copies and rows, fixed size (DySpec)": tuned([policies.Trees(nodes=nodes) for nodes in NODES]),
        "the same, by threshold": tuned([policies.Trees(least=least) for least in LEAST]),
    }
    mix = _mix(conditions, known)
    _replayed(known, mix, conditions)
    scores = {"nothing drafted": _replayed(new, policies.Chooser(policies.Plain()), conditions)}
    scores[RULE] = _replayed(new, mix, conditions)
    free = _mix(replace(conditions, stop=None), known)
    _replayed(known, free, conditions)
    scores["mix without chains"] = _replayed(new, free, conditions)
    for name, policy in entered.items():
        chooser = policies.Chooser(policies.Plain())
        _replayed(known, chooser, conditions)  # the counts of all start from the same texts
        chooser.policy = policy
        scores[name] = _replayed(new, chooser, conditions)
    scores[ORACLE] = {
        trace.id: (len(trace.answer) - 1, policies.least_cost(trace, places, costs))
        for trace, places in look(new, conditions, after=known)
    }
    return scores


def _mix(conditions: Conditions, traces: Sequence[Trace]) -> Drafter:
    """As it is built for real, before its first text."""
    from decoding.drafters.copy import CopyDrafter
    from decoding.drafters.mix import MixDrafter
    from tools.drafting.draft_traces import RecycledRows, recorded_chains

    step_cost = _step_cost(traces)
    chains = recorded_chains(step_cost, conditions.stop) if conditions.stop is not None and step_cost is not None else None
    return MixDrafter(CopyDrafter(), RecycledRows(seeded=False, persist=True), chains, conditions.costs)


def _step_cost(traces: Sequence[Trace]) -> float | None:
    return next((trace.step_cost for trace in traces if trace.step_cost), None)


def look(traces: Sequence[Trace], conditions: Conditions, *, after: Sequence[Trace] = ()) -> list[tuple[Trace, list[Seen]]]:
    """All places of each text, with the outcome of each option; the counts have seen the texts of `after` before."""
    from tools.drafting.draft_policies import Chooser, Offer, Plain, Seen
    from tools.drafting.draft_traces import replay

    places: list[Seen] = []

    def note(offer: Offer) -> None:
        # at once: rows and counts go on changing
        following = trace.answer[offer.at + 1 :]
        copied = offer.copied.tokens if offer.copied is not None else ()
        place = trace.places[offer.at] if offer.at < len(trace.places) else None
        chained = _agree(place.chain, following) if place is not None else 0
        features = offer.copy_features(), offer.chain_features()
        places.append(Seen(offer.at, *features, offer.tree(), _agree(copied, following), place, chained))

    chooser = Chooser(Plain())
    _replayed(after, chooser, conditions)
    chooser.seen = note
    found = []
    for trace in traces:
        places.clear()
        replay(trace, chooser, conditions.costs)
        found.append((trace, list(places)))
    return found


def _agree(guess: Sequence[int], text: Sequence[int]) -> int:
    """Right tokens before the first wrong one."""
    return next((n for n, (a, b) in enumerate(zip(guess, text)) if a != b), min(len(guess), len(text)))


def _replayed(traces: Sequence[Trace], drafter: Drafter, conditions: Conditions) -> dict[str, Score]:
    from tools.drafting.draft_traces import replay

    return {trace.id: replay(trace, drafter, conditions.costs)[:2] for trace in traces}


def _rate(scores: dict[str, Score]) -> float:
    return sum(tokens for tokens, _ in scores.values()) / sum(cost for _, cost in scores.values())


if __name__ == "__main__":
    sys.exit(main())
