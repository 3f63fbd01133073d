"""What an article states and cites, whatever it was written in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal
from urllib.parse import unquote

from data.sentences import split_sentences
from data.types import Strict

MARK, END, NOTE, GAP = "\ue000", "\ue001", "\ue002", "\ue003"
"""Around the number of a reference, a footnote or an unread template, in text that is not cut into sentences yet: private-use
characters."""
OWN_MARKS = re.compile(rf"[{MARK}-\ue004]")
_MARKS = re.compile(rf"{MARK}(\d+){END}")
_GAPS = re.compile(rf"{GAP}(\d+){END}")
_ALL = re.compile(rf"[{MARK}{NOTE}{GAP}]\d+{END}")
_AFTER = re.compile(rf'(?<![.!?])([.!?]++)(["”’)\]]*)((?:\s*[{MARK}{NOTE}{GAP}]\d+{END})+)(\s+(?=["“‘(]*[^\W\d_]))?')
_LEADING = re.compile(rf"\A((?:\s*{MARK}\d+{END})+)\s*")
UNREAD = re.compile(
    r"(?:references?|notes?(?: and references)?|references and notes|citations?|sources|footnotes|bibliography|works cited"
    r"|external links|see also|further reading|sources disagree|how this draft was made|contents|navigation menu"
    r"|explanatory notes|citations and notes|notes and citations|cited works|cited sources|general references|endnotes"
    r"|selected bibliography|einzelnachweise|weblinks|literatur|siehe auch|anmerkungen|quellen|fußnoten|références"
    r"|notes et références|notes|annexes|bibliographie|voir aussi|liens externes|articles connexes"
    r"|sources et références|referencias|notas|enlaces externos|véase también|bibliografía|note|bibliografia"
    r"|collegamenti esterni|voci correlate|referências|ver também|ligações externas|referenties|externe links|bronnen"
    r"|bronnen, noten en/of referenties|zie ook|przypisy|linki zewnętrzne|källor|externa länkar|se även|примечания"
    r"|литература|ссылки|см\. также)",
    re.IGNORECASE,
)
"""Headings of sections that state nothing, with all that lies below them."""
_WORD = re.compile(r"\w")
FILE = "file:"
PAGE_ENDINGS = (".html", ".htm", ".xhtml", ".txt", ".md", ".pdf")
"""Of files that may be cited as pages."""
_NOTICE = re.compile(r"\W*Machine-written draft\b")
"""How the notice of this package's own articles begins (`pipeline.formats`): it states nothing about the subject."""
ReferenceKind = Literal["", "book", "article", "template", "undefined", "broken"]


@dataclass(frozen=True, slots=True)
class Reference(Strict):
    """`passage` is the text itself, where the article brings it along; then nothing has to be fetched.

    `url` may be empty: `kind` says what it is then. A `template` is one that nothing is known of, an `undefined` reference a
    name that the article gives no source, a `broken` one markup that names no source. `page` is the place in the work.
    """

    omitted_if_empty: ClassVar[frozenset[str]] = frozenset({"kind", "page"})
    url: str
    title: str = ""
    archive_url: str = ""
    published: str = ""
    passage: str = ""
    kind: ReferenceKind = ""
    page: str = ""


@dataclass(frozen=True, slots=True)
class Place(Strict):
    """Where the article's wikitext cites: from `start` to `end`, in characters. `inside` is where a remark on the source itself
    belongs, within the reference or its definition; -1 where there is no such place."""

    reference: int
    start: int
    end: int
    inside: int = -1


@dataclass(frozen=True, slots=True)
class CitedStatement(Strict):
    """`references` are places in the article's list. Without a citation of its own a sentence has that of the next sentence of
    its paragraph that has one, as editors place them, and `inherits`. `gaps` are templates in it that were not read."""

    omitted_if_empty: ClassVar[frozenset[str]] = frozenset({"gaps", "places"})
    text: str
    section: str
    references: tuple[int, ...]
    inherits: bool = False
    gaps: tuple[str, ...] = ()
    places: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True)
class CitedArticle(Strict):
    """`source` is the wikitext that `places` of statements point into, "" for other forms."""

    title: str
    form: str
    statements: tuple[CitedStatement, ...]
    references: tuple[Reference, ...]
    source: str = ""


def page_address(address: str, *, local: bool = False) -> str:
    """`address` where it leads to a page that can be cited, else "". With `local` that may be a file beside the article, by a
    relative path or with `file:`: its address is `file:` and the path."""
    if address.startswith(("http://", "https://")):
        return address
    path = unquote(address.strip().removeprefix(FILE).partition("#")[0]).removeprefix("./")
    if not local or not path.lower().endswith(PAGE_ENDINGS) or "://" in path or "\0" in path or path.startswith("//"):
        return ""
    return FILE + path


FILE_LINK = re.compile(
    r"\[((?:file:)?(?!//)[^\s\[\]<>\"|\ue000-\ue00f]+\.(?:html?|xhtml|txt|md|pdf)(?:#[^\s\[\]]*)?)(?:[^\S\n]+([^\[\]\n]*))?\]",
    re.IGNORECASE,
)
"""Wikitext's external link to a file beside the article, which MediaWiki itself shows as it is written."""


class References:
    """References gathered while an article is read, each kept once, and where each is used. A mark is the number of a use.
    `local`: files beside the article are pages, too."""

    def __init__(self, *, local: bool = False) -> None:
        self.local = local
        self._places: dict[Reference, int] = {}
        self._found: list[Reference] = []
        self._uses: list[Place] = []
        self._gaps: list[str] = []

    @property
    def found(self) -> tuple[Reference, ...]:
        return tuple(self._found)

    def address(self, address: str) -> str:
        """As `page_address`."""
        return page_address(address, local=self.local)

    def mark(self, reference: Reference, start: int = -1, end: int = -1, inside: int = -1) -> str:
        at = self._places.setdefault(reference, len(self._found))
        if at == len(self._found):
            self._found.append(reference)
        self._uses.append(Place(at, start, end, inside))
        return f"{MARK}{len(self._uses) - 1}{END}"

    def gap(self, name: str) -> str:
        """The mark of a template that is not read."""
        self._gaps.append(name)
        return f"{GAP}{len(self._gaps) - 1}{END}"

    def on_page(self, mark: str, page: str) -> str:
        """The same use of the same work, at another place in it."""
        use = self._uses[int(mark[1:-1])]
        reference = replace(self._found[use.reference], page=page)
        return self.mark(reference, use.start, use.end, use.inside)

    def uses_in(self, text: str) -> tuple[Place, ...]:
        return tuple(self._uses[int(n)] for n in _MARKS.findall(text))

    def gaps_in(self, text: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self._gaps[int(n)] for n in _GAPS.findall(text)))


def statements_of(paragraph: str, section: str, references: References) -> list[CitedStatement]:
    """The sentences of one paragraph whose references are in it as marks."""
    if _NOTICE.match(paragraph):
        return []
    text = _AFTER.sub(_before_stop, " ".join(paragraph.split()))
    found: list[CitedStatement] = []
    for sentence in split_sentences(text):
        if found and (late := _LEADING.match(sentence)):  # marks that the splitter left to the next sentence
            found[-1] = _with(found[-1], references.uses_in(late[1]))
            sentence = sentence[late.end() :]
        words = _tidy(_ALL.sub("", sentence))
        uses = references.uses_in(sentence)
        if len(_WORD.findall(words)) > 3 and not words.startswith(("{{", "{|")):
            statement = CitedStatement(words, section, (), gaps=references.gaps_in(sentence))
            found.append(_with(statement, uses))
        elif found:
            found[-1] = _with(found[-1], uses)
    return _inherited(found)


def row_statement(words: str, section: str, uses: Sequence[Place], gaps: tuple[str, ...]) -> CitedStatement:
    """A row of a table or a box, whose references are its own: rows below do not lend it theirs."""
    return _with(CitedStatement(_tidy(words), section, (), gaps=gaps), uses)


def without_marks(text: str) -> str:
    return _tidy(re.sub(r"'{2,}", "", _ALL.sub("", text)))


def _before_stop(match: re.Match[str]) -> str:
    """The marks before the full stop that they follow. After `.)` and `."` a sentence ends if something was cited there, and a
    new word begins; the splitter does not know that."""
    stop, closing, marks, space = match[1], match[2], re.sub(r"\s", "", match[3]), match[4] or ""
    ends = bool(closing and space) and match.string[match.end() :].lstrip('"“‘(')[:1].isupper()
    return f"{marks}{stop}{closing}" + ("\n" if ends else space)


def _tidy(words: str) -> str:
    words = " ".join(words.split())
    return re.sub(r" ([.,;:)])(?=\s|\Z)", r"\1", words).replace("( ", "(").replace(" ()", "").replace("()", "")


def _with(statement: CitedStatement, more: Sequence[Place]) -> CitedStatement:
    numbers = tuple(dict.fromkeys((*statement.references, *(use.reference for use in more))))
    places = (*statement.places, *(use for use in more if use.start >= 0))
    return replace(statement, references=numbers, places=places)


def _inherited(statements: Sequence[CitedStatement]) -> list[CitedStatement]:
    found: list[CitedStatement] = []
    following: tuple[int, ...] = ()
    for statement in reversed(statements):
        if statement.references:
            following = statement.references
            found.append(statement)
        else:
            found.append(replace(statement, references=following, inherits=bool(following)))
    return found[::-1]
