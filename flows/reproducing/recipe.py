"""The file of `wikigenben reproduce`: which systems are run on what, as values that were checked before anything starts."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from benchmark.splits import Split
from benchmark.submissions.statement import Statement
from benchmark.submissions.submission_faults import is_file_name
from data import codec
from data.errors import UserError
from data.settings import Settings, load_settings
from data.types import Strict, Track
from flows.job import MODEL_SYSTEMS, SYSTEMS

Variant = Literal["leak_filter_off", "closed_book"]


@dataclass(frozen=True, slots=True)
class Calibration(Strict):
    """`decoding.calibrate` on the prompts of a split's events, for all systems with this model. The split must not be one that
    is reported."""

    model: str
    split: Split = "dev"
    limit: int | None = None
    max_prompts: int | None = None


@dataclass(frozen=True, slots=True)
class Bench(Strict):
    """`decoding.bench` on the prompts of a split's events."""

    model: str
    split: Split = "test"
    limit: int | None = None
    methods: tuple[str, ...] = ("mix",)
    against: tuple[str, ...] = ()
    repetitions: int | None = None
    max_new_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Leaderboard(Strict):
    """`site` is the folder of the pages."""

    site: str


@dataclass(frozen=True, slots=True)
class SystemRecipe(Strict):
    """One submission: `name` is its folder, `system` one of this package (by default of the same name). `settings` are those of
    `--set`, in tables by section. With `text` false the submission holds hashes in place of the articles."""

    name: str
    system: str = ""
    model: str = ""
    decoding: str = ""
    settings: dict[str, dict[str, Any]] = field(default_factory=dict)
    split: Split | None = None
    track: Track = "search"
    limit: int | None = None
    about: Statement = field(default_factory=Statement)
    text: bool = True
    variants: tuple[Variant, ...] = ()

    @property
    def runs(self) -> str:
        """The system of this package."""
        return self.system or self.name

    @property
    def remembers(self) -> bool:
        """Whether it has words of its own, so that the closed-book score of its model is defined."""
        return self.runs in MODEL_SYSTEMS

    @property
    def assignments(self) -> tuple[str, ...]:
        """As `--set` takes them."""
        return tuple(
            f"{section}.{key}={_told(value)}" for section, table in self.settings.items() for key, value in table.items()
        )


def _told(value: object) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True, slots=True)
class Recipe(Strict):
    """`data` as `--data`; `baseline` names the system that the others are compared with, by default the first; `submissions` is
    the folder that their folders go into. Paths are relative to where the command runs."""

    systems: tuple[SystemRecipe, ...]
    data: str = ""
    baseline: str = ""
    submissions: str = "submissions"
    calibrate: Calibration | None = None
    bench: Bench | None = None
    leaderboard: Leaderboard | None = None


def read(path: Path) -> Recipe:
    """Raises UserError naming the mistake: a key, a system, a setting, a limit."""
    try:
        plain = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}; {_HELP}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not TOML: {error}; {_HELP}") from None
    try:
        recipe = codec.from_plain(Recipe, plain, where=str(path))
    except UserError as error:
        raise UserError(f"{error}; {_HELP}") from None
    if wrong := next(_problems(recipe), ""):
        raise UserError(f"{path}: {wrong}")
    return replace(recipe, baseline=recipe.baseline or recipe.systems[0].name)


_HELP = "the keys are listed by: wikigenben reproduce --help"


def _problems(recipe: Recipe) -> Iterator[str]:
    names = [one.name for one in recipe.systems]
    if not names:
        yield f'it names no system; add [[systems]] with name = "extractive" ({_HELP})'
    if twice := next((name for name in names if names.count(name) > 1), ""):
        yield f"two systems are called {twice!r}; give each a name of its own and say what it runs with system = ... ({_HELP})"
    if recipe.baseline and recipe.baseline not in names:
        yield f"baseline = {recipe.baseline!r} is none of the systems; name one of {', '.join(names)}"
    for one in recipe.systems:
        if not is_file_name(one.name):
            yield f"name = {one.name!r} cannot be a folder; use letters, digits, '-' and '_'"
        if one.runs not in SYSTEMS:
            yield f"there is no system {one.runs!r}; set system = to one of {', '.join(SYSTEMS)}"
        for word, table in one.settings.items():
            if word == "evidence" and table.keys() & {"track", "leak_filter"}:
                yield f"{one.name}: evidence.track and evidence.leak_filter are not set here; use track = and variants ="
        settings_of(one)  # raises for unknown settings and values out of range
    parts = [(one.name, one) for one in recipe.systems] + [("calibrate", recipe.calibrate), ("bench", recipe.bench)]
    for name, part in parts:
        if part is not None and part.limit is not None and part.limit < 1:
            yield f"{name}: limit = {part.limit} leaves no event; use 1 or more, or drop it"


def settings_of(one: SystemRecipe) -> Settings:
    """Raises UserError for a setting that is unknown or out of range."""
    try:
        return load_settings(None, one.assignments, model={"name": one.model or None})
    except UserError as error:
        raise UserError(f"{one.name}: {error}; all settings are in docs/settings.md") from None
