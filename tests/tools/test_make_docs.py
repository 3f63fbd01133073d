"""Generated pages of docs/ are those that the code makes."""

from __future__ import annotations

import pytest

from tools.make_docs import main, pages


@pytest.mark.usefixtures("fixed_encoder")
def test_the_generated_parts_are_up_to_date_and_every_metric_and_setting_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0, capsys.readouterr().out
    settings, scores = pages().values()
    assert "| `web.allow_origins` |" in settings and "| `writing.max_words` | `1500` |" in settings
    assert "| `quality` *headline* | Quality | higher | percent |" in scores
