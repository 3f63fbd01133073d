"""Words and addresses by which editors know text that a chatbot wrote (Wikipedia:Signs of AI writing)."""

from __future__ import annotations

import re

_PHRASE = re.compile(
    r"\b(?:as an ai|as a (?:large )?language model|as of my (?:last|knowledge)|i hope this|would you like me to"
    r"|here is (?:a|an|the) (?:revised|polished|draft|summary|rewritten|article)|in conclusion,|in summary,"
    r"|(?:stands|serves) as a testament|it is (?:important|worth) (?:to note|noting)"
    r"|rich (?:cultural )?(?:heritage|tapestry)|enduring legacy|nestled|delves?|plays? a (?:vital|pivotal|crucial) role"
    r"|underscor(?:es|ing)|highlight(?:s|ing) the importance)\b"
    r"|\boaicite\b|contentReference\[|\bturn\d+(?:search|view|news)\d+|\[(?:insert|your|add) [^\]\n]{1,40}\]",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"[?&]utm_source=(?:chatgpt|openai|copilot|perplexity|claude|gemini)\b", re.IGNORECASE)


def chatbot_phrase(text: str) -> str:
    """The first phrase of chatbots in the text, "" for none."""
    found = _PHRASE.search(text)
    return found[0] if found else ""


def is_from_chatbot(url: str) -> bool:
    """Whether a chatbot's own mark is in the address."""
    return bool(_ADDRESS.search(url))
