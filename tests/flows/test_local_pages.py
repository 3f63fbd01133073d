"""`wikigenben check` where the cited pages are files beside the article, and where nothing can be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from data import codec
from data.errors import UserError
from data.types import Article, Heading, Passage, Section, Sentence, Source
from flows.check import title_address
from tests.conftest import Command, Ran
from tests.flows.test_check import DAM, page
from tests.flows.told import findings, verdicts

PAGE = page(DAM)
SAID = "14 people died in the village of Sall"


@pytest.fixture(autouse=True)
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder `work` with an article's place and pages below it, and a file outside of it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "work" / "pages").mkdir(parents=True)
    for place in ("work/p1.html", "work/pages/p1.html", "work/pages/a page.html", "work/pages/only.html", "outside.html"):
        (tmp_path / place).write_text(PAGE, encoding="utf-8")
    return tmp_path


def checked(wikigenben: Command, article: str, *words: str, at: str = "work/a.md") -> Ran:
    Path(at).write_text(article, encoding="utf-8")
    return wikigenben("check", at, "--judge", "lexical", "--json", *words)


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
    for words in (("--out", "report"), ("--bundle", "report/evidence")):
        ran = checked(wikigenben, article, *words, at=f"work/{name}")
        assert (ran.code, verdicts(ran)) == (0, ["supported"]), (ran.err, findings(ran))


def test_a_file_may_be_dated_ahead_and_its_headline_is_no_part_of_its_first_sentence(wikigenben: Command) -> None:
    """A person's own file: under embargo, or about a world that is invented. Its day is what "on Thursday" is counted from."""
    said = "The cable car of Mount Sarnow fell on Thursday evening, killing five people."
    dated = page(f"{said} {DAM}", "2092-05-30T08:00:00Z").replace("<article>", "<article><h1>Five dead on Mount Sarnow</h1>")
    Path("work/pages/p1.html").write_text(dated, encoding="utf-8")
    Path("work/a.md").write_text("The cable car of Mount Sarnow fell on 29 May 2092, killing five people [T](pages/p1.html).")
    ran = wikigenben("check", "work/a.md", "--json", "--out", "report")
    assert (ran.code, verdicts(ran)) == (0, ["supported"]), findings(ran)
    (found,) = findings(ran)
    assert found["sentence"] == said.replace("Thursday", "Thursday [29 May 2092]")
    assert found["cited"][0]["published"] == "2092-05-30"


def test_an_own_article_knows_the_day_of_its_passages(wikigenben: Command) -> None:
    """As its writer did: "on Tuesday" of a page of Wednesday, 2 June 2032."""
    passage = Passage(0, 0, 90, "The first victims of the Sarnow accident were buried in Orva on Tuesday, the mayor said.")
    said = "The first victims of the Sarnow accident were buried in Orva on 1 June 2032, the mayor said."
    lead = Section(Heading("", 0), ((Sentence(said, (passage.id,)),),))
    article = Article("1", "Sarnow accident", lead, (), (), (Source(passage, "file:p4.html", "Funerals", "2032-06-02"),))
    Path("work/article.json").write_text(codec.to_json(article), encoding="utf-8")
    ran = wikigenben("check", "work/article.json", "--json", "--out", "report")
    assert verdicts(ran) == ["supported"] and "Tuesday [1 June 2032]" in findings(ran)[0]["passage"]


def test_the_bundle_of_write_has_its_files_by_shorter_paths(wikigenben: Command) -> None:
    """`write --file work/pages/p1.html` records `file:p1.html`; the article beside the folder cites `pages/p1.html`."""
    assert checked(wikigenben, f"{SAID} [T](only.html).", "--out", "report", at="work/pages/b.md").code == 0
    assert verdicts(checked(wikigenben, f"{SAID} [T](pages/only.html).", "--bundle", "report/evidence")) == ["supported"]


@pytest.mark.parametrize("link", ["../outside.html", "pages/../../outside.html", "linked.html", "no-such-page.html", "p1.exe"])
def test_what_is_not_in_the_folder_is_not_read(wikigenben: Command, pages: Path, link: str) -> None:
    (pages / "work" / "linked.html").symlink_to(pages / "outside.html")
    for address in (link, f"file:{link}", str(pages / "outside.html"), f"file://{pages / 'outside.html'}"):
        ran = checked(wikigenben, f"{SAID} [T]({address}).")
        assert ran.json["n_pages_read"] == 0 and ran.code == 3, (address, ran.json)


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
    ran = checked(wikigenben, f"{SAID} [T](p1.html).", "--no-files")
    assert ran.json["n_pages"] == 0 and ran.code == 3


def test_titles_may_have_slashes_and_are_told_from_paths(wikigenben: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    assert title_address("Is it so?") == "https://en.wikipedia.org/wiki/Is_it_so%3F"
    for wrong in ("../../x", "a/../b", "a|b", "a#b", "."):
        with pytest.raises(UserError, match="no page can have the title"):
            title_address(wrong)

    asked: list[str] = []

    def fetched(url: str, request: object) -> object:
        asked.append(url)
        raise UserError("no network")

    monkeypatch.setattr("flows.check._fetched", fetched)
    for title in ("AC/DC", "9/11"):
        assert wikigenben("check", title).code == 2
    assert asked == ["https://en.wikipedia.org/wiki/AC/DC", "https://en.wikipedia.org/wiki/9/11"]
    for path in ("work/NAME", "./x", "/etc/nothing", "~/x", "draft.md", "AC/DC.md"):
        assert "there is no file" in wikigenben("check", path).err, path
    assert len(asked) == 2
