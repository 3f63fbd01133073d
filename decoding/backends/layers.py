"""Decoder layers taken apart, and the rotary embeddings that they are given: the parts that `driven` runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from decoding.backends.proof import Unfit

if TYPE_CHECKING:
    import torch

    Rotations = dict[str, tuple[torch.Tensor, torch.Tensor]]

_FIXED_ROPES = frozenset(("default", "linear", "llama3", "yarn"))
"""Rotary embeddings that are a function of the position alone; others (dynamic, longrope) look at the length, too."""


class NotDrivable(Unfit):
    """This model's layers cannot be driven here: they are built, or called, otherwise."""


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """One decoder layer, taken apart. A norm that the shape does not have is None."""

    module: Any
    kind: str
    before_attention: Any
    attention: Any
    after_attention: Any
    before_mlp: Any
    mlp: Any
    after_mlp: Any
    scale: float | None
    """What a sub-layer's output is multiplied with before it is added (Granite)."""

    def attend(
        self,
        hidden: torch.Tensor,
        positions: torch.Tensor,
        rotation: tuple[torch.Tensor, torch.Tensor],
        mask: torch.Tensor | None,
        cache: Any,
    ) -> torch.Tensor:
        """hidden (1, T, D) plus what the attention sub-layer adds to it."""
        added = self.attention(
            hidden_states=hidden if self.before_attention is None else self.before_attention(hidden),
            position_embeddings=rotation,
            attention_mask=mask,
            position_ids=positions,
            past_key_values=cache,
        )[0]
        return self._add(hidden, added if self.after_attention is None else self.after_attention(added))

    def transform(self, hidden: torch.Tensor) -> torch.Tensor:
        """hidden (1, T, D) plus what the MLP sub-layer adds to it."""
        added = self.mlp(hidden if self.before_mlp is None else self.before_mlp(hidden))
        if isinstance(added, tuple):  # mixtures of experts return their routing, too
            added = added[0]
        return self._add(hidden, added if self.after_mlp is None else self.after_mlp(added))

    def _add(self, hidden: torch.Tensor, added: torch.Tensor) -> torch.Tensor:
        return hidden + added if self.scale is None else hidden + added * self.scale


_NORMS: dict[frozenset[str], tuple[str | None, str | None, str | None, str | None]] = {
    frozenset(("input_layernorm", "post_attention_layernorm")): ("input_layernorm", None, "post_attention_layernorm", None),
    frozenset(
        ("input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm")
    ): ("input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm"),
    frozenset(("post_attention_layernorm", "post_feedforward_layernorm")): (
        None, "post_attention_layernorm", None, "post_feedforward_layernorm",
    ),
}  # fmt: skip
"""Which norms a layer has -> those before and after attention, before and after the MLP: pre-norm, sandwich, post-norm."""


def take_apart(module: Any, kind: str) -> Layer:
    """Raises NotDrivable for a layer that has none of the three shapes."""
    inner = {"self_attn", "mlp"}  # low-bit ones have no parameters
    weighty = {name for name, child in module.named_children() if name in inner or next(child.parameters(), None) is not None}
    norms = _NORMS.get(frozenset(weighty - inner))
    if norms is None or not inner <= weighty or next(module.parameters(recurse=False), None) is not None:
        raise NotDrivable(f"{type(module).__name__} is made of {', '.join(sorted(weighty))}")
    before_attention, after_attention, before_mlp, after_mlp = (getattr(module, name) if name else None for name in norms)
    return Layer(
        module=module,
        kind=kind,
        before_attention=before_attention,
        attention=module.self_attn,
        after_attention=after_attention,
        before_mlp=before_mlp,
        mlp=module.mlp,
        after_mlp=after_mlp,
        scale=getattr(module, "residual_multiplier", None),
    )


class RotaryTables:
    """Cosines and sines by layer kind, from tables that the model's own rotary module fills once for all positions.

    Where they depend on the length of the text as well, the module is asked each time.
    """

    def __init__(self, module: Any, kinds: Sequence[str], dtype: torch.dtype, device: torch.device) -> None:
        import torch

        types = getattr(module, "rope_type", None)
        self._module, self._kinds = module, tuple(kinds)
        self._by_kind = isinstance(types, Mapping)
        self._fixed = _FIXED_ROPES.issuperset(types.values() if isinstance(types, Mapping) else [types])
        self._like = torch.empty(0, dtype=dtype, device=device)
        self._tables: Rotations = {}

    @property
    def fixed(self) -> bool:
        """Whether they are a function of the position alone."""
        return self._fixed

    def grow(self, positions: torch.Tensor) -> None:
        """Tables for positions (1, P) = 0..P-1, if they are not there yet."""
        if self._fixed and (not self._tables or self._tables[self._kinds[0]][0].shape[1] != positions.shape[1]):
            self._tables = self._compute(positions)

    def table(self) -> tuple[torch.Tensor, torch.Tensor]:
        """(cos, sin) of all positions, each (P, rotated dimensions), of a model with one kind of them that are fixed."""
        cos, sin = self._tables[self._kinds[0]]
        return cos[0], sin[0]

    def at(self, positions: torch.Tensor) -> Rotations:
        """(cos, sin) of positions (1, T), each (1, T, rotated dimensions)."""
        if not self._fixed:
            return self._compute(positions)
        rows = positions[0]
        if not self._by_kind:
            return dict.fromkeys(self._kinds, _rows(self._tables[self._kinds[0]], rows))
        return {kind: _rows(table, rows) for kind, table in self._tables.items()}

    def _compute(self, positions: torch.Tensor) -> Rotations:
        if self._by_kind:
            return {kind: self._module(self._like, positions, kind) for kind in self._kinds}
        return dict.fromkeys(self._kinds, self._module(self._like, positions))


def _rows(pair: tuple[torch.Tensor, torch.Tensor], rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return pair[0].index_select(1, rows), pair[1].index_select(1, rows)
