"""Which language a text is in: what py3langid guesses, and where it is known better."""

from __future__ import annotations

import tempfile
from functools import lru_cache

from data.errors import UserError
from data.pages.blocks import PHRASES

_LANGUAGES = frozenset(PHRASES["languages"].split())
_ENGLISH = frozenset(PHRASES["english_words"].split())


@lru_cache(maxsize=1)
def _identifier():  # type: ignore[no-untyped-def]  # py3langid has no type hints
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    try:
        identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    except OSError as error:  # it unpacks its model there
        where = f"{tempfile.gettempdir()}: {error.strerror}" if error.strerror else str(error)
        raise UserError(f"cannot tell languages, for want of room in {where}; make room there, or set TMPDIR") from None
    identifier.set_languages(sorted(_LANGUAGES & set(identifier.labels)))
    return identifier


def identify_language(text: str) -> tuple[str, float]:
    """(ISO 639-1 code, probability from 0 to 1) of a text, by py3langid. Of a few words it is a guess."""
    code, probability = _identifier().classify(text)
    return str(code), float(probability)


def language_of(text: str, hint: str | None) -> tuple[str, bool]:
    """(ISO 639-1 code, whether to act on it). Prose decides where there is any: names in lists look like any language."""
    prose = "\n".join(line for line in text.split("\n") if len(line) >= 80)
    sample = (prose if len(prose) >= 200 else text)[:3000]
    if len(sample) < 200:  # too few letters to tell languages by: the page's own `lang` is asked
        return (hint or "und").split("-")[0].lower(), hint is not None
    words = sample.lower().split()
    english = sum(1 for word in words if word in _ENGLISH)
    code, probability = _identifier().classify(sample)
    # function words of English stay where foreign names mislead the identifier
    if code != "en" and english >= 0.12 * len(words):
        return "en", True
    return str(code), float(probability) >= 0.5
