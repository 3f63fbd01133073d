"""The writing process of `tests.quick_web`: ours, but that texts are compared by their letters and words, and that processes
which read pages stay from article to article."""

from __future__ import annotations

import sys

from decoding.support import reader
from flows.webapp.worker import main
from flows.wiring import models
from tests.fakes import FixedEncoder, FixedReader, SilentFiler
from tests.readers import kept_readers

if __name__ == "__main__":
    encoder = FixedEncoder()
    models.build_encoder = lambda: encoder
    models.build_filer = models.build_large_filer = SilentFiler
    reader.judge_reader = FixedReader
    with kept_readers({}):
        sys.exit(main())
