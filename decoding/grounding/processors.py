"""Our rules for a plain `model.generate(logits_processor=[...])` of transformers.

form = Json('{"type": "object"}')
processor = grounded_processor(form, tokenizer, n_prompt=input_ids.shape[1], end_ids=[tokenizer.eos_token_id])
model.generate(input_ids, logits_processor=[processor], max_new_tokens=400)
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from data.errors import UserError
from decoding.grounding import grounding_rules

if TYPE_CHECKING:
    import torch
    from transformers import LogitsProcessor

    from decoding.api import Grounding
    from decoding.sampling import LogitsRule


def grounded_processor(grounding: Grounding, tokenizer: Any, n_prompt: int, end_ids: Collection[int]) -> LogitsProcessor:
    """A grounding for prompts of `n_prompt` tokens, padding on the left included. Nobody else uses the tokenizer meanwhile.

    `end_ids` are those that `generate` ends a text with. Raises UserError as the rules of the grounding do.
    """
    (rule,) = grounding_rules(grounding, tokenizer, n_prompt, frozenset(end_ids))
    return as_processor(rule, n_prompt)


def as_processor(rule: LogitsRule, n_prompt: int) -> LogitsProcessor:
    """A rule as transformers asks for it. Rows of a batch are independent.

    Works with greedy search, sampling and beams (a rule is a function of the prefix, whichever comes next). `n_prompt` is
    checked: a prompt given as embeddings has no ids, and a rule would take the answer for it.
    """
    import torch
    from transformers import LogitsProcessor

    class Ruled(LogitsProcessor):
        def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.FloatTensor:
            n = input_ids.shape[1]
            if n < n_prompt:
                raise UserError(
                    f"generate shows {n} tokens, the prompt alone has {n_prompt}; pass the prompt as input_ids and its length, "
                    "padding included, as n_prompt"
                )
            rows = [rule(prefix, row) for prefix, row in zip(input_ids.tolist(), scores)]
            return torch.stack(rows)  # type: ignore[return-value]

    return Ruled()
