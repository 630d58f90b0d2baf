"""Players by name: `random`, `uct:400`, `gumbel:64,max_considered=8`, `uct:400,rollouts=4,c=1.4`, `gumbel:64@runs/go9`.

A spec is the name of a search or of a preset, its simulations, and options: the fields of the search, `evaluator` and
the fields of the evaluator (`rollouts` is the `count` of playouts; `evaluator.depth` is the evaluator's where the
search has a depth, too). After an `@` comes a network to plan with: the folder of a run (its newest weights, or those
of a step: `runs/go9/1200`), a file of weights, or the name of weights that jaxgo ships, which comes first: a folder of
that name is `./connect4-cpu`. A star names many players, which `every_spec` tells: `@runs/go9/*` all steps of a run.

Weights know the search that they were rated with. `@connect4-cpu` is that very player, and so is
`gumbel:64@connect4-cpu` where that search is a Gumbel search of 64 simulations: options count from it. With the name of
another search they count from the settings of that one.

`best` is whoever plays a game best of what comes with jaxgo, such as `gumbel:64@go9-late-gpu`; `medium` and `easy` are
the same with fewer simulations and a temperature, or PUCT where alpha-beta plays best. Simulations and options may
follow as after any other name.

With `temperature=0.5` a player draws its moves by what its search thinks of them, and plays below its strength; not
one of `alphabeta` or `bfs`, which find one move, nor of `random`, which thinks nothing of any.

A spec means a player as it plays to win: it explores only where the spec names the noise, as in
`gumbel:64,gumbel_scale=1`. `spec(player)` writes the name that `load_player` reads as the same player again.
"""

from jaxgo.players.best import (
    BEST,
    EASIER,
    MINIMAX,
    PUZZLE,
    ROLLOUTS,
    THREATS,
    best_spec,
    fitting,
    spelled,
    with_weights,
    without_weights,
)
from jaxgo.players.of_weights import network, trained
from jaxgo.players.player import SHORT, Player, load_player, must_differ, named, spec
from jaxgo.players.spec_text import Spec, is_external, of_program, parse, parse_program, seconds_of
from jaxgo.players.starred import every_spec

__all__ = [
    "BEST",
    "EASIER",
    "MINIMAX",
    "PUZZLE",
    "ROLLOUTS",
    "SHORT",
    "THREATS",
    "Player",
    "Spec",
    "best_spec",
    "every_spec",
    "fitting",
    "is_external",
    "load_player",
    "must_differ",
    "named",
    "network",
    "of_program",
    "parse",
    "parse_program",
    "seconds_of",
    "spec",
    "spelled",
    "trained",
    "with_weights",
    "without_weights",
]
