"""What became of a sentence, for an editor who has not read the program: what its checks write down, in whole words.

The stages keep short reasons ("added: 8"), which stay as they are in a run's files; here they are explained.
"""

from __future__ import annotations

import re

from data.types import Repair

_SHOWN = r"(?P<what>.+)"
_REASONS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.DOTALL), told)
    for pattern, told in (
        (rf"added: {_SHOWN}", "the new wording gave a figure or date that no source gives: {what}"),
        (rf"a name that no fact has: {_SHOWN}", "the new wording named somebody or something that no source names: {what}"),
        (
            rf"a number of the title alone: {_SHOWN}",
            "the new wording took a number from the title that no source gives here: {what}",
        ),
        (rf"lost: {_SHOWN}", "the new wording left out what its sources name: {what}"),
        (rf"lost who did it: {_SHOWN}", "the new wording left out who did it: {what}"),
        (rf"when it was said is lost: {_SHOWN}", "the new wording left out when it was said: {what}"),
        (rf"many words that no fact has: {_SHOWN}", "the new wording has many words that no source has: {what}"),
        (r"it says (?P<what>\d+%) of its facts only", "the new wording kept only {what} of what its sources say"),
        (rf"said twice: {_SHOWN}", "the new wording says one thing more often than its sources: {what}"),
        (r"what happens in a story, in the past tense", "the new wording tells a story in the past tense"),
        (rf"a pronoun of another kind: {_SHOWN}", "the new wording speaks of somebody as its sources do not: “{what}”"),
        (rf"another one does it: {_SHOWN}", "in the new wording somebody else acts: “{what}”"),
        (
            r"(?P<what>.+) counts something else",
            "in the new wording the number {what} counts something else than in the sources",
        ),
        (rf"said of something else: {_SHOWN}", "the new wording says of one thing what its sources say of another: “{what}”"),
        (rf"of what it is the (?P<which>\w+) is gone: {_SHOWN}", "the new wording left out of what it is the {which}: {what}"),
        (rf"another currency: {_SHOWN}", "the new wording has another currency than its sources: {what}"),
        (
            rf"another order in time: {_SHOWN}",
            "the new wording puts things in an order of time that its sources do not: “{what}”",
        ),
        (rf"in quotation marks, and no fact quotes it: {_SHOWN}", "the new wording quotes words that no source quotes: {what}"),
        (r'"(?P<what>[^"]+)" is gone', "the new wording is surer than its sources, which say “{what}” or the like"),
        (r'"(?P<what>[^"]+)" came', "the new wording says “{what}” or the like, and its sources do not"),
        (r"a negation is gone", "the new wording affirms what its sources deny"),
        (r"a negation came", "the new wording denies what its sources say"),
        (r"who said it is gone", "the new wording left out who said it"),
        (r"it names a source that no fact names", "the new wording says “according to” where its sources name nobody"),
        (r"a parenthesis came", "the new wording has a parenthesis that its sources have not"),
        (r"does not end as a sentence", "the new wording broke off"),
        (r"no whole sentence", "the new wording was no whole sentence"),
        (r"speaks of the writing", "the new wording spoke of the task, not of the subject"),
        (r"first or second person", "the new wording says “I”, “we” or “you”"),
        (r"in another script", "the new wording has letters of another script"),
        (r"repeats itself", "the new wording repeats itself"),
        (r"much longer than its facts", "the new wording says much more than its sources"),
        (r"a worked example", "the new wording repeated an example of the instructions"),
        (r"the title has lost a capital", "the new wording wrote the subject's name without its capitals"),
        (
            r"of a long note a small model loses a part when it says all otherwise",
            "it is long, and the model tends to lose a part of what is long",
        ),
        (
            r"the model itself doubts that it says the same \((?P<what>[\d.]+)\)",
            "asked again, the model was not sure that the new wording says the same",
        ),
        (
            r"in its page's own words, and more of the article would be copied than may be",
            "it stood in its page's own words, and too much of the article would have been copied; "
            "you may put it in with words of your own",
        ),
        (r"an earlier sentence says the same", "an earlier sentence says the same"),
        (r"cut off by the limit on new tokens", "it broke off: the answer had reached its greatest length"),
        (r"passage (?P<what>\d+:\d+-\d+): its page is gone", "the page that it cited is gone"),
        (r"passage (?P<what>\d+:\d+-\d+): the page no longer says so", "the page that it cited no longer says so"),
        (r"passage (?P<what>\d+:\d+-\d+) does not support it", "the passage that it cited does not say so"),
        (r"passage (?P<what>\d+:\d+-\d+) supports it(?P<rest>.*)", "another passage says so, and is cited"),
        (r"(?P<what>\[\d+\]) names no passage that was shown", "the model cited a source that it had not been shown: {what}"),
    )
)
_AS_NOTE = "said as its note"


def in_words(repair: Repair) -> str:
    """The repair's reason as a person would say it; itself where it is one already, "" where there is none."""
    detail = repair.detail.strip()
    if detail == _AS_NOTE:
        return "it stands as it was noted from the page"
    if detail.startswith(f"{_AS_NOTE}: "):
        return f"it stands as it was noted from the page, for {_explained(detail.removeprefix(f'{_AS_NOTE}: '))}"
    return _explained(detail)


def _explained(reason: str) -> str:
    for pattern, told in _REASONS:
        if match := pattern.fullmatch(reason):
            return told.format(**match.groupdict())
    return reason
