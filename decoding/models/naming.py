"""The name of a local model, as `--model` takes it -> the model."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from data.errors import UserError
from data.model_name import parse_model
from decoding.models.gguf import Tell, load_gguf
from decoding.models.loading import LoadedModel, load, lowered
from decoding.models.registry import KNOWN, NAMES, check_here, checked_file


def load_named(name: str, *, device: str = "auto", dtype: str = "auto", tell: Tell | None = None) -> LoadedModel:
    """Load a model of `registry`, `gguf:FILE`, `hf:FOLDER_OR_ID`, or a bare folder or id.

    `tell` is called with what takes long. Raises UserError for what cannot be had.
    """
    if name in KNOWN:
        file = checked_file(KNOWN[name])
        return replace(load_gguf(file, device=device, dtype=dtype, tell=tell), name=name)
    asked = parse_model(name)
    if asked.kind in ("gguf", "hf") and not asked.is_whole:
        raise UserError(f"--model {name!r} names no model; known: {NAMES}")
    if asked.kind == "gguf":
        return load_gguf(asked.rest, device=device, dtype=dtype, tell=tell)
    return load(asked.rest if asked.kind == "hf" else name, device=device, dtype=dtype)


def add_draft_model_flag(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """`--draft-model`, alike in every command; its value is for `check_draft_name` and `load_draft`."""
    parser.add_argument(
        "--draft-model",
        metavar="NAME",
        help="a smaller model of the same tokenizer, named as --model, which drafts: speed, never text",
    )


def check_draft_name(name: str) -> None:
    """Raises UserError for a name that can be no draft model, or one that is not here yet, before anything is loaded."""
    asked = parse_model(name)
    if asked.kind in ("server", "llm"):
        raise UserError(f"--draft-model {name!r} is a server, whose guesses would come too late; known: {NAMES}")
    if not asked.rest or asked.kind == "nli":
        raise UserError(f"--draft-model {name!r} names no model; known: {NAMES}")
    if name in KNOWN:
        check_here(KNOWN[name])


def load_draft(name: str, loaded: LoadedModel, *, tell: Tell | None = None) -> LoadedModel:
    """A model that drafts for `loaded`, on its device; on a CPU in low bits, since its rounding costs guesses and no text.

    Raises UserError for what cannot be had, a server among them.
    """
    check_draft_name(name)
    found = load_named(name, device=loaded.device, tell=tell)
    if found.is_low_bit or found.model.device.type != "cpu":
        return found
    try:
        return lowered(found, "int8")
    except UserError:  # matrices of another form; half of them may be rounded by now
        return load_named(name, device=loaded.device, tell=tell)


def gguf_file_of(name: str) -> Path | None:
    """The GGUF file that a name stands for, its weights as they are; None for other models."""
    if name in KNOWN:
        return checked_file(KNOWN[name])
    asked = parse_model(name)
    return Path(asked.rest).expanduser() if asked.kind == "gguf" else None
