"""Which section headings an article's evidence calls for: those of its kind, those that articles usually have, its own.

The bank in `heading_bank.json` holds headings that several open encyclopedia articles share (`tools.fits.fit_headings`):
how often articles of each kind have them, where they are, and typical words of their sections. It holds no sentence, and
nothing of any benchmark article. A heading is weighed by how usual it is for the kinds that the evidence looks like, and by
how near the sentences come that are nearest to it: the mass of all sentences would favour what fits everything a little.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from data import codec
from data.types import Strict
from decoding.api import Encoder
from pipeline.choosing.candidates import Candidate, is_subheading
from pipeline.choosing.relevance import Scored
from pipeline.planning.arranging import MIN_SECTION_WORDS, fits
from pipeline.planning.kinds import TITLE_BONUS, Kind, load_kinds
from pipeline.planning.outlines import is_apparatus, same_words
from pipeline.retrieval import STOPWORDS, terms

BANK_FILE = Path(__file__).parent / "heading_bank.json"

SPARE = 4
"""More headings are offered than asked for, so that filing has a choice."""
LEAST_PRIOR = -3.0
"""Anything weaker than this beside the best is not worth a choice."""
SAME_MEANING = 0.75
"""Cosine of two headings from which they mean the same."""
NEARLY = 0.15
"""A heading whose fit is lower than the best one's by no more than this could have the sentence as well."""
RARE = 0.005
"""A heading that fewer articles have is not considered, unless the evidence itself has it."""

MAX_OWN_WORDS = 5
ABOUT_WORDS = 8

_PLAIN = re.compile(r"[A-Z][a-z]+(?:(?:,? |-)[A-Za-z]+)*")
"""Words and nothing else: figures, markup, addresses and control tokens have no room in it."""
_FURNITURE_WORDS = (
    "about ad ads advert advertisement advertisements advertising alert alerts app archive archives article articles author "
    "authors blog bookmark browse buy byline caption cart categories category click comment comments contact content "
    "contents cookie cookies copyright credit credits disclaimer discussion donate download editor editorial email explore "
    "facebook faq faqs feedback follow footer forum gallery headline headlines help home homepage image images instagram "
    "introduction join latest learn links list listen loading log login mail map menu more navigation news newsletter "
    "newsletters next note notes online page pages photo photos picture pictures podcast podcasts popular post posts "
    "preview previous pricing print privacy profile promoted quote quotes read recent recommended register related reply "
    "rss save search see share shop shopping sign site sitemap skip sponsor sponsored sponsors stories subscribe "
    "subscription subscriptions survey tag tags takeaways telephone tickets tip tips toggle top topics transcript trending "
    "twitter update updated updates upload user users video videos view views visit vote watch website welcome whatsapp "
    "youtube conclusion"
)
_CLICKBAIT_WORDS = (
    "why what how who when where which you your yours we our us i my me this these those that here everything anything "
    "things best worst amazing shocking secret secrets reasons ways did do does is are was were has have had can could will "
    "would should must need never always now today tomorrow yesterday any other ignore disregard instruction instructions "
    "prompt prompts assistant"
)
_NEVER = frozenset((_FURNITURE_WORDS + " " + _CLICKBAIT_WORDS).split())
"""Words of a page's own furniture, and of headlines: a subheading with one of them names no topic."""


@dataclass(frozen=True, slots=True)
class BankHeading(Strict):
    """One heading of open articles. `kinds`: kind of article -> how many of them have it; `position`: 0 first to 1 last."""

    heading: str
    about: str
    position: float
    kinds: dict[str, int]


@dataclass(frozen=True, slots=True)
class Bank(Strict):
    """`kinds`: kind of article -> how many of this kind the headings were learned from."""

    fitted_on: str
    kinds: dict[str, int]
    headings: tuple[BankHeading, ...]


@dataclass(frozen=True, slots=True)
class OfferedHeading:
    """`about` says what its sentences talk about; `prior` is a log weight, 0 for the best one, never below LEAST_PRIOR."""

    heading: str
    about: str
    prior: float


@dataclass(frozen=True, slots=True)
class HeadingWeights:
    """Chosen on the development split (benchmark.splits) by heading F; trials are in LOG.md.

    `likely`: share of a kind's articles that have a section which `kinds.toml` gives it. `open_kind`: how much of the belief
    in the kind is spread over all kinds by the evidence's likeness to them, `kin` how fast it falls with the cosine.
    `smoothing`: articles of any kind that are added to the counts. `own`: how usual a page's own subheading is taken to be.
    `habit` weighs the logarithm of how usual a heading is, `near` the cosines of the `nearest` sentences to it.
    """

    likely: float = 0.5
    open_kind: float = 0.8
    kin: float = 16.0
    smoothing: float = 1.0
    own: float = 0.05
    habit: float = 1.0
    near: float = 5.0
    nearest: int = 12


@dataclass(frozen=True, slots=True)
class _Choice:
    """A heading that may be offered; `usual` is the share of articles like this one that have it, `position` 0 to 1."""

    heading: str
    about: str
    position: float
    usual: float


@lru_cache(maxsize=1)
def load_bank() -> Bank:
    return codec.read(Bank, BANK_FILE)


class HeadingBank:
    """Offers headings. Texts of the bank are encoded when an event first needs them, and once."""

    def __init__(self, encoder: Encoder, weights: HeadingWeights | None = None) -> None:
        self._encoder = encoder
        self._weights = weights or HeadingWeights()
        self._kinds = load_kinds()
        self._bank = load_bank()
        self._vectors: dict[str, np.ndarray] = {}

    def offered(self, title: str, scored: Scored, kind: Kind, *, most: int) -> list[OfferedHeading]:
        """At most `most` + SPARE headings in reading order; their `prior` marks the better ones.

        No two mean the same, and each has evidence to fill a section with. With little evidence there are fewer: SPARE more
        than it has sections' worth of words. One is offered however thin it is; none only when there is no candidate sentence.
        """
        if not scored.candidates:
            return []
        usual = merged([*self._usual(title, scored, kind), *self._own(title, scored)])
        choices = [c for c in usual if c.usual >= RARE and kind.may_have(c.heading) and not _repeats_title(c.heading, title)]
        enough_for = sum(c.n_words for c in scored.candidates) // MIN_SECTION_WORDS
        chosen = self._with_evidence(self._best(choices, scored, min(most, enough_for) + SPARE), scored)
        best = max(value for _, value in chosen)
        chosen.sort(key=lambda pair: (pair[0].position, -pair[1]))
        offered = [OfferedHeading(c.heading, c.about, round(value - best, 4)) for c, value in chosen]
        return [heading for heading in offered if heading.prior >= LEAST_PRIOR]

    def _usual(self, title: str, scored: Scored, kind: Kind) -> Iterator[_Choice]:
        """What articles of the likely kinds have: written down in kinds.toml, and counted in the bank."""
        kinds = self._kinds if kind in self._kinds else (*self._kinds, kind)
        belief = self._belief(title, scored, kind, kinds)
        for each in kinds:
            last = max(len(each.sections) - 1, 1)
            for n, section in enumerate(each.sections):
                yield _Choice(section.heading, section.about, n / last, self._weights.likely * belief[each.name])
        expected = _weighed(self._bank.kinds, belief)
        articles = sum(self._bank.kinds.values())
        for entry in self._bank.headings:
            if entry.about:  # without words of its own a heading is near to every sentence or to none
                anywhere = sum(entry.kinds.values()) / articles
                here = _weighed(entry.kinds, belief) + self._weights.smoothing * anywhere
                usual = here / (expected + self._weights.smoothing)
                yield _Choice(entry.heading, entry.about, entry.position, usual)

    def _belief(self, title: str, scored: Scored, kind: Kind, kinds: Sequence[Kind]) -> dict[str, float]:
        """Kind -> how far the evidence is of this kind; sums to 1. The recognised kind may be wrong: others have a share."""
        centre = _unit(_mass(scored) @ scored.vectors)
        towards = _unit(centre + self._encode([title])[0])
        cosines = self._encode([f"{each.name}: {each.about}" for each in kinds]) @ towards
        cosines = cosines + TITLE_BONUS * np.array([bool(each.title.search(title)) for each in kinds])
        spread = np.exp(self._weights.kin * (cosines - cosines.max()))
        spread *= self._weights.open_kind / spread.sum()
        belief = {each.name: float(share) for each, share in zip(kinds, spread, strict=True)}
        belief[kind.name] += 1 - self._weights.open_kind
        return belief

    def _own(self, title: str, scored: Scored) -> Iterator[_Choice]:
        """Each page's own ones; what several pages have adds up when merged."""
        for found in own_headings(title, scored.candidates):
            yield replace(found, usual=self._weights.own)

    def _best(self, choices: Sequence[_Choice], scored: Scored, most: int) -> list[tuple[_Choice, float]]:
        """The best by value, best first, none with the meaning of a better one."""
        names = self._encode([c.heading for c in choices])
        topics = self._encode([_topic(c) for c in choices])
        value = self._weights.habit * np.log([c.usual for c in choices])
        value += self._weights.near * (self._nearness(scored, names) + self._nearness(scored, topics))
        alike = names @ names.T
        chosen: list[int] = []
        for k in sorted(range(len(choices)), key=lambda k: (-value[k], choices[k].heading)):
            if len(chosen) < most and all(alike[k, other] < SAME_MEANING for other in chosen):
                chosen.append(k)
        return [(choices[k], float(value[k])) for k in chosen]

    def _nearness(self, scored: Scored, targets: np.ndarray) -> np.ndarray:
        """Mean cosine of the nearest sentences to each target, shape (k,)."""
        cosines = np.sort(scored.vectors @ targets.T, axis=0)
        return np.asarray(cosines[-self._weights.nearest :].mean(axis=0))

    def _with_evidence(self, chosen: list[tuple[_Choice, float]], scored: Scored) -> list[tuple[_Choice, float]]:
        """Without those that too few words could be under, all that a sentence fits nearly best being open to it."""
        fit = fits(scored, self._encode([_topic(c) for c, _ in chosen]))
        near = fit >= fit.max(axis=1, keepdims=True) - NEARLY
        words = near.T @ np.array([c.n_words for c in scored.candidates])
        return [pair for n, pair in enumerate(chosen) if words[n] >= MIN_SECTION_WORDS] or chosen[:1]

    def _encode(self, texts: Sequence[str]) -> np.ndarray:
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if new:
            self._vectors.update(zip(new, self._encoder.encode(new), strict=True))
        return np.stack([self._vectors[text] for text in texts])


def merged(choices: Sequence[_Choice]) -> list[_Choice]:
    """One of each heading: as usual as its sources together, worded as in the weightiest, placed where they are on average."""
    groups: dict[str, list[_Choice]] = {}
    for choice in choices:
        groups.setdefault(heading_key(choice.heading), []).append(choice)
    found = []
    for group in groups.values():
        total = sum(c.usual for c in group)
        first = max(group, key=lambda c: c.usual)
        position = sum(c.position * c.usual for c in group) / max(total, 1e-12)
        found.append(replace(first, position=position, usual=min(total, 1.0)))
    return found


def own_headings(title: str, candidates: Sequence[Candidate]) -> list[_Choice]:
    """Subheadings of the trusted pages that could head a section, in page order; `about` are frequent words below each.

    Heavily filtered, for pages are full of lines that are none: plain words that the evidence also uses in small letters (so no
    names), none of a page's furniture or of headlines, nothing of the title or of an article's frame, and a paragraph below.
    """
    small = {word for c in candidates for word in re.findall(r"\b[a-z]+\b", c.text)}
    skip = frozenset(terms(title))
    found = []
    for page, text in _page_texts(candidates).items():
        lines = [(at, line) for at, line in _lines(text) if is_subheading(text, at, at + len(line))]
        for n, (at, line) in enumerate(lines):
            end = lines[n + 1][0] if n + 1 < len(lines) else len(text)
            below = [c.text for c in candidates if c.page == page and at < c.start < end]
            if _could_head(line, skip, small) and sum(len(t.split()) for t in below) >= MIN_SECTION_WORDS:
                found.append(_Choice(line[0] + line[1:].lower(), _frequent_words(below, skip), at / len(text), 0.0))
    return found


def heading_key(heading: str) -> str:
    """The heading without case, punctuation and plural endings: what counts as the same heading."""
    return " ".join(
        w[:-1] if len(w) > 4 and w.endswith("s") and not w.endswith("ss") else w for w in same_words(heading).split()
    )


def _could_head(line: str, of_title: frozenset[str], small: set[str]) -> bool:
    words = same_words(line).split()
    return (
        bool(_PLAIN.fullmatch(line))
        and " and " not in line  # "Fares and flats": a reporter's heading over two subjects of one page
        and "," not in line
        and len(words) <= MAX_OWN_WORDS
        and not line.isupper()
        and not _NEVER.intersection(words)
        and not of_title.intersection(terms(line))
        and all(word in small for word in words)
        and bool(terms(line))
        and not is_apparatus(line)
    )


def _page_texts(candidates: Sequence[Candidate]) -> dict[int, str]:
    """Page -> its text as far as passages hold it, offsets kept; what lies between passages is empty lines."""
    passages = {(c.page, c.passage.start): c.passage for c in candidates if c.trusted}
    texts: dict[int, str] = {}
    for (page, start), passage in sorted(passages.items()):
        text = texts.get(page, "")
        texts[page] = text[:start].ljust(start, "\n") + passage.text + text[passage.end :]
    return texts


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """(offset, line) of lines that are short enough to be a subheading, white space around them apart."""
    for match in re.finditer(r"^[^\S\n]*(\S[^\n]{0,80}?)[^\S\n]*$", text, re.M):
        yield match.start(1), match.group(1)


def _frequent_words(texts: Sequence[str], of_title: frozenset[str]) -> str:
    counts = Counter(word for text in texts for word in set(re.findall(r"\b[a-z]{4,}\b", text)) if word not in STOPWORDS)
    ordered = sorted((w for w in counts if not of_title.intersection(terms(w))), key=lambda w: (-counts[w], w))
    return ", ".join(ordered[:ABOUT_WORDS])


def _repeats_title(heading: str, title: str) -> bool:
    return heading_key(heading) == heading_key(title)


def _topic(choice: _Choice) -> str:
    return f"{choice.heading}: {choice.about}"


def _weighed(counts: Mapping[str, int], belief: Mapping[str, float]) -> float:
    return sum(belief.get(name, 0.0) * n for name, n in counts.items())


def _unit(vector: np.ndarray) -> np.ndarray:
    return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-9))


def _mass(scored: Scored) -> np.ndarray:
    """Weight of each sentence's words, by relevance and quality; shape (n,), sums to 1."""
    mass = scored.relevance * np.array([c.n_words * c.quality for c in scored.candidates])
    return np.asarray(mass / max(float(mass.sum()), 1e-9))
