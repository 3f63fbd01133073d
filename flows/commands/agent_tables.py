"""What `wikigenben agents` prints: who is scored, the tables, and which systems each measure separates."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from benchmark.comparing.agents import Against, Standings
from benchmark.floors import COLUMNS
from benchmark.scoring import support_unknown, unmet
from benchmark.site.figures import number
from eval.catalogue import is_share, less_is_better
from flows.showing import console

if TYPE_CHECKING:
    from rich.table import Table

    from flows.commands.agent_scores import Asked, Ended, Seconds


def tell(asked: Asked) -> None:
    """The plan on stdout."""
    console.result(f"{len(asked.ids)} topics of split {asked.split} in {asked.snapshot.root}, base {asked.group.base}")
    for one in asked.group.members:
        rows = asked.run_of(one.name) / "scores.jsonl"
        n_scored = max(len(rows.read_bytes().splitlines()) - 1, 0) if rows.is_file() else 0
        what = "written here" if one.kind == "here" else f"{len(asked.ids) - len(one.missing)} articles"
        lacks = f", {len(one.missing)} missing ({', '.join(one.missing[:3])})" if one.missing else ""
        console.result(f"{one.name:20} {what}{lacks}; {n_scored} topics have a row in {rows.parent}")
    console.result(f"submissions: {asked.target}" + ("" if asked.whole else f" (a part: {asked.out} is not touched)"))


def report(asked: Asked, ended: Ended, *, as_json: bool) -> None:
    found = ended.standings
    if as_json:
        console.result_json(_plain(asked, ended))
        return
    title = f"agents on the same pages: split {asked.split}, {len(asked.ids)} topics"
    for table in (_headline(found, title), _differences(found), _beside(found), _leaks(found)):
        console.show(table)
    for line in (*told(found), *_times(ended.seconds, len(asked.ids))):
        console.result(line)
    for line in ended.failures:
        console.result(f"failed: {line}")
    for line in ended.invalid:
        console.result(f"not valid: {line}")
    for line in ended.unlike or ():
        console.result(f"differs: {line}")
    if ended.unlike is not None:
        console.result(f"checked: {f'{len(ended.unlike)} differences' if ended.unlike else 'the same hashes and scores'}")
    console.result(f"submissions: {asked.target}" + ("" if asked.whole else f" (a part: {asked.out} is not touched)"))
    if ended.site is not None:
        console.result(f"leaderboard: {ended.site.resolve()}")


def told(found: Standings) -> list[str]:
    """How many pairs the headline and single measures separate."""
    apart = found.apart
    who = f"{apart.n_pairs} pairs of {len(found.group.contestants)} systems"
    if not apart.n_pairs:
        return ["nothing to tell apart: there is one system"]
    lines = [f"separated at 5% (sign-flip test over shared topics, Holm), of {who}: {len(apart.headline)} by the headline"]
    by_number: dict[int, list[str]] = {}
    for name, pairs in apart.measures.items():
        by_number.setdefault(len(pairs), []).append(name)
    for n in sorted(by_number, reverse=True):
        lines += textwrap.wrap(", ".join(by_number[n]), 110, initial_indent=f"  {n:3} by ", subsequent_indent=" " * 9)
    return lines


def _headline(found: Standings, title: str) -> Table:
    table = _table(f"{title}, percent with 95% intervals", (*(_headed(metric) for metric in found.headline), "fails"))
    base = found.made[found.group.base]
    for name in (one.name for one in found.order):
        cells = []
        means = found.made[name].means
        for metric in found.headline:
            score = found.made[name].scores.get(metric)
            if metric == "cite_f1" and support_unknown(means):
                cells.append("unknown")
            else:
                cells.append("" if score is None else f"{_shown(metric, score.mean)}\n{_range(metric, *score.ci95)}")
        table.add_row(found.group.member(name).title, *cells, "\n".join(unmet(means)))
    for kind in (base.floors, base.ceilings):
        for name, means in kind.items():
            cells = [_shown(metric, means[metric]) if metric in means else "" for metric in found.headline]
            table.add_row(f"({COLUMNS.get(name, name)})", *cells)
    table.caption = _caption(
        "fails: preconditions; those that fail fewer come first, then by quality; (less): less is better",
        "a missing or failed article counts as 0" if any(one.missing for one in found.group.members) else "",
        "(...) are floors, which any system should beat, then ceilings" if base.floors else "",
    )
    return table


def _differences(found: Standings) -> Table:
    title = f"minus {found.group.base}, points with 95% intervals, over shared topics"
    table = _table(title, ("topics", *(_headed(metric) for metric in found.headline)))
    for name in (one.name for one in found.order):
        if name == found.group.base:
            continue
        cells = [_difference(found.difference(name, metric)) for metric in found.headline]
        table.add_row(found.group.member(name).title, str(found.shared[name]), *cells)
    n_clear = sum(one.clear for one in found.against)
    table.caption = f"* {n_clear} of {len(found.against)} differences are significant (paired, Holm over all of them, 5%)"
    return table


def _beside(found: Standings) -> Table:
    table = _table("beside them (percent; words and runs are counts)", ("missing", "failed", *found.beside))
    for name in (one.name for one in found.order):
        member = found.group.member(name)
        cells = [_mean(found, name, metric) for metric in found.beside]
        table.add_row(member.title, str(len(member.missing) or ""), str(found.failed(name) or ""), *cells)
    known = "judged_share" in found.beside
    table.caption = _caption(
        "missing: the data hold no article; failed: there is one, and it cannot be read or scored",
        "judged_share: claims whose cited text is known; the others are in no citation score" if known else "",
    )
    return table


def _leaks(found: Standings) -> Table:
    table = _table(f"signs that the human article was read, percent (above {found.group.base})", found.leak)
    for name in (one.name for one in found.order):
        cells = []
        for metric in found.leak:
            one = found.difference(name, metric)
            above = f" ({_signed(one.difference.mean)}{'*' if one.clear else ''})" if one is not None else ""
            cells.append(_mean(found, name, metric) + above)
        table.add_row(found.group.member(name).title, *cells)
    filters = found.made[found.group.base].data.evidence_filter
    dropped = "" if filters is None else f"; leak filter {filters.leak}: {filters.dropped_pages} pages dropped"
    table.caption = f"{found.group.base} saw the pages of the data alone{dropped}. * significant, Holm over this table"
    return table


def _times(seconds: Seconds, n_topics: int) -> list[str]:
    def each(table: Mapping[str, float]) -> str:
        return ", ".join(f"{name} {value / n_topics:.2f}" for name, value in table.items())

    total = seconds.pages + seconds.floors + sum(seconds.writing.values()) + sum(seconds.scoring.values())
    lines = (
        f"{total:.0f} s; a topic: pages {seconds.pages / n_topics:.2f} s, floors {seconds.floors / n_topics:.2f} s",
        f"  writing or reading an article, s: {each(seconds.writing)}",
        f"  scoring an article, s: {each(seconds.scoring)}",
    )
    return [part for line in lines for part in textwrap.wrap(line, 110, subsequent_indent="    ")]


def _mean(found: Standings, name: str, metric: str) -> str:
    score = found.made[name].scores.get(metric)
    return "" if score is None else _shown(metric, score.mean)


def _shown(metric: str, value: float) -> str:
    return number(value, is_share(metric))


def _range(metric: str, low: float, high: float) -> str:
    return f"{_shown(metric, low)}-{_shown(metric, high)}"


def _difference(one: Against | None) -> str:
    if one is None:
        return ""
    d = one.difference
    return f"{_signed(d.mean)}{'*' if one.clear else ''}\n{_signed(d.low)}..{_signed(d.high)}"


def _signed(value: float) -> str:
    return f"{round(100 * value, 1) + 0.0:+.1f}"  # adding 0 makes -0.0 plain


def _headed(metric: str) -> str:
    return f"{metric} (less)" if less_is_better(metric) else metric


def _caption(*lines: str) -> str:
    return "\n".join(line for line in lines if line)


def _table(title: str, columns: Sequence[str]) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(title=title, box=box.SIMPLE, title_justify="left", title_style="bold", padding=(0, 1, 0, 0))
    table.caption_justify = "left"
    table.add_column("", no_wrap=True)
    for name in columns:
        table.add_column(name.replace("_", " "), justify="right", overflow="fold")
    return table


def _plain(asked: Asked, ended: Ended) -> dict[str, Any]:
    found = ended.standings

    def compared(one: Against) -> dict[str, Any]:
        d = one.difference
        return {"system": one.name, "metric": one.metric, "mean": d.mean, "ci95": [d.low, d.high], "p_holm": one.p, "n": d.n}

    shown = (*found.headline, *found.beside, *found.leak)
    return {
        "split": asked.split,
        "n_topics": len(asked.ids),
        "base": found.group.base,
        "whole": asked.whole,
        "systems": {
            name: {
                "title": found.group.member(name).title,
                "kind": found.group.member(name).kind,
                "missing": list(found.group.member(name).missing),
                "n_failed": found.failed(name),
                "n_shared": found.shared[name],
                "scores": {
                    metric: {"mean": score.mean, "ci95": list(score.ci95), "n": score.n, "n_unscored": score.n_unscored}
                    for metric in shown
                    if (score := found.made[name].scores.get(metric)) is not None
                },
            }
            for name in (one.name for one in found.order)
        },
        "against": [compared(one) for one in found.against],
        "leak": [compared(one) for one in found.leaks],
        "told_apart": {
            "n_pairs": found.apart.n_pairs,
            "headline": [list(pair) for pair in found.apart.headline],
            "measures": {name: len(pairs) for name, pairs in found.apart.measures.items()},
        },
        "failures": list(ended.failures),
        "invalid": list(ended.invalid),
        "unlike": None if ended.unlike is None else list(ended.unlike),
        "seconds": {
            "pages": ended.seconds.pages,
            "floors": ended.seconds.floors,
            "writing": dict(ended.seconds.writing),
            "scoring": dict(ended.seconds.scoring),
        },
        "submissions": str(asked.target),
    }
