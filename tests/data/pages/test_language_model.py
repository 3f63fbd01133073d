from __future__ import annotations

import pytest
from py3langid.langid import LanguageIdentifier

from data.errors import UserError
from data.pages import languages


def test_a_full_disk_is_named_where_the_language_model_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(LanguageIdentifier, "from_model_file", full)
    languages._identifier.cache_clear()
    with pytest.raises(UserError, match=r"No space left on device; make room there, or set TMPDIR"):
        languages.identify_language("The dam failed.")
