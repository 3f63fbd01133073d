"""Statements of research agents beside the page that each cites, labelled by reading. Labels ship, texts do not.

A label names its statement by the article, the place of the sentence and hashes; `rows` finds the texts in a folder of
articles, as `wikigenben agents` takes it, and makes of them the pairs that `eval.cards.judge_accuracy` counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from data import codec, wikigenbench
from data.errors import UserError
from data.types import Article, Sentence, Source, Strict, is_unknown
from eval.cards.judge_accuracy import Row
from eval.cards.told_accuracy import short_hash
from eval.metrics.citations import Premises

FILE = Path(__file__).with_name("agent_statements.jsonl")

Label = Literal["supported", "partly", "not", ""]


@dataclass(frozen=True, slots=True)
class Statement(Strict):
    """`place` is that of the sentence in the article, `sentence`, `page` and `url` are `short_hash` of its text, of the cited
    page's text and of its address. `wrong` are characters of the sentence that the page does not support. `usable` is False
    where what was fetched is no page on the subject (an error, a menu, a wall): then nothing can support. `second`: a second
    reading, "" where there was none. `half`: may something be chosen on it, or is it looked at once?"""

    id: str
    event: str
    agent: str
    place: int
    sentence: str
    page: str
    url: str
    half: Literal["choose", "once"]
    label: Label = ""
    wrong: tuple[tuple[int, int], ...] = ()
    usable: bool = True
    second: Label = ""


def read_statements(path: Path = FILE) -> list[Statement]:
    """Raises UserError for a line that is none."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read {path} ({error}); it comes with the package") from None
    return [codec.from_json(Statement, line, where=f"{path}:{n}") for n, line in enumerate(lines, 1)]


def citing_one(article: Article) -> Iterator[tuple[int, Sentence, Source]]:
    """Sentences that cite one source whose text is known, with their places."""
    sources = {source.id: source for source in article.sources}
    at = -1
    for section in article.all_sections:
        for sentence in section.sentences:
            at += 1
            cites = dict.fromkeys(sentence.cites)
            if len(cites) == 1 and (source := sources.get(next(iter(cites)))) is not None and not is_unknown(source):
                yield at, sentence, source


def rows(statements: Sequence[Statement], articles: Path) -> tuple[list[Row], int]:
    """The pairs of those statements whose article is in `articles/<agent>/<event>.json`, as scoring shows them to a judge, and
    how many have none, or another text. Raises UserError where none is there."""
    found, n_absent = [], 0
    read: dict[tuple[str, str], dict[int, tuple[Sentence, Source]]] = {}
    for one in statements:
        key = (one.agent, one.event)
        if key not in read:
            path = articles / one.agent / f"{one.event}.json"
            article = wikigenbench.read(path, one.event, "") if path.is_file() else None
            read[key] = {at: (sentence, source) for at, sentence, source in citing_one(article)} if article else {}
        sentence, source = read[key].get(one.place, (None, None))
        if sentence is None or source is None or not is_its(one, sentence, source):
            n_absent += 1
        elif one.label:
            found.append(Row(one.id, one.label, Premises([source]).pair([source.id], sentence.text)))
    if not found:
        raise UserError(
            f"{articles} holds none of the {len(statements)} labelled statements; name the folder with a folder an agent "
            "(docs/benchmark.md says where they come from)"
        )
    return found, n_absent


def is_its(one: Statement, sentence: Sentence, source: Source) -> bool:
    return short_hash(sentence.text) == one.sentence and short_hash(source.passage.text) == one.page
