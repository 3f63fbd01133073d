"""Certificates: true records pass, and whoever accepts what the model did not say is caught, with the position."""

from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from data import codec
from data.errors import UserError
from decoding import speculative
from decoding.api import Message, SamplingParams
from decoding.backend import FULL, Rows, StepBackend, Wants
from decoding.backends.build import build_backend
from decoding.bench.reference import plain_decoding
from decoding.certificate import Record, read_records, recording, stop_of, write_records
from decoding.certify import Certificate, answer_logits, certify, main, uniformity
from decoding.drafters.drafter import Draft, Request
from decoding.local import LocalGenerator
from decoding.models.loading import LoadedModel, load
from decoding.sampling import Sampler
from decoding.verify import Accepted
from tests.tiny_model import build_tiny_model

TEXT = ["The bridge over the river fell on Monday morning, the mayor said.", "Nobody was hurt, as the road was closed."]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_tiny_model(
        tmp_path_factory.mktemp("model"), chat_template=False, vocab_from=TEXT, context_tokens=512, layers=1
    )


@pytest.fixture(scope="module")
def loaded(folder: Path) -> LoadedModel:
    return load(str(folder), device="cpu")


@pytest.fixture(scope="module")
def backend(loaded: LoadedModel) -> StepBackend:
    return build_backend(loaded)


class Guessing:
    """Drafts three tokens at random; with `drawn`, as draws from a wrong distribution, for the rejection rule."""

    name = "guessing"
    wants = Wants()
    max_tokens = 3

    def __init__(self, drawn: bool = False) -> None:
        self._drawn = drawn
        self._random = random.Random(1)

    def start(self, request: Request, backend: StepBackend) -> None:
        self._size = backend.info.vocab_size
        self._backend = backend

    def propose(self, text: Sequence[int], room: int) -> Draft:
        import torch

        n = min(3, room)
        if not self._drawn:
            return Draft(tuple(self._random.randrange(self._size) for _ in range(n)), self.name)
        tokens: list[int] = []
        rows = []
        for i in range(n):
            logits = self._backend.step([text[-1] if i == 0 else tokens[-1]], plan=FULL, offset=i).logits[0].float()
            q = torch.softmax(logits * 0.5, dim=-1).double()  # flatter than the model
            rows.append(q)
            tokens.append(self._random.choices(range(self._size), weights=q.tolist())[0])
        return Draft(tuple(tokens), self.name, proposal=torch.stack(rows))

    def observe(self, draft: Draft, new: Sequence[int], rows: Rows) -> None:
        pass


def accept_all(draft: Draft, rows: Rows, text: Sequence[int], sampler: Sampler, uniform: Callable[[], float]) -> Accepted:
    """The broken rule."""
    prefix = [*text, *draft.tokens]
    last = sampler.choose(prefix, rows.logits[len(draft.tokens)])
    return Accepted((*draft.tokens, last), tuple(range(len(draft.tokens))))


def records(
    loaded: LoadedModel, backend: StepBackend, sampling: SamplingParams, *, drawn: bool = False, n: int = 3
) -> list[Record]:
    made = []
    for seed in range(n):
        prompt = LocalGenerator(loaded, plain_decoding(loaded)).prompt_ids([Message("user", TEXT[seed % 2] * (seed // 2 + 1))])
        params = dataclasses.replace(sampling, seed=seed)
        tokens: list[int] = []

        def take(token: int, tokens: list[int] = tokens) -> bool:
            tokens.append(token)
            return token not in loaded.eos_ids and len(tokens) < sampling.max_new_tokens

        speculative.decode(backend, Guessing(drawn), prompt, Sampler(params, len(prompt)), take)
        made.append(
            Record(
                id=str(seed),
                method="guessing",
                model=loaded.name,
                fingerprint=loaded.fingerprint,
                dtype=loaded.dtype,
                prompt=tuple(prompt),
                answer=tuple(tokens),
                sampling=params,
                stop=stop_of(tokens, sampling.max_new_tokens, loaded.eos_ids),
                rule="rejection" if drawn else "match",
            )
        )
    return made


GREEDY = SamplingParams(max_new_tokens=40)
SAMPLED = SamplingParams(max_new_tokens=40, temperature=0.9, top_p=0.95)
PENALISED = SamplingParams(max_new_tokens=40, repetition_penalty=1.3)


@pytest.mark.parametrize("sampling", [GREEDY, SAMPLED, PENALISED], ids=["greedy", "sampled", "penalised"])
def test_true_texts_are_certified(loaded: LoadedModel, backend: StepBackend, sampling: SamplingParams) -> None:
    certificate = certify(records(loaded, backend, sampling), loaded)
    assert certificate.certified and certificate.offence is None
    assert certificate.n_greedy_tokens + certificate.n_matched_tokens == certificate.n_tokens > 60
    assert (certificate.gap, certificate.n_near_ties) == (0.0, 0)
    assert codec.from_json(Certificate, codec.to_json(certificate), where="certificate") == certificate


@pytest.mark.parametrize("sampling", [GREEDY, SAMPLED, PENALISED], ids=["greedy", "sampled", "penalised"])
def test_accepting_everything_is_caught(
    loaded: LoadedModel, backend: StepBackend, sampling: SamplingParams, monkeypatch: pytest.MonkeyPatch
) -> None:
    true = records(loaded, backend, sampling, n=1)[0]
    monkeypatch.setattr(speculative, "accept", accept_all)
    certificate = certify(records(loaded, backend, sampling, n=1), loaded)
    assert not certificate.certified and certificate.offence is not None
    offence = certificate.offence
    assert (offence.position, offence.expected) == (1, true.answer[1])  # the first drafted token stands behind the prefill's


def test_the_rejection_rule_passes_and_accepting_all_its_drafts_does_not(
    loaded: LoadedModel, backend: StepBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    sampling = SamplingParams(max_new_tokens=80, temperature=0.6)
    true = certify(records(loaded, backend, sampling, drawn=True, n=3), loaded)
    assert true.certified and true.n_rejection_tokens >= 200 and true.uniformity_p is not None
    monkeypatch.setattr(speculative, "accept", accept_all)
    false = certify(records(loaded, backend, sampling, drawn=True, n=3), loaded)
    assert not false.certified and false.uniformity_p is not None and false.uniformity_p < 1e-6


def test_a_token_outside_the_nucleus_is_impossible(loaded: LoadedModel, backend: StepBackend) -> None:
    record = records(loaded, backend, dataclasses.replace(SAMPLED, top_k=3), drawn=True, n=1)[0]
    logits = list(answer_logits(loaded.model, record.prompt, record.answer))
    worst = int(logits[5].argmin())
    broken = dataclasses.replace(record, answer=(*record.answer[:5], worst, *record.answer[6:]))
    offence = certify([broken], loaded).offence
    assert offence is not None and (offence.position, offence.token) == (5, worst) and "probability 0" in offence.why


def test_one_changed_token_is_found_in_a_long_text(loaded: LoadedModel, backend: StepBackend) -> None:
    """Behind the first piece of the answer, where logits come from cached keys and values."""
    endless = dataclasses.replace(loaded, eos_ids=frozenset())
    prompt = tuple(range(3, 40))
    sampling = SamplingParams(max_new_tokens=200)
    tokens: list[int] = []

    def take(token: int) -> bool:
        tokens.append(token)
        return len(tokens) < 200

    speculative.decode(backend, Guessing(), prompt, Sampler(sampling, len(prompt)), take)
    record = Record("x", "m", loaded.name, loaded.fingerprint, loaded.dtype, prompt, tuple(tokens), sampling, "length")
    assert certify([record], endless).certified
    other = next(t for t in range(3, 50) if t != tokens[150])
    offence = certify([dataclasses.replace(record, answer=(*tokens[:150], other, *tokens[151:]))], endless).offence
    assert offence is not None and (offence.position, offence.expected) == (150, tokens[150])


def test_ends_are_checked(loaded: LoadedModel, backend: StepBackend) -> None:
    record = records(loaded, backend, GREEDY, n=1)[0]
    short = dataclasses.replace(record, answer=record.answer[:-5])
    eos = min(loaded.eos_ids)
    beyond = dataclasses.replace(record, answer=(eos, *record.answer[1:]))
    for wrong, at in ((short, len(short.answer) - 1), (beyond, 1)):
        offence = certify([wrong], loaded).offence
        assert offence is not None and offence.position == at


def test_sixteen_bits_need_a_gap(folder: Path) -> None:
    """Texts of the T=1 loop in bfloat16, against passes over whole texts: equal up to the gap, which is then told."""
    half = load(str(folder), device="cpu", dtype="bfloat16")
    backend = build_backend(half)
    for sampling in (GREEDY, SAMPLED):
        made = records(half, backend, sampling)
        certificate = certify(made, half)
        assert certificate.certified and certificate.gap == 0.05 and certificate.largest_gap <= 0.05
    tokens = list(made[0].answer)
    logits = list(answer_logits(half.model, made[0].prompt, tokens))
    tokens[3] = int(logits[3].argmin())
    assert not certify([dataclasses.replace(made[0], answer=tuple(tokens))], half).certified


def test_uniformity() -> None:
    numbers = random.Random(0)
    even = [numbers.random() for _ in range(2000)]
    assert uniformity(even) > 1e-3
    assert uniformity([u**1.3 for u in even]) < 1e-6
    with pytest.raises(UserError, match="too few"):
        uniformity(even[:50])


def test_a_generator_records_what_it_writes(loaded: LoadedModel, tmp_path: Path) -> None:
    path = tmp_path / "run" / "records.jsonl"
    plain = plain_decoding(loaded)
    stopping = dataclasses.replace(SAMPLED, stop=("e",), seed=3)
    for asked in (GREEDY, stopping):  # a second wrapper goes on in the same file
        generator = LocalGenerator(loaded, recording(plain, loaded, path, method="hf"))
        done = generator.generate([Message("user", TEXT[0])], asked)
        assert read_records(path)[-1].answer and done.n_new_tokens == len(read_records(path)[-1].answer)
    first, second = read_records(path.parent)
    assert (first.id, second.id, first.method, second.sampling) == ("000001", "000002", "hf", stopping)
    assert first.stop in ("end", "length") and second.stop == "stop"
    assert certify([first, second], loaded).certified


def test_the_command(
    loaded: LoadedModel, backend: StepBackend, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = records(loaded, backend, GREEDY, n=2)
    write_records(tmp_path / "records.jsonl", made)
    words = [str(tmp_path), "--model", str(folder), "--device", "cpu"]
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == {"certified": True, "n_tokens": 80}
    assert codec.read(Certificate, tmp_path / "certificate.json").certified
    answer = (*made[1].answer[:7], (made[1].answer[7] + 1) % 300, *made[1].answer[8:])
    write_records(tmp_path / "records.jsonl", [made[0], dataclasses.replace(made[1], answer=answer)])
    assert main(words) == 1
    assert "record 1 (guessing), answer token 7" in capsys.readouterr().out
    stored = codec.read(Certificate, tmp_path / "certificate.json")
    assert stored.offence is not None and stored.offence.position == 7


def test_bad_input_is_told(
    loaded: LoadedModel, backend: StepBackend, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def told(path: Path, *words: str) -> str:
        assert main([str(path), "--model", str(folder), "--device", "cpu", *words]) == 2
        return capsys.readouterr().err

    assert "decoding.bench" in told(tmp_path / "none.jsonl")
    (tmp_path / "empty.jsonl").write_text("\n")
    assert "no records" in told(tmp_path / "empty.jsonl")
    (tmp_path / "broken.jsonl").write_text('{"id": 3}\n')
    assert "broken.jsonl:1" in told(tmp_path / "broken.jsonl")
    record = records(loaded, backend, GREEDY, n=1)[0]
    write_records(tmp_path / "other.jsonl", [dataclasses.replace(record, fingerprint="0" * 64)])
    assert "was made by" in told(tmp_path / "other.jsonl")
    write_records(tmp_path / "good.jsonl", [record])
    assert "--gap -1" in told(tmp_path / "good.jsonl", "--gap", "-1")
    assert "bfloat16" in told(tmp_path / "good.jsonl", "--dtype", "bfloat16")
