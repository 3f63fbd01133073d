"""What a run shows in Prefect's dashboard. None of it is needed to write: a server that is gone costs the show, not the run."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar
from uuid import UUID

import httpx
from prefect import get_run_logger
from prefect.artifacts import (
    create_markdown_artifact,
    create_progress_artifact,
    create_table_artifact,
    update_progress_artifact,
)
from prefect.context import SettingsContext, get_settings_context
from prefect.exceptions import PrefectException
from prefect.settings import PREFECT_CLIENT_MAX_RETRIES

from benchmark import scoring
from eval.catalogue import HEADLINE, entry
from flows.showing import preview
from flows.showing.report.page import REPORT
from pipeline.formats.markdown import to_markdown

if TYPE_CHECKING:
    from pathlib import Path

    from benchmark.runner import EventOutcome
    from data.runs import RunFolder
    from flows.run_scores import Evaluated

T = TypeVar("T")

MAX_ARTICLES = 20
"""Articles shown in the dashboard; all of them are in the run folder."""
EVERY_S = 2.0
"""Between two steps of the progress bar, each of which makes a client of its own."""
SILENCE_S = 15.0
"""After a server did not answer, it is not asked for so long: writing goes on meanwhile."""


class Artifacts:
    """Of one flow run. Made and used inside the flow, in its own thread."""

    def __init__(self, run: RunFolder) -> None:
        self._run = run
        self._done = self._total = 0
        self._bar: UUID | None = None
        self._next_step = 0.0
        self._silent_until = 0.0
        self._once = _without_retries()

    @property
    def lost(self) -> bool:
        """Whether the server did not take what it was sent last."""
        return self._silent_until > 0

    def begin(self, total: int) -> None:
        self._total = total
        self._progress(f"0 of {total} events")

    def advance(self, outcome: EventOutcome) -> None:
        self._done += 1
        if self._done == self._total or time.monotonic() >= self._next_step:
            self._next_step = time.monotonic() + EVERY_S
            self._progress(f"{self._done} of {self._total} events; last: {outcome.title} ({outcome.status})")

    def articles(self, ids: Sequence[str]) -> None:
        """The first of them, each under a key of its own, so that the dashboard keeps its earlier versions."""
        written = [(i, article) for i in ids if (article := self._run.event(i).article()) is not None]
        for event_id, article in written[:MAX_ARTICLES]:
            text = f"{to_markdown(article)}\n\n---\n\nAll articles: {self._run.path / preview.INDEX}\n"
            key = f"wiki-gen-article-{artifact_key(event_id)}"
            self._send(lambda text=text, key=key, title=article.title: create_markdown_artifact(text, key, title))  # type: ignore[misc]

    def scores(self, evaluated: Evaluated) -> None:
        """The headline metrics as a table, and where submission and report lie."""
        scores = evaluated.scores
        rows = [
            {
                "metric": name,
                "what it says": entry(name).meaning,
                "mean %": f"{100 * e.mean:.1f}",
                "95% interval": f"{100 * e.low:.1f} - {100 * e.high:.1f}",
                "events": e.n,
            }
            for name in HEADLINE
            if (e := scores.estimates.get(name)) is not None
        ]
        about = f"{scores.system} on {len(scores.events)} events (split {scores.split}, track {scores.track})"
        failed = ", ".join(scoring.unmet({name: e.mean for name, e in scores.estimates.items()})) or "none"
        self._send(
            lambda: create_table_artifact(
                rows,
                "wiki-gen-scores",
                f"{about}; preconditions failed: {failed}; all metrics: {evaluated.submission.resolve()}",
            )
        )
        self._link("submission", evaluated.submission, f"Leaderboard submission of {about}")
        self._link("report", evaluated.submission.with_name(REPORT), f"Report of {about}")

    def _link(self, what: str, path: Path, about: str) -> None:
        """Browsers do not open files from a web page, so that the path of a local one is text."""
        self._send(lambda: create_markdown_artifact(f"{about}: `{path.resolve()}`", f"wiki-gen-{what}"))

    def _progress(self, text: str) -> None:
        share = 100 * self._done / self._total if self._total else 100.0
        if self._bar is None:
            self._bar = self._send(lambda: create_progress_artifact(share, "wiki-gen-progress", text))  # type: ignore[assignment]
        else:
            bar = self._bar
            self._send(lambda: update_progress_artifact(bar, share, text))

    def _send(self, request: Callable[[], T]) -> T | None:
        """Once, without the client's minute of retries; None, and a warning the first time, when it cannot be done."""
        if time.monotonic() < self._silent_until:
            return None
        try:
            with self._once:
                answer = request()
        except (httpx.HTTPError, PrefectException) as error:
            if not self.lost:
                get_run_logger().warning(
                    "the Prefect server does not take artifacts (%s); articles are written to %s as before",
                    str(error).partition("\n")[0] or type(error).__name__,
                    str(self._run.path),
                )
            self._silent_until = time.monotonic() + SILENCE_S
            return None
        self._silent_until = 0.0
        return answer


def _without_retries() -> SettingsContext:
    """Made once: it reads all files of settings and checks every value, some 30 ms."""
    now = get_settings_context()
    settings = now.settings.copy_with_update(updates={PREFECT_CLIENT_MAX_RETRIES: 0})
    return SettingsContext(profile=now.profile, settings=settings)


def artifact_key(text: str) -> str:
    """With the characters that Prefect takes in a key: lower-case letters, digits, dashes."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "x"
