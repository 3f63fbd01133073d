"""Extracted text -> pages with a verdict: usable, or dropped with a reason that a reader can check.

The text of a usable page is what models read and citations point into: one block (paragraph, list line, table row) a
line. `blocks` decides which lines those are, `text_faults` which texts are no content, and `duplicates` which
pages say the same; here are characters, addresses, the verdicts and the leak test. Nothing here knows the human article: the
leak test is handed in as a function (`LeakCheck`).
"""

from __future__ import annotations

import base64
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import ClassVar, Literal

from data.pages.blocks import any_of, keep_content, keep_extracted
from data.pages.duplicates import Print, mark_duplicates
from data.pages.languages import language_of
from data.pages.page_urls import canonical_url, host_of, listed, path_of
from data.pages.text_faults import is_bare, marks_of_a_wiki, only_headlines, repeated, too_short, without_content
from data.types import DropReason, Origin, Page, PageFlag, Strict

CLEANING_VERSION = "13"
"""Raise when extraction or cleaning gives other text, or keeps other pages: runs made before must not be mixed with runs made
after."""
MAX_BYTES = 5_000_000
"""Larger pages are dropped: extraction time grows faster than length (2 MB takes 2 s, 11 MB takes 29 s)."""

MAX_TITLE = 1_000
MIN_WORDS = 60
"""The benchmark's pages are few, and 60 words of prose still carry facts worth citing."""
LIVE_MIN_WORDS = 80
"""Live search can afford more: there is always another page."""
NAMED_MIN_WORDS = 25
"""Of a page that a person named: a notice of three sentences is what they want read. Walls and logins are looked for first."""

MAX_BROKEN = 0.005
"""Share of U+FFFD from which on a page was decoded wrongly."""

LEAK_FLAG = 0.05
LEAK_DROP = 0.10
"""Share of 8-grams that a page and the human article have in common, in either direction. In the benchmark's development part 7
search pages reach 0.05 and 3 reach 0.10 of the article, 7 and 5 of the page: mirrors and shops that quote the article, but
honest quotations of one source, too, so the first threshold only flags."""
LEAK_MIN_WORDS = 50
"""Shorter pages have so few 8-grams that one shared name or title decides."""


@dataclass(frozen=True, slots=True)
class Extracted(Strict):
    """A page's text before cleaning. `media` says whether an extractor has removed the menus ("html") or nobody ("text").

    `canonical` is the address that the page gives for itself, "" for none: pages with the same one are one page. `rows_left`
    counts rows of its tables that were not read.
    """

    omitted_if_empty: ClassVar[frozenset[str]] = frozenset({"rows_left"})

    url: str
    title: str
    text: str
    origin: Origin
    published: str | None = None
    flags: tuple[PageFlag, ...] = ()
    drop_reason: DropReason | None = None
    drop_detail: str = ""
    language_hint: str | None = None
    media: Literal["html", "text"] = "text"
    canonical: str = ""
    rows_left: int = 0


@dataclass(frozen=True, slots=True)
class Overlap(Strict):
    """Share of the one text's 8-grams that occur in the other, in both directions; 0 where a text has none."""

    article_in_page: float
    page_in_article: float

    @property
    def larger(self) -> float:
        return max(self.article_in_page, self.page_in_article)


LeakCheck = Callable[[str], Overlap]


def overlap(article_text: str) -> LeakCheck:
    """A check of pages against one text: 8-gram containment, lower-cased and without punctuation."""
    article = ngrams(article_text, 8)

    def check(page_text: str) -> Overlap:
        page = ngrams(page_text, 8)
        shared = len(article & page)
        return Overlap(
            article_in_page=shared / len(article) if article else 0.0,
            page_in_article=shared / len(page) if page else 0.0,
        )

    return check


def clean_pages(
    pages: Sequence[Extracted],
    *,
    leak: LeakCheck | None,
    leak_hosts: bool,
    languages: tuple[str, ...] = ("en",),
    min_words: int = MIN_WORDS,
) -> tuple[Page, ...]:
    """Clean and judge the pages of one event: same length and order, every page usable or with its reason.

    `leak_hosts` drops mirrors of Wikipedia by name; `leak` compares with the human article. An empty `languages` allows all.
    Pages of fewer than `min_words` words are dropped. One that a person named (origin `url`) may be shorter, and be of a social
    network.
    """
    pages = [_hygiene(page) for page in pages]
    pages = _without_host_runs(pages)
    frequent = _host_lines(pages)
    judged = [
        _judge(
            page,
            frequent.get(host_of(page.url), frozenset()),
            leak=leak,
            leak_hosts=leak_hosts,
            languages=languages,
            min_words=min_words,
        )
        for page in pages
    ]
    prints = {i: _print_of(page, pages[i].canonical) for i, page in enumerate(judged) if page.usable}
    return mark_duplicates(judged, prints)


# --- characters ------------------------------------------------------------------------------------------------------

_INVISIBLE = re.compile(
    "["
    "\u0000-\u0008\u000b-\u001f\u007f-\u009f"  # C0 and C1, except tab and newline
    "\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # soft hyphen, zero width, bidi controls
    "\ue000-\uf8ff\U000e0000-\U000e0fff\U000f0000-\U0010ffff"  # private use, tag characters, variation selectors
    "\ud800-\udfff"
    "]+"
)
_LINE_ENDS = re.compile("\r\n|[\r\u2028\u2029]")
_SPACES = re.compile(r"[^\S\n]+")
_LIGATURES = str.maketrans({chr(0xFB00 + n): letters for n, letters in enumerate(("ff", "fi", "fl", "ffi", "ffl", "st", "st"))})
"""Of printers: a PDF has "Playoﬀs"."""
_MOJIBAKE = re.compile("[\u00c2\u00c3\u00c4\u00c5\u00d0\u00d1\u00e2][\u0080-\u00bf\u0152-\u2122]")


def clean_characters(text: str) -> str:
    """NFC without invisible characters and ligatures; white space becomes single spaces and newlines. Letters of all scripts
    stay."""
    text = _LINE_ENDS.sub("\n", text)
    for _ in range(4):  # removing a character can bring two halves of a broken one together
        before = text
        if _MOJIBAKE.search(text):  # before C1 controls go: they are bytes of the broken characters
            text = "\n".join(_undo_mojibake(line) for line in text.split("\n"))
        text = unicodedata.normalize("NFC", _INVISIBLE.sub("", text.replace("\x85", "\n"))).translate(_LIGATURES)
        if text == before or not _MOJIBAKE.search(text):
            break
    return "\n".join(line.strip() for line in _SPACES.sub(" ", text).split("\n"))


def _undo_mojibake(line: str) -> str:
    """UTF-8 that was read as Latin-1 or windows-1252. Bytes that decode as UTF-8 by chance are next to impossible."""
    if not _MOJIBAKE.search(line):
        return line
    whole = _decoded(line)
    # a line may hold both: sound characters, or broken ones that have lost a byte on the way
    return whole if whole != line else _MOJIBAKE_RUN.sub(lambda match: _decoded(match.group()), line)


# windows-1252 has quotes, dashes and the euro sign where Latin-1 has control characters
_MOJIBAKE_RUN = re.compile(
    "[\u00c2\u00c3][\u0080-\u00bf\u0152-\u2122]|\u00e2[\u0080-\u00bf\u0152-\u2122]{2}"
    "|[\u00c4\u00c5\u00d0\u00d1][\u0080-\u00bf]|[\u00e0-\u00ef][\u0080-\u00bf]{2}|[\u00f0-\u00f4][\u0080-\u00bf]{3}"
)


def _decoded(piece: str) -> str:
    try:
        return b"".join(c.encode("latin-1" if c < "\u0100" else "cp1252") for c in piece).decode("utf-8")
    except (UnicodeEncodeError, UnicodeDecodeError):
        return piece


_SCRIPT = re.compile(r"<(script|style)\b[^>]*>.*?</\1\s*>", re.IGNORECASE | re.DOTALL)
_MARKUP = re.compile(r"</?[a-z][^<>]*>", re.IGNORECASE)


_BASE64 = re.compile(r"(?=.*[a-z])(?=.*[A-Z])(?:[A-Za-z0-9+/]{4}){3,}(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
"""At least nine characters, upper and lower case mixed, no blank."""


def clean_title(title: str) -> str:
    """A title on one line, without markup: titles come from metadata, where nobody has removed any.

    Some reader services hand titles over in Base64; such a one is decoded where text comes of it.
    """
    title = _from_base64(title)
    return " ".join(clean_characters(_MARKUP.sub(" ", _SCRIPT.sub(" ", title[:MAX_TITLE]))).split())


def _from_base64(title: str) -> str:
    if not _BASE64.fullmatch(title):
        return title
    try:
        text = base64.b64decode(title, validate=True).decode("utf-8")
    except ValueError:
        return title
    letters = sum(c.isalpha() or c.isspace() for c in text)
    # a title such as "WikiGenBench" has the shape of Base64, too, but decodes to no words
    return text if text.isprintable() and letters > 0.6 * len(text) else title


def _hygiene(page: Extracted) -> Extracted:
    if (
        page.drop_reason is None
        and len(page.text) > MAX_BYTES // 4  # a character has four bytes at most: most pages need not be encoded
        and (size := len(page.text.encode("utf-8", "replace"))) > MAX_BYTES
    ):
        page = replace(page, text=page.text[:2000], drop_reason="too_large", drop_detail=f"{size:,} bytes, limit {MAX_BYTES:,}")
    if page.drop_reason is None and (detail := binary_detail(page.text)):
        page = replace(page, text="", drop_reason="bad_type", drop_detail=detail)
    text = clean_characters(page.text)
    if page.drop_reason is None and (broken := text.count("\ufffd")) > MAX_BROKEN * len(text):
        detail = f"{broken} of {len(text):,} characters could not be decoded"
        return replace(page, title=clean_title(page.title), text=text, drop_reason="bad_charset", drop_detail=detail)
    return replace(page, title=clean_title(page.title), text=text)


def binary_detail(text: str) -> str:
    """Why `text` is not text ("" when it is): the start of a PDF, image or archive, or control characters throughout."""
    if text[:1024].lstrip().startswith(("%PDF-", "PK\x03\x04", "\x89PNG", "GIF8", "\xff\xd8\xff", "\x1f\x8b")):
        return f"starts like a binary file: {text.lstrip()[:5]!r}"
    head = text[:20_000]  # a binary file shows at once
    bad = sum(1 for c in head if c == "\ufffd" or (c < " " and c not in "\n\r\t\f"))
    if head and bad > max(5, len(head) // 20):
        return f"{bad} of the first {len(head)} characters are controls or undecodable"
    return ""


# --- verdicts --------------------------------------------------------------------------------------------------------

_GATES: tuple[tuple[DropReason, re.Pattern[str]], ...] = (
    ("blocked", any_of("blocked")),
    ("js_required", any_of("js_required")),
    ("consent", any_of("consent")),
    ("login", any_of("login")),
)
_SOFT_404 = any_of("soft_404", start=r"\b")
_LOGIN_ASKED = re.compile(r"you must (?:be logged|log|sign) ?in", re.IGNORECASE)
_SUSPICIOUS = any_of("suspicious")


def addresses_model(text: str) -> bool:
    """Whether words in `text` speak to a language model instead of a reader: such a page is flagged `suspicious`."""
    return _SUSPICIOUS.search(text) is not None


def _judge(
    page: Extracted,
    frequent: frozenset[str],
    *,
    leak: LeakCheck | None,
    leak_hosts: bool,
    languages: tuple[str, ...],
    min_words: int,
) -> Page:
    flags = set(page.flags)
    if page.drop_reason is not None:
        return _page(page, page.text, flags, page.language_hint or "und", page.drop_reason, page.drop_detail)
    if addresses_model(page.text) or addresses_model(page.title):
        flags.add("suspicious")
    if is_bare(page.text):
        flags.add("bare")
        text = page.text
    else:
        text = _without_lines(page.text, frequent)
        text = keep_content(text, page.title) if page.media == "text" else keep_extracted(text)
    # too little text is guessed wrongly; menus are in the page's language as well
    language, certain = language_of(text if len(text) >= 200 else page.text, page.language_hint)

    def verdict(reason: DropReason | None, detail: str = "") -> Page:
        # a dropped page keeps what was found, so that the reason can be checked
        return _page(page, text or page.text, flags, language, reason, detail)

    if leak_hosts and (host := listed(page.url, "leak_hosts.txt")):
        return verdict("leak_host", f"{host} copies or derives from Wikipedia")
    if page.origin != "url" and (host := listed(page.url, "social_hosts.txt")):
        return verdict("social", f"{host} is a social, video or shop host")
    # before the length: a wall of cookies or a login explains why a page is short
    if found := obstacle(page.title, page.text, len(text.split()), min_words):
        return verdict(*found)
    if short := too_short(text, page.media, min(min_words, NAMED_MIN_WORDS) if page.origin == "url" else min_words):
        return verdict(*without_content(page.text, not path_of(page.url).strip("/"), short, min_words))
    if detail := repeated(text):
        return verdict("too_short", detail)
    if "bare" not in flags and (detail := only_headlines(text)):
        return verdict("index_page", detail)
    if languages and certain and language not in languages:
        return verdict("language", f"{language}, wanted {', '.join(languages)}")
    if (leak is not None or leak_hosts) and (detail := marks_of_a_wiki(page.text)):
        return verdict("leak_text", detail)
    # last, on the cleaned text: navigation would dilute what is shared
    if leak is not None and len(text.split()) >= LEAK_MIN_WORDS:
        common = leak(text)
        if common.larger >= LEAK_FLAG:
            flags.add("leak_flag")
        if common.larger >= LEAK_DROP:
            return verdict(
                "leak_text",
                f"{common.article_in_page:.2f} of the article's 8-grams in the page, "
                f"{common.page_in_article:.2f} of the page's in the article (limit {LEAK_DROP:.2f})",
            )
    return verdict(None)


def _without_lines(text: str, frequent: frozenset[str]) -> str:
    """Without what other pages of its host have as well, unless that is most of the text: then they tell one story, and
    which of them is kept is decided where duplicates are."""
    rest = "\n".join(line for line in text.split("\n") if line not in frequent) if frequent else text
    return rest if 2 * len(rest.split()) >= len(text.split()) else text


def _page(page: Extracted, text: str, flags: set[PageFlag], language: str, reason: DropReason | None, detail: str) -> Page:
    return Page(
        url=page.url,
        title=page.title,
        text=text,
        origin=page.origin,
        published=page.published,
        language=language,
        flags=tuple(sorted(flags)),
        drop_reason=reason,
        drop_detail=detail,
        rows_left=page.rows_left,
    )


def obstacle(title: str, text: str, n_words: int, min_words: int = MIN_WORDS) -> tuple[DropReason, str] | None:
    """Whether a page shows an obstacle instead of content, and by which words. `n_words` counts the words that remain.

    A long account that mentions a captcha is not one: with enough content, only the title and the first lines count.
    """
    head = f"{title}\n{text[:300]}"  # an obstacle speaks first; an article on captchas has other first lines
    if n_words < 150 and (found := _SOFT_404.search("\n".join([title, *text.split("\n", 2)[:2]])[:300])):
        # forums begin all their messages so; what the message is stands below
        if found.group().lower() != "oops" or not (locked := _LOGIN_ASKED.search(text[:3000])):
            return "soft_404", f"says {found.group()!r}"
        return "login", f"says {locked.group()!r}"
    for reason, pattern in _GATES:
        if n_words < min_words:  # nothing else is there: the words count wherever they are
            found = pattern.search(text[:3000])
        elif n_words >= 250:  # more than any obstacle says
            break
        elif reason in ("consent", "login"):  # good pages have banners, too: there they only cost a line
            hits = list(pattern.finditer(text[:3000]))
            # three times, and once in 40 words: then the page speaks of nothing else
            found = hits[0] if len(hits) >= 3 and len(hits) * 40 >= n_words else None
        else:
            found = pattern.search(head)
        if found:
            return reason, f"says {found.group()[:60]!r}"
    return None


# --- hosts and addresses -----------------------------------------------------------------------------------------------


_SHARED_PAGES = 3
"""Pages of one host. Two may be one story at two addresses; what three have in common is the site's own."""
_RUN = 8
"""Words, as in the leak test: longer than the phrases that stories of one site share by chance."""


def _host_lines(pages: Sequence[Extracted]) -> dict[str, frozenset[str]]:
    """By host: lines under 200 characters that three or more of its pages share."""
    seen: dict[str, Counter[str]] = {}
    for page in pages:
        if page.drop_reason is None:
            lines = {line for line in page.text.split("\n") if 0 < len(line) < 200}
            seen.setdefault(host_of(page.url), Counter()).update(lines)
    return {host: frozenset(line for line, n in lines.items() if n >= _SHARED_PAGES) for host, lines in seen.items() if host}


def _without_host_runs(pages: Sequence[Extracted]) -> list[Extracted]:
    """Bare pages without the runs of eight and more words that three or more bare pages of their host share.

    Bare text is one long line, menus included, so boilerplate cannot be recognised by lines; and where most of a page is its
    site's menu, two different stories look like near-duplicates.
    """
    by_host: dict[str, list[int]] = {}
    for i, page in enumerate(pages):
        if page.drop_reason is None and (host := host_of(page.url)) and is_bare(page.text):
            by_host.setdefault(host, []).append(i)
    result = list(pages)
    for members in by_host.values():
        words = {i: pages[i].text.split() for i in members}
        if len({" ".join(of_page) for of_page in words.values()}) < _SHARED_PAGES:
            continue
        counts = Counter(gram for of_page in words.values() for gram in set(_runs(of_page)))
        for i, of_page in words.items():
            covered = [False] * len(of_page)
            for at, gram in enumerate(_runs(of_page)):
                if counts[gram] >= _SHARED_PAGES:
                    covered[at : at + _RUN] = [True] * _RUN
            if len(covered) - sum(covered) < MIN_WORDS:
                continue  # copies of one page share everything: choosing among them is the duplicates' business
            # a cut becomes a line break: no quotation may reach across it
            parts = groupby(zip(covered, of_page), itemgetter(0))
            text = "\n".join(" ".join(word for _, word in part) for gone, part in parts if not gone)
            result[i] = replace(pages[i], text=text)
    return result


def _runs(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    return zip(*(words[i:] for i in range(_RUN)))


# --- shared words ----------------------------------------------------------------------------------------------------

_TOKEN = re.compile(r"\w+")


def ngrams(text: str, n: int) -> set[tuple[str, ...]]:
    """All runs of `n` words, lower-cased and without punctuation."""
    words = _TOKEN.findall(unicodedata.normalize("NFKC", text).lower())
    return set(zip(*(words[i:] for i in range(n))))


def _print_of(page: Page, canonical: str) -> Print:
    folded = " ".join(page.text.casefold().split())
    return Print(
        urls=frozenset(map(canonical_url, (page.url, canonical))) - {""},
        host=host_of(page.url),
        folded=folded,
        n_words=folded.count(" ") + 1,
        shingles=frozenset(ngrams(page.text, 5)),
    )
