"""Every knob, typed, in one place: default < `--config FILE.toml` < `--set section.key=value` < named flags.

Functions take the slice they need, never the whole tree. Secrets are not settings: they come from the environment only.
"""

from __future__ import annotations

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
WritingMode = Literal["auto", "compose", "free", "cite", "verbatim"]

MOST_PRIOR_WEIGHT = 100.0
"""Of `writing.prior_weight`: the ranking alone decides long before."""
MOST_CONTRAST = 10.0
"""Of `writing.contrast`: its paper uses 0.5 and 1, and far above these the difference alone decides."""


@dataclass(frozen=True, slots=True)
class ModelSettings(Strict):
    """`name` is `smollm2`, `gguf:FILE`, `hf:PATH_OR_ID`, or `server:MODEL@BASE_URL`; empty for systems that need no
    model, and for the default of `ours`, which is `smollm2`."""

    name: str = ""
    device: str = "auto"
    dtype: str = "auto"
    timeout_s: float = 120.0
    temperature: float = 0.0
    seed: int = 0


@dataclass(frozen=True, slots=True)
class DecodingSettings(Strict):
    """How a local model (`smollm2`, `gguf:`, `hf:`) decodes: its speed, never its text. See `decoding.methods` and
    `decoding.load`.

    `method` and `lengths` as there; `calibration` is a folder of `decoding.calibrate`, empty for the usual place; `backend` is
    `auto`, `packed`, `static`, `driven` or `hf`. `records` names a file to which every answer is added, token by token, for
    `decoding.certify`; empty for none.
    """

    method: str = "auto"
    lengths: str = ""
    calibration: str = ""
    backend: str = "auto"
    records: str = ""


@dataclass(frozen=True, slots=True)
class EvidenceSettings(Strict):
    """`leak_filter` drops pages that are, or copy, the human article; `languages` lists ISO codes of pages to keep.

    `source` is where the pages of a benchmark's event come from: `recorded` in its folder, its `links` of the track fetched
    anew, or what a `search` (`web.search`) finds for its title. Commands without a benchmark have no use for it.
    """

    source: EvidenceFrom = "recorded"
    track: Track = "search"
    leak_filter: bool = True
    languages: tuple[str, ...] = ("en",)


@dataclass(frozen=True, slots=True)
class WebSettings(Strict):
    """Evidence from the live web (`pipeline.web`). Nothing here applies to the recorded pages of a benchmark folder.

    `search` names the provider, empty for given addresses only; `results` is asked of it for each query. At most `max_pages`
    pages in `total_s` seconds, `at_once` at a time, to one host `min_delay_s` apart. `as_of` (YYYY-MM-DD) drops what was
    published later, with `strict_dates` also what has no date. `allow_origins` (such as http://wiki.corp.lan:8080) are asked
    although their host, port or address would be refused. `archive` asks the Wayback Machine for pages that are gone.
    `leak_hosts` drops Wikipedia and its mirrors, for articles that are scored. A page is not asked for again within
    `cache_hours`; the pages that are kept for that fill at most `cache_mb` MiB, and go when unused for `cache_days`.
    """

    search: str = ""
    results: int = 10
    max_pages: int = 60
    total_s: float = 600.0
    at_once: int = 8
    min_delay_s: float = 1.0
    respect_robots: bool = True
    allow_origins: tuple[str, ...] = ()
    contact: str = ""
    as_of: str = ""
    strict_dates: bool = False
    archive: bool = False
    leak_hosts: bool = False
    cache_hours: float = 24.0
    cache_mb: int = 2048
    cache_days: float = 90.0


@dataclass(frozen=True, slots=True)
class RetrievalSettings(Strict):
    """`passage_words` is a passage's size; `top_k` how many passages one prompt shows; `rrf_k` damps low ranks."""

    method: RetrievalMethod = "hybrid"
    passage_words: int = 120
    passage_overlap: int = 0
    top_k: int = 8
    rrf_k: int = 60


@dataclass(frozen=True, slots=True)
class WritingSettings(Strict):
    """`max_words` bounds the whole article; `section_max_tokens` one call of the model.

    `mode` is how `ours` writes: `compose` puts planned statements into other words, a few at a time; `free` writes whole
    sections and checks them, `cite` with markers that name shown passages only; `verbatim` quotes evidence sentences. `auto` is
    `compose` for every model that follows instructions. `prior_weight` is how much the ranking of
    those sentences counts beside the model's own choice (`verbatim`; 0 leaves it to the model). `contrast` is how much more the
    passages count than the model's own belief (`free` and `cite` with a local model; the alpha of context-aware decoding, 0.5
    in its paper; 0 is off): a second sequence is read for it, and its seconds are printed.
    """

    max_words: int = 1500
    max_sections: int = 8
    section_max_tokens: int = 400
    unsupported: UnsupportedPolicy = "remove"
    mode: WritingMode = "auto"
    prior_weight: float = 4.0
    contrast: float = 0.0


@dataclass(frozen=True, slots=True)
class EvaluationSettings(Strict):
    """`resamples` of the event bootstrap, its `seed`, and which judge decides support. `rubrics` names the judge of writing
    quality, `llm:NAME@BASE_URL`; empty for none."""

    judge: str = "embedded"
    rubrics: str = ""
    resamples: int = 10_000
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Settings(Strict):
    model: ModelSettings = field(default_factory=ModelSettings)
    decoding: DecodingSettings = field(default_factory=DecodingSettings)
    evidence: EvidenceSettings = field(default_factory=EvidenceSettings)
    web: WebSettings = field(default_factory=WebSettings)
    retrieval: RetrievalSettings = field(default_factory=RetrievalSettings)
    writing: WritingSettings = field(default_factory=WritingSettings)
    evaluation: EvaluationSettings = field(default_factory=EvaluationSettings)


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
        ("writing.section_max_tokens", settings.writing.section_max_tokens, 16),
        ("writing.prior_weight", settings.writing.prior_weight, 0),
        ("writing.contrast", settings.writing.contrast, 0),
        ("evaluation.resamples", settings.evaluation.resamples, 100),
        ("evaluation.seed", settings.evaluation.seed, 0),
    )
    for name, value, low in least:
        if not value >= low:  # in this form NaN is refused too
            raise UserError(f"settings: {name} = {value} is too small; the least is {low}")
    most: tuple[tuple[str, float, float], ...] = (
        ("writing.prior_weight", settings.writing.prior_weight, MOST_PRIOR_WEIGHT),
        ("writing.contrast", settings.writing.contrast, MOST_CONTRAST),
    )
    for name, value, high in most:
        if value > high:
            raise UserError(f"settings: {name} = {value} is too large; the most is {high:g}")
