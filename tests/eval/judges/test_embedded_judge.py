"""The default judge, with its own network and with one whose readings are known."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from data import codec
from data.errors import UserError
from decoding.api import SupportReader, SupportReading
from decoding.support.reader import MiniLmReader, judge_reader
from eval.judges.embedded_judge import HOPELESS, MODEL_FILE, EmbeddedJudge, EmbeddedModel, Verdict
from eval.judges.judge import CachedJudge, Judge, Pair
from eval.judges.lexical_judge import LexicalJudge
from flows.wiring.judges import judge_card

FERRY = (
    "The ferry Marisol sank on Lake Tanda on 14 March 2019 with 1,240 people aboard. Captain Jonas Weller had warned the "
    "owner, Tanda Lines, about the damaged hull two weeks earlier. The first rescue boats reached the wreck after fifty "
    "minutes."
)
FLOOD = (
    "2031 Tolvane flood\nThe 2031 Tolvane flood struck the town of Tolvane in northern Karsia on 3 April 2031, after three "
    "days of heavy rain. The river Ister rose by six metres and 4,200 people left their homes."
)
WARNED = "Captain Jonas Weller told Tanda Lines two weeks before that the hull was damaged."
RENUMBERED = "The ferry Marisol sank on Lake Tanda on 14 March 2019 with 1,420 people aboard."
EXPLODED = "The ferry Marisol was lost when a boiler exploded near the northern shore."
HALF_KNOWN = "The ferry Marisol sank because the engine had exploded."
UNRELATED = "The Marisol served 300 bowls of soup to Pope Clemens and Queen Zenobia of Palmyra."
LONG = WARNED[:-1] + ", " + ", ".join(f"the {word} hull two weeks earlier" for word in ("damaged", "warned") * 12) + "."


@dataclass
class KnownReader:
    """The same reading for every pair; `doubted` are words of claims that lack support. None for claims above `most` words."""

    fingerprint: str
    support: float = 0.9
    doubted: tuple[str, ...] = ()
    most: int = 100
    name: str = "known"
    asked: list[str] = field(default_factory=list)

    def read(self, pairs: Sequence[tuple[str, tuple[str, ...]]], *, within: float = 0.0) -> list[SupportReading | None]:
        self.asked += [claim for claim, _ in pairs]
        return [self._reading(claim) for claim, _ in pairs]

    def _reading(self, claim: str) -> SupportReading | None:
        words = claim.split()
        if len(words) > self.most:
            return None
        spans, at = list[tuple[int, int, float]](), 0
        for word in words:
            start = claim.index(word, at)
            at = start + len(word)
            spans.append((start, at, 0.999 if word.strip(".,") in self.doubted else 0.02))
        return SupportReading(self.support, tuple(spans))


class Unreadable(KnownReader):
    def _reading(self, claim: str) -> SupportReading | None:
        raise AssertionError(f"the network was asked about {claim}")


def shipped() -> EmbeddedModel:
    return codec.read(EmbeddedModel, MODEL_FILE)


def known(support: float = 0.9, *doubted: str, most: int = 100) -> tuple[EmbeddedJudge, KnownReader]:
    reader = KnownReader(shipped().reader, support, doubted, most)
    same: SupportReader = reader
    return EmbeddedJudge(same), reader


@pytest.fixture(scope="module")
def unread() -> EmbeddedJudge:
    return EmbeddedJudge(Unreadable(shipped().reader))


@pytest.fixture(scope="module")
def judge() -> EmbeddedJudge:
    return EmbeddedJudge(judge_reader())


def score(judge: Judge, claim: str, *premises: str) -> float:
    (found,) = judge.score([Pair(premises, claim)])
    assert found is not None
    return found


# --- what is decided without the network ------------------------------------------------------------------------------


def test_what_words_decide_is_not_read_and_cannot_be_rescued(unread: EmbeddedJudge) -> None:
    pair = Pair((FLOOD, FERRY), "The first rescue boats reached the wreck after fifty minutes.")
    assert score(unread, pair.claim, *pair.premises) > 0.9
    verdict = unread.judge(pair)
    assert verdict is not None and (verdict.kind, verdict.words, verdict.doubtful) == ("supported", (), False)
    claim = "Bananas ripen quickly."
    for premises in ((FERRY,), ()):
        assert unread.score([Pair(premises, claim)]) == [0.0]
        assert unread.judge(Pair(premises, claim)) == Verdict("not_supported", 0.0, False, ((0, len(claim)),))
    assert score(LexicalJudge(), EXPLODED, FERRY) < LexicalJudge().threshold
    assert 0 < score(unread, EXPLODED, FERRY) < unread.threshold
    assert 0 < score(unread, UNRELATED, FERRY) < HOPELESS < unread.threshold


# --- what the network is asked ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rough", "exact", "n_read"), [(0.94, 0.999, 2), (0.96, 0.02, 2), (0.5, 0.999, 1), (0.999, 0.02, 1)])
def test_a_claim_is_read_again_in_full_where_a_rough_reading_decides_nothing(rough: float, exact: float, n_read: int) -> None:
    class Rough(KnownReader):
        def read(self, pairs: Sequence[tuple[str, tuple[str, ...]]], *, within: float = 0.0) -> list[SupportReading | None]:
            self.asked += [claim for claim, _ in pairs]
            chance = rough if within else exact
            return [SupportReading(0.5, ((0, len(claim.split()[0]), chance),)) for claim, _ in pairs]

    reader = Rough(shipped().reader)
    judge, claim = EmbeddedJudge(reader), "They" + WARNED.removeprefix("Captain Jonas Weller")
    found = score(judge, claim, FERRY)
    decides = exact if n_read == 2 else rough
    assert (found < judge.threshold) == (decides > judge.model.sure)
    assert reader.asked == [claim] * n_read


def test_the_three_kinds_and_the_words_that_lack_support() -> None:
    judge, _ = known(0.95)
    assert judge.judge(Pair((FERRY,), WARNED)) == Verdict("supported", score(judge, WARNED, FERRY), False, ())

    doubtful, _ = known(0.0, "engine", "exploded")
    verdict = doubtful.judge(Pair((FERRY,), HALF_KNOWN))
    assert verdict is not None and verdict.kind == "partially_supported"
    assert [HALF_KNOWN[a:b] for a, b in verdict.words] == ["engine", "exploded."]

    nothing, _ = known(0.0, *HALF_KNOWN.rstrip(".").split())
    verdict = nothing.judge(Pair((FERRY,), HALF_KNOWN))
    assert verdict is not None and verdict.kind == "not_supported" and verdict.probability < doubtful.threshold


def test_a_claim_too_long_is_judged_by_its_words(judge: EmbeddedJudge) -> None:
    brief, _ = known(most=5)
    (score_by_words,) = brief.score([Pair((FERRY,), WARNED)])
    assert 0 < score_by_words < 1 and brief.judge(Pair((FERRY,), WARNED)) is None
    strange, told = judge.score([Pair((FLOOD,), LONG), Pair((FERRY,), " ".join([FERRY.replace(".", ",")] * 6))])
    assert strange < judge.threshold < told  # one giant sentence is refused for what it says, not for its length
    assert judge.judge(Pair((FERRY,), LONG)) is None


# --- the shipped weights ----------------------------------------------------------------------------------------------

SANK = "With 1,240 people on board, the Marisol sank on Lake Tanda in March 2019."
ROSE = "In April 2031 the river Ister rose by six metres, and 4,200 people had to leave their homes."


@pytest.mark.parametrize(
    ("evidence", "claim", "old", "new"),
    [
        (FERRY, SANK, "1,240", "1,420"),
        (FERRY, WARNED, "two weeks", "three weeks"),
        (FLOOD, ROSE, "rose", "fell"),
        (FLOOD, ROSE, "4,200", "2,400"),
    ],
)
def test_a_paraphrase_is_accepted_and_its_edit_refused(
    judge: EmbeddedJudge, evidence: str, claim: str, old: str, new: str
) -> None:
    edited = claim.replace(old, new)
    assert score(judge, claim, evidence) > judge.threshold > score(judge, edited, evidence)


def test_another_ships_name_lowers_the_score_and_a_statement_about_the_article_is_not_accepted(judge: EmbeddedJudge) -> None:
    assert score(judge, SANK, FERRY) > score(judge, SANK.replace("Marisol", "Aurora"), FERRY) + 0.3
    assert score(judge, 'The article "2031 Tolvane flood" has no section.', FLOOD) < judge.threshold


@pytest.mark.parametrize(
    ("claim", "evidence"), [(WARNED, FERRY), (RENUMBERED, FERRY), (HALF_KNOWN, FERRY), (UNRELATED, FERRY), (ROSE, FLOOD)]
)
def test_marked_words_lie_inside_the_claim_and_a_supported_one_has_none(
    judge: EmbeddedJudge, claim: str, evidence: str
) -> None:
    verdict = judge.judge(Pair((evidence,), claim))
    assert verdict is not None
    assert (verdict.words == ()) == (verdict.kind == "supported") == (verdict.probability >= judge.threshold)
    assert all(0 <= a < b <= len(claim) and claim[a:b].strip() == claim[a:b] for a, b in verdict.words)
    assert verdict.probability == pytest.approx(score(judge, claim, evidence), abs=5e-3)


# --- files ------------------------------------------------------------------------------------------------------------


def test_a_model_of_other_features_or_another_network_and_broken_weights_say_how_to_fit_them_again(tmp_path: Path) -> None:
    def check(path: Path, load: Callable[[Path], object]) -> None:
        with pytest.raises(UserError, match=r"python -m tools\.fits\.fit_judge") as raised:
            load(path)
        assert str(path) in str(raised.value) and raised.value.exit_code == 2

    for change in ({"version": "lex0+read0"}, {"reader": "0123456789ab"}, {"lexical": "lex0-0123456789ab"}):
        (tmp_path / "other.json").write_text(json.dumps({**codec.to_plain(shipped()), **change}), encoding="utf-8")
        check(tmp_path / "other.json", lambda path: EmbeddedJudge(KnownReader(shipped().reader), path))
    (tmp_path / "broken.safetensors").write_bytes(b"no tensors")
    for name in ("missing.safetensors", "broken.safetensors"):
        check(tmp_path / name, MiniLmReader)


def test_what_it_said_is_remembered_and_its_card_is_found(tmp_path: Path) -> None:
    judge, reader = known()
    cached = CachedJudge(judge, tmp_path / "scores.sqlite")
    pairs = [Pair((FERRY,), claim) for claim in (WARNED, RENUMBERED)]
    first = cached.score(pairs)
    assert cached.score(pairs) == first == judge.score(pairs)
    assert CachedJudge(EmbeddedJudge(Unreadable(shipped().reader)), tmp_path / "scores.sqlite").score(pairs) == first
    assert reader.asked == [WARNED, WARNED]  # by the cache once, by the judge itself once
    card = judge_card(cached)
    assert card == codec.to_plain(shipped().card)
    assert card["wice"]["n_claims"] > 100 and card["citations"]["n_claims"] > 50 and card["edited_false"] < card["edited_true"]
