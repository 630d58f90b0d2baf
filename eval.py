"""Let agents play each other and rate them, with error bars.

  uv run eval.py tictactoe                                            a first table, within a minute
  uv run eval.py connect4 --agents uct:100 uct:400 random --pairs 200
  uv run eval.py go9 --agents gumbel:64@runs/a uct:400 --until ±15    games until the error bars are this small
  uv run eval.py gomoku15 --agents uct:800 uct:400 uct:200 --schedule gauntlet --games games/
  uv run eval.py go9 --agents 'gtp:gnugo --mode gtp --level 1' uct:400    engines of GTP and Gomocup play, too
  uv run eval.py connect4 --option height=5 --book openings.txt --plot ladder.svg

  uv run eval.py sprt uct:400,c=1.2 uct:400 --game connect4 --elo0 0 --elo1 10
  uv run eval.py ratings runs/a/matches.jsonl runs/b/matches.jsonl --html ladder.html

`sprt --help` and `ratings --help` tell their own flags. Agents are named as in docs/search.md.
"""

import sys

from jaxgo.cli.eval import main

if __name__ == "__main__":
    sys.exit(main(__doc__))
