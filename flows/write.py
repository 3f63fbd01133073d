"""`wikigenben write`: an article about a title from live pages, given files or a recorded bundle. No benchmark, no score.

    runs/write/SLUG/  evidence/ (a bundle: see pipeline.web.bundle)  events/SLUG/{article,disagreements}.json
                      articles/SLUG.{html,md,wiki}

Evidence comes first: without a usable page no model is loaded. The same command again finds the finished run, or goes on with
it. Asked otherwise (other pages, words, settings) for the same title it makes a new run, SLUG-2, and takes over unchanged
parts: pages from the cache, answers of the model (`decoding.remembered`), corrections made by hand.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from data.errors import UserError
from data.settings import Settings
from flows.write_request import Request, _storable, check_request, parser, request_from

if TYPE_CHECKING:
    from rich.table import Table

    from benchmark.system import System
    from data.runs import EventFolder, RunFolder
    from data.stage_types import Stages
    from data.types import Article, Event, Page
    from flows.run_events import Generated
    from flows.showing.watching import Watch
    from pipeline.editing.corrections import Corrections
    from pipeline.evidence import EvidenceSource
    from pipeline.following.disagreements import Disagreement
    from pipeline.web.bundle import Bundle, EvidenceRecord, FetchRecord

ANSWERS = "answers.sqlite"
"""In the cache folder: what models answered."""
MOST_RUNS = 1000
"""Of one title."""
MOST_NAME_BYTES = 100
"""Of a folder's name: file systems allow 255, and temporary files beside it have longer names."""


def main(argv: Sequence[str]) -> int:
    arguments = parser().parse_args(argv)
    from flows.showing.console import guarded

    def run() -> int:
        written = write(request_from(arguments))
        report(written, as_json=arguments.json)
        return written.generated.exit_code

    return guarded(run)


@dataclass(frozen=True, slots=True)
class Written:
    """`article` is None when it failed; `records` are all pages, kept and dropped; `disagreements` are those of the kept pages
    on figures of the article."""

    run: RunFolder
    name: str
    generated: Generated
    records: tuple[EvidenceRecord, ...]
    article: Article | None
    disagreements: tuple[Disagreement, ...] = ()


@dataclass(frozen=True, slots=True)
class Watchers:
    """Who follows one article: `watch` its stages, `fetched` each page when it came. `build` makes the system, or has it."""

    watch: Watch
    fetched: Callable[[FetchRecord], None]
    build: Callable[[str, Settings, Path], System]


def write(request: Request, watchers: Watchers | None = None) -> Written:
    """Collect, write, and leave everything in the run folder. Raises UserError for anything the caller can fix."""
    from pipeline.web.bundle import Bundle

    if request.bundle is not None:
        request = replace(request, title=request.title or Bundle(request.bundle).manifest().title)
    check_request(request)
    name = slug(request.title or _first_address(request))
    first = 1
    while True:
        run, first = _open_run(request, name, first)
        try:
            return _written(request, run, name, watchers)
        except _BegunOtherwise:
            if request.out is not None:
                raise
            first += 1  # the model of that name is another one now


def open_run(request: Request) -> tuple[RunFolder, str]:
    """The run that `write` would go on with or make, and the name of its article, for a request with a title or pages."""
    check_request(request)
    name = slug(request.title or _first_address(request))
    return _open_run(request, name, 1)[0], name


def _open_run(request: Request, name: str, first: int) -> tuple[RunFolder, int]:
    """The run that was asked for just so, else a new one; `first` is the least number. A run that failed, or whose folder is
    damaged, locks nothing: the next number is free."""
    from data import codec
    from data.runs import RunFolder
    from pipeline.editing.corrections import CORRECTIONS, carried

    identity = _identity(request)
    if request.out is not None:
        return RunFolder.open(request.out, identity), 1
    base = _default_path(request, name)
    earlier: list[Corrections] = []
    for n in range(1, MOST_RUNS):
        path = base if n == 1 else base.with_name(f"{base.name}-{n}")
        is_new = True
        try:
            is_new = not path.exists()
            stored = None if is_new else RunFolder(path).identity()
            if (stored is None or stored == identity) and n >= first:
                run = RunFolder.open(path, identity)
                if stored is None and (made := carried(earlier)).made:
                    codec.write_atomic(run.event(name).path / f"{CORRECTIONS}.json", codec.to_json(made, indent=1) + "\n")
                return run, n
            if (stored or {}).get("title") == request.title:
                earlier.append(run_corrections(RunFolder(path), name))
        except (UserError, OSError) as error:
            if not is_new:
                continue
            if isinstance(error, UserError):  # where none can be made, the next number is no better
                raise
            raise UserError(f"cannot write {path}: {error.strerror}; choose another folder with --out") from None
    raise UserError(f"there are {MOST_RUNS:,} runs like {base}; delete some, or choose another folder with --out")


def run_corrections(run: RunFolder, name: str) -> Corrections:
    """Corrections made by hand to the run's article."""
    from data import codec
    from pipeline.editing.corrections import CORRECTIONS, Corrections

    path = run.event(name).path / f"{CORRECTIONS}.json"
    return codec.read(Corrections, path) if path.exists() else Corrections()


def _written(request: Request, run: RunFolder, name: str, watchers: Watchers | None) -> Written:
    import time
    from contextlib import nullcontext

    from benchmark.runner import run_event
    from data.types import Event
    from flows.run_events import Generated
    from flows.showing import panel, preview
    from pipeline.web.bundle import Bundle

    with run.locked():
        began = time.perf_counter()
        folder, evidence = run.event(name), Bundle(run.path / "evidence")
        system = _LateSystem(request, evidence, watchers)
        if folder.article() is not None:
            system.check(folder)
        source = _source(request, evidence.folder, watchers)

        def collect(event: Event) -> tuple[Page, ...]:
            pages = source.collect(event)
            return pages

        with nullcontext(watchers.watch) if watchers else panel.watching(1) as watch:
            outcome = run_event(run, system, name, lambda event_id: Event(event_id, request.title), collect, observer=watch)
            watch.ended(outcome)
        run.write_failures()
        article, told = _with_disagreements(folder)
        preview.write_previews(run, request.system)
        generated = Generated(run.path, (outcome,), time.perf_counter() - began)
        return Written(run, name, generated, evidence.records() if evidence.is_whole else (), article, told)


def _with_disagreements(folder: EventFolder) -> tuple[Article | None, tuple[Disagreement, ...]]:
    """The article, and the disagreements of its pages; nothing when it failed."""
    from pipeline.following.disagreements import disagreements
    from pipeline.stages import DISAGREEMENTS

    article, pages = folder.article(), folder.stored_pages()
    if article is None or pages is None:
        return article, ()
    return article, folder.once(DISAGREEMENTS, lambda: disagreements(article, pages)).found


def _source(request: Request, evidence: Path, watchers: Watchers | None) -> EvidenceSource:
    from flows.wiring.page_sources import build_live
    from pipeline.web.replaying import BundleEvidence

    if request.bundle is not None:
        return BundleEvidence(request.bundle, copy=evidence)
    return build_live(
        request.settings,
        urls=request.urls,
        files=request.files,
        bundle=evidence,
        keep_bodies=request.keep_bodies,
        fetched=watchers.fetched if watchers else None,
    )


class _BegunOtherwise(UserError):
    """The stored article was begun with another system."""


class _LateSystem:
    """A system that is built when it gets its pages: without evidence no model is loaded."""

    def __init__(self, request: Request, evidence: Bundle, watchers: Watchers | None) -> None:
        self._request = request
        self._evidence = evidence
        self._watchers = watchers
        self.name = request.system

    @cached_property
    def _system(self) -> System:
        from data.download import cache_folder
        from flows.wiring.systems import build_system

        build = self._watchers.build if self._watchers is not None else build_system
        return build(self._request.system, self._request.settings, cache_folder() / ANSWERS)

    @property
    def identity(self) -> Mapping[str, str]:
        return self._system.identity

    def check(self, stages: Stages) -> None:
        """Raises UserError when the stored article was begun with another system."""
        from data.stage_types import SYSTEM

        here = {"system": self.name, **self.identity}
        there = stages.once(SYSTEM, lambda: here)
        if changed := sorted(key for key in here.keys() | there.keys() if here.get(key) != there.get(key)):
            if "system" in changed:
                changed = ["system"]
            differing = "; ".join(f"{key}: {there.get(key)!r} there, {here.get(key)!r} now" for key in changed)
            raise _BegunOtherwise(f"the article was begun otherwise ({differing}); choose another --out or repeat its settings")

    def write(self, event: Event, pages: tuple[Page, ...], stages: Stages) -> Article:
        from flows.showing import console

        self.check(stages)
        if not event.title:
            title, url = best_title(self._evidence.records())
            console.note(f"no title was given; taken from {url}: {title}")
            event = replace(event, title=title)
        elif strangers := none_mentions(event.title, pages):
            console.note(strangers)
        console.note(f"writing {event.title!r} with {self.name}")
        return self._system.write(event, pages, stages)


def none_mentions(title: str, pages: Sequence[Page]) -> str:
    """What to say when no page that can be used has half of the title's words; "" when one has."""
    from pipeline.retrieval import terms

    usable, words = [page for page in pages if page.usable], set(terms(title))
    if not words or any(2 * len(words & {*terms(page.title), *terms(page.text)}) >= len(words) for page in usable):
        return ""
    return f"none of the {len(usable)} usable pages mentions {title!r}, nor half of its words: are they about it?"


def best_title(records: Sequence[EvidenceRecord]) -> tuple[str, str]:
    """The title of the first page that can be used and has one, without its site's name, and the page's address."""
    usable = [record for record in records if record.drop_reason is None]
    for record in usable:
        title = record.title
        if record.site:
            title = re.sub(rf"\s+[|–—·:-]\s+{re.escape(record.site)}\s*$", "", title, flags=re.IGNORECASE)
        if title:
            return title, record.final_url
    raise UserError("no page has a title of its own; give one: wikigenben write TITLE ...")


# --- what it is called ---------------------------------------------------------------------------------------------------


def slug(text: str) -> str:
    """`text` as the name of a folder: words of any script, joined by hyphens. A name that was cut gets a digest."""
    from data import codec

    name = "-".join(re.findall(r"\w+", unicodedata.normalize("NFKC", text).lower()))
    short = name.encode()[:MOST_NAME_BYTES].decode("utf-8", "ignore")
    return name if name and short == name else "-".join(part for part in (short, codec.sha256(text)[:8]) if part)


def _first_address(request: Request) -> str:
    for url in request.urls:
        try:
            parts = urlsplit(_storable(url))
        except ValueError:
            continue
        return f"{parts.netloc}{parts.path}"
    return request.files[0].name if request.files else str(request.bundle or request.urls[0])


def _default_path(request: Request, name: str) -> Path:
    replayed = "-replayed" if request.bundle is not None else ""
    return Path(os.environ.get("WIKIGEN_RUNS", "runs")) / "write" / f"{name}{replayed}"


def _identity(request: Request) -> dict[str, str]:
    """What the evidence depends on, for `RunFolder.open`. What the text depends on besides is checked with the system."""
    from data import codec
    from data.pages.cleaning import CLEANING_VERSION
    from flows.wiring.page_sources import web_identity
    from pipeline.web.bundle import Bundle

    settings = request.settings
    told = {
        "package": metadata.version("wikigenben"),
        "command": "write",
        "title": request.title,
        "cleaning": CLEANING_VERSION,
        "system": request.system,
        "model": settings.model.name,
        "settings": codec.sha256(codec.to_json((settings.model, settings.retrieval, settings.writing)))[:12],
    }
    if request.bundle is not None:
        return told | {"bundle": codec.sha256_bytes(Bundle(request.bundle).evidence_bytes())}
    return told | {
        "languages": ",".join(settings.evidence.languages),
        "urls": " ".join(map(_storable, request.urls)),
        "files": " ".join(f"{file.name}:{codec.sha256_bytes(file.body)[:12]}" for file in request.files),
        "bodies": "kept" if request.keep_bodies else "hashes",
        **web_identity(settings.web),
    }


# --- the report on screen ------------------------------------------------------------------------------------------------


def report(written: Written, *, as_json: bool) -> None:
    """Pages with their verdicts, then where the article is, on stdout; why there is none on stderr."""
    from flows.showing import console

    (outcome,) = written.generated.outcomes
    if outcome.failure is not None:
        console.note(f"failed: {outcome.failure.stage}: {outcome.failure.message}")
    if as_json:
        console.result_json(_summary(written))
        return
    if written.records:
        console.show(_table(written))
        console.result(_counted(written.records))
    if written.article is not None:
        for line in _article_lines(written):
            console.result(line)
    if any(record.drop_reason is None for record in written.records):
        console.result(f"evidence: {written.run.path / 'evidence'} (replay it with: wikigenben write --bundle DIR)")
    elif written.article is None:
        console.result("name other pages with --url or --file, or have some found with --search")


def _summary(written: Written) -> dict[str, object]:
    from pipeline.web.bundle import count_reasons

    article, (outcome,) = written.article, written.generated.outcomes
    reasons = count_reasons(written.records)
    return {
        "run": str(written.run.path),
        "status": outcome.status,
        "title": article.title if article is not None else "",
        "kept": reasons.pop("kept", 0),
        "dropped": reasons,
        "citations": _n_citations(article) if article is not None else 0,
        "disagreements": len(written.disagreements),
        "html": str(_article_path(written)) if article is not None else "",
        "seconds": round(written.generated.seconds, 2),
    }


def _table(written: Written) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from flows.showing import console
    from pipeline.drop_words import DROP_REASONS

    def cell(text: str) -> Text:  # no markup: titles come from pages
        return Text(console.harmless(text).replace("\n", " "))

    cited = _cites_by_page(written.article) if written.article is not None else Counter()
    table = Table(title="pages", box=box.SIMPLE, title_justify="left", title_style="bold")
    table.add_column("page", ratio=1, overflow="fold")  # an address that is cut names no page
    for name in ("words", "cited"):
        table.add_column(name, justify="right")
    table.add_column("", ratio=1, overflow="fold")
    for i, record in enumerate(written.records):
        kept = record.drop_reason is None
        left = f"; {record.rows_left:,} rows of its tables were not read" if record.rows_left else ""
        about = (
            f"kept{left}" if record.drop_reason is None else f"{DROP_REASONS[record.drop_reason]}: {record.drop_detail}"[:200]
        )
        table.add_row(
            cell(f"{record.title[:80]} ({record.final_url[:200]})" if record.title else record.final_url[:200]),
            str(len(record.text.split())) if kept else "",
            str(cited[i]) if kept and written.article is not None else "",
            cell(about),
        )
    return table


def _counted(records: Sequence[EvidenceRecord]) -> str:
    from pipeline.drop_words import dropped_in_words

    kept = sum(record.drop_reason is None for record in records)
    dropped = dropped_in_words(Counter(record.drop_reason for record in records if record.drop_reason))
    return f"{kept} of {len(records)} pages kept" + (f"; not used: {dropped}" if dropped else "")


def _article_lines(written: Written) -> list[str]:
    from data.stage_types import ARTICLE

    article, (outcome,) = written.article, written.generated.outcomes
    assert article is not None
    n_words = sum(len(s.text.split()) for section in article.all_sections for s in section.sentences)
    path, n = _article_path(written), len(article.sections)
    how = "found again" if outcome.status == "reused" else f"written in {written.generated.seconds:.1f} s"
    told = written.disagreements
    figures = f"sources disagree on {len(told)} figure{'' if len(told) == 1 else 's'}: " if told else ""
    return [
        f"{article.title}: {n_words} words, {n} section{'' if n == 1 else 's'}, {_n_citations(article)} citations of "
        f"{len(_cites_by_page(article))} pages, {how}",
        *([article.notice] if article.notice else []),
        *([figures + "; ".join(found.in_words() for found in told)] if told else []),
        f"read it: {path.resolve()} (beside it .md and .wiki)",
        f"for editors: {path.with_suffix('.dossier.html')} (sources, what one page alone says, what is missing, copying)",
        f"as JSON: {written.run.event(written.name).file(ARTICLE)}",
    ]


def _article_path(written: Written) -> Path:
    return written.run.path / "articles" / f"{written.name}.html"


def _cites_by_page(article: Article) -> Counter[int]:
    """How often each page is cited."""
    pages = {source.id: source.passage.page for source in article.sources}
    cites = [c for section in article.all_sections for s in section.sentences for c in s.cites]
    cites += [c for fact in article.infobox for c in fact.cites]
    return Counter(pages[cite] for cite in cites if cite in pages)


def _n_citations(article: Article) -> int:
    return sum(_cites_by_page(article).values())
