"""A model, its backend and a drafter: token ids in, the same token ids as plain decoding out, sooner."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from data.errors import UserError
from decoding.api import DecodeStats, SamplingParams
from decoding.backend import StepBackend, takes_many
from decoding.drafters.copy import CopyDrafter
from decoding.drafters.drafter import Source
from decoding.drafters.forced import ForcedDrafter
from decoding.drafters.plain import NoDrafter
from decoding.grounding import answer_rules
from decoding.knn.bridge_routing import bridges_for
from decoding.methods import (
    MAY_SKIP,
    NEED_BRIDGES,
    NEED_CALIBRATION,
    build_drafter,
    check_draft_model,
    check_method,
    lacks_calibration,
)
from decoding.sampling import ForcingRule, LogitsRule, Sampler
from decoding.speculative import decode
from decoding.together import MOST, Stream, decode_together

if TYPE_CHECKING:
    import torch

    from decoding.backend import CostTable
    from decoding.backends.build import Kind
    from decoding.knn.artefact import Calibration
    from decoding.knn.bridge_files import Bridges
    from decoding.models.loading import LoadedModel
    from decoding.prefixes.prefix import TrainedPrefix
    from decoding.speculative import OnLogits

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class Ask:
    """One text that is asked for together with others; the arguments of `Engine.decode`."""

    prompt: Sequence[int]
    sampling: SamplingParams
    take: Callable[[int], bool]
    rules: Sequence[LogitsRule] = ()
    drafts: bool = True
    ended: Callable[[DecodeStats], None] | None = None
    """Called as soon as this text has ended, others going on."""


class Engine:
    """Decodes one text at a time. What a drafter learns from a text may speed up the next one and never changes it.

    Building one runs the model (its backend proves itself, costs may be measured), so it waits for `loaded.lock`. Engines of
    one `LoadedModel` share its backend.

    `draft` is a smaller model that drafts for this one; it is locked while a text is written.

    Raises:
        UserError: an unknown method or backend, a calibration that is missing or of another shape of model, a draft model
            that is missing, without a use, or of another tokenizer, or a model that cannot be decoded in steps.
    """

    def __init__(
        self,
        loaded: LoadedModel,
        method: str = "auto",
        *,
        backend: str = "auto",
        calibration: Calibration | None = None,
        lengths: str | None = None,
        bridges: Bridges | None = None,
        draft: LoadedModel | None = None,
    ) -> None:
        self._loaded = loaded
        self.lock = loaded.lock
        """Held by whoever calls `decode`."""
        check_method(method)
        if method in NEED_CALIBRATION and calibration is None:
            raise lacks_calibration(method)
        check_draft_model(method, draft is not None)
        if draft is not None:
            check_same_tokenizer(loaded, draft)
        # a model that drafts for itself needs keys and values of its own for that, and is locked already
        self._draft_lock: AbstractContextManager[object] = nullcontext() if draft in (None, loaded) else draft.lock
        with loaded.lock, self._draft_lock:
            self._backend = backend_of(loaded, backend)
            small = None if draft is None else _drafting_backend(draft, loaded)
            if calibration is not None:
                _check_shape(calibration, self._backend)
            if bridges is None and method in NEED_BRIDGES | MAY_SKIP:
                bridges = bridges_for(loaded, needed=method in NEED_BRIDGES)
            self._drafter = build_drafter(
                method, self._backend, calibration=calibration, lengths=lengths, draft=small, bridges=bridges
            )
        self._drafted_by = f"; drafts by {draft.name}, {draft.dtype}" if draft is not None else ""
        self._copiers: list[CopyDrafter] = []
        """Of texts that are written together, the first, the second, ...: what they count goes on."""

    def describe(self) -> str:
        """Which drafter on which backend, as in `mix(copy, recycle) on packed, float32, cpu`."""
        info = self._backend.info
        return f"{self._drafter.name} on {info.name}, {info.dtype}, {info.device}{self._drafted_by}"

    def forget(self) -> None:
        """The next prompt is read whole, however it begins; the caller holds `lock`. For measurements."""
        self._backend.forget()

    def tuned(self, prompt: Sequence[int], prefix: TrainedPrefix) -> Sequence[int]:
        """The prompt with a trained beginning, where it begins so and the backend takes one; else as it is. Takes the lock."""
        from decoding.backends.torch_backend import TorchBackend

        found = prefix.before(prompt)
        if found is None or not isinstance(self._backend, TorchBackend):
            return prompt
        with self._loaded.lock:
            self._backend.take_prefix(prefix)
        return found

    def decode(
        self,
        prompt: Sequence[int],
        sampling: SamplingParams,
        take: Callable[[int], bool],
        *,
        rules: Sequence[LogitsRule] = (),
        end_ids: frozenset[int] | None = None,
        on_round: Callable[[int], None] | None = None,
        on_logits: OnLogits | None = None,
        drafts: bool = True,
    ) -> DecodeStats:
        """Continue `prompt` (see `decoding.local.Decode`, which this is); the caller holds `lock`.

        `rules` change the logits before a token is chosen, after those of `sampling` itself. `end_ids` are the tokens
        with which a grounded answer may end, None for the model's own. `on_round` gets the number of tokens that each pass of
        the whole model gave, the prefill's 1 first; `on_logits` each token with the model's own logits. Without
        `drafts` one token is decoded at a time, to the same text.
        """
        ends = self._loaded.eos_ids if end_ids is None else end_ids
        asked = answer_rules(sampling, self._loaded, len(prompt), ends)
        forces = any(isinstance(rule, ForcingRule) for rule in (*asked, *rules))
        drafter = self._drafter if drafts else NoDrafter()
        with self._draft_lock:
            return decode(
                self._backend,
                ForcedDrafter(drafter) if forces and drafts else drafter,
                prompt,
                Sampler(sampling, len(prompt), (*asked, *rules)),
                take,
                task=sampling.task,
                sources=self._tokenised(sampling.sources),
                on_round=on_round,
                on_logits=on_logits,
                costs=measured_costs(self._backend),
            )

    @property
    def together(self) -> bool:
        """Whether texts that are asked for together are written together, rather than in turn."""
        return takes_many(self._backend)

    def fits_together(self, lengths: Sequence[int]) -> bool:
        """Whether texts of so many tokens, prompts included, should be written together: up to `decoding.together.MOST`, whose
        keys and values take half of the free memory at most."""
        from decoding.machine import available_bytes

        if not takes_many(self._backend) or len(lengths) > MOST:
            return False
        free = available_bytes()
        return free is None or 2 * self._backend.bytes_for(sum(lengths)) <= free

    def decode_together(self, asks: Sequence[Ask], *, wait: bool = False) -> list[DecodeStats]:
        """Continue several prompts, each to the text that `decode` gives; the caller holds `lock`.

        On a backend that takes rows of several texts in one pass (`lowbit`) the weights are read once for all of them, and how
        all prompts begin is read once; drafts are copies and forced tokens (none with method `greedy`). On others they are
        written in turn.

        With `wait` there may be any number: `decoding.together.MOST` at a time, fewer where they would take more than half of
        the free memory, each of the others as soon as one ends. They wait in the order of their tokens, so that what one
        prompt shares with the next is read once as well.

        Raises:
            UserError: more than `decoding.together.MOST` texts without `wait`, and as `decode`.
            StageError: as `decode`; no memory for all of them, with `wait` for one.
        """
        if len(asks) > MOST and not wait:
            raise UserError(f"{len(asks)} texts are asked for at once; the most is {MOST}: ask for the others after these")
        backend = self._backend
        if len(asks) < 2 or not takes_many(backend):
            return [self._in_turn(ask) for ask in asks]
        at_once = min(len(asks), MOST)
        drafting = self._drafter.name != NoDrafter.name
        while drafting and len(self._copiers) < at_once:
            self._copiers.append(CopyDrafter())
        streams = []
        order = sorted(range(len(asks)), key=lambda at: tuple(asks[at].prompt)) if wait else list(range(len(asks)))
        for ask in (asks[at] for at in order):
            own = answer_rules(ask.sampling, self._loaded, len(ask.prompt), self._loaded.eos_ids)
            streams.append(
                Stream(
                    ask.prompt,
                    Sampler(ask.sampling, len(ask.prompt), (*own, *ask.rules)),
                    ask.take,
                    self._tokenised(ask.sampling.sources),
                    ask.drafts,
                    ask.drafts,
                    ask.ended,
                )
            )
        copiers, costs = (self._copiers[:at_once], backend.costs()) if drafting else ((), None)
        stats = decode_together(backend, streams, copiers, costs, at_once=at_once if wait else None)
        return [one for _, one in sorted(zip(order, stats, strict=True), key=lambda pair: pair[0])]

    def next_logits(self, prompts: Sequence[Sequence[int]], tokens: Sequence[int]) -> list[torch.Tensor]:
        """For each prompt the logits of `tokens` as the next one, shape (len(tokens),), float64. The caller holds `lock`.

        Prompts are read together where the backend can, as `decode_together` has it. Raises StageError as the backend does.
        """
        backend, wanted = self._backend, list(tokens)
        found: dict[int, torch.Tensor] = {}
        waiting = sorted(range(len(prompts)), key=lambda at: tuple(prompts[at]))
        many = None
        if len(prompts) > 1 and takes_many(backend):
            many = backend.together(prompts, [0] * len(prompts), MOST)
        while waiting:
            if many is None:
                rows = {waiting[0]: backend.prefill(prompts[waiting[0]], capacity=len(prompts[waiting[0]])).last}
            else:
                reading = set(waiting[: many.admit(waiting[:MOST])])
                steps = many.step([prompt[-1:] if at in reading else () for at, prompt in enumerate(prompts)])
                rows = {at: steps[at] for at in reading}
            for at, row in rows.items():
                row.argmax()  # raises where a logit is NaN
                found[at] = row.logits[0, wanted].double().cpu()
                if many is not None:
                    many.leave(at)
            waiting = waiting[len(rows) :]
        return [found[at] for at in range(len(prompts))]

    def _in_turn(self, ask: Ask) -> DecodeStats:
        stats = self.decode(ask.prompt, ask.sampling, ask.take, rules=ask.rules, drafts=ask.drafts)
        if ask.ended is not None:
            ask.ended(stats)
        return stats

    def _tokenised(self, texts: Sequence[str]) -> tuple[Source, ...]:
        if not texts:
            return ()
        with self._loaded.tokenizer_lock:
            found = [self._loaded.tokenizer(text, add_special_tokens=False, verbose=False).input_ids for text in texts]
        return tuple(Source("sources", tuple(ids)) for ids in found if ids)


def ready_engine(
    loaded: LoadedModel,
    method: str = "auto",
    *,
    backend: str = "auto",
    calibration: Calibration | None = None,
    lengths: str | None = None,
    draft: LoadedModel | None = None,
    say: Callable[[str], None] | None = None,
) -> Engine:
    """An `Engine` that takes the costs which any process measured here in the last day; what it must measure is kept.

    `say` is told why a backend is not a faster one. Otherwise as `Engine`; what is measured takes longer than all the rest.
    """
    from data.download import cache_folder
    from decoding.backends.kept_costs import KeptCosts

    kept: list[KeptCosts] = []
    for model, kind in ((loaded, backend), *([(draft, "auto")] if draft is not None else [])):
        with model.lock:
            kept.append(KeptCosts(model, backend_of(model, kind, say=say), cache_folder() / "costs"))
    for one in kept:
        one.give()
    engine = Engine(loaded, method, backend=backend, calibration=calibration, lengths=lengths, draft=draft)
    for one in kept:
        one.keep()
    return engine


def calibration_for(loaded: LoadedModel, method: str, given: Calibration | Path | str | None = None) -> Calibration | None:
    """What a method needs to know of a model: what is `given` (a folder is checked to be this model's), else what is found
    where `decoding.calibrate` puts it (`decoding.knn.artefact.calibration_folder`).

    None for methods that skip no layers, and for `auto` and `mix` where nothing fitting is found. The caller does not hold
    `loaded.lock`. Raises UserError, with the command to run, for the others.
    """
    from decoding.knn.artefact import Calibration, calibration_folder, load_for

    check_method(method)
    if isinstance(given, (str, Path)):
        return Calibration.load(Path(given), loaded)
    if given is not None:
        return given
    if method in NEED_CALIBRATION:
        return load_for(loaded)
    if method in MAY_SKIP and (calibration_folder(loaded) / "meta.json").is_file():
        try:
            return load_for(loaded)
        except UserError as error:
            logger.warning("%s; until then no layers are skipped", error)
    return None


def measured_costs(backend: StepBackend) -> CostTable | None:
    """The backend's cost table where there is one already: measuring takes seconds, and loses the current sequence."""
    from decoding.backends.torch_backend import TorchBackend

    return backend.measured if isinstance(backend, TorchBackend) else None


def check_same_tokenizer(loaded: LoadedModel, draft: LoadedModel) -> None:
    """Raises UserError where a draft model has another vocabulary: its token ids would mean other words."""
    from decoding.models.loading import vocabulary_size

    ours, theirs = (m.tokenizer.get_vocab() if m.tokenizer is not None else None for m in (loaded, draft))
    if ours is None or theirs is None:
        same = vocabulary_size(loaded.model) == vocabulary_size(draft.model)
        shown = tuple(vocabulary_size(one.model) for one in (loaded, draft))
    else:
        same, shown = ours == theirs, (len(ours), len(theirs))
    if not same:
        raise UserError(
            f"the draft model {draft.name} has another tokenizer ({shown[1]:,} tokens) than {loaded.name} ({shown[0]:,} "
            "tokens), so its guesses would mean other words; name a smaller model of the same family as --draft-model, or "
            "leave it out"
        )


def _drafting_backend(draft: LoadedModel, loaded: LoadedModel) -> StepBackend:
    """The draft model's backend; one of its own where the model drafts for itself. The caller holds both locks."""
    from decoding.backends.build import build_backend

    return build_backend(draft, say=logger.warning) if draft is loaded else backend_of(draft)


def _check_shape(calibration: Calibration, backend: StepBackend) -> None:
    mine, theirs = calibration.meta.identity, backend.info
    if (mine.n_layers, mine.hidden_size) != (theirs.n_layers, theirs.hidden_size):
        raise UserError(
            f"the calibration is of a model with {mine.n_layers} layers of size {mine.hidden_size} ({mine.model}), this one "
            f"has {theirs.n_layers} of size {theirs.hidden_size}; make its own: python -m decoding.calibrate --model MODEL"
        )


def backend_of(loaded: LoadedModel, kind: str = "auto", say: Callable[[str], None] | None = None) -> StepBackend:
    """The model's backend of this kind, built at the first call, when `say` (or else the log) is told why it is not a faster
    one. The caller holds `loaded.lock`."""
    from decoding.backends.build import build_backend

    if kind not in loaded.backends:
        told = say or logger.warning
        loaded.backends[kind] = build_backend(loaded, cast("Kind", kind), say=told)  # it refuses other words
    return loaded.backends[kind]
