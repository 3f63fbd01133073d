"""Do the tests notice when the code is wrong? A module is changed in one place at a time, and its own tests are run.

    python -m tools.quality.mutants data/markup.py decoding/verify.py --sample 40 --out mutants.json

A change (mutant) is killed when a test fails, the module no longer loads, or the tests take longer than `--timeout-s`. The
sample is drawn with a seed from all places where one of these applies (the operators of mutmut and cosmic-ray that change what
code says, without those of strings): a comparison turned round, `and` for `or`, a condition denied, another number, an
arithmetic operator for its opposite, `not` dropped, `True` for `False`, a returned value lost, `continue` for `break`.
Tests are those in the same place below `tests/`, or `--tests`. Each mutant runs in a fork, so that libraries are imported once.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
import json
import os
import random
import signal
import sys
import time
import types
from collections.abc import Callable, Iterator, Sequence
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

_OPPOSITES: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
}  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--sample", type=int, default=40, help="mutants of each module")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tests", type=Path, nargs="*", help="in place of the tests of the same name")
    parser.add_argument("--timeout-s", type=float, default=90.0)
    parser.add_argument("--torch", action="store_true", help="import torch before the first fork")
    parser.add_argument("--out", type=Path, help="JSON: every mutant, and whether it was killed")
    arguments = parser.parse_args(argv)
    _load_libraries(arguments.torch)
    results = {}
    for path in arguments.modules:
        tests = arguments.tests or [Path("tests") / path.parent / f"test_{path.name}"]
        source = path.read_text(encoding="utf-8")
        if not _passes(path, source, tests, arguments.timeout_s):
            sys.exit(f"{path}: its tests fail without any change")
        drawn = drawn_mutants(source, arguments.sample, arguments.seed)
        killed = {what: not _passes(path, text, tests, arguments.timeout_s) for what, text in drawn}
        results[str(path)] = killed
        sys.stdout.write(f"{path}: {sum(killed.values())} of {len(killed)} killed" + "\n")
        if arguments.out:
            arguments.out.write_text(json.dumps(results, indent=1), encoding="utf-8")
    n = sum(map(len, results.values()))
    sys.stdout.write(f"all: {sum(sum(killed.values()) for killed in results.values())} of {n} killed" + "\n")
    return 0


def drawn_mutants(source: str, n: int, seed: int) -> list[tuple[str, str]]:
    """`n` changes of `source`, or all where there are fewer: what was changed where, and the changed source."""
    tree = ast.parse(source)
    changes = [
        (f"{node.lineno}:{node.col_offset} {name}", index, change)  # type: ignore[attr-defined]
        for index, node in enumerate(ast.walk(tree))
        for name, change in _changes(node)
    ]
    drawn = random.Random(seed).sample(changes, min(n, len(changes)))
    return [(what, _changed(tree, index, change)) for what, index, change in sorted(drawn, key=lambda one: one[0])]


def _changed(tree: ast.Module, index: int, change: Callable[[ast.AST], None]) -> str:
    again = copy.deepcopy(tree)
    # The walk over a copy has the same order.
    change(next(node for i, node in enumerate(ast.walk(again)) if i == index))
    return ast.unparse(ast.fix_missing_locations(again))


def _changes(node: ast.AST) -> Iterator[tuple[str, Callable[[ast.AST], None]]]:
    """What may be changed of one node: a name, and the change, which is made in place on the same node of a copy."""
    if isinstance(node, ast.Compare):
        for i, operator in enumerate(node.ops):
            if type(operator) in _OPPOSITES:
                yield type(operator).__name__, lambda n, i=i: n.ops.__setitem__(i, _OPPOSITES[type(n.ops[i])]())  # type: ignore[misc]
    elif isinstance(node, ast.BoolOp | ast.BinOp) and type(node.op) in _OPPOSITES:
        yield type(node.op).__name__, lambda n: setattr(n, "op", _OPPOSITES[type(n.op)]())  # type: ignore[attr-defined]
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "not", lambda n: setattr(n, "operand", ast.UnaryOp(ast.Not(), n.operand))  # type: ignore[attr-defined]
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield "bool", lambda n: setattr(n, "value", not n.value)  # type: ignore[attr-defined]
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield "number", lambda n: setattr(n, "value", n.value + 1)  # type: ignore[attr-defined]
    elif isinstance(node, ast.If | ast.IfExp | ast.While):
        yield "if", lambda n: setattr(n, "test", ast.UnaryOp(ast.Not(), n.test))  # type: ignore[attr-defined]
    elif isinstance(node, ast.Return) and node.value is not None and not isinstance(node.value, ast.Constant):
        yield "return", lambda n: setattr(n, "value", ast.Constant(None))
    elif isinstance(node, ast.Continue | ast.Break):
        yield "loop", lambda n: setattr(n, "__class__", ast.Break if isinstance(n, ast.Continue) else ast.Continue)


class _Changed(Loader):
    """Loads one module from a text; all others are found as ever."""

    def __init__(self, name: str, path: Path, text: str) -> None:
        self._name, self._path, self._text = name, path, text

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name != self._name:
            return None
        spec = PathFinder.find_spec(name, path)  # type: ignore[arg-type]
        if spec is not None:
            spec.loader = self
        return spec

    def exec_module(self, module: types.ModuleType) -> None:
        exec(compile(self._text, str(self._path), "exec"), module.__dict__)


def _passes(path: Path, text: str, tests: list[Path], timeout_s: float) -> bool:
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        sys.meta_path.insert(0, _Changed(".".join(path.with_suffix("").parts), path, text))
        import pytest

        code = pytest.main(["-x", "-q", "-n0", "-p", "no:cacheprovider", "--timeout=0", *map(str, tests)])
        os._exit(int(code))
    ends = time.monotonic() + timeout_s
    while time.monotonic() < ends:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def _load_libraries(with_torch: bool) -> None:
    """What tests import first and no project has changed, of which nothing starts a thread: a fork would not have it."""
    for name in ("numpy", "pytest", "hypothesis", "sentencex", *(("torch", "transformers") if with_torch else ())):
        importlib.import_module(name)


if __name__ == "__main__":
    sys.exit(main())
