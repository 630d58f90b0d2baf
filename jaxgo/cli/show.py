"""`jaxgo show`: a position as text and as a picture."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from jaxgo.cli.command import File, GameName, Option, reader
from jaxgo.core.errors import UsageError, check_seed

if TYPE_CHECKING:
    from jaxgo.core.game import Game
    from jaxgo.core.play import Position


@dataclass(frozen=True)
class Show:
    """Draw a position of a game, after some moves, in the terminal and as SVG."""

    name: GameName
    """The game, as `jaxgo games` lists it."""
    moves: str = ""
    """Moves from the start, parted by commas, such as b2,a1; --notation tells how the game writes them."""
    position: Annotated[str, tyro.conf.arg(metavar="TEXT")] = ""
    """Where the moves begin, as `jaxgo show` prints it: the rows from the top and the seat that moves."""
    random: int = 0
    """So many moves more, drawn by chance, as far as the game goes."""
    seed: int = 0
    """Of the drawn moves, and of a start that is drawn, such as the scrambled slide15."""
    option: Option = ()
    """An option of the game, such as komi=5.5; may be given several times."""
    svg: File = None
    """Write the picture to this file, which ends in .svg."""
    png: File = None
    """Write the picture to this file, which ends in .png; needs the extra `png`."""
    numbers: bool = False
    """Number the pieces of the picture by the moves that brought them."""
    heat: Annotated[str, tyro.conf.arg(metavar="policy|visits|value|ownership")] = ""
    """Draw the agent's policy, visits or values where moves land, or whose the points will be: by its net, if that
    has learnt it, or by random playouts."""
    agent: str = "best"
    """Who is asked for --heat, such as puct:400 or gumbel:64@runs/go9, or the best that comes with jaxgo."""
    notation: bool = False
    """Tell how moves are written, and which are legal in the position."""

    def run(self) -> int:
        from jaxgo.core import play, position_text
        from jaxgo.core.replay import replay, some_legal, split_moves, status
        from jaxgo.games.names import describe_options, read_game
        from jaxgo.system.files import save_whole
        from jaxgo.ui import board_view, how_to_play

        game = read_game(self.name, self.option)
        self._check_pictures()
        if self.numbers and not (self.svg or self.png):
            raise UsageError("--numbers is for pictures; name one by --svg or --png")
        if self.agent != Show.agent and not self.heat:
            raise UsageError("--agent is who is asked for --heat; say which map, such as --heat visits")
        if self.random < 0:
            raise UsageError(f"--random {self.random} is below 0; say how many moves are to be drawn")
        check_seed(self.seed)
        moves = split_moves(self.moves)
        begun = self.position or drawn_start(game, self.seed)
        if self.seed and not self.random and (self.position or not begun):
            raise UsageError(
                f"--seed {self.seed} draws nothing here, as neither the start nor any move is drawn; leave it out, or "
                "say how many moves are to be, such as --random 10"
            )
        position, last = replay(game, moves, begun, self.seed)
        if self.random:
            names, position = drawn(game, position, self.random, self.seed)
            moves += names
            last = game.parse_action(names[-1]) if names else last
            again = f" --seed {self.seed}" if begun and not self.position else ""
            print(f"--moves {shlex.quote(','.join(moves))}{again}")
        heat, said = self._heat(game, position, ",".join(moves)) if self.heat else ({}, "")
        if self.svg or self.png:
            numbers = numbered(game, replay(game, [], begun, self.seed)[0], moves) if self.numbers else {}
            picture = board_view.svg(game, position.state, last=last, numbers=numbers, **heat)
            for path, made in ((self.svg, picture.encode()), (self.png, board_view.png(picture) if self.png else b"")):
                if path is not None:
                    save_whole(path, made)
        print(f"{self.name} {describe_options(game)}".rstrip())
        print(board_view.text(game, position.state))
        print(status(game, position))
        print(f"--position {shlex.quote(position_text.write(game, position, moves, begun))}")
        if said:
            print(said)
        if self.notation:
            print(how_to_play.notation(game))
            print(f"Legal now: {some_legal(game, play.look(game, position).legal)}.")
        return 0

    def _check_pictures(self) -> None:
        """A UsageError where a picture cannot be written, before there is a search."""
        from jaxgo.system.files import check_writable
        from jaxgo.ui import board_view

        for path, kind in ((self.svg, "svg"), (self.png, "png")):
            if path is not None and path.suffix.lower() != f".{kind}":
                raise UsageError(f"--{kind} {path} is no name of such a picture; end it in .{kind}")
            if path is not None:
                check_writable(path)
        if self.png:
            board_view.png_package()

    def _heat(self, game: "Game[Any]", position: "Position", moves: str) -> tuple[dict[str, Any], str]:
        """The map that was asked for, as the picture takes it, and in words."""
        from jaxgo import players
        from jaxgo.cli import analyse
        from jaxgo.frontends.lines import tell_player
        from jaxgo.search import analysis
        from jaxgo.search.think import Limit
        from jaxgo.ui import heat

        kind = heat.check(self.heat, game)
        agent = players.load_player(self.agent, game)  # complains now
        root = analyse.live_root(game, position, moves)
        if kind == "ownership":
            cells, said = heat.of_points(agent, root.state)
            return {"owned": cells.tolist()}, f"ownership {said}"
        tell_player(agent)
        thinker = analyse.begin(agent, root, seed=0)
        result = thinker.think(Limit(simulations=max(1, agent.search.budget))).result
        found = analysis.table(result, game.action_name, thinker.tree)
        cells, said = heat.of_moves(game, position.state, found, kind)
        return {"heat": cells.tolist()}, f"{kind} of {agent.name}: {said}"


def drawn_start(game: "Game[Any]", seed: int) -> str:
    """The start that a seed draws, as text; nothing where it is the usual one."""
    from jaxgo.core import play, position_text

    start = play.begin(game, seed)
    usual = position_text.drawing(game, start.state) == position_text.example(game)
    return "" if usual else position_text.write(game, start, ())


def drawn(game: "Game[Any]", position: "Position", count: int, seed: int) -> tuple[list[str], "Position"]:
    """The names of so many random moves, or of fewer where the game ends before, and the position after them."""
    import numpy as np

    from jaxgo.core import play

    luck, names = np.random.default_rng(seed), list[str]()
    view = play.look(game, position)
    while len(names) < count and not view.over:
        action = int(luck.choice(np.flatnonzero(view.legal)))
        names.append(game.action_name(action))
        view = play.look(game, view.position, action)
    return names, view.position


def numbered(game: "Game[Any]", position: "Position", moves: Sequence[str]) -> dict[int, int]:
    """The number of the move that brought each piece that still stands where it landed."""
    from jaxgo.frontends import board as boards
    from jaxgo.ui import clicks

    board = boards.begin(game, position)
    numbers: dict[int, int] = {}
    for number, move in enumerate(moves, 1):
        action = board.read(move)
        landed = clicks.choices(game, board.now.position.state, [action])[0].at
        board = board.play(action)
        cells = board.now.cells
        # a block that moved may still cover where it landed before
        gone = cells[landed] if game.grid == "blocks" and landed >= 0 else 0
        numbers = {cell: old for cell, old in numbers.items() if cells[cell] not in (0, gone)} | {landed: number}
    return {cell: number for cell, number in numbers.items() if cell >= 0 and board.now.cells[cell]}


read = reader(Show)
