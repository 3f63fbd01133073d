"""Whether drafting can be afforded, from what it has cost and given so far: never much slower than plain decoding."""

from __future__ import annotations


class Guard:
    """An account of what a drafter's drafts lost against plain decoding, which gives one token for each unit of cost.

    It starts with `start` units. Each round, whoever drafted, pays in `share` of its tokens, or of its cost if that is less;
    each round of its own also pays in its gain, or takes its loss. A draft may be made if the account covers its loss should
    all of it be rejected. So, over the tokens and costs of its rounds, whatever the texts:

        costs - tokens <= share * min(tokens of the texts, their cost) + start.

    Up to `saved` units of earlier gains are kept: a drafter that gains on balance is not stopped by a few bad rounds, and one
    that no longer does has lost `saved` units at most before it is cut down to what `share` allows.
    """

    def __init__(self, *, share: float = 0.02, start: float = 4.0, saved: float = 10.0) -> None:
        self._share, self._start, self._saved = share, start, max(start, saved)
        self._account = start

    def affords(self, loss: float) -> bool:
        """Whether to make a draft that may lose so many units: what it costs beyond a plain round."""
        return loss <= self._account

    @property
    def untouched(self) -> bool:
        """Whether there is as much as at the start, so that something doubtful may be tried."""
        return self._account >= self._start

    def drafted(self, tokens: int, cost: float) -> None:
        """A round with its draft gave `tokens`, the model's own included, for `cost` units, drafting included."""
        self._pay_in(self._share * min(tokens, cost) + tokens - cost)

    def passed(self, tokens: int, cost: float = 1.0) -> None:
        """A round without its draft gave `tokens` for `cost` units."""
        self._pay_in(self._share * min(tokens, cost))

    def _pay_in(self, amount: float) -> None:
        self._account = min(self._saved, self._account + amount)
