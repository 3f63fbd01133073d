"""The evidence of a bundle once more, from what lies in it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from data.errors import UserError
from data.types import Event, Page
from pipeline.reading.documents import DocumentReader
from pipeline.web.bundle import (
    Bundle,
    Gathered,
    lines,
    versions_here,
)
from pipeline.web.cache import StoredFetch
from pipeline.web.collection import Reading
from pipeline.web.fetched import Fetched
from pipeline.web.page_records import judge, noted, usable


class BundleEvidence:
    """The evidence of a bundle, without any network. Implements `pipeline.evidence.EvidenceSource`.

    Where the bundle has its raw pages, they are read and judged again, and must give the recorded evidence byte for byte; where
    it has not, the recorded evidence is what there is.
    """

    def __init__(self, folder: Path, *, copy: Path | None = None) -> None:
        """`copy` is a folder where the evidence is left again, raw bodies aside. Raises UserError for anything but a bundle."""
        self.bundle = Bundle(folder)
        self.manifest = self.bundle.manifest()
        self._copy = Bundle(copy) if copy is not None else None

    def collect(self, event: Event) -> tuple[Page, ...]:
        """Raises NoEvidence when no page can be used, UserError when the evidence is not the recorded one."""
        gathered = self.gather()
        if self._copy is not None:
            self._copy.write(replace(gathered, manifest=replace(gathered.manifest, has_bodies=False)))
        return usable(event, gathered.pages)

    def gather(self) -> Gathered:
        fetches = self.bundle.fetches()
        if not self.manifest.has_bodies:
            return Gathered(self.manifest, fetches, self.bundle.records())
        with DocumentReader() as reader:
            reading = Reading(self.manifest.run_date, reader)
            for one in fetches:
                reading.add(one.candidate, self._with_body(one.stored))
            documents = reading.documents()
        told = self.manifest
        leak = noted(told.overlaps) if told.overlaps else None
        records = judge(fetches, documents, told.settings, told.languages, leak)
        if lines(records).encode() != self.bundle.evidence_bytes():
            raise UserError(self._difference())
        return Gathered(self.manifest, fetches, records)

    def _with_body(self, stored: StoredFetch) -> Fetched:
        return replace(stored.fetched, body=self.bundle.body(stored.sha256)) if stored.sha256 else stored.fetched

    def _difference(self) -> str:
        here, there = versions_here(), self.manifest.versions
        changed = [
            f"{name} {there.get(name) or 'unknown'} there, {here.get(name) or 'none'} here"
            for name in there | here
            if here.get(name) != there.get(name)
        ]
        why = "; ".join(changed) if changed else "with the same versions, so it was changed"
        return (
            f"{self.bundle.folder} does not give its own evidence.jsonl again ({why}); use those versions, or collect the "
            "pages anew without --bundle"
        )
