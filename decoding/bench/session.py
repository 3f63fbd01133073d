"""One measurement from its request to its result: load, check, run, compare."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median_low
from typing import TYPE_CHECKING, Any

from data.errors import UserError
from decoding.bench.divergence import compare, peer_noise, step_noise
from decoding.bench.llama_cpp import DRAFTED, NAMES, LlamaCpp, build, llama_cpp_texts
from decoding.bench.peers import PEERS, check_peers, early_exit_layer, peer
from decoding.bench.result import BenchResult, Conditions, Floor, grouped, method_result, timings
from decoding.bench.timed_runs import BenchPrompt, Contestant, Run, run_all
from decoding.lowbit.matrix import matrices_in
from decoding.methods import TAKE_DRAFT_MODEL

if TYPE_CHECKING:
    from decoding.backend import CostTable, StepBackend
    from decoding.engine import Engine
    from decoding.knn.prompt_files import PromptRow
    from decoding.models.loading import LoadedModel

REFERENCE = "greedy"
_NOISE_PROMPTS = 3


@dataclass(frozen=True, slots=True)
class Request:
    """What to measure. `greedy` is always measured: it is what the ratios are over."""

    methods: tuple[str, ...]
    against: tuple[str, ...] = ()
    max_new_tokens: int = 200
    repetitions: int = 3
    seed: int = 0
    backend: str = "auto"
    lengths: str | None = None
    calibration: Path | None = None
    draft: LoadedModel | None = None
    """The model that drafts for methods that take one."""
    prompts_name: str = ""
    gguf: Path | None = None
    """The same weights as a file that llama.cpp reads, if there is one."""


def measure(
    loaded: LoadedModel,
    prompts: Sequence[BenchPrompt],
    request: Request,
    *,
    assistant: LoadedModel | None = None,
    told: Callable[[str], None],
) -> BenchResult:
    """Raises UserError before anything is timed when a method cannot run, and StageError when one fails."""
    from decoding.engine import backend_of

    contestants = entered(loaded, request, assistant, max(len(prompt.ids) + prompt.limit for prompt in prompts))
    with loaded.lock:
        backend = backend_of(loaded, request.backend)
        told("measuring what steps cost")
        costs = backend.costs()
        floor = measure_floor(loaded, costs)
    runs = run_all(contestants, prompts, loaded, repetitions=request.repetitions, seed=request.seed, told=told)
    told("comparing texts")
    with loaded.lock:
        return _result(loaded, backend, prompts, request, contestants, runs, costs, floor, assistant)


def entered(loaded: LoadedModel, request: Request, assistant: LoadedModel | None, longest: int) -> list[Contestant]:
    """All methods, built: whatever one of them lacks (a calibration, say) is reported here. `longest`: tokens of a text."""
    import torch

    check_peers(request.against)
    built = engines(
        loaded,
        request.methods,
        backend=request.backend,
        calibration=request.calibration,
        lengths=request.lengths,
        draft=request.draft,
    )
    others, llama = [], None
    for name in dict.fromkeys(request.against):
        if name in NAMES:
            llama = llama or LlamaCpp(request.gguf, longest + DRAFTED + 1, torch.get_num_threads())
            others.append(Contestant(name, llama_cpp_texts(name, llama), True, same_arithmetic=False))
        else:
            others.append(Contestant(name, peer(name, loaded, assistant), True))
    return [*(Contestant(name, engine.decode) for name, engine in built.items()), *others]


def engines(
    loaded: LoadedModel,
    methods: Sequence[str],
    *,
    backend: str,
    calibration: Path | None,
    lengths: str | None,
    draft: LoadedModel | None = None,
) -> dict[str, Engine]:
    """`greedy` first, whether asked for or not. Raises UserError for a method that cannot run."""
    from decoding.engine import Engine

    if wrong := [name for name in methods if name in PEERS]:
        raise UserError(f"{wrong[0]!r} is no method of ours; compare with it by --against {wrong[0]}")
    known = None
    if calibration is not None:
        from decoding.knn.artefact import Calibration

        known = Calibration.load(calibration, loaded)
    names = dict.fromkeys((REFERENCE, *methods))
    if draft is not None and not TAKE_DRAFT_MODEL & names.keys():
        raise UserError(f"none of these methods has a use for {draft.name}; add draft, draft-tree or mix to --methods")
    return {
        name: Engine(
            loaded,
            name,
            backend=backend,
            calibration=known,
            lengths=lengths,
            draft=draft if name in TAKE_DRAFT_MODEL else None,
        )
        for name in names
    }


def bench_prompts(rows: Sequence[PromptRow], loaded: LoadedModel, max_new_tokens: int) -> list[BenchPrompt]:
    """Raises UserError when a prompt leaves no room for `max_new_tokens` in the model's context."""
    from decoding.bench.reference import plain_decoding
    from decoding.local import LocalGenerator

    encoder = LocalGenerator(loaded, plain_decoding(loaded))
    prompts = []
    for row in rows:
        ids = encoder.prompt_ids(row.messages)
        if len(ids) + max_new_tokens > loaded.context_tokens:
            raise UserError(
                f"prompt {row.id!r} has {len(ids)} tokens and {loaded.name} reads {loaded.context_tokens}, "
                f"{max_new_tokens} new ones included; lower --max-new-tokens, or export shorter prompts: "
                "wikigenben prompts --out FILE"
            )
        prompts.append(BenchPrompt(row.id, row.task, tuple(ids), max_new_tokens, row.sources))
    return prompts


def measure_floor(loaded: LoadedModel, costs: CostTable) -> Floor:
    from decoding.bench.roofline import read_bandwidth, step_bytes

    needed = step_bytes(loaded.model)
    bandwidth = read_bandwidth(loaded.device)
    return Floor(
        weight_bytes=needed.weights,
        kv_bytes=needed.kv_per_token * costs.context,
        context=costs.context,
        bandwidth=bandwidth,
        floor_s=needed.total(costs.context) / bandwidth,
        step_s=costs.unit_s,
    )


def shape_of(loaded: LoadedModel) -> str:
    config: Any = loaded.model.config.get_text_config(decoder=True)
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    whole = {id(matrix): matrix.n_rows * matrix.n_columns for _, matrix in matrices_in(loaded.model)}
    parameters = sum(p.numel() for p in loaded.model.parameters()) + sum(whole.values())
    return (
        f"{config.num_hidden_layers} x {config.hidden_size}, {config.num_attention_heads} heads ({heads} for keys), vocabulary "
        f"{config.vocab_size}, {parameters / 1e6:.1f} M parameters"
    )


def _result(
    loaded: LoadedModel,
    backend: StepBackend,
    prompts: Sequence[BenchPrompt],
    request: Request,
    contestants: Sequence[Contestant],
    runs: Sequence[Run],
    costs: CostTable,
    floor: Floor,
    assistant: LoadedModel | None,
) -> BenchResult:
    by_method = grouped(runs)
    greedy = {prompt: of[0].tokens for prompt, of in by_method[REFERENCE].items()}
    probed = prompts[:_NOISE_PROMPTS]
    noise = max(step_noise(backend, p.ids, greedy[p.id]) for p in probed)
    with_peers = any(contestant.is_peer and contestant.same_arithmetic for contestant in contestants)
    outside = max(peer_noise(backend, loaded, p.ids, greedy[p.id]) for p in probed) if with_peers else None
    times = timings(runs)
    results = []
    for contestant in contestants:
        of = by_method[contestant.name]
        known = max(noise, outside or 0.0) if contestant.is_peer else noise
        compared = (compare(backend, p, greedy[p.id], of[p.id][0].tokens, known) for p in prompts)
        parted = [divergence for divergence in compared if divergence is not None]
        if not contestant.same_arithmetic:
            parted = [replace(divergence, verdict="arithmetic") for divergence in parted]
        results.append(method_result(contestant.name, of, prompts, times, parted, REFERENCE))
    return BenchResult(
        conditions=_conditions(loaded, backend, prompts, request, list(greedy.values()), assistant),
        costs=costs,
        floor=floor,
        noise=noise,
        peer_noise=outside,
        process_peak_bytes=_process_peak(),
        methods=tuple(results),
    )


def _conditions(
    loaded: LoadedModel,
    backend: StepBackend,
    prompts: Sequence[BenchPrompt],
    request: Request,
    greedy: Sequence[Sequence[int]],
    assistant: LoadedModel | None,
) -> Conditions:
    import torch

    from decoding.machine import cpu_features, signature, versions

    info = backend.info
    return Conditions(
        model=loaded.name,
        fingerprint=loaded.fingerprint,
        shape=shape_of(loaded),
        dtype=loaded.dtype,
        device=loaded.device,
        machine=signature(info),
        threads=torch.get_num_threads(),
        backend=info.name,
        batch_invariant=info.batch_invariant,
        versions=versions(),
        prompts=request.prompts_name,
        n_prompts=len(prompts),
        prompt_tokens=_spread([len(prompt.ids) for prompt in prompts]),
        new_tokens=_spread([len(tokens) for tokens in greedy]),
        max_new_tokens=request.max_new_tokens,
        repetitions=request.repetitions,
        seed=request.seed,
        calibration=str(request.calibration or ""),
        draft_model=f"{request.draft.name}, {request.draft.dtype}" if request.draft is not None else "",
        assistant=assistant.name if assistant is not None else "",
        early_exit_layer=early_exit_layer(loaded) if "hf-early-exit" in request.against else None,
        cpu_features=cpu_features(),
        llama_cpp=build(request.gguf) if request.gguf is not None and set(request.against) & set(NAMES) else "",
    )


def _spread(values: Sequence[int]) -> tuple[int, int, int]:
    return min(values), median_low(values), max(values)


def _process_peak() -> int:
    """Of main memory, in bytes."""
    import resource
    import sys

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
