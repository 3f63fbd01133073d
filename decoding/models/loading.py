"""Models on disk -> a model, a tokenizer and a fingerprint; and the strings that models read as control tokens.

Weights come as safetensors only (a pickle runs code when opened) and models use the code of `transformers` only. A hub id
is first copied to the hub's cache, so that everything after the download sees a plain folder.

Works with transformers 5.17 to 5.23; `torch` and `transformers` are loaded on use.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from data.errors import UserError
from decoding.models.fingerprints import memory_fingerprint, weights_digest

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

    from decoding.backend import StepBackend
    from decoding.lowbit.matrix import Bits
LOW_BITS: dict[str, Bits] = {"int8": 8, "int4": 4}
"""Names of dtypes whose matrices `load` quantises (`decoding.lowbit`)."""
DTYPES = ("auto", "float32", "bfloat16", "float16", *LOW_BITS)
_CONFIG_FILES = ("config.json", "generation_config.json")
_TOKENIZER_FILES = (
    "tokenizer.json", "tokenizer.model", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
    "vocab.json", "merges.txt", "vocab.txt", "spiece.model", "sentencepiece.bpe.model", "tekken.json",
    "chat_template.jinja", "chat_template.json",
)  # fmt: skip
_VOCABULARIES = frozenset(
    ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "spiece.model", "sentencepiece.bpe.model", "tekken.json")
)
HUB_FILES = ("*.safetensors", "*.safetensors.index.json", *_CONFIG_FILES, *_TOKENIZER_FILES)
HUB_DUPLICATES = ("*/*", "consolidated*", "adapter_*")  # the same weights for other runtimes, or parts of others
_PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt")
_TRAINED_CONTEXT = {"bloom": 2048}
"""Of models whose positions are biases of the attention: they end nowhere, and their configuration names no length."""


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A causal language model, ready to run.

    `lock` is held by whoever runs the model, `tokenizer_lock` (for microseconds) by whoever calls the tokenizer: both
    objects keep state between calls and are shared by all generators made from this value.
    """

    name: str
    """How it was asked for: `hf:<folder or id>`, `gguf:<file>`, `qwen-1.5b`."""
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    fingerprint: str
    """sha256 of configuration, weights, tokenizer and dtype; two folders with equal contents share it."""
    context_tokens: int
    eos_ids: frozenset[int]
    """Tokens that end a text: those of the generation configuration and the tokenizer's own."""
    device: str
    dtype: str
    is_low_bit: bool = False
    """Whether its matrices are those of `decoding.lowbit`."""
    weights_sha256: str = ""
    """Of the one file that it was made from, where that is known."""
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)
    tokenizer_lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)
    backends: dict[str, StepBackend] = field(default_factory=dict, repr=False, compare=False)
    """Those built so far, by kind (`decoding.engine.backend_of`): a model needs one KV cache, whoever decodes it."""


def load(path_or_id: str, *, device: str = "auto", dtype: str = "auto") -> LoadedModel:
    """Load a model folder, or a model of the Hugging Face hub.

    Args:
        path_or_id: a folder with config.json, *.safetensors and a tokenizer, or an id such as `Qwen/Qwen3-0.6B`.
        device: `auto` (the first CUDA device if there is one, else the CPU), `cpu`, `cuda`, `cuda:1`, `mps`.
        dtype: one of `DTYPES`. `auto` is the checkpoint's own precision on an accelerator and float32 on the CPU, where
            bfloat16 decodes slower through torch; ask for `bfloat16` when the memory is too small. `int8` and `int4` round
            its matrices (on the CPU), which is several times faster; the rounded model is then the model.

    The model's own sampling defaults (temperature, repetition penalty, ...) are set aside: `SamplingParams` says all.

    Raises:
        UserError: nothing usable at `path_or_id`, or a device or dtype that cannot be had here.
    """
    chosen_device = check_dtype(dtype, device)
    if dtype in LOW_BITS:
        return lowered(load(path_or_id, device="cpu", dtype="float32"), dtype)
    folder = local_folder(path_or_id, wanted=HUB_FILES, unwanted=HUB_DUPLICATES)
    check_files(folder, path_or_id)

    with quiet_loading():
        config = _config(folder, path_or_id)
        context_tokens = _context_tokens(config, path_or_id)
        tokenizer = read_tokenizer(folder, path_or_id)
        model = _model(folder, path_or_id, dtype="float32" if dtype == "auto" and chosen_device.type == "cpu" else dtype)
    _check_vocabulary(path_or_id, model, tokenizer)
    eos_ids = _ids(model.generation_config.eos_token_id) | _ids(tokenizer.eos_token_id)
    _forget_sampling_defaults(model)
    actual_dtype = str(model.dtype).removeprefix("torch.")
    return LoadedModel(
        name=f"hf:{path_or_id}",
        model=moved(model, chosen_device, path_or_id),
        tokenizer=tokenizer,
        fingerprint=fingerprint_of(folder, actual_dtype),
        context_tokens=context_tokens,
        eos_ids=eos_ids,
        device=str(chosen_device),
        dtype=actual_dtype,
    )


def load_stored(folder: Path, *, dtype: str, made_from: str) -> LoadedModel:
    """A folder of `decoding.lowbit.storage`, on the CPU; `dtype` is only a name for what it holds, and `made_from` the hash of
    the file that all of it was made from: the weights themselves need not be read for a fingerprint.

    Raises UserError for a damaged folder.
    """
    from transformers import GenerationConfig

    from decoding.lowbit.skeleton import skeleton
    from decoding.lowbit.storage import empty_model, filled, read_weights

    asked = str(folder)

    def whole() -> PreTrainedModel:
        with quiet_loading():
            made = filled(empty_model(config), *weights)
        _forget_sampling_defaults(made)
        return made

    with quiet_loading():
        config = _config(folder, asked)
        tokenizer = read_tokenizer(folder, asked)
        weights = read_weights(folder)
        model = cast("PreTrainedModel", skeleton(config, *weights, whole) or whole())
        ends = GenerationConfig.from_pretrained(folder, local_files_only=True).eos_token_id
    _check_vocabulary(asked, model, tokenizer)
    _forget_sampling_defaults(model)
    return LoadedModel(
        name=f"hf:{asked}",
        model=model,
        tokenizer=tokenizer,
        fingerprint=_digest_of(folder, (), f"{dtype} {made_from}"),
        weights_sha256=made_from,
        context_tokens=_context_tokens(config, asked),
        eos_ids=_ids(ends) | _ids(tokenizer.eos_token_id),
        device="cpu",
        dtype=dtype,
        is_low_bit=True,
    )


def _check_vocabulary(asked: str, model: Any, tokenizer: PreTrainedTokenizerBase) -> None:
    rows, largest = vocabulary_size(model), max(tokenizer.get_vocab().values())
    if largest >= rows:
        raise UserError(
            f"{asked}: the tokenizer has ids up to {largest} but the model knows {rows} tokens, so they do not belong "
            "together; save both again from one model"
        )


def lowered(loaded: LoadedModel, dtype: str) -> LoadedModel:
    """A model whose matrices are rounded to a dtype of `LOW_BITS`, in place: `loaded` must not be used any more."""
    from decoding.lowbit.modules import replace_matrices, to_bits

    try:
        replace_matrices(loaded.model, to_bits(LOW_BITS[dtype], loaded.model))
    except ValueError as error:
        raise UserError(f"{loaded.name} cannot be rounded to {dtype}: {error}; use dtype float32") from error
    fingerprint = hashlib.sha256(f"{loaded.fingerprint} {dtype}".encode()).hexdigest()
    return dataclasses.replace(loaded, dtype=dtype, fingerprint=fingerprint, is_low_bit=True, backends={})


def in_memory(model: Any, tokenizer: Any) -> LoadedModel:
    """A `transformers` model that the caller has loaded, with its tokenizer. Nothing of it is changed or copied.

    The fingerprint covers the configuration and 64 KiB of each weight tensor: it separates models, yet differs from that of
    a folder with the same weights. `tokenizer` may be None for whoever works with token ids only.

    Raises:
        UserError: an encoder-decoder, a model of unknown context, or one in training mode (dropout would bend the text).
    """
    name = str(getattr(model, "name_or_path", "") or type(model).__name__)
    if getattr(model.config, "is_encoder_decoder", False):
        raise UserError(f"{name} is an encoder-decoder model; choose a causal language model (decoder only)")
    if model.training:
        raise UserError(f"{name} is in training mode, where dropout changes its text; call model.eval() first")
    tokenizer_ids = frozenset() if tokenizer is None else _ids(tokenizer.eos_token_id)
    return LoadedModel(
        name=f"hf:{name}",
        model=model,
        tokenizer=tokenizer,
        fingerprint=memory_fingerprint(model),
        context_tokens=_context_tokens(model.config, name),
        eos_ids=_ids(model.generation_config.eos_token_id) | tokenizer_ids,
        device=str(model.device),
        dtype=str(model.dtype).removeprefix("torch."),
    )


def vocabulary_size(model: Any) -> int:
    """Token ids that the model can read."""
    return int(model.get_input_embeddings().weight.shape[0])


@contextmanager
def quiet_loading() -> Iterator[None]:
    """Without transformers' progress bars: a library does not draw on the caller's terminal."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def check_dtype(dtype: str, device: str) -> torch.device:
    """The device. Raises UserError for an unknown dtype or device, or two that do not go together."""
    if dtype not in DTYPES:
        raise UserError(f"unknown dtype {dtype!r}; choose one of {', '.join(DTYPES)}")
    if dtype in LOW_BITS and device != "cpu" and resolve_device(device).type != "cpu":
        if device != "auto":
            raise UserError(f"dtype {dtype} runs on the CPU, not on {device!r}; use bfloat16 there, or device cpu")
        return resolve_device("cpu")
    return resolve_device(device)


def resolve_device(name: str) -> torch.device:
    """The device of a name; raises UserError when it cannot be had here."""
    import torch

    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise UserError(f"unknown device {name!r}; use auto, cpu, cuda, cuda:1 or mps") from None
    if device.type == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if (device.index or 0) >= count:
            have = f"there are {count} CUDA devices" if count else "no CUDA device is available to this torch"
            raise UserError(f"device {name!r} was asked for but {have} (torch {torch.__version__}); use cpu, or auto")
    elif device.type == "mps":
        if not torch.backends.mps.is_available():
            raise UserError(f"device {name!r} was asked for but this torch cannot use it; use cpu, or auto")
    elif device.type != "cpu":
        raise UserError(f"unknown device {name!r}; use auto, cpu, cuda, cuda:1 or mps")
    return device


def local_folder(path_or_id: str, *, wanted: Sequence[str], unwanted: Sequence[str]) -> Path:
    """The folder itself, or the hub's cached copy of a model, downloaded if need be.

    Args:
        wanted, unwanted: patterns of the files to download, `*` crossing folders.

    Raises:
        UserError: no such folder, and no model of that name can be had.
    """
    path = Path(path_or_id).expanduser()
    if path.is_dir():
        return path
    if path.exists():
        raise UserError(f"{path_or_id} is a file; name the folder that holds config.json and *.safetensors")
    if not re.fullmatch(r"[\w-][\w.-]*(/[\w-][\w.-]*)?", path_or_id):
        raise UserError(f"no model folder at {path_or_id}; check the path")
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(path_or_id, allow_patterns=list(wanted), ignore_patterns=list(unwanted)))
    except Exception as error:  # the hub client raises errors of three libraries; the cause stays attached
        raise UserError(
            f"no folder {path_or_id!r} here, and the hub gave no model of that name ({first_line(error)}); check the name, or "
            f"download it where there is a network (hf download {path_or_id} --local-dir DIR) and pass DIR"
        ) from error


def check_files(folder: Path, asked: str) -> None:
    if not (folder / "config.json").is_file():
        raise UserError(f"{asked} has no config.json, so it is not a model folder; name the folder that holds config.json")
    weights = _weight_files(folder, asked)
    if not weights:
        if any(next(folder.glob(pattern), None) for pattern in _PICKLES):
            raise UserError(
                f"{asked} has its weights as a pickle only (*.bin, *.pt), which can run code when opened; use a copy with "
                "*.safetensors, or convert it where you trust it: "
                "AutoModelForCausalLM.from_pretrained(FOLDER).save_pretrained(NEW_FOLDER)"
            )
        if (folder / "adapter_model.safetensors").is_file():
            raise UserError(f"{asked} holds only an adapter; merge it into its base model and pass the merged folder")
        raise UserError(f"{asked} has no weights (model.safetensors); copy them into the folder or name another one")
    if missing := [path.name for path in weights if not path.is_file()]:
        raise UserError(f"{asked} lacks {', '.join(missing[:3])} of its {len(weights)} weight files; download it again")
    if not any((folder / name).is_file() for name in _VOCABULARIES):
        raise UserError(f"{asked} has no tokenizer (tokenizer.json); copy the tokenizer files of the model into the folder")


def _weight_files(folder: Path, asked: str) -> list[Path]:
    """The files that transformers would read, in its order of preference; those an index names may be absent."""
    if (single := folder / "model.safetensors").is_file():
        return [single]
    index = folder / "model.safetensors.index.json"
    if not index.is_file():
        return []
    try:
        names = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
    except (ValueError, KeyError, AttributeError) as error:
        raise UserError(f"{index} is not a weight index ({error}); download {asked} again") from None
    return [folder / name for name in sorted(names)]


def read_config(folder: Path, asked: str) -> PreTrainedConfig:
    """Of any model that transformers implements. Raises UserError, naming the `asked` one."""
    from transformers import AutoConfig

    try:
        config: PreTrainedConfig = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError, KeyError) as error:
        raise UserError(
            f"{asked}: transformers cannot read its configuration ({first_line(error)}); models that bring their own code "
            "are not supported: choose one that transformers implements"
        ) from error
    return config


def _config(folder: Path, asked: str) -> PreTrainedConfig:
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    config = read_config(folder, asked)
    architectures = list(config.architectures or [])
    shown = ", ".join(architectures) or config.model_type
    if getattr(config, "is_encoder_decoder", False):
        raise UserError(f"{asked} is an encoder-decoder model ({shown}); choose a causal language model (decoder only)")
    causal = MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.get(config.model_type)
    # some entries name several classes; a headless or classifying checkpoint would get a random output layer
    known = {causal} if isinstance(causal, str) else set(causal or ())
    if not known or (architectures and not any(a in known or a.endswith("ForCausalLM") for a in architectures)):
        raise UserError(f"{asked} is not a causal language model ({shown}); choose one whose architecture ends in ForCausalLM")
    return config


def _context_tokens(config: PreTrainedConfig, asked: str) -> int:
    text_config = config.get_text_config(decoder=True)
    for name in ("max_position_embeddings", "n_positions", "max_sequence_length", "seq_length", "max_seq_len", "n_ctx"):
        value = getattr(text_config, name, None)
        if isinstance(value, int) and value > 0:
            return value
    if text_config.model_type in _TRAINED_CONTEXT:
        return _TRAINED_CONTEXT[text_config.model_type]
    if keeps_state(_causal_class(config)):
        raise UserError(f"{asked}: {STATEFUL}")
    raise UserError(f"{asked}: config.json does not say how long a text may be; add max_position_embeddings (in tokens) to it")


STATEFUL = (
    "it keeps a recurrent state, which cannot be taken back when a draft is refused; choose a model whose only state is "
    "attention keys and values (Llama, Qwen, Mistral, Gemma, Phi, OLMo ...), or serve it and name the server"
)
"""Why a model is not decoded here."""


def keeps_state(model: object) -> bool:
    """Whether a model, or its class, may have a state that is not keys and values (Mamba, RWKV, hybrids)."""
    return bool(getattr(model, "_is_stateful", False))


def _causal_class(config: PreTrainedConfig) -> Any:
    from transformers import MODEL_FOR_CAUSAL_LM_MAPPING

    found = MODEL_FOR_CAUSAL_LM_MAPPING.get(type(config), None)
    return found[0] if isinstance(found, tuple) else found


def read_tokenizer(folder: Path, asked: str) -> PreTrainedTokenizerBase:
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # the Rust tokenizers raise bare Exception for a broken file
        raise UserError(f"{asked}: its tokenizer cannot be loaded ({first_line(error)}); copy its files again") from error


def _model(folder: Path, asked: str, *, dtype: str) -> PreTrainedModel:
    from transformers import AutoModelForCausalLM

    advice = "download it again or choose a checkpoint with a language-model head"
    return with_weights(AutoModelForCausalLM, folder, asked, dtype=dtype, advice=advice)


def with_weights(family: Any, folder: Path, asked: str, *, dtype: Any, advice: str) -> PreTrainedModel:
    """A model of one of transformers' Auto classes, to be read from alone.

    Raises UserError, with `advice`, for weights that are damaged, or missing and therefore random.
    """
    from safetensors import SafetensorError

    try:
        model, found = family.from_pretrained(
            folder,
            dtype=dtype,
            use_safetensors=True,
            local_files_only=True,
            trust_remote_code=False,
            output_loading_info=True,
        )
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise UserError(f"{asked}: its weights cannot be loaded ({first_line(error)}); download it again") from error
    if missing := sorted(found["missing_keys"]):
        raise UserError(f"{asked}: {len(missing)} weights are missing, {missing[0]} among them, and would be random; {advice}")
    return cast("PreTrainedModel", model.eval().requires_grad_(False))


def _forget_sampling_defaults(model: PreTrainedModel) -> None:
    """`generate` fills what it is not given from here, and a forgotten repetition penalty would bend greedy decoding."""
    from transformers import GenerationConfig

    model.generation_config = GenerationConfig()


def moved(model: Any, device: torch.device, asked: str) -> PreTrainedModel:
    import torch

    try:
        return cast("PreTrainedModel", model.to(device))
    except torch.OutOfMemoryError as error:
        raise UserError(
            f"{asked} does not fit into the memory of {device}; use dtype bfloat16, a smaller model, or device cpu"
        ) from error


def _ids(value: int | list[int] | None) -> frozenset[int]:
    return frozenset(value) if isinstance(value, list) else frozenset() if value is None else frozenset((value,))


def first_line(error: BaseException) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)


def fingerprint_of(folder: Path, dtype: str) -> str:
    """sha256 over the files that decide the text, and the precision.

    Weight files up to 1 GiB are read whole; of larger ones the header (names, shapes, offsets), the size, and 64 KiB from
    the middle of each tensor, so that a fine-tuned copy differs and 140 GB do not take minutes.
    """
    return _digest_of(folder, _weight_files(folder, str(folder)), dtype)


def _digest_of(folder: Path, weights: Iterable[Path], dtype: str) -> str:
    digest = hashlib.sha256()

    def add(label: str, content: bytes) -> None:
        digest.update(f"{label}\0{len(content)}\0".encode())
        digest.update(content)

    for name in (*_CONFIG_FILES, *_TOKENIZER_FILES):
        if (folder / name).is_file():
            add(name, (folder / name).read_bytes())
    for path in weights:
        with path.open("rb") as stream:
            add(path.name, weights_digest(stream, path.stat().st_size))
    add("dtype", dtype.encode())
    return digest.hexdigest()
