"""The network as the rest of the project sees it: `decoding.api.Encoder`."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WEIGHTS = Path(__file__).with_name("filing.safetensors")
AGAIN = "python -m tools.fits.fit_filing"
BATCH = 64


class HeadingEncoder:
    """On the CPU. May be shared by threads: calls take turns."""

    def __init__(self, path: Path = WEIGHTS) -> None:
        """Raises UserError for weights that are missing or belong to another network."""
        from decoding.filing.heading_network import fresh_network
        from decoding.models.adapters import load_trained, merge

        network = fresh_network(seed=0)
        load_trained(network, path, again=AGAIN)
        merge(network.encoder)
        self._network = network.eval()
        self._fingerprint = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return f"minilm-filing@{self._fingerprint}"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, shape (len(texts), D), in the order of the texts."""
        import numpy as np
        import torch

        # texts of about one length together: padding is read as well
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        found = np.empty((len(texts), self._network.width), dtype=np.float32)
        with self._lock, torch.inference_mode():
            for at in range(0, len(order), BATCH):
                some = order[at : at + BATCH]
                found[some] = self._network([texts[i] for i in some]).numpy()
        return found
