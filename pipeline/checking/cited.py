"""What an article states and cites, whatever it was written in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote

from data.sentences import split_sentences
from data.types import Strict

MARK, END = "\ue000", "\ue001"
"""Around the number of a reference, in text that is not cut into sentences yet: private-use characters."""
_MARKS = re.compile(f"{MARK}(\\d+){END}")
_AFTER = re.compile(f'([.!?]["”’)\\]]*)((?:\\s*{MARK}\\d+{END})+)')
_LEADING = re.compile(f"\\A((?:\\s*{MARK}\\d+{END})+)\\s*")
UNREAD = re.compile(
    r"(?:references?|notes?(?: and references)?|citations?|sources|footnotes|bibliography|works cited|external links|see also|"
    r"further reading|sources disagree|how this draft was made|contents|navigation menu)",
    re.IGNORECASE,
)
"""Headings of sections that state nothing."""
_WORD = re.compile(r"\w")
FILE = "file:"
PAGE_ENDINGS = (".html", ".htm", ".xhtml", ".txt", ".md", ".pdf")
"""Of files that may be cited as pages."""
_NOTICE = re.compile(r"\W*Machine-written draft\b")
"""How the notice of this package's own articles begins (`pipeline.formats`): it states nothing about the subject."""


@dataclass(frozen=True, slots=True)
class Reference(Strict):
    """`passage` is the text itself, where the article brings it along; then nothing has to be fetched. `url` may be empty: a
    book."""

    url: str
    title: str = ""
    archive_url: str = ""
    published: str = ""
    passage: str = ""


@dataclass(frozen=True, slots=True)
class CitedStatement(Strict):
    """`references` are places in the article's list. Without a citation of its own a sentence has that of the next sentence of
    its paragraph that has one, as editors place them, and `inherits`."""

    text: str
    section: str
    references: tuple[int, ...]
    inherits: bool = False


@dataclass(frozen=True, slots=True)
class CitedArticle(Strict):
    title: str
    form: str
    statements: tuple[CitedStatement, ...]
    references: tuple[Reference, ...]


def page_address(address: str, *, local: bool = False) -> str:
    """`address` where it leads to a page that can be cited, else "". With `local` that may be a file beside the article, by a
    relative path or with `file:`: its address is `file:` and the path."""
    if address.startswith(("http://", "https://")):
        return address
    path = unquote(address.strip().removeprefix(FILE).partition("#")[0]).removeprefix("./")
    if not local or not path.lower().endswith(PAGE_ENDINGS) or "://" in path or "\0" in path or path.startswith("//"):
        return ""
    return FILE + path


@dataclass
class References:
    """References gathered while an article is read, each kept once. `local`: files beside the article are pages, too."""

    found: list[Reference] = field(default_factory=list)
    local: bool = False

    def address(self, address: str) -> str:
        """As `page_address`."""
        return page_address(address, local=self.local)

    def mark(self, reference: Reference) -> str:
        if reference not in self.found:
            self.found.append(reference)
        return f"{MARK}{self.found.index(reference)}{END}"


def statements_of(paragraph: str, section: str) -> list[CitedStatement]:
    """The sentences of one paragraph whose references are in it as marks."""
    if _NOTICE.match(paragraph):
        return []
    text = _AFTER.sub(lambda match: re.sub(r"\s", "", match[2]) + match[1], " ".join(paragraph.split()))
    found: list[CitedStatement] = []
    for sentence in split_sentences(text):
        if found and (late := _LEADING.match(sentence)):  # marks that the splitter left to the next sentence
            found[-1] = _with(found[-1], _numbers(late[1]))
            sentence = sentence[late.end() :]
        words = " ".join(_MARKS.sub("", sentence).split()).replace(" .", ".").replace(" ,", ",")
        if len(_WORD.findall(words)) > 3 and not words.startswith(("{{", "{|")):
            found.append(CitedStatement(words, section, _numbers(sentence)))
        elif found:
            found[-1] = _with(found[-1], _numbers(sentence))
    return _inherited(found)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(dict.fromkeys(map(int, _MARKS.findall(text))))


def _with(statement: CitedStatement, more: Sequence[int]) -> CitedStatement:
    return CitedStatement(statement.text, statement.section, tuple(dict.fromkeys((*statement.references, *more))))


def _inherited(statements: Sequence[CitedStatement]) -> list[CitedStatement]:
    found: list[CitedStatement] = []
    following: tuple[int, ...] = ()
    for statement in reversed(statements):
        if statement.references:
            following = statement.references
            found.append(statement)
        else:
            found.append(CitedStatement(statement.text, statement.section, following, inherits=bool(following)))
    return found[::-1]
