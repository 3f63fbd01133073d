"""The part of the page that has articles checked: the same desk, the same report as `wikigenben check`."""

from __future__ import annotations

import contextlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict

from data import codec
from data.errors import UserError
from flows.check import title_address
from flows.webapp.desk import ENDED, Desk, Job
from flows.webapp.shelf import Shelf
from flows.write import slug
from pipeline.checking.reading import MOST_BYTES
from pipeline.checking.report import LABELS, VERDICTS, CheckReport
from pipeline.provenance import shortened, web_link

KEPT = ".articles"
"""In the folder of checks: articles that were pasted or uploaded."""


MOST_LISTED = 100
FILES = {"html": "report.html", "csv": "report.csv", "list": "to_look_at.wiki", "marked": "marked.wiki"}
"""What can be downloaded of a check."""
_NAME = re.compile(r"[\w-]+")


class CheckBody(BaseModel):
    """`run` is the name of an article of this page: it is checked as corrected."""

    model_config = ConfigDict(extra="forbid")
    article: str = ""
    file: str = ""
    run: str = ""


def add_checks(
    app: FastAPI,
    desk: Desk,
    shelf: Shelf,
    checks: Path,
    words: tuple[str, ...],
    read_json: Callable[[Request], Awaitable[Any]],
    read_body: Callable[[Request, int], Awaitable[bytes]],
    stream: Callable[[Job | None, int], AsyncIterator[str]],
) -> None:
    kept = checks / KEPT

    @app.put("/api/check-uploads/{file}")
    async def upload(request: Request, file: str) -> dict[str, str]:
        return {"file": _keep(kept, file, await read_body(request, MOST_BYTES))}

    @app.post("/api/checks")
    async def ask(request: Request) -> dict[str, str]:
        body = CheckBody.model_validate(await read_json(request))
        if desk.is_full:
            raise UserError("too many articles are waiting; ask again when one is done")
        article, given = body.article.strip(), ""
        if body.run:
            given = _keep(kept, f"{body.run}.json", shelf.download(body.run, "json")[1])
        elif body.file:
            if Path(body.file).name != body.file or not (kept / body.file).is_file():
                raise UserError(f"{body.file[:80]!r} was not uploaded; choose the file again")
            given = body.file
        elif "\n" in article or len(article) > 300:
            given = _keep(kept, "pasted text", article.encode("utf-8", "replace"))
        if given:
            article = str(kept / given)
        if not article:
            raise UserError("give the address of an article, its text, or a file")
        name = codec.sha256(article)[:16]
        # Only files that were given here are read, and none beside them: an address and a title are fetched with the guard.
        looked_up = article if given or article.startswith(("http://", "https://")) else title_address(article)
        flags = ["--no-files", *(word for word in words if word.startswith(("--set=", "--config=")))]
        return {
            "name": desk.ask(
                Job("check", name, given or article[:80], (*flags, f"--out={checks / name}", "--", looked_up))
            ).name
        }

    @app.get("/api/checks")
    def listed() -> list[dict[str, Any]]:
        """The newest first."""
        paths = sorted(checks.glob("*/report.json"), key=lambda path: path.stat().st_mtime, reverse=True)[:MOST_LISTED]
        found = []
        for path in paths:
            if _NAME.fullmatch(path.parent.name):
                with contextlib.suppress(UserError, OSError):
                    report = codec.read(CheckReport, path)
                    at = path.stat().st_mtime
                    found.append({"name": path.parent.name, "title": report.title, "summary": report.in_words(), "at": at})
        return found

    @app.get("/api/checks/{name}/events")
    async def events(request: Request, name: str) -> StreamingResponse:
        last = request.headers.get("last-event-id", "")
        after = int(last) + 1 if last.isascii() and last.isdigit() and len(last) < 10 else 0
        return StreamingResponse(stream(desk.job("check", name), after), media_type="text/event-stream")

    @app.post("/api/checks/{name}/stop")
    async def stop(name: str) -> dict[str, str]:
        job = desk.job("check", name)
        if job is None or job.state in ENDED:
            raise UserError("nothing is being checked here")
        await desk.stop(job)
        return {"state": job.state}

    @app.get("/api/checks/{name}")
    def shown(name: str) -> dict[str, Any]:
        job = desk.job("check", name)
        path = _folder(checks, name) / "report.json"
        if not path.is_file() or (job is not None and job.state in ("failed", "stopped")):
            return {"why": job.why if job is not None else f"there is no check {name[:40]!r}"}
        report = codec.read(CheckReport, path)
        return {
            "title": report.title,
            "summary": report.in_words(),
            "since": report.since,
            "changes": [
                {
                    "text": change.text,
                    "before": LABELS[change.before] if change.before else "New statement",
                    "after": LABELS[change.after] if change.after else "No longer in the article",
                }
                for change in report.changes
            ],
            "files": [kind for kind, file in FILES.items() if (path.parent / file).is_file()],
            "counts": [
                {"verdict": one, "label": LABELS[one], "n": report.counts[one]} for one in VERDICTS if report.counts[one]
            ],
            "statements": [
                {
                    "text": one.text,
                    "section": one.section,
                    "verdict": one.verdict,
                    "label": LABELS[one.verdict],
                    "remark": one.remark or one.unsettled,
                    "passage": shortened(one.passage, 600),
                    "sentence": shortened(one.sentence, 600),
                    "language": one.language,
                    "cited": [{**codec.to_plain(page), "link": web_link(page.url) or ""} for page in one.cited],
                }
                for one in report.findings
            ],
        }

    @app.get("/api/checks/{name}/download/{kind}")
    def download(name: str, kind: str) -> Response:
        if kind not in FILES:
            raise UserError(f"there is no report of the kind {kind[:40]!r}; ask for one of {', '.join(FILES)}")
        path = _folder(checks, name) / FILES[kind]
        if not path.is_file():
            raise UserError("the check is not finished, or has no such report")
        disposition = f"attachment; filename={name}-{path.name}"
        media = {".html": "text/html", ".csv": "text/csv"}.get(path.suffix, "text/plain")
        return Response(path.read_bytes(), media_type=media, headers={"Content-Disposition": disposition})


def _folder(checks: Path, name: str) -> Path:
    if not _NAME.fullmatch(name):
        raise UserError(f"there is no check {name[:40]!r}")
    return checks / name


def _keep(kept: Path, called: str, content: bytes) -> str:
    """The name of its file, which messages say: what a person called it, and a hash."""
    ending = Path(called).suffix.lower()
    ending = ending if ending in (".html", ".htm", ".md", ".txt", ".wiki", ".json", ".wikitext") else ""
    name = f"{slug(Path(called).stem)[:60]}-{codec.sha256_bytes(content)[:16]}{ending}"
    codec.write_atomic(kept / name, content)
    return name
