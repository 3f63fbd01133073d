"""The name of a model -> a generator, with its decoding; and the sentence encoder. Wrong names stop here."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from data.errors import UserError
from data.model_name import parse_model
from data.settings import DecodingSettings, ModelSettings, Settings
from decoding.models.registry import DEFAULT_MODEL, KNOWN, NAMES, check_here
from flows.job import MODEL_SYSTEMS
from flows.showing import console

if TYPE_CHECKING:
    from decoding.api import Encoder, Generator
    from decoding.knn.artefact import Calibration
    from decoding.models.loading import LoadedModel


MODELS = f"{NAMES}, server:MODEL@BASE_URL"


def build_generator(system: str, model: ModelSettings, decoding: DecodingSettings) -> Generator:
    """The model of that name; without one, the default of `ours`."""
    name = model.name or (DEFAULT_MODEL if system == "ours" else "")
    asked = parse_model(name)
    if not name:
        raise UserError(
            f"--system {system} needs a language model: --model hf:FOLDER_OR_ID for a local one, --model server:MODEL@BASE_URL "
            f"for an OpenAI-compatible server; --system ours has {DEFAULT_MODEL} as its own, --system extractive needs none"
        )
    if name in KNOWN or (asked.kind in ("hf", "gguf") and asked.is_whole):
        return _local_generator(name, model, decoding)
    if asked.kind == "server" and asked.is_whole:
        _check_served(name, decoding)
        from decoding.serving.client import ServerGenerator
        from decoding.serving.retrying import Timeouts

        return ServerGenerator(asked.rest, asked.url, timeouts=Timeouts(read_s=model.timeout_s), at_once=model.at_once)
    raise _no_model(name)


def check_model(system: str, settings: Settings) -> None:
    """Raises UserError for a model's name that means none, a model that is not here yet, or decoding that it cannot have,
    before anything is loaded."""
    name = settings.model.name or (DEFAULT_MODEL if system == "ours" else "")
    asked = parse_model(name)
    if name and name not in KNOWN and not (asked.kind in ("hf", "gguf", "server") and asked.is_whole):
        raise _no_model(name)
    if system not in MODEL_SYSTEMS:
        if settings.decoding.draft_model:
            raise UserError(f"--system {system} needs no model, so nothing can draft for it; leave --draft-model out")
    elif asked.kind == "server":
        _check_served(name, settings.decoding)
    else:
        _check_decoding(settings.decoding)
        if name in KNOWN:
            check_here(KNOWN[name])
    if system == "ours":
        from decoding.support.reader import check_verifier

        check_verifier()


def _no_model(name: str) -> UserError:
    if name == "embedded":
        return UserError(f"the model 'embedded' is gone; name {DEFAULT_MODEL} in its place, or no --model at all")
    return UserError(f"there is no model {name!r}; known: {MODELS}")


def model_facts(name: str) -> tuple[int | None, str]:
    """(parameters, licence) of the models known by name; of others only their makers can say."""
    known = KNOWN.get(name)
    return (known.parameters, known.licence) if known else (None, "")


def _local_generator(name: str, model: ModelSettings, decoding: DecodingSettings) -> Generator:
    from decoding.engine import calibration_for
    from decoding.models.naming import load_draft, load_named

    _check_decoding(decoding)
    loaded = load_named(name, device=model.device, dtype=model.dtype, tell=console.note)
    draft = load_draft(decoding.draft_model, loaded, tell=console.note) if decoding.draft_model else None
    return _decoded(loaded, decoding, calibration_for(loaded, decoding.method, decoding.calibration or None), draft)


def _check_served(name: str, decoding: DecodingSettings) -> None:
    if decoding != DecodingSettings():
        raise UserError(
            f"{name} decodes in its own way; drop --decoding, --draft-model and the settings decoding.*, or use --model hf:... "
            "or gguf:..."
        )


def _check_decoding(decoding: DecodingSettings) -> None:
    """Before minutes of loading."""
    from decoding.methods import check_draft_model, check_lengths, check_method
    from decoding.models.naming import check_draft_name

    check_method(decoding.method)
    check_draft_model(decoding.method, bool(decoding.draft_model))
    if decoding.draft_model:
        check_draft_name(decoding.draft_model)
    if decoding.lengths:
        check_lengths(decoding.lengths)


def _decoded(
    loaded: LoadedModel, decoding: DecodingSettings, calibration: Calibration | None, draft: LoadedModel | None
) -> Generator:
    from decoding.engine import ready_engine
    from decoding.local import LocalGenerator

    engine = ready_engine(
        loaded,
        decoding.method,
        backend=decoding.backend,
        calibration=calibration,
        lengths=decoding.lengths or None,
        draft=draft,
        say=console.note,
    )
    console.note(f"{loaded.name} decodes by {engine.describe()}")
    return LocalGenerator(loaded, engine=engine)


@cache
def build_filer() -> Encoder:
    """The encoder that knows which sentences stand under which heading, one a process; its weights come with the package."""
    from decoding.filing.heading_encoder import HeadingEncoder

    return HeadingEncoder()


@cache
def build_large_filer() -> Encoder:
    """The better one. Raises UserError where MPNet's file is not here."""
    from decoding.filing.heading_encoder import LargeHeadingEncoder

    return LargeHeadingEncoder()


@cache
def build_encoder() -> Encoder:
    """One sentence encoder a process; its weights come with a package, so nothing is fetched."""
    from decoding.models.encoder import minilm

    return minilm()
