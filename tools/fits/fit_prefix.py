"""Train the beginnings of prompts that `qwen-1.5b` says facts with (`decoding.prefixes`) on answers of a larger model.

    python -m tools.fits.fit_prefix say --data wikigenbench/data --data wiki-live-challenge/data
    python -m tools.fits.fit_prefix parts --data wikigenbench/data --data wiki-live-challenge/data

`sayings.jsonl.xz` has statements and how a large model says each, told to be a careful editor, and the long ones in short
sentences (`parts`). Of sentences of pages it has only the first 12 hexadecimal digits of their SHA-256: they are of development
events, and are found again in the benchmark folders. The weights stay as they are: what is trained are keys and values of the
prompt's beginning, from those that its tokens have, or that another task's beginning was trained to.
Prints the loss (nats a token) on what is held out, which chooses the step that is kept. Half an hour on two cores with
bfloat16 instructions; goes on from its last checkpoint.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from data import codec
from data.errors import UserError
from flows.showing import console
from pipeline.writing.saying import SAY
from pipeline.writing.short_facts import PARTS

if TYPE_CHECKING:
    import torch

    from decoding.api import Message
    from decoding.local import LocalGenerator
    from decoding.prefixes.prefix import TrainedPrefix

SAYINGS_FILE = Path(__file__).with_name("sayings.jsonl.xz")
MODEL = "qwen-1.5b"
STAND_IN = {SAY: 151_935, PARTS: 151_934}
"""Of each task a row of the model's embedding that no text has a token for."""
BEGUN_AS = {PARTS: SAY}
"""Tasks of which the beginning is trained on from another's."""
RATE, CALM, SEED = 4e-3, 0.95, 0
"""Adam's step, in root mean squares of a layer's keys or values (four times as much diverges), and its second beta."""
EPOCHS, BATCH = 1.5, 8
WARM_UP, LOOK = 10, 40
"""Steps until the full rate, and between two looks at what is held out."""
GROUP = 8
"""Batches that are sorted by length together, so that little is padding."""


@dataclass(frozen=True, slots=True)
class Example:
    """Token ids behind the beginning: the rest of the prompt, and the answer with its end."""

    prompt: tuple[int, ...]
    answer: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.prompt) + len(self.answer)


@dataclass(frozen=True, slots=True)
class Task:
    """`beginnings`, as tokens and as `texts`: those of prompts for which the trained one stands; it begins as the first."""

    beginnings: tuple[tuple[int, ...], ...]
    texts: tuple[str, ...]
    train: tuple[Example, ...]
    held_out: tuple[Example, ...]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.fits.fit_prefix", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("task", choices=tuple(STAND_IN))
    parser.add_argument("--data", metavar="DIR", action="append", required=True, help="benchmark folder; may be given again")
    parser.add_argument("--out", type=Path, metavar="FILE", help="default: decoding/prefixes/; `parts` lies beside `say`")
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args(argv)
    return console.guarded(lambda: fit(arguments.task, arguments.data, arguments.out, arguments.device))


def fit(name: str, folders: Sequence[str], out: Path | None, device: str) -> int:
    from decoding.local import LocalGenerator
    from decoding.models.gguf import load_gguf
    from decoding.models.registry import KNOWN, checked_file
    from decoding.prefixes.prefix import FOLDER, TrainedPrefix, prefix_of

    asked = list(_asked(name, folders))
    known = KNOWN[MODEL]
    loaded = load_gguf(checked_file(known), device=device, dtype="bfloat16", tell=console.note)
    task = _task(name, asked, LocalGenerator(loaded), loaded.tokenizer)
    if not task.train or not task.held_out:
        raise UserError(f"{', '.join(folders)} hold none of the events that are learned from; give their folders with --data")
    path = out or FOLDER / f"{name}-{known.sha256[:12]}.safetensors"
    begun = prefix_of(known.sha256, BEGUN_AS[name]) if name in BEGUN_AS else None
    training = Training(loaded.model, task, begun)
    before, after = training.run(path.with_suffix(".part"))
    about = f"{EPOCHS} epochs of {len(task.train)} answers; held out {before:.3f} -> {after:.3f} nats a token"
    keys, values = (part.float().cpu().numpy() for part in training.best())
    TrainedPrefix(name, known.sha256, task.beginnings, task.texts, STAND_IN[name], about, keys, values).save(path, begun)
    console.result(f"{path}: {about}")
    return 0


class Training:
    """Keys and values (layers, H_kv, N, D) of a beginning, as the first ones and what is added to them."""

    def __init__(self, model: Any, task: Task, begun: TrainedPrefix | None = None) -> None:
        """`begun`: what is trained on; None for what the beginning's own tokens give."""
        import torch
        from transformers import DynamicCache

        self._model, self._task = model.eval(), task
        for weight in model.parameters():
            weight.requires_grad_(False)
            weight.data = weight.data.clone()  # mapped from a file they are read again and again
        if begun is not None:
            first = torch.stack([torch.from_numpy(part) for part in (begun.keys, begun.values)], dim=1).to(model.device)
        else:
            cache: Any = DynamicCache()
            with torch.inference_mode():
                model.model(input_ids=self._tensor([task.beginnings[0]]), past_key_values=cache, use_cache=True)
            first = torch.stack([torch.stack((layer.keys[0], layer.values[0])) for layer in cache.layers]).float()
        # The first token takes what attention is left over, and has keys a hundred times as long: it stays.
        self._scale = first[..., 4:, :].pow(2).mean(dim=(2, 3, 4), keepdim=True).sqrt().repeat(1, 1, 1, first.shape[3], 1)
        self._scale[..., :1, :] = 0
        self._first = first.clone()
        self._added = torch.zeros_like(self._first, requires_grad=True)
        self._adam = torch.optim.AdamW([self._added], lr=RATE, betas=(0.9, CALM), weight_decay=0.0)
        self._best: tuple[float, Any] = (math.inf, self._added.detach().clone())

    def run(self, checkpoint: Path) -> tuple[float, float]:
        """The loss on what is held out before the first step, and the least one."""
        import torch

        batches = list(_batches(self._task.train, EPOCHS, BATCH))
        before, at = self._held_out(), 0
        if checkpoint.is_file():
            at = self._restored(checkpoint)
        for step in console.tracked("training", range(at, len(batches)), len(batches) - at, str):
            rate = RATE * min(1.0, (step + 1) / WARM_UP) * (0.5 + 0.5 * math.cos(math.pi * step / len(batches)))
            self._adam.param_groups[0]["lr"] = rate
            self._loss(batches[step]).backward()
            torch.nn.utils.clip_grad_norm_([self._added], 1.0)
            self._adam.step()
            self._adam.zero_grad(set_to_none=True)
            if (step + 1) % LOOK == 0 or step + 1 == len(batches):
                loss = self._held_out()
                console.note(f"step {step + 1}: held out {loss:.4f}")
                if loss < self._best[0]:
                    self._best = (loss, self._added.detach().clone())
                self._keep(checkpoint, step + 1)
        checkpoint.unlink(missing_ok=True)
        return before, self._best[0]

    @property
    def _learned(self) -> str:
        """Changes with what is learned from and how: a checkpoint of other examples is none."""
        return hashlib.sha256(repr((self._task, EPOCHS, BATCH, RATE, SEED, LOOK)).encode()).hexdigest()

    def _keep(self, checkpoint: Path, at: int) -> None:
        from safetensors.torch import save_file

        state = self._adam.state[self._added]
        parts = {"best": self._best[1], "added": self._added.detach(), "mean": state["exp_avg"], "square": state["exp_avg_sq"]}
        about = {"at": at, "least": self._best[0], "learned": self._learned}
        beside = checkpoint.with_suffix(".new")
        save_file({name: part.contiguous() for name, part in parts.items()}, beside, metadata={"about": json.dumps(about)})
        beside.replace(checkpoint)

    def _restored(self, checkpoint: Path) -> int:
        """The steps that are done; 0 for a checkpoint of another training."""
        import torch
        from safetensors import safe_open

        with safe_open(checkpoint, "pt", device=str(self._model.device)) as file:
            about = json.loads(file.metadata()["about"])
            parts = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # no mapping
        if about["learned"] != self._learned:
            console.note(f"{checkpoint} is of another training, which begins anew")
            return 0
        at = int(about["at"])
        self._best = (float(about["least"]), parts["best"])
        self._added.data = parts["added"]
        moments = {"step": torch.tensor(float(at)), "exp_avg": parts["mean"], "exp_avg_sq": parts["square"]}
        self._adam.state[self._added] = moments
        return at

    def best(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Keys and values that had the least loss on what is held out."""
        kept = self._first + self._scale * self._best[1]
        return kept[:, 0], kept[:, 1]

    def _held_out(self) -> float:
        import torch

        examples, size = sorted(self._task.held_out, key=len), BATCH
        total = n = 0.0
        with torch.no_grad():
            for at in range(0, len(examples), size):
                few = examples[at : at + size]
                tokens = sum(len(one.answer) for one in few)
                total, n = total + float(self._loss(few)) * tokens, n + tokens
        return total / n

    def _loss(self, batch: Sequence[Example]) -> torch.Tensor:
        """Mean cross entropy of the answers' tokens."""
        import torch
        from transformers import DynamicCache

        longest, many, begun = max(map(len, batch)), len(batch), self._first.shape[3]
        ids = [(*one.prompt, *one.answer, *([0] * (longest - len(one)))) for one in batch]
        # Padding is behind everything that is looked at, and what is before it does not see it: no mask is needed.
        rows = [
            i * longest + len(one.prompt) - 1 + j for i, one in enumerate(batch) for j in range(len(one.answer))
        ]  # each says the next token
        cache = DynamicCache()
        for layer, (keys, values) in enumerate((self._first + self._scale * self._added).to(self._model.dtype)):
            cache.update(keys.expand(many, -1, -1, -1), values.expand(many, -1, -1, -1), layer)
        seen = torch.ones(many, begun + longest, dtype=torch.long, device=self._model.device)
        states = self._model.model(input_ids=self._tensor(ids), attention_mask=seen, past_key_values=cache, use_cache=True)
        # Rows of two dimensions: of three torch copies the output layer for each text.
        wanted = states.last_hidden_state.reshape(many * longest, -1)[torch.tensor(rows, device=self._model.device)]
        logits = self._model.lm_head(wanted.contiguous()).float()
        return torch.nn.functional.cross_entropy(logits, self._tensor([t for one in batch for t in one.answer]))

    def _tensor(self, ids: object) -> torch.Tensor:
        import torch

        return torch.tensor(ids, device=self._model.device)


def _batches(examples: Sequence[Example], epochs: float, size: int) -> Iterator[list[Example]]:
    """Of about one length each, in another order each time."""
    rng = random.Random(SEED)
    left = int(epochs * len(examples) / size)
    while left > 0:
        order = rng.sample(range(len(examples)), len(examples))
        groups = [order[at : at + size * GROUP] for at in range(0, len(order), size * GROUP)]
        alike = [sorted(group, key=lambda i: len(examples[i])) for group in groups]
        found = [[examples[i] for i in group[at : at + size]] for group in alike for at in range(0, len(group), size)]
        rng.shuffle(found)
        yield from found[:left]
        left -= len(found)


@dataclass(frozen=True, slots=True)
class _Asked:
    messages: tuple[Message, ...]
    answer: str
    is_held_out: bool


def _task(name: str, asked: Sequence[_Asked], generator: LocalGenerator, tokenizer: Any) -> Task:
    from pipeline.writing import prompts

    asking = {SAY: (prompts.say(""), prompts.say("", story=True)), PARTS: (prompts.parts(""),)}[name]

    def text(messages: Sequence[Message]) -> str:
        turns = [{"role": one.role, "content": one.content} for one in messages]
        return str(tokenizer.apply_chat_template(turns, tokenize=False))

    texts = tuple(text(messages[:-1]) for messages in asking)
    beginnings = tuple(tuple(tokenizer(one, add_special_tokens=False).input_ids) for one in texts)
    examples: dict[bool, list[Example]] = {False: [], True: []}
    for one in asked:
        ids = tuple(generator.prompt_ids(one.messages))
        if ids[: len(beginnings[0])] != beginnings[0]:
            raise UserError("prompts of this model begin each otherwise")
        answer = (*tokenizer(one.answer, add_special_tokens=False).input_ids, tokenizer.eos_token_id)
        examples[one.is_held_out].append(Example(ids[len(beginnings[0]) :], answer))
    return Task(beginnings, texts, tuple(examples[False]), tuple(examples[True]))


def _rows(path: Path) -> Iterator[Mapping[str, Any]]:
    for line in codec.lines_of(path):
        yield json.loads(line)


def _asked(name: str, folders: Sequence[str]) -> Iterator[_Asked]:
    from pipeline.writing import prompts

    for statement, row in sayings(folders):
        if name == SAY:
            yield _Asked(prompts.say(statement), row["said"], row["part"] == "held out")
        elif "parts" in row:
            yield _Asked(prompts.parts(statement), "\n".join(row["parts"]), row["part"] == "held out")


def sayings(folders: Sequence[str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each statement and its row: statements as they are, and sentences of pages as they are found again in the benchmark
    folders."""
    from data.locate import locate
    from data.snapshot import Snapshot
    from tools.fits.fit_probes import evidence_of

    rows = list(_rows(SAYINGS_FILE))
    sentences: dict[str, str] = {}
    wanted = {row["event"] for row in rows if "sentence" in row}
    for _, _, offered in evidence_of([Snapshot(locate(folder)) for folder in folders], wanted):
        sentences.update(offered)
    for row in rows:
        if statement := row.get("statement") or sentences.get(row["sentence"]):
            yield statement, row


if __name__ == "__main__":
    sys.exit(main())
