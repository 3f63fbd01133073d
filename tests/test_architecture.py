"""The arrows between packages and other rules of the house, read from the source: deferred imports count as well."""

from __future__ import annotations

import ast
import json
import re
import socket
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.conftest import NetworkRefused

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("data", "decoding", "pipeline", "eval", "benchmark", "flows", "tools")
ENTRIES = {"benchmark.evaluate": "flows.commands.evaluate", "eval.judge_card": "flows.commands.judge_card"}
"""Commands that are known by the name of a lower package: they import their code in flows and nothing else, and nobody them."""

MAY_IMPORT = {
    "data": (),
    "decoding": ("data",),
    "pipeline": ("data", "decoding.api"),
    "eval": ("data", "decoding.api"),
    "benchmark": ("data", "eval"),
    "flows": ("data", "decoding", "pipeline", "eval", "benchmark"),
    "tools": ("data", "decoding", "pipeline", "eval", "benchmark", "flows"),
}
NEVER = {"pipeline": ("data.gold",)}
HEAVY = ("torch", "transformers", "sentence_transformers", "prefect")
PICKLES = {"pickle", "cPickle", "_pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve"}


def _module_name(path: Path) -> str:
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    return name.removesuffix(".__init__")


@cache
def sources() -> dict[str, str]:
    """Read by the tests and not when this file is: every test process imports all files of tests."""
    return {
        _module_name(path): path.read_text(encoding="utf-8")
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        if "sample" not in path.parts
    }


@cache
def trees() -> dict[str, ast.Module]:
    return {module: ast.parse(source, module) for module, source in sources().items()}


@cache
def nodes() -> dict[str, tuple[ast.AST, ...]]:
    return {module: tuple(ast.walk(tree)) for module, tree in trees().items()}


@cache
def calls() -> list[tuple[str, ast.Call]]:
    return [(module, node) for module, found in nodes().items() for node in found if isinstance(node, ast.Call)]


def _imported(node: ast.AST) -> list[str]:
    """Module names of one import statement; `from data import codec` gives data.codec."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        names = [f"{node.module}.{alias.name}" for alias in node.names]
        return [name if name in trees() else str(node.module) for name in names]
    return []


@cache
def _imports(module: str) -> frozenset[str]:
    return frozenset(name for node in nodes()[module] for name in _imported(node))


def _is_below(module: str, parents: tuple[str, ...] | frozenset[str] | set[str]) -> bool:
    return any(module == parent or module.startswith(f"{parent}.") for parent in parents)


def _package(module: str) -> str:
    return module.partition(".")[0]


def arrow_violations(module: str, imported: str) -> str | None:
    """Why `module` may not import `imported`, or None."""
    home, target = _package(module), _package(imported)
    if target not in PACKAGES:
        return None
    if imported in ENTRIES:
        return "nobody imports a command by its other name"
    if module in ENTRIES:
        return None if imported == ENTRIES[module] else f"{module} is {ENTRIES[module]} and nothing else"
    if target == home:
        return None
    if target == "flows" and home != "tools":
        return "only tools and commands by another name import flows"
    if _is_below(imported, NEVER.get(home, ())):
        return f"{home} may not see {imported}"
    return (
        None if _is_below(imported, MAY_IMPORT[home]) else f"{home} may import {', '.join(MAY_IMPORT[home]) or 'none of ours'}"
    )


@pytest.mark.parametrize(
    ("module", "imported", "allowed"),
    [
        ("pipeline.writing", "data.gold", False),
        ("pipeline.writing", "data.types", True),
        ("pipeline.writing", "decoding.api", True),
        ("pipeline.writing", "decoding.local", False),
        ("pipeline.writing", "decoding", False),
        ("benchmark.evaluate", "flows.commands.evaluate", True),
        ("benchmark.evaluate", "flows.wiring", False),
        ("pipeline.writing", "flows.wiring", False),
        ("eval.metrics.citations", "data.gold", True),
        ("eval.metrics.citations", "benchmark.scoring", False),
        ("benchmark.runner", "pipeline.evidence", False),
        ("flows.cli", "benchmark.evaluate", False),
        ("data.snapshot", "eval.text", False),
        ("decoding.api", "torch", True),
    ],
)
def test_the_rules_themselves(module: str, imported: str, allowed: bool) -> None:
    assert (arrow_violations(module, imported) is None) is allowed


def test_all_modules_are_seen() -> None:
    assert trees().keys() >= {"data", "data.types", "pipeline.systems.extractive", "flows.cli", *ENTRIES}
    assert "data.gold" in _imports("benchmark.leaks")  # `from data.gold import load_gold`
    assert "flows.wiring.prepared" in _imports("flows.commands.generate")  # inside a function


def test_arrows() -> None:
    wrong = [
        f"{module} imports {name}: {why}"
        for module in sorted(trees())
        for name in sorted(_imports(module))
        if (why := arrow_violations(module, name))
    ]
    assert not wrong


def test_heavy_libraries_stay_in_their_package() -> None:
    homes = dict.fromkeys(HEAVY, "decoding") | {"prefect": "flows"}
    wrong = [
        f"{module} imports {name}"
        for module in sorted(trees())
        if _package(module) != "tools"
        for name in sorted(_imports(module))
        if homes.get(_package(name), _package(module)) != _package(module)
    ]
    assert not wrong


def test_no_relative_imports() -> None:
    """They would escape the arrows above, which go by full names."""
    relative = [
        f"{module}:{node.lineno}"
        for module, found in nodes().items()
        for node in found
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert not relative


def _circle(imports: Mapping[str, Iterable[str]]) -> list[str]:
    """Modules of which each imports the one before, ending where it begins; empty without one."""
    # not of itself: a script that workers import again does so under its full name, as flows.wiki_gen
    graph = {module: {name for name in names if name in imports and name != module} for module, names in imports.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_modules_depend_one_way() -> None:
    """A deferred import, or one for annotations alone, hides a circle and does not undo it: all count."""
    assert _circle({"a": ["b", "x"], "b": ["c", "b"], "c": []}) == []
    assert sorted(set(_circle({"a": ["b"], "b": ["c"], "c": ["a"]}))) == ["a", "b", "c"]
    assert not _circle({module: _imports(module) for module in trees()})


def test_packages_form_layers() -> None:
    """Entry modules aside, no package imports one that imports it, directly or over others."""
    graph: dict[str, set[str]] = {package: set() for package in PACKAGES}
    for module in trees().keys() - ENTRIES:
        graph[_package(module)] |= {_package(name) for name in _imports(module)} & set(PACKAGES) - {_package(module)}
    order = list(TopologicalSorter(graph).static_order())
    assert order[0] == "data" and order[-2:] == ["flows", "tools"]


ROOMS = {
    "pipeline": (
        "reading",
        "choosing",
        "planning",
        "writing",
        "noting",
        "checking",
        "web",
        "following",
        "editing",
        "formats",
        "systems",
    ),
    "eval": ("judges", "metrics", "cards", "fitting"),
    "benchmark": ("submissions", "comparing", "attacks", "site"),
}
"""The rooms of a package, lowest first: a room may import those before it. What lies beside the rooms is no room."""


@pytest.mark.parametrize("package", ROOMS)
def test_rooms_form_layers(package: str) -> None:
    order = {f"{package}.{room}": place for place, room in enumerate(ROOMS[package])}
    found = {".".join(name.split(".")[:2]) for name in trees() if name.startswith(f"{package}.") and name.count(".") > 1}
    assert found == order.keys()
    wrong = [
        f"{module} imports {name}"
        for module in trees()
        for name in _imports(module)
        if order.get(".".join(module.split(".")[:2]), 99) < order.get(".".join(name.split(".")[:2]), -1)
    ]
    assert not wrong


def test_every_package_says_what_lives_in_it() -> None:
    told = {name: ast.get_docstring(tree) or "" for name, tree in trees().items() if (ROOT / name.replace(".", "/")).is_dir()}
    assert not [name for name, text in told.items() if not 1 <= len(text.splitlines()) <= 12]


def test_no_name_serves_two_duties() -> None:
    """Except for a command that has the name of a lower package, too."""
    shared = {"__main__", "training", *(name.rpartition(".")[2] for name in ENTRIES)}
    names = [name.rpartition(".")[2] for name in trees() if not (ROOT / name.replace(".", "/")).is_dir()]
    assert not [name for name in sorted(set(names)) if names.count(name) > 1 and name not in shared]


def test_stages_are_named_in_one_place() -> None:
    """`pipeline.stages` lists what an event's folder holds; those that a lower package needs are made in `data.stage_types`."""
    makers = {module for module, call in calls() if isinstance(call.func, ast.Name) and call.func.id == "Stage"}
    assert makers == {"data.stage_types", "pipeline.stages"}


def test_no_attics() -> None:
    attics = {"utils", "util", "helpers", "helper", "common", "base", "misc", "shared", "manager"}
    assert not [module for module in trees() if attics & set(module.split("."))]


def test_libraries_never_print() -> None:
    """Results go through flows.showing.console or sys.stdout in commands, the rest through logging."""
    printing = [
        f"{module}:{call.lineno}"
        for module, call in calls()
        if isinstance(call.func, ast.Name) and call.func.id in ("print", "pprint", "breakpoint")
    ]
    assert not printing


def test_nothing_is_unpickled() -> None:
    """Opening a pickle can run code; weights come as safetensors, everything else as JSON."""
    found = [f"{module} imports {name}" for module in trees() for name in _imports(module) if _package(name) in PICKLES]
    for module, call in calls():
        if isinstance(call.func, ast.Attribute) and ast.unparse(call.func) in ("torch.load", "torch.save", "np.fromfile"):
            found.append(f"{module}:{call.lineno} {ast.unparse(call.func)}")
        if any(word.arg == "allow_pickle" and not _is_false(word.value) for word in call.keywords):
            found.append(f"{module}:{call.lineno} allow_pickle")
    assert not found


def test_remote_code_is_never_trusted() -> None:
    """As an argument, as a key of a dict, or set by hand."""
    found = []
    for module in (name for name, source in sources().items() if "trust_remote_code" in source):
        for node in nodes()[module]:
            values: list[ast.expr] = []
            if isinstance(node, ast.keyword) and node.arg == "trust_remote_code":
                values = [node.value]
            elif isinstance(node, ast.Dict):
                values = [
                    v for k, v in zip(node.keys, node.values) if isinstance(k, ast.Constant) and k.value == "trust_remote_code"
                ]
            elif isinstance(node, ast.Assign) and any("trust_remote_code" in ast.unparse(t) for t in node.targets):
                values = [node.value]
            found += [f"{module}:{value.lineno}" for value in values if not _is_false(value)]
    assert not found


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


def test_no_path_of_one_machine() -> None:
    """The files of the repository, those not committed yet among them, name no folder that only its authors have."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, check=False
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    local = re.compile(rb"(?<![\w.-])/(?:work|home/[a-z]+|Users/[A-Za-z]+|root)/[\w.]")
    paths = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
    found = [
        str(p.relative_to(ROOT))
        for p in paths
        if p.is_file() and p != Path(__file__).resolve() and local.search(p.read_bytes())
    ]
    assert len(paths) > 100
    assert not found


HELP = """
import contextlib, io, json, runpy, sys
commands, told = json.loads(sys.argv[1]), []
for module, *words in commands:
    sys.argv[:] = [module, *words, "--help"]
    code, out = 0, io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        except SystemExit as end:
            code = end.code
    loaded = sorted({name.partition(".")[0] for name in sys.modules})
    told.append({"command": [module, *words], "code": code, "help": out.getvalue(), "loaded": loaded})
print(json.dumps(told))
"""
WORDS = (
    "", "demo", "events", "generate", "compare", "submit", "rescore", "attacks", "prompts", "report", "up", "serve", "web",
    "check", "write", "doctor", "models", "mcp",
)  # fmt: skip
MODULES = (
    "benchmark.evaluate", "benchmark.validate", "benchmark.leaderboard", "flows.reproducing.reproduce",
    "flows.commands.score_agents", "eval.judge_card", "data.download", "tools.quality.bench_injection", "decoding.bench",
    "decoding.calibrate", "decoding.serve",
)  # fmt: skip


def test_help_loads_nothing_heavy() -> None:
    """In one fresh process, one after the other: what a command loads, the next ones have, and none of it is heavy."""
    commands = [*(["flows.cli", *word.split()] for word in WORDS), *([module] for module in MODULES)]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", HELP, json.dumps(commands)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    heavy = {*HEAVY, "numpy", "sklearn", "faiss", "nltk", "trafilatura", "pydantic", "rich", "requests"}
    for told in json.loads(done.stdout):
        assert told["code"] == 0 and "usage:" in told["help"], told["command"]
        assert not heavy & set(told["loaded"]), told["command"]


def test_tests_cannot_leave_this_machine() -> None:
    with pytest.raises(NetworkRefused):
        socket.create_connection(("198.51.100.7", 80), timeout=1)  # an address for documentation, RFC 5737
    with pytest.raises(NetworkRefused):
        socket.getaddrinfo("wikipedia.org", 443)
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname(), timeout=5):
        pass
