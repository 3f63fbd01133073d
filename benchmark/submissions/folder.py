"""The folder that a submission travels in, and everything that can be wrong with one.

    NAME/submission.json            `benchmark.submissions.submission`
    NAME/evidence.json              for each event its pages: number, address and SHA-256 of the text, never the text
    NAME/articles/<event id>.json   `data.types.Article` as `data.codec` writes it; no folder where rights forbid text
    NAME/results/<event id>.json    what the judge said of each claim that could be judged; optional
    NAME/rescored.json              when, by which code and from which data `wikigenben rescore` scored it again; optional
    scored-here.json                beside the folders: which of them this site scored again itself (`ledger`)

Where rights forbid text, evidence.json holds one hash for the pages of an event. What a folder says of its own scores, its
rescored.json among it, is the word of whoever sent it.

A folder comes from anyone: it is read within limits of size, links in it are not followed, and no name of it becomes a path.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from benchmark.submissions import submission, submission_faults
from benchmark.submissions.submitted import Submission
from data import codec
from data.errors import UserError
from data.markup import is_invalid, reread
from data.runs import RunFolder
from data.scores import EventScores
from data.stage_types import ARTICLE
from data.types import Article, Page, Sentence, Source, Strict
from data.wikigenbench import too_long

T = TypeVar("T")
SUBMISSION, EVIDENCE, ARTICLES, RESULTS, RESCORED = "submission.json", "evidence.json", "articles", "results", "rescored.json"
SCHEMA = "wikigenben-evidence/1"
RECORD_SCHEMA = "wikigenben-rescored/1"
MOST_ARTICLE_BYTES = 2 * 2**20
"""Of one article or its results. The longest that a system of ours wrote takes 70 kB."""
MOST_URL_CHARS = 4_000
MOST_LINES, MOST_LINE_CHARS = 200, 1_000
"""Reasons that are given of one submission, and the length of each."""

_MARKUP = re.compile(
    r"<\s*/?\s*(?:script|style|iframe|object|embed|svg)\b|<\s*/?\s*[a-z][a-z0-9]*(?:\s[^<>]{0,500})?/?>|javascript:",
    re.IGNORECASE,
)
_ACTIVE = re.compile(r"\s*(?:javascript|data|vbscript|file)\s*:", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class EvidencePage(Strict):
    """A page that an event's citations may point into: `id` is the number before the colon of a passage id.

    `usable` is False for a page that cleaning dropped. `own` marks text of the system's own finding, which is not among the
    benchmark's pages.
    """

    id: int
    url: str
    sha256: str
    n_chars: int
    usable: bool = True
    own: bool = False


@dataclass(frozen=True, slots=True)
class Evidence(Strict):
    """An event has its pages in `events`, or in `digests` their `pages_digest`, which is enough where no article cites them."""

    schema: str
    events: dict[str, tuple[EvidencePage, ...]]
    digests: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Record(Strict):
    """What scoring again found. `submission_sha256` is of the submission.json that lies beside it; `data_sha256` of the human
    articles and the cleaned pages that were scored against; `differences` are the first of `n_differences`."""

    schema: str
    rescored_at: str
    version: str
    commit: str
    data_sha256: str
    submission_sha256: str
    n_differences: int
    differences: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class JudgedCitation(Strict):
    id: str
    right: bool


@dataclass(frozen=True, slots=True)
class JudgedSentence(Strict):
    """Section 0 is the lead; `sentence` counts from 0 over the paragraphs of its section, in the article as it is scored
    (`data.markup.reread`)."""

    section: int
    sentence: int
    supported: bool
    citations: tuple[JudgedCitation, ...] = ()


@dataclass(frozen=True, slots=True)
class Checked:
    """`problems` refuse a submission; `notes` are what a reader of it should know. `submission` is None if unreadable."""

    submission: Submission | None
    problems: tuple[str, ...]
    notes: tuple[str, ...] = ()


# ---- writing


def evidence_pages(pages: Sequence[Page], article: Article | None) -> tuple[EvidencePage, ...]:
    """The benchmark's pages, then what the article cites beyond them."""
    known = [EvidencePage(n, p.url, codec.sha256(p.text), len(p.text), p.usable) for n, p in enumerate(pages)]
    own = {
        source.passage.page: EvidencePage(
            source.passage.page, source.url, codec.sha256(source.passage.text), source.passage.end, own=True
        )
        for source in (article.sources if article else ())
        if source.passage.page >= len(pages)
    }
    return (*known, *(own[number] for number in sorted(own)))


def pages_digest(pages: Sequence[EvidencePage]) -> str:
    """One hash for the pages of an event: their numbers, addresses, texts and what cleaning dropped."""
    return codec.sha256(codec.to_json(list(pages)))


def digests_of(evidence: Evidence) -> dict[str, str]:
    """For each event the hash of its pages, whether they are listed or not."""
    return evidence.digests | {event_id: pages_digest(pages) for event_id, pages in evidence.events.items()}


def write(run: RunFolder, made: Submission, out: Path, results: Mapping[str, Sequence[JudgedSentence]] | None) -> None:
    """The folder of a finished run; `results` of None leaves out all text, articles included.

    Raises UserError when the folder is in use, or an article is not the one that was scored.
    """
    must_be_empty(out)
    pages: dict[str, tuple[EvidencePage, ...]] = {}
    texts: dict[str, str] = {}
    for event in made.events:
        folder = run.event(event.id)
        article = None
        if event.article_sha256:
            texts[event.id] = _scored_text(folder.file(ARTICLE), event)
            article = codec.from_json(Article, texts[event.id], where=str(folder.file(ARTICLE)))
        stored = folder.stored_pages()
        if stored is None and article is not None:
            raise UserError(f"{folder.path} has no pages.jsonl, so its evidence cannot be named; write the event again")
        pages[event.id] = evidence_pages(stored or (), article)
    if results is None:
        write_hashes(made, Evidence(SCHEMA, pages), out)
    else:
        for event_id, text in texts.items():
            codec.write_atomic(out / ARTICLES / f"{event_id}.json", text)
        write_results(out, results)
        codec.write_atomic(out / EVIDENCE, codec.to_json(Evidence(SCHEMA, pages), indent=1) + "\n")
        submission.write(out / SUBMISSION, made)


def write_results(folder: Path, results: Mapping[str, Sequence[JudgedSentence]]) -> None:
    """The judge's verdicts in place of those that lie there."""
    if (folder / RESULTS).is_symlink():  # it may lead to files that are not ours
        (folder / RESULTS).unlink()
    for old in (folder / RESULTS).glob("*.json"):
        old.unlink()
    for event_id, sentences in results.items():
        codec.write_atomic(folder / RESULTS / f"{event_id}.json", codec.to_json(list(sentences)) + "\n")


def write_hashes(made: Submission, evidence: Evidence, out: Path) -> None:
    """The submission without any text: rows and hashes, small enough to be kept under version control."""
    codec.write_atomic(out / EVIDENCE, codec.to_json(Evidence(SCHEMA, {}, digests_of(evidence)), indent=1) + "\n")
    submission.write(out / SUBMISSION, made, compact=True)


def must_be_empty(out: Path) -> None:
    if out.exists() and (not out.is_dir() or any(not codec.is_temporary(path) for path in out.iterdir())):
        raise UserError(f"{out} is not an empty folder; choose another --out, or add --replace if it is an older submission")


def clear(out: Path) -> None:
    """Remove an older submission. Raises UserError when anything else lies there: that is not ours to delete."""
    if not out.exists():
        return
    if not out.is_dir() or out.is_symlink() or (any(out.iterdir()) and not (out / SUBMISSION).is_file()):
        raise UserError(f"{out} is not an older submission, so it is not replaced; choose another --out")
    if stray := list(_stray_problems(out)):
        raise UserError(f"{out} holds more than a submission, so it is not replaced: {stray[0]}; choose another --out")
    shutil.rmtree(out)


def _scored_text(path: Path, event: EventScores) -> str:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}; score the run again with benchmark.evaluate") from None
    if codec.sha256(text) != event.article_sha256:
        raise UserError(f"{path} is not the article that was scored; score the run again with benchmark.evaluate")
    return text


# ---- reading


def read_article(folder: Path, event: EventScores) -> Article:
    """The article of an event that was scored. Raises UserError naming everything that keeps it from being that."""
    path = folder / ARTICLES / f"{event.id}.json"
    article, faults = _read_small(Article, path, f"{ARTICLES}/{event.id}.json", sha256=event.article_sha256)
    if article is None or faults:
        raise UserError("; ".join(faults))
    return article


def read_evidence(folder: Path) -> Evidence:
    """Raises UserError naming everything that is wrong with the file."""
    found, faults = _read_evidence(folder)
    if found is None:
        raise UserError("; ".join(faults))
    return found


def read_record(folder: Path) -> Record | None:
    """None without one. Raises UserError when it cannot be read."""
    path = folder / RESCORED
    if path.is_symlink() or not path.exists():
        return None
    record, faults = _read_small(Record, path, RESCORED)
    if record is None or faults or record.schema != RECORD_SCHEMA:
        raise UserError("; ".join(faults) or f"{RESCORED}: its schema is not {RECORD_SCHEMA!r}")
    return record


def has_articles(folder: Path) -> bool:
    return (folder / ARTICLES).is_dir() and not (folder / ARTICLES).is_symlink()


def check(folder: Path) -> Checked:
    """A submission folder, or its submission.json alone."""
    alone = not folder.is_dir()
    path = folder if alone else folder / SUBMISSION
    made, problems = (None, [f"{SUBMISSION} is a link"]) if path.is_symlink() else submission.read_checked(path)
    problems = list(problems)
    notes: list[str] = []
    if not alone:
        problems += _stray_problems(folder)
        if made is not None:
            found = _FolderCheck(folder, made)
            problems += found.run()
            notes += found.notes
    return Checked(made, _told(problems), _told(notes))


def _told(lines: Sequence[str]) -> tuple[str, ...]:
    """Lines that a page or a terminal can take, whatever a folder holds."""
    cut = [line if len(line) <= MOST_LINE_CHARS else f"{line[: MOST_LINE_CHARS - 1]}…" for line in lines[:MOST_LINES]]
    more = [f"and {len(lines) - MOST_LINES} more"] if len(lines) > MOST_LINES else []
    return tuple(line.encode("utf-8", "backslashreplace").decode("utf-8") for line in (*cut, *more))


def _stray_problems(folder: Path) -> Iterator[str]:
    """Entries that no part of a submission has, links first: a link may lead out of the folder."""
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder).as_posix()
        if path.is_symlink():
            yield f"{place} is a link"
        elif len(path.relative_to(folder).parts) == 1:
            if path.name not in ((ARTICLES, RESULTS) if path.is_dir() else (SUBMISSION, EVIDENCE, RESCORED)):
                yield f"{place} is no part of a submission"
        elif not path.is_dir() and not path.is_file():
            yield f"{place} is a pipe, socket or device, not a file"
        elif path.is_dir() or path.suffix != ".json" or path.name.startswith("."):
            yield f"{place} is no part of a submission: {path.parent.name}/ holds <event id>.json"


def _read_small(kind: type[T], path: Path, place: str, *, sha256: str | None = None) -> tuple[T | None, list[str]]:
    """The value of a file of one event, and the problems of the file."""
    if path.is_symlink() or not path.exists():
        return None, [f"{place} is a link" if path.is_symlink() else f"{place} is missing"]
    try:
        content = codec.read_bounded(path, MOST_ARTICLE_BYTES, shown=place)
        text = content.decode("utf-8")
        codec.json_of(content, where=place)
    except UserError as error:
        return None, [str(error)]
    except UnicodeDecodeError as error:
        return None, [f"{place} is not UTF-8: {error}"]
    faults = []
    if sha256 is not None and (found := codec.sha256(text)) != sha256:
        faults.append(f"{place} has the hash {found}, not {sha256} as scored")
    if unreadable := codec.faults(kind, text):
        return None, [*faults, *(f"{place}: {fault}" for fault in unreadable)]
    return codec.from_json(kind, text, where=place), faults


def _read_evidence(folder: Path) -> tuple[Evidence | None, list[str]]:
    path = folder / EVIDENCE
    if path.is_symlink() or not path.exists():
        return None, [f"{EVIDENCE} is missing"]
    try:
        text = codec.read_bounded(path, submission.MOST_BYTES, shown=EVIDENCE)
        codec.json_of(text, where=EVIDENCE)
    except UserError as error:
        return None, [str(error)]
    if faults := codec.faults(Evidence, text):
        return None, [f"{EVIDENCE}: {fault}" for fault in faults]
    return codec.from_json(Evidence, text, where=EVIDENCE), []


class _FolderCheck:
    """What the files beside a readable submission.json must be."""

    def __init__(self, folder: Path, made: Submission) -> None:
        self.folder = folder
        self.made = made
        self.scored = {event.id: event for event in made.events if event.article_sha256}
        self.notes: list[str] = []
        self.cites_own = False

    def run(self) -> list[str]:
        evidence, problems = _read_evidence(self.folder)
        pages = evidence.events if evidence else None
        if evidence is not None:
            problems += self._evidence_problems(evidence)
        problems += self._record_problems()
        self.notes += self._unasked()
        if not has_articles(self.folder):
            if (self.folder / RESULTS).is_dir():
                problems.append(f"{RESULTS}/ speaks of articles that are not there")
            return problems
        if evidence is not None and evidence.digests:
            problems.append(f"{EVIDENCE} has one hash for the pages of an event, and articles cite single pages: list them")
        problems += self._name_problems()
        for event_id, event in self.scored.items():
            if submission_faults.is_file_name(event_id):
                problems += self._event_problems(event, None if pages is None else pages.get(event_id, ()))
        if self.cites_own and not self.made.system.uses_web:
            problems.append(
                "articles cite text that is not in the benchmark's evidence, and system.uses_web is false; such a system is "
                "ranked apart: set uses_web = true"
            )
        return problems

    def _unasked(self) -> Iterator[str]:
        """What nobody can see from the folder alone."""
        if self.made.recomputed:
            yield "it says that its scores were computed again: a leaderboard believes its own scored-here.json alone"
        if (self.folder / RESULTS).is_dir():
            yield f"whether a judge said what {RESULTS}/ holds is not looked at here; rescore does"

    def _record_problems(self) -> Iterator[str]:
        """Without articles the scores rest on the record alone, so it must be there and be of this very file."""
        try:
            record = read_record(self.folder)
        except UserError as error:
            yield str(error)
            return
        found = codec.sha256_bytes(codec.read_bounded(self.folder / SUBMISSION, submission.MOST_BYTES))
        if record is not None and record.submission_sha256 != found:
            yield f"{RESCORED} is of a {SUBMISSION} with the hash {record.submission_sha256[:70]}, and this one has {found}"
        if has_articles(self.folder):
            return
        if not self.made.recomputed:
            self.notes.append("it holds no articles, so its scores cannot be computed again and it cannot be ranked")
        elif record is None:
            yield f"it says that its scores were computed again, and holds neither articles nor {RESCORED} that says when"
        else:
            self.notes.append(
                f"it holds no articles: its scores were computed from them on {record.rescored_at[:10]}, before they were left "
                "out; whoever has the data compares hashes and scores with: wikigenben reproduce --check"
            )

    def _evidence_problems(self, evidence: Evidence) -> Iterator[str]:
        if evidence.schema != SCHEMA:
            yield f"{EVIDENCE}: schema is {evidence.schema!r}, expected {SCHEMA!r}"
        listed, known = {event.id for event in self.made.events}, evidence.events.keys() | evidence.digests.keys()
        if missing := sorted(listed - known):
            yield f"{EVIDENCE} lacks the events {submission_faults.some(missing)}"
        if foreign := sorted(known - listed):
            yield f"{EVIDENCE} lists events that {SUBMISSION} does not: {submission_faults.some(foreign)}"
        for event_id, digest in evidence.digests.items():
            if not submission_faults.is_sha256(digest):
                yield f"{EVIDENCE}: the digest of event {event_id}, {digest[:70]!r}, is no SHA-256"
        for event_id, pages in evidence.events.items():
            if [page.id for page in pages] != sorted({page.id for page in pages}) or any(page.id < 0 for page in pages):
                yield f"{EVIDENCE}: the pages of event {event_id} are not numbered upwards, each once, from 0"
            for page in pages:
                if not submission_faults.is_sha256(page.sha256):
                    yield f"{EVIDENCE}: page {page.id} of event {event_id}: {page.sha256[:70]!r} is no SHA-256"
                if len(page.url) > MOST_URL_CHARS or "\n" in page.url:
                    yield f"{EVIDENCE}: page {page.id} of event {event_id}: {page.url[:40]!r}... is a text, not an address"
                if page.n_chars < 0:
                    yield f"{EVIDENCE}: page {page.id} of event {event_id} has {page.n_chars} characters"

    def _name_problems(self) -> Iterator[str]:
        """Files against the rows: an article for each event that was scored, and for no other."""
        articles = {path.stem for path in (self.folder / ARTICLES).glob("*.json")}
        if foreign := sorted(articles - self.scored.keys()):
            yield f"{ARTICLES}/ has files of no scored event: {submission_faults.some(foreign)}"
        results = {path.stem for path in (self.folder / RESULTS).glob("*.json")}
        if foreign := sorted(results - self.scored.keys()):
            yield f"{RESULTS}/ has files of no scored event: {submission_faults.some(foreign)}"

    def _event_problems(self, event: EventScores, pages: Sequence[EvidencePage] | None) -> list[str]:
        place = f"{ARTICLES}/{event.id}.json"
        article, problems = _read_small(
            Article, self.folder / ARTICLES / f"{event.id}.json", place, sha256=event.article_sha256
        )
        if article is None:
            return problems
        if article.event_id != event.id:
            problems.append(f"{place} is the article of event {article.event_id!r}")
        problems += self._citation_problems(place, article, pages)
        if why := too_long(article):
            return [*problems, f"{place} {why}"]
        if problems:
            return problems
        article = reread(article)  # as it is scored
        n_words = sum(len(s.text.split()) for s in _sentences(article))
        if n_words != event.words:
            problems.append(f"{place} has {n_words} words, and {SUBMISSION} says {event.words}")
        texts = [s.text for s in _sentences(article)] + [s.heading.text for s in article.all_sections]
        if found := next((m for text in texts if (m := _MARKUP.search(text))), None):
            self.notes.append(f"{place} holds markup ({found.group()[:40]!r}); it is shown as text")
        results = self.folder / RESULTS / f"{event.id}.json"
        if results.exists() and not results.is_symlink():
            problems += _result_problems(results, f"{RESULTS}/{event.id}.json", article)
        return problems

    def _citation_problems(self, place: str, article: Article, pages: Sequence[EvidencePage] | None) -> Iterator[str]:
        sources = {source.id for source in article.sources}
        cites = {cite for s in _sentences(article) for cite in s.cites} | {c for fact in article.infobox for c in fact.cites}
        if unknown := sorted(cite for cite in cites if cite not in sources and not is_invalid(cite)):
            yield f"{place} cites {unknown[0]!r}, which is not among its sources"
        by_id = {page.id: page for page in pages or ()}
        for source in article.sources if pages is not None else ():
            page = by_id.get(source.passage.page)
            if page is None:
                yield f"{place} cites page {source.passage.page} ({source.id!r}), which {EVIDENCE} does not list for it"
                continue
            self.cites_own = self.cites_own or page.own
            yield from _source_problems(place, source, page)


def read_results(folder: Path, event_id: str) -> tuple[JudgedSentence, ...]:
    """What the judge said of the article's sentences; nothing where the submission does not say, or no longer readably."""
    name = f"{event_id}.json"
    judged, faults = _read_small(tuple[JudgedSentence, ...], folder / RESULTS / name, f"{RESULTS}/{name}")
    return judged if judged is not None and not faults else ()


def _source_problems(place: str, source: Source, page: EvidencePage) -> Iterator[str]:
    passage = source.passage
    if not 0 <= passage.start <= passage.end <= page.n_chars or passage.end - passage.start != len(passage.text):
        yield f"{place} cites {source.id!r} of {len(passage.text)} characters, and the page has {page.n_chars}"
    if page.own and codec.sha256(passage.text) != page.sha256:
        yield f"{place}: the text of {source.id!r} does not have the hash that {EVIDENCE} gives"
    if not page.usable:
        yield f"{place} cites {source.id!r}, and page {page.id} was dropped by cleaning"
    if source.url != page.url:
        yield f"{place} gives {source.url[:100]!r} as the address of page {page.id}, and {EVIDENCE} {page.url[:100]!r}"
    if _ACTIVE.match(source.url):
        yield f"{place}: the address of {source.id!r} is {source.url[:60]!r}, not one of the web"


def _result_problems(path: Path, place: str, article: Article) -> list[str]:
    judged, problems = _read_small(tuple[JudgedSentence, ...], path, place)
    for one in judged or ():
        try:
            if min(one.section, one.sentence) < 0:
                raise IndexError
            sentence = article.all_sections[one.section].sentences[one.sentence]
        except IndexError:
            problems.append(f"{place} judges sentence {one.sentence} of section {one.section}, which is not in the article")
            continue
        if foreign := [citation.id for citation in one.citations if citation.id not in sentence.cites]:
            problems.append(f"{place}: sentence {one.sentence} of section {one.section} does not cite {foreign[0]!r}")
    return problems


def _sentences(article: Article) -> Iterator[Sentence]:
    for section in article.all_sections:
        yield from section.sentences
