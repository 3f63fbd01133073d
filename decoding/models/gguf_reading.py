"""A GGUF file read once where transformers would read it five times: a vocabulary of 150,000 words takes ten seconds each time,
as `gguf` makes an array of each word, and the weights themselves a tenth of that."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

_PART = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$")
"""How `llama-gguf-split` names the parts of a model; the first one has all that is no tensor."""


def parts_of(file: Path) -> tuple[Path, ...]:
    """The files that a model lies in, the first one first, whichever of them is named. They may be missing."""
    found = _PART.search(file.name)
    if found is None:
        return (file,)
    begin, n = file.name[: found.start()], int(found.group(2))
    return tuple(file.with_name(f"{begin}-{i:05}-of-{n:05}.gguf") for i in range(1, n + 1))


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
    others: list[Any] = []
    about: dict[str, dict[str, Any]] = {}
    read_about: Any = reading.load_gguf_checkpoint

    def reader(path: Any, mode: str = "r") -> Any:
        key = str(Path(path).resolve())
        if mode != "r":
            return original(path, mode)
        if key not in readers:
            readers[key] = whole = Reader(path)
            for part in parts_of(Path(path))[1:]:
                others.append(Reader(part))  # kept: its tensors lie in its pages
                whole.tensors.extend(others[-1].tensors)
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
