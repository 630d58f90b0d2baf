"""`uv run eval.py ...` is `jaxgo eval ...`: let players play each other and rate them."""

import sys

from jaxgo.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["eval", *sys.argv[1:]]))
