"""Our decoding inside `model.generate`: for code that already calls `transformers`.

    from decoding import SpeculativeGenerate

    fast = SpeculativeGenerate()                      # keep it: it holds the cache and the statistics
    ids = model.generate(**inputs, max_new_tokens=200, custom_generate=fast)

Greedy ids are those of `model.generate` up to rounding. Sampled text follows the same distribution from other random numbers;
`transformers.set_seed` repeats it. `transformers` keeps `streamer` and `tokenizer` (for stop_strings) from custom functions:
use `decoding.Decoder` for those, or pass a `StopStringCriteria` as stopping criterion.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from data.errors import UserError
from decoding.api import DecodeStats, SamplingParams
from decoding.engine import Engine
from decoding.models.loading import in_memory
from decoding.sampling import HuggingFaceRule

if TYPE_CHECKING:
    import torch

    from decoding.knn.artefact import Calibration


class SpeculativeGenerate:
    """For the argument `custom_generate` of `transformers.GenerationMixin.generate`. Arguments as for `decoding.load`.

    Serves one model at a time: the one that it was called for last. `stats` are those of the last call.
    """

    def __init__(
        self,
        method: str = "auto",
        *,
        backend: str = "auto",
        calibration: Calibration | None = None,
        lengths: str | None = None,
    ) -> None:
        self._make: Callable[[Any], Engine] = lambda model: Engine(
            in_memory(model, None), method, backend=backend, calibration=calibration, lengths=lengths
        )
        self._model: Any = None
        self._engine: Engine | None = None
        self.stats: DecodeStats | None = None

    def __call__(
        self,
        model: Any,
        input_ids: torch.Tensor,
        logits_processor: Any,
        stopping_criteria: Any,
        generation_config: Any,
        **model_kwargs: Any,
    ) -> Any:
        """Continue `input_ids` (1, P). Returns ids (1, P + N), or `GenerateDecoderOnlyOutput` with `return_dict_in_generate`.

        All processors and criteria that `generate` has prepared are honoured, its warpers (temperature, top_k, ...) among them.

        Raises:
            UserError: a batch, beams, padding, a cache that holds something, embeddings, or outputs that are not computed here.
        """
        _refuse(input_ids, generation_config, model_kwargs)
        engine = self._engine_for(model)
        prompt = input_ids[0].tolist()
        sampling = SamplingParams(
            max_new_tokens=generation_config.max_length - len(prompt),
            temperature=1.0 if generation_config.do_sample else 0.0,  # the real one is among the processors
            seed=_seed() if generation_config.do_sample else 0,
        )
        ids = _Growing(input_ids, generation_config.max_length)

        def take(token: int) -> bool:
            return not bool(stopping_criteria(ids.add(token), None).all())

        with engine.lock:
            self.stats = engine.decode(prompt, sampling, take, rules=[HuggingFaceRule(p) for p in logits_processor])
        sequences = ids.so_far().clone()
        if not generation_config.return_dict_in_generate:
            return sequences
        from transformers.generation.utils import GenerateDecoderOnlyOutput

        return GenerateDecoderOnlyOutput(sequences=sequences)  # type: ignore[arg-type]

    def _engine_for(self, model: Any) -> Engine:
        if self._engine is None or self._model is not model:
            self._engine, self._model = self._make(model), model
        return self._engine


class _Growing:
    """Prompt and answer as one tensor (1, n) that criteria can read at each token without a copy."""

    def __init__(self, input_ids: torch.Tensor, max_length: int) -> None:
        self._n = input_ids.shape[1]
        self._ids = input_ids.new_zeros(1, max_length)
        self._ids[:, : self._n] = input_ids

    def add(self, token: int) -> torch.Tensor:
        self._ids[0, self._n] = token
        self._n += 1
        return self.so_far()

    def so_far(self) -> torch.Tensor:
        return self._ids[:, : self._n]


def _refuse(input_ids: torch.Tensor, config: Any, model_kwargs: dict[str, Any]) -> None:
    if config.num_beams not in (None, 1) or config.num_return_sequences not in (None, 1):
        raise UserError("speculative decoding writes one text; leave num_beams and num_return_sequences out")
    if input_ids.shape[0] != 1:
        raise UserError(f"speculative decoding continues one prompt at a time, not {input_ids.shape[0]}; call it for each")
    asked = [o for o in ("output_scores", "output_logits", "output_attentions", "output_hidden_states") if getattr(config, o)]
    if asked and config.return_dict_in_generate:
        raise UserError(f"speculative decoding keeps no scores or states of single steps; leave {asked[0]} out")
    mask = model_kwargs.get("attention_mask")
    if mask is not None and not bool((mask == 1).all()):
        raise UserError("attention_mask hides some tokens; leave those out of input_ids (one prompt needs no padding)")
    if model_kwargs.get("inputs_embeds") is not None:
        raise UserError("speculative decoding starts from token ids; leave inputs_embeds out")
    cache = model_kwargs.get("past_key_values")
    if cache is not None and int(cache.get_seq_length()) > 0:
        raise UserError("speculative decoding reads the prompt itself; leave past_key_values out")


def _seed() -> int:
    """From torch's generator, as the draws of `generate` are, so that seeding it repeats the text."""
    import torch

    return int(torch.randint(2**62, ()))
