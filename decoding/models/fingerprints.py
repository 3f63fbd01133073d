"""What tells one set of weights from another: a hash of files, or of tensors in memory."""

from __future__ import annotations

import hashlib
import io
import json
import struct
from typing import Any

_WHOLE_FILE_BYTES = 1 << 30
_SAMPLE_BYTES = 1 << 16


def weights_digest(stream: io.BufferedReader, size: int) -> bytes:
    if size <= _WHOLE_FILE_BYTES:
        return hashlib.file_digest(stream, "sha256").digest()
    digest = hashlib.sha256(struct.pack("<Q", size))
    (header_bytes,) = struct.unpack("<Q", stream.read(8))
    header = stream.read(header_bytes)
    digest.update(header)
    tensors: dict[str, dict[str, Any]] = json.loads(header)
    for name, tensor in sorted(tensors.items()):
        if name == "__metadata__":
            continue
        start, end = tensor["data_offsets"]
        at = max(start, (start + end - _SAMPLE_BYTES) // 2)
        stream.seek(8 + header_bytes + at)
        digest.update(stream.read(min(_SAMPLE_BYTES, end - at)))
    return digest.digest()


def memory_fingerprint(model: Any) -> str:
    import torch

    digest = hashlib.sha256(model.config.to_json_string().encode())
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
        flat = tensor.detach().reshape(-1)
        n = min(flat.numel(), _SAMPLE_BYTES // max(tensor.element_size(), 1))
        start = (flat.numel() - n) // 2
        digest.update(flat[start : start + n].contiguous().view(torch.uint8).cpu().numpy().tobytes())
    return digest.hexdigest()
