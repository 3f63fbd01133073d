"""GGUF files (llama.cpp's format: weights, tokenizer and chat template in one file) -> a model as of `decoding.models.loading`.

On a CPU the matrices stay in the file's own 4 to 8 bits (`decoding.lowbit`). For another device or precision transformers
unpacks them. Either is kept in the cache folder as a model folder, by the hash of the file, so that it is made once.

    gguf/<hash>-<form>-<CONVERSION>/      config.json, *.safetensors, tokenizer.json, ..., made whole or not at all

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from __future__ import annotations

import errno
import gc
import logging
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from data import codec
from data.download import cache_folder
from data.errors import UserError
from data.types import Strict
from decoding.models.file_hashes import model_sha256, state_of
from decoding.models.gguf_reading import parts_of, read_once
from decoding.models.loading import (
    LOW_BITS,
    LoadedModel,
    check_dtype,
    first_line,
    load,
    load_stored,
    lowered,
    quiet_loading,
)

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

logger = logging.getLogger(__name__)

CONVERSION = "3"
"""Raise when the same file comes to give other weights, another tokenizer or other end tokens: it is then converted anew."""

MAGIC = b"GGUF"
_BESIDES = 600 << 20
"""Bytes that a process takes besides the weights: its libraries, tables, and keys and values of a short text."""
AS_STORED = "stored"
"""The form of a folder whose matrices have the file's own bits; others are named by their dtype."""
_DONE = "conversion.json"
_PART_NUMBER = "split.count"
_END_TOKENS = ("eos", "eot", "eom")
"""Tokens that end a text, a turn, a message: `tokenizer.ggml.eos_token_id` and so on."""
_SINGLE_DIGITS = frozenset(("smollm",))
"""Values of `tokenizer.ggml.pre` whose texts are cut at every digit before GPT-2's rule, which transformers leaves out."""

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Header(Strict):
    """What decides, before the weights are read, whether a file can be used, and what transformers leaves behind."""

    architecture: str
    chat_template: str
    pretokenizer: str
    end_ids: tuple[int, ...]
    n_parts: int
    n_weights: int


@dataclass(frozen=True, slots=True)
class Conversion(Strict):
    """What a finished folder holds: the hash of the GGUF file, its own files with their sizes in bytes, and a hash of samples
    of the weights (`storage.sample_of`) where they are mapped."""

    gguf_sha256: str
    sizes: dict[str, int]
    sample: str = ""
    unpacked: dict[str, str] = field(default_factory=dict)
    """Matrices whose blocks are not known here and that are kept as float32: their names in the file, and its types."""


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without the garbage collector: imports and a vocabulary make a million objects that stay, which it would go through again
    and again (0.8 of 5.5 s)."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


@_uncollected()
def load_gguf(path: Path | str, *, device: str = "auto", dtype: str = "auto", tell: Tell | None = None) -> LoadedModel:
    """Load a GGUF file of any architecture that transformers can read, with a chat template.

    Args:
        device: as `decoding.models.loading.load`.
        dtype: one of `DTYPES`. `auto` keeps the file's own bits on a CPU, where it holds them in known blocks
            (`decoding.lowbit.gguf_blocks`), and is float32 elsewhere: 4 bytes a parameter, and as much in the cache folder; ask
            for `bfloat16` where that is too much.
        tell: is called when the file has to be converted first, and why its bits cannot be kept.

    Raises:
        UserError: no such file, not a GGUF, cut short, with its numbers the other way round, of an unknown architecture, a part
            of several that are not all there, without a chat template or a tokenizer; no room in the cache folder; or more
            than the free memory.
    """
    place = check_dtype(dtype, device)  # refuses a wrong one before a minute of converting
    file = parts_of(Path(path).expanduser())[0]
    for part in parts_of(file):
        check_magic(part)
    why = ""
    if dtype == "auto" and place.type == "cpu":
        try:
            with room_for(file, sum(part.stat().st_size for part in parts_of(file)), "in its own bits"):
                folder = converted(file, AS_STORED, tell)
                stored = load_stored(folder, dtype=AS_STORED, made_from=model_sha256(file))
            loaded = replace(stored, name=f"gguf:{path}")
            _tell_unpacked(file, codec.read(Conversion, folder / _DONE).unpacked, tell or logger.info)
            return loaded
        except NotStored as error:
            why = str(error)
            (tell or logger.info)(f"{file.name} is read as float32, which is slower: {error}")
    actual = "float32" if dtype == "auto" or dtype in LOW_BITS else dtype
    try:
        folder = converted(file, actual, tell)
    except UserError as error:
        if not why:
            raise
        raise UserError(f"{error} (its own bits cannot be kept: {why})") from error
    if place.type == "cpu":
        check_memory(file, sum(one.stat().st_size for one in folder.glob("*.safetensors")), f"as {actual}")
    if dtype in LOW_BITS:
        loaded = lowered(load(str(folder), device="cpu", dtype="float32"), dtype)
    else:
        loaded = load(str(folder), device=device, dtype=actual)
    return replace(loaded, name=f"gguf:{path}")


def check_memory(file: Path, n_bytes: int, how: str) -> None:
    """Raises UserError, with the next smaller choice, where weights of so many bytes and what a text needs besides do not fit
    into the free memory. Where the system does not say what is free, nothing is refused."""
    from decoding.machine import available_bytes

    free, needed = available_bytes(), n_bytes + _BESIDES
    if free is not None and needed > free:
        raise UserError(_too_little(file, n_bytes, how, free))


@contextmanager
def room_for(file: Path, n_bytes: int, how: str) -> Iterator[None]:
    """Around loading: `check_memory` before, and its words where memory ends all the same. What tables and threads map besides
    cannot be foretold under `ulimit -v`."""
    from decoding.machine import available_bytes

    check_memory(file, n_bytes, how)
    try:
        yield
    except (MemoryError, RuntimeError, OSError) as error:
        told = str(error).lower()
        ended = isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM
        if not (ended or "allocate memory" in told or "out of memory" in told):
            raise
        free = available_bytes()
        raise UserError(_too_little(file, n_bytes, how, n_bytes if free is None else free)) from error


def _too_little(file: Path, n_bytes: int, how: str, free: int) -> str:
    from decoding.models.registry import KNOWN

    needed = n_bytes + _BESIDES
    smaller = [one for one in KNOWN.values() if one.size + _BESIDES <= free and one.size < n_bytes]
    best = max(smaller, key=lambda one: one.size, default=None)
    choice = "take " if best is None else f"take a smaller model: --model {best.name} ({best.size / 1e9:.1f} GB), or "
    return (
        f"{file.name} {how} needs about {needed / 1e9:.1f} GB of memory, and {free / 1e9:.1f} GB are free; "
        f"{choice}a file of fewer bits, or end other programs"
    )


def _tell_unpacked(file: Path, unpacked: dict[str, str], tell: Tell) -> None:
    if unpacked:
        name, kind = next(iter(unpacked.items()))
        more = f", as are {len(unpacked) - 1} more" if len(unpacked) > 1 else ""
        tell(f"{file.name}: {name} is stored as {kind}, whose blocks are not known here, and is unpacked to float32{more}")


class NotStored(Exception):
    """The file's matrices cannot be kept in its own bits; the message says why."""


def converted(file: Path, form: str, tell: Tell | None = None) -> Path:
    """The model folder of a GGUF file in the cache, made if it is not there. Other processes wait for the one that makes it.

    `form` is a dtype, or AS_STORED. Raises NotStored, and UserError as `load_gguf`.
    """
    from filelock import FileLock

    before = [state_of(part) for part in parts_of(file)]
    sha256 = model_sha256(file)
    folder = cache_folder() / "gguf" / f"{sha256[:32]}-{form}-{CONVERSION}"
    if _is_whole(folder):
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(folder.with_name(f"{folder.name}.lock")):
            if not _is_whole(folder):  # another process may have made it meanwhile
                with read_once():
                    _convert(file, sha256, folder, form, tell or logger.info, before)
    except OSError as error:
        raise UserError(
            f"cannot write the converted weights of {file} to {folder.parent}: {error.strerror or error}; make room there, or "
            "set WIKIGEN_CACHE to a folder that has it"
        ) from error
    return folder


# --- contents of the file ----------------------------------------------------------------------------------------------


def check_magic(file: Path) -> None:
    """Raises UserError for what can be seen from the first bytes."""
    if file.is_dir():
        raise UserError(f"{file} is a folder; name the .gguf file in it, or a folder of safetensors with --model hf:{file}")
    try:
        with file.open("rb") as stream:
            begin, version = stream.read(len(MAGIC)), stream.read(4)
    except FileNotFoundError:
        n = len(parts_of(file))
        all_ = f"; all {n} parts of the model belong into one folder" if n > 1 else "; check the path after gguf:"
        raise UserError(f"there is no file {file}{all_}") from None
    except OSError as error:
        raise UserError(f"cannot read {file}: {error.strerror}; check the path after gguf:") from None
    if begin != MAGIC:
        what = f"it begins with {begin!r}" if begin else "it is empty"
        raise UserError(f"{file} is not a GGUF file ({what}, not {MAGIC!r}); name a .gguf file, or a model folder as hf:FOLDER")
    if len(version) == 4 and version[:2] == b"\0\0" and version != b"\0\0\0\0":  # versions are small numbers
        raise UserError(
            f"{file} has its numbers big end first, for other processors; choose another conversion of the model, or turn "
            f"them: gguf-convert-endian {file} little"
        )


def read_header(file: Path) -> Header:
    """The fields of `Header`, and that all tensors are there. Raises UserError for a damaged file."""
    from gguf import GGUFReader

    try:
        reader = GGUFReader(file)
        fields = {name: reader.fields[name] for name in reader.fields}
    except Exception as error:  # the reader trusts the file: a broken one ends in any error of numpy or Python
        raise UserError(
            f"{file} is cut short or damaged, so that its tensors cannot all be found ({first_line(error)}); download it again"
        ) from error

    def field(name: str, kind: type, default: Any) -> Any:
        if name not in fields:
            return default
        value = fields[name].contents()
        if not isinstance(value, kind):
            raise UserError(f"{file}: its field {name} is {value!r}, not of type {kind.__name__}; convert the model again")
        return value

    ends = (field(f"tokenizer.ggml.{name}_token_id", int, -1) for name in _END_TOKENS)
    return Header(
        architecture=field("general.architecture", str, ""),
        chat_template=field("tokenizer.chat_template", str, ""),
        pretokenizer=field("tokenizer.ggml.pre", str, ""),
        end_ids=tuple(dict.fromkeys(end for end in ends if end >= 0)),
        n_parts=field(_PART_NUMBER, int, 1) or 1,
        n_weights=sum(int(tensor.n_elements) for tensor in reader.tensors),
    )


def check_header(header: Header, file: Path) -> None:
    """Raises UserError for a file that is sound and cannot be used."""
    from transformers.modeling_gguf_pytorch_utils import GGUF_SUPPORTED_ARCHITECTURES

    if header.n_parts != len(parts_of(file)):
        raise UserError(
            f"{file} is one of {header.n_parts} parts of a model; give them their names back, which end in "
            f"-00001-of-{header.n_parts:05}.gguf and so on, or join them: llama-gguf-split --merge"
        )
    if header.architecture not in GGUF_SUPPORTED_ARCHITECTURES:
        raise UserError(
            f"{file} holds a model of the architecture {header.architecture!r}, which transformers cannot read from a GGUF; it "
            f"reads {', '.join(sorted(GGUF_SUPPORTED_ARCHITECTURES))}; choose one of these, or the model's safetensors with "
            "--model hf:FOLDER_OR_ID"
        )
    if not header.chat_template.strip():
        raise UserError(
            f"{file} has no chat template (tokenizer.chat_template), so that nobody knows in which form the model was "
            f"taught to "
            "take instructions; choose a file of the instruction-tuned model, or add the template of its maker: "
            f"gguf-new-metadata --chat-template TEMPLATE {file} NEW.gguf"
        )
    if not header.end_ids:
        raise UserError(
            f"{file} does not say which token ends a text (tokenizer.ggml.eos_token_id); choose another conversion of the model"
        )


# --- conversion -------------------------------------------------------------------------------------------------------


def _is_whole(folder: Path) -> bool:
    """Whether all files that were made are there, in their sizes, and samples of mapped weights are what was written."""
    if not (folder / _DONE).is_file():
        return False
    from decoding.lowbit.storage import FILE, sample_of

    try:
        known = codec.read(Conversion, folder / _DONE)
        if any((folder / name).stat().st_size != size for name, size in known.sizes.items()):
            return False
        return not known.sample or sample_of(folder / FILE) == known.sample
    except (UserError, OSError):
        return False


def _convert(file: Path, sha256: str, folder: Path, form: str, tell: Tell, before: Sequence[tuple[int, int, int]]) -> None:
    """Make `folder` of a file whose parts were as `before` when its hash was read.

    The caller holds the folder's lock, so that what lies beside it half made is of a process that died."""
    from decoding.lowbit.storage import FILE, sample_of

    header = read_header(file)
    check_header(header, file)
    done = "sorted" if form == AS_STORED else "unpacked"
    tell(f"reading {file.name} for the first time: its weights are {done} once and kept in {folder.parent}")
    for dead in folder.parent.glob(f".{folder.name}.*"):
        shutil.rmtree(dead, ignore_errors=True)
    work = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        with quiet_loading(), _no_bar():
            _save_tokenizer(file, header, work)
            unpacked: dict[str, str] = {}
            if form == AS_STORED:
                unpacked = _save_stored(file, header, work)
            else:
                check_memory(file, header.n_weights * (4 if form == "float32" else 2), f"as {form}")
                _save_model(file, header, work, form)
        if [state_of(part) for part in parts_of(file)] != before:
            raise UserError(f"{file} was changed while it was read; wait until whoever writes it is done, and run it again")
        sizes = {path.name: path.stat().st_size for path in sorted(work.iterdir())}
        sample = sample_of(work / FILE) if form == AS_STORED else ""
        codec.write_atomic(work / _DONE, codec.to_json(Conversion(sha256, sizes, sample, unpacked), indent=1) + "\n")
        for path in work.iterdir():
            path.chmod(0o444)  # processes map the weights: whoever would change them must make another file
        work.chmod(0o755)  # mkdtemp makes 0700
        if folder.exists():
            shutil.rmtree(folder)
        work.rename(folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _save_tokenizer(file: Path, header: Header, folder: Path) -> None:
    from transformers import AutoTokenizer

    try:
        tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(
            file.parent, gguf_file=file.name, local_files_only=True, trust_remote_code=False
        )
    except Exception as error:  # of Rust, of the reader and of transformers: what a strange vocabulary ends in
        raise UserError(
            f"{file}: transformers cannot read its tokenizer ({first_line(error)}); use the model's safetensors with --model "
            "hf:FOLDER_OR_ID"
        ) from error
    if header.pretokenizer in _SINGLE_DIGITS:
        _cut_at_digits(tokenizer)
    tokenizer.chat_template = header.chat_template
    try:
        tokenizer.apply_chat_template([{"role": "user", "content": "a"}], tokenize=False, add_generation_prompt=True)
    except Exception as error:  # a template is a program of the file's maker, and may end in any error
        raise UserError(
            f"{file}: its chat template cannot be used ({first_line(error)}); put in a good one: gguf-new-metadata "
            f"--chat-template TEMPLATE {file} NEW.gguf"
        ) from error
    tokenizer.save_pretrained(folder)


def _cut_at_digits(tokenizer: Any) -> None:
    from tokenizers.pre_tokenizers import Digits, Sequence

    backend = tokenizer.backend_tokenizer
    backend.pre_tokenizer = Sequence([Digits(individual_digits=True), backend.pre_tokenizer])


def _save_model(file: Path, header: Header, folder: Path, dtype: str) -> None:
    from transformers import AutoModelForCausalLM

    try:
        loaded: Any = AutoModelForCausalLM.from_pretrained(
            file.parent,
            gguf_file=file.name,
            dtype=dtype,
            local_files_only=True,
            trust_remote_code=False,
            output_loading_info=True,
            **_unpacked(),
        )
    except MemoryError as error:
        raise UserError(f"{file} does not fit into memory as {dtype}; use dtype bfloat16, or a smaller model") from error
    except (OSError, ValueError, RuntimeError, KeyError, IndexError, NotImplementedError) as error:
        raise UserError(
            f"{file}: transformers cannot read its weights ({first_line(error)}); use the model's safetensors with --model "
            "hf:FOLDER_OR_ID"
        ) from error
    model: PreTrainedModel = loaded[0]
    if missing := sorted(loaded[1]["missing_keys"]):
        raise UserError(
            f"{file}: {len(missing)} weights are missing, {missing[0]} among them, and would be random; download it again, or "
            "choose another conversion of the model"
        )
    _forget_quantization(model)
    assert model.generation_config is not None  # it is made with the model
    model.generation_config.eos_token_id = list(header.end_ids)
    model.save_pretrained(folder)


def _save_stored(file: Path, header: Header, folder: Path) -> dict[str, str]:
    """Returns the matrices that had to be unpacked, with their types."""
    from transformers import AutoConfig, GenerationConfig

    from decoding.lowbit.gguf_blocks import NotInBlocks, read_matrices
    from decoding.lowbit.storage import empty_model, filled, read_weights, write_weights

    with _else_not_stored():
        config = AutoConfig.from_pretrained(file.parent, gguf_file=file.name, local_files_only=True, trust_remote_code=False)
        matrices, others, unpacked = read_matrices(file, empty_model(config))
    if not matrices:
        raise NotStored("none of its matrices is in low-bit blocks of a known type")
    try:
        write_weights(folder, matrices, others)
    except NotInBlocks as error:
        raise NotStored(str(error)) from error
    with _else_not_stored():
        filled(empty_model(config), *read_weights(folder))
    config.save_pretrained(folder)
    GenerationConfig(eos_token_id=list(header.end_ids)).save_pretrained(folder)
    return unpacked


@contextmanager
def _else_not_stored() -> Iterator[None]:
    """Any error of reading the file becomes NotStored: transformers may still read it in its own way."""
    from decoding.lowbit.gguf_blocks import NotInBlocks

    try:
        yield
    except (NotInBlocks, UserError) as error:
        raise NotStored(str(error)) from error
    except (OSError, ValueError, RuntimeError, KeyError, IndexError, TypeError, AttributeError, NotImplementedError) as error:
        raise NotStored(first_line(error)) from error  # what a strange file ends in; transformers says what is wrong if it can


@contextmanager
def _no_bar() -> Iterator[None]:
    """transformers draws one bar by tqdm itself, which its own switch, and so `quiet_loading`, does not reach."""
    from transformers import modeling_gguf_pytorch_utils as reading

    shown = getattr(reading, "tqdm", None)
    if shown is None:
        yield
        return
    vars(reading)["tqdm"] = lambda items, **_: items
    try:
        yield
    finally:
        vars(reading)["tqdm"] = shown


def _unpacked() -> dict[str, Any]:
    """Newer transformers would keep the weights in their blocks on machines that have kernels for them."""
    try:
        from transformers import GgufConfig
    except ImportError:
        return {}
    return {"quantization_config": GgufConfig(dequantize=True)}


def _forget_quantization(model: Any) -> None:
    """The weights are plain numbers now; with the trace of what they were, transformers saves and loads them no more."""
    for owner, name in ((model, "hf_quantizer"), (model, "quantization_method"), (model.config, "quantization_config")):
        if name in vars(owner):
            delattr(owner, name)
    model.is_quantized = False
