from __future__ import annotations

import pytest

from decoding.models.entailment import EntailmentModel, load_entailment
from eval.judges.judge import Pair
from eval.judges.nli_judge import LEAST_ROOM, NliJudge, readings
from tests.tiny_entailment import build_classifier

FERRY = "The ferry Marisol sank on Lake Tanda on 14 March 2019 with 1,240 people aboard."
OWNER = "Captain Jonas Weller had warned the owner about the damaged hull two weeks earlier."
FILLER = [f"The district office kept ledger number {n} in its archive on the coast." for n in range(30)]
CLAIM = "The ferry Marisol sank on Lake Tanda."


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> EntailmentModel:
    folder = build_classifier(tmp_path_factory.mktemp("nli"), ["neutral", "entailment"], context_tokens=256)
    return load_entailment(str(folder), device="cpu")


def read(model: EntailmentModel, *premises: str, claim: str = CLAIM) -> tuple[str, ...]:
    found = readings(model, Pair(premises, claim))
    assert found is not None
    assert all(model.count_tokens(text) <= model.room(claim) for text in found)
    return found


def test_what_fits_is_read_whole_and_the_judge_is_known_by_model_weights_and_threshold(model: EntailmentModel) -> None:
    assert read(model, FERRY) == (FERRY,)
    judge = NliJudge(model, threshold=0.7)
    assert (judge.name, judge.threshold, judge.kind) == (f"nli:{model.name}", 0.7, "nli")
    assert model.fingerprint[:12] in judge.revision


def test_text_without_full_stops_is_cut_at_words(model: EntailmentModel) -> None:
    words = " ".join(sentence.rstrip(".") for sentence in FILLER)
    texts = read(model, words, claim="The district office kept ledger number 3.")
    assert len(texts) > 2
    assert set(" ".join(texts).split()) == set(words.split())
    assert read(model, "x" * 3000)  # one word that is longer than the model


def test_the_score_is_the_largest_of_what_is_read(model: EntailmentModel) -> None:
    pairs = [Pair((" ".join([*FILLER, FERRY]), OWNER), CLAIM), Pair((FERRY,), CLAIM)]
    scores = NliJudge(model).score(pairs)
    for pair, score in zip(pairs, scores, strict=True):
        single = [model.probabilities([(text, pair.claim)])[0] for text in readings(model, pair) or ()]
        assert score == pytest.approx(max(single), abs=2e-4)
    assert scores[0] is not None and scores[1] is not None


def test_a_claim_that_does_not_fit_is_left_unjudged_and_never_cut(model: EntailmentModel) -> None:
    long = " ".join(FILLER)
    assert model.room(long) < LEAST_ROOM
    scores = NliJudge(model).score([Pair((FERRY,), long), Pair((FERRY,), CLAIM), Pair((), CLAIM), Pair((" ",), CLAIM)])
    assert scores[0] is None and scores[1] is not None and scores[2:] == [0.0, 0.0]
