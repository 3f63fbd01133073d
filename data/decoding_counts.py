"""What a language model took: counts and seconds, from the rounds of the decoder to the report of a run.

Three frozen values, each a part of the next: `SpeculationStats` of the rounds of one text, `DecodeStats` of one call, `Usage`
of the calls for a section, an event or a run. Each can be added up; what some parts count and others do not (a server says
nothing of its passes) is summed over those that do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from data.types import Strict


@dataclass(frozen=True, slots=True)
class SourceStats(Strict):
    """Drafts of one source (`skip`, `copy:prompt`, ...)."""

    source: str
    num_drafts: int
    num_draft_tokens: int
    num_accepted_tokens: int


@dataclass(frozen=True, slots=True)
class SpeculationStats(Strict):
    """Counts and seconds of decoding rounds, under the names that vLLM's metrics use.

    A verify step is one pass of the whole model after the prefill, with or without drafted tokens.
    `num_accepted_tokens_per_pos[i]` counts rounds whose i-th drafted token (tree: depth i + 1) was accepted. Seconds are
    wall-clock; `bookkeeping_s` is what neither the model nor the drafter spent.

    `priced_tokens` of the emitted tokens came from passes that the backend's measured table has a price for: `priced_cost`
    plain steps of one token, drafting not included.
    """

    num_verify_steps: int = 0
    num_drafts: int = 0
    num_draft_tokens: int = 0
    num_accepted_tokens: int = 0
    num_accepted_tokens_per_pos: tuple[int, ...] = ()
    num_emitted_tokens: int = 0
    """Tokens of the text after the first, which the prefill gives."""
    by_source: tuple[SourceStats, ...] = ()
    """In alphabetical order."""
    draft_s: float = 0.0
    verify_s: float = 0.0
    bookkeeping_s: float = 0.0
    priced_tokens: int = 0
    priced_cost: float = 0.0

    @property
    def mean_accepted_tokens(self) -> float:
        """Tokens of the text for each pass of the whole model, its own included; plain decoding has 1 (Spec-Bench)."""
        return self.num_emitted_tokens / self.num_verify_steps if self.num_verify_steps else 1.0

    @property
    def acceptance_rate(self) -> float | None:
        """Accepted over drafted tokens; None when nothing was drafted."""
        return self.num_accepted_tokens / self.num_draft_tokens if self.num_draft_tokens else None

    @property
    def estimated_gain(self) -> float | None:
        """How many times as fast as plain decoding the passes and drafts were, prompts not included: plain steps for these
        tokens, over what their passes cost and, beside it, the share of time that went into drafting. None without prices.

        An estimate: the table is of one length of text, and was measured at another time.
        """
        if not self.priced_cost or not self.verify_s:
            return None
        return self.priced_tokens / (self.priced_cost * (1 + self.draft_s / self.verify_s))

    def __add__(self, other: SpeculationStats) -> SpeculationStats:
        return SpeculationStats.total((self, other))

    @classmethod
    def total(cls, parts: Sequence[SpeculationStats]) -> SpeculationStats:
        """The sums over rounds or texts."""
        per_pos = [0] * max((len(part.num_accepted_tokens_per_pos) for part in parts), default=0)
        sources: dict[str, list[int]] = {}
        for part in parts:
            for at, count in enumerate(part.num_accepted_tokens_per_pos):
                per_pos[at] += count
            for entry in part.by_source:
                sums = sources.setdefault(entry.source, [0, 0, 0])
                for i, count in enumerate((entry.num_drafts, entry.num_draft_tokens, entry.num_accepted_tokens)):
                    sums[i] += count
        return cls(
            num_verify_steps=sum(part.num_verify_steps for part in parts),
            num_drafts=sum(part.num_drafts for part in parts),
            num_draft_tokens=sum(part.num_draft_tokens for part in parts),
            num_accepted_tokens=sum(part.num_accepted_tokens for part in parts),
            num_accepted_tokens_per_pos=tuple(per_pos),
            num_emitted_tokens=sum(part.num_emitted_tokens for part in parts),
            by_source=tuple(SourceStats(source, *sums) for source, sums in sorted(sources.items())),
            draft_s=sum(part.draft_s for part in parts),
            verify_s=sum(part.verify_s for part in parts),
            bookkeeping_s=sum(part.bookkeeping_s for part in parts),
            priced_tokens=sum(part.priced_tokens for part in parts),
            priced_cost=sum(part.priced_cost for part in parts),
        )


@dataclass(frozen=True, slots=True)
class DecodeStats(Strict):
    """Seconds and counts of one call; None where the generator cannot know (a server's prefill, say).

    `contrast_s` and `n_contrast` are in files of before 28 November 2026: of context-aware decoding, which went. They are read,
    and neither summed nor written.
    """

    omitted_if_empty = frozenset({"contrast_s", "n_contrast"})

    total_s: float
    prefill_s: float | None = None
    decode_s: float | None = None
    speculation: SpeculationStats | None = None
    contrast_s: float | None = None
    n_contrast: int | None = None

    @property
    def n_verify(self) -> int | None:
        """Passes of the whole model after the prefill."""
        return None if self.speculation is None else self.speculation.num_verify_steps

    @property
    def n_drafted(self) -> int | None:
        return None if self.speculation is None else self.speculation.num_draft_tokens

    @property
    def n_accepted(self) -> int | None:
        return None if self.speculation is None else self.speculation.num_accepted_tokens

    def __add__(self, other: DecodeStats) -> DecodeStats:
        return DecodeStats.total((self, other))

    @classmethod
    def total(cls, parts: Sequence[DecodeStats]) -> DecodeStats:
        """Of calls one after another: seconds add up."""
        counted = [part.speculation for part in parts if part.speculation is not None]
        return cls(
            total_s=sum(part.total_s for part in parts),
            prefill_s=_known_sum(part.prefill_s for part in parts),
            decode_s=_known_sum(part.decode_s for part in parts),
            speculation=SpeculationStats.total(counted) if counted else None,
        )

    def rounded(self) -> DecodeStats:
        """Seconds to three decimals, as files have them."""
        spec = self.speculation
        if spec is not None:
            names = ("draft_s", "verify_s", "bookkeeping_s", "priced_cost")
            spec = replace(spec, **{name: round(getattr(spec, name), 3) for name in names})
        known = {name: getattr(self, name) for name in ("total_s", "prefill_s", "decode_s")}
        seconds = {name: None if value is None else round(value, 3) for name, value in known.items()}
        return replace(self, speculation=spec, **seconds)  # type: ignore[arg-type]  # by name, not by type


@dataclass(frozen=True, slots=True)
class Usage(Strict):
    """What a language model was asked: calls, tokens in and out, and what decoding them took."""

    n_calls: int = 0
    n_prompt_tokens: int = 0
    n_new_tokens: int = 0
    stats: DecodeStats = DecodeStats(0.0)

    @property
    def n_passes(self) -> int | None:
        """Of the whole model: each call begins with reading its prompt. None of a model that counts none."""
        return None if self.stats.n_verify is None else self.stats.n_verify + self.n_calls

    def __add__(self, other: Usage) -> Usage:
        return Usage.total((self, other))

    @classmethod
    def total(cls, parts: Sequence[Usage]) -> Usage:
        return cls(
            n_calls=sum(part.n_calls for part in parts),
            n_prompt_tokens=sum(part.n_prompt_tokens for part in parts),
            n_new_tokens=sum(part.n_new_tokens for part in parts),
            stats=DecodeStats.total([part.stats for part in parts]).rounded(),
        )

    @classmethod
    def counted(cls, parts: Iterable[Usage]) -> Usage:
        """The sum over those whose model counts its passes."""
        return cls.total([part for part in parts if part.n_passes is not None])

    @classmethod
    def upgraded(cls, plain: Mapping[str, Any]) -> Mapping[str, Any]:
        """From before there was one counter: all counts lay side by side, and drafts had `seconds` for `generate_s`.

        Which positions were accepted, and the seconds of drafting and verifying, were not kept: they are empty and 0.
        """
        names = SourceStats.__dataclass_fields__
        sources = [dict(zip(names, one.values(), strict=True)) for one in plain.get("by_drafter", ())]
        speculation = {
            "num_verify_steps": plain.get("n_verify"),
            "num_drafts": sum(one["num_drafts"] for one in sources),
            "num_draft_tokens": plain.get("n_drafted") or 0,
            "num_accepted_tokens": plain.get("n_accepted") or 0,
            "by_source": sources,
        }
        return {
            "n_calls": plain.get("n_calls", 1),  # a section's draft may be of several calls
            "n_prompt_tokens": plain["n_prompt_tokens"],
            "n_new_tokens": plain["n_new_tokens"],
            "stats": {
                "total_s": plain["generate_s"] if "generate_s" in plain else plain["seconds"],
                "speculation": None if plain.get("n_verify") is None else speculation,
            },
        }


def _known_sum(seconds: Iterable[float | None]) -> float | None:
    known = [value for value in seconds if value is not None]
    return sum(known) if known else None
