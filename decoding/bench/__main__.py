"""Measures how fast the decoding methods are, on identical text: `python -m decoding.bench`.

    wikigenben prompts --split dev --limit 20 --out prompts.jsonl
    python -m decoding.bench --model MODEL --prompts prompts.jsonl --methods greedy,copy,mix --against hf,hf-pld --out DIR
    python -m decoding.bench --model smollm2 --against hf,hf-pld,llama.cpp,llama.cpp-ngram --threads 1
    python -m decoding.bench --model smollm2 --steps --against hf,llama.cpp --threads 1
    python -m decoding.bench --model smollm2 --candidates 4 --prompts prompts.jsonl --threads 1

With --model alone it times single passes and then whole texts, of prompts made from the sample that the package holds
(`data/sample/prompts.jsonl`). Every condition is printed with the figures; the last line on stdout is the whole result as
JSON. Exit code 0: all texts agree, or part where rounding or another engine's arithmetic explains it; 1: some text differs by
more; 2: bad input.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import data
from data.errors import UserError, WikigenError
from decoding.bench.peers import check_peers
from decoding.models.naming import add_draft_model_flag, check_draft_name
from decoding.models.registry import NAMES

if TYPE_CHECKING:
    from decoding.models.loading import LoadedModel

T = TypeVar("T")

SAMPLE_PROMPTS = Path(data.__file__).parent / "sample" / "prompts.jsonl"
"""Long prompts: an outline, a section and a rewrite of each event."""


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    try:
        _check(arguments)
        if arguments.threads:
            import torch

            torch.set_num_threads(arguments.threads)
        if arguments.candidates:
            return _candidates(arguments)
        loaded, assistant = _loaded(arguments)
        file = _gguf(arguments)
        if arguments.steps:
            return _steps(arguments, loaded, file)
        if arguments.prompts:
            return _bench(arguments, loaded, assistant, file, arguments.prompts)
        _steps(arguments, loaded, file)
        sys.stdout.write("\n")
        return _bench(arguments, loaded, assistant, file, SAMPLE_PROMPTS)
    except WikigenError as error:
        sys.stderr.write(f"decoding.bench: {error}\n")
        return error.exit_code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m decoding.bench",
        description="Measure decoding methods against our greedy decoding and against transformers, on identical text.",
    )
    what = parser.add_argument_group("what to measure: --model, alone or with --prompts or --steps")
    what.add_argument("--model", metavar="NAME", help=NAMES)
    what.add_argument(
        "--prompts", type=Path, metavar="FILE", help="made by: wikigenben prompts --out FILE, or Spec-Bench's question.jsonl"
    )
    what.add_argument(
        "--steps", action="store_true", help="with --model: time single passes over 1 to 16 tokens, --against hf,llama.cpp"
    )
    what.add_argument(
        "--candidates", type=int, metavar="N", help="with --prompts: N sampled texts of each prompt together, over one alone"
    )
    what.add_argument(
        "--methods",
        type=_names,
        metavar="A,B",
        help="ours (greedy is always measured; with --model alone the default is copy,mix)",
    )
    what.add_argument(
        "--against",
        type=_names,
        default=(),
        metavar="A,B",
        help="hf, hf-pld, hf-early-exit, hf-assisted (transformers'), llama.cpp, llama.cpp-ngram (llama-cpp-python or cyllama)",
    )
    what.add_argument("--assistant", metavar="FOLDER_OR_ID", help="the drafting model of hf-assisted")
    add_draft_model_flag(what)
    what.add_argument("--calibration", type=Path, metavar="DIR", help="for methods that skip layers")
    what.add_argument(
        "--lengths", metavar="POLICY", help="how long drafts of skipped and draft models are (default: the method's own)"
    )
    how = parser.add_argument_group("how")
    how.add_argument("--max-new-tokens", type=int, metavar="N", help="default: 200")
    how.add_argument("--prompt-tokens", type=int, default=1024, metavar="N", help="of single passes (default: 1024)")
    how.add_argument("--limit", type=int, metavar="N", help="only N prompts, evenly over the file")
    how.add_argument("--repetitions", type=int, default=3, metavar="N", help="default: 3")
    how.add_argument("--seed", type=int, default=0, metavar="N", help="of the order of runs")
    how.add_argument("--device", default="auto", metavar="DEVICE")
    how.add_argument("--dtype", default="auto", metavar="DTYPE")
    how.add_argument("--threads", type=int, metavar="N", help="of torch on the CPU")
    how.add_argument(
        "--cpu-seconds", action="store_true", help="with --steps --threads 1: the processor's time, for a busy machine"
    )
    how.add_argument("--backend", default="auto", metavar="KIND", help="auto, packed, lowbit, driven or hf")
    how.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="for bench.json, table.md and records.jsonl",
    )
    return parser


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _check(arguments: argparse.Namespace) -> None:
    if arguments.candidates is not None:
        from decoding.together import MOST

        if not arguments.prompts or arguments.against:
            raise UserError(
                "--candidates N needs --prompts FILE (wikigenben prompts --out FILE), and compares with no --against"
            )
        if not 2 <= arguments.candidates <= MOST:
            raise UserError(f"--candidates {arguments.candidates} is out of range; use 2 to {MOST}")
    given = [flag for flag in ("prompts", "steps") if getattr(arguments, flag)]
    if len(given) > 1 or not arguments.model:
        raise UserError("name --model, alone or with one of --prompts FILE and --steps")
    if arguments.methods is None:
        arguments.methods = ("greedy",) if given else ("copy", "mix")
    for flag in ("max_new_tokens", "prompt_tokens", "limit", "repetitions", "threads"):
        value = getattr(arguments, flag)
        if value is not None and value < 1:
            raise UserError(f"--{flag.replace('_', '-')} {value} is too small; the least is 1")
    if arguments.cpu_seconds and (not arguments.steps or arguments.threads != 1):
        raise UserError(
            "--cpu-seconds needs --steps --threads 1: threads that wait for each other take the processor's time, too"
        )
    check_peers(arguments.against)
    if arguments.draft_model:
        check_draft_name(arguments.draft_model)


def _bench(
    arguments: argparse.Namespace, loaded: LoadedModel, assistant: LoadedModel | None, file: Path | None, prompts: Path
) -> int:
    from data import codec
    from decoding.bench.session import Request, bench_prompts, measure
    from decoding.bench.tables import markdown
    from decoding.knn.prompt_files import read_prompts

    rows = _evenly(read_prompts(prompts), arguments.limit)
    limit = arguments.max_new_tokens or 200
    request = Request(
        methods=arguments.methods,
        against=arguments.against,
        max_new_tokens=limit,
        repetitions=arguments.repetitions,
        seed=arguments.seed,
        backend=arguments.backend,
        lengths=arguments.lengths,
        calibration=arguments.calibration,
        draft=_draft(arguments, loaded),
        prompts_name="the sample" if prompts == SAMPLE_PROMPTS else prompts.name,
        gguf=file,
    )
    result = measure(loaded, bench_prompts(rows, loaded, limit), request, assistant=assistant, told=_note)
    told = markdown(result)
    if arguments.out:
        codec.write_atomic(arguments.out / "bench.json", codec.to_json(result, indent=1) + "\n")
        codec.write_atomic(arguments.out / "table.md", told)
    sys.stdout.write(told + codec.to_json(result) + "\n")
    return 1 if result.n_bugs else 0


def _steps(arguments: argparse.Namespace, loaded: LoadedModel, file: Path | None) -> int:
    import json

    from data import codec
    from decoding.bench.roofline import floor_line
    from decoding.bench.step_timings import PEERS, measure_steps, peers_of, step_lines
    from decoding.engine import backend_of
    from decoding.machine import cpu_features, signature, versions

    named = arguments.against if arguments.steps else [name for name in arguments.against if name in PEERS]
    peers = peers_of(loaded, named, backend=arguments.backend, file=file, prompt_tokens=arguments.prompt_tokens)
    info = backend_of(loaded, arguments.backend).info
    found = measure_steps(
        peers,
        info.vocab_size,
        prompt_tokens=arguments.prompt_tokens,
        repetitions=arguments.repetitions,
        seed=arguments.seed,
        clock=time.process_time if arguments.cpu_seconds else time.perf_counter,
    )
    conditions = [
        ("model", f"{loaded.name}, fingerprint {loaded.fingerprint[:12]}"),
        ("machine", f"{signature(info)}; {cpu_features()}"),
        ("versions", ", ".join(f"{name} {version}" for name, version in versions().items())),
        ("prompt", f"{arguments.prompt_tokens} random tokens; medians of {3 * arguments.repetitions} steps [fastest, slowest]"),
        ("clock", "seconds of the processor" if arguments.cpu_seconds else "seconds that pass"),
        ("floor of T=1", floor_line(loaded, arguments.prompt_tokens)),
        *_build_of_llama_cpp(named, file),
    ]
    told = "\n".join(step_lines(found, conditions)) + "\n"
    line = json.dumps({"conditions": dict(conditions), "steps": [codec.to_plain(one) for one in found]}, ensure_ascii=False)
    if arguments.out:
        codec.write_atomic(arguments.out / "steps.json", line + "\n")
        codec.write_atomic(arguments.out / ("table.md" if arguments.steps else "steps.md"), told)
    sys.stdout.write(told + line + "\n")
    return 0


def _build_of_llama_cpp(peers: Sequence[str], file: Path | None) -> list[tuple[str, str]]:
    """The condition that says which build was measured, where one was."""
    from decoding.bench.llama_cpp import NAMES as ENGINES
    from decoding.bench.llama_cpp import build

    return [("llama.cpp", build(file))] if file is not None and set(peers) & set(ENGINES) else []


def _gguf(arguments: argparse.Namespace) -> Path | None:
    """The model's weights as llama.cpp reads them, where they come in such a file."""
    from decoding.models.naming import gguf_file_of

    return gguf_file_of(arguments.model)


def _candidates(arguments: argparse.Namespace) -> int:
    import json

    from data import codec
    from decoding.bench.candidate_timings import TEMPERATURE, candidate_lines, measure_candidates
    from decoding.bench.session import bench_prompts
    from decoding.engine import backend_of
    from decoding.knn.prompt_files import read_prompts
    from decoding.machine import cpu_features, signature, versions

    rows = _evenly(read_prompts(arguments.prompts), arguments.limit)
    loaded, _ = _loaded(arguments)
    limit = arguments.max_new_tokens or 64
    found = measure_candidates(
        loaded,
        bench_prompts(rows, loaded, limit),
        arguments.candidates,
        methods=arguments.methods,
        backend=arguments.backend,
        repetitions=arguments.repetitions,
        seed=arguments.seed,
        told=_note,
    )
    with loaded.lock:
        info = backend_of(loaded, arguments.backend).info
    lengths = found[0].prompt_tokens
    conditions = [
        ("model", f"{loaded.name}, fingerprint {loaded.fingerprint[:12]}"),
        ("machine", f"{signature(info)}; {cpu_features()}"),
        ("versions", ", ".join(f"{name} {version}" for name, version in versions().items())),
        ("prompts", f"{len(rows)} of {arguments.prompts.name}, {lengths.least:.0f} to {lengths.most:.0f} tokens"),
        ("texts", f"{arguments.candidates} of {limit} tokens, temperature {TEMPERATURE}; {arguments.repetitions} repetitions"),
        ("figures", "medians over prompts [least, most]"),
    ]
    told = "\n".join(candidate_lines(found, conditions)) + "\n"
    line = json.dumps(
        {"conditions": dict(conditions), "candidates": [codec.to_plain(one) for one in found]}, ensure_ascii=False
    )
    if arguments.out:
        codec.write_atomic(arguments.out / "candidates.json", line + "\n")
        codec.write_atomic(arguments.out / "table.md", told)
    sys.stdout.write(told + line + "\n")
    return 1 if any(one.n_different for one in found) else 0


def _loaded(arguments: argparse.Namespace) -> tuple[LoadedModel, LoadedModel | None]:
    from decoding.models.naming import load_named

    loaded = load_named(arguments.model, device=arguments.device, dtype=arguments.dtype)
    assistant = load_named(arguments.assistant, device=loaded.device, dtype=loaded.dtype) if arguments.assistant else None
    return loaded, assistant


def _draft(arguments: argparse.Namespace, loaded: LoadedModel) -> LoadedModel | None:
    from decoding.models.naming import load_draft

    return load_draft(arguments.draft_model, loaded) if arguments.draft_model else None


def _evenly(rows: Sequence[T], limit: int | None) -> Sequence[T]:
    """`limit` rows spread over the file, which is sorted by event and task."""
    if limit is None or limit >= len(rows):
        return rows
    return [rows[i * len(rows) // limit] for i in range(limit)]


def _note(text: str) -> None:
    sys.stderr.write(text + "\n")


if __name__ == "__main__":
    sys.exit(main())
