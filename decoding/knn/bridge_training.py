"""Trains a bridge on the model's own answers (self-distillation), on the CPU, in minutes.

The drafter of a round reads the model's keys and values of all committed tokens and its own of the tokens since. So a text is
cut into rounds at random places, and each token is learnt from what a draft would see there; nothing of the model is changed.
What the model would say behind each of a prompt's last tokens is learnt, too: it costs a reading in place of a writing, and
answers alone are learnt by heart. Before that each map is fitted in closed form to carry the residual stream from
where it is to where the next kept sub-layer takes it up.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional

from decoding.backends.bridges import END, Bridge, LowRank, check_path, place_of
from decoding.backends.lowbit_bridges import states_of

if TYPE_CHECKING:
    from decoding.backends.lowbit import LowBitBackend

Report = Callable[[str], None]
Rows = torch.Tensor

NEAR = 48
"""Tokens of a prompt, the last ones, whose states the closed form is fitted on, beside those of the answer."""
PROMPT_WEIGHT = 0.3
RIDGE = 0.02
"""Of the mean square of the input: what the map's distance from the identity costs."""
KEPT_EVERY = 10
_ROWS = 64
"""Tokens whose continuations are asked for in one pass: logits are (64, V)."""


@dataclass(frozen=True, slots=True)
class Text:
    """A prompt and the model's greedy answer, as token ids."""

    prompt: tuple[int, ...]
    answer: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Recipe:
    """`fitted` texts are for the closed form, all for the steps; `prompt` tokens of each prompt, the last ones, are learnt;
    `longest` tokens of a round; `dropout` of what a map passes on."""

    rank: int = 64
    vocabulary: int = 2048
    fitted: int = 40
    prompt: int = 320
    dropout: float = 0.15
    steps: int = 150
    batch: int = 4
    rate: float = 1e-3
    longest: int = 5
    seed: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class _Read:
    """A text with the model's keys and values (H_kv, T, D) of kept attention layers, in 16 bits. Its answer is all that is
    learnt, and may begin in the prompt; `wanted` is what the model goes on with behind each of its tokens but the last, and
    `known` are tokens that a draft may have beside the frequent ones."""

    text: Text
    keys: dict[int, torch.Tensor]
    values: dict[int, torch.Tensor]
    wanted: tuple[int, ...]
    known: frozenset[int]


def train(
    backend: LowBitBackend,
    texts: Sequence[Text],
    path: Sequence[str],
    recipe: Recipe,
    *,
    name: str = "bridge",
    checkpoint: Path | None = None,
    report: Report = lambda line: None,
    stop_after: int | None = None,
) -> Bridge:
    """The bridge after `recipe.steps` steps, or after `stop_after` of them. A checkpoint of the same training is gone on from.

    Raises UserError for a path that the model has not, ValueError without answers of at least two tokens.
    """
    check_path(path, backend.info.n_layers)
    usable = [text for text in texts if len(text.answer) > 1]
    if not usable:
        raise ValueError("there is nothing to learn from")
    drafter = _Drafter(backend, path, recipe)
    done, state = _restored(checkpoint)
    if state:
        drafter.load(state["parameters"])
    else:
        report(f"fitting {path.count('map')} maps in closed form")
        drafter.fit(backend, usable[: recipe.fitted])
    last = recipe.steps if stop_after is None else min(stop_after, recipe.steps)
    if state and done >= last:  # nothing has to be read again
        return drafter.bridge(name, state["vocabulary"])
    read = []
    for n, (text, shared) in enumerate(zip(usable, _shared([text.prompt for text in usable]), strict=True), 1):
        read.append(drafter.read(backend, text, shared))
        if n % 50 == 0:
            report(f"reading answers {n}/{len(usable)}")
    common = Counter(token for text in usable for token in text.answer)
    also = Counter(token for one in read for token in one.wanted)  # those of answers come first
    frequent = [token for token, _ in common.most_common(recipe.vocabulary)]
    frequent += [token for token, _ in also.most_common() if token not in common][: recipe.vocabulary - len(frequent)]
    vocabulary = sorted(frequent)
    if done < last:
        _steps(drafter, read, vocabulary, recipe, done, last, state, checkpoint, report)
    return drafter.bridge(name, vocabulary)


def _steps(
    drafter: _Drafter,
    texts: Sequence[_Read],
    vocabulary: Sequence[int],
    recipe: Recipe,
    done: int,
    last: int,
    state: dict[str, Any],
    checkpoint: Path | None,
    report: Report,
) -> None:
    parameters = list(drafter.parameters.values())
    optimizer = torch.optim.AdamW(parameters, lr=recipe.rate, betas=(0.9, 0.98), weight_decay=0.0)
    if state:
        optimizer.load_state_dict(state["optimizer"])
    batches = _batches(len(texts), recipe)
    total, n_tokens = 0.0, 0
    for step in range(done, last):
        warm = min(1.0, (step + 1) / 10) * (0.1 + 0.45 * (1 + math.cos(math.pi * step / recipe.steps)))
        for group in optimizer.param_groups:
            group["lr"] = recipe.rate * warm
        rng = random.Random(f"{recipe.seed} {step}")
        drafter.noise.manual_seed(1_000 * recipe.seed + step)  # a training that is gone on with ends the same
        batch = [(texts[i], _rounds(len(texts[i].text.answer) - 1, recipe.longest, rng)) for i in batches[step]]
        loss, n = drafter.loss(batch, vocabulary)
        optimizer.zero_grad(set_to_none=True)
        (loss / max(n, 1)).backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        total, n_tokens = total + float(loss.detach()), n_tokens + n
        if (step + 1) % KEPT_EVERY == 0 or step + 1 == last:
            report(f"step {step + 1}/{recipe.steps}: {total / max(n_tokens, 1):.3f} nats a token")
            total, n_tokens = 0.0, 0
            _keep(checkpoint, step + 1, drafter.parameters, optimizer, vocabulary)


class _Drafter:
    """The path of a bridge in float32, with gradients."""

    def __init__(self, backend: LowBitBackend, path: Sequence[str], recipe: Recipe) -> None:
        _, sizes, layers, (cos, sin) = backend.compiled_parts()
        self._path, self._sizes, self._backend, self._recipe = tuple(path), sizes, backend, recipe
        self._cos, self._sin = torch.from_numpy(cos), torch.from_numpy(sin)
        self._layers = {int(step.split(" ")[1]): layers[int(step.split(" ")[1])] for step in path if step != "map"}
        self._weights = {i: backend.layer_values(i) for i in self._layers}
        self._head = backend.output_matrix()
        self.noise = torch.Generator()
        size = backend.info.hidden_size
        self.parameters: dict[str, torch.nn.Parameter] = {}
        for i in range(path.count("map")):
            self._add(f"map {i} down", torch.zeros(recipe.rank, size))
            self._add(f"map {i} up", torch.zeros(size, recipe.rank))
            self._add(f"map {i} bias", torch.zeros(size))
        for step in path:
            if step != "map":
                part, _, layer = step.partition(" ")
                norms = self._layers[int(layer)]
                norm = norms.before_attention if part == "attention" else norms.before_mlp
                self._add(f"norm {step}", torch.from_numpy(norm.copy()))
        self._add(f"norm {END}", torch.from_numpy(backend.last_norm()))

    def _add(self, name: str, value: torch.Tensor) -> None:
        self.parameters[name] = torch.nn.Parameter(value)

    def load(self, state: dict[str, torch.Tensor]) -> None:
        with torch.no_grad():
            for name, parameter in self.parameters.items():
                parameter.copy_(state[name])

    def bridge(self, name: str, vocabulary: Sequence[int]) -> Bridge:
        found = {key: value.detach().numpy().copy() for key, value in self.parameters.items()}
        maps = tuple(
            LowRank(found[f"map {i} down"], found[f"map {i} up"], found[f"map {i} bias"])
            for i in range(self._path.count("map"))
        )
        norms = {step: found[f"norm {step}"] for step in (END, *self._path) if step != "map"}
        return Bridge(name, self._path, maps, norms, tuple(vocabulary))

    # --- texts -----------------------------------------------------------------------------------------------------------

    def read(self, backend: LowBitBackend, text: Text, shared: int = 0) -> _Read:
        """The model reads it, and says what it would go on with; what the kept attention sub-layers will look at is copied.
        The first `shared` tokens are not learnt."""
        ids = [*text.prompt, *text.answer[:-1]]
        first = max(1, len(text.prompt) - self._recipe.prompt, min(shared, len(text.prompt) - 1))
        backend.prefill(ids[:first], capacity=len(ids) + _ROWS)
        said: list[int] = []
        for at in range(first, len(ids), _ROWS):
            rows = ids[at : at + _ROWS]
            logits = backend.step(rows).logits
            backend.commit(len(rows))
            said += logits.argmax(dim=-1).tolist()
        learnt = Text(tuple(ids[:first]), (*ids[first:], text.answer[-1]))
        return self._copied(backend, learnt, len(ids), tuple(said), frozenset(text.prompt))

    def _copied(
        self, backend: LowBitBackend, text: Text, n: int, wanted: tuple[int, ...] = (), known: frozenset[int] = frozenset()
    ) -> _Read:
        cache = backend.compiled_parts()[0]
        layers = [int(step.split(" ")[1]) for step in self._path if step.startswith("attention")]
        keys = {i: torch.from_numpy(cache.keys[i, :, :, :n]).transpose(1, 2).half().contiguous() for i in layers}
        values = {i: torch.from_numpy(cache.values[i, :, :n]).half().contiguous() for i in layers}
        return _Read(text, keys, values, wanted, known)

    def loss(self, batch: Sequence[tuple[_Read, list[int]]], vocabulary: Sequence[int]) -> tuple[torch.Tensor, int]:
        """Sum of the cross-entropies, in nats, over tokens of the batch's vocabulary, and how many there are."""
        allowed = torch.tensor(sorted({*vocabulary, *(token for one, _ in batch for token in one.known)}))
        place = torch.full((self._head.n_rows,), -100)
        place[allowed] = torch.arange(len(allowed))
        wanted = place[torch.tensor([token for one, _ in batch for token in one.wanted])]
        head = torch.from_numpy(self._head.values(allowed.numpy()))
        logits = self._backend.scaled(self._states(batch) @ head.T)
        loss = functional.cross_entropy(logits, wanted, ignore_index=-100, reduction="sum")
        return loss, int((wanted >= 0).sum())

    def _states(self, batch: Sequence[tuple[_Read, list[int]]]) -> Rows:
        """(N, D) after the last norm, for all answer tokens of the batch but each answer's last; `list[int]` says for each of
        them at which of them its round began."""
        tokens = [token for one, _ in batch for token in one.text.answer[:-1]]
        positions = torch.tensor([len(one.text.prompt) + i for one, _ in batch for i in range(len(one.text.answer) - 1)])
        views = [_view(len(one.text.prompt), starts) for one, starts in batch]
        rows = torch.from_numpy(self._backend.embedded(torch.tensor([tokens])))
        n_map = 0
        for step in self._path:
            if step == "map":
                rows = self._mapped(rows, n_map)
                n_map += 1
            else:
                rows = self._sub_layer(rows, step, positions, [one for one, _ in batch], views)
        return self._normed(rows, END)

    def _mapped(self, rows: Rows, i: int) -> Rows:
        down, up, bias = (self.parameters[f"map {i} {part}"] for part in ("down", "up", "bias"))
        passed = rows @ down.T
        if torch.is_grad_enabled() and (share := self._recipe.dropout):
            passed = passed * (torch.rand(passed.shape, generator=self.noise) >= share) / (1 - share)
        return rows + passed @ up.T + bias

    def _normed(self, rows: Rows, step: str) -> Rows:
        normed: Rows = functional.rms_norm(rows, rows.shape[-1:], self.parameters[f"norm {step}"], self._sizes.eps)
        return normed

    def _sub_layer(
        self, rows: Rows, step: str, positions: torch.Tensor, read: Sequence[_Read], views: Sequence[torch.Tensor]
    ) -> Rows:
        part, _, number = step.partition(" ")
        weights, layer, sizes = self._weights[int(number)], self._layers[int(number)], self._sizes
        normed = self._normed(rows, step)
        if part == "mlp":
            gate, up = (normed @ weights["gate_up"].T).chunk(2, dim=-1)
            return self._added(rows, (functional.silu(gate) * up) @ weights["down"].T)
        both = normed @ weights["query_key_value"].T
        if len(layer.bias):
            both = both + torch.from_numpy(layer.bias)
        heads = both.view(len(rows), -1, sizes.head_size)
        queries, keys, values = heads.split([sizes.n_heads, sizes.n_key_heads, sizes.n_key_heads], dim=1)
        if len(layer.query_norm):
            queries = functional.rms_norm(queries, queries.shape[-1:], torch.from_numpy(layer.query_norm), sizes.eps)
            keys = functional.rms_norm(keys, keys.shape[-1:], torch.from_numpy(layer.key_norm), sizes.eps)
        queries, keys = self._rotated(queries, positions), self._rotated(keys, positions)
        mixed, at = [], 0
        for one, view in zip(read, views, strict=True):
            end = at + len(view)
            seen = view.shape[1] - len(view)
            theirs = one.keys[int(number)][:, :seen].float(), one.values[int(number)][:, :seen].float()
            found = functional.scaled_dot_product_attention(
                queries[at:end].transpose(0, 1)[None],
                torch.cat([theirs[0], keys[at:end].transpose(0, 1)], dim=1)[None],
                torch.cat([theirs[1], values[at:end].transpose(0, 1)], dim=1)[None],
                attn_mask=view,
                scale=sizes.scale,
                enable_gqa=True,
            )[0]
            mixed.append(found.transpose(0, 1).reshape(len(view), -1))
            at = end
        return self._added(rows, torch.cat(mixed) @ weights["output"].T)

    def _added(self, rows: Rows, more: Rows) -> Rows:
        return rows + more * float(self._sizes.residual)

    def _rotated(self, heads: Rows, positions: torch.Tensor) -> Rows:
        """As `lowbit.kernels.rotated`: heads (N, H, D)."""
        cos, sin = self._cos[positions][:, None], self._sin[positions][:, None]
        turned, rest = heads[..., : cos.shape[-1]], heads[..., cos.shape[-1] :]
        first, second = turned.chunk(2, dim=-1)
        return torch.cat([turned * cos + torch.cat([-second, first], dim=-1) * sin, rest], dim=-1)

    # --- the closed form -------------------------------------------------------------------------------------------------

    @torch.no_grad()
    def fit(self, backend: LowBitBackend, texts: Sequence[Text]) -> None:
        """Each map in turn, on what the path before it gives: ridge regression towards the model's own residual stream, cut to
        the rank that keeps most of the map's output. Every position counts as the first of a draft."""
        targets = _targets(self._path, backend.info.n_layers)
        read, states, weights = [], [], []
        for text in texts:
            ids = [*text.prompt, *text.answer[:-1]]
            near = min(NEAR, len(text.prompt) - 1)
            first = len(text.prompt) - near
            found = states_of(backend, ids, targets)
            # all from `first` on passes for an answer, its first token being the first position
            shifted = Text(tuple(ids[:first]), (*ids[first:], text.answer[-1]))
            read.append(self._copied(backend, shifted, len(ids)))
            states.append({place: torch.from_numpy(rows[first:]) for place, rows in found.items()})
            weights += [PROMPT_WEIGHT] * near + [1.0] * (len(ids) - len(text.prompt))
        weight = torch.tensor(weights)
        batch = [(one, list(range(len(one.text.answer) - 1))) for one in read]
        tokens = [token for one in read for token in one.text.answer[:-1]]
        positions = torch.tensor([len(one.text.prompt) + i for one in read for i in range(len(one.text.answer) - 1)])
        views = [_view(len(one.text.prompt), starts) for one, starts in batch]
        rows = torch.from_numpy(backend.embedded(torch.tensor([tokens])))
        left = iter(targets)
        n_map = 0
        for step in self._path:
            if step != "map":
                rows = self._sub_layer(rows, step, positions, read, views)
                continue
            place = next(left)
            wanted = torch.cat([found[place] for found in states])
            for name, value in zip(("down", "up", "bias"), _low_rank(rows, wanted, weight, self._rank(n_map)), strict=True):
                self.parameters[f"map {n_map} {name}"].copy_(value)
            rows = self._mapped(rows, n_map)
            n_map += 1

    def _rank(self, i: int) -> int:
        return len(self.parameters[f"map {i} down"])


def _targets(path: Sequence[str], n_layers: int) -> list[int]:
    """For each map the sub-layer before which the residual stream should be as in the model."""
    return [2 * n_layers if after in ("", "map") else place_of(after) for step, after in pairwise((*path, "")) if step == "map"]


def _low_rank(rows: Rows, wanted: Rows, weight: torch.Tensor, rank: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """down, up, bias of the map from rows (N, D) to `wanted`; errors count relative to the length of what is wanted."""
    weight = weight / (wanted.pow(2).mean(-1) + 1e-6)
    weight = (weight / weight.sum())[:, None]
    added = wanted - rows
    mean, mean_added = (weight * rows).sum(0), (weight * added).sum(0)
    x, y = (rows - mean) * weight.sqrt(), (added - mean_added) * weight.sqrt()
    moments = x.T @ x
    moments += RIDGE * moments.diagonal().mean() * torch.eye(len(moments))
    whole = torch.linalg.solve(moments, x.T @ y).T
    values, vectors = torch.linalg.eigh(moments)
    root = values.clamp_min(1e-12).sqrt()
    u, s, vt = torch.linalg.svd(whole @ (vectors * root), full_matrices=False)
    size = min(rank, len(s))
    half = s[:size].sqrt()
    down, up = torch.zeros(rank, rows.shape[1]), torch.zeros(rows.shape[1], rank)
    down[:size] = (half[:, None] * vt[:size] / root) @ vectors.T
    up[:, :size] = u[:, :size] * half
    return down, up, mean_added - up @ (down @ mean)


def _view(n_prompt: int, starts: Sequence[int]) -> torch.Tensor:
    """(n, n_prompt + n + n) bool: which of the model's keys, and which of its own, each answer token sees."""
    n = len(starts)
    start, own = torch.tensor(starts)[:, None], torch.arange(n)
    theirs = torch.arange(n_prompt + n)[None] < n_prompt + start
    return torch.cat([theirs, (own[None] >= start) & (own[None] <= own[:, None])], dim=1)


def _shared(prompts: Sequence[tuple[int, ...]]) -> list[int]:
    """Of each prompt the tokens with which another one begins as well: worked examples, which all have."""
    order = sorted(range(len(prompts)), key=lambda i: prompts[i])
    found = [0] * len(prompts)
    for i, j in pairwise(order):
        alike = next(
            (n for n, (a, b) in enumerate(zip(prompts[i], prompts[j], strict=False)) if a != b),
            min(len(prompts[i]), len(prompts[j])),
        )
        found[i], found[j] = max(found[i], alike), max(found[j], alike)
    return found


def _rounds(n: int, longest: int, rng: random.Random) -> list[int]:
    """For each of n tokens the first of its round; rounds have 1 to `longest` tokens."""
    starts: list[int] = []
    while len(starts) < n:
        starts += [len(starts)] * min(rng.randint(1, longest), n - len(starts))
    return starts


def _batches(n: int, recipe: Recipe) -> list[list[int]]:
    rng = random.Random(recipe.seed)
    order: list[int] = []
    while len(order) < recipe.steps * recipe.batch:
        order += rng.sample(range(n), n)
    return [order[i * recipe.batch : (i + 1) * recipe.batch] for i in range(recipe.steps)]


def _keep(
    path: Path | None,
    step: int,
    parameters: dict[str, torch.nn.Parameter],
    optimizer: torch.optim.Optimizer,
    vocabulary: Sequence[int],
) -> None:
    from safetensors.torch import save_file

    if path is None:
        return
    tensors = {f"parameter {name}": value.detach().contiguous() for name, value in parameters.items()}
    for i, moments in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer {i} {key}": moments[key].contiguous() for key in ("exp_avg", "exp_avg_sq")}
    tensors |= {"step": torch.tensor(step), "vocabulary": torch.tensor(list(vocabulary))}
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    save_file(tensors, part)
    part.replace(path)


def _restored(path: Path | None) -> tuple[int, dict[str, Any]]:
    """The step to go on from, and the state there; nothing where there is none."""
    from safetensors.torch import load_file

    if path is None or not path.is_file():
        return 0, {}
    tensors = load_file(path)
    step, vocabulary = int(tensors.pop("step")), tensors.pop("vocabulary").tolist()
    parameters = {name.removeprefix("parameter "): v for name, v in tensors.items() if name.startswith("parameter ")}
    moments: dict[int, dict[str, torch.Tensor]] = {}
    for name, value in tensors.items():
        if name.startswith("optimizer "):
            _, i, key = name.split(" ")
            moments.setdefault(int(i), {"step": torch.tensor(float(step))})[key] = value
    order = list(range(len(parameters)))
    groups = torch.optim.AdamW([torch.nn.Parameter(torch.zeros(1))], betas=(0.9, 0.98), weight_decay=0.0).state_dict()[
        "param_groups"
    ]
    return step, {
        "vocabulary": vocabulary,
        "parameters": parameters,
        "optimizer": {"state": moments, "param_groups": [groups[0] | {"params": order}]},
    }
