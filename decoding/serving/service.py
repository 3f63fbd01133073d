"""Writes the texts of requests: in their order, those that wait at the same time together where the model allows it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from data.errors import StageError, UserError
from decoding.api import Completion, DecodeStats, Json, SamplingParams
from decoding.serving.chat_requests import LONGEST_NAME, Asked, Refused
from decoding.serving.logprobs import LogprobWatch
from decoding.serving.totals import Totals
from decoding.serving.turns import Turns, Waiting

if TYPE_CHECKING:
    from decoding.engine import Engine
    from decoding.models.loading import LoadedModel


CHARACTERS_A_TOKEN = 64
"""More than any tokenizer puts into one, but for long runs of blanks."""


class Abandoned(Exception):
    """Nobody waits for this text any more."""


class Text:
    """One text being written for a request: where it is written from, and whether anybody still wants it."""

    def __init__(
        self, prompt: Sequence[int], sampling: SamplingParams, drafts: bool, logprobs: LogprobWatch | None = None
    ) -> None:
        self.prompt = prompt
        self.drafts = drafts
        self.sampling = sampling
        self.logprobs = logprobs
        """Set where the client wants them."""
        self.abandoned = threading.Event()
        self.begun: float | None = None
        """When its turn came, by `time.perf_counter`."""

    def another(self, seed: int) -> Text:
        """The same request with another seed."""
        watch = None if self.logprobs is None else self.logprobs.another()
        return Text(self.prompt, replace(self.sampling, seed=seed), self.drafts, watch)


class Service:
    """Writes texts for requests, in their order; those that wait at the same time together where the model allows it."""

    def __init__(self, loaded: LoadedModel, engine: Engine, name: str) -> None:
        from decoding.local import LocalGenerator
        from decoding.models.loading import vocabulary_size

        self.name = name
        self.fingerprint = loaded.fingerprint
        self.context_tokens = loaded.context_tokens
        self.created = int(time.time())
        self.totals = Totals()
        self.closing = threading.Event()
        self._loaded = loaded
        self._engine = engine
        self._generator = LocalGenerator(loaded, engine.decode)
        self._n_tokens = vocabulary_size(loaded.model)
        self._turns: Turns[tuple[Text, Callable[[str], None] | None], Completion] = Turns(self._fit, self._written)

    def describe(self) -> str:
        return self._engine.describe()

    def text_for(self, asked: Asked) -> Text:
        """Raises Refused for another model, or a prompt that leaves no room for the request."""
        if asked.model != self.name:
            known = f"the model {asked.model[:LONGEST_NAME]!r} is not served here; this is {self.name!r}"
            raise Refused(404, known, param="model", code="model_not_found")
        prompt = self._prompt_ids(asked)
        room = self.context_tokens - len(prompt)
        wanted = asked.max_tokens or max(room, 1)
        if wanted > room:
            raise Refused(
                400,
                f"this model's maximum context length is {self.context_tokens} tokens, but the prompt has {len(prompt)} "
                f"and the answer may have {wanted}; shorten the prompt or lower max_tokens",
                param="messages" if asked.messages else "prompt",
                code="context_length_exceeded",
            )
        if isinstance(asked.sampling.grounding, Json):
            self._check_schema(asked.sampling.grounding)
        watch = None if asked.top_logprobs is None else LogprobWatch(self._loaded, asked.top_logprobs)
        return Text(prompt, replace(asked.sampling, max_new_tokens=wanted), asked.drafts, watch)

    def _check_schema(self, schema: Json) -> None:
        """Before the text waits for its turn, and a stream has begun."""
        from decoding.grounding.schema import check_json

        try:
            with self._loaded.tokenizer_lock:
                check_json(schema, self._loaded.tokenizer, self._loaded.eos_ids)
        except UserError as error:
            raise Refused(400, str(error), param="response_format", code="invalid_json_schema") from None

    def _prompt_ids(self, asked: Asked) -> list[int]:
        text = asked.prompt if isinstance(asked.prompt, str) else "".join(message.content for message in asked.messages)
        field = "messages" if asked.messages else "prompt"
        if len(asked.messages) > self.context_tokens:  # each takes a token at least, however little it says
            raise Refused(
                400,
                f"this model's maximum context length is {self.context_tokens} tokens, and {len(asked.messages):,} messages "
                "are more; send fewer",
                param=field,
                code="context_length_exceeded",
            )
        if len(text) > CHARACTERS_A_TOKEN * self.context_tokens:  # before the tokenizer reads it, which holds up everybody
            raise Refused(
                400,
                f"this model's maximum context length is {self.context_tokens} tokens, and {len(text):,} characters are more; "
                "shorten the prompt",
                param=field,
                code="context_length_exceeded",
            )
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise Refused(400, f"{field} holds half of a character at {error.start} (a lone surrogate)", param=field) from None
        if asked.messages:
            try:
                return self._generator.prompt_ids(asked.messages)
            except StageError as error:
                raise Refused(400, error.why, param="messages") from None
        if isinstance(asked.prompt, str):
            with self._loaded.tokenizer_lock:
                return list(self._loaded.tokenizer(asked.prompt, verbose=False).input_ids)
        ids = list(asked.prompt or ())
        if wrong := [i for i in ids if i >= self._n_tokens]:
            raise Refused(400, f"token id {wrong[0]} is outside of the vocabulary of {self._n_tokens}", param="prompt")
        return ids

    async def write(self, text: Text, on_text: Callable[[str], None] | None = None) -> Completion:
        """Waits for its turn. `on_text` is called on another thread. Raises Abandoned, or StageError as decoding does."""
        self.totals.waiting += 1
        asked = time.perf_counter()
        try:
            done = await self._turns.written((text, on_text))
        except Abandoned:
            self.totals.abandoned += 1
            raise
        except Exception:
            self.totals.failed += 1
            raise
        finally:
            self.totals.waiting -= 1
        self.totals.add(done, 0.0 if text.begun is None else text.begun - asked)
        return done

    def _fit(self, wanted: Sequence[tuple[Text, object]]) -> bool:
        """Whether these texts may be written together. Log probabilities are watched in texts that are written alone."""
        if any(text.logprobs is not None for text, _ in wanted):
            return False
        return self._engine.fits_together([len(text.prompt) + text.sampling.max_new_tokens for text, _ in wanted])

    def _written(self, group: Sequence[Waiting[tuple[Text, Callable[[str], None] | None], Completion]]) -> None:
        from decoding.local import Wanted, complete_together

        for one in group:
            one.wanted[0].begun = time.perf_counter()
            if not self._is_wanted(one.wanted[0]):
                one.finish(Abandoned())
        live = [one for one in group if self._is_wanted(one.wanted[0])]
        if len(live) < 2:
            for one in live:
                one.finish(self._written_alone(*one.wanted))
            return

        def hand_over(one: Waiting[tuple[Text, Callable[[str], None] | None], Completion], done: Completion) -> None:
            one.finish(done if self._is_wanted(one.wanted[0]) else Abandoned())

        wanted = [
            Wanted(
                text.prompt,
                text.sampling,
                on_text,
                drafts=text.drafts,
                goes_on=partial(self._is_wanted, text),
                done=partial(hand_over, one),
            )
            for one in live
            for text, on_text in [one.wanted]
        ]
        complete_together(self._loaded, self._engine, wanted)

    def _written_alone(self, text: Text, on_text: Callable[[str], None] | None) -> Completion:
        from decoding.local import complete

        def decode(prompt: Sequence[int], sampling: SamplingParams, take: Callable[[int], bool]) -> DecodeStats:
            def take_if_wanted(token: int) -> bool:
                return self._is_wanted(text) and take(token)

            if not self._is_wanted(text):
                return DecodeStats(0.0)
            seen = watch.on_logits if watch is not None else None
            return self._engine.decode(prompt, sampling, take_if_wanted, on_logits=seen, drafts=text.drafts)

        watch = text.logprobs
        on_token = watch.on_token if watch is not None else None
        done = complete(self._loaded, decode, text.prompt, text.sampling, on_text, on_token)
        if not self._is_wanted(text):
            raise Abandoned
        return done

    def _is_wanted(self, text: Text) -> bool:
        return not (text.abandoned.is_set() or self.closing.is_set())
