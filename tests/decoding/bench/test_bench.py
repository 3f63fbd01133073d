"""The measurement on a tiny model: what it compares, what it prints and stores, and that wrong texts do not pass."""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

import pytest

from data import codec
from data.errors import UserError
from data.snapshot import Snapshot
from decoding.api import DecodeStats, Message, SamplingParams
from decoding.backend import Rows, StepBackend
from decoding.backends.build import build_backend
from decoding.bench.__main__ import SAMPLE_PROMPTS, main
from decoding.bench.divergence import compare, peer_noise, step_noise
from decoding.bench.llama_bindings import OfCyllama, OfLlamaCppPython, binding
from decoding.bench.llama_cpp import build, llama_cpp_texts
from decoding.bench.peers import peer
from decoding.bench.result import ALL, BenchResult
from decoding.bench.session import Request, bench_prompts, measure
from decoding.bench.tables import markdown
from decoding.bench.timed_runs import Contestant, run_once
from decoding.drafters.drafter import Draft
from decoding.engine import Engine
from decoding.knn.prompt_files import PromptRow, read_prompts
from decoding.machine import cpu_features
from decoding.models.loading import LoadedModel, load
from decoding.sampling import Sampler
from decoding.verify import Accepted
from tests.grids import rest_slow
from tests.tiny_model import build_tiny_model

TEXT = "The bridge over the river fell on Monday morning, the mayor said. Nobody was hurt, as the road was closed."
ROWS = [
    PromptRow("1-outline", (Message("user", TEXT),), "outline", "disaster", "1"),
    PromptRow("1-01", (Message("system", "Write."), Message("user", f"{TEXT} {TEXT}")), "section", "disaster", "1"),
    PromptRow("2-01", (Message("user", "Nobody was hurt, the mayor said."),), "section", "disaster", "2"),
    PromptRow("2-01-rewrite", (Message("user", f"Rewrite: {TEXT}"),), "rewrite", "disaster", "2"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_tiny_model(
        tmp_path_factory.mktemp("model"), chat_template=True, vocab_from=[TEXT], context_tokens=512, layers=2
    )


@pytest.fixture(scope="module")
def loaded(folder: Path) -> LoadedModel:
    return load(str(folder), device="cpu")


@pytest.fixture(scope="module")
def backend(loaded: LoadedModel) -> StepBackend:
    return build_backend(loaded)


@pytest.fixture(autouse=True)
def little_memory_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its speed is read from a few megabytes here; that the measurement is right: `backends/test_costs.py`."""
    monkeypatch.setattr("decoding.bench.roofline._CPU_BYTES", 1 << 24)


@pytest.fixture
def prompts_file(tmp_path: Path) -> Path:
    path = tmp_path / "prompts.jsonl"
    path.write_text("".join(codec.to_json(row) + "\n" for row in ROWS), encoding="utf-8")
    return path


def test_the_command_measures_and_stores(
    folder: Path, prompts_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    words = ["--model", folder, "--prompts", prompts_file, "--methods", "greedy,copy", "--against", "hf,hf-pld"]
    more = ["--max-new-tokens", "12", "--repetitions", "2", "--device", "cpu", "--out", out]
    assert main([str(word) for word in (*words, *more)]) == 0
    told = capsys.readouterr().out
    result = codec.from_json(BenchResult, told.splitlines()[-1], where="stdout")
    assert codec.read(BenchResult, out / "bench.json") == result
    assert (out / "table.md").read_text() == told[: told.rindex("{", 0, told.index('{"conditions"') + 1)]
    c = result.conditions
    for condition in (c.model, c.shape, c.dtype, c.machine, c.backend, c.versions["torch"], "4 of prompts.jsonl", "at most 12"):
        assert condition in told
    assert (c.n_prompts, c.max_new_tokens, c.repetitions, c.shape.split(",")[0]) == (4, 12, 2, "2 x 64")

    methods = {m.name: m for m in result.methods}
    assert list(methods) == ["greedy", "copy", "hf", "hf-pld"]
    for m in methods.values():
        assert not m.divergences and not m.n_unstable
        assert m.n_tokens == methods["greedy"].n_tokens and m.total_s == pytest.approx(m.prefill_s + m.decode_s, rel=0.2)
        assert set(m.end_to_end) == set(m.decode) == {ALL, "outline", "section", "rewrite"}
        assert m.end_to_end[ALL].n_prompts == 4 and m.end_to_end["section"].n_prompts == 2
    assert methods["greedy"].end_to_end[ALL].value == 1.0 and methods["hf"].over_hf is not None
    assert methods["hf"].over_hf.value == 1.0
    greedy = methods["greedy"].speculation
    assert greedy is not None and greedy.mean_accepted_tokens == 1.0 and methods["hf"].speculation is None
    assert result.floor.weight_bytes > 0 and result.costs.v(1) == 1.0 and result.n_bugs == 0


def test_assisted_peers_write_the_same_text(loaded: LoadedModel) -> None:
    prompt = bench_prompts(ROWS[:1], loaded, 16)[0]
    texts = {
        name: run_once(Contestant(name, peer(name, loaded, loaded), True), prompt, loaded).tokens
        for name in ("hf", "hf-pld", "hf-early-exit", "hf-assisted")
    }
    assert len(set(texts.values())) == 1 and 1 <= len(texts["hf"]) <= 16


def test_peers_end_at_the_end_token_like_we_do(loaded: LoadedModel) -> None:
    """Some token of the text is declared to be an end token."""
    prompt = bench_prompts(ROWS[:1], loaded, 16)[0]
    whole = run_once(Contestant("hf", peer("hf", loaded), True), prompt, loaded).tokens
    ends = dataclasses.replace(loaded, eos_ids=frozenset((whole[6],)))
    expected = whole[: whole.index(whole[6]) + 1]
    for name in ("hf", "hf-pld"):
        assert run_once(Contestant(name, peer(name, ends), True), prompt, ends).tokens == expected
    from decoding.engine import Engine

    assert run_once(Contestant("copy", Engine(ends, "copy").decode), prompt, ends).tokens == expected


def test_a_method_with_a_wrong_token_is_a_bug(loaded: LoadedModel, backend: StepBackend) -> None:
    prompt = bench_prompts(ROWS[1:2], loaded, 24)[0]
    text = run_once(Contestant("hf", peer("hf", loaded), True), prompt, loaded).tokens
    noise = step_noise(backend, prompt.ids, text)
    assert noise < 1e-3 and peer_noise(backend, loaded, prompt.ids, text) < 1e-3
    assert compare(backend, prompt, text, text, noise) is None
    wrong = (*text[:5], (text[5] + 1) % 300, *text[6:])
    found = compare(backend, prompt, text, wrong, noise)
    assert found is not None and (found.position, found.reference, found.found, found.n_differing) == (5, text[5], wrong[5], 1)
    assert found.verdict == "bug" and found.margin is not None and found.margin > 10 * noise
    excused = compare(backend, prompt, text, wrong, noise=found.margin)  # of a backend so noisy
    assert excused is not None and excused.verdict == "numerics"
    cut = compare(backend, prompt, text, text[:-1], noise)
    assert cut is not None and (cut.position, cut.margin, cut.verdict) == (len(text) - 1, None, "bug")


def accept_all(draft: Draft, rows: Rows, text: Sequence[int], sampler: Sampler) -> Accepted:
    """An accept rule that lets every draft through."""
    last = sampler.choose([*text, *draft.tokens], rows.logits[len(draft.tokens)])
    return Accepted((*draft.tokens, last), tuple(range(len(draft.tokens))))


def test_a_result_with_a_bug_says_so(
    loaded: LoadedModel, monkeypatch: pytest.MonkeyPatch, folder: Path, prompts_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from decoding import speculative

    monkeypatch.setattr(speculative, "accept", accept_all)
    repeating = PromptRow("r", (Message("user", "one two one two one two one two"),), "rewrite")
    prompts_file.write_text(codec.to_json(repeating) + "\n", encoding="utf-8")
    words = ["--model", folder, "--prompts", prompts_file, "--methods", "pld", "--max-new-tokens", "24", "--repetitions", "1"]
    assert main([*map(str, words), "--device", "cpu"]) == 1
    told = capsys.readouterr().out
    result = codec.from_json(BenchResult, told.splitlines()[-1], where="stdout")
    pld = result.methods[1]
    assert result.n_bugs == 1 and pld.n_differing_tokens > 0 and "BUG pld, prompt r, token" in told
    assert pld.end_to_end == {}  # no speed without the same text


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--methods", "copi"], "copy"),
        (["--methods", "knn-ssd"], "calibration"),
        (["--methods", "hf"], "--against hf"),
        (["--against", "vllm"], "hf-pld"),
        (["--against", "llama.cp"], "did you mean 'llama.cpp'?"),
        (["--against", "llama.cpp-ngram"], "reads GGUF files"),
        (["--against", "hf-assisted"], "--assistant"),
        (["--max-new-tokens", "500"], "--max-new-tokens"),
        (["--repetitions", "0"], "--repetitions 0"),
        (["--backend", "cuda"], "driven"),
        (["--calibration", "nowhere"], "nowhere"),
    ],
)
def test_what_cannot_run_is_told_before_anything_runs(
    words: list[str],
    told: str,
    folder: Path,
    prompts_file: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from decoding.bench import session

    monkeypatch.setattr(session, "run_all", lambda *_, **__: pytest.fail("something was timed"))
    assert main(["--model", str(folder), "--prompts", str(prompts_file), "--device", "cpu", *words]) == 2
    assert told in capsys.readouterr().err


def test_an_assistant_of_another_vocabulary_is_refused(loaded: LoadedModel, tmp_path: Path) -> None:
    other = load(str(build_tiny_model(tmp_path, chat_template=False, vocab_from=["something else"])), device="cpu")
    with pytest.raises(UserError, match="another vocabulary"):
        measure(
            loaded,
            bench_prompts(ROWS[:1], loaded, 8),
            Request(methods=("greedy",), against=("hf-assisted",)),
            assistant=other,
            told=lambda text: None,
        )


def test_steps_are_timed_in_turn_and_shown_beside_each_other(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = [
        "--model",
        str(folder),
        "--steps",
        "--against",
        "hf",
        "--prompt-tokens",
        "20",
        "--repetitions",
        "2",
        "--dtype",
        "int8",
    ]
    assert main([*argv, "--device", "cpu"]) == 0
    told = capsys.readouterr().out
    line = json.loads(told.splitlines()[-1])
    assert [one["name"] for one in line["steps"]] == ["lowbit, int8", "hf, int8"]
    for one in line["steps"]:
        assert one["prefill"] > 0
        assert all(a <= m <= b for a, m, b in zip(one["fastest"], one["medians"], one["slowest"], strict=True))
    assert "| ours over hf, int8 |" in told and "20 random tokens" in told


def test_llama_cpp_needs_a_gguf(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--model", str(folder), "--steps", "--against", "llama.cpp", "--prompt-tokens", "20"]) == 2
    assert "llama.cpp reads GGUF files; name the model as gguf:FILE, or by its name" in capsys.readouterr().err


def test_the_llama_cpp_that_is_compiled_here_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("llama_cpp", "cyllama", "cyllama.llama", "cyllama.llama.llama_cpp"):
        monkeypatch.setitem(sys.modules, name, None)  # as if it were not installed
    with pytest.raises(
        UserError, match=r"llama_cpp: .*; cyllama: .*CMAKE_ARGS=-DGGML_NATIVE=ON pip install .*llama-cpp-python"
    ):
        binding()
    for name in ("cyllama", "cyllama.llama", "cyllama.llama.llama_cpp"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    assert binding() is OfCyllama
    here = ModuleType("llama_cpp")
    here.llama_print_system_info = lambda: b"CPU : AVX512 = 1 |  AVX512_VNNI = 1 | "  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "llama_cpp", here)
    monkeypatch.setattr("importlib.metadata.version", lambda name: "0.3.36")
    assert binding() is OfLlamaCppPython
    assert build(Path("m.gguf")) == "llama-cpp-python 0.3.36 (CPU : AVX512 = 1 | AVX512_VNNI = 1 |), m.gguf"


class StandIn:
    """In place of llama.cpp: our backend, and n-grams that always propose what followed the last token before, or nonsense."""

    def __init__(self, backend: StepBackend) -> None:
        self._backend, self._rows = backend, list[int]()
        self.n = 0

    def forget(self) -> None:
        self.n = 0

    def read(self, ids: Sequence[int]) -> None:
        self._ids, self.n = list(ids), len(ids)
        self._rows = self._backend.prefill(ids, capacity=512).last.argmax()

    def step(self, ids: Sequence[int]) -> None:
        self._backend.commit(self.n - self._backend.n)
        self._rows = self._backend.step(ids).argmax()

    def chosen(self, row: int) -> int:
        return self._rows[row]

    def ngrams(self) -> StandIn:
        self._known: list[int] = []
        return self

    def update(self, text: Sequence[int], least: int, most: int, new: int) -> None:
        assert len(self._known) + new == len(text)
        self._known = list(text)

    def draft(self, last: Sequence[int], most: int, *sizes: int) -> list[int]:
        assert self._known[-len(last) :] == list(last)
        found = [at for at, token in enumerate(self._known[:-1]) if token == last[-1]]
        return self._known[found[-1] + 1 :][:most] if found else [5, 6, 7]


@pytest.mark.parametrize("name", rest_slow(["llama.cpp", "llama.cpp-ngram"], keep=["llama.cpp-ngram"]))
def test_texts_of_another_engine_are_its_greedy_ones(loaded: LoadedModel, backend: StepBackend, name: str) -> None:
    for row in ROWS:
        (prompt,) = bench_prompts([row], loaded, 20)
        expected = run_once(Contestant("greedy", Engine(loaded, "greedy").decode), prompt, loaded)
        found = run_once(Contestant(name, llama_cpp_texts(name, StandIn(backend)), True), prompt, loaded)  # type: ignore[arg-type]
        assert found.tokens == expected.tokens
        assert 0 < found.prefill_s <= found.total_s


def test_a_text_of_another_arithmetic_is_no_bug(loaded: LoadedModel, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The same wrong token that is a bug of a method, or of transformers, is none of an engine that rounds otherwise."""
    from decoding.bench import session

    def wrong(name: str, engine: object) -> object:
        def decode(
            prompt: Sequence[int], sampling: SamplingParams, take: Callable[[int], bool], **options: object
        ) -> DecodeStats:
            begun = time.perf_counter()
            while take(5):
                pass
            return DecodeStats(time.perf_counter() - begun, prefill_s=0.0)

        return decode

    monkeypatch.setattr(session, "LlamaCpp", lambda file, capacity, threads: None)
    monkeypatch.setattr(session, "llama_cpp_texts", wrong)
    monkeypatch.setattr(session, "build", lambda file: f"b1 {file.name}")
    request = Request(methods=("greedy",), against=("llama.cpp",), repetitions=1, gguf=tmp_path / "tiny.gguf")
    result = measure(loaded, bench_prompts(ROWS[:2], loaded, 12), request, told=lambda text: None)
    other = result.methods[-1]
    assert {d.verdict for d in other.divergences} == {"arithmetic"} and len(other.divergences) == 2
    assert result.n_bugs == 0 and other.end_to_end == {} and result.conditions.llama_cpp == "b1 tiny.gguf"
    assert result.peer_noise is None and "by other arithmetic" in markdown(result) and "b1 tiny.gguf" in markdown(result)


def test_a_model_alone_is_measured_on_the_sample(
    folder: Path, prompts_file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """On shorter prompts here: those of the sample do not fit into the tiny model."""
    from decoding.bench import __main__ as command

    monkeypatch.setattr(command, "SAMPLE_PROMPTS", prompts_file)
    words = ["--model", str(folder), "--against", "hf", "--prompt-tokens", "20", "--repetitions", "1", "--device", "cpu"]
    assert main([*words, "--max-new-tokens", "8", "--limit", "2", "--out", str(tmp_path / "o")]) == 0
    told = capsys.readouterr().out
    assert told.index("| ms a step |") < told.index("# Decoding speed") and "2 of the sample" in told
    assert cpu_features() in told
    result = codec.read(BenchResult, tmp_path / "o" / "bench.json")
    assert [m.name for m in result.methods] == ["greedy", "copy", "mix", "hf"]
    assert (tmp_path / "o" / "steps.md").is_file() and (tmp_path / "o" / "table.md").is_file()


def test_the_prompts_of_the_sample_are_those_of_its_events() -> None:
    rows, sample = read_prompts(SAMPLE_PROMPTS), Snapshot(SAMPLE_PROMPTS.parent)
    ids = list(sample.ids("search"))
    assert [(row.event, row.task) for row in rows] == [
        (event, task) for event in ids for task in ("outline", "section", "rewrite")
    ]
    for row in rows:
        assert sample.event(row.event).title in row.messages[-1].content
