"""Make the network anew that reads what `ours` wrote: MPNet with adapters, shown people's pairs, statements and rewordings.

    python -m tools.fits.fit_verifier --snli snli_1.0_train.jsonl --agents wlc --corpus corpus.jsonl.xz --wice wice \
        --data wikigenbench/data --data wlc/data --parser en_core_web_sm

Last come sentences with phrases exchanged or moved (`tools.fits.exchanging`), for which `--parser` is a pipeline of spaCy.
Nothing of the `test` part of any benchmark is read. SNLI is Stanford's (CC BY-SA 4.0). The weights go to
decoding/support/weights/verifier.safetensors. Two hours on two cores that multiply bfloat16, a day on others; an interrupted
training goes on where it was when the same command is given again. With `--card` nothing is trained: it prints what the
shipped network makes of pairs that it was not trained on.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from flows.showing import console

if TYPE_CHECKING:
    from decoding.api import SupportExample, SupportReader

PASSAGES_FILE = Path(__file__).with_name("passage_claims.jsonl.xz")
OTHERS_FILE = Path(__file__).with_name("judge_claims.jsonl.xz")
"""Claims beside other passages, written to teach a judge: this network has seen none of them."""
TRIPLES_FILE = Path(__file__).parents[1] / "quality" / "said_triples.jsonl.xz"
REWORDINGS_FILE = Path(__file__).with_name("rewordings.jsonl.xz")
SEEDS = (1, 2, 4, 5)
RATES = (4e-4, 3e-4, 2e-4, 1.5e-4)
AMONG, TIMES = 2_500, 2
"""How many of the examples before are shown among those with phrases exchanged; how often the model's own rewordings are."""
BATCH_TOKENS = 2048


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.fits.fit_verifier", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--card", action="store_true", help="only print what the shipped network makes of held-out pairs")
    parser.add_argument("--snli", type=Path, metavar="FILE", help="SNLI's training part, snli_1.0_train.jsonl")
    parser.add_argument("--agents", type=Path, metavar="DIR", help="folder with articles/ and data/ of research agents")
    parser.add_argument("--corpus", type=Path, metavar="FILE", help="open text, corpus.jsonl.xz")
    parser.add_argument("--wice", type=Path, metavar="DIR", help="WiCE's marked training claims")
    parser.add_argument("--data", metavar="DIR", action="append", default=[], help="benchmark folder; may be given again")
    parser.add_argument("--parser", type=Path, metavar="DIR", help="a pipeline of spaCy for English, with a dependency parser")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--work", type=Path, default=Path("runs/fit_verifier"), metavar="DIR", help="where checkpoints are kept"
    )
    arguments = parser.parse_args(argv)
    needed = (arguments.snli, arguments.agents, arguments.corpus, arguments.wice, arguments.parser)
    if not arguments.card and (None in needed or not arguments.data):
        parser.error("--snli, --agents, --corpus, --wice, --data and --parser are needed to train; --card needs none")
    return console.guarded(lambda: card() if arguments.card else run(arguments))


def run(arguments: argparse.Namespace) -> int:
    import torch

    from decoding.machine import cpu_features
    from decoding.models.adapters import save_trained
    from decoding.support.reader import VERIFIER_WEIGHTS
    from decoding.support.training import Recipe, train
    from decoding.support.verifier import StatementEncoder, fresh_network
    from eval.fitting.statement_examples import FIRST, StatementSources, last_examples, peoples_pairs, statement_examples
    from tools.fits.fit_judge import sources_of

    dtype = torch.bfloat16 if "avx512_bf16" in cpu_features().split() else torch.float32
    network, encoder = fresh_network(seed=SEEDS[0], dtype=dtype), StatementEncoder()
    sources = StatementSources(arguments.snli, PASSAGES_FILE, TRIPLES_FILE, REWORDINGS_FILE, sources_of(arguments))
    first, then = peoples_pairs(arguments.snli)[:FIRST], statement_examples(sources)
    last = last_examples(sources, then)
    steps = (first, then, last, _exchanged_among(arguments, then))
    checkpoints = [arguments.work / f"verifier-{n}.safetensors" for n in range(1, len(steps) + 1)]
    for n, (examples, seed, rate) in enumerate(zip(steps, SEEDS, RATES, strict=True), 1):
        console.note(f"part {n} of {len(steps)}: {len(examples)} examples; checkpoints in {arguments.work}")
        recipe = Recipe(seed=seed, rate=rate, threads=arguments.threads, batch_tokens=BATCH_TOKENS)
        train(network, encoder, examples, recipe, checkpoint=checkpoints[n - 1], on_step=_report)
    facts = {"examples": str(sum(map(len, steps))), "seeds": " ".join(map(str, SEEDS))}
    save_trained(network, VERIFIER_WEIGHTS, facts)
    for checkpoint in checkpoints:
        checkpoint.unlink(missing_ok=True)
    return card()


def _exchanged_among(arguments: argparse.Namespace, before: Sequence[SupportExample]) -> list[SupportExample]:
    from eval.fitting.statement_examples import rewordings
    from tools.fits.exchanging import examples, parser
    from tools.fits.fit_prefix import sayings

    rng = random.Random(SEEDS[-1])
    pairs = [(statement, row["said"]) for statement, row in sayings(arguments.data) if row["part"] != "held out"]
    own = [*rewordings(REWORDINGS_FILE, "train")] * TIMES
    found = examples(pairs, parser(arguments.parser), rng) + own + rng.sample(before, min(AMONG, len(before)))
    rng.shuffle(found)
    return found


def _report(done: int, of: int, loss: float) -> None:
    if done % 100 == 0:
        console.note(f"step {done} of {of}, loss {loss:.3f}")


def card() -> int:
    from decoding.support.reader import writer_reader
    from eval.fitting.statement_examples import by_hand, by_models, claims, rewordings, triples

    for what, examples in (
        ("claims beside passages, held out", claims(PASSAGES_FILE, "held out")),
        ("claims beside passages, written for a judge", claims(OTHERS_FILE, "held out")),
        ("claims by hand", by_hand()),
        ("sentences by local models, the other half", by_models(train=False)),
        ("right and wrong rewordings of held-out titles", triples(TRIPLES_FILE, train=False)),
        ("a small model's rewordings, held out", rewordings(REWORDINGS_FILE, "held out")),
    ):
        console.result(f"{what}: {_agreement(list(examples), writer_reader())}")
    return 0


def _agreement(examples: Sequence[SupportExample], reader: SupportReader) -> str:
    """AUROC, and what is accepted where nine in ten of the true ones are."""
    import numpy as np
    from sklearn.metrics import roc_auc_score

    read = reader.read([(one.claim, one.evidence) for one in examples])
    chances = np.array([0.0 if reading is None else reading.support for reading in read])
    is_true = np.array([one.supported for one in examples])
    false = float((chances[~is_true] >= np.quantile(chances[is_true], 0.1)).mean())
    area = roc_auc_score(is_true, chances)
    return f"{len(examples)}, {is_true.mean():.0%} true, AUROC {area:.3f}, false ones accepted with 90% of the true {false:.0%}"


if __name__ == "__main__":
    sys.exit(main())
