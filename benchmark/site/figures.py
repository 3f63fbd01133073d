"""Numbers as the pages print them, and the bars that draw their intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass

from benchmark.submissions.submitted import Submission

DASH = "–"


def number(value: float | None, share: bool = True) -> str:
    """`91.9` for the share 0.919; three digits that matter for other values; a dash for none."""
    if value is None or not math.isfinite(value):
        return DASH
    shown = value * 100 if share else value
    if abs(shown) >= 1e6:
        return f"{shown:.3g}"
    if share:
        return f"{shown:.1f}"
    decimals = 0 if abs(shown) >= 100 else 1 if abs(shown) >= 10 else 2
    return f"{shown:,.{decimals}f}" if abs(shown) >= 1 or shown == 0 else f"{shown:.2g}"


def signed(value: float) -> str:
    """A difference of shares in points: `+1.2`, `−0.4`."""
    text = number(abs(value))
    return text if float(text) == 0 else f"{'+' if value > 0 else '−'}{text}"


def p_value(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


@dataclass(frozen=True, slots=True)
class Bar:
    """In percent of the bar's width: where the mean is, and where its interval starts and how wide it is."""

    mean: str
    start: str
    width: str


def bar(mean: float, low: float | None = None, high: float | None = None) -> Bar:
    """Drawn as SVG attributes: the pages' policy forbids styles in them. A width of 0 would vanish, so 1 is the least."""
    a, b = _within(mean if low is None else low), _within(mean if high is None else high)
    wide = max(b - a, 1.0)
    return Bar(f"{_within(mean):.2f}", f"{min(a, 100 - wide):.2f}", f"{wide:.2f}")


def _within(share: float) -> float:
    return min(max(share * 100, 0.0), 100.0)


def seconds_an_article(submission: Submission) -> float | None:
    cost = submission.cost
    return _ratio(cost.write_s, cost.n_written) if cost.write_s > 0 else None


def tokens_a_second(submission: Submission) -> float | None:
    """As the decoder measured it, or new tokens over all of the time of writing."""
    cost = submission.cost
    return cost.tokens_per_s if cost.tokens_per_s is not None else _ratio(cost.n_new_tokens, cost.write_s)


def usd_an_article(submission: Submission) -> float | None:
    return _ratio(submission.cost.usd, submission.cost.n_written)


def _ratio(a: float | None, b: float) -> float | None:
    try:
        return None if a is None or b <= 0 else a / b
    except OverflowError:  # a whole number beyond any float: it says nothing
        return None
