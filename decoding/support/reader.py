"""The network as the rest of the project sees it: `decoding.api.SupportReader`."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from decoding.api import SupportReading
from decoding.machine import cpu_features

if TYPE_CHECKING:
    from decoding.support.encoding import Encoded
    from decoding.support.forward import ReadingForward
    from decoding.support.verifier import StatementNetwork

_WEIGHTS = Path(__file__).with_name("weights")
JUDGE_WEIGHTS = _WEIGHTS / "judge.safetensors"
"""What the benchmark judges with."""
VERIFIER_WEIGHTS = _WEIGHTS / "verifier.safetensors"
"""Of another network and other data: for writers, who may not be graded by their own ruler."""

BATCH_TOKENS = 2048
JUDGED_TOKENS = 256
"""Of a pair before the judge; writers read fewer (`encoding.LONGEST`)."""
HALF_ERROR = 0.3
"""Log odds by which half precision may be wrong. The largest error on 1,200 claims of development topics was 0.19, near the
judge's limit 0.08."""

_Pair = tuple[str, tuple[str, ...]]


class MiniLmReader:
    """MiniLM with trained adapters, on the CPU. May be shared by threads: calls take turns."""

    def __init__(self, path: Path = JUDGE_WEIGHTS, *, longest: int | None = None, quick: bool | None = None) -> None:
        """`longest`: tokens of a pair, by default as in training. `quick`: whether to read in half precision where that is
        exact enough; by default on processors that multiply such numbers quicker.

        Raises UserError for weights that are missing or belong to another network.
        """
        import torch

        from decoding.support.forward import ReadingForward
        from decoding.support.weight_files import load_network, pair_encoder

        network = load_network(path).merge()
        self._exact = ReadingForward(network, torch.float32)
        quick = "avx512_bf16" in cpu_features().split() if quick is None else quick
        self._quick = ReadingForward(network, torch.bfloat16) if quick else None
        self._encoder = pair_encoder() if longest is None else pair_encoder(longest=longest)
        self._fingerprint = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
        self._name = f"minilm-{path.stem}"
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return self._name

    @property
    def fingerprint(self) -> str:
        return self._fingerprint

    def read(self, pairs: Sequence[_Pair], *, within: float = 0.0) -> list[SupportReading | None]:
        """Chances are rounded to 3 places: the other pairs of its batch move them by less."""
        forward = self._exact if self._quick is None or within < HALF_ERROR else self._quick
        with self._lock:
            encoded = {pair: self._encoder.encode(*pair) for pair in dict.fromkeys(pairs)}
            found = self._readings(forward, {pair: one for pair, one in encoded.items() if one is not None})
        return [found.get(pair) for pair in pairs]

    def _readings(self, forward: ReadingForward, encoded: Mapping[_Pair, Encoded]) -> dict[_Pair, SupportReading]:
        """In batches of pairs of about the same length."""
        found: dict[_Pair, SupportReading] = {}
        for batch in _batches(sorted(encoded.items(), key=lambda item: len(item[1].ids))):
            readings = _run(forward, [one for _, one in batch])
            found.update(zip((pair for pair, _ in batch), readings, strict=True))
        return found


def _batches(encoded: Sequence[tuple[_Pair, Encoded]]) -> Iterator[list[tuple[_Pair, Encoded]]]:
    """Runs of pairs, sorted by length, that are at most `BATCH_TOKENS` together."""
    batch: list[tuple[_Pair, Encoded]] = []
    for item in encoded:
        if batch and (len(batch) + 1) * len(item[1].ids) > BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(item)
    if batch:
        yield batch


def _run(forward: ReadingForward, batch: Sequence[Encoded]) -> list[SupportReading]:
    import torch

    from decoding.support.encoding import collate

    with torch.inference_mode():
        words, pairs = forward(collate(batch))
        chances, support = words.sigmoid().tolist(), pairs.sigmoid().tolist()
    return [
        SupportReading(
            support=round(support[row], 3),
            words=tuple((a, b, round(chances[row][place], 3)) for place, (a, b) in enumerate(one.spans, 1)),
        )
        for row, one in enumerate(batch)
    ]


@cache
def judge_reader() -> MiniLmReader:
    """The shared instance; loading takes about half a second, importing its libraries several."""
    return MiniLmReader(JUDGE_WEIGHTS, longest=JUDGED_TOKENS)


class StatementReader:
    """MPNet with trained adapters, on the CPU: whether a text says a sentence, as a whole. Of single words it says nothing.

    In half precision where the processor multiplies such numbers. May be shared by threads: calls take turns.
    """

    name = "mpnet-verifier"

    def __init__(self, path: Path = VERIFIER_WEIGHTS) -> None:
        """The encoder is loaded when there is something to read: what files an article's statements needs its memory before
        (`decoding.filing`). `check_verifier` says beforehand whether it is here."""
        from decoding.support.verifier import StatementEncoder

        self._path = path
        self._encoder = StatementEncoder()
        self._fingerprint = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
        self._lock = threading.Lock()

    @cached_property
    def _network(self) -> StatementNetwork:
        """Raises UserError where the encoder's file is not here, or the adapters are of another network."""
        import torch

        from decoding.support.verifier import load_network

        network = load_network(self._path).merge()
        if "avx512_bf16" in cpu_features().split():
            encoder: Any = network.encoder
            encoder.to(torch.bfloat16)
        return network

    @property
    def fingerprint(self) -> str:
        return self._fingerprint

    def read(self, pairs: Sequence[_Pair], *, within: float = 0.0) -> list[SupportReading | None]:
        """Chances are rounded to 3 places; the other pairs of its batch move them by less, in half precision by a bit more."""
        with self._lock:
            encoded = {pair: self._encoder.encode(*pair) for pair in dict.fromkeys(pairs)}
            known = sorted(((pair, one) for pair, one in encoded.items() if one is not None), key=lambda item: len(item[1].ids))
            found: dict[_Pair, SupportReading] = {}
            for batch in _batches(known):
                chances = self._chances([one for _, one in batch])
                found |= {pair: SupportReading(chance, ()) for (pair, _), chance in zip(batch, chances, strict=True)}
        return [found.get(pair) for pair in pairs]

    def _chances(self, batch: Sequence[Encoded]) -> list[float]:
        import torch

        from decoding.support.encoding import collate

        with torch.inference_mode():
            _, says = self._network(collate(batch))
            return [round(chance, 3) for chance in says.sigmoid().tolist()]


def check_verifier() -> None:
    """Raises UserError, with the command that gets it, where the file of what writers read with is not here."""
    from decoding.models.registry import VERIFIER, check_here

    check_here(VERIFIER)


@cache
def writer_reader() -> StatementReader:
    """The shared instance for writers: another network and other training data than the judge's."""
    return StatementReader()
