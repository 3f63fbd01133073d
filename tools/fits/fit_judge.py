"""Make the default judge again: examples from open data, a network trained on them, a regression over its readings.

    python -m tools.fits.fit_judge --agents wlc --corpus corpus.jsonl.xz --wice wice --citations labelled_citations.jsonl

Nothing of the `test` part of any benchmark is read. The network's weights go to decoding/support/weights/judge.safetensors,
the regression and its card to eval/judges/embedded_judge.json. An interrupted training goes on where it was when the same
command is given again. A third of the topics and documents are kept from it, to measure edits on.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from flows.showing import console

if TYPE_CHECKING:
    from eval.fitting.support_examples import Sources


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.fits.fit_judge", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--agents", type=Path, required=True, metavar="DIR", help="folder with articles/ and data/ of research agents"
    )
    parser.add_argument("--corpus", type=Path, required=True, metavar="FILE", help="open text, corpus.jsonl.xz")
    parser.add_argument(
        "--wice", type=Path, required=True, metavar="DIR", help="WiCE's development part and marked training claims"
    )
    parser.add_argument("--citations", type=Path, required=True, metavar="FILE", help="Wikipedia citations labelled by people")
    parser.add_argument("--step", choices=("all", "network", "regression"), default="all")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--work", type=Path, default=Path("runs/fit_judge"), metavar="DIR", help="where checkpoints are kept")
    arguments = parser.parse_args(argv)
    return console.guarded(lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    from decoding.support import reader

    if arguments.step in ("all", "network"):
        train(arguments, reader.JUDGE_WEIGHTS)
    if arguments.step in ("all", "regression"):
        fit(arguments)
    return 0


def sources_of(arguments: argparse.Namespace) -> Sources:
    from benchmark.splits import in_dev
    from eval.fitting.support_examples import Sources

    return Sources(
        agents=arguments.agents / "articles",
        corpus=arguments.corpus,
        wice=arguments.wice / "partially_supported_train.jsonl",
        topics=tuple(p.stem for p in sorted((arguments.agents / "data" / "wiki").glob("*.json")) if in_dev(p.stem)),
    )


def train(arguments: argparse.Namespace, weights: Path) -> None:
    from decoding.support.training import Recipe
    from decoding.support.training import train as train_network
    from decoding.support.weight_files import fresh_network, pair_encoder, save_network
    from eval.fitting.support_examples import SEED, make_examples

    sources = sources_of(arguments)
    examples = make_examples(sources)
    console.note(f"{len(examples)} examples; checkpoints in {arguments.work}")
    network, encoder = fresh_network(seed=SEED), pair_encoder()

    def report(done: int, of: int, loss: float) -> None:
        if done % 100 == 0:
            console.note(f"step {done} of {of}, loss {loss:.3f}")

    recipe = Recipe(seed=SEED, threads=arguments.threads)
    checkpoint = arguments.work / "judge.safetensors"
    train_network(network, encoder, examples, recipe, checkpoint=checkpoint, on_step=report)
    save_network(network, weights, {"part": "judge", "examples": str(len(examples)), "seed": str(SEED)})
    checkpoint.unlink(missing_ok=True)


def fit(arguments: argparse.Namespace) -> None:
    from data import codec
    from decoding.support.reader import judge_reader
    from eval.cards.judge_accuracy import read_rows
    from eval.fitting.fit_embedded import fit_model, read_claims
    from eval.fitting.fit_lexical import WICE_FILE
    from eval.fitting.support_examples import edited_rows
    from eval.judges.embedded_judge import MODEL_FILE
    from eval.judges.lexical_judge import LexicalJudge

    reader = judge_reader()
    wice, citations = read_rows(arguments.wice / WICE_FILE), read_rows(arguments.citations)
    edited = edited_rows(sources_of(arguments))
    judge = LexicalJudge()
    sets = [read_claims(rows, judge, reader) for rows in (wice, citations, edited)]
    model = fit_model(sets[0], sets[1], sets[2], judge, reader)
    codec.write_atomic(MODEL_FILE, codec.to_json(model, indent=1) + "\n")
    for name, one in (("WiCE, nested", model.card.wice), ("citations", model.card.citations)):
        console.result(
            f"{name}, {one.n_claims} claims: AUROC {one.auroc:.3f} [{one.auroc_low:.3f}, {one.auroc_high:.3f}], "
            f"balanced accuracy {one.balanced_accuracy:.3f}, F1 {one.f1:.3f}"
        )
    console.result(f"edited statements accepted: true {model.card.edited_true:.1%}, false {model.card.edited_false:.1%}")


if __name__ == "__main__":
    sys.exit(main())
