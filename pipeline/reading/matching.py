"""Which rules of a page's sheets match an element, with bounded work: sheets are written by whoever wrote the page.

Work is counted in steps (an element looked at, a rule that matched), never in seconds, so that a page is read the same each
time. A rule that takes too many is given up, all of them when the page has used up its steps. Of what a given-up rule would
do nobody knows: `Matches.given_up` says whether one that may hide could be meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import cssselect2

MOST_STEPS = 4_000_000
"""Of a page. A page of 10,000 elements with 4,000 usual rules takes some 500,000; as many as these are about five seconds."""
MOST_OF_A_RULE = 250_000
_A_MATCH = 4
"""Steps for what is done with a rule that matches."""
_A_CHILD = 5
"""The library makes an object for each child that a selector looks at."""
_A_SIBLING = 8
"""Siblings that are looked at in one step."""

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
    """Counts every element that a selector looks at, and keeps no lists of neighbours."""

    steps: Steps

    @property
    def etree_siblings(self) -> Any:
        self.steps.take(1 + len(self._siblings) // _A_SIBLING)
        return self._siblings

    @etree_siblings.setter
    def etree_siblings(self, siblings: Any) -> None:
        self._siblings = siblings

    @property
    def ancestors(self) -> Iterator[Any]:
        return self._walked("parent")

    @property
    def previous_siblings(self) -> Iterator[Any]:
        return self._walked("previous")

    def _walked(self, to: str) -> Iterator[Any]:
        element = getattr(self, to)
        while element is not None:
            self.steps.take(1)
            yield element
            element = getattr(element, to)

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
    may_hide: bool
    left: int = MOST_OF_A_RULE


@dataclass
class Matches:
    """The rules of one element; `given_up` where a rule was not asked that may match and may hide."""

    found: Found = field(default_factory=list)
    given_up: bool = False


@dataclass
class Matcher:
    """`may_hide` says of a payload whether its rule could make text invisible."""

    may_hide: Callable[[Any], bool]
    n_rules: int = 0
    _buckets: dict[tuple[str, str], list[_Entry]] = field(default_factory=dict)
    _hiding: set[tuple[str, str]] = field(default_factory=set)

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
            selector.test, selector.specificity, self.n_rules, selector.pseudo_element, payload, self.may_hide(payload)
        )
        self._buckets.setdefault(key, []).append(entry)
        if entry.may_hide:
            self._hiding.add(key)

    def elements(self, tree: Any) -> Iterator[tuple[Any, Matches]]:
        """Each element of a tree in its order, with the rules that match it."""
        steps = Steps()
        wrapper: Any = type("_Wrapper", (_Counting,), {"steps": steps})
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
            if steps.left <= 0:
                matches.given_up = matches.given_up or key in self._hiding
                continue
            for entry in self._buckets.get(key, ()):
                if entry.left <= 0 or steps.left <= 0:
                    matches.given_up = matches.given_up or entry.may_hide
                elif _asked(entry, element, steps, matches):
                    matches.found.append((entry.specificity, entry.order, entry.pseudo, entry.payload))
        matches.found.sort(key=lambda one: (one[0], one[1]))
        return matches


def _asked(entry: _Entry, element: Any, steps: Steps, matches: Matches) -> bool:
    steps.of_rule = entry.left
    try:
        steps.take(1)
        if matched := bool(entry.test(element)):
            steps.take(_A_MATCH)
    except (Spent, RecursionError):
        steps.of_rule = 0
        matched = False
        matches.given_up = matches.given_up or entry.may_hide
    entry.left = steps.of_rule
    return matched
