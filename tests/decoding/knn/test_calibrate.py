"""The whole command on a tiny real model, and the folder that it leaves."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from data.errors import UserError
from decoding.backend import CostTable, SkipSet
from decoding.calibrate import Settings, calibrate, main
from decoding.engine import backend_of
from decoding.knn.artefact import EVERYTHING, Calibration
from decoding.knn.plans import SearchSettings
from decoding.knn.prompt_files import PromptRow, read_prompts
from decoding.machine import signature
from decoding.models.loading import LoadedModel, load
from tests.tiny_model import build_tiny_model

TOPICS = {
    "flood": "The river rose after heavy rain and the dam near the town broke. Rescue boats came at night.",
    "final": "The home team scored two goals in the final and the striker lifted the cup.",
}
ARTEFACT = ("meta.json", "plans.json", "stops.json", "costs.json", "anchors.safetensors")


def _prompt_lines(n: int = 16) -> str:
    rows = [
        {
            "id": f"p{i}",
            "task": "section" if i < n - 3 else "outline",
            "topic": list(TOPICS)[i % 2],
            "event": f"e{i}",
            "prompt": f"{list(TOPICS.values())[i % 2]} Write about number {i}.",
        }
        for i in range(n)
    ]
    return "".join(json.dumps(row) + "\n" for row in rows)


@dataclass(frozen=True)
class World:
    model: Path
    prompts: Path
    loaded: LoadedModel
    out: Path
    """What the command wrote."""
    told: str

    @property
    def settings(self) -> Settings:
        """Those of the command, its own words included."""
        return replace(SETTINGS, command=json.loads((self.out / "meta.json").read_text())["command"])


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("calibrate")
    model = build_tiny_model(folder / "model", chat_template=True, vocab_from=list(TOPICS.values()))
    (folder / "prompts.jsonl").write_text(_prompt_lines(), encoding="utf-8")
    out = folder / "out"
    words = ["--model", f"hf:{model}", "--prompts", str(folder / "prompts.jsonl"), "--out", str(out)]
    with contextlib.redirect_stderr(io.StringIO()) as told:
        assert main([*words, "--max-new-tokens", "12", "--iterations", "2", "--search-prompts", "4", "--clusters", "2"]) == 0
    return World(model, folder / "prompts.jsonl", load(str(model)), out, told.getvalue())


SETTINGS = Settings(SearchSettings(iterations=2, prompts=4, k=2), max_new_tokens=12)


def _files(folder: Path, names: Sequence[str] = ARTEFACT) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in names}


def test_the_folder_is_whole_and_is_read_back(world: World) -> None:
    calibration = Calibration.load(world.out, world.loaded)
    assert [routing.task for routing in calibration.tasks] == ["outline", "section"]
    names = [plan.name for plan in calibration.plans]
    assert {"outline", "section", "section/0", EVERYTHING} <= {*names} and len(names) == len(set(names))
    for plan in calibration.plans:
        assert plan.found and set(plan.found.attention) | set(plan.found.mlp) <= {1, 2}  # first and last block kept
        assert plan.skip in (plan.found, SkipSet())
    meta = calibration.meta
    ids = {row.id for row in read_prompts(world.prompts)}
    assert {*meta.calibration_ids} | {*meta.held_out_ids} == ids and not {*meta.calibration_ids} & {*meta.held_out_ids}
    assert len(meta.held_out_ids) == 4 and meta.groups == tuple(sorted(f"e{i}" for i in range(16)))
    assert meta.identity.fingerprint == world.loaded.fingerprint and "--max-new-tokens 12" in meta.command
    section = calibration.task("section")
    assert section is not None and section.centroids.shape == section.medoids.shape == (2, 64)
    assert np.allclose(np.linalg.norm(section.medoids, axis=1), 1, atol=1e-5)
    assert {*section.medoid_ids} <= {*meta.calibration_ids} and sum(section.sizes) == len(
        [i for i in meta.calibration_ids if int(i[1:]) < 13]
    )
    for name, routing in ((r.task, r) for r in calibration.tasks):
        assert calibration.plan(name) and len(routing.plans) == len(routing.sizes)


def test_the_report(world: World) -> None:
    report = (world.out / "report.md").read_text(encoding="utf-8")
    for part in (
        "## Does it pay?",
        "- section: ",
        "## Regret on held-out prompts",
        "| section/0 |",
    ):
        assert part in report


def test_progress_is_shown(world: World) -> None:
    assert "answers 16/16: " in world.told and "search section: " in world.told and " sets on 4 prompts" in world.told


def test_saving_what_was_loaded_gives_the_same_bytes(world: World, tmp_path: Path) -> None:
    Calibration.load(world.out).save(tmp_path / "copy")
    assert _files(tmp_path / "copy") == _files(world.out)


def test_running_again_measures_nothing_and_writes_the_same(world: World, tmp_path: Path) -> None:
    shutil.copytree(world.out, tmp_path / "out")
    backend = _Counting(backend_of(world.loaded))
    with world.loaded.lock:
        calibrate(world.loaded, backend, read_prompts(world.prompts), tmp_path / "out", world.settings, lambda line: None)  # type: ignore[arg-type]
    assert backend.n_calls == 0
    assert _files(tmp_path / "out") == _files(world.out)


class _Counting:
    """Another backend, that ends the process, as it were, at call number `dies_at`."""

    def __init__(self, backend: Any, dies_at: int | None = None) -> None:
        self._backend, self._dies_at = backend, dies_at
        self.n_calls = 0

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._backend, name)
        if name not in ("prefill", "step", "costs"):
            return value

        def called(*words: Any, **more: Any) -> Any:
            self.n_calls += 1
            if self.n_calls == self._dies_at:
                raise KeyboardInterrupt
            return value(*words, **more)

        return called


def test_killed_anywhere_and_resumed_gives_the_same_bytes(world: World, tmp_path: Path) -> None:
    out = tmp_path / "out"
    rows = read_prompts(world.prompts)
    stages = f"stages/{world.loaded.fingerprint[:12]}-12"
    (out / stages).mkdir(parents=True)
    # costs are measured, and differ from run to run; the date and command, too
    for path in (world.out / stages).glob("*.json"):
        shutil.copy(path, out / stages / path.name)
    backend = backend_of(world.loaded)
    calls, deaths = 0, 0
    for dies_at in (3, 60, 110, 9, 17, 40, None):  # while answering, then while searching
        dying = _Counting(backend, dies_at)
        before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
        try:
            calibrate(world.loaded, dying, rows, out, world.settings, lambda line: None)  # type: ignore[arg-type]
        except KeyboardInterrupt:
            deaths += 1
            assert not (out / "meta.json").exists()
        calls += dying.n_calls
        for path, old in before.items():  # only ever added to; what was cut off in the middle is taken back
            assert path.read_bytes().startswith(old[: old.rfind(b"\n") + 1])
        if dies_at is not None:
            for path in (out / stages).glob("agreements/*.jsonl"):
                with path.open("a") as stream:
                    stream.write('{"plan": {"atten')  # what a kill in the middle of a write leaves
                break
    assert deaths == 6
    assert _files(out) == _files(world.out)


def test_another_set_of_tasks_in_the_same_folder_reuses_what_holds(world: World, tmp_path: Path) -> None:
    shutil.copytree(world.out, tmp_path / "out")
    backend = _Counting(backend_of(world.loaded))
    settings = replace(SETTINGS, tasks=("section",))
    calibrated = calibrate(
        world.loaded, backend, read_prompts(world.prompts), tmp_path / "out", settings, lambda line: None  # type: ignore[arg-type]
    )  # fmt: skip
    assert [routing.task for routing in calibrated.tasks] == ["section"]
    assert backend.n_calls < 60  # answers and most agreements are there


def test_labels_of_other_prompts_get_sets_of_their_own(world: World, tmp_path: Path) -> None:
    rows = [PromptRow(f"q{i}", row.messages, "other", row.topic) for i, row in enumerate(read_prompts(world.prompts)[:6])]
    settings = Settings(SearchSettings(iterations=0, prompts=2), max_new_tokens=4)
    found = calibrate(world.loaded, backend_of(world.loaded), rows, tmp_path, settings, lambda line: None)
    assert set(found.everywhere.plans) == {"flood", "final"} == set(found.everywhere.labels)
    assert {"label:flood", "label:final", "other", EVERYTHING} <= {plan.name for plan in found.plans}


def test_the_wall_objective_times_whole_runs(world: World, tmp_path: Path) -> None:
    rows = read_prompts(world.prompts)[:4]
    settings = Settings(SearchSettings(objective="wall", iterations=1, prompts=2), max_new_tokens=6)
    found = calibrate(world.loaded, backend_of(world.loaded), rows, tmp_path, settings, lambda line: None)
    assert found.meta.objective == "wall"
    lines = [line for path in tmp_path.rglob("timings/*.jsonl") for line in path.read_text().splitlines()]
    assert any('"plan": {"attention": [], "mlp": []}' in line for line in lines)  # the plain runs, to compare with


def test_prompts_that_do_not_fit_are_left_out_by_name(world: World, tmp_path: Path) -> None:
    rows = list(read_prompts(world.prompts)[:4])
    rows[1] = replace(rows[1], messages=(replace(rows[1].messages[0], content="river " * 2000),))
    said: list[str] = []
    settings = Settings(SearchSettings(iterations=0, prompts=2), max_new_tokens=6)
    found = calibrate(world.loaded, backend_of(world.loaded), rows, tmp_path, settings, said.append)
    assert "p1" not in {*found.meta.calibration_ids, *found.meta.held_out_ids}
    assert any(": p1 is left out: " in line and "context" in line for line in said)
    with pytest.raises(UserError, match="could answer none of the 1 prompts"):
        calibrate(world.loaded, backend_of(world.loaded), rows[1:2], tmp_path / "none", settings, said.append)


# --- folders that must be refused -------------------------------------------------------------------------------------


def test_the_calibration_of_another_model_is_refused(world: World, tmp_path: Path) -> None:
    other = load(str(build_tiny_model(tmp_path / "other", chat_template=True, vocab_from=list(TOPICS.values()), seed=1)))
    with pytest.raises(UserError) as error:
        Calibration.load(world.out, other)
    told = str(error.value)
    assert world.loaded.fingerprint[:6] in told and other.fingerprint[:6] in told
    assert f"python -m decoding.calibrate --model {other.name}" in told and "template" not in told


def test_another_precision_or_template_is_named(world: World, tmp_path: Path) -> None:
    calibration = Calibration.load(world.out, world.loaded)
    with pytest.raises(UserError, match=r"fingerprint: \w{6} there, \w{6} now; dtype: float32 there, bfloat16 now"):
        calibration.check(load(str(world.model), dtype="bfloat16"))
    shutil.copytree(world.model, tmp_path / "model")
    template = tmp_path / "model" / "chat_template.jinja"
    template.write_text(template.read_text().replace("assistant", "writer"))
    with pytest.raises(UserError, match="; template: "):
        calibration.check(load(str(tmp_path / "model")))


def _without_meta(folder: Path) -> None:
    (folder / "meta.json").unlink()


def _edited(name: str, old: str, new: str) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new, 1))

    return edit


def _with_layer_nine(folder: Path) -> None:
    stored = json.loads((folder / "plans.json").read_text())
    stored["plans"][0]["skip"]["attention"] = [9]
    (folder / "plans.json").write_text(json.dumps(stored))


def _cut(name: str) -> Callable[[Path], None]:
    def cut(folder: Path) -> None:
        (folder / name).write_bytes((folder / name).read_bytes()[:100])

    return cut


@pytest.mark.parametrize(
    ("harm", "says"),
    [
        (_without_meta, "no calibration for hf:"),
        (_edited("meta.json", '"format": 1', '"format": 0'), "in format 0 and this version reads 1"),
        (_edited("meta.json", '"seed"', '"sed"'), "is not a readable Meta"),
        (_edited("meta.json", '"hidden_size": 64', '"hidden_size": 65'), "do not belong together"),
        (_edited("plans.json", '"name": "all"', '"name": "al"'), "no plan all"),
        (_with_layer_nine, "a plan skips layer 9 of 4"),
        (_edited("stops.json", "{", "["), "is not a readable"),
        (_cut("plans.json"), "is not a readable"),
        (_cut("costs.json"), "is not a readable"),
        (_cut("anchors.safetensors"), "cannot be read"),
        (lambda folder: (folder / "anchors.safetensors").unlink(), "cannot be read"),
    ],
)
def test_a_broken_folder_is_refused(world: World, tmp_path: Path, harm: Callable[[Path], None], says: str) -> None:
    folder = tmp_path / "out"
    shutil.copytree(world.out, folder, ignore=shutil.ignore_patterns("stages"))
    Calibration.load(folder, world.loaded)
    harm(folder)
    with pytest.raises(UserError, match=says):
        Calibration.load(folder, world.loaded)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--model", "server:m@http://127.0.0.1:1/v1"], "runs elsewhere"),
        (["--model", "no/such folder"], "no model folder"),
        (["--tasks", "rewrite"], "no prompts of the tasks rewrite; the files have outline, section"),
        (["--prompts", "missing.jsonl"], "cannot read the prompts in missing.jsonl"),
    ],
)
def test_errors_are_one_line_and_exit_with_2(
    world: World, words: list[str], says: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    given = ["--model", str(world.model), "--prompts", str(world.prompts), "--out", str(tmp_path), *words]
    assert main(given) == 2
    told = capsys.readouterr()
    assert says in told.err.splitlines()[-1] and not told.out


def test_costs_of_another_machine_are_measured_again(world: World) -> None:
    backend = backend_of(world.loaded)
    (stored,) = world.out.rglob("costs-*.json")
    table = json.loads(stored.read_text())
    assert table["machine"] == signature(backend.info)
    assert Calibration.load(world.out).costs == CostTable(**{**table, "verify": tuple(map(tuple, table["verify"]))})
