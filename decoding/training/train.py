"""Train the embedded language model.

    python -m decoding.training.train --preset cpu --corpus corpus.jsonl.xz --out runs/model
    python -m decoding.training.train --preset gpu --corpus corpus.jsonl.xz --out runs/model --device cuda
    python -m decoding.training.train --preset cpu --corpus corpus.jsonl.xz --out runs/model --hidden 192 --tokens 4000000

The same command again goes on where it stopped. OUT holds the tokenizer, `log.jsonl`, `loss.svg`, and `model`, which is a model
folder of transformers after every checkpoint. `python -m decoding.training.release` puts a trained model in its place.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from data.errors import UserError
from decoding.training import checkpoint
from decoding.training.batches import Batches
from decoding.training.checkpoint import State
from decoding.training.corpus import Document, divide, read_corpus
from decoding.training.evaluate import Examination, Scores
from decoding.training.initial import SLOW, hold, write_copying_heads
from decoding.training.network import TrainingPass, new_model
from decoding.training.optimizer import Optimizer
from decoding.training.plot import LOG, loss_plot
from decoding.training.presets import PRESETS, Preset
from decoding.training.vocabulary import train_tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


class Training:
    """A run in a folder: made new, or taken up from its checkpoint.

    Raises:
        UserError: the folder holds a run with another preset, corpus or seed.
    """

    def __init__(
        self,
        out: Path,
        documents: Sequence[Document],
        preset: Preset,
        *,
        seed: int = 0,
        device: str = "cpu",
        compiled: bool | None = None,
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        import torch

        check_preset(preset)
        self._out, self._say = out, say
        self._device = torch.device(device)
        out.mkdir(parents=True, exist_ok=True)
        fresh = State(preset, checkpoint.corpus_digest(documents), seed, step=0, n_tokens=0, place=0, seconds=0.0)
        found = checkpoint.find(out / "model")
        self.state = checkpoint.read_state(found) if found else fresh
        self._check_same(fresh)
        self.preset = preset
        self.state = replace(self.state, preset=preset)
        self._forget_later_lines()
        kept, held = divide(documents)
        self.tokenizer = self._tokenizer(kept)
        self.model: Any = self._new_model().to(self._device)
        self._optimizer = Optimizer(
            self.model,
            matrix_rate=preset.matrix_rate,
            embedding_rate=preset.embedding_rate,
            norm_rate=preset.norm_rate,
            weight_decay=preset.weight_decay,
            slow=SLOW,
        )
        if found:
            checkpoint.restore(found, self.model, self._optimizer)
            say(f"going on at step {self.state.step}, {self.state.n_tokens / 1e6:.2f}M of {preset.tokens / 1e6:.1f}M tokens")
        if compiled is None:
            compiled = preset.hidden >= 128 and (self._device.type == "cuda" or shutil.which("g++") is not None)
        dtype = torch.bfloat16 if preset.hidden >= 128 else torch.float32
        self._pass = TrainingPass(self.model, dtype=dtype, compiled=compiled)
        say(f"reading {len(kept)} documents, {len(held)} more are held out")
        self._batches = Batches(self.tokenizer, kept, seed)
        self._batches.place = self.state.place
        self._examination = Examination(self.tokenizer, held, length=preset.context // 2, n_rows=12)
        say(f"{self._batches.text.n_tokens / 1e6:.2f}M tokens of text, {self.n_parameters / 1e6:.2f}M parameters")

    @property
    def n_parameters(self) -> int:
        return sum(parameter.numel() for parameter in self.model.parameters())

    @property
    def done(self) -> float:
        return self.state.n_tokens / self.preset.tokens

    def run(self, until: float = 1.0) -> None:
        """Train until the share `until` of the tokens; saves, logs and evaluates as the preset says."""
        started, before = time.monotonic(), self.state.seconds
        saved = logged = started
        losses: list[float] = []
        tokens_logged = self.state.n_tokens
        while self.done < until:
            losses.append(self._step(before + time.monotonic() - started))
            if self.state.step % self.preset.eval_every == 0 or self.done >= 1:
                now = time.monotonic()
                speed = (self.state.n_tokens - tokens_logged) / (now - logged)
                self._log(sum(losses) / len(losses), speed)
                losses, tokens_logged, logged = [], self.state.n_tokens, time.monotonic()
            if time.monotonic() - saved > 60 * self.preset.checkpoint_minutes:
                self.save()
                saved = time.monotonic()
        self.save()
        loss_plot(self._out, self._out / "loss.svg")

    def save(self) -> None:
        checkpoint.save(self._out / "model", self.model, self.tokenizer, self._optimizer, self.state)

    def scores(self) -> Scores:
        return self._examination.scores(self._pass)

    def _step(self, seconds: float) -> float:
        """One update; returns the loss in nats a token."""
        state, preset = self.state, self.preset
        rng = random.Random(f"step {state.seed} {state.step}")
        phase = preset.phase(self.done)
        length = rng.choice(phase.lengths)
        rows = self._batches.batch(state.step, max(1, preset.tokens_per_step // length), length, phase.mixture)
        ids = rows.to(self._device)
        exit_layer = rng.randrange(2, preset.n_layers - 1) if preset.exit_weight and state.step % 2 else None
        dropped = preset.dropout.draw(preset.n_layers, rng)
        loss, objective = self._pass.loss(ids, dropped, exit_layer=exit_layer, exit_weight=preset.exit_weight)
        objective.backward()
        hold(self.model)
        self._optimizer.step(preset.schedule.at(self.done))
        self.state = replace(
            state,
            step=state.step + 1,
            n_tokens=state.n_tokens + rows.shape[0] * length,
            place=self._batches.place,
            seconds=round(seconds, 1),
        )
        return float(loss)

    def _log(self, loss: float, tokens_per_s: float) -> None:
        from data import codec

        state = self.state
        line = {
            "step": state.step, "tokens": state.n_tokens, "seconds": state.seconds, "loss": round(loss, 4),
            "rate": round(self.preset.schedule.at(self.done), 4), "tokens_per_s": round(tokens_per_s),
            **codec.to_plain(self.scores()),
        }  # fmt: skip
        with (self._out / LOG).open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        self._say(json.dumps(line))

    def _check_same(self, asked: State) -> None:
        """The number of tokens may change: the schedule stays before it decays, so a training can be made shorter or longer."""
        ours = replace(self.state, preset=replace(self.state.preset, tokens=asked.preset.tokens))
        for name in ("preset", "corpus_sha256", "seed"):
            if getattr(ours, name) != getattr(asked, name):
                raise UserError(
                    f"{self._out} holds a training with another {name.removesuffix('_sha256')}; name another --out, or give "
                    "the flags that it was begun with"
                )

    def _forget_later_lines(self) -> None:
        """What was logged between the checkpoint and a kill will be logged again."""
        log = self._out / LOG
        if log.is_file():
            lines = log.read_text(encoding="utf-8").splitlines(keepends=True)
            log.write_text("".join(x for x in lines if json.loads(x)["step"] <= self.state.step), encoding="utf-8")

    def _tokenizer(self, documents: Sequence[Document]) -> PreTrainedTokenizerFast:
        from transformers import PreTrainedTokenizerFast

        folder = self._out / "tokenizer"
        if not (folder / "tokenizer.json").is_file():
            self._say(f"learning a vocabulary of {self.preset.vocab_size}")
            tokenizer = train_tokenizer(documents, vocab_size=self.preset.vocab_size, context_tokens=self.preset.context)
            tokenizer.save_pretrained(folder)
        read: PreTrainedTokenizerFast = PreTrainedTokenizerFast.from_pretrained(folder)
        return read

    def _new_model(self) -> Any:
        preset, tokenizer = self.preset, self.tokenizer
        ids = {name: getattr(tokenizer, name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
        model = new_model(
            vocab_size=len(tokenizer), n_layers=preset.n_layers, hidden=preset.hidden, head_dim=preset.head_dim,
            context=preset.context, ids=ids, seed=self.state.seed,
        )  # fmt: skip
        write_copying_heads(model, self.state.seed)
        return model


def check_preset(preset: Preset) -> None:
    """Raises UserError for sizes that no model can have, naming the flag."""
    if preset.n_layers < 4:
        raise UserError(f"--layers is {preset.n_layers}; the least is 4, for the first and the last are never dropped")
    if preset.head_dim < 2 or preset.head_dim % 2 or preset.hidden % preset.head_dim:
        raise UserError(f"--hidden {preset.hidden} is no multiple of --head-dim {preset.head_dim}, which must be even")
    if preset.tokens < preset.tokens_per_step:
        raise UserError(f"--tokens is {preset.tokens}; one step takes {preset.tokens_per_step}")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m decoding.training.train", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--preset", choices=sorted(PRESETS), required=True)
    parser.add_argument("--corpus", type=Path, required=True, help="documents as .jsonl or .jsonl.xz with title and text")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--seed", type=int, default=0)
    for name in ("layers", "hidden", "tokens", "head-dim"):
        parser.add_argument(f"--{name}", type=int, help="instead of the preset's")
    for name in ("matrix-rate", "embedding-rate"):
        parser.add_argument(f"--{name}", type=float, help="instead of the preset's")
    parser.add_argument("--no-compile", action="store_true", help="where there is no C++ compiler; slower")
    words = parser.parse_args(argv)

    def say(line: str) -> None:
        sys.stderr.write(line + "\n")
        sys.stderr.flush()

    given = {
        "n_layers": words.layers, "hidden": words.hidden, "tokens": words.tokens, "head_dim": words.head_dim,
        "matrix_rate": words.matrix_rate, "embedding_rate": words.embedding_rate,
    }  # fmt: skip
    preset = replace(PRESETS[words.preset], **{name: value for name, value in given.items() if value is not None})
    try:
        training = Training(
            words.out, read_corpus(words.corpus), preset, seed=words.seed, device=words.device,
            compiled=False if words.no_compile else None, say=say,
        )  # fmt: skip
        training.run()
    except UserError as error:
        say(f"error: {error}")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
