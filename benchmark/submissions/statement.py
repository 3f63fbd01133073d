"""What only the people behind a system can say of it: a TOML file, joined to what the run itself knows.

url = "https://example.org/mine"
seeds = [0]
uses_web = false

[[models]]
role = "writer"
name = "mine-7b"
revision = "3fa9c1d"
parameters = 7_000_000_000
licence = "Apache-2.0"

[cost]
device = "one GPU with 24 GB"
usd = 1.5
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmark.submissions.submitted import Submission, SubmittedCost, SubmittedModel
from data import codec
from data.errors import UserError
from data.types import Strict


@dataclass(frozen=True, slots=True)
class StatedCost(Strict):
    """Of writing all articles: wall seconds, tokens read and written, price. Measured values of a run come before these."""

    write_s: float | None = None
    n_prompt_tokens: int | None = None
    n_new_tokens: int | None = None
    tokens_per_s: float | None = None
    device: str = ""
    usd: float | None = None


@dataclass(frozen=True, slots=True)
class Statement(Strict):
    """None leaves what the run says. `data_revision` is the commit or release of the benchmark's data."""

    version: str | None = None
    url: str = ""
    contact: str = ""
    commit: str = ""
    seeds: tuple[int, ...] = ()
    extractive: bool | None = None
    uses_gold_outline: bool | None = None
    uses_web: bool | None = None
    self_judged: bool | None = None
    data_revision: str = ""
    models: tuple[SubmittedModel, ...] = ()
    cost: StatedCost = field(default_factory=StatedCost)
    notes: str = ""


def read(path: Path) -> Statement:
    """TOML, or JSON if the file's name says so. Raises UserError naming the key that is unknown or of another type."""
    form = "JSON" if path.suffix == ".json" else "TOML"
    try:
        text = path.read_text(encoding="utf-8")
        plain = json.loads(text) if form == "JSON" else tomllib.loads(text)
    except OSError as error:
        raise UserError(f"cannot read --about {path}: {error.strerror}") from None
    except ValueError as error:  # of either reader, and of text that is no UTF-8
        raise UserError(f"--about {path} is not {form}: {error}") from None
    return codec.from_plain(Statement, plain, where=f"--about {path}")


def joined(made: Submission, said: Statement) -> Submission:
    """The submission with the description of its system. Of a model that the run names, its name and revision stay."""
    system, known = made.system, {model.role: model for model in made.system.models}
    flags = {
        name: value
        for name in ("version", "extractive", "uses_gold_outline", "uses_web", "self_judged")
        if (value := getattr(said, name)) is not None
    }
    told = {name: value for name in ("url", "contact", "commit", "seeds") if (value := getattr(said, name))}
    models = {model.role: model for model in said.models}
    both = {
        role: replace(model, parameters=models[role].parameters, licence=models[role].licence) if role in models else model
        for role, model in known.items()
    }
    return replace(
        made,
        system=replace(system, **flags, **told, models=(*both.values(), *(m for m in said.models if m.role not in known))),
        data=replace(made.data, revision=said.data_revision or made.data.revision),
        cost=_cost(made.cost, said.cost),
        notes=said.notes or made.notes,
    )


def _cost(measured: SubmittedCost, said: StatedCost) -> SubmittedCost:
    amounts = {
        name: value
        for name in ("n_prompt_tokens", "n_new_tokens", "tokens_per_s", "usd")
        if getattr(measured, name) is None and (value := getattr(said, name)) is not None
    }
    seconds = said.write_s if said.write_s is not None and not measured.write_s else measured.write_s
    return replace(measured, **amounts, write_s=seconds, device=measured.device or said.device)
