"""Pages that are all there, read in processes as a run reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipeline.reading.documents import Document, DocumentReader, Job


def read_documents(jobs: Sequence[Job], **limits: Any) -> list[Document]:
    with DocumentReader(**limits) as reader:
        return [document.result() for document in [reader.submit(job) for job in jobs]]
