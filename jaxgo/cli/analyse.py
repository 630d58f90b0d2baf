"""`jaxgo analyse`: what a search thinks of a position, move by move."""

import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from jaxgo.cli.command import GameName, Option, reader
from jaxgo.core.errors import UsageError, check_seed

if TYPE_CHECKING:
    from rich.console import Group

    from jaxgo.core.game import Game
    from jaxgo.core.play import Position
    from jaxgo.players import Player
    from jaxgo.search.analysis import Move
    from jaxgo.search.think import Limit, Snapshot, Thinker

ROWS = 20  # of a table
LINE = 8  # moves of a variation that a row of the table shows


@dataclass(frozen=True)
class Analyse:
    """Search a position and print every move's visits, value, prior and best line."""

    name: GameName
    """The game, as `jaxgo games` lists it."""
    moves: str = ""
    """Moves from the start, parted by commas, such as b2,a1; see `jaxgo show GAME --notation`."""
    agent: str = "best"
    """Who searches, such as puct:800 or uct:6400,rollouts=4, or the best that comes with jaxgo."""
    seconds: float = 0.0
    """Search for so long, instead of as many simulations as the agent has."""
    position: Annotated[str, tyro.conf.arg(metavar="TEXT")] = ""
    """Where the moves begin, as `jaxgo show` prints it: the rows from the top and the seat that moves."""
    option: Option = ()
    """An option of the game, such as komi=5.5; may be given several times."""
    line: str = ""
    """Show the node behind these moves of the tree, and not its root: what the search thinks a few plies on."""
    rows: int | None = None
    """Moves to list, where not 20 of a table and all of others; 0: all."""
    noise: bool = False
    """Keep the search's own exploration noise; else it is off unless the agent's name sets it."""
    json: bool = False
    """Print JSON lines: the search, then one line for each move."""
    dagaz: bool = False
    """Print the log of Dagaz: wins and playouts of each move, and the depth where the search keeps a tree."""
    playouts: bool = False
    """Print the log of Dagaz with every playout: who won, how deep it went, what stood there; for flat searches."""
    seed: int = 0
    """Of the search's luck, and of a start that is drawn, such as the scrambled slide15."""

    def run(self) -> int:
        from jaxgo import players
        from jaxgo.core.replay import replay, split_moves
        from jaxgo.frontends.lines import tell_player
        from jaxgo.games.names import read_game
        from jaxgo.search.think import Limit

        if (self.rows or 0) < 0 or not 0 <= self.seconds < float("inf"):
            raise UsageError("--rows and --seconds are numbers that cannot be below 0")
        if self.json + self.dagaz + self.playouts > 1:
            raise UsageError("--json, --dagaz and --playouts are ways to print the same; choose one")
        if self.playouts and (self.seconds or self.line or self.rows is not None):
            raise UsageError(
                "--playouts prints all playouts of the agent's own number; leave --seconds, --rows and --line out"
            )
        check_seed(self.seed)
        game = read_game(self.name, self.option)
        agent = players.load_player(self.agent, game, noise=self.noise)
        position, _ = replay(game, split_moves(self.moves), self.position, self.seed)
        root = live_root(game, position, self.moves)
        for name in split_moves(self.line):
            game.parse_action(name)
        if self.line and agent.begun(root).tree is None:
            raise UsageError(f"{agent.name} keeps no tree to look into; leave --line out")
        tell_player(agent)
        if self.playouts:
            return self._print_playouts(agent, root)
        thinker = begin(agent, root, self.seed)
        limit = Limit(seconds=self.seconds) if self.seconds else Limit(simulations=max(1, agent.search.budget))
        thinker.warm(limit, follows=False)
        if self.json or self.dagaz:
            self._print_lines(agent, thinker, thinker.think(limit))
        else:
            self._print_table(agent, thinker, limit)
        return 0

    def _print_playouts(self, agent: "Player", root: "Position") -> int:
        import jax

        from jaxgo.search import playouts

        key, game = jax.random.key(self.seed), agent.model.game
        # what is no flat search is refused there
        flat: Any = agent.search
        state, found = playouts.watch(flat, agent.model, agent.params, key, root, flat.budget)
        print("\n".join(playouts.log(flat, game, state, found, game.action_name)))
        return 0

    def _moves(self, agent: "Player", thinker: "Thinker", snapshot: "Snapshot") -> "list[Move]":
        from jaxgo.core.replay import split_moves
        from jaxgo.search import analysis

        game = thinker.model.game
        if self.line:
            assert thinker.tree is not None, "who keeps none was refused"
            steps = [game.parse_action(name) for name in split_moves(self.line)]
            moves = analysis.inner(thinker.tree, steps, game.action_name, exact=game.repetition == "none")
        else:
            moves = analysis.table(snapshot.result, game.action_name, thinker.tree, lines=thinker.lines)
        return moves

    def _print_lines(self, agent: "Player", thinker: "Thinker", snapshot: "Snapshot") -> None:
        from jaxgo.search import analysis
        from jaxgo.search.bandit import BanditState

        moves = self._moves(agent, thinker, snapshot)
        if self.dagaz:
            print("\n".join(analysis.dagaz_log(moves)[: self.rows or None]))
            return
        name = thinker.model.game.action_name
        whole: dict[str, Any] = {"game": self.name, "agent": agent.name, "seconds": round(snapshot.seconds, 3)}
        outcomes = thinker.state.outcomes if isinstance(thinker.state, BanditState) else None
        whole |= analysis.summary(snapshot.result, name, thinker.tree, outcomes=outcomes)
        for record in analysis.json_records(moves[: self.rows or None], whole):
            print(json.dumps(record))

    def _print_table(self, agent: "Player", thinker: "Thinker", limit: "Limit") -> None:
        from rich.console import Console
        from rich.live import Live

        from jaxgo.ui.streams import show

        if not sys.stdout.isatty():
            show(self._table(agent, thinker, thinker.think(limit)), Console(width=120, emoji=False))
            return
        missing: UsageError | None = None
        with Live(auto_refresh=False) as view:
            for snapshot in thinker.watch(limit):
                try:
                    view.update(self._table(agent, thinker, snapshot), refresh=True)
                    missing = None
                except UsageError as fault:  # the search may come to the node of the line yet
                    missing = fault
        if missing is not None:
            raise missing

    def _table(self, agent: "Player", thinker: "Thinker", snapshot: "Snapshot") -> "Group":
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        result = snapshot.result
        searched, seconds = int(snapshot.simulations[0]), snapshot.seconds
        speed = f", {searched / seconds:,.0f} a second" if searched and seconds else ""
        value = f"value {float(result.worth[0]):+.3f}{', exact' if result.solved[0] else ''}"
        title = f"{self.name}  {agent.name}  {searched:,} simulations in {seconds:.1f} s{speed}  {value}"
        if self.line:  # the value is the root's, for another seat perhaps
            title += f" at the root; below: behind {self.line}, for who moves there"
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("move")
        for heading in ("visits", "share", "value", "prior"):
            table.add_column(heading, justify="right")
        table.add_column("proven")
        table.add_column("principal variation")
        rows = ROWS if self.rows is None else self.rows
        for move in self._moves(agent, thinker, snapshot)[: rows or None]:
            table.add_row(
                move.name,
                f"{move.visits:,}",
                f"{move.share:.1%}",
                move.written,
                "" if move.prior is None else f"{move.prior:.1%}",
                move.verdict,
                " ".join(move.variation[:LINE]),
                style="bold" if move.best else None,
            )
        return Group(Text(title, no_wrap=True), table)


def live_root(game: "Game[Any]", position: "Position", moves: str) -> "Position":
    """The position as a batch of one; a UsageError where the game is over, behind these moves if there are any."""
    from jaxgo.core import play
    from jaxgo.core.lanes import alone

    if bool(play.over(game, position)):
        if moves:
            raise UsageError(f"the game is over after --moves {moves}; leave the last move out")
        raise UsageError("the game is over in this position; begin where somebody can still move")
    return alone(position)


def begin(agent: "Player", root: "Position", seed: int) -> "Thinker":
    """A search of this position that has not begun to think."""
    import jax

    from jaxgo.search.think import Thinker

    thinker = Thinker(agent.search, agent.model, agent.params, jax.random.key(seed))
    thinker.begin(root)
    return thinker


read = reader(Analyse)
