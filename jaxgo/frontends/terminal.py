"""A game in the terminal: the board as text with an analysis beside it, moves by name, and a few words."""

import dataclasses
import textwrap
from collections.abc import Callable
from pathlib import Path

from jaxgo.core.errors import UsageError
from jaxgo.core.play import NOTHING
from jaxgo.core.replay import score, some_legal
from jaxgo.frontends import board as boards
from jaxgo.frontends.session import Session
from jaxgo.frontends.thinking import Thought
from jaxgo.records import formats
from jaxgo.search.think import Limit
from jaxgo.ui import board_view, how_to_play

ROWS = 12  # of an analysis, at most
LINE = 4  # moves of its variations
GAP = "   "
WIDE = 100  # of words
HELP = """a move by its name, such as those that `moves` lists; or
  hint        what a player would do, and its analysis
  analyse     show an analysis beside the board after every move, or no more
  undo, redo  take moves back, or play them again
  moves       the legal moves
  rules       how the game is played
  text        the position as text, for --position
  setup TEXT  another position
  save FILE   the game so far; the name ends in .json, .sgf, .pgn, .psq or .gzero
  load FILE   a game from such a file
  swap        take the other side
  resign, new, quit"""


@dataclasses.dataclass
class Terminal:
    """A person at a session: `read` gives the next line, or None at the end; `show` prints."""

    session: Session
    read: Callable[[str], str | None]
    show: Callable[[str], None]
    limit: Limit | None = None  # of the players' moves; None: their own simulations
    analysis: bool = False  # beside the board

    def run(self) -> None:
        """Plays until the person leaves."""
        self._draw()
        while True:
            view = self.session.board.now
            if not self.session.board.over and self.session.seats[view.seat] is not None:
                self._let_play()
                continue
            line = self.read(self._prompt())
            if line is None or line.strip().lower() in ("quit", "exit", "q"):
                return
            try:
                self._take(line.strip())
            except UsageError as error:
                self.show(f"{error}")

    def _prompt(self) -> str:
        result = self.session.board.result()
        if result:
            return f"{result.text}> "
        return f"seat {self.session.board.now.seat}> " if self.session.game.players > 1 else "> "

    def _let_play(self) -> None:
        """The move of a player."""
        if self.session.state == "warming up":
            self.show("warming up ...")
        thought = self.session.genmove(self.limit).result()
        sure = ", exact" if thought.solved else ""
        self.show(
            f"seat {thought.seat} ({thought.decided_by}) plays {thought.name}: value {thought.value:+.3f}{sure}, "
            f"{thought.simulations:,} simulations in {thought.seconds:.1f} s"
        )
        self._draw(thought)

    def _take(self, line: str) -> None:
        """A line of the person: a legal move first, else a word, else a move that is not legal."""
        word, _, rest = line.partition(" ")
        command = COMMANDS.get(word.lower())
        try:
            found = self.session.board.named(line)
        except UsageError:
            if command is None:
                raise UsageError(f"{line!r} is neither a move nor a word; `help` lists them") from None
            found = []
        if command is not None and not found:
            command(self, rest.strip())
            return
        self.session.play(line)
        self._draw()

    def _draw(self, thought: Thought | None = None) -> None:
        """The board, and beside it the analysis that its last move came of."""
        session = self.session
        board = board_view.text(session.game, session.board.now.position.state)
        last = session.board.actions[-1] if session.board.actions else NOTHING
        self.show("")
        if thought is None and self.analysis and not (session.board.over or any(session.seats)):
            thought = session.think(self.limit).result()  # no player's move comes with one
        if thought is not None and self.analysis:
            board = beside(board, table(thought))
        self.show(board)
        if points := score(session.game, session.board.now.position.state):
            self.show(f"score: {points}")
        if last != NOTHING:
            self.show(f"last move: {session.game.action_name(last)}")

    # -- words -------------------------------------------------------------------------------------------------
    def _do_help(self, rest: str) -> None:
        self.show(HELP)

    def _do_hint(self, rest: str) -> None:
        thought = self.session.think(self.limit).result()
        self.show(f"{thought.decided_by} would play {thought.name}")
        self.show(table(thought))

    def _do_analyse(self, rest: str) -> None:
        self.analysis = not self.analysis
        self.show(f"analysis {'beside the board' if self.analysis else 'off'}")

    def _do_undo(self, rest: str) -> None:
        """Back to the last position in which a person was to move, or to before somebody gave up."""
        board = self.session.board
        for count in range(int(board.resigned is None), len(board.actions) + 1):
            if self.session.seats[board.views[-1 - count].seat] is None:
                self.session.undo(count)
                self._draw()
                return
        raise UsageError("there is no move of yours to take back")

    def _do_redo(self, rest: str) -> None:
        self.session.redo()
        while self.session.board.undone and self.session.seats[self.session.board.now.seat] is not None:
            self.session.redo()
        self._draw()

    def _do_rules(self, rest: str) -> None:
        game = self.session.game
        self.show(textwrap.fill(how_to_play.rules(game) or f"{self.session.name} tells nothing of its rules", WIDE))
        self.show(how_to_play.notation(game))

    def _do_moves(self, rest: str) -> None:
        names = [name for _, name in self.session.legal()]
        self.show(" ".join(names) or some_legal(self.session.game, self.session.board.now.legal))

    def _do_text(self, rest: str) -> None:
        self.show(self.session.text)

    def _do_setup(self, rest: str) -> None:
        self.session.setup(rest)
        self._draw()

    def _do_save(self, rest: str) -> None:
        formats.save(Path(rest), self.session.record())
        self.show(f"saved in {rest}")

    def _do_load(self, rest: str) -> None:
        record = formats.load(Path(rest), self.session.game)
        try:
            board = boards.of_record(record)
        except UsageError as error:
            raise UsageError(f"{rest}: {error}") from None
        self.session.restore(board, record.name, record)
        self._draw()

    def _do_swap(self, rest: str) -> None:
        seats = self.session.seats
        if len(seats) < 2 or seats[0] is seats[1]:
            raise UsageError("there are no two sides to change")
        for seat, player in enumerate(seats[::-1]):
            self.session.set_player(seat, player)

    def _do_resign(self, rest: str) -> None:
        self.session.resign(self.session.board.now.seat)

    def _do_new(self, rest: str) -> None:
        self.session.new_game()
        self._draw()


def table(thought: Thought) -> str:
    """The moves of a search, the best first."""
    rows = [("move", "visits", "value", "line")]
    for move in thought.moves[:ROWS]:
        value = move.written
        rows.append((move.name, f"{move.visits:,}", value, " ".join(move.variation[1 : LINE + 1])))
    wide = [max(len(row[column]) for row in rows) for column in range(3)]
    return "\n".join(
        f"{name:<{wide[0]}}  {visits:>{wide[1]}}  {value:>{wide[2]}}  {line}".rstrip()
        for name, visits, value, line in rows
    )


def beside(left: str, right: str) -> str:
    """Two texts side by side."""
    lines, others = left.split("\n"), right.split("\n")
    wide, high = max(map(len, lines)), max(len(lines), len(others))
    lines += [""] * (high - len(lines))
    others += [""] * (high - len(others))
    return "\n".join(f"{a:<{wide}}{GAP}{b}".rstrip() for a, b in zip(lines, others, strict=True))


COMMANDS: dict[str, Callable[[Terminal, str], None]] = {
    "help": Terminal._do_help,
    "hint": Terminal._do_hint,
    "analyse": Terminal._do_analyse,
    "undo": Terminal._do_undo,
    "redo": Terminal._do_redo,
    "moves": Terminal._do_moves,
    "rules": Terminal._do_rules,
    "text": Terminal._do_text,
    "setup": Terminal._do_setup,
    "save": Terminal._do_save,
    "load": Terminal._do_load,
    "swap": Terminal._do_swap,
    "resign": Terminal._do_resign,
    "new": Terminal._do_new,
}
