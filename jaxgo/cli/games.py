"""`jaxgo games`: what there is to play."""

from dataclasses import dataclass

from jaxgo.cli.command import reader


@dataclass(frozen=True)
class ListGames:
    """List the games: board, actions, longest game, bytes of a state, symmetries."""

    def run(self) -> int:
        from rich.console import Console
        from rich.table import Table

        from jaxgo.core.game import state_bytes
        from jaxgo.games import GAMES
        from jaxgo.ui.streams import show

        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("game")
        for heading in ("board", "seats", "actions", "max plies", "state bytes", "symmetries"):
            table.add_column(heading, justify="right")
        for name, game in GAMES.items():
            height, width = game.picture
            numbers = (game.players, game.num_actions, game.max_plies, state_bytes(game), len(game.symmetries().cells))
            table.add_row(name, f"{height}x{width}", *(f"{n:,}" for n in numbers))
        show(table, Console(width=120))  # on a narrow terminal lines break, and names stay whole
        return 0


read = reader(ListGames)
