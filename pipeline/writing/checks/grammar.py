"""Whether a text has the form of a sentence: whole, in English, with a subject and a verb, and without slips.

The rules know the slips of small language models. The facts of a text serve to leave alone what is already so in them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from data.sentences import split_sentences
from pipeline.choosing.candidates import has_personal_words
from pipeline.choosing.common_words import is_common
from pipeline.choosing.verbs import VERBS, has_verb, verb_groups
from pipeline.retrieval import terms
from pipeline.writing.checks.compared_words import QUOTED, WORD, bare, bare_words, name_words, stem_of
from pipeline.writing.citing import is_own_talk
from pipeline.writing.steps import is_spliced
from pipeline.writing.steps.sentence_parts import MONTH
from pipeline.writing.wordings import listed_words

LONGER = 1.6
"""Times the facts' length from which a text says more than they do."""
_ENDED = re.compile(r"[.!?][\"'”’)\]]*\Z")


def _triples(words: Sequence[str]) -> Counter[tuple[str, ...]]:
    return Counter(zip(words, words[1:], words[2:], strict=False))


_FROM_TO_ITSELF = re.compile(r"\bfrom ([A-Z]\w+) to \1\b")
_MIXED_RANGE = re.compile(r"\d ?[–-] ?(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve)\b", re.I)


_LOPSIDED = re.compile(r"\w+ /\w+|\w+/ \w+")
"""A model's way to write what it copies otherwise: "Osmere /Kettlin" for "Osmere / Kettlin"."""


def form_faults(text: str, facts: Sequence[str]) -> list[str]:
    """What keeps a text from being whole sentences of an article, each in words; the facts tell what repeats and is quoted."""
    faults = []
    if match := _MIXED_RANGE.search(text):
        faults.append(f"broken English: {match.group()!r}")
    words = text.split()
    if not _ENDED.search(text):
        faults.append("it does not end as a sentence does")
    if len(words) < 4:
        faults.append("too short for a sentence")
    if len(words) > LONGER * sum(len(f.split()) for f in facts) + 6:
        faults.append("longer than its facts")
    said = " ".join(facts)
    if any(match.group() not in said for match in _LOPSIDED.finditer(text)):
        faults.append("a space is missing beside a slash")
    # Without figures, whose place in a date may be another.
    spelled, held = ([word for word in bare_words(one).split() if not word.isdigit()] for one in (text, said))
    known = _triples(held)
    # A sentence that was divided may open with the name that the one before it ends with.
    opened = Counter(tuple(bare_words(sentence).split()[:3]) for sentence in split_sentences(text)[1:])
    if any(n - opened[triple] > max(known[triple], 1) for triple, n in _triples(spelled).items()):
        faults.append("it repeats itself")
    elif _named_again(text, said):
        faults.append("it says a name twice")
    elif _FROM_TO_ITSELF.search(text) or any(
        text.count(number) > max(said.count(number), 1) for number in set(re.findall(r"\d[\d,.]*\d|\d{2,}", text))
    ):
        faults.append("it says a name or a number twice")
    if (is_own_talk(text) and not is_own_talk(said)) or ((talk := _TALK.search(text)) and talk.group() not in said):
        faults.append("it speaks of the writing, not of the subject")
    if has_personal_words(text):
        faults.append("first or second person")
    if not text[:1].isupper() and not text[:1].isdigit() and text[:1] not in "\"“'‘":
        faults.append("it begins inside of a sentence")
    if sum(text.count(c) for c in "“") != sum(text.count(c) for c in "”") or text.count('"') % 2:
        faults.append("a quotation that is not closed")
    marks = [q.strip('"“”«» .,') for q in QUOTED.findall(text)]
    # Words that are quoted nowhere are no quotation: “signs of” and “vanity” for signs of “insecurity” and “vanity”.
    quoted = bare_words(" ".join(QUOTED.findall(said))) or bare_words(said)
    if any(q and bare_words(q) not in quoted for q in marks):
        faults.append("words in quotation marks that no fact quotes")
    if len(words) > 12 and not text.isascii() and sum(c.isascii() for c in text) < 0.8 * len(text):
        faults.append("another language")
    return faults


def _named_again(text: str, said: str) -> bool:
    """Whether a name stands more often in one sentence than in the facts: "The Shreek, the creature, the Shreek, came"."""
    held = Counter(word for word in WORD.findall(said) if word[:1].isupper())
    return any(
        n > max(held[word], 1)
        for sentence in split_sentences(text)
        for word, n in Counter(word for word in WORD.findall(sentence) if word[:1].isupper() and len(word) > 3).items()
    )


_TALK = re.compile(
    r"\b(?:the|this|these|following|given|above|provided) (?:article|section|passages?|evidence|facts?|topic|text|sentences?|"
    r"statements?|paragraph|summary|information)\b (?:is|are|was|were|has|have|had|says?|states?|describes?|provides?|"
    r"mentions?|"
    r"discusses|contains?|above|below|does|do|did|about|of|on)\b|^(?:Topic|Facts?|Here|Note|Rewritten|Summary|Answer)\b\s?:?",
    re.I,
)


_WRONG_ARTICLE = re.compile(
    r"\b[Aa] [AEIOaeio](?!ne\b|nce\b|u|wn)\w+|\b[Aa]n (?![aeiouhAEIOUH\d“\"'‘]|[A-Z]\b|[FLMNRSX][A-Z])\w+|"
    r"\b[Aa]n (?:uni(?!n|m)|use|eu|one\b)\w*"
)
"""Its vowel is another one since the word behind it was changed."""


def grammar_faults(text: str, known: str) -> list[str]:
    """The slips that small models make when they turn sentences round, each in words; a parser would find more.

    `known` is all that the text may say: what is already so there is no slip.
    """
    faults = []
    sentences = split_sentences(text)
    for n, sentence in enumerate(sentences):
        words = WORD.findall(QUOTED.sub(" Title ", sentence))  # “Lux” sees the Doctor: a title may be the subject
        if not has_verb(words):
            faults.append(f"no verb: {sentence[:40]!r}")
        elif (match := _RELATIVE_ALONE.search(sentence) or _ONLY_RELATIVE.fullmatch(sentence)) and (
            verb_groups(match[1]) == 1 and has_verb(["that", *match[1].split()[:1]])
        ):
            faults.append(f"no main verb: {sentence[:40]!r}")
        if words and _opens_with_verb(words):
            faults.append(f"no subject: {sentence[:40]!r}")
        if is_spliced(sentence) and not any(is_spliced(fact) for fact in split_sentences(known)):
            faults.append(f"two sentences with a comma between them: {sentence[:40]!r}")
        if n == 0 and _LEANING.match(sentence):
            faults.append(f"it leans on a sentence before it: {sentence[:40]!r}")
    if broken := [match.group() for match in _BROKEN.finditer(text) if match.group() not in known]:
        faults.append(f"broken English: {broken[0]!r}")
    held = name_words(known)
    strange = [
        word
        for word in WORD.findall(text)
        if word.islower()
        and word.isalpha()
        and len(word) > 3
        and bare(word) not in held
        and not is_common(word)
        and stem_of(word) not in held
        and word not in listed_words()
    ]
    # "Missy bevered his marriage": a verb made of a name has the name's stem.
    small = {stem_of(word) for word in WORD.findall(known) if word.islower()}
    plain = set(known.lower().split())
    strange += [
        word
        for word in WORD.findall(text)
        if word.islower()
        and len(word) > 3
        and not is_common(word)
        and word not in plain
        and stem_of(word) not in small
        and stem_of(word) in held
        and word not in strange
    ]
    in_text, in_known = (
        Counter(stem_of(w) for w in _long_words(t.replace("-", " ").replace("per cent", "percent"))) for t in (text, known)
    )
    # A sentence that was divided names its subject again: "The plan was for the bank. The bank had asked for it."
    again = Counter(stem_of(w) for s in sentences[1:] for w in WORD.findall(s)[:4])
    if twice := [stem for stem, n in in_text.items() if n - again[stem] > max(in_known[stem], 1)]:
        # "a charge by the demonstrators on the demonstrators": a word has taken another one's place.
        faults.append(f"said more often than its facts do: {', '.join(twice)}")
    if (match := _WRONG_ARTICLE.search(QUOTED.sub(" ", text))) and match.group() not in known:
        faults.append(f"broken English: {match.group()!r}")
    if strange:
        faults.append(f"no common word, and in no fact: {', '.join(strange)}")
    return faults


def _long_words(text: str) -> list[str]:
    """Words in small letters of five letters or more, and of four where they are no mere function words."""
    return [word for word in WORD.findall(text) if word.islower() and (len(word) > 4 or (len(word) == 4 and bool(terms(word))))]


def _opens_with_verb(words: Sequence[str]) -> bool:
    first = words[0].lower()
    if first not in VERBS or first in _MAY_OPEN:
        return False
    return len(words) < 2 or words[1].lower() not in _AFTER_PARTICIPLE


_MAY_OPEN = frozenset(("born", "made", "will", "may", "can", "have", "left", "is", "are", "was", "were"))
_AFTER_PARTICIPLE = frozenset(("by", "in", "as", "to", "with", "from", "on", "at", "between", "for", "near", "after", "of"))
_LEANING = re.compile(r"(?:They|It was (?:also|then)|This|These|That|Those|He|She|His|Her|Their|Its|Also|Both)\b")
_RELATIVE_ALONE = re.compile(r"(?:\A|, )(?:an?|the) (?:\w+ ){1,4}?that ((?:[^,]|,\d)+), and ", re.I)
"""A subject with a clause of its own and no verb: "A blade that should have been used, and that is why"."""
_ONLY_RELATIVE = re.compile(r"(?:An?|The) (?:[\w’'-]+ ){1,6}?(?:that|which|who) ([^,;]+)\.")
""" "A new line that brought fans to the track." """
_BROKEN = re.compile(
    r"\d, (?:million|billion|thousand)\b|\b(?:to|on|in|of|from) \d{1,2}, (?:19|20)\d\d\b|"
    r"\b(?:has|have|had) (?:reached|entered|joined)[.,;]|"
    r"\b(?:he|she|they|it|who) (?:chosen|gone|taken|given|begun|written|seen|done|shown|known|driven|fallen)\b|"
    r"\b(?:since|because|as|while|when) (?:it|he|she|they) (?!bring|sing|ring|swing|cling|being)\w{2,}ing\b|"
    r"\A(?:Before|After), |\AAmong [^,]+? (?:has|have) been \w+ed\b|\bthat (?:[a-z’'-]+ ){2,12}?[a-z’'-]+:|"
    r"\b(?:an?|the) (?:an?|the)-|\AOnce (?:won|had|was|is)\b|\bthe (?:online|inside|outside)[.,]|"
    r"\bIt was (?![^.;]{0,60}\b(?:that|who|which|when|where|after|before)\b)[^,.;]{3,60} (?:was|were) |\bwith \d{1,2}:\d{2}\b|"
    r"\b(\w+) \1\b(?<!had had)(?<!that that)|"
    r"\b(?:of|in|on|at|by|for|from|with|to|into|onto|inside|the|an?|and|or|is|was|were|had) ?[.,;](?=\s|\Z)|"
    r"\b(?:the|an?) (?:of|in|on|at|by|for|and|or|was|were|is|are|had|to|that|which|who|the|an?)\b|"
    r"\bwith (?:[\w’'-]+,? ){1,6}?(?:lost|had|were|was|did|went|came|has|is|are)\b|"
    r"\b(?:in|of|at|by|from) (?:on|at|of|was|were|had|is)\b|\bon (?:on|in|at|of|was|were)\b|"
    r"\b[Tt]here (?:was|were) (?:[\w’'-]+ ){1,6}(?:was|were)\b|"
    r"\b(?:was|were|is|are|been|being|has|have|had) (?:became|began|went|took|gave|saw|wrote|chose|fell|drove|broke|"
    r"spoke|ate|drew|flew|grew|knew|rose|shook|stole|threw|wore|swam|sang|sank|rang|was|were|did)\b|"
    r"\b(?:was|were) (?:was|were|had|is|did)\b|\b(?:to|would|could|will) (?:was|were|had been|is)\b|"
    rf"\b(?:[Ii]n|[Aa]t) \d{{1,2}} {MONTH}\b|\b[Aa]t {MONTH}\b|\b[Oo]n {MONTH}(?! \d)\b|"
    rf"\b[Ii]n {MONTH} \d{{1,2}}\b(?!,? \d)|\bthat (?:the|an?|his|her|their) \w+ to [a-z]+\b|"
    r"\b(?:[Tt]hem|[Hh]im|[Uu]s) (?:was|were|is|are|had)\b|^Since \d{4}, [^,]*\b(?:was|were)\b|"
    r"\b(?:says|said) that [“\"][a-z]+s?[”\"]|"
    r"\bAccording to [^,]{1,80}\b(?:said|stated)\b|\s,|,,|\(\s*\)|[a-z]{3}\. [a-z]|(?:^|\. )Only to [a-z]+|"
    r", (?:In|On|At|After|Before|During|From) (?=[“\"A-Z])",
)
