"""Mutants: the same ones for the same seed, each another program."""

from __future__ import annotations

import ast
from pathlib import Path

from tools.quality import mutants
from tools.quality.mutants import drawn_mutants

SOURCE = """
def kept(counts, least=2):
    for count in counts:
        if not count or count < least and True:
            continue
        return count + 1
"""


def test_each_change_gives_another_program() -> None:
    drawn = drawn_mutants(SOURCE, 100, 0)
    plain = ast.unparse(ast.parse(SOURCE))
    assert {what.split()[1] for what, _ in drawn} == {"number", "if", "Or", "And", "not", "Lt", "bool", "loop", "return", "Add"}
    assert len({text for _, text in drawn} | {plain}) == len(drawn) + 1


def test_a_seed_draws_the_same_ones() -> None:
    assert drawn_mutants(SOURCE, 4, 7) == drawn_mutants(SOURCE, 4, 7) != drawn_mutants(SOURCE, 4, 8)


def test_a_mutant_that_the_tests_see_is_killed(tmp_path: Path) -> None:
    path = Path("tools/quality/second_set.py")
    test = tmp_path / "test_it.py"
    test.write_text("def test_it():\n    import tools.quality.second_set as it\n    assert it.__doc__\n", encoding="utf-8")
    assert mutants._passes(path, '"""Told."""\n', [test], 60)
    assert not mutants._passes(path, "told = 1\n", [test], 60)
