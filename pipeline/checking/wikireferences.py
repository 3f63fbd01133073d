"""What the references of a wikitext lead to: by name, by author and year, in lists at the end, within footnotes.

First the whole article is read for what it defines, then each place where it cites is resolved.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from pipeline.checking import cited_works
from pipeline.checking.cited import FILE_LINK, Reference
from pipeline.checking.shown import shown
from pipeline.checking.wikimarkup import Argument, ExtensionTag, HtmlTag, Link, Node, Part, Template, walk
from pipeline.checking.wikitemplates import normal, templates

_BRACKETED = re.compile(r"\[((?:https?:)?//[^\s\[\]<>\"]+)\s*([^\[\]\n]*)\]|(https?://[^\s|\[\]{}<>\"]+)")
_SHORT = re.compile(
    r"\W*(?P<names>[^\W\d_][\w'’.-]+(?:(?:,? (?:and|&|et al\.?|und|et|y)|,) [^\W\d_][\w'’.-]+|,? et al\.?){0,4}),?\s*"
    r"\(?(?P<year>(?:1[5-9]|20)\d\d[a-z]?|n\.d\.)\)?(?P<page>[\s,:;.(].{0,80})?\Z"
)
_WORK_LINE = re.compile(r"^[ \t]*[*#][ \t]*(?:\{\{[^{}|]*\}\}[ \t]*)?(?P<line>[^\s{*#].*)$", re.MULTILINE)
_OLD_NOTE = re.compile(
    r"\{\{\s*+note(?: label)?+\s*+\|\s*+([^|{}\s](?:[^|{}]*[^|{}\s])?)\s*+(?:\|[^{}]*+)?\}\}(.*)", re.IGNORECASE
)
_MARKUP = re.compile(r"'{2,}|\[\[|\{\{[^{}]*\}\}")
_WORD = re.compile(r"\w+")
_PROSE = re.compile(r"[^\W\d_]{2,}")
MOST_IN_ONE = 30
"""Works in one reference."""


@dataclass(frozen=True, slots=True)
class Definition:
    """What a named reference has in it. `inside` is the offset where its text ends."""

    nodes: tuple[Node, ...]
    inside: int
    broken: str = ""


class Works:
    """All that the article defines: named references, footnotes, and the works that short citations mean."""

    def __init__(self, nodes: list[Node], text: str) -> None:
        self._named: dict[tuple[str, str], Definition] = {}
        self._by_anchor: dict[str, tuple[Reference, int]] = {}
        self._resolved: dict[int, list[Reference]] = {}
        self._lines: dict[str, list[str]] = {}
        """Lines of lists by their first word: works in plain words are among them."""
        for match in _WORK_LINE.finditer(text):
            line = _MARKUP.sub("", match["line"][:1000])
            if first := _WORD.search(line[:60]):
                self._lines.setdefault(first[0].casefold(), []).append(match["line"][:1000])
        self._old = {match[1].strip(): match[2].strip() for match in _OLD_NOTE.finditer(text)}
        contributions: list[dict[str, str]] = []
        for node in walk(nodes):
            if isinstance(node, ExtensionTag) and node.name == "ref" and (name := node.attributes.get("name")):
                if node.inner and node.inner.strip():
                    self._define(
                        node.attributes.get("group", ""), name, Definition(tuple(node.nodes), node.inner_end, node.broken)
                    )
            elif isinstance(node, Template):
                called, values = name_of(node), parts_of(node)
                if called == "#tag:ref" or called in templates().notes:
                    if (name := unquoted(plain(values.get("name", Part()).nodes))) and (
                        content := note_content(called, values)
                    ):
                        group = unquoted(plain(values.get("group", Part()).nodes))
                        self._define(group, name, Definition(tuple(content), node.end - 2))
                elif templates().is_citation(called) or called in ("harvc",):
                    given = plain_values(values)
                    if called == "harvc":
                        contributions.append(given)
                    elif (work := reference_of(node)) is not None:
                        for anchor in _anchors(called, node, given):
                            self._by_anchor.setdefault(anchor, (work, node.end - 2))
        for given in contributions:
            self._contribution(given)

    def _define(self, group: str, name: str, definition: Definition) -> None:
        for key in ((group, name), ("", name)):
            self._named.setdefault(key, definition)

    def _contribution(self, given: dict[str, str]) -> None:
        """`{{harvc|last=Lee|c=Chapter|in=Brand|year=2024}}`: a chapter of a work that is described elsewhere."""
        year = given.get("year", given.get("date", ""))
        editors = [given[key] for key in ("in", "in2", "in3", "in4") if key in given]
        found = self._by_anchor.get(cited_works.anchor(*editors, given.get("anchor-year", year)))
        if found is not None:
            own = cited_works.reference_of("cite book", {**given, "title": given.get("c", "")})
            work = own if own is not None and own.url else replace(found[0], title=given.get("c", found[0].title))
            for anchor in cited_works.anchors("harvc", given):
                self._by_anchor.setdefault(anchor, (work, found[1]))

    def named(self, name: str, group: str = "") -> Definition | None:
        return self._named.get((group, name)) or self._named.get(("", name))

    def old_note(self, name: str) -> str | None:
        return self._old.get(name)

    def work(self, names: Iterable[str], year: str, page: str) -> tuple[Reference, int]:
        """The work of a short citation, at its page, and the end of its description. Of kind `undefined` where the article
        describes none, or several that it may be."""
        names = [name for name in names if name]
        found = self._by_anchor.get(cited_works.anchor(*names, year)) or self._listed(names, year)
        page = page.strip(" .,:;")[:60]
        if found is None:
            return Reference("", " ".join([*names, year]).strip(), kind="undefined", page=page), -1
        return (replace(found[0], page=page) if page else found[0]), found[1]

    def _listed(self, names: list[str], year: str) -> tuple[Reference, int] | None:
        """A work that its list has in plain words: the one line that begins with the name and has the year."""
        if not names or not year:
            return None
        word = _WORD.search(names[0])
        first = re.compile(rf"\W*{re.escape(names[0])}\b", re.IGNORECASE)
        known = self._lines.get(word[0].casefold(), []) if word else []
        lines = [line for line in known[:50] if year in line and first.match(_MARKUP.sub("", line))]
        if len(lines) != 1 or len(known) > 50:
            return None
        links = list(_BRACKETED.finditer(lines[0]))
        words = re.sub(r"'{2,}|[\[\]]", "", cited_works.URL.sub("", lines[0]))
        address = cited_works.cleaned(links[0][1] or links[0][3]) if links else cited_works.identified_in(words)
        of_words = cited_works.of_words(words)
        return replace(of_words, url=address) if address else of_words, -1

    # --- the works of one reference ---------------------------------------------------------------------------------------

    def cited_in(self, nodes: Iterable[Node], depth: int = 0) -> list[Reference]:
        """The works that the text of a reference names, in its order; empty where it names none."""
        if depth > 6:
            return []
        found: list[Reference] = []
        words: list[str] = []
        for node in nodes:
            if isinstance(node, str):
                words.append(node)
            elif isinstance(node, Template):
                self._of_template(node, found, words, depth)
            elif isinstance(node, ExtensionTag):
                if node.name == "ref":
                    found += self.of_tag(node, depth + 1)
                elif node.name in ("nowiki", "poem"):
                    words.append(node.inner or "")
            elif isinstance(node, Link):
                words.append(link_text(node))
        _of_links("".join(words), found)
        if not found and (address := cited_works.identified_in("".join(words))):
            found.append(replace(cited_works.of_words("".join(words)), url=address))
        if not found:
            found += self.short_words("".join(words))
        return list(dict.fromkeys(found))[:MOST_IN_ONE]

    def short_words(self, words: str) -> list[Reference]:
        """`Brand 2024, p. 5; Lee (2020), 17`, where the article describes works of theirs."""
        found = []
        for one in re.split(r";", " ".join(words.split())):
            short = _SHORT.match(one.strip().strip("'"))
            if short is None or len(one) > 120:
                return []
            names = [
                name for name in re.split(r",? (?:and|&|und|et|y) |, ", re.sub(r",? et al\.?", "", short["names"])) if name
            ]
            work, _ = self.work(names, short["year"], (short["page"] or "").strip("(), :;."))
            if work.kind == "undefined":
                work, _ = self.work(names[:1], short["year"], (short["page"] or "").strip("(), :;."))
            if work.kind == "undefined":
                return []
            found.append(work)
        return found

    def _of_template(self, node: Template, found: list[Reference], words: list[str], depth: int) -> None:
        known, name = templates(), name_of(node)
        parts = parts_of(node)
        if self.is_short(name):
            found += [work for work, _ in self.short(name, plain_values(parts))]
        elif name in known.archives:
            self._of_archive(plain_values(parts), found, words)
        elif name in known.bundles:
            for part in parts.values():
                found += self.cited_in(part.nodes, depth + 1)
        elif name in known.named:
            for _, name_, group, page in named_uses(plain_values(parts)):
                definition = self.named(name_, group)
                works = self._defined(definition, depth) if definition is not None else []
                found += [replace(work, page=page) if page else work for work in works]
        elif name in known.notes or name == "#tag:ref":
            found += self.cited_in(note_content(name, parts) or (), depth + 1)
        elif name.startswith(("#invoke:cite", "#invoke:citation")) or known.is_citation(name):
            if name == "citation" and set(plain_values(parts)) <= {"1"}:
                words.append(f"“{plain_values(parts).get('1', '')}”")  # the quotation of the French Wikipedia
            elif (work := reference_of(node)) is not None:
                found.append(work)
            else:
                found.append(Reference("", f"{{{{{name}}}}}", kind="template"))
        elif name in cited_works.IDENTIFIERS:
            value = plain_values(parts).get("1", "") or plain_values(parts).get("id", "")
            address = cited_works.address_of(name, value)
            if found and not found[-1].url and address:
                found[-1] = replace(found[-1], url=address)
            elif not found and (address or name == "isbn"):
                words_now = " ".join("".join(words).split())
                found.append(
                    Reference(address, words_now[:200] or f"{name.upper()} {value}", kind="book" if name == "isbn" else "")
                )
        elif name in known.page_mark or (known.is_ignored(name) and not name.startswith("infobox")):
            return
        elif (told := shown(name, plain_values(parts))) is not None:
            words.append(told)
        elif (work := _by_any_address(parts)) is not None:
            found.append(work)
        else:
            found.append(Reference("", f"{{{{{name[:80]}}}}}", kind="template"))

    def _of_archive(self, values: dict[str, str], found: list[Reference], words: list[str]) -> None:
        """An archive's template: the copy of the work before it, else a work of its own."""
        archive = cited_works.archived(values)
        if not archive:
            return
        if not found:
            _of_links("".join(words), found)
            if found:
                words.clear()
        if found:
            found[-1] = cited_works.with_archive(found[-1], archive)
        else:
            title = values.get("title") or values.get("text") or values.get("titel") or "".join(words).strip()
            found.append(cited_works.of_address(archive, title))

    def of_tag(self, tag: ExtensionTag, depth: int = 0) -> list[Reference]:
        """The works of a `<ref>`; one that names none is itself what it says."""
        name, group = tag.attributes.get("name", ""), tag.attributes.get("group", "")
        page = tag.attributes.get("details", "")[:60]
        if not (tag.inner or "").strip():
            if not name:
                return [Reference("", "an empty reference", kind="broken")]
            definition = self.named(name, group)
            if definition is None:
                return [Reference("", name, kind="undefined")]
            works = self._defined(definition, depth)
            return [replace(work, page=page) for work in works] if page else works
        base = self.named(tag.attributes["extends"], group) if "extends" in tag.attributes else None
        if base is not None:
            page = " ".join(plain(list(tag.nodes)).split()).strip(" .")[:60]
            return [replace(work, page=page) for work in self._defined(base, depth)]
        return self.works_of(tag.nodes, tag.broken, depth)

    def _defined(self, definition: Definition, depth: int) -> list[Reference]:
        """Its works, found once: definitions may use each other, and themselves."""
        if id(definition) not in self._resolved:
            self._resolved[id(definition)] = []
            self._resolved[id(definition)] = self.works_of(definition.nodes, definition.broken, depth + 1)
        return self._resolved[id(definition)]

    def works_of(self, nodes: Iterable[Node], broken: str = "", depth: int = 0) -> list[Reference]:
        nodes = tuple(nodes)
        found = self.cited_in(nodes, depth)
        if not found:
            words = " ".join(plain(list(nodes)).split())
            if broken:
                return [Reference("", words[:200] or broken, kind="broken")]
            found = [cited_works.of_words(words)] if words else [Reference("", "an empty reference", kind="broken")]
        return found

    def is_short(self, name: str) -> bool:
        known = templates()
        return name in known.short or name in known.several or name in known.full

    def short(self, name: str, values: dict[str, str]) -> list[tuple[Reference, int]]:
        """The works of `{{sfn|Brand|2024|p=5}}` and its relatives, each with the end of its description."""
        if name in templates().several:
            return [self.work(*one) for one in _several(values)][:MOST_IN_ONE]
        if name in templates().full:
            names = [values[key] for key in ("last", "last1", "last2", "last3", "last4") if key in values]
            return [self.work(names, values.get("year", values.get("date", "")), _page_of(values))]
        words = [values[str(n)] for n in range(1, 8) if values.get(str(n))]
        ref = values.get("ref", "")
        if ref and ref.lower() not in ("none", "harv"):
            work, end = self.work([ref.removeprefix("CITEREF")], "", _page_of(values))
            if work.kind != "undefined":
                return [(work, end)]
        names, year = (words[:-1], words[-1]) if len(words) > 1 else (words, "")
        return [self.work(names, year, _page_of(values))]

    def has_prose(self, nodes: Iterable[Node]) -> bool:
        """Whether the text beside its citations says something by itself."""
        kept = [node for node in nodes if isinstance(node, (str, Link))]
        words = _BRACKETED.sub("", "".join(node if isinstance(node, str) else link_text(node) for node in kept))
        return len(_PROSE.findall(words)) >= 5


# --- parts of templates ---------------------------------------------------------------------------------------------------


def name_of(template: Template) -> str:
    """Its name as `normal` gives it. Of a parser function the part up to the colon, but `#tag:ref` whole."""
    written = "".join(node for node in template.parts[0].nodes if isinstance(node, str))
    name = normal(written)
    if name.startswith("#") and not name.startswith(("#tag:", "#invoke:")):
        return name.partition(":")[0]
    return name


def parts_of(template: Template) -> dict[str, Part]:
    """Its values by name, positional ones by their number; of two with one name the last, as in MediaWiki."""
    found: dict[str, Part] = {}
    position = 0
    for part in template.parts[1:]:
        if part.split >= 0:
            key = " ".join(plain(part.nodes[: part.split]).split())
            found[key] = Part(part.nodes[part.split + 1 :])
        else:
            position += 1
            found[str(position)] = part
    return found


def plain_values(parts: dict[str, Part]) -> dict[str, str]:
    """The values in plain text, without the empty ones; also identifiers that are templates (`|id={{ProQuest|1}}`)."""
    found = {key: value for key, part in parts.items() if (value := " ".join(plain(part.nodes).split()))}
    for key, part in parts.items():
        if key in ("id", "url", "ref"):
            for node in part.nodes:
                if isinstance(node, Template) and (name := name_of(node)) in (*cited_works.IDENTIFIERS, "url"):
                    inner = parts_of(node)
                    if "1" in inner:
                        found.setdefault(name, plain(inner["1"].nodes).strip())
    return found


def plain(nodes: list[Node]) -> str:
    """Text without references, links as their labels, templates as what they show."""
    out: list[str] = []
    for node in nodes:
        if isinstance(node, str):
            out.append(node)
        elif isinstance(node, Link):
            out.append(link_text(node))
        elif isinstance(node, Template):
            if node.told is None:  # once, however many templates it lies in
                is_citation = templates().is_citation(name_of(node))
                node.told = "" if is_citation else shown(name_of(node), plain_values(parts_of(node))) or ""
            out.append(node.told)
        elif isinstance(node, ExtensionTag) and node.name == "nowiki":
            out.append(node.inner or "")
        elif isinstance(node, Argument) and len(node.parts) > 1:
            out.append(plain(node.parts[1].nodes))
    return re.sub(r"'{2,}", "", "".join(out))


def link_text(link: Link) -> str:
    """What a link shows: its label, else its target without what a pipe alone hides."""
    target = plain(link.parts[0].nodes).strip()
    if len(link.parts) == 1:
        return target.removeprefix(":")
    label = plain(link.parts[-1].nodes)
    return label if label.strip() else re.sub(r"^:?[\w ]+:|\s*\([^()]*\)\Z", "", target)


def unquoted(name: str) -> str:
    """`{{#tag:ref|...|name="a"}}` has the quotation marks of a tag."""
    return name.strip().strip("\"'").strip()


def reference_of(template: Template) -> Reference | None:
    return cited_works.reference_of(name_of(template), plain_values(parts_of(template)))


def note_content(name: str, values: dict[str, Part]) -> list[Node] | None:
    """The text of a footnote template, None where it only repeats one by name."""
    keys = ("1",) if name != "#tag:ref" else ("1", "2")
    for key in ("text", "texte", "content", "contenu", *keys):
        if key in values and (
            plain(values[key].nodes).strip() or any(not isinstance(n, (str, HtmlTag)) for n in values[key].nodes)
        ):
            return values[key].nodes
    return None


def named_uses(values: dict[str, str]) -> list[tuple[int, str, str, str]]:
    """(number, name, group, page) of each reference that `{{r|name|name2|p=5}}` uses."""
    found = []
    for n in range(1, 20):
        if name := values.get(str(n)) or (values.get("name") if n == 1 else None):
            page = next((values[key] for stem in ("p", "pp", "page", "pages", "loc", "at") for key in
                         ((f"{stem}{n}", stem) if n == 1 else (f"{stem}{n}",)) if values.get(key)), "")  # fmt: skip
            found.append((n, name, values.get(f"g{n}") or values.get("group") or values.get("g") or "", page[:60]))
    return found


def _page_of(values: dict[str, str]) -> str:
    return next((values[key] for key in templates().parameters["short_page"] if values.get(key)), "")


def _several(values: dict[str, str]) -> list[tuple[list[str], str, str]]:
    """`{{sfnm|1a1=Brand|1y=2024|1p=5|2a1=Lee|2y=2020}}`, also `{{sfnm|Brand|2024|1p=5|Lee|2020}}`."""
    found: list[tuple[list[str], str, str]] = []
    for n in range(1, 30):
        names = [values[key] for m in range(1, 5) for key in (f"{n}a{m}", *((f"{n}a",) if m == 1 else ())) if values.get(key)]
        if names:
            found.append((names, values.get(f"{n}y", ""), _numbered_page(values, n)))
    words = [values[str(n)] for n in range(1, 60) if values.get(str(n))]
    names = []
    for word in words:
        if re.fullmatch(r"(?:c\. ?)?\d{4}[a-z]?(?:[–-]\d{2,4})?|n\.?d\.?", word) and names:
            found.append((names, word, _numbered_page(values, len(found) + 1)))
            names = []
        else:
            names.append(word)
    return found


def _numbered_page(values: dict[str, str], n: int) -> str:
    return next((values[f"{n}{key}"] for key in ("p", "pp", "loc") if values.get(f"{n}{key}")), "")


def _anchors(name: str, node: Template, given: dict[str, str]) -> Iterable[str]:
    """Its anchors, those of `ref={{harvid|Brand|2024}}` among them."""
    ref = parts_of(node).get("ref")
    for inner in ref.nodes if ref is not None else ():
        if isinstance(inner, Template):
            yield cited_works.anchor(*(value for key, value in plain_values(parts_of(inner)).items() if key.isdigit()))
    yield from cited_works.anchors(name, given)


def _by_any_address(parts: dict[str, Part]) -> Reference | None:
    """Of a template that nothing is known of: the first address among its values."""
    values = plain_values(parts)
    if not any(cited_works.URL.search(value) for value in values.values()):
        return None
    return cited_works.reference_of("", values)


def _of_links(words: str, found: list[Reference]) -> None:
    """The addresses in the words of a reference; a copy in an archive belongs to what is before it."""
    beside = re.sub(r"'{2,}", "", _BRACKETED.sub("", words)).strip(" .,;:()[]\n")[:500]
    seen = {reference.url for reference in found}
    for link in _BRACKETED.finditer(words):
        if len(found) >= MOST_IN_ONE:
            return
        bracketed = link[1] or ""
        url = cited_works.cleaned(f"https:{bracketed}" if bracketed.startswith("//") else bracketed or link[3])
        title = re.sub(r"'{2,}", "", link[2] or "").strip() or beside
        if cited_works.ARCHIVES.match(url) and found and found[-1].url and not cited_works.ARCHIVES.match(found[-1].url):
            page = cited_works.original(url)
            if not found[-1].archive_url and (not page or page.rstrip("/") == found[-1].url.rstrip("/") or len(found) == 1):
                found[-1] = cited_works.with_archive(found[-1], url)
                continue
        one = cited_works.of_address(url, " ".join(title.split()))
        if one.url not in seen:
            seen.add(one.url)
            found.append(one)
    for link in FILE_LINK.finditer(words):
        if len(found) < MOST_IN_ONE and link[1] not in seen:
            seen.add(link[1])
            found.append(Reference(link[1], re.sub(r"'{2,}", "", link[2] or "").strip()[:200]))
