"""Kinds of article (film, flood, election, ...) and the sections that each one usually has.

The bank in `kinds.toml` was written from general knowledge of encyclopedias; it holds no text of any benchmark article.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from data import codec
from data.types import Page
from decoding.api import Encoder

TITLE_BONUS = 0.12
"""What a matching title pattern adds to the cosine; about the gap between a right and a neighbouring kind."""
CERTAIN = 0.5
"""What a title adds that leaves no doubt ("(2031 film)"): more than cosines differ."""
BY_PAGES = 0.5
"""What it adds if all pages are called, or lie, as those of the kind do ("... on Steam"); in proportion if some are."""
CLEAR = 0.15
"""What the first kind is ahead of the second by where title and pages leave no doubt."""
HEAD = 10
"""Words behind the verb of a card that say what its subject is."""
UNNAMED = 0.06
"""What a kind of happening loses whose word the title lacks: attacks and floods are called so, novels about them are not.
Invented persons likewise: a work is full of what its characters do."""

OF_HAPPENINGS = frozenset(("Attack", "Battle", "Course", "Accident", "Crash", "Incident", "Event", "Events", "Rescue")) | {
    *("Victims", "Casualties", "Perpetrator", "Passengers and crew", "Emergency response", "Investigation", "Reactions"),
    *("International reaction", "Aftermath"),
}
FAMILIES = (
    frozenset(("Plot", "Premise", "Synopsis", "Cast", "Characters", "Episodes", "Storylines")),
    frozenset(("Appearances", "Characterization")),
    frozenset(("Early life", "Early life and education", "Career", "Personal life", "Death")),
    OF_HAPPENINGS,
)
"""Headings of invented stories, invented persons, lives, happenings. A kind has those of a family only if it has one: a killing
has no plot, and a novel no aftermath, whatever happens in it."""


@dataclass(frozen=True, slots=True)
class KindSection:
    """`about` says what sentences of the section talk about; it is compared with them, never shown."""

    heading: str
    about: str


_NOTHING = re.compile(r"(?!)")


@dataclass(frozen=True, slots=True)
class Kind:
    """`title`: what titles of this kind often have, `certain`: what no others have. `pages`: what titles and addresses of its
    pages have. `called`: nouns that pages use for a subject of this kind ("The film"). `main`: of happenings, the heading under
    which a fact stands that belongs to no other. `never`: headings that articles of this kind do not have. `named`: its titles
    or pages say so nearly always, as those of happenings do."""

    name: str
    about: str
    title: re.Pattern[str]
    sections: tuple[KindSection, ...]
    called: frozenset[str] = frozenset()
    main: str = ""
    never: frozenset[str] = frozenset()
    named: bool = False
    certain: re.Pattern[str] = _NOTHING
    pages: re.Pattern[str] = _NOTHING

    def is_in(self, title: str) -> bool:
        """Whether a title says that its article is of this kind."""
        return bool(self.certain.search(title) or self.title.search(title))

    def is_called_in(self, card: str) -> bool:
        """Whether a card says of its subject that it is what those of this kind are called."""
        said = " ".join(re.split(r" (?:is|was|are|were) ", card, maxsplit=1)[-1].split()[:HEAD])
        return bool(self.called & frozenset(re.findall(r"[a-z]+", said.lower())) or self.pages.search(said))

    def may_have(self, heading: str) -> bool:
        own = frozenset(section.heading for section in self.sections)
        return heading in own or (
            heading not in self.never and all(heading not in family or own & family for family in FAMILIES)
        )


@lru_cache(maxsize=1)
def load_kinds() -> tuple[Kind, ...]:
    tables = tomllib.loads((Path(__file__).parent / "kinds.toml").read_text(encoding="utf-8"))["kind"]
    return tuple(
        Kind(
            name=table["name"],
            about=table["about"],
            title=re.compile(table["title"]),
            called=frozenset(table.get("called", ())),
            main=table.get("main", ""),
            never=frozenset(table.get("never", ())),
            named=table.get("named", False),
            certain=re.compile(table.get("certain", "(?!)")),
            pages=re.compile(table.get("pages", "(?!)")),
            sections=tuple(KindSection(heading, about) for heading, about in table["sections"]),
        )
        for table in tables
    )


def bank_digest() -> str:
    """Changes with every word of the bank; part of the identity of runs that use it."""
    return codec.sha256(
        "\n".join(
            f"{k.name} {k.about} {k.title.pattern} {k.certain.pattern} {k.pages.pattern} {sorted(k.called)} {k.main} {k.named} "
            f"{sorted(k.never)} {k.sections}"
            for k in load_kinds()
        )
    )[:12]


class KindRecogniser:
    """Nearest kind by sentence vector, helped by the title's wording. Encodes the bank once."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._kinds = load_kinds()
        self._vectors = encoder.encode([f"{kind.name}: {kind.about}" for kind in self._kinds])

    def clear(self, title: str, pages: Sequence[Page]) -> Kind | None:
        """The kind that title and pages leave no doubt of, before anybody has said what the subject is."""
        (first, kind), (second, _) = self.ranked(title, [], pages=pages)[:2]
        return kind if first - second >= CLEAR else None

    def by_card(self, title: str, card: str, pages: Sequence[Page]) -> list[tuple[float, Kind]]:
        """All kinds with scores, the most likely first, by what the card calls the subject ("an audition program"), too."""
        ranked = self.ranked(title, [card], pages=pages)
        called = [(score + TITLE_BONUS * kind.is_called_in(card), kind) for score, kind in ranked]
        return sorted(called, key=lambda one: -one[0])

    def named(self, name: str) -> Kind:
        """The kind of this name. Raises KeyError where there is none."""
        return {kind.name: kind for kind in self._kinds}[name]

    def recognise(self, title: str, opening: Sequence[str], noun: str = "", pages: Sequence[Page] = ()) -> Kind:
        """The most likely kind; arguments as of `ranked`."""
        return self.ranked(title, opening, noun, pages)[0][1]

    def ranked(
        self, title: str, opening: Sequence[str], noun: str = "", pages: Sequence[Page] = ()
    ) -> list[tuple[float, Kind]]:
        """All kinds with their scores, the most likely first.

        `opening` are a few sentences that introduce the subject; the title counts as much as all of them. `noun` is what
        pages call the subject, where that is known (`pipeline.choosing.subject`); `pages` are all of the evidence."""
        texts = [title, " ".join([title, *opening])[:600]]
        vector = self._encoder.encode(texts).mean(axis=0)
        scores = self._vectors @ vector / max(float(np.linalg.norm(vector)), 1e-9)
        signs = [kind.is_in(title) + (noun in kind.called) for kind in self._kinds]
        named = [kind.named or any(section.heading in OF_HAPPENINGS for section in kind.sections) for kind in self._kinds]
        bonus = [TITLE_BONUS * n - UNNAMED * (needed and not n) for n, needed in zip(signs, named, strict=True)]
        of_title = "|".join(map(re.escape, re.findall(r"[^\W\d_]{3,}", title))) or "(?!)"
        own = re.compile(rf"\b(?:{of_title})\b", re.I)
        # Without the title's own words: each page of a "Film Festival" says "film".
        page_names = [own.sub(" ", f"{page.title} {page.url}") for page in pages]
        for k, kind in enumerate(self._kinds):
            bonus[k] += CERTAIN * bool(kind.certain.search(title))
            bonus[k] += BY_PAGES * sum(bool(kind.pages.search(name)) for name in page_names) / max(len(page_names), 1)
        total = scores + np.array(bonus)
        return [(float(total[k]), self._kinds[k]) for k in np.argsort(-total, kind="stable").tolist()]
