"""`jaxgo solve`: the shortest solution of a puzzle, or the truth about a small game of two."""

import shlex
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from jaxgo.cli.command import File, GameName, Option, reader
from jaxgo.core.errors import UsageError, check_seed

if TYPE_CHECKING:
    from jaxgo.core.game import Game
    from jaxgo.core.play import Position
    from jaxgo.solvers.explore import Room

WORDS = {1: "won", 0: "drawn", -1: "lost"}


@dataclass(frozen=True)
class Solve:
    """Find the shortest solution of a puzzle, or work a small game of two out to the end."""

    name: GameName
    """The game, as `jaxgo games` lists it."""
    moves: str = ""
    """Moves from the start, parted by commas, after which to begin."""
    option: Option = ()
    """An option of the game, such as figure=greek_cross; may be given several times."""
    method: Literal["astar", "breadth"] = "astar"
    """Puzzles: by the least number of moves that a position needs, or breadth-first."""
    backward: bool = False
    """Puzzles: search from the end, where the rules say how."""
    out: File = None
    """Games of two: write the table of all positions here, for evaluator=solved,file=FILE."""
    batch: int = 0
    """Positions expanded at once; 0: 2,048 for a puzzle by A*, which goes deeper with fewer, else 16,384."""
    most: int = 100_000_000
    """Give up beyond so many positions."""
    seed: int = 0
    """Of a start that is drawn, such as the scrambled slide15."""

    def run(self) -> int:
        from jaxgo.core import play
        from jaxgo.core.replay import replay, split_moves
        from jaxgo.games.names import read_game
        from jaxgo.solvers.explore import Room

        check_seed(self.seed)
        game = read_game(self.name, self.option)
        if self.batch < 0 or self.most < 1:
            raise UsageError("--batch is at least 0 and --most at least 1")
        if self.out is not None and game.players == 1:
            raise UsageError("--out is for tables of games of two; the solution of a puzzle is printed")
        if game.players == 2 and (self.backward or self.method != "astar"):
            raise UsageError("--backward and --method are for puzzles; a game of two is worked out in one way")
        guided = game.players == 1 and self.method == "astar"
        room = Room(self.batch or (2048 if guided else Room.batch), most=self.most)
        position, _ = replay(game, split_moves(self.moves), seed=self.seed)
        if bool(play.over(game, position)):
            if not self.moves:
                raise UsageError(f"{self.name} is over at its start, so there is nothing to solve; take other options")
            raise UsageError(f"the game is over after --moves {self.moves}; leave the last move out")
        return self._puzzle(game, position, room) if game.players == 1 else self._game(game, position, room)

    def _puzzle(self, game: "Game[Any]", position: "Position", room: "Room") -> int:
        import jax

        from jaxgo.core import play, position_text
        from jaxgo.core.replay import split_moves
        from jaxgo.solvers.puzzles import solve_puzzle
        from jaxgo.ui import board_view

        if self.backward and self.moves:
            raise UsageError("--backward begins at the end and leads to the start; leave --moves out")
        drawn = position_text.write(game, play.start(game, jax.random.key(self.seed)), ())  # before the moves
        began = time.perf_counter()
        found = solve_puzzle(game, None if self.backward else position.state, self.method, self.backward, room)
        seconds = time.perf_counter() - began
        print(board_view.text(game, position.state))
        print(f"--position {shlex.quote(position_text.write(game, position, split_moves(self.moves), drawn))}")
        if found.moves is None:
            print("no solution")
        else:
            print(f"{len(found.moves)} moves, none shorter:")
            print(",".join(game.action_name(action) for action in found.moves))
        print(f"{found.expanded:,} positions expanded, {found.seen:,} seen in {seconds:.1f} s")
        print(f"{found.made:,} moves made, {found.again:.1%} of them to positions seen before")
        return 0 if found.moves is not None else 1

    def _game(self, game: "Game[Any]", position: "Position", room: "Room") -> int:
        import numpy as np

        from jaxgo.core.lanes import alone
        from jaxgo.evaluators import solved
        from jaxgo.solvers.retrograde import solve_game
        from jaxgo.system.files import check_writable
        from jaxgo.ui import board_view

        if self.out is not None:
            check_writable(self.out)
        began = time.perf_counter()
        root = alone(position.state)
        table = solve_game(game, root, room)
        seconds = time.perf_counter() - began
        here, below = solved.judge(game, solved.on_device(table), root)
        print(board_view.text(game, position.state))
        print(f"{_verdict(int(here.value[0]), int(here.distance[0]))} for who is to move")
        legal = np.flatnonzero(np.asarray(game.legal(position.state)))
        moves = [(int(below.value[0, a]), int(below.distance[0, a]), game.action_name(a)) for a in legal.tolist()]
        for value, distance, name in sorted(moves, key=lambda move: (-move[0], move[0] * move[1])):
            print(f"  {name}  {_verdict(value, distance + 1)}")
        won, drawn, lost = table.counts()
        print(f"{len(table.keys):,} positions: {won:,} won, {drawn:,} drawn, {lost:,} lost ({seconds:.1f} s)")
        print(f"the longest forced win takes {int(table.distances[table.values != 0].max(initial=0))} moves")
        if self.out is not None:
            table.save(self.out, solved.describe(game))
        return 0


def _verdict(value: int, distance: int) -> str:
    return WORDS[value] + (f" in {distance}" if value else "")


read = reader(Solve)
