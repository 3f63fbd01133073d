"""Pages of the live web, fetched politely and within limits: each becomes a record, with its body or with a reason.

Admission, robots.txt, pacing and the guard apply to every address that is asked, those of redirects and of robots.txt
included. Nothing here knows what a page says.
"""

from __future__ import annotations

import http.client
import random
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from itertools import count
from queue import SimpleQueue
from typing import TYPE_CHECKING, Self
from urllib.parse import urljoin

from data.errors import UserError
from data.pages.cleaning import MAX_BYTES
from data.settings import WebSettings
from data.types import DropReason, Strict
from pipeline.reading.pdf.pdf_pages import MAX_PDF_BYTES
from pipeline.web import bodies, robots
from pipeline.web.addresses import DEFAULT_PORTS, Address, Refused, admit, exempt
from pipeline.web.archive import Archive
from pipeline.web.fetched import Answer, Fetched, FetchFlag, Trail, Unconnected, check_status, location_text, refusal_of
from pipeline.web.guard import CONNECT_S, DNS_S, Resolve
from pipeline.web.pacing import Budget, Clock, Hosts, Pacing, SystemClock, Turn, backoff, retry_after

if TYPE_CHECKING:
    import requests

AGENT = "WikiGenBen"
"""The name by which robots.txt may speak of us."""

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_RETRIED = frozenset({429, 502, 503, 504})
_HOST_FAILURES: frozenset[DropReason] = frozenset({"dns", "unreachable", "timeout", "tls"})
_THREADS = 64
_ARCHIVE_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Limits(Strict):
    """`total_s` is for one request, headers and body; bytes are decoded ones; `backoff_s` is the first retry's longest wait."""

    dns_s: float = DNS_S
    connect_s: float = CONNECT_S
    read_s: float = 15.0
    total_s: float = 30.0
    html_bytes: int = MAX_BYTES
    pdf_bytes: int = MAX_PDF_BYTES
    redirects: int = 5
    retries: int = 2
    backoff_s: float = 1.0
    retry_after_s: float = 60.0
    crawl_delay_s: float = 30.0


Read = Callable[["requests.Response"], bytes]


def default_user_agent(contact: str = "") -> str:
    """`WikiGenBen/version (+contact)`, honest and the same for all. Raises UserError for a contact that no header can hold."""
    try:
        name = f"{AGENT}/{version('wikigenben')}"
    except PackageNotFoundError:  # run from its sources
        name = AGENT
    if not contact.isascii() or not contact.isprintable() or set("()\\") & set(contact):
        raise UserError(f"web.contact = {contact!r} cannot be in a header; give an e-mail or web address")
    return f"{name} (+{contact})" if contact else name


class Fetcher:
    """Fetches the pages of one run: `settings` bound the run, `limits` each request. Threads may share it; close it at the end.

    `clock` paces requests and dates records, together with other runs on the same `hosts`; the limits of a request count real
    seconds. Raises UserError for settings that cannot be used; after that, every address becomes a record.
    """

    def __init__(
        self,
        settings: WebSettings,
        *,
        resolve: Resolve | None = None,
        clock: Clock | None = None,
        limits: Limits | None = None,
        archive: Archive | None = None,
        proxy: str | None = None,
        hosts: Hosts | None = None,
    ) -> None:
        from pipeline.web.connections import guarded_session  # it loads requests

        self._settings = settings
        self._limits = limits or Limits()
        self._archive = archive or Archive()
        self._clock = clock or SystemClock()
        self._chance = random.Random()
        self._exempt = exempt(settings.allow_origins)
        self._session = guarded_session(
            default_user_agent(settings.contact),
            allow_origins=self._exempt,
            resolve=resolve,
            dns_s=self._limits.dns_s,
            proxy=proxy,
        )
        self._flags: list[FetchFlag] = ["proxied"] if self._session.is_proxied else []
        if not settings.respect_robots:
            self._flags.append("robots_ignored")
        self._budget = Budget(settings.max_pages, settings.total_s, self._clock)
        self._pacing = Pacing(
            at_once=settings.at_once, min_delay_s=settings.min_delay_s, budget=self._budget, clock=self._clock, hosts=hosts
        )
        self._robots = robots.Robots(AGENT, self._ask_robots, self._clock)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._session.close()

    # --- pages --------------------------------------------------------------------------------------------------------

    def fetch_all(
        self, urls: Sequence[str], *, validators: Mapping[str, tuple[str, str]] | None = None
    ) -> Iterator[tuple[int, Fetched]]:
        """A record for each address with its place in `urls`, as they come in.

        The first `max_pages` addresses that are admitted are asked for, whatever becomes of them; the rest are dropped with
        `budget`. `validators` maps addresses to (etag, last_modified) of stored bodies. Nothing is asked before the first
        record is.
        """
        refusals: list[tuple[int, Fetched]] = []
        by_host: dict[str, list[tuple[int, Trail, Address]]] = {}
        for i, url in enumerate(urls):
            trail = self._trail(url)
            try:
                address = self._admitted(trail)
            except Refused as refused:
                refusals.append((i, trail.dropped(refused)))
            else:
                by_host.setdefault(_host_key(address), []).append((i, trail, address))
        abandoned = threading.Event()
        records: SimpleQueue[tuple[int, Fetched] | BaseException] = SimpleQueue()

        def work(pages: list[tuple[int, Trail, Address]]) -> None:
            for i, trail, address in pages:
                if abandoned.is_set():
                    return
                try:
                    records.put((i, self._fetched(trail, address, (validators or {}).get(trail.url, ("", "")))))
                except BaseException as error:  # it is raised again where the records are asked for
                    records.put(error)

        # a thread for each host; most of them wait for their turn, and the pacing knows how many may ask at once
        pool = ThreadPoolExecutor(max_workers=max(1, min(len(by_host), _THREADS)), thread_name_prefix="fetch")
        try:
            for pages in by_host.values():
                pool.submit(work, pages)
            yield from refusals
            for _ in range(len(urls) - len(refusals)):
                record = records.get()
                if isinstance(record, BaseException):
                    raise record
                yield record
        finally:
            abandoned.set()
            pool.shutdown(cancel_futures=True)

    def _trail(self, url: str) -> Trail:
        return Trail(url, self._clock, self._flags)

    def _admitted(self, trail: Trail) -> Address:
        address = admit(trail.url, allow_origins=self._exempt)
        trail.final_url = address.url
        self._budget.take_page()
        return address

    def _fetched(self, trail: Trail, address: Address, validators: tuple[str, str]) -> Fetched:
        names = ("If-None-Match", "If-Modified-Since")
        headers = {name: value for name, value in zip(names, validators) if value}
        try:
            answer = self._follow(trail, address, self._read_page, headers, checked=self._settings.respect_robots)
            if answer.status == 304 and headers:
                return replace(trail.record(), not_modified=True)
            if answer.status in (404, 410) and self._settings.archive:
                return self._archived(trail, address.url)
            check_status(answer)
            return trail.record(answer)
        except Refused as refused:
            return trail.dropped(refused)

    # --- the archive --------------------------------------------------------------------------------------------------

    def _archived(self, trail: Trail, url: str) -> Fetched:
        """The page as the archive holds it. It is asked as the service that it offers, so its robots.txt is not."""
        gone, as_of = trail.record(), self._settings.as_of
        try:
            capture = self._archive.capture(self._ask_archive(trail, self._archive.question(url, as_of)).body, url, as_of)
            if capture is None:
                raise Refused("http_4xx", "it holds no capture")
            answer = self._ask_archive(trail, capture.asked, self._read_page)
        except Refused as refused:
            detail = f"status {gone.status}; the archive was asked: {refused.detail}"
            return replace(gone, drop_reason="http_4xx", drop_detail=detail)
        found = trail.record(answer)
        return replace(
            found, final_url=gone.final_url, redirects=gone.redirects, archive_url=capture.shown, archive_date=capture.day
        )

    def _ask_archive(self, trail: Trail, url: str, read: Read | None = None) -> Answer:
        address = admit(url, allow_origins=self._exempt)
        self._pacing.slow_down(_host_key(address), self._archive.delay_s)
        answer = self._follow(trail, address, read or _reads_head(_ARCHIVE_BYTES), {}, checked=False, stays=True)
        check_status(answer)
        return answer

    # --- requests -----------------------------------------------------------------------------------------------------

    def _follow(
        self,
        trail: Trail,
        address: Address,
        read: Read,
        headers: Mapping[str, str],
        *,
        checked: bool,
        stays: bool = False,
    ) -> Answer:
        """The answer at the end of the redirects. `checked` asks robots.txt at each; with `stays` the origin may not change."""
        for hop in count():
            if checked:
                self._check_robots(address)
            answer = self._ask(trail, address, read, headers)
            if answer.status not in _REDIRECTS:
                return answer
            if hop == self._limits.redirects:
                raise Refused("too_many_redirects", f"more than {hop}, the last from {address.url}")
            following = self._redirected(address, answer)
            if stays and following.origin != address.origin:
                raise Refused("host_rule", f"redirected to {following.origin}")
            if address.scheme == "https" and following.scheme == "http" and "downgraded" not in trail.flags:
                trail.flags.append("downgraded")
            address = following
            trail.lead_to(address)
        raise AssertionError  # count() does not end

    def _redirected(self, address: Address, answer: Answer) -> Address:
        location = answer.headers.get("Location", "").strip(" \t")
        if not location:
            raise Refused("http_5xx", f"status {answer.status} without Location")
        location = location_text(location)
        try:
            following = admit(urljoin(address.url, location), allow_origins=self._exempt)
        except ValueError as error:
            raise Refused("host_rule", f"redirected to {location[:80]!r}: {error}") from None
        except Refused as refused:
            raise Refused(refused.reason, f"redirected to {location[:200]!r}: {refused.detail}") from None
        if following.origin in self._exempt and address.origin not in self._exempt:
            raise Refused("ip_blocked", f"{address.origin} redirects into {following.origin} of web.allow_origins")
        return following

    def _check_robots(self, address: Address) -> None:
        rules = self._robots.rules(address.origin)
        rules.check(address.url)
        if rules.crawl_delay_s > self._limits.crawl_delay_s:
            raise Refused("robots", f"Crawl-delay {rules.crawl_delay_s:g} s; the most is {self._limits.crawl_delay_s:g} s")
        self._pacing.slow_down(_host_key(address), rules.crawl_delay_s)

    def _ask_robots(self, url: str) -> tuple[int, bytes]:
        address = admit(url, allow_origins=self._exempt)
        answer = self._follow(self._trail(url), address, _reads_head(robots.MOST_BYTES), {}, checked=False)
        return answer.status, answer.body

    def _ask(self, trail: Trail, address: Address, read: Read, headers: Mapping[str, str]) -> Answer:
        """One address, asked again when that may help. Each time waits for the host's turn."""
        for attempt in count():
            with self._pacing.turn(_host_key(address)) as turn:
                is_last = attempt >= self._limits.retries
                pause = backoff(attempt, self._chance, self._limits.backoff_s)
                try:
                    answer = self._request(trail, address, read, headers)
                except Unconnected as refused:
                    if not is_last:
                        turn.pause(pause)
                        continue
                    turn.failed(refused.reason, refused.detail)
                    raise
                except Refused as refused:
                    if refused.reason in _HOST_FAILURES:
                        turn.failed(refused.reason, refused.detail)
                    raise
                if self._is_final(answer, turn, pause, is_last):
                    return answer
        raise AssertionError  # count() does not end

    def _is_final(self, answer: Answer, turn: Turn, pause: float, is_last: bool) -> bool:
        """Whether not to ask again; says the host's turn how it went. Raises Refused when the host wants too long a pause."""
        if answer.status not in _RETRIED:
            turn.failed("http_5xx", f"status {answer.status}") if answer.status >= 500 else turn.succeeded()
            return True
        asked = retry_after(answer.headers.get("Retry-After", ""), self._clock.now())
        if asked is not None and asked > self._limits.retry_after_s:
            detail = f"status {answer.status} with Retry-After of {asked:.0f} s"
            turn.close("rate_limited", detail)
            raise Refused("rate_limited", detail)
        if not is_last:
            turn.pause(pause if asked is None else asked)
            return False
        turn.pause(asked or 0.0)
        turn.failed("rate_limited" if answer.status == 429 else "http_5xx", f"status {answer.status}")
        return True

    def _request(self, trail: Trail, address: Address, read: Read, headers: Mapping[str, str]) -> Answer:
        import requests
        import urllib3

        limits, began = self._limits, False
        trail.status, trail.headers = None, {}
        with self._session.time_limit(max(0.0, min(limits.total_s, self._budget.left_s()))) as time_limit:
            try:
                with self._session.get(
                    address.url, headers=headers, stream=True, allow_redirects=False, timeout=(limits.connect_s, limits.read_s)
                ) as response:
                    began = True
                    trail.status, trail.headers = response.status_code, response.headers
                    answer = Answer(response.status_code, response.headers, read(response))
            except (requests.RequestException, urllib3.exceptions.HTTPError, http.client.HTTPException, OSError) as error:
                if not time_limit.expired:
                    raise refusal_of(error, began) from error
        if time_limit.expired:  # also when the body looks whole: one without a length ends when the connection does
            self._budget.check()
            raise Refused("timeout", f"not done after {limits.total_s:g} s")
        return answer

    def _read_page(self, response: requests.Response) -> bytes:
        if 200 <= response.status_code < 300:
            return bodies.read_page(response, html_bytes=self._limits.html_bytes, pdf_bytes=self._limits.pdf_bytes)
        bodies.drain(response)
        return b""


def _reads_head(most: int) -> Read:
    def read(response: requests.Response) -> bytes:
        if 200 <= response.status_code < 300:
            return bodies.read_head(response, most)
        bodies.drain(response)
        return b""

    return read


def _host_key(address: Address) -> str:
    """By what hosts are separated: http and https of one name are one host, an unusual port is another."""
    return address.host if address.port in DEFAULT_PORTS.values() else f"{address.host}:{address.port}"
