"""True edits that turn a sentence round: phrases moved or dropped, reports, voices, lists, synonyms."""

from __future__ import annotations

import re
from random import Random

from eval.cards.edit_parts import (
    ALONE,
    AUXILIARIES,
    CAP,
    DAY,
    HEDGED,
    MONTH,
    NEGATED,
    Context,
    Edited,
    balanced,
    body_and_end,
    one_of,
    run_on,
    starts_plainly,
    with_capitals_of,
)
from eval.cards.name_edits import name_words
from eval.judges.edit_words import BASE_OF_PARTICIPLE, BASE_OF_PAST, SYNONYMS, TRANSITIVE, VERBS
from eval.judges.features import STOPWORDS

_TIME_PHRASE = (
    rf"(?:[Ii]n (?:(?:early|late|mid-?) ?)?(?:(?:{MONTH}) )?\d{{4}}|[Oo]n (?:\d\d? (?:{MONTH})|"
    rf"(?:{MONTH}) \d\d?)(?:,? \d{{4}})?|[Oo]n (?:{DAY}))"
)
_PLACE_PHRASE = rf"(?:[Ii]n {CAP}(?: {CAP})?)"
_FRONT = re.compile(rf"(?P<phrase>{_TIME_PHRASE}|{_PLACE_PHRASE}),? (?=(?:the|a|an|he|she|they|it|his|her|[A-Z])\b)")


def move_phrase(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    """A date or place from the front to the end of a sentence of one clause, or from the end to the front."""
    body, end = body_and_end(text)
    kind = "phrase moved"
    front = _FRONT.match(body)
    if not end.startswith(".") or not balanced(text):
        return None
    if front and "," in text[front.end("phrase") : front.end() + 1]:
        rest = body[front.end() :]
        one_clause = not re.search(r"[,;:]| (?:and|but|that|which|who|while|when|after|before|because|until|to) ", rest)
        if one_clause and not re.search(r"\d{4}$", rest) and starts_plainly(rest[0].upper() + rest[1:] + " "):
            phrase = front["phrase"]
            return Edited(f"{rest[0].upper()}{rest[1:]} {phrase[0].lower()}{phrase[1:]}{end}", kind)
        return None
    tail = re.search(rf" (?P<phrase>{_TIME_PHRASE})$", body)
    if tail and starts_plainly(text):
        main = body[: tail.start()]
        if (
            re.search(r"[,;:]| (?:and|but|that|which|who|while|when|after|before|because|until|to|for|of) ", main)
            or NEGATED.search(main)
            or HEDGED.search(main.replace("May", ""))
            or re.search(r"\b(?:in|on|from|born|died)$|ing\b", main)
        ):
            return None
        phrase = tail["phrase"]
        return Edited(f"{phrase[0].upper()}{phrase[1:]}, {run_on(main, context.page)}{end}", kind)
    return None


_VERB_IN = re.compile(rf"\b(?:{'|'.join(AUXILIARIES)})\b")


def has_verb(text: str) -> bool:
    return bool(_VERB_IN.search(text)) or any(w in BASE_OF_PAST for w in re.findall(r"[a-z]+", text))


def drop_clause(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    """A shorter sentence: without its opening phrase, its last relative clause or its second main clause.

    Only where nothing in the sentence denies, hedges, limits or compares, since the rest must still follow.
    """
    body, end = body_and_end(text)
    if (
        NEGATED.search(text)
        or HEDGED.search(text.replace("May", ""))
        or not end.startswith(".")
        or not balanced(text)
        or not starts_plainly(text)
    ):
        return None
    if re.match(
        r"(?:When|While|After|Before|Since|Because|As|Unlike|Until|Although|During|For|With|By|To|From|"
        r"Under)\b",
        text,
    ):
        return None
    choices = []
    front = re.match(
        rf"(?:{_TIME_PHRASE}|{_PLACE_PHRASE}|However|Moreover|In addition|As a result|Subsequently|Later|Today|"
        rf"Additionally), ",
        body,
    )
    if front:
        rest = body[front.end() :]
        if len(rest.split()) >= 5 and re.match(r"(?:the|an?|he|she|they|it|his|her|their|its|[A-Z]\w+) ", rest):
            choices.append(rest[0].upper() + rest[1:])
    for m in re.finditer(
        r", (?:which|who|whose|where|and (?:he|she|it|they|the|his|her|its|their|was|were|is|are|has|had)|making|"
        r"becoming|including|leading|resulting|after|while|when|as well as) ",
        body,
    ):
        shorter = body[: m.start()]
        if (
            "," not in re.sub(rf"(?:(?:{MONTH}) \d+|^{_TIME_PHRASE}|^{_PLACE_PHRASE}),", "", shorter)
            and len(shorter.split()) >= 5
            and has_verb(shorter)
        ):
            choices.append(shorter)
    kept = one_of(rng, choices)
    return Edited(kept + end, "clause dropped") if kept else None


_REPORTED = re.compile(
    r"(?P<who>(?:The (?:[a-z]+ ){1,2}|(?:[A-Z][a-z]+ )+|He |She |They ))(?:said|stated|says|announced|reported|states|"
    r"reports) that (?P<what>.+)"
)
_ACCORDING_END = re.compile(rf"(?P<what>.+), according to (?P<who>(?:the (?:[a-z]+ ){{0,2}}[a-z]+|(?:the )?{CAP}(?: {CAP})*))")
_ACCORDING = re.compile(rf"According to (?P<who>(?:the (?:[a-z]+ ){{0,2}}[a-z]+|(?:the )?{CAP}(?: {CAP})*)), (?P<what>.+)")


def turn_report(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    """X said that Y / According to X, Y / Y, according to X."""
    body, end = body_and_end(text)
    kind = "reporting clause turned"
    if not balanced(text) or not end.startswith("."):
        return None
    m = _REPORTED.fullmatch(body)
    if m:
        who = m["who"].strip()
        if re.search(r"ly$|\b(?:also|later|then|reports?|It|Upon|reported|It)$", who) or (
            who.lower() in STOPWORDS and who not in ("He", "She", "They")
        ):
            return None
        pronoun = {"He": "him", "She": "her", "They": "them"}.get(who)
        return Edited(f"According to {pronoun or run_on(who)}, {m['what']}{end}", kind)
    if m := _ACCORDING.fullmatch(body):
        what, who = m["what"], m["who"]
        if rng.random() < 0.5:
            return Edited(f"{what[0].upper()}{what[1:]}, according to {who}{end}", kind)
        return Edited(f"{who[0].upper()}{who[1:]} said that {what}{end}", kind)
    if (m := _ACCORDING_END.fullmatch(body)) and starts_plainly(text):
        return Edited(f"According to {m['who']}, {run_on(m['what'], context.page)}{end}", kind)
    return None


_SYNONYM = [(a, b, re.compile(rf"(?<![\w-]){re.escape(a)}(?![\w-])(?!['’]s)", re.I)) for a, b in SYNONYMS]
_SYNONYM_HEADS = {a.split()[0].lower() for a, _, _ in _SYNONYM}


def synonym(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    """One or two words become others that say the same."""
    if not _SYNONYM_HEADS & set(re.findall(r"[\w-]+", text.lower())):
        return None
    choices = []
    for a, b, pattern in _SYNONYM:
        choices += [(m.span(), b) for m in pattern.finditer(text) if _fits(text, m, a, b)]
    choice = one_of(rng, choices)
    if choice is None:
        return None
    (start, end), new = choice
    new = with_capitals_of(new, text[start:end]) if not new.isupper() else new
    article = re.search(r"\b(an?) $", text[:start])
    if article and (new[0].lower() in "aeiou") != (article.group(1) == "an"):
        return None
    return Edited(text[:start] + new + text[end:], "synonym")


def _fits(text: str, m: re.Match[str], old: str, new: str) -> bool:
    """Not inside names ("Children's Act"), and the words around it allow it."""
    before, after = text[: m.start()], text[m.end() :]
    if (m.group()[0].isupper() and m.start() > 0) or (m.group()[0].isupper() and re.match(r" [A-Z]", after)):
        return False
    if old in (
        "film",
        "movie",
        "television",
        "aircraft",
        "rapid",
        "annual",
        "yearly",
        "difficult",
        "main",
        "soccer",
        "children",
    ) and re.match(r" [A-Z]", after):
        return False
    if old in ("began", "started", "commenced") and re.match(r" (?:up|off|out|over|by)\b", after):
        return False
    if old in ("bought", "chose", "selected", "helped", "assisted") and re.search(
        r"\b(?:has|have|had|was|were|been|be|is|are|being) (?:\w+ly )?$", before
    ):
        return False  # the participle may be another word
    if old == "began" and re.search(r"\b(?:has|have|had) $", before):
        return False
    if (
        old in ("founded", "established")
        and re.match(r" (?:on|in (?:the|a)|that|as)\b", after)
        and not re.match(r" in \d", after)
    ):
        return False
    if old == "established" and re.search(r"\b(?:an?|the|well|more|most|newly|long) $", before):
        return False
    if old in (
        "demonstrated",
        "showed",
        "required",
        "needed",
        "obtained",
        "requested",
        "utilized",
        "manufactured",
    ) and re.search(r"\b(?:an?|the|as|not|of|often) $", before):
        return False
    if old == "aircraft" or (old == "near" and re.search(r"\bvery $", before)):
        return bool(re.search(r"\b(?:an|the|its|this|one) $", before)) and not re.match(
            r" (?:are|were|carrier|carriers)", after
        )
    if old in ("upon", "until", "regarding", "concerning") and re.match(r" (?:which|whom)\b", after):
        return False
    if old == "upon" and (
        re.search(r"\b(?:based|depend\w*|once|call\w*|put|thereup|agreed|look\w*|act\w*) $", before)
        or not re.match(r" (?:the|a|his|her)\b", after)
    ):
        return False
    if old in ("replied", "answered", "responded") and re.match(r" (?:by|to|with|the|a)\b", after):
        return False
    if old in ("reply", "answer", "annual", "error", "errors", "journey") and re.search(r"\bto $", before):
        return False
    if old == "passed away" or not (new.startswith(("in addition", "as a result", "at ")) and not re.match(r",", after)):
        return not (old == "said" and re.match(r" to\b", after))
    return False


_SUBJECT = (
    rf"(?:(?:The|An?|His|Her|Its) (?:[a-z-]+ ){{0,2}}[a-z]+(?: of (?:the )?(?:{CAP}(?: {CAP})*|[a-z]+))?|"
    rf"(?:The )?{CAP}(?: {CAP})*)"
)
_AGENT = (
    rf"(?:(?:the|an?|his|her|its) (?:[a-z-]+ ){{0,2}}[a-z]+(?: of (?:the )?(?:{CAP}(?: {CAP})*|[a-z]+))?|"
    rf"(?:the )?{CAP}(?: {CAP})*)"
)
_REST = r"(?P<rest>(?: (?:in|on|during|at|after|before|for) [^,;]*)?)"
_PASSIVE_SENTENCE = re.compile(rf"(?P<x>{_SUBJECT}) (?P<be>was|were) (?P<p>[a-z]+) by (?P<y>{_AGENT}){_REST}")
_ACTIVE_SENTENCE = re.compile(rf"(?P<x>{_SUBJECT}) (?P<v>[a-z]+) (?P<y>{_AGENT}){_REST}")


def change_voice(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    """X was built by Y -> Y built X, and back, where both are short."""
    body, end = body_and_end(text)
    kind = "other voice"
    if m := _PASSIVE_SENTENCE.fullmatch(body):
        base = BASE_OF_PARTICIPLE.get(m["p"])
        if base is None or base not in TRANSITIVE | {
            "write",
            "make",
            "win",
            "lead",
            "beat",
            "take",
            "sign",
            "compose",
            "record",
            "release",
        }:
            return None
        if m["x"].split()[0].lower() in STOPWORDS - {"the", "a", "an"} or re.search(r"\b(?:that|which|who)\b", m["rest"]):
            return None
        x = run_on(m["x"]) if m["x"].split()[0] in ("The", "A", "An") else m["x"]
        if (
            name_words(m["x"]) & name_words(m["y"])
            or m["y"].split()[-1] in ("then", "now", "same")
            or m["x"] in ("This", "That", "These", "It")
        ):
            return None
        return Edited(f"{m['y'][0].upper()}{m['y'][1:]} {VERBS[base][0]} {x}{m['rest']}{end}", kind)
    if m := _ACTIVE_SENTENCE.fullmatch(body):
        base = BASE_OF_PAST.get(m["v"])
        if base is None or base not in TRANSITIVE or m["x"].split()[0].lower() in STOPWORDS - {"the", "a", "an"}:
            return None
        x = run_on(m["x"]) if m["x"].split()[0] in ("The", "A", "An") else m["x"]
        head = m["y"].split(" of ")[0]
        plural = head[0].islower() and head.endswith("s") and not head.endswith(("ss", "us", "is"))
        if m["y"].split()[0] in ("his", "her", "its", "their") or re.search(
            r"\b[a-z]+(?:ed|ing|"
            r"ly)\b",
            m["x"] + " " + m["y"],
        ):
            return None
        return Edited(
            f"{m['y'][0].upper()}{m['y'][1:]} {'were' if plural else 'was'} {VERBS[base][1]} by {x}{m['rest']}{end}", kind
        )
    return None


def join_sentences(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    """This sentence and the one after it as one."""
    body, end = body_and_end(text)
    following = context.following
    if (
        not following
        or not end.startswith(".")
        or not balanced(text)
        or not balanced(following)
        or not starts_plainly(following)
    ):
        return None
    if (
        re.match(r"(?:However|But|And|Thus|Therefore|So|Yet|Or|Nor|Nevertheless|Instead|For example|That is)\b", following)
        or "==" in text + following
    ):
        return None
    if len(text.split()) + len(following.split()) > 60 or not body[-1].isalnum() or not starts_plainly(text):
        return None
    joint = rng.choice([", and ", ", and ", "; "])
    return Edited(body + joint + run_on(following, context.page), "sentences joined")


_ITEM = rf"(?:{CAP}(?: {CAP})*)"
_LIST = re.compile(
    rf"(?<=[a-z:] )(?P<items>{_ITEM}(?:, {_ITEM})+,? (?P<and>and|or) {_ITEM})(?=[.;]| (?:were|are|have|had|during|"
    rf"after|to|with|from)\b)"
)
_WORD_LIST = re.compile(r"(?<=[a-z] )(?P<items>[a-z]+s(?:, [a-z]+s)+,? (?P<and>and|or) [a-z]+s)(?=[.;])")


def reorder_list(text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    found = [
        m
        for m in (*_LIST.finditer(text), *_WORD_LIST.finditer(text))
        if not re.search(r"\b(?:respectively|then|rank\w*|order|first)\b", text)
    ]
    one = one_of(rng, found)
    if one is None:
        return None
    items = re.split(r", (?:and |or )?| and | or ", one["items"])
    if len(items) < 3 or len(set(items)) != len(items) or any(not item for item in items):
        return None
    before = text[: one.start()].split()[-1]
    if (
        before[0].isupper()
        or before in ("the", "a", "an")
        or re.search(rf"(?:{MONTH})", one["items"])
        or re.search(r", (?:[a-z]+ )?$", text[: one.start()])
    ):
        return None
    if re.search(r"^[A-Z]", one["items"]) and re.search(
        r"(?:^|[.,;] )(?:In|On|At|By|From|For|To|With|As) $", text[: one.start()]
    ):
        return None
    mixed = list(items)
    for _ in range(6):
        rng.shuffle(mixed)
        if mixed != items:
            break
    comma = "," if f", {one['and']} " in one["items"] else ""
    new = ", ".join(mixed[:-1]) + f"{comma} {one['and']} {mixed[-1]}"
    return Edited(text[: one.start()] + new + text[one.end() :], "list reordered") if mixed != items else None
