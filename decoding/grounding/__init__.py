"""Ties an answer to its evidence while it is decoded, whatever the model says: `decoding.api.Grounding` as logits rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from decoding.api import Cite, Grounding, Offer

if TYPE_CHECKING:
    from decoding.sampling import LogitsRule


def grounding_rules(
    grounding: Grounding | None, tokenizer: Any, n_prompt: int, end_ids: frozenset[int]
) -> tuple[LogitsRule, ...]:
    """The rules of one answer to a prompt of `n_prompt` tokens. The caller holds the tokenizer's lock.

    Raises UserError: a grounding that contradicts itself, or that the tokenizer cannot express.
    """
    match grounding:
        case None:
            return ()
        case Offer():
            from decoding.grounding.offer import OfferRule

            return (OfferRule(grounding, tokenizer, n_prompt, end_ids),)
        case Cite():
            from decoding.grounding.cite import CiteRule

            return (CiteRule(grounding, tokenizer, n_prompt, end_ids),)
