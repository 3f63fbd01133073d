"""The reference: the model's own `forward`, with keys and values in our buffers. Slower than `driven`, and the judge of it.

For chains the model builds its own attention masks, so nothing here depends on ours; trees have no other way than an explicit
mask. Sub-layers are skipped by letting them return zeros, which makes a residual block the identity: norm(0) = 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from data.errors import UserError
from decoding.backend import FULL, Budget, Part, SkipSet
from decoding.backends.masks import AttentionMasks, NoMask
from decoding.backends.nearest_sets import SetSearch
from decoding.backends.torch_backend import TorchBackend, relative_error
from decoding.models.loading import STATEFUL, keeps_state

if TYPE_CHECKING:
    import torch

    from decoding.models.loading import LoadedModel


class HFBackend(TorchBackend):
    """Any causal model whose state is keys and values.

    Construction compares a few tokens with the model run plainly. Raises UserError for a model that fails: one with a
    recurrent state, say, which no length can take back.
    """

    def __init__(self, loaded: LoadedModel) -> None:
        super().__init__(loaded, "hf")
        self._decoder: Any = self._model.get_decoder()
        self._blocks = _blocks(self._decoder, self._info.n_layers)
        self._n_outputs: dict[Any, int] = {}
        """How many values a sub-layer returns, for those that return a tuple."""
        self._masks: AttentionMasks | None = None
        self._mask_by_kind = False
        self._parts: tuple[Part, ...] | None = None
        """Into which a layer is divided where skip sets are searched; None: not tried yet."""
        self._prove()

    @property
    def takes_trees(self) -> bool:
        """Whether the model honours an explicit mask."""
        return self._masks is not None

    @property
    def can_skip(self) -> bool:
        """Whether its layers have sub-layers named self_attn and mlp."""
        return self._blocks is not None

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
        positions, mask = self._positions[:, at : at + ids.shape[1]], None
        if parents is not None:
            positions, mask = self._tree(at, parents)
        self._cache.start = at
        with self._skipping(plan), _outputs_of([self._decoder] if states else []) as kept:
            logits = self._model(
                input_ids=ids,
                position_ids=positions,
                attention_mask=mask,
                past_key_values=self._cache,
                use_cache=True,
                logits_to_keep=1 if last_only else 0,
            ).logits[0]
        return logits, kept[self._decoder][0][0] if states else None

    def _tree(self, at: int, parents: Sequence[int]) -> tuple[torch.Tensor, Any]:
        if self._masks is None:
            raise UserError(
                f"{self._loaded.name}: {self._architecture} takes no attention mask of ours, so it cannot verify a tree; "
                "choose a drafter that proposes chains"
            )
        positions, masks = self._masks.tree(at, parents)
        return positions, masks if self._mask_by_kind else next(iter(masks.values()))

    @property
    def can_choose(self) -> bool:
        """Whether a search for skip sets passes the token through the model as a step does. Tried once; loses the sequence."""
        if self._parts is None:
            self._prove_search()
        return bool(self._parts)

    def _search(self, ids: torch.Tensor, search: SetSearch) -> None:
        self._searched(ids, search, self._parts or ())

    def _searched(self, ids: torch.Tensor, search: SetSearch, parts: Sequence[Part]) -> torch.Tensor:
        """As `_search`; returns the logits (R, V)."""
        passing = {block: self._passing(i, block, search, parts) for i, block in enumerate(self._blocks or ())}
        with replaced_forwards(passing):
            return self._run(ids, self.kv.n, parents=(-1,) * ids.shape[1])[0]

    def _passing(self, i: int, block: Any, search: SetSearch, parts: Sequence[Part]) -> Any:
        """A forward of layer i in which each of its parts adds what it adds with the other one left out."""
        own = block.forward
        others = {"attention": [block.mlp], "mlp": [block.self_attn], "layer": []}

        def forward(hidden_states: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            output: Any = hidden_states
            for part in parts:
                stubs = {module: _zeros(self._n_outputs.get(module, 0)) for module in others[part]}
                with replaced_forwards(stubs):
                    output = own(hidden_states, *args, **kwargs)
                behind = output[0] if isinstance(output, tuple) else output
                hidden_states = search.passed(part, i, hidden_states[0], behind[0])[None]
            return (hidden_states, *output[1:]) if isinstance(output, tuple) else hidden_states

        return forward

    @contextmanager
    def _skipping(self, plan: SkipSet) -> Iterator[None]:
        """Within it the sub-layers of `plan` return zeros."""
        if not plan:
            yield
            return
        if self._blocks is None:
            raise UserError(
                f"{self._loaded.name}: the layers of {self._architecture} have no sub-layers named self_attn and mlp, so none "
                "can be skipped; choose a drafter that skips no layers"
            )
        skipped = [self._blocks[i].self_attn for i in plan.attention] + [self._blocks[i].mlp for i in plan.mlp]
        with replaced_forwards({module: _zeros(self._n_outputs.get(module, 0)) for module in skipped}):
            yield

    @property
    def _architecture(self) -> str:
        return type(self._model).__name__

    # --- proof -----------------------------------------------------------------------------------------------------------

    def _prove(self) -> None:
        """Against plain forwards: reading, stepping with one and two tokens, a tree. All within the first 8 positions."""
        import torch

        ids = random_ids(7, self._info.vocab_size, self._device)
        with torch.inference_mode():
            try:
                self._restart(8)
                with _outputs_of(self._sub_layers()) as kept:
                    expected = self._model(input_ids=ids, use_cache=False).logits[0]
                self._n_outputs = {module: len(output) for module, output in kept.items() if isinstance(output, tuple)}
                found = torch.cat([self._run(ids[:, a:b], a)[0] for a, b in ((0, 4), (4, 5), (5, 7))])
            except Exception as error:  # whatever a model's own code raises when it meets a cache it does not know
                raise self._unusable(f"{type(error).__name__}: {error}") from error
            if not self._close(found, expected):
                raise self._unusable("its logits change with the number of tokens per step")
            self._prove_tree(ids)

    def _prove_tree(self, ids: torch.Tensor) -> None:
        """Sets `_masks` if a tree of a root, its child and a second root gives what the two chains give.

        That is no proof for a window which begins later, and which the model may count in rows instead of positions (GPT-Neo):
        a model with a window that our masks do not know gets no trees.
        """
        import torch

        if _own_window(self._config):
            return
        try:
            masks = AttentionMasks(self._config, dtype=self._model.dtype, device=self._device)
        except NoMask:
            return
        chain, other = ids[:, :6], torch.cat([ids[:, :4], ids[:, 6:]], dim=1)
        expected = torch.cat([self._model(input_ids=x, use_cache=False).logits[0, 4:] for x in (chain, other)])
        for by_kind in (True, False) if len(masks.windows) == 1 else (True,):
            self._masks, self._mask_by_kind = masks, by_kind
            try:
                if self._close(self._run(ids[:, 4:], 4, parents=[-1, 0, -1])[0], expected):
                    return
            except Exception:  # which form of mask a model's own code takes can only be tried
                continue
        self._masks = None

    def _prove_search(self) -> None:
        """Sets `_parts`: attention and MLP apart where they follow each other, else whole layers, if either gives what a step
        gives in the row that leaves nothing out."""
        import torch

        self._parts = ()
        if not self.can_skip or not self.takes_trees:
            return
        ids = random_ids(5, self._info.vocab_size, self._device)
        tried: tuple[tuple[Part, ...], ...] = (("attention", "mlp"), ("layer",))
        with torch.inference_mode():
            self._restart(16)
            self._run(ids[:, :4], 0)
            self.kv.commit(4)
            expected = self._run(ids[:, 4:], 4)[0]
            for parts in tried:
                search = SetSearch(self._info.n_layers, Budget(1, 1, 2))
                try:
                    found = self._searched(ids[:, 4:].expand(1, 3), search, parts)
                except Exception:  # how a model's own code calls its layers can only be tried
                    continue
                if self._close(found[:1], expected):
                    self._parts = parts
                    return

    def _sub_layers(self) -> list[Any]:
        return [module for block in self._blocks or () for module in (block.self_attn, block.mlp)]

    def _close(self, found: torch.Tensor, expected: torch.Tensor) -> bool:
        """Kernels for other numbers of rows round differently, more so where rows are rounded to 8 bits; a wrong position or
        mask is far outside of this."""
        is_exact = found.element_size() == 4 and not self._loaded.is_low_bit
        return relative_error(found, expected) < (1e-3 if is_exact else 5e-2)

    def _unusable(self, why: str) -> UserError:
        if keeps_state(self._model):
            return UserError(f"{self._loaded.name}: {self._architecture} cannot be decoded step by step here: {STATEFUL}")
        return UserError(
            f"{self._loaded.name}: {self._architecture} cannot be decoded step by step here ({why}); choose a model whose only "
            "state is attention keys and values (Llama, Qwen, Mistral, Gemma, Phi, OLMo ...), or serve it and name the server"
        )


def _own_window(config: Any) -> bool:
    """Whether a configuration names a window other than `sliding_window`, which `AttentionMasks` knows."""
    named = [name for name, value in config.to_dict().items() if "window" in name and value]
    return any("sliding_window" not in name and name != "max_window_layers" for name in named)


def random_ids(n: int, vocab_size: int, device: torch.device) -> torch.Tensor:
    """(1, n), always the same for the same numbers, leaving torch's global generator alone."""
    import torch

    generator = torch.Generator().manual_seed(0)
    return torch.randint(vocab_size, (1, n), generator=generator).to(device)


@contextmanager
def replaced_forwards(forwards: Mapping[Any, Any]) -> Iterator[None]:
    """Within it each module runs the given function instead of its own `forward`; put back whatever happens."""
    before = {module: vars(module).get("forward") for module in forwards}
    try:
        for module, forward in forwards.items():
            module.forward = forward
        yield
    finally:
        for module, forward in before.items():
            if forward is None:
                vars(module).pop("forward", None)
            else:
                module.forward = forward


def _zeros(n_outputs: int) -> Any:
    """A forward that returns zeros like its first argument: a tensor, or a tuple of `n_outputs` whose others are None."""

    def forward(*args: Any, **kwargs: Any) -> Any:
        import torch

        zeros = torch.zeros_like(args[0] if args else kwargs["hidden_states"])
        return (zeros, *[None] * (n_outputs - 1)) if n_outputs else zeros

    return forward


@contextmanager
def _outputs_of(modules: Sequence[Any]) -> Iterator[dict[Any, Any]]:
    """Collects what the modules return, by module."""
    outputs: dict[Any, Any] = {}

    def keep(module: Any, args: Any, output: Any) -> None:
        outputs[module] = output

    handles = [module.register_forward_hook(keep) for module in modules]
    try:
        yield outputs
    finally:
        for handle in handles:
            handle.remove()


def _blocks(decoder: Any, n_layers: int) -> list[Any] | None:
    """The decoder's layers if all have the sub-layers `self_attn` and `mlp`."""
    layers = list(getattr(decoder, "layers", None) or ())[:n_layers]
    named = all(hasattr(layer, "self_attn") and hasattr(layer, "mlp") for layer in layers)
    return layers if len(layers) == n_layers and named else None
