"""Which other event of the data replaces an event: the one with the most similar title."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from eval.text import content_words


def sibling_of(event_id: str, titles: Mapping[str, str]) -> str | None:
    """The id in `titles` whose title shares most content words with the event's, by Jaccard; among equals, and where no title
    shares a word, a hash of both ids decides. None where there is no other event."""

    def nearness(other: str) -> tuple[float, str]:
        a, b = set(content_words(titles[event_id])), set(content_words(titles[other]))
        shared = len(a & b) / len(a | b) if a | b else 0.0
        return shared, hashlib.sha256(f"{event_id}:{other}".encode()).hexdigest()

    return max((other for other in titles if other != event_id), key=nearness, default=None)
