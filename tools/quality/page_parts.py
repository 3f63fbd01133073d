"""What saved pages are made of: the sentences that all of them tell, and what frameworks put around them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from data.types import DropReason

SENTENCES = (
    "The Grenmark dam failed on the morning of 4 May 2031 after a week of heavy rain in the valley.",
    "Engineers had warned in two reports that the spillway gates could no longer be opened by their motors.",
    "The town of Ostrel counted eleven dead and three missing by the evening of that day.",
    "The mayor, Hanne Brucker, said that the siren had been heard in the upper quarters only.",
    "Some 26,000 homes lost electricity, and the grid company restored it to all but 400 of them.",
    "The regional court opened an inquiry on 9 May and set its first hearing for June.",
    "Damage was put at 14 million euros by the insurers, most of it to mills and workshops.",
    "Soldiers with forty boats brought 1,200 people to the school on the hill during the night.",
    "The company that runs the dam announced that it would pay for temporary housing.",
    "It was the strongest flood in the valley since 1999, according to the weather service.",
    "The railway between Ostrel and Lauren stayed closed for nine weeks while two bridges were rebuilt.",
    "Volunteers from nineteen towns cleared the mud from the streets around the market.",
)


TITLE = "Dam above Ostrel fails"


URL = "https://news.example/region/dam-fails"


DAY = "2031-05-04"


Kind = str
KINDS = ("live blog", "script", "table", "consent", "PDF with tables", "forum")


@dataclass(frozen=True, slots=True)
class SavedPage:
    """`facts` stand in its text, in this order; `absent` do not. `reason` says why it cannot be read, None where it can."""

    kind: Kind
    name: str
    body: bytes
    facts: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    reason: DropReason | None = None
    content_type: str = "text/html; charset=utf-8"
    url: str = URL


def html(body: str, *, head: str = "", title: str = TITLE) -> bytes:
    """A whole page with a menu and a footer around `body`."""
    menu = (
        "<nav><ul><li><a href='/'>Home</a></li><li><a href='/sport'>Sport</a></li><li><a href='/jobs'>Jobs</a></li></ul></nav>"
    )
    foot = "<footer><p>All rights reserved. <a href='/imprint'>Imprint</a></p></footer>"
    return (
        f"<!DOCTYPE html><html lang='en'><head><meta charset='utf-8'><title>{title}</title>{head}</head>"
        f"<body>{menu}{body}{foot}</body></html>"
    ).encode()


def prose(first: int = 0, last: int = len(SENTENCES)) -> str:
    return "".join(f"<p>{sentence}</p>" for sentence in SENTENCES[first:last])


def article(*parts: str) -> str:
    return f"<main><article><h1>{TITLE}</h1>{''.join(parts)}</article></main>"


def ld(*nodes: Any) -> str:
    return "".join(script(json.dumps(node), type="application/ld+json") for node in nodes)


def script(text: str, **attributes: str) -> str:
    told = "".join(f' {name}="{value}"' for name, value in attributes.items())
    held = text.replace("</", "<\\/")
    return f"<script{told}>{held}</script>"


APP = "<div id='app'></div>"
