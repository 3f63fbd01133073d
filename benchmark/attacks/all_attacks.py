"""All attacks by name, in families."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from benchmark.attacks import citation_markers, claims, copied, disguise, listed, order, padding
from benchmark.attacks.given import Given
from data.errors import UserError
from data.types import Article

Make = Callable[[Given], Article]
"""Makes an article. One that finds nothing to change returns the honest article as it is."""


class Attack(NamedTuple):
    name: str
    family: str
    make: Make

    @property
    def says(self) -> str:
        """What it does, in its first sentence."""
        text = " ".join((self.make.__doc__ or "").split())
        return text.split(". ")[0].rstrip(".")


_FAMILIES: dict[str, tuple[Make, ...]] = {
    "copied": (
        copied.all_passages, copied.best_passages, copied.best_passages_headed, copied.seventh_word_dropped,
        copied.synonyms_swapped,
    ),
    "listed": (
        listed.name_lists, listed.uncited_names_added, listed.quotation_then_names, listed.title_words,
        listed.repeated_quotation,
    ),
    "order": (
        order.sentences_shuffled, order.paragraphs_reversed, order.sections_reversed, order.headings_exchanged,
        order.words_shuffled, order.random_words, order.one_giant_sentence, order.tiny_fragments,
    ),
    "padding": (padding.off_point, padding.other_event, padding.hidden_prose, padding.sibling_article),
    "claims": (
        claims.year_shifted, claims.names_exchanged, claims.names_replaced, claims.numbers_changed, claims.dates_changed,
        claims.units_changed, claims.claims_negated, claims.antonyms, claims.pronouns_changed, claims.relations_reversed,
        claims.verbs_replaced, claims.reports_denied, claims.hedges_dropped, claims.limits_reversed, claims.hedges_added,
        claims.declared_false, claims.claims_fused, claims.clauses_inserted,
    ),
    "citing": (citation_markers.everything_cited, citation_markers.citations_moved, citation_markers.citations_dropped),
    "disguise": (
        disguise.zero_width_joiners, disguise.soft_hyphens, disguise.homoglyphs, disguise.bidi_marks,
        disguise.in_greek_letters, disguise.in_cyrillic_letters, disguise.machine_chatter,
    ),
}  # fmt: skip

ATTACKS = tuple(Attack(make.__name__, family, make) for family, made in _FAMILIES.items() for make in made)


def chosen(names: Iterable[str]) -> tuple[Attack, ...]:
    """Those of the names, families among them; all for no name. Raises UserError for a name that is none."""
    wanted = tuple(names)
    known = {attack.name for attack in ATTACKS} | set(_FAMILIES)
    for name in wanted:
        if name not in known:
            attacks, families = ", ".join(attack.name for attack in ATTACKS), ", ".join(_FAMILIES)
            raise UserError(f"there is no attack {name!r}; known: {attacks}; families: {families}")
    return tuple(attack for attack in ATTACKS if not wanted or attack.name in wanted or attack.family in wanted)
