"""A GGUF file read once where transformers would read it five times: a vocabulary of 150,000 words takes ten seconds each time,
as `gguf` makes an array of each word, and the weights themselves a tenth of that."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def read_once() -> Iterator[None]:
    """Within the block, whoever opens a GGUF file through `gguf`, or reads what transformers wants of it besides tensors, gets
    what was read before. Files must not change meanwhile."""
    import gguf
    import numpy as np
    from transformers import modeling_gguf_pytorch_utils as reading

    class Reader(gguf.GGUFReader):
        """Its bytes as a plain array: cutting pieces off numpy's own class for files takes five times as long."""

        @property
        def data(self) -> Any:
            return self._bytes

        @data.setter
        def data(self, mapped: Any) -> None:
            self._bytes = np.asarray(mapped)

    readers: dict[str, Any] = {}
    about: dict[str, dict[str, Any]] = {}
    read_about: Any = reading.load_gguf_checkpoint

    def reader(path: Any, mode: str = "r") -> Any:
        key = str(Path(path).resolve())
        if mode != "r":
            return original(path, mode)
        if key not in readers:
            readers[key] = Reader(path)
        return readers[key]

    def checkpoint(path: Any, return_tensors: bool = False, *args: Any, **options: Any) -> Any:
        if return_tensors or args or options:
            return read_about(path, return_tensors, *args, **options)
        key = str(Path(path).resolve())
        if key not in about:
            about[key] = read_about(path)
        return {part: dict(fields) for part, fields in about[key].items()}  # its readers take things out

    original: Any = gguf.GGUFReader
    with ExitStack() as stack:
        for owner, name, instead in (
            (gguf, "GGUFReader", reader),
            (gguf, "get_tensor_name_map", functools.cache(gguf.get_tensor_name_map)),
            (reading, "load_gguf_checkpoint", checkpoint),
        ):
            stack.callback(setattr, owner, name, getattr(owner, name))
            setattr(owner, name, instead)
        yield
