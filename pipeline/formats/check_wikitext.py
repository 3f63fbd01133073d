"""What an editor pastes: the maintenance templates of Wikipedia at the places of the statements that a check found wanting."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

from pipeline.checking.cited import Place
from pipeline.checking.report import LABELS, CheckReport, Finding
from pipeline.formats.wikitext import as_words
from pipeline.provenance import one_line, web_link
from pipeline.web.reliability import reliability

FAILED, DEAD, BETTER, NEEDED = "failed verification", "dead link", "better source needed", "citation needed"
_ALSO: dict[str, tuple[str, ...]] = {
    FAILED: ("failed verification", "fv", "failed", "not in source"),
    DEAD: ("dead link", "dl", "deadlink", "broken link"),
    BETTER: ("better source", "bsn", "better source needed", "unreliable source"),
    NEEDED: ("citation needed", "cn", "fact"),
}
_LOOKED_AT = 300
"""Characters after a reference in which its remark may stand already."""
_CLOSED = re.compile(r"(?:</\s*ref\s*|/\s*)>\s*\Z", re.IGNORECASE)
MOST_SHOWN = 1000
"""Characters of one reference in the list."""


def marked(source: str, report: CheckReport) -> str:
    """The article's wikitext with a template at each place where one belongs and none stands yet; "" where the article was no
    wikitext. A statement without a citation has no place: the list has it."""
    added: dict[int, list[str]] = {}
    for finding in report.findings:
        for at, name in _marks(source, finding):
            template = _template(name, report)
            if template not in added.setdefault(at, []):
                added[at].append(template)
    out, last = [], 0
    for at in sorted(added):
        out += [source[last:at], *added[at]]
        last = at
    return "".join([*out, source[last:]]) if source else ""


def listed(source: str, report: CheckReport) -> str:
    """The statements to look at as a list in wikitext, under the article's headings, each with its reference and the template
    that belongs there. Text of the article cannot become markup in it; its references are as the article has them."""
    lines = [f"== Citations to look at: {as_words(report.title or 'an article')} =="]
    section = None
    for finding in report.findings:
        templates = list(dict.fromkeys(name for _, name in _marks(source, finding, everywhere=True)))
        if not templates and finding.verdict != "broken":
            continue
        if finding.section != section:
            section = finding.section
            lines.append(f"=== {as_words(section or 'Introduction').replace('=', '&#61;')} ===")
        references = _references(source, finding)
        told = "".join(_template(name, report) for name in templates)
        lines.append(f"* {as_words(finding.text)}{references}{told} <!-- {_comment(finding)} -->")
    return "\n".join(lines if len(lines) > 1 else [*lines, "Nothing."]) + "\n"


def _marks(source: str, finding: Finding, *, everywhere: bool = False) -> list[tuple[int, str]]:
    """(offset in the source, template); with `everywhere` also those that have no place, at -1."""
    found: list[tuple[int, str]] = []
    own = () if finding.inherits else finding.places
    last = max((place.end for place in own), default=-1)
    if finding.verdict in ("unsupported", "older") and not finding.inherits:
        found.append((last, FAILED))
    if finding.verdict == "uncited" and not finding.inherits:
        found.append((-1, NEEDED))
    for n, page in enumerate(finding.cited if not finding.inherits else ()):
        places: list[Place | None] = [place for place in own if place.reference == n] or [None]
        if page.note.startswith("gone"):
            found += [((place.inside if place.inside >= 0 else place.end) if place else -1, DEAD) for place in places]
        if page.url and reliability(page.url) in ("unreliable", "deprecated"):
            found += [(place.end if place else -1, BETTER) for place in places]
    return [(at, name) for at, name in found if everywhere or (at >= 0 and not _stands(source, at, name))]


def _stands(source: str, at: int, name: str) -> bool:
    """Whether the remark is there already, just before or after."""
    around = source[max(0, at - _LOOKED_AT) : at + _LOOKED_AT].lower().replace("_", " ")
    before, after = around[: min(at, _LOOKED_AT)], around[min(at, _LOOKED_AT) :]
    for one in _ALSO[name]:
        if after.lstrip().startswith((f"{{{{{one}|", f"{{{{{one}}}}}")):
            return True
        if name == DEAD and max(before.rfind(f"{{{{{one}|"), before.rfind(f"{{{{{one}}}}}")) > before.rfind("<ref"):
            return True
    return False


def _template(name: str, report: CheckReport) -> str:
    try:
        return f"{{{{{name}|date={date.fromisoformat(report.checked):%B %Y}}}}}"
    except ValueError:
        return f"{{{{{name}}}}}"


def _references(source: str, finding: Finding) -> str:
    places = sorted({(place.start, place.end) for place in finding.places}) if source and not finding.inherits else []
    if places:
        return "".join(_as_it_is(one) if len(one := source[start:end]) <= MOST_SHOWN else "" for start, end in places)
    links = [link for page in finding.cited if (link := web_link(page.url))]
    return "".join(f" [{link}]" for link in links) if not finding.inherits else ""


def _as_it_is(reference: str) -> str:
    """A reference that nothing closes is shown, not used: the rest of the list would become a part of it."""
    is_template = reference.startswith("{{") and reference.endswith("}}")
    return reference if is_template or _CLOSED.search(reference) else as_words(reference)


def _comment(finding: Finding) -> str:
    notes: Sequence[str] = [f"{page.title or page.url}: {page.note}" for page in finding.cited if page.note]
    told = "; ".join([LABELS[finding.verdict], *notes, *([finding.remark] if finding.remark else [])])
    return one_line(told).replace("--", "- -").replace("<", "").replace(">", "")[:400]
