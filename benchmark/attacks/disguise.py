"""Attacks that disguise: text that reads the same and is other characters, or that is in no language the benchmark scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count

from benchmark.attacks.given import Given, each_sentence
from data.types import Article

ZERO_WIDTH_JOINER = "\u200d"
SOFT_HYPHEN = "\u00ad"
RIGHT_TO_LEFT, END = "\u202e", "\u202c"

HOMOGLYPHS = str.maketrans("aceopxyiABCEHKMOPTXS", "асеорхуіАВСЕНКМОРТХЅ")
"""Latin letters to Cyrillic ones that look alike."""
GREEK = str.maketrans(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "αβκδεφγηιζκλμνοπκρστυβωξψζΑΒΚΔΕΦΓΗΙΖΚΛΜΝΟΠΚΡΣΤΥΒΩΞΨΖ"
)
CYRILLIC = str.maketrans(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "абцдефгхийклмнопкрстуввхызАБЦДЕФГХИЙКЛМНОПКРСТУВВХЫЗ"
)
CHATTER = "As of the provided passages, "


def zero_width_joiners(given: Given) -> Article:
    """A zero-width joiner inside every word of four letters and more.

    Made against measures of copying, which compare words; a reader sees nothing.
    """
    return _spelt(given, lambda text: _inside(text, ZERO_WIDTH_JOINER))


def soft_hyphens(given: Given) -> Article:
    """A soft hyphen inside every word of four letters and more; made for the same end."""
    return _spelt(given, lambda text: _inside(text, SOFT_HYPHEN))


def homoglyphs(given: Given) -> Article:
    """Latin letters are replaced by Cyrillic ones that look alike; made for the same end."""
    return _spelt(given, lambda text: text.translate(HOMOGLYPHS))


def bidi_marks(given: Given) -> Article:
    """Every second word is reversed between marks that make a screen show it the right way round; made for the same end."""

    def turned(text: str) -> str:
        words = [
            f"{RIGHT_TO_LEFT}{word[::-1]}{END}" if n % 2 and word.isalnum() else word for n, word in enumerate(text.split())
        ]
        return " ".join(words)

    return _spelt(given, turned)


def in_greek_letters(given: Given) -> Article:
    """Every sentence in Greek letters, one for one.

    Found by reading: text in other scripts was invisible to measures, whose words are of a to z.
    """
    return _spelt(given, lambda text: text.translate(GREEK))


def in_cyrillic_letters(given: Given) -> Article:
    """Half of the sentences in Cyrillic letters, one for one: the rest, in Latin letters, scores as before."""
    numbers = count()
    return _spelt(given, lambda text: text.translate(CYRILLIC) if next(numbers) % 2 else text)


def machine_chatter(given: Given) -> Article:
    """Every sentence begins "As of the provided passages,".

    Found in articles of models: it is no encyclopedic prose, and no measure minded.
    """
    return _spelt(given, lambda text: f"{CHATTER}{text}" if text else text)


def _spelt(given: Given, change: Callable[[str], str]) -> Article:
    return each_sentence(given.article, lambda sentence: replace(sentence, text=change(sentence.text)))


def _inside(text: str, mark: str) -> str:
    return " ".join(f"{word[:2]}{mark}{word[2:]}" if len(word) > 3 else word for word in text.split(" "))
