"""What is known of a low-bit matrix before it is read, and the arrays that hold it on disk and in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, cast

from decoding.lowbit.matrix import GROUP, PADDED, PANEL, Bits, LowBitMatrix, Matrix
from decoding.lowbit.superblocks import BLOCK, SuperBits, SuperMatrix, panel_lines


@dataclass(frozen=True, slots=True)
class Form:
    """What is known of a matrix before it is read: its class, `plain` or `super`, and shape."""

    kind: Literal["plain", "super"]
    bits: int
    n_rows: int
    n_columns: int
    group: int = GROUP
    has_least: bool = False
    """Both of plain matrices only."""

    def arrays(self) -> dict[str, tuple[str, tuple[int, int, int]]]:
        """Names of the arrays that hold it, with their numpy types and shapes; the first dimension counts panels.

        Raises ValueError for a form of no matrix."""
        panels = -(-self.n_rows // PANEL)
        if self.kind == "super" and self.bits in (4, 5, 6) and self.n_columns % BLOCK == 0:
            return {"packed": ("uint8", (panels, panel_lines(cast("SuperBits", self.bits), self.n_columns), 64))}
        if self.kind != "plain" or (self.bits, self.group) not in ((4, 32), (8, 32), (8, 16)):
            raise ValueError(f"{self} makes no matrix")
        padded = -(-self.n_columns // PADDED) * PADDED
        scales = ("float32", (panels, padded // self.group, PANEL))
        found: dict[str, tuple[str, tuple[int, int, int]]] = {
            "packed": ("uint8", (panels, padded * self.bits // 32, 4 * PANEL)),
            "scales": scales,
        }
        return found | {"least": scales} if self.has_least else found

    def made(self, arrays: dict[str, Any]) -> Matrix:
        """The matrix that these arrays hold."""
        if self.kind == "super":
            return SuperMatrix(arrays["packed"], cast("SuperBits", self.bits), self.n_rows, self.n_columns)
        return LowBitMatrix(
            arrays["packed"], arrays["scales"], arrays.get("least"), cast("Bits", self.bits), self.group, self.n_rows,
            self.n_columns,
        )  # fmt: skip
