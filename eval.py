"""`uv run eval.py ...` is `jaxgo eval ...`: let players play each other and rate them."""

import sys

from jaxgo.cli.main import program

if __name__ == "__main__":
    sys.exit(program("eval"))
