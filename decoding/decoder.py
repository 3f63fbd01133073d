"""Fast decoding for any causal model of `transformers`, without the rest of this project.

    import decoding

    decoder = decoding.load("Qwen/Qwen3-0.6B")
    answer = decoder.generate(messages=[{"role": "user", "content": "What happened at Lakehurst in 1937?"}], max_new_tokens=200)
    answer.text, answer.sequences, answer.stats.speculation.mean_accepted_tokens

Arguments and results carry the names that `transformers` gives them. Defaults are ours: greedy, and when sampling nothing is
cut off (top_k 0; `transformers` has 50). A model already in memory comes in through `Decoder.from_model(model, tokenizer)`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, get_args

from data.errors import UserError
from decoding.api import Completion, DecodeStats, Grounding, Message, SamplingParams, StopReason, Task
from decoding.engine import Engine, calibration_for, ready_engine
from decoding.local import LocalGenerator, Wanted, complete, complete_together
from decoding.models.loading import LoadedModel, in_memory, vocabulary_size
from decoding.models.naming import load_draft, load_named
from decoding.sampling import HuggingFaceRule, LogitsRule

if TYPE_CHECKING:
    from pathlib import Path

    import torch

    from decoding.knn.artefact import Calibration


class Streamer(Protocol):
    """As `transformers.BaseStreamer`: gets the prompt (1, P) first, then each token (1,), then the end."""

    def put(self, value: torch.Tensor) -> object: ...

    def end(self) -> object: ...


_FURTHER_RULES = (
    "no_repeat_ngram_size", "bad_words_ids", "min_length", "min_new_tokens", "suppress_tokens", "begin_suppress_tokens",
    "forced_bos_token_id", "forced_eos_token_id", "sequence_bias", "exponential_decay_length_penalty", "guidance_scale",
)  # fmt: skip
"""Fields of a generation configuration that change the text, but for sampling."""


@dataclass(frozen=True, slots=True, eq=False)
class DecoderOutput:
    """One text.

    `sequences` is (1, P + N) on the model's device: the prompt, then every token that the model gave, an end token or those of
    a stop string included. `text` is the answer alone: without special tokens, and cut before the stop string.
    """

    sequences: torch.Tensor
    text: str
    stop: StopReason
    n_prompt_tokens: int
    n_new_tokens: int
    stats: DecodeStats
    accept_lengths: tuple[int, ...]
    """Tokens that each pass of the whole model gave: 1 for the prefill, then one number a verify step. Their sum is N."""


def load(
    model: str,
    method: str = "auto",
    *,
    device: str = "auto",
    dtype: str = "auto",
    backend: str = "auto",
    calibration: Calibration | Path | str | None = None,
    lengths: str | None = None,
    draft_model: str | None = None,
) -> Decoder:
    """A decoder for a model folder or a model of the Hugging Face hub, for `gguf:FILE`, or for a model by name (`registry`).

    Args:
        method: one of `decoding.METHODS`; all give the same text.
        device, dtype: as in `decoding.models.loading.load`.
        backend: `auto`, or one of `decoding.backends.build.Kind`: `packed` and `lowbit` (CPU), `driven`, `hf`.
        calibration: what `python -m decoding.calibrate` wrote for this model, or its folder. None looks in its usual place.
        lengths: how long drafts of skipped and draft models are: `threshold`, `fixed:4`, `expected`; None: the method's.
        draft_model: a smaller model of the same tokenizer, named as `model`; for `draft`, `draft-tree`, `mix` and `auto`.

    Raises:
        UserError: no such model, method, backend, or calibration; the message says what to do.
    """
    loaded = load_named(model, device=device, dtype=dtype)
    known = calibration_for(loaded, method, calibration)
    small = load_draft(draft_model, loaded) if draft_model else None
    return Decoder(loaded, ready_engine(loaded, method, backend=backend, calibration=known, lengths=lengths, draft=small))


class Decoder:
    """A model with its drafter. May be shared by threads: texts take turns."""

    def __init__(self, loaded: LoadedModel, engine: Engine) -> None:
        self._loaded = loaded
        self._engine = engine
        self._generator = LocalGenerator(loaded, engine.decode)

    @classmethod
    def from_model(
        cls,
        model: Any,
        tokenizer: Any,
        method: str = "auto",
        *,
        backend: str = "auto",
        calibration: Calibration | None = None,
        lengths: str | None = None,
    ) -> Decoder:
        """For a `transformers` model and tokenizer that are loaded already; neither is changed. Otherwise as `load`.

        The model must not be used by others while a text is decoded. A calibration is given as read (`Calibration.load`): the
        caller knows that it is this model's, since weights in memory have no file to compare with.
        """
        loaded = in_memory(model, tokenizer)
        return cls(loaded, Engine(loaded, method, backend=backend, calibration=calibration, lengths=lengths))

    @property
    def name(self) -> str:
        return self._loaded.name

    @property
    def tokenizer(self) -> Any:
        return self._loaded.tokenizer

    def describe(self) -> str:
        """What the method resolved to, and on what it runs."""
        return self._engine.describe()

    def generate(
        self,
        input_ids: torch.Tensor | Sequence[int] | None = None,
        *,
        prompt: str | None = None,
        messages: Sequence[Message | Mapping[str, str]] | None = None,
        attention_mask: torch.Tensor | None = None,
        max_new_tokens: int = 400,
        do_sample: bool = False,
        temperature: float = 1.0,
        top_p: float = 1.0,
        top_k: int = 0,
        repetition_penalty: float | None = None,
        eos_token_id: int | Sequence[int] | None = None,
        stop_strings: str | Sequence[str] | None = None,
        logits_processor: Any = None,
        streamer: Streamer | None = None,
        seed: int = 0,
        grounding: Grounding | None = None,
        task: Task = "other",
        sources: Sequence[str] = (),
    ) -> DecoderOutput:
        """Continue one prompt: exactly one of `input_ids`, `prompt` (tokenised as it is) and `messages` (through the model's
        chat template, control tokens in their contents made harmless).

        Args:
            input_ids: token ids, (P,) or (1, P).
            attention_mask: accepted for `**tokenizer(...)`; all ones.
            max_new_tokens: an answer for which the context has less room ends there.
            temperature, top_p, top_k: with `do_sample` only. The text is a function of prompt, parameters and `seed`.
            repetition_penalty: None is that of the model's generation configuration, 1 where it names none.
            eos_token_id: tokens that end the text, in place of the model's own.
            stop_strings: end the text where one of them begins.
            logits_processor: `LogitsProcessorList`, or a list of such processors and `decoding.sampling.LogitsRule`s. They are
                asked about drafted positions too, so they must not keep state.
            streamer: gets token after token as a `transformers` streamer does.
            grounding: what the answer may consist of (`decoding.api.Json`); its end tokens are those of eos_token_id.
            task, sources: hints for drafting: the task, and texts that the answer may repeat.

        Raises:
            UserError: arguments that contradict each other or are out of range; or a generation configuration with further
                rules (`no_repeat_ngram_size`, ...), which this does not know.
            StageError: the prompt leaves no room in the context, no memory is left, or the logits are NaN.
        """
        ids = self._prompt_ids(input_ids, prompt, messages, attention_mask)
        sampling = SamplingParams(
            max_new_tokens=max_new_tokens,
            temperature=_temperature(do_sample, temperature, top_p, top_k),
            top_p=top_p,
            top_k=top_k,
            repetition_penalty=_configured_penalty(self._loaded.model) if repetition_penalty is None else repetition_penalty,
            seed=seed,
            stop=(stop_strings,) if isinstance(stop_strings, str) else tuple(stop_strings or ()),
            grounding=grounding,
            task=_task(task),
            sources=tuple(sources),
        )
        return self._decoded(ids, sampling, self._ending(eos_token_id), _rules(logits_processor), streamer)

    def candidates(
        self,
        n: int,
        input_ids: torch.Tensor | Sequence[int] | None = None,
        *,
        prompt: str | None = None,
        messages: Sequence[Message | Mapping[str, str]] | None = None,
        max_new_tokens: int = 400,
        temperature: float = 1.0,
        top_p: float = 1.0,
        top_k: int = 0,
        repetition_penalty: float | None = None,
        stop_strings: str | Sequence[str] | None = None,
        seed: int = 0,
        grounding: Grounding | None = None,
        task: Task = "other",
        sources: Sequence[str] = (),
    ) -> list[DecoderOutput]:
        """Several sampled continuations of one prompt; number i is what `generate(do_sample=True, seed=seed + i)` gives.

        With low-bit weights on a CPU they are decoded together: the prompt is read once, and each pass over the weights serves
        all of them (`decoding.together`). Other models write them in turn. `accept_lengths` are empty. Arguments, and what is
        raised, as for `generate`; UserError for more than `decoding.together.MOST` texts, StageError where memory does not hold
        them.
        """
        import torch

        if n < 1:
            raise UserError(f"{n} candidates were asked for; the least is 1")
        ids = self._prompt_ids(input_ids, prompt, messages, None)
        penalty = _configured_penalty(self._loaded.model) if repetition_penalty is None else repetition_penalty
        base = SamplingParams(
            max_new_tokens=max_new_tokens,
            temperature=_temperature(True, temperature, top_p, top_k),
            top_p=top_p,
            top_k=top_k,
            repetition_penalty=penalty,
            stop=(stop_strings,) if isinstance(stop_strings, str) else tuple(stop_strings or ()),
            grounding=grounding,
            task=_task(task),
            sources=tuple(sources),
        )
        new: list[list[int]] = [[] for _ in range(n)]
        wanted = [Wanted(ids, replace(base, seed=seed + i), seen=new[i].append) for i in range(n)]
        return [
            DecoderOutput(
                sequences=torch.tensor([[*ids, *tokens]], device=self._loaded.device),
                text=done.text,
                stop=done.stop,
                n_prompt_tokens=done.n_prompt_tokens,
                n_new_tokens=done.n_new_tokens,
                stats=done.stats,
                accept_lengths=(),
            )
            for done, tokens in zip(complete_together(self._loaded, self._engine, wanted), new, strict=True)
        ]

    def _decoded(
        self,
        ids: Sequence[int],
        sampling: SamplingParams,
        loaded: LoadedModel,
        rules: Sequence[LogitsRule],
        streamer: Streamer | None,
    ) -> DecoderOutput:
        import torch

        new: list[int] = []
        accepted: list[int] = []

        def decode(prompt: Sequence[int], sampling: SamplingParams, take: Any) -> DecodeStats:
            def keep(token: int) -> bool:
                new.append(token)
                if streamer is not None:
                    streamer.put(torch.tensor([token]))
                return bool(take(token))

            if streamer is not None:
                streamer.put(torch.tensor([list(prompt)]))
            return self._engine.decode(prompt, sampling, keep, rules=rules, end_ids=loaded.eos_ids, on_round=accepted.append)

        try:
            done: Completion = complete(loaded, decode, ids, sampling)
        finally:
            if streamer is not None:
                streamer.end()  # also after an error: somebody may be waiting on the other side
        return DecoderOutput(
            sequences=torch.tensor([[*ids, *new]], device=loaded.device),
            text=done.text,
            stop=done.stop,
            n_prompt_tokens=done.n_prompt_tokens,
            n_new_tokens=done.n_new_tokens,
            stats=done.stats,
            accept_lengths=tuple(accepted),
        )

    # --- arguments --------------------------------------------------------------------------------------------------------

    def _prompt_ids(
        self,
        input_ids: torch.Tensor | Sequence[int] | None,
        prompt: str | None,
        messages: Sequence[Message | Mapping[str, str]] | None,
        attention_mask: torch.Tensor | None,
    ) -> list[int]:
        given = [n for n, v in (("input_ids", input_ids), ("prompt", prompt), ("messages", messages)) if v is not None]
        if len(given) != 1:
            raise UserError(f"give exactly one of input_ids, prompt and messages; got {' and '.join(given) or 'none'}")
        if attention_mask is not None and not bool((attention_mask == 1).all()):
            raise UserError("attention_mask hides some tokens; leave those out of input_ids (one prompt needs no padding)")
        if messages is not None:
            return self._generator.prompt_ids([_message(message) for message in messages])
        if prompt is not None:
            with self._loaded.tokenizer_lock:
                ids = list(self._loaded.tokenizer(prompt, verbose=False).input_ids)
        else:
            ids = _one_sequence(input_ids)
        if not ids:
            raise UserError("the prompt is empty; give at least one token")
        n_tokens = vocabulary_size(self._loaded.model)
        if wrong := [i for i in ids if not 0 <= i < n_tokens]:
            raise UserError(
                f"token id {wrong[0]} is outside of the model's vocabulary of {n_tokens}; use the model's own tokenizer"
            )
        return ids

    def _ending(self, eos_token_id: int | Sequence[int] | None) -> LoadedModel:
        """The model with the end tokens that were asked for."""
        if eos_token_id is None:
            return self._loaded
        ends = (eos_token_id,) if isinstance(eos_token_id, int) else eos_token_id
        return replace(self._loaded, eos_ids=frozenset(ends))


def _one_sequence(input_ids: Any) -> list[int]:
    ids = input_ids.tolist() if hasattr(input_ids, "tolist") else list(input_ids)
    if ids and isinstance(ids[0], list):
        if len(ids) > 1:
            raise UserError(f"input_ids has {len(ids)} rows; the decoder continues one prompt at a time: call it for each row")
        ids = ids[0]
    if wrong := [i for i in ids if not isinstance(i, int)]:
        raise UserError(f"input_ids holds {wrong[0]!r}; give token ids as integers, shape (P,) or (1, P)")
    return list(ids)


def _message(message: Message | Mapping[str, str]) -> Message:
    if isinstance(message, Message):
        return message
    try:
        role, content = message["role"], message["content"]
    except (KeyError, TypeError):
        raise UserError(f"{message!r} is no message; use {{'role': 'user', 'content': '...'}}") from None
    if role not in ("system", "user", "assistant") or not isinstance(content, str):
        raise UserError(f"a message has role {role!r}; use system, user or assistant, and a text as content")
    return Message(role, content)  # type: ignore[arg-type]


def _configured_penalty(model: Any) -> float:
    """The repetition penalty that a model's own configuration asks for. Raises UserError for rules that are not applied here.

    Models that were loaded by name have none: `decoding.models.loading.load` sets them aside.
    """
    config = getattr(model, "generation_config", None)
    if named := [name for name in _FURTHER_RULES if getattr(config, name, None)]:
        raise UserError(
            f"the model's generation_config sets {', '.join(named)}, which Decoder.generate does not apply; set it to "
            "None, and give it as a logits_processor where it is wanted"
        )
    return float(getattr(config, "repetition_penalty", None) or 1.0)


def _temperature(do_sample: bool, temperature: float, top_p: float, top_k: int) -> float:
    if do_sample:
        if temperature <= 0:
            raise UserError(f"temperature is {temperature} with do_sample=True; for greedy text leave do_sample out")
        return temperature
    options = (("temperature", temperature, 1.0), ("top_p", top_p, 1.0), ("top_k", top_k, 0))
    if idle := [f"{name}={value}" for name, value, default in options if value != default]:
        raise UserError(f"{', '.join(idle)} does nothing to greedy text; add do_sample=True, or leave it out")
    return 0.0


def _task(task: str) -> Task:
    if task not in get_args(Task):
        raise UserError(f"there is no task {task!r}; known: {', '.join(get_args(Task))}")
    return task  # type: ignore[return-value]


def _rules(given: Any) -> list[LogitsRule]:
    """A `LogitsProcessorList` holds processors of transformers' form, whatever their class; other lists may hold both."""
    from transformers import LogitsProcessor, LogitsProcessorList

    if given is None:
        return []
    of_theirs = isinstance(given, LogitsProcessorList)
    listed = list(given) if isinstance(given, (list, tuple)) else [given]
    return [HuggingFaceRule(one) if of_theirs or isinstance(one, LogitsProcessor) else one for one in listed]
