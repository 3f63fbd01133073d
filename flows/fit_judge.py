"""Make the default judge again: examples from open data, a network trained on them, a regression over its readings.

    python -m flows.fit_judge --agents wlc --corpus corpus.jsonl.xz --wice wice --citations labelled_citations.jsonl

Nothing of the `test` part of any benchmark is read. The network's weights go to decoding/support/weights/judge.safetensors,
the regression and its card to eval/embedded_judge.json. An interrupted training goes on where it stood when the same command
is given again. `--part writer` trains the second network, on the topics and documents that the first has not seen, with
another seed; it has no regression here.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from flows import console


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m flows.fit_judge", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--agents", type=Path, required=True, metavar="DIR", help="folder with articles/ and data/ of research agents"
    )
    parser.add_argument("--corpus", type=Path, required=True, metavar="FILE", help="open text, corpus.jsonl.xz")
    parser.add_argument(
        "--wice", type=Path, required=True, metavar="DIR", help="WiCE's development part and marked training claims"
    )
    parser.add_argument("--citations", type=Path, required=True, metavar="FILE", help="Wikipedia citations labelled by people")
    parser.add_argument("--part", choices=("judge", "writer"), default="judge")
    parser.add_argument("--step", choices=("all", "network", "regression"), default="all")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--work", type=Path, default=Path("runs/fit_judge"), metavar="DIR", help="where checkpoints are kept")
    arguments = parser.parse_args(argv)
    return console.guarded(lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    from decoding.support import reader

    weights = reader.JUDGE_WEIGHTS if arguments.part == "judge" else reader.WRITER_WEIGHTS
    if arguments.step in ("all", "network"):
        train(arguments, weights)
    if arguments.part == "judge" and arguments.step in ("all", "regression"):
        fit(arguments)
    return 0


def train(arguments: argparse.Namespace, weights: Path) -> None:
    from benchmark.splits import in_dev
    from decoding.support.files import fresh_network, pair_encoder, save_network
    from decoding.support.training import Recipe
    from decoding.support.training import train as train_network
    from eval.support_examples import Sources, make_examples

    sources = Sources(
        agents=arguments.agents / "articles",
        corpus=arguments.corpus,
        wice=arguments.wice / "partially_supported_train.jsonl",
        topics=tuple(p.stem for p in sorted((arguments.agents / "data" / "wiki").glob("*.json")) if in_dev(p.stem)),
    )
    examples = make_examples(sources, arguments.part)
    console.note(f"{len(examples)} examples; checkpoints in {arguments.work}")
    seed = 1 if arguments.part == "judge" else 2
    network, encoder = fresh_network(seed=seed), pair_encoder()

    def report(done: int, of: int, loss: float) -> None:
        if done % 100 == 0:
            console.note(f"step {done} of {of}, loss {loss:.3f}")

    recipe = Recipe(seed=seed, threads=arguments.threads)
    checkpoint = arguments.work / f"{arguments.part}.safetensors"
    train_network(network, encoder, examples, recipe, checkpoint=checkpoint, on_step=report)
    save_network(network, weights, {"part": arguments.part, "examples": str(len(examples)), "seed": str(seed)})
    checkpoint.unlink(missing_ok=True)


def fit(arguments: argparse.Namespace) -> None:
    from data import codec
    from decoding.support.reader import MiniLmReader
    from eval.embedded_judge import MODEL_FILE
    from eval.fit_embedded import fit_model, read_sample
    from eval.fit_lexical import WICE_FILE
    from eval.judge_accuracy import read_rows
    from eval.lexical_judge import LexicalJudge

    reader, lexical = MiniLmReader(), LexicalJudge()
    rows = [*read_rows(arguments.wice / WICE_FILE), *read_rows(arguments.citations)]
    model = fit_model(read_sample(rows, lexical.weight, reader), reader)
    codec.write_atomic(MODEL_FILE, codec.to_json(model, indent=1) + "\n")
    card = model.card
    console.result(f"{card.n_claims} claims, nested: AUROC {card.auroc:.3f}, balanced accuracy {card.balanced_accuracy:.3f}")


if __name__ == "__main__":
    sys.exit(main())
