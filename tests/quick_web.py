"""`wikigenben web` with stand-ins for its networks: `python -m tests.quick_web FLAGS`.

Loading the sentence model takes six CPU seconds a writing process, and its vectors three an article.
"""

from __future__ import annotations

import sys

from flows.cli import main
from flows.webapp import desk

if __name__ == "__main__":
    desk.WORKER = "tests.quick_web_worker"
    sys.exit(main(["web", *sys.argv[1:]]))
