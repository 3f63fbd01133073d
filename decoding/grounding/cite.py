"""Free text in which every sentence ends with citation markers: logits of tokens that would break this become -inf."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

from data.errors import UserError
from decoding.api import Cite
from decoding.grounding.cite_grammar import LONGEST_SENTENCE, NEXT, START, At, Grammar, State, judged, symbols
from decoding.grounding.cite_vocabulary import UNFINISHED, vocabulary_of

if TYPE_CHECKING:
    import torch

_LONGEST_CHARACTER = 4
"""Bytes of a character in UTF-8, so tokens of one at most."""


class CiteRule:
    """Implements `decoding.sampling.ForcingRule` for a `Cite`.

    - A bracket is opened for a marker `[k]` only, k being one of `cite.numbers`; which one is the model's own choice.
    - Behind the full stop of a sentence, and behind quotes or parentheses that close after it, comes a marker before anything
      else, unless one is directly before the full stop: `... in 1937 [2].` or `... in 1937. [2]`. A line ends, and the
      text ends, behind a cited sentence only; a last sentence without a full stop is cited as well.
    - Markers of one run touch; at most `cite.most_per_sentence`, none twice. Runs inside of a sentence count for nothing.
    - Where `data.sentences` sees no boundary (abbreviations, initials, decimals) none is demanded; a small letter may follow
      whatever looks like an abbreviation. In doubt a marker may come too early, never too late.
      A closing quote that the tokenizer writes in several tokens cannot follow a full stop.

    A text that max_new_tokens cuts off may end in an uncited sentence. A rule of this kind says that a sentence cites, not that
    its source supports it. Models that think aloud before they answer (`<think>...`) are not handled: their thoughts would have
    to cite as well.

    Answers are read up to where the last call was, so that a call costs what the new tokens cost. Prefixes may come in any
    order; results depend on the prefix alone.

    Args:
        tokenizer: of the model; the caller holds its lock while the rule is made, not later.
        n_prompt: tokens of the prompt, which every prefix begins with. The answer begins with a new sentence.
        end_ids: tokens that end an answer.

    Raises:
        UserError: no numbers, one below 1, `most_per_sentence` below 1, or markers that the tokenizer cannot express.
    """

    def __init__(self, cite: Cite, tokenizer: Any, n_prompt: int, end_ids: Collection[int]) -> None:
        _check(cite)
        self._vocabulary = vocabulary_of(tokenizer, len(tokenizer))
        for number in cite.numbers:
            self._vocabulary.check_spells(number)
        self._grammar = Grammar(cite.numbers, cite.most_per_sentence)
        self._n_prompt = n_prompt
        self._ends = sorted(end_ids)
        self._masks: dict[tuple[State, int, torch.device], torch.Tensor] = {}
        self._read: list[int] = []
        self._places = [_Place(START, START, "", ())]
        if not self._ends:
            self._check_goes_on(cite)

    def __call__(self, prefix: Sequence[int], logits: torch.Tensor) -> torch.Tensor:
        import torch

        allowed = self._allowed(self._place(prefix).state, len(logits), logits.device)
        ruled = torch.where(allowed, logits, -math.inf)
        # other rules may have excluded all that this one allows: then its tokens are equally likely
        return torch.where(allowed & (ruled.amax() == -math.inf), 0.0, ruled)

    def forced(self, prefix: Sequence[int], room: int) -> Sequence[int]:
        """See `ForcingRule`: inside of a marker, as long as one token only can follow."""
        found: list[int] = []
        place = self._place(prefix)
        while len(found) < room and place.state.at is At.DIGITS:
            possible = self._vocabulary.tokens(self._grammar, place.state)
            if len(possible) != 1:
                break
            found += possible
            place = self._after(place, possible[0])
        return found

    def _allowed(self, state: State, n: int, device: torch.device) -> torch.Tensor:
        """(n,) bool. Kept for the states of running text, which are few and most of an answer."""
        import torch

        key = (state, n, device)
        if key in self._masks:
            return self._masks[key]
        if state.at is At.DIGITS:
            allowed = torch.zeros(n, dtype=torch.bool, device=device)
            more = self._vocabulary.tokens(self._grammar, state)
        else:
            allowed = self._vocabulary.plain(self._grammar, state, n, device).clone()
            more = self._vocabulary.opening_tokens(self._grammar, state)
        allowed[_tensor(more, n, device)] = True
        allowed[_tensor(self._ends, n, device)] = state.may_end
        if state.at is not At.DIGITS and not state.used:
            self._masks[key] = allowed
        return allowed

    def _place(self, prefix: Sequence[int]) -> _Place:
        answer = list(prefix[self._n_prompt :])
        kept = min(len(answer), len(self._read))
        if answer[:kept] != self._read[:kept]:
            kept = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(answer, self._read)))
        del self._read[kept:], self._places[kept + 1 :]
        for token in answer[kept:]:
            self._places.append(self._after(self._places[-1], token))
            self._read.append(token)
        return self._places[-1]

    def _after(self, place: _Place, token: int) -> _Place:
        """Behind one more token. Bytes that are no whole character yet are read as a sign, and again when it is whole."""
        known = self._vocabulary
        text = known.texts[token] if token < len(known.texts) else ""
        if not text:
            return place
        pending = (*place.pending, token)
        if place.pending:
            text = known.decoded(pending)
        settled = self._grammar.read(place.settled, known.classes[token] if len(pending) == 1 else symbols(text))
        sentence = "" if settled.at is At.BLANK else place.sentence + text
        settled = judged(settled, sentence)
        if text.endswith(UNFINISHED) and len(pending) < _LONGEST_CHARACTER:
            return place._replace(state=settled, pending=pending)
        return _Place(settled, settled, sentence[-LONGEST_SENTENCE:], ())

    def _check_goes_on(self, cite: Cite) -> None:
        """Without end tokens: that something may follow a full run of markers."""
        used = tuple(map(str, cite.numbers))
        states = (NEXT, State(At.CITED_END), State(At.RUN, used=used), State(At.RUN, used=used, stopped=True))
        if not all(self._vocabulary.tokens(self._grammar, state) for state in states):
            raise UserError(
                "there is no end token, and the tokenizer has no white space to go on with after markers; name the tokens that "
                "end a text: eos_token_id"
            )


class _Place(NamedTuple):
    """Behind some tokens of an answer. `settled` is the state behind all whole characters, `pending` are tokens after those."""

    state: State
    settled: State
    sentence: str
    pending: tuple[int, ...]


def _tensor(tokens: Sequence[int], n: int, device: torch.device) -> torch.Tensor:
    import torch

    return torch.tensor([token for token in tokens if token < n], dtype=torch.long, device=device)


def _check(cite: Cite) -> None:
    if not cite.numbers:
        raise UserError("there are no numbers to cite; give those of the passages that the prompt shows")
    if (least := min(cite.numbers)) < 1:
        raise UserError(f"{least} is no number of a passage; markers count from 1")
    if cite.most_per_sentence < 1:
        raise UserError(f"most_per_sentence is {cite.most_per_sentence}; every sentence is to be cited, so allow at least 1")
