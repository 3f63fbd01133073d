"""The Prefect flow `calibrate`: prompts of a benchmark's events -> a calibration of the decoder for one model.

    python -m flows.orchestration.calibration_flow --model hf:models/qwen3-4b --data DIR --split dev

It does what `wikigenben prompts` and then `decoding.calibrate` do, and shows the steps as tasks: the prompts (one task), each
prompt's plain answer with its vector, the costs of a step on this machine, each search for a layer set. Clusters, anchors and
the written folder follow from these within seconds and are made anew each time. As with articles, the files in the folder
are the truth, and a stored result of the same name fills a missing one; so a flow that was killed goes on with the prompt, or
inside the search, that was in flight.
"""

# No `from __future__ import annotations`: Prefect makes the form from the flow's annotations and reads them as types.

import argparse
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

from prefect import flow, get_run_logger
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from data import codec
from data.errors import UserError
from data.locate import locate
from data.model_name import parse_model
from data.runs import RunFolder
from data.snapshot import Snapshot
from decoding.calibrate import Settings, calibrate
from decoding.knn.kept_stages import Stages
from decoding.knn.prompt_files import PromptRow, read_prompts
from decoding.models.registry import NAMES
from flows.commands.export_prompts import Export, export
from flows.orchestration.event_tasks import step
from flows.orchestration.prefect_server import outlast_server, run_here
from flows.showing import console

T = TypeVar("T")
SplitName = Literal["sample", "dev"]

CALIBRATION_VERSION = "1"
"""Raise when stored steps must not be used any more and nothing in their names says so."""
SHOWN = {"prompts": "answer", "searches": "search", "costs": "costs"}
"""Stages of `decoding.calibrate` that are tasks, and how those are called."""


class TaskStages(Stages):
    """The measured stages of a calibration, with a task in front of those that take long."""

    def once(self, name: str, kind: type[T], make: Callable[[], T]) -> T:
        word = SHOWN.get(name.partition("/")[0].partition("-")[0])
        if word is None:
            return super().once(name, kind, make)
        key = f"calibrate-{word}/v{CALIBRATION_VERSION}/{self._folder.name}/{name.replace('/', '-')}"

        def ask() -> T:
            plain = step(word, f"{word}-{name.rpartition('/')[2][-20:]}", key, lambda: codec.to_plain(make()))
            return codec.from_plain(kind, plain, where=f"stored result {key}")

        return super().once(name, kind, ask)


def run_name() -> str:
    from prefect.runtime import flow_run

    return f"calibrate {flow_run.parameters['model']} on {flow_run.parameters['split']}"


@flow(name="calibrate", flow_run_name=run_name, persist_result=False)
def calibrate_model(
    model: str,
    data: str = "",
    split: SplitName = "dev",
    limit: int | None = None,
    sections: int | None = None,
    max_prompts: int = 128,
    max_new_tokens: int = 64,
    iterations: int = 64,
    out: str = "",
    device: str = "auto",
    dtype: str = "auto",
    command: str = "",
) -> State[None]:
    """Find which layers a model can leave out when it drafts, and for which prompts.

    Args:
        model: A name of `wikigenben models`, gguf:FILE, or a folder or hub id with or without hf:.
        data: Benchmark folder; empty: WIKIGEN_DATA, else the downloaded data, else the sample.
        split: Of events that are never scored: dev, or the bundled sample.
        limit: Only the first so many events.
        sections: At most so many sections of an event, and as many rewrites.
        max_prompts: Of each task; 0 for all.
        max_new_tokens: Of each answer.
        iterations: Bayesian steps of each search, after the greedy ones.
        out: Folder of the calibration; by default the one that the decoder looks into for this model.
        device: auto, cpu, cuda, cuda:1.
        dtype: auto, float32, bfloat16, float16.
        command: What to note in the artefact as the way it was made.
    """
    from decoding.engine import backend_of
    from decoding.knn.artefact import calibration_folder
    from decoding.knn.plans import SearchSettings
    from decoding.models.naming import load_named

    log = get_run_logger()
    name = model.removeprefix("hf:")
    settings = Settings(
        SearchSettings(iterations=iterations), max_prompts=max_prompts, max_new_tokens=max_new_tokens, command=command
    )
    try:
        if not parse_model(model).is_local:
            raise UserError(f"{model} runs elsewhere, so its layers cannot be skipped; name a folder or a hub id")
        loaded = load_named(name, device=device, dtype=dtype, tell=log.info)
        folder = Path(out).expanduser().absolute() if out else calibration_folder(loaded)
        with RunFolder(folder).locked():
            request = Export(data=data or None, split=split, limit=limit, model=name, sections=sections)
            rows = _prompts(request, folder)
            log.info("%d prompts of %d events -> %s", len(rows), len({row.event for row in rows}), folder)
            with loaded.lock:
                calibrate(loaded, backend_of(loaded), rows, folder, settings, log.debug, stages_in=TaskStages)
        outlast_server(folder)
    except UserError as error:  # the caller can mend it: the message says how, a traceback would hide it
        return Failed(message=str(error))
    return Completed(message=f"{len(rows)} prompts -> {folder}; what it brings: {folder / 'report.md'}")


def _prompts(request: Export, folder: Path) -> tuple[PromptRow, ...]:
    """Made once for the same events of the same folder, and kept beside the calibration."""
    snapshot = Snapshot(locate(request.data))
    files = [path for half in ("wiki", "google") for path in sorted((snapshot.root / half).glob("*.json"))]
    seen = [f"{path.parent.name}/{path.name} {path.stat().st_size}" for path in files]
    digest = codec.sha256("\n".join([repr(request), *seen]))[:20]
    path = folder / f"prompts-{digest}.jsonl"
    if not path.exists():

        def make() -> str:
            export(request, path)
            return path.read_text(encoding="utf-8")

        key = f"calibrate-prompts/v{CALIBRATION_VERSION}/{request.split}/{digest}"
        text = step("prompts", f"prompts-{request.split}", key, make)
        codec.write_atomic(path, text)
    return read_prompts(path)


def main(argv: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(
        prog="python -m flows.orchestration.calibration_flow",
        description="Collect prompts and calibrate the decoder for a model; resumable.",
    )
    parser.add_argument("--model", required=True, metavar="NAME", help=NAMES)
    parser.add_argument("--data", default="", metavar="DIR", help="benchmark folder (default: as for generate)")
    parser.add_argument("--split", choices=("sample", "dev"), default="dev", help="events never to be scored (default: dev)")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N events")
    parser.add_argument("--sections", type=int, metavar="N", help="at most N sections of an event, and as many rewrites")
    parser.add_argument("--max-prompts", type=int, default=128, metavar="N", help="of each task, 0 for all (default: 128)")
    parser.add_argument("--max-new-tokens", type=int, default=64, metavar="N", help="of each answer (default: 64)")
    parser.add_argument("--iterations", type=int, default=64, metavar="N", help="Bayesian steps of a search (default: 64)")
    parser.add_argument("--out", default="", metavar="DIR", help="default: DIR that the decoder looks into for this model")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1 (default: auto)")
    parser.add_argument("--dtype", default="auto", help="auto, float32, bfloat16, float16 (default: auto)")
    parameters: dict[str, Any] = vars(parser.parse_args(words))
    command = shlex.join(["python", "-m", "flows.orchestration.calibration_flow", *words])
    return console.guarded(lambda: run_here(lambda: calibrate_model(**parameters, command=command, return_state=True)))


if __name__ == "__main__":
    sys.exit(main())
