"""A model in this process: prompt in, text out, with exact counts.

The walk: messages -> token ids (chat template, or a plain join) -> `Decode` hands over one token at a time -> `TextSink`
turns tokens into text and decides when it ends. `Decode` is the seam: `decoding.engine` decodes speculatively,
`decoding.reference` asks `transformers.generate` for the same tokens.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Protocol

from data.errors import StageError, UserError
from decoding.api import Completion, DecodeStats, Message, SamplingParams, StopReason
from decoding.engine import Engine
from decoding.models import LoadedModel, break_control_tokens, control_pattern
from decoding.sampling import check_sampling

STAGE = "generate"

TEMPLATE_DATE = "26 Jul 2024"
"""Chat templates that print today's date get this one (the default of the Llama 3 templates): a prompt must not change
overnight."""


class Decode(Protocol):
    """How tokens come about. Called with the model's lock held."""

    def __call__(self, prompt: Sequence[int], sampling: SamplingParams, take: Callable[[int], bool]) -> DecodeStats:
        """Continue `prompt`, giving each new token to `take` in order until it returns False (`total_s` is replaced).

        `sampling.max_new_tokens` already fits the context. `take` ends the text, so no other end test is needed.
        """
        ...


class LocalGenerator:
    """Implements `decoding.api.Generator` for a model in this process. May be shared by threads: calls take turns.

    Prompt form. With a chat template: that template, thinking switched off where it knows the switch. Without: the
    contents of the messages in order, a blank line between them and, unless the last one is the assistant's own beginning
    of an answer, a blank line at the end; roles are not shown. In both forms a final assistant message is continued.
    Message contents are neutralised, so control tokens come from the template only.

    `decode` says how tokens come about; by default an `Engine` with its method `auto`, built for the first text.
    """

    def __init__(self, loaded: LoadedModel, decode: Decode | None = None) -> None:
        self._loaded = loaded
        self._given = decode
        tokenizer = loaded.tokenizer
        self._control_ids = _control_ids(tokenizer)
        self._control_pattern = control_pattern(tokenizer.convert_ids_to_tokens(sorted(self._control_ids)))
        self._bos = self._find_bos()
        self._template = _template(tokenizer)
        self._template_takes_system = self._template is not None and self._probe_system_role()

    @cached_property
    def _decode(self) -> Decode:
        return self._given or Engine(self._loaded).decode

    @property
    def name(self) -> str:
        return self._loaded.name

    @property
    def fingerprint(self) -> str:
        return self._loaded.fingerprint

    @property
    def context_tokens(self) -> int:
        return self._loaded.context_tokens

    def count_tokens(self, text: str) -> int:
        """Tokens of `text` alone; the template adds its own around it."""
        return len(self._encode(text))

    def neutralise(self, text: str) -> str:
        """`text` that gives no control token when tokenised; otherwise as it was. Applying it twice changes nothing.

        Control tokens are the tokenizer's special tokens and those of its added tokens that are not plain words or white
        space, besides those of all known chat formats. Strings are broken by a space after their first character; the
        result is then tokenised, because a tokenizer may normalise text (NFKC, say) before it looks for its tokens.
        """
        text = break_control_tokens(text, self._control_pattern)
        for attempt in range(8):
            spans = self._control_spans(text)
            if not spans:
                return text
            for start, end in reversed(spans):
                # a space breaks nearly all; what it does not break is taken out
                kept = f"{text[start]} {text[start + 1 : end]}" if attempt == 0 and end - start > 1 else " "
                text = text[:start] + kept + text[end:]
        raise StageError("prompt", f"a control token of {self.name} cannot be removed from the text {text[:80]!r}")

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
            UserError: sampling parameters out of range.
        """
        check_sampling(sampling)
        return complete(self._loaded, self._decode, self.prompt_ids(messages), sampling, on_text)

    def prompt_ids(self, messages: Sequence[Message]) -> list[int]:
        """The token ids that the model is given for a conversation; see the class for their form."""
        if not messages:
            raise UserError("there are no messages to continue; give at least one")
        safe = [Message(message.role, self.neutralise(message.content)) for message in messages]
        if self._template is not None:
            return self._encode(self._render(safe if self._template_takes_system else _fold_system(safe)))
        text = "\n\n".join(message.content for message in safe) + ("" if safe[-1].role == "assistant" else "\n\n")
        return [*self._bos, *self._encode(text)]

    def _render(self, messages: Sequence[Message]) -> str:
        from jinja2 import TemplateError

        continued = messages[-1].role == "assistant"
        try:
            text = self._loaded.tokenizer.apply_chat_template(
                [{"role": message.role, "content": message.content} for message in messages],
                tokenize=False,
                add_generation_prompt=not continued,
                continue_final_message=continued,
                chat_template=self._template,
                enable_thinking=False,
                date_string=TEMPLATE_DATE,
            )
        except (TemplateError, ValueError) as error:
            roles = ", ".join(message.role for message in messages)
            raise StageError("prompt", f"the chat template of {self.name} refuses the roles {roles}: {error}") from error
        assert isinstance(text, str)  # tokenize=False
        return text

    def _probe_system_role(self) -> bool:
        """Some templates (Gemma 2, early Mistral) raise for a system message; it then opens the first user message."""
        try:
            rendered = self._render([Message("system", "probe-system"), Message("user", "probe-user")])
        except StageError:
            return False
        return "probe-system" in rendered

    def _find_bos(self) -> list[int]:
        """The begin token, if this tokenizer puts one before a text. An end token that it appends is not wanted."""
        tokenizer = self._loaded.tokenizer
        with self._loaded.tokenizer_lock:
            ids = tokenizer("a").input_ids
        return [ids[0]] if tokenizer.bos_token_id is not None and ids[:1] == [tokenizer.bos_token_id] else []

    def _encode(self, text: str) -> list[int]:
        with self._loaded.tokenizer_lock:
            return list(self._loaded.tokenizer(text, add_special_tokens=False, verbose=False).input_ids)

    def _control_spans(self, text: str) -> list[tuple[int, int]]:
        """Where in `text` control tokens arise, as character offsets."""
        tokenizer = self._loaded.tokenizer
        if not tokenizer.is_fast:  # no offsets: strings can only be found by themselves
            if self._control_ids.isdisjoint(self._encode(text)):
                return []
            raise StageError("prompt", f"{self.name} has a slow tokenizer that cannot say where a control token arises")
        with self._loaded.tokenizer_lock:
            encoded = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        pairs = zip(encoded.input_ids, encoded.offset_mapping, strict=True)
        return [(start, end) for token, (start, end) in pairs if token in self._control_ids and end > start]


def complete(
    loaded: LoadedModel,
    decode: Decode,
    prompt: Sequence[int],
    sampling: SamplingParams,
    on_text: Callable[[str], None] | None = None,
) -> Completion:
    """Continue token ids. Takes the model's lock; see `LocalGenerator.generate` for everything else."""
    import torch

    check_sampling(sampling)
    started = time.perf_counter()
    room = loaded.context_tokens - len(prompt)
    if room < 1:
        raise StageError(
            STAGE, f"the prompt has {len(prompt)} tokens and {loaded.name} reads {loaded.context_tokens}, answer included"
        )
    sampling = dataclasses.replace(sampling, max_new_tokens=min(sampling.max_new_tokens, room))
    sink = TextSink(loaded, sampling, on_text)
    with loaded.lock:
        try:
            stats = decode(prompt, sampling, sink.take)
        except torch.OutOfMemoryError as error:
            raise StageError(STAGE, f"no memory left on {loaded.device} for {len(prompt)} prompt tokens") from error
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

    def __init__(self, loaded: LoadedModel, sampling: SamplingParams, on_text: Callable[[str], None] | None) -> None:
        self._loaded = loaded
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


def _fold_system(messages: Sequence[Message]) -> list[Message]:
    """The same conversation without system messages: their text opens the next user message."""
    folded: list[Message] = []
    pending: list[str] = []
    for message in messages:
        if message.role == "system":
            pending.append(message.content)
        elif message.role == "user" and pending:
            folded.append(Message("user", "\n\n".join([*pending, message.content])))
            pending = []
        else:
            folded.append(message)
    return folded + ([Message("user", "\n\n".join(pending))] if pending else [])


def _template(tokenizer: Any) -> str | None:
    """The chat template with its clock stopped at TEMPLATE_DATE; None if there is no template."""
    if not tokenizer.chat_template:
        return None
    template = str(tokenizer.get_chat_template())
    if "strftime_now" not in template:
        return template
    # a macro of the same name hides the library's function; that cannot be replaced from outside
    return f"{{% macro strftime_now(pattern) %}}{TEMPLATE_DATE}{{% endmacro %}}{template}"


def _control_ids(tokenizer: Any) -> frozenset[int]:
    """Ids that must not come from evidence: special tokens, and added tokens that look like markup.

    Left alone are added tokens that are plain words or runs of white space (vocabulary), and single ASCII characters, which
    some checkpoints name as their padding or end token: evidence cannot do without `!` or a line break.
    """
    contents = {index: token.content for index, token in tokenizer.added_tokens_decoder.items()}
    special = {index for index, token in tokenizer.added_tokens_decoder.items() if token.special}
    for index, content in zip(tokenizer.all_special_ids, tokenizer.all_special_tokens, strict=True):
        contents[index] = content
        special.add(index)

    def controls(index: int, content: str) -> bool:
        bare = content.strip(" \t\r\n▁")
        if not bare or (len(content) == 1 and content.isascii()):
            return False
        return index in special or not bare.replace(" ", "").isalnum()

    # the unknown token stands for characters outside the vocabulary, in any text
    return frozenset(i for i, content in contents.items() if i != tokenizer.unk_token_id and controls(i, content))
