"""What a drafter is: something that guesses the next tokens. A wrong guess costs time, never text. No torch here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from decoding.api import Task
from decoding.backend import Prefill, Rows, StepBackend, Wants

if TYPE_CHECKING:
    from decoding.sampling import Sampler


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """Guessed tokens: a chain, or a small tree whose parents come before their children."""

    tokens: tuple[int, ...] = ()
    source: str = ""
    """Which drafter, and for copies where from, e.g. `skip`, `copy:prompt`: statistics are kept by it."""
    parents: tuple[int, ...] | None = None
    """For a tree: parents[i] is the index in `tokens` of the node that i continues, -1 for the pending token."""

    def __len__(self) -> int:
        return len(self.tokens)


NOTHING = Draft()


@dataclass(frozen=True, slots=True)
class Source:
    """Text that the answer may repeat, besides its prompt: an earlier section of the same article, say."""

    origin: str
    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """One text to be written, as a drafter sees it."""

    prompt: Sequence[int]
    prefill: Prefill
    sampler: Sampler
    """How tokens are chosen; drafters that run the model draft with the same processors."""
    task: Task = "other"
    sources: tuple[Source, ...] = ()
    limit: int = 0
    """max_new_tokens."""


class Drafter(Protocol):
    """Guesses for one text at a time: `start`, then `propose` and `observe` in turn."""

    @property
    def name(self) -> str: ...

    @property
    def wants(self) -> Wants: ...

    @property
    def max_tokens(self) -> int:
        """The most tokens (tree nodes included) of one draft: the cache keeps room for them."""
        ...

    def start(self, request: Request, backend: StepBackend) -> None:
        """A new text. Knowledge of earlier texts may stay, if the drafter says so in its docstring."""
        ...

    def propose(self, text: Sequence[int], room: int) -> Draft:
        """At most `room` tokens (nodes; depth, too) to follow `text`: prompt and answer so far, its last token being pending,
        that is, without keys and values yet. `NOTHING` is always a legal answer. `text` is not to be changed or kept."""
        ...

    def observe(self, draft: Draft, new: Sequence[int], rows: Rows) -> None:
        """What became of the round: `new` are the 1..len+1 tokens the text has gained; all but the last were in the draft.

        `rows` are the verifier's logits: row 0 after the pending token, row 1+i after draft.tokens[i].
        """
        ...
