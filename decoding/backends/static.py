"""Steps whose tensors never move, so that a GPU can replay them as one graph: what `driven` does, made for CUDA.

Everything that changes from step to step (token ids, the position they begin at, a tree's shape) lies in fixed tensors on the
device, and whatever follows from it (positions, masks, where keys and values go) is computed there. Steps of about one size
share a graph: T is rounded up to one of `SIZES` and the keys that attention reads to one of a few lengths; rows and keys too
many are masked out, and what the former write lies behind the text as scratch. Prompts are read as in `driven`.

On the CPU the same steps run without graphs. Logits agree with `driven` to rounding, not bitwise: masked keys and padded rows
make the products larger, and attention and norms run through the kernels of `decoding.backends.kernels`.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from decoding.backend import FULL, Chain, SkipSet
from decoding.backends.driven import DrivenBackend
from decoding.backends.graphs import Graphs
from decoding.backends.hf import HFBackend, random_ids, replaced_forwards
from decoding.backends.kernels import PART, fused_norms, grouped_attention_in, hiding
from decoding.backends.masks import ancestry
from decoding.backends.proof import Unfit, proof_steps
from decoding.backends.torch_backend import best_token, relative_error

if TYPE_CHECKING:
    import torch

    from decoding.kv_cache import KVCache
    from decoding.models import LoadedModel

SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48, 64)
"""Rows of a step. Larger steps run as in `driven`."""
_FEW_KEYS = tuple(PART * n for n in (1, 2, 3, 4, 6, 8, 12, 16))
_MANY_KEYS = 2048
"""Numbers of keys beyond those: multiples of this, so that the keys read in vain stay few and the graphs, too."""
_PROOF_TOKENS = 1100
"""Enough for attention in several parts."""


class NotStatic(Unfit):
    """This model's steps cannot be made static."""


class StaticBackend(DrivenBackend):
    """Drivable models whose rotary embeddings are a function of the position alone."""

    def __init__(
        self, loaded: LoadedModel, reference: HFBackend | None = None, say: Callable[[str], None] | None = None
    ) -> None:
        """`say` is told about kernels or graphs that this model or device has to do without; by default stderr.

        Raises:
            NotDrivable: as `DrivenBackend`.
            NotStatic: the rotary embeddings depend on the text's length, or the logits differ from those of `driven`.
        """
        import torch

        self._inputs: _Inputs | None = None
        super().__init__(loaded, reference)
        self._info = dataclasses.replace(self._info, name="static")
        if not self._rope.fixed:
            raise NotStatic("its rotary embeddings depend on the length of the text")
        self._say = say or _to_stderr
        self._graphs = Graphs(self._device, self._say)
        self._norms: Mapping[Any, Any] = {}
        self._grouped = False
        with torch.inference_mode():
            self._inputs = _Inputs(self._info.vocab_size, self._model.dtype, self._device)
            self._prove_static()

    def _run(
        self,
        ids: torch.Tensor,
        at: int,
        *,
        plan: SkipSet = FULL,
        parents: Sequence[int] | None = None,
        last_only: bool = False,
        states: bool = False,
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        inputs, n_rows = self._inputs, ids.shape[1]
        if inputs is None or last_only or states or n_rows > SIZES[-1]:
            return super()._run(ids, at, plan=plan, parents=parents, last_only=last_only, states=states)
        size = step_size(n_rows, self.kv.capacity - at)
        n_keys = key_count(at + size)
        tree = inputs.tree(size)
        tree.load(parents)
        inputs.ids[:n_rows].copy_(ids[0])
        inputs.at.fill_(at)

        def step() -> None:
            inputs.logits[:size].copy_(self._rows(inputs, tree, plan, n_keys))

        self._graphs.run((plan, size, n_keys), step)
        return inputs.logits[:n_rows], None

    def _chain(self, pending: int, plan: SkipSet, max_tokens: int, go_on: Callable[[Sequence[float]], bool] | None) -> Chain:
        """Each step leaves its token where the next one reads it; without `go_on` the device is read once, at the end."""
        read: list[float] = []
        for drafted in self._drafts(pending, plan, max_tokens):
            if go_on is not None:
                read.append(float(drafted[1, -1]))
                if not go_on(read):
                    break
        tokens, chances = drafted.tolist()
        return Chain(tuple(int(token) for token in tokens), tuple(chances))

    def _drafts(self, pending: int, plan: SkipSet, max_tokens: int) -> Iterator[torch.Tensor]:
        """After each step the tokens so far and their probabilities, (2, i) on the device. Waits for nothing."""
        inputs = self._inputs
        assert inputs is not None, "draft before the backend has proved itself"
        n_keys = key_count(self.kv.n + max_tokens)
        tree = inputs.tree(1)
        tree.load(None)
        inputs.ids[:1].fill_(pending)
        inputs.at.fill_(self.kv.n)
        inputs.n_drafted.zero_()

        def step() -> None:
            token, chance = best_token(self._rows(inputs, tree, plan, n_keys))
            inputs.drafted.index_copy_(1, inputs.n_drafted, _column(token, chance))
            inputs.ids[:1].copy_(token[0])
            inputs.at.add_(1)
            inputs.n_drafted.add_(1)

        for i in range(max_tokens):
            self._graphs.run(("draft", plan, n_keys), step)
            yield inputs.drafted[:, : i + 1]

    def _rows(self, inputs: _Inputs, tree: _Tree, plan: SkipSet, n_keys: int) -> torch.Tensor:
        """Logits (T, V) of the rows that lie in `inputs`, from tensors on the device alone."""

        slots = inputs.at + tree.order
        positions = inputs.at + tree.depths
        keys = self._positions[0, :n_keys]
        ahead = (keys >= inputs.at).to(self._model.dtype) * inputs.hiding
        mask = ahead.expand(tree.size, -1).index_copy(1, slots, tree.among)  # (T, L)
        masks: dict[str, torch.Tensor | None] = {}
        for kind, window in self._masks.windows.items():
            hidden = mask
            if window is not None:
                distances = positions[:, None] - keys.index_copy(0, slots, positions)
                hidden = mask.masked_fill(distances >= window, inputs.hiding)
            masks[kind] = hidden[None, None]
        cache = _StaticCache(self.kv, slots, n_keys, finite=bool(plan))
        with self._own_kernels():
            states = self._forward(inputs.ids[None, : tree.size], positions[None], masks, plan, cache)
        return self._head(states)[0]

    @contextmanager
    def _own_kernels(self) -> Iterator[None]:
        with ExitStack() as stack:
            stack.enter_context(replaced_forwards(self._norms))
            if self._grouped:
                stack.enter_context(grouped_attention_in(layer.attention for layer in self._layers))
            yield

    def _restart(self, capacity: int) -> None:
        before = self.kv.allocations
        super()._restart(key_count(capacity))
        if self._inputs is None:
            return
        self.kv.wipe()
        if self.kv.allocations != before or not self._inputs.room:
            self._graphs.clear()
            self._inputs.grow(self.kv.capacity)

    # --- proof -----------------------------------------------------------------------------------------------------------

    def _prove_static(self) -> None:
        """Against `driven`, first with our kernels, then with the model's own. Raises NotStatic if both fail."""
        sdpa = self._config._attn_implementation == "sdpa"
        norms = fused_norms(self._decoder.modules())
        why = ""
        for self._norms, self._grouped in ((norms, sdpa), ({}, False)):
            self._graphs.clear()
            try:
                why = self._differs()
            except (RuntimeError, TypeError, ValueError, AttributeError, KeyError) as error:
                why = f"{type(error).__name__}: {error}"
            if not why:
                return
            if self._norms or self._grouped:
                self._say(
                    f"{self._loaded.name}: decoding steps use the model's own attention and norms, which is slower: {why}"
                )
        raise NotStatic(why)

    def _differs(self) -> str:
        """What differs from `driven` in steps behind random tokens."""
        n = max(8, min(_PROOF_TOKENS, self._info.context_tokens - 64))
        tokens = random_ids(n + 32, self._info.vocab_size, self._device)
        self._restart(n + 64)
        super()._run(tokens[:, :n], 0, last_only=True)
        self.kv.commit(n)
        for step in proof_steps(tokens, self._info.n_layers):
            for _ in range(3 if self._graphs.recording else 1):  # as it is, recorded, replayed
                found = self._run(step.ids, n, **step.options)[0].clone()
            error = relative_error(found, super()._run(step.ids, n, **step.options)[0])
            if error > (1e-4 if found.element_size() == 4 else 5e-2):
                return f"its logits differ by {error:.1e} for {step.what}"
        return ""


class _Inputs:
    """The tensors that every step of a backend reads and writes."""

    def __init__(self, vocab_size: int, dtype: torch.dtype, device: torch.device) -> None:
        import torch

        self._dtype, self._device = dtype, device
        self.hiding = hiding(dtype)
        self.ids = torch.zeros(SIZES[-1], dtype=torch.long, device=device)
        self.at = torch.zeros(1, dtype=torch.long, device=device)
        """The position of the first row."""
        self.logits = torch.zeros(SIZES[-1], vocab_size, dtype=dtype, device=device)
        self.n_drafted = torch.zeros(1, dtype=torch.long, device=device)
        self.drafted = torch.zeros(2, 0, dtype=torch.float64, device=device)
        """Drafted token ids, which float64 holds exactly, and their probabilities."""
        self._trees: dict[int, _Tree] = {}

    @property
    def room(self) -> int:
        return self.drafted.shape[1]

    def grow(self, capacity: int) -> None:
        """Room for drafts of a cache of that capacity."""
        self.drafted = self.drafted.new_zeros(2, capacity)

    def tree(self, size: int) -> _Tree:
        if size not in self._trees:
            self._trees[size] = _Tree(size, self.hiding, self._dtype, self._device)
        return self._trees[size]


class _Tree:
    """Who continues whom among the rows of a step, on the device; a chain is the tree without branches."""

    def __init__(self, size: int, hiding: float, dtype: torch.dtype, device: torch.device) -> None:
        import torch

        self.size, self._hiding = size, hiding
        self.order = torch.arange(size, device=device)
        self._chain = torch.full((size, size), hiding, dtype=dtype, device=device).triu(1)
        self.depths = self.order.clone()
        self.among = self._chain.clone()
        """(T, T), added to scores: 0 where a row sees another."""
        self._parents: tuple[int, ...] | None = None

    def load(self, parents: Sequence[int] | None) -> None:
        """Make it this tree, or a chain. Rows beyond the tree become roots, which see the text and themselves."""
        import torch

        wanted = None if parents is None else (*parents, *[-1] * (self.size - len(parents)))
        if wanted == self._parents:
            return
        self._parents = wanted
        if wanted is None:
            self.depths.copy_(self.order)
            self.among.copy_(self._chain)
        else:
            depths, sees = ancestry(wanted)
            self.depths.copy_(torch.tensor(depths))
            self.among.copy_((~torch.tensor(sees)).to(self.among.dtype) * self._hiding)


class _StaticCache:
    """Stores keys and values at positions that lie on the device; attention sees the first `n_keys` of the buffers.

    `finite`: store 0 for what is not a number or infinite. Later steps read scratch, too, with weight 0, and a model that
    overflows because layers are skipped would leave its NaN to them: 0 * NaN is NaN.
    """

    def __init__(self, kv: KVCache, slots: torch.Tensor, n_keys: int, *, finite: bool) -> None:
        self._kv, self._slots, self._n_keys, self._finite = kv, slots, n_keys, finite

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, layer_idx: int, *args: object, **kwargs: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        keys, values = self._kv.buffers(layer_idx, key_states, value_states)
        if self._finite:
            key_states, value_states = (states.nan_to_num(0.0, 0.0, 0.0) for states in (key_states, value_states))
        keys.index_copy_(2, self._slots, key_states)
        values.index_copy_(2, self._slots, value_states)
        return keys[:, :, : self._n_keys], values[:, :, : self._n_keys]


def step_size(n_rows: int, room: int) -> int:
    """Of `SIZES` the first that holds `n_rows` and fits into `room` positions; `n_rows` itself where none does."""
    return next((size for size in SIZES if n_rows <= size <= room), n_rows)


def key_count(n: int) -> int:
    """The number of keys that steps with `n` positions read, and the capacity that holds them."""
    return next((few for few in _FEW_KEYS if n <= few), -(-n // _MANY_KEYS) * _MANY_KEYS)


def _column(token: torch.Tensor, chance: torch.Tensor) -> torch.Tensor:
    """(2, 1) from a token (1, 1) and its probability (1,)."""
    import torch

    return torch.stack([token[0].double(), chance.double()])


def _to_stderr(message: str) -> None:
    sys.stderr.write(f"{message}\n")
