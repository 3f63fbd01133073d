"""Generating through OpenAI-compatible servers on loopback: ours, and one full of faults (`tests/servers.py`)."""

from __future__ import annotations

import itertools
import json
import logging
import math
import random
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from data.errors import StageError, UserError
from decoding.api import Completion, Message, Request, SamplingParams
from decoding.local import LocalGenerator
from decoding.models.loading import load
from decoding.serving.client import ServerGenerator
from decoding.serving.retrying import Timeouts
from decoding.serving.server_replies import estimated_tokens, shares_of_tokens
from tests.servers import faulty, served
from tests.tiny_model import build_tiny_model

TEXT = ["The bridge over the river fell on Monday morning, the mayor said.", "Zürich – 6:4 – won on 12 March 2021."]
ASK = [Message("system", "You write plainly."), Message("user", "The bridge over the river")]
FRESH = itertools.count(1000)
"""Seeds: the server misbehaves once for each."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_tiny_model(tmp_path_factory.mktemp("served"), chat_template=True, vocab_from=TEXT, layers=1)


@pytest.fixture
def unused_port() -> Iterator[int]:
    """Taken, so that no other process gets it, and nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield int(taken.getsockname()[1])


@pytest.fixture(scope="module")
def base() -> Iterator[str]:
    with faulty() as address:
        yield address


@pytest.fixture(scope="module")
def ours(folder: Path) -> Iterator[str]:
    with served(folder) as address:
        yield address


class Slept(list[float]):
    """In place of time.sleep: keeps what it was asked for."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


def asked(base: str, model: str, sampling: SamplingParams | None = None, **options: object) -> Completion:
    return ServerGenerator(model, f"{base}/v1", **options).generate(ASK, sampling or SamplingParams())  # type: ignore[arg-type]


def streamed(base: str, model: str, *stops: str) -> tuple[Completion, list[str]]:
    pieces: list[str] = []
    return ServerGenerator(model, f"{base}/v1").generate(ASK, SamplingParams(stop=stops), pieces.append), pieces


def fault(base: str, model: str, *, stream: bool = False, **options: object) -> str:
    """The message of the StageError that a faulty answer becomes."""
    generator = ServerGenerator(model, f"{base}/v1", sleep=Slept(), **options)  # type: ignore[arg-type]
    with pytest.raises(StageError) as error:
        generator.generate(ASK, SamplingParams(seed=next(FRESH)), (lambda piece: None) if stream else None)
    assert f"{base}/v1/chat/completions" in error.value.why
    return error.value.why


# --- the same text as in this process ---------------------------------------------------------------------------------


def test_a_served_model_writes_what_it_writes_here(ours: str, folder: Path) -> None:
    local, generator = LocalGenerator(load(str(folder), device="cpu")), ServerGenerator("tiny", f"{ours}/v1")
    full = local.generate(ASK, SamplingParams(max_new_tokens=40))
    stop = full.text[len(full.text) // 2 :][:2]
    for stops in ((), (stop,)):
        sampling, pieces = SamplingParams(max_new_tokens=40, stop=stops), list[str]()
        expected = local.generate(ASK, sampling)
        for found in (generator.generate(ASK, sampling), generator.generate(ASK, sampling, pieces.append)):
            assert (found.text, found.stop) == (expected.text, expected.stop)
            assert found.n_prompt_tokens == expected.n_prompt_tokens
            assert found.n_new_tokens == expected.n_new_tokens or stops
            assert found.stats.total_s > 0 and found.stats.prefill_s is None
        assert "".join(pieces) == expected.text and len(pieces) > 1


def test_stop_strings_hold_where_the_server_does_not_obey(base: str) -> None:
    found, pieces = streamed(base, "ignores-stop", "###")
    assert (found.text, found.stop) == ("The bridge fell.", "stop")
    assert "".join(pieces) == found.text


# --- what is sent -----------------------------------------------------------------------------------------------------


def echoed(base: str, sampling: SamplingParams, messages: list[Message] = ASK) -> dict[str, dict[str, object]]:
    return dict(json.loads(bytes.fromhex(ServerGenerator("echo", f"{base}/v1/").generate(messages, sampling).text)))


def test_parameters_reach_the_server(base: str) -> None:
    """No more stop strings than the interface allows."""
    stops = ("QQ1", "QQ2", "QQ3", "QQ4", "QQ5")
    sampling = SamplingParams(max_new_tokens=77, temperature=0.7, top_p=0.9, seed=5, stop=stops)
    assert echoed(base, sampling)["body"] == {
        "model": "echo",
        "messages": [{"role": m.role, "content": m.content} for m in ASK],
        "max_tokens": 77,
        "temperature": 0.7,
        "top_p": 0.9,
        "seed": 5,
        "stop": list(stops[:4]),
    }


def test_control_tokens_do_not_reach_the_server(base: str) -> None:
    sent = echoed(base, SamplingParams(), [Message("user", "a<|im_end|>b [INST]")])["body"]["messages"]
    assert sent == [{"role": "user", "content": "a< |im_end|>b [ INST]"}]


def test_the_key_is_sent_and_found_nowhere_else(
    base: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    caplog.set_level(logging.DEBUG)
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login someone password else\n")
    monkeypatch.setenv("NETRC", str(netrc))
    assert echoed(base, SamplingParams())["headers"]["authorization"] is None
    monkeypatch.setenv("OPENAI_API_KEY", "sk-second")
    assert echoed(base, SamplingParams())["headers"]["authorization"] == "Bearer sk-second"
    monkeypatch.setenv("WIKIGEN_API_KEY", " sk-first\n")
    assert echoed(base, SamplingParams())["headers"]["authorization"] == "Bearer sk-first"
    generator = ServerGenerator("echo", f"{base}/keyed")
    refused = user_error(generator)  # this server repeats the key in its refusal
    monkeypatch.setenv("WIKIGEN_API_KEY", "sk-a\nsk-b")
    with pytest.raises(UserError) as error:
        ServerGenerator("tiny", "http://127.0.0.1:1/v1")
    assert "WIKIGEN_API_KEY" in refused
    assert "sk-" not in f"{refused} {error.value} {generator.name} {generator!r} {caplog.text}"


def test_proxies_are_for_other_machines_only(base: str, unused_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(variable, f"http://127.0.0.1:{unused_port}")
    for variable in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(variable, raising=False)
    assert asked(base, "plain").text == "The bridge fell."
    with pytest.raises(StageError, match="refused"):  # by the proxy: the name itself does not exist
        asked("http://models.example", "plain", retries=0)


# --- what comes back --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "stop", "told"),
    [("plain", (), "end"), ("plain", ("QQ",), "unknown"), ("plain", ("fell",), "stop"), ("vllm-stop", ("QQ",), "stop")],
)
def test_stop_reasons_are_told_apart_where_the_server_does(base: str, model: str, stop: tuple[str, ...], told: str) -> None:
    assert asked(base, model, SamplingParams(stop=stop)).stop == told


def test_odd_but_valid_answers_are_read(base: str) -> None:
    found, pieces = streamed(base, "odd-stream")
    assert (found.text, found.stop) == ("Zürich – 6:4", "end") and pieces == ["Zürich ", "– 6:4"]
    found, pieces = streamed(base, "unstreamed")
    assert found.text == "all at once" and pieces == ["all at once"]


@pytest.mark.parametrize(
    ("model", "stream", "words"),
    [
        ("fault-garbage", False, ["status 200", "is not JSON", '{"choices": [{"mess']),
        ("fault-list", False, ["not a JSON object", '["not"']),
        ("fault-empty", False, ["status 200", "empty answer"]),
        ("fault-html", False, ["is not JSON", "Welcome to the proxy"]),
        ("fault-no-choices", False, ["no choices"]),
        ("fault-null", False, ["no content", "reasoning"]),
        ("fault-short", False, ["broke off after 13 bytes"]),
        ("fault-400", False, ["status 400", "longer than the context"]),
        ("fault-garbage", True, ["is not JSON"]),
        ("fault-truncated-stream", True, ["ended before the text did"]),
        ("fault-empty-stream", True, ["ended before the text did"]),
        ("fault-dropped-stream", True, ["broke off"]),
        ("fault-error-stream", True, ["reports an error", "engine died"]),
    ],
)
def test_unusable_answers_say_what_came(base: str, model: str, stream: bool, words: list[str]) -> None:
    message = fault(base, model, stream=stream)
    assert [word for word in words if word not in message] == []
    assert message.isprintable() and len(message) < 500


def test_text_of_a_broken_stream_is_not_asked_for_again(base: str) -> None:
    """What was passed on cannot be taken back, so there is no second request."""
    pieces: list[str] = []
    with pytest.raises(StageError):
        ServerGenerator("fault-dropped-stream", f"{base}/v1").generate(ASK, SamplingParams(), pieces.append)
    assert pieces == ["The bridge"]


def test_counts_are_the_servers_else_estimates(base: str) -> None:
    counted, estimated = asked(base, "echo"), asked(base, "plain")
    assert (counted.n_prompt_tokens, counted.n_new_tokens) == (3, 2)
    assert estimated.n_new_tokens == estimated_tokens("The bridge fell.")
    assert estimated.n_prompt_tokens > estimated_tokens(ASK[1].content)


# --- waiting and repeating --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "low", "high"),
    [
        ("fault-429-then-ok", 7.0, 7.0),
        ("fault-429-long-then-ok", 60.0, 60.0),
        ("fault-429-date-then-ok", 26.0, 30.0),
        ("fault-429-odd-then-ok", 0.0, 0.5),
        ("fault-503-then-ok", 0.0, 0.5),
    ],
)
def test_what_passes_is_repeated_after_the_time_asked_for(base: str, model: str, low: float, high: float) -> None:
    slept = Slept()
    assert asked(base, model, SamplingParams(seed=next(FRESH)), sleep=slept).text == "ok"
    assert len(slept) == 1 and low <= slept[0] <= high


def test_repeats_are_few_and_back_off_with_full_jitter(base: str) -> None:
    slept = Slept()
    with pytest.raises(StageError, match=r"status 500: out of  luck; gave up after 8 attempts") as error:
        asked(base, "fault-500", retries=7, sleep=slept, uniform=lambda: 0.5)
    assert error.value.why.isprintable()
    assert slept == [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 10.0]


def test_no_repeat_starts_that_could_not_end_in_time(base: str) -> None:
    slept = Slept()
    with pytest.raises(StageError, match="no time left"):
        asked(base, "fault-429-long-then-ok", SamplingParams(seed=next(FRESH)), timeouts=Timeouts(total_s=30), sleep=slept)
    assert slept == []


def test_a_refused_connection_is_tried_again(unused_port: int) -> None:
    slept, address = Slept(), f"http://127.0.0.1:{unused_port}"
    with pytest.raises(StageError, match=r"no connection.*refused.*3 attempts"):
        asked(address, "tiny", retries=2, sleep=slept)
    assert len(slept) == 2
    with pytest.raises(UserError, match="start the server"):  # at first contact, before any text
        _ = ServerGenerator("tiny", f"{address}/v1", sleep=Slept()).context_tokens


@pytest.mark.timeout(30, func_only=True)  # the server answers after a minute, or never ends
def test_a_server_that_takes_too_long_is_left(base: str) -> None:
    assert "no answer within 0.3 s" in fault(base, "fault-hang", timeouts=Timeouts(read_s=0.3))
    assert "longer than 0.6 s" in fault(base, "fault-drip", stream=True, timeouts=Timeouts(total_s=0.6))


# --- the user's mistakes ----------------------------------------------------------------------------------------------


def user_error(generator: ServerGenerator) -> str:
    with pytest.raises(UserError) as error:
        generator.generate(ASK, SamplingParams())
    return str(error.value)


@pytest.mark.parametrize(
    ("model", "path", "words"),
    [
        ("tinny", "v1", ["'tinny'", "tiny, other"]),
        ("tiny", "nothing/here", ["end in /v1"]),
        ("tiny", "keyed", ["no key was sent: set WIKIGEN_API_KEY"]),
        ("fault-redirect", "v1", ["https://elsewhere.example"]),
    ],
    ids=["a model that is not served", "a wrong path", "no key", "a redirect, which is not followed"],
)
def test_mistakes_are_answered_with_a_hint(base: str, model: str, path: str, words: list[str]) -> None:
    told = user_error(ServerGenerator(model, f"{base}/{path}"))
    assert [word for word in words if word not in told] == []


@pytest.mark.parametrize(
    "url",
    [
        "127.0.0.1:8000/v1", "ftp://host/v1", "http://", "http://[::1/v1", "http://host:port/v1", "http://host/v1?x=1",
        "http://user:secret@host/v1", "http://host/v1/chat/completions",
    ],
)  # fmt: skip
def test_what_is_not_a_base_url_is_refused(url: str) -> None:
    with pytest.raises(UserError) as error:
        ServerGenerator("tiny", url)
    assert "secret" not in str(error.value)


# --- what is known of the server --------------------------------------------------------------------------------------


def test_the_context_is_the_listed_one_else_the_default(base: str) -> None:
    assert ServerGenerator("tiny", f"{base}/v1").context_tokens == 1024
    assert ServerGenerator("other", f"{base}/v1").context_tokens == 8192
    assert ServerGenerator("unlisted", f"{base}/v1", default_context_tokens=4096).context_tokens == 4096
    assert ServerGenerator("tiny", f"{base}/bare", default_context_tokens=2048).context_tokens == 2048


def test_the_fingerprint_names_model_and_server(base: str) -> None:
    first = ServerGenerator("tiny", f"{base}/v1")
    assert first.name == f"server:tiny@{base}/v1"
    assert ServerGenerator("tiny", f"{base}/v1/").fingerprint == first.fingerprint
    for model, path in (("other", "v1"), ("tiny", "bare")):
        assert ServerGenerator(model, f"{base}/{path}").fingerprint != first.fingerprint
    with pytest.raises(UserError, match="set WIKIGEN_API_KEY"):
        _ = ServerGenerator("tiny", f"{base}/keyed").fingerprint


def test_the_estimate_is_above_a_small_tokenizers_count_of_prose(folder: Path) -> None:
    """Byte pairs of 800 entries split words far more than those of current models, so only words known to it are used."""
    tokenizer = load(str(folder), device="cpu").tokenizer
    words = TEXT[0].rstrip(".").replace(",", "").split()
    rng = random.Random(0)
    for _ in range(50):
        text = " ".join(rng.choices(words, k=30)) + ".\n"
        assert len(tokenizer(text, add_special_tokens=False).input_ids) <= estimated_tokens(text)


# --- several at once, and choices ---------------------------------------------------------------------------------------


def requests(*texts: str) -> list[Request]:
    return [Request((Message("user", text),), SamplingParams(seed=next(FRESH))) for text in texts]


def test_requests_go_out_at_the_same_time_and_keep_their_order(base: str) -> None:
    """Two wait for each other at the server; what came is told in this thread."""
    texts = [f"text {i}" for i in range(6)]
    ended: dict[int, str] = {}
    threads = set()

    def done(at: int, completion: Completion) -> None:
        ended[at] = completion.text
        threads.add(threading.get_ident())

    found = ServerGenerator("two-at-once", f"{base}/v1", at_once=2).generate_many(requests(*texts), done)
    assert [one.text for one in found] == texts and ended == dict(enumerate(texts))
    assert threads == {threading.get_ident()}


def test_a_request_that_fails_leaves_the_others(base: str) -> None:
    ended: list[int] = []
    generator = ServerGenerator("some-fail", f"{base}/v1", at_once=2)
    with pytest.raises(StageError, match="empty answer"):
        generator.generate_many(requests("a", "bad", "c", "bad", "e", "f"), lambda at, done: ended.append(at))
    assert sorted(ended) == [0, 2, 4, 5]


def test_a_server_that_is_down_is_not_asked_for_all(base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = ServerGenerator("fault-empty", f"{base}/v1", at_once=2)
    n_asked, original = itertools.count(), generator.generate
    monkeypatch.setattr(generator, "generate", lambda *words, **more: (next(n_asked), original(*words, **more))[1])
    with pytest.raises(StageError, match="empty answer"):
        generator.generate_many(requests(*"abcdefghijklmnopqrst"))
    assert next(n_asked) < 10


def test_what_the_caller_raises_ends_it(base: str) -> None:
    def full(at: int, done: Completion) -> None:
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        ServerGenerator("some-fail", f"{base}/v1").generate_many(requests(*"abc"), full)
    with pytest.raises(UserError, match="does not exist"):
        ServerGenerator("nobody", f"{base}/v1").generate_many(requests(*"abc"))


def test_choices_are_shares_of_the_first_token(base: str, ours: str) -> None:
    shares = ServerGenerator("logprobs", f"{base}/v1").choose(ASK, ("Yes", "No"))
    yes, no = math.exp(-0.5) + math.exp(-2.5), math.exp(-1.5)
    assert shares == pytest.approx((yes / (yes + no), no / (yes + no)))
    server = ServerGenerator("tiny", f"{ours}/v1")
    chats = [[*ASK, Message("assistant", begun)] for begun in ("The bridge", "On Monday", "The mayor", "6:4", "It")]
    told = next(tokens for messages in chats if (tokens := server._first_tokens(messages)))  # one that does not end at once
    assert len(told) == 20
    options = ("the", "bridge")
    expected = [shares_of_tokens(server._first_tokens(messages), options) for messages in chats]
    assert server.choose_many(chats, options) == [pytest.approx(one) for one in expected]


@pytest.mark.parametrize(("model", "options"), [("no-logprobs", ("Yes", "no")), ("plain", ("It", "the"))])
def test_choices_are_read_off_the_text_where_no_logprobs_are_told(
    base: str, model: str, options: tuple[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    generator = ServerGenerator(model, f"{base}/v1")
    assert generator.choose(ASK, options) == (0.0, 1.0)
    assert generator.choose_many([ASK] * 3, ("a", "b")) == [(0.5, 0.5)] * 3
    assert len(caplog.records) == 1 and "choices are read off short answers" in caplog.text


def test_a_prompt_that_is_refused_says_nothing_of_logprobs(ours: str) -> None:
    generator = ServerGenerator("tiny", f"{ours}/v1")
    with pytest.raises(StageError, match="maximum context length is 1024"):
        generator.choose([Message("user", "river " * 2000)], ("Yes", "No"))
    assert generator._tells_logprobs
