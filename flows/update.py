"""`wikigenben update RUN`: an article of last week meets the web of this week.

    RUN-YYYY-MM-DD/  changes.md  changes.json  and what RUN has: evidence/  events/SLUG/  articles/SLUG.{html,md,wiki}

Every page of RUN's bundle is asked for again, conditionally; each is compared with what the article rests on. Sections
that nothing happened to keep their bytes. RUN itself stays as it is.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from data.errors import UserError
from data.settings import Settings, WebSettings, add_setting_flags, load_settings
from data.types import Article, DropReason, Event, Page
from flows.update_lines import _inline, lines

if TYPE_CHECKING:
    from data.runs import EventFolder, RunFolder
    from pipeline.following.changes import Revisit
    from pipeline.following.news import Planner
    from pipeline.following.updating import JoinedPages, PageFate, Updated, UpdateReport
    from pipeline.notes import Card
    from pipeline.web.bundle import Bundle, FetchRecord, Gathered, Manifest
    from pipeline.web.cache import PageCache
    from pipeline.web.local_files import LocalFile

RULES = "update/3"
ASKED_AGAIN: frozenset[DropReason] = frozenset({"timeout", "rate_limited", "http_5xx", "unreachable", "dns", "budget"})
"""What kept a page from being read and may have passed."""
MOST_A_DAY = 99
"""Updates of one run on one day."""
ROOM_FOR_NEW = 20
"""Pages that a search may bring besides those asked for again, where the run's own limit leaves less."""


@dataclass(frozen=True, slots=True)
class Request:
    """`search` names providers, "" for none; `as_of` a day (YYYY-MM-DD), "" for today; `files` are newer versions of pages on
    disk, and new ones; `assignments` are settings. With `news`, facts that no page said before are added."""

    run: Path
    search: str = ""
    as_of: str = ""
    files: tuple[Path, ...] = ()
    out: Path | None = None
    dry_run: bool = False
    news: bool = True
    assignments: tuple[str, ...] = ()


def main(argv: Sequence[str]) -> int:
    arguments = _parser().parse_args(argv)
    from flows.showing.console import guarded

    def run() -> int:
        from data import codec
        from flows.showing import console

        found, where = update(request_from(arguments))
        if arguments.json:
            console.result_json({"run": where, **codec.to_plain(found)})
        else:
            console.result("\n".join(lines(found, shown=str)))
            console.result(f"updated run: {where} (changes.md, articles/)" if where else "dry run: nothing was written")
        return 0

    return guarded(run)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="wikigenben update",
        description="Ask for an article's pages again, say what changed, and write anew only what it concerns. Exit code: 0 "
        "done, 1 failed, 2 wrong input, 3 no page can be used any more, 130 interrupted.",
    )
    parser.add_argument("run", type=Path, metavar="RUN", help="run folder of `wikigenben write`, or of an update")
    parser.add_argument(
        "--as-of", default="", metavar="DATE", help="use nothing that was published after this day (YYYY-MM-DD)"
    )
    parser.add_argument(
        "--file",
        action="append",
        default=[],
        type=Path,
        metavar="PATH",
        help="a page on disk: one of RUN's as it is now, or a new one; repeatable (files that are not named stay as they were)",
    )
    parser.add_argument("--search", default="", metavar="NAME[,NAME]", help="look for new pages as well (default: only RUN's)")
    parser.add_argument("--dry-run", action="store_true", help="say what changed and write nothing")
    parser.add_argument("--no-news", action="store_true", help="mend what the article says, and add nothing")
    parser.add_argument("--out", type=Path, metavar="DIR", help="new run folder (default: RUN-YYYY-MM-DD, then -2 and so on)")
    add_setting_flags(parser, file=False)
    parser.add_argument("--json", action="store_true", help="one JSON line on stdout instead of text")
    return parser


def request_for(words: Sequence[str]) -> Request:
    """That of a command line, without its `wikigenben update`."""
    return request_from(_parser().parse_args(words))


def request_from(arguments: argparse.Namespace) -> Request:
    return Request(
        run=arguments.run,
        search=arguments.search,
        as_of=arguments.as_of,
        files=tuple(arguments.file),
        out=arguments.out,
        dry_run=arguments.dry_run,
        news=not arguments.no_news,
        assignments=tuple(arguments.assignments),
    )


def update(request: Request, fetched: Callable[[FetchRecord], None] | None = None) -> tuple[UpdateReport, str]:
    """The report, and where the new run lies ("" for a dry run); `fetched` is called with each page when it came. Raises
    UserError for what the caller can fix, NoEvidence when no page is usable any more, StageError when no sentence is left."""
    earlier = Earlier.of(request.run)
    settings = _settings(request, earlier.manifest)
    _check_day(settings.web.as_of, earlier)
    files = _files(earlier, request.files)
    if request.dry_run:
        with tempfile.TemporaryDirectory() as scratch:
            gathered = _gather(earlier, settings, files, Path(scratch) / "evidence")
        return _compared(request, earlier, settings, gathered)[0], ""
    run = _new_run(request, earlier)
    with run.locked():
        gathered = _gather(earlier, settings, files, run.path / "evidence", fetched)
        report, joined, updated = _compared(request, earlier, settings, gathered)
        if request.news:
            report, updated = _with_news(earlier, settings, report, joined, updated)
        report, updated = _settled(earlier, report, joined, updated)
        _store(run, earlier, report, joined, updated)
    return report, str(run.path)


@dataclass(frozen=True, slots=True)
class Earlier:
    """What an earlier run left: its bundle, and its article with the pages that the citations point into."""

    run: RunFolder
    folder: EventFolder
    bundle: Bundle
    manifest: Manifest
    article: Article
    pages: tuple[Page, ...]

    @property
    def card(self) -> Card | None:
        """What the subject is, where a model wrote it down."""
        from data import codec
        from pipeline.stages import CARD

        path = self.folder.file(CARD)
        return codec.read(CARD.kind, path) if path.exists() else None

    @classmethod
    def of(cls, place: Path) -> Earlier:
        from data.runs import RunFolder
        from pipeline.web.bundle import Bundle

        run = RunFolder(place)
        bundle = Bundle(run.path / "evidence")
        if not bundle.is_whole:
            raise UserError(
                f"{place} has no evidence/manifest.json, so there is nothing to ask for again; make such a run with: "
                "wikigenben write TITLE --url URL"
            )
        for folder in run.event_folders():
            article, pages = folder.article(), folder.stored_pages()
            if article is not None and pages is not None:
                return cls(run, folder, bundle, bundle.manifest(), article, pages)
        raise UserError(f"{place} has evidence, but no article; write it first with: wikigenben write TITLE --out {place}")


def _settings(request: Request, manifest: Manifest) -> Settings:
    """Those of the earlier run, except where something else is asked for. By default there is no search and no cut-off."""
    told = []
    for field in fields(WebSettings):
        value = getattr(manifest.settings, field.name)
        if field.name not in ("search", "as_of", "contact", "cache_hours"):
            told.append(f"web.{field.name}={','.join(value) if isinstance(value, tuple) else value}")
    told.append(f"evidence.languages={','.join(manifest.languages)}")
    asked = {"search": request.search, "as_of": request.as_of, "cache_hours": 0}
    return load_settings(None, [*told, *request.assignments], web=asked)


def _check_day(as_of: str, earlier: Earlier) -> None:
    """Raises UserError when the article that is to be kept rests on something later."""
    late = [page.url for page in earlier.pages if as_of and page.usable and (page.published or "")[:10] > as_of]
    if late:
        raise UserError(
            f"--as-of {as_of}: {earlier.run.path} uses pages that were published later, such as {late[0]}; write it anew "
            f"with: wikigenben write TITLE --url URL --as-of {as_of}"
        )


def _new_run(request: Request, earlier: Earlier) -> RunFolder:
    from data.runs import RunFolder
    from pipeline.web.pacing import SystemClock

    day = SystemClock().now().date().isoformat()
    before = re.sub(
        r"-\d{4}-\d{2}-\d{2}(?:-\d{1,2})?\Z", "", request.run.resolve().name
    )  # an update of an update gets one day, not two
    out = request.out or _free(request, earlier, f"{before}-{day}")
    if _is_same(out, request.run) or _has_article(out, earlier.folder.event_id):
        raise UserError(f"{out} holds an article already; choose another folder with --out")
    identity = {**(earlier.run.identity() or {}), "command": "update", "of": request.run.resolve().name, "update": RULES}
    return RunFolder.open(out, identity)


def _free(request: Request, earlier: Earlier, name: str) -> Path:
    """The first folder of that name, of NAME-2 and so on, without an article: an update may come twice a day."""
    tried = (_beside(request.run, name if n == 1 else f"{name}-{n}") for n in range(1, MOST_A_DAY + 1))
    free = (one for one in tried if not _is_same(one, request.run) and not _has_article(one, earlier.folder.event_id))
    return next(free, _beside(request.run, name))


def _beside(run: Path, name: str) -> Path:
    return run.resolve().with_name(name)


def _is_same(one: Path, other: Path) -> bool:
    return one.exists() and one.resolve() == other.resolve()


def _has_article(run: Path, event_id: str) -> bool:
    from data.runs import RunFolder

    return run.exists() and RunFolder(run).event(event_id).article() is not None


# --- the web of today -------------------------------------------------------------------------------------------------


def _files(earlier: Earlier, given: Sequence[Path]) -> list[LocalFile]:
    """The bundle's files, those that are given in the place of the one that their path ends with; then the new ones. Raises
    UserError for one that cannot be read."""
    from flows.showing import console
    from pipeline.web.local_files import FILE, LocalFile, local_files

    known = {
        one.candidate.url.removeprefix(FILE): one.stored.sha256
        for one in earlier.bundle.fetches()
        if one.candidate.url.startswith(FILE) and one.stored.sha256
    }
    again: dict[str, LocalFile] = {}
    new: list[LocalFile] = []
    paths = tuple(dict.fromkeys(path.expanduser().resolve() for path in given))
    for path, file in zip(paths, local_files(paths), strict=True):
        same = sorted((name for name in known if path.as_posix().endswith(f"/{name}")), key=len)
        if same:
            again[same[-1]] = replace(file, name=same[-1])
        else:
            new.append(file)
    if left := [name for name in known if name not in again]:
        console.note(
            f"pages on disk are taken as they were: {', '.join(left[:3])}{f' and {len(left) - 3} more' if left[3:] else ''}; "
            "give newer versions with --file"
        )
    if not earlier.manifest.has_bodies:
        return [*again.values(), *new]
    kept = {name: LocalFile(name, earlier.bundle.body(known[name])) for name in left}
    return [again.get(name) or kept[name] for name in known] + new


def _gather(
    earlier: Earlier,
    settings: Settings,
    files: Sequence[LocalFile],
    bundle: Path,
    fetched: Callable[[FetchRecord], None] | None = None,
) -> Gathered:
    """The pages of the earlier bundle as they are now, and what a search finds besides."""
    from flows.wiring.page_sources import build_live
    from pipeline.web.cache import PageCache
    from pipeline.web.local_files import FILE

    fetches = earlier.bundle.fetches()
    again = [one for one in fetches if one.stored.sha256 or one.stored.fetched.drop_reason in ASKED_AGAIN]
    urls = [one.candidate.url for one in again if not one.candidate.url.startswith(FILE)]
    room = len(urls) + (ROOM_FOR_NEW if settings.web.search else 0)
    settings = replace(settings, web=replace(settings.web, max_pages=max(settings.web.max_pages, room)))
    with tempfile.TemporaryDirectory() as scratch:
        cache = PageCache(Path(scratch))
        if earlier.manifest.has_bodies:
            _remember(cache, earlier, again, settings.web)
        live = build_live(
            settings,
            urls=urls,
            files=files,
            bundle=bundle,
            keep_bodies=earlier.manifest.has_bodies,
            cache=cache,
            fetched=fetched,
        )
        return live.gather(earlier.article.title)


def _remember(cache: PageCache, earlier: Earlier, fetches: Sequence[FetchRecord], settings: WebSettings) -> None:
    """Bodies of the bundle with what their servers called them, so that a page that is the same is not sent again."""
    from pipeline.web.addresses import Refused, admit, exempt

    exempted = exempt(settings.allow_origins)
    for one in fetches:
        try:
            address = admit(one.candidate.url, allow_origins=exempted)
        except Refused:
            continue  # a file, or an address that may not be asked any more
        if one.stored.sha256:
            cache.put(address.url, replace(one.stored.fetched, body=earlier.bundle.body(one.stored.sha256)))


def _compared(
    request: Request, earlier: Earlier, settings: Settings, gathered: Gathered
) -> tuple[UpdateReport, JoinedPages, Updated]:
    from pipeline.following.changes import Comparison
    from pipeline.following.updating import UpdateReport, join_pages, update_article

    article = earlier.article
    joined = join_pages(earlier.pages, earlier.bundle.records(), gathered.records)
    today = Comparison(article.title, joined.pages, joined.revisits)
    changes = today.changes(article)
    updated = update_article(article, joined, changes, settings.retrieval, settings.writing.unsupported)
    before = {found.values for found in Comparison(article.title, earlier.pages, ()).contradictions()}
    contradictions = today.contradictions()
    known = {page.url for page in earlier.pages}
    new = [page.url for page in joined.pages[len(earlier.pages) :] if page.usable and page.url not in known]
    report = UpdateReport(
        title=article.title,
        of=request.run.resolve().name,
        day=gathered.manifest.run_date,
        as_of=settings.web.as_of,
        pages=tuple(_page_fates(joined)),
        new_pages=tuple(new),
        changes=changes,
        contradictions=tuple(found for found in contradictions if found.values not in before),
        standing=tuple(found for found in contradictions if found.values in before),
        sections=updated.sections,
        repairs=updated.repairs,
    )
    return report, joined, updated


def _with_news(
    earlier: Earlier, settings: Settings, report: UpdateReport, joined: JoinedPages, updated: Updated
) -> tuple[UpdateReport, Updated]:
    """With facts that only new or edited pages say, said by the system and model that wrote the article."""
    from data.stage_types import Unstored
    from flows.showing import console
    from pipeline.evidence import Evidence
    from pipeline.following.news import find_news, with_news
    from pipeline.following.updating import Updated, fate

    if not any(page.usable for page in joined.pages[len(earlier.pages) :]):
        return report, updated
    article = updated.article
    planner = _planner(earlier, settings)
    evidence = Evidence.unlapped(Event(article.event_id, article.title), joined.pages, settings.retrieval)
    news = find_news(article, earlier.pages, planner.plan(evidence))
    if not news:
        return report, updated
    n = sum(len(one.statements) for one in news)
    console.note(f"{n} {'fact is' if n == 1 else 'facts are'} new: writing with the model of the article")
    said = with_news(article, evidence, news, lambda plan: planner.say(evidence, plan, Unstored()))
    before = {section.heading.text: section for section in earlier.article.all_sections}
    fates = [one for one in updated.sections if one.heading not in {section.heading.text for section in said.sections}]
    fates += [fate(before.get(section.heading.text, section), section) for section in said.sections]
    added = said.repairs[len(article.repairs) :]
    return (
        replace(report, sections=tuple(fates), repairs=(*report.repairs, *added)),
        Updated(said, tuple(fates), (*updated.repairs, *added)),
    )


def _settled(earlier: Earlier, report: UpdateReport, joined: JoinedPages, updated: Updated) -> tuple[UpdateReport, Updated]:
    """With one count of those killed, injured and missing in all of the article."""
    from pipeline.following.settling import contradictions, settled
    from pipeline.following.updating import Updated, fate

    article = settled(updated.article, joined.pages)
    report = replace(report, two_counts=contradictions(article, joined.pages))
    if article is updated.article:
        return report, updated
    before = {section.heading.text: section for section in earlier.article.all_sections}
    now = {section.heading.text: section for section in article.all_sections}
    fates = tuple(
        fate(before.get(one.heading, now[one.heading]), now[one.heading]) if one.heading in now else replace(one, sha256="")
        for one in updated.sections
    )
    added = article.repairs[len(updated.article.repairs) :]
    return (
        replace(report, sections=fates, repairs=(*report.repairs, *added)),
        Updated(article, fates, (*updated.repairs, *added)),
    )


def _planner(earlier: Earlier, settings: Settings) -> Planner:
    """The system that wrote the article, where it plans; else the one without a model."""
    from data.download import cache_folder
    from flows.wiring.systems import build_planner
    from flows.write import ANSWERS

    told = earlier.run.identity() or {}
    model = replace(settings.model, name=settings.model.name or told.get("model", ""))
    card = earlier.card
    # Asked anew it would come out a little different, and with it every question: so passages that were read stay read.
    writing = replace(settings.writing, about=settings.writing.about or (card.text if card else ""))
    return build_planner(told.get("system", ""), replace(settings, model=model, writing=writing), cache_folder() / ANSWERS)


def _page_fates(joined: JoinedPages) -> Iterator[PageFate]:
    """One for each address."""
    from pipeline.following.updating import PageFate

    by_url: dict[str, Revisit] = {joined.pages[revisit.page].url: revisit for revisit in joined.revisits}
    for url, revisit in by_url.items():
        yield PageFate(url, revisit.state, revisit.detail)


def _store(run: RunFolder, earlier: Earlier, report: UpdateReport, joined: JoinedPages, updated: Updated) -> None:
    from data import codec, wikigenbench
    from data.stage_types import ARTICLE
    from flows.showing import preview
    from flows.write import run_corrections
    from pipeline.editing.corrections import CORRECTIONS
    from pipeline.stages import CARD

    folder = run.event(earlier.folder.event_id)
    if (made := run_corrections(earlier.run, folder.event_id)).made:  # struck sentences stay struck
        codec.write_atomic(folder.path / f"{CORRECTIONS}.json", codec.to_json(made, indent=1) + "\n")
    folder.pages(lambda: joined.pages)
    codec.write_atomic(run.path / "changes.json", codec.to_json(report, indent=1) + "\n")
    codec.write_atomic(run.path / "changes.md", "\n".join(lines(report, shown=_inline)) + "\n")
    if (card := earlier.card) is not None:  # for the update after this one
        folder.once(CARD, lambda: card)
    folder.once(ARTICLE, lambda: updated.article)
    wikigenbench.write(run.path / "wikigenbench" / f"{folder.event_id}.json", updated.article)
    preview.write_previews(run, (earlier.run.identity() or {}).get("system", "update"))


# --- the report on screen ---------------------------------------------------------------------------------------------
