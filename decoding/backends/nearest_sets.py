"""Which sub-layers to leave out here and now: dynamic programming over the model's depth while one token passes through it
(CLaSp, Chen et al. 2025, arXiv 2505.24196; attention and MLP as items with weights of their own: KnapSpec, arXiv 2602.20217).

Row j of the pass is the token as the best path found so far has it that has saved j units of work; row 0 leaves nothing out,
so that it is the model itself. Behind each sub-layer a row either has gone through it, or comes from the row that has saved as
many units less as the sub-layer weighs, which left it out; the one whose state points more nearly where row 0 does stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoding.backend import Budget, Part, SkipSet

if TYPE_CHECKING:
    import torch


class SetSearch:
    """The table of one search. First and last layer are always kept, as KnapSpec and SWIFT do."""

    def __init__(self, n_layers: int, budget: Budget) -> None:
        self.budget = budget
        self._n_layers = n_layers
        self._items: list[tuple[Part, int]] = []
        self._left_out: list[torch.Tensor] = []
        self._reached = [True] + [False] * budget.most
        self.n_rows = 1
        """Rows that have been reached, or lie before one that has: the others need not be computed."""

    def passed(self, part: Part, layer: int, before: torch.Tensor, behind: torch.Tensor) -> torch.Tensor:
        """The rows (R', D) behind a part of a layer, from those before it (R, D) and the same after it, `behind`.

        R may be `n_rows` or more; R' is at most budget.most + 1 and at least the new `n_rows`. Reads nothing back.
        """
        import torch

        if layer in (0, self._n_layers - 1):
            return behind
        weight, most = self.budget.weight(part), self.budget.most
        n_new = min(most + 1, max(self.n_rows + weight, len(behind)))
        reached = [
            (self._reached[j], j >= weight and self._reached[j - weight])  # by going through, by leaving it out
            for j in range(n_new)
        ]
        aim = _direction(behind[:1])
        through, around = (_direction(rows) @ aim[0] for rows in (behind, before))
        n = len(behind)
        rows = torch.arange(n_new, device=behind.device)
        may = torch.tensor(reached, device=behind.device)
        lowest = through.new_full((), -2.0)
        by_going = torch.where(may[:, 0], through[rows.clamp_max(n - 1)], lowest)
        by_leaving = torch.where(may[:, 1], around[(rows - weight).clamp(0, n - 1)], lowest)
        leaves = by_leaving > by_going
        self._items.append((part, layer))
        self._left_out.append(leaves)
        self._reached = [a or b for a, b in reached] + self._reached[n_new:]
        self.n_rows = 1 + max(j for j, there in enumerate(self._reached) if there)
        return torch.where(leaves[:, None], before[(rows - weight).clamp(0, n - 1)], behind[rows.clamp_max(n - 1)])

    def sets(self) -> list[tuple[int, SkipSet]]:
        """For each number of units that can be saved the nearest set, fewest first; without the empty one."""
        import torch

        if not self._left_out:
            return []
        width = self.budget.most + 1
        table = torch.stack([torch.nn.functional.pad(row, (0, width - len(row))) for row in self._left_out]).tolist()
        found = []
        for units in range(1, width):
            if not self._reached[units]:
                continue
            left: list[tuple[Part, int]] = []
            at = units
            for item, leaves in zip(reversed(self._items), reversed(table), strict=True):
                if leaves[at]:
                    left.append(item)
                    at -= self.budget.weight(item[0])
            assert at == 0, "a path begins with nothing saved"
            found.append(
                (
                    units,
                    SkipSet(
                        tuple(layer for part, layer in left if part != "mlp"),
                        tuple(layer for part, layer in left if part != "attention"),
                    ),
                )
            )
        return found


def _direction(rows: torch.Tensor) -> torch.Tensor:
    """Rows of length 1, in float32; a row that overflows points nowhere."""
    import torch

    return torch.nn.functional.normalize(rows.float(), dim=-1).nan_to_num(0.0)
