"""False edits of single words: contraries, negations, hedges, limits, prepositions of time."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from random import Random

from eval.cards.edit_parts import (
    ALONE,
    AUX,
    AUXILIARIES,
    NEGATED,
    WORD_OR_NUMBER,
    Context,
    Edited,
    Span,
    drop_words,
    one_of,
    replace_at,
    with_capitals_of,
)
from eval.judges.edit_words import ANTONYMS, BASE_OF_PARTICIPLE, BASE_OF_PAST, NUMBER_WORDS, SAYING, VERBS, words_of
from eval.judges.features import STOPWORDS


def _both_ways(pairs: Sequence[tuple[str, str]]) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for a, b in pairs:
        found[a] = (*found.get(a, ()), b)
        found[b] = (*found.get(b, ()), a)
    return found


_ANTONYM = _both_ways(ANTONYMS)
_ONLY_BEFORE = {  # words with another frequent meaning: what must follow them
    "left": r" (?:the|a|his|her|their|its|office|for)\b",
    "last": r" (?:\w+ )?(?:in|of|to|to|time|person|man|woman|game|match|season|album|novel|book|film)\b",
    "first": r" (?:\w+ )?(?:in|of|to|time|person|man|woman|game|match|season|album|novel|book|film)\b",
    "lost": r" (?:the|a|his|her|their|its|to|by|\d)",
    "present": r" (?:in|at)\b",
    "met": r"^",
    "fell": r" (?:to|by|from|sharply|\d)",
    "rose": r" (?:to|by|from|sharply|\d)",
    "better": r" (?:than|known)\b",
    "basic": r" (?:solution|conditions)\b",
    "absence": r" of\b",
    "known": r"\b(?! (?:as|for|to|by))",
    "front": r" (?:of|wheel|door|row)\b",
    "bottom": r" of\b",
    "top": r" (?:of|\d|ten|five|three|four|two)\b",
    "major": r" [a-z]",
    "minor": r" [a-z]",
    "king": r"^",
    "more": r" than\b",
    "fewer": r" than\b",
    "best": r"\b(?!-| known)",
    "start": r" of\b",
    "end": r" of\b",
    "beginning": r" of\b",
    "little": r"^",
    "cool": r" [a-z]",
    "spring": r" (?:of|and|\d)",
    "long": r" [a-z]",
    "private": r" [a-z]",
    "full": r" [a-z]",
    "day": r"^",
    "night": r"^",
    "light": r"^",
    "deep": r" [a-z]",
    "solid": r" [a-z]",
    "alive": r"",
    "dead": r"",
    "able": r" to\b",
    "big": r" [a-z]",
    "good": r" [a-z]",
    "bad": r" [a-z]",
    "old": r" [a-z]",
    "new": r" [a-z]",
    "low": r" [a-z]",
    "high": r" [a-z]",
    "hot": r" [a-z]",
    "poor": r" [a-z]",
    "likely": r" (?:to|that)\b",
    "united": r"^",
    "divided": r"^",
    "born": r" (?:in|on|at)\b",
    "public": r" [a-z]",
    "present-day": r"^",
    "most": r" [a-z]",
    "least": r" [a-z]+ ",
    "common": r" (?:in|among|and)\b",
    "individual": r"^",
    "support": r" (?:for|from|of)\b",
    "loss": r" (?:of|to|in)\b",
    "attack": r" (?:on|by|of)\b",
    "import": r" of\b",
    "export": r" of\b",
    "above": r" (?:the|sea|average|\d)",
    "below": r" (?:the|sea|average|\d)",
    "direct": r" [a-z]",
}
_WHOLE_ANTONYM = re.compile(
    r"(?<![\w-])(?:" + "|".join(sorted(map(re.escape, _ANTONYM), key=len, reverse=True)) + r")(?![\w-]|['’])"
)


def antonym(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    """A word becomes its contrary, within running text (a capitalised word may be part of a name)."""
    found = [
        m for m in _WHOLE_ANTONYM.finditer(text)
        if re.match(_ONLY_BEFORE.get(m.group(), ""), text[m.end() :])
        and not re.search(r"(?:\bat|\bAt) $" if m.group() in ("most", "least", "first", "last") else r"(?!)", text[: m.start()])
    ]  # fmt: skip
    one = one_of(rng, found)
    new = one_of(rng, [w for w in _ANTONYM[one.group()] if not re.search(rf"\b{w}\b", text)]) if one else None
    if one is None or new is None:
        return None
    start, end = one.span()
    article = re.search(r"\b([Aa])(n?) $", text[:start])
    if article:
        right = article.group(1) + ("n" if new[0] in "aeio" or new.startswith(("unl", "uns", "une")) else "")
        begin = article.start(1)
        edited = replace_at(text, (begin, end), f"{right} {new}", "antonym")
        return Edited(edited.text, "antonym", ((begin + len(right) + 1, begin + len(right) + 1 + len(new)),))
    return replace_at(text, (start, end), new, "antonym")


def past_verbs(text: str) -> list[re.Match[str]]:
    """Past forms that are surely the verb of their clause: after a pronoun, or after a noun where no auxiliary follows."""
    found = []
    for m in re.finditer(r"(?<= )[a-z]+(?= )", text):
        if m.group() not in BASE_OF_PAST:
            continue
        before = text[: m.start() - 1].rsplit(" ", 1)[-1]
        after = re.match(r" (\w+)", text[m.end() :])
        rest = re.split(r"[,;:]", text[m.end() :])[0]
        if after is None or after.group(1) in ("by", "as", "to", "and", "or", "of") or not before[-1:].isalpha():
            continue
        if before.lower() in ("he", "she", "they", "it", "who", "we") or (
            (
                before.lower() not in STOPWORDS
                and before not in AUXILIARIES
                and before not in SAYING
                and not before.endswith("ly")
            )
            and not AUX.search(rest)
            and not AUX.search(text[: m.start()].rsplit(",", 1)[-1])
            and not any(w in BASE_OF_PAST for w in re.findall(r"[a-z]+", re.split(r"[,;:]", text[: m.start()])[-1]))
            and re.match(
                r" (?:the|a|an|his|her|its|their|\d|[A-Z]|in|on|at|from|into|over|up|out|that|more|many|several|one|two)\b",
                text[m.end() :],
            )
            and not (
                m.group() == BASE_OF_PARTICIPLE.get(BASE_OF_PAST[m.group()], "")
                and re.match(r" (?:in|on|at|from|into|over) ", text[m.end() :])
            )
        ):
            found.append(m)
    return found


def insert_not(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    """ "not" after an auxiliary, or "did not" before a verb; only in sentences that deny nothing yet."""
    if NEGATED.search(text) or text.rstrip().endswith("?"):
        return None
    choices: list[tuple[Span, str]] = [
        (m.span(), f"{m.group()} not") for m in AUX.finditer(text) if m.group() != "do" and not text[m.end() :].startswith("-")
        and re.match(r" \w", text[m.end() :]) and m.start() > 0
        and not re.search(rf"\b(?:{'|'.join(AUXILIARIES)}|to|not) (?:\w+ly )?$", text[: m.start()])
        and (m.group() not in ("has", "have", "had") or re.match(r" (?:been|become|had|\w+ed)\b", text[m.end() :]))
    ]  # fmt: skip
    choices += [(m.span(), f"did not {BASE_OF_PAST[m.group()]}") for m in past_verbs(text)]
    choice = one_of(rng, choices)
    if choice is None:
        return None
    (start, _), new = choice
    edited = replace_at(text, choice[0], new, '"not" inserted')
    at = start + new.index("not")
    following = WORD_OR_NUMBER.search(edited.text, at + 3)
    return Edited(edited.text, edited.kind, ((at, following.end() if following and new.endswith("not") else start + len(new)),))


_DENIED = re.compile(
    r"\b(?P<did>did|does|do) not (?P<verb>[a-z]+)|\b(?P<aux>is|was|were|are|has|have|had|will|can|could|would|"
    r"should) not\b(?! only| just| least| necessarily)"
    r"|\b(?P<never>never)\b|\b(?P<cannot>cannot)\b|\b(?P<longer>no longer)\b|\b(?P<nt>(?:did|does|was|is|were|are|"
    r"would|could|had|has|have))n['’]t\b"
    r"|\b(?:was|is|were|are|had|has|have|found|with) (?P<no>no) (?=[a-z])(?!longer|more|one|matter)"
    r"|(?<!the )\b(?P<none>[Nn]one of)\b"
)


def remove_negation(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    found = [m for m in _DENIED.finditer(text) if not text[m.end() :].startswith((" only", " just", " until", " yet", " even"))]
    one = one_of(rng, found)
    kind = "negation removed"
    if (
        one is None
        or len(NEGATED.findall(text)) > 1
        or re.search(r"\b(?:either|yet|any|ever|anything|anyone|until|nor)\b", text[one.end() :])
    ):
        return None
    if one["did"]:
        verb = one["verb"]
        if one["did"] == "did":
            if verb not in VERBS:
                return None
            new = VERBS[verb][0] if verb != "be" else "was"
        elif one["did"] == "does":
            new = verb + ("es" if verb.endswith(("s", "sh", "ch", "x", "o")) else "s")
            if verb in ("have", "be") or verb.endswith("y"):
                return None
        else:
            new = verb
        return replace_at(text, one.span(), new, kind)
    if one["aux"]:
        return drop_words(text, (one.end() - 3, one.end()), kind)
    if one["never"]:
        return drop_words(text, one.span(), kind)
    if one["no"]:
        return replace_at(text, one.span("no"), "some", kind)
    for group, new in (("cannot", "can"), ("longer", "still"), ("none", "all of")):
        if one[group]:
            return replace_at(text, one.span(group), with_capitals_of(new, one[group]), kind)
    return replace_at(text, one.span(), one["nt"], kind)


def failed_to(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    one = one_of(rng, past_verbs(text))
    if one is None or NEGATED.search(text):
        return None
    return replace_at(text, one.span(), f"failed to {BASE_OF_PAST[one.group()]}", '"failed to"')


_PASSIVE = re.compile(r"\b(?:was|were|is|are|been|being) (?=([a-z]+ed|[a-z]+n|made|held|built|sold|sent|found|told|led)\b)")


def falsely(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    """An adverb that takes the statement back, before a verb."""
    places = [m.end() for m in _PASSIVE.finditer(text) if m.group(1) in BASE_OF_PARTICIPLE]
    places += [m.start() for m in past_verbs(text)]
    places += [
        m.start()
        for m in re.finditer(
            r"(?<=\w )(?:said|claimed|announced|stated|argued|reported|declared)\b(?= (?:that|the|"
            r"a)\b)",
            text,
        )
    ]
    place = one_of(rng, places)
    if place is None:
        return None
    adverb = rng.choice(["falsely", "falsely", "wrongly", "supposedly", "never", "hardly ever", "almost", "nearly"])
    if adverb in ("never", "hardly ever") and NEGATED.search(text):
        adverb = "falsely"
    following = WORD_OR_NUMBER.search(text, place)
    end = following.end() if following else place
    return Edited(f"{text[:place]}{adverb} {text[place:]}", '"falsely"', ((place, end + len(adverb) + 1),))


_SAID = re.compile(
    r"\b(?:said|announced|confirmed|claimed|stated|argued|reported|insisted|acknowledged|admitted|declared|asserted|"
    r"revealed)\b(?= (?:that|the|a|an|it|he|she|they|his|her|its|their|there|in)\b|[,.])"
)


def said_to_denied(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    found = [
        m
        for m in _SAID.finditer(text)
        if not re.search(r"(?:is|was|were|been|be|are|as|has|have|had) (?:\w+ly )?$", text[: m.start()])
    ]
    one = one_of(rng, found)
    if one is None or "deni" in text:
        return None
    new = (
        rng.choice(["denied", "denied", "denied", "doubted", "rejected the claim"])
        if text[one.end() :].startswith(" that")
        else "denied"
    )
    return replace_at(text, one.span(), new, "said to denied")


_FUTURE = re.compile(
    r"\b(?:(?:is|are|was|were) (?:expected|scheduled|set|due|planned|about|going|intended|hoped|likely|slated) to|"
    r"(?:plans?|intends?|hopes?|expects?|aims?|wants?|promised|planned|hoped|intended|agreed|offered|threatened) to|"
    r"will(?: likely| also| soon)?) (?P<verb>[a-z]+)\b"
)


def future_to_past(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    """Plans and expectations become what happened."""
    found = [
        m
        for m in _FUTURE.finditer(text)
        if m["verb"] in VERBS
        and m["verb"] != "have"
        and (
            m.group().split()[0] in ("will", "is", "are", "was", "were")
            or re.search(r"(?:\b[A-Z][\w'’]+|\b(?:he|she|it|they|who|which)) $", text[: m.start()])
        )
    ]  # "plans" and "hopes" may be nouns
    one = one_of(rng, found)
    if one is None or NEGATED.search(text[one.start() : one.end() + 12]):
        return None
    past = VERBS[one["verb"]][0]
    if one["verb"] == "be":
        past = "were" if one.group().startswith(("are", "were", "plan ", "intend ", "hope ", "expect ")) else "was"
        previous = text[: one.start()].split()[-1:] or [""]
        if previous[0].lower() in ("they", "we", "you") or (
            previous[0].endswith("s") and previous[0][:1].islower() and not previous[0].endswith("ss")
        ):
            past = "were"
    return replace_at(text, one.span(), past, "future to past")


_HEDGES = re.compile(
    r"\b(?P<drop>reportedly|allegedly|apparently|possibly|probably|perhaps|supposedly|purportedly|presumably|arguably|"
    r"ostensibly|"
    r"seemingly|likely(?= [a-z]+ed\b)|suspected(?= (?!of|that|to|by|in|for|as)[a-z]+)|alleged(?= (?!to|that|"
    r"by)[a-z]+)|potentially|"
    r"partly|partially|sometimes|occasionally|up to(?= [\d$£€])|at least(?= [\d$£€]))\b"
    r"|\b(?P<thought>(?P<be>is|was|are|were) (?:believed|thought|said|reported|alleged|rumored|considered|"
    r"suspected) to (?:have been|be))\b"
    r"|\b(?P<may>(?:may|might|could) (?P<what>be|have been))\b"
    r"|\b(?P<some>[Ss]ome of (?=the\b))"
    r"|\b(?P<suspected>(?:suspected|accused) of)\b"
    r"|\b(?P<suggest>suggests? that|suggested that|believes? that|believed that|argues? that|argued that|claims? that|"
    r"claimed that)\b"
    r"|\b(?P<seem>(?:seems?|appears?|seemed|appeared|tends?|tended) to be)\b"
    r"|\b(?P<can>may|might) (?=(?P<base>[a-z]+)\b)"
)  # fmt: skip


def drop_hedge(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    kind = "hedge dropped"
    one = one_of(rng, _HEDGES.finditer(text))
    if one is None:
        return None
    if one["drop"]:
        return drop_words(text, one.span(), kind)
    if one["some"]:
        dropped = drop_words(text, one.span(), kind)
        return dropped
    if one["thought"]:
        been = one.group().endswith("have been")
        new = ({"is": "was", "are": "were"}.get(one["be"], one["be"])) if been else one["be"]
    elif one["may"]:
        new = "was" if one["what"] == "have been" else "is"
        previous = (text[: one.start()].split() or [""])[-1]
        if (previous.endswith("s") and not previous.endswith(("ss", "is", "us"))) or previous.lower() in ("they", "you", "we"):
            new = "were" if new == "was" else "are"
    elif one["suspected"]:
        new = "found guilty of" if re.search(r"\b(?:was|were|is|are|been) $", text[: one.start()]) else "guilty of"
    elif one["suggest"]:
        new = (
            "prove that"
            if one.group() in ("suggest that", "believe that", "argue that", "claim that")
            else ("proved that" if one.group().split()[0].endswith("ed") else "proves that")
        )
    elif one["seem"]:
        word = one.group().split()[0]
        new = "was" if word.endswith("ed") else "is" if word.endswith("s") else "are"
    else:
        base = one["base"]
        if base not in VERBS or base in ("be", "have"):
            return None
        return replace_at(text, (one.start(), one.start("base") - 1), "will certainly", kind)
    return replace_at(text, one.span(), with_capitals_of(new, one.group()), kind)


_APPROXIMATE = re.compile(
    r"\b(?:about|approximately|around|roughly|nearly|almost|an estimated|some|circa)(?= (?:\d|[$£€]|(?:"
    + "|".join(NUMBER_WORDS)
    + r")\b))",
    re.I,
)
_BEFORE_APPROXIMATE = frozenset(
    words_of("of at is to by was are for were cost with from took that and has had in killed injured but or than while")
)
"""Words that are before an approximate number: elsewhere "about" and "around" may be prepositions ("revolves around two")."""


def drop_approximation(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    """ "about 300" becomes "exactly 300"."""
    found = []
    for m in _APPROXIMATE.finditer(text):
        before = text[: m.start()].split()[-1:] or [""]
        surely = m.group().lower() not in ("about", "around", "some")
        if surely or not before[0][-1:].isalnum() or before[0].lower() in _BEFORE_APPROXIMATE:
            found.append(m)
    one = one_of(rng, found)
    if one is None:
        return None
    edited = replace_at(text, one.span(), with_capitals_of("exactly", one.group()), "approximation made exact")
    return edited


_LIMITS = {
    "at least": ("at most", "fewer than", "exactly"), "at most": ("at least", "more than"), "up to": ("at least", "more than"),
    "more than": ("less than", "at most", "exactly"), "less than": ("more than", "at least"), "fewer than": ("more than",),
    "over": ("under", "exactly"), "under": ("over",), "no more than": ("no less than", "more than"),
    "not more than": ("at least",), "a maximum of": ("a minimum of",), "a minimum of": ("a maximum of",),
    "as many as": ("at least",), "no fewer than": ("no more than",), "no less than": ("no more than",),
}  # fmt: skip
_LIMIT_AT = re.compile(
    r"\b(?:" + "|".join(sorted(_LIMITS, key=len, reverse=True)) + r")(?= (?:[\d$£€]|(?:"
    + "|".join([*NUMBER_WORDS, "hundred", "thousand", "half"]) + r")\b))", re.I
)  # fmt: skip


def change_limit(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    """At least <-> at most, more than <-> less than, before a number."""
    one = one_of(rng, _LIMIT_AT.finditer(text))
    if one is None:
        return None
    return replace_at(
        text, one.span(), with_capitals_of(rng.choice(_LIMITS[one.group().lower()]), one.group()), "limit changed"
    )


_GOVERNS = re.compile(
    r"\b(?:\w+ed|\w+ing|together|along|deal\w*|work\w*|begins?|began|meets?|met|\w+ly|contact|relations?|ties|"
    r"contract|agreement"
    r"|relationship|\w+ment|interview|collaborat\w+|treaty|alliance|replace\w*|associat\w+|familiar|compared|cope|"
    r"comply|consistent|fight"
    r"|war|peace|conflict|up|away|out|one|even|in|so|start\w*|ends?|them|him|her|it|friends?|trade|border|popular|"
    r"left|to|dealt"
    r"|sex|friendship|\w+ion|\w+ship|identical|equal|bonds?|react\w*)$", re.I
)  # fmt: skip


def with_without(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    found = []
    for m in re.finditer(r"\b(with|without)\b", text):
        before, after = text[: m.start()].rstrip(), text[m.end() :]
        if m.group() == "without" and re.match(r" (?:a|the|any|[a-z]+ing|[a-z]+)\b", after):
            if not re.match(r" (?:any|\w+ing)\b", after):
                found.append((m.span(), "with"))
        elif (
            m.group() == "with"
            and not _GOVERNS.search(before)
            and re.match(r" (?!(?:the exception|respect|regard|which|whom|each)\b)[a-zA-Z\d]", after)
        ):
            found.append((m.span(), "without"))
    choice = one_of(rng, found)
    if choice is None:
        return None
    edited = replace_at(text, *choice, "with and without")
    following = WORD_OR_NUMBER.search(edited.text, edited.spans[0][1])
    return Edited(edited.text, edited.kind, ((edited.spans[0][0], following.end() if following else edited.spans[0][1]),))


def before_after(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    choices = []
    for m in re.finditer(r"\b(before|after|prior to|following|Before|After|Prior to|since|until)\b", text):
        word, after = m.group().lower(), text[m.end() :]
        if (word == "following" and not re.match(r" (?:the|his|her|its|their) \w+", after)) or re.match(
            r" (?:long|and|or)\b", after
        ):
            continue
        if word == "following" and not re.search(r", $|^$", text[: m.start()]):
            continue
        if (
            re.search(r"\b(?:shortly|soon|immediately|named|look\w*|long|ever|day|month|sought|the) $", text[: m.start()])
            and word != "prior to"
        ):
            continue
        if word in ("since", "until") and not re.match(r" (?:the )?\d{4}\b", after):
            continue
        new = {
            "before": "after",
            "after": "before",
            "prior to": "after",
            "following": "before",
            "since": "until",
            "until": "since",
        }
        choices.append((m.span(), with_capitals_of(new[word], m.group())))
    choice = one_of(rng, choices)
    return replace_at(text, *choice, "before and after") if choice else None
