"""An OpenAI-compatible server on loopback, in a thread, that gives verdicts: what an LLM judge is tested against.

The model's name chooses how it answers: `fair` finds each claim supported whose words all stand in one passage, `partially`
where half of them do; `second` answers in prose first and fairly when asked again; `never` always in prose; `gone` with
status 400. Requests are kept.

Asked for a score, it counts: organisation falls with every `Step N` that comes after a later one, coverage is the share of the
reference's words that the article has, and the other dimensions are constants.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from typing import Any

from tests.servers import in_thread


class JudgingServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[dict[str, Any]] = []
        self.window = 4096

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


@contextmanager
def judging() -> Iterator[JudgingServer]:
    server = JudgingServer()
    with in_thread(server):
        yield server


class _Handler(BaseHTTPRequestHandler):
    server: JudgingServer

    def do_GET(self) -> None:
        self._send(
            200,
            {
                "object": "list",
                "data": [{"id": name, "max_model_len": self.server.window} for name in ("fair", "second", "never")],
            },
        )

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append(body)
        if body["model"] == "gone":
            self._send(400, {"error": {"message": "no such method"}})
            return
        prose = body["model"] == "never" or (body["model"] == "second" and len(body["messages"]) == 2)
        reply = "I think it is supported." if prose else json.dumps(_fair(body))
        choice = {"index": 0, "message": {"role": "assistant", "content": reply}, "finish_reason": "stop"}
        self._send(200, {"object": "chat.completion", "choices": [choice]})

    def _send(self, status: int, value: object) -> None:
        content = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *words: Any) -> None:
        """Silent."""


def _fair(body: dict[str, Any]) -> dict[str, Any]:
    question = body["messages"][1]["content"]
    if "score" in body["response_format"]["json_schema"]["schema"]["properties"]:
        return {"reason": "counted", "score": _score(question)}
    return {"verdict": _verdict(question)}


def _score(question: str) -> int:
    quoted = dict(re.findall(r"^\[((?:ARTICLE|REFERENCE)) \w+\]\n(.*?)\n\[END \1 \w+\]$", question, re.DOTALL | re.MULTILINE))
    match re.findall(r"The dimension is (\w+)\.$", question):
        case ["organisation"]:
            steps = [int(n) for n in re.findall(r"Step (\d+)", quoted["ARTICLE"])]
            return max(1, 5 - sum(a > b for a, b in pairwise(steps)))
        case ["coverage"]:
            wanted = set(quoted["REFERENCE"].split())
            return 1 + round(4 * len(wanted & set(quoted["ARTICLE"].split())) / len(wanted))
        case [dimension]:
            return {"focus": 4, "fluency": 3, "neutrality": 2}[dimension]
    raise ValueError(question)


def _verdict(question: str) -> str:
    quoted = re.findall(r"^\[(PASSAGE \d+|CLAIM) (\w+)\]\n(.*?)\n\[END \1 \2\]$", question, re.DOTALL | re.MULTILINE)
    (claim,) = (set(text.split()) for what, _, text in quoted if what == "CLAIM")
    shares = [len(claim & set(text.split())) / len(claim) for what, _, text in quoted if what != "CLAIM"]
    return "supported" if max(shares) == 1 else "partially" if max(shares) >= 0.5 else "no"
