"""Answers made of whole items: what is possible after every prefix, with what prior, and that drafts change nothing."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from random import Random
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from data import codec
from data.errors import UserError
from data.snapshot import SAMPLE
from decoding.api import Chosen, Item, Message, Offer, Reading, SamplingParams, chosen
from decoding.backend import StepBackend
from decoding.bench.reference import plain_decoding
from decoding.certificate import Record
from decoding.certify import certify
from decoding.decoder import Decoder
from decoding.drafters.copy import CopyDrafter
from decoding.drafters.drafter import Drafter
from decoding.drafters.forced import LONGEST, ForcedDrafter
from decoding.drafters.mix import MixDrafter
from decoding.drafters.plain import NoDrafter
from decoding.drafters.recycle import RecycleDrafter
from decoding.engine import Engine
from decoding.grounding.offer import OfferRule
from decoding.local import LocalGenerator
from decoding.models.loading import LoadedModel, load
from decoding.sampling import ForcingRule, Sampler
from decoding.speculative import decode
from tests.tiny_model import build_tiny_model, train_tokenizer
from tests.toy_backend import COSTS, ToyBackend

PROMPT = (5, 6, 7)
FREE = ("greedy", "copy", "recycle", "mix")


@cache
def sentences() -> tuple[str, ...]:
    """Of the sample's articles, each once."""
    texts = [json.loads(path.read_text(encoding="utf-8"))["text"] for path in sorted((SAMPLE / "wiki").glob("*.json"))]
    found = [part.strip() + "." for text in texts for part in text.replace("\n", " ").split(". ") if 30 < len(part) < 240]
    return tuple(dict.fromkeys(found))


@cache
def tokenizer() -> Any:
    return train_tokenizer(sentences(), chat_template=False, context_tokens=4096)


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    folder = tmp_path_factory.mktemp("tiny")
    return load(
        str(build_tiny_model(folder, chat_template=True, vocab_from=sentences(), context_tokens=1024, layers=1)), device="cpu"
    )


def ends() -> frozenset[int]:
    return frozenset({tokenizer().eos_token_id})


def rule_of(offer: Offer, n_prompt: int = 0) -> OfferRule:
    return OfferRule(offer, tokenizer(), n_prompt, ends())


def ids_of(text: str) -> list[int]:
    return list(tokenizer()(text, add_special_tokens=False).input_ids)


def spoken(tokens: Sequence[int]) -> str:
    return str(tokenizer().decode(list(tokens), skip_special_tokens=True, clean_up_tokenization_spaces=False))


def possible(rule: OfferRule, prefix: Sequence[int]) -> dict[int, float]:
    """Token -> what its logit gains."""
    ruled = rule(prefix, torch.zeros(len(tokenizer())))
    return {int(token): float(ruled[token]) for token in (ruled > -math.inf).nonzero().flatten()}


def random_offer(random: Random, texts: Sequence[str] = ()) -> Offer:
    """Sentences with markers, near-duplicates, stops and groups: what a section is offered."""
    items = []
    for at, text in enumerate(random.sample(list(texts or sentences()), random.randint(2, 14))):
        commas = tuple(i for i, sign in enumerate(text) if sign == "," and 0 < i < len(text) - 1)
        after = "".join(f"[{k}]" for k in sorted(random.sample(range(1, 9), random.randint(1, 2))))
        items.append(Item(text, f" {after}", random.gauss(0, 2), commas[:2], random.choice((None, at // 3))))
        if random.random() < 0.2:
            items.append(replace(items[-1], after=" [9]", group=items[-1].group))
    if random.random() < 0.5:
        items = [replace(item, follows=random.randrange(len(items))) if random.random() < 0.5 else item for item in items]
    least = random.randint(0, 3)
    return Offer(
        tuple(items), random.choice((" ", "\n")), least, least + random.randint(1, 6), random.choice((0.0, 1.0, 3.0)), 1.5
    )


# --- an oracle that looks at every item at every token --------------------------------------------------------------------


@cache
def tokenised(offer: Offer, them: Any) -> tuple[list[tuple[int, tuple[int, ...]]], list[tuple[int, tuple[int, ...]]]]:
    pieces = [(at, item.shown(stop)) for at, item in enumerate(offer.items) for stop in (None, *item.stops)]
    first, later = (
        [(at, tuple(them(before + text, add_special_tokens=False).input_ids)) for at, text in pieces]
        for before in ("", offer.separator)
    )
    return first, later


def brute_force(offer: Offer, answer: Sequence[int]) -> dict[int, float]:
    """Token -> gain, straight from the definition: all ways to read the answer, one by one."""
    first, later = tokenised(offer, tokenizer())
    priors: dict[int, float] = {}
    can_end = offer.least == 0 and not answer
    stack: list[tuple[int, frozenset[int], int | None]] = [(0, frozenset(), None)]
    seen = set()
    while stack:
        at, used, last = stack.pop()
        if (at, used, last) in seen:
            continue
        seen.add((at, used, last))
        groups = {offer.items[i].group for i in used} - {None}
        free = [p for p in (later if used else first) if p[0] not in used and offer.items[p[0]].group not in groups]
        if len(used) >= offer.most:
            free = []
        rest = tuple(answer[at:])
        if not rest and used and (len(used) >= offer.least or not free):
            can_end = True
        said = set()
        for item, piece in free:
            if piece == rest[: len(piece)]:
                if piece not in said:  # of items that say the same the first counts
                    stack.append((at + len(piece), used | {item}, item))
                said.add(piece)
            elif piece[: len(rest)] == rest:
                token = piece[len(rest)]
                continues = last is not None and offer.items[item].follows == last
                prior = offer.items[item].prior + (offer.follow_bonus if continues else 0.0)
                priors[token] = max(prior, priors.get(token, -math.inf))
    top = max(priors.values(), default=0.0)
    gains = {token: offer.prior_weight * (prior - top) for token, prior in priors.items()}
    return gains | (dict.fromkeys(ends(), 0.0) if can_end or not gains else {})


def check_against_oracle(offer: Offer, random: Random, n_walks: int = 3) -> None:
    rule = rule_of(offer, len(PROMPT))
    prefixes = []
    for _ in range(n_walks):
        answer: list[int] = []
        for _ in range(60):
            expected = brute_force(offer, answer)
            assert possible(rule, [*PROMPT, *answer]) == pytest.approx(expected, abs=1e-4)
            forced = list(rule.forced([*PROMPT, *answer], 60))
            for at, token in enumerate(forced):
                assert list(brute_force(offer, [*answer, *forced[:at]])) == [token]
            if len(expected) == 1 and not forced:
                pytest.fail("one token is possible and none was forced")
            prefixes.append(list(answer))
            token = random.choice(list(expected))
            if token in ends():
                break
            answer.append(token)
    random.shuffle(prefixes)
    for answer in prefixes[:20]:  # in any order, and of an answer that it has never seen grow
        assert possible(rule, [*PROMPT, *answer]) == possible(rule_of(offer, len(PROMPT)), [*PROMPT, *answer])


@pytest.mark.parametrize("seed", range(5))
def test_possible_tokens_and_gains_are_those_of_the_definition(seed: int) -> None:
    random = Random(seed)
    offer = random_offer(random)
    check_against_oracle(offer, random, 1)


WORDS = st.lists(st.sampled_from(["a", "b", "a b", "on", "one"]), min_size=1, max_size=3).map(" ".join)
ITEMS = st.builds(
    Item,
    WORDS,
    st.sampled_from(["", " [1]", " [2]", " a"]),
    st.sampled_from([0.0, 1.0, -2.0]),
    st.just(()),
    st.sampled_from([None, None, 1]),
)
OFFERS = st.builds(
    lambda items, separator, least, more, weight: Offer(tuple(items), separator, least, max(1, least + more), weight),
    st.lists(ITEMS, min_size=1, max_size=6),
    st.sampled_from([" ", "\n"]),
    st.integers(0, 4),
    st.integers(0, 3),
    st.sampled_from([0.0, 1.0]),
)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(OFFERS, st.integers(0, 9))
def test_items_that_begin_with_one_another(offer: Offer, seed: int) -> None:
    check_against_oracle(offer, Random(seed), 2)


# --- whole answers --------------------------------------------------------------------------------------------------------


def drafter_of(method: str) -> Drafter:
    match method:
        case "greedy":
            return NoDrafter()
        case "copy":
            return CopyDrafter(costs=COSTS)
        case "recycle":
            return RecycleDrafter(seeded=False, persist=True)
    return MixDrafter(CopyDrafter(), RecycleDrafter(seeded=False, persist=True), None, COSTS)


def toy_answer(
    drafter: Drafter, offer: Offer | None, sampling: SamplingParams, prompt: Sequence[int], seed: int = 0
) -> tuple[list[int], int]:
    """Token ids of the toy model's answer, and its passes."""
    answer: list[int] = []

    def take(token: int) -> bool:
        answer.append(token)
        return token not in ends() and len(answer) < sampling.max_new_tokens

    rules = (rule_of(offer, len(prompt)),) if offer is not None else ()
    backend: StepBackend = ToyBackend(len(tokenizer()), seed=seed, order=2)
    stats = decode(backend, drafter, prompt, Sampler(sampling, len(prompt), rules), take)
    return answer, stats.n_verify or 0


def check_toy_answers(seeds: Sequence[int]) -> None:
    drafters = [*map(drafter_of, FREE), *(ForcedDrafter(drafter_of(method)) for method in FREE)]
    for seed in seeds:
        random = Random(seed)
        offer, prompt = random_offer(random), random.sample(range(300, 700), 12)
        most = random.choice((7, 60, 300))
        for sampling in (SamplingParams(most), SamplingParams(most, temperature=1.1, seed=seed), SamplingParams(most, top_k=3)):
            expected, _ = toy_answer(NoDrafter(), offer, sampling, prompt, seed)
            check_is_grounded(offer, expected, most)
            for drafter in drafters:
                assert toy_answer(drafter, offer, sampling, prompt, seed)[0] == expected


def check_is_grounded(offer: Offer, answer: Sequence[int], most: int) -> Reading:
    """Whole items within the bounds; what the limit cut off is the beginning of one."""
    text = spoken(answer)
    read = chosen(offer, text)
    shown = [offer.items[one.item].shown(one.stop) for one in read.items]
    assert offer.separator.join(shown) + read.rest == text
    assert len({one.item for one in read.items}) == len(read.items) <= offer.most
    groups = [offer.items[one.item].group for one in read.items if offer.items[one.item].group is not None]
    assert len(set(groups)) == len(groups)
    if answer[-1] in ends():
        assert not read.rest
        offered = len({(i.group, None if i.group is not None else at) for at, i in enumerate(offer.items)})
        assert len(read.items) >= min(offer.least, offered)
    else:
        assert len(answer) == most
        separator = offer.separator if read.items else ""
        begun = [separator + i.shown(stop) for i in offer.items for stop in (None, *i.stops)]
        assert not read.rest or any(text.startswith(read.rest.rstrip("�")) for text in begun)
    return read


def test_every_drafter_gives_the_text_of_plain_decoding() -> None:
    check_toy_answers(range(3))


@pytest.mark.slow
def test_every_drafter_gives_the_text_of_plain_decoding_500() -> None:
    check_toy_answers(range(100, 600))


def test_the_check_sees_an_answer_without_the_rule() -> None:
    offer = random_offer(Random(0))
    answer, _ = toy_answer(NoDrafter(), None, SamplingParams(60), PROMPT)
    with pytest.raises(AssertionError):
        check_is_grounded(offer, answer, 60)


def test_far_fewer_passes_than_tokens() -> None:
    """Counted, not timed: a sentence takes a pass for each choice in it."""
    n_tokens = n_passes = 0
    for seed in range(5):
        texts = Random(seed).sample(sentences(), 40)
        offer = Offer(tuple(Item(text, f" [{at % 7 + 1}]") for at, text in enumerate(texts)), least=5, most=8)
        answer, passes = toy_answer(ForcedDrafter(NoDrafter()), offer, SamplingParams(2000), range(300, 320), seed)
        assert answer[-1] in ends()
        n_tokens, n_passes = n_tokens + len(answer), n_passes + passes
    assert n_passes < n_tokens / 3


@dataclass
class Oracle:
    """`brute_force` as `generate` asks for it."""

    offer: Offer
    n_prompt: int

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        ruled = torch.full_like(scores, -math.inf)
        for token, gain in brute_force(self.offer, input_ids[0, self.n_prompt :].tolist()).items():
            ruled[0, token] = scores[0, token] + gain
        return ruled


def test_real_model_equals_generate(loaded: LoadedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every free method, and the reference decoder, give what `transformers.generate` gives under the oracle."""
    from transformers import LogitsProcessorList

    monkeypatch.setattr("tests.decoding.grounding.test_offer.tokenizer", lambda: loaded.tokenizer)
    monkeypatch.setattr("tests.decoding.grounding.test_offer.ends", lambda: loaded.eos_ids)
    engines = {method: Engine(loaded, method, backend="driven") for method in FREE}
    reader = LocalGenerator(loaded, plain_decoding(loaded))
    for seed in range(2):
        offer = random_offer(Random(seed))
        messages = [Message("user", " ".join(item.text for item in offer.items)[:900])]
        prompt = reader.prompt_ids(messages)
        ids = torch.tensor([prompt])
        generated = loaded.model.generate(  # type: ignore[operator]
            ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=80,
            do_sample=False,
            eos_token_id=sorted(loaded.eos_ids),
            pad_token_id=0,
            logits_processor=LogitsProcessorList([Oracle(offer, len(prompt))]),
        )[0, len(prompt) :]
        expected = spoken(generated.tolist())
        greedy = SamplingParams(80, grounding=offer)
        sampled = SamplingParams(80, temperature=1.0, seed=seed, grounding=offer)
        assert reader.generate(messages, greedy).text == expected
        drawn = reader.generate(messages, sampled).text
        for engine in engines.values():
            generator = LocalGenerator(loaded, engine.decode)
            assert generator.generate(messages, greedy).text == expected
            assert generator.generate(messages, sampled).text == drawn
        assert Decoder(loaded, engines["mix"]).generate(messages=messages, max_new_tokens=80, grounding=offer).text == expected


def test_every_backend_takes_what_is_forced(loaded: LoadedModel) -> None:
    """Items longer than the largest step, to the end of the answer and of its room."""
    texts = Random(2).sample(sentences(), 12)
    offer = Offer(tuple(Item(" ".join(texts[i : i + 6]), f" [{i}]", prior=float(i)) for i in (0, 6)), least=2)
    messages = [Message("user", "A flood.")]
    expected = LocalGenerator(loaded, plain_decoding(loaded)).generate(messages, SamplingParams(900, grounding=offer))
    assert expected.stop == "end" and expected.n_new_tokens > 4 * LONGEST
    for kind in ("hf", "driven", "packed"):
        engine = Engine(loaded, "recycle", backend=kind)
        generator = LocalGenerator(loaded, engine.decode)
        found = generator.generate(messages, SamplingParams(900, grounding=offer))
        assert found.text == expected.text and (found.stats.n_verify or 0) < expected.n_new_tokens / 20, kind
        for most in (1, LONGEST + 1, LONGEST + 2, expected.n_new_tokens - 1):
            cut = generator.generate(messages, SamplingParams(most, grounding=offer))
            assert expected.text.startswith(cut.text) and cut.stop == "length" and cut.n_new_tokens == most, kind


def test_an_answer_can_be_certified(loaded: LoadedModel) -> None:
    offer = random_offer(Random(3))
    engine = Engine(loaded, "mix", backend="driven")
    prompt, answer = list(PROMPT), []
    sampling = SamplingParams(60, grounding=offer)

    def take(token: int) -> bool:
        answer.append(token)
        return token not in loaded.eos_ids and len(answer) < 60

    with loaded.lock:
        engine.decode(prompt, sampling, take)
    stop = "end" if answer[-1] in loaded.eos_ids else "length"
    record = Record("1", "mix", loaded.name, loaded.fingerprint, loaded.dtype, tuple(prompt), tuple(answer), sampling, stop)
    assert codec.from_json(Record, codec.to_json(record), where="here") == record
    assert certify([record], loaded).certified
    assert not certify([replace(record, sampling=replace(sampling, grounding=None))], loaded).certified


# --- edges ----------------------------------------------------------------------------------------------------------------


def longest_answer(offer: Offer, n_tokens: int = 400) -> str:
    """The first possible token each time, an end token only where nothing else is."""
    rule, answer = rule_of(offer), list[int]()
    while len(answer) < n_tokens:
        on = [token for token in possible(rule, answer) if token not in ends()]
        if not on:
            break
        answer.append(on[0])
    return spoken(answer)


def test_it_is_a_forcing_rule() -> None:
    assert isinstance(rule_of(Offer((Item("A flood."),))), ForcingRule)


def test_one_item_is_forced_to_its_end() -> None:
    rule = rule_of(Offer((Item("The flood came.", " [2]"),)), len(PROMPT))
    forced = list(rule.forced(PROMPT, 100))
    assert spoken(forced) == "The flood came. [2]" and forced[-1] in ends()
    assert list(rule.forced(PROMPT, 3)) == forced[:3] and not rule.forced(PROMPT, 0)
    assert list(rule.forced([*PROMPT, *forced[:2]], 100)) == forced[2:]


def test_two_end_tokens_are_a_choice() -> None:
    rule = OfferRule(Offer((Item("A."),)), tokenizer(), 0, frozenset({0, tokenizer().eos_token_id}))
    forced = list(rule.forced((), 100))
    assert spoken(forced) == "A." and set(possible(rule, forced)) == {0, tokenizer().eos_token_id}


def test_an_item_of_one_token() -> None:
    (token,) = ids_of("a")
    rule = rule_of(Offer((Item("a"), Item("b")), least=2))
    assert set(possible(rule, ())) == {token, *ids_of("b")}
    assert list(rule.forced([token], 9)) == [*ids_of(" b"), *ends()]


def test_more_items_wanted_than_there_are() -> None:
    offer = Offer((Item("One."), Item("Two."), Item("Three.", group=1), Item("Four.", group=1)), least=10)
    read = chosen(offer, longest_answer(offer))
    assert len(read.items) == 3 and not read.rest


def test_the_same_text_from_two_pages() -> None:
    twins = (Item("It rained.", " [1]", group=7), Item("It rained.", " [2]", group=7), Item("It snowed.", " [3]"))
    answer = longest_answer(Offer(twins, least=3))
    assert answer.count("It rained.") == 1 and "It snowed. [3]" in answer
    rule = rule_of(Offer(twins[:2]))
    at_marker = list(rule.forced((), 50))
    assert len(possible(rule, at_marker)) == 2, "which page is cited is a choice"


def test_stops_leave_an_item_early() -> None:
    text = "The dam broke, and the town, which lay below, was lost."
    offer = Offer((Item(text, " [4]", stops=(13, 27)),))
    rule = rule_of(offer)
    answers = {"The dam broke. [4]": 13, "The dam broke, and the town. [4]": 27, f"{text} [4]": None}
    for answer, stop in answers.items():
        assert chosen(offer, answer) == Reading((Chosen(0, stop),))
        ids = ids_of(answer)
        for at, token in enumerate(ids):
            assert token in possible(rule, ids[:at])
        assert set(possible(rule, ids)) == ends()
    assert Item("He said: “Go!” and left").shown(14) == "He said: “Go!”"


def test_a_common_first_word_does_not_win_by_numbers() -> None:
    many = tuple(Item(f"The {word} fell.", prior=1.0) for word in "abcdefghij")
    gains = possible(rule_of(Offer((*many, Item("Nobody came.", prior=1.5)))), ())
    assert max(gains, key=lambda token: gains[token]) == ids_of("Nobody came.")[0]
    assert gains[ids_of("The")[0]] == pytest.approx(-0.5)
    assert set(possible(rule_of(Offer((*many, Item("Nobody came.", prior=1.5)), prior_weight=0.0)), ()).values()) == {0.0}


def test_what_continues_the_last_item_is_preferred() -> None:
    items = (Item("Rain fell.", prior=1.0), Item("It lasted.", follows=0), Item("Snow fell.", prior=0.5))
    after_rain, after_snow = ids_of("Rain fell."), ids_of("Snow fell.")
    with_bonus, without = (rule_of(Offer(items, follow_bonus=bonus)) for bonus in (2.0, 0.0))
    lasted, snow = ids_of(" It lasted.")[0], ids_of(" Snow fell.")[0]
    assert possible(with_bonus, after_rain)[lasted] == 0 > possible(with_bonus, after_rain)[snow]
    assert possible(without, after_rain)[snow] == 0 > possible(without, after_rain)[lasted]
    assert possible(with_bonus, after_snow)[lasted] < 0  # only right after the one that it continues


def test_used_items_do_not_count_among_the_priors() -> None:
    offer = Offer((Item("Best.", prior=9.0), Item("Good.", prior=2.0), Item("Poor.", prior=1.0)))
    gains = possible(rule_of(offer), ids_of("Best."))
    assert sorted(gains.values()) == [-1.0, 0.0, 0.0] and ends() <= gains.keys()


@pytest.mark.parametrize("prefix", [[1, 2, 3], [*ids_of("A flood."), tokenizer().eos_token_id, 9], ids_of("A flood. X")])
def test_a_prefix_that_is_not_of_the_offer_leaves_the_end(prefix: list[int]) -> None:
    rule = rule_of(Offer((Item("A flood."), Item("A storm."))))
    assert set(possible(rule, prefix)) == ends()
    assert spoken(rule.forced(ids_of("A flood"), 1)) == ".", "and the next answer is read afresh"


def test_ten_thousand_items() -> None:
    random = Random(1)
    words = " ".join(sentences()).split()
    items = tuple(Item(" ".join(random.choices(words, k=12)) + f" {at}.", " [1]") for at in range(10_000))
    rule = rule_of(Offer(items, least=2, most=3))
    answer: list[int] = []
    n_places = 0
    while True:
        gains = possible(rule, answer)
        token = max(gains, key=lambda token: (gains[token], random.random()))
        if token in ends():
            break
        answer.append(token)
        answer += rule.forced(answer, 100)
        n_places += 1
        if answer[-1] in ends():
            break
    read = chosen(Offer(items, least=2, most=3), spoken(answer))
    assert 2 <= len(read.items) <= 3 and not read.rest and n_places < 20


def test_cut_off_by_the_limit() -> None:
    offer = Offer((Item("The flood came.", " [1]"), Item("It went.", " [2]")), least=2)
    whole = longest_answer(offer)
    for end in range(len(whole)):
        read = chosen(offer, whole[:end])
        shown = [offer.items[one.item].shown() for one in read.items]
        assert " ".join(shown) + read.rest == whole[:end] and len(read.items) < 2
    assert len(chosen(offer, whole).items) == 2


def test_text_that_is_not_of_the_offer_is_all_rest() -> None:
    offer = Offer((Item("The flood came.", " [1]"),))
    assert chosen(offer, "A flood.") == Reading((), "A flood.")
    assert chosen(offer, "The flood came. [1] The flood came. [1]") == Reading((Chosen(0),), " The flood came. [1]")


def test_reading_goes_back_where_the_longest_item_leads_nowhere() -> None:
    offer = Offer((Item("a"), Item("a b"), Item("b c")))
    assert chosen(offer, "a b c") == Reading((Chosen(0), Chosen(2)))
    assert chosen(offer, "a b a b c") == Reading((Chosen(1), Chosen(0), Chosen(2)))


@pytest.mark.parametrize(
    ("offer", "named"),
    [
        (Offer(()), "no items"),
        (Offer((Item("A."),), least=-1), "-1 to"),
        (Offer((Item("A."),), least=3, most=2), "3 to 2"),
        (Offer((Item("A."),), prior_weight=math.nan), "prior_weight is nan"),
        (Offer((Item("A."),), follow_bonus=-1.0), "follow_bonus is -1.0"),
        (Offer((Item("A.", follows=1),)), "follows item 1, and there are 1"),
        (Offer((Item("", " [1]"),)), "' [1]'"),
        (Offer((Item("A.", prior=math.inf),)), "is inf"),
        (Offer((Item("A flood.", stops=(8,)),)), "left at 8"),
        (Offer((Item(",,, flood.", stops=(3,)),)), "left at 3"),
        (Offer((Item("A.", " </s>"),)), "'A. </s>'"),
    ],
)
def test_offers_that_cannot_be(offer: Offer, named: str) -> None:
    with pytest.raises(UserError, match=re.escape(named)):
        rule_of(offer)


def test_a_model_without_an_end_token() -> None:
    with pytest.raises(UserError, match="eos_token_id"):
        OfferRule(Offer((Item("A."),)), tokenizer(), 0, frozenset())


def metaspace(byte_fallback: bool) -> Any:
    """As those of Llama 2: spaces are ▁, one is put before every text and taken off when it is decoded."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=byte_fallback))
    backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    fallback = [decoders.ByteFallback(), decoders.Fuse()] if byte_fallback else [decoders.Fuse()]
    backend.decoder = decoders.Sequence([decoders.Replace(Regex("▁"), " "), *fallback, decoders.Strip(" ", 1, 0)])
    specials = ["<unk>", "</s>", *(f"<0x{i:02X}>" for i in range(256) if byte_fallback)]
    trainer = trainers.BpeTrainer(vocab_size=900, special_tokens=specials[:2], show_progress=False)
    backend.train_from_iterator([text.replace("[", "").replace("\n", " ") for text in sentences()], trainer)
    found = PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>", eos_token="</s>")
    return found


@pytest.mark.parametrize("separator", [" ", "; "])
def test_a_tokenizer_that_adds_and_strips_spaces(separator: str) -> None:
    them = metaspace(byte_fallback=False)
    texts = [text for text in sentences() if text.isascii() and not {*"[]\n"} & {*text}][:6]
    offer = Offer(tuple(map(Item, texts)), separator, least=6)
    rule = OfferRule(offer, them, 0, frozenset({them.eos_token_id}))
    answer: list[int] = []
    while True:
        ruled = rule(answer, torch.zeros(len(them)))
        token = int(ruled.argmax())
        if token == them.eos_token_id:
            break
        answer.append(token)
    text = them.decode(answer, skip_special_tokens=True, clean_up_tokenization_spaces=False)
    read = chosen(offer, text)
    assert len(read.items) == 6 and not read.rest


def test_a_marker_that_the_tokenizer_does_not_know_is_named() -> None:
    them = metaspace(byte_fallback=False)
    with pytest.raises(UserError, match=r"cannot express 'It rained\. ⟦1⟧'"):
        OfferRule(Offer((Item("It rained.", " ⟦1⟧"),)), them, 0, frozenset({1}))
