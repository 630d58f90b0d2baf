"""`python -m jaxgo` and the console script `jaxgo`."""

import sys

from jaxgo.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
