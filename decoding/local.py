"""A model in this process: prompt in, text out, with exact counts.

The walk: messages -> token ids (chat template, or a plain join) -> `Decode` hands over one token at a time -> `TextSink`
turns tokens into text and decides when it ends. `Decode` is the seam: `decoding.engine` decodes speculatively,
`decoding.bench.reference` asks `transformers.generate` for the same tokens.
"""

from __future__ import annotations

import dataclasses
import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Protocol

from data import codec
from data.errors import StageError
from decoding.api import Completion, DecodeStats, Message, Request, SamplingParams, StopReason
from decoding.choices import check_options
from decoding.engine import Ask, Engine
from decoding.models.conversation import PromptReader
from decoding.models.loading import LoadedModel
from decoding.prefixes.prefix import prefix_of, prefixes_digest, tasks_of
from decoding.probes.probe import probe_of, probes_digest
from decoding.sampling import check_sampling

logger = logging.getLogger(__name__)

STAGE = "generate"


class Decode(Protocol):
    """How tokens come about. Called with the model's lock held."""

    def __call__(self, prompt: Sequence[int], sampling: SamplingParams, take: Callable[[int], bool]) -> DecodeStats:
        """Continue `prompt`, giving each new token to `take` in order until it returns False (`total_s` is replaced).

        `sampling.max_new_tokens` already fits the context; `sampling.grounding` holds for every token. `take`
        ends the text, so no other end test is needed.
        """
        ...


class LocalGenerator(PromptReader):
    """Implements `decoding.api.Generator` for a model in this process. May be shared by threads: calls take turns.

    `decode` says how tokens come about; by default `engine` does, and by default that is an `Engine` with its method `auto`,
    built for the first text. Several texts are written together only where the engine decodes: what stands before it (a
    record of each answer) sees one text at a time.
    """

    grounds = True

    def __init__(self, loaded: LoadedModel, decode: Decode | None = None, *, engine: Engine | None = None) -> None:
        super().__init__(loaded)
        self._given = decode
        self._given_engine = engine
        self._takes_prefixes = decode is None
        """Another way to decode knows nothing of them."""

    @cached_property
    def _engine(self) -> Engine:
        # beside another way to decode it only reads prompts, and drafts nothing
        return self._given_engine or Engine(self._loaded, "auto" if self._given is None else "greedy")

    @cached_property
    def _decode(self) -> Decode:
        return self._given or self._engine.decode

    @property
    def fingerprint(self) -> str:
        """Of the loaded model, with what was trained for it: its probes, and beginnings of prompts."""
        weights = self._loaded.weights_sha256
        prefixes = prefixes_digest(weights) if self._takes_prefixes else ""
        trained = [digest for digest in (probes_digest(weights), prefixes) if digest]
        return codec.sha256(" ".join([self._loaded.fingerprint, *trained])) if trained else self._loaded.fingerprint

    def put_away(self) -> None:
        """Give back the memory of the weights. Name and fingerprint remain; no text can be had any more."""
        from torch.nn import Module

        self._given = _was_put_away
        for built in ("_decode", "_engine"):
            self.__dict__.pop(built, None)
        self._given_engine = None
        self._loaded.backends.clear()
        Module.to(self._loaded.model, "meta")

    @property
    def context_tokens(self) -> int:
        return self._loaded.context_tokens

    @property
    def tuned(self) -> frozenset[str]:
        return tasks_of(self._loaded.weights_sha256) if self._takes_prefixes else frozenset()

    def generate(
        self, messages: Sequence[Message], sampling: SamplingParams, on_text: Callable[[str], None] | None = None
    ) -> Completion:
        """Continue the conversation, greedily unless `sampling.temperature` is above 0.

        `on_text` runs between two tokens, with the model locked: it must not generate.
        `n_new_tokens` counts every token the model gave, the end token and those of a stop string included. An answer for
        which the context has less room than `max_new_tokens` ends there, with stop `length`. With a temperature the text
        depends on prompt, seed, temperature and top_p alone: the i-th token uses the i-th random number of the seed.

        Raises:
            StageError: the prompt leaves no room in the context, the template refuses the messages, or no memory is left.
            UserError: sampling parameters out of range, or a grounding that the tokenizer cannot express.
        """
        check_sampling(sampling)
        return complete(self._loaded, self._decode, self.prompt_ids(messages), sampling, on_text)

    def generate_many(
        self, requests: Sequence[Request], on_done: Callable[[int, Completion], None] | None = None
    ) -> list[Completion]:
        """See `Generator.generate_many`. Texts are written together where the backend can (`Engine.decode_together`): how all
        prompts begin is read once, and each pass over the weights serves up to `decoding.together.MOST` texts. On
        other backends they are written in turn.

        `on_done` is called with the model locked. Raises as `Generator.generate_many` says, and as `generate`.
        """
        found: dict[int, Completion] = {}
        failed: dict[int, StageError] = {}
        theirs: list[BaseException] = []

        def finish(at: int, done: Completion) -> None:
            found[at] = done
            if on_done is None:
                return
            try:
                on_done(at, done)
            except BaseException as error:
                theirs.append(error)
                raise

        prompts: dict[int, Sequence[int]] = {}
        begun: dict[int, str] = {}
        """Of those that begin with what was trained, the task."""
        for at, request in enumerate(requests):
            check_sampling(request.sampling)
            try:
                plain = self.prompt_ids(request.messages)
                prompts[at] = self._tuned(plain, request.tuned)
                if prompts[at] is not plain:
                    begun[at] = request.tuned
                _fitted(self._loaded, prompts[at], request.sampling)
            except StageError as error:
                failed[at] = error
        for able in self._together(prompts, begun):
            wanted = [Wanted(prompts[at], requests[at].sampling, done=partial(finish, at)) for at in able]
            try:
                complete_together(self._loaded, self._engine, wanted, wait=True)
            except StageError as error:
                if error in theirs:
                    raise
                # one of them failed, nobody knows which: each of the others is still to be had
                logger.warning("%s; those that are left are written in turn", error)
        for at in [at for at in prompts if at not in found]:
            try:
                done = complete(self._loaded, self._decode, prompts[at], requests[at].sampling)
            except StageError as error:
                failed[at] = error
                continue
            finish(at, done)
        if failed:
            raise failed[min(failed)]
        return [found[at] for at in range(len(requests))]

    def _together(self, prompts: Mapping[int, Sequence[int]], begun: Mapping[int, str]) -> list[list[int]]:
        """Which can be continued together, none alone: a trained beginning is one that all of them have."""
        if self._given is not None or not self._engine.together:
            return []
        alike: dict[str, list[int]] = {}
        for at in prompts:
            alike.setdefault(begun.get(at, ""), []).append(at)
        return [able for able in alike.values() if len(able) > 1]

    def _tuned(self, prompt: Sequence[int], task: str) -> Sequence[int]:
        """With the beginning that was trained for the task; the same object where there is none."""
        prefix = prefix_of(self._loaded.weights_sha256, task) if task and self._takes_prefixes else None
        return prompt if prefix is None else self._engine.tuned(prompt, prefix)

    def choose(self, messages: Sequence[Message], options: Sequence[str]) -> tuple[float, ...]:
        """See `choose_many`."""
        return self.choose_many([messages], options)[0]

    def choose_many(
        self, asked: Sequence[Sequence[Message]], options: Sequence[str], question: str = ""
    ) -> list[tuple[float, ...]]:
        """For each conversation the shares of the options, by their first tokens, of the probability of all of these.

        The tokens are those of the options alone: an answer begins anew behind the prompt. Nothing but the prompts is read,
        together where the backend can. Where this model was probed for `question`, the probe says the chance of the first.

        Raises:
            ValueError: fewer than two options, or two with the same first token; a question with more than two.
            StageError: as `generate`, when one of the conversations cannot be read.
        """
        check_options(options)
        tokens = self.first_tokens(options)
        if question and len(options) != 2:
            raise ValueError(f"the question {question!r} is one of yes and no, and here are {len(options)} options")
        probe = probe_of(self._loaded.weights_sha256, question) if question else None
        logits = self.next_logits(asked, tokens if probe is None else probe.tokens)
        if probe is None:
            return [_shares(row) for row in logits]
        return [(yes, 1 - yes) for yes in map(probe.chance, logits)]

    def first_tokens(self, options: Sequence[str]) -> list[int]:
        """Those that the options begin with as answers. Raises ValueError for two with the same."""
        tokens = [self._encode(option)[0] for option in options]
        if len(set(tokens)) < len(tokens):
            raise ValueError(f"these options have the same first token in {self.name}: {list(options)}")
        return tokens

    @property
    def n_tokens(self) -> int:
        """Those that the tokenizer knows."""
        return len(self._loaded.tokenizer)

    def next_logits(self, asked: Sequence[Sequence[Message]], tokens: Sequence[int]) -> list[list[float]]:
        """Behind each conversation the logits of `tokens`, in their order. Raises StageError as `choose_many`."""
        prompts = [self.prompt_ids(messages) for messages in asked]
        for prompt in prompts:
            _fitted(self._loaded, prompt, SamplingParams(max_new_tokens=1))
        engine = self._engine  # built with the lock free
        with self._loaded.lock, _telling_of_memory(self._loaded, f"{len(prompts)} prompts"):
            return [row.tolist() for row in engine.next_logits(prompts, tokens)]


def _shares(logits: Sequence[float]) -> tuple[float, ...]:
    """What each has of the probability of all (softmax)."""
    parts = [math.exp(logit - max(logits)) for logit in logits]
    return tuple(part / sum(parts) for part in parts)


def _was_put_away(prompt: Sequence[int], sampling: SamplingParams, take: Callable[[int], bool]) -> DecodeStats:
    raise RuntimeError("the model was put away; build its generator again")


def complete_together(
    loaded: LoadedModel,
    engine: Engine,
    wanted: Sequence[Wanted],
    *,
    wait: bool = False,
) -> list[Completion]:
    """Continue several prompts together (`Engine.decode_together`), each to the text that `complete` gives.

    Raises as `complete`, when the first text cannot be had; UserError for more texts than are written together, unless the
    others are to `wait`.
    """
    started = time.perf_counter()
    sinks: list[TextSink] = []
    asks: list[Ask] = []
    found: list[Completion | None] = [None] * len(wanted)

    def finish(at: int, stats: DecodeStats) -> None:
        one, sink = wanted[at], sinks[at]
        text, stop = sink.finish()
        done = Completion(
            text=text,
            n_prompt_tokens=len(one.prompt),
            n_new_tokens=sink.n_tokens,
            stop=stop,
            stats=dataclasses.replace(stats, total_s=time.perf_counter() - started),
            stop_string=sink.stop_string,
        )
        found[at] = done
        if one.done is not None:
            one.done(done)

    for at, one in enumerate(wanted):
        sampling = _fitted(loaded, one.prompt, one.sampling)
        sinks.append(TextSink(loaded, sampling, one.on_text))
        asks.append(Ask(one.prompt, sampling, one.take_before(sinks[at].take), drafts=one.drafts, ended=partial(finish, at)))
    with loaded.lock, _telling_of_memory(loaded, f"{len(wanted)} texts together"):
        engine.decode_together(asks, wait=wait)
    return [done for done in found if done is not None]


@dataclass(frozen=True, slots=True, eq=False)
class Wanted:
    """One text that is asked for together with others."""

    prompt: Sequence[int]
    sampling: SamplingParams
    on_text: Callable[[str], None] | None = None
    drafts: bool = True
    goes_on: Callable[[], bool] | None = None
    """Asked before each token: whether anybody still wants this text."""
    done: Callable[[Completion], None] | None = None
    """Called as soon as this text has ended, others going on, with the model locked."""
    seen: Callable[[int], None] | None = None
    """Gets each token."""

    def take_before(self, take: Callable[[int], bool]) -> Callable[[int], bool]:
        def wanted(token: int) -> bool:
            if self.goes_on is not None and not self.goes_on():
                return False
            if self.seen is not None:
                self.seen(token)
            return take(token)

        return wanted


@contextmanager
def _telling_of_memory(loaded: LoadedModel, what: str) -> Iterator[None]:
    """Raises StageError where the device has no memory left for `what`."""
    import torch

    try:
        yield
    except torch.OutOfMemoryError as error:
        raise StageError(STAGE, f"no memory left on {loaded.device} for {what}") from error


def _fitted(loaded: LoadedModel, prompt: Sequence[int], sampling: SamplingParams) -> SamplingParams:
    """With no more new tokens than the context has room for. Raises StageError where there is none."""
    check_sampling(sampling)
    room = loaded.context_tokens - len(prompt)
    if room < 1:
        raise StageError(
            STAGE, f"the prompt has {len(prompt)} tokens and {loaded.name} reads {loaded.context_tokens}, answer included"
        )
    return dataclasses.replace(sampling, max_new_tokens=min(sampling.max_new_tokens, room))


def complete(
    loaded: LoadedModel,
    decode: Decode,
    prompt: Sequence[int],
    sampling: SamplingParams,
    on_text: Callable[[str], None] | None = None,
    on_token: Callable[[int], None] | None = None,
) -> Completion:
    """Continue token ids. Takes the model's lock; see `LocalGenerator.generate` for everything else.

    `on_token` learns of each token but an end token where it begins: how many characters of text are before it, those of a
    stop string included. It is called before `on_text` gets the token's text.
    """
    started = time.perf_counter()
    sampling = _fitted(loaded, prompt, sampling)
    sink = TextSink(loaded, sampling, on_text, on_token)
    with loaded.lock, _telling_of_memory(loaded, f"{len(prompt)} prompt tokens"):
        stats = decode(prompt, sampling, sink.take)
    text, stop = sink.finish()
    return Completion(
        text=text,
        n_prompt_tokens=len(prompt),
        n_new_tokens=sink.n_tokens,
        stop=stop,
        stats=dataclasses.replace(stats, total_s=time.perf_counter() - started),
        stop_string=sink.stop_string,
    )


class TextSink:
    """Tokens in, text out: detokenises step by step, finds the end, feeds `on_text`.

    A character is passed on when it is complete (a multi-byte character may take several tokens) and can no longer be the
    beginning of a stop string, so the pieces joined are the final text. An incomplete last character is dropped.
    """

    def __init__(
        self,
        loaded: LoadedModel,
        sampling: SamplingParams,
        on_text: Callable[[str], None] | None,
        on_token: Callable[[int], None] | None = None,
    ) -> None:
        self._loaded = loaded
        self._on_token = on_token
        self._n_characters = 0
        self._limit = sampling.max_new_tokens
        self._cut = StopCut(sampling.stop, on_text)
        self._ids: list[int] = []
        self._prefix = self._read = 0  # ids[prefix:read] is text already; it is decoded again as context for the next ids
        self._stop: StopReason | None = None
        self.n_tokens = 0

    def take(self, token: int) -> bool:
        """Whether the text goes on after this token. Tokens after its end are not counted."""
        if self._stop is not None:
            return False
        self.n_tokens += 1
        if token in self._loaded.eos_ids:
            self._stop = "end"
            return False
        self._ids.append(token)
        if self._on_token is not None:
            self._on_token(self._n_characters)
        if not self._cut.feed(self._new_text()):
            self._stop = "stop"
        elif self.n_tokens >= self._limit:
            self._stop = "length"
        return self._stop is None

    @property
    def stop_string(self) -> str | None:
        """The one that ended the text."""
        return self._cut.cut_by

    def finish(self) -> tuple[str, StopReason]:
        """The whole text, and why it ended. Call once."""
        if self._stop != "stop" and not self._cut.feed(self._new_text(last=True)):
            self._stop = "stop"
        return self._cut.finish(), self._stop or "unknown"

    def _new_text(self, last: bool = False) -> str:
        """What the newest ids add. Decoding a short window instead of all ids keeps a step's cost constant."""
        before = self._decoded(self._ids[self._prefix : self._read])
        after = self._decoded(self._ids[self._prefix :])
        if after.endswith("�"):
            if not last:
                return ""
            after = after.rstrip("�")
        self._prefix, self._read = self._read, len(self._ids)
        self._n_characters += len(after) - len(before)
        return after[len(before) :]

    def _decoded(self, ids: list[int]) -> str:
        with self._loaded.tokenizer_lock:
            return str(self._loaded.tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False))


class StopCut:
    """Passes text on up to the first stop string, which is not part of it."""

    def __init__(self, stop: Sequence[str], on_text: Callable[[str], None] | None) -> None:
        self._stop = tuple(stop)
        self._on_text = on_text
        self._passed: list[str] = []
        self._held = ""
        self.cut_by: str | None = None

    @property
    def was_cut(self) -> bool:
        return self.cut_by is not None

    def feed(self, piece: str) -> bool:
        """Whether the text goes on: False once a stop string has been seen."""
        self._held += piece
        found = [(at, stop) for stop in self._stop if (at := self._held.find(stop)) >= 0]
        if found:
            at, self.cut_by = min(found)
            self._pass(self._held[:at])
            self._held = ""
            return False
        keep = max((_overlap(self._held, stop) for stop in self._stop), default=0)
        free = len(self._held) - keep
        self._pass(self._held[:free])
        self._held = self._held[free:]
        return True

    def finish(self) -> str:
        self._pass(self._held)
        self._held = ""
        return "".join(self._passed)

    def _pass(self, piece: str) -> None:
        if piece:
            self._passed.append(piece)
            if self._on_text is not None:
                self._on_text(piece)


def _overlap(text: str, stop: str) -> int:
    """Length of the longest end of `text` that begins `stop`."""
    return next((n for n in range(min(len(stop) - 1, len(text)), 0, -1) if stop.startswith(text[-n:])), 0)
