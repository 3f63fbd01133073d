"""What every torch backend does alike: one sequence, prefill in pieces, steps, greedy chains, commits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from data.errors import StageError, UserError
from decoding.backend import FULL, BackendInfo, Chain, CostTable, Prefill, SkipSet, Wants
from decoding.backends.kv_cache import KVCache, transformers_cache
from decoding.backends.rows import TorchRows, not_numbers

if TYPE_CHECKING:
    import torch

    from decoding.backend import Budget
    from decoding.backends.nearest_sets import SetSearch
    from decoding.models.loading import LoadedModel
    from decoding.prefixes.prefix import TrainedPrefix

PREFILL_TOKENS = 512
"""Prompt tokens per forward: bounds the memory for activations and masks."""
_HEAD_ROWS = 64
"""Positions per product with the output layer where whole rows of logits are needed for a prompt."""


class TorchBackend(ABC):
    """Implements `decoding.backend.StepBackend`; a subclass says how the layers run (`_run`).

    Not batch invariant: torch takes other kernels for one row than for eight, so that rows agree to rounding only.
    Logits are inference tensors: read them, and copy before changing them in place.
    """

    def __init__(self, loaded: LoadedModel, name: str) -> None:
        import torch

        model: Any = self._model_of(loaded)
        config = model.config.get_text_config(decoder=True)
        head = model.get_output_embeddings()
        self._loaded, self._model, self._config, self._output_layer = loaded, model, config, head
        self._device: torch.device = model.device
        self._info = BackendInfo(
            name=name,
            n_layers=config.num_hidden_layers,
            vocab_size=head.weight.shape[0],
            hidden_size=head.weight.shape[1],
            context_tokens=loaded.context_tokens,
            device=loaded.device,
            dtype=loaded.dtype,
        )
        self.kv = KVCache(config.num_hidden_layers, self._device)
        self._cache = transformers_cache(self.kv)
        self._positions = torch.zeros(1, 0, dtype=torch.long, device=self._device)
        self._fresh = 0
        """Rows behind the committed ones that full steps have written without a gap."""
        self._branched = False
        """Whether the last step was a tree, whose rows do not follow one another."""
        self._costs: CostTable | None = None
        self._prefixes: dict[int, TrainedPrefix] = {}
        """By the token that each has in the place of its own."""

    def _model_of(self, loaded: LoadedModel) -> Any:
        """The model whose modules are run."""
        from decoding.lowbit.skeleton import whole_model

        return whole_model(loaded.model) if loaded.is_low_bit else loaded.model

    @abstractmethod
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
        """Run ids (1, T) at positions at.. (or as a tree behind n), writing keys and values.

        Returns logits (T, V), or (1, V) with `last_only`, and with `states` the states after the final norm, (T, D).
        """

    @property
    def info(self) -> BackendInfo:
        return self._info

    @property
    def n(self) -> int:
        return self.kv.n

    def prefill(self, ids: Sequence[int], *, capacity: int, wants: Wants = Wants()) -> Prefill:  # noqa: B008
        import torch

        self._check_prompt(ids, capacity)
        with torch.inference_mode():
            self._restart(capacity)
            kept = self._with_prefix(ids, self._kept(ids, wants))
            prompt = torch.tensor([list(ids)], device=self._device)
            total = torch.zeros(self._info.hidden_size, device=self._device)
            top_ids: list[torch.Tensor] = []
            if wants.top_k and kept:  # of a trained prefix, which has no states: rows as long as the prompt
                top_ids.append(torch.full((kept, wants.top_k), ids[0], device=self._device))
            for start in range(kept, len(ids), PREFILL_TOKENS):
                piece = prompt[:, start : start + PREFILL_TOKENS]
                # the head sees one row whatever is wanted besides, so that wants cannot change the first token
                last, states = self._run(piece, start, last_only=True, states=bool(wants.vector or wants.top_k))
                if wants.vector and states is not None:
                    total += states.float().sum(dim=0)
                if wants.top_k and states is not None:
                    top_ids.append(self._top_ids(states, wants.top_k))
            self.kv.commit(len(ids))
            self._keeps(ids)
            if bool(last.isnan().any()):
                raise not_numbers(last.dtype)
            return Prefill(
                last=TorchRows(last),
                vector=(total / (len(ids) - kept)).cpu().numpy() if wants.vector else None,
                top_ids=torch.cat(top_ids).cpu().numpy() if wants.top_k else None,
            )

    def step(
        self, ids: Sequence[int], *, plan: SkipSet = FULL, parents: Sequence[int] | None = None, offset: int = 0
    ) -> TorchRows:
        import torch

        if not ids:
            raise ValueError("a step needs at least one token")
        if parents is not None and (offset or len(parents) != len(ids)):
            raise ValueError(
                f"a tree of {len(ids)} tokens has as many parents and no offset; got {len(parents)}, offset {offset}"
            )
        self._check_plan(plan)
        at = self.kv.n + offset
        self.kv.need(at + len(ids))
        before, self._fresh = self._fresh if parents is None and not self._branched else 0, 0
        with torch.inference_mode():
            logits, _ = self._run(torch.tensor([list(ids)], device=self._device), at, plan=plan, parents=parents)
        # a full step behind fresh rows goes on with them, so that a draft can be committed as far as it was right
        if not plan and offset <= before:
            self._fresh = offset + len(ids)
        self._branched = parents is not None
        return TorchRows(logits)

    def draft_chain(
        self, pending: int, *, plan: SkipSet, max_tokens: int, go_on: Callable[[Sequence[float]], bool] | None = None
    ) -> Chain:
        import torch

        if max_tokens < 1:
            raise ValueError(f"a chain has at least one token, not {max_tokens}")
        self._check_plan(plan)
        self.kv.need(self.kv.n + max_tokens)
        self._fresh = 0
        with torch.inference_mode():
            return self._chain(pending, plan, max_tokens, go_on)

    def _chain(self, pending: int, plan: SkipSet, max_tokens: int, go_on: Callable[[Sequence[float]], bool] | None) -> Chain:
        """`draft_chain` after its checks."""
        import torch

        tokens: list[torch.Tensor] = []
        chances: list[torch.Tensor] = []
        read: list[float] = []
        token = torch.tensor([[pending]], device=self._device)
        for i in range(max_tokens):
            logits, _ = self._run(token, self.kv.n + i, plan=plan)
            token, chance = best_token(logits)
            tokens.append(token)
            chances.append(chance)
            if go_on is not None:
                read.append(float(chance))
                if not go_on(read):
                    break
        # one read for both: ids below 2 ** 24 are exact in float32
        both = torch.stack([torch.cat(tokens).view(-1).float(), torch.cat(chances)]).tolist()
        return Chain(tuple(int(token) for token in both[0]), tuple(both[1]))

    def nearest_sets(self, pending: int, budget: Budget) -> list[tuple[int, SkipSet]]:
        """See `decoding.backend.ChoosingBackend`."""
        import torch

        from decoding.backends.nearest_sets import SetSearch

        n_rows = budget.most + 1
        self.kv.need(self.kv.n + n_rows)
        self._fresh = 0
        search = SetSearch(self._info.n_layers, budget)
        with torch.inference_mode():
            self._search(torch.full((1, n_rows), pending, device=self._device), search)
        return search.sets()

    @abstractmethod
    def _search(self, ids: torch.Tensor, search: SetSearch) -> None:
        """Pass ids (1, R), a token for each row of the search, through the model at the next position, none seeing another."""

    def commit(self, k: int, path: Sequence[int] | None = None) -> None:
        import torch

        if not 0 <= k <= self._fresh:
            raise ValueError(f"{k} rows cannot be committed: full steps have written {self._fresh}")
        if path is not None:
            ascending = all(a < b for a, b in pairwise((-1, *path, self._fresh)))
            if len(path) != k or not ascending:
                raise ValueError(f"{list(path)} is no path of {k} ascending rows out of {self._fresh}")
        with torch.inference_mode():
            self.kv.commit(k, path)
        self._fresh = 0

    def costs(self) -> CostTable:
        from decoding.backends.costs import measure_costs

        if self._costs is None:
            self._costs = measure_costs(self)
        return self._costs

    @property
    def measured(self) -> CostTable | None:
        """The costs, where they are known already."""
        return self._costs

    def take_costs(self, costs: CostTable) -> None:
        """Use costs that were measured before, on this machine."""
        self._costs = costs

    def forget(self) -> None:  # noqa: B027
        """See `StepBackend.forget`; most backends keep nothing."""

    def _kept(self, ids: Sequence[int], wants: Wants) -> int:
        """How many of the first tokens need not be read, as their keys and values are there from the text before."""
        return 0

    def take_prefix(self, prefix: TrainedPrefix) -> None:
        """Prompts that begin with its stand-ins have its keys and values there from now on.

        Raises UserError for one of another shape of model.
        """
        known = self._prefixes.get(prefix.stand_in)
        if known is not None and (known.name, known.weights_sha256) == (prefix.name, prefix.weights_sha256):
            return
        config = self._config
        size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        wanted = (self._info.n_layers, config.num_key_value_heads, prefix.length, size)
        if prefix.keys.shape != wanted:
            raise UserError(
                f"the trained prefix {prefix.name!r} is not one of {self._loaded.name}: its keys are {prefix.keys.shape}, and "
                f"here they are {wanted}; install the package again"
            )
        if known is not None or not prefix.stand_in < self._info.vocab_size or self._is_word(prefix.stand_in):
            raise UserError(
                f"the trained prefix {prefix.name!r} has the token {prefix.stand_in} in the place of its own, which "
                f"{self._loaded.name} reads as something else; install the package again"
            )
        self._prefixes[prefix.stand_in] = prefix

    def _is_word(self, token: int) -> bool:
        """Whether a text can have it. GGUF files name the rows that fill up an embedding, but no text is cut into these."""
        tokenizer = self._loaded.tokenizer
        with self._loaded.tokenizer_lock:
            name = tokenizer.convert_ids_to_tokens(token) if 0 <= token < len(tokenizer) else None
            return name is not None and token in tokenizer(name, add_special_tokens=False).input_ids

    def _with_prefix(self, ids: Sequence[int], kept: int) -> int:
        """As `_kept`, with the keys and values of a trained prefix there, if the prompt begins with one. Something is always
        behind it: of prompts that are read together the header of their last turn."""
        prefix = self._prefixes.get(ids[0])
        if prefix is None or kept >= prefix.length:
            return kept
        if len(ids) <= prefix.length or ids[prefix.length - 1] != prefix.stand_in:
            raise ValueError(f"the trained prefix {prefix.name!r} comes whole, and something behind it")
        self.kv.put(prefix.keys, prefix.values, self._model.dtype)
        return prefix.length

    def _keeps(self, ids: Sequence[int]) -> None:  # noqa: B027
        """A prompt was read whole: its keys and values are there."""

    def _restart(self, capacity: int) -> None:
        """An empty sequence with room for `capacity` positions."""
        import torch

        self._fresh = 0
        self.kv.reset()
        self.kv.reserve(capacity)
        if self._positions.shape[1] != self.kv.capacity:
            self._positions = torch.arange(self.kv.capacity, device=self._device)[None]

    def _top_ids(self, states: torch.Tensor, k: int) -> torch.Tensor:
        """(T, k) from states (T, D). The output layer alone: a model's soft cap or scale keeps the order."""
        import torch

        return torch.cat([self._output_layer(rows).topk(k, dim=-1).indices for rows in torch.split(states, _HEAD_ROWS)])

    def _check_prompt(self, ids: Sequence[int], capacity: int) -> None:
        context = self._info.context_tokens
        if not ids:
            raise ValueError("a prompt needs at least one token")
        if len(ids) > context:
            raise StageError(
                "generate",
                f"the prompt has {len(ids)} tokens and {self._loaded.name} reads {context}; give it fewer sources, or use "
                "a model with a longer context",
            )
        if capacity < len(ids):
            raise ValueError(f"capacity {capacity} is less than the prompt's {len(ids)} tokens")

    def _check_plan(self, plan: SkipSet) -> None:
        largest = max((*plan.attention[-1:], *plan.mlp[-1:]), default=0)
        if largest >= self._info.n_layers:
            raise ValueError(f"the plan skips layer {largest} of a model with layers 0 to {self._info.n_layers - 1}")


def best_token(logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The most probable token of logits (1, V), as (1, 1), and its probability, as (1,), in float32.

    NaN counts as probability 0: a skipped model may overflow, and a bad guess must cost no more than time.
    """
    logits = logits.float()
    value, token = logits.max(dim=-1)
    chance = (value - logits.logsumexp(dim=-1)).exp()
    return token[:, None], chance.nan_to_num(0.0)


def relative_error(found: torch.Tensor, expected: torch.Tensor) -> float:
    """Euclidean length of the difference over that of `expected`; NaN counts as 0 on both sides."""
    expected = expected.float().nan_to_num()
    difference = found.float().nan_to_num() - expected
    return float(difference.norm() / expected.norm().clamp_min(1e-9))
