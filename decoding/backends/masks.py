"""Who sees whom: attention masks for chains and trees, by layer kind.

Drives the model's own attention modules, so the masks have the form that transformers gives them: (1, 1, T, L), bool with
True = attend for sdpa, additive for the eager attention, and None where the attention function needs none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedConfig

    Masks = dict[str, torch.Tensor | None]

FULL_ATTENTION, SLIDING_ATTENTION = "full_attention", "sliding_attention"


class NoMask(Exception):
    """Masks for this model cannot be built here; the message says why."""


class AttentionMasks:
    """Builds masks for one model."""

    def __init__(self, config: PreTrainedConfig, *, dtype: torch.dtype, device: torch.device) -> None:
        """Raises NoMask for attention that is neither full nor a sliding window, or that takes no mask."""
        how = config._attn_implementation
        if how not in ("sdpa", "eager"):
            raise NoMask(f"its attention implementation is {how!r}, and masks are built for sdpa and eager")
        self._additive = how == "eager"
        self._dtype, self._device = dtype, device
        self.kinds = layer_kinds(config)
        """Per layer, `full_attention` or `sliding_attention`."""
        self.windows = {kind: _window(kind, config) for kind in sorted(set(self.kinds))}
        """Per kind, how many positions a token sees, itself included; None for all."""

    def chain(self, at: int, length: int) -> Masks:
        """For `length` tokens at positions at..at+length-1, each seeing those before it."""
        import torch

        masks: Masks = {}
        for kind, window in self.windows.items():
            if self._needs_none(at, length, window):
                masks[kind] = None
            else:
                keys = torch.arange(at + length, device=self._device)
                queries = keys[at:]
                masks[kind] = self._form(keys <= queries[:, None], queries, keys, window)
        return masks

    def tree(self, n: int, parents: Sequence[int]) -> tuple[torch.Tensor, Masks]:
        """For T nodes behind n committed tokens: their positions (1, T), and the masks.

        `parents` as in `StepBackend.step`: a node sees the committed tokens, its ancestors and itself, and is at n + depth.
        """
        import torch

        depths, sees = ancestry(parents)
        size = len(parents)
        among = torch.tensor(sees)  # (T, T)
        visible = torch.cat([torch.ones(size, n, dtype=torch.bool), among], dim=1).to(self._device)  # (T, n + T)
        queries = torch.tensor([n + depth for depth in depths], device=self._device)
        keys = torch.cat([torch.arange(n, device=self._device), queries])
        return queries[None], {kind: self._form(visible, queries, keys, window) for kind, window in self.windows.items()}

    def _needs_none(self, at: int, length: int, window: int | None) -> bool:
        """As transformers decides it. None with several tokens and a past would cut the past off (pitfall 5)."""
        if window is not None and at + length >= window:
            return False
        return length == 1 or (at == 0 and not self._additive)

    def _form(self, visible: torch.Tensor, queries: torch.Tensor, keys: torch.Tensor, window: int | None) -> torch.Tensor:
        import torch

        if window is not None:
            visible = visible & (queries[:, None] - keys < window)
        if self._additive:
            smallest = torch.finfo(self._dtype).min
            visible = torch.zeros(visible.shape, dtype=self._dtype, device=self._device).masked_fill(~visible, smallest)
        return visible[None, None]


def ancestry(parents: Sequence[int]) -> tuple[list[int], list[list[bool]]]:
    """The depth of each node of a tree, roots at 0; and T rows of T: whether a node is the row's own or its ancestor.

    Raises ValueError for a parent that does not come before its child.
    """
    depths: list[int] = []
    sees: list[set[int]] = []
    for node, parent in enumerate(parents):
        if not -1 <= parent < node:
            raise ValueError(f"node {node} names {parent} as its parent; a parent is an earlier node, or -1 for a root")
        depths.append(depths[parent] + 1 if parent >= 0 else 0)
        sees.append({node} | (sees[parent] if parent >= 0 else set()))
    return depths, [[column in row for column in range(len(parents))] for row in sees]


def layer_kinds(config: PreTrainedConfig) -> tuple[str, ...]:
    """The kind of each layer's attention: as the configuration says, or one kind for all by `sliding_window`."""
    n_layers: int = config.num_hidden_layers
    given: Any = getattr(config, "layer_types", None)
    if given is not None:
        return tuple(given)[:n_layers]
    sliding = getattr(config, "sliding_window", None) is not None
    return (SLIDING_ATTENTION if sliding else FULL_ATTENTION,) * n_layers


def _window(kind: str, config: PreTrainedConfig) -> int | None:
    if kind == FULL_ATTENTION:
        return None
    if kind == SLIDING_ATTENTION:
        return int(config.sliding_window)
    raise NoMask(f"it has layers of the kind {kind!r}")
