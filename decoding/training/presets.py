"""Sizes and budgets that are known to work. The reasons for the figures are in `decoding/training/SCALING.md`."""

from __future__ import annotations

from dataclasses import dataclass, field

from data.types import Strict
from decoding.training.batches import Mixture
from decoding.training.network import LayerDropout
from decoding.training.optimizer import Schedule


@dataclass(frozen=True, slots=True)
class Phase(Strict):
    """From the share `start` of the training on: the mixture, and the lengths of rows, one of which is drawn for each step."""

    start: float
    mixture: Mixture
    lengths: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Preset(Strict):
    """`tokens` are those of all rows. `exit_weight` is that of the early-exit loss, taken every second step."""

    n_layers: int
    hidden: int
    vocab_size: int
    tokens: int
    tokens_per_step: int
    matrix_rate: float
    embedding_rate: float
    norm_rate: float
    phases: tuple[Phase, ...]
    head_dim: int = 64
    context: int = 2048
    weight_decay: float = 0.1
    exit_weight: float = 0.2
    schedule: Schedule = field(default_factory=Schedule)
    dropout: LayerDropout = field(default_factory=LayerDropout)
    eval_every: int = 250
    """Steps."""
    checkpoint_minutes: float = 5.0

    def phase(self, done: float) -> Phase:
        return [phase for phase in self.phases if phase.start <= done][-1]


_PHASES = (
    Phase(0.0, Mixture(repeats=0.02, copying=0.18), (256, 512)),
    Phase(0.5, Mixture(copying=0.05, sections=0.35, outlines=0.05), (256, 512, 1024)),
    Phase(0.85, Mixture(copying=0.05, sections=0.45, outlines=0.10), (512, 1024, 2048)),
)

PRESETS: dict[str, Preset] = {
    "smoke": Preset(
        n_layers=4, hidden=64, vocab_size=1024, tokens=120 * 1024, tokens_per_step=1024, matrix_rate=0.02,
        embedding_rate=0.02, norm_rate=0.004, head_dim=32, context=512,
        phases=(Phase(0.0, Mixture(copying=0.3, sections=0.2, outlines=0.1), (256,)),),
        eval_every=40,
    ),
    "cpu": Preset(
        n_layers=16, hidden=192, vocab_size=8192, tokens=12_000_000, tokens_per_step=4096, matrix_rate=0.005,
        embedding_rate=0.01, norm_rate=0.002, head_dim=48, phases=_PHASES, eval_every=50,
    ),
    "gpu": Preset(
        n_layers=20, hidden=256, vocab_size=8192, tokens=400_000_000, tokens_per_step=65_536, matrix_rate=0.006,
        embedding_rate=0.01, norm_rate=0.002, phases=_PHASES, eval_every=200,
    ),
}  # fmt: skip
