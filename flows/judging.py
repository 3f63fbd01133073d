"""Each statement of an article against the pages that it cites: the verdicts of `wikigenben check`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pipeline.checking.report import CheckReport, CitedPage, Finding, Verdict

if TYPE_CHECKING:
    from eval.judges.judge import Judge
    from eval.statement_support import Judgement, PageText
    from pipeline.checking.cited import CitedArticle, CitedStatement, Reference
    from pipeline.web.bundle import EvidenceRecord

GONE = frozenset({"dns", "soft_404"})
GONE_STATUS = (404, 410)
"""Of `http_4xx`; others refuse this program, or ask for a subscription, and the page may well be there."""
READABLE = 30
"""Words of a page from which it says something."""
JUDGED = "en"
"""The language that the judges read."""
_LETTERS = 300
"""Of an article, to tell its language by."""
_SURE = 0.95
Tell = Callable[[int, int, str], None]
"""(so many, of so many, what)."""
_LEANS = re.compile(
    r"\W*(?:he|she|it|they|his|her|hers|its|their|this|these|those|that|both|there|afterwards?|then|later|instead|"
    r"(?:the|a|one|two|three|four|five|six|several|some) (?:next|following|same|few )?\s?"
    r"(?:days?|weeks?|months?|years?|hours?|minutes|latter|former)(?: later| after)?)\b",
    re.IGNORECASE,
)
_NO_SUCH = "there is no such page on its site"
_KINDS: dict[str, str] = {
    "book": "a book, without an address",
    "article": "an article in print, without an address",
    "template": "a template that is not read here",
    "undefined": "this reference is defined nowhere",
    "broken": "a broken reference",
}


def is_readable(record: EvidenceRecord) -> bool:
    """Also of a page too short or too odd to write from."""
    return len(record.text.split()) >= READABLE and not is_gone(record)


def is_gone(record: EvidenceRecord) -> bool:
    return record.drop_reason in GONE or (record.drop_reason == "http_4xx" and record.http_status in GONE_STATUS)


def judged(article: CitedArticle, pages: Mapping[str, EvidenceRecord], judge: Judge, tell: Tell, missing: str) -> CheckReport:
    """`missing` says why an address is not among `pages`."""
    return _Judging(article, pages, judge, missing).report(tell)


class _Judging:
    def __init__(self, article: CitedArticle, pages: Mapping[str, EvidenceRecord], judge: Judge, missing: str) -> None:
        from eval.statement_support import PageText
        from pipeline.checking.page_days import with_page_days

        self._article = article
        self._pages = pages
        self._judge = judge
        self._missing = missing
        self._language = article_language(article)
        """"" where it is one that is judged."""
        self._texts: dict[int, PageText] = {}
        self._foreign: dict[int, str] = {}
        read: dict[tuple[str, str], PageText] = {}
        for i, reference in enumerate(article.references):
            record = pages.get(reference.url)
            if reference.passage:
                self._texts[i] = PageText(reference.title, with_page_days(reference.passage, reference.published))
            elif record is not None and is_readable(record):
                if (language := record.language) not in (JUDGED, "und", ""):
                    self._foreign[i] = language_name(language)
                else:  # cut once, for all references to it
                    day = _published(reference, record)
                    if (reference.url, day) not in read:
                        read[reference.url, day] = PageText(record.title, with_page_days(record.text, day))
                    self._texts[i] = read[reference.url, day]

    def report(self, tell: Tell) -> CheckReport:
        findings: list[Finding] = []
        statements = self._article.statements
        before: CitedStatement | None = None
        for n, statement in enumerate(statements, 1):
            findings.append(self._finding(statement, before))
            before = statement
            tell(n, len(statements), "judging statements")
        cited = {i for statement in statements for i in statement.references}
        keys = {self._key(i) for i in cited}
        n_read = len({self._key(i) for i in cited & (self._texts.keys() | self._foreign.keys())})
        today = datetime.now(UTC).date().isoformat()
        return CheckReport(
            self._article.title, self._article.form, self._judge.name, tuple(findings), len(keys), n_read, checked=today
        )

    def _key(self, i: int) -> str:
        """References to several places of one page are one page."""
        reference = self._article.references[i]
        return f"{reference.url} {reference.passage}" if reference.url else f"{reference.kind} {reference.title}"

    def _finding(self, statement: CitedStatement, before: CitedStatement | None) -> Finding:
        from eval.statement_support import supporting_sentence

        references = self._article.references
        cited = tuple(self._cited_page(i) for i in statement.references)
        places = {i: n for n, i in enumerate(statement.references)}
        own = tuple(replace(place, reference=places[place.reference]) for place in statement.places)
        readable = [i for i in statement.references if i in self._texts]
        foreign = [i for i in statement.references if i in self._foreign]
        language = self._language or (self._foreign[foreign[0]] if foreign and not readable else "")
        remark = _remark(statement, references)
        if language and statement.references:
            verdict: Verdict = "foreign"
            return Finding(
                *(statement.text, statement.section, verdict, None, "", cited),
                inherits=statement.inherits,
                remark=remark,
                language=language,
                places=own,
            )
        found = self._support(statement, before, [self._texts[i] for i in readable])
        verdict = self._verdict(statement, found, readable)
        left_open = self._left_open(statement, found, readable) if verdict == "supported" else ""
        sentence = supporting_sentence(statement.text, found.passage)
        return Finding(
            *(statement.text, statement.section, "doubtful" if left_open else verdict, found.score, found.passage, cited),
            inherits=statement.inherits,
            remark=remark,
            unsettled=left_open,
            sentence=sentence,
            places=own,
        )

    def _support(self, statement: CitedStatement, before: CitedStatement | None, texts: Sequence[PageText]) -> Judgement:
        """Of a statement that leans on the sentence before it ("He resigned"), also with that sentence. Together they lift it
        by one step alone: the sentence before may be all that a page holds."""
        from eval.statement_support import judge_statement

        found = judge_statement(self._judge, statement.text, texts)
        leans = before is not None and before.section == statement.section and _LEANS.match(statement.text)
        if before is None or not leans or not texts or found.support not in ("doubtful", "unsupported"):
            return found
        together = judge_statement(self._judge, f"{before.text} {statement.text}", texts)
        if together.support != "supported":
            return found
        return replace(together, support="supported" if found.support == "doubtful" else "doubtful", score=found.score)

    def _left_open(self, statement: CitedStatement, found: Judgement, readable: Sequence[int]) -> str:
        from pipeline.checking.unsettled import unsettled

        known = []
        for i in readable:
            reference = self._article.references[i]
            day = _published(reference, self._pages.get(reference.url))
            known.append(f"{self._texts[i].title} {day} {self._texts[i].text}")
        return unsettled(statement.text, found.passage, "\n".join(known))

    def _verdict(self, statement: CitedStatement, found: Judgement, readable: Sequence[int]) -> Verdict:
        references = [self._article.references[i] for i in statement.references]
        if not references:
            return "uncited"
        if not readable:
            if all(one.kind in ("undefined", "broken") for one in references):
                return "broken"
            records = [one for reference in references if (one := self._pages.get(reference.url)) is not None]
            return "gone" if records and all(map(is_gone, records)) else "unread"
        if found.support == "unjudged":
            return "unread"
        if found.support == "supported":
            return "supported"
        if any(i not in self._texts for i in statement.references):
            return "doubtful"  # what could not be read may hold it
        published = [_published(one, self._pages.get(one.url)) for one in references]
        from pipeline.checking.ageing import tells_of_later_day

        if tells_of_later_day(statement.text, published):
            return "older"
        if statement.inherits:
            return "uncited" if found.support == "unsupported" else "doubtful"
        if any((record := self._pages.get(one.url)) is not None and record.rows_left for one in references):
            return "doubtful"  # as may the rows of a table that is too long
        # a word of it was in a template that is not read
        return "doubtful" if found.support == "doubtful" or statement.gaps else "unsupported"

    def _cited_page(self, i: int) -> CitedPage:
        from pipeline.drop_words import DROP_REASONS

        reference = self._article.references[i]
        record = self._pages.get(reference.url)
        note = ""
        if not reference.url and not reference.passage:
            note = _KINDS.get(reference.kind, "no address")
        elif i in self._foreign:
            note = f"not judged: {self._foreign[i]}"
        elif record is not None and is_gone(record):
            note = "gone: " + (
                _NO_SUCH if record.drop_reason == "http_4xx" else DROP_REASONS.get(record.drop_reason or "dns", "")
            )
        elif record is not None and record.drop_reason and len(record.text.split()) < READABLE:
            note = DROP_REASONS[record.drop_reason]
        elif record is None and not reference.passage:
            note = self._missing
        elif record is not None and record.archive_url:
            note = "the page is gone; an archived copy was read"
        elif record is not None and record.rows_left:
            note = f"{record.rows_left:,} rows of its tables were not read"
        title = (record.title if record is not None else "") or reference.title
        return CitedPage(reference.url, title, _published(reference, record), note, _page_words(reference.page))


def article_language(article: CitedArticle) -> str:
    """The language, in English, that an article is plainly written in; "" for the one that is judged, and where in doubt."""
    from data.pages.languages import identify_language

    text = ""
    for statement in article.statements:
        text += statement.text + " "
        if len(text) > 5000:
            break
    if len(text) < _LETTERS:
        return ""
    code, probability = identify_language(text)
    return language_name(code) if code != JUDGED and probability >= _SURE else ""


def language_name(code: str) -> str:
    """The English name of an ISO 639-1 code; the code where there is none."""
    from babel import Locale
    from babel.core import UnknownLocaleError

    try:
        return Locale.parse(code).get_language_name("en") or code
    except (UnknownLocaleError, ValueError):
        return code


def _page_words(page: str) -> str:
    return f"p. {page}" if re.match(r"\d", page) else page


def _remark(statement: CitedStatement, references: Sequence[Reference]) -> str:
    from pipeline.checking.phrases import chatbot_phrase, is_from_chatbot

    if phrase := chatbot_phrase(statement.text):
        return f"a phrase of chatbots: “{phrase}”"
    if not statement.inherits and any(is_from_chatbot(references[i].url) for i in statement.references):
        return "a chatbot's mark is in the address of its source"
    kinds = {references[i].kind for i in statement.references} if not statement.inherits else set()
    if "undefined" in kinds:
        return "one of its references is defined nowhere"
    if "broken" in kinds:
        return "one of its references is broken"
    if statement.gaps:
        return f"a part of it is in a template that is not read: {', '.join(statement.gaps[:3])}"
    return ""


def _published(reference: Reference, record: EvidenceRecord | None) -> str:
    return (record.published.day if record is not None else "") or reference.published[:10]
