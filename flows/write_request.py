"""What `wikigenben write` is asked for: flags, or a line of the web page, as one checked value."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from data.errors import UserError
from data.settings import Settings, WebSettings, add_render_flag, add_setting_flags, load_settings
from decoding.models.naming import add_draft_model_flag
from decoding.models.registry import DEFAULT_MODEL, NAMES

if TYPE_CHECKING:
    from pipeline.web.local_files import LocalFile


SYSTEMS = ("ours", "extractive")


MOST_TITLE = 300
"""Characters: Wikipedia allows 255 bytes."""


MOST_ABOUT = 400
"""Characters."""


MOST_URLS = 500
_IN_THE_WEB = re.compile(r"https?://", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Request:
    """What to write and from what. An empty `title` is taken from the pages; with `bundle` nothing is fetched."""

    settings: Settings
    title: str = ""
    system: str = "ours"
    urls: tuple[str, ...] = ()
    files: tuple[LocalFile, ...] = ()
    bundle: Path | None = None
    out: Path | None = None
    keep_bodies: bool = True


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="wikigenben write",
        description="Write an article from pages of the web that you name or a search engine finds. Exit code: 0 done, "
        "1 failed, 2 wrong input, 3 no page could be used, 130 interrupted.",
    )
    parser.add_argument("title", nargs="?", default="", metavar="TITLE", help="subject; without it, that of the first page")
    source = parser.add_argument_group("what to write from")
    source.add_argument("--url", action="append", default=[], metavar="URL", help="a page; repeatable, the best first")
    source.add_argument(
        "--file", action="append", default=[], type=Path, metavar="PATH", help="a page on disk: HTML, text or PDF; repeatable"
    )
    source.add_argument("--search", metavar="NAME[,NAME]", help="searxng, brave, serper, tavily, ddgs, in order of preference")
    source.add_argument("--as-of", metavar="DATE", help="use nothing that was published after this day (YYYY-MM-DD)")
    source.add_argument(
        "--bundle", type=Path, metavar="DIR", help="recorded evidence (`evidence` of a run); no network is used"
    )
    add_render_flag(source)
    how = parser.add_argument_group("how")
    how.add_argument("--out", type=Path, metavar="DIR", help="run folder (default: runs/write/TITLE, then TITLE-2 and so on)")
    how.add_argument("--no-bodies", action="store_true", help="record hashes of the raw pages, not the pages")
    how.add_argument("--system", choices=SYSTEMS, default="ours", help="default: ours, which writes with a language model")
    how.add_argument("--model", metavar="NAME", help=f"of ours: {NAMES} or server:MODEL@BASE_URL (default: {DEFAULT_MODEL})")
    add_draft_model_flag(how)
    how.add_argument("--about", metavar="TEXT", help="what the subject is, in one sentence, where several things have its name")
    how.add_argument("--words", type=int, metavar="N", help="at most so many words")
    add_setting_flags(how)
    how.add_argument("--json", action="store_true", help="one JSON line on stdout instead of a table")
    return parser


def request_for(words: Sequence[str]) -> Request:
    """That of a command line, without its `wikigenben write`."""
    return request_from(parser().parse_args(words))


def request_from(arguments: argparse.Namespace) -> Request:
    """Raises UserError for what cannot be meant."""
    from pipeline.web.local_files import local_files

    settings = load_settings(
        arguments.config,
        arguments.assignments,
        model={"name": arguments.model},
        decoding={"draft_model": arguments.draft_model},
        web={"search": arguments.search, "as_of": arguments.as_of, "render": arguments.render},
        writing={"max_words": arguments.words, "about": about_from(arguments.about)},
    )
    title = title_from(arguments.title)
    if len(arguments.url) > MOST_URLS:
        raise UserError(f"{len(arguments.url):,} pages are named; an article is written from at most {MOST_URLS}")
    if arguments.bundle is not None:
        if arguments.url or arguments.file or settings.web != WebSettings():
            raise UserError("--bundle is what was found before; drop --url, --file, --search, --as-of and the settings web.*")
    elif not (arguments.url or arguments.file or settings.web.search):
        raise UserError("there is nothing to write from; name pages with --url or --file, or a search engine with --search")
    elif not (arguments.file or settings.web.search or any(_IN_THE_WEB.match(url) for url in arguments.url)):
        raise UserError(
            f"{arguments.url[0][:200]!r} is no address of a page, which begins with http:// or https://; "
            "name a page on disk with --file"
        )
    elif settings.web.search and not title:
        raise UserError(f"--search {settings.web.search} needs a title to search for; give one, or drop it")
    return Request(
        settings=settings,
        title=title,
        system=arguments.system,
        urls=tuple(arguments.url),
        files=local_files(arguments.file),
        bundle=arguments.bundle,
        out=arguments.out,
        keep_bodies=not arguments.no_bodies,
    )


def title_from(text: str) -> str:
    """The title as it is kept. Raises UserError for one that cannot be a title."""
    title = " ".join(_storable(text).split())
    if len(title) > MOST_TITLE:
        raise UserError(f"the title has {len(title):,} characters; give one of at most {MOST_TITLE}, such as {title[:40]!r}")
    if hidden := next((c for c in title if not c.isprintable()), ""):
        raise UserError(f"the title holds the control character {hidden!r}; give it without")
    return title


def about_from(text: str | None) -> str | None:
    """What the subject is, as it is kept; None where nothing was said. Raises UserError for more than a sentence or two."""
    about = None if text is None else " ".join(_storable(text).split())
    if about is not None and not (1 <= len(about) <= MOST_ABOUT and about.isprintable()):
        raise UserError(
            f"--about has {len(about):,} characters; say in one sentence of at most {MOST_ABOUT} what the subject is, such as "
            '"a ferry accident on Lake Orta in May 2026"'
        )
    return about


def _storable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def check_request(request: Request) -> None:
    """Raises UserError for what can be known to be wrong before there is a folder or a page."""
    from flows.wiring.models import check_model
    from flows.wiring.page_sources import check_web

    check_web(request.settings.web)
    check_model(request.system, request.settings)
