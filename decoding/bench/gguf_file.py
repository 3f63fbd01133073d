"""The weights of a model in memory as a GGUF file, so that llama.cpp can be measured on them (`smollm2`, its adapter merged).

Matrices of 8 bits become Q8_0: the same whole numbers, and scales in float16 where ours are float32.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from data.errors import UserError
from decoding.lowbit.matrix import LowBitMatrix

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from decoding.models.loading import LoadedModel


@contextmanager
def as_gguf(loaded: LoadedModel, template: Path) -> Iterator[Path]:
    """A file that is there within the block. `template` is a GGUF of the same shape and tokenizer, whose metadata it takes.

    Raises UserError for a model that is not in 8 bits.
    """
    weights = _weights(loaded)
    with TemporaryDirectory(prefix="wikigenben-") as folder:
        file = Path(folder) / f"{loaded.name}-q8_0.gguf"
        _write(weights, loaded.model.config, template, file)
        yield file


def _weights(loaded: LoadedModel) -> dict[str, NDArray[np.float32]]:
    """By their names in transformers."""
    model: Any = loaded.model
    found = {name: parameter.detach().float().numpy() for name, parameter in model.named_parameters()}
    for name, module in model.named_modules():
        matrix = getattr(module, "matrix", None)
        if isinstance(matrix, LowBitMatrix) and matrix.bits == 8:
            found[f"{name}.weight"] = matrix.values()
    if not loaded.is_low_bit or any(values.ndim == 2 and not _is_held(model, name) for name, values in found.items()):
        raise UserError(f"llama.cpp is measured on {loaded.name} in 8 bits; drop --dtype, or name the model smollm2-base")
    return found


def _is_held(model: Any, name: str) -> bool:
    return isinstance(getattr(model.get_submodule(name.removesuffix(".weight")), "matrix", None), LowBitMatrix)


def _write(weights: dict[str, NDArray[np.float32]], config: Any, template: Path, file: Path) -> None:
    from gguf import MODEL_ARCH, GGMLQuantizationType, GGUFReader, GGUFValueType, GGUFWriter, get_tensor_name_map
    from gguf.quants import quantize

    names = get_tensor_name_map(MODEL_ARCH.LLAMA, config.num_hidden_layers)
    by_name = {names.get_name(name, (".weight", ".bias")): values for name, values in weights.items()}
    reader, writer = GGUFReader(template), GGUFWriter(file, "llama")
    for field in reader.fields.values():
        if field.name != "general.architecture" and not field.name.startswith("GGUF."):
            kind, inner = field.types[0], field.types[-1]
            is_array = kind == GGUFValueType.ARRAY
            writer.add_key_value(field.name, field.contents(), kind, sub_type=inner if is_array else None)
    for tensor in reader.tensors:
        values = by_name[tensor.name]
        for part, heads in ((".attn_q.", config.num_attention_heads), (".attn_k.", config.num_key_value_heads)):
            if part in tensor.name:  # llama.cpp turns neighbouring pairs of a head, transformers its two halves
                halves = values.reshape(heads, 2, -1, values.shape[-1])
                values = halves.swapaxes(1, 2).reshape(values.shape)
        if values.ndim == 2:
            eight = GGMLQuantizationType.Q8_0
            writer.add_tensor(tensor.name, quantize(values, eight), raw_dtype=eight)
        else:
            writer.add_tensor(tensor.name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
