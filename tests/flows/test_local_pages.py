"""`wikigenben check` where the cited pages are files beside the article, and where nothing can be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from data import codec
from data.errors import UserError
from data.types import Article, Heading, Passage, Section, Sentence, Source
from flows.check import title_address
from tests.conftest import Command

DAM = (
    "The Larrow dam broke on 3 May 2021 after a week of rain, and 14 people died in the village of Sall. The mayor of Sall, "
    "Ana Bray, said that the warning came too late. Engineers had noted cracks in the dam in 2017 and again in 2019, and "
    "the water authority had promised repairs. The railway was closed for a month."
)
PAGE = f"<html lang='en'><head><title>Dam breaks</title></head><body><article><p>{DAM}</p></article></body></html>"
SAID = "14 people died in the village of Sall"


@pytest.fixture(autouse=True)
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder `work` with an article's place and pages below it, and a file outside of it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "work" / "pages").mkdir(parents=True)
    for place in ("work/p1.html", "work/pages/p1.html", "work/pages/a page.html", "outside.html"):
        (tmp_path / place).write_text(PAGE, encoding="utf-8")
    return tmp_path


def verdicts(ran: object) -> list[str]:
    return [finding["verdict"] for finding in ran.json["findings"]]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "article"),
    [
        ("a.md", f"{SAID} [T](pages/p1.html)."),
        ("a.md", f"{SAID} [T](./p1.html)."),
        ("a.md", f"{SAID} [T](file:p1.html)."),
        ("a.md", f"{SAID} [T](pages/a%20page.html)."),
        ("a.md", f"{SAID} [T](<pages/a page.html>)."),
        ("a.md", f"{SAID}.[^1]\n\n[^1]: pages/p1.html"),
        ("a.md", f"{SAID}.[^1]\n\n[^1]: [Dam breaks](file:pages/p1.html), 4 May 2021"),
        ("a.md", f"{SAID} [1].\n\n[1] Dam breaks, pages/p1.html"),
        ("a.html", f"<p>{SAID} <a href='pages/p1.html'>T</a>.</p>"),
        ("a.html", f"<p>{SAID} <a href='file:p1.html#top'>[1]</a>.</p>"),
        ("a.wiki", f"{SAID}.<ref>{{{{cite web|url=pages/p1.html|title=Dam breaks}}}}</ref>"),
        ("a.wiki", f"{SAID}.<ref>file:p1.html</ref>"),
    ],
)
def test_files_beside_the_article_are_pages(wikigenben: Command, name: str, article: str) -> None:
    Path("work", name).write_text(article, encoding="utf-8")
    ran = wikigenben("check", f"work/{name}", "--judge", "lexical", "--json", "--out", "report")
    assert (ran.code, verdicts(ran)) == (0, ["supported"]), (ran.err, ran.json["findings"])
    again = wikigenben("check", f"work/{name}", "--judge", "lexical", "--json", "--bundle", "report/evidence")
    assert verdicts(again) == ["supported"]


def test_a_file_may_be_dated_ahead_and_its_headline_is_no_part_of_its_first_sentence(wikigenben: Command) -> None:
    """A person's own file: under embargo, or about a world that is invented. Its day is what "on Thursday" is counted from."""
    said = "The cable car of Mount Sarnow fell on Thursday evening, killing five people."
    page = (
        "<html lang='en'><head><title>Five dead on Mount Sarnow</title>"
        "<meta property='article:published_time' content='2092-05-30T08:00:00Z'></head>"
        f"<body><article><h1>Five dead on Mount Sarnow</h1><p>{said} {DAM}</p></article></body></html>"
    )
    Path("work/pages/p1.html").write_text(page, encoding="utf-8")
    Path("work/a.md").write_text(
        "The cable car of Mount Sarnow fell on 29 May 2092, killing five people [T](pages/p1.html).", encoding="utf-8"
    )
    ran = wikigenben("check", "work/a.md", "--json", "--out", "report")
    assert (ran.code, verdicts(ran)) == (0, ["supported"]), ran.json["findings"]
    assert ran.json["findings"][0]["sentence"] == said.replace("Thursday", "Thursday [29 May 2092]")
    assert ran.json["findings"][0]["cited"][0]["published"] == "2092-05-30"


def test_an_own_article_knows_the_day_of_its_passages(wikigenben: Command) -> None:
    """As its writer did: "on Tuesday" of a page of Wednesday, 2 June 2032."""
    passage = Passage(0, 0, 90, "The first victims of the Sarnow accident were buried in Orva on Tuesday, the mayor said.")
    said = "The first victims of the Sarnow accident were buried in Orva on 1 June 2032, the mayor said."
    lead = Section(Heading("", 0), ((Sentence(said, (passage.id,)),),))
    article = Article("1", "Sarnow accident", lead, (), (), (Source(passage, "file:p4.html", "Funerals", "2032-06-02"),))
    Path("work/article.json").write_text(codec.to_json(article), encoding="utf-8")
    ran = wikigenben("check", "work/article.json", "--json", "--out", "report")
    assert verdicts(ran) == ["supported"] and "Tuesday [1 June 2032]" in ran.json["findings"][0]["passage"]


def test_the_bundle_of_write_has_its_files_by_shorter_paths(wikigenben: Command) -> None:
    """`write --file work/pages/p1.html` records `file:p1.html`; the article beside the folder cites `pages/p1.html`."""
    Path("work/pages/only.html").write_text(PAGE, encoding="utf-8")
    Path("work/a.md").write_text(f"{SAID} [T](only.html).", encoding="utf-8")
    Path("work/pages/b.md").write_text(f"{SAID} [T](only.html).", encoding="utf-8")
    assert wikigenben("check", "work/pages/b.md", "--judge", "lexical", "--out", "report").code == 0
    Path("work/a.md").write_text(f"{SAID} [T](pages/only.html).", encoding="utf-8")
    ran = wikigenben("check", "work/a.md", "--judge", "lexical", "--json", "--bundle", "report/evidence")
    assert verdicts(ran) == ["supported"], ran.json


@pytest.mark.parametrize("link", ["../outside.html", "pages/../../outside.html", "linked.html", "no-such-page.html", "p1.exe"])
def test_what_is_not_in_the_folder_is_not_read(wikigenben: Command, pages: Path, link: str) -> None:
    (pages / "work" / "linked.html").symlink_to(pages / "outside.html")
    for address in (link, f"file:{link}", str(pages / "outside.html"), f"file://{pages / 'outside.html'}"):
        Path("work/a.md").write_text(f"{SAID} [T]({address}).", encoding="utf-8")
        ran = wikigenben("check", "work/a.md", "--judge", "lexical", "--json")
        assert ran.json["n_pages_read"] == 0 and ran.code == 3, (address, ran.json)


def test_files_are_left_alone_when_asked_to(wikigenben: Command) -> None:
    Path("work/a.md").write_text(f"{SAID} [T](p1.html).", encoding="utf-8")
    ran = wikigenben("check", "work/a.md", "--judge", "lexical", "--no-files", "--json")
    assert ran.json["n_pages"] == 0 and ran.code == 3


def test_nothing_checked_is_not_nothing_wrong(wikigenben: Command) -> None:
    """0 is for articles of which something was read; the text says why, too."""
    for article, told in (
        (f"{SAID} [T](missing.html).", "no cited page could be read; put the cited files into the article's folder"),
        (f"{SAID}. Nobody cites anything here.", "nothing was checked: it cites no page; cite pages by links"),
        (f"{SAID} [T](missing.html). {SAID} [T](p1.html).", ""),
    ):
        Path("work/a.md").write_text(article, encoding="utf-8")
        ran = wikigenben("check", "work/a.md", "--judge", "lexical")
        assert (ran.code, told in ran.err) == (3 if told else 0, True), ran.err


def test_titles_may_have_slashes() -> None:
    assert title_address("AC/DC") == "https://en.wikipedia.org/wiki/AC/DC"
    assert title_address("Is it so?") == "https://en.wikipedia.org/wiki/Is_it_so%3F"
    for wrong in ("../../x", "a/../b", "a|b", "a#b", "."):
        with pytest.raises(UserError, match="no page can have the title"):
            title_address(wrong)


def test_a_path_is_told_from_a_title(wikigenben: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def fetched(url: str, request: object) -> object:
        asked.append(url)
        raise UserError("no network")

    monkeypatch.setattr("flows.check._fetched", fetched)
    for title in ("AC/DC", "Face/Off", "9/11"):
        assert wikigenben("check", title).code == 2
    assert [url.rpartition("/wiki/")[2] for url in asked] == ["AC/DC", "Face/Off", "9/11"]
    for path in ("work/NAME", "./x", "/etc/nothing", "~/x", "draft.md", "AC/DC.md"):
        assert "there is no file" in wikigenben("check", path).err, path
    assert len(asked) == 3
