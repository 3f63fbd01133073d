"""A model behind an OpenAI-compatible HTTP server (vLLM, SGLang, llama.cpp, `transformers serve`, hosted ones).

One POST to `/chat/completions` a text, streamed when somebody listens; `GET /models` once, to learn which models are served.
What passes by itself (refused connections, 429, 500, 502, 503, 504) is retried with full jitter (Brooker 2015, "Exponential
backoff and jitter"); everything else becomes an error that names the URL, the status and the beginning of the answer.
The API key comes from WIKIGEN_API_KEY, else OPENAI_API_KEY. It is sent to the server and appears nowhere else.
"""

from __future__ import annotations

import hashlib
import json
import logging
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from data.errors import StageError, UserError, WikigenError
from decoding.api import Completion, DecodeStats, Message, PromptForm, Request, SamplingParams
from decoding.choices import check_options, choice_of_text
from decoding.local import STAGE, StopCut
from decoding.models.control_tokens import break_control_tokens
from decoding.sampling import check_sampling
from decoding.serving.address import KEY_VARIABLES, Served, cause, checked_url, server_key
from decoding.serving.retrying import BACKOFF_CAP_S, BACKOFF_S, RETRIED_STATUSES, Timeouts, _NotListed, _Refused, retry_after
from decoding.serving.server_replies import (
    EXCERPT_CHARS,
    NO_CONTENT_HINT,
    NoLogprobs,
    Reading,
    Unusable,
    count_of,
    estimated_tokens,
    events_of,
    shares_of_tokens,
)

if TYPE_CHECKING:
    import requests
logger = logging.getLogger(__name__)
T = TypeVar("T")
_ANSWER_BYTES = 32 << 20
_TOP_LOGPROBS = 20
"""The most that the API lets a client ask for."""


class ServerGenerator:
    """Implements `decoding.api.Generator` for a served model. May be shared by threads; each call has its own connection.

    Proxy variables of the environment are followed, except for a server on this machine. Redirects are not followed: a POST
    would become a GET. Reasoning that the server keeps apart from the content is ignored.

    Args:
        model: the name to ask for, as in `GET base_url/models`.
        base_url: up to and with the version, such as `http://127.0.0.1:8000/v1`.
        default_context_tokens: believed when the server does not say (vLLM does, as max_model_len).
        retries: how often a request that failed in passing is repeated.
        at_once: requests of `generate_many` and `choose_many` that go out at the same time, at most.
        reply_schema: a JSON schema that answers follow, where the server can hold its model to one (`response_format`).
        sleep, uniform: for tests; seconds are slept, a number in [0, 1) scales each backoff.
    """

    tuned: frozenset[str] = frozenset()
    grounds = False
    """A server chooses its tokens out of sight."""

    def __init__(
        self,
        model: str,
        base_url: str,
        *,
        default_context_tokens: int = 8192,
        timeouts: Timeouts | None = None,
        retries: int = 4,
        at_once: int = 8,
        reply_schema: Mapping[str, object] | None = None,
        sleep: Callable[[float], None] = time.sleep,
        uniform: Callable[[], float] = random.random,
    ) -> None:
        self._model = model
        self._base_url, self._is_local = checked_url(base_url)
        self.server_key = server_key()
        self._default_context_tokens = default_context_tokens
        self._timeouts = timeouts or Timeouts()
        self._retries = retries
        self._at_once = at_once
        self._tells_logprobs = True
        """Until it turns out that the server does not."""
        self._reply_schema = reply_schema
        self._sleep = sleep
        self._uniform = uniform
        self._served_value: Served | None = None
        self._served_lock = threading.Lock()

    @property
    def name(self) -> str:
        return f"server:{self._model}@{self._base_url}"

    @property
    def fingerprint(self) -> str:
        """sha256 of model name, URL and what the server lists as that model. Weights behind a name are out of sight.

        Raises:
            UserError: the server cannot be reached or refuses the key.
        """
        identity = json.dumps([self._model, self._base_url, self._served().identity])
        return hashlib.sha256(identity.encode()).hexdigest()

    @property
    def context_tokens(self) -> int:
        """As the server lists it, else the default given at construction. Raises like `fingerprint`."""
        return self._served().context_tokens or self._default_context_tokens

    @property
    def prompt_form(self) -> PromptForm:
        return "chat"

    def count_tokens(self, text: str) -> int:
        """An upper estimate of the tokens of `text`: the server's tokenizer is out of reach.

        A word counts a token for every 4 letters, a capitalised one for every 3, one in capitals for every 2; each digit,
        sign, line break and space before those counts one, each character outside ASCII its UTF-8 bytes. Measured on
        passages of English web pages: 1.3 times the count of a byte-pair tokenizer with 32,000 entries (below it for 0.5%
        of the passages), 1.8 times that of BERT's. No bound for other languages or text made to tokenise badly.
        """
        return estimated_tokens(text)

    def neutralise(self, text: str) -> str:
        """`text` with the control tokens of the known chat formats broken (`decoding.models.control_tokens`)."""
        return break_control_tokens(text)

    def generate(
        self, messages: Sequence[Message], sampling: SamplingParams, on_text: Callable[[str], None] | None = None
    ) -> Completion:
        """Continue the conversation. Token counts are the server's, or upper estimates where it gives none.

        The request goes out once more only while nothing of the text has come back. Stop strings are enforced here as well,
        for servers that ignore them or allow only four.

        Raises:
            StageError: no usable answer.
            UserError: the key (401, 403) or the model or URL (404) is wrong, sampling parameters are out of range, or
                grounding is asked for.
        """
        check_sampling(sampling)
        if sampling.grounding is not None:
            raise UserError(
                f"{self.name} cannot be held to its evidence, since a server chooses its tokens itself; use --model hf:PATH"
            )
        if not messages:
            raise UserError("there are no messages to continue; give at least one")
        safe = [Message(message.role, self.neutralise(message.content)) for message in messages]
        started = time.monotonic()
        deadline = started + self._timeouts.total_s
        body = self._body(safe, sampling, stream=on_text is not None)
        reading = Reading(StopCut(sampling.stop, on_text), sampling)
        with self._answer("POST", "/chat/completions", deadline, body) as response:
            if response.headers.get("Content-Type", "").startswith("text/event-stream"):
                self._read_stream(response, deadline, reading)
            else:
                self._read_whole(response, deadline, reading)
        text, stop = reading.cut.finish(), reading.stop_reason()
        usage = reading.usage
        return Completion(
            text=text,
            n_prompt_tokens=count_of(usage, "prompt_tokens", sum(estimated_tokens(m.content) + 8 for m in safe)),
            n_new_tokens=count_of(usage, "completion_tokens", estimated_tokens(text)),
            stop=stop,
            stats=DecodeStats(total_s=time.monotonic() - started),
        )

    def generate_many(
        self, requests: Sequence[Request], on_done: Callable[[int, Completion], None] | None = None
    ) -> list[Completion]:
        """See `Generator.generate_many`. Requests go out in their order, `at_once` of them at a time, so that a server that
        batches has something to batch; `on_done` is called on the caller's thread.

        Raises as `generate`. When as many requests as go out at a time have failed and none has been answered, the server is
        taken to be down: what has not been sent by then is not sent.
        """
        found: dict[int, Completion] = {}

        def finish(at: int, done: Completion) -> None:
            found[at] = done
            if on_done is not None:
                on_done(at, done)

        jobs = [partial(self.generate, request.messages, request.sampling) for request in requests]
        self._at_the_same_time(jobs, finish)
        return [found[at] for at in range(len(requests))]

    def choose(self, messages: Sequence[Message], options: Sequence[str]) -> tuple[float, ...]:
        """The shares of the options in what the server tells of the first token: its 20 most probable ones.

        A token is for an option when one of the two begins with the other, whatever case and blanks; a token that fits several
        options is for none. Options among none of the 20 get 0, and all the same share when that is all of them. Where the
        server tells no log probabilities, an answer of a few tokens is asked for instead: 1 for the option that it begins with,
        whatever the case, and equal shares where it begins with none (`decoding.choices.choice_of_text`).

        Raises as `generate`; ValueError for fewer than two options, or the same one twice.
        """
        check_options(options)
        if self._tells_logprobs:
            try:
                return shares_of_tokens(self._first_tokens(messages), options)
            except NoLogprobs as error:
                shares = choice_of_text(self, messages, options)  # fails as well where the prompt was what it refused
                self._tells_logprobs = False
                logger.warning("%s: choices are read off short answers, since %s", self.name, error)
                return shares
        return choice_of_text(self, messages, options)

    def choose_many(
        self, asked: Sequence[Sequence[Message]], options: Sequence[str], question: str = ""
    ) -> list[tuple[float, ...]]:
        """`choose` for each, as many at a time as in `generate_many`, whose errors it has. No server's model is probed."""
        found: dict[int, tuple[float, ...]] = {}
        self._at_the_same_time([partial(self.choose, messages, options) for messages in asked], found.__setitem__)
        return [found[at] for at in range(len(asked))]

    def _at_the_same_time(self, jobs: Sequence[Callable[[], T]], finish: Callable[[int, T], None]) -> None:
        """`finish` gets the index and the result of each job on this thread, as they end. Raises what `generate_many` says."""
        failed: dict[int, StageError] = {}
        n_done = 0
        stop = threading.Event()

        def started(job: Callable[[], T]) -> T:
            if stop.is_set():
                raise CancelledError
            return job()

        with ThreadPoolExecutor(self._at_once) as pool:
            running = {pool.submit(started, job): at for at, job in enumerate(jobs)}
            try:
                for future in as_completed(running):
                    try:
                        result = future.result()
                    except CancelledError:
                        continue
                    except StageError as error:
                        failed[running[future]] = error
                        if not n_done and len(failed) == self._at_once:
                            stop.set()
                        continue
                    n_done += 1
                    finish(running[future], result)
            finally:
                stop.set()
        if failed:
            raise failed[min(failed)]

    def _first_tokens(self, messages: Sequence[Message]) -> list[tuple[str, float]]:
        """(text, log probability) of the most probable first tokens. Raises NoLogprobs where the server does not tell."""
        if not messages:
            raise UserError("there are no messages to continue; give at least one")
        safe = [Message(message.role, self.neutralise(message.content)) for message in messages]
        deadline = time.monotonic() + self._timeouts.total_s
        body = self._body(safe, SamplingParams(max_new_tokens=1), stream=False)
        body.pop("response_format", None)  # an option is no reply of that form
        body |= {"logprobs": True, "top_logprobs": _TOP_LOGPROBS}
        try:
            with self._answer("POST", "/chat/completions", deadline, body) as response:
                answer = self._parsed(b"".join(self._chunks(response, deadline)), response)
        except _Refused as error:
            raise NoLogprobs(f"it refuses to tell log probabilities ({error.why})") from error
        try:
            content = answer["choices"][0]["logprobs"]["content"]
            told = content[0]["top_logprobs"] if content != [] else []  # an answer that ends at once has no token
            return [(str(one["token"]), float(one["logprob"])) for one in told]
        except (KeyError, IndexError, TypeError, ValueError):
            raise NoLogprobs("it tells no log probabilities") from None

    # --- the request --------------------------------------------------------------------------------------------------

    def _body(self, messages: Sequence[Message], sampling: SamplingParams, *, stream: bool) -> dict[str, object]:
        body: dict[str, object] = {
            "model": self._model,
            "messages": [{"role": message.role, "content": message.content} for message in messages],
            "max_tokens": sampling.max_new_tokens,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "seed": sampling.seed,
        }
        if sampling.stop:
            body["stop"] = list(sampling.stop[:4])  # the API's limit; the others are enforced in `generate`
        if self._reply_schema is not None:
            schema = {"name": "reply", "strict": True, "schema": dict(self._reply_schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        if stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        return body

    @contextmanager
    def _answer(
        self, method: str, path: str, deadline: float, body: Mapping[str, object] | None = None
    ) -> Iterator[requests.Response]:
        """A response of status 200, its body unread; retries until there is one."""
        import requests

        with requests.Session() as session:
            # off for loopback: a proxy would look for the server on its own machine
            session.trust_env = not self._is_local
            response = self._retried(session, method, path, deadline, body)
            with response:
                if response.status_code != 200:
                    raise self._refusal(response, deadline, is_listing=path == "/models")
                yield response

    def _retried(
        self, session: requests.Session, method: str, path: str, deadline: float, body: Mapping[str, object] | None
    ) -> requests.Response:
        import requests

        url = self._base_url + path
        for attempt in range(self._retries + 1):
            left = max(deadline - time.monotonic(), 0.001)
            pause = self._uniform() * min(BACKOFF_CAP_S, BACKOFF_S * 2**attempt)
            try:
                response = session.request(
                    method,
                    url,
                    json=body,
                    auth=self._sign,  # not a header: a .netrc entry would replace that
                    timeout=(min(self._timeouts.connect_s, left), min(self._timeouts.read_s, left)),
                    stream=True,
                    allow_redirects=False,
                )
            except requests.exceptions.SSLError as error:
                raise UserError(f"{url}: no secure connection ({cause(error)}); check the certificate or the URL") from error
            except requests.ConnectionError as error:
                failure = f"{url}: no connection ({cause(error)})"
            except requests.Timeout as error:
                raise StageError(STAGE, f"{url}: no answer within {min(self._timeouts.read_s, left):.3g} s") from error
            except requests.RequestException as error:
                raise UserError(f"{url}: the request cannot be sent ({cause(error)}); check the URL") from error
            else:
                if response.status_code not in RETRIED_STATUSES:
                    return response
                asked = retry_after(response.headers.get("Retry-After"))
                pause = pause if asked is None else asked
                failure = self._described(response, deadline)
                response.close()
            if attempt == self._retries:
                raise StageError(STAGE, f"{failure}; gave up after {attempt + 1} attempts")
            if time.monotonic() + pause > deadline:
                raise StageError(STAGE, f"{failure}; no time left to repeat it (total_s = {self._timeouts.total_s:g})")
            logger.warning("%s; repeating in %.1f s", failure, pause)
            self._sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    def _sign(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self.server_key:
            request.headers["Authorization"] = f"Bearer {self.server_key}"
        return request

    # --- the answer ---------------------------------------------------------------------------------------------------

    def _chunks(self, response: requests.Response, deadline: float) -> Iterator[bytes]:
        """The body as it arrives. Checks the deadline between reads, so that a slow drip cannot outlast it for long."""
        import urllib3

        total = 0
        while True:
            try:
                chunk = response.raw.read1(1 << 16, decode_content=True)
            except (urllib3.exceptions.HTTPError, OSError) as error:
                raise StageError(STAGE, f"{response.url}: the connection broke off after {total} bytes ({error})") from error
            if not chunk:
                return
            total += len(chunk)
            if total > _ANSWER_BYTES:
                raise StageError(STAGE, f"{response.url}: the answer is longer than {_ANSWER_BYTES >> 20} MiB")
            if time.monotonic() > deadline:
                raise StageError(STAGE, f"{response.url}: the answer took longer than {self._timeouts.total_s:g} s")
            yield chunk

    def _read_whole(self, response: requests.Response, deadline: float, reading: Reading) -> None:
        content = b"".join(self._chunks(response, deadline))
        if not content.strip():
            raise StageError(STAGE, f"{response.url}: status {response.status_code} with an empty answer")
        answer = self._parsed(content, response)
        try:
            reading.take_usage(answer)
            message = reading.take_choice(answer, "message")
        except Unusable as error:
            raise StageError(STAGE, f"{self._head(response)}: {error}: {self._excerpt(content)}") from None
        reading.cut.feed(message)

    def _read_stream(self, response: requests.Response, deadline: float, reading: Reading) -> None:
        """Server-sent events up to `[DONE]`, or the end after a finish reason (not all servers send the former)."""
        for data in events_of(self._chunks(response, deadline)):
            if data == b"[DONE]":
                break
            event = self._parsed(data, response)
            try:
                reading.take_usage(event)
                if event.get("choices") == []:  # the usage event
                    continue
                piece = reading.take_choice(event, "delta")
            except Unusable as error:
                raise StageError(STAGE, f"{self._head(response)}: {error}: {self._excerpt(data)}") from None
            if piece and not reading.cut.feed(piece):
                return  # the server ignored the stop string; closing the connection ends its work
        if reading.finish_reason is None:
            raise StageError(STAGE, f"{self._head(response)}: the stream ended before the text did")
        if not reading.has_text:
            raise StageError(STAGE, f"{self._head(response)}: the stream had no content; {NO_CONTENT_HINT}")

    def _parsed(self, content: bytes, response: requests.Response) -> dict[str, Any]:
        try:
            value = json.loads(content)
        except (ValueError, RecursionError):
            raise StageError(STAGE, f"{self._head(response)} is not JSON: {self._excerpt(content)}") from None
        if not isinstance(value, dict):
            raise StageError(STAGE, f"{self._head(response)} is not a JSON object: {self._excerpt(content)}")
        return value

    def _head(self, response: requests.Response) -> str:
        return f"{response.url}: the answer (status {response.status_code})"

    def _excerpt(self, content: bytes) -> str:
        """The first characters for an error message: printable, and without our key should the server repeat it."""
        text = content[: 8 * EXCERPT_CHARS].decode("utf-8", errors="replace")
        if self.server_key:
            text = text.replace(self.server_key, "[key]")
        return "".join(c if c.isprintable() else " " for c in text)[:EXCERPT_CHARS].strip()

    # --- refusals -----------------------------------------------------------------------------------------------------

    def _described(self, response: requests.Response, deadline: float) -> str:
        content = b""
        try:
            for chunk in self._chunks(response, deadline):
                content += chunk
                if len(content) > 8 * EXCERPT_CHARS:
                    break
        except StageError as error:  # the status is what matters; say that the rest is missing
            return f"{response.url}: status {response.status_code}, and {error.why}"
        return f"{response.url}: status {response.status_code}: {self._excerpt(content) or '(empty answer)'}"

    def _refusal(self, response: requests.Response, deadline: float, *, is_listing: bool) -> WikigenError:
        status, described = response.status_code, self._described(response, deadline)
        if status in (401, 403):
            sent = "the key that was sent is not accepted" if self.server_key else "no key was sent"
            return UserError(f"{described}; {sent}: set {KEY_VARIABLES[0]} (or {KEY_VARIABLES[1]}) to a valid key")
        if 300 <= status < 400:
            target = self._excerpt(response.headers.get("Location", "elsewhere").encode())
            return UserError(f"{response.url}: the server redirects to {target}; use the base URL it means")
        if is_listing and status < 500:
            return _NotListed(STAGE, described)
        if status == 404:
            return UserError(f"{described}; {self._what_is_served(deadline)}")
        return (_Refused if status in (400, 422, 501) else StageError)(STAGE, described)

    def _what_is_served(self, deadline: float) -> str:
        try:
            listed = self._listing(deadline)
        except WikigenError:
            listed = None
        if not listed:
            return f"check the base URL {self._base_url} (most end in /v1) and the model name {self._model!r}"
        names = ", ".join(str(entry.get("id")) for entry in listed[:8])
        return f"is the model {self._model!r} served? The server lists: {names}"

    def _listing(self, deadline: float) -> list[dict[str, Any]] | None:
        """The entries of `GET /models`; None where the server has no such page."""
        try:
            with self._answer("GET", "/models", deadline) as response:
                value = self._parsed(b"".join(self._chunks(response, deadline)), response)
        except _NotListed:
            return None
        entries = value.get("data")
        return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else None

    def _served(self) -> Served:
        with self._served_lock:
            if self._served_value is None:
                self._served_value = self._ask_what_is_served()
            return self._served_value

    def _ask_what_is_served(self) -> Served:
        deadline = time.monotonic() + min(self._timeouts.total_s, 60.0)
        try:
            entries = self._listing(deadline) or []
        except StageError as error:
            raise UserError(f"{error.why}; start the server, or correct its URL (now {self._base_url})") from error
        entry = next((entry for entry in entries if entry.get("id") == self._model), None)
        if entry is None and len(entries) == 1:
            entry = entries[0]  # servers of one model (llama.cpp) answer to any name
        if entry is None:
            return Served(identity="", context_tokens=None)
        limits = (entry.get(key) for key in ("max_model_len", "context_length", "context_window", "max_context_length"))
        context = next((n for n in limits if isinstance(n, int) and not isinstance(n, bool) and n > 0), None)
        return Served(identity=json.dumps([entry.get("id"), entry.get("root")]), context_tokens=context)
