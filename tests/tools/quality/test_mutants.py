"""Mutants: the same ones for the same seed, each another program."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

from tools.quality.mutants import drawn_mutants

SOURCE = """
def kept(counts, least=2):
    for count in counts:
        if not count or count < least and True:
            continue
        return count + 1
"""


def test_each_change_gives_another_program_and_a_seed_draws_the_same_ones() -> None:
    drawn = drawn_mutants(SOURCE, 100, 0)
    plain = ast.unparse(ast.parse(SOURCE))
    assert {what.split()[1] for what, _ in drawn} == {"number", "if", "Or", "And", "not", "Lt", "bool", "loop", "return", "Add"}
    assert len({text for _, text in drawn} | {plain}) == len(drawn) + 1
    assert drawn_mutants(SOURCE, 4, 7) == drawn_mutants(SOURCE, 4, 7) != drawn_mutants(SOURCE, 4, 8)


def test_a_mutant_that_the_tests_see_is_killed(tmp_path: Path) -> None:
    """In a process of its own: a worker of pytest-xdist would give its children its channels."""
    path = Path("tools/quality/second_set.py")
    test = tmp_path / "test_it.py"
    test.write_text("def test_it():\n    import tools.quality.second_set as it\n    assert it.__doc__\n", encoding="utf-8")
    code = "import sys\nfrom pathlib import Path\nfrom tools.quality.mutants import _passes\n"
    code += "print([_passes(Path(sys.argv[1]), text, [Path(sys.argv[2])], 60) for text in ('\\'Told.\\'', 'told = 1')])"
    alone = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    words = [sys.executable, "-c", code, str(path), str(test)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=alone)
    assert done.stdout.split("\n")[-2] == "[True, False]"
