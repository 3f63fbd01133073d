"""What the site knows of scores that it computed itself."""

from __future__ import annotations

from pathlib import Path

from benchmark.submissions.ledger import read_ledger
from data import codec

KEPT = Path(__file__).resolve().parents[3] / "submissions"


def test_the_submissions_kept_here_were_scored_here() -> None:
    """By their very bytes: whoever changes one scores it again with `rescore` or `wikigenben agents`."""
    ledger = read_ledger(KEPT)
    found = {path.parent.relative_to(KEPT).as_posix(): path for path in KEPT.glob("**/submission.json")}
    assert {one.folder for one in ledger.submissions.values()} == set(found)
    for name, path in found.items():
        known = ledger.of(path.parent)
        assert known is not None and known.folder == name
        assert known.commit and codec.sha256_bytes(path.read_bytes()) in ledger.submissions
