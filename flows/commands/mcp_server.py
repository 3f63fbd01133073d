"""`wikigenben mcp`: writing, checking and evidence as tools of an assistant (Model Context Protocol, over stdin and stdout).

Tools take titles, texts and addresses, never a path of this machine: what an assistant passes on may come from a web page.
"""

from __future__ import annotations

import argparse
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from data.errors import MissingExtra, UserError, WikigenError
from flows.commands.arguments import add_article_flags, article_flags, check_article_flags

if TYPE_CHECKING:
    from mcp.server import MCPServer

MOST_FINDINGS = 200


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="wikigenben mcp",
        description="Offer the tools write_article, check_article and evidence to an assistant, over stdin and stdout.",
    )
    add_article_flags(parser, file=False)
    arguments = parser.parse_args(argv)
    from flows.showing.console import guarded

    def run() -> int:
        flags = article_flags(arguments)
        check_article_flags(flags)
        build_server(flags).run("stdio")
        return 0

    return guarded(run)


def build_server(flags: tuple[str, ...] = ()) -> MCPServer[Any]:
    """`flags` are those of every article. Raises MissingExtra without the package `mcp`."""
    try:
        from mcp.server import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
    except ImportError:
        raise MissingExtra("mcp", "mcp", "wikigenben mcp") from None
    server: MCPServer[Any] = MCPServer(
        "wikigenben",
        instructions="Writes encyclopedic drafts whose every sentence cites a passage of a web page, and checks citations of "
        "articles. What it returns are drafts for a person to check.",
    )
    one_at_a_time = threading.Lock()

    def answered(work: Any) -> dict[str, Any]:
        try:
            with one_at_a_time:
                found: dict[str, Any] = work()
                return found
        except WikigenError as error:
            raise ToolError(str(error)) from None

    @server.tool()
    def write_article(title: str, urls: list[str], search: str = "", words: int = 1000) -> dict[str, Any]:
        """Write a cited article about a title, from pages at these addresses and, with `search` (searxng, brave, serper,
        tavily, ddgs), from pages that a search engine finds. Takes a minute or two. Returns it as Markdown, and its run."""
        return answered(lambda: _write(title, urls, search, words, flags))

    @server.tool()
    def check_article(article: str) -> dict[str, Any]:
        """Judge each statement of an article against the pages that it cites. `article` is its text (wikitext, HTML, or
        Markdown with links), its address, or the title of a Wikipedia page."""
        return answered(lambda: _check(article, flags))

    @server.tool()
    def evidence(run: str, citation: str) -> dict[str, Any]:
        """The passage that a citation of a written article points to, with what is around it. `run` and `citation` are as
        write_article returned them."""
        return answered(lambda: _evidence(run, citation))

    return server


def _runs() -> Path:
    return Path(os.environ.get("WIKIGEN_RUNS", "runs"))


def _write(title: str, urls: Sequence[str], search: str, words: int, flags: Sequence[str]) -> dict[str, Any]:
    from flows.write import write
    from flows.write_request import request_for
    from pipeline.drop_words import DROP_REASONS
    from pipeline.formats.markdown import to_markdown

    if not 50 <= words <= 5000:
        raise UserError(f"words = {words} is not between 50 and 5000")
    asked = [*flags, *(f"--url={url}" for url in urls), *([f"--search={search}"] if search else []), f"--words={words}"]
    written = write(request_for([*asked, "--", title] if title.strip() else asked))
    (outcome,) = written.generated.outcomes
    if written.article is None:
        assert outcome.failure is not None
        raise UserError(f"{outcome.failure.stage}: {outcome.failure.message}")
    dropped = [f"{r.final_url}: {DROP_REASONS[r.drop_reason]} ({r.drop_detail})" for r in written.records if r.drop_reason]
    return {
        "run": written.run.path.name,
        "markdown": to_markdown(written.article, written.disagreements),
        "citations": [source.id for source in written.article.sources],
        "pages_dropped": dropped,
    }


def _check(article: str, flags: Sequence[str]) -> dict[str, Any]:
    from flows.check import check, request_for
    from pipeline.checking.report import LABELS

    text = article.strip()
    if "\n" not in text and not text.startswith(("http://", "https://")):
        text = text.replace("/", "%2F")  # a title, never a path
        if Path(text).exists():
            text = f"{text}\n"  # nor a file that happens to have this name
    settings = [flag for flag in flags if flag.startswith("--set=")]
    report = check(request_for([*settings, "--", text]))
    shown = [
        {
            "statement": one.text,
            "verdict": LABELS[one.verdict],
            "pages": [page.url for page in one.cited],
            "passage": one.passage,
        }
        for one in report.findings[:MOST_FINDINGS]
    ]
    return {"summary": report.in_words(), "findings": shown}


def _evidence(run: str, citation: str) -> dict[str, Any]:
    from flows.webapp.shelf import Shelf

    found = Shelf(_runs() / "write").passage(run, citation)
    around = {"before": str(found["before"])[-1500:], "after": str(found["after"])[:1500]}
    return {key: found[key] for key in ("title", "url", "published", "passage")} | around
