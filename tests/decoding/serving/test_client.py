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


def fault(base: str, model: str, **options: object) -> str:
    """The message of the StageError that a faulty answer becomes; `stream=True` asks for a stream."""
    on_text = (lambda piece: None) if options.pop("stream", False) else None
    generator = ServerGenerator(model, f"{base}/v1", sleep=Slept(), **options)  # type: ignore[arg-type]
    with pytest.raises(StageError) as error:
        generator.generate(ASK, SamplingParams(seed=next(FRESH)), on_text)
    assert f"{base}/v1/chat/completions" in error.value.why
    return error.value.why


# --- the same text as in this process ---------------------------------------------------------------------------------


def test_a_served_model_writes_what_it_writes_here(ours: str, folder: Path) -> None:
    local = LocalGenerator(load(str(folder), device="cpu")).generate(ASK, SamplingParams(max_new_tokens=40))
    pieces: list[str] = []
    generator = ServerGenerator("tiny", f"{ours}/v1")
    whole = generator.generate(ASK, SamplingParams(max_new_tokens=40))
    streamed = generator.generate(ASK, SamplingParams(max_new_tokens=40), pieces.append)
    for completion in (whole, streamed):
        assert completion.text == local.text
        assert completion.n_prompt_tokens == local.n_prompt_tokens
        assert completion.n_new_tokens == local.n_new_tokens
        assert completion.stop == local.stop
        assert completion.stats.total_s > 0
        assert completion.stats.prefill_s is None
    assert "".join(pieces) == streamed.text
    assert len(pieces) > 1


def test_stop_strings_hold_where_the_server_obeys(ours: str, folder: Path) -> None:
    local = LocalGenerator(load(str(folder), device="cpu"))
    full = local.generate(ASK, SamplingParams(max_new_tokens=40)).text
    stop = full[len(full) // 2 :][:2]
    generator = ServerGenerator("tiny", f"{ours}/v1")
    sampling = SamplingParams(max_new_tokens=40, stop=(stop,))
    pieces: list[str] = []
    for completion in (generator.generate(ASK, sampling), generator.generate(ASK, sampling, pieces.append)):
        assert (completion.text, completion.stop) == (full.split(stop)[0], "stop")
    assert "".join(pieces) == full.split(stop)[0]


def test_stop_strings_hold_where_the_server_does_not(base: str) -> None:
    pieces: list[str] = []
    generator = ServerGenerator("ignores-stop", f"{base}/v1")
    streamed = generator.generate(ASK, SamplingParams(stop=("###",)), pieces.append)
    assert (streamed.text, streamed.stop) == ("The bridge fell.", "stop")
    assert "".join(pieces) == streamed.text


# --- what is sent -----------------------------------------------------------------------------------------------------


def echoed(base: str, sampling: SamplingParams, messages: list[Message] = ASK) -> dict[str, dict[str, object]]:
    return dict(json.loads(bytes.fromhex(ServerGenerator("echo", f"{base}/v1/").generate(messages, sampling).text)))


def test_no_more_stop_strings_are_sent_than_the_api_allows(base: str) -> None:
    stops = tuple(f"QQ{i}" for i in range(6))
    assert len(list(echoed(base, SamplingParams(stop=stops))["body"]["stop"])) == 4  # type: ignore[call-overload]


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
    with pytest.raises(UserError) as error:  # this server repeats the key in its refusal
        generator.generate(ASK, SamplingParams())
    told = f"{error.value} {generator.name} {generator!r} {caplog.text}"
    assert "WIKIGEN_API_KEY" in told
    assert "sk-" not in told


def test_a_key_with_a_line_break_inside_is_refused_unprinted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WIKIGEN_API_KEY", "sk-a\nsk-b")
    with pytest.raises(UserError) as error:
        ServerGenerator("tiny", "http://127.0.0.1:1/v1")
    assert "sk-" not in str(error.value)


def test_proxies_are_for_other_machines_only(base: str, unused_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(variable, f"http://127.0.0.1:{unused_port}")
    for variable in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(variable, raising=False)
    assert ServerGenerator("plain", f"{base}/v1").generate(ASK, SamplingParams()).text == "The bridge fell."
    remote = ServerGenerator("plain", "http://models.example/v1", retries=0)
    with pytest.raises(StageError, match="refused"):  # by the proxy: the name itself does not exist
        remote.generate(ASK, SamplingParams())


# --- what comes back --------------------------------------------------------------------------------------------------


def test_stop_reasons_are_told_apart_where_the_server_does(base: str) -> None:
    def stop(model: str, *stops: str) -> str:
        return ServerGenerator(model, f"{base}/v1").generate(ASK, SamplingParams(stop=stops)).stop

    assert stop("plain") == "end"
    assert stop("plain", "QQ") == "unknown"
    assert stop("plain", "fell") == "stop"
    assert stop("vllm-stop", "QQ") == "stop"


def test_an_odd_but_valid_stream_is_read(base: str) -> None:
    pieces: list[str] = []
    completion = ServerGenerator("odd-stream", f"{base}/v1").generate(ASK, SamplingParams(), pieces.append)
    assert (completion.text, completion.stop) == ("Zürich – 6:4", "end")
    assert pieces == ["Zürich ", "– 6:4"]


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("fault-garbage", ["status 200", "is not JSON", '{"choices": [{"mess']),
        ("fault-list", ["not a JSON object", '["not"']),
        ("fault-empty", ["status 200", "empty answer"]),
        ("fault-html", ["is not JSON", "Welcome to the proxy"]),
        ("fault-no-choices", ["no choices"]),
        ("fault-null", ["no content", "reasoning"]),
        ("fault-short", ["broke off after 13 bytes"]),
        ("fault-400", ["status 400", "longer than the context"]),
    ],
)
def test_unusable_answers_say_what_came(base: str, model: str, words: list[str]) -> None:
    message = fault(base, model)
    assert [word for word in words if word not in message] == []
    assert message.isprintable()
    assert len(message) < 500


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("fault-truncated-stream", ["ended before the text did"]),
        ("fault-dropped-stream", ["broke off"]),
        ("fault-error-stream", ["reports an error", "engine died"]),
        ("fault-empty-stream", ["ended before the text did"]),
        ("fault-garbage", ["is not JSON"]),
    ],
)
def test_unusable_streams_say_what_came(base: str, model: str, words: list[str]) -> None:
    message = fault(base, model, stream=True)
    assert [word for word in words if word not in message] == []


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
    generator = ServerGenerator(model, f"{base}/v1", sleep=slept)
    assert generator.generate(ASK, SamplingParams(seed=next(FRESH))).text == "ok"
    assert len(slept) == 1
    assert low <= slept[0] <= high


def test_repeats_are_few_and_back_off_with_full_jitter(base: str) -> None:
    slept = Slept()
    generator = ServerGenerator("fault-500", f"{base}/v1", retries=7, sleep=slept, uniform=lambda: 0.5)
    with pytest.raises(StageError, match=r"status 500: out of  luck; gave up after 8 attempts") as error:
        generator.generate(ASK, SamplingParams())
    assert error.value.why.isprintable()
    assert slept == [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 10.0]


def test_no_repeat_starts_that_could_not_end_in_time(base: str) -> None:
    slept = Slept()
    generator = ServerGenerator("fault-429-long-then-ok", f"{base}/v1", timeouts=Timeouts(total_s=30), sleep=slept)
    with pytest.raises(StageError, match="no time left"):
        generator.generate(ASK, SamplingParams(seed=next(FRESH)))
    assert slept == []


def test_a_refused_connection_is_tried_again(unused_port: int) -> None:
    slept = Slept()
    generator = ServerGenerator("tiny", f"http://127.0.0.1:{unused_port}/v1", retries=2, sleep=slept)
    with pytest.raises(StageError, match=r"no connection.*refused.*3 attempts"):
        generator.generate(ASK, SamplingParams())
    assert len(slept) == 2


@pytest.mark.timeout(30, func_only=True)  # the server answers after a minute
def test_a_silent_server_is_left_after_the_read_timeout(base: str) -> None:
    message = fault(base, "fault-hang", timeouts=Timeouts(read_s=0.3))
    assert "no answer within 0.3 s" in message


@pytest.mark.timeout(30, func_only=True)  # the server never ends
def test_an_endless_drip_is_left_after_the_total_time(base: str) -> None:
    message = fault(base, "fault-drip", stream=True, timeouts=Timeouts(total_s=0.6))
    assert "longer than 0.6 s" in message


# --- the user's mistakes ----------------------------------------------------------------------------------------------


def user_error(generator: ServerGenerator) -> str:
    with pytest.raises(UserError) as error:
        generator.generate(ASK, SamplingParams())
    return str(error.value)


def test_an_unknown_model_is_answered_with_those_served(base: str) -> None:
    message = user_error(ServerGenerator("tinny", f"{base}/v1"))
    assert "'tinny'" in message
    assert "tiny, other" in message


def test_a_wrong_path_is_answered_with_a_hint(base: str) -> None:
    assert "end in /v1" in user_error(ServerGenerator("tiny", f"{base}/nothing/here"))


def test_a_missing_key_is_named(base: str) -> None:
    assert "no key was sent: set WIKIGEN_API_KEY" in user_error(ServerGenerator("tiny", f"{base}/keyed"))
    with pytest.raises(UserError, match="set WIKIGEN_API_KEY"):
        _ = ServerGenerator("tiny", f"{base}/keyed").fingerprint


def test_a_redirect_is_not_followed(base: str) -> None:
    assert "https://elsewhere.example" in user_error(ServerGenerator("fault-redirect", f"{base}/v1"))


@pytest.mark.parametrize(
    "url",
    [
        "127.0.0.1:8000/v1",
        "ftp://host/v1",
        "http://",
        "http://[::1/v1",
        "http://host:port/v1",
        "http://host/v1?x=1",
        "http://user:secret@host/v1",
        "http://host/v1/chat/completions",
    ],
)
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
    first = ServerGenerator("tiny", f"{base}/v1").fingerprint
    assert ServerGenerator("tiny", f"{base}/v1/").fingerprint == first
    assert ServerGenerator("other", f"{base}/v1").fingerprint != first
    assert ServerGenerator("tiny", f"{base}/bare").fingerprint != first
    assert ServerGenerator("tiny", f"{base}/v1").name == f"server:tiny@{base}/v1"


def test_an_unreachable_server_is_a_user_error_at_first_contact(unused_port: int) -> None:
    generator = ServerGenerator("tiny", f"http://127.0.0.1:{unused_port}/v1", sleep=Slept())
    with pytest.raises(UserError, match="start the server"):
        _ = generator.context_tokens


def test_threads_share_a_generator(base: str) -> None:
    generator = ServerGenerator("echo", f"{base}/v1")
    sent: dict[int, object] = {}

    def work(i: int) -> None:
        answer = json.loads(bytes.fromhex(generator.generate([Message("user", f"number {i}")], SamplingParams()).text))
        sent[i] = answer["body"]["messages"][0]["content"]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sent == {i: f"number {i}" for i in range(8)}


def test_the_estimate_is_above_a_small_tokenizers_count_of_prose(folder: Path) -> None:
    """Byte pairs of 800 entries split words far more than those of current models, so only words known to it are used."""
    tokenizer = load(str(folder), device="cpu").tokenizer
    words = TEXT[0].rstrip(".").replace(",", "").split()
    rng = random.Random(0)
    for _ in range(50):
        text = " ".join(rng.choices(words, k=30)) + ".\n"
        assert len(tokenizer(text, add_special_tokens=False).input_ids) <= estimated_tokens(text)


# --- several at once, and choices ---------------------------------------------------------------------------------------


def asking(*texts: str) -> list[Request]:
    return [Request((Message("user", text),), SamplingParams(seed=next(FRESH))) for text in texts]


def test_requests_go_out_at_the_same_time_and_keep_their_order(base: str) -> None:
    texts = [f"text {i}" for i in range(6)]
    ended: dict[int, str] = {}
    threads = set()

    def done(at: int, completion: Completion) -> None:
        ended[at] = completion.text
        threads.add(threading.get_ident())

    generator = ServerGenerator("two-at-once", f"{base}/v1", at_once=2)
    found = generator.generate_many(asking(*texts), done)
    assert [one.text for one in found] == texts and ended == dict(enumerate(texts))
    assert threads == {threading.get_ident()}


def test_a_request_that_fails_leaves_the_others(base: str) -> None:
    ended: list[int] = []
    generator = ServerGenerator("some-fail", f"{base}/v1", at_once=2)
    with pytest.raises(StageError, match="empty answer"):
        generator.generate_many(asking("a", "bad", "c", "bad", "e", "f"), lambda at, done: ended.append(at))
    assert sorted(ended) == [0, 2, 4, 5]


def test_a_server_that_is_down_is_not_asked_for_all(base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = ServerGenerator("fault-empty", f"{base}/v1", at_once=2)
    asked: list[int] = []
    original = generator.generate

    def counted(*args: object, **more: object) -> Completion:
        asked.append(1)
        return original(*args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(generator, "generate", counted)
    with pytest.raises(StageError, match="empty answer"):
        generator.generate_many(asking(*"abcdefghijklmnopqrst"))
    assert len(asked) < 10


def test_what_the_caller_raises_ends_it(base: str) -> None:
    def full(at: int, done: Completion) -> None:
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        ServerGenerator("some-fail", f"{base}/v1").generate_many(asking(*"abc"), full)
    with pytest.raises(UserError, match="does not exist"):
        ServerGenerator("nobody", f"{base}/v1").generate_many(asking(*"abc"))


def test_choices_are_shares_of_the_first_token(base: str, ours: str) -> None:
    shares = ServerGenerator("logprobs", f"{base}/v1").choose(ASK, ("Yes", "No"))
    yes, no = math.exp(-0.5) + math.exp(-2.5), math.exp(-1.5)
    assert shares == pytest.approx((yes / (yes + no), no / (yes + no)))
    server = ServerGenerator("tiny", f"{ours}/v1")
    asked = [[*ASK, Message("assistant", begun)] for begun in ("The bridge", "On Monday", "The mayor", "6:4", "It")]
    told = next(tokens for messages in asked if (tokens := server._first_tokens(messages)))  # one that does not end at once
    assert len(told) == 20
    options = ("the", "bridge")
    expected = [shares_of_tokens(server._first_tokens(messages), options) for messages in asked]
    assert server.choose_many(asked, options) == [pytest.approx(one) for one in expected]


def test_choices_are_read_off_the_text_where_no_logprobs_are_told(base: str, caplog: pytest.LogCaptureFixture) -> None:
    for model in ("no-logprobs", "plain"):
        caplog.clear()
        generator = ServerGenerator(model, f"{base}/v1")
        options = ("Yes", "no") if model == "no-logprobs" else ("It", "the")
        assert generator.choose(ASK, options) == (0.0, 1.0)
        assert generator.choose_many([ASK] * 3, ("a", "b")) == [(0.5, 0.5)] * 3
        assert len(caplog.records) == 1 and "choices are read off short answers" in caplog.text


def test_a_prompt_that_is_refused_says_nothing_of_logprobs(ours: str) -> None:
    generator = ServerGenerator("tiny", f"{ours}/v1")
    with pytest.raises(StageError, match="maximum context length is 1024"):
        generator.choose([Message("user", "river " * 2000)], ("Yes", "No"))
    assert generator._tells_logprobs


def test_parameters_reach_the_server(base: str) -> None:
    sampling = SamplingParams(max_new_tokens=77, temperature=0.7, top_p=0.9, seed=5, stop=("QQ1", "QQ2"))
    assert echoed(base, sampling)["body"] == {
        "model": "echo",
        "messages": [{"role": m.role, "content": m.content} for m in ASK],
        "max_tokens": 77,
        "temperature": 0.7,
        "top_p": 0.9,
        "seed": 5,
        "stop": ["QQ1", "QQ2"],
    }


def test_counts_are_the_servers_else_estimates(base: str) -> None:
    counted = ServerGenerator("echo", f"{base}/v1").generate(ASK, SamplingParams())
    assert (counted.n_prompt_tokens, counted.n_new_tokens) == (3, 2)
    estimated = ServerGenerator("plain", f"{base}/v1").generate(ASK, SamplingParams())
    assert estimated.n_new_tokens == estimated_tokens("The bridge fell.")
    assert estimated.n_prompt_tokens > estimated_tokens(ASK[1].content)


def test_a_server_that_does_not_stream_still_answers(base: str) -> None:
    pieces: list[str] = []
    assert ServerGenerator("unstreamed", f"{base}/v1").generate(ASK, SamplingParams(), pieces.append).text == "all at once"
    assert pieces == ["all at once"]


def test_text_of_a_broken_stream_is_not_asked_for_again(base: str) -> None:
    """What was passed on cannot be taken back, so there is no second request."""
    pieces: list[str] = []
    with pytest.raises(StageError):
        ServerGenerator("fault-dropped-stream", f"{base}/v1").generate(ASK, SamplingParams(), pieces.append)
    assert pieces == ["The bridge"]
