"""The small language model that ships with the project, and what it reads. `decoding.training` makes it."""

from __future__ import annotations

from pathlib import Path

MODEL_FOLDER = Path(__file__).parent / "model"
CALIBRATION_FOLDER = Path(__file__).parent / "calibration"
FIGURES = "figures.json"
"""In the model folder: how it was made, and what it scored on held-out documents (`decoding.training.release.Figures`)."""
