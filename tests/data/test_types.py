from __future__ import annotations

from dataclasses import FrozenInstanceError, fields, is_dataclass
from typing import get_args

import pytest

from data import types
from data.types import DROP_REASONS, Article, DropReason, Heading, Page, Passage, Section, Sentence, Source


def test_a_passage_is_named_by_its_place() -> None:
    assert Passage(page=3, start=1200, end=1290, text="x" * 90).id == "3:1200-1290"
    assert Source(Passage(0, 0, 2, "ab"), "https://a.example/", "A", None).id == "0:0-2"


def test_a_page_is_usable_unless_it_was_dropped() -> None:
    page = Page(url="https://a.example/", title="A", text="", origin="search")
    assert page.usable
    for reason in get_args(DropReason):
        assert not Page(url="", title="", text="Long text.", origin="cited", drop_reason=reason).usable
    assert get_args(DropReason) == DROP_REASONS and len(set(DROP_REASONS)) == len(DROP_REASONS)


def test_the_lead_comes_before_the_sections() -> None:
    a, b, c = (Sentence(text, ()) for text in "abc")
    lead = Section(Heading("", level=1), ((a,),))
    body = Section(Heading("Cause"), ((b, c), (), (a,)))
    article = Article("1", "A fire", lead, (body,), (), ())
    assert article.all_sections == (lead, body)
    assert body.sentences == (b, c, a)
    assert body.heading.level == 2


VALUES = [kind for kind in vars(types).values() if isinstance(kind, type) and is_dataclass(kind)]


@pytest.mark.parametrize("kind", VALUES, ids=lambda kind: kind.__name__)
def test_values_can_be_shared_because_they_cannot_change(kind: type) -> None:
    """Frozen, and hashable throughout: no list or dict in any field."""
    value = kind(**{field.name: "x" for field in fields(kind)})
    with pytest.raises(FrozenInstanceError):
        setattr(value, fields(kind)[0].name, "y")
    assert not hasattr(value, "__dict__")
    assert not [field.name for field in fields(kind) if str(field.type).startswith(("list", "dict", "set"))]
