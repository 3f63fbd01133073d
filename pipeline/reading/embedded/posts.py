"""The posts of a forum's page, where an extractor takes them for reader comments below an article that is not there.

The programs that most forums run on name the box of a post's text; what is beside it (names, ranks, signatures) is no text.
"""

from __future__ import annotations

import re
from collections.abc import Set
from itertools import islice
from typing import TYPE_CHECKING, Any

from pipeline.reading.fragments import block_lines

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_BESIDE = ".//*[contains(concat(' ', @class, ' '), ' signature ') or contains(concat(' ', @class, ' '), ' notice ')]"
"""Within the box of a post: who it is by, and when it was changed."""
_GONE = re.compile(r"\[(?:deleted|removed)\]", re.IGNORECASE)
LEAST_POSTS = 2
MOST_POSTS = 500
_BY_CLASS = (
    ("postbody", "content"),  # phpBB
    ("message-content", "bbWrapper"),  # XenForo
    ("topic-body", "cooked"),  # Discourse
    ("crawler-post", "post"),
    ("js-post-body",),  # Stack Exchange
    ("postcontent",),  # vBulletin 4
    ("commtext",),  # Hacker News
    ("cPost_contentWrap",),  # Invision
    ("ipsType_richText",),
    ("bbp-reply-content",),  # bbPress
    ("Post-body",),  # Flarum
    ("Item-Body", "Message"),  # Vanilla
    ("entry", "usertext-body", "md"),  # Reddit, its old design
    ("post_body",),  # MyBB
    ("postarea", "inner"),  # SMF
)


def posts_of(tree: HtmlElement, hidden: Set[Any]) -> list[str]:
    """The lines of all posts in order; none where there are fewer than `LEAST_POSTS`."""
    used = {name for value in tree.xpath("//@class") for name in value.split()}
    for classes in _BY_CLASS:
        if not used.issuperset(classes):
            continue
        path = "".join(f"//*[contains(concat(' ', normalize-space(@class), ' '), ' {name} ')]" for name in classes)
        if lines := _lines(tree.xpath(path), hidden):
            return lines
    return _lines(tree.xpath("//*[starts-with(@id, 'post_message_')]"), hidden)  # vBulletin 3


def _lines(found: list[Any], hidden: Set[Any]) -> list[str]:
    boxes = set(found)
    outer = [one for one in found if one not in hidden and not any(a in boxes or a in hidden for a in one.iterancestors())]
    if len(outer) < LEAST_POSTS:
        return []
    beside = hidden | {one for post in islice(outer, MOST_POSTS) for one in post.xpath(_BESIDE)}
    return [line for post in islice(outer, MOST_POSTS) for line in block_lines(post, beside) if not _GONE.fullmatch(line)]
