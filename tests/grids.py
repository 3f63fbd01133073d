"""Which cases of a grid run each time. The whole of it is for the longer run (`make test-all`)."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

import pytest


def rest_slow(values: Iterable[Any], keep: Container[Any]) -> list[Any]:
    """All the values as parameters, in their order; those not in `keep` are marked slow. A tuple is several parameters."""
    return [
        value if value in keep else pytest.param(*value if isinstance(value, tuple) else [value], marks=pytest.mark.slow)
        for value in values
    ]
