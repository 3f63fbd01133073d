"""The values of a citation template -> the work that it names, with the address where it can be read, if any.

The same for wikitext and for the `data-mw` of a page's HTML, and for the templates of several languages.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from urllib.parse import quote, unquote

from pipeline.checking.cited import Reference, ReferenceKind, page_address
from pipeline.checking.wikitemplates import templates
from pipeline.reading.dates import read_moment

URL = re.compile(r"https?://[^\s|\[\]{}<>\"\ue000-\ue00f]+", re.IGNORECASE)
_WAYBACK = re.compile(r"https?://(?:www\.|web\.)?archive\.org/(?:web/)?(?:\d{4,14}|\*)[a-z_]*/(?P<page>.+)", re.IGNORECASE)
_TODAY = re.compile(
    r"https?://archive\.(?:today|ph|is|li|vn|fo|md)/(?:\d{4,14}|\d{4}[\d.-]+)/(?P<page>https?:.+)", re.IGNORECASE
)
_WEBCITE = re.compile(r"https?://(?:www\.)?webcitation\.org/\S*?[?&]url=(?P<page>[^&\s]+)", re.IGNORECASE)
ARCHIVES = re.compile(
    r"https?://(?:(?:www\.|web\.)?archive\.org/(?:web/|\d{14})|archive\.(?:today|ph|is|li|vn|fo|md)/|(?:www\.)?webcitation\.org/"
    r"|ghostarchive\.org/|perma\.cc/|wayback\.archive-it\.org/|(?:www\.)?webarchive\.[a-z.]+/)",
    re.IGNORECASE,
)
_NO_LONGER = frozenset({"usurped", "unfit", "deviated", "bot: unknown"})
"""States of an address under which another page, or a harmful one, is found today."""
_YEAR = re.compile(r"\b((?:1[0-9]|20)\d\d)([a-z]?)\b")
_HOST = re.compile(r"(?:www\.)?[\w-]+(?:\.[\w-]+)+(?:/\S*)?\Z")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]\w{1,30});")
_YEARS = ("year", "date", "publication-date", "jahr", "datum", "année", "annee", "ano", "anno", "año")
_NO_DATE = re.compile(r"\s*n\.?\s*d\.?\s*\Z", re.IGNORECASE)

_ADDRESSES: dict[str, str] = {
    "pmc": "https://pmc.ncbi.nlm.nih.gov/articles/PMC{}/",
    "arxiv": "https://arxiv.org/abs/{}",
    "doi": "https://doi.org/{}",
    "pmid": "https://pubmed.ncbi.nlm.nih.gov/{}/",
    "jstor": "https://www.jstor.org/stable/{}",
    "hdl": "https://hdl.handle.net/{}",
    "ssrn": "https://papers.ssrn.com/sol3/papers.cfm?abstract_id={}",
    "osti": "https://www.osti.gov/biblio/{}",
    "rfc": "https://www.rfc-editor.org/rfc/rfc{}",
    "biorxiv": "https://doi.org/{}",
    "medrxiv": "https://doi.org/{}",
    "citeseerx": "https://citeseerx.ist.psu.edu/viewdoc/summary?doi={}",
    "s2cid": "https://api.semanticscholar.org/CorpusID:{}",
    "bibcode": "https://ui.adsabs.harvard.edu/abs/{}",
    "zbl": "https://zbmath.org/?q=an:{}",
    "mr": "https://mathscinet.ams.org/mathscinet-getitem?mr={}",
    "oclc": "https://search.worldcat.org/oclc/{}",
    "proquest": "https://www.proquest.com/docview/{}",
    "youtube": "https://www.youtube.com/watch?v={}",
    "internet archive": "https://archive.org/details/{}",
    "gutenberg": "https://www.gutenberg.org/ebooks/{}",
}
_SHAPES: dict[str, str] = {
    "pmc": r"(?:PMC)?(\d{4,9})(?:\.\d)?",
    "arxiv": r"(?:arxiv:)?([a-z.-]+/\d{7}|\d{4}\.\d{4,5}(?:v\d+)?)",
    "doi": r"(?:doi:|https?://(?:dx\.)?doi\.org/)?(10\.\d{4,9}/\S+)",
    "pmid": r"(\d{1,8})",
    "jstor": r"([\w./]{3,40})",
    "rfc": r"(\d{1,5})",
    "oclc": r"(?:\(OCoLC\))?(\d{1,14})",
}
_ALSO = {"eprint": "arxiv", "youtube id": "youtube", "arxiv id": "arxiv"}
_IN_WORDS = re.compile(
    r"\b(?:(?P<doi>doi:?\s*10\.\d{4,9}/[^\s<>\"|\]}]+)|(?P<pmc>PMC:?\s*\d{4,9})|(?P<pmid>PMID:?\s*\d{4,8})"
    r"|(?P<arxiv>arXiv:\s*(?:[a-z.-]+/\d{7}|\d{4}\.\d{4,5}))|(?P<rfc>RFC\s+\d{1,5}))\b",
    re.IGNORECASE,
)
_BOOK = re.compile(r"\bISBN\b|\bpp?\.\s?\d|\bS\.\s?\d|\bvol\. ?\d|\bpress\b|\bverlag\b", re.IGNORECASE)
_MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_ISSUE = re.compile(
    rf"(?!.*\b(?:ISBN|press|verlag)\b).*\b(?:\d{{1,2}}\.? {_MONTH}|{_MONTH} \d{{1,2}},) \d{{4}}\b", re.IGNORECASE | re.DOTALL
)
"""A day makes it an issue of a newspaper."""
IDENTIFIERS = frozenset({*_ADDRESSES, "isbn", "issn", "asin", "lccn"})
"""Templates that show a number by which a work is known."""


def reference_of(name: str, given: Mapping[str, str]) -> Reference | None:
    """The work that a citation template names. `given` are its values in plain text by their names as written, positional
    ones by their number. None where they name nothing."""
    values = {key.strip().lower(): decoded(value).strip() for key, value in given.items() if value.strip()}
    known = templates()
    url, archive = _address(values)
    if not url:
        url = _identified(name, values) or _by_its_site(name, values)
    title = _first(values, "title").strip("\"“”' ")
    if not (url or archive or title or "isbn" in values):
        return None
    if archive and (not url or values.get("url-status", values.get("dead-url", "")).lower() in _NO_LONGER):
        url, archive = archive, ""
    kind: ReferenceKind = "book" if name in known.books or ("isbn" in values and name not in known.journals) else ""
    if not kind and name in known.journals:
        kind = "article"
    return Reference(url, title, archive, day_of(_first(values, "date")), kind=kind, page=_first(values, "page")[:60])


_SITES = {
    "cite metacritic": "https://www.metacritic.com/{type}/{id}",
    "cite rotten tomatoes": "https://www.rottentomatoes.com/{type}/{id}",
    "cite box office mojo": "https://www.boxofficemojo.com/title/{id}",
    "cite imdb": "https://www.imdb.com/title/{id}",
    "cite the numbers": "https://www.the-numbers.com/movie/{id}",
}
"""Templates of one site, whose `id` is a page on it."""
_KINDS_OF_WORK = {"film": "movie", "movies": "movie", "m": "movie", "television": "tv"}


def _by_its_site(name: str, values: Mapping[str, str]) -> str:
    told = values.get("id", "").strip("/ ")
    if name not in _SITES or not re.fullmatch(r"[\w.()/-]{1,120}", told):
        return ""
    kind = values.get("type", "movie").lower()
    kind = _KINDS_OF_WORK.get(kind, kind)
    kind = "m" if name.endswith("tomatoes") and kind == "movie" else kind
    told = told.partition("/")[2] if told.startswith((f"{kind}/", "m/", "movie/")) else told
    return _SITES[name].format(type=quote(kind), id=quote(told))


def decoded(text: str) -> str:
    """Text with its entities decoded, those with a semicolon alone: in addresses `&copy=1` is a value called copy."""
    return _ENTITY.sub(lambda match: html.unescape(match[0]), text)


def of_address(url: str, title: str = "") -> Reference:
    """The page of an address alone; a copy in an archive stands for its page."""
    url = cleaned(url)
    page = original(url)
    return Reference(page or url, title[:200], url if page else "")


def of_words(words: str) -> Reference:
    """A citation in words without an address: its identifiers are tried."""
    words = " ".join(words.split())
    kind: ReferenceKind = ("article" if _ISSUE.search(words) else "book") if _BOOK.search(words) else ""
    return Reference(identified_in(words), words[:200], kind=kind)


def identified_in(words: str) -> str:
    """The address of the first DOI, PMID, ... of a text, "" for none."""
    for found in _IN_WORDS.finditer(words):
        key = str(found.lastgroup)
        value = re.sub(r"\A(?:doi|pmc|pmid|arxiv|rfc):?\s*", "", found[0], flags=re.IGNORECASE).rstrip(".,;)")
        return address_of(key, value)
    return ""


def address_of(key: str, value: str) -> str:
    """The address of a work by its identifier, "" where there is none, or the value has not its form."""
    if key not in _ADDRESSES or not value:
        return ""
    found = re.fullmatch(_SHAPES.get(key, r"([\w.:/&()-]{3,60})"), value.strip(), re.IGNORECASE)
    return _ADDRESSES[key].format(quote(found[1], safe="/:;().&-_~,+*=")) if found else ""


def cleaned(url: str) -> str:
    """An address without what belongs to the text around it."""
    url = decoded(url.strip()).strip("'").rstrip(".,;:!?'’”")
    return url[:-1] if url.endswith(")") and "(" not in url else url


def original(url: str) -> str:
    """The page of which an address is an archived copy, "" where it is none or does not say."""
    for pattern in (_WAYBACK, _TODAY, _WEBCITE):
        if found := pattern.match(url):
            page = unquote(found["page"]) if pattern is _WEBCITE else found["page"]
            page = re.sub(r"\A(https?):/{0,2}(?=[^/])", r"\1://", page)
            if not re.match(r"https?://", page):
                page = f"http://{page}"
            return "" if ARCHIVES.match(page) else page
    return ""


def with_archive(reference: Reference, archive: str) -> Reference:
    """The same, with an archived copy that stands beside it."""
    if not archive or archive == reference.url:
        return reference
    if not reference.url:
        return replace(reference, url=original(archive) or archive, archive_url=archive if original(archive) else "")
    return reference if reference.archive_url else replace(reference, archive_url=archive)


def archived(values: Mapping[str, str]) -> str:
    """The copy that an archive template names (`{{webarchive}}`, `{{Webarchiv|wayback=2013...|url=...}}`)."""
    given = {key.strip().lower(): decoded(value).strip() for key, value in values.items()}
    url = _http(given.get("url", "") or given.get("1", ""))
    if url and ARCHIVES.match(url):
        return url
    stamp = given.get("wayback") or given.get("date") or given.get("horodatage archive") or given.get("2") or ""
    digits = re.sub(r"\D", "", stamp) if re.fullmatch(r"[\d\s:-]+", stamp) else ""
    return f"https://web.archive.org/web/{digits or '*'}/{url}" if url and digits else ""


def anchors(name: str, given: Mapping[str, str]) -> frozenset[str]:
    """By what short citations find this work: its names and its year, as in `brand2024`."""
    values = {key.strip().lower(): value.strip() for key, value in given.items() if value.strip()}
    found: set[str] = set()
    if (ref := values.get("ref", "")) and ref.lower() not in ("harv", "none"):
        found.add(anchor(ref.removeprefix("CITEREF")))
    years = [values[key] for key in _YEARS if key in values]
    for written in years:
        year = "".join(match.groups()) if (match := _YEAR.search(written)) else "n.d." if _NO_DATE.match(written) else ""
        for names in _names(values):
            found.add(anchor(*names, year))
            found.add(anchor(*names, year.rstrip("abcdefghijk")))
    if not years:
        found |= {anchor(*names) for names in _names(values)}
    return frozenset(found)


def anchor(*words: str) -> str:
    """A short citation as it is compared."""
    return re.sub(r"[\s_.,'’]+", "", "".join(words)).casefold()


def day_of(written: str) -> str:
    """A date as YYYY-MM-DD where it is a whole one, else as it is written."""
    moment = read_moment(written)
    return moment.day.isoformat() if moment is not None else written[:40]


def _names(values: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """The names of a work's authors, of one of its editors where it has none, as short citations may have them."""
    for family in (("last", "author", "surname", "nom", "auteur", "autor", "nachname", "apellidos", "cognome"),
                   ("editor-last", "editor", "editor-surname", "hrsg", "nom éditeur")):  # fmt: skip
        names: list[str] = []
        for n in range(1, 5):
            keys = [f"{one}{n}" for one in family] + ([*family] if n == 1 else [])
            keys += [f"{one.replace('editor', f'editor{n}', 1)}" for one in family if one.startswith("editor")]
            keys += [f"{one}{n}-last" for one in ("author", "editor")] + (["author-last"] if n == 1 else [])
            if name := next((values[key] for key in keys if key in values), ""):
                names.append(name)
            else:
                break
        if names:
            yield tuple(names)
            yield tuple(name.partition(",")[0] for name in names)
            yield tuple(name.split()[-1] for name in names if name.split())
            return
    for key in (*templates().parameters["authors"], *templates().parameters["editors"]):
        if key in values:  # "Brand A, Lee BC"
            written = [one.strip("() ") for one in values[key].split(",") if one.strip("() ")][:4]
            yield tuple(re.sub(r"\s+[A-Z]{1,3}\Z", "", one) for one in written)
            return
    for key in ("publisher", "work", "website", "newspaper", "agency", "title"):
        if key in values:
            yield (values[key],)


def _address(values: Mapping[str, str]) -> tuple[str, str]:
    known = templates().parameters
    archive = next((found for key in known["archive"] if (found := _http(values.get(key, "")))), "")
    url = next((found for key in known["url"] if (found := _http(values.get(key, ""), key))), "")
    if not url and "number" in values and "user" in values:  # {{cite tweet}}
        url = f"https://x.com/{quote(values['user'].lstrip('@'))}/status/{quote(values['number'])}"
    if not url:
        url = next((form.format(**kept) for keys, form in _BY_TEMPLATE if (kept := _all_of(values, keys))), "")
    if not url:
        skipped = {*known["archive"], "via", "id", "author-link", "publisher", "website", "work", "quote"}
        url = next((found for key, value in values.items() if key not in skipped and (found := _http(value))), "")
    if url and ARCHIVES.match(url) and (page := original(url)):
        return page, archive or url
    if not url and (file := next((one for key in ("url", "id") if page_address(one := values.get(key, ""), local=True)), "")):
        return file, archive  # beside the article
    return url, archive


_BY_TEMPLATE: tuple[tuple[tuple[str, ...], str], ...] = (
    (("user", "postid"), "https://www.instagram.com/p/{postid}/"),
    (("country", "number"), "https://patents.google.com/patent/{country}{number}"),
)
"""Of templates that make an address of their values: `{{cite instagram}}`, `{{cite patent}}`."""


def _all_of(values: Mapping[str, str], keys: Sequence[str]) -> dict[str, str]:
    """The values of these keys as they can stand in an address; empty where one is missing or is no plain word."""
    found = {key: values.get(key, "").strip().replace(",", "") for key in keys}
    return found if all(re.fullmatch(r"@?[\w.-]{1,60}", value) for value in found.values()) else {}


def _http(value: str, key: str = "") -> str:
    """The address in a value; `[https://a.org PDF]`, `//a.org` and, where an address is asked for, `www.a.org`."""
    if found := URL.search(value):
        return cleaned(found[0])
    if value.startswith("//"):
        return f"https:{value.split()[0]}"
    if key.endswith("url") and _HOST.match(value) and not page_address(value, local=True):
        return f"http://{value}"
    return ""


def _identified(name: str, values: Mapping[str, str]) -> str:
    given = dict(values)
    kind = name.rpartition(" ")[2]
    if kind in _ADDRESSES and "1" in values:  # {{cite doi|10.1/x}}
        given.setdefault(kind, values["1"])
    for other, key in _ALSO.items():
        if other in given:
            given.setdefault(key, given[other])
    order = (*templates().identifiers, "proquest", "youtube", "internet archive", "gutenberg")
    return next((url for key in order if key != "oclc" and (url := address_of(key, given.get(key, "")))), "")


def _first(values: Mapping[str, str], what: str) -> str:
    return next((values[key] for key in templates().parameters[what] if values.get(key)), "")
