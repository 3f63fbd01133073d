"""The peer to compare with: `transformers.generate`, one token at a time. Its text is ours up to rounding; its seconds are what
people have without this package. For measurements and tests; nothing is written with it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from decoding.api import DecodeStats, SamplingParams
from decoding.grounding import answer_rules
from decoding.sampling import draw, uniforms

if TYPE_CHECKING:
    import torch

    from decoding.local import Decode
    from decoding.models.loading import LoadedModel
    from decoding.sampling import LogitsRule


def plain_decoding(loaded: LoadedModel) -> Decode:
    """One token at a time through `transformers.generate`: works for every causal model, and is the reference for speed."""

    def decode(prompt: Sequence[int], sampling: SamplingParams, take: Callable[[int], bool]) -> DecodeStats:
        import torch
        from transformers import GenerationConfig, StoppingCriteria, StoppingCriteriaList

        n_prompt, marks = len(prompt), [time.perf_counter()]
        rules = answer_rules(sampling, loaded, n_prompt, loaded.eos_ids)

        class Handover(StoppingCriteria):
            """Sees the ids after every step, (1, T): passes on the newest and stops when the text has ended."""

            def __call__(self, input_ids: torch.Tensor, scores: object, **kwargs: object) -> torch.Tensor:
                if len(marks) == 1:
                    marks.append(time.perf_counter())
                on = take(int(input_ids[0, -1]))
                return torch.full((1,), not on, dtype=torch.bool, device=input_ids.device)

        ids = torch.tensor([list(prompt)], device=loaded.model.device)  # (1, T)
        loaded.model.generate(  # type: ignore[operator]
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            generation_config=GenerationConfig(
                max_new_tokens=sampling.max_new_tokens,
                do_sample=False,
                repetition_penalty=sampling.repetition_penalty,
                pad_token_id=0,
            ),
            logits_processor=_processors(sampling, n_prompt, rules),
            stopping_criteria=StoppingCriteriaList([Handover()]),
        )
        marks.append(time.perf_counter())
        start, first, end = marks
        return DecodeStats(total_s=end - start, prefill_s=first - start, decode_s=end - first)

    return decode


def _processors(sampling: SamplingParams, n_prompt: int, rules: Sequence[LogitsRule]) -> Any:
    """For `generate`, which applies the repetition penalty itself: the rules and, unless greedy, the draw, which leaves only
    the drawn token possible.

    The library's own sampling draws from torch's global generator, which other threads use too.
    """
    import torch
    from transformers import LogitsProcessor, LogitsProcessorList

    numbers = uniforms(sampling.seed, sampling.max_new_tokens)

    class Ruled(LogitsProcessor):
        def __init__(self, rule: LogitsRule) -> None:
            self._rule = rule

        def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
            return self._rule(input_ids[0].tolist(), scores[0])[None]  # (1, V)

    class Draw(LogitsProcessor):
        def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
            chosen = draw(scores[0], sampling, float(numbers[input_ids.shape[1] - n_prompt]))
            only = torch.full_like(scores, float("-inf"))  # (1, V)
            only[0, chosen] = 0.0
            return only

    return LogitsProcessorList([*map(Ruled, rules), *([Draw()] if sampling.temperature else [])])
