"""Every knob, typed, in one place: default < `--config FILE.toml` < `--set section.key=value` < named flags.

Functions take the slice they need, never the whole tree. Secrets are not settings: they come from the environment only.
"""

from __future__ import annotations

import argparse
import difflib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from data import codec
from data.errors import UserError
from data.types import Strict, Track

EvidenceFrom = Literal["recorded", "links", "search"]
RetrievalMethod = Literal["bm25", "tfidf", "dense", "hybrid"]
UnsupportedPolicy = Literal["remove", "mark", "keep"]
RenderWhen = Literal["never", "auto", "always"]


def knob(default: Any, help: str) -> Any:
    """A setting with one line on what it does; docs/settings.md prints it."""
    return field(default=default, metadata={"help": help})


@dataclass(frozen=True, slots=True)
class ModelSettings(Strict):
    """The language model."""

    name: str = knob(
        "", "a name of `wikigenben models`, gguf:FILE, hf:PATH_OR_ID or server:NAME@URL; empty is the default of ours"
    )
    device: str = knob("auto", "cpu, cuda, or auto: a GPU where there is one")
    dtype: str = knob("auto", "float32, bfloat16, float16, int8, int4, or auto (docs/decoder.md)")
    timeout_s: float = knob(120.0, "seconds that a server may take for one answer")
    at_once: int = knob(8, "requests that a server gets at the same time, at most")
    temperature: float = knob(0.0, "0 is greedy; above it answers are sampled with the seed")
    seed: int = knob(0, "of sampling")


@dataclass(frozen=True, slots=True)
class DecodingSettings(Strict):
    """How a local model decodes: its speed, never its text."""

    method: str = knob("auto", "who drafts: auto, mix, copy, recycle, skip, draft, knn-ssd, ... (docs/decoder.md)")
    draft_model: str = knob(
        "", "a smaller model of the same tokenizer that drafts: a name of `wikigenben models`, gguf:FILE, ...; empty is none"
    )
    lengths: str = knob(
        "", "how long drafts of skipped and draft models are: threshold, fixed:N, expected; empty is the method's own choice"
    )
    calibration: str = knob("", "folder of `python -m decoding.calibrate`; empty is the usual place for the model")
    backend: str = knob("auto", "what computes a step: auto, lowbit, packed, driven, hf")


@dataclass(frozen=True, slots=True)
class EvidenceSettings(Strict):
    """Where the pages of a benchmark's event come from. Commands without a benchmark have no use for it."""

    source: EvidenceFrom = knob(
        "recorded", "recorded in its folder, its links fetched anew, or what a search (web.search) finds"
    )
    track: Track = knob("search", "search: what a search engine found; cited: what the human article cites; both")
    leak_filter: bool = knob(True, "drop pages that are, or copy, the human article")
    languages: tuple[str, ...] = knob(("en",), "ISO codes of the pages to keep")


@dataclass(frozen=True, slots=True)
class WebSettings(Strict):
    """Evidence from the live web (`pipeline.web`). Nothing here applies to the recorded pages of a benchmark folder."""

    search: str = knob(
        "", "search engines, the first that answers: searxng, brave, serper, tavily, ddgs; empty is given addresses only"
    )
    results: int = knob(10, "results asked for with each query")
    max_pages: int = knob(60, "pages at most")
    total_s: float = knob(600.0, "seconds for all of them")
    at_once: int = knob(8, "pages fetched at a time")
    min_delay_s: float = knob(1.0, "seconds between two requests to one host")
    respect_robots: bool = knob(True, "keep to robots.txt")
    allow_origins: tuple[str, ...] = knob(
        (), "origins to ask though their host, port or address is refused: http://wiki.corp.lan:8080"
    )
    contact: str = knob("", "address or page in the User-Agent, for the people of the sites")
    as_of: str = knob("", "YYYY-MM-DD: drop what was published later")
    strict_dates: bool = knob(False, "with as_of, drop what has no date, too")
    archive: bool = knob(False, "ask the Wayback Machine for pages that are gone")
    leak_hosts: bool = knob(False, "drop Wikipedia and its mirrors, for articles that are scored")
    render: RenderWhen = knob(
        "never", "draw pages in an installed Chromium, and read what is painted: never, auto (pages without a text), always"
    )
    cache_hours: float = knob(24.0, "hours for which a page is not asked for again")
    cache_mb: int = knob(2048, "MiB of pages that are kept for that")
    cache_days: float = knob(90.0, "days after which a page that nobody used goes")


@dataclass(frozen=True, slots=True)
class RetrievalSettings(Strict):
    """Which passages are found for a heading or a title."""

    method: RetrievalMethod = knob("hybrid", "bm25, tfidf, dense (MiniLM), or hybrid: all three fused")
    passage_words: int = knob(120, "words of a passage")
    passage_overlap: int = knob(0, "words that two neighbours share")
    top_k: int = knob(8, "passages that one prompt shows")
    rrf_k: int = knob(60, "damps low ranks in the fusion")


@dataclass(frozen=True, slots=True)
class WritingSettings(Strict):
    """The article."""

    max_words: int = knob(1500, "words of the whole article, at most")
    max_sections: int = knob(8, "sections, at most")
    section_max_tokens: int = knob(400, "new tokens of one call of the model, at most")
    read_words: int = knob(
        2500, "words of the pages that the model of ours reads for its notes, nearest first; of long evidence a third"
    )
    notes_together: int = knob(
        0, "notes that one call of ours says, at most 8; 0 is four for a model of 3B parameters or a server, else one"
    )
    about: str = knob("", "what the subject is, in one sentence, where the model would take it for something else (--about)")
    unsupported: UnsupportedPolicy = knob("remove", "what happens to a sentence that no page supports: remove, mark, keep")


@dataclass(frozen=True, slots=True)
class EvaluationSettings(Strict):
    """The scores."""

    judge: str = knob("embedded", "decides support: embedded, lexical, overlap, nli:MODEL, llm:NAME@URL")
    rubrics: str = knob("", "judge of writing quality, llm:NAME@URL; empty is none")
    resamples: int = knob(10_000, "of the bootstrap over events")
    seed: int = knob(0, "of the bootstrap, and of the order of floors")


@dataclass(frozen=True, slots=True)
class Settings(Strict):
    model: ModelSettings = field(default_factory=ModelSettings)
    decoding: DecodingSettings = field(default_factory=DecodingSettings)
    evidence: EvidenceSettings = field(default_factory=EvidenceSettings)
    web: WebSettings = field(default_factory=WebSettings)
    retrieval: RetrievalSettings = field(default_factory=RetrievalSettings)
    writing: WritingSettings = field(default_factory=WritingSettings)
    evaluation: EvaluationSettings = field(default_factory=EvaluationSettings)


def add_setting_flags(parser: argparse.ArgumentParser | argparse._ArgumentGroup, *, file: bool = True) -> None:
    """`--config` and `--set`, whose values are the first two arguments of `load_settings`."""
    if file:
        parser.add_argument("--config", type=Path, metavar="FILE", help="settings as TOML")
    parser.add_argument(
        "--set", dest="assignments", action="append", default=[], metavar="SECTION.KEY=VALUE", help="one setting; repeatable"
    )


def add_render_flag(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """`--render`, alone for every page."""
    parser.add_argument(
        "--render",
        action="store_const",
        const="always",
        help="read pages as an installed Chromium paints them (--set web.render=auto: only those without a text)",
    )


def load_settings(config: Path | None = None, assignments: Sequence[str] = (), **flags: Mapping[str, Any]) -> Settings:
    """Merge all layers. `flags` maps a section to `{key: value}`; a value of None means the flag was not given."""
    tree: dict[str, dict[str, Any]] = {}
    if config is not None:
        try:
            loaded = tomllib.loads(config.read_text(encoding="utf-8"))
        except OSError as error:
            raise UserError(f"cannot read --config {config}: {error.strerror}") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise UserError(f"--config {config} is not TOML: {error}") from None
        for section, values in loaded.items():
            if not isinstance(values, dict):
                raise UserError(f"--config {config}: {section} must be a table, as in [writing]")
            for key, value in values.items():
                _assign(tree, section, key, value, f"--config {config}")
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        section, dot, key = name.strip().partition(".")
        if not equals or not dot:
            raise UserError(f"--set {assignment!r} is not of the form section.key=value, such as retrieval.top_k=8")
        plain: Any = value.strip()
        if (section, key) in (("evidence", "languages"), ("web", "allow_origins")):
            plain = [part for part in plain.split(",") if part]
        _assign(tree, section, key, plain, "--set")
    for section, given in flags.items():
        for key, value in given.items():
            if value is not None:
                _assign(tree, section, key, value, f"--{key.replace('_', '-')}")
    settings = codec.from_plain(Settings, tree, where="settings")
    _check(settings)
    return settings


def _assign(tree: dict[str, dict[str, Any]], section: str, key: str, value: object, where: str) -> None:
    sections = {f.name: f.default_factory for f in fields(Settings)}
    if section not in sections:
        raise UserError(f"{where}: there is no settings section {section!r}{_nearest(section, sections)}")
    keys = [f.name for f in fields(sections[section])]  # type: ignore[arg-type]
    if key not in keys:
        raise UserError(f"{where}: {section} has no setting {key!r}{_nearest(key, keys)}")
    tree.setdefault(section, {})[key] = value


def _nearest(name: str, known: Mapping[str, object] | Sequence[str]) -> str:
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else f"; known: {', '.join(known)}"


def _check(settings: Settings) -> None:
    """Ranges that types cannot say."""
    least: tuple[tuple[str, float, float], ...] = (
        ("model.timeout_s", settings.model.timeout_s, 1),
        ("model.temperature", settings.model.temperature, 0),
        ("web.results", settings.web.results, 1),
        ("web.max_pages", settings.web.max_pages, 1),
        ("web.total_s", settings.web.total_s, 1),
        ("web.at_once", settings.web.at_once, 1),
        ("web.min_delay_s", settings.web.min_delay_s, 0),
        ("web.cache_hours", settings.web.cache_hours, 0),
        ("web.cache_mb", settings.web.cache_mb, 1),
        ("web.cache_days", settings.web.cache_days, 1),
        ("retrieval.passage_words", settings.retrieval.passage_words, 20),
        ("retrieval.passage_overlap", settings.retrieval.passage_overlap, 0),
        ("retrieval.top_k", settings.retrieval.top_k, 1),
        ("retrieval.rrf_k", settings.retrieval.rrf_k, 1),
        ("writing.max_words", settings.writing.max_words, 50),
        ("writing.max_sections", settings.writing.max_sections, 1),
        ("writing.read_words", settings.writing.read_words, 200),
        ("writing.notes_together", settings.writing.notes_together, 0),
        ("writing.section_max_tokens", settings.writing.section_max_tokens, 16),
        ("evaluation.resamples", settings.evaluation.resamples, 100),
        ("evaluation.seed", settings.evaluation.seed, 0),
    )
    for name, value, low in least:
        if not value >= low:  # in this form NaN is refused too
            raise UserError(f"settings: {name} = {value} is too small; the least is {low}")
    most: tuple[tuple[str, float, float], ...] = (("writing.notes_together", settings.writing.notes_together, MOST_TOGETHER),)
    for name, value, high in most:
        if value > high:
            raise UserError(f"settings: {name} = {value} is too large; the most is {high:g}")


MOST_TOGETHER = 8
