"""False edits of clauses and of the order of words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

from eval.cards.edit_parts import (
    ALONE,
    CAP,
    Context,
    Edited,
    Span,
    balanced,
    body_and_end,
    one_of,
    replace_at,
    run_on,
    starts_plainly,
    with_capitals_of,
)
from eval.cards.name_edits import name_words
from eval.cards.order_forms import has_verb
from eval.cards.word_edits import past_verbs
from eval.judges.edit_words import (
    BASE_OF_PARTICIPLE,
    BASE_OF_PAST,
    CONSEQUENCES,
    DENIALS_AFTER,
    DENIALS_BEFORE,
    QUANTIFIERS,
    TRANSITIVE,
    words_of,
)
from eval.judges.features import STOPWORDS


def it_is_false(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    if not starts_plainly(text):
        return None
    opening = DENIALS_BEFORE[0] if rng.random() < 0.4 else rng.choice(DENIALS_BEFORE)
    return Edited(f"{opening} {run_on(text, context.page)}", '"It is false that"', ((0, len(opening)),))


def _append(text: str, clause: str, kind: str, joint: str = ", ") -> Edited | None:
    body, end = body_and_end(text)
    if not body or not end or not body[-1].isalnum() or not end.startswith("."):
        return None
    return Edited(f"{body}{joint}{clause}{end}", kind, ((len(body) + len(joint), len(body) + len(joint) + len(clause)),))


def later_proven_false(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    clause = DENIALS_AFTER[0] if rng.random() < 0.3 else rng.choice(DENIALS_AFTER)
    return _append(text, clause, "taken back at the end")


def invent_consequence(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    clause = rng.choice(CONSEQUENCES)
    joint = " " if clause.startswith(("in ", "at ", "to ", "with ", "because ")) and rng.random() < 0.5 else ", "
    return _append(text, clause, "invented consequence", joint)


def _other(context: Context, rng: Random) -> str | None:
    """Another sentence that can be behind a comma."""
    return one_of(
        rng,
        [
            s
            for s in context.others
            if starts_plainly(s) and balanced(s) and has_verb(s) and 5 <= len(s.split()) <= 40 and s.rstrip().endswith(".")
        ],
    )


def fuse(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    """The first clause of this sentence, then another sentence, or its second clause."""
    other = _other(context, rng)
    body, end = body_and_end(text)
    if other is None or not balanced(text) or not end.startswith("."):
        return None
    first = body
    parts = re.split(r", (?=and |but |while |which |who )|; ", body)
    if len(parts) > 1 and len(parts[0].split()) >= 6 and starts_plainly(parts[0] + " ") and rng.random() < 0.5:
        first = parts[0]
    tail = run_on(body_and_end(other)[0], context.page)
    second = re.split(r", (?:and|but|while) (?=(?:the|he|she|it|they|in|a)\b)|; ", tail)
    if len(second) > 1 and len(second[1].split()) >= 4 and rng.random() < 0.5:
        tail = second[1]
    joint = rng.choice([", and ", ", and ", ", while ", ", but ", "; "])
    start = len(first) + len(joint)
    if tail in text:
        return None
    return Edited(f"{first}{joint}{tail}.", "fused claims", ((start, start + len(tail)),))


_TAIL = re.compile(
    r"(?:, (?=(?:which|who|where|when|after|although|because|making|leading|causing|including|with|while|despite) )|"
    r" (?=(?:in|at|during|after|because of|due to|for|near|under|following|throughout|alongside|despite) (?:the|a|an|"
    r"his|her|its|their|[A-Z]|\d)))"
)


def insert_clause(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    """The last phrase or clause of another sentence at the end of this one."""
    tails = []
    for other in context.others:
        body, end = body_and_end(other)
        if not end.startswith(".") or not balanced(other):
            continue
        for m in _TAIL.finditer(body):
            tail = body[m.end() :]
            if m.group() == " " and ("," in tail or has_verb(tail) or len(tail.split()) > 8):
                continue
            if 3 <= len(tail.split()) <= 14 and tail not in text and balanced(tail):
                tails.append((m.group(), tail))
    choice = one_of(rng, tails)
    return _append(text, choice[1], "clause of another sentence inserted", choice[0]) if choice else None


def replace_verb(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    """A verb in the past becomes one of another sentence."""
    governing = re.compile(r" (?:the|a|an|his|her|its|their|\d|[A-Z])")
    one = one_of(
        rng, [m for m in past_verbs(text) if BASE_OF_PAST[m.group()] in _TAKE_OBJECTS and governing.match(text, m.end())]
    )
    if one is None:
        return None
    others = sorted({m.group() for s in context.others for m in past_verbs(s)} - {one.group()})
    others = [v for v in others if BASE_OF_PAST[v][:4] not in text and BASE_OF_PAST[v] in TRANSITIVE] or (
        [v for v in sorted(BASE_OF_PAST) if BASE_OF_PAST[v] in TRANSITIVE and v not in text] if rng.random() < 0.5 else []
    )
    new = one_of(rng, [v for v in others if (v, one.group()) not in _NEAR_VERBS and (one.group(), v) not in _NEAR_VERBS])
    return replace_at(text, one.span(), new, "verb replaced") if new else None


_TAKE_OBJECTS = TRANSITIVE | frozenset(
    words_of("""
    win lose lead take make receive use gain give send show tell want like paint sign visit
""")
)
_NEAR_VERBS = frozenset([
    ("built", "constructed"), ("founded", "established"), ("made", "created"), ("made", "produced"), ("wrote", "published"),
    ("won", "received"), ("bought", "acquired"), ("purchased", "acquired"), ("killed", "attacked"), ("seized", "captured"),
    ("occupied", "invaded"), ("led", "organized"), ("introduced", "created"), ("started", "founded"), ("began", "founded"),
    ("became", "received"), ("had", "employed"), ("used", "employed"),
])  # fmt: skip


def change_quantifier(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    choices: list[tuple[Span, str]] = []
    for old, new in QUANTIFIERS:
        for m in re.finditer(rf"(?<![\w-]){old}(?![\w-])", text, re.I):
            before, after = text[: m.start()], text[m.end() :]
            if old in ("some", "many", "most", "several", "all", "every", "few") and (
                not re.match(r" [a-z]+(?:s|men|women|people|children)\b", after)
                or re.search(r"\b(?:how|so|as|the|at|too|of|and|not|these|an?|very) $", before, re.I)
            ):
                continue
            if old == "most" and re.match(r" \w+(?:ous|less|ess|is)\b", after):
                continue
            if old in ("always", "often", "never") and re.search(r"\b(?:not|most|more|how|as|n't) $", before):
                continue
            if old == "one of the":
                choices.append((m.span(), with_capitals_of("the only one of the", m.group())))
                continue
            choices.append((m.span(), with_capitals_of(new, m.group())))
    for m in re.finditer(r"\b(?:one of|among) (?=the (?:most [a-z]+|[a-z]+est) [a-z]+s\b)", text):
        choices.append((m.span(), "clearly the greatest of "))
    choice = one_of(rng, choices)
    return replace_at(text, *choice, "quantifier changed") if choice else None


def _words_and_end(text: str) -> tuple[list[str], str]:
    body, end = body_and_end(text)
    return body.split(), end


def reverse_words(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    words, end = _words_and_end(text)
    return _whole(words[::-1], end, "words reversed", text)


def random_words(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    words, end = _words_and_end(text)
    mixed = list(words)
    rng.shuffle(mixed)
    return _whole(mixed, end, "words in random order", text)


def _whole(words: Sequence[str], end: str, kind: str, text: str) -> Edited | None:
    new = " ".join(words) + end
    return Edited(new, kind, ((0, len(new)),)) if len(words) >= 5 and new != text else None


def shuffle_locally(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    """Every window of three to six words in another order."""
    words, end = _words_and_end(text)
    if len(words) < 6:
        return None
    mixed: list[str] = []
    at = 0
    while at < len(words):
        size = rng.randint(3, 6)
        window = words[at : at + size]
        other = list(window)
        for _ in range(4):
            rng.shuffle(other)
            if other != window:
                break
        mixed += other
        at += size
    return _whole(mixed, end, "words shuffled nearby", text)


_NOUNS = rf"(?:(?:[Tt]he|[Aa]n?) (?:[a-z]+ )?[a-z]+|{CAP}(?: {CAP})*)"


def exchange_roles(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    """X verb Y -> Y verb X; also in the passive with "by"."""
    match = re.match(
        rf"(?P<a>{_NOUNS}) (?:(?P<v>[a-z]+)|(?P<p>(?:was|were) [a-z]+) by) (?P<b>{_NOUNS})(?=[,.;](?: |$)| (?:in|on|"
        rf"at|for|during|after|to|from|with|and|as)\b)",
        text,
    )
    if match is None:
        return None
    verb = BASE_OF_PAST.get(match["v"]) if match["v"] else BASE_OF_PARTICIPLE.get(match["p"].split()[1])
    a, b = match["a"], match["b"]
    if verb not in TRANSITIVE or name_words(a) & name_words(b) or a.lower().split()[0] in STOPWORDS - {"the", "a", "an"}:
        return None
    if match["p"] and a.endswith("s") != b.endswith("s"):
        return None
    first = b[0].upper() + b[1:]
    second = run_on(a) if a.split()[0].lower() in ("the", "a", "an") else a
    between = text[match.end("a") : match.start("b")]
    start = len(first) + len(between)
    new = first + between + second + text[match.end("b") :]
    return Edited(new, "subject and object exchanged", ((0, len(first)), (start, start + len(second))))
