"""Imported by the server process of `tests.killed_run` only."""

import s3fs  # noqa: F401  # what a run at a URL is carried with

from tests.killed_run import warm_up

warm_up()
