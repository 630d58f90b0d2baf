"""Training by self-play: `uv run train.py` for what suits this machine, `uv run train.py --help` for the rest.

    uv run train.py                                 the default preset of this machine
    uv run train.py go9 --search.simulations 64     another one, with another setting
    uv run train.py --list                          all presets

Ctrl-C saves; the same command goes on.
"""

import sys

from jaxgo.cli.train import main
from jaxgo.ui.board_view import svg

if __name__ == "__main__":
    sys.exit(main(draw=svg))
