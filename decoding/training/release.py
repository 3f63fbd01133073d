"""Put a trained model in its place: bf16 weights, held-out figures, calibration, model card. One command replaces the old one.

    python -m decoding.training.release runs/model --corpus corpus.jsonl.xz

`--calibrate PROMPTS` (a file of `wikigenben prompts`, from events that are not reported on) makes the KNN-SSD calibration too.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from data import codec
from data.errors import UserError
from decoding.embedded import CALIBRATION_FOLDER, FIGURES, MODEL_FOLDER
from decoding.embedded.prompt import FORM
from decoding.knn.stages import STAGES
from decoding.models import quiet_loading
from decoding.training import checkpoint
from decoding.training.card import Figures, model_card
from decoding.training.corpus import divide, licences, read_corpus
from decoding.training.evaluate import Examination, acceptance
from decoding.training.network import TrainingPass
from decoding.training.plot import loss_plot

MAX_MEGABYTES = 40
EXAMINED_LENGTH = 1024
EXAMINED_ROWS = 40


def release(
    run: Path, corpus: Path, folder: Path, *, calibrate: Path | None = None, say: Callable[[str], None] = lambda line: None
) -> Figures:
    """Examine the model of a training and write it, with its card, to `folder`/model. The old one is replaced at the end.

    Raises UserError for a folder without a model, another corpus than it was trained on, or a model that is too large.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    found = checkpoint.find(run / "model")
    if found is None:
        raise UserError(f"{run} holds no trained model; train one with: python -m decoding.training.train --out {run} ...")
    state = checkpoint.read_state(found)
    documents = read_corpus(corpus)
    if checkpoint.corpus_digest(documents) != state.corpus_sha256:
        raise UserError(f"{corpus} is not the corpus that {run} was trained on; name that one with --corpus")
    with quiet_loading():
        model: Any = AutoModelForCausalLM.from_pretrained(found, dtype=torch.bfloat16, local_files_only=True)
        tokenizer: Any = AutoTokenizer.from_pretrained(found, local_files_only=True)
    new = folder / "model.new"
    shutil.rmtree(new, ignore_errors=True)
    with quiet_loading():
        model.save_pretrained(new)
    tokenizer.save_pretrained(new)
    megabytes = sum(path.stat().st_size for path in new.iterdir()) / 1e6
    if megabytes > MAX_MEGABYTES:
        shutil.rmtree(new)
        raise UserError(f"the model takes {megabytes:.1f} MB, the limit is {MAX_MEGABYTES}; train a smaller one (--hidden)")

    # what is shipped is examined: the rounded weights, in float32 arithmetic
    _, held = divide(documents)
    measured = TrainingPass(model.float().eval(), dtype=torch.float32, compiled=False)
    examination = Examination(tokenizer, held, length=min(EXAMINED_LENGTH, state.preset.context), n_rows=EXAMINED_ROWS, seed=1)
    scores = examination.scores(measured)
    say(codec.to_json(scores))
    accepted = acceptance(examination, measured, state.preset.n_layers, say=say)
    figures = Figures(
        FORM,
        state,
        sum(p.numel() for p in model.parameters()),
        round(megabytes, 1),
        scores,
        accepted,
        tuple(licences(documents)),
    )
    codec.write_atomic(new / FIGURES, codec.to_json(figures, indent=1) + "\n")
    codec.write_atomic(new / "README.md", model_card(figures))
    loss_plot(run, new / "loss.svg")
    _replace(new, folder / MODEL_FOLDER.name)
    if calibrate is not None:
        _calibrate(run, folder, calibrate)
    else:
        shutil.rmtree(folder / CALIBRATION_FOLDER.name, ignore_errors=True)
        say("the old calibration is gone: it was another model's; make one with --calibrate PROMPTS")
    return figures


def _replace(new: Path, place: Path) -> None:
    old = place.with_name(f"{place.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if place.exists():
        place.rename(old)
    new.rename(place)
    shutil.rmtree(old, ignore_errors=True)


def _calibrate(run: Path, folder: Path, prompts: Path) -> None:
    """Searches in `run`, which keeps the working files so that it can go on after a kill, and ships what was found."""
    from decoding.calibrate import main as calibrate

    found = run / CALIBRATION_FOLDER.name
    if calibrate(["--model", str(folder / MODEL_FOLDER.name), "--prompts", str(prompts), "--out", str(found)]):
        raise UserError(
            f"the model is in its place, its calibration failed; try again: python -m decoding.calibrate "
            f"--model {folder / MODEL_FOLDER.name} --prompts {prompts} --out {found}, and copy all but {found / STAGES}"
        )
    place = folder / CALIBRATION_FOLDER.name
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(found, place, ignore=shutil.ignore_patterns(STAGES))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m decoding.training.release", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path, help="the --out of decoding.training.train")
    parser.add_argument("--corpus", type=Path, required=True, help="the corpus that it was trained on")
    parser.add_argument("--to", type=Path, default=MODEL_FOLDER.parent, help="default: the package's own place")
    parser.add_argument("--calibrate", type=Path, metavar="PROMPTS", help="prompts to calibrate KNN-SSD on")
    words = parser.parse_args(argv)

    def say(line: str) -> None:
        sys.stderr.write(line + "\n")
        sys.stderr.flush()

    try:
        release(words.run, words.corpus, words.to, calibrate=words.calibrate, say=say)
    except UserError as error:
        say(f"error: {error}")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
