"""Whether drafting can be afforded, from what it has cost and given so far: never much slower than plain decoding."""

from __future__ import annotations


class Guard:
    """An account of what a drafter's drafts lost against plain decoding, which gives one token for each unit of cost.

    It may draft while the account is not empty. Each token of the text, whoever drafted it, pays in `share` of a unit; each
    round of its own pays in its gain, or takes its loss; `burst` units are the most that it holds. So, over the tokens and costs
    of its rounds, from a full account on,

        costs - tokens <= share * tokens of the text + burst + the largest loss of one round,

    whatever the text: no round changes the account by more than the difference, and only the last draft can have taken it below
    zero. Earlier gains are not saved up, as the account is never more than full, so no text can spend them. A drafter that
    gains hardly ever empties the account; one that loses is tried again as often as `share` allows.
    """

    def __init__(self, *, share: float = 0.02, burst: float = 4.0) -> None:
        self._share, self._burst = share, burst
        self._account = burst

    @property
    def allows(self) -> bool:
        """Whether to draft in this round."""
        return self._account > 0

    @property
    def full(self) -> bool:
        """Whether there is nothing to make good for."""
        return self._account >= self._burst

    def drafted(self, tokens: int, cost: float) -> None:
        """A round with a draft gave `tokens`, the model's own included, for `cost` units, drafting included."""
        self._pay_in(self._share * tokens + tokens - cost)

    def passed(self, tokens: int) -> None:
        """A round without one gave `tokens`."""
        self._pay_in(self._share * tokens)

    def _pay_in(self, amount: float) -> None:
        self._account = min(self._burst, self._account + amount)
