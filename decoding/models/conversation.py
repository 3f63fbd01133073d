"""A conversation -> the token ids that a model in this process is given. Evidence in it never becomes a control token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from data.errors import StageError, UserError
from decoding.api import Message, PromptForm
from decoding.models.control_tokens import break_control_tokens, control_pattern

if TYPE_CHECKING:
    from decoding.models.loading import LoadedModel

JOINING_TEMPLATE = "{{ bos_token }}{% for message in messages %}{{ message['content'] }}{% endfor %}"
"""It only joins contents: a model with this template was trained to continue documents, not to follow instructions."""
TEMPLATE_DATE = "26 Jul 2024"
"""Chat templates that print today's date get this one (the default of the Llama 3 templates): a prompt must not change
overnight."""


class PromptReader:
    """What a model reads of a conversation. Needs its tokenizer only; calls may come from several threads.

    Prompt form. With a chat template: that template, thinking switched off where it knows the switch. Without: the
    contents of the messages in order, a blank line between them and, unless the last one is the assistant's own beginning
    of an answer, a blank line at the end; roles are not shown. In both forms a final assistant message is continued.
    Message contents are neutralised, so control tokens come from the template only.
    """

    def __init__(self, loaded: LoadedModel) -> None:
        self._loaded = loaded
        tokenizer = loaded.tokenizer
        self._control_ids = _control_ids(tokenizer)
        self._control_pattern = control_pattern(tokenizer.convert_ids_to_tokens(sorted(self._control_ids)))
        self._bos = self._find_bos()
        self._template = _template(tokenizer)
        self._template_takes_system = self._template is not None and self._probe_system_role()

    @property
    def name(self) -> str:
        return self._loaded.name

    @property
    def prompt_form(self) -> PromptForm:
        """`document` for a model whose template only joins contents."""
        return "document" if (self._template or "").strip() == JOINING_TEMPLATE else "chat"

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

    # the unknown token replaces characters outside the vocabulary, in any text
    return frozenset(i for i, content in contents.items() if i != tokenizer.unk_token_id and controls(i, content))
