"""Which queries are put to a search engine: the title and questions about it first, then what the first pages call for.

One query finds what is in pages that use the title's words. Questions (who, what, when, where), the headings that
articles of its kind have, and names that several sources mention find the others. Everything here is a function of its
arguments, so that a run can be repeated.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from pathlib import Path

from data.errors import UserError
from data.pages.page_urls import host_of
from data.passages import cut_passages
from data.types import Page
from pipeline.choosing.candidates import sentence_texts
from pipeline.choosing.facts import names
from pipeline.planning.kinds import Kind, KindRecogniser, load_kinds
from pipeline.retrieval import terms
from pipeline.web.search.provider import plain_query

QUESTIONS = ("who", "what", "when", "where")
MAX_ENTITIES = 5
MAX_HEADINGS = 5
MIN_SOURCES = 2
"""Independent sources that must mention a name before it is searched for."""
SEVERAL_WORDS = 1.5
_MAX_NAME_WORDS = 5
_JOINING = frozenset(["of", "the", "de", "la", "le", "du", "da", "del", "van", "von", "al", "bin", "y", "e"])
"""What may join the words of a name (see `facts.names`), and neither begins nor ends one."""
_OPENING_SENTENCES = 3
_PASSAGE_WORDS = 120


def first_queries(title: str) -> tuple[str, ...]:
    """The title itself, then the title with who, what, when and where in the words of its kind. Raises UserError if empty."""
    subject = plain_query(title)
    if not subject:
        raise UserError(f"the title {title!r} holds no word to search for; give the subject of the article")
    kind = kind_by_title(title)
    questions = _bank().questions[kind.name if kind else ""]
    return _distinct([subject, *(f"{subject} {questions[question]}" for question in QUESTIONS)], ())


def second_queries(
    title: str, pages: Sequence[Page], known: Collection[str], *, recogniser: KindRecogniser | None = None
) -> tuple[str, ...]:
    """Queries that the pages of the first round call for: names that recur in them, then the headings of the kind.

    `known` are queries asked before. The kind is recognised from title and pages with `recogniser`, from the title alone
    without; a title that says no kind brings no headings then.
    """
    usable = [page for page in pages if page.usable]
    if recogniser is not None:
        kind: Kind | None = recogniser.recognise(title, _opening(usable), pages=pages)
    else:
        kind = kind_by_title(title)
    subject = plain_query(title)
    entities = [f"{subject} {name}" for name in recurring_names(title, usable)[:MAX_ENTITIES]]
    headings = [f"{subject} {heading}" for heading in _new_headings(kind, known)[:MAX_HEADINGS]] if kind else []
    return _distinct([*entities, *headings], known)


def kind_by_title(title: str) -> Kind | None:
    """The kind whose pattern matches last in the title, where English has the noun that says what a thing is; None if none.

    "Station Road fire" is a fire and "Fire Station Road" a road; a bracket at the end outranks all else.
    """
    best: tuple[int, Kind] | None = None
    for kind in load_kinds():
        end = max((found.end() for says in (kind.title, kind.certain) for found in says.finditer(title)), default=-1)
        if end >= 0 and (best is None or end > best[0]):
            best = (end, kind)
    return best[1] if best else None


def search_window(as_of: str) -> tuple[date | None, date | None]:
    """`since` and `until` of the searches for an article as of a day (`YYYY-MM-DD`, "" for today).

    There is no `since`: pages on its causes were published before it. Raises UserError for anything but a date.
    """
    if not as_of:
        return None, None
    try:
        return None, date.fromisoformat(as_of)
    except ValueError:
        raise UserError(f"web.as_of = {as_of!r} is not a day; write it as --set web.as_of=2024-06-30") from None


def recurring_names(title: str, pages: Sequence[Page]) -> list[str]:
    """Names that several independent sources mention and the title does not hold, the most widely mentioned first.

    A source is a host: pages that repeat each other across hosts have been dropped as duplicates before. Names of several
    words count for more: those of one are countries and nationalities as often as subjects.
    """
    sources: dict[str, set[str]] = {}
    mentions: Counter[str] = Counter()
    for n, page in enumerate(pages):
        source = host_of(page.url) or str(n)
        for passage in cut_passages([page], words=_PASSAGE_WORDS, overlap=0):
            for sentence in sentence_texts(passage):
                for name in {part for whole in names(sentence) for part in _with_parts(whole)}:
                    sources.setdefault(name, set()).add(source)
                    mentions[name] += 1
    title_terms, own_hosts = set(terms(title)), {host_of(page.url) for page in pages}
    found = [
        name for name, hosts in sources.items() if len(hosts) >= MIN_SOURCES and _is_worth_asking(name, title_terms, own_hosts)
    ]
    weight = {name: len(sources[name]) * (SEVERAL_WORDS if " " in name else 1.0) for name in found}
    ordered = sorted(found, key=lambda name: (-weight[name], -len(name.split()), -mentions[name], name))
    return _without_parts(ordered)


def _with_parts(name: str) -> list[str]:
    """The name and the runs of two and more words in it: "Mayor Irena Holt" mentions Irena Holt."""
    words = name.split()
    runs = [words[at : at + n] for n in range(2, len(words)) for at in range(len(words) - n + 1)]
    return [name, *(" ".join(run) for run in runs if not {run[0], run[-1]} & _JOINING)]


def _is_worth_asking(name: str, title_terms: set[str], hosts: set[str]) -> bool:
    words = name.split()
    bare = name.removeprefix("the ")
    return (
        len(words) <= _MAX_NAME_WORDS
        and bare not in _bank().furniture
        and not set(terms(name)) <= title_terms
        and not any(bare.replace(" ", "") in host for host in hosts if len(bare) > 3)
        and not any(character.isdigit() for character in name)
    )


def _without_parts(ordered: Sequence[str]) -> list[str]:
    """Without names that mostly repeat one before: all words of either in the other ("Holt's" after "Irena Holt"), or two."""
    kept: dict[str, set[str]] = {}
    for name in ordered:
        words = set(terms(name))
        if not any(words <= other or other <= words or len(words & other) > 1 for other in kept.values()):
            kept[name] = words
    return list(kept)


def _opening(pages: Sequence[Page]) -> list[str]:
    passages = [passage for page in pages[:_OPENING_SENTENCES] for passage in cut_passages([page], words=_PASSAGE_WORDS)[:1]]
    return [sentence for passage in passages for sentence in sentence_texts(passage)[:1]]


def _new_headings(kind: Kind, known: Collection[str]) -> list[str]:
    """Headings whose words no query has asked for."""
    asked = {term for query in known for term in terms(query)}
    return [section.heading for section in kind.sections if not set(terms(section.heading)) <= asked]


def _distinct(queries: Sequence[str], known: Collection[str]) -> tuple[str, ...]:
    seen = {plain_query(query).casefold() for query in known}
    kept = []
    for query in map(plain_query, queries):
        if query.casefold() not in seen:
            seen.add(query.casefold())
            kept.append(query)
    return tuple(kept)


@dataclass(frozen=True, slots=True)
class _Bank:
    """`questions` maps the name of a kind ("" for none) and who, what, when, where to what a query adds to the title."""

    questions: Mapping[str, Mapping[str, str]]
    furniture: frozenset[str]


@lru_cache(maxsize=1)
def _bank() -> _Bank:
    tables = tomllib.loads((Path(__file__).parent / "questions.toml").read_text(encoding="utf-8"))
    questions = {kind: group for group in tables["group"] for kind in group["kinds"]}
    furniture = tables["furniture"]["names"].replace("\n", "|").split("|")
    return _Bank({"": tables["other"], **questions}, frozenset(furniture) - {""})
