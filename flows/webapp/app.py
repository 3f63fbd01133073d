"""What the page may ask of this machine: JSON over HTTP, and server-sent events for what happens meanwhile."""

from __future__ import annotations

import asyncio
import errno
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from importlib import metadata, resources
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import ClientDisconnect

from data import codec
from data.errors import UserError
from flows.webapp.admission import Admission, Gate
from flows.webapp.desk import ENDED, Desk, Job
from flows.webapp.shelf import FORMATS, Asked, Shelf
from flows.write import open_run, slug
from flows.write_request import MOST_URLS, request_for
from pipeline.reading.pdf.pdf_pages import MAX_PDF_BYTES
from pipeline.web.local_files import FILE_TYPES

MAX_JSON_BYTES = 4 << 20
MOST_FILES = 50
UPLOADS = ".uploads"
"""In the folder of all runs: uploads, by the hash of its content."""
STATIC = {"/": ("index.html", "text/html"), "/page.css": ("page.css", "text/css"), "/page.js": ("page.js", "text/javascript")}


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", str_max_length=2 << 20)


class AskBody(_Strict):
    title: str = ""
    urls: list[str] = Field(default_factory=list)
    files: list[str] = Field(default_factory=list)
    search: str = ""
    as_of: str = ""
    words: int | None = Field(None, ge=50, le=5000)
    about: str = ""


class CorrectionBody(_Strict):
    text: str
    now: str


@dataclass(frozen=True, slots=True)
class Page:
    """`words` are flags of every article; `base` the folder of all runs of `write`, `checks` that of checks."""

    base: Path
    checks: Path | None
    words: tuple[str, ...] = ()
    warm: bool = True


def build_app(page: Page, admission: Admission) -> FastAPI:
    desk, shelf = Desk(page.words, warm=page.warm), Shelf(page.base)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await desk.open()
        yield
        await desk.close()

    app = FastAPI(lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    app.add_middleware(Gate, admission=admission)
    app.state.desk = desk

    @app.exception_handler(UserError)
    async def wrong(_: Request, error: UserError) -> JSONResponse:
        return JSONResponse({"error": str(error)}, 400)

    @app.exception_handler(OSError)
    async def no_disk(_: Request, error: OSError) -> JSONResponse:
        if error.errno == errno.ENAMETOOLONG:
            return JSONResponse({"error": "that name is too long: no run, check or file has it"}, 400)
        return JSONResponse({"error": f"cannot use the disk: {error.strerror}; nothing that was there is lost"}, 507)

    @app.exception_handler(ValidationError)
    async def no_request(_: Request, error: ValidationError) -> JSONResponse:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the request"
        return JSONResponse({"error": f"{where}: {first['msg']}"}, 400)

    @app.exception_handler(ClientDisconnect)
    async def nobody(_: Request, error: ClientDisconnect) -> Response:
        return Response(status_code=400)  # whoever asked has hung up: no fault of ours, and nobody reads it

    for path, (name, media) in STATIC.items():
        app.add_api_route(path, _static(name, media), methods=["GET"])

    @app.get("/api/about")
    def about() -> dict[str, Any]:
        return {
            "version": metadata.version("wikigenben"),
            "engines": _engines(),
            "endings": sorted(FILE_TYPES),
            "most_urls": MOST_URLS,
            "most_file_bytes": MAX_PDF_BYTES,
        }

    @app.get("/api/runs")
    def runs() -> list[dict[str, Any]]:
        listed = list(shelf.listed())
        for one in listed:
            if (job := _job(one["name"])) is not None and job.state not in ENDED:
                one["state"] = job.state
        return listed

    @app.post("/api/runs")
    async def ask(request: Request) -> dict[str, str]:
        body = AskBody.model_validate(await _json(request))
        if desk.is_full:
            raise UserError("too many articles are waiting; ask again when one is done")
        urls = tuple(dict.fromkeys(url.strip() for url in body.urls if url.strip()))
        if not (urls or body.files or body.search):  # in the words of the page, which has no flags
            raise UserError(
                "there is nothing to write from: paste addresses of pages, choose files, or let a search engine find some"
            )
        if body.search and not body.title.strip():
            raise UserError("a search engine needs a title to look for: type one")
        if len(urls) > MOST_URLS:  # before they become flags: argparse takes seconds for thousands, and the page waits
            raise UserError(f"{len(urls):,} pages are named; an article is written from at most {MOST_URLS}")
        if len(body.files) > MOST_FILES:
            raise UserError(f"{len(body.files):,} files are too many; at most {MOST_FILES} are read")
        asked = Asked(body.title, urls, tuple(body.files), body.search, body.as_of, body.words, body.about.strip())
        return {"name": _ask(asked).name}

    @app.get("/api/runs/{name}")
    def shown(name: str) -> dict[str, Any]:
        job = _job(name)
        if job is not None and job.do == "update" and not shelf.has(name):  # it waits
            return {"name": name, "title": job.title, "state": job.state, "why": job.why, "do": job.do}
        found = shelf.shown(name)
        if job is not None:
            found |= {"do": job.do, "notes": [event["text"] for event in job.events if event["kind"] == "note"]}
            if job.state in ("queued", "running") or "article" not in found:
                found |= {"state": job.state, "why": job.why}
        return found

    @app.get("/api/runs/{name}/events")
    async def events(request: Request, name: str) -> StreamingResponse:
        job = _job(name)
        last = request.headers.get("last-event-id", "")
        after = int(last) + 1 if last.isascii() and last.isdigit() and len(last) < 10 else 0
        return StreamingResponse(_stream(job, after), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})

    @app.post("/api/runs/{name}/stop")
    async def stop(name: str) -> dict[str, str]:
        job = _job(name)
        if job is None or job.state in ENDED:
            raise UserError("nothing is being done here")
        await desk.stop(job)
        return {"state": job.state}

    @app.post("/api/runs/{name}/go-on")
    async def go_on(name: str) -> dict[str, str]:
        run = shelf.run(name)
        for folder in run.event_folders():
            folder.clear_failure()
        if earlier := shelf.updated_from(run):
            return {"name": _update(earlier, name).name}
        return {"name": _ask(shelf.asked(run)).name}

    @app.post("/api/runs/{name}/update")
    async def update(name: str) -> dict[str, str]:
        if desk.is_full:
            raise UserError("too many articles are waiting; ask again when one is done")
        return {"name": _update(name, shelf.free_name(name, desk.names("update"))).name}

    @app.get("/api/runs/{name}/passages/{cite}")
    def passage(name: str, cite: str) -> dict[str, Any]:
        return shelf.passage(name, cite)

    @app.post("/api/runs/{name}/corrections")
    async def correct(request: Request, name: str) -> dict[str, Any]:
        body = CorrectionBody.model_validate(await _json(request))
        shelf.correct(name, body.text, body.now)
        article: dict[str, Any] = shelf.shown(name)["article"]
        return article

    @app.get("/api/runs/{name}/download/{form}")
    def download(name: str, form: str) -> Response:
        if form not in (*FORMATS, "zip"):
            raise UserError(f"there is no format {form[:20]!r}; known: {', '.join(FORMATS)}, zip")
        file, content = shelf.download(name, form)
        disposition = f"attachment; filename*=UTF-8''{quote(file)}"
        return Response(content, media_type=FORMATS.get(form, "application/zip"), headers={"Content-Disposition": disposition})

    @app.put("/api/uploads/{file}")
    async def upload(request: Request, file: str) -> dict[str, str]:
        ending = Path(file).suffix.lower()
        if ending not in FILE_TYPES:
            raise UserError(f"{file[:80]!r} is no page: its name must end in one of {', '.join(FILE_TYPES)}")
        content = await _body(request, MAX_PDF_BYTES)
        kept = f"{codec.sha256_bytes(content)[:16]}-{slug(Path(file).stem)[:60]}{ending}"
        path = page.base / UPLOADS / kept
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            codec.write_atomic(path, content)
        return {"file": kept}

    def _job(name: str) -> Job | None:
        return desk.job("write", name) or desk.job("update", name)

    def _update(name: str, new: str) -> Job:
        earlier = shelf.run(name).path
        flags = [word for word in page.words if word.startswith("--set=")]
        words = (*flags, f"--out={earlier.with_name(new)}", "--", str(earlier))
        return desk.ask(Job("update", new, shelf.shown(name)["title"], words))

    def _ask(asked: Asked) -> Job:
        words = [*page.words, *_words(asked, page.base)]
        request = request_for(words)
        run, _ = open_run(request)
        shelf.keep_asked(run, asked)
        return desk.ask(Job("write", run.path.name, asked.title or run.path.name, tuple(words)))

    if page.checks is not None:
        from flows.webapp.checks import add_checks

        add_checks(app, desk, shelf, page.checks, page.words, _json, _body, _stream)
    return app


def _words(asked: Asked, base: Path) -> list[str]:
    """The command line of `wikigenben write` that says the same."""
    words = [f"--url={url}" for url in asked.urls]
    for name in asked.files:
        path = base / UPLOADS / name
        if path.name != name or not path.is_file():
            raise UserError(f"{name[:80]!r} was not uploaded; choose the file again")
        words.append(f"--file={path}")
    words += [
        f"--{flag}={value}"
        for flag, value in (("search", asked.search), ("as-of", asked.as_of), ("about", asked.about))
        if value
    ]
    words += [f"--words={asked.words}"] if asked.words is not None else []
    return [*words, "--", asked.title] if asked.title.strip() else words


async def _stream(job: Job | None, after: int) -> AsyncIterator[str]:
    """Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html), numbered, so that a browser that
    connects again gets what it missed."""
    if job is not None:
        async for event in job.follow(after):
            yield ": still here\n\n" if event is None else f"id: {event[0]}\ndata: {json.dumps(event[1])}\n\n"
    yield "event: over\ndata: {}\n\n"


UPLOAD_S = 600.0
"""Until what is sent is here: a byte a second would hold its connection for ever."""


async def _body(request: Request, most: int) -> bytes:
    """Raises UserError beyond `most` bytes, before they are all here, and where they do not come."""
    length = request.headers.get("content-length", "")
    content = bytearray()
    if not (length.isascii() and length.isdigit() and int(length) > most):
        try:
            async with asyncio.timeout(UPLOAD_S):
                async for chunk in request.stream():
                    content += chunk
                    if len(content) > most:
                        break
                else:
                    return bytes(content)
        except TimeoutError:
            raise UserError(f"it was not here after {UPLOAD_S:g} seconds; send it again") from None
    raise UserError(f"that is more than {most >> 20} MiB; send less")


async def _json(request: Request) -> Any:
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise UserError("this takes JSON")
    try:
        found = json.loads(await _body(request, MAX_JSON_BYTES))
        json.dumps(found, ensure_ascii=False).encode()  # half of a character can be in no answer and in no file
        return found
    except (ValueError, RecursionError):
        raise UserError("that is no JSON") from None


def _static(name: str, media: str) -> Callable[[], Response]:
    def file() -> Response:
        return Response(_asset(name), media_type=media)

    return file


@cache
def _asset(name: str) -> bytes:
    return resources.files("flows.webapp").joinpath("static", name).read_bytes()


def _engines() -> list[str]:
    """Search engines that are set up: with their keys, and installed."""
    from data.errors import WikigenError
    from pipeline.web.search.building import NAMES, build_provider

    found = []
    for name in NAMES:
        try:
            build_provider(name)
        except WikigenError:
            continue
        found.append(name)
    return found
