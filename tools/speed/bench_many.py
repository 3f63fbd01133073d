"""How long several requests take at once (`Generator.generate_many`), over one by one; and whether the texts are the same.

    python -m tools.speed.bench_many --model smollm2
    python -m tools.speed.bench_many --model gguf:FILE --requests 16 --shared-words 400 --card-words 150 --candidates 2

The requests are like those for notes of an article: one instruction with its examples for all of them, a card of sentences of
the sample's articles for each `--candidates` of them, sampled with a seed each. Each way is measured `--repeat` times in turn,
the prompt of the other forgotten in between. Wall seconds hold for an idle machine; CPU seconds of the process stand beside
them. Exit code: 0 measured, 1 texts differ, 2 wrong input.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from data.errors import UserError
from decoding.api import Completion, Message, Request, SamplingParams

SAMPLE = Path(__file__).resolve().parents[2] / "data" / "sample" / "wiki"
QUESTION = "List the facts of this card as short notes, each on a line of its own."


def notes_like(
    n: int, candidates: int, shared_words: int, card_words: int, sampling: Callable[[int], SamplingParams]
) -> list[Request]:
    """n requests; `candidates` in a row have one card."""
    words = itertools.cycle(
        word for path in sorted(SAMPLE.glob("*.json")) for word in _words(json.loads(path.read_text("utf-8")))
    )
    system = Message("system", "You write notes. Examples: " + " ".join(itertools.islice(words, shared_words)))
    cards = [" ".join(itertools.islice(words, card_words)) for _ in range(-(-n // candidates))]
    return [Request((system, Message("user", f"{cards[i // candidates]}\n\n{QUESTION}")), sampling(i)) for i in range(n)]


def _words(value: object) -> list[str]:
    if isinstance(value, str):
        return value.split()
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [word for part in parts for word in _words(part)]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.speed.bench_many", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--requests", type=int, default=8)
    parser.add_argument("--candidates", type=int, default=1)
    parser.add_argument("--shared-words", type=int, default=400)
    parser.add_argument("--card-words", type=int, default=120)
    parser.add_argument("--tokens", type=int, default=100, help="at most, of each answer")
    parser.add_argument("--temperature", type=float, default=0.7)
    parser.add_argument("--repeat", type=int, default=3)
    asked = parser.parse_args(argv)
    try:
        return measure(asked)
    except UserError as error:
        sys.stderr.write(f"error: {error}" + "\n")
        return 2


def measure(asked: argparse.Namespace) -> int:
    from decoding.engine import Engine
    from decoding.local import LocalGenerator
    from decoding.models.naming import load_named

    loaded = load_named(asked.model, device="cpu", dtype=asked.dtype)
    engine = Engine(loaded)
    generator = LocalGenerator(loaded, engine=engine)
    requests = notes_like(
        asked.requests,
        asked.candidates,
        asked.shared_words,
        asked.card_words,
        lambda seed: SamplingParams(asked.tokens, temperature=asked.temperature, top_p=0.95, seed=seed),
    )
    ways: dict[str, Callable[[], list[Completion]]] = {
        "one by one": lambda: [generator.generate(one.messages, one.sampling) for one in requests],
        "together": lambda: generator.generate_many(requests),
    }
    if not engine.together:
        raise UserError(f"{loaded.name} writes texts in turn ({engine.describe()}); name a low-bit model, or add --dtype int8")
    for way in ways.values():  # compiles, measures costs
        way()
    found: dict[str, list[Completion]] = {}
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(asked.repeat):
        for name, way in ways.items():
            with engine.lock:
                engine.forget()
            wall, cpu = time.perf_counter(), time.process_time()
            found[name] = way()
            times[name].append((time.perf_counter() - wall, time.process_time() - cpu))
    n_prompt = sum(one.n_prompt_tokens for one in found["together"])
    n_new = sum(one.n_new_tokens for one in found["together"])
    sys.stdout.write(
        f"{loaded.name}, {engine.describe()}: {len(requests)} requests, {n_prompt} prompt tokens, {n_new} new ones" + "\n"
    )
    for name, of in times.items():
        wall, cpu = (sorted(one[k] for one in of)[len(of) // 2] for k in (0, 1))
        sys.stdout.write(f"{name:12} {wall:7.2f} s wall, {cpu:7.2f} s CPU (medians of {len(of)})" + "\n")
    ratio = sorted(a[0] / b[0] for a, b in zip(times["one by one"], times["together"], strict=True))
    sys.stdout.write(
        f"one by one over together: {ratio[len(ratio) // 2]:.2f}x [{ratio[0]:.2f}, {ratio[-1]:.2f}] by the clock" + "\n"
    )
    differ = sum(a.text != b.text for a, b in zip(found["one by one"], found["together"], strict=True))
    sys.stdout.write(f"texts that differ: {differ} of {len(requests)}" + "\n")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
