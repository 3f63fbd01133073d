"""Words of a fact that came out in another form: "ant socially parasites", "brother" for "half-brother", "FedEx cup".

A small model changes letters where it means to change words. The stem is still the fact's, so that counting words sees nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from lemminflect import getAllLemmas, getInflection

from data.sentences import split_sentences
from pipeline.writing.checks.compared_words import PRONOUNS, QUOTED, WORD, stem_of

_PREFIXED = re.compile(r"\b((?:half|step|co|non|semi|vice|mid|pre|post|anti|self|re|un|two|three|four)-)([a-z]{3,})\b", re.I)
_STATES = re.compile(r"\b(?:is|was|are|were) (?:a|an|the|its|his|her|their)\b")
_DOES = re.compile(r"\b(?:host|boast|explore|feature|hold|house|ma[dk]e|w[io]n|bec[oa]me|includ)\w*\b")


def changed_words(text: str, facts: Sequence[str]) -> list[str]:
    """Faults of a text beside the facts that it says, each in words; quotations apart."""
    said, text = QUOTED.sub(" ", " ".join(facts)), QUOTED.sub(" ", text)
    faults = []
    if others := _other_forms(text, said):
        faults.append(f"another word of the same stem: {', '.join(others)}")
    low = text.lower()
    for match in _PREFIXED.finditer(said):
        if re.search(rf"(?<![\w-]){match[2]}\b", low) and match.group().lower() not in low:
            faults.append(f"without its prefix: {match.group()}")
    if small := _without_capital(text, said):
        faults.append(f"without its capital: {', '.join(small)}")
    came = {word for word in ("only", "most", "whose") if _times(word, text) > _times(word, said)}
    # "Only" said twice, "most" for "many"; "whose" turns a relation round.
    faults += [f'"{word}" came' for word, of in (("only", "only"), ("most", "many")) if word in came and _times(of, said)]
    if "whose" in came:
        faults.append('"whose" came')
    counts = [[len(pronouns.findall(one)) for pronouns in PRONOUNS] for one in (text, said)]
    if sum(counts[0]) == sum(counts[1]) and counts[0] != counts[1]:
        faults.append("he and she exchanged")
    if sum(counts[0]) > sum(counts[1]) and any(_times(many, text) < _times(many, said) for many in ("they", "them", "their")):
        faults.append("they became one")
    if "#" in said and text.count("#") < said.count("#") and not re.search(r"\b(?:No\.|number) ?\w", text, re.I):
        faults.append("# is gone")
    if re.search(r"\b(?:has|have) been \w+ed\b", said) and re.search(r"\b(?:is|are) being\b", text) and " been " not in text:
        faults.append('"has been" became "is being"')
    if len(_STATES.findall(text)) > len(_STATES.findall(said)) and len(_DOES.findall(text)) < len(_DOES.findall(said)):
        faults.append("what it does became what it is")
    return faults


def other_tenses(text: str, facts: Sequence[str]) -> tuple[str, ...]:
    """Verbs of the facts in another tense, as "before -> after": "decides, but she warns" -> "decides, but she warned".

    A large model puts a whole sentence into the past, as an encyclopedia has it; a small one a verb of it.
    """
    said, text = QUOTED.sub(" ", " ".join(facts)), QUOTED.sub(" ", text)
    old, new = (Counter(word for word in WORD.findall(one) if word.isalpha() and word.islower()) for one in (said, text))
    return tuple(
        f"{gone} -> {came}"
        for came in sorted(new - old)
        for gone in sorted(old - new)
        for lemma in getAllLemmas(came, upos="VERB").get("VERB", ())
        # an auxiliary that the fact has elsewhere may be needed once more: "built, and sold" as "built. It was sold"
        if lemma not in ("be", "have", "do") or not _times(came, said)
        if lemma in getAllLemmas(gone, upos="VERB").get("VERB", ()) and _tense(gone, lemma) != _tense(came, lemma)
    )


def _tense(word: str, lemma: str) -> str:
    if word.endswith("ing"):
        return "going on"
    past = (*getInflection(lemma, tag="VBD"), *getInflection(lemma, tag="VBN"))
    return "past" if word in past and word != lemma else "present"


def _times(word: str, text: str) -> int:
    return len(re.findall(rf"\b{word}\b", text, re.I))


def _other_forms(text: str, said: str) -> list[str]:
    """Words that stand between the neighbours of a fact's word, of its stem and no inflection of it."""
    placed = _between(said)
    held = set(WORD.findall(said.lower()))
    return sorted(
        f"{word} for {old}"
        for between, words in _between(text).items()
        for word in words - held
        for old in placed.get(between, ())
        if stem_of(word) == stem_of(old) and not _lemmas(word) & _lemmas(old) and not _alike(word, old)
    )


def _between(text: str) -> dict[tuple[str, str], set[str]]:
    """The word before and the word behind -> the words in small letters, longer than three, that stand between them."""
    found: dict[tuple[str, str], set[str]] = {}
    words = ["", *WORD.findall(text), ""]
    for before, word, behind in zip(words, words[1:], words[2:], strict=False):
        if word.isalpha() and word.islower() and len(word) > 3:
            found.setdefault((before.lower(), behind.lower()), set()).add(word)
    return found


def _lemmas(word: str) -> frozenset[str]:
    found = getAllLemmas(word)
    # "Claimed" is the verb alone, "claims" may be the noun: forms of one verb or of one noun are inflections.
    return frozenset(f"{kind}:{lemma}" for kind, lemmas in found.items() for lemma in lemmas) or frozenset((word,))


def _alike(word: str, old: str) -> bool:
    """Two adverbs of one stem, or British and American spelling."""
    plain = [re.sub(r"is(?=e|ing|ation)", "iz", w).replace("our", "or").rstrip("s") for w in (word, old)]
    return plain[0] == plain[1] or (word.endswith("ly") and old.endswith("ly"))


def _without_capital(text: str, said: str) -> list[str]:
    """Names by their place in the facts that the text has in small letters alone."""
    names = {word for sentence in split_sentences(said) for word in WORD.findall(sentence)[1:] if word[:1].isupper()}
    small = set(WORD.findall(said))
    words = WORD.findall(text)
    return sorted(
        name
        for name in names
        if len(name) > 2 and name.lower() in words and name not in words and name.lower() not in small and name[1:].islower()
    )
