"""Pages to be cleaned: two stories, and as many words as are wanted."""

from __future__ import annotations

import random

from data.pages.cleaning import Extracted, clean_pages
from data.types import Page

STORY = (
    "The Grenmark dam failed on the morning of 4 May 2031 after a week of rain, and the valley was flooded within an hour.\n"
    "Engineers had warned in two reports that the spillway gates could no longer be opened fully by their motors.\n"
    "The town of Ostrel counted eleven dead and three missing, most of them from the streets near the old mill.\n"
    "The mayor, Hanne Brucker, said that the siren was heard in the upper quarters only, and that neighbours had warned her.\n"
    "The regional court opened an inquiry on 9 May, and its first hearing was set for the second week of June."
)
OTHER = (
    "A record crowd of 47,000 watched the final of the cup in Carrow, which went to extra time after two late goals.\n"
    "The winning team had been promoted only a year before and had never reached the last four of the competition.\n"
    "Their captain said that nobody in the dressing room had expected to come back after the first half of the match.\n"
    "The police reported a quiet evening in the city, with a handful of arrests and no injuries near the stadium.\n"
    "A parade through the old town was announced for the following Sunday by the office of the mayor of Carrow."
)


def text_page(text: str, *, url: str = "https://news.example/a", title: str = "T", published: str | None = None) -> Extracted:
    return Extracted(url=url, title=title, text=text, origin="search", published=published, media="html")


def judge(*pages: Extracted, languages: tuple[str, ...] = ("en",)) -> tuple[Page, ...]:
    return clean_pages(pages, leak=None, leak_hosts=True, languages=languages)


def words(n: int, seed: int) -> str:
    """A text of n words that shares no five-word run with other seeds; sentences of 15 words."""
    rng = random.Random(seed)
    names = [
        "river", "council", "bridge", "crowd", "engineer", "report", "valley", "train", "voter", "winter", "market", "harbour",
    ]  # fmt: skip
    made = [f"{rng.choice(names)}{rng.randrange(1000)}" if i % 3 else "the" for i in range(n)]
    return " ".join(w.capitalize() if i % 15 == 0 else w + "." if i % 15 == 14 else w for i, w in enumerate(made))


def bare(text: str) -> str:
    return " ".join("".join(c for c in text.lower() if c.isalnum() or c.isspace()).split())
