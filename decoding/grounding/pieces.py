"""The items of an offer as token sequences that decode, one after another, to exactly their texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from data.errors import UserError
from decoding.api import Chosen, Offer

BEFORE_FIRST = ("\n", ".", "")
BEFORE_LATER = ("x", ".", "]", "\n", "")
"""What may be before a piece when it is tokenised. Some tokenizers put a space before the first word of a text and take it
off again when they decode one; so a piece is cut out of a longer text, at a place where no token crosses the cut."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """N sequences, each with the item that it says. Of an item that says the same twice (two stops) one is kept."""

    tokens: list[tuple[int, ...]]
    sources: list[Chosen]
    priors: list[float]
    groups: list[int | None]


def tokenised(offer: Offer, tokenizer: Any, end_ids: frozenset[int]) -> tuple[Pieces, Pieces]:
    """The items as an answer begins with them, and as they follow another one, behind the separator.

    Raises UserError, naming the text, where the tokens do not decode to it, or an end token is among them.
    """
    texts: list[str] = []
    sources: list[Chosen] = []
    for at, item in enumerate(offer.items):
        shown: dict[str, Chosen] = {}
        for stop in (None, *item.stops):
            shown.setdefault(item.shown(stop), Chosen(at, stop))
        texts += shown
        sources += shown.values()
    priors = [offer.items[source.item].prior for source in sources]
    groups = [offer.items[source.item].group for source in sources]
    first = encoded(tokenizer, texts, BEFORE_FIRST, "", end_ids)
    later = encoded(tokenizer, [offer.separator + text for text in texts], BEFORE_LATER, "x", end_ids)
    return Pieces(first, sources, priors, groups), Pieces(later, sources, priors, groups)


def encoded(
    tokenizer: Any, texts: Sequence[str], contexts: Sequence[str], before: str, end_ids: frozenset[int]
) -> list[tuple[int, ...]]:
    """Tokens of each text, cut out of the first of `contexts` for which they decode to it, `before` standing before them."""
    found: dict[int, tuple[int, ...]] = {}
    head = _ids(tokenizer, [before])[0] if before else []
    for context in contexts:
        left = [at for at in range(len(texts)) if at not in found]
        if not left:
            break
        opening = _ids(tokenizer, [context])[0] if context else []
        cuts = {}
        for at, ids in zip(left, _ids(tokenizer, [context + texts[at] for at in left])):
            if ids[: len(opening)] == opening and len(ids) > len(opening):
                cuts[at] = ids[len(opening) :]
        for (at, ids), decoded in zip(cuts.items(), _decoded(tokenizer, [head + ids for ids in cuts.values()])):
            if decoded == before + texts[at] and end_ids.isdisjoint(ids):
                found[at] = tuple(ids)
    for at, text in enumerate(texts):
        if at not in found:
            raise UserError(
                f"the tokenizer cannot express {text[:120]!r} as it is; remove what it does not know (control tokens, "
                "characters outside of its vocabulary, forms that Unicode's NFC changes), or leave the item out"
            )
    return [found[at] for at in range(len(texts))]


def _ids(tokenizer: Any, texts: Sequence[str]) -> list[list[int]]:
    encoded: list[list[int]] = tokenizer(list(texts), add_special_tokens=False, verbose=False).input_ids
    return encoded


def _decoded(tokenizer: Any, sequences: Sequence[Sequence[int]]) -> list[str]:
    if not sequences:
        return []
    decoded: list[str] = tokenizer.batch_decode(list(sequences), skip_special_tokens=True, clean_up_tokenization_spaces=False)
    return decoded
