"""Cited free text: what random models write is held against regular expressions, and real sentences against their markers."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Sequence
from functools import cache
from random import Random
from typing import Any

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from data.errors import UserError
from data.markup import parse_markers
from data.snapshot import SAMPLE
from decoding.api import Cite, SamplingParams
from decoding.drafters.copy import CopyDrafter
from decoding.drafters.drafter import Drafter
from decoding.drafters.forced import ForcedDrafter
from decoding.drafters.mix import MixDrafter
from decoding.drafters.plain import NoDrafter
from decoding.drafters.recycle import RecycleDrafter
from decoding.grounding.cite import CiteRule
from decoding.sampling import ForcingRule, LogitsRule, Sampler
from decoding.speculative import decode
from tests.grids import rest_slow
from tests.tiny_model import train_tokenizer
from tests.toy_backend import COSTS, ToyBackend

MARKED = (
    "The bridge fell in 1937 [1]. Was it old? [12][120] “Yes!” [3] It’s (he) ran 3.5 km… [45]\n"
    "The end. [7][8] No.\n“Why?” “No.”\n"
)
ENDS = ".!?…‽。！？"
CLOSERS = "\"'”’»›)*_"
KINDS = ("byte level", "digits alone", "metaspace")


@cache
def articles() -> tuple[str, ...]:
    return tuple(json.loads(path.read_text(encoding="utf-8"))["text"] for path in sorted((SAMPLE / "wiki").glob("*.json")))


@cache
def tokenizer(kind: str) -> Any:
    if kind == "byte level":
        return train_tokenizer([MARKED * 20, *articles()[:2]], chat_template=False, context_tokens=512, vocab_size=600)
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=kind == "metaspace"))
    if kind == "metaspace":
        backend.pre_tokenizer = pre_tokenizers.Metaspace()
        alphabet: list[str] = []
    else:
        backend.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
        )
        alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=500, special_tokens=["<unk>", "<s>", "</s>"], initial_alphabet=alphabet, show_progress=False
    )
    backend.train_from_iterator([MARKED * 20, *articles()[:2]], trainer)
    backend.decoder = decoders.ByteLevel()
    if kind == "metaspace":
        stored = json.loads(backend.to_str())
        vocabulary = stored["model"]["vocab"]
        for byte in range(256):
            vocabulary[f"<0x{byte:02X}>"] = len(vocabulary)
        backend = Tokenizer.from_str(json.dumps(stored))
        backend.decoder = decoders.Sequence(
            [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
        )
    return PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>", bos_token="<s>", eos_token="</s>")


def said(kind: str, ids: Sequence[int]) -> str:
    text: str = tokenizer(kind).decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
    return text


def ids_of(kind: str, text: str) -> list[int]:
    ids: list[int] = tokenizer(kind)(text, add_special_tokens=False).input_ids
    return ids


def rule(kind: str, numbers: Sequence[int] = (1, 2, 3), most: int = 3, n_prompt: int = 0) -> CiteRule:
    return CiteRule(Cite(tuple(numbers), most), tokenizer(kind), n_prompt, [tokenizer(kind).eos_token_id])


def possible(rule: CiteRule, ids: Sequence[int], kind: str) -> list[int]:
    ruled = rule(ids, torch.zeros(len(tokenizer(kind))))
    assert not ruled.isnan().any()
    return ruled.isfinite().nonzero().flatten().tolist()


def allows(rule: CiteRule, kind: str, text: str, *, end: bool = True) -> bool:
    """Whether the text can be written, token by token as the tokenizer divides it, and ended."""
    ids = [*ids_of(kind, text), *([tokenizer(kind).eos_token_id] if end else [])]
    return all(token in possible(rule, ids[:at], kind) for at, token in enumerate(ids))


# --- what must hold of every text --------------------------------------------------------------------------------------------


def faults(text: str, numbers: Collection[int], most: int, *, ended: bool) -> list[str]:
    """What is wrong with a text. Written with regular expressions over the whole, knowing nothing of tokens and states."""
    found = []
    whole = text if ended else re.sub(r"\[\d*\Z", "", text)
    if re.search(r"[\[\]]", re.sub(r"\[\d+\]", "", whole)):
        found.append("a bracket that is no marker")
    for run in re.findall(r"(?:\[\d+\])+", whole):
        cited = re.findall(r"\d+", run)
        if len(cited) > most or len(set(cited)) < len(cited) or not all(str(int(k)) == k and int(k) in numbers for k in cited):
            found.append(f"the run {run}")
    lines = whole.split("\n")
    for line in lines if ended else lines[:-1]:
        if line.strip() and not re.search(rf"\][{re.escape(ENDS + CLOSERS)}]*\s*\Z", line):
            found.append(f"a line ends uncited: {line[-30:]!r}")
    # stops that end a sentence whatever precedes them, a marker neither before nor behind
    for stop in (r"(?<![\w.])[a-z]{7,}\.", r"\b[a-z]{3,}[!?]", r"\b\d{4}\."):
        found += [f"nothing cited: {hit!r}" for hit in re.findall(rf"{stop}\s+[^\s\[].{{0,9}}", whole)]
    if ended and not re.search(r"\[\d+\]", text):
        found.append("nothing is cited")
    return found


class Liking:
    """Makes a random model like what is interesting here: ends of sentences, brackets, lines and the end."""

    def __init__(self, kind: str, strength: float) -> None:
        texts = [said(kind, [token]) for token in range(len(tokenizer(kind)))]
        self._gain = torch.tensor([strength if re.search(rf"[{ENDS}\[\]\n]|^\d+$", text) else 0.0 for text in texts])
        self._gain[tokenizer(kind).eos_token_id] = 2 * strength

    def __call__(self, prefix: Sequence[int], logits: torch.Tensor) -> torch.Tensor:
        return logits + self._gain


def written(kind: str, rules: Sequence[LogitsRule], seed: int, temperature: float, drafter: Drafter | None = None) -> list[int]:
    """By a random model, behind a prompt of three tokens."""
    ids: list[int] = []

    def take(token: int) -> bool:
        ids.append(token)
        return token != tokenizer(kind).eos_token_id

    sampling = SamplingParams(max_new_tokens=70, temperature=temperature, seed=seed)
    backend = ToyBackend(len(tokenizer(kind)), order=2, sharpness=2.0, seed=seed % 7)
    decode(backend, drafter or NoDrafter(), (5, 6, 7), Sampler(sampling, 3, rules), take)
    return ids


def faults_of(kind: str, ids: Sequence[int], cite: Cite) -> list[str]:
    return faults(said(kind, ids), cite.numbers, cite.most_per_sentence, ended=ids[-1] == tokenizer(kind).eos_token_id)


STRENGTHS = st.sampled_from([0.0, 3.0])
TEMPERATURES = st.sampled_from([0.0, 0.8, 1.5])
cites = st.builds(
    Cite,
    st.lists(st.integers(1, 120), min_size=1, max_size=12, unique=True).map(tuple) | st.just(tuple(range(1, 121))),
    st.integers(1, 4),
)


@pytest.mark.parametrize("kind", rest_slow(KINDS, keep=["metaspace", "byte level"]))
@settings(max_examples=20)
@given(
    cite=cites, seed=st.integers(0, 10_000), temperature=st.sampled_from([0.0, 0.8, 1.5]), strength=st.sampled_from([0.0, 3.0])
)
@example(cite=Cite((1,), 1), seed=0, temperature=0.0, strength=3.0)
def test_whatever_a_model_writes_is_cited(kind: str, cite: Cite, seed: int, temperature: float, strength: float) -> None:
    rules = (Liking(kind, strength), CiteRule(cite, tokenizer(kind), 3, [tokenizer(kind).eos_token_id]))
    ids = written(kind, rules, seed, temperature)
    assert not faults_of(kind, ids, cite), said(kind, ids)


@pytest.mark.parametrize("kind", KINDS)
def test_without_the_rule_the_same_check_fails(kind: str) -> None:
    cite = Cite((1, 2), 2)
    found = [faults_of(kind, written(kind, (Liking(kind, 3.0),), seed, 0.8), cite) for seed in range(10)]
    assert sum(map(bool, found)) >= 9
    assert len({fault.split(":")[0].split(" [")[0] for one in found for fault in one}) >= 3


@pytest.mark.parametrize("kind", KINDS)
def test_random_texts_do_end_and_have_many_sentences(kind: str) -> None:
    texts = []
    for seed in range(12):
        ids = written(kind, (Liking(kind, 3.0), rule(kind, range(1, 121), n_prompt=3)), seed, 0.8)
        texts.append((ids[-1] == tokenizer(kind).eos_token_id, said(kind, ids)))
    assert any(ended for ended, _ in texts)
    assert sum(len(re.findall(r"\[\d+\]", text)) for _, text in texts) > 24
    assert len({k for _, text in texts for k in re.findall(r"\[(\d+)\]", text)}) > 8, "the model chooses among the numbers"


# --- real sentences ----------------------------------------------------------------------------------------------------------


def cited(kind: str, script: str, numbers: Sequence[int] = (1,)) -> str:
    """What a model writes that would write `script` if it could, and cites where it cannot go on."""
    wanted, ids, end = ids_of(kind, script), [], tokenizer(kind).eos_token_id
    texts = [said(kind, [wanted[0], token])[len(said(kind, wanted[:1])) :] for token in range(len(tokenizer(kind)))]
    liked = {" [": 1.0, "[": 1.0, "]": 0.5, "1": 0.5, " ": 0.1}  # a space, where that of the script stands before the marker
    marks = torch.tensor([liked.get(text, 0.0) for text in texts])
    held = rule(kind, numbers)
    at = 0
    while not ids or ids[-1] != end:
        logits = marks.clone()
        logits[wanted[at] if at < len(wanted) else end] = 2
        ids.append(int(held(ids, logits).argmax()))
        at += ids[-1] == (wanted[at] if at < len(wanted) else end)
        assert len(ids) < 2 * len(wanted) + 20, said(kind, ids)
    return said(kind, ids)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("marked", "why"),
    [
        ("The bridge fell in 1937.[1] It was old.[1]", "every sentence"),
        ("Dr. Lee met J. K. Rowling at No. 4 Smith St. and ran 3.5 km.[1] He left.[1]", "abbreviations, initials, decimals"),
        ("The U.S. Army left at 5 p.m. on Jan. 5.[1] Then it came.[1]", "abbreviations with stops inside"),
        ("Apple Inc. was sold by Corp. and others, e.g. by them.[1]", "a small letter behind what may be an abbreviation"),
        ("“Why?” he asked.[1] “It fell!”[1] The end.[1]", "a stop inside of quotes"),
        ("It fell (in 1937.)[1] What?![1] No...[1] Yes.[1]", "closing parentheses, several stops"),
        ("A bridge fell.[1]\nIt was old.[1]\n\nThe end.[1]", "lines"),
        ("It is on example.com and at 10.30 or so.[1] Fine.[1]", "stops inside of words"),
    ],
)
def test_markers_are_demanded_where_sentences_end(kind: str, marked: str, why: str) -> None:
    if kind == "metaspace" and "\n" in marked:
        marked = marked.replace("\n\n", "\n")
    found = cited(kind, marked.replace("[1]", ""))
    found = re.sub(r"(\[1\])([.!?]+)", r"\2\1", found)  # before the stop, where a token holds the stop and a line's end
    assert re.sub(r" (?=\[)", "", found) == marked


def test_sentences_of_articles_are_all_cited() -> None:
    """By the splitter and the reader of markers that the metrics use."""
    kind = "byte level"
    n = 0
    for text in articles():
        script = " ".join(re.sub(r"[\[\]]", "", text).split())[:1500]
        pairs = parse_markers(cited(kind, script))
        assert [sentence for sentence, numbers in pairs if not numbers] == []
        n += len(pairs)
    assert n > 30


# --- single steps ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_where_markers_may_stand(kind: str) -> None:
    held = rule(kind, (1, 2, 3, 12))
    for text in ("It fell [2].", "It fell. [2]", "It fell.[2][1]", "It fell [12]", "It [1] fell [1].", "It (fell [1])."):
        assert allows(held, kind, text), text
    for text in ("It fell.", "It fell", "It fell [2]. Then", "It [1] fell.", "It fell [4].", "It fell [1", "It fell []", "[1]"):
        assert not allows(held, kind, text), text
    for text in (
        "It fell [1][1].",
        "It fell [1][2][3][12].",
        "It fell [01].",
        "It fell [122].",
        "It fell [sic] [1].",
        "It] fell",
    ):
        assert not allows(held, kind, text, end=False), text
    assert not allows(held, kind, "It fell. Then", end=False)
    assert not allows(held, kind, "It fell\n", end=False)
    assert allows(held, kind, "It fell [2]. Then", end=False)


@pytest.mark.parametrize("kind", KINDS)
def test_one_sentence_of_one_token(kind: str) -> None:
    held = rule(kind, (7,))
    (yes,) = ids_of(kind, "The")
    end = tokenizer(kind).eos_token_id
    assert yes in possible(held, [], kind) and end not in possible(held, [], kind)
    assert end not in possible(held, [yes], kind)
    assert end in possible(held, [yes, *ids_of(kind, "x[7]")[1:]], kind)


@pytest.mark.parametrize("kind", KINDS)
def test_every_number_and_no_other(kind: str) -> None:
    held = rule(kind, range(1, 121, 2))
    for number in range(1, 131):
        assert allows(held, kind, f"It fell [{number}].") == (number < 121 and number % 2 == 1), number


def test_what_is_certain_is_forced() -> None:
    kind = "digits alone"
    ids = ids_of(kind, "It fell [")
    held = rule(kind, (120, 121))
    assert isinstance(held, ForcingRule)
    assert said(kind, held.forced(ids, 9)) == "12"
    assert held.forced(ids, 1) == ids_of(kind, "1")
    assert held.forced(ids_of(kind, "It fell"), 9) == []
    for kind in KINDS:
        for numbers in ((7,), (1, 12, 120), range(1, 121)):
            held = rule(kind, numbers)
            for text in ("It fell [", "It fell [1", "It fell [12", "It fell. [120"):
                ids = ids_of(kind, text)
                for token in held.forced(ids, 9):
                    assert possible(rule(kind, numbers), ids, kind) == [token]
                    ids.append(token)


@pytest.mark.parametrize("kind", KINDS)
def test_the_answer_depends_on_the_prefix_alone(kind: str) -> None:
    random = Random(kind)
    ids = [token for seed in (1, 2) for token in written(kind, (Liking(kind, 3.0),), seed, 1.0)]
    prefixes = [ids[:n] for n in range(0, len(ids), 3)] + [ids[n : n + 9] for n in range(0, len(ids), 5)]
    random.shuffle(prefixes)
    one = rule(kind)
    for prefix in prefixes:  # mostly texts that the rule would not have let through
        assert possible(one, prefix, kind) == possible(rule(kind), prefix, kind) != []


@pytest.mark.parametrize("kind", ["byte level", "metaspace"])
def test_characters_of_several_tokens(kind: str) -> None:
    held = rule(kind)
    ids = ids_of(kind, "Ёж упал。")
    assert len(ids) > len("Ёж упал。"), "these are bytes"
    assert set(possible(held, ids, kind)) == set(possible(held, ids_of(kind, "It fell。"), kind))
    assert allows(held, kind, "Ёж “упал” [1].")


def test_something_is_always_left() -> None:
    kind = "byte level"
    held = rule(kind)
    ids = ids_of(kind, "It fell.")
    logits = torch.full((len(tokenizer(kind)),), -math.inf)
    logits[next(token for token in range(len(logits)) if token not in possible(held, ids, kind))] = 1.0
    ruled = held(ids, logits)
    assert ruled.isfinite().any() and not ruled.isnan().any()
    assert ruled.isfinite().nonzero().flatten().tolist() == possible(held, ids, kind)
    wide = held(ids, torch.zeros(len(tokenizer(kind)) + 50))  # models have rows that no token uses
    assert wide[-50:].isneginf().all()
    no_end = CiteRule(Cite((1,)), tokenizer(kind), 0, ())
    assert possible(no_end, ids_of(kind, "It fell. [1]"), kind)


@pytest.mark.parametrize("drafter", ["copy", "recycle", "mix", "forced"])
@pytest.mark.parametrize("kind", KINDS)
def test_drafts_change_nothing(kind: str, drafter: str) -> None:
    made = {
        "copy": CopyDrafter(),
        "recycle": RecycleDrafter(),
        "mix": MixDrafter(CopyDrafter(), RecycleDrafter(), None, COSTS, trees=True, name="mix"),
        "forced": ForcedDrafter(CopyDrafter()),
    }[drafter]
    for seed, temperature in ((0, 0.0), (1, 0.0), (2, 0.7)):
        expected = written(kind, (Liking(kind, 3.0), rule(kind, range(1, 30), n_prompt=3)), seed, temperature)
        rules = (Liking(kind, 3.0), rule(kind, range(1, 30), n_prompt=3))
        assert written(kind, rules, seed, temperature, made) == expected


# --- refusals ----------------------------------------------------------------------------------------------------------------


def lacking(alphabet: str) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.BPE({one: at for at, one in enumerate([*alphabet, "</s>"])}, []))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="</s>")


@pytest.mark.parametrize(
    ("alphabet", "numbers", "told"),
    [
        ("abc.Ġ[]12", (1, 13), r"marker \[13\].*'3'.*leave 13 out"),
        ("abc.Ġ12]", (1,), r"marker \[1\].*'\['"),
        ("abc.Ġ12[", (2,), r"marker \[2\].*'\]'"),
        ("12.[]", (1,), "single letter"),
    ],
)
def test_a_tokenizer_that_cannot_express_markers_is_refused(alphabet: str, numbers: tuple[int, ...], told: str) -> None:
    with pytest.raises(UserError, match=told):
        CiteRule(Cite(numbers), lacking(alphabet), 0, [0])


def test_contradictions_are_refused() -> None:
    for cite, told in (
        (Cite(()), "no numbers to cite"),
        (Cite((0, 1)), "0 is no number"),
        (Cite((1,), 0), "most_per_sentence is 0"),
    ):
        with pytest.raises(UserError, match=told):
            CiteRule(cite, tokenizer("byte level"), 0, [0])
    with pytest.raises(UserError, match="no end token"):
        CiteRule(Cite((1,)), lacking("abc[]12."), 0, ())
    CiteRule(Cite((1,)), lacking("abc[]12."), 0, [8])
