"""One sentence whose wording a model chooses place by place: certain tokens need no model step.

The forms are read as a graph of tokens. A state is a place of it; after a prefix several may be possible, where two wordings
begin with the same token.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from data.errors import UserError
from decoding.api import Wordings
from decoding.grounding.pieces import BEFORE_FIRST, BEFORE_LATER, encoded

if TYPE_CHECKING:
    import torch


class _State(NamedTuple):
    """Inside of a wording: `done` of its tokens are written. `run` counts the source's own words in a row before it."""

    form: int
    place: int
    wording: int
    done: int
    run: int


class WordingsRule:
    """Implements `decoding.sampling.ForcingRule` for `Wordings`.

    Possible are the tokens with which some form goes on, and an end token where one is complete. The source's own text loses
    logits as `Wordings` says; where two states share a token the smaller loss holds. A prefix that is of no form (only a draft
    can be one) leaves the end tokens.

    Args:
        tokenizer: of the model; the caller holds its lock while the rule is made, not later.
        n_prompt: tokens of the prompt, which every prefix begins with.
        end_ids: tokens that end an answer.

    Raises:
        UserError: no forms, an empty place, no end token, or a text that the tokenizer cannot give back as it is.
    """

    def __init__(self, wordings: Wordings, tokenizer: Any, n_prompt: int, end_ids: Collection[int]) -> None:
        if not wordings.forms or not all(form and all(form) for form in wordings.forms):
            raise UserError(
                "wordings need a form, and every form places with a text in each; give at least the sentence itself"
            )
        if not end_ids:
            raise UserError("the model has no end token, so a sentence of given wordings could not end; name one: eos_token_id")
        self._wordings = wordings
        self._n_prompt = n_prompt
        self._ends = tuple(sorted(end_ids))
        self._tokens = _tokens(wordings, tokenizer, frozenset(end_ids))
        self._read: dict[tuple[int, ...], tuple[frozenset[_State], bool]] = {}

    def __call__(self, prefix: Sequence[int], logits: torch.Tensor) -> torch.Tensor:
        import torch

        losses = self._possible(tuple(prefix[self._n_prompt :]))
        ruled = torch.full_like(logits, -math.inf)
        for token, loss in losses.items():
            ruled[token] = logits[token] - loss
        return ruled

    def forced(self, prefix: Sequence[int], room: int) -> Sequence[int]:
        """See `ForcingRule`."""
        answer = tuple(prefix[self._n_prompt :])
        found: list[int] = []
        while len(found) < room and (not found or found[-1] not in self._ends):
            possible = self._possible((*answer, *found))
            if len(possible) != 1:
                break
            found += possible
        return found

    # --- the graph -------------------------------------------------------------------------------------------------------

    def _possible(self, answer: tuple[int, ...]) -> dict[int, float]:
        """Tokens that may follow, with the logits that each loses."""
        states, complete = self._after(answer)
        losses: dict[int, float] = {}
        for state in states:
            token = self._tokens[state.form][state.place][state.wording][state.done]
            losses[token] = min(losses.get(token, math.inf), self._loss(state))
        if complete or not states:
            losses |= dict.fromkeys(self._ends, 0.0)
        return losses

    def _loss(self, state: _State) -> float:
        wordings = self._wordings
        starts = state.place == 0 and state.done == 0
        if starts and state.form == 0 and len(wordings.forms) > 1:
            return wordings.copy_penalty
        is_own = state.wording == 0 and state.done == 0 and len(wordings.forms[state.form][state.place]) > 1
        return wordings.copy_penalty if is_own and state.run >= wordings.copy_words else 0.0

    def _after(self, answer: tuple[int, ...]) -> tuple[frozenset[_State], bool]:
        """The states possible after an answer, and whether it may end there."""
        if answer in self._read:
            return self._read[answer]
        if not answer:
            found, complete = self._opened((form, 0, 0) for form in range(len(self._tokens)))
        else:
            before, _ = self._after(answer[:-1])
            going, ended = [], []
            for state in before:
                tokens = self._tokens[state.form][state.place][state.wording]
                if tokens[state.done] != answer[-1]:
                    continue
                if state.done + 1 < len(tokens):
                    going.append(state._replace(done=state.done + 1))
                else:
                    ended.append((state.form, state.place + 1, self._run_after(state)))
            found, complete = self._opened(iter(ended))
            found |= frozenset(going)
        self._read[answer] = found, complete
        return found, complete

    def _opened(self, places: Iterator[tuple[int, int, int]]) -> tuple[frozenset[_State], bool]:
        """The first states of (form, place, run); wordings of nothing lead to the place behind. Whether a form ends there."""
        waiting, found, complete = list(places), set(), False
        while waiting:
            form, place, run = waiting.pop()
            if place == len(self._tokens[form]):
                complete = True
                continue
            for wording, tokens in enumerate(self._tokens[form][place]):
                if tokens:
                    found.add(_State(form, place, wording, 0, run))
                else:
                    waiting.append((form, place + 1, 0))
        return frozenset(found), complete

    def _run_after(self, state: _State) -> int:
        if state.wording > 0:
            return 0
        words = self._wordings.forms[state.form][state.place][0].split()
        return state.run + sum(word.islower() for word in words)


def _tokens(wordings: Wordings, tokenizer: Any, end_ids: frozenset[int]) -> list[list[list[tuple[int, ...]]]]:
    """Token ids of each form, place and wording."""
    first = sorted({text for form in wordings.forms for text in form[0] if text})
    later = sorted({text for form in wordings.forms for place in form[1:] for text in place if text})
    ids_first = dict(zip(first, encoded(tokenizer, first, BEFORE_FIRST, "", end_ids), strict=True))
    ids_later = dict(zip(later, encoded(tokenizer, later, BEFORE_LATER, "x", end_ids), strict=True))
    return [
        [[(ids_later if n else ids_first).get(text, ()) for text in place] for n, place in enumerate(form)]
        for form in wordings.forms
    ]
