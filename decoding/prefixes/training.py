"""The loop that trains a prefix: the weights stay, and the keys and values of a prompt's beginning move.

They begin where the model itself puts them (as Eyuboglu et al., "Cartridges", 2025, found best), all but the first token's,
on which attention rests. A change is counted in standard deviations of its layer's keys or values, so that one step size
serves all. Seeded; its state is saved every few steps, so that a run that was cut off goes on.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from data.errors import UserError
from decoding.prefixes.prefix import write_prefix

if TYPE_CHECKING:
    import torch

    from decoding.models.loading import LoadedModel

_SAVED_EVERY = 40
_WARM_UP = 10
_NO_TARGET = -100


@dataclass(frozen=True, slots=True)
class Example:
    """`prompt` ends where the answer begins; only the answer's tokens are learned."""

    prompt: tuple[int, ...]
    answer: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Recipe:
    """`step_size` at its highest, in standard deviations; it rises over ten steps and falls as a cosine."""

    steps: int
    batch: int = 8
    step_size: float = 0.03
    seed: int = 0


def beginning_of(examples: Sequence[Example]) -> tuple[int, ...]:
    """The tokens that all prompts begin with. Raises UserError for none."""
    first, n = examples[0].prompt, min(len(one.prompt) for one in examples) - 1
    for one in examples:
        n = next((i for i in range(n) if one.prompt[i] != first[i]), n)
    if not n:
        raise UserError("the prompts have no beginning in common; give examples of one task")
    return first[:n]


class PrefixTraining:
    """Trains one prefix of a model whose weights are floats."""

    def __init__(self, loaded: LoadedModel, examples: Sequence[Example], recipe: Recipe) -> None:
        """Raises UserError for a low-bit model, whose matrices pass no gradients, and for too few examples."""
        import torch

        if loaded.is_low_bit:
            raise UserError(f"{loaded.name}: low-bit matrices pass no gradients; load it with dtype bfloat16 or float32")
        if len(examples) < recipe.batch:
            raise UserError(f"{len(examples)} examples are less than one batch of {recipe.batch}; give more")
        self._model: Any = loaded.model
        self._device = loaded.model.device
        self._examples = tuple(examples)
        self._recipe = recipe
        self.ids = beginning_of(examples)
        with torch.no_grad():
            cache = self._model(torch.tensor([self.ids], device=self._device), use_cache=True).past_key_values
            # (layers, H_kv, n, D)
            self._begun = tuple(torch.stack([getattr(layer, part)[0].float() for layer in cache.layers]) for part in _PARTS)
            self._scales = tuple(part[:, :, 1:].std(2, keepdim=True).mean(-1, keepdim=True) for part in self._begun)
        self._moves = torch.ones(1, 1, len(self.ids), 1, device=self._device)
        self._moves[:, :, 0] = 0
        self._changes = tuple(torch.zeros_like(part).requires_grad_() for part in self._begun)
        self._optimiser = torch.optim.Adam(self._changes, lr=recipe.step_size, betas=(0.9, 0.98))
        self.step = 0

    def run(self, state: Path, tell: Callable[[int, float], None]) -> None:
        """All steps that are left, from `state` on where it exists; `tell` gets each step and its loss."""

        if state.is_file():
            self._take_up(state)
        while self.step < self._recipe.steps:
            for group in self._optimiser.param_groups:
                group["lr"] = self._step_size()
            loss = self.loss(self._batch())
            self._optimiser.zero_grad()
            loss.backward()
            self._optimiser.step()
            self.step += 1
            tell(self.step, float(loss.detach()))
            if self.step % _SAVED_EVERY == 0 or self.step == self._recipe.steps:
                self._save(state)

    def loss(self, batch: Sequence[Example]) -> torch.Tensor:
        """Mean cross entropy of the answers' tokens."""
        import torch

        logits, targets = self._answers(batch)
        return torch.nn.functional.cross_entropy(logits, targets)

    def margins(self, batch: Sequence[Example], first: int, second: int) -> list[float]:
        """For each example how much more the token `first` is expected than `second` where the answer begins, in logits."""
        import torch

        with torch.no_grad():
            logits, _ = self._answers([Example(one.prompt, one.answer[:1]) for one in batch])
        return [float(x) for x in (logits[:, first] - logits[:, second])]

    def write(self, path: Path) -> None:
        keys, values = (part.detach().cpu().numpy() for part in self._now())
        write_prefix(path, self.ids, keys, values)

    def _now(self) -> tuple[torch.Tensor, ...]:
        parts = zip(self._begun, self._changes, self._scales, strict=True)
        return tuple(begun + change * scale * self._moves for begun, change, scale in parts)

    def _answers(self, batch: Sequence[Example]) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits (tokens of all answers, V) and those tokens."""
        import torch
        from transformers import DynamicCache

        n = len(self.ids)
        longest = max(len(one.prompt) + len(one.answer) for one in batch) - n
        tokens = torch.zeros(len(batch), longest, dtype=torch.long)
        targets = torch.full((len(batch), longest), _NO_TARGET)
        for i, one in enumerate(batch):
            own = (*one.prompt[n:], *one.answer)
            tokens[i, : len(own)] = torch.tensor(own)
            at = len(one.prompt) - n - 1
            targets[i, at : at + len(one.answer)] = torch.tensor(one.answer)
        tokens, wanted = tokens.to(self._device), targets.flatten().to(self._device)
        cache = DynamicCache()
        for layer, (keys, values) in enumerate(zip(*self._now(), strict=True)):
            own_parts = [part.to(self._model.dtype).expand(len(batch), -1, -1, -1) for part in (keys, values)]
            cache.update(own_parts[0], own_parts[1], layer)
        states = self._model.model(tokens, past_key_values=cache, use_cache=True).last_hidden_state
        asked = wanted != _NO_TARGET
        # flat rows: the output layer would copy its weights for each text of a batch otherwise
        return self._model.lm_head(states.flatten(0, 1)[asked]).float(), wanted[asked]

    def _step_size(self) -> float:
        recipe = self._recipe
        falling = 0.5 + 0.5 * math.cos(math.pi * self.step / recipe.steps)
        return recipe.step_size * min(1.0, (self.step + 1) / _WARM_UP) * falling

    def _batch(self) -> list[Example]:
        """Examples of about one length; each once an epoch, but for those that fill no batch."""
        size, n_batches = self._recipe.batch, len(self._examples) // self._recipe.batch
        epoch, at = divmod(self.step, n_batches)
        chance = random.Random(100 + 1000 * self._recipe.seed + epoch)
        order = list(range(len(self._examples)))
        chance.shuffle(order)
        batches = []
        for start in range(0, len(order), 16 * size):
            by_length = sorted(order[start : start + 16 * size], key=self._length)
            batches += [by_length[i : i + size] for i in range(0, len(by_length) - size + 1, size)]
        chance.shuffle(batches)
        return [self._examples[k] for k in batches[at % len(batches)]]

    def _length(self, at: int) -> int:
        return len(self._examples[at].prompt) + len(self._examples[at].answer)

    def _save(self, state: Path) -> None:
        import torch
        from safetensors.torch import save_file

        arrays = {"ids": torch.tensor(self.ids), "step": torch.tensor([self.step])}
        for name, change in zip(_PARTS, self._changes, strict=True):
            arrays[name] = change.detach().contiguous()
            arrays |= {f"{name}.{moment}": self._optimiser.state[change][moment] for moment in _MOMENTS}
        unfinished = state.with_name(f"{state.name}.part")
        save_file(arrays, unfinished)
        unfinished.replace(state)

    def _take_up(self, state: Path) -> None:
        import torch
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        try:
            kept = load_file(state, device=str(self._device))
            step = int(kept["step"])
            if tuple(kept["ids"].tolist()) != self.ids or step > self._recipe.steps:
                raise UserError(f"{state} is the state of another training; remove it or name another folder")
            for name, change in zip(_PARTS, self._changes, strict=True):
                with torch.no_grad():
                    change.copy_(kept[name])
                moments = {moment: kept[f"{name}.{moment}"] for moment in _MOMENTS}
                self._optimiser.state[change] = {"step": torch.tensor(float(step)), **moments}
        except (SafetensorError, KeyError) as error:
            raise UserError(f"{state} is no state of a training ({error}); remove it") from error
        self.step = step


_PARTS = ("keys", "values")
_MOMENTS = ("exp_avg", "exp_avg_sq")
"""What Adam keeps of each number beside the count of steps."""
