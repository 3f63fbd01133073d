"""Research agents and systems of this package on the same topics and pages: which they are, and what their scores come to.

    DIR/data/wiki/<id>.json         the human article
    DIR/data/google/<id>.json       the pages
    DIR/articles/<agent>/<id>.json  the agent's article (data.wikigenbench)

`agents.json`, beside the submissions, says which of them belong together. Scores are never stored a second time: tables are
computed from the rows of the submissions.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from benchmark.comparing.apart import Apart, Rows, told_apart
from benchmark.scoring import ranking_key, support_unknown
from benchmark.submissions import submission_faults
from benchmark.submissions.submitted import Submission, SubmittedProfile
from data import codec, wikigenbench
from data.errors import UserError
from data.types import Strict
from eval.aggregate import PairedDifference, holm, paired
from eval.catalogue import HEADLINE

RECIPE = Path(__file__).with_name("agents.toml")
GROUP = "agents.json"
SCHEMA = "wikigenben-agents/1"
LEVEL = 0.05

BESIDE = (
    "words", "length_ratio", "verbatim_share", "conflict_share", "copy8", "longest_copy_words", "leaning_share",
    "duplicate_sentence_share", "cited_share", "judged_share", "cite_f1",
)  # fmt: skip
"""What is beside the headline metrics where it was measured: length, copying, conflicts, and how much of the citations
could be judged."""

LEAK = ("gold_sentence_share", "gold_said_share", "gold_copy8", "encyclopedia_cites")
"""Signs that the human article was read."""

MEASURES = (
    "cite_recall", "cite_precision", "cite_f1", "grounded", "attainable_entity_recall", "entity_recall", "number_recall",
    "fact_recall", "fact_recall_attainable", "fact_precision", "ib_hard", "heading_f", "section_balance", "placement", "order",
    "conflict_share", "leaning_share", "number_errors", "name_errors", "novel_entity_rate", "verbatim_share", "copied_share",
    "junk_share", "rouge1_f", "rouge2_f", "rougeL_f", "wgb_meteor",
)  # fmt: skip
"""Single measures that are asked which pairs of systems they separate, with those of the headline."""

Kind = Literal["here", "agent"]


@dataclass(frozen=True, slots=True)
class KnownAgent(Strict):
    """`name` is its folder."""

    name: str
    title: str


@dataclass(frozen=True, slots=True)
class AgentsRecipe(Strict):
    """`systems` are those of this package, `base` the one that all are compared with. `terms` goes into every submission,
    `url` and `revision` say where the articles come from."""

    benchmark: str
    base: str
    systems: tuple[str, ...]
    split: Literal["dev", "test", "full"] = "dev"
    url: str = ""
    revision: str = ""
    terms: str = ""
    agents: tuple[KnownAgent, ...] = ()

    def title(self, name: str) -> str:
        return next((one.title for one in self.agents if one.name == name), name)


@dataclass(frozen=True, slots=True)
class Member(Strict):
    """One submission: `name` is its folder. `missing` are the topics that the data hold no article of its for."""

    name: str
    title: str
    kind: Kind
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Group(Strict):
    """Submissions on the same topics and pages; all are compared with `base`."""

    schema: str
    base: str
    members: tuple[Member, ...]
    terms: str = ""

    def member(self, name: str) -> Member:
        return next(one for one in self.members if one.name == name)

    @property
    def contestants(self) -> tuple[Member, ...]:
        """The base and the agents: who is to be separated."""
        return tuple(one for one in self.members if one.kind == "agent" or one.name == self.base)


@dataclass(frozen=True, slots=True)
class Against:
    """A system minus the base, over the topics that the data hold articles of both for (`difference.n` of them were scored);
    `p` is Holm's over all comparisons of its table."""

    name: str
    metric: str
    difference: PairedDifference
    p: float

    @property
    def clear(self) -> bool:
        return self.p <= LEVEL


@dataclass(frozen=True, slots=True)
class Standings:
    """`headline`, `beside` and `leak` are the metrics that any member has, in the order of the tables. `shared` counts for each
    member the topics that the data hold articles of it and of the base for."""

    group: Group
    made: Mapping[str, Submission]
    headline: tuple[str, ...]
    beside: tuple[str, ...]
    leak: tuple[str, ...]
    shared: Mapping[str, int]
    against: tuple[Against, ...]
    leaks: tuple[Against, ...]
    apart: Apart = field(default_factory=Apart)

    def failed(self, name: str) -> int:
        """Topics with an article that could not be read or scored, or that has no sentence."""
        missing = set(self.group.member(name).missing)
        return sum(event.status != "ok" and event.id not in missing for event in self.made[name].events)

    @property
    def order(self) -> tuple[Member, ...]:
        """The members, the highest first, as a leaderboard sorts them."""

        def key(one: Member) -> tuple[list[float], str]:
            return [-value for value in ranking_key(self.made[one.name].means)], one.name

        return tuple(sorted((one for one in self.group.members if one.name in self.made), key=key))

    def difference(self, name: str, metric: str) -> Against | None:
        return next((one for one in (*self.against, *self.leaks) if (one.name, one.metric) == (name, metric)), None)


def read_recipe(path: Path) -> AgentsRecipe:
    """Raises UserError naming the mistake."""
    try:
        plain = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}; leave out --recipe for the one that comes along") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not TOML: {error}; {RECIPE.name} beside the code shows the form") from None
    recipe = codec.from_plain(AgentsRecipe, plain, where=str(path))
    if recipe.base not in recipe.systems:
        raise UserError(f"{path}: base = {recipe.base!r} is none of systems = {list(recipe.systems)}; add it there")
    return recipe


def agent_folders(folder: Path, chosen: Sequence[str] = ()) -> dict[str, Path]:
    """By name the folder of each agent, or of those chosen. Raises UserError for a folder without agents, an agent that is not
    there, and one without a single article."""
    articles = folder / "articles"
    if not articles.is_dir():
        raise UserError(
            f"{folder} has no folder articles/; name one that has data/wiki/, data/google/ and articles/<agent>/<id>.json"
        )
    found = {path.name: path for path in sorted(articles.iterdir()) if path.is_dir() and not path.name.startswith(".")}
    if not found:
        raise UserError(f"{articles} holds no folder of an agent; {wikigenbench.FORM}, in articles/<agent>/<id>.json")
    if unknown := [name for name in chosen if name not in found]:
        raise UserError(f"there is no agent {unknown[0]!r} in {articles}; known: {', '.join(found)}")
    asked = {name: path for name, path in found.items() if not chosen or name in chosen}
    for name, path in asked.items():
        if not submission_faults.is_file_name(name):
            raise UserError(f"the folder {name!r} in {articles} cannot name a submission; use letters, digits, '.', '-', '_'")
        if not any(path.glob("*.json")):
            others = ",".join(other for other in asked if other != name) or "NAME"
            raise UserError(
                f"{path} holds no <id>.json; put the agent's articles there, or leave it out with --agents {others}"
            )
    return asked


def missing_of(folder: Path, ids: Sequence[str]) -> tuple[str, ...]:
    return tuple(event_id for event_id in ids if not (folder / f"{event_id}.json").is_file())


def write_group(folder: Path, group: Group) -> None:
    codec.write_atomic(folder / GROUP, codec.to_json(group, indent=1) + "\n")


def read_group(folder: Path) -> Group | None:
    """None where the folder holds no such group. Raises UserError for a file that cannot be read."""
    path = folder / GROUP
    if path.is_symlink() or not path.is_file():
        return None
    group = codec.read(Group, path)
    if group.schema != SCHEMA:
        raise UserError(f"{path}: schema is {group.schema!r}, expected {SCHEMA!r}; make it again with: wikigenben agents")
    names = [one.name for one in group.members]
    if group.base not in names or len(set(names)) < len(names):
        raise UserError(f"{path}: base {group.base!r} is no member, or two share a name; make it anew with: wikigenben agents")
    return group


def standings(group: Group, made: Mapping[str, Submission]) -> Standings:
    """`made` may lack members other than the base. Raises UserError where two were not scored on the same topics with the same
    metrics."""
    base = made[group.base]
    for name, other in made.items():
        if other.data.ids_sha256 != base.data.ids_sha256 or other.profile.signature != base.profile.signature:
            raise UserError(
                f"{name} and {group.base} were scored on other topics or with other metrics; score all again with: "
                "wikigenben agents DIR"
            )
    known = {metric for one in made.values() for metric in one.scores}
    headline = tuple(metric for metric in HEADLINE if metric in known)
    leak = tuple(metric for metric in LEAK if metric in known)
    rows = {name: _rows(group.member(name), one) for name, one in made.items()}
    asked = tuple(dict.fromkeys((*headline, *(m for m in MEASURES if m in known))))
    profile = base.profile
    among = {one.name: rows[one.name] for one in group.contestants if one.name in rows}
    return Standings(
        group=group,
        made=made,
        headline=headline,
        beside=tuple(metric for metric in BESIDE if metric in known and metric not in headline),
        leak=leak,
        shared={name: len(rows[name].keys() & rows[group.base].keys()) for name in made},
        against=_against(rows, group.base, headline, profile),
        leaks=_against(rows, group.base, leak, profile),
        apart=told_apart(among, asked, headline, seed=profile.seed, level=LEVEL, resamples=profile.resamples),
    )


def _rows(member: Member, made: Submission) -> dict[str, Mapping[str, float | None]]:
    """Without topics that the data hold no article for: nobody knows what the agent wrote there. Failures stay, with 0. Support
    that is unknown is compared with nothing."""
    missing, unknown = set(member.missing), {"cite_f1"} if support_unknown(made.means) else set()
    return {
        event.id: {name: value for name, value in event.scores.items() if name not in unknown}
        for event in made.events
        if event.id not in missing
    }


def _against(rows: Mapping[str, Rows], base: str, metrics: Sequence[str], profile: SubmittedProfile) -> tuple[Against, ...]:
    found = list(_differences(rows, base, metrics, profile))
    adjusted = holm([difference.p for _, _, difference in found])
    return tuple(Against(*one, p) for one, p in zip(found, adjusted, strict=True))


def _differences(
    rows: Mapping[str, Rows], base: str, metrics: Sequence[str], profile: SubmittedProfile
) -> Iterator[tuple[str, str, PairedDifference]]:
    for name, values in rows.items():
        if name == base:
            continue
        both = sorted(values.keys() & rows[base].keys())
        for metric in metrics:
            pairs = [(values[i].get(metric), rows[base][i].get(metric)) for i in both]
            if any(x is not None and y is not None for x, y in pairs):
                theirs, ours = [x for x, _ in pairs], [y for _, y in pairs]
                yield name, metric, paired(theirs, ours, profile.seed, name=metric, resamples=profile.resamples)
