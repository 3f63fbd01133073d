"""Entailment models of the Hugging Face hub: (premise, claim) -> the probability that the premise supports the claim.

Two families. A sequence classifier reads the pair and has a label for support, found by its *name*, since the order of
labels differs between models. A T5 writes "1" or "0": its first decoder step is read instead of its text.

| form | what the model reads | probability |
|---|---|---|
| `pair` | the tokenizer's own pair | of the label for support |
| `true` | `premise: P hypothesis: H` | of "1" among all tokens (TRUE, Honovich et al. 2022; TrueTeacher, Gekhman et al. 2023) |
| `minicheck` | T5: `predict: P</s>H`; classifier: `P</s>H` | of "1" against "0"; of the label (MiniCheck, Tang et al. 2024) |

Weights come as safetensors only and models use the code of `transformers` only, as in `decoding.models.loading`.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from data.errors import StageError, UserError
from decoding.models.control_tokens import break_control_tokens, control_pattern
from decoding.models.loading import (
    HUB_DUPLICATES,
    HUB_FILES,
    check_files,
    fingerprint_of,
    local_folder,
    moved,
    quiet_loading,
    read_config,
    read_tokenizer,
    resolve_device,
    with_weights,
)

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

Form = Literal["pair", "true", "minicheck"]

T5_TOKENS = 2048
"""T5 counts distances, not places; TrueTeacher and MiniCheck were made for inputs up to this."""

SPARE_TOKENS = 8
"""Premise and claim together may tokenise into a few more than apart."""

_SUPPORTED = frozenset(("supported", "supports", "support", "consistent", "aligned", "factual", "true", "yes", "1"))
_OFFSET_FAMILIES = frozenset(("roberta", "xlm-roberta", "xlm-roberta-xl", "camembert"))


@dataclass(frozen=True, slots=True)
class EntailmentModel:
    """Implements `decoding.api.Entailment`. May be shared by threads: calls take turns."""

    name: str
    fingerprint: str
    form: Form
    max_tokens: int
    """Of premise, claim and what the form adds."""
    model: PreTrainedModel = field(repr=False)
    tokenizer: PreTrainedTokenizerBase = field(repr=False)
    control: re.Pattern[str] | None = field(repr=False)
    support: int
    """The label for support, or the token "1"."""
    against: int | None
    """The token "0" where it alone is the alternative."""
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def count_tokens(self, text: str) -> int:
        with self.lock:
            return len(self.tokenizer(self._harmless(text), add_special_tokens=False, verbose=False)["input_ids"])

    def room(self, claim: str) -> int:
        with self.lock:
            return self.max_tokens - SPARE_TOKENS - len(self._encoded("", claim)["input_ids"])

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Rounded to 4 places: the other pairs of its batch move it by less.

        Raises:
            ValueError: a pair is longer than the model reads; nothing is ever cut off here.
            StageError: the model gave no number (float16 overflows in some T5).
        """
        if not pairs:
            return []
        distinct = list(dict.fromkeys(pairs))
        with self.lock:
            encoded = [self._encoded(premise, claim) for premise, claim in distinct]
            if (longest := max(len(one["input_ids"]) for one in encoded)) > self.max_tokens:
                raise ValueError(f"a pair of {longest} tokens does not fit into {self.name}, which reads {self.max_tokens}")
            found: dict[tuple[str, str], float] = {}
            by_length = sorted(range(len(distinct)), key=lambda i: len(encoded[i]["input_ids"]))
            size = 8 if self.model.device.type == "cpu" else 64
            for at in range(0, len(by_length), size):
                batch = by_length[at : at + size]
                values = self._run([encoded[i] for i in batch])
                found.update(zip((distinct[i] for i in batch), values, strict=True))
        return [found[pair] for pair in pairs]

    def _encoded(self, premise: str, claim: str) -> Mapping[str, list[int]]:
        """Token ids without padding. Evidence is anybody's text: it cannot write the tokens that part it from the claim."""
        premise, claim = self._harmless(premise), self._harmless(claim)
        if self.form == "pair":
            return dict(self.tokenizer(premise, claim, truncation=False, verbose=False))
        if self.form == "true":
            text = f"premise: {premise} hypothesis: {claim}"
        else:
            text = f"{'predict: ' if _writes(self.model.config) else ''}{premise}{self.tokenizer.eos_token}{claim}"
        return dict(self.tokenizer(text, truncation=False, verbose=False))

    def _harmless(self, text: str) -> str:
        return break_control_tokens(text, self.control)

    def _run(self, encoded: Sequence[Mapping[str, list[int]]]) -> list[float]:
        import torch

        batch = self.tokenizer.pad({key: [one[key] for one in encoded] for key in encoded[0]}, return_tensors="pt")
        batch = batch.to(self.model.device)
        with torch.inference_mode():
            if _writes(self.model.config):
                start = torch.full((len(encoded), 1), self.model.config.decoder_start_token_id, device=self.model.device)
                logits = self.model(**batch, decoder_input_ids=start).logits[:, 0].float()
            else:
                logits = self.model(**batch).logits.float()
        column = self.support
        if self.against is not None:
            logits, column = logits[:, [self.against, self.support]], 1
        values = logits.softmax(-1)[:, column].tolist()
        if any(value != value for value in values):
            raise StageError("judge", f"{self.name} gave no number in {self.model.dtype}; use a CPU, or a model in bfloat16")
        return [round(value, 4) for value in values]


def load_entailment(path_or_id: str, *, form: str = "auto", device: str = "auto") -> EntailmentModel:
    """Load a model folder, or a model of the hub.

    Args:
        form: one of `Form`. `auto` is `minicheck` for models of that name, else `true` for a T5 and `pair` for a classifier.
        device: as in `decoding.models.loading.load`. The CPU computes in float32, an accelerator in the checkpoint's own
        precision.

    Raises:
        UserError: nothing usable there, no label that says "supported", or a form that the model does not read.
    """
    import torch

    chosen = resolve_device(device)
    folder = local_folder(path_or_id, wanted=HUB_FILES, unwanted=HUB_DUPLICATES)
    check_files(folder, path_or_id)
    name = Path(path_or_id).name if Path(path_or_id).expanduser().is_dir() else path_or_id
    with quiet_loading():
        config = _config(folder, path_or_id)
        read_as = _form(form, name, writes=_writes(config), asked=path_or_id)
        tokenizer = read_tokenizer(folder, path_or_id)
        support, against = _answers(config, tokenizer, read_as, path_or_id)
        model = _model(folder, path_or_id, writes=_writes(config), dtype=torch.float32 if chosen.type == "cpu" else "auto")
    dtype = str(model.dtype).removeprefix("torch.")
    identity = json.dumps([fingerprint_of(folder, dtype), read_as, support, against])
    return EntailmentModel(
        name=name,
        fingerprint=hashlib.sha256(identity.encode()).hexdigest(),
        form=read_as,
        max_tokens=_max_tokens(config, tokenizer, path_or_id),
        model=moved(model, chosen, path_or_id),
        tokenizer=tokenizer,
        control=control_pattern(tokenizer.all_special_tokens),
        support=support,
        against=against,
    )


def support_label(labels: Mapping[int, str], asked: str) -> int:
    """The index of the label that means "supported". Raises UserError if the names do not say.

    Two labels without names are taken as MiniCheck has them: the second one is "supported".
    """
    words = {index: re.sub(r"[\W_]+", " ", label.lower()).strip() for index, label in labels.items()}
    found = [index for index, label in words.items() if label in _SUPPORTED or label.startswith("entail")]
    if len(found) == 1:
        return found[0]
    if sorted(words.items()) == [(0, "label 0"), (1, "label 1")]:
        return 1
    listed = ", ".join(f"{index}: {label}" for index, label in sorted(labels.items()))
    raise UserError(
        f"{asked}: its labels do not say which one means supported ({listed}); name it `entailment` or `supported` under "
        "id2label in config.json"
    )


def _writes(config: Any) -> bool:
    """An encoder-decoder that answers with a token, not one with a classifying head."""
    return bool(getattr(config, "is_encoder_decoder", False)) and not _classifies(config)


def _classifies(config: Any) -> bool:
    return any(name.endswith("ForSequenceClassification") for name in config.architectures or ())


def _config(folder: Path, asked: str) -> PreTrainedConfig:
    config = read_config(folder, asked)
    if not _classifies(config) and not (_writes(config) and config.model_type in ("t5", "mt5", "umt5")):
        shown = ", ".join(config.architectures or ()) or config.model_type
        raise UserError(
            f"{asked} ({shown}) is no entailment model; choose a ForSequenceClassification with a label such as entailment, or "
            "a T5 that answers with 1 or 0"
        )
    return config


def _form(asked_form: str, name: str, *, writes: bool, asked: str) -> Form:
    known = [form for form in get_args(Form) if form != ("pair" if writes else "true")]
    if asked_form == "auto":
        return "minicheck" if "minicheck" in name.lower() else "true" if writes else "pair"
    if asked_form not in known:
        raise UserError(f"{asked} cannot be asked in the form {asked_form!r}; it reads: {', '.join(known)}")
    return asked_form  # type: ignore[return-value]


def _answers(config: PreTrainedConfig, tokenizer: PreTrainedTokenizerBase, form: Form, asked: str) -> tuple[int, int | None]:
    """What to read of the output: the label for support, or the first tokens of "1" and (MiniCheck) of "0"."""
    if not _writes(config):
        return support_label({int(i): str(name) for i, name in (config.id2label or {}).items()}, asked), None
    one, zero = (tokenizer(text, add_special_tokens=False)["input_ids"][0] for text in ("1", "0"))
    if one == zero or one == tokenizer.unk_token_id:
        raise UserError(f'{asked}: its tokenizer does not tell "1" from "0"; choose a T5 that answers with them')
    return one, zero if form == "minicheck" else None


def _model(folder: Path, asked: str, *, writes: bool, dtype: Any) -> PreTrainedModel:
    from transformers import AutoModelForSeq2SeqLM, AutoModelForSequenceClassification

    family: Any = AutoModelForSeq2SeqLM if writes else AutoModelForSequenceClassification
    return with_weights(family, folder, asked, dtype=dtype, advice="choose a checkpoint that was trained for entailment")


def _max_tokens(config: PreTrainedConfig, tokenizer: PreTrainedTokenizerBase, asked: str) -> int:
    if _writes(config):
        return T5_TOKENS
    places = getattr(config, "max_position_embeddings", None)
    said = [n for n in (places, tokenizer.model_max_length) if isinstance(n, int) and 0 < n < 1_000_000]
    if not said:
        raise UserError(
            f"{asked}: config.json does not say how long a text may be; add max_position_embeddings (in tokens) to it"
        )
    offset = (config.pad_token_id or 0) + 1 if config.model_type in _OFFSET_FAMILIES else 0  # their places begin behind padding
    return min(places - offset, *said) if isinstance(places, int) else min(said)
