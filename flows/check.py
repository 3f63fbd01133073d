"""`wikigenben check`: each statement of an article that was made anywhere, judged against the pages that it cites.

    runs/check/NAME/  evidence/ (a bundle)  archived/ (another)  report.json  report.html

The same command again takes pages from the bundle and judgements from the judge's memory: it goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args
from urllib.parse import quote, unquote, urlsplit

from data.errors import UserError
from data.settings import Settings, add_setting_flags, load_settings
from data.types import Strict
from flows.write import slug

if TYPE_CHECKING:
    from eval.judges.judge import Judge
    from eval.statement_support import PageText
    from pipeline.checking.cited import CitedArticle, CitedStatement, Reference
    from pipeline.web.bundle import Bundle, EvidenceRecord, FetchRecord

WIKI = "https://en.wikipedia.org/wiki/"
MOST_PAGES = 400
"""Of one article."""
Verdict = Literal["supported", "doubtful", "unsupported", "older", "gone", "unread", "uncited"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
LABELS: dict[str, str] = {
    "supported": "Supported",
    "doubtful": "Doubtful",
    "unsupported": "Not found on the cited page",
    "older": "The page is older than what it is cited for",
    "gone": "The cited page is gone",
    "unread": "The cited page could not be read",
    "uncited": "No citation",
}
IN_WORDS: dict[str, str] = {
    "supported": "supported",
    "doubtful": "doubtful",
    "unsupported": "not found on the cited page",
    "older": "younger than the cited page",
    "gone": "on a page that is gone",
    "unread": "on a page that could not be read",
    "uncited": "without a citation",
}
"""What a number of statements is, in a summary."""
BAD: frozenset[Verdict] = frozenset({"unsupported", "older", "gone"})
ARCHIVED = "archived"
"""Beside the bundle `evidence`: the archived copies that were read in place of pages that are gone."""
GONE = frozenset({"dns", "soft_404"})
GONE_STATUS = (404, 410)
"""Of `http_4xx`; others refuse this program, or ask for a subscription, and the page may well be there."""
NOTHING_CHECKED = 3
"""The exit code: that no page could be read does not mean that nothing is wrong."""
OFFLINE = 3
"""From so many hosts on, of which none is found, it is this machine that has no network."""
READABLE = 30
"""Words of a page from which it says something."""
Tell = Callable[[int, int, str], None]
"""(so many, of so many, what)."""


@dataclass(frozen=True, slots=True)
class Request:
    """`article` is a file, an address, a title on a wiki, or text itself; `bundle` has its pages, then nothing is fetched."""

    article: str
    settings: Settings
    judge: str = "embedded"
    bundle: Path | None = None
    out: Path | None = None
    wiki: str = WIKI
    local: bool = True
    """Whether files beside the article are read where it cites them."""


@dataclass(frozen=True, slots=True)
class CitedPage(Strict):
    """`note` says why it could not be used, or how old it is; empty where there is nothing to say."""

    url: str
    title: str
    published: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Finding(Strict):
    """`passage` is the best place on the cited pages, `score` the judge's; a statement that `inherits` has its neighbour's
    citation. `remark` says what else an editor should look at, whatever the verdict; `unsettled` what the judge, who would
    accept the statement, cannot see (`pipeline.checking.unsettled`)."""

    text: str
    section: str
    verdict: Verdict
    score: float | None
    passage: str
    cited: tuple[CitedPage, ...]
    inherits: bool = False
    remark: str = ""
    unsettled: str = ""


@dataclass(frozen=True, slots=True)
class CheckReport(Strict):
    title: str
    form: str
    judge: str
    findings: tuple[Finding, ...]
    n_pages: int
    n_pages_read: int

    @property
    def counts(self) -> Counter[Verdict]:
        return Counter(finding.verdict for finding in self.findings)

    def in_words(self) -> str:
        told = ", ".join(f"{self.counts[v]} {IN_WORDS[v]}" for v in VERDICTS if self.counts[v])
        remarks = sum(bool(finding.remark) for finding in self.findings)
        more = f"; {remarks} with a sign of a chatbot" if remarks else ""
        return f"{len(self.findings)} statements: {told}; {self.n_pages_read} of {self.n_pages} cited pages read{more}"


def main(argv: Sequence[str]) -> int:
    arguments = _parser().parse_args(argv)
    from flows.showing.console import guarded

    def run() -> int:
        if arguments.labelled is not None:
            return _accuracy(arguments)
        request = request_from(arguments)
        report = check(request, console_tell())
        _show(report, request, as_json=arguments.json)
        return exit_code(report)

    return guarded(run)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="wikigenben check",
        description="Judge each statement of an article against the pages that it cites. Exit code: 0 nothing is wrong, 1 a "
        "statement is not on its page, or the page is gone or too old, 2 wrong input, 3 nothing was checked, for no cited page "
        "could be read, 130 interrupted.",
    )
    parser.add_argument(
        "article",
        nargs="?",
        default="",
        metavar="ARTICLE",
        help="a file (wikitext, HTML, Markdown, our article.json), a run folder, an address, or the title of a Wikipedia page",
    )
    parser.add_argument("--bundle", type=Path, metavar="DIR", help="recorded pages (`evidence` of a run); nothing is fetched")
    parser.add_argument("--no-files", action="store_true", help="do not read files beside the article that it cites as pages")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder of the report (default: runs/check/NAME)")
    parser.add_argument("--judge", default="embedded", metavar="NAME", help="as for evaluate (default: embedded)")
    parser.add_argument("--wiki", default=WIKI, metavar="URL", help=f"where titles are looked up (default: {WIKI})")
    parser.add_argument("--labelled", type=Path, metavar="FILE", help="statements labelled by people: how often is this right?")
    add_setting_flags(parser)
    parser.add_argument("--json", action="store_true", help="one JSON line on stdout instead of text")
    return parser


def request_for(words: Sequence[str]) -> Request:
    return request_from(_parser().parse_args(words))


def request_from(arguments: argparse.Namespace) -> Request:
    if not arguments.article.strip():
        raise UserError("name an article: wikigenben check FILE, or an address, or the title of a Wikipedia page")
    settings = load_settings(arguments.config, arguments.assignments)
    given = arguments
    return Request(given.article, settings, given.judge, given.bundle, given.out, given.wiki, local=not given.no_files)


def console_tell() -> Tell:
    from flows.showing import console

    last = ""

    def tell(n: int, of: int, what: str) -> None:
        nonlocal last
        if what != last or n == of:
            console.note(f"{what}: {n} of {of}")
        last = what

    return tell


def exit_code(report: CheckReport) -> int:
    if any(finding.verdict in BAD for finding in report.findings):
        return 1
    return 0 if report.n_pages_read else NOTHING_CHECKED


def check(request: Request, tell: Tell = lambda n, of, what: None) -> CheckReport:
    """Read, fetch, judge, and leave the report in its folder. Raises UserError for what the caller can fix."""
    from data import codec
    from flows.wiring.judges import build_judge
    from flows.wiring.page_sources import check_web
    from pipeline.formats.check_html import check_html

    check_web(request.settings.web)
    judge = build_judge(request.judge, device=request.settings.model.device)
    article, bundle = read_article(request)
    folder = report_folder(request, article)
    pages = _pages(article, request, folder, bundle, tell)
    report = _judged(article, pages, judge, tell)
    codec.write_atomic(folder / "report.json", codec.to_json(report, indent=1) + "\n")
    codec.write_atomic(folder / "report.html", check_html(report, LABELS))
    return report


def report_folder(request: Request, article: CitedArticle) -> Path:
    from data import codec

    runs = Path(os.environ.get("WIKIGEN_RUNS", "runs"))
    digest = codec.sha256(codec.to_json((article.statements, article.references)))[:8]
    return request.out or runs / "check" / f"{slug(article.title or 'article')[:60]}-{digest}"


# --- the article ---------------------------------------------------------------------------------------------------------


def read_article(request: Request) -> tuple[CitedArticle, Path | None]:
    """The article, and the bundle with its pages where there is one: that of a run folder is beside its article."""
    from pipeline.checking.reading import MOST_BYTES, parse

    name = request.article.strip()
    if "\n" in name or len(name) > 1000:
        return parse(request.article, local=request.local), request.bundle
    if re.match(r"https?://", name):
        return _fetched(name, request), request.bundle
    path = Path(name).expanduser()
    if path.is_dir():
        found = sorted(path.glob("events/*/article.json"))
        if not found:
            raise UserError(f"{path} holds no article; name a run folder of `wikigenben write`, or the file of an article")
        return parse(_as_corrected(found[0])), request.bundle
    if path.is_file():
        if path.stat().st_size > MOST_BYTES:
            raise UserError(f"{path} has more than {MOST_BYTES:,} bytes; give a shorter one")
        try:
            return parse(path.read_text(encoding="utf-8"), path.name, local=request.local), request.bundle
        except UnicodeDecodeError:
            raise UserError(f"{path} is not text in UTF-8; give wikitext, HTML or Markdown") from None
    if _is_path(name):
        raise UserError(f"there is no file {name}; name a file, an address, or the title of a Wikipedia page")
    return _fetched(title_address(name, request.wiki), request), request.bundle


def _is_path(name: str) -> bool:
    """Whether somebody meant a file: a title may have slashes ("AC/DC"), but neither begins nor ends as paths do."""
    first, slash, _ = name.partition("/")
    begins = name.startswith(("/", "./", "../", "~", ".\\", "..\\")) or re.match(r"[A-Za-z]:\\", name)
    return bool(begins or re.search(r"\.(?:md|html?|wiki|json|txt)\Z", name) or (slash and Path(first).is_dir()))


def title_address(title: str, wiki: str = WIKI) -> str:
    """Where a wiki has the page of that title. Raises UserError for what no title can be."""
    name = title.strip().replace(" ", "_")
    if re.search(r"[#<>\[\]|{}\x00-\x1f]", name) or {".", ".."} & set(name.split("/")):
        raise UserError(f"no page can have the title {title[:80]!r}; name a title, an address, or a file")
    return wiki + quote(name)


def _as_corrected(path: Path) -> str:
    """The article of a run, without what a person struck and with what they reworded."""
    from data import codec
    from data.types import Article
    from pipeline.editing.corrections import CORRECTIONS, Corrections, corrected

    made = path.with_name(f"{CORRECTIONS}.json")
    corrections = codec.read(Corrections, made) if made.is_file() else Corrections()
    return codec.to_json(corrected(codec.read(Article, path), corrections))


def _fetched(url: str, request: Request) -> CitedArticle:
    from pipeline.checking.reading import parse
    from pipeline.formats.html import DROP_REASONS
    from pipeline.reading.charset import decode, kind_of
    from pipeline.web.cache import PageCache, pages_as_completed
    from pipeline.web.fetching import Fetcher

    with Fetcher(request.settings.web) as fetcher:
        ((_, fetched),) = pages_as_completed(fetcher, PageCache(), [url], request.settings.web)
    if fetched.drop_reason is not None:
        why = f"{DROP_REASONS[fetched.drop_reason]} ({fetched.drop_detail})"
        raise UserError(f"cannot fetch {url}: {why}; check the address, or give the article as a file")
    path = urlsplit(url).path
    title = unquote(path.partition("/wiki/")[2] or path.rpartition("/")[2]).replace("_", " ")
    kind, why = kind_of(fetched.body, fetched.content_type)
    if kind is None or kind == "pdf":
        raise UserError(f"{url} is no article that can be read ({why or kind}); give its wikitext, HTML or Markdown")
    text = decode(fetched.body, fetched.content_type, kind).text
    return parse(text, "page.html" if kind == "html" else "", title)


# --- its pages -----------------------------------------------------------------------------------------------------------


def _pages(article: CitedArticle, request: Request, folder: Path, given: Path | None, tell: Tell) -> dict[str, EvidenceRecord]:
    """The cited pages by their address, kept or not, with the reason. In place of a page that is gone there is the archived
    copy that the article names, where that can be read."""
    from flows.local_pages import by_cited_name
    from pipeline.checking.cited import FILE
    from pipeline.web.bundle import Bundle

    cited = [article.references[i] for i in sorted({i for statement in article.statements for i in statement.references})]
    urls = list(dict.fromkeys(r.url for r in cited if r.url and not r.passage))
    if given is not None:
        found = _recorded(Bundle(given))
        found |= by_cited_name([url for url in urls if url.startswith(FILE)], found)
    elif len(urls) > MOST_PAGES:
        raise UserError(f"the article cites {len(urls):,} pages; at most {MOST_PAGES} are asked for; check a part of it")
    else:
        found = _gathered(urls, request, folder / "evidence", "reading the cited pages", tell) if urls else {}
    copies = {r.archive_url: r.url for r in cited if r.archive_url and r.url in found and _is_gone(found[r.url])}
    if not copies:
        return found
    if given is None:
        archived = _gathered(list(copies), request, folder / ARCHIVED, "reading archived copies", tell)
    else:
        beside = Bundle(given.with_name(ARCHIVED))
        archived = _recorded(beside) if beside.is_whole else {}
    read = {url: replace(one, archive_url=at) for at, url in copies.items() if (one := archived.get(at)) and _is_readable(one)}
    return found | read


def _is_readable(record: EvidenceRecord) -> bool:
    """Also of a page too short or too odd to write from."""
    return len(record.text.split()) >= READABLE and not _is_gone(record)


def _is_gone(record: EvidenceRecord) -> bool:
    return record.drop_reason in GONE or (record.drop_reason == "http_4xx" and record.http_status in GONE_STATUS)


def _recorded(bundle: Bundle) -> dict[str, EvidenceRecord]:
    return {address: one for one in bundle.records() for address in (one.final_url, one.url)}


def _gathered(urls: Sequence[str], request: Request, bundle: Path, what: str, tell: Tell) -> dict[str, EvidenceRecord]:
    from flows.local_pages import files_beside
    from flows.wiring.page_sources import build_live
    from pipeline.checking.cited import FILE
    from pipeline.provenance import host_of

    files = files_beside(request.article, [url for url in urls if url.startswith(FILE)])
    urls = [url for url in urls if not url.startswith(FILE)]
    web = replace(request.settings.web, search="", max_pages=max(len(urls), 1), leak_hosts=False)
    read = 0

    def fetched(_: FetchRecord) -> None:
        nonlocal read
        read += 1
        tell(read, len(urls), what)

    tell(0, len(urls), what)
    settings = replace(request.settings, web=web)
    gathered = build_live(settings, urls=urls, files=files, bundle=bundle, keep_bodies=False, fetched=fetched).gather("")
    hosts = {host_of(one.url) for one in gathered.records if one.drop_reason == "dns"}
    if len(hosts) >= OFFLINE and all(one.drop_reason == "dns" for one in gathered.records):
        raise UserError(f"none of the {len(hosts)} hosts was found; connect this machine to the internet and check again")
    return {one.url: one for one in gathered.records}


# --- judging -------------------------------------------------------------------------------------------------------------


def _judged(article: CitedArticle, pages: dict[str, EvidenceRecord], judge: Judge, tell: Tell) -> CheckReport:
    from eval.statement_support import PageText
    from pipeline.checking.page_days import with_page_days

    texts: dict[int, PageText] = {}
    for i, reference in enumerate(article.references):
        record = pages.get(reference.url)
        if reference.passage:
            texts[i] = PageText(reference.title, with_page_days(reference.passage, reference.published))
        elif record is not None and _is_readable(record):
            texts[i] = PageText(record.title, with_page_days(record.text, _published(reference, record)))
    findings = []
    for n, statement in enumerate(article.statements, 1):
        findings.append(_finding(statement, article.references, pages, texts, judge))
        tell(n, len(article.statements), "judging statements")
    cited = {i for statement in article.statements for i in statement.references}
    return CheckReport(article.title, article.form, judge.name, tuple(findings), len(cited), len(cited & texts.keys()))


def _finding(
    statement: CitedStatement,
    references: Sequence[Reference],
    pages: dict[str, EvidenceRecord],
    texts: Mapping[int, PageText],
    judge: Judge,
) -> Finding:
    from eval.statement_support import judge_statement
    from pipeline.checking.ageing import tells_of_later_day
    from pipeline.checking.unsettled import unsettled

    left_open = ""
    cited = tuple(_cited_page(references[i], pages.get(references[i].url)) for i in statement.references)
    readable = [i for i in statement.references if i in texts]
    found = judge_statement(judge, statement.text, [texts[i] for i in readable])
    verdict: Verdict
    if not statement.references:
        verdict = "uncited"
    elif not readable:
        records = [one for i in statement.references if (one := pages.get(references[i].url)) is not None]
        verdict = "gone" if records and all(map(_is_gone, records)) else "unread"
    elif found.support == "unjudged":
        verdict = "unread"
    elif found.support == "supported":
        known = [
            f"{texts[i].title} {_published(references[i], pages.get(references[i].url))} {texts[i].text}" for i in readable
        ]
        left_open = unsettled(statement.text, found.passage, "\n".join(known))
        verdict = "doubtful" if left_open else "supported"
    elif len(readable) < len(statement.references):
        verdict = "doubtful"  # what could not be read may hold it
    elif tells_of_later_day(statement.text, [_published(references[i], pages.get(references[i].url)) for i in readable]):
        verdict = "older"
    elif statement.inherits:
        verdict = "uncited" if found.support == "unsupported" else "doubtful"
    else:
        verdict = "doubtful" if found.support == "doubtful" else "unsupported"
    remark = _remark(statement, references)
    text, section, passage = statement.text, statement.section, found.passage
    return Finding(text, section, verdict, found.score, passage, cited, statement.inherits, remark, left_open)


def _remark(statement: CitedStatement, references: Sequence[Reference]) -> str:
    from pipeline.checking.phrases import chatbot_phrase, is_from_chatbot

    if phrase := chatbot_phrase(statement.text):
        return f"a phrase of chatbots: “{phrase}”"
    if not statement.inherits and any(is_from_chatbot(references[i].url) for i in statement.references):
        return "a chatbot's mark is in the address of its source"
    return ""


def _cited_page(reference: Reference, record: EvidenceRecord | None) -> CitedPage:
    from pipeline.formats.html import DROP_REASONS

    note = ""
    if not reference.url and not reference.passage:
        note = "no address"
    elif record is not None and record.drop_reason and len(record.text.split()) < READABLE:
        note = DROP_REASONS[record.drop_reason]
    elif record is None and not reference.passage:
        note = "not among the pages"
    elif record is not None and record.archive_url:
        note = "the page is gone; an archived copy was read"
    title = (record.title if record is not None else "") or reference.title
    return CitedPage(reference.url, title, _published(reference, record), note)


def _published(reference: Reference, record: EvidenceRecord | None) -> str:
    return (record.published.day if record is not None else "") or reference.published[:10]


# --- the report on screen ------------------------------------------------------------------------------------------------


def _show(report: CheckReport, request: Request, *, as_json: bool) -> None:
    from data import codec
    from flows.showing import console

    if as_json:
        console.result_json({**codec.to_plain(report), "counts": dict(report.counts)})
        return
    for finding in report.findings:
        if finding.verdict not in ("supported", "uncited"):
            where = "; ".join(page.url or page.title or "no address" for page in finding.cited)
            why = f" ({finding.unsettled})" if finding.unsettled else ""
            console.result(f"{LABELS[finding.verdict]}{why}: {finding.text}\n    {where}")
        if finding.remark:
            console.result(f"To look at ({finding.remark}): {finding.text}")
    console.result(report.in_words())
    if exit_code(report) == NOTHING_CHECKED:
        console.note("nothing was checked: " + ("no cited page could be read" if report.n_pages else "it cites no page"))
    article, _ = read_article(request) if request.out is None else (None, None)
    folder = request.out or (report_folder(request, article) if article is not None else Path())
    console.result(f"the report: {(folder / 'report.html').resolve()}")


def _accuracy(arguments: argparse.Namespace) -> int:
    """On statements labelled by people: a false alarm is a supported one that is not accepted, a miss the other way round."""
    from collections import defaultdict

    from eval.cards.judge_accuracy import SUPPORTED, read_rows
    from eval.statement_support import PageText, judge_statement
    from flows.showing import console
    from flows.wiring.judges import build_judge

    judge = build_judge(arguments.judge)
    texts: dict[str, list[str]] = defaultdict(list)
    claims: dict[str, tuple[str, bool]] = {}
    for row in read_rows(arguments.labelled):
        texts[row.claim_id] += row.pair.premises
        claims[row.claim_id] = (row.pair.claim, row.label == SUPPORTED)
    counts: Counter[tuple[bool, str]] = Counter()
    for claim_id, (claim, is_supported) in claims.items():
        found = judge_statement(judge, claim, [PageText("", "\n".join(texts[claim_id]))])
        counts[is_supported, found.support] += 1
    good, bad = sum(n for (yes, _), n in counts.items() if yes), sum(n for (yes, _), n in counts.items() if not yes)
    right = counts[True, "supported"] + bad - counts[False, "supported"]
    told = {
        "claims": len(claims),
        "accuracy": round(right / len(claims), 3),
        "false_alarms": round(1 - counts[True, "supported"] / good, 3),
        "misses": round(counts[False, "supported"] / bad, 3),
        "refused_of_supported": round(counts[True, "unsupported"] / good, 3),
        "refused_of_others": round(counts[False, "unsupported"] / bad, 3),
    }
    if arguments.json:
        console.result_json(told)
    else:
        console.result(
            f"{told['claims']} statements labelled by people: accuracy {told['accuracy']:.3f}; false alarms "
            f"{told['false_alarms']:.1%} of the supported (refused outright {told['refused_of_supported']:.1%}); misses "
            f"{told['misses']:.1%} of the others (refused outright {told['refused_of_others']:.1%})"
        )
    return 0
