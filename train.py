"""`uv run train.py ...` is `jaxgo train ...`: learn a game by self-play; without words, what suits this machine."""

import sys

from jaxgo.cli.main import program

if __name__ == "__main__":
    sys.exit(program("train"))
