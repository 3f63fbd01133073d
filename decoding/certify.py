"""Checks recorded texts against the model itself: `python -m decoding.certify RECORDS --model M`.

Nothing of the decoder takes part: each prompt with its answer goes through the model's own forward (transformers), and every
token must be what the model says there. Exit code 0: certified; 1: not, naming the first token that is not; 2: bad input.

- Greedy: the token is the argmax. In float32 exactly; in 16 bits the logits depend on how many rows a product has, so a
  token whose logit is within `--gap` of the best passes, and the largest gap is printed.
- Sampled, rule `match`: token i is the one that random number i of the seed picks. Within a gap: it could be that one if
  each logit moved by no more than the gap.
- Sampled, rule `rejection`: each token is possible, and over the whole run u = F(token-) + V p(token) is uniform in [0, 1)
  (randomised probability integral transform, Brockwell 2007), by a chi-square test at p > 0.001.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import random
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from data.errors import UserError, WikigenError
from data.types import Strict
from decoding.models.registry import NAMES

if TYPE_CHECKING:
    import torch

    from decoding.certificate import Record
    from decoding.models.loading import LoadedModel
    from decoding.sampling import Sampler

CHUNK = 128
"""Answer positions per forward: bounds the memory for whole rows of logits."""
PROMPT_CHUNK = 512
HALF_GAP = 0.05
"""The default gap in bfloat16 and float16; in float32 it is 0. Measured between one row and eight: 0.016 to 0.027."""
LEAST_P = 1e-3
LEAST_TOKENS = 200
"""With fewer sampled tokens a uniformity test says nothing."""
MAX_BINS = 20


@dataclass(frozen=True, slots=True)
class Offence(Strict):
    """The first token that the model did not say. `position` counts the answer's tokens from 0."""

    record: str
    method: str
    position: int
    token: int
    expected: int
    why: str


@dataclass(frozen=True, slots=True)
class Certificate(Strict):
    model: str
    fingerprint: str
    dtype: str
    gap: float
    n_answers: int
    n_tokens: int
    n_greedy_tokens: int
    n_matched_tokens: int
    """Sampled tokens that were recomputed from their seed."""
    n_rejection_tokens: int
    n_near_ties: int
    """Tokens that were not the model's first choice but within the gap."""
    largest_gap: float
    uniformity_p: float | None
    """None when no answer was sampled under the rejection rule."""
    certified: bool
    offence: Offence | None
    methods: tuple[str, ...]
    versions: dict[str, str]


@dataclass(slots=True)
class _Checked:
    """Results so far."""

    n_greedy: int = 0
    n_matched: int = 0
    u_values: list[float] = field(default_factory=list)
    n_near: int = 0
    largest: float = 0.0

    def near(self, gap: float) -> None:
        self.n_near += 1
        self.largest = max(self.largest, gap)


def certify(records: Sequence[Record], loaded: LoadedModel, *, gap: float | None = None) -> Certificate:
    """Check all records up to the first offence.

    Raises UserError: a record of another model or precision, or too few sampled tokens for the test of `rejection` runs.
    """
    from decoding.machine import versions

    _same_model(records, loaded)
    allowed = gap if gap is not None else 0.0 if loaded.dtype == "float32" else HALF_GAP
    checked = _Checked()
    offence = None
    with loaded.lock:
        for record in records:
            offence = _check(record, loaded, allowed, checked)
            if offence is not None:
                break
    p = None
    if offence is None and checked.u_values:
        p = uniformity(checked.u_values)
    return Certificate(
        model=loaded.name,
        fingerprint=loaded.fingerprint,
        dtype=loaded.dtype,
        gap=allowed,
        n_answers=len(records),
        n_tokens=sum(len(record.answer) for record in records),
        n_greedy_tokens=checked.n_greedy,
        n_matched_tokens=checked.n_matched,
        n_rejection_tokens=len(checked.u_values),
        n_near_ties=checked.n_near,
        largest_gap=checked.largest,
        uniformity_p=p,
        certified=offence is None and (p is None or p > LEAST_P),
        offence=offence,
        methods=tuple(sorted({record.method for record in records})),
        versions=versions(),
    )


def _same_model(records: Sequence[Record], loaded: LoadedModel) -> None:
    model: Any = loaded.model
    vocab = model.get_output_embeddings().weight.shape[0]
    for record in records:
        if record.fingerprint != loaded.fingerprint:
            raise UserError(
                f"record {record.id} was made by {record.model} ({record.dtype}, {record.fingerprint[:12]}), not by "
                f"{loaded.name} ({loaded.dtype}, {loaded.fingerprint[:12]}); name that model, with --dtype {record.dtype}"
            )
        if not record.prompt or not record.answer:
            raise UserError(f"record {record.id} has no {'answer' if record.prompt else 'prompt'}; make the records again")
        if not all(0 <= token < vocab for token in (*record.prompt, *record.answer)):
            raise UserError(f"record {record.id} holds tokens that {loaded.name} does not know; make the records again")


def _check(record: Record, loaded: LoadedModel, gap: float, checked: _Checked) -> Offence | None:
    from decoding.grounding import answer_rules
    from decoding.sampling import Sampler

    if offence := _check_end(record, loaded.eos_ids):
        return offence
    n_prompt = len(record.prompt)
    sampler = Sampler(record.sampling, n_prompt, answer_rules(record.sampling, loaded, n_prompt, loaded.eos_ids))
    # independent of the numbers that chose the tokens, and the same whenever the record is checked
    numbers = random.Random(f"certify {record.id} {record.sampling.seed}")
    for at, logits in enumerate(answer_logits(loaded.model, record.prompt, record.answer)):
        prefix = [*record.prompt, *record.answer[:at]]
        token = record.answer[at]
        if sampler.greedy:
            checked.n_greedy += 1
            found = _greedy(sampler.ruled(prefix, logits), token, gap, checked)
        elif record.rule == "match":
            checked.n_matched += 1
            found = _matched(sampler, prefix, logits, token, gap, checked)
        else:
            found = _possible(sampler, prefix, logits, token, gap, checked, numbers.random())
        if found is not None:
            expected, why = found
            return Offence(record.id, record.method, at, token, expected, why)
    return None


def _check_end(record: Record, eos_ids: frozenset[int]) -> Offence | None:
    """An answer ends at its first end token, or at its limit, or where a stop string or its reader ended it."""
    limit = record.sampling.max_new_tokens
    for at, token in enumerate(record.answer):
        if at >= limit:
            return Offence(record.id, record.method, at, token, -1, f"a token beyond the limit of {limit}")
        if token in eos_ids and at + 1 < len(record.answer):
            return Offence(record.id, record.method, at + 1, record.answer[at + 1], -1, "a token behind the end token")
    last = len(record.answer) - 1
    if record.stop == "end" and record.answer[last] not in eos_ids:
        return Offence(record.id, record.method, last, record.answer[last], -1, "it is said to end the text and does not")
    if record.stop == "length" and last + 1 < limit:
        return Offence(record.id, record.method, last, record.answer[last], -1, f"said to be the last of {limit}")
    return None


def answer_logits(model: Any, prompt: Sequence[int], answer: Sequence[int]) -> Iterator[torch.Tensor]:
    """The model's logits (V,), float32, at which each token of `answer` was chosen: a pass over the text, in pieces."""
    import torch

    ids = torch.tensor([[*prompt, *answer[:-1]]], device=model.device)  # (1, P + A - 1)
    cuts = [*range(0, len(prompt) - 1, PROMPT_CHUNK), *range(len(prompt) - 1, ids.shape[1], CHUNK), ids.shape[1]]
    cache = None
    with torch.inference_mode():
        for start, end in itertools.pairwise(cuts):
            wanted = start >= len(prompt) - 1
            out = model(input_ids=ids[:, start:end], past_key_values=cache, use_cache=True, logits_to_keep=0 if wanted else 1)
            cache = out.past_key_values
            if wanted:
                yield from out.logits[0].float()


def _greedy(logits: torch.Tensor, token: int, gap: float, checked: _Checked) -> tuple[int, str] | None:
    best = int(logits.argmax())
    missing = float(logits[best] - logits[token])
    if token == best:
        return None
    if missing <= gap:
        checked.near(missing)
        return None
    return best, f"its logit is {missing:.4g} below the best, {gap:g} being allowed"


def _matched(
    sampler: Sampler, prefix: Sequence[int], logits: torch.Tensor, token: int, gap: float, checked: _Checked
) -> tuple[int, str] | None:
    expected = sampler.choose(prefix, logits)
    if token == expected:
        return None
    number = sampler.number(prefix)
    low, high = _reach(sampler, prefix, logits, token, gap)
    missing = max(low - number, number - high, 0.0)
    if gap and not missing:
        checked.near(0.0)
        return None
    return expected, f"random number {number:.6f} lies {missing:.3g} outside what this token can be given"


def _reach(sampler: Sampler, prefix: Sequence[int], logits: torch.Tensor, token: int, gap: float) -> tuple[float, float]:
    """The random numbers that could pick `token`, were each logit to move by up to `gap`.

    Tokens within the gap may then be before or behind it, and sums of probabilities move by at most gap / (2 temperature),
    that of the nucleus too.
    """
    from decoding.sampling import Sampler

    sampling = sampler.sampling
    slack = gap / (2 * sampling.temperature)
    ruled = sampler.ruled(prefix, logits)
    lows: list[float] = []
    highs: list[float] = []
    for top_p in {max(sampling.top_p - slack, 1e-9), sampling.top_p, min(sampling.top_p + slack, 1.0)}:
        p = Sampler(replace(sampling, top_p=top_p), len(prefix)).distribution(prefix, logits)
        lows.append(float(p[ruled > ruled[token] + gap].sum()) - slack)
        highs.append(float(p[ruled >= ruled[token] - gap].sum()) + slack)
    return min(lows), max(highs)


def _possible(
    sampler: Sampler, prefix: Sequence[int], logits: torch.Tensor, token: int, gap: float, checked: _Checked, number: float
) -> tuple[int, str] | None:
    """Adds the token's u-value: mass of the more probable ones plus a random share of its own."""
    p = sampler.distribution(prefix, logits)
    mass = float(p[token])
    if mass <= 0:
        ruled = sampler.ruled(prefix, logits)
        missing = float(ruled[p > 0].min() - ruled[token])
        if not gap or missing > gap:
            return int(p.argmax()), "the token has probability 0 under these sampling parameters"
        checked.near(missing)
        return None
    before = float(p[p > mass].sum()) + float(p[:token][p[:token] == mass].sum())
    checked.u_values.append(min(before + number * mass, math.nextafter(1.0, 0.0)))
    return None


def uniformity(values: Sequence[float]) -> float:
    """p of a chi-square test that `values` are uniform in [0, 1). Raises UserError when there are fewer than LEAST_TOKENS."""
    from scipy.stats import chi2

    if len(values) < LEAST_TOKENS:
        raise UserError(
            f"{len(values)} sampled tokens are too few for a test of their distribution; record at least {LEAST_TOKENS}"
        )
    bins = min(MAX_BINS, len(values) // 20)
    counts = [0] * bins
    for value in values:
        counts[int(value * bins)] += 1
    expected = len(values) / bins
    statistic = sum((count - expected) ** 2 for count in counts) / expected
    return float(chi2.sf(statistic, bins - 1))


def describe(certificate: Certificate) -> Iterable[str]:
    c = certificate
    yield f"model    {c.model}, {c.dtype}, fingerprint {c.fingerprint[:12]}"
    yield f"answers  {c.n_answers} with {c.n_tokens} tokens, by {', '.join(c.methods)}"
    if c.n_greedy_tokens:
        yield f"greedy   {c.n_greedy_tokens} tokens checked against the argmax"
    if c.n_matched_tokens:
        yield f"sampled  {c.n_matched_tokens} tokens recomputed from their seeds"
    if c.n_rejection_tokens:
        told = "not tested" if c.uniformity_p is None else f"uniform with p = {c.uniformity_p:.3g} (needed: above {LEAST_P:g})"
        yield f"sampled  {c.n_rejection_tokens} tokens under the rejection rule: {told}"
    if c.gap:
        yield f"gap      {c.gap:g} allowed; {c.n_near_ties} near-ties, the largest {c.largest_gap:.4g}"
    if c.certified:
        yield "certified: every token is what the model says"
    elif c.offence is not None:
        o = c.offence
        wanted = f", the model says {o.expected}" if o.expected >= 0 else ""
        yield f"NOT certified: record {o.record} ({o.method}), answer token {o.position} is {o.token}{wanted}: {o.why}"
    else:
        yield "NOT certified: the sampled tokens do not have the model's distribution"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m decoding.certify",
        description="Check recorded texts against the model, token by token. Exit code 0: certified, 1: not, 2: bad input.",
    )
    parser.add_argument("records", type=Path, metavar="RECORDS", help="records.jsonl, or the folder that holds it")
    parser.add_argument("--model", required=True, metavar="NAME", help=f"the model that wrote them: {NAMES}")
    parser.add_argument("--gap", type=float, metavar="G", help=f"allowed logit gap (default: 0 in float32, else {HALF_GAP})")
    parser.add_argument("--device", default="auto", metavar="DEVICE")
    parser.add_argument("--dtype", metavar="DTYPE", help="default: that of the records")
    parser.add_argument("--out", type=Path, metavar="FILE", help="default: certificate.json beside the records")
    arguments = parser.parse_args(argv)
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    try:
        return _run(arguments)
    except WikigenError as error:
        sys.stderr.write(f"decoding.certify: {error}\n")
        return error.exit_code


def _run(arguments: argparse.Namespace) -> int:
    from data import codec
    from decoding.certificate import read_records
    from decoding.models.naming import load_named

    if arguments.gap is not None and not arguments.gap >= 0:
        raise UserError(f"--gap {arguments.gap} must be 0 or more")
    records = read_records(arguments.records)
    loaded = load_named(arguments.model, device=arguments.device, dtype=arguments.dtype or records[0].dtype)
    certificate = certify(records, loaded, gap=arguments.gap)
    folder = arguments.records if arguments.records.is_dir() else arguments.records.parent
    codec.write_atomic(arguments.out or folder / "certificate.json", codec.to_json(certificate, indent=1) + "\n")
    for line in describe(certificate):
        sys.stdout.write(line + "\n")
    sys.stdout.write(json.dumps({"certified": certificate.certified, "n_tokens": certificate.n_tokens}) + "\n")
    return 0 if certificate.certified else 1


if __name__ == "__main__":
    sys.exit(main())
