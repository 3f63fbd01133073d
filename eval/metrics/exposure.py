"""Signs that whoever wrote the article had read the human one: its sentences, nearly word for word, and citations of it.

A system that searches the live web can find the human article, or a copy. None of these values proves that it did: two writers
quote the same words, and share a name or a title of eight words. So read them beside those of a system that cannot have read
it, on the same pages.
"""

from __future__ import annotations

from collections.abc import Iterable

from data.pages.page_urls import listed
from data.sentences import split_sentences
from eval.catalogue import directions
from eval.metric import Case
from eval.text import plain

RUN = 8
"""Words of an n-gram. A sentence that is shorter is left out: it may be the same by chance."""

NEAR = 0.5
"""From this share of its 8-grams on, a sentence is nearly word for word in the other text: one changed word in the middle
of a sentence of 24 words takes 8 of its 17 8-grams away."""

HOSTS = "leak_hosts.txt"
"""Wikimedia, its mirrors and derived sites."""

_Runs = set[tuple[str, ...]]


class Exposure:
    """
    gold_sentence_share   share of the article's sentences that are nearly word for word in the human article
    gold_said_share       share of the human article's sentences that are nearly word for word in the article
    encyclopedia_cites    share of its citations, each once a sentence, whose address is of a host in `data/leak_hosts.txt`
    All in [0, 1], None where there is nothing to count: no sentence of 8 words or more, no citation with an address.
    """

    names = directions("gold_sentence_share", "gold_said_share", "encyclopedia_cites")
    signature = f"exposure:tok=plain|n={RUN}|near={NEAR}|hosts={HOSTS}|v1"

    def score(self, case: Case) -> dict[str, float | None]:
        written = [sentence.text for sentence in case.sentences]
        human = [text for line in case.gold.prose.split("\n") for text in split_sentences(line)]
        addresses = {source.id: source.url for source in case.article.sources if source.url}
        cited = [addresses[cite] for s in case.sentences for cite in dict.fromkeys(s.cites) if cite in addresses]
        return {
            "gold_sentence_share": _share_near(written, case.gold.prose),
            "gold_said_share": _share_near(human, case.prose),
            "encyclopedia_cites": sum(bool(listed(url, HOSTS)) for url in cited) / len(cited) if cited else None,
        }


def _share_near(sentences: Iterable[str], text: str) -> float | None:
    known = _runs(text)
    found = [len(runs & known) / len(runs) >= NEAR for sentence in sentences if (runs := _runs(sentence))]
    return sum(found) / len(found) if found else None


def _runs(text: str) -> _Runs:
    words = plain(text).split()
    return {tuple(words[i : i + RUN]) for i in range(len(words) - RUN + 1)}
