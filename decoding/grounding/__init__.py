"""Holds an answer to its evidence or form while it is decoded: `decoding.api.Grounding` and `Contrast` as logits rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from decoding.api import Cite, Grounding, Json, Rephrase, SamplingParams

if TYPE_CHECKING:
    from decoding.models.loading import LoadedModel
    from decoding.sampling import LogitsRule


def answer_rules(
    sampling: SamplingParams, loaded: LoadedModel, n_prompt: int, end_ids: frozenset[int]
) -> tuple[LogitsRule, ...]:
    """What `sampling` asks of the logits of one answer to a prompt of `n_prompt` tokens: its grounding, then its contrast.

    In this order, because the contrast keeps likely tokens only and must see which are left. The caller holds the model's lock,
    not the tokenizer's. What the contrast took is given by `decoding.grounding.cad.with_cost`.

    Raises:
        UserError: as `grounding_rules`; a contrast that is out of range.
        StageError: the request without evidence leaves no room in the context for the answer.
    """
    with loaded.tokenizer_lock:
        rules = grounding_rules(sampling.grounding, loaded.tokenizer, n_prompt, end_ids)
    if sampling.contrast is None or sampling.contrast.alpha == 0:
        return rules
    from decoding.grounding.cad import contrast_rule

    return (*rules, contrast_rule(sampling.contrast, loaded, n_prompt, sampling.max_new_tokens))


def grounding_rules(
    grounding: Grounding | None, tokenizer: Any, n_prompt: int, end_ids: frozenset[int]
) -> tuple[LogitsRule, ...]:
    """The rules of one answer to a prompt of `n_prompt` tokens. The caller holds the tokenizer's lock.

    Raises UserError: a grounding that contradicts itself, or that the tokenizer cannot express.
    """
    match grounding:
        case None:
            return ()
        case Cite():
            from decoding.grounding.cite import CiteRule

            return (CiteRule(grounding, tokenizer, n_prompt, end_ids),)
        case Rephrase():
            from decoding.grounding.rephrase import RephraseRule

            return (RephraseRule(grounding, tokenizer, n_prompt, end_ids),)
        case Json():
            from decoding.grounding.schema import JsonRule

            return (JsonRule(grounding, tokenizer, n_prompt, end_ids),)
