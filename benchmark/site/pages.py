"""The site's files, one after the other. The same submissions give the same bytes."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib import resources
from typing import TYPE_CHECKING, Any

from benchmark.floors import REFERENCES
from benchmark.scoring import JUNK_UP_TO, ORIGINAL_UP_TO, RANKED, SUPPORTED_FROM, support_unknown, why_unmet
from benchmark.site import figures
from benchmark.site.agent_pages import AgentsPage
from benchmark.site.article_view import shown
from benchmark.site.entries import Entry, Refused, event_ids, safe_name
from benchmark.site.ranking import LEVEL, Block, Comparison, Row, blocks, condition_of, without_leak_filter
from benchmark.submissions.submitted import MODEL_FREE, Submission, SubmittedModel
from data.scores import EventScores
from eval import catalogue

if TYPE_CHECKING:
    from jinja2 import Environment

ASSETS = ("site.css", "site.js")
GROUPS = {
    "Ranked by": ("quality",),
    "Made of": ("fact_f", "organisation", "conflict_share"),
    "Preconditions": ("cite_f1", "copied_share", "verbatim_share", "junk_share"),
    "Beside them": ("words",),
}
COLUMNS = {name: (catalogue.entry(name).label, catalogue.entry(name).meaning) for names in GROUPS.values() for name in names}
"""The metrics of the front page, drawn with their intervals: heading and explanation."""
SUPPORT = "cite_f1"

PLAIN_COLUMNS = {
    "Seconds": "wall time of writing, an article, on the machine of whoever submitted it",
    "Tokens/s": "new tokens a second of the language model",
    "USD": "US dollars an article, as the submission says",
}

EVENT_COLUMNS = tuple(name for name in COLUMNS if name != "words")
PROBE = ("fact_f", "fact_recall", "entity_recall", "ib_hard")
"""What contamination shows in, the first that a variant has: what a model remembers or copies raises coverage first."""

RECENT = "topic: since 2021"
"""The stratum of `benchmark.strata` that a model can have read least about."""

VARIANTS = {
    "closed_book": (
        "Closed book",
        "No closed-book run of the same model was submitted",
        "facts told by the same model from the title alone, without evidence: what it remembers",
    ),
    "leak_filter_off": (
        "Leak filter off",
        "No run without the leak filter was submitted",
        "facts told by the same system with pages that copy the encyclopedia",
    ),
    "recent": (
        "Recent events",
        "No score on recent events alone was submitted",
        "facts told on topics since 2021 alone, of which a model can have read least",
    ),
}
"""Heading, what to say where there is none, and explanation."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A contamination cell: the value, which metric it is of, and where it comes from, or why there is none. `defined` is False
    where there can be none."""

    value: float | None
    note: str
    defined: bool = True
    claimed: bool = False


@dataclass(frozen=True, slots=True)
class Reference:
    """A floor or ceiling that submissions of a block give: not a contestant."""

    kind: str
    name: str
    means: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class EventPage:
    benchmark: str
    event_id: str
    href: str
    title: str


@cache
def _environment() -> Environment:
    """Kept from site to site: compiling the templates takes longer than filling most of them."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("benchmark.site"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=readable,
    )
    environment.filters |= {"number": figures.number, "signed": figures.signed, "p": figures.p_value, "cut": cut}
    environment.globals |= {
        "bar": figures.bar,
        "measure": catalogue.entry,
        "families": catalogue.by_group,
        "seconds": figures.seconds_an_article,
        "tokens_s": figures.tokens_a_second,
        "usd_an_article": figures.usd_an_article,
        "columns": COLUMNS,
        "groups": GROUPS,
        "plain_columns": PLAIN_COLUMNS,
        "reference_notes": {name: one.meaning for name, one in REFERENCES.items()},
        "ranked": RANKED,
        "support": SUPPORT,
        "support_unknown": lambda made: support_unknown(made.means),
        "why_unmet": lambda made: why_unmet(made.means),
        "bounds": {"cite_f1": SUPPORTED_FROM, **ORIGINAL_UP_TO, "junk_share": JUNK_UP_TO},
        "variants": VARIANTS,
        "no_model": no_model,
        "without_model": without_model,
        "verdict": verdict,
    }
    return environment


class Site:
    """All pages of valid entries and refused folders."""

    def __init__(self, entries: Sequence[Entry], refused: Sequence[Refused], agents: Sequence[AgentsPage] = ()) -> None:
        self.agents = agents
        self._entries = entries
        self._refused = refused
        self._blocks = blocks(entries)

    def files(self) -> Iterator[tuple[str, str]]:
        """(path relative to the site, text), one page at a time: the articles of all events need not fit in memory."""
        yield "index.html", self._page("index.html", root="", blocks=self._blocks, refused=self._refused)
        yield "events.html", self._page("events.html", root="", events=self._events, n=self._n_articles)
        for page in self.agents:
            yield page.href, self._page("agents.html", root="", page=page)
        for block in self._blocks:
            for row in block.rows:
                yield from self._system_files(block, row)
        for i, event in enumerate(self._events):
            yield event.href, self._event_page(i, event)
        for name in ASSETS:
            yield name, resources.files("benchmark.site").joinpath(name).read_text(encoding="utf-8")

    def _page(self, template: str, **values: Any) -> str:
        return _environment().get_template(template).render(site=self, **values)

    def variant(self, row: Row, name: str) -> Variant:
        """A run of the same system under another condition: recomputed where it was submitted itself, else as claimed."""
        other = without_leak_filter(row.entry, self._entries) if name == "leak_filter_off" else None
        if other is not None:
            return _variant(other.submission.means, "from a submission of its own")
        if name == "leak_filter_off" and not row.entry.submission.data.leak_filter:
            return Variant(None, "This is the run without the leak filter")
        stratum = row.entry.submission.strata.get(RECENT) if name == "recent" else None
        if stratum is not None:
            means = {metric: score.mean for metric, score in stratum.scores.items()}
            return _variant(means, f"over {len(stratum.events)} events, from their rows")
        claimed = row.entry.submission.variants.get(name)
        if claimed is None and name == "closed_book" and (why := _no_memory(row.entry)):
            return Variant(None, why, defined=False)
        if claimed is None:
            return Variant(None, VARIANTS[name][1])
        found = _variant({metric: score.mean for metric, score in claimed.items()}, "as the submission says; not recomputed")
        return replace(found, claimed=True)

    def priced(self, block: Block) -> bool:
        """Whether a submission of the block gives a price."""
        return any(figures.usd_an_article(row.entry.submission) is not None for row in block.rows)

    def explained(self) -> list[tuple[str, str]]:
        """Every column with what it means."""
        priced = any(self.priced(block) for block in self._blocks)
        plain = [(label, title) for label, title in PLAIN_COLUMNS.items() if label != "USD" or priced]
        return [*COLUMNS.values(), *plain, *((label, title) for label, _, title in VARIANTS.values())]

    def references(self, block: Block) -> list[Reference]:
        """Floors, then ceilings, each once: submissions of one block share them unless they disagree."""
        found: dict[tuple[str, str, str], Reference] = {}
        for row in block.rows:
            for kind, given in (("floor", row.entry.submission.floors), ("ceiling", row.entry.submission.ceilings)):
                for name, means in given.items():
                    found.setdefault((kind, name, repr(sorted(means.items()))), Reference(kind, name, means))
        return [found[key] for key in sorted(found, key=lambda key: (key[0] != "floor", *key))]

    @cached_property
    def _events(self) -> list[EventPage]:
        keys = event_ids(self._entries)
        several = len({benchmark for benchmark, _ in keys}) > 1
        found = []
        for benchmark, event_id in keys:
            name = event_file(f"{benchmark} {event_id}" if several else event_id)
            found.append(EventPage(benchmark, event_id, f"events/{name}.html", self._title(benchmark, event_id)))
        return found

    def event_page(self, entry: Entry, event_id: str) -> EventPage:
        return self._event_of[entry.submission.data.benchmark, event_id]

    @cached_property
    def _event_of(self) -> dict[tuple[str, str], EventPage]:
        return {(event.benchmark, event.event_id): event for event in self._events}

    def _title(self, benchmark: str, event_id: str) -> str:
        for entry in self._with(benchmark, event_id):
            article, _ = entry.article(event_id)
            if article is not None:
                return article.title
            if title := entry.rows[event_id].title:  # of submissions that hold hashes in place of text
                return title
        return ""

    def _with(self, benchmark: str, event_id: str) -> list[Entry]:
        """Entries that list the event, in the order of the front page."""
        ordered = (row.entry for block in self._blocks for row in block.rows)
        return [e for e in ordered if e.submission.data.benchmark == benchmark and event_id in e.rows]

    @cached_property
    def _n_articles(self) -> dict[str, int]:
        """By the page of the event: how many systems wrote about it."""
        return {
            event.href: sum(e.rows[event.event_id].status == "ok" for e in self._with(event.benchmark, event.event_id))
            for event in self._events
        }

    def _system_files(self, block: Block, row: Row) -> Iterator[tuple[str, str]]:
        entry = row.entry
        against: tuple[Comparison, ...] = block.comparisons[entry.slug]
        rows = sorted(entry.submission.events, key=lambda event: event.id)
        yield (
            f"systems/{entry.slug}.html",
            self._page(
                "system.html",
                root="../",
                block=block,
                row=row,
                entry=entry,
                against=against,
                rows=rows,
                tables={
                    "System": _system(entry),
                    "Models": [(model.role, _model(model)) for model in entry.submission.system.models],
                    "Settings": list(entry.submission.system.settings.items()),
                    "Writing": _writing(entry),
                    "Judges": _judges(entry),
                    "Environment": list(entry.submission.environment.items()),
                },
                event_columns=[name for name in EVENT_COLUMNS if name in entry.submission.scores],
            ),
        )
        yield f"downloads/{entry.slug}/submission.json", (entry.folder / "submission.json").read_text(encoding="utf-8")
        yield f"downloads/{entry.slug}/events.csv", events_csv(list(entry.submission.scores), rows)

    def _event_page(self, i: int, event: EventPage) -> str:
        columns = []
        for entry in self._with(event.benchmark, event.event_id):
            article, why = entry.article(event.event_id)
            view = None if article is None else shown(article, entry.judged(event.event_id))
            columns.append((entry, entry.rows[event.event_id], condition_of(entry), view, why))
        return self._page(
            "event.html",
            root="../",
            event=event,
            systems=columns,
            before=self._events[i - 1] if i else None,
            after=self._events[i + 1] if i + 1 < len(self._events) else None,
        )


def event_file(event_id: str) -> str:
    """Numbers name their page themselves; anything else a safe name, whose hyphen keeps the two apart."""
    return event_id if re.fullmatch(r"[0-9]{1,20}", event_id) else safe_name(event_id, event_id)


def events_csv(names: Sequence[str], rows: Sequence[EventScores]) -> str:
    """One line an event; a spreadsheet takes no cell of it for a formula."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([_no_formula(name) for name in ("id", "status", "article_words", "article_sha256", "reason", *names)])
    for row in rows:
        texts = (row.id, row.status, str(row.words), row.article_sha256, row.reason)
        scores = (row.scores.get(name) for name in names)
        writer.writerow([*map(_no_formula, texts), *("" if value is None else repr(value) for value in scores)])
    return str(readable(stream.getvalue()))


def readable(value: Any) -> Any:
    """Text without what no page may hold: control characters and halves of characters become the replacement sign."""
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    return _UNREADABLE.sub("\N{REPLACEMENT CHARACTER}", value)


def cut(text: str, most: int = 80) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


_UNREADABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def _no_formula(text: str) -> str:
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def _model(model: SubmittedModel) -> str:
    size = "" if model.parameters is None else f", {model.parameters:,} parameters"
    return f"{model.name} @ {model.revision}{size}{', ' if model.licence else ''}{model.licence}"


def _writing(entry: Entry) -> list[tuple[str, object]]:
    cost = entry.submission.cost
    pairs: dict[str, object] = {
        "Articles written": cost.n_written,
        "Wall seconds": cost.write_s,
        "Prompt tokens": cost.n_prompt_tokens,
        "New tokens": cost.n_new_tokens,
        "US dollars": cost.usd,
        "Device": cost.device or None,
    }
    return [(name, value) for name, value in pairs.items() if value is not None]


def _judges(entry: Entry) -> list[tuple[str, object]]:
    """Each judge of the submission with its card: how often it is right on claims with human labels."""
    pairs: list[tuple[str, object]] = []
    for judge in entry.submission.judges:
        pairs.append((judge.id, f"{judge.kind} @ {judge.revision}, supported from {judge.threshold} on"))
        for name, value in judge.card.items():
            rates = value if isinstance(value, list | tuple) else ()
            pairs += [
                (f"accepts: {rate['edit']}", f"{100 * rate['accepted']:.1f}% of {rate['n']}")
                for rate in rates
                if _is_rate(rate)
            ]
            if not rates:
                pairs.append((f"{judge.id}: {name.replace('_', ' ')}", value))
    return pairs


def _is_rate(value: object) -> bool:
    """As `eval.judges.lexical_judge.AcceptRate` is stored; a card may hold anything."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("edit"), str)
        and all(isinstance(value.get(key), int | float) for key in ("n", "accepted"))
    )


def _system(entry: Entry) -> list[tuple[str, object]]:
    system = entry.submission.system
    pairs: dict[str, object] = {
        "Version": system.version,
        "Commit": system.commit,
        "Address": system.url,
        "Contact": system.contact,
        "Seeds": ", ".join(map(str, system.seeds)),
        "Created": entry.submission.created,
        "Scored again": _rescored(entry),
        "Data revision": entry.submission.data.revision,
        "Event ids, SHA-256": entry.submission.data.ids_sha256,
        "Resamples, seed": f"{entry.submission.profile.resamples}, {entry.submission.profile.seed}",
    }
    return [(name, value) for name, value in pairs.items() if value]


def _rescored(entry: Entry) -> str:
    known = entry.scored
    if known is None:
        return "not by this site, whatever the submission says" if entry.only_says_so else ""
    by = f" by commit {known.commit[:20]}" if known.commit else ""
    return f"{known.rescored_at}{by}, data {known.data_sha256[:16]}"


def _no_memory(entry: Entry) -> str:
    """Why a closed-book score is undefined for the system, or nothing."""
    system = entry.submission.system
    if without_model(entry.submission):
        return "Undefined: it has no language model"
    if system.extractive and not system.models:
        return "Undefined: it quotes the evidence, and declares no model"
    return ""


def without_model(made: Submission) -> bool:
    """Whether a system is known to use no language model: one of this package. Of others nobody knows."""
    return not made.system.models and made.system.name in MODEL_FREE


def no_model(made: Submission) -> str:
    """The words in place of a model's name. Where none is declared nobody knows whether there is one."""
    return "no language model" if without_model(made) else "model not declared"


def verdict(one: Comparison) -> str:
    """What a comparison comes to; `quality` is better where it is higher."""
    if one.tiers or one.p is None:
        return f"{'better' if one.tiers > 0 else 'worse'}: it fails {'fewer' if one.tiers > 0 else 'more'} preconditions"
    return "no clear difference" if one.p > LEVEL else "better" if one.difference.mean > 0 else "worse"


def _variant(means: Mapping[str, float], origin: str) -> Variant:
    name = next((metric for metric in PROBE if metric in means), None)
    if name is None:
        return Variant(None, f"None of {', '.join(PROBE)} was given")
    return Variant(means[name], f"{name}, {origin}")


__all__ = ["Site", "event_file", "events_csv"]
