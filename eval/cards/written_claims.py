"""Claims written by hand and by local models from open text, with labels by reading: they ship, so every judge is asked them.

`hand_claims.jsonl.xz`: 207 claims written one by one for this project about 28 passages, true and false, of kinds that a judge
of words takes for one another (roles exchanged, another person's deed, 9:40 pm for 21:40, sums, hedges); labelled once, by
their writer, a large language model. `llm_sentences.jsonl.xz`: sentences by local models (`tools.quality.make_llm_sentences`).
One half of these, by title, taught the writers' reader; nothing else was fitted on them.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

from data import codec
from eval.judges.judge import Pair

HAND_FILE = Path(__file__).with_name("hand_claims.jsonl.xz")
LLM_FILE = Path(__file__).with_name("llm_sentences.jsonl.xz")
HAND, LLM = "by hand: ", "by local models: "
"""Before the kinds of each file."""
TRUE, PARTLY, FALSE = "true", "partly true", "false"
_NAMES = {"supported": TRUE, "partly": PARTLY, "not": FALSE}
LEAST = 10
"""False claims of one kind, below which the kind has no row of its own."""


def written_pairs() -> dict[str, list[Pair]]:
    """By what should become of them; false claims by hand also by their kind."""
    pairs: dict[str, list[Pair]] = {HAND + TRUE: [], HAND + FALSE: [], LLM + TRUE: [], LLM + PARTLY: [], LLM + FALSE: []}
    kinds: dict[str, list[Pair]] = defaultdict(list)
    for prefix, path in ((HAND, HAND_FILE), (LLM, LLM_FILE)):
        for line in codec.lines_of(path):
            row = json.loads(line)
            pair, name = Pair(("\n".join(row["evidence"]),), row["claim"]), _NAMES[row["label"]]
            pairs[prefix + name].append(pair)
            if prefix == HAND and name == FALSE:
                kinds[f"{HAND}{FALSE}, {row['meta']['kind']}"].append(pair)
    return pairs | {kind: found for kind, found in sorted(kinds.items()) if len(found) >= LEAST}


def in_first_half(title: str) -> bool:
    return int(codec.sha256(title), 16) % 2 == 0


def is_true(kind: str) -> bool:
    return kind in (HAND + TRUE, LLM + TRUE)
