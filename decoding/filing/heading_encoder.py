"""The network as the rest of the project sees it: `decoding.api.Encoder`."""

from __future__ import annotations

import gc
import hashlib
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from decoding.filing.heading_network import HeadingNetwork

WEIGHTS, LARGE_WEIGHTS = (Path(__file__).with_name(name) for name in ("filing.safetensors", "filing-mpnet.safetensors"))
AGAIN = "python -m tools.fits.fit_filing"
BATCH = 64
LARGE_WIDTH = 768
MOST_KNOWN = 2000
"""Texts whose vectors are kept, 6 MB."""


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
        with self._lock:
            return _encoded(self._network, texts)


class LargeHeadingEncoder:
    """MPNet's. Its weights are loaded when it is asked, a few times an article, and given back: beside the model that writes
    and the reader there is no room for a third. May be shared by threads: calls take turns."""

    def __init__(self, path: Path = LARGE_WEIGHTS) -> None:
        """Raises UserError where MPNet's file is not here."""
        from decoding.models.registry import VERIFIER, checked_file

        checked_file(VERIFIER)
        self._path = path
        self._fingerprint = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
        self._lock = threading.Lock()
        self._known: dict[str, NDArray[np.float32]] = {}
        """Vectors of an article's texts: a plan is made twice, of nearly the same notes."""

    @property
    def name(self) -> str:
        return f"mpnet-filing@{self._fingerprint}"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As `HeadingEncoder.encode`. Raises UserError for weights that belong to another network."""
        import numpy as np

        with self._lock:
            new = [text for text in dict.fromkeys(texts) if text not in self._known]
            if new:
                if len(self._known) + len(new) > MOST_KNOWN:
                    self._known, new = {}, list(dict.fromkeys(texts))
                self._known |= zip(new, self._read(new), strict=True)
            return np.stack([self._known[text] for text in texts]) if texts else np.zeros((0, LARGE_WIDTH), dtype=np.float32)

    def _read(self, texts: Sequence[str]) -> NDArray[np.float32]:
        from decoding.filing.heading_network import fresh_large_network
        from decoding.models.adapters import load_trained

        network = fresh_large_network(seed=0)
        load_trained(network, self._path, again=f"{AGAIN} --large")
        found = _encoded(network.eval(), texts)
        del network
        gc.collect()  # its modules refer to each other
        return found


def _encoded(network: HeadingNetwork, texts: Sequence[str]) -> NDArray[np.float32]:
    import numpy as np
    import torch

    # texts of about one length together: padding is read as well
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    found = np.empty((len(texts), network.width), dtype=np.float32)
    with torch.inference_mode():
        for at in range(0, len(order), BATCH):
            some = order[at : at + BATCH]
            found[some] = network([texts[i] for i in some]).numpy()
    return found
