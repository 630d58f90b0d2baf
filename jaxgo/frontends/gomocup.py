"""Gomocup's protocol (Piskvork's): a brain that tournament managers start. One line in, at most one answer.

https://plastovicka.github.io/protocl2en.htm. Stones are `x,y` from the top left corner, from 0. The clock of a move
starts when its line arrives. Rules that a manager asks for are compiled beside the game; until they are ready, moves
are thought about by the rules before.
"""

import dataclasses
import queue
import re
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, wait
from typing import Any

import numpy as np

import jaxgo
from jaxgo.core.errors import UsageError
from jaxgo.frontends import board as boards
from jaxgo.frontends.board import Board
from jaxgo.frontends.clock import freeze_garbage
from jaxgo.frontends.compiled import make_room
from jaxgo.frontends.gomocup_clock import MatchClock
from jaxgo.frontends.gomocup_opening import Opener, answer_swap2
from jaxgo.frontends.lines import LONGEST, tell_player
from jaxgo.frontends.session import Session
from jaxgo.frontends.thinking import Thought
from jaxgo.games.gomoku.rules import GOMOCUP, Gomoku
from jaxgo.players import load_player
from jaxgo.search.think import Limit

Write = Callable[[str], None]
ROOM_BYTES = 2**24  # of a tree: a large one takes too long to be cut after a move of 100 ms
CONTINUOUS = 2  # the bit of a rule that only says that games follow each other
POINT = re.compile(r"\s*(\d{1,4})\s*,\s*(\d{1,4})\s*")
STONE = re.compile(r"\s*(\d{1,4})\s*,\s*(\d{1,4})\s*,\s*([123])\s*")
LISTS = ("BOARD", "YXBOARD", "SWAP2BOARD")  # lines follow, up to DONE
PARTINGS = ("START", "RECTSTART", "RESTART", "END")  # leave a game, and a list that is not done


class Gomocup(Opener):
    """The brain: its session, its clock, and the list of stones that is being read."""

    def __init__(self, game: Gomoku, player: str, write: Write) -> None:
        if game.num_actions != game.points:
            raise UsageError("managers of Gomocup handle openings themselves; leave the option opening out")
        self.game, self.player, self._write = game, player, write
        self.session: Session | None = None
        self.clock = MatchClock()
        self.over = False
        self._coming: Future[Session] | None = None  # by the rules that were asked for
        self._list: tuple[str, list[str]] | None = None
        self._arrived = 0.0  # when the line came
        self._planned = 0.0  # seconds from then

    # -- lines -------------------------------------------------------------------------------------------------
    def run(self, lines: Iterable[str]) -> None:
        """Answers until the lines end, or END."""
        came: queue.SimpleQueue[tuple[float, str] | None] = queue.SimpleQueue()

        def listen() -> None:
            for text in lines:
                if text.strip().upper() == "END" and self.session is not None:
                    self.session.stop()
                came.put((time.monotonic(), text))
            came.put(None)

        threading.Thread(target=listen, name="lines", daemon=True).start()
        while not self.over and (line := came.get()) is not None:
            self.take(line[1], line[0])
        self._prepare(None)
        if self.session is not None:
            self.session.close(timeout=0.5)

    def take(self, text: str, arrived: float | None = None) -> None:
        """Does what a line says; whatever it holds, the brain goes on."""
        self._arrived = time.monotonic() if arrived is None else arrived
        try:
            self._take(text.strip()[:LONGEST])
        except UsageError as error:
            self.say(f"ERROR {' '.join(str(error).split())}")
        except BrokenPipeError:  # nobody reads any more
            raise
        except Exception as error:  # a fault of ours must not end the game
            self.say(f"ERROR internal: {type(error).__name__}: {' '.join(str(error).split())[:200]}")

    def say(self, text: str) -> None:
        self._write(text + "\n")

    def _take(self, text: str) -> None:
        word, _, rest = text.partition(" ")
        if word.upper() in PARTINGS:
            self._list = None
        if self._list is not None:
            self._listed(text)
            return
        command = COMMANDS.get(word.upper())
        if command is not None:
            command(self, rest.strip())
        elif word:
            self.say(f"UNKNOWN command {word[:40]!r}")

    def _listed(self, text: str) -> None:
        """One more line of a list, or its end."""
        name, rows = self._list or ("", [])
        if text.upper() != "DONE":
            if text and len(rows) <= 2 * self.game.points:
                rows.append(text)
            return
        self._list = None
        if name == "SWAP2BOARD":
            self.say(answer_swap2(self, [self.point(row) for row in rows]))
            return
        board = self._drawn(rows, asked=name == "BOARD")
        if name == "YXBOARD":
            self._put(board)
        else:
            self.answer(board)

    # -- the board ---------------------------------------------------------------------------------------------
    @property
    def table(self) -> Session:
        if self.session is None:
            raise UsageError("there is no board yet; send START")
        return self.session

    def start(self, game: Gomoku) -> None:
        """A fresh board, compiled before the answer, so that no clock counts it."""
        load_player(self.player, game)
        if self.session is not None and self.session.game == game:
            self.session.new_game()
        else:
            fresh = open_table(game, self.player)
            if self.session is not None:
                self.session.close(timeout=0.0)
            self.session = fresh
            freeze_garbage()
        self._prepare(None)
        self.game = game
        self.clock.new_game()

    def set_rules(self, number: int) -> None:
        """The rules by Gomocup's bits; other ones than before are compiled in the background."""
        known = {bits: name for name, bits in GOMOCUP.items()}
        name = known.get(number & ~CONTINUOUS)
        if name is None:
            raise UsageError(f"rule {number} is not known; rules are {', '.join(map(str, sorted(known)))}")
        game = dataclasses.replace(self.game, rules=name)
        if game == self.game:
            return
        load_player(self.player, game)
        self.game = game
        if self.session is not None:
            self._prepare(_prepared(game, self.player) if game != self.session.game else None)

    def _prepare(self, coming: Future[Session] | None) -> None:
        """What is compiled beside the game from now on; what was before, nobody wants any more."""
        if self._coming is not None:  # it is closed, now or as soon as it is open, as compiling cannot be cut
            self._coming.add_done_callback(_close)
        self._coming = coming

    def _ready(self, seconds: float) -> Future[Session] | None:
        """The session by the rules that were asked for, if it is there in time."""
        coming = self._coming
        return coming if coming is not None and wait([coming], seconds).done else None

    def settle(self, seconds: float) -> None:
        """Goes over to the rules that were asked for, if they are ready in time and know of a game with these moves
        that goes on; else the game keeps its rules, and the next one has the others."""
        coming = self._ready(seconds)
        if coming is None:
            return
        try:
            board = boards.like(self.table.board, self.game)
        except UsageError:
            return
        if not board.over:
            self._take_over(coming, board)

    def restart(self, seconds: float) -> None:
        """A fresh board, by the rules that were asked for if they are ready in time."""
        coming = self._ready(seconds)
        if coming is None or not self._take_over(coming):
            self.table.new_game()
        self.clock.new_game()

    def _take_over(self, coming: Future[Session], board: Board | None = None) -> bool:
        """Goes on with the session of a preparation, at a board or at the start; whether there is one."""
        self._coming = None
        try:
            fresh = coming.result()
        except Exception as error:  # asked for once: the session that is there can go on
            self.say(f"MESSAGE rules {self.game.rules} could not be prepared: {' '.join(str(error).split())[:200]}")
            return False
        if board is not None:
            fresh.restore(board)
        self.table.close(timeout=0.0)
        self.session = fresh
        return True

    def point(self, text: str) -> int:
        found = POINT.fullmatch(text)
        if found is None:
            raise UsageError(f"{text[:40]!r} is no point; points are x,y")
        return self._cell(int(found[1]), int(found[2]))

    def _cell(self, x: int, y: int) -> int:
        if not (x < self.game.size and y < self.game.size):
            raise UsageError(f"{x},{y} is not on this board of {self.game.size}x{self.game.size}")
        return y * self.game.size + x

    def name_of(self, action: int) -> str:
        row, column = divmod(action, self.game.size)
        return f"{column},{row}"

    def check(self, action: int) -> int:
        if action not in self.table.board.legal():
            why = "the game is over" if self.table.board.over else "it is taken, or forbidden by the rules"
            raise UsageError(f"{self.name_of(action)} cannot be played: {why}")
        return action

    def _drawn(self, rows: Sequence[str], asked: bool) -> Board:
        """The board of a list: `x,y,1` are the brain's own stones, `x,y,2` the other's, in the order of moves. It
        is the brain's turn where it is `asked` for a move."""
        own: list[int] = []
        other: list[int] = []
        for row in rows:
            found = STONE.fullmatch(row)
            if found is None:
                raise UsageError(f"{row[:40]!r} is no stone; stones are x,y,1 or x,y,2")
            if found[3] == "3":
                raise UsageError("x,y,3 is a point of a continuous game, and those are not played here")
            (own if found[3] == "1" else other).append(self._cell(int(found[1]), int(found[2])))
        if len(other) - len(own) not in ((0, 1) if asked else (-1, 0, 1)):
            raise UsageError(f"{len(own)} own stones and {len(other)} others: it is not the brain's turn")
        if len(set(own + other)) < len(own) + len(other):
            raise UsageError("two stones stand on one point")
        black, white = (own, other) if len(own) >= len(other) else (other, own)
        if not asked and len(own) == len(other) and own and rows[0].strip()[-1] == "2":
            black, white = other, own  # it may be anybody's turn: who began comes first
        line = [stone for pair in zip(black, white, strict=False) for stone in pair] + black[len(white) :]
        try:
            return self.played(line)
        except UsageError:
            game: Any = self.table.game
            if game.rules == "renju":  # by which the order is that of the game
                raise
        # managers may list stones in any order, in which a line may be complete sooner than in that of the game
        cells = np.zeros(game.points, np.int8)
        cells[black], cells[white] = 1, 2
        return boards.placed(game, cells, len(line) % 2)

    def played(self, line: Sequence[int]) -> Board:
        """The board after these moves; it begins with what is on the table, as far as that is the same."""
        board = self.table.board
        if board.views[0].cells.any():  # it began with stones that were listed in another order than that of a game
            board = boards.begin(board.game)
        same = 0
        while same < min(len(line), len(board.actions)) and line[same] == board.actions[same]:
            same += 1
        board = board.undo(len(board.actions) - same)
        for action in line[same:]:
            if action not in board.legal():
                raise UsageError(
                    f"{self.name_of(action)} cannot have been played: the game was over, or it is forbidden"
                )
            board = board.play(action)
        return board

    def _put(self, board: Board) -> None:
        if board.over:
            raise UsageError("the game is over; send RESTART")
        self.restore(board)

    def restore(self, board: Board) -> None:
        """Puts a board on the table, by the rules that are played there now."""
        table = self.table
        table.restore(board if board.game == table.game else boards.like(board, table.game))

    # -- moves -------------------------------------------------------------------------------------------------
    def think(self, share: float = 1.0) -> Thought:
        """A thought within the time of a move, or a share of it."""
        seconds = self._planned = share * self.clock.budget(len(self.table.board.actions), self.game.points)
        self.settle(max(0.0, seconds - (time.monotonic() - self._arrived)) / 2 if self._coming else 0.0)
        left = seconds - (time.monotonic() - self._arrived)
        table = self.table
        budget = max(1, table.player_of(table.board.now.seat).search.budget)
        limit = Limit(simulations=budget, seconds=left) if left > 0.005 else Limit(simulations=1)
        thought: Thought = table.think(limit, detail=False).result()
        return thought

    def answer(self, board: Board) -> None:
        """Moves on a board; what is refused leaves the one that is there."""
        before = self.table.board
        self._put(board)
        try:
            self.move()
        except UsageError:
            self.restore(before)
            raise

    def move(self) -> None:
        """Thinks, plays and tells."""
        action = self.think().action
        self.table.play(action)
        self.say(self.name_of(action))
        self.clock.spend(time.monotonic() - self._arrived, self._planned)


def _prepared(game: Gomoku, player: str) -> Future[Session]:
    """A session that another thread opens and compiles."""
    coming: Future[Session] = Future()

    def work() -> None:
        try:
            coming.set_result(open_table(game, player))
        except BaseException as error:  # told to whoever asks for the session
            coming.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    return coming


def _close(coming: Future[Session]) -> None:
    if coming.exception() is None:
        coming.result().close(timeout=0.0)


def open_table(game: Gomoku, player: str) -> Session:
    """A session with the player on both seats, compiled."""
    make_room()
    session = Session(game, "gomoku", room_bytes=ROOM_BYTES)
    try:
        for seat in range(2):
            session.set_player(seat, player)
        session.warm_up().result()
        if game.rules != "renju":  # whose lists are in the order of moves
            _warm_lists(game)
        tell_player(session.player_of(0))
    except BaseException:
        session.close(timeout=0.0)
        raise
    return session


def _warm_lists(game: Gomoku) -> None:
    """Compiles how stones are put on the board that are listed in another order than that of a game."""
    for count in (1, 5):  # a line that stands there is looked at by a program of its own
        cells = np.zeros(game.points, np.int8)
        cells[:count] = 1
        boards.placed(game, cells, 1)


# -- commands ----------------------------------------------------------------------------------------------------------
def _start(brain: Gomocup, text: str) -> None:
    if not re.fullmatch(r"\d{1,4}", text) or not 5 <= int(text) <= 20:
        raise UsageError("unsupported size; boards have 5 to 20 points a side")
    brain.start(dataclasses.replace(brain.game, size=int(text)))
    brain.say("OK")


def _rectstart(brain: Gomocup, text: str) -> None:
    found = POINT.fullmatch(text)
    if found is None or found[1] != found[2]:
        raise UsageError("rectangular boards are not supported")
    _start(brain, found[1])


def _restart(brain: Gomocup, text: str) -> None:
    brain.restart(60.0)
    brain.say("OK")


def _begin(brain: Gomocup, text: str) -> None:
    if brain.table.board.actions:
        raise UsageError("the board is not empty; send RESTART")
    brain.move()


def _turn(brain: Gomocup, text: str) -> None:
    brain.answer(brain.table.board.play(brain.check(brain.point(text))))


def _play(brain: Gomocup, text: str) -> None:
    action = brain.check(brain.point(text))
    brain.table.play(action)
    brain.say(brain.name_of(action))


def _takeback(brain: Gomocup, text: str) -> None:
    action, board = brain.point(text), brain.table.board
    if not board.actions or board.actions[-1] != action:
        raise UsageError("only the last stone can be taken back")
    brain.table.undo()
    brain.say("OK")


def _list(name: str) -> Callable[[Gomocup, str], None]:
    def begin(brain: Gomocup, text: str) -> None:
        brain._list = (name, []) if brain.table else None

    return begin


def _info(brain: Gomocup, text: str) -> None:
    """Keys that are not known are passed over, as the protocol wants it."""
    key, _, value = text.partition(" ")
    if key.lower() == "rule":
        if not re.fullmatch(r"\d{1,4}", value.strip()):
            raise UsageError("a rule is a number")
        brain.set_rules(int(value))
    elif key.lower() in ("timeout_turn", "timeout_match", "time_left"):
        if not re.fullmatch(r"-?\d{1,12}", value.strip()):
            raise UsageError(f"{key.lower()} is a number of milliseconds")
        brain.clock.told(key.lower(), max(0, int(value)) / 1000)


def _about(brain: Gomocup, text: str) -> None:
    brain.say(f'name="jaxgo", version="{jaxgo.__version__}", author="the authors of jaxgo", country=""')


def _end(brain: Gomocup, text: str) -> None:
    brain.over = True


COMMANDS: dict[str, Callable[[Gomocup, str], None]] = {
    "START": _start,
    "RECTSTART": _rectstart,
    "RESTART": _restart,
    "BEGIN": _begin,
    "TURN": _turn,
    "PLAY": _play,
    "TAKEBACK": _takeback,
    **{name: _list(name) for name in LISTS},
    "INFO": _info,
    "ABOUT": _about,
    "END": _end,
}
