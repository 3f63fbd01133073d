"""The model's own sub-modules, driven by our own loop: every sub-layer can be left out, and nothing is paid for twice.

The loop writes the residual arithmetic of three shapes of decoder layer (pre-norm, sandwich-norm, post-norm); attention, MLP
and norms stay the model's. It is believed only after it has given the same logits as `hf` on this very model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from decoding.backend import FULL, SkipSet
from decoding.backends.hf import HFBackend, random_ids, replaced_forwards
from decoding.backends.layers import NotDrivable, RotaryTables, take_apart
from decoding.backends.masks import AttentionMasks, NoMask
from decoding.backends.proof import proof_steps
from decoding.backends.torch_backend import TorchBackend, relative_error

if TYPE_CHECKING:
    import torch

    from decoding.backends.masks import Masks
    from decoding.backends.nearest_sets import SetSearch
    from decoding.models.loading import LoadedModel

_PROOF_TOKENS = 24
_SAMPLE_TOKENS = 40


class DrivenBackend(TorchBackend):
    """Models with the layers of Llama, Mistral, Qwen2, Qwen3, Phi-3, Granite, Gemma 2, Gemma 3, OLMo 2 and their kin."""

    def __init__(self, loaded: LoadedModel, reference: HFBackend | None = None) -> None:
        """Raises NotDrivable if the model is built otherwise or its logits differ from the `hf` backend's.

        `reference`: an `hf` backend of the same model to compare with; it loses its sequence.
        """
        super().__init__(loaded, "driven")
        self._take_apart()
        self._prove(reference)

    def _take_apart(self) -> None:
        """What the loop runs, out of `_model`. Raises NotDrivable if it is built otherwise."""
        decoder: Any = self._model.get_decoder()
        self._decoder = decoder
        for name in ("embed_tokens", "layers", "norm", "rotary_emb"):
            if not hasattr(decoder, name):
                raise NotDrivable(f"{type(decoder).__name__} has no {name}")
        try:
            self._masks = AttentionMasks(self._config, dtype=self._model.dtype, device=self._device)
        except NoMask as error:
            raise NotDrivable(str(error)) from error
        modules = list(decoder.layers)[: self._info.n_layers]
        self._layers = [take_apart(module, kind) for module, kind in zip(modules, self._masks.kinds, strict=True)]
        self._norm = decoder.norm
        self._rope = RotaryTables(decoder.rotary_emb, tuple(self._masks.windows), self._model.dtype, self._device)
        self._embedding_scale = getattr(decoder, "embedding_multiplier", None)
        self._logit_divisor = getattr(self._config, "logits_scaling", None)
        self._logit_cap = getattr(self._config, "final_logit_softcapping", None)

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
        if parents is None:
            positions, masks = self._positions[:, at : at + ids.shape[1]], self._masks.chain(at, ids.shape[1])
        else:
            positions, masks = self._masks.tree(at, parents)
        self._cache.start = at
        hidden = self._forward(ids, positions, masks, plan, self._cache)
        return self._head(hidden[:, -1:] if last_only else hidden)[0], hidden[0]

    def _forward(self, ids: torch.Tensor, positions: torch.Tensor, masks: Masks, plan: SkipSet, cache: Any) -> torch.Tensor:
        """States after the final norm, (1, T, D), of ids (1, T) at positions (1, T).

        Reads nothing back from the device. `masks` by layer kind; `cache` needs only `update(keys, values, layer)`, which
        stores (1, H_kv, T, D) and returns what the attention is to see.
        """
        hidden = self._decoder.embed_tokens(ids)
        if self._embedding_scale is not None:
            hidden = hidden * self._embedding_scale
        rotations = self._rope.at(positions)
        for i, layer in enumerate(self._layers):
            if i not in plan.attention:
                hidden = layer.attend(hidden, positions, rotations[layer.kind], masks[layer.kind], cache)
            if i not in plan.mlp:
                hidden = layer.transform(hidden)
        normed: torch.Tensor = self._norm(hidden)
        return normed

    def _search(self, ids: torch.Tensor, search: SetSearch) -> None:
        n, most = self.kv.n, ids.shape[1]
        positions, masks = self._masks.tree(n, (-1,) * most)
        rotations = self._rope.at(positions)
        self._cache.start = n
        hidden = self._decoder.embed_tokens(ids[:, :1])
        if self._embedding_scale is not None:
            hidden = hidden * self._embedding_scale
        for i, layer in enumerate(self._layers):
            rows = hidden.shape[1]  # there are more of them from layer to layer
            mask, (cos, sin) = masks[layer.kind], rotations[layer.kind]
            assert mask is not None, "trees have masks"
            behind = layer.attend(
                hidden, positions[:, :rows], (cos[:, :rows], sin[:, :rows]), mask[..., :rows, : n + rows], self._cache
            )
            hidden = search.passed("attention", i, hidden[0], behind[0])[None]
            hidden = search.passed("mlp", i, hidden[0], layer.transform(hidden)[0])[None]

    def _head(self, states: torch.Tensor) -> torch.Tensor:
        """Logits (1, T, V) of states (1, T, D), with the model's own scale or soft cap."""
        return self.scaled(self._output_layer(states))

    def scaled(self, logits: torch.Tensor) -> torch.Tensor:
        """Logits as the output layer gives them -> as the model gives them."""
        if self._logit_divisor is not None:
            logits = logits / self._logit_divisor
        if self._logit_cap is not None:
            logits = (logits / self._logit_cap).tanh() * self._logit_cap
        return logits

    def _restart(self, capacity: int) -> None:
        super()._restart(capacity)
        self._rope.grow(self._positions)

    # --- proof -----------------------------------------------------------------------------------------------------------

    def _prove(self, reference: HFBackend | None) -> None:
        import torch

        reference = reference or HFBackend(self._loaded)
        if not reference.takes_trees:
            raise NotDrivable("it takes no attention mask of ours")
        with torch.inference_mode():
            self._restart(4 * _PROOF_TOKENS)
            try:
                self._prove_inputs()
                self._prove_logits(reference)
            except (AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError) as error:
                raise NotDrivable(f"its sub-modules are called otherwise ({type(error).__name__}: {error})") from error

    def _prove_inputs(self) -> None:
        """Each layer must be given the masks and rotations that the model itself would give it, beyond every window too."""
        beyond = [window + 3 for window in self._masks.windows.values() if window is not None]
        for at in (0, _PROOF_TOKENS, *beyond):
            for length in (1, 4):
                self._prove_inputs_at(at, length)

    def _prove_inputs_at(self, at: int, length: int) -> None:
        import torch

        given: list[dict[str, Any]] = []

        def record(hidden_states: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
            given.append(kwargs)
            return hidden_states

        positions = torch.arange(at, at + length, device=self._device)[None]
        self._cache.start = at
        with replaced_forwards({layer.module: record for layer in self._layers}):
            self._decoder(
                input_ids=random_ids(length, self._info.vocab_size, self._device),
                position_ids=positions,
                past_key_values=self._cache,
                use_cache=True,
            )
        masks = self._masks.chain(at, length)
        rotations = self._rope.at(positions) if at + length <= self.kv.capacity else None
        for layer, theirs in zip(self._layers, given, strict=True):
            if not torch.equal(_visible(theirs["attention_mask"], at, length), _visible(masks[layer.kind], at, length)):
                raise NotDrivable(f"its attention masks differ from ours {at} tokens into a text")
            if rotations is not None and not _same_pair(rotations[layer.kind], theirs["position_embeddings"]):
                raise NotDrivable("its rotary embeddings differ from ours")

    def _prove_logits(self, reference: HFBackend) -> None:
        """Random tokens: a prompt, steps of one and four, a tree, its committed path, skipped sub-layers."""
        import torch

        n_layers, vocab_size = self._info.n_layers, self._info.vocab_size
        tokens = random_ids(_PROOF_TOKENS + 16, vocab_size, torch.device("cpu"))[0].tolist()
        prompt, fresh = tokens[:_PROOF_TOKENS], iter(tokens[_PROOF_TOKENS:])
        some = SkipSet(attention=(0, n_layers // 2), mlp=(0, n_layers - 1))

        def take(n: int) -> list[int]:
            return [next(fresh) for _ in range(n)]

        def compare(what: str, k: int = 0, path: Sequence[int] | None = None, **step: Any) -> None:
            ours, theirs = (backend.step(**step).logits for backend in (self, reference))
            self._compare(what, ours, theirs)
            for backend in (self, reference) if k else ():
                backend.commit(k, path)

        reference._restart(4 * _PROOF_TOKENS)
        ours, theirs = (b._run(torch.tensor([prompt], device=self._device), 0)[0] for b in (self, reference))
        self._compare("a prompt", ours, theirs)
        self.kv.commit(len(prompt))
        reference.kv.commit(len(prompt))
        compare("a step of one token", 1, ids=take(1))
        compare("a step of four tokens", 2, ids=take(4))
        compare("a tree", 2, (0, 2), ids=take(4), parents=(-1, 0, 0, -1))
        compare("the step after a tree", ids=take(1))
        compare("a step with skipped sub-layers", ids=take(1), plan=some)
        compare("a step with skipped sub-layers behind another", ids=take(2), plan=some, offset=1)

    def _samples(self) -> list[tuple[str, torch.Tensor]]:
        """Logits of steps of several forms behind random tokens, always the same ones: for who computes the same otherwise."""
        n = max(8, min(_SAMPLE_TOKENS, self._info.context_tokens - 32))
        tokens = random_ids(n + 24, self._info.vocab_size, self._device)
        self._restart(n + 32)
        self._run(tokens[:, :n], 0, last_only=True)
        self.kv.commit(n)
        steps = proof_steps(tokens, self._info.n_layers)
        return [(step.what, self._run(step.ids, n, **step.options)[0].clone()) for step in steps]

    def _compare(self, what: str, ours: torch.Tensor, theirs: torch.Tensor) -> None:
        """Both run the same modules on the same shapes, so they agree bitwise. A GPU may add in another order, to rounding."""
        import torch

        if torch.equal(ours.nan_to_num(), theirs.nan_to_num()):
            return
        error = relative_error(ours, theirs)
        if self._device.type == "cpu" or error > (1e-5 if ours.element_size() == 4 else 1e-2):
            raise NotDrivable(f"its logits differ from the model's own by {error:.1e} for {what}")


def _same_pair(ours: tuple[torch.Tensor, torch.Tensor], theirs: tuple[torch.Tensor, torch.Tensor]) -> bool:
    import torch

    return torch.equal(ours[0], theirs[0]) and torch.equal(ours[1], theirs[1])


def _visible(mask: torch.Tensor | None, at: int, length: int) -> torch.Tensor:
    """What a mask lets through, (length, at + length) bool on the CPU, whatever its form."""
    import torch

    if mask is None:
        return torch.ones(length, at + length, dtype=torch.bool).tril(at)
    return (mask if mask.dtype == torch.bool else mask == 0)[0, 0].cpu()
