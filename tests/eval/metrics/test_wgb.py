import os
import random
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from nltk.stem.porter import PorterStemmer
from nltk.translate.bleu_score import sentence_bleu
from nltk.translate.meteor_score import meteor_score

from data.errors import UserError
from eval.metrics.wgb import MAX_STEPS, WgbLexical, bleu, meteor, open_wordnet, rouge_package
from tests.eval.cases import case

UNLIMITED = 10**9


class NoSynonyms:
    def synsets(self, word: str) -> list[Any]:
        return []


@pytest.fixture
def deep_recursion() -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(200_000)
    yield
    sys.setrecursionlimit(before)


def random_texts(n: int) -> Iterator[tuple[str, str]]:
    """Pairs with full stops everywhere, empty sentences, repeated words and line breaks."""
    rng = random.Random(3)
    for _ in range(n):
        vocabulary = [f"Word{i}s" for i in range(rng.choice([2, 5, 25, 200]))]
        ends = [" ", " ", " ", ". ", "\n", ".", ". . ", " ing "]
        yield tuple("".join(w + rng.choice(ends) for w in rng.choices(vocabulary, k=rng.randint(1, 120))) for _ in range(2))  # type: ignore[misc]


def check_bleu_and_meteor(written: str, gold: str) -> None:
    tokens, reference = written.split(), gold.split()
    expected = (sentence_bleu([reference], tokens, weights=(1, 0, 0, 0)), sentence_bleu([reference], tokens))
    assert bleu(written, gold) == pytest.approx(expected, abs=1e-12)
    expected_meteor = meteor_score([reference], tokens, stemmer=PorterStemmer(), wordnet=NoSynonyms())
    assert meteor(written, gold, NoSynonyms()) == pytest.approx(expected_meteor, abs=1e-12)


def original_rouge(written: str, gold: str) -> list[float]:
    rouge = pytest.importorskip("rouge", reason="the original package is in the extra `compat`")
    scores = rouge.Rouge().get_scores(written, gold, avg=True)
    return [scores[name]["f"] for name in ("rouge-1", "rouge-2", "rouge-l")]


@pytest.mark.usefixtures("deep_recursion")
def test_rouge_equals_the_original_package() -> None:
    # "a b" and "b a" have two longest common subsequences; which word counts decides the union
    ties = [("a b. c", "b a. c"), ("x a y b", "b x a y"), ("a b c a", "c a b")]
    for written, gold in (*ties, *random_texts(20)):
        assert rouge_package(written, gold, UNLIMITED) == pytest.approx(original_rouge(written, gold), abs=1e-6)


def test_rouge_gives_up_where_the_original_overflows_its_stack() -> None:
    pytest.importorskip("rouge", reason="the original package is in the extra `compat`")
    # as deep in calls as the benchmark's own script
    script = textwrap.dedent("""
        import rouge
        def rouge_l(ref, cand):
            return rouge.Rouge().get_scores(cand, ref, avg=True)["rouge-l"]["f"]
        def compute_metrics_2(ref, cand):
            try:
                return rouge_l(ref, cand)
            except RecursionError:
                return "RecursionError"
        def main():
            for n in (988, 989):
                print(compute_metrics_2("r w", " ".join(["w"] + [f"h{i}" for i in range(n)])))
        main()
    """)
    # the path goes left along n unmatched words, then one diagonal step matches "w": n + 1 steps
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    fits, overflows = (rouge_package(" ".join(["w"] + [f"h{i}" for i in range(n)]), "r w") for n in (988, 989))
    value, error = run.stdout.split()
    assert float(value) == pytest.approx(fits.rouge_l, abs=1e-12) and fits.rouge_l > 0
    assert error == "RecursionError" and overflows.rouge_l == 0.0
    assert overflows.rouge1 > 0
    assert MAX_STEPS == 989


@pytest.mark.filterwarnings(r"ignore:\s*The hypothesis contains 0 counts")
def test_bleu_and_meteor_equal_nltk() -> None:
    for written, gold in random_texts(60):
        check_bleu_and_meteor(written, gold)


def test_synonyms_count_when_a_wordnet_folder_is_given_and_an_empty_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"index\.noun"):
        WgbLexical(wordnet=tmp_path)
    write_wordnet(tmp_path, [("car", "auto"), ("storm", "tempest", "big_storm")])
    metric = WgbLexical(wordnet=tmp_path)
    scored = case("a tempest hit", "a storm hit")
    with_synonyms, without = metric.score(scored)["wgb_meteor"], WgbLexical().score(scored)["wgb_meteor"]
    assert with_synonyms is not None and without is not None and with_synonyms > without
    assert "wordnet=on" in metric.signature and "wordnet=off" in WgbLexical().signature
    reference, written = scored.gold.raw.split(), ["a", "tempest", "hit"]
    assert with_synonyms == pytest.approx(meteor_score([reference], written, wordnet=open_wordnet(tmp_path)))


def write_wordnet(folder: Path, synsets: list[tuple[str, ...]]) -> None:
    """A noun database in WordNet's file format; the other parts of speech are empty."""
    for part in ("noun", "verb", "adj", "adv"):
        for name in (f"data.{part}", f"index.{part}", f"{part}.exc"):
            (folder / name).write_text("")
    data, index = "", ""
    for names in synsets:
        offset = len(data)
        lemmas = " ".join(f"{name} 0" for name in names)
        data += f"{offset:08d} 03 n {len(names):02x} {lemmas} 000 | a gloss\n"
        index += "".join(f"{name} n 1 0 1 0 {offset:08d}\n" for name in names)
    (folder / "data.noun").write_text(data)
    (folder / "index.noun").write_text(index)


@pytest.mark.slow
@pytest.mark.skipif("WIKIGEN_DATA" not in os.environ, reason="set WIKIGEN_DATA to the benchmark's data folder")
@pytest.mark.timeout(900)
@pytest.mark.filterwarnings(r"ignore:\s*The hypothesis contains 0 counts")
@pytest.mark.usefixtures("deep_recursion")
def test_equal_to_the_originals_on_real_articles() -> None:
    from data.gold import load_gold
    from data.snapshot import Snapshot

    snapshot = Snapshot(Path(os.environ["WIKIGEN_DATA"]))
    for event_id in random.Random(0).sample(snapshot.ids("search"), 20):
        gold = load_gold(snapshot, event_id).raw
        written = " ".join(" ".join(page.body for page in snapshot.raw_pages(event_id, "search")).split()[:900])
        if not written:
            continue
        assert rouge_package(written, gold, UNLIMITED) == pytest.approx(original_rouge(written, gold), abs=1e-6)
        check_bleu_and_meteor(written, gold)
