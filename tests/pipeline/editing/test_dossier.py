"""What an editor is told of an article, and that no text of a page becomes markup there."""

from __future__ import annotations

from dataclasses import replace

from data.types import Article, Heading, Page, Passage, Section, Sentence, Source
from pipeline.editing.dossier import dossier_of
from pipeline.formats.dossier_page import dossier_html, dossier_wikitext

HOSTILE = "<script>x</script> [[Link]] {{stub}}"
URLS = ("https://www.reuters.com/a", "https://paper.example/b", "https://paper.example/c", "https://web.example/d")


def article() -> tuple[Article, list[Page]]:
    texts = ["The dam broke in the night of 3 May 2031 and fourteen people died.", "Fourteen died.", "Rain fell.", HOSTILE]
    pages = [Page(url, f"Title {n} {HOSTILE if n == 3 else ''}", text, "url") for n, (url, text) in enumerate(zip(URLS, texts))]
    published = ["2031-05-04", None, "2031-05-05", "2031-05-01"]
    sources = tuple(
        Source(Passage(n, 0, len(p.text), p.text), p.url, p.title, day) for n, (p, day) in enumerate(zip(pages, published))
    )
    a, b, c, d = (source.id for source in sources)
    lead = Section(
        Heading("", 1), ((Sentence("Fourteen people died when the dam broke in the night of 3 May 2031.", (a, b)),),)
    )
    course = (Sentence("It stands as a testament to rain.", (c,)), Sentence(f"It was over on 3 May 2031 {HOSTILE}.", (d,)))
    return Article("e", "2031 Larrow flood", lead, (Section(Heading("Impact"), (course,)),), (), sources), pages


def test_what_is_told() -> None:
    found = dossier_of(*article())
    assert [row.publisher for row in found.best] == ["reuters.com", "web.example", "paper.example"]
    assert found.sources[2].same_as == "the same site as “Title 1 ”" and found.sources[0].sections == ("lead",)
    assert found.one_publisher[0].startswith("It stands") and len(found.one_publisher) == 2
    assert found.kind and found.missing and "Impact" not in found.missing
    assert 0 < found.copied < 1 and found.longest_run >= 2
    kinds = {remark.kind for remark in found.remarks}
    assert "reports a day after its sources were published" in kinds and any("testament" in kind for kind in kinds)


def test_no_text_of_a_page_becomes_markup() -> None:
    found = dossier_of(*article())
    page, text = dossier_html(found), dossier_wikitext(found)
    assert "<script" not in page and "&lt;script&gt;" in page and "2026" in page
    assert "[[Link" not in text and "{{stub" not in text and "[https://www.reuters.com/a Title 0]" in text


def test_an_article_of_one_publisher_lists_no_sentence_for_it() -> None:
    whole, pages = article()
    lead = Section(
        Heading("", 1), ((Sentence("Fourteen died.", (whole.sources[1].id,)), Sentence("Rain fell.", (whole.sources[2].id,))),)
    )
    one = dossier_of(replace(whole, lead=lead, sections=(), sources=whole.sources[1:3]), pages)
    assert one.rests_on_one_publisher and not dossier_of(whole, pages).rests_on_one_publisher
    assert "every sentence rests on the same publisher" in dossier_html(
        one
    ) and '<li dir="auto">Rain fell.' not in dossier_html(one)
