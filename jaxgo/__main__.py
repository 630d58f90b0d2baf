"""`python -m jaxgo` and the console script `jaxgo`."""

import sys

from jaxgo.cli.main import program

if __name__ == "__main__":
    sys.exit(program())
