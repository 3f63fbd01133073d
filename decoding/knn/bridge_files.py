"""The bridges of a model as one safetensors file beside its calibration: `bridges.safetensors`.

For bridge i `i.map.j.down`, `.up` (float16), `.bias` (float32), `i.norm.<step>` (float32) and `i.vocabulary` (int32); `anchors`
(A, D) float32 of length 1. The metadata, one JSON value under `bridges`, says whose they are and which bridge each anchor
routes to. A file of another model would leave texts as they are and only make them slow, so it is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from data import codec
from data.errors import UserError
from data.types import Strict
from decoding.backends.bridges import COMMAND, Bridge, LowRank
from decoding.drafters.hazard import Hazard
from decoding.knn.artefact import Identity

if TYPE_CHECKING:
    from decoding.api import Vectors
    from decoding.models.loading import LoadedModel

FILE = "bridges.safetensors"
FORMAT = 1
"""Rises when a stored value changes its meaning."""


@dataclass(frozen=True, slots=True)
class Made(Strict):
    """How the bridges came to be."""

    command: str
    date: str
    seed: int
    steps: int
    n_texts: int
    groups: tuple[str, ...]
    """Events of all prompts: never to be scored or timed."""


@dataclass(frozen=True, slots=True)
class _Stored(Strict):
    format: int
    identity: Identity
    made: Made
    names: tuple[str, ...]
    paths: tuple[tuple[str, ...], ...]
    hazards: dict[str, Hazard]
    routes: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Bridges:
    """`routes[a]` is the name of the bridge for prompts nearest to `anchors[a]`; with one name among them no prompt's vector is
    needed."""

    identity: Identity
    made: Made
    bridges: tuple[Bridge, ...]
    hazards: dict[str, Hazard]
    """Confidence -> acceptance, by bridge, on held-out prompts."""
    anchors: Vectors
    routes: tuple[str, ...]

    def named(self, name: str) -> Bridge:
        return next(bridge for bridge in self.bridges if bridge.name == name)

    def save(self, path: Path) -> None:
        """Raises UserError where the disk refuses."""
        import numpy as np
        from safetensors.numpy import save_file

        tensors: dict[str, Any] = {"anchors": np.ascontiguousarray(self.anchors, dtype=np.float32)}
        for i, bridge in enumerate(self.bridges):
            for j, one in enumerate(bridge.maps):
                tensors |= {f"{i}.map.{j}.down": one.down.astype(np.float16), f"{i}.map.{j}.up": one.up.astype(np.float16)}
                tensors[f"{i}.map.{j}.bias"] = one.bias.astype(np.float32)
            tensors |= {f"{i}.norm.{step}": norm.astype(np.float32) for step, norm in bridge.norms.items()}
            tensors[f"{i}.vocabulary"] = np.array(bridge.vocabulary, dtype=np.int32)
        names, paths = tuple(b.name for b in self.bridges), tuple(b.path for b in self.bridges)
        stored = _Stored(FORMAT, self.identity, self.made, names, paths, self.hazards, self.routes)
        part = path.with_suffix(".part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            save_file({name: np.ascontiguousarray(t) for name, t in tensors.items()}, part, {"bridges": codec.to_json(stored)})
            part.chmod(0o644)
            part.replace(path)
        except OSError as error:
            raise UserError(f"cannot write {path}: {error.strerror}; make room there or choose another --out") from None

    @classmethod
    def load(cls, path: Path, loaded: LoadedModel) -> Bridges:
        """Raises UserError: no such file, a damaged one, one of another format, model, precision or shape."""
        from safetensors import SafetensorError, safe_open

        if not path.is_file():
            raise UserError(f"no bridges for {loaded.name} in {path}; run: {_command(loaded)}")
        try:
            with safe_open(path, framework="numpy") as stream:
                text = (stream.metadata() or {}).get("bridges", "")
                tensors = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118
            stored = codec.from_json(_Stored, text, where=str(path))
            bridges = tuple(
                _assembled(tensors, i, name, path_of)
                for i, (name, path_of) in enumerate(zip(stored.names, stored.paths, strict=True))
            )
            anchors = tensors["anchors"]
            if anchors.shape != (len(stored.routes), stored.identity.hidden_size) or {*stored.routes} - {*stored.names}:
                raise ValueError("its anchors do not fit its bridges")
        except (OSError, SafetensorError, KeyError, ValueError, UserError) as error:
            raise UserError(f"{path} is damaged ({error}); make it again: {_command(loaded)}") from None
        if stored.format != FORMAT:
            raise UserError(f"{path} has format {stored.format} and this version reads {FORMAT}; run: {_command(loaded)}")
        found = cls(stored.identity, stored.made, bridges, stored.hazards, anchors, stored.routes)
        found.check(loaded)
        return found

    def fits(self, loaded: LoadedModel) -> bool:
        return self.identity.fingerprint == loaded.fingerprint

    def check(self, loaded: LoadedModel) -> None:
        """Raises UserError, naming both, unless these are the bridges of `loaded`."""
        mine = self.identity
        if not self.fits(loaded):
            raise UserError(
                f"the bridges were trained for {mine.model} in {mine.dtype} (fingerprint {mine.fingerprint[:6]}) and not for "
                f"{loaded.name} in {loaded.dtype} (fingerprint {loaded.fingerprint[:6]}); run: {_command(loaded)}"
            )
        config: Any = loaded.model.config.get_text_config(decoder=True)
        for bridge in self.bridges:
            bridge.check(config.num_hidden_layers, mine.hidden_size, config.vocab_size)


def _command(loaded: LoadedModel) -> str:
    return COMMAND.replace("MODEL", loaded.name)


def _assembled(tensors: dict[str, Any], i: int, name: str, path: tuple[str, ...]) -> Bridge:
    def array(part: str) -> Any:
        return tensors[f"{i}.{part}"].astype("float32")

    maps = tuple(LowRank(*(array(f"map.{j}.{part}") for part in ("down", "up", "bias"))) for j in range(path.count("map")))
    norms = {
        key.removeprefix(f"{i}.norm."): array(key.removeprefix(f"{i}.")) for key in tensors if key.startswith(f"{i}.norm.")
    }
    return Bridge(name, path, maps, norms, tuple(tensors[f"{i}.vocabulary"].tolist()))
