"""Whether fast decoding writes what plain decoding writes: how many of many prompts differ, for each method.

    wikigenben prompts --out say.jsonl --data wikigenbench/data --split test
    python -m tools.drafting.check_lossless say.jsonl --limit 1000 --out runs/lossless
    python -m tools.drafting.check_lossless say.jsonl --limit 1000 --methods swift,clasp --lengths threshold --out runs/always
    python -m tools.drafting.check_lossless adversarial.jsonl --temperature 1.2 --max-new-tokens 96 --out runs/misled

Each text is written plainly first, by a model that has forgotten everything, then by each method, which may find the prompt
read already, as in use. What was compared is kept line by line; the same command goes on where it was ended, by `--minutes` or
otherwise, and compares the whole. Exit code 1 if a text differs.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from data.errors import UserError
from data.types import Strict
from decoding.models.naming import add_draft_model_flag
from flows.showing import console

if TYPE_CHECKING:
    from decoding.bench.timed_runs import BenchPrompt
    from decoding.engine import Engine
    from decoding.models.loading import LoadedModel

COMPARED, CONDITIONS = "compared.jsonl", "conditions.json"


@dataclass(frozen=True, slots=True)
class Conditions(Strict):
    """What must be the same for lines of several runs to be counted together."""

    model: str
    fingerprint: str
    dtype: str
    backend: str
    methods: tuple[str, ...]
    max_new_tokens: int
    temperature: float
    lengths: str = ""
    calibration: str = ""
    draft_model: str = ""


@dataclass(frozen=True, slots=True)
class Compared(Strict):
    """One prompt: the tokens of its plain text, and the methods whose texts differ, each with the first place that does."""

    id: str
    n_prompt: int
    n_new: int
    n_passes: tuple[int, ...]
    """Of the whole model, for each method, the prompt's included."""
    decode_s: tuple[float, ...]
    """Behind the prompt: of plain decoding, then of each method."""
    differing: tuple[tuple[str, int], ...] = ()


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.drafting.check_lossless",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("prompts", type=Path, metavar="FILE", help="JSON lines, as `wikigenben prompts` writes them")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--model", default="smollm2", metavar="M")
    parser.add_argument("--dtype", default="auto", help="auto, int8, int4, float32, ...")
    parser.add_argument("--methods", default="auto", metavar="A,B", help="default: auto")
    parser.add_argument("--max-new-tokens", type=int, default=40, metavar="N")
    parser.add_argument(
        "--temperature", type=float, default=0.0, metavar="T", help="0 is greedy; above it each prompt has its seed"
    )
    parser.add_argument("--lengths", metavar="RULE", help="threshold, expected or fixed:N, for methods that skip layers")
    parser.add_argument("--calibration", type=Path, metavar="DIR", help="for skip, self-ssd, knn-ssd")
    add_draft_model_flag(parser)
    parser.add_argument("--limit", type=int, metavar="N", help="the first N prompts")
    parser.add_argument("--minutes", type=float, default=60.0, metavar="M", help="then end; the same command goes on")
    parser.add_argument("--threads", type=int, default=1, metavar="N")
    arguments = parser.parse_args(argv)
    return console.guarded(lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    import torch

    from data import codec
    from decoding.bench.session import bench_prompts, engines
    from decoding.engine import backend_of
    from decoding.knn.prompt_files import read_prompts
    from decoding.models.naming import load_draft, load_named

    if arguments.max_new_tokens < 2 or arguments.threads < 1 or (arguments.limit or 1) < 1 or arguments.temperature < 0:
        raise UserError("--max-new-tokens takes 2 or more, --threads and --limit 1 or more, --temperature 0 or more")
    torch.set_num_threads(arguments.threads)
    rows = read_prompts(arguments.prompts)[: arguments.limit]
    methods = tuple(dict.fromkeys(name for name in arguments.methods.split(",") if name != "greedy"))
    loaded = load_named(arguments.model, dtype=arguments.dtype)
    draft = load_draft(arguments.draft_model, loaded) if arguments.draft_model else None
    built = engines(loaded, methods, backend="auto", calibration=arguments.calibration, lengths=arguments.lengths, draft=draft)
    with loaded.lock:
        backend = backend_of(loaded)
    asked = Conditions(
        loaded.name,
        loaded.fingerprint,
        loaded.dtype,
        backend.info.name,
        methods,
        arguments.max_new_tokens,
        arguments.temperature,
        arguments.lengths or "",
        str(arguments.calibration or ""),
        f"{draft.name}, {draft.dtype}" if draft is not None else "",
    )
    done = begun(arguments.out, asked)
    until = time.monotonic() + 60 * arguments.minutes
    prompts = {prompt.id: (n, prompt) for n, prompt in enumerate(bench_prompts(rows, loaded, arguments.max_new_tokens))}
    left = [id_ for id_ in prompts if id_ not in done]
    with (arguments.out / COMPARED).open("a", encoding="utf-8") as file:
        for id_ in left:
            if time.monotonic() > until:
                break
            seed, prompt = prompts[id_]
            done[id_] = compared(loaded, built, prompt, arguments.temperature, seed)
            file.write(codec.to_json(done[id_]) + "\n")
            file.flush()
    found = [done[id_] for id_ in prompts if id_ in done]
    console.result("\n".join(told(asked, found, len(prompts))))
    return 1 if any(one.differing for one in found) else 0


def begun(folder: Path, asked: Conditions) -> dict[str, Compared]:
    """What was compared before, by prompt. Raises UserError where it was asked otherwise."""
    from data import codec

    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / CONDITIONS
    if kept.is_file():
        before = codec.read(Conditions, kept)
        if before != asked:
            raise UserError(f"{folder} holds comparisons of {before}, not of {asked}; choose another --out")
    else:
        codec.write_atomic(kept, codec.to_json(asked, indent=1) + "\n")
    path = folder / COMPARED
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.is_file() else []
    if lines and not lines[-1].endswith("\n"):  # killed while it wrote
        codec.write_atomic(path, "".join(lines[:-1]))
        lines = lines[:-1]
    found = (codec.from_json(Compared, line, where=f"{path}, line {n}") for n, line in enumerate(lines, 1))
    return {one.id: one for one in found}


def compared(
    loaded: LoadedModel, built: dict[str, Engine], prompt: BenchPrompt, temperature: float = 0.0, seed: int = 0
) -> Compared:
    """`built` has `greedy`, the reference, first."""
    from dataclasses import replace

    from decoding.bench.divergence import first_difference

    sampling = replace(prompt.sampling, temperature=temperature, seed=seed)
    texts, passes, seconds = [], [], []
    with loaded.lock:
        for backend in loaded.backends.values():
            backend.forget()
        for engine in built.values():
            tokens: list[int] = []

            def take(token: int, tokens: list[int] = tokens) -> bool:
                tokens.append(token)
                return token not in loaded.eos_ids and len(tokens) < prompt.limit

            rounds: list[int] = []
            stats = engine.decode(prompt.ids, sampling, take, on_round=rounds.append)
            seconds.append(stats.decode_s or 0.0)
            texts.append(tokens)
            passes.append(len(rounds))
    reference = texts[0]
    apart = [(name, first_difference(reference, text)) for name, text in zip(built, texts, strict=True)]
    return Compared(
        prompt.id,
        len(prompt.ids),
        len(reference),
        tuple(passes[1:]),
        tuple(seconds),
        tuple((name, at) for name, at in apart if at is not None),
    )


def told(asked: Conditions, found: Sequence[Compared], n_prompts: int) -> list[str]:
    how = f"at temperature {asked.temperature:g}" if asked.temperature else "greedy"
    lines = [
        f"{asked.model}, {asked.dtype}, {asked.backend}, {how}: {len(found):,} of {n_prompts:,} prompts, "
        f"{sum(one.n_new for one in found):,} tokens"
    ]
    for at, method in enumerate(asked.methods):
        apart = [(one.id, place) for one in found for name, place in one.differing if name == method]
        tokens, passes = sum(one.n_new for one in found), sum(one.n_passes[at] for one in found)
        speed = sum(one.decode_s[0] for one in found) / max(1e-9, sum(one.decode_s[at + 1] for one in found))
        slowest = min((one.decode_s[0] / max(1e-9, one.decode_s[at + 1]) for one in found), default=0.0)
        lines.append(
            f"{method}: {len(apart)} of {len(found):,} differ; {tokens / max(1, passes):.2f} tokens a pass; behind the prompts "
            f"{speed:.2f}x as fast as plain decoding, the slowest text {slowest:.2f}x"
        )
        lines += [f"  {id_}: from token {place}" for id_, place in apart]
    if len(found) < n_prompts:
        lines.append("the same command goes on with the rest")
    return lines


if __name__ == "__main__":
    sys.exit(main())
