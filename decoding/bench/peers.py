"""What others offer today, on the same weights: `transformers.generate`, plain and with its own assisted decoding; llama.cpp.

hf             greedy, one token at a time
hf-pld         prompt lookup, 10 tokens (Saxena 2023; `prompt_lookup_num_tokens`)
hf-early-exit  the model's own first half drafts (`assistant_early_exit`; meant for LayerSkip checkpoints)
hf-assisted    a smaller model drafts (`assistant_model`), transformers' defaults for its schedule
llama.cpp, llama.cpp-ngram    see `decoding.bench.llama_cpp`
"""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from data.errors import UserError
from decoding.api import DecodeStats, SamplingParams
from decoding.bench.llama_cpp import NAMES

if TYPE_CHECKING:
    from decoding.local import Decode
    from decoding.models.loading import LoadedModel

HF_PEERS = ("hf", "hf-pld", "hf-early-exit", "hf-assisted")
PEERS = (*HF_PEERS, *NAMES)
PLD_TOKENS = 10


def peer(name: str, loaded: LoadedModel, assistant: LoadedModel | None = None) -> Decode:
    """It ends a text itself, at the model's end tokens or the limit, and hands it over whole.

    `prefill_s` reaches to the first tokens; the assisted peers verify their first draft within it.
    """
    options = _options(name, loaded, assistant)

    def decode(prompt: Sequence[int], sampling: SamplingParams, take: Callable[[int], bool]) -> DecodeStats:
        import torch
        from transformers import GenerationConfig, StoppingCriteria, StoppingCriteriaList

        from decoding.lowbit.skeleton import whole_model

        marks = [time.perf_counter()]

        class FirstToken(StoppingCriteria):
            """Reads the clock once; never stops anything."""

            def __call__(self, input_ids: torch.Tensor, scores: object, **kwargs: object) -> torch.Tensor:
                if len(marks) == 1:
                    int(input_ids[0, -1])  # wait for the device
                    marks.append(time.perf_counter())
                return torch.zeros(input_ids.shape[0], dtype=torch.bool, device=input_ids.device)

        model: Any = loaded.model
        ids = torch.tensor([list(prompt)], device=model.device)
        config = GenerationConfig(
            max_new_tokens=sampling.max_new_tokens,
            do_sample=False,
            eos_token_id=sorted(loaded.eos_ids) or None,
            pad_token_id=0,
            **options,
        )
        extra = {} if assistant is None or name != "hf-assisted" else {"assistant_model": whole_model(assistant.model)}
        out = model.generate(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            generation_config=config,
            stopping_criteria=StoppingCriteriaList([FirstToken()]),
            **extra,
        )
        tokens = out[0, len(prompt) :].tolist()
        start, first, end = *marks, time.perf_counter()
        for token in tokens:
            if not take(token):
                break
        return DecodeStats(total_s=end - start, prefill_s=first - start, decode_s=end - first)

    return decode


def _options(name: str, loaded: LoadedModel, assistant: LoadedModel | None) -> dict[str, int]:
    if name == "hf-pld":
        return {"prompt_lookup_num_tokens": PLD_TOKENS}
    if name == "hf-early-exit":
        return {"assistant_early_exit": early_exit_layer(loaded)}
    if name == "hf-assisted":
        _check_assistant(loaded, assistant)
    return {}


def check_peers(names: Sequence[str]) -> None:
    """Raises UserError for a name that is no peer, with the nearest one."""
    for name in names:
        if name not in PEERS:
            near = difflib.get_close_matches(name, PEERS, n=1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise UserError(f"--against knows no {name!r}; {hint}choose from {', '.join(PEERS)}")


def early_exit_layer(loaded: LoadedModel) -> int:
    n_layers: int = loaded.model.config.get_text_config(decoder=True).num_hidden_layers
    return max(1, n_layers // 2)


def _check_assistant(loaded: LoadedModel, assistant: LoadedModel | None) -> None:
    if assistant is None:
        raise UserError("--against hf-assisted needs a drafting model of the same tokenizer: --assistant FOLDER_OR_ID")
    ours, theirs = (m.tokenizer.get_vocab() if m.tokenizer is not None else {} for m in (loaded, assistant))
    if ours != theirs:
        raise UserError(
            f"{assistant.name} has another vocabulary than {loaded.name}; --assistant takes a model of the same tokenizer"
        )
