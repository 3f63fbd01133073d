"""Context-aware decoding: what the evidence adds to the model's own belief counts more (Shi et al. 2024, arXiv 2305.14739).

Conversations ask for it with `decoding.api.Contrast`; for token ids there is the rule itself:

decoder = decoding.load("Qwen/Qwen3-0.6B")
question, closed = decoder.tokenizer(evidence + request).input_ids, decoder.tokenizer(request).input_ids
rule = ContextAware(decoder.model, closed, n_prompt=len(question), alpha=0.5)
answer = decoder.generate(question, logits_processor=[rule])
rule.cost.seconds, rule.cost.n_passes
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from data.errors import StageError, UserError
from decoding.api import Contrast, DecodeStats
from decoding.models.conversation import PromptReader

if TYPE_CHECKING:
    import torch

    from decoding.models.loading import LoadedModel
    from decoding.sampling import LogitsRule


@dataclass(frozen=True, slots=True)
class CadCost:
    """What the second sequence took so far."""

    seconds: float = 0.0
    n_passes: int = 0
    n_tokens: int = 0
    """Read by those passes, the prompt included."""


def contrast_rule(contrast: Contrast, loaded: LoadedModel, n_prompt: int, max_new_tokens: int) -> ContextAware:
    """The rule of one answer of at most `max_new_tokens` to a prompt of `n_prompt` tokens.

    Raises UserError for an alpha or beta out of range, StageError when request and answer without evidence do not fit.
    """
    without = PromptReader(loaded).prompt_ids(contrast.without)
    if len(without) + max_new_tokens > loaded.context_tokens:
        raise StageError(
            "generate",
            f"the request without evidence has {len(without)} tokens and {loaded.name} reads {loaded.context_tokens}, "
            f"{max_new_tokens} of the answer included",
        )
    return ContextAware(loaded.model, without, n_prompt, alpha=contrast.alpha, beta=contrast.beta)


def with_cost(stats: DecodeStats, rules: Sequence[LogitsRule]) -> DecodeStats:
    """`stats` with what the second sequence took, if one of the answer's `rules` reads one."""
    for rule in rules:
        if isinstance(rule, ContextAware):
            cost = rule.cost
            return replace(stats, contrast_s=cost.seconds, n_contrast=cost.n_passes)
    return stats


class ContextAware:
    """Implements `decoding.sampling.LogitsRule`: (1 + alpha) * logits - alpha * logits without the evidence (section 2.2).

    Tokens less probable than `beta` times the best one, with the evidence, become -inf: among those that nothing speaks for,
    the difference promotes nonsense (Li et al. 2023, arXiv 2210.15097, section 3.3). `beta` 0 allows all; `alpha` 0 changes
    nothing and runs nothing. Rules that exclude tokens come before this one, so that the best one is among those they leave.

    The second sequence is read with keys and values of its own: the prompt in one pass, then each token of the answer in one,
    so that the passes are the same whatever was asked before, and the result is a function of the prefix to the last bit where
    the model's kernels are deterministic. In passes of another size it is the same up to rounding. Prefixes may come in any
    order; tokens of one that is given up are taken back. Drafting gains less with this rule: what the first sequence verifies
    in one pass is read here token by token.

    Args:
        model: a `transformers` model whose only state is attention keys and values. Whoever decodes holds its lock.
        without: the same request without evidence, in tokens of that model.
        n_prompt: tokens of the prompt with evidence, which every prefix begins with.

    Raises:
        UserError: an empty prompt, alpha below 0, or beta outside of 0 to 1.
    """

    def __init__(self, model: Any, without: Sequence[int], n_prompt: int, *, alpha: float = 0.5, beta: float = 0.1) -> None:
        if not without:
            raise UserError("the prompt without evidence is empty; give at least one token")
        if not 0 <= alpha < math.inf:
            raise UserError(f"alpha is {alpha}; it must be 0 (off) or more")
        if not 0 <= beta <= 1:
            raise UserError(f"beta is {beta}; it must be from 0 (all tokens) to 1 (the best one only)")
        self._second = _Second(model, without)
        self._n_prompt = n_prompt
        self._alpha = alpha
        self._beta = beta

    @property
    def cost(self) -> CadCost:
        return self._second.stopwatch.cost

    def __call__(self, prefix: Sequence[int], logits: torch.Tensor) -> torch.Tensor:
        import torch

        if not self._alpha:
            return logits
        before = self._second.logits(prefix[self._n_prompt :]).to(logits)
        raised = (1 + self._alpha) * logits - self._alpha * before
        if not self._beta:
            return raised
        return torch.where(logits < logits.amax() + math.log(self._beta), -math.inf, raised)


class _Second:
    """Logits behind a prompt and a growing answer."""

    def __init__(self, model: Any, prompt: Sequence[int]) -> None:
        self._model = model
        self._prompt = list(prompt)
        self._answer: list[int] = []
        self._cache: Any = None
        self._first: Any = None
        self._last: Any = None
        """Logits behind the prompt, and behind the present answer: (V,)."""
        self.stopwatch = _Stopwatch(model.device)

    def logits(self, answer: Sequence[int]) -> torch.Tensor:
        """(V,)"""
        if self._cache is None:
            self._start()
        wanted = list(answer)
        kept = min(len(wanted), len(self._answer))
        while wanted[:kept] != self._answer[:kept]:
            kept -= 1
        if kept < len(self._answer):
            self._take_back(kept if kept < len(wanted) else max(kept - 1, 0))
        for token in wanted[len(self._answer) :]:
            self._last = self._pass([token])
            self._answer.append(token)
        last: torch.Tensor = self._last
        return last

    def _start(self) -> None:
        from transformers import DynamicCache

        # without the configuration all layers keep all positions, which can be taken back; a sliding window is in the mask
        self._cache = DynamicCache()
        self._first = self._last = self._pass(self._prompt)

    def _take_back(self, n: int) -> None:
        """To the first `n` tokens of the answer. Their logits are gone, except those behind the prompt."""
        self._cache.crop(n - len(self._answer))  # negative: so many fewer
        del self._answer[n:]
        self._last = self._first

    def _pass(self, tokens: Sequence[int]) -> torch.Tensor:
        """(V,), behind the last one."""
        import torch

        with self.stopwatch.reading(len(tokens)), torch.inference_mode():
            ids = torch.tensor([list(tokens)], device=self._model.device)
            out = self._model(input_ids=ids, past_key_values=self._cache, use_cache=True, logits_to_keep=1)
        row: torch.Tensor = out.logits[0, -1]
        return row


class _Stopwatch:
    """Times passes. On CUDA by events in the stream: a clock would time the launch, and waiting for it would slow decoding."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._cost = CadCost()
        self._events: list[tuple[Any, Any]] = []
        """Begin and end of passes whose seconds nobody has asked for yet."""

    @property
    def cost(self) -> CadCost:
        """Waits until the passes so far are done."""
        for began, ended in self._events:
            ended.synchronize()
            self._cost = replace(self._cost, seconds=self._cost.seconds + began.elapsed_time(ended) / 1000)
        self._events.clear()
        return self._cost

    @contextmanager
    def reading(self, n_tokens: int) -> Iterator[None]:
        """Around one pass over so many tokens."""
        began, started = self._event(), time.perf_counter()
        yield
        taken = time.perf_counter() - started
        if began is not None:
            self._events.append((began, self._event()))
            taken = 0.0
        self._cost = CadCost(self._cost.seconds + taken, self._cost.n_passes + 1, self._cost.n_tokens + n_tokens)

    def _event(self) -> Any:
        """One that the device reaches when it has done what it was given; None on other devices."""
        import torch

        if self._device.type != "cuda":
            return None
        event = torch.cuda.Event(enable_timing=True)
        event.record(torch.cuda.current_stream(self._device))
        return event
