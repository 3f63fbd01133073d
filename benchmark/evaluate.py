"""`python -m benchmark.evaluate`, the command by which the benchmark is known; it is `wikigenben evaluate`."""

import sys

from flows.commands.evaluate import main

if __name__ == "__main__":
    sys.exit(main())
