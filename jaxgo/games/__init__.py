"""The games by name. A new game is one file in this folder and one line in `GAMES`."""

import dataclasses
from typing import Any, cast

from jaxgo.core.errors import KINDS, UsageError, as_field, unknown_name
from jaxgo.core.game import Game, check
from jaxgo.core.names import PLACE, instance, is_place
from jaxgo.core.words import native
from jaxgo.games.archimedes import Archimedes
from jaxgo.games.breakthrough import Breakthrough
from jaxgo.games.chess.rules import Chess
from jaxgo.games.connect3d import Connect3D
from jaxgo.games.connect4 import ConnectFour
from jaxgo.games.dodgem import Dodgem
from jaxgo.games.go.rules import Go
from jaxgo.games.gomoku.rules import Gomoku
from jaxgo.games.hex import Hex
from jaxgo.games.kamisado.rules import Kamisado
from jaxgo.games.kono import Kono
from jaxgo.games.maharajah.rules import Maharajah
from jaxgo.games.minerace import MineRace
from jaxgo.games.mnk import Mnk
from jaxgo.games.musketeers import Musketeers
from jaxgo.games.othello import Othello
from jaxgo.games.pegs import Pegs
from jaxgo.games.scorefour import ScoreFour
from jaxgo.games.sliding import SlidingBlocks

GAMES: dict[str, Game[Any]] = {
    "go5": Go(5, komi=24.5),
    "go7": Go(7, komi=9.0),
    "go9": Go(9, komi=7.0),
    "go13": Go(13, komi=7.5),
    "go19": Go(19, komi=7.5),
    "tictactoe": Mnk(3, 3, 3),
    "gomoku": Gomoku(),
    "gomoku9": Gomoku(9),
    "gomoku15": Gomoku(15),
    "gomoku19": Gomoku(19),
    "renju15": Gomoku(15, "renju"),
    "swap2-15": Gomoku(15, "standard", "swap2"),
    "othello": Othello(),
    "othello6": Othello(6),
    "connect4": ConnectFour(),
    "connect3d": Connect3D(),
    "scorefour": ScoreFour(),
    "hex5": Hex(5),
    "hex7": Hex(7),
    "hex11": Hex(),
    "kono": Kono(),
    **{f"dodgem{size}": Dodgem(size) for size in range(3, 9)},
    "breakthrough": Breakthrough(),
    "breakthrough6": Breakthrough(6, 6),
    "chess": Chess(),
    "gardner": Chess("gardner", max_plies=256),
    "kamisado": Kamisado(),
    "kamisado-match": Kamisado(points=3),
    "musketeers": Musketeers(),
    "maharajah": Maharajah(),
    "archimedes": Archimedes(),
    "minerace": MineRace(),
    "hughe": SlidingBlocks(),
    "klotski": SlidingBlocks("bAAc/bAAc/deef/dghf/i..j", "..../..../..../.AA./.AA."),
    "slide8": SlidingBlocks("123/456/78.", "123/456/78.", scramble=True),
    "slide15": SlidingBlocks("1234/5678/9abc/def.", "1234/5678/9abc/def.", scramble=True),
    "pegs": Pegs(),
    "latincross": Pegs(figure="latin_cross"),
}


def register(name: str, game: Any) -> None:
    """Makes a game of your own known by a short name, in this process: `make(name)`, and all commands run from it."""
    check(game)
    # runs of a game lie in a folder of its name
    if not isinstance(name, str) or not name.strip(".") or any(letter.isspace() or letter in ":/\\" for letter in name):
        raise UsageError(f"{name!r} cannot be the name of a game; take one word without a colon or a slash")
    if GAMES.get(name, game) != game:
        raise UsageError(f"{name!r} is a registered game already; take another name")
    GAMES[name] = game


def find(name: str) -> Game[Any]:
    """The game of this name, registered or at `package.module:Object`, with its usual options."""
    if not isinstance(name, str):
        raise UsageError(f"{name!r} is no name of a game; a game that is made already needs no making")
    if name in GAMES:
        return GAMES[name]
    if not is_place(name):
        raise unknown_name("game", name, [*GAMES, PLACE])
    found = instance(name, "game", Game, "options")
    check(found, f"game {name!r}")
    return cast("Game[Any]", found)


def options_of(game: Game[Any]) -> "dict[str, dataclasses.Field[Any]]":
    """The fields of a game that may be given, by name."""
    return {field.name: field for field in dataclasses.fields(game) if field.init}  # type: ignore[arg-type]


def make(name: str, /, **options: Any) -> Game[Any]:
    """The game `name`, with some of its options changed: `make("go9", komi=5.5)`."""
    game = find(name)
    options = {option: native(value) for option, value in options.items()}
    valid = options_of(game)
    for option, value in options.items():
        if option not in valid:
            raise unknown_name(f"option of {name}", option, valid or ["(none)"])
        default = as_field(valid[option], getattr(game, option))
        if default is not None and not _is_like(value, default):
            raise UsageError(f"option {option} of {name} is {default!r} by default; {value!r} is of another kind")
    made: Game[Any] = dataclasses.replace(game, **options)  # type: ignore[type-var]
    told = ", ".join(f"{option}={value!r}" for option, value in options.items())
    if made.num_actions < 1 or min(made.shape) < 1:
        raise UsageError(f"{name} with {told} has no cells or no actions; take other options")
    check(made, f"{name} with {told}")
    return made


def _is_like(value: Any, default: Any) -> bool:
    """Whether a value is of the kind of a default: a float may be a whole number, and a tuple holds such as the first
    one in the default."""
    if isinstance(default, tuple):
        return isinstance(value, tuple) and all(_is_like(item, default[0]) for item in value if default)
    kind = KINDS.get(type(default), (type(default), ""))[0]
    return isinstance(value, bool) == isinstance(default, bool) and isinstance(value, kind)
