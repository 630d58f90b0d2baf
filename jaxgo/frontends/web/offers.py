"""What a visitor may choose from: games and players. Networks are only those that the server found when it started.

Names of players come from the page, so nothing in them may reach the file system: a network is one of a fixed list, and
a spec that holds anything like a path, or an option that names a file, is refused before it is read.
"""

import contextlib
import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jaxgo.core.errors import UsageError, unknown_name
from jaxgo.core.game import Game
from jaxgo.core.words import write_value
from jaxgo.evaluators import EVALUATORS, Evaluator, Rollout
from jaxgo.frontends.web.protocol import MOST_SIMULATIONS
from jaxgo.games import GAMES, make
from jaxgo.players import (
    BEST,
    EASIER,
    MINIMAX,
    PUZZLE,
    ROLLOUTS,
    SHORT,
    THREATS,
    Player,
    fitting,
    parse,
    with_weights,
    without_weights,
)
from jaxgo.records import formats, text_file
from jaxgo.records.record import GameRecord
from jaxgo.search import PRESETS, SEARCHES, AlphaBeta, Gumbel, Search
from jaxgo.system.files import read_json
from jaxgo.system.weights import load_weights, name_of_run, shipped, shipped_notes, weight_steps

PUZZLES = (PUZZLE, "bfs:100")  # who runs ahead of a puzzle
USUAL = (ROLLOUTS, "uct:400", "uct:100", "uct:6400", THREATS, MINIMAX, "puct:400", "gumbel:64", "random")
MOST_NUMBER = 10_000  # of an option, such as the playouts of a leaf
MOST_AT_ONCE = 10_000  # playouts that a search runs side by side: each has a position of its own in memory
MOST_TABLE = 16  # of alpha-beta: 2 ** 16 entries are a megabyte
# plies that rules look back over: each position of a game has room for the keys of all, which are 32 MB together
LONGEST_PAST = 2000
FILES = ("file", "book")  # options that name one
ON_PLANES = "gumbel:64"  # the search of a run that is offered


@dataclasses.dataclass(frozen=True)
class Offers:
    """The networks that may be named, and the game of each."""

    networks: dict[str, str]
    usual: tuple[str, ...] = USUAL

    def players(self, name: str, game: Game[Any]) -> list[str]:
        """Specs to choose from for a game that is called so, the best first."""
        ours = [with_weights(net, game) for net in fitting(game) if net in self.networks]
        easier = [] if game.players == 1 else list(EASIER)
        known = shipped()
        runs = [f"{ON_PLANES}@{net}" for net, of in self.networks.items() if of == name and net not in known]
        others = [*(PUZZLES if game.players == 1 else ()), *self.usual]
        first = without_weights(game)
        others.sort(key=lambda spec: spec != first)
        return [*ours, *runs, *others, *easier]

    def check(self, spec: str) -> str:
        """The spec, if all that it names is on offer; a UsageError otherwise."""
        rest = spec
        for network in sorted(self.networks, key=len, reverse=True):
            step = "" if network in shipped() else r"(?:[:/]\d+)?"
            rest = re.sub(rf"@{re.escape(network)}{step}(?=$|[\s,;|&)\]>+])", "", rest)
        if "@" in rest:
            names = ", ".join(self.networks) or "none"
            raise UsageError(f"{spec!r} names a network that is not on offer here; these are: {names}")
        rest = re.sub(r"(^|,)(\s*evaluator)\.(?=\w+\s*=)", r"\1\2 ", rest)  # a field of the evaluator, by its long name
        # a colon is for a number of simulations; elsewhere it names a class in somebody's file
        if re.search(r"[/\\~\x00]|\.\.|:(?!\s*\d)|\.[a-z_]", rest, re.I) or re.search(r"\b(gtp|gomocup)\b", rest):
            raise UsageError(f"{spec!r} names a file, a class or a program, which a page may not")
        for option, _ in parse(spec).options:
            if option.rpartition(".")[2] in FILES:
                raise UsageError(f"{spec!r} names a file by {option}, which a page may not; leave it out")
        return spec


def check_player(player: Player) -> Player:
    """The player, if none of its numbers keeps the server busy for long: each is bounded, or a usual one."""
    if player.search.budget > MOST_SIMULATIONS:
        raise UsageError(f"{player.name!r} has more than {MOST_SIMULATIONS} simulations, the most on a page")
    for part in _parts(player.search, player.model.evaluator):
        for field in dataclasses.fields(part):
            value = getattr(part, field.name)
            if field.name == "simulations" or not isinstance(value, int | float) or abs(value) <= MOST_NUMBER:
                continue
            if not any(type(one) is type(part) and getattr(one, field.name) == value for one in _known(player)):
                option = SHORT.get(field.name, field.name)
                raise UsageError(f"{player.name!r} has {option}={value}; at most {MOST_NUMBER} is taken on a page")
    _check_memory(player)
    return player


def unchosen(player: Player | None) -> Player | None:
    """A player who sits there because nobody has said who shall, and makes room for the best of another game."""
    return player and dataclasses.replace(player, asked=BEST)


def _check_memory(player: Player) -> None:
    """A UsageError where numbers that may each be taken need too much memory together."""
    parts = _parts(player.search, player.model.evaluator)
    table = max((part.table for part in parts if isinstance(part, AlphaBeta)), default=0)
    if table > MOST_TABLE:
        raise UsageError(f"{player.name!r} has table={table}; at most {MOST_TABLE} is taken on a page")
    leaves = max(_leaves(part) for part in parts)
    playouts = leaves * max((part.count for part in parts if isinstance(part, Rollout)), default=0)
    if playouts > MOST_AT_ONCE:
        raise UsageError(
            f"{player.name!r} has {playouts} playouts at once, of {leaves} leaves; "
            f"at most {MOST_AT_ONCE} are taken on a page"
        )


def _leaves(part: Any) -> int:
    """How many leaves a search may judge at once; without a number Gumbel judges all that it considers."""
    if isinstance(part, Gumbel):
        return min(part.parallel_leaves or part.max_considered, part.max_considered)
    return part.parallel_leaves if isinstance(part, Search) else 1


def _parts(*settings: Any) -> list[Any]:
    """Searches and evaluators, and those that they are made of."""
    found = []
    for one in settings:
        inner = [getattr(one, field.name) for field in dataclasses.fields(one)]
        found += [one, *_parts(*(value for value in inner if isinstance(value, Search | Evaluator)))]
    return found


def _known(player: Player) -> list[Any]:
    """The searches and evaluators that have a name, and the search that belongs to the weights of a player."""
    named = [part for preset in PRESETS.values() for part in (preset.search, preset.evaluator)]
    return [*SEARCHES.values(), *EVALUATORS.values(), *named, player.rated]


def check_game(name: str, own: str = "") -> str:
    """The name, if it is that of a registered game, or of the one that the server was started with.

    Elsewhere a game may be named by the file of its class, which is then run.
    """
    if name not in GAMES and name != own:
        raise unknown_name("game", name[:80], GAMES)
    return name


def check_length(game: Game[Any]) -> Game[Any]:
    """The game, if all its positions together take no more memory than one visitor may have."""
    if game.repetition != "none" and game.max_plies > LONGEST_PAST:
        raise UsageError(
            f"a game whose rules look back lasts {LONGEST_PAST:,} plies at most on a page, not {game.max_plies:,}; "
            f"lower its {game.ply_limit}"
        )
    return game


def read_record(text: str, own: str = "") -> GameRecord:
    """The game of a file, if it names one that a page may, see `check_game`; it is asked before that is looked for."""
    text = text.lstrip("\ufeff")  # readers pass over it, and nothing may hide the name
    if formats.is_json(text):
        try:
            told = read_json(text)
        except ValueError:
            raise UsageError("the file is no whole JSON") from None
        check_game(str(told.get("game", "")), own)
    elif text_file.HEAD.match(text):
        check_game(text_file.game_of(text), own)
    record = formats.read(text)
    check_length(record.game)
    return record


def find(folders: Sequence[Path]) -> Offers:
    """The weights that come with jaxgo, and the runs in these folders with a player."""
    notes = dict(shipped_notes())
    for folder in folders:
        runs = [folder, *sorted(folder.iterdir())] if folder.is_dir() else []
        for name in [name_of_run(run) for run in runs if run.is_dir() and weight_steps(run)]:
            with contextlib.suppress(UsageError):  # nothing to play with
                notes[name], _ = load_weights(name)
    return Offers({name: _called(str(of.get("game", "")), of.get("options", {})) for name, of in notes.items()})


def _called(name: str, options: dict[str, Any]) -> str:
    """The registered game that weights were trained for, if its options are the usual ones."""
    return name if name in GAMES and not options else ""


def game_list(own: str) -> list[dict[str, Any]]:
    """The registered games, with what they are and their options; first the one that the server was started with, if
    it is none of them."""
    out = []
    for name, game in (GAMES if own in GAMES else {own: make(own)} | GAMES).items():
        lines = (type(game).__doc__ or "").strip().splitlines()
        fields = dataclasses.fields(game)  # type: ignore[arg-type]
        out.append(
            {
                "name": name,
                "about": lines[0] if lines else "",
                "options": {field.name: write_value(getattr(game, field.name)) for field in fields},
            }
        )
    return out
