"""Pages that share their words: with the human article, or with each other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from data.pages.cleaning import clean_pages, overlap
from data.pages.duplicates import clusters
from tests.data.page_texts import OTHER, STORY, judge, text_page, words

# --- leaks


@pytest.mark.parametrize(("copied", "flagged", "dropped"), [(20, False, False), (70, True, False), (140, True, True)])
def test_leak_thresholds(copied: int, flagged: bool, dropped: bool) -> None:
    article = words(1000, seed=7)
    text = words(2000, seed=8) + " " + " ".join(article.split()[100 : 100 + copied])
    (found,) = clean_pages([text_page(text)], leak=overlap(article), leak_hosts=True)
    assert ("leak_flag" in found.flags) == flagged and (found.drop_reason == "leak_text") == dropped
    assert clean_pages([text_page(text)], leak=None, leak_hosts=True)[0].usable
    long = words(3000, seed=9)  # of which a page that is nothing else is a leak, however small its part
    (found,) = clean_pages([text_page(" ".join(long.split()[500:700]))], leak=overlap(long), leak_hosts=True)
    assert found.drop_reason == "leak_text"


# --- duplicates


def edited(text: str, every: int) -> str:
    return " ".join("changed" if i % every == every - 1 else word for i, word in enumerate(text.split()))


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (words(300, 1), words(300, 1).upper(), True),
        (words(300, 1), edited(words(300, 1), 60), True),
        (words(300, 1), edited(words(300, 1), 8), False),
        (words(150, 1), words(150, 1) + " " + words(400, 2), True),
        (words(90, 1), words(90, 1) + " " + words(400, 2), False),
        (words(300, 1), words(300, 2), False),
    ],
)
def test_duplicates(a: str, b: str, same: bool) -> None:
    for first, second in ((a, b), (b, a)):
        pages = judge(text_page(first, url="https://a.example/1"), text_page(second, url="https://b.example/2"), languages=())
        assert [p.drop_reason for p in pages].count("duplicate") == same
        assert sum(p.usable for p in pages) == 2 - same


def test_pages_that_have_or_name_one_address_are_one_page() -> None:
    first, second = "https://www.news.example/a/?utm_source=x&id=1#top", "http://news.example/a?id=1&fbclid=2"
    pages = judge(text_page(STORY, url=first), text_page(OTHER, url=second))
    assert sorted(p.drop_reason or "" for p in pages) == ["", "duplicate"]
    made = [text_page(words(100, k), url=f"https://amp{k}.news.example/x") for k in range(3)]
    made = [replace(page, canonical=f"https://news.example/{'story' if k else 'other'}") for k, page in enumerate(made)]
    made.append(text_page(words(100, 9), url="http://www.news.example/story?utm_source=x"))
    assert [p.duplicate_of for p in judge(*made, languages=())] == [None, None, 1, 1]


def test_clusters_count_sources_and_not_addresses() -> None:
    wire = words(300, 1)
    pages = [text_page(wire, url=f"https://{c}.example/x") for c in "abc"]
    pages += [text_page(words(300, 2), url="https://d.example/x"), text_page("", url="https://e.example/x")]
    found = judge(*pages, languages=())
    assert clusters(found) == (0, 0, 0, 3, None)
    assert len(set(clusters(found)) - {None}) == 2


def test_the_earliest_dated_of_equal_pages_is_kept_else_the_longest_and_never_a_dropped_one() -> None:
    base, hosts = words(300, 1), [f"https://{c}.example/x" for c in "abc"]
    days = (None, "2031-05-04", "2031-05-03")
    pages = [text_page(base, url=url, published=day) for url, day in zip(hosts, days, strict=True)]
    assert [p.duplicate_of for p in judge(*pages, languages=())] == [2, 2, None]
    longer = text_page(base + " " + words(70, 2), url=hosts[1])
    assert [p.duplicate_of for p in judge(pages[0], longer, languages=())] == [1, None]
    excerpt = text_page(words(150, 1), url=hosts[0], published="2031-05-01")
    whole = text_page(words(150, 1) + " " + words(500, 2), url=hosts[1], published="2031-05-02")
    assert [p.duplicate_of for p in judge(excerpt, whole, languages=())] == [1, None]
    mirror = text_page(STORY + "\nMore.", url="https://en.wikipedia.org/wiki/Dam", published="2020-01-01")
    assert [p.drop_reason for p in judge(mirror, text_page(STORY, url=hosts[0]))] == ["leak_host", None]


def test_lines_on_three_pages_of_a_host_are_boilerplate_and_on_two_are_not() -> None:
    line = "The Example Courier has reported from the valley since 1871."
    pages = [text_page(f"{line}\n{words(150, k)}", url=f"https://site.example/{k}") for k in (1, 2, 3)]
    assert not [p for p in judge(*pages, languages=()) if line in p.text]
    assert len([p for p in judge(*pages[:2], languages=()) if line in p.text]) == 2
