"""Logits -> the next token, as a function of the text before it, the request and a seed: never of who drafted.

The i-th token of an answer uses the i-th random number of its seed and inverts the cumulative distribution with it. So a
sampled text, too, is the same with every drafter and with none, and a draft step that uses the same number guesses well.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from data.errors import UserError
from decoding.api import SamplingParams
from decoding.backends.rows import not_numbers

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray


PENALTIES = (0.001, 1000.0)
"""Of repetitions. Logits that are divided by far less are no numbers any more."""

_BUNDLES = 768
"""Columns that lie so far apart are looked at together."""
_LEADERS = (512, 16384)
"""So many of the most probable tokens are looked at first; to sort all takes ten times as long and is rarely needed."""


class LogitsRule(Protocol):
    """Changes the logits of the next token, given all tokens before it (prompt included).

    Must be a function of its arguments: it is asked about hypothetical texts too, in any order (drafted positions).
    """

    def __call__(self, prefix: Sequence[int], logits: torch.Tensor) -> torch.Tensor:
        """(V,) -> (V,); the argument is not to be changed."""
        ...


@runtime_checkable
class ForcingRule(LogitsRule, Protocol):
    """A rule that sometimes leaves one token only. Certain tokens need no model step of their own (skip decoding)."""

    def forced(self, prefix: Sequence[int], room: int) -> Sequence[int]:
        """At most `room` tokens that must follow `prefix` (all tokens before, prompt included), whatever the model says."""
        ...


class RepetitionPenalty:
    """Divides positive and multiplies negative logits of tokens that occurred (CTRL, Keskar et al. 2019, section 4.1)."""

    def __init__(self, penalty: float) -> None:
        self._penalty = penalty

    def __call__(self, prefix: Sequence[int], logits: torch.Tensor) -> torch.Tensor:
        import torch

        seen = _ids(prefix, logits.device)
        old = logits[seen]
        # a token that occurred twice is written twice, each time with the same value
        return logits.scatter(0, seen, torch.where(old < 0, old * self._penalty, old / self._penalty))


class HuggingFaceRule:
    """A `transformers.LogitsProcessor` as a rule. It must not keep state between calls."""

    def __init__(self, processor: object) -> None:
        self._processor = processor

    def __call__(self, prefix: Sequence[int], logits: torch.Tensor) -> torch.Tensor:
        ids = _ids(prefix, logits.device)[None]  # (1, n)
        scores: torch.Tensor = self._processor(ids, logits[None].clone())  # type: ignore[operator]
        return scores[0]


def _ids(tokens: Sequence[int], device: torch.device) -> torch.Tensor:
    """(n,), int64. Through an array: torch.tensor takes ten times as long for a list, and this is asked for each token."""
    import torch

    return torch.frombuffer(array("q", tokens), dtype=torch.long).to(device)


class Sampler:
    """Chooses the tokens of one answer. `n_prompt` tokens come before its first one."""

    def __init__(self, sampling: SamplingParams, n_prompt: int, rules: Sequence[LogitsRule] = ()) -> None:
        check_sampling(sampling)
        self.sampling = sampling
        self._n_prompt = n_prompt
        penalty = sampling.repetition_penalty
        self._rules = [*([RepetitionPenalty(penalty)] if penalty != 1 else []), *rules]
        self._numbers: torch.Tensor | None = None

    def forced(self, prefix: Sequence[int], room: int) -> Sequence[int]:
        """Tokens that the rules leave no choice about, as far as one rule knows alone."""
        found: Sequence[int] = ()
        for rule in self._rules:
            if isinstance(rule, ForcingRule):
                found = max(found, rule.forced(prefix, room), key=len)
        return found

    @property
    def greedy(self) -> bool:
        return self.sampling.temperature == 0

    @property
    def plain(self) -> bool:
        """Whether the choice is the argmax of the logits as they are."""
        return self.greedy and not self._rules

    def ruled(self, prefix: Sequence[int], logits: torch.Tensor) -> torch.Tensor:
        """Logits (V,) after the rules, before temperature; float32 where there are rules, as in `transformers.generate`."""
        if self._rules:
            logits = logits.float()
        for rule in self._rules:
            logits = rule(prefix, logits)
        return logits

    def choose(self, prefix: Sequence[int], logits: torch.Tensor) -> int:
        """The token after `prefix` (prompt and answer so far), from the model's logits (V,) there.

        Raises StageError when a logit is NaN.
        """
        ruled = self.ruled(prefix, logits)
        if self.greedy:
            return _argmax(ruled, logits.dtype)
        return _drawn(ruled, self.sampling, self.number(prefix), logits.dtype)

    def number(self, prefix: Sequence[int]) -> float:
        """The random number in [0, 1) that decides the token after `prefix`."""
        at = len(prefix) - self._n_prompt
        if self._numbers is None or at >= len(self._numbers):
            # a longer sequence of the same seed begins with the shorter one
            self._numbers = uniforms(self.sampling.seed, max(self.sampling.max_new_tokens, at + 1))
        return float(self._numbers[at])

    def distribution(self, prefix: Sequence[int], logits: torch.Tensor) -> torch.Tensor:
        """(V,) float64 probabilities from which `choose` draws. Raises StageError for NaN."""
        import torch

        p = _softmax(self.ruled(prefix, logits), self.sampling, logits.dtype)
        if not self.sampling.top_k and self.sampling.top_p == 1:
            return p / p.sum()
        for n in (*_LEADERS, len(p)):
            tokens, weights = _ranked(p, self.sampling, n)
            if not bool(weights[-1] > 0):
                break
        return torch.zeros_like(p).scatter(0, tokens, weights[:-1] / weights.sum())


def uniforms(seed: int, n: int) -> torch.Tensor:
    """The random numbers of a seed, shape (n,), in [0, 1): number i decides token i, whatever drafted it."""
    import torch

    return torch.rand(n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def draw(logits: torch.Tensor, sampling: SamplingParams, uniform: float) -> int:
    """A token from `logits` (V,) after temperature, top_k and nucleus (top_p), by inverting the cumulative distribution.

    The most probable come first and equals keep the order of their ids, so the result is a function of the arguments. Raises
    StageError when a logit is NaN.
    """
    return _drawn(logits, sampling, uniform, logits.dtype)


def _drawn(logits: torch.Tensor, sampling: SamplingParams, uniform: float, dtype: torch.dtype) -> int:
    logits = logits.detach()
    if logits.device.type == "cpu":
        token = _drawn_from_leaders(logits.float().numpy(), sampling, uniform)
        if token is not None:
            return token
    return _inverted(_softmax(logits, sampling, dtype), sampling, uniform)


def _drawn_from_leaders(logits: NDArray[np.float32], sampling: SamplingParams, uniform: float) -> int | None:
    """The token of `_inverted` where the most probable tokens decide it, in a quarter of its time; else None.

    Each other token weighs no more than the least of these, or than the largest of its bundle. So all of them together weigh
    something between nothing and a known sum, and where both give the same token no other weight has to be computed. Logits
    whose probabilities are the same in float32 are told apart here, and by `_inverted` are not.
    """
    import numpy as np

    n = max(_LEADERS[0], sampling.top_k) if _LEADERS else len(logits)
    if len(logits) < 4 * _BUNDLES or n >= _BUNDLES:
        return None
    largest, least = _bundled(logits, n)
    beyond = len(logits) % _BUNDLES
    top = float(np.concatenate([largest, logits[len(logits) - beyond :]]).max())  # NaN wins over every number
    if not (math.isfinite(top) and math.isfinite(least)):
        return None
    over = 1 / max(sampling.temperature, 1e-30)
    tokens = np.flatnonzero(logits >= least)
    tokens = tokens[np.argsort(-logits[tokens], kind="stable")]
    weights = np.exp((logits[tokens].astype(np.float64) - top) * over)
    rest = 0.0
    if sampling.top_k:
        tokens, weights = tokens[: sampling.top_k], weights[: sampling.top_k]
    elif len(tokens) < len(logits):
        most = np.exp((np.minimum(largest, least).astype(np.float64) - top) * over)
        rest = float(len(logits) // _BUNDLES * most.sum() + beyond * most.max())
    total = weights.cumsum()
    first, last = (_place(total, other, sampling.top_p, uniform) for other in (0.0, rest))
    return int(tokens[first]) if first == last < len(tokens) else None


def _place(total: NDArray[np.float64], rest: float, top_p: float, uniform: float) -> int:
    """Where among the most probable tokens, of cumulative weights `total`, `uniform` falls if all others weigh `rest`;
    len(total): among the others."""
    if top_p < 1:
        enough = top_p * (total[-1] + rest)
        if total[-1] < enough:
            return len(total)
        total, rest = total[: int(total.searchsorted(enough)) + 1], 0.0
    whole = total[-1] + rest
    at = int(total.searchsorted(uniform * whole, side="right"))
    # the product may be rounded up to the whole; and a token of weight 0 is never picked
    return at if rest else min(at, int(total.searchsorted(total[-1])))


def invert(weights: torch.Tensor, uniform: float) -> torch.Tensor:
    """The index, as a tensor (), that `uniform` in [0, 1) picks when index i has the share weights[i] of their sum.

    Never one of weight 0: `uniform` times the sum may be rounded up to the sum, hence the second bound.
    """
    total = weights.cumsum(-1)
    below = (total <= uniform * total[-1]) & (total < total[-1])
    return below.sum()


def _softmax(logits: torch.Tensor, sampling: SamplingParams, dtype: torch.dtype) -> torch.Tensor:
    """(V,) float64. Raises StageError, naming the model's `dtype`, when a logit is NaN, or when none or one is infinite."""
    import torch

    temperature = max(sampling.temperature, 1e-30)  # less would be 0 in float32
    logits = logits.float()
    p = torch.softmax((logits - logits.max()) / temperature, dim=-1)
    if bool(p[0].isnan()):  # then all are
        raise not_numbers(dtype)
    return p.double()


def _inverted(p: torch.Tensor, sampling: SamplingParams, uniform: float) -> int:
    """The token that `uniform` picks when those that may be drawn lie along [0, 1), the most probable first."""
    for n in (*_LEADERS, len(p)):
        tokens, weights = _ranked(p, sampling, n)
        at = int(invert(weights, uniform))
        if at < len(tokens):
            break
    return int(tokens[at])


def _ranked(p: torch.Tensor, sampling: SamplingParams, n: int) -> tuple[torch.Tensor, torch.Tensor]:
    """At least the `n` most probable tokens, most probable first, and their weights: 0 for those that may not be drawn.

    The last weight, one more than there are tokens, is that of all other tokens; inf if so few cannot decide it.

    top_k first, then the smallest set of most probable tokens that reaches top_p of the rest (Holtzman et al. 2020,
    section 3.1): the order of transformers' warpers.
    """
    import torch

    n = min(max(n, sampling.top_k), len(p))
    tokens = _reaching(p, n)
    weights, order = p[tokens].sort(descending=True, stable=True)
    tokens = tokens[order]
    rest = (p.sum() - weights.sum()).clamp(min=0) if n < len(p) else p.new_zeros(())
    if sampling.top_k:
        tokens, weights, rest = tokens[: sampling.top_k], weights[: sampling.top_k], torch.zeros_like(rest)
    if sampling.top_p < 1:
        total = weights.cumsum(-1)
        enough = sampling.top_p * (total[-1] + rest)
        weights[1:] *= total[:-1] < enough
        rest = torch.where((total[-1] < enough) & (rest > 0), torch.inf, 0.0)
    return tokens, torch.cat([weights, rest[None].double()])


def _reaching(p: torch.Tensor, n: int) -> torch.Tensor:
    """Ids, ascending, of at least the n largest of p (V,) with all equals of the last; none of 0."""
    import numpy as np
    import torch

    if p.device.type != "cpu" or len(p) < 4 * _BUNDLES or n >= _BUNDLES:
        return ((p >= p.topk(n).values[-1]) & (p > 0)).nonzero().flatten()
    values = p.numpy()
    return torch.from_numpy(np.flatnonzero(values >= max(_bundled(values, n)[1], np.nextafter(0, 1))))


def _bundled(values: NDArray[np.floating], n: int) -> tuple[NDArray[np.floating], float]:
    """The largest value of each bundle of columns, and the n-th largest of these, which n values at least reach: a quarter of
    the time of the n-th largest value."""
    import numpy as np

    largest = values[: len(values) // _BUNDLES * _BUNDLES].reshape(-1, _BUNDLES).max(axis=0)
    return largest, float(np.partition(largest, _BUNDLES - n)[_BUNDLES - n])


def _argmax(logits: torch.Tensor, dtype: torch.dtype) -> int:
    """The first of equals, with one read from the device."""
    best, token = logits.max(dim=-1)  # NaN wins over every number
    found = int(token.masked_fill(best.isnan(), -1))
    if found < 0:
        raise not_numbers(dtype)
    return found


def check_sampling(sampling: SamplingParams) -> None:
    """Raises UserError for a parameter that is out of range, naming it."""
    if sampling.max_new_tokens < 1:
        raise UserError(f"max_new_tokens is {sampling.max_new_tokens}; it must be at least 1")
    if not 0 <= sampling.temperature < math.inf:
        raise UserError(f"temperature is {sampling.temperature}; it must be 0 (greedy) or more")
    if not 0 < sampling.top_p <= 1:
        raise UserError(f"top_p is {sampling.top_p}; it must be above 0 and at most 1")
    if sampling.top_k < 0:
        raise UserError(f"top_k is {sampling.top_k}; it must be 0 (off) or more")
    least, most = PENALTIES
    if not least <= sampling.repetition_penalty <= most:
        raise UserError(
            f"repetition_penalty is {sampling.repetition_penalty}; it must be from {least:g} to {most:g} (1 is off)"
        )
    if not 0 <= sampling.seed < 1 << 64:
        raise UserError(f"seed is {sampling.seed}; it must be from 0 to 2**64 - 1")
    if "" in sampling.stop:
        raise UserError("a stop string is empty; leave it out")
