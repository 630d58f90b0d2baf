"""`jaxgo show`: a position as text and as a picture."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from jaxgo.cli.command import reader
from jaxgo.core.errors import UsageError


@dataclass(frozen=True)
class Show:
    """Draw a position of a game, after some moves, in the terminal and as SVG."""

    name: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="GAME")]
    """The game, as `jaxgo games` lists it."""
    moves: str = ""
    """Moves from the start, parted by commas, such as b2,a1; --notation tells how the game writes them."""
    position: Annotated[str, tyro.conf.arg(metavar="TEXT")] = ""
    """Where the moves begin, as `jaxgo show` prints it: the rows from the top and the seat that moves."""
    option: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME=VALUE"), tyro.conf.UseAppendAction] = ()
    """An option of the game, such as komi=5.5; may be given several times."""
    svg: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Write the picture to this file, which ends in .svg."""
    notation: bool = False
    """Tell how moves are written, and which are legal in the position."""

    def run(self) -> int:
        import numpy as np

        from jaxgo.core import play, position_text
        from jaxgo.core.replay import replay, some_legal, split_moves, status
        from jaxgo.games.names import describe_options, read_game
        from jaxgo.ui import board_view

        game = read_game(self.name, self.option)
        if self.svg is not None and self.svg.suffix.lower() != ".svg":
            raise UsageError(f"--svg {self.svg} is no name of a picture; end it in .svg, the one kind that is written")
        moves = split_moves(self.moves)
        position, last = replay(game, moves, self.position)
        if self.svg is not None:
            try:
                self.svg.write_text(board_view.svg(game, position.state, last=last))
            except OSError as error:
                raise UsageError(f"cannot write {self.svg}: {error.strerror}") from None
        print(f"{self.name} {describe_options(game)}".rstrip())
        print(board_view.text(game, position.state))
        print(status(game, position))
        print(f"--position {shlex.quote(position_text.write(game, position.state, moves, self.position))}")
        if self.notation:
            print(f"Moves are written as {game.notation}.")
            print(f"Legal now: {some_legal(game, np.asarray(play.legal(game, position)))}.")
        return 0


read = reader(Show)
