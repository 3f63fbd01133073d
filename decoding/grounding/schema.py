"""An answer that is JSON of a given schema: logits of tokens that would break it become -inf.

Which tokens may follow is computed by llguidance (Microsoft's parser of token streams, https://github.com/guidance-ai/llguidance).
Between two tokens at most 8 characters of white space are allowed: a small model would go on with it to the token limit.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from data.errors import StageError, UserError
from decoding.api import Json

if TYPE_CHECKING:
    import torch
    from llguidance import LLTokenizer

SCHEMA_BYTES = 64 << 10
LEVELS = 64
"""Of nested objects and lists. Deeper ones could exhaust the parser's stack."""
REFERENCES = 100
MULTIPLES = 100_000
"""The parser has a state for each remainder by the numerator of `multipleOf`; where several meet, by their common multiple."""
_OPTIONS = {"whitespace_pattern": r"[\x20\x0A\x0D\x09]{1,8}", "lenient": False}


class JsonRule:
    """Implements `decoding.sampling.ForcingRule` for a `Json`.

    Possible after a prefix is every token with which the answer is still the beginning of JSON that the schema describes, and
    an end token where it is whole. Where the schema leaves one text only (a key that must come) its usual tokens are offered
    as certain; the model may still write the same text in others, and then it does. A prefix that breaks the schema (only a
    draft can) leaves the end tokens.

    Prefixes may come in any order: the parser goes back to where the last one parts. Results depend on the prefix alone.

    Args:
        tokenizer: of the model; the caller holds its lock while the rule is made, not later.
        n_prompt: tokens of the prompt, which every prefix begins with.
        end_ids: tokens that end an answer.

    Raises:
        UserError: a schema that is no JSON object, is too large, uses keywords that cannot be held to, or that no text
            satisfies; a model without an end token, or with a tokenizer that cannot be read.
    """

    def __init__(self, grounding: Json, tokenizer: Any, n_prompt: int, end_ids: Collection[int]) -> None:
        from llguidance import LLMatcher

        if not end_ids:
            raise UserError("the model has no end token, so JSON could not end; name one: eos_token_id")
        self._ends = sorted(end_ids)
        self._tokens = _token_reader(tokenizer, len(tokenizer), tuple(self._ends))
        grammar = _grammar(grounding.schema)
        self._matcher = LLMatcher(self._tokens, grammar, log_level=0)
        self._n_prompt = n_prompt
        self._read: list[int] = []
        """The tokens of the answer that the parser has read."""
        self._whole = True
        """Whether it could read all of the last prefix."""
        if self._matcher.is_error():
            raise UserError(f"the JSON schema cannot be used: {_first_lines(self._matcher.get_error())}; change it")
        if not self._allowed().any():
            raise UserError("no text satisfies the JSON schema (or the tokenizer cannot write it); change it")

    def __call__(self, prefix: Sequence[int], logits: torch.Tensor) -> torch.Tensor:
        import torch

        self._go_to(prefix)
        allowed = torch.zeros(len(logits), dtype=torch.bool)
        if self._whole:
            found = torch.from_numpy(self._allowed())[: len(logits)]
            allowed[: len(found)] = found
        else:
            allowed[[end for end in self._ends if end < len(logits)]] = True
        allowed = allowed.to(logits.device)
        ruled = torch.where(allowed, logits, -math.inf)
        # other rules may have excluded all that this one allows: then its tokens are equally likely
        return torch.where(allowed & (ruled.amax() == -math.inf), 0.0, ruled)

    def forced(self, prefix: Sequence[int], room: int) -> Sequence[int]:
        """See `ForcingRule`; as far as the text is certain, in the tokens that its tokenizer would choose."""
        self._go_to(prefix)
        return self._matcher.compute_ff_tokens()[:room] if self._whole and not self._matcher.is_stopped() else ()

    def _allowed(self) -> Any:
        """(n,) bool: what may follow where the parser is."""
        import numpy as np

        bits = np.frombuffer(self._matcher.compute_bitmask(), dtype=np.uint8)
        if self._matcher.is_error():
            raise StageError(
                "generate", f"the JSON schema became too hard to follow: {_first_lines(self._matcher.get_error())}"
            )
        return np.unpackbits(bits, bitorder="little").astype(bool)

    def _go_to(self, prefix: Sequence[int]) -> None:
        answer = list(prefix[self._n_prompt :])
        n = min(len(answer), len(self._read))
        if answer[:n] != self._read[:n]:
            n = next(i for i, (new, old) in enumerate(zip(answer, self._read)) if new != old)
        if n < len(self._read):
            self._matcher.rollback(len(self._read) - n)
            del self._read[n:]
        taken = self._matcher.try_consume_tokens(answer[n:]) if n < len(answer) else 0
        self._read += answer[n : n + taken]
        self._whole = len(self._read) == len(answer)


def check_json(grounding: Json, tokenizer: Any, end_ids: Collection[int]) -> None:
    """Raises UserError as `JsonRule` does. The caller holds the tokenizer's lock."""
    JsonRule(grounding, tokenizer, 0, end_ids)


def token_bytes(tokenizer: Any, end_ids: Collection[int]) -> LLTokenizer:
    """Whose `decode_bytes([token])` are the bytes that a token adds to a text. Raises UserError as `JsonRule` does."""
    return _token_reader(tokenizer, len(tokenizer), tuple(sorted(end_ids)))


@lru_cache(maxsize=4)
def _token_reader(tokenizer: Any, n_tokens: int, ends: tuple[int, ...]) -> LLTokenizer:
    """Made once for a tokenizer of this length (about a second): adding tokens gives another."""
    from llguidance.hf import from_tokenizer

    try:
        return from_tokenizer(tokenizer, n_vocab=max(n_tokens, *(end + 1 for end in ends), 1), eos_token=list(ends) or None)
    except ValueError as error:  # a tokenizer in Python, or one of a form that llguidance does not know
        raise UserError(
            f"the tokens of this model cannot be read one by one ({error}); choose a model with tokenizer.json"
        ) from None


def _grammar(schema: str) -> str:
    from llguidance import LLMatcher

    if len(schema.encode("utf-8", errors="replace")) > SCHEMA_BYTES:
        raise UserError(f"the JSON schema is larger than {SCHEMA_BYTES >> 10} KiB; make it smaller")
    try:
        value = json.loads(schema)
    except (ValueError, RecursionError) as error:
        raise UserError(f"the JSON schema is not JSON ({error}); correct it") from None
    if not isinstance(value, dict):
        raise UserError(f"the JSON schema is {str(value)[:40]!r}, not an object; use an object such as {{'type': 'object'}}")
    try:
        depth = _depth(value)
    except RecursionError:
        depth = LEVELS + 1
    if depth > LEVELS:
        raise UserError(f"the JSON schema has more than {LEVELS} levels; make it flatter, with $defs")
    if _common_multiple(value) > MULTIPLES:
        raise UserError(f"the JSON schema asks for multiples with more than {MULTIPLES} remainders; use smaller multipleOf")
    if not _ends(value):
        raise UserError("no text satisfies the JSON schema: a part of it requires itself without an end; make it optional")
    try:
        return LLMatcher.grammar_from_json_schema(value, overrides=_OPTIONS)  # type: ignore[arg-type]
    except ValueError as error:
        raise UserError(f"the JSON schema cannot be used: {_first_lines(str(error))}; change it") from None


def _ends(schema: Mapping[str, Any]) -> bool:
    """Whether a finite value can satisfy the schema, as far as references go in circles: llguidance does not see this, and a
    model would write to the token limit. A least fixed point: a reference ends when what it names ends with those known to."""
    references = {one["$ref"] for one in _objects(schema) if isinstance(one.get("$ref"), str) and one["$ref"].startswith("#")}
    if len(references) > REFERENCES:
        raise UserError(f"the JSON schema refers to {len(references)} parts of itself, more than {REFERENCES}; make it smaller")
    targets = {reference: _target(schema, reference) for reference in references}
    ending: set[str] = set()
    while found := {name for name in references - ending if _ends_with(targets[name], ending)}:
        ending |= found
    return _ends_with(schema, ending)


def _ends_with(node: object, ending: Collection[str]) -> bool:
    if not isinstance(node, dict):
        return True
    reference = node.get("$ref")
    if isinstance(reference, str) and reference.startswith("#") and reference not in ending:
        return False
    for name, decide in (("allOf", all), ("anyOf", any), ("oneOf", any)):
        if (parts := node.get(name)) and isinstance(parts, list) and not decide(_ends_with(one, ending) for one in parts):
            return False
    kind, needed = node.get("type"), list[object]()
    properties, required, least = node.get("properties"), node.get("required"), node.get("minItems")
    if kind in ("object", ["object"]) and isinstance(properties, dict) and isinstance(required, list):
        needed = [properties.get(name) for name in required if isinstance(name, str)]
    elif kind in ("array", ["array"]) and isinstance(least, int) and least > 0:
        first = node.get("prefixItems")
        needed = [*first[:least]] if isinstance(first, list) else []
        needed += [node.get("items")] * (len(needed) < least)
    return all(_ends_with(one, ending) for one in needed)


def _common_multiple(schema: Mapping[str, Any]) -> float:
    """Of the numerators of all `multipleOf`: parts of a schema may be joined in many ways, so they count together."""
    found = 1
    for one in _objects(schema):
        number = one.get("multipleOf")
        if isinstance(number, bool) or not isinstance(number, int | float) or not number:
            continue
        if not abs(number) < math.inf:
            return math.inf
        found = math.lcm(found, Fraction(str(number)).numerator)
        if found > MULTIPLES:
            break
    return found


def _objects(value: object) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects(inner)


def _depth(value: object) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(_depth, inner), default=0)


def _target(root: object, reference: str) -> object:
    """What a JSON pointer (RFC 6901) of the same document points at; None if at nothing."""
    node = root
    for step in reference.removeprefix("#").split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        node = node.get(step) if isinstance(node, dict) else None
    return node


def _first_lines(text: str) -> str:
    return " ".join(text.split())[:200]
