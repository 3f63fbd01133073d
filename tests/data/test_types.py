from __future__ import annotations

from dataclasses import FrozenInstanceError, fields, is_dataclass

import pytest

from data import types

VALUES = [kind for kind in vars(types).values() if isinstance(kind, type) and is_dataclass(kind)]


@pytest.mark.parametrize("kind", VALUES, ids=lambda kind: kind.__name__)
def test_values_can_be_shared_because_they_cannot_change(kind: type) -> None:
    """Frozen, and hashable throughout: no list or dict in any field."""
    value = kind(**{field.name: "x" for field in fields(kind)})
    with pytest.raises(FrozenInstanceError):
        setattr(value, fields(kind)[0].name, "y")
    assert not hasattr(value, "__dict__")
    assert not [field.name for field in fields(kind) if str(field.type).startswith(("list", "dict", "set"))]
