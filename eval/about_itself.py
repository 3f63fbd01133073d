"""Whether a sentence is about the article or its sources and not about the event: no page supports such a sentence."""

from __future__ import annotations

import re

_PART = r"(?:article|section|subsection|page|passage|paragraph|summary|overview|entry|text|report|document|essay|piece)"
_DESCRIBES = (
    r"(?:is (?:about|intended|meant|an? (?:stub|overview|summary)|based on)|has (?:no|been (?:written|generated|compiled))"
    r"|(?:describes?|covers?|discusses|discuss|provides?|presents?|outlines?|examines?|explores?|summari[sz]es?"
    r"|details?|lists?"
    r"|focuses|contains?|includes?|offers?|aims|seeks|will|does not|do not|doesn['’]t|needs?|traces|addresses|originally"
    r"|appeared|was (?:written|originally|first|last|published|updated|amended|produced))\b)"
)
_ABOUT_ITSELF = re.compile(
    rf"\b(?:this|the present|the following) {_PART} {_DESCRIBES}|\bin this {_PART}\b,?"
    rf"|^the {_PART}(?: (?:on|about|of|for|titled|named|called))? ?[\"“‘'«].*?[\"”’'»] {_DESCRIBES}"
    rf"|^the {_PART} \S.*? (?:has no|contains no|does not (?:have|contain|mention)) (?:\w+ ){{0,3}}(?:section"
    rf"|heading|part"
    r"|information|mention)|\bthere is no (?:section|heading|article|information) (?:on|about|for|called|named|in the)\b"
    r"|\b(?:the|these|those|available|provided|cited|retrieved) (?:sources|documents|passages|excerpts|snippets"
    r"|evidence|context)"
    r" (?:does|do|did) not (?:say|state|specify|mention|provide|contain|include|give|name|identify|describe|offer"
    r"|support)\b"
    r"|\bno (?:further |other |more )?(?:information|details?) (?:is|are|was|were) (?:available|provided|given) (?:in"
    r"|from) the"
    r" (?:sources?|evidence|passages?|documents?|context|text)\b",
)


def is_about_itself(text: str) -> bool:
    """About the article or its sources, not about the event."""
    return _ABOUT_ITSELF.search(text.lower()) is not None
