"""Which rules of a page's sheets match an element, with bounded work: sheets are written by whoever wrote the page.

Work is counted in steps (an element looked at, a rule that matched), never in seconds, so that a page is read the same each
time. A rule that takes too many is given up, all of them when the page has used up its steps. Of what a given-up rule would
do nobody knows: `Matches.given_up` has what it could do to an element that it may mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import cssselect2

MOST_STEPS = 24_000_000
"""Of a page; a step is a third of a microsecond. 7,500 elements and 4,000 rules, of which many are asked, take half of them."""
MOST_OF_A_RULE = 1_500_000
_A_MATCH = 20
"""Steps for what is done with a rule that matches."""
_A_CHILD = 25
"""The library makes an object for each child that a selector looks at."""
_A_SIBLING = 2
"""Siblings that are looked at in one step."""
_FEW_SIBLINGS = 12
_ANCESTORS = 3
"""Looked at in one step, too."""

Found = list[tuple[Any, int, Any, Any]]
"""Specificity, order, pseudo-element and payload of each rule, the weakest first."""


class Spent(Exception):
    """A rule, or the page, has no steps left."""


@dataclass
class Steps:
    """What is left for the page, and for the rule that is being asked."""

    left: int = MOST_STEPS
    of_rule: int = MOST_OF_A_RULE

    def take(self, n: int) -> None:
        self.left -= n
        self.of_rule -= n
        if self.of_rule < 0 or self.left < 0:
            raise Spent


class _Counting(cssselect2.ElementWrapper):  # type: ignore[misc]  # the library has no types
    """Counts what a selector looks at, and keeps no lists of siblings. What costs next to nothing is not counted."""

    steps: Steps
    has_small_names: bool
    classes: set[str]
    id: str | None

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        if len(self.etree_siblings) > _FEW_SIBLINGS:
            self._siblings = self.__dict__.pop("etree_siblings")

        if self.has_small_names:
            self.classes = {name.lower() for name in self.classes}
            self.id = self.id and self.id.lower()

    def __getattr__(self, name: str) -> Any:
        if name != "etree_siblings":
            raise AttributeError(name)
        self.steps.take(len(self._siblings) // _A_SIBLING)
        return self._siblings

    @property
    def ancestors(self) -> Any:
        found = super().ancestors
        self.steps.take(1 + len(found) // _ANCESTORS)
        return found

    @property
    def previous_siblings(self) -> Iterator[Any]:
        element = self.previous
        while element is not None:
            self.steps.take(1)
            yield element
            element = element.previous

    def iter_children(self) -> Iterator[Any]:
        for child in super().iter_children():
            self.steps.take(_A_CHILD)
            yield child


@dataclass
class _Entry:
    test: Callable[[Any], bool]
    specificity: Any
    order: int
    pseudo: Any
    payload: Any
    effects: frozenset[str]
    left: int = MOST_OF_A_RULE


@dataclass
class Matches:
    """The rules of one element; `given_up` are the effects of rules that were not asked and may match it."""

    found: Found = field(default_factory=list)
    given_up: set[str] = field(default_factory=set)


@dataclass
class Matcher:
    """`effects` says of a payload how its rule could make text invisible, in words of its own."""

    effects: Callable[[Any], frozenset[str]]
    has_small_names: bool = False
    """Classes and ids of elements are asked in small letters; those of selectors are."""
    n_rules: int = 0
    _buckets: dict[tuple[str, str], list[_Entry]] = field(default_factory=dict)
    _effects: dict[tuple[str, str], set[str]] = field(default_factory=dict)

    def add(self, selector: Any, payload: Any) -> None:
        """`selector` as the library has compiled it."""
        self.n_rules += 1
        if selector.never_matches:
            return
        if selector.id is not None:
            key = ("id", selector.id)
        elif selector.class_name is not None:
            key = ("class", selector.class_name)
        elif selector.local_name is not None:
            key = ("tag", selector.lower_local_name)
        else:
            key = ("", "")
        entry = _Entry(
            selector.test, selector.specificity, self.n_rules, selector.pseudo_element, payload, self.effects(payload)
        )
        self._buckets.setdefault(key, []).append(entry)
        self._effects.setdefault(key, set()).update(entry.effects)

    def elements(self, tree: Any) -> Iterator[tuple[Any, Matches]]:
        """Each element of a tree in its order, with the rules that match it."""
        steps = Steps()
        wrapper: Any = type("_Wrapper", (_Counting,), {"steps": steps, "has_small_names": self.has_small_names})
        stack: list[Iterator[Any]] = [iter([wrapper.from_html_root(tree)])]
        while stack:
            steps.of_rule = MOST_OF_A_RULE
            element = next(stack[-1], None)
            if element is None:
                stack.pop()
                continue
            yield element.etree_element, self._matches(element, steps)
            stack.append(cssselect2.ElementWrapper.iter_children(element))  # going through the page costs no steps

    def _matches(self, element: Any, steps: Steps) -> Matches:
        matches = Matches()
        names = [("id", str(element.id)), *(("class", name) for name in element.classes)]
        for key in (*names, ("tag", str(element.local_name).lower()), ("", "")):
            bucket = self._buckets.get(key, ())
            steps.left -= len(bucket)
            if steps.left <= 0:
                matches.given_up |= self._effects.get(key, set())
                continue
            for entry in bucket:
                steps.of_rule = entry.left
                try:
                    if entry.left > 0 and entry.test(element):
                        steps.take(_A_MATCH)
                        matches.found.append((entry.specificity, entry.order, entry.pseudo, entry.payload))
                except (Spent, RecursionError):
                    steps.of_rule = 0
                entry.left = steps.of_rule
                if entry.left <= 0:
                    matches.given_up |= entry.effects
        matches.found.sort(key=lambda one: (one[0], one[1]))
        return matches
