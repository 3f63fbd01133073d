"""What a page's "on Thursday" means, as it was understood when an article was written from it."""

from __future__ import annotations

import calendar
import re
from datetime import date, timedelta

from data.sentences import split_sentences
from pipeline.choosing.standing_alone import with_days

_WEEKDAYS = {name.lower(): n for n, name in enumerate(calendar.day_name)}
_SAID = re.compile(rf"\b({'|'.join(_WEEKDAYS)}|yesterday|today)\b(?!,? (?:\d|[A-Z][a-z]+ \d))", re.IGNORECASE)


def with_page_days(text: str, published: str) -> str:
    """`text`, line by line, with the date in square brackets behind a weekday, "yesterday" or "today", counted back from
    `published` (YYYY-MM-DD); unchanged without one, and where a writer would not know the day either."""
    try:
        day = date.fromisoformat(published[:10])
    except ValueError:
        return text
    if not _SAID.search(text):
        return text

    def dated(match: re.Match[str]) -> str:
        word = match[1].lower()
        back = {"yesterday": 1, "today": 0}.get(word, (day.weekday() - _WEEKDAYS.get(word, 0)) % 7)
        said = day - timedelta(days=back)
        return f"{match[0]} [{said.day} {said:%B %Y}]"

    lines = []
    for line in text.split("\n"):
        sentences = split_sentences(line) if _SAID.search(line) else [line]
        lines.append(
            " ".join(_SAID.sub(dated, one) if with_days(one, published) not in ("", one) else one for one in sentences)
        )
    return "\n".join(lines)
