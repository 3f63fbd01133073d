"""The run folders of `wikigenben write` as the page shows them, and what a person changes in them.

Beside a run lies `asked.json`: the words of its command, so that it goes on after the page was closed or killed.
"""

from __future__ import annotations

import io
import re
import threading
import zipfile
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from data import codec
from data.errors import UserError
from data.markup import number
from data.runs import EventFolder, RunFolder
from data.stage_types import Stage
from data.types import Article, Section, Strict
from flows.showing import preview
from flows.webapp.worker import plain_note, plain_page, plain_verdict
from flows.write import none_mentions, run_corrections
from pipeline.editing.corrections import CORRECTIONS, MOST_CHARACTERS, Correction, Corrections, corrected
from pipeline.formats.page_words import WARNINGS
from pipeline.formats.reasons import in_words
from pipeline.provenance import host_of, name_of, notice_of, web_link
from pipeline.stages import ABOUT, CARD, DISAGREEMENTS, NOTES, OUTLINE, section_stage
from pipeline.web.reliability import reliability

T = TypeVar("T")
ASKED = "asked.json"
FORMATS = {
    "html": "text/html",
    "md": "text/markdown",
    "wiki": "text/plain",
    "json": "application/json",
    "dossier": "text/html",
    "dossier-wiki": "text/plain",
}
_WORD_NAME = re.compile(r"[\w-]+")
MOST_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Asked(Strict):
    """What the page was asked: a title, addresses, names of uploaded files, search engines, a day, a number of words, what the
    subject is."""

    title: str = ""
    urls: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    search: str = ""
    as_of: str = ""
    words: int | None = None
    about: str = ""


class Shelf:
    """`folder` is that of all runs of `write`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._correcting = threading.Lock()

    def run(self, name: str) -> RunFolder:
        """Raises UserError for a name that no run has."""
        if not self.has(name):
            raise UserError(f"there is no article {name[:80]!r} here")
        return RunFolder(self.folder / name)

    def has(self, name: str) -> bool:
        return bool(_WORD_NAME.fullmatch(name)) and (self.folder / name / "run.json").is_file()

    def updated_from(self, run: RunFolder) -> str:
        """The name of the run that this one is an update of, "" for none."""
        told = run.identity() or {}
        return told.get("of", "") if told.get("command") == "update" else ""

    def free_name(self, name: str, taken: Collection[str]) -> str:
        """For an update of the run `name`, as `wikigenben update` names it, with a number where there is one of that day."""
        base = f"{re.sub(r'-[0-9]{4}-[0-9]{2}-[0-9]{2}(?:-[0-9]+)?$', '', name)}-{date.today().isoformat()}"
        names = (base if n == 1 else f"{base}-{n}" for n in count(1))
        return next(one for one in names if one not in taken and not (self.folder / one).exists())

    def keep_asked(self, run: RunFolder, asked: Asked) -> None:
        codec.write_atomic(run.path / ASKED, codec.to_json(asked, indent=1) + "\n")

    def asked(self, run: RunFolder) -> Asked:
        """Of a run that a command made: what its identity says."""
        path = run.path / ASKED
        if path.is_file():
            return codec.read(Asked, path)
        told = run.identity() or {}
        return Asked(title=told.get("title", ""), urls=tuple(told.get("urls", "").split()))

    def listed(self) -> Iterator[dict[str, Any]]:
        """The newest first."""
        paths = [path for path in self.folder.iterdir() if (path / "run.json").is_file()] if self.folder.is_dir() else []
        for path in sorted(paths, key=_changed, reverse=True)[:MOST_SHOWN]:
            try:
                run = RunFolder(path)
                folder = _event(run)
                article = folder.article() if folder is not None else None
                failure = folder.failure() if folder is not None else None
                title = article.title if article else (run.identity() or {}).get("title", "")
            except (UserError, OSError):
                continue
            words = sum(len(s.text.split()) for part in article.all_sections for s in part.sentences) if article else 0
            state = "done" if article else "failed" if failure else "stopped"
            yield {"name": path.name, "title": title or path.name, "state": state, "words": words, "at": _changed(path)}

    def shown(self, name: str) -> dict[str, Any]:
        """All that is stored of a run, as far as it has come."""
        run = self.run(name)
        folder = _event(run)
        asked = codec.to_plain(self.asked(run))
        found: dict[str, Any] = {"name": name, "asked": asked, "title": asked["title"], "state": "stopped", "why": ""}
        if folder is None:
            return found
        pages = folder.stored_pages()
        if pages is not None:
            found["pages"] = [plain_page(n, page) for n, page in enumerate(pages)]
        found |= _read(folder)
        outline = _stage(folder, OUTLINE)
        if outline is not None:
            found["title"], found["outline"] = outline.title, [heading.text for heading in outline.headings]
            found["sections"] = {
                n: codec.to_plain(written.section.paragraphs)
                for n in range(len(outline.headings) + 1)
                if (written := _stage(folder, section_stage(n))) is not None
            }
        failure, article = folder.failure(), folder.article()
        if failure is not None:
            found |= {"state": "failed", "why": f"{failure.stage}: {failure.message}"}
        if article is not None:
            shown = self._article(run, folder, article) | {"warning": none_mentions(article.title, pages or ())}
            found |= {"state": "done", "title": article.title, "article": shown, "changes": _changes(run)}
        return found

    def _article(self, run: RunFolder, folder: EventFolder, article: Article) -> dict[str, Any]:
        corrections, numbers = run_corrections(run, folder.event_id), number(article)
        disagreements = _stage(folder, DISAGREEMENTS)
        return {
            "title": article.title,
            "notice": notice_of(article),
            "sections": [_section(section, corrections) for section in article.all_sections],
            "infobox": [{"label": f.label, "value": f.value, "cites": f.cites} for f in article.infobox],
            "numbers": numbers,
            "sources": _pages_cited(article),
            "disagreements": [one.in_words() for one in disagreements.found] if disagreements else [],
            "left_out": [f"{r.text} ({in_words(r)})" for r in article.repairs if r.kind == "sentence_removed"][:100],
        }

    def passage(self, name: str, cite: str) -> dict[str, Any]:
        """The passage with what is around it on its page. Raises UserError where there is none such."""
        folder = _event(self.run(name))
        pages = (folder.stored_pages() if folder is not None else None) or ()
        match = re.fullmatch(r"(\d{1,6}):(\d{1,9})-(\d{1,9})", cite, re.ASCII)
        if not match or not int(match[1]) < len(pages):
            raise UserError(f"there is no passage {cite[:40]!r}")
        at, start, end = map(int, match.groups())
        page = pages[at]
        return {
            **plain_page(at, page),
            "retrieved": page.retrieved_at[:10],
            "warnings": [WARNINGS[flag] for flag in page.flags if flag in WARNINGS],
            "before": page.text[:start],
            "passage": page.text[start:end],
            "after": page.text[end:],
        }

    def correct(self, name: str, text: str, now: str) -> None:
        """Strike a sentence (`now` ""), reword it, or give it back its own words. The previews are made anew."""
        run = self.run(name)
        folder = _event(run)
        article = folder.article() if folder is not None else None
        if folder is None or article is None:
            raise UserError("the article is not finished; correct it when it is")
        if not any(s.text == text for section in article.all_sections for s in section.sentences):
            raise UserError(f"the article has no sentence {text[:80]!r}")
        now = " ".join(now.split())
        if len(now) > MOST_CHARACTERS:
            raise UserError(f"a sentence of {len(now):,} characters is too long; the most are {MOST_CHARACTERS:,}")
        with self._correcting:  # two browsers may have the same article open
            made = run_corrections(run, folder.event_id).with_one(Correction(text, now))
            codec.write_atomic(folder.path / f"{CORRECTIONS}.json", codec.to_json(made, indent=1) + "\n")
            preview.write_previews(run, (run.identity() or {}).get("system", "ours"))

    def download(self, name: str, form: str) -> tuple[str, bytes]:
        """(file name, content) of the article as corrected, or of all that it rests on (`zip`)."""
        run = self.run(name)
        folder = _event(run)
        article = folder.article() if folder is not None else None
        if folder is None or article is None:
            raise UserError("the article is not finished; download it when it is")
        if form == "zip":
            return f"{name}.zip", _zipped(run.path, [*(run.path / "evidence").rglob("*"), *folder.path.rglob("*.json")])
        if form == "json":
            shown = corrected(article, run_corrections(run, folder.event_id))
            return f"{name}.json", f"{codec.to_json(shown, indent=1)}\n".encode()
        preview.write_previews(run, (run.identity() or {}).get("system", "ours"))
        form = {"dossier": "dossier.html", "dossier-wiki": "dossier.wiki"}.get(form, form)
        return f"{name}.{form}", (run.path / "articles" / f"{folder.event_id}.{form}").read_bytes()


def _pages_cited(article: Article) -> list[dict[str, Any]]:
    """Each page once, in the order of its first citation, with the numbers of its passages."""
    found: dict[tuple[int, str], dict[str, Any]] = {}
    for k, source in enumerate(article.sources, 1):
        page = found.setdefault(
            (source.passage.page, source.url),
            {
                "title": name_of(source.title, source.url, k),
                "host": host_of(source.url),
                "link": web_link(source.url) or "",
                "published": source.published or "",
                "rating": str(reliability(source.url) or ""),
                "cites": [],
            },
        )
        page["cites"].append(source.id)
    return [*found.values()]


def _changes(run: RunFolder) -> list[str]:
    """What an update found and did, line by line; nothing for a run that is none."""
    from flows.update_lines import lines
    from pipeline.following.updating import UpdateReport

    path = run.path / "changes.json"
    if not path.is_file():
        return []
    told = (line.strip().removeprefix("- ").lstrip("# ") for line in lines(codec.read(UpdateReport, path), shown=str))
    return [line for line in told if line][:MOST_SHOWN]


def _zipped(root: Path, paths: Sequence[Path]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(path for path in paths if path.is_file()):
            archive.write(path, f"{root.name}/{path.relative_to(root)}")
    return content.getvalue()


def _section(section: Section, corrections: Corrections) -> dict[str, Any]:
    def shown(text: str) -> dict[str, Any]:
        made = corrections.of(text)
        state = "" if made is None else "reworded" if made.now else "struck"
        return {"text": made.now if made and made.now else text, "own": text, "state": state}

    paragraphs = [
        [{**shown(s.text), "cites": s.cites, "unsupported": s.unsupported} for s in paragraph]
        for paragraph in section.paragraphs
    ]
    return {"heading": section.heading.text, "paragraphs": paragraphs}


def _read(folder: EventFolder) -> dict[str, Any]:
    """What the model made of the pages, as far as it has come."""
    found: dict[str, Any] = {}
    card, about, notes = _stage(folder, CARD), _stage(folder, ABOUT), _stage(folder, NOTES)
    if card is not None:
        found["card"] = card.text
    if about is not None:
        found["about"] = [plain_verdict(one) for one in about.pages]
    if notes is not None:
        found["noted"] = [plain_note(one.text, one.cites) for one in (*notes.statements, *notes.story)]
        found["noted_not"] = [f"{one.text} ({one.reason})" for one in notes.dropped]
    return found


def _event(run: RunFolder) -> EventFolder | None:
    """The one event of a run of `write`."""
    return next(run.event_folders(), None)


def _stage(folder: EventFolder, stage: Stage[T]) -> T | None:
    path = folder.file(stage)
    try:
        return codec.read(stage.kind, path) if path.is_file() else None
    except UserError:  # of another mode, whose sections are other values
        return None


def _changed(path: Path) -> float:
    try:
        return max(found.stat().st_mtime for found in (path, path / "run.json", path / "articles") if found.exists())
    except OSError:
        return 0.0
