"""Settings -> where an event's pages come from: the benchmark folder, live pages, or a search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark.leaks import leak_checks
from data.errors import UserError
from data.runs import RunFolder
from data.settings import Settings, WebSettings
from data.snapshot import Snapshot
from data.types import Event, Page
from flows.showing import console

if TYPE_CHECKING:
    from pipeline.web.bundle import FetchRecord
    from pipeline.web.cache import PageCache
    from pipeline.web.live import LiveEvidence
    from pipeline.web.local_files import LocalFile

from flows.wiring import models

WEB_DECIDING = ("search", "results", "max_pages", "respect_robots", "as_of", "strict_dates", "archive", "leak_hosts")
"""Settings of the web that decide which pages there are; the others say how fast and how long they are asked for."""


def live_identity(settings: Settings) -> dict[str, str]:
    """Empty for recorded pages, so that runs made before there were others stay what they are."""
    if settings.evidence.source == "recorded":
        return {}
    from pipeline.web.events import event_web

    return {"source": settings.evidence.source, **web_identity(event_web(settings))}


def web_identity(web: WebSettings) -> dict[str, str]:
    drawn = {} if web.render == "never" else {"web.render": web.render}  # runs made before there was such a thing stay the same
    return {f"web.{key}": str(getattr(web, key)) for key in WEB_DECIDING} | drawn


def check_evidence(settings: Settings) -> None:
    """Raises UserError for settings with which no event's pages could be had, before a model is loaded and a run begun."""
    source, web = settings.evidence.source, settings.web
    if source == "recorded":
        return
    if source == "search" and not web.search:
        from pipeline.web.search.building import NAMES

        raise UserError(
            f"evidence from a search needs a search engine; set web.search to one or several of {', '.join(NAMES)} "
            "(--search NAME, or --set web.search=NAME)"
        )
    check_web(web if source == "search" else replace(web, search=""))


def build_collect(snapshot: Snapshot, settings: Settings, run: RunFolder | None = None) -> Callable[[Event], tuple[Page, ...]]:
    """What gives an event its pages. Live ones are left in `run`; without a run they are refused with a UserError."""
    from pipeline.evidence import SnapshotEvidence

    evidence = settings.evidence
    if evidence.source == "recorded":
        return SnapshotEvidence(snapshot, evidence, leak_checks(snapshot)).collect
    if run is None:
        raise UserError(
            f"evidence.source = {evidence.source!r} is for events that are written (wikigenben generate, evaluate); drop it"
        )
    from pipeline.planning.kinds import KindRecogniser
    from pipeline.web.events import EventEvidence
    from pipeline.web.search.building import build_provider

    return EventEvidence(
        settings,
        run,
        links=lambda event: snapshot.raw_pages(event.id, evidence.track),
        providers=build_provider(settings.web.search).providers if evidence.source == "search" else (),
        leak_check=leak_checks(snapshot),
        recogniser=lambda: KindRecogniser(models.build_encoder()),
        tell=console.note,
    ).collect


def check_web(web: WebSettings) -> None:
    """Raises UserError for settings of the web that cannot be used, and for a search engine without its key."""
    from pipeline.web.addresses import exempt
    from pipeline.web.fetching import default_user_agent
    from pipeline.web.painting import check_render
    from pipeline.web.queries import search_window
    from pipeline.web.search.building import build_provider

    if web.search:
        build_provider(web.search)
    search_window(web.as_of)
    check_render(web.render)
    exempt(web.allow_origins)
    default_user_agent(web.contact)


def build_live(
    settings: Settings,
    *,
    urls: Sequence[str] = (),
    files: Sequence[LocalFile] = (),
    bundle: Path,
    keep_bodies: bool = True,
    cache: PageCache | None = None,
    fetched: Callable[[FetchRecord], None] | None = None,
) -> LiveEvidence:
    """Evidence from the live web; `fetched` is called with each page when it came. Raises UserError for settings that cannot be
    used, and for a provider without its key."""
    from pipeline.planning.kinds import KindRecogniser
    from pipeline.web.live import LiveEvidence
    from pipeline.web.queries import search_window
    from pipeline.web.search.building import build_provider

    search_window(settings.web.as_of)  # refuses a wrong day before anything is fetched
    return LiveEvidence(
        settings.web,
        provider=build_provider(settings.web.search) if settings.web.search else None,
        urls=urls,
        files=files,
        cache=cache,
        languages=settings.evidence.languages,
        bundle=bundle,
        keep_bodies=keep_bodies,
        recogniser=lambda: KindRecogniser(models.build_encoder()),
        tell=console.note,
        fetched=fetched,
    )
