"""Fetching and reading pages as `wikigenben write` does it, from a local site of slow hosts.

    python -m tools.speed.bench_fetching                            # 60 pages of 12 hosts, each answer after 200 to 800 ms
    python -m tools.speed.bench_fetching --pages 20 --hosts 4 --no-peer

The site is made up: pages of about 140 kB, an article of 1,200 words between menus, teasers and scripts, as news sites have
them. It is served by a process of its own, each host on a loopback address of its own (Linux has them all).

The peer is what a script would do: `requests` in as many threads, `trafilatura` on each answer, in one process. It asks no
robots.txt, makes no pause, bounds neither size nor time, and neither dates pages nor judges them.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import random
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from pathlib import Path

from data.errors import UserError
from data.settings import WebSettings
from flows.showing import console
from tools.speed.usage import Sample, use_between, watching

MOST_HOSTS = 200
_SMALL_WORDS = ("the", "of", "and", "to", "in", "was", "that", "on", "with", "from", "by", "at", "which", "their")
"""So that it is taken for English."""
_SYLLABLES = ("ba", "cor", "den", "el", "fir", "gan", "hol", "in", "jun", "kel", "lor", "men", "nor", "os", "per", "quin", "ra")


@dataclass(frozen=True, slots=True)
class Site:
    """`seconds`: between which an answer takes its time."""

    pages: int
    hosts: int
    seconds: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Timed:
    """`seconds` of wall time and `cpu_s` of all processes. `held_mib` is the most they held together, the interpreter and what
    it has loaded included; `pages` those with a text."""

    name: str
    seconds: float
    cpu_s: float
    held_mib: float
    pages: int


def news_page(n: int) -> str:
    """The same for the same number."""
    chance = random.Random(f"5/{n}")
    words = ["".join(chance.choices(_SYLLABLES, k=chance.randint(1, 4))) for _ in range(2000)]

    def sentence() -> str:
        pairs = zip(chance.choices(_SMALL_WORDS, k=9), chance.choices(words, k=9), strict=True)
        return " ".join(word for pair in pairs for word in pair).capitalize() + "."

    menu = "".join(f'<li class="menu-item"><a href="/s/{i}">{chance.choice(words)}</a></li>' for i in range(300))
    teasers = "".join(
        f'<div class="teaser card"><a href="/t/{i}"><img src="/i/{i}.jpg" alt=""><h3>{sentence()}</h3></a>'
        f'<span class="meta">{i} min</span></div>'
        for i in range(80)
    )
    script = f"<script>window.state = {json.dumps([chance.random() for _ in range(2500)])}</script>"
    style = "<style>" + "".join(f".c{i}{{margin:{i}px}}" for i in range(1500)) + "</style>"
    text = "".join(f"<p class='body'>{sentence()} {sentence()} {sentence()}</p>" for _ in range(22))
    return (
        f'<!doctype html><html lang="en"><head><title>Story {n}</title>{style}{script}'
        f'<meta property="article:published_time" content="2024-05-{1 + n % 28:02}T10:00:00Z"></head>'
        f"<body><header><nav><ul>{menu}</ul></nav></header><main><article><h1>Story {n}</h1>{text}</article>"
        f"<aside>{teasers}</aside></main><footer><ul>{menu}</ul></footer></body></html>"
    )


@contextmanager
def serving(site: Site) -> Iterator[tuple[str, ...]]:
    """The addresses of its pages, best first: page n is on host n modulo the number of hosts."""
    near, far = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(far, site), daemon=True)
    process.start()
    try:
        ports: list[int] = near.recv()
        yield tuple(f"http://{_address(n % site.hosts)}:{ports[n % site.hosts]}/{n}" for n in range(site.pages))
    finally:
        process.kill()
        process.join()


def _address(host: int) -> str:
    return f"127.0.0.{1 + host}"


def _serve(pipe: Connection, site: Site) -> None:
    """In the site's process, until it is killed."""
    bodies = {f"/{n}": news_page(n).encode() for n in range(site.pages)}
    robots = b"User-agent: *\nDisallow: /private\n"

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            time.sleep(random.uniform(*site.seconds))
            known = robots if self.path == "/robots.txt" else bodies.get(self.path)
            self.send_response(200 if known else 404)
            self.send_header("Content-Type", "text/plain" if known is robots else "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(known or b"")))
            self.end_headers()
            self.wfile.write(known or b"")

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ExitStack() as stack:
        servers = [stack.enter_context(ThreadingHTTPServer((_address(k), 0), Handler)) for k in range(site.hosts)]
        for server in servers:
            threading.Thread(target=server.serve_forever, daemon=True).start()
        pipe.send([server.server_address[1] for server in servers])
        pipe.recv()  # nothing comes


def fetch_and_clean(urls: Sequence[str], cache: Path, name: str) -> Timed:
    """Everything between the addresses and the pages that an article is written from."""
    from urllib.parse import urlsplit

    from pipeline.web.cache import PageCache
    from pipeline.web.live import LiveEvidence

    origins = tuple(dict.fromkeys(f"http://{urlsplit(url).netloc}" for url in urls))
    settings = WebSettings(allow_origins=origins, max_pages=len(urls))
    with _timing() as (began, samples), tempfile.TemporaryDirectory() as bundle:
        gathered = LiveEvidence(settings, urls=urls, cache=PageCache(cache), bundle=Path(bundle)).gather("")
        seconds = time.perf_counter() - began
    return _timed(name, seconds, samples, sum(page.usable for page in gathered.pages))


def by_script(urls: Sequence[str], at_once: int) -> Timed:
    """The peer."""
    from concurrent.futures import ThreadPoolExecutor

    import requests
    import trafilatura

    def read(url: str) -> str | None:
        text: str | None = trafilatura.extract(requests.get(url, timeout=30).text, url=url)
        return text

    with _timing() as (began, samples), ThreadPoolExecutor(at_once) as pool:
        texts = list(pool.map(read, urls))
        seconds = time.perf_counter() - began
    return _timed("requests and trafilatura", seconds, samples, sum(bool(text) for text in texts))


@contextmanager
def _timing() -> Iterator[tuple[float, list[Sample]]]:
    with watching(every_s=0.1) as samples:
        yield time.perf_counter(), samples


def _timed(name: str, seconds: float, samples: Sequence[Sample], pages: int) -> Timed:
    use = use_between(samples, samples[0].at, samples[-1].at) if samples else None
    if use is None:
        raise UserError("this system does not say what processes use; measure on Linux, which has /proc/self/smaps_rollup")
    return Timed(name, seconds, use.flow_s + use.workers_s, use.held_mib, pages)


def main(argv: Sequence[str] | None = None) -> int:
    return console.guarded(lambda: _main(_parser().parse_args(argv)))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tools.speed.bench_fetching", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=60, metavar="N", help="(default: 60)")
    parser.add_argument("--hosts", type=int, default=12, metavar="N", help="(default: 12)")
    parser.add_argument("--latency", default="0.2,0.8", metavar="S,S", help="an answer takes between (default: 0.2,0.8)")
    parser.add_argument("--no-peer", action="store_true", help="measure ours alone")
    return parser


def _main(arguments: argparse.Namespace) -> int:
    site = Site(arguments.pages, arguments.hosts, _seconds(arguments.latency))
    if site.pages < 1 or not 1 <= site.hosts <= MOST_HOSTS:
        raise UserError(f"--pages {site.pages} --hosts {site.hosts}: there must be a page, and 1 to {MOST_HOSTS} hosts")
    at_once = WebSettings().at_once
    load = os.getloadavg()[0]
    with serving(site) as urls, tempfile.TemporaryDirectory() as cache:
        rows = [fetch_and_clean(urls, Path(cache), "ours"), fetch_and_clean(urls, Path(cache), "ours, fetched before")]
        if not arguments.no_peer:
            rows.append(by_script(urls, at_once))
    console.result(f"{'':<26}{'s':>8}{'times':>8}{'CPU s':>8}{'MiB':>8}{'pages':>8}")
    for row in rows:
        times = row.seconds / rows[-1].seconds
        console.result(f"{row.name:<26}{row.seconds:>8.1f}{times:>8.2f}{row.cpu_s:>8.1f}{row.held_mib:>8.0f}{row.pages:>8}")
    per_host = -(-site.pages // site.hosts)
    pause = WebSettings().min_delay_s * per_host
    console.result(
        f"{site.pages} pages of {site.hosts} hosts, answers after {site.seconds[0]:g} to {site.seconds[1]:g} s\n"
        f"{at_once} at once; ours waits {pause:g} s of its time between requests to one host\n"
        f"{os.cpu_count()} cores, load {load:.1f} before, Python {platform.python_version()}"
    )
    return 0


def _seconds(text: str) -> tuple[float, float]:
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise UserError(f"--latency {text!r} is not two numbers of seconds; use for example 0.2,0.8") from None
    if not 0 <= low <= high:
        raise UserError(f"--latency {text!r}: the first must not be above the second, and neither below 0")
    return low, high


if __name__ == "__main__":
    sys.exit(main())
