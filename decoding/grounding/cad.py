"""Context-aware decoding: what the evidence adds to the model's own belief counts more (Shi et al. 2024, arXiv 2305.14739).

decoder = decoding.load("Qwen/Qwen3-0.6B")
question, closed = decoder.tokenizer(evidence + request).input_ids, decoder.tokenizer(request).input_ids
rule = ContextAware(decoder.model, closed, n_prompt=len(question), alpha=0.5)
answer = decoder.generate(question, logits_processor=[rule])
rule.cost.seconds, rule.cost.n_passes
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from data.errors import UserError

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True)
class CadCost:
    """What the second sequence took so far. On a GPU `seconds` counts the time until a pass is queued, not until it is done."""

    seconds: float = 0.0
    n_passes: int = 0
    n_tokens: int = 0
    """Read by those passes, the prompt included."""


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
        return self._second.cost

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
        self.cost = CadCost()

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

        started = time.perf_counter()
        ids = torch.tensor([list(tokens)], device=self._model.device)
        with torch.inference_mode():
            out = self._model(input_ids=ids, past_key_values=self._cache, use_cache=True, logits_to_keep=1)
        taken = time.perf_counter() - started
        self.cost = CadCost(self.cost.seconds + taken, self.cost.n_passes + 1, self.cost.n_tokens + len(tokens))
        row: torch.Tensor = out.logits[0, -1]
        return row
