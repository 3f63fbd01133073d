"""Requests take turns in groups: in order, each with its own answer as soon as it is there, whatever becomes of the others."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests

from decoding.serving.turns import Turns, Waiting
from tests.servers import served
from tests.tiny_model import build_tiny_model

TEXT = ["The bridge over the river fell on Monday morning, the mayor said.", "Two people were hurt."]
PATH = "/v1/chat/completions"


class Writer:
    """Writes `NAME!` for each, only when it is let go."""

    def __init__(self) -> None:
        self.groups: list[list[str]] = []
        self.let_go = threading.Event()
        self.turns: Turns[str, str] = Turns(lambda names: True, self.write)

    def write(self, group: Sequence[Waiting[str, str]]) -> None:
        self.groups.append([one.wanted for one in group])
        for one in sorted(group, key=lambda one: one.wanted == "long"):
            assert one.wanted == "short" or self.let_go.wait(10)
            if one.wanted == "broken":
                raise ValueError("broken")
            one.finish(f"{one.wanted}!")

    async def ask(self, *names: str) -> list[asyncio.Task[str]]:
        tasks = [asyncio.create_task(self.turns.written(name)) for name in names]
        await asyncio.sleep(0)
        return tasks


def test_an_error_is_for_those_who_have_nothing_yet() -> None:
    async def scenario(writer: Writer) -> list[Any]:
        tasks = await writer.ask("a", "broken", "b")
        writer.let_go.set()
        return [*await asyncio.gather(*tasks, return_exceptions=True), *await asyncio.gather(*await writer.ask("c"))]

    found = asyncio.run(scenario(Writer()))
    assert [one if isinstance(one, str) else type(one) for one in found] == ["a!", ValueError, ValueError, "c!"]


def test_a_group_goes_on_when_its_first_has_gone() -> None:
    async def scenario(writer: Writer) -> str:
        first, second = await writer.ask("a", "b")
        while not writer.groups:
            await asyncio.sleep(0.001)
        first.cancel()
        writer.let_go.set()
        return await second

    writer = Writer()
    assert asyncio.run(scenario(writer)) == "b!" and writer.groups == [["a", "b"]]


def test_a_short_text_does_not_wait_for_a_long_one() -> None:
    async def scenario(writer: Writer) -> list[str]:
        long, short = await writer.ask("long", "short")
        first = await asyncio.wait_for(short, 10)
        assert not long.done()
        writer.let_go.set()
        return [first, await long]

    assert asyncio.run(scenario(Writer())) == ["short!", "long!"]


# --- the server ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Low-bit weights: texts are written together."""
    folder = build_tiny_model(
        tmp_path_factory.mktemp("served"), chat_template=True, vocab_from=TEXT, context_tokens=512, layers=1
    )
    with served(folder, dtype="int8") as address:
        yield address


def body(seed: int, **more: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": "The bridge over the river"}]
    return {"model": "tiny", "messages": messages, "temperature": 0.9, "seed": seed, "max_tokens": 24, **more}


def post(base: str, **asked: Any) -> dict[str, Any]:
    response = requests.post(base + PATH, json=asked, timeout=60)
    assert response.status_code == 200, response.text
    return dict(response.json())


def test_n_answers_have_seeds_of_their_own_and_are_what_they_are_alone(base: str) -> None:
    alone = [post(base, **body(seed)) for seed in (7, 8, 9)]
    answer = post(base, **body(7, n=3))
    texts = [choice["message"]["content"] for choice in answer["choices"]]
    assert texts == [one["choices"][0]["message"]["content"] for one in alone] and len(set(texts)) == 3
    assert [choice["index"] for choice in answer["choices"]] == [0, 1, 2]
    assert answer["usage"]["prompt_tokens"] == alone[0]["usage"]["prompt_tokens"]
    assert answer["usage"]["completion_tokens"] == sum(one["usage"]["completion_tokens"] for one in alone)
    assert answer["timings"]["predicted_n"] == answer["usage"]["completion_tokens"] and answer["timings"]["seed"] == 7


def test_requests_at_once_get_what_they_get_alone(base: str) -> None:
    """Of different prompts, limits and forms, drafts on and off, streamed and whole, one client hanging up among them."""
    asked = [
        body(1, max_tokens=60),
        body(2, messages=[{"role": "user", "content": "Two people"}]),
        body(3, speculation="off"),
        body(4, temperature=0),
        body(5, max_tokens=1),
        body(7, logprobs=True, top_logprobs=2),
        body(8, response_format={"type": "json_object"}),
    ]
    expected = [post(base, **one)["choices"] for one in asked]

    def hang_up() -> None:
        with requests.post(base + PATH, json=body(6, stream=True, max_tokens=400), stream=True, timeout=30) as response:
            next(response.iter_content(16))

    with ThreadPoolExecutor(len(asked) + 1) as pool:
        for _ in range(3):
            gone = pool.submit(hang_up)
            assert list(pool.map(lambda one: post(base, **one)["choices"], asked)) == expected
            gone.result()
