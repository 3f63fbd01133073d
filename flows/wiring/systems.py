"""The name of a system -> the system, with its model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark.system import System
from data import heap
from data.errors import UserError
from data.settings import DecodingSettings, Settings
from decoding.models.registry import KNOWN
from flows.job import MODEL_SYSTEMS, SYSTEMS

if TYPE_CHECKING:
    from pipeline.following.news import Planner

from flows.wiring import models
from flows.wiring.models import build_generator


def put_away(system: System) -> None:
    """Give back the memory of a system's model in this process, where nothing more is to be written."""
    from decoding.local import LocalGenerator
    from pipeline.systems.paper import ModelSystem

    if isinstance(system, ModelSystem) and isinstance(system.generator, LocalGenerator):
        system.generator.put_away()
        heap.trim()


MANY_NOTES, LARGE = 4, 3_000_000_000
"""Notes of one call for a model of so many parameters."""


def notes_together(model: str) -> int:
    """How many notes one call may say: by measurement a model of 1.5B parameters drops a third of six and mixes two, so that it
    gets one. Of a server, which is there for what a laptop cannot hold, more is expected; of a file of a name of its own
    nothing is known."""
    known = KNOWN.get(model)
    return MANY_NOTES if model.startswith("server:") or (known is not None and known.parameters >= LARGE) else 1


def build_system(name: str, settings: Settings, remember: Path | None = None) -> System:
    """Raises UserError for what cannot be had. What the model answers is kept in `remember`, and not asked again."""
    from pipeline.systems.baselines import Bm25System, LeadSystem
    from pipeline.systems.closed_book import ClosedBook
    from pipeline.systems.extractive import ExtractiveSystem
    from pipeline.systems.ours import OurSystem
    from pipeline.systems.paper import PlanRetrieveRead, RetrievePlanRetrieveRead, RetrieveRead

    retrieval, writing = settings.retrieval, settings.writing
    if name in MODEL_SYSTEMS:
        generator = build_generator(name, settings.model, settings.decoding)
        if remember is not None:
            from decoding.remembered import RememberingGenerator

            generator = RememberingGenerator(generator, remember)
        if generator.prompt_form != "chat":
            raise UserError(
                f"--system {name} gives instructions, and {generator.name} follows none: name a chat model with --model "
                "hf:FOLDER_OR_ID or gguf:FILE, or use --system extractive, which needs no model"
            )
        encoder = models.build_encoder()
        match name:
            case "closed_book":
                return ClosedBook(settings.model, retrieval, writing, generator, None)
            case "rr":
                return RetrieveRead(settings.model, retrieval, writing, generator, encoder)
            case "prr":
                return PlanRetrieveRead(settings.model, retrieval, writing, generator, encoder)
            case "rprr":
                return RetrievePlanRetrieveRead(settings.model, retrieval, writing, generator, encoder)
            case _:
                from decoding.support.reader import writer_reader

                writing = replace(writing, notes_together=writing.notes_together or notes_together(settings.model.name))
                filers = (models.build_filer(), models.build_large_filer())
                return OurSystem(settings.model, retrieval, writing, generator, encoder, filers, writer_reader())
    if settings.model.name:
        raise UserError(f"--system {name} uses no language model; drop --model {settings.model.name}, or use --system ours")
    if settings.decoding != DecodingSettings():
        raise UserError(f"--system {name} uses no language model; drop --decoding and the settings decoding.*")
    match name:
        case "lead":
            return LeadSystem(retrieval, writing)
        case "bm25":
            return Bm25System(retrieval, writing)
        case "extractive":
            return ExtractiveSystem(retrieval, writing, models.build_encoder(), models.build_filer())
        case _:
            raise UserError(f"there is no system {name!r}; known: {', '.join(SYSTEMS)}")


def build_planner(system: str, settings: Settings, remember: Path) -> Planner:
    """`ours`; for articles of other systems the one that plans and quotes."""
    from pipeline.systems.extractive import ExtractiveSystem
    from pipeline.systems.ours import OurSystem

    if system == "ours":
        ours = build_system("ours", settings, remember)
        if isinstance(ours, OurSystem):
            return ours
    return ExtractiveSystem(settings.retrieval, settings.writing, models.build_encoder(), models.build_filer())
