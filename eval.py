"""Matches and ratings. They are not here yet, and this says so."""

import sys

if __name__ == "__main__":
    print(
        "eval.py: matches and Elo are not part of this version; what works today is the rules of the games: "
        "try `uv run jaxgo games`, `uv run jaxgo show tictactoe --moves b2,a1`, `uv run jaxgo doctor`.",
        file=sys.stderr,
    )
    sys.exit(2)
