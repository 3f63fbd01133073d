"""Of one contest one wins: where notes name several winners of the subject, those of which fewer pages tell are wrong.

A small model reads "led after the first round" as "won". No passage alone tells that it did; that other notes name another
winner does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pipeline.article_plan import Statement
from pipeline.choosing.subject import Subject

_WON = re.compile(
    r"(?:The )?(?P<who>[A-Z][^,;:.]{1,80}?) (?:has |had )?(?:won|wins|(?:was|became) the winner of) (?:the )?(?P<what>.+)"
)
_YEAR = re.compile(r"\A(?:1[5-9]|20)\d\d(?:[–-]\d\d)? ")
_NAME = re.compile(r"\b[A-Z][\w’'-]+")


def rivals(statements: Sequence[Statement], subject: Subject) -> frozenset[int]:
    """Places of the statements that name a winner of the subject beside the one of whom most pages tell; of all of them where
    no single one has most. Two names that share a word are one."""
    names = {subject.name.lower(), _YEAR.sub("", subject.name).lower()}
    groups: list[tuple[set[str], list[int]]] = []
    for n, one in enumerate(statements):
        match = _WON.match(one.text)
        if match is None or not any(match["what"].lower().startswith(name) for name in names):
            continue
        who = set(_NAME.findall(match["who"]))
        same = [group for group in groups if group[0] & who]
        for group in same:
            groups.remove(group)
        groups.append((who.union(*(g[0] for g in same)), [n, *(k for g in same for k in g[1])]))
    if len(groups) < 2:
        return frozenset()
    told = [len({cite.split(":")[0] for n in places for cite in statements[n].cites}) for _, places in groups]
    right = told.index(max(told)) if told.count(max(told)) == 1 else -1
    return frozenset(n for k, (_, places) in enumerate(groups) if k != right for n in places)
