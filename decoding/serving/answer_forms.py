"""How answers look in OpenAI's API: whole, in pieces of a stream, with usage and statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from data import codec
from data.decoding_counts import SpeculationStats
from decoding.api import Completion, DecodeStats
from decoding.serving.logprobs import TokenLogprob, chat_form, completion_form

Logprobs = Sequence[TokenLogprob] | None


@dataclass(frozen=True, slots=True)
class Form:
    """How answers of one method look: whole, in pieces, and what all of them share."""

    chat: bool
    model: str
    id: str
    created: int

    def whole(self, done: Completion, seed: int, tokens: Logprobs = None) -> dict[str, Any]:
        part = {"message": {"role": "assistant", "content": done.text}} if self.chat else {"text": done.text}
        choice = {"index": 0, **part, "logprobs": self._logprobs(tokens), **_ending(done)}
        name = "chat.completion" if self.chat else "text_completion"
        return self._answer(name, [choice]) | {"usage": _usage(done)} | _statistics(done, seed)

    def whole_of(self, found: Sequence[Completion], seeds: Sequence[int], tokens: Sequence[Logprobs]) -> dict[str, Any]:
        """Several answers to one request: the prompt counts once, new tokens and drafts all together."""
        answers = [self.whole(*one) for one in zip(found, seeds, tokens, strict=True)]
        choices = [{**answer["choices"][0], "index": at} for at, answer in enumerate(answers)]
        every = replace(
            found[0],
            n_new_tokens=sum(done.n_new_tokens for done in found),
            stats=DecodeStats(
                total_s=max(done.stats.total_s for done in found),
                prefill_s=found[0].stats.prefill_s,
                decode_s=max(done.stats.decode_s or 0.0 for done in found),
                speculation=SpeculationStats.total([done.stats.speculation or SpeculationStats() for done in found]),
            ),
        )
        return answers[0] | {"choices": choices, "usage": _usage(every)} | _statistics(every, seeds[0])

    def first(self) -> dict[str, Any]:
        return self._piece({"role": "assistant", "content": ""}, "")

    def piece(self, text: str, tokens: Logprobs = None) -> dict[str, Any]:
        return self._piece({"content": text}, text, logprobs=self._logprobs(tokens))

    def last(self, done: Completion, seed: int) -> dict[str, Any]:
        return self._piece({}, "", **_ending(done)) | _statistics(done, seed)

    def usage(self, done: Completion) -> dict[str, Any]:
        return self._answer(self._chunk, []) | {"usage": _usage(done)}

    def _piece(self, delta: Mapping[str, str], text: str, **ending: object) -> dict[str, Any]:
        part: dict[str, Any] = {"delta": dict(delta)} if self.chat else {"text": text}
        return self._answer(self._chunk, [{"index": 0, **part, "logprobs": None, "finish_reason": None, **ending}])

    def _logprobs(self, tokens: Logprobs) -> dict[str, Any] | None:
        if tokens is None:
            return None
        return chat_form(tokens) if self.chat else completion_form(tokens)

    @property
    def _chunk(self) -> str:
        return "chat.completion.chunk" if self.chat else "text_completion"

    def _answer(self, name: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
        return {"id": self.id, "object": name, "created": self.created, "model": self.model, "choices": choices}


def _ending(done: Completion) -> dict[str, str | None]:
    """`stop_reason` is vLLM's: the stop string, or null for the model's own end."""
    return {"finish_reason": "length" if done.stop == "length" else "stop", "stop_reason": done.stop_string}


def _usage(done: Completion) -> dict[str, int]:
    total = done.n_prompt_tokens + done.n_new_tokens
    return {"prompt_tokens": done.n_prompt_tokens, "completion_tokens": done.n_new_tokens, "total_tokens": total}


def _statistics(done: Completion, seed: int) -> dict[str, Any]:
    stats = done.stats
    timings = {
        "prompt_n": done.n_prompt_tokens,
        "prompt_ms": round(1000 * (stats.prefill_s or 0), 3),
        "predicted_n": done.n_new_tokens,
        "predicted_ms": round(1000 * (stats.decode_s or 0), 3),
        "draft_n": stats.n_drafted,
        "draft_n_accepted": stats.n_accepted,
        "seed": seed,
    }
    return {"timings": timings, "speculation": codec.to_plain(stats.speculation or SpeculationStats())}
