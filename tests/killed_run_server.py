"""Imported by the server process of `tests.killed_run` only."""

from tests.killed_run import warm_up

warm_up()
