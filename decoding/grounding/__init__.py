"""Holds an answer to its evidence or form while it is decoded: `decoding.api.Grounding` as logits rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from decoding.api import Grounding, Json, Rephrase, SamplingParams

if TYPE_CHECKING:
    from decoding.models.loading import LoadedModel
    from decoding.sampling import LogitsRule


def answer_rules(
    sampling: SamplingParams, loaded: LoadedModel, n_prompt: int, end_ids: frozenset[int]
) -> tuple[LogitsRule, ...]:
    """What `sampling` asks of the logits of one answer to a prompt of `n_prompt` tokens. The caller holds the model's lock, not
    the tokenizer's. Raises UserError as `grounding_rules`."""
    with loaded.tokenizer_lock:
        return grounding_rules(sampling.grounding, loaded.tokenizer, n_prompt, end_ids)


def grounding_rules(
    grounding: Grounding | None, tokenizer: Any, n_prompt: int, end_ids: frozenset[int]
) -> tuple[LogitsRule, ...]:
    """The rules of one answer to a prompt of `n_prompt` tokens. The caller holds the tokenizer's lock.

    Raises UserError: a grounding that contradicts itself, or that the tokenizer cannot express.
    """
    match grounding:
        case None:
            return ()
        case Rephrase():
            from decoding.grounding.rephrase import RephraseRule

            return (RephraseRule(grounding, tokenizer, n_prompt, end_ids),)
        case Json():
            from decoding.grounding.schema import JsonRule

            return (JsonRule(grounding, tokenizer, n_prompt, end_ids),)
