"""Logits -> the next token, as a function of the text before it, the request and a seed: never of who drafted.

The i-th token of an answer uses the i-th random number of its seed and inverts the cumulative distribution with it. So a
sampled text, too, is the same with every drafter and with none, and a draft step that uses the same number guesses well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from data.errors import StageError, UserError
from decoding.api import SamplingParams

if TYPE_CHECKING:
    import torch


class LogitsRule(Protocol):
    """Changes the logits of the next token, given all tokens before it (prompt included).

    Must be a function of its arguments: it is asked about hypothetical texts too, in any order (drafted positions).
    """

    def __call__(self, prefix: Sequence[int], logits: torch.Tensor) -> torch.Tensor:
        """(V,) -> (V,); the argument is not to be changed."""
        ...


class RepetitionPenalty:
    """Divides positive and multiplies negative logits of tokens that occurred (CTRL, Keskar et al. 2019, section 4.1)."""

    def __init__(self, penalty: float) -> None:
        self._penalty = penalty

    def __call__(self, prefix: Sequence[int], logits: torch.Tensor) -> torch.Tensor:
        import torch

        seen = torch.tensor(sorted(set(prefix)), device=logits.device)
        old = logits[seen]
        logits = logits.clone()
        logits[seen] = torch.where(old < 0, old * self._penalty, old / self._penalty)
        return logits


class HuggingFaceRule:
    """A `transformers.LogitsProcessor` as a rule. It must not keep state between calls."""

    def __init__(self, processor: object) -> None:
        self._processor = processor

    def __call__(self, prefix: Sequence[int], logits: torch.Tensor) -> torch.Tensor:
        import torch

        ids = torch.tensor([list(prefix)], device=logits.device)  # (1, n)
        scores: torch.Tensor = self._processor(ids, logits[None].clone())  # type: ignore[operator]
        return scores[0]


class Sampler:
    """Chooses the tokens of one answer. `n_prompt` tokens come before its first one."""

    def __init__(self, sampling: SamplingParams, n_prompt: int, rules: Sequence[LogitsRule] = ()) -> None:
        check_sampling(sampling)
        self.sampling = sampling
        self._n_prompt = n_prompt
        penalty = sampling.repetition_penalty
        self._rules = [*([RepetitionPenalty(penalty)] if penalty != 1 else []), *rules]
        self._numbers: torch.Tensor | None = None

    @property
    def greedy(self) -> bool:
        return self.sampling.temperature == 0

    @property
    def plain(self) -> bool:
        """Whether the choice is the argmax of the logits as they are."""
        return self.greedy and not self._rules

    def ruled(self, prefix: Sequence[int], logits: torch.Tensor) -> torch.Tensor:
        """Logits (V,) after the rules, before temperature."""
        for rule in self._rules:
            logits = rule(prefix, logits)
        return logits

    def choose(self, prefix: Sequence[int], logits: torch.Tensor) -> int:
        """The token after `prefix` (prompt and answer so far), from the model's logits (V,) there."""
        logits = self.ruled(prefix, logits)
        if self.greedy:
            return _finite_argmax(logits)
        return draw(logits, self.sampling, self.number(prefix))

    def number(self, prefix: Sequence[int]) -> float:
        """The random number in [0, 1) that decides the token after `prefix`."""
        at = len(prefix) - self._n_prompt
        if self._numbers is None or at >= len(self._numbers):
            # a longer sequence of the same seed begins with the shorter one
            self._numbers = uniforms(self.sampling.seed, max(self.sampling.max_new_tokens, at + 1))
        return float(self._numbers[at])

    def distribution(self, prefix: Sequence[int], logits: torch.Tensor) -> torch.Tensor:
        """(V,) float64 probabilities from which `choose` draws, for the rejection rule."""
        import torch

        ordered, tokens = _nucleus(self.ruled(prefix, logits), self.sampling)
        probabilities = torch.zeros(logits.shape[-1], dtype=torch.float64, device=logits.device)
        probabilities[tokens] = ordered.double()
        return probabilities / probabilities.sum()


def uniforms(seed: int, n: int) -> torch.Tensor:
    """The random numbers of a seed, shape (n,), in [0, 1): number i decides token i, whatever drafted it."""
    import torch

    return torch.rand(n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def draw(logits: torch.Tensor, sampling: SamplingParams, uniform: float) -> int:
    """A token from `logits` (V,) after temperature, top_k and nucleus (top_p), by inverting the cumulative distribution.

    Equal logits keep the order of their ids, so the result is a function of the arguments.
    """
    import torch

    ordered, tokens = _nucleus(logits, sampling)
    total = torch.cumsum(ordered, dim=-1)
    at = int((total <= uniform * total[-1]).sum())
    return int(tokens[min(at, len(tokens) - 1)])


def _nucleus(logits: torch.Tensor, sampling: SamplingParams) -> tuple[torch.Tensor, torch.Tensor]:
    """The tokens that may be drawn, most probable first, and their probabilities before renormalisation.

    Temperature, then top_k, then the smallest set of most probable tokens that reaches top_p of what is left (Holtzman et
    al. 2020, section 3.1): the order of transformers' warpers.
    """
    import torch

    logits = logits.float()
    if bool(torch.isnan(logits).any()):
        raise nan_error()
    probabilities = torch.softmax((logits - logits.max()) / sampling.temperature, dim=-1)
    ordered, tokens = torch.sort(probabilities, descending=True, stable=True)  # (V,)
    if sampling.top_k:
        ordered, tokens = ordered[: sampling.top_k], tokens[: sampling.top_k]
    total = torch.cumsum(ordered, dim=-1)
    kept = int((total < sampling.top_p * total[-1]).sum()) + 1
    kept = min(kept, int((ordered > 0).sum()))
    return ordered[:kept], tokens[:kept]


def _finite_argmax(logits: torch.Tensor) -> int:
    import torch

    if bool(torch.isnan(logits).any()):
        raise nan_error()
    return int(logits.argmax())


def nan_error() -> StageError:
    return StageError(
        "generate", "the model's logits are not numbers (NaN); load it with dtype float32 or bfloat16, not float16"
    )


def check_sampling(sampling: SamplingParams) -> None:
    """Raises UserError for a parameter that is out of range, naming it."""
    if sampling.max_new_tokens < 1:
        raise UserError(f"max_new_tokens is {sampling.max_new_tokens}; it must be at least 1")
    if sampling.temperature < 0:
        raise UserError(f"temperature is {sampling.temperature}; it must be 0 (greedy) or more")
    if not 0 < sampling.top_p <= 1:
        raise UserError(f"top_p is {sampling.top_p}; it must be above 0 and at most 1")
    if sampling.top_k < 0:
        raise UserError(f"top_k is {sampling.top_k}; it must be 0 (off) or more")
    if sampling.repetition_penalty <= 0:
        raise UserError(f"repetition_penalty is {sampling.repetition_penalty}; it must be above 0 (1 is off)")
    if "" in sampling.stop:
        raise UserError("a stop string is empty; leave it out")
