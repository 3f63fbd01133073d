from __future__ import annotations

import contextlib
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.errors import UserError
from data.settings import Settings, load_settings

KNOBS = [(section.name, knob.name) for section in fields(Settings) for knob in fields(section.default_factory)]  # type: ignore[arg-type]


def test_later_layers_win(tmp_path: Path) -> None:
    """default < file < --set < flag, each checked on a setting that all layers above leave alone."""
    config = tmp_path / "c.toml"
    config.write_text('[evidence]\ntrack = "cited"\nleak_filter = false\n[writing]\nmax_words = 900\n[model]\nseed = 3\n')
    found = load_settings(
        config, ["evidence.track=both", "writing.max_words=800", "writing.max_words=700"], evidence={"track": "search"}
    )
    assert (found.writing.max_sections, found.evidence.leak_filter, found.writing.max_words) == (8, False, 700)
    assert (found.model.seed, found.evidence.track) == (3, "search")
    assert load_settings() == Settings() == load_settings(None, (), model={"name": None}, evidence={})
    assert load_settings(None, ["evidence.languages=en,de,"]).evidence.languages == ("en", "de")


@pytest.mark.parametrize(("section", "knob"), KNOBS)
def test_every_setting_can_be_set(section: str, knob: str) -> None:
    """To its own default, written as text: so each is reachable and no range shuts out the default."""
    default = getattr(getattr(Settings(), section), knob)
    text = ",".join(default) if isinstance(default, tuple) else str(default)
    assert load_settings(None, [f"{section}.{knob}={text}"]) == Settings()


@pytest.mark.parametrize(
    ("assignment", "told"),
    [
        ("", "section.key=value"),
        ("=8", "section.key=value"),
        ("writing.max_word=8", "did you mean 'max_words'?"),
        ("colour.top=1", "known: model, decoding, evidence, web, retrieval, writing, evaluation"),
        ("retrieval.top_k=", "retrieval.top_k = ''"),
        ("retrieval.top_k=2.5", "retrieval.top_k = '2.5'"),
        ("writing.unsupported=delete", "writing.unsupported = 'delete'"),
        ("retrieval.passage_words=19", "retrieval.passage_words = 19 is too small; the least is 20"),
        ("model.temperature=nan", "model.temperature = nan"),
    ],
)
def test_wrong_assignments(assignment: str, told: str) -> None:
    with pytest.raises(UserError) as caught:
        load_settings(None, [assignment])
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[writing]\nmax_words = 12.5", "writing.max_words = 12.5"),
        ("[[writing]]\nmax_words = 500", "writing must be a table"),
        ("[evidence]\nlanguages = 'en'", "evidence.languages = 'en'"),
        ("[writing.max_words]\nx = 1", "writing.max_words"),
        ("[writing", "is not TOML"),
    ],
)
def test_wrong_files_and_flags(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "c.toml").write_text(text)
    with pytest.raises(UserError) as caught:
        load_settings(tmp_path / "c.toml")
    assert told in str(caught.value)
    with pytest.raises(UserError, match=r"cannot read --config .*: Is a directory"):
        load_settings(tmp_path)
    with pytest.raises(UserError, match="--top-k: retrieval has no setting"):
        load_settings(None, (), retrieval={"top-k": 3})


@given(st.text(max_size=40))
def test_any_text_is_set_or_refused(text: str) -> None:
    with contextlib.suppress(UserError):
        load_settings(None, [text])
