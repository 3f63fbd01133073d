"""Extracted text -> pages with a verdict: usable, or dropped with a reason that a reader can check.

The text of a usable page is what models read and citations point into: one block (paragraph, list line, table row) a
line. `data.blocks` decides which lines those are; here are the characters, the verdicts, the leak test and duplicates.
Nothing here knows the human article: the leak test is handed in as a function (`LeakCheck`).
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qsl, urlencode, urlsplit

from data.blocks import count_unspaced, keep_content, keep_extracted
from data.types import DropReason, Origin, Page, PageFlag, Strict

MAX_BYTES = 5_000_000
"""Larger pages are dropped: extraction time grows faster than length (2 MB takes 2 s, 11 MB takes 29 s)."""

MIN_WORDS = 80
MIN_CHARS_UNSPACED = 200
LEAK_FLAG = 0.05
LEAK_DROP = 0.10
LEAK_MIN_WORDS = 50
DUPLICATE = 0.8


@dataclass(frozen=True, slots=True)
class Extracted(Strict):
    """A page's text before cleaning. `media` tells whether an extractor has removed the menus ("html") or nobody ("text")."""

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
    article = _ngrams(article_text, 8)

    def check(page_text: str) -> Overlap:
        page = _ngrams(page_text, 8)
        shared = len(article & page)
        return Overlap(
            article_in_page=shared / len(article) if article else 0.0,
            page_in_article=shared / len(page) if page else 0.0,
        )

    return check


def clean_pages(
    pages: Sequence[Extracted], *, leak: LeakCheck | None, leak_hosts: bool, languages: tuple[str, ...] = ("en",)
) -> tuple[Page, ...]:
    """Clean and judge the pages of one event: same length and order, every page usable or with its reason.

    `leak_hosts` drops mirrors of Wikipedia by name; `leak` compares with the human article. An empty `languages` allows all.
    """
    pages = [_hygiene(page) for page in pages]
    frequent = _host_boilerplate(pages)
    judged = [
        _judge(page, frequent.get(host_of(page.url), frozenset()), leak=leak, leak_hosts=leak_hosts, languages=languages)
        for page in pages
    ]
    return _mark_duplicates(judged)


# --- characters ------------------------------------------------------------------------------------------------------

_INVISIBLE = re.compile(
    "["
    "\u0000-\u0008\u000b-\u001f\u007f-\u009f"  # C0 and C1, except tab and newline
    "\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # soft hyphen, zero width, bidi controls
    "\ue000-\uf8ff\U000e0000-\U000e0fff\U000f0000-\U0010ffff"  # private use, tag characters, variation selectors
    "\ud800-\udfff"
    "]+"
)
_SPACES = re.compile(r"[^\S\n]+")
_MOJIBAKE = re.compile("[\u00c2\u00c3\u00c4\u00c5\u00d0\u00d1\u00e2][\u0080-\u00bf\u0152-\u2122]")


def clean_characters(text: str) -> str:
    """NFC without invisible characters; white space becomes single spaces and newlines. Letters of all scripts stay."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\u2028", "\n").replace("\u2029", "\n").replace("\x85", "\n")
    if _MOJIBAKE.search(text):
        text = "\n".join(_undo_mojibake(line) for line in text.split("\n"))
    text = unicodedata.normalize("NFC", _INVISIBLE.sub("", text))
    return "\n".join(line.strip() for line in _SPACES.sub(" ", text).split("\n"))


def _undo_mojibake(line: str) -> str:
    """UTF-8 that was read as Latin-1 or windows-1252. Bytes that decode as UTF-8 by chance are next to impossible."""
    if not _MOJIBAKE.search(line):
        return line
    for charset in ("latin-1", "cp1252"):
        try:
            return line.encode(charset).decode("utf-8")
        except (UnicodeEncodeError, UnicodeDecodeError):
            continue
    # a non-breaking space inside a broken sequence has often become a plain one: undo the pieces that can be undone
    return _MOJIBAKE_RUN.sub(lambda match: _decoded(match.group()), line)


_MOJIBAKE_RUN = re.compile("[\u00c2-\u00f4][\u0080-\u00bf]{1,3}")


def _decoded(piece: str) -> str:
    try:
        return piece.encode("latin-1").decode("utf-8")
    except (UnicodeEncodeError, UnicodeDecodeError):
        return piece


def _hygiene(page: Extracted) -> Extracted:
    if (
        page.drop_reason is None
        and len(page.text) > MAX_BYTES // 4
        and (size := len(page.text.encode("utf-8", "replace"))) > MAX_BYTES
    ):
        page = replace(page, text=page.text[:2000], drop_reason="too_large", drop_detail=f"{size:,} bytes, limit {MAX_BYTES:,}")
    if page.drop_reason is None and (detail := binary_detail(page.text)):
        page = replace(page, text="", drop_reason="bad_type", drop_detail=detail)
    return replace(page, title=clean_characters(page.title).replace("\n", " "), text=clean_characters(page.text))


def binary_detail(text: str) -> str:
    """Why `text` is not text ("" when it is): the start of a PDF, image or archive, or control characters throughout."""
    if text[:1024].lstrip().startswith(("%PDF-", "PK\x03\x04", "\x89PNG", "GIF8", "\xff\xd8\xff", "\x1f\x8b")):
        return f"starts like a binary file: {text.lstrip()[:5]!r}"
    head = text[:20_000]
    bad = sum(1 for c in head if c == "\ufffd" or (c < " " and c not in "\n\r\t\f"))
    if head and bad > max(5, len(head) // 20):
        return f"{bad} of the first {len(head)} characters are controls or undecodable"
    return ""


# --- verdicts --------------------------------------------------------------------------------------------------------

_GATES: tuple[tuple[DropReason, re.Pattern[str]], ...] = (
    (
        "js_required",
        re.compile(
            r"(?:enable|turn on|activate|requires?|without) javascript|javascript (?:is|must be|has been) (?:disabled|required|enabled|not)",
            re.I,
        ),
    ),
    (
        "blocked",
        re.compile(
            r"just a moment|attention required|access (?:to this page has been )?denied|you have been blocked|been blocked due to|captcha"
            r"|(?:are|you're|you are) (?:not )?a robot|verify (?:that )?you are (?:a )?human|verifying you are human|unusual traffic"
            r"|pardon our interruption|checking your browser|403 forbidden|^forbidden$|error 10\d\d\b|cloudflare ray id|security check"
            r"|automated access|bot detection|request (?:was )?(?:blocked|could not be satisfied)|not available in your (?:country|region)"
            r"|too many requests|performance & security by cloudflare|access restricted",
            re.I | re.M,
        ),
    ),
    (
        "consent",
        re.compile(
            r"before you continue|we (?:value|care about|respect) your privacy|(?:we and )?our (?:\d+ )?partners.{0,80}(?:store|access|process)"
            r"|accept (?:all )?cookies|(?:uses?|use of) cookies|prima di continuare|avant d'acc[ée]der|consent to (?:the use|our)"
            r"|manage (?:your )?(?:consent|privacy|preferences)|bevor sie fortfahren",
            re.I,
        ),
    ),
    (
        "login",
        re.compile(
            r"(?:log|sign) ?in (?:or (?:sign|register|create) ?.{0,20})?(?:to (?:continue|view|see|read|access|your account)|required)"
            r"|you must (?:be logged|log|sign) ?in|(?:subscribe|register) to (?:continue|read|keep reading)|create an account or log in"
            r"|already a (?:subscriber|member)\?|this content isn't available|subscribers only|forgot(?:ten)? (?:your )?password",
            re.I,
        ),
    ),
)
_SOFT_404 = re.compile(
    r"\b(?:404\b|page (?:was )?not found|not found\b|(?:page|article|content|video) (?:does not|doesn't|no longer) exists?|no longer available"
    r"|can't find (?:the|that|this) page|page introuvable|pagina non trovata|seite nicht gefunden|página no encontrada|oops)",
    re.I,
)
_TEXT_MARK = re.compile(
    r"from wikipedia, the free encyclopedia|retrieved from [\"“]?https?://[a-z-]+\.(?:m\.)?wikipedia\.org"
    r"|(?:article|text|content)[^.\n]{0,60} (?:from|based on) (?:the )?wikipedia|wikipedia article .{0,60}licen[sc]e",
    re.I,
)
_EDIT_HEADING = re.compile(r"\[ ?edit(?: source)? ?\]", re.I)
_SUSPICIOUS = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\b.{0,30}\b(?:previous|prior|above|earlier|preceding|all|any|your|system)\b.{0,30}"
    r"\b(?:instructions?|prompts?|rules|directions|guidelines|context)\b"
    r"|\b(?:new|updated|hidden|secret) (?:system )?(?:instructions?|prompt)s?\b ?:|\b(?:reveal|print|repeat|show|output) (?:me )?(?:your|the) (?:system )?prompt"
    r"|\b(?:note|message|instructions?) (?:to|for) (?:the |any |all )?(?:ai|llms?|language models?|assistants?|chatbots?|summari[sz]ers?|bots?)\b"
    r"|\byou are (?:now )?(?:an? )?(?:ai|llm|language model|chatgpt|helpful assistant|dan\b)|\bas an? (?:ai|large) language model"
    r"|<\|[a-z_]{2,30}\|>|\[/?INST\]|<</?SYS>>|^#{2,3} ?(?:instruction|system|assistant)s?\b ?:?"
    r"|^(?:system|assistant) ?: ",
    re.I | re.M,
)


def _judge(
    page: Extracted, frequent: frozenset[str], *, leak: LeakCheck | None, leak_hosts: bool, languages: tuple[str, ...]
) -> Page:
    flags = set(page.flags)
    if page.drop_reason is not None:
        return _page(page, page.text, flags, page.language_hint or "und", page.drop_reason, page.drop_detail)
    if _SUSPICIOUS.search(page.text) or _SUSPICIOUS.search(page.title):
        flags.add("suspicious")
    if _is_bare(page.text):
        flags.add("bare")
        text = page.text
    else:
        text = "\n".join(line for line in page.text.split("\n") if line not in frequent) if frequent else page.text
        text = keep_content(text, page.title) if page.media == "text" else keep_extracted(text)
    language, certain = _language(text if len(text) >= 200 else page.text, page.language_hint)

    def verdict(reason: DropReason | None, detail: str = "") -> Page:
        # a dropped page keeps what was found, so that the reason can be checked
        return _page(page, text or page.text, flags, language, reason, detail)

    if leak_hosts and (host := listed(page.url, "leak_hosts.txt")):
        return verdict("leak_host", f"{host} copies or derives from Wikipedia")
    if host := listed(page.url, "social_hosts.txt"):
        return verdict("social", f"{host} is a social, video or shop host")
    if gate := _gate(page, text):
        return verdict(*gate)
    if short := _too_short(text):
        return verdict(*_without_content(page, short))
    if languages and certain and language not in languages:
        return verdict("language", f"{language}, wanted {', '.join(languages)}")
    if (leak is not None or leak_hosts) and (detail := _mark_detail(page.text)):
        return verdict("leak_text", detail)
    if leak is not None and len(text.split()) >= LEAK_MIN_WORDS:
        found = leak(text)
        if found.larger >= LEAK_FLAG:
            flags.add("leak_flag")
        if found.larger >= LEAK_DROP:
            return verdict(
                "leak_text",
                f"{found.article_in_page:.2f} of the article's 8-grams in the page, "
                f"{found.page_in_article:.2f} of the page's in the article (limit {LEAK_DROP:.2f})",
            )
    return verdict(None)


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
    )


def _gate(page: Extracted, text: str) -> tuple[DropReason, str] | None:
    """Pages that show an obstacle instead of content. A long account that mentions captchas is not one."""
    n_words = len(text.split())
    head = f"{page.title}\n{page.text[:300]}"
    first_lines = "\n".join([page.title, *page.text.split("\n", 2)[:2]])
    if n_words < 150 and (found := _SOFT_404.search(first_lines[:300])):
        return "soft_404", f"says {found.group()!r}"
    for reason, pattern in _GATES:
        if n_words >= 250:
            break
        searched = page.text[:3000] if n_words < MIN_WORDS else head
        if found := pattern.search(searched):
            if n_words >= MIN_WORDS and reason in ("consent", "login"):
                continue  # banners stand on top of good pages too; with enough text below they only cost a line
            return reason, f"says {found.group()[:60]!r}"
    return None


def _too_short(text: str) -> str:
    unspaced = count_unspaced(text)
    if unspaced * 2 >= len(text.replace(" ", "").replace("\n", "")) > 0:
        return f"{unspaced} characters" if unspaced < MIN_CHARS_UNSPACED else ""
    n = len(text.split())
    return f"{n} words" if n < MIN_WORDS else ""


def _without_content(page: Extracted, short: str) -> tuple[DropReason, str]:
    """Too little is left: because the page only links on, or because its text was never loaded."""
    lines = [line for line in page.text.split("\n") if line]
    n_words = len(page.text.split())
    if n_words < 2 * MIN_WORDS:
        return "too_short", short
    detail = f"{short} of content among {n_words:,} words of menus and links"
    front = not _path_of(page.url).strip("/")
    links = sum(len(line.split()) for line in lines if 5 <= len(line.split()) <= 20)
    return ("index_page" if front or links > 0.5 * n_words else "too_short"), detail


def _mark_detail(text: str) -> str:
    if found := _TEXT_MARK.search(text):
        return f"says {found.group()[:80]!r}"
    edits = len(_EDIT_HEADING.findall(text))
    return f"{edits} headings with an [edit] link" if edits >= 3 else ""


def _is_bare(text: str) -> bool:
    """Lower-cased without punctuation, as the benchmark's cited pages are: measured, whatever the page's origin."""
    if len(text.split()) < 50:
        return False
    cased = upper = stops = 0
    for c in text:
        if c.isupper():
            upper += 1
            cased += 1
        elif c.islower():
            cased += 1
        elif c in ".!?,;":
            stops += 1
    return cased > 0.5 * len(text.replace(" ", "")) and upper < 0.005 * cased and stops * 200 < len(text.split())


# --- language --------------------------------------------------------------------------------------------------------

_LANGUAGES = (
    "af ar az be bg bn bs ca cs cy da de el en es et eu fa fi fr ga gl gu he hi hr hu hy id is it ja ka kk km kn ko lt lv mk ml"
    " mn mr ms mt my nb ne nl nn no pa pl ps pt ro ru si sk sl so sq sr sv sw ta te th tl tr uk ur uz vi zh"
).split()
"""Larger languages only: with all of the model's, lists of English names come out as Pidgin or Scots."""
_ENGLISH = frozenset(
    "the of and in to a is was for on with by at from that as it his her be are has have were an which this not".split()
)


@lru_cache(maxsize=1)
def _identifier():  # type: ignore[no-untyped-def]  # py3langid has no type hints
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages([code for code in _LANGUAGES if code in set(identifier.labels)])
    return identifier


def _language(text: str, hint: str | None) -> tuple[str, bool]:
    """(ISO 639-1 code, whether to act on it). Prose decides where there is any: names in lists look like any language."""
    prose = "\n".join(line for line in text.split("\n") if len(line) >= 80)
    sample = (prose if len(prose) >= 200 else text)[:4000]
    if len(sample) < 200:
        return (hint or "und").split("-")[0].lower(), hint is not None
    words = sample.lower().split()
    english = sum(1 for word in words if word in _ENGLISH)
    code, probability = _identifier().classify(sample)
    if code != "en" and english >= 0.12 * len(words):
        return "en", True
    return str(code), float(probability) >= 0.5


# --- hosts and addresses -----------------------------------------------------------------------------------------------

_TRACKING = re.compile(r"^(?:utm_.*|gclid|fbclid|mc_.*|igshid|ref_src|ref|cmpid|smid|ocid)$", re.I)


def host_of(url: str) -> str:
    try:
        host = (urlsplit(url).hostname or "").lower().rstrip(".")
    except ValueError:
        return ""
    return host.removeprefix("www.")


def _path_of(url: str) -> str:
    try:
        return urlsplit(url).path
    except ValueError:
        return ""


def canonical_url(url: str) -> str:
    """The address by which two links to one page are the same: without fragment, tracking, default port and `www.`."""
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        return url.strip()
    if not parts.hostname:
        return url.strip()
    query = urlencode(sorted((k, v) for k, v in parse_qsl(parts.query, keep_blank_values=True) if not _TRACKING.match(k)))
    where = host_of(url) + (f":{port}" if port not in (None, 80, 443) else "")
    return f"{where}{parts.path.rstrip('/')}" + (f"?{query}" if query else "")


def listed(url: str, file: str) -> str:
    """The name in `data/<file>` that covers the URL's host, or ""."""
    host = host_of(url)
    names = _host_list(file)
    labels = host.split(".")
    for at in range(len(labels)):
        name = ".".join(labels[at:])
        if name in names:
            return name
        if labels[at] + ".*" in names and 1 <= len(labels) - at - 1 <= 2:
            return labels[at] + ".*"
    return ""


@lru_cache(maxsize=4)
def _host_list(file: str) -> frozenset[str]:
    lines = (Path(__file__).parent / file).read_text(encoding="utf-8").splitlines()
    return frozenset(line.split("#")[0].strip().lower() for line in lines) - {""}


def _host_boilerplate(pages: Sequence[Extracted]) -> dict[str, frozenset[str]]:
    """Lines under 200 characters that three or more pages of one host share."""
    seen: dict[str, Counter[str]] = {}
    for page in pages:
        if page.drop_reason is None:
            lines = {line for line in page.text.split("\n") if 0 < len(line) < 200}
            seen.setdefault(host_of(page.url), Counter()).update(lines)
    return {host: frozenset(line for line, n in lines.items() if n >= 3) for host, lines in seen.items() if host}


# --- duplicates ------------------------------------------------------------------------------------------------------

_TOKEN = re.compile(r"\w+")


def _ngrams(text: str, n: int) -> set[tuple[str, ...]]:
    words = _TOKEN.findall(unicodedata.normalize("NFKC", text).lower())
    return set(zip(*(words[i:] for i in range(n))))


def _mark_duplicates(pages: Sequence[Page]) -> tuple[Page, ...]:
    """Usable pages that say the same become one: the earliest dated of the nearly longest, else the longest.

    A page that is contained in a longer one is never kept in its place, whatever its date: the rest would be lost.
    """
    usable = [i for i, page in enumerate(pages) if page.usable]
    urls = {i: canonical_url(pages[i].url) for i in usable}
    folded = {i: " ".join(pages[i].text.casefold().split()) for i in usable}
    shingles = {i: _ngrams(pages[i].text, 5) for i in usable}
    n_words = {i: len(pages[i].text.split()) for i in usable}
    cluster = {i: i for i in usable}
    why: dict[int, str] = {}
    for b in usable:
        for a in usable:
            if a >= b:
                break
            if cluster[a] == cluster[b]:
                continue
            reason = ""
            if urls[a] and urls[a] == urls[b]:
                reason = "same address"
            elif folded[a] == folded[b]:
                reason = "same text"
            elif shingles[a] and shingles[b]:
                shared = len(shingles[a] & shingles[b])
                jaccard = shared / (len(shingles[a]) + len(shingles[b]) - shared)
                contained = shared / min(len(shingles[a]), len(shingles[b]))
                if jaccard >= DUPLICATE:
                    reason = f"5-word shingles agree to {jaccard:.2f}"
                elif contained >= DUPLICATE and min(n_words[a], n_words[b]) > 100:
                    reason = f"{contained:.2f} of the shorter page's 5-word shingles are in the longer"
            if reason:
                old, new = max(cluster[a], cluster[b]), min(cluster[a], cluster[b])
                cluster = {i: new if c == old else c for i, c in cluster.items()}
                why.setdefault(a, reason)
                why.setdefault(b, reason)
    result = list(pages)
    for name in set(cluster.values()):
        members = [i for i in usable if cluster[i] == name]
        longest = max(n_words[i] for i in members)
        full = [i for i in members if n_words[i] >= DUPLICATE * longest]
        kept = min(full, key=lambda i: (pages[i].published or "9999", -n_words[i], i))
        for i in members:
            if i != kept:
                result[i] = replace(
                    pages[i], drop_reason="duplicate", drop_detail=f"of page {kept}: {why[i]}", duplicate_of=kept
                )
    return tuple(result)
