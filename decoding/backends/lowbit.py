"""Low-bit models on the CPU, a whole step in one call of compiled code: no Python between the layers, and rows that do not
depend on each other.

Takes models of Llama's shape: pre-norm with RMS norms, rotary embeddings, grouped heads, gated MLPs with SiLU (Llama, Mistral
without a window, Qwen2, Qwen3, SmolLM, Granite ...). Other low-bit models run through `driven` or `hf`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from data.errors import UserError
from decoding.backend import FULL, BridgedSet, Chain, SkipSet, Wants
from decoding.backends.beginnings import Beginnings, alike
from decoding.backends.driven import DrivenBackend
from decoding.backends.hf import HFBackend
from decoding.backends.kept_proofs import KeptProof
from decoding.backends.kv_cache import StepCache
from decoding.backends.layers import Layer as Parts
from decoding.backends.lowbit_bridges import LowBitBridge
from decoding.backends.masks import ancestry
from decoding.backends.places import Places
from decoding.backends.proof import Unfit
from decoding.backends.torch_backend import relative_error

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray

    from decoding.backend import ManyTexts
    from decoding.backends.bridges import Bridge
    from decoding.backends.nearest_sets import SetSearch
    from decoding.lowbit.matrix import Matrix
    from decoding.models.loading import LoadedModel

_ROWS_A_THREAD = 32
"""Fewer rows are not worth a thread, which has to be waited for twice a layer."""
_WORTH_A_TEAM = 4 << 20
"""Bytes of matrices: smaller models are through before a second thread is awake."""
_ALLOWED = 8e-2
"""Relative difference of logits to those of `driven`: sums in another order end in another 8-bit number here and there."""


class NotLowBit(Unfit):
    """This model is not made of low-bit matrices, or not of the shape that the compiled step takes."""


class LowBitBackend(DrivenBackend):
    """Batch invariant: a row's logits are the same bits in a step of one row, of many, and in a tree."""

    def __init__(self, loaded: LoadedModel, reference: HFBackend | None = None) -> None:
        """Raises:
        NotDrivable: as `DrivenBackend`.
        NotLowBit: see there; or its logits differ from those of `driven`.
        """
        import torch

        if not loaded.is_low_bit:
            raise NotLowBit("its weights are not low-bit; load it with dtype int8 or int4")
        self._step_cache: StepCache | None = None
        self._read: tuple[int, ...] = ()
        """The last prompt: its keys and values stay at its positions while its answer is written behind them."""
        self._read_at = 0
        self.prompt: tuple[int, ...] = ()
        """The last one that was read."""
        self._beginnings = Beginnings()
        self._bridges: dict[str, LowBitBridge] = {}
        proof = KeptProof(loaded)
        self._is_proven = proof.holds
        super().__init__(loaded, reference)
        with torch.inference_mode():
            expected = [] if self._is_proven else self._samples()
            self._leave_transformers()
            self._compile_layers()
            found = [] if self._is_proven else self._samples()
        for (what, ours), (_, theirs) in zip(found, expected, strict=True):
            difference = relative_error(ours, theirs)
            if not difference <= _ALLOWED:
                raise NotLowBit(f"its logits differ by {difference:.1e} for {what}")
        if not self._is_proven:
            proof.keep()
        self._info = dataclasses.replace(self._info, name="lowbit", batch_invariant=True)

    def _prove(self, reference: HFBackend | None) -> None:
        if not self._is_proven:
            super()._prove(reference)

    def _model_of(self, loaded: LoadedModel) -> Any:
        return loaded.model if self._is_proven else super()._model_of(loaded)

    def _leave_transformers(self) -> None:
        """Read the weights from the modules that are there without transformers' code, as every later start will: so that it is
        they that are compared. Raises NotLowBit where they compute something else."""
        import torch

        if self._model is self._loaded.model:
            return
        theirs, norm = self._rope.table(), self._norm
        self._model = self._loaded.model
        self._output_layer = self._model.get_output_embeddings()
        self._take_apart()
        self._rope.grow(self._positions)
        ours, rows = self._rope.table(), self.embedded(torch.arange(2)[None])
        if not all(torch.equal(a, b) for a, b in zip(theirs, ours, strict=True)):
            raise NotLowBit("its rotary embeddings are not those that its configuration names")
        if not torch.equal(norm(torch.from_numpy(rows)), self._norm(torch.from_numpy(rows))):
            raise NotLowBit("its norms are no root mean squares")

    def _compile_layers(self) -> None:
        from decoding.lowbit.kernels import Sizes, layer_list
        from decoding.lowbit.matrix import matrices_in

        attention = self._layers[0].attention
        size = int(attention.head_dim)
        n_heads = attention.q_proj.out_features // size if hasattr(attention, "q_proj") else 0
        n_key_heads = attention.k_proj.out_features // size if hasattr(attention, "k_proj") else 0
        _check_shape(self._layers, self._config, self._masks.windows, size)
        if not self._rope.fixed:
            raise NotLowBit("its rotary embeddings depend on the length of the text")
        self._sizes = Sizes(
            n_heads,
            n_key_heads,
            size,
            float(_eps(self._layers[0].before_attention)),
            float(attention.scaling),
            float(self._layers[0].scale or 1.0),
        )
        self._kernel_layers = [_compiled_layer(layer) for layer in self._layers]
        self._compiled = layer_list(self._kernel_layers)
        self._n_bytes = sum(matrix.n_bytes for _, matrix in matrices_in(self._model))
        self._step_cache = StepCache(self._info.n_layers, n_key_heads, size)
        self.kv = self._step_cache  # type: ignore[assignment]

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
        if self._step_cache is None:  # being proved
            return super()._run(ids, at, plan=plan, parents=parents, last_only=last_only, states=states)
        if isinstance(plan, BridgedSet):
            return self._bridged(ids, at, plan)
        n_rows = ids.shape[1]
        paths, depths = _chain(n_rows) if parents is None else _paths(parents)
        slots = np.arange(at, at + n_rows, dtype=np.int64)
        places = Places(at, slots, np.zeros(n_rows, dtype=np.int64), at + depths, paths, depths)
        return self.run_at(ids, places, plan=plan, last_only=last_only, may_spread=parents is None)

    def together(self, prompts: Sequence[Sequence[int]], rooms: Sequence[int], at_once: int | None = None) -> ManyTexts:
        """See `decoding.backend.ManyBackend`."""
        from decoding.backends.lowbit_together import LowBitTexts

        return LowBitTexts(self, prompts, rooms, at_once)

    def check(self, prompt: Sequence[int], capacity: int) -> None:
        """Raises StageError for a prompt beyond the context."""
        self._check_prompt(prompt, capacity)

    def begin(self, capacity: int, beginning: Sequence[int] = ()) -> None:
        """A sequence with room for `capacity` positions, and with these tokens, which many prompts may begin with: so they are
        kept for the next ones."""
        import torch

        from decoding.backends.torch_backend import PREFILL_TOKENS

        self._restart(capacity)
        if not beginning:
            self._read = ()
            return
        with torch.inference_mode():
            kept = self._with_prefix(beginning, self._alike(beginning))
            for start in range(kept, len(beginning), PREFILL_TOKENS):
                self._run(torch.tensor([beginning[start : start + PREFILL_TOKENS]]), start, last_only=True)
            self.kv.commit(len(beginning))
        self._keeps(beginning)
        if self._step_cache is not None and beginning[0] not in self._prefixes:  # a trained one is at hand anyway
            self._beginnings.keep(beginning, self._step_cache)

    @property
    def reserved(self) -> int:
        """Tokens for which there is room already."""
        return self.kv.capacity

    def bytes_for(self, n_tokens: int) -> int:
        """Of the keys and values of so many tokens."""
        assert self._step_cache is not None
        return self._step_cache.bytes_for(n_tokens)

    def copy(self, start: int, count: int, to: int) -> None:
        """Keys and values of positions start..start+count-1 to `to` and behind it."""
        assert self._step_cache is not None
        self._step_cache.copy(start, count, to)

    def run_at(
        self, ids: torch.Tensor, places: Places, *, plan: SkipSet = FULL, last_only: bool = False, may_spread: bool = False
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """As `_run`, rows lying anywhere; with `may_spread` many of them are divided among threads."""
        import torch

        n_rows = ids.shape[1]
        rows = self.embedded(ids)
        cos, sin = self._rope_tables()
        kept = np.ones((2, self._info.n_layers), dtype=np.bool_)
        kept[0, list(plan.attention)], kept[1, list(plan.mlp)] = False, False
        # the last scratch row that is looked at, filled up to whole vectors
        width = -(-(places.n + int(places.paths.max(initial=0)) + 1) // 16) * 16 + 16
        scores = np.empty((self._sizes.n_heads // self._sizes.n_key_heads, width), dtype=np.float32)
        threads = min(torch.get_num_threads(), n_rows // _ROWS_A_THREAD) if may_spread and not plan else 1
        if threads > 1:
            self._run_side_by_side(threads, rows, places, cos, sin, scores)
        else:
            self._run_in_team(rows, places, cos, sin, kept, scores)
        normed = self._norm(torch.from_numpy(rows))
        return self._head((normed[-1:] if last_only else normed)[None])[0], normed

    def _run_in_team(self, rows: Any, places: Places, cos: Any, sin: Any, kept: Any, scores: Any) -> None:
        """The whole model over a few rows, some of each matrix on each thread. `rows` are one thread's own hidden."""
        import torch

        from decoding.lowbit.kernels import LISTS_A_LAYER, run_layers_in_team, work_for
        from decoding.lowbit.team import Team, run_together

        assert self._step_cache is not None
        cache, work = self._step_cache, work_for(len(rows), self._kernel_layers[0], self._sizes)
        threads = torch.get_num_threads() if self._n_bytes >= _WORTH_A_TEAM else 1
        own = iter([rows, *(rows.copy() for _ in range(threads - 1))])

        def run(team: Team) -> None:
            run_layers_in_team(
                next(own), self._compiled, self._sizes, cache.keys, cache.values, places.n, places.slots, places.gaps, cos, sin,
                places.positions, places.paths, places.depths, kept[0], kept[1], np.empty_like(scores), work, team,
            )  # fmt: skip

        run_together(threads, run, LISTS_A_LAYER * len(self._layers))

    def _search(self, ids: torch.Tensor, search: SetSearch) -> None:
        import torch

        from decoding.lowbit.kernels import add_attention, add_mlp, project

        assert self._step_cache is not None
        cache, sizes, n, most = self._step_cache, self._sizes, self.kv.n, ids.shape[1]
        cos, sin = self._rope_tables()
        slots, none = np.arange(n, n + most, dtype=np.int64), np.zeros(most, dtype=np.int64)
        positions, paths = np.full(most, n, dtype=np.int64), np.arange(most, dtype=np.int64)[:, None]
        scores = np.empty((sizes.n_heads // sizes.n_key_heads, -(-(n + most + 1) // 16) * 16 + 16), dtype=np.float32)
        hidden = self.embedded(ids[:, :1])
        for i, (layer, keys, values) in enumerate(zip(self._kernel_layers, cache.keys, cache.values, strict=True)):
            before, t = hidden.copy(), len(hidden)
            queries = project(hidden, layer, sizes, keys, values, slots[:t], cos, sin, positions[:t])
            add_attention(hidden, layer, sizes, queries, keys, values, n, none[:t], paths[:t], none[:t], scores)
            hidden = search.passed("attention", i, torch.from_numpy(before), torch.from_numpy(hidden)).numpy()
            before = hidden.copy()
            add_mlp(hidden, layer, sizes)
            hidden = search.passed("mlp", i, torch.from_numpy(before), torch.from_numpy(hidden)).numpy()

    def _run_side_by_side(self, threads: int, rows: Any, places: Places, cos: Any, sin: Any, scores: Any) -> None:
        """The whole model over many rows, some of them on each thread: rows meet in their keys and values alone."""
        from decoding.lowbit.kernels import add_attention, add_mlp, project

        assert self._step_cache is not None
        sizes, (n, slots, gaps, positions, paths, depths) = self._sizes, places
        bounds = np.linspace(0, len(rows), threads + 1).astype(int).tolist()
        parts = [slice(a, b) for a, b in pairwise(bounds)]
        buffers = [np.empty_like(scores) for _ in parts]

        def ask(layer: Any, keys: Any, values: Any, part: slice) -> Any:
            return project(rows[part], layer, sizes, keys, values, slots[part], cos, sin, positions[part])

        def answer(layer: Any, keys: Any, values: Any, part: slice, queries: Any, buffer: Any) -> None:
            add_attention(
                rows[part], layer, sizes, queries, keys, values, n, gaps[part], paths[part], depths[part], buffer
            )  # fmt: skip
            add_mlp(rows[part], layer, sizes)

        with ThreadPoolExecutor(threads) as pool:
            for layer, keys, values in zip(self._kernel_layers, self._step_cache.keys, self._step_cache.values, strict=True):
                here = (layer, keys, values)
                queries = list(pool.map(partial(ask, *here), parts))
                list(pool.map(partial(answer, *here), parts, queries, buffers))

    # --- bridges ---------------------------------------------------------------------------------------------------------

    def take_bridge(self, bridge: Bridge) -> BridgedSet:
        """Prepare to draft with a bridge; the plan returned is the one to draft under. The current sequence is lost.

        Raises UserError for a bridge of another shape of model.
        """
        import torch

        if not hasattr(self._output_layer, "matrix"):
            raise UserError(
                f"{self._loaded.name}: its output layer is not low-bit, so that nothing can be drafted with a bridge"
            )
        ready = self._bridges[bridge.key] = LowBitBridge(self, bridge)
        with torch.inference_mode():
            return ready.taken()

    def _bridged(self, ids: torch.Tensor, at: int, plan: BridgedSet) -> tuple[torch.Tensor, None]:
        import torch

        ready = self._bridges[plan.key]
        rows = [torch.from_numpy(ready.whole_logits(token, at + i)) for i, token in enumerate(ids[0].tolist())]
        return torch.stack(rows), None

    def _chain(self, pending: int, plan: SkipSet, max_tokens: int, go_on: Callable[[Sequence[float]], bool] | None) -> Chain:
        if isinstance(plan, BridgedSet):
            return self._bridges[plan.key].chain(pending, max_tokens, go_on)
        return super()._chain(pending, plan, max_tokens, go_on)

    def output_matrix(self) -> Matrix:
        """Of the output layer, which `take_bridge` refuses where it has none."""
        matrix: Matrix = self._output_layer.matrix
        return matrix

    def compiled_parts(self) -> tuple[StepCache, Any, Any, tuple[NDArray[np.float32], NDArray[np.float32]]]:
        """Cache, `Sizes`, the list of `Layer`, and the tables of cosines and sines, for other compiled code."""
        assert self._step_cache is not None
        return self._step_cache, self._sizes, self._compiled, self._rope_tables()

    def layer_values(self, i: int) -> dict[str, torch.Tensor]:
        """The matrices of a layer in float32, those that take the same rows one under the other."""
        import torch

        layer = self._layers[i]
        attention, mlp = layer.attention, layer.mlp
        parts = {
            "query_key_value": (attention.q_proj, attention.k_proj, attention.v_proj),
            "output": (attention.o_proj,),
            "gate_up": (mlp.gate_proj, mlp.up_proj),
            "down": (mlp.down_proj,),
        }
        return {name: torch.from_numpy(np.concatenate([one.matrix.values() for one in of])) for name, of in parts.items()}

    def last_norm(self) -> NDArray[np.float32]:
        """The weights (D,) of the norm before the output layer."""
        return _plain(self._norm.weight)

    def embedded(self, ids: torch.Tensor) -> NDArray[np.float32]:
        """What the first layer gets for ids (1, T): (T, D), to be worked on in place."""
        hidden = self._decoder.embed_tokens(ids)[0]
        if self._embedding_scale is not None:
            hidden = hidden * self._embedding_scale
        return np.array(hidden.numpy(), dtype=np.float32)

    def _rope_tables(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        cos, sin = self._rope.table()
        return cos.numpy(), sin.numpy()

    def forget(self) -> None:
        self._read = ()
        self._beginnings = Beginnings()

    def _kept(self, ids: Sequence[int], wants: Wants) -> int:
        return 0 if wants.vector or wants.top_k else min(self._alike(ids), len(ids) - 1)  # the last is read for its logits

    def _alike(self, ids: Sequence[int]) -> int:
        """Rows do not depend on each other, so that a prompt which begins like the last one finds the same bits there; and like
        one of those that are kept, puts them there."""
        before, self._read = self._read, ()  # until this prompt is read whole
        if self._step_cache is None:
            return 0
        same = alike(ids, before) if self._read_at == self._step_cache.allocations else 0
        return self._beginnings.put(ids, self._step_cache) if self._beginnings.known(ids) > same else same

    def _keeps(self, ids: Sequence[int]) -> None:
        self.prompt = tuple(ids)
        if self._step_cache is not None:
            self._read, self._read_at = tuple(ids), self._step_cache.allocations


def _check_shape(layers: Sequence[Parts], config: Any, windows: Any, size: int) -> None:
    from decoding.lowbit.modules import LowBitLinear

    first = layers[0]
    if any(window is not None for window in windows.values()):
        raise NotLowBit("its attention has a sliding window")
    if any(
        layer.after_attention is not None or layer.after_mlp is not None or layer.before_attention is None for layer in layers
    ):
        raise NotLowBit("its layers are not pre-norm")
    if size % 16:
        raise NotLowBit(f"its heads have {size} dimensions, no multiple of 16")
    if getattr(config, "attn_logit_softcapping", None):
        raise NotLowBit("its attention has a soft cap")
    names = {"attention": ("q_proj", "k_proj", "v_proj", "o_proj"), "mlp": ("gate_proj", "up_proj", "down_proj")}
    for part, wanted in names.items():
        module = getattr(first, part)
        if missing := [name for name in wanted if not isinstance(getattr(module, name, None), LowBitLinear)]:
            raise NotLowBit(f"its {part} has no low-bit {', '.join(missing)}")
    for layer in layers:
        if layer.attention.o_proj.bias is not None or any(getattr(layer.mlp, name).bias is not None for name in names["mlp"]):
            raise NotLowBit("its output or MLP layers have biases")
        if layer.mlp.gate_proj.out_features % 16:
            raise NotLowBit(f"its MLP has {layer.mlp.gate_proj.out_features} dimensions, no multiple of 16")
    if getattr(config, "hidden_act", None) not in ("silu", "swish"):
        raise NotLowBit(f"its MLP bends by {getattr(config, 'hidden_act', None)}")


def _compiled_layer(layer: Parts) -> Any:
    from decoding.lowbit.kernels import Layer
    from decoding.lowbit.products import weights_of

    attention, mlp = layer.attention, layer.mlp
    heads = (attention.q_proj, attention.k_proj, attention.v_proj)
    biases = [np.zeros(one.out_features, np.float32) if one.bias is None else one.bias.numpy() for one in heads]
    if all(one.bias is None for one in heads):
        biases = [np.zeros(0, np.float32)]
    query, key, value = (weights_of(one.matrix) for one in heads)
    return Layer(
        _plain(layer.before_attention.weight),
        query,
        key,
        value,
        np.concatenate(biases),
        _norm_weight(getattr(attention, "q_norm", None)),
        _norm_weight(getattr(attention, "k_norm", None)),
        weights_of(attention.o_proj.matrix),
        _plain(layer.before_mlp.weight),
        weights_of(mlp.gate_proj.matrix),
        weights_of(mlp.up_proj.matrix),
        weights_of(mlp.down_proj.matrix),
    )


def _plain(weight: torch.Tensor) -> NDArray[np.float32]:
    return np.array(weight.detach().float().numpy(), dtype=np.float32)


def _norm_weight(module: Any) -> NDArray[np.float32]:
    return np.zeros(0, np.float32) if module is None else _plain(module.weight)


def _eps(norm: Any) -> float:
    value = getattr(norm, "variance_epsilon", getattr(norm, "eps", None))
    if value is None:
        raise NotLowBit(f"its norm, {type(norm).__name__}, names no epsilon")
    return float(value)


def _chain(n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """As `_paths` of a chain."""
    rows = np.arange(n, dtype=np.int64)
    return np.repeat(rows[None], n, axis=0), rows


def _paths(parents: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each node of a tree the nodes from its root to itself, (T, T), filled up with zeros; and its depth, (T,)."""
    depths, sees = ancestry(parents)
    paths = np.zeros((len(parents), len(parents)), dtype=np.int64)
    for node, row in enumerate(sees):
        own = [other for other, seen in enumerate(row) if seen]
        paths[node, : len(own)] = own
    return paths, np.array(depths, dtype=np.int64)
