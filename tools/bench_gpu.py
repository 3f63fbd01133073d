"""The decoder on a GPU in one run of ten minutes: every method against plain decoding and transformers.

    python -m tools.bench_gpu --out gpu.json
    python -m tools.bench_gpu --model hf:FOLDER --device cuda:1 --minutes 20 --out gpu.json
    python -m tools.bench_gpu --device cpu --dtypes float32 --prompts 1 --tokens 8   # a try without one

Parts, each left out with its reason where the minutes are used up: for each of `--dtypes` all methods that need no calibration
and no second model, on prompts of the package's sample, beside transformers' `generate` and its prompt lookup, and the same
methods with sampled texts. What is printed, and written with `--out`, is one JSON. Exit code: 0 measured, 1 some text differs
by more than rounding explains, 2 wrong input.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from data.errors import UserError, WikigenError

if TYPE_CHECKING:
    from decoding.bench.timed_runs import BenchPrompt
    from decoding.models.loading import LoadedModel

METHODS = ("copy", "recycle", "copyspec", "pld", "recycling", "swift", "clasp", "mix")
PEERS = ("hf", "hf-pld")
TEMPERATURE = 0.8


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.bench_gpu", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--dtypes", nargs="+", default=["float32", "bfloat16"])
    parser.add_argument("--prompts", type=int, default=6, metavar="N")
    parser.add_argument("--tokens", type=int, default=96, metavar="N", help="new ones of each text")
    parser.add_argument("--minutes", type=float, default=10.0, help="after which no further part is begun")
    parser.add_argument("--out", type=Path, metavar="FILE")
    arguments = parser.parse_args(argv)
    try:
        found = measured(arguments, _note)
    except WikigenError as error:
        sys.stderr.write(f"bench_gpu: {error}\n")
        return error.exit_code
    line = json.dumps(found, ensure_ascii=False) + "\n"
    if arguments.out:
        from data import codec

        codec.write_atomic(arguments.out, line)
    sys.stdout.write(line)
    return 1 if found["n_bugs"] else 0


def measured(arguments: argparse.Namespace, told: Callable[[str], None]) -> dict[str, Any]:
    """Raises UserError for a device that cannot be had, before anything is loaded."""
    from decoding.machine import device_name, versions
    from decoding.models.loading import resolve_device

    place = str(resolve_device(arguments.device))
    if arguments.prompts < 1 or arguments.tokens < 2:
        raise UserError(f"--prompts {arguments.prompts} and --tokens {arguments.tokens} are too few; the least are 1 and 2")
    end = time.monotonic() + 60 * arguments.minutes
    parts: dict[str, Any] = {}
    n_bugs = 0
    for dtype in arguments.dtypes:
        for name, part in ((f"greedy {dtype}", _greedy), (f"sampled {dtype}", _sampled)):
            if time.monotonic() > end:
                parts[name] = {"left out": f"the {arguments.minutes:g} minutes were used up"}
                continue
            told(name)
            loaded, prompts = _loaded(arguments, place, dtype)
            bugs, parts[name] = part(loaded, prompts, told)
            n_bugs += bugs
            del loaded
            _free(place)
    return {
        "device": device_name(place),
        "versions": versions(),
        "model": arguments.model,
        "prompts": arguments.prompts,
        "new_tokens": arguments.tokens,
        "n_bugs": n_bugs,
        "parts": parts,
    }


def _loaded(arguments: argparse.Namespace, place: str, dtype: str) -> tuple[LoadedModel, list[BenchPrompt]]:
    from decoding.bench.__main__ import SAMPLE_PROMPTS
    from decoding.bench.session import bench_prompts
    from decoding.knn.prompt_files import read_prompts
    from decoding.models.naming import load_named

    loaded = load_named(arguments.model, device=place, dtype=dtype)
    rows = read_prompts(SAMPLE_PROMPTS)
    n = min(arguments.prompts, len(rows))
    return loaded, bench_prompts([rows[i * len(rows) // n] for i in range(n)], loaded, arguments.tokens)


def _greedy(loaded: LoadedModel, prompts: Sequence[BenchPrompt], told: Callable[[str], None]) -> tuple[int, dict[str, Any]]:
    """`decoding.bench` as it is: times, peak memory, and of every text that parts whether rounding explains it."""
    from data import codec
    from decoding.bench.session import Request, measure

    request = Request(methods=METHODS, against=PEERS, max_new_tokens=prompts[0].limit, repetitions=2, prompts_name="the sample")
    result = measure(loaded, prompts, request, told=told)
    return result.n_bugs, codec.to_plain(result)


def _sampled(loaded: LoadedModel, prompts: Sequence[BenchPrompt], told: Callable[[str], None]) -> tuple[int, dict[str, Any]]:
    """Texts with a seed each, by every method, beside those of plain decoding. One that parts is no bug by itself: on a GPU a
    step of several rows rounds otherwise than one of one, and a random number may lie between. It is counted."""
    from dataclasses import replace

    from decoding.engine import Engine

    texts: dict[str, list[tuple[int, ...]]] = {}
    seconds: dict[str, float] = {}
    for method in ("greedy", *METHODS):
        engine = Engine(loaded, method)
        begun = time.perf_counter()
        of: list[tuple[int, ...]] = []
        for seed, prompt in enumerate(prompts):
            tokens: list[int] = []

            def take(token: int, tokens: list[int] = tokens, limit: int = prompt.limit) -> bool:
                tokens.append(token)
                return len(tokens) < limit and token not in loaded.eos_ids

            sampling = replace(prompt.sampling, temperature=TEMPERATURE, seed=seed)
            with loaded.lock:
                engine.decode(prompt.ids, sampling, take)
            of.append(tuple(tokens))
        texts[method], seconds[method] = of, round(time.perf_counter() - begun, 3)
        told(f"sampled: {method}")
    differ = {name: sum(a != b for a, b in zip(of, texts["greedy"], strict=True)) for name, of in texts.items()}
    return 0, {"temperature": TEMPERATURE, "texts": len(prompts), "differ": differ, "seconds": seconds}


def _free(place: str) -> None:
    import gc

    import torch

    gc.collect()
    if place.startswith("cuda"):
        torch.cuda.empty_cache()


def _note(text: str) -> None:
    sys.stderr.write(text + "\n")


if __name__ == "__main__":
    sys.exit(main())
