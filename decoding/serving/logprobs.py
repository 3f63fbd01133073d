"""How probable the model held each token of an answer, in the two forms of OpenAI's API.

The numbers are the model's own: natural logarithms of the softmax over its logits, before rules, temperature and top_p. They
come from the pass that verified a token. On a backend whose rows do not depend on each other (`batch_invariant`) they are,
bitwise, those of decoding one token at a time; elsewhere they agree to rounding.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from data.errors import UserError

if TYPE_CHECKING:
    import torch
    from llguidance import LLTokenizer

    from decoding.models.loading import LoadedModel

LEAST = -9999.0
"""Instead of minus infinity, which JSON cannot say; OpenAI's."""


@dataclass(frozen=True, slots=True)
class Spelt:
    """A token's bytes, and those as text. A special token has a name, and no bytes: none of it is in the answer."""

    text: str
    bytes: bytes


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """A token of an answer. `start`: the characters of text before it. `top`: the most probable tokens there, best first."""

    token: Spelt
    logprob: float
    top: tuple[tuple[Spelt, float], ...]
    start: int


class LogprobWatch:
    """Watches one answer being written: `on_logits` and `on_token` for each token, `passed` for each piece of its text.

    A token is of the answer when it begins inside of its text, so the end token and those of a stop string are not.
    """

    def __init__(self, loaded: LoadedModel, n_top: int) -> None:
        """`n_top`: how many of the most probable tokens to name at each place."""
        self._loaded = loaded
        self._spelling = Spelling(loaded)
        self._n_top = n_top
        self._seen: tuple[int, float, tuple[tuple[int, float], ...]] | None = None
        self._waiting: deque[TokenLogprob] = deque()
        self._n_passed = 0

    def another(self) -> LogprobWatch:
        """A watch of the same kind for another answer."""
        return LogprobWatch(self._loaded, self._n_top)

    def on_logits(self, token: int, logits: torch.Tensor) -> None:
        """See `decoding.speculative.decode`."""
        import torch

        chances = torch.log_softmax(logits.float(), dim=-1)
        top: tuple[tuple[int, float], ...] = ()
        if self._n_top:
            best = chances.topk(min(self._n_top, len(chances)))
            top = tuple(zip(best.indices.tolist(), best.values.tolist()))
        self._seen = (token, float(chances[token]), top)

    def on_token(self, start: int) -> None:
        """See `decoding.local.complete`."""
        assert self._seen is not None
        token, chance, top = self._seen
        spelt = self._spelling
        named = tuple((spelt(other), max(value, LEAST)) for other, value in top)
        self._waiting.append(TokenLogprob(spelt(token), max(chance, LEAST), named, start))

    def passed(self, piece: str) -> list[TokenLogprob]:
        """The tokens that begin in this piece of the answer, or before it where no text came of them by themselves."""
        self._n_passed += len(piece)
        found = []
        while self._waiting and self._waiting[0].start < self._n_passed:
            found.append(self._waiting.popleft())
        return found


class Spelling:
    """Tokens -> their bytes. Of a tokenizer that cannot be read byte by byte: the text of the token alone."""

    def __init__(self, loaded: LoadedModel) -> None:
        from decoding.grounding.schema import token_bytes

        self._loaded = loaded
        self._known: dict[int, Spelt] = {}
        self._reader: LLTokenizer | None
        try:
            with loaded.tokenizer_lock:
                self._reader = token_bytes(loaded.tokenizer, loaded.eos_ids)
        except UserError:
            self._reader = None

    def __call__(self, token: int) -> Spelt:
        if token not in self._known:
            self._known[token] = self._spelt(token)
        return self._known[token]

    def _spelt(self, token: int) -> Spelt:
        reader = self._reader
        if reader is None or token >= reader.vocab_size or reader.is_special_token(token):
            with self._loaded.tokenizer_lock:
                tokenizer = self._loaded.tokenizer
                said = str(tokenizer.decode([token], skip_special_tokens=True, clean_up_tokenization_spaces=False))
                return Spelt(said or str(tokenizer.convert_ids_to_tokens(token) or ""), said.encode())
        content = reader.decode_bytes([token])
        try:
            return Spelt(content.decode(), content)
        except UnicodeDecodeError:  # some bytes of a character, shown as OpenAI shows them
            return Spelt("bytes:" + "".join(f"\\x{byte:02x}" for byte in content), content)


def chat_form(tokens: Sequence[TokenLogprob]) -> dict[str, Any]:
    """`choices[0].logprobs` of `/v1/chat/completions`, whole or of a chunk."""

    def entry(token: Spelt, logprob: float) -> dict[str, Any]:
        return {"token": token.text, "logprob": logprob, "bytes": list(token.bytes)}

    content = [entry(one.token, one.logprob) | {"top_logprobs": [entry(*other) for other in one.top]} for one in tokens]
    return {"content": content, "refusal": None}


def completion_form(tokens: Sequence[TokenLogprob]) -> dict[str, Any]:
    """`choices[0].logprobs` of `/v1/completions`; the token itself is always among `top_logprobs`."""
    return {
        "tokens": [one.token.text for one in tokens],
        "token_logprobs": [one.logprob for one in tokens],
        "top_logprobs": [_named(one) for one in tokens],
        "text_offset": [one.start for one in tokens],
    }


def _named(one: TokenLogprob) -> dict[str, float]:
    """By text, the best first; of two tokens with one text the better one."""
    found: dict[str, float] = {}
    for token, logprob in (*one.top, (one.token, one.logprob)):
        found.setdefault(token.text, logprob)
    return found
