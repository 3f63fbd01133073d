"""`python -m eval.judge_card`: what a judge accepts, against people's labels."""

import sys

from flows.commands.judge_card import main

if __name__ == "__main__":
    sys.exit(main())
