"""The lexical scores of WikiGenBench (arXiv 2402.18264) as its published `metrics/metrics.py` computes them.

They differ from the paper's text (which names NLG-eval) and from profile `clean`: the raw reference with its heading lines
is compared to the raw generated text with `[1]` markers and `==Heading==` lines, tokens are whatever is between white
space, and an exception scores 0. Only the averaging is ours: a missing article counts as 0 there, too. ROUGE-1 and ROUGE-2
come from the same package; the script prints ROUGE-L alone.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from data.errors import UserError
from eval.catalogue import directions
from eval.metric import Case
from eval.metrics.rouge import bit_positions
from eval.text import porter_stem

MAX_STEPS = 989
"""Steps of the `rouge` package's recursive backtrack that fit under Python's limit of 1,000 frames when it is called as the
script calls it. One more raises RecursionError there, which the script scores 0: long lists without a full stop do that."""


class WgbLexical:
    """BLEU-1, BLEU-4, METEOR and ROUGE in the published form.

    METEOR matches exact words and Porter stems. Give the folder of a WordNet database (index.noun, data.noun, ...) to add
    its synonym stage, as the authors had it; the score then rises by one to one and a half points, so the signature says so.
    """

    names = directions(*(f"wgb_{name}" for name in ("bleu1", "bleu4", "meteor", "rouge1", "rouge2", "rougeL")))

    def __init__(self, wordnet: Path | None = None) -> None:
        self._wordnet = wordnet
        self._synonyms: Any = _NoSynonyms() if wordnet is None else open_wordnet(wordnet)

    @property
    def signature(self) -> str:
        wordnet = "off" if self._wordnet is None else "on"
        return f"wgb:tok=space|bleu=nltk,unsmoothed|meteor=nltk,stem,wordnet={wordnet}|rouge=1.0.1|v1"

    def score(self, case: Case) -> dict[str, float | None]:
        from data.markup import render_text

        written, gold = render_text(case.article), case.gold.raw
        bleu1, bleu4 = bleu(written, gold)
        rouge1, rouge2, rouge_l = rouge_package(written, gold)
        return {
            "wgb_bleu1": bleu1,
            "wgb_bleu4": bleu4,
            "wgb_meteor": meteor(written, gold, self._synonyms),
            "wgb_rouge1": rouge1,
            "wgb_rouge2": rouge2,
            "wgb_rougeL": rouge_l,
        }


def bleu(written: str, gold: str) -> tuple[float, float]:
    """(BLEU-1, BLEU-4) of nltk's `sentence_bleu` on white-space tokens, one reference, no smoothing."""
    from nltk.translate.bleu_score import sentence_bleu

    scores = sentence_bleu(
        [gold.split()], written.split(), weights=[(1, 0, 0, 0), (0.25, 0.25, 0.25, 0.25)], smoothing_function=_unsmoothed
    )
    return float(scores[0]), float(scores[1])


def _unsmoothed(precisions: Sequence[Any], **_: object) -> list[Any]:
    """nltk's `method0`, which is its default, without the warning that it prints for every short text."""
    return [p if p.numerator else sys.float_info.min for p in precisions]


def meteor(written: str, gold: str, synonyms: Any) -> float:
    """nltk's METEOR (alpha 0.9, beta 3, gamma 0.5) on white-space tokens; `synonyms` answers `synsets(word)`."""
    from nltk.translate.meteor_score import single_meteor_score

    return float(single_meteor_score(gold.split(), written.split(), stemmer=_CachedStemmer, wordnet=synonyms))


class _CachedStemmer:
    stem = staticmethod(porter_stem)


class _NoSynonyms:
    def synsets(self, word: str) -> list[Any]:
        return []


def open_wordnet(folder: Path) -> Any:
    """nltk's reader on a WordNet folder, nltk's own or the dictionary files of a Linux distribution. Raises UserError."""
    missing = [name for name in ("data.noun", "index.noun", "data.adj", "noun.exc") if not (folder / name).is_file()]
    if missing:
        raise UserError(
            f"{folder} is not a WordNet folder (no {', '.join(missing)}); leave WordNet out or name its `dict` folder"
        )
    import nltk.data
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    class Reader(WordNetCorpusReader):  # type: ignore[misc]
        def map_wn(self, version: str = "wordnet") -> None:
            """Offsets of WordNet 3.0 matter to the multilingual data only, which METEOR does not use."""

        def open(self, file: str) -> Any:
            if file == "lexnames" and not (folder / file).exists():  # names of the lexicographers' files; distributions omit it
                return StringIO("".join(f"{i:02d} file{i} 1\n" for i in range(45)))
            return super().open(file)

    if str(folder) not in nltk.data.path:  # nltk opens no file outside these roots
        nltk.data.path.append(str(folder))
    return Reader(str(folder), omw_reader=object())


class RougeF(NamedTuple):
    rouge1: float
    rouge2: float
    rouge_l: float


def rouge_package(written: str, gold: str, max_steps: int = MAX_STEPS) -> RougeF:
    """F of ROUGE-1, ROUGE-2 and ROUGE-L as `rouge` 1.0.1 gives them; 0 where it raises (an empty side, deep recursion).

    Its n-grams and words are *sets*, its sentences end at every ".", and its ROUGE-L is the union, over all pairs of
    sentences, of the words on one longest common subsequence.
    """
    written_sentences, gold_sentences = _pieces(written), _pieces(gold)
    if not written_sentences or not gold_sentences:
        return RougeF(0.0, 0.0, 0.0)
    a = [word for sentence in written_sentences for word in sentence]
    b = [word for sentence in gold_sentences for word in sentence]
    words_a, words_b = set(a), set(b)
    pairs_a, pairs_b = set(pairwise(a)), set(pairwise(b))
    union = union_lcs(gold_sentences, written_sentences, max_steps)
    return RougeF(
        _f(len(words_a & words_b), len(words_a), len(words_b)),
        _f(len(pairs_a & pairs_b), len(pairs_a), len(pairs_b)),
        0.0 if union is None else _f(len(union), len(words_a), len(words_b)),
    )


def _f(overlap: int, n_written: int, n_gold: int) -> float:
    precision = overlap / n_written if n_written else 0.0
    recall = overlap / n_gold if n_gold else 0.0
    return 2.0 * ((precision * recall) / (precision + recall + 1e-8))


def _pieces(text: str) -> list[list[str]]:
    # split(" ") of an empty piece gives one empty word, and the package counts it as a word
    return [" ".join(piece.split()).split(" ") for piece in text.split(".") if piece]


def union_lcs(gold: list[list[str]], written: list[list[str]], max_steps: int) -> set[str] | None:
    """Words on the longest common subsequence that the package reconstructs, over all sentence pairs; None if it raises.

    Only the union counts, so a pair is computed only while it may add a word: each common word looks for a pair that has
    it on its path. Long pairs are computed in any case, because they may exceed the recursion.
    """
    union: set[str] = set()
    done: set[tuple[int, int]] = set()
    for i, x in enumerate(gold):
        for j, y in enumerate(written):
            if len(x) + len(y) > max_steps:
                found, steps = lcs_path(x, y)
                if steps > max_steps:
                    return None
                union |= found
                done.add((i, j))
    in_gold, in_written = _sentences_by_word(gold), _sentences_by_word(written)
    for word in in_gold.keys() & in_written.keys():
        pairs = ((i, j) for i in in_gold[word] for j in in_written[word])
        while word not in union and (pair := next(pairs, None)) is not None:
            if pair not in done:
                done.add(pair)
                union |= lcs_path(gold[pair[0]], written[pair[1]])[0]
    return union


def _sentences_by_word(sentences: list[list[str]]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for i, sentence in enumerate(sentences):
        for word in set(sentence):
            found.setdefault(word, []).append(i)
    return found


def lcs_path(x: Sequence[str], y: Sequence[str]) -> tuple[set[str], int]:
    """Words on the package's path through the table of x and y, and how many steps the path has.

    It walks back from the end: diagonally where the words are equal, else up if the cell above is larger than the cell to
    the left, else left. At unequal words "above is larger" is "the row grows by one here", so one bit-vector per row
    (as in `lexical.lcs_length`) replaces the table.
    """
    full = row = (1 << len(y)) - 1
    positions = bit_positions(y)
    rows = [row]
    for word in x:
        if match := row & positions.get(word, 0):
            row = ((row + match) | (row - match)) & full
        rows.append(row)
    found: set[str] = set()
    i, j, steps = len(x), len(y), 0
    while i and j:
        steps += 1
        if x[i - 1] == y[j - 1]:
            found.add(x[i - 1])
            i, j = i - 1, j - 1
        elif rows[i] >> (j - 1) & 1:
            j -= 1
        else:
            i -= 1
    return found, steps
