"""What a judge of likeness cannot settle: who did what to whom, whether it was denied, how much of it there was.

A statement that differs from its passage in one such word scores as high as a true one. Here its words are compared with the
sentence of the passage that is most like it. This finds what words show, and says nothing where it sees nothing: it settles
nothing by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from data.sentences import split_sentences

_WORD = re.compile(r"[A-Za-z]+(?:[’'][a-z]+)?|\d[\d,.]*\d|\d")
_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen "
    "nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_NUMERALS = {word: str(n) for n, word in enumerate(_ONES.split())} | {
    word: str(10 * n) for n, word in enumerate(_TENS.split(), 2)
}
_WHOLES = (
    frozenset(("all", "every", "each", "both", "everyone", "entire")),
    frozenset(("none", "no", "nobody", "neither")),
    frozenset(("most", "majority")),
    frozenset(("half",)),
)
_DENIED = re.compile(
    r"\b(?:not|never|no|none|nobody|neither|nor|without|cannot|\w+n[’']t|unable|failed to|refused|denied|denies|ruled out)\b",
    re.I,
)
_OPPOSITES = [
    (frozenset(a.split()), frozenset(b.split()))
    for a, b in (
        (
            "admitted admits confessed accepted accepts approved approves confirmed",
            "rejected rejects denied denies refused dismissed",
        ),
        ("favour favor supported backed", "against opposed oppose"),
        ("boy boys", "girl girls"),
        ("man men", "woman women"),
        ("father", "mother"),
        ("son sons", "daughter daughters"),
        ("brother", "sister"),
        ("husband", "wife"),
        ("he his him", "she her hers"),
        (
            "rose risen increased grew higher gained more up",
            "fell fallen decreased dropped declined lower lost less fewer down",
        ),
        ("won wins beat defeated victory", "lost loses defeat"),
        ("before earlier", "after later"),
        ("first", "last second third"),
        ("north northern", "south southern"),
        ("east eastern", "west western"),
        ("left", "right"),
        ("opened reopened open", "closed shut closed"),
        ("began started begins", "ended finished stopped ends"),
        ("arrested detained jailed", "released freed"),
        ("guilty convicted", "innocent acquitted cleared"),
        ("above over", "below under"),
        ("survived alive", "died dead killed"),
        ("buyer bought", "seller sold"),
        ("minimum least", "maximum most"),
        ("public", "private"),
        ("temporary temporarily", "permanent permanently"),
        ("import imports imported", "export exports exported"),
        ("allowed permitted", "banned forbidden prohibited"),
    )
]
_WEIGHTY = {
    word: group
    for group in (
        frozenset(["charged", "charge", "charges", "indicted", "prosecuted"]),
        frozenset(["convicted", "guilty", "sentenced", "jailed", "imprisoned"]),
        frozenset(["arrested", "detained", "custody"]),
        frozenset(["resigned", "resignation", "quit", "stepped"]),
        frozenset(["killed", "died", "dead", "deaths", "death", "kill", "fatal", "fatalities", "victims", "toll"]),
        frozenset(["injured", "hurt", "wounded", "injuries", "injury"]),
        frozenset(["confessed", "confession", "admitted", "admits"]),
        frozenset(["acquitted", "cleared", "innocent"]),
        frozenset(["banned", "ban", "bans", "outlawed", "prohibited"]),
        frozenset(["bankrupt", "bankruptcy", "insolvent", "insolvency"]),
    )
    for word in group
}
_HEDGED = re.compile(r"\b(?:alleged(?:ly)?|suspected|suspect|reportedly|might|possibly|rumou?red|unconfirmed)\b", re.I)
_NAME = re.compile(r"\b[A-Z][\w’'-]+(?: [A-Z][\w’'-]+)*")
_PASSIVE = re.compile(r"\b(?:by|from|was|were|been)\b")


def unsettled(statement: str, passage: str, pages: str = "") -> str:
    """What of a statement its passage leaves open, in a few words; "" where nothing is seen. Numbers may be anywhere in
    `pages`, all that its pages say, days of publication included."""
    sentences = split_sentences(passage)
    if not sentences:
        return ""
    ours = _words(statement)
    near = max(sentences, key=lambda one: len(set(ours) & set(_words(one))) / (3 + len(set(_words(one))) ** 0.5))
    theirs, whole = _words(near), _words(f"{passage} {pages}")
    return (
        _quantity(ours, whole)
        or _opposite(ours, theirs)
        or _weight(ours, whole)
        or _denial(statement, near, ours, theirs)
        or _roles(statement, near)
    )


def _words(text: str) -> list[str]:
    found = [word.lower().replace(",", "").rstrip(".") for word in _WORD.findall(text.replace("-", " "))]
    return [_NUMERALS.get(word, word.lstrip("0") or "0") for word in found]


def _quantity(ours: Sequence[str], whole: Sequence[str]) -> str:
    known = set(whole)
    absent = [word for word in ours if word[0].isdigit() and word not in known]
    if absent:
        return f"its number {absent[0]} is not there"
    for group in _WHOLES:
        said = [word for word in ours if word in group]
        if said and not group & known:
            return f"“{said[0]}” is not there"
    return ""


def _opposite(ours: Iterable[str], theirs: Iterable[str]) -> str:
    here, there = set(ours), set(theirs)
    for pair in _OPPOSITES:
        for one, other in (pair, pair[::-1]):
            said, found = one & here, other & there
            if said and found and not one & there and not other & here:
                return f"it says “{min(said)}”, the page “{min(found)}”"
    return ""


def _weight(ours: Iterable[str], whole: Iterable[str]) -> str:
    known = set(whole)
    said = next((word for word in ours if word in _WEIGHTY and not _WEIGHTY[word] & known), "")
    return f"“{said}” is not there" if said else ""


def _denial(statement: str, near: str, ours: Sequence[str], theirs: Sequence[str]) -> str:
    """Said with a denial and without one, of sentences that are alike; and flatly, where the page only supposes it."""
    alike = len(set(ours) & set(theirs)) >= 0.6 * len(set(ours))
    if alike and bool(_DENIED.search(statement)) != bool(_DENIED.search(near)):
        return "one of the two denies it"
    if alike and _HEDGED.search(near) and not _HEDGED.search(statement):
        return f"the page says “{_HEDGED.search(near)[0]}”"  # type: ignore[index]
    return ""


def _between(text: str, one: str, other: str) -> set[str]:
    start, end = sorted((text.find(one), text.find(other)))
    return {word[:5] for word in _words(text[start:end]) if len(word) >= 4 and word not in _words(f"{one} {other}")}


def _roles(statement: str, near: str) -> str:
    """The same two names the other way round, and no passive voice that would account for it."""
    here = [name.removeprefix("The ") for name in _NAME.findall(statement)]
    shared = [name for name in dict.fromkeys(here) if near.find(name) >= 0][:2]
    if len(shared) < 2 or bool(_PASSIVE.search(statement)) != bool(_PASSIVE.search(near)):
        return ""
    first, second = shared
    between, there = (_between(text, first, second) for text in (statement, near))
    if not between & there:  # nothing that one does to the other
        return ""
    return f"{first} and {second} stand the other way round" if near.find(first) > near.find(second) else ""
