"""`wikigenben check`: each statement of an article that was made anywhere, judged against the pages that it cites.

    runs/check/NAME/  evidence/ (a bundle)  archived/ (another)  report.html  report.json  report.csv
                      to_look_at.wiki (a list to paste)  marked.wiki (of wikitext: the article with templates at their places)

The same command again takes pages from the bundle and judgements from the judge's memory: it goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit

from data.errors import UserError
from data.settings import Settings, add_render_flag, add_setting_flags, load_settings
from flows.judging import Tell, is_gone, is_readable, judged
from flows.write import slug
from pipeline.checking.report import BAD, JUDGED, LABELS, CheckReport, with_changes

if TYPE_CHECKING:
    from pipeline.checking.cited import CitedArticle
    from pipeline.web.bundle import Bundle, EvidenceRecord, FetchRecord

WIKI = "https://en.wikipedia.org/wiki/"
MOST_PAGES = 400
"""Of one article, in its order. What is beyond them is told as not asked for."""
REPORT = "report.json"
ARCHIVED = "archived"
"""Beside the bundle `evidence`: the archived copies that were read in place of pages that are gone."""
NOTHING_CHECKED = 3
"""The exit code: that no page could be read does not mean that nothing is wrong."""
OFFLINE = 3
"""From so many hosts on, of which none is found, it is this machine that has no network."""


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
    add_render_flag(parser)
    add_setting_flags(parser)
    parser.add_argument("--json", action="store_true", help="one JSON line on stdout instead of text")
    return parser


def request_for(words: Sequence[str]) -> Request:
    return request_from(_parser().parse_args(words))


def request_from(arguments: argparse.Namespace) -> Request:
    if not arguments.article.strip():
        raise UserError("name an article: wikigenben check FILE, or an address, or the title of a Wikipedia page")
    settings = load_settings(arguments.config, arguments.assignments, web={"render": arguments.render})
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
    is_foreign = bool(report.counts["foreign"]) and not any(finding.verdict in JUDGED for finding in report.findings)
    return 0 if report.n_pages_read and not is_foreign else NOTHING_CHECKED


def check(request: Request, tell: Tell = lambda n, of, what: None) -> CheckReport:
    """Read, fetch, judge, and leave the report in its folder. Raises UserError for what the caller can fix."""
    from data import codec
    from flows.wiring.judges import build_judge
    from flows.wiring.page_sources import check_web
    from pipeline.formats.check_csv import check_csv
    from pipeline.formats.check_html import check_html
    from pipeline.formats.check_wikitext import listed, marked

    check_web(request.settings.web)
    article, bundle = read_article(request)  # before the judge, which takes seconds to load
    judge = build_judge(request.judge, device=request.settings.model.device)
    folder = report_folder(request, article)
    earlier = _earlier(folder, article.title)
    pages = _pages(article, request, folder, bundle, tell)
    missing = "not among the pages" if bundle is not None else f"not asked for: more than {MOST_PAGES} pages are cited"
    report = with_changes(judged(article, pages, judge, tell, missing), earlier)
    to_paste = listed(article.source, report)
    codec.write_atomic(folder / "report.html", check_html(report, to_paste))
    codec.write_atomic(folder / "report.csv", check_csv(report))
    codec.write_atomic(folder / "to_look_at.wiki", to_paste)
    if article.source:
        codec.write_atomic(folder / "marked.wiki", marked(article.source, report))
    codec.write_atomic(folder / "report.json", codec.to_json(report, indent=1) + "\n")
    return report


def _earlier(folder: Path, title: str) -> CheckReport | None:
    """The last report on the same article: of this text in its own folder, of another version in one beside it."""
    from data import codec

    beside = folder.parent.glob(f"{slug(title or 'article')[:60]}-*/{REPORT}") if folder.parent.is_dir() else ()
    for path in sorted({folder / REPORT, *beside}, key=_age, reverse=True):
        try:
            report = codec.read(CheckReport, path)
        except (UserError, OSError):
            continue
        if report.title == title:
            return report
    return None


def _age(path: Path) -> float:
    return path.stat().st_mtime if path.is_file() else 0.0


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
    if scheme := re.match(r"[A-Za-z][\w+.-]*://", name):
        raise UserError(f"pages are fetched from http:// and https:// addresses, not {scheme[0]}; check the address")
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
    from pipeline.drop_words import DROP_REASONS
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
    else:
        urls = urls[:MOST_PAGES]
        found = _gathered(urls, request, folder / "evidence", "reading the cited pages", tell) if urls else {}
    copies = {r.archive_url: r.url for r in cited if r.archive_url and r.url in found and is_gone(found[r.url])}
    if not copies:
        return found
    if given is None:
        archived = _gathered(list(copies), request, folder / ARCHIVED, "reading archived copies", tell)
    else:
        beside = Bundle(given.with_name(ARCHIVED))
        archived = _recorded(beside) if beside.is_whole else {}
    read = {url: replace(one, archive_url=at) for at, url in copies.items() if (one := archived.get(at)) and is_readable(one)}
    return found | read


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


# --- the report on screen ------------------------------------------------------------------------------------------------


def _show(report: CheckReport, request: Request, *, as_json: bool) -> None:
    from data import codec
    from flows.showing import console

    if as_json:
        console.result_json({**codec.to_plain(report), "counts": dict(report.counts)})
        return
    for finding in report.findings:
        if finding.verdict not in ("supported", "uncited", "foreign"):
            where = "; ".join(page.url or page.title or "no address" for page in finding.cited)
            why = f" ({finding.unsettled})" if finding.unsettled else ""
            console.result(f"{LABELS[finding.verdict]}{why}: {finding.text}\n    {where}")
        if finding.remark:
            console.result(f"To look at ({finding.remark}): {finding.text}")
    console.result(report.in_words())
    if exit_code(report) == NOTHING_CHECKED:
        console.note(f"nothing was checked: {_why_nothing(report, request)}")
    if report.since:
        console.result(f"since {report.since}: " + (f"{len(report.changes)} changed" if report.changes else "nothing changed"))
        for change in report.changes:
            console.result(
                f"    {LABELS.get(change.before, 'new')} -> {LABELS.get(change.after, 'no longer there')}: {change.text}"
            )
    article, _ = read_article(request) if request.out is None else (None, None)
    folder = request.out or (report_folder(request, article) if article is not None else Path())
    console.result(f"the report: {(folder / 'report.html').resolve()}")


def _why_nothing(report: CheckReport, request: Request) -> str:
    """With what to do about it."""
    from pipeline.checking.cited import FILE

    if report.counts["foreign"]:
        return "the article, or what it cites, is in another language; give it in English, with pages in English"
    if not report.n_pages:
        beside = "" if request.local else ", and leave --no-files out where these are files"
        return f"it cites no page; cite pages by links, footnotes or <ref>{beside}"
    if request.bundle is not None:
        return f"no cited page could be read; {request.bundle} has none of them: name another, or fetch them without --bundle"
    if any(page.url.startswith(FILE) for finding in report.findings for page in finding.cited):
        return "no cited page could be read; put the cited files into the article's folder, or below it"
    told = "" if request.settings.web.render == "always" else "draw pages of scripts with --render, or "
    return f"no cited page could be read; {told}give recorded ones with --bundle DIR"


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
