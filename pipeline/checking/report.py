"""What a check found, statement by statement, and what of it changed since an earlier check of the same article."""

from __future__ import annotations

import difflib
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, get_args

from data.types import Strict
from pipeline.checking.cited import Place

Verdict = Literal["supported", "doubtful", "unsupported", "older", "gone", "broken", "unread", "foreign", "uncited"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
LABELS: dict[str, str] = {
    "supported": "Supported",
    "doubtful": "Doubtful",
    "unsupported": "Not found on the cited page",
    "older": "The page is older than what it is cited for",
    "gone": "The cited page is gone",
    "broken": "The reference is broken, or defined nowhere",
    "unread": "The cited page could not be read",
    "foreign": "Not judged: in another language",
    "uncited": "No citation",
}
IN_WORDS: dict[str, str] = {
    "supported": "supported",
    "doubtful": "doubtful",
    "unsupported": "not found on the cited page",
    "older": "younger than the cited page",
    "gone": "on a page that is gone",
    "broken": "with a broken reference, or one that is defined nowhere",
    "unread": "on a page that could not be read",
    "foreign": "not judged",
    "uncited": "without a citation",
}
"""What a number of statements is, in a summary."""
BAD: frozenset[Verdict] = frozenset({"unsupported", "older", "gone", "broken"})
JUDGED: frozenset[Verdict] = frozenset({"supported", "doubtful", "unsupported", "older"})
"""Those of statements that were held against a page."""
MOST_COMPARED = 400
"""Statements of one run that no statement of the other equals, before they are compared letter by letter."""
_ALIKE = 0.75


@dataclass(frozen=True, slots=True)
class CitedPage(Strict):
    """`note` says why it could not be used, or how old it is; empty where there is nothing to say. `page` is the place in a
    book or a long document that the article names."""

    omitted_if_empty: ClassVar[frozenset[str]] = frozenset({"page"})
    url: str
    title: str
    published: str = ""
    note: str = ""
    page: str = ""


@dataclass(frozen=True, slots=True)
class Finding(Strict):
    """`passage` is the best place on the cited pages, `sentence` the one in it that says most of the statement, "" where none
    does; `score` is the judge's. A statement that `inherits` has its neighbour's citation. `remark` says what else an editor
    should look at, whatever the verdict; `unsettled` what the judge, who would accept the statement, cannot see
    (`pipeline.checking.unsettled`). `places` are where the article's wikitext cites; each one's `reference` is a place in
    `cited`."""

    omitted_if_empty: ClassVar[frozenset[str]] = frozenset({"sentence", "language", "places"})
    text: str
    section: str
    verdict: Verdict
    score: float | None
    passage: str
    cited: tuple[CitedPage, ...]
    inherits: bool = False
    remark: str = ""
    unsettled: str = ""
    sentence: str = ""
    language: str = ""
    places: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True)
class Change(Strict):
    """`before` and `after` are verdicts, "" where the article did not have the statement; `was` is how it read before."""

    text: str
    before: Verdict | Literal[""]
    after: Verdict | Literal[""]
    was: str = ""


@dataclass(frozen=True, slots=True)
class CheckReport(Strict):
    """`checked` is its day (YYYY-MM-DD, UTC), `since` that of the earlier check that `changes` are counted from, "" without."""

    title: str
    form: str
    judge: str
    findings: tuple[Finding, ...]
    n_pages: int
    n_pages_read: int
    checked: str = ""
    since: str = ""
    changes: tuple[Change, ...] = ()

    @property
    def counts(self) -> Counter[Verdict]:
        return Counter(finding.verdict for finding in self.findings)

    def in_words(self) -> str:
        told = ", ".join(f"{self.counts[v]} {self._words_of(v)}" for v in VERDICTS if self.counts[v])
        remarks = sum(finding.remark.startswith("a ") for finding in self.findings)
        more = f"; {remarks} with a sign of a chatbot" if remarks else ""
        return f"{len(self.findings)} statements: {told}; {self.n_pages_read} of {self.n_pages} cited pages read{more}"

    def _words_of(self, verdict: Verdict) -> str:
        if verdict != "foreign":
            return IN_WORDS[verdict]
        languages = Counter(one.language for one in self.findings if one.verdict == "foreign")
        return f"not judged ({', '.join(name for name, _ in languages.most_common())})"


def with_changes(report: CheckReport, earlier: CheckReport | None) -> CheckReport:
    """The report with what is new in it since `earlier`: other verdicts, other statements."""
    if earlier is None:
        return report
    return replace(report, since=earlier.checked or "an earlier check", changes=_changes(earlier.findings, report.findings))


def _changes(old: Sequence[Finding], new: Sequence[Finding]) -> tuple[Change, ...]:
    waiting: dict[str, list[Finding]] = defaultdict(list)
    for one in old:
        waiting[one.text].append(one)
    found: list[Change] = []
    fresh: list[Finding] = []
    for one in new:
        if same := waiting.get(one.text):
            before = same.pop(0)
            if before.verdict != one.verdict:
                found.append(Change(one.text, before.verdict, one.verdict))
        else:
            fresh.append(one)
    lost = [one for rest in waiting.values() for one in rest]
    for one in fresh:
        before_it = _alike(one, lost) if len(fresh) <= MOST_COMPARED and len(lost) <= MOST_COMPARED else None
        if before_it is not None:
            lost.remove(before_it)
            found.append(Change(one.text, before_it.verdict, one.verdict, before_it.text))
        else:
            found.append(Change(one.text, "", one.verdict))
    return (*found, *(Change(one.text, one.verdict, "") for one in lost))


def _alike(one: Finding, others: Sequence[Finding]) -> Finding | None:
    """The statement of which this is a rewording: most of its words, in their order."""
    words = one.text.split()[:200]
    best, likeness = None, _ALIKE
    matcher = difflib.SequenceMatcher(b=words, autojunk=False)
    for other in others:
        matcher.set_seq1(other.text.split()[:200])
        if matcher.real_quick_ratio() > likeness and matcher.quick_ratio() > likeness and (ratio := matcher.ratio()) > likeness:
            best, likeness = other, ratio
    return best
