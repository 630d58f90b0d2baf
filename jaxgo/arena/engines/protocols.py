"""Engines, and two languages that they speak: GTP for Go, Gomoku, Othello and Hex, and Gomocup's (Piskvork's) for
Gomoku. The third, UCI, is that of chess: see `uci`.

An engine has one game at a time: `begin`, then `choose` when it is to move, `told` when the other seat moved, and
`verdict` at the end. Whatever it does wrong is a Fault. Moves are actions of the game; here seat 0 is Black.

GTP, version 2: https://www.lysator.liu.se/~gunnar/gtp/. Gomocup: https://plastovicka.github.io/protocl2en.htm.
"""

import abc
import dataclasses
import json
import re
import time
from collections.abc import Collection, Sequence
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Array

from jaxgo.arena.engines.process import Fault, Process, shown
from jaxgo.core import play
from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.games.go.rule_names import ONLY
from jaxgo.games.go.rules import Go
from jaxgo.games.gomoku.rules import GOMOCUP, Gomoku
from jaxgo.games.gtp_moves import move_name, read_move
from jaxgo.games.hex import Hex
from jaxgo.games.othello import Othello
from jaxgo.games.sizes import on_points, plain_gomoku

RESIGN = -1
CLEAN_UP = "kgs-genmove_cleanup"  # a move in a game that is over but for dead stones
HEXGUI = "hexgui-analyze_commands"  # engines of Hex for this window know it
STRAY = 100  # lines that are no answer and are passed over, before it is a fault
LONGEST = 1000  # lines of an answer
COLOURS = "bw"
OWN_PACE = 60.0  # seconds after which an engine that was told no time is taken for hanging
POINT = r"(-?\d{1,9})\s*,\s*(-?\d{1,9})"  # of Gomocup
TURN = 5.0  # seconds of a move that engines are told where nobody says and their language has them told
NO_LIMIT = 2**31 - 1  # milliseconds that a match may take

Settings = tuple[tuple[str, str], ...]  # of an engine, as they stand behind its command


@dataclasses.dataclass(frozen=True)
class Limits:
    """What engines are given."""

    move: float | None = None  # seconds for a move, which they are told; None: see `ProcessEngine.pace`
    start: float = 60.0  # seconds to start, and to set up a board
    grace: float = 0.5  # seconds that an answer may be late
    at_once: int = 2  # games with engines that are played side by side

    def __post_init__(self) -> None:
        move = self.start if self.move is None else self.move
        if not (0 < move < 10**6 and 0 < self.start < 10**6 and 0 <= self.grace < 10**6):
            raise UsageError("the time of an engine is a number of seconds above 0")
        if not 1 <= self.at_once <= 1000:
            raise UsageError(f"1 to 1000 games with engines can be played at once, not {self.at_once}")


class Engine(abc.ABC):
    """A running engine."""

    def draw_by(self, key: Array) -> None:  # noqa: B027  (most have nothing to draw by it)
        """The key of the next game, for players of jaxgo; other programs have luck of their own."""

    @abc.abstractmethod
    def begin(self, moves: Sequence[tuple[int, int]]) -> None:
        """Sets up a fresh game after these moves (seat, action)."""

    @abc.abstractmethod
    def told(self, seat: int, action: int) -> None:
        """A move of the other seat."""

    @abc.abstractmethod
    def choose(self, seat: int) -> int:
        """The engine's move, which it has made on its own board; RESIGN; or any action, legal or not."""

    def verdict(self) -> str:
        """Who has won and by how much as the engine sees it, such as `W+3.5`; "" where it does not say."""
        return ""

    @abc.abstractmethod
    def close(self) -> None:
        """Ends the engine politely."""

    @abc.abstractmethod
    def kill(self) -> None:
        """Ends it at once, whatever it does."""


class External(abc.ABC):
    """An engine as it is named; `open` runs it."""

    name: str  # its spec
    lucky: ClassVar[bool]  # whether an opening may become another game each time

    @abc.abstractmethod
    def fingerprint(self, limits: Limits) -> str:
        """Which player this is, beside its name."""

    @abc.abstractmethod
    def open(self, game: Game[Any], limits: Limits) -> Engine:
        """Starts it; its first `begin` waits until it is ready."""


class ProcessEngine(Engine):
    """A program of its own."""

    parting: ClassVar[str]  # the command to end
    chatter: ClassVar[tuple[str, ...]] = ()  # first words of lines that answer nothing, and are no garbage either
    refusal: ClassVar[str | None] = None  # the first word of a line that refuses a command

    def __init__(self, game: Game[Any], words: Sequence[str], limits: Limits, settings: Settings = ()) -> None:
        self.game, self.limits, self.settings = game, limits, settings
        self.process = Process(words)

    @staticmethod
    @abc.abstractmethod
    def check(game: Game[Any]) -> None:
        """A UsageError if this protocol cannot tell of such a game."""

    @staticmethod
    def pace(limits: Limits, settings: Settings) -> float | None:
        """The seconds that it is told to take for a move; None: it is told none."""
        return limits.move

    def close(self) -> None:
        self.process.close(self.parting)

    def kill(self) -> None:
        self.process.close()

    def _deadline(self, seconds: float) -> float:
        return time.monotonic() + seconds + self.limits.grace

    def _await(self, doing: str, deadline: float, wanted: re.Pattern[str]) -> re.Match[str]:
        """The first line of a form. What the engine wants to tell, and lines that are no answer, are passed over."""
        strays, line = 0, ""
        while strays < STRAY:
            line = self.process.read(deadline, doing)
            if found := wanted.fullmatch(line):
                return found
            word = line.split()[0].upper() if line else ""
            if word == self.refusal:
                raise Fault(f"it refuses {doing}: {shown(line)}")
            strays += word not in self.chatter
        raise Fault(f"garbage instead of an answer to {doing}: {shown(line)}")


class Gtp(ProcessEngine):
    """An engine of Go; of Gomoku, Othello or Hex, if it says so: in its answer to `gogui-rules_game_id`, or to
    `list_games` as engines of Quarry do, or as one that knows commands of HexGui."""

    parting = "quit"

    def __init__(self, game: Game[Any], words: Sequence[str], limits: Limits, settings: Settings = ()) -> None:
        super().__init__(game, words, limits, settings)
        self._number = 0
        self._commands: frozenset[str] | None = None  # those it knows
        self._last = RESIGN  # the move before

    @staticmethod
    def check(game: Game[Any]) -> None:
        if not on_points(game) or game.shape[0] != game.shape[1]:
            raise UsageError(
                f"engines of GTP play Go, Gomoku, Othello and Hex on square boards, not {type(game).__name__} "
                f"{game.shape[0]}x{game.shape[1]}"
            )

    def begin(self, moves: Sequence[tuple[int, int]]) -> None:
        self._meet()
        for command in ("clear_board", f"boardsize {self.game.shape[0]}", "clear_board"):
            good, text = self._ask(command, self.limits.start)
            # some engines want a size before anything else
            if not good and command != "clear_board":
                raise Fault(f"it refuses {command}: {text}")
        if isinstance(self.game, Go):
            self._must(f"komi {self.game.komi:g}")
            self._set_rules(self.game)
        if isinstance(self.game, Hex):
            self._allow_swap(self.game.swap)
        # unasked it is not told: GNU Go leaves the level that it was given when it hears of time
        if told := self._told_seconds():
            self._must(f"time_settings 0 {told} 1")
        if isinstance(self.game, Go):
            start = play.cells(self.game, play.begin(self.game).state)
            for cell in np.flatnonzero(start).tolist():  # stones of a handicap
                self.told(int(start[cell]) - 1, cell)
        for mover, action in moves:
            self.told(mover, action)

    def told(self, seat: int, action: int) -> None:
        command = f"play {COLOURS[seat]} {move_name(self.game, action)}"
        if isinstance(self.game, Othello) and action == self.game.squares:
            self._ask(command, self.limits.start)  # who must pass does; some engines do it unasked, and refuse the word
        else:
            self._must(command)
            self._made(action)

    def choose(self, seat: int) -> int:
        seconds = max(self.limits.move or OWN_PACE, float(self._told_seconds()))
        good, text = self._ask(f"genmove {COLOURS[seat]}", seconds)
        if good and text.lower() == "pass" and {"undo", CLEAN_UP} <= (self._commands or frozenset()):
            # by the rules here dead stones count as long as they stand: who can, takes them off before a pass
            self._must("undo")
            good, text = self._ask(f"{CLEAN_UP} {COLOURS[seat]}", seconds)
        if not good:
            raise Fault(f"it refuses to move: {text}")
        word = text.split()[0].lower() if text.strip() else ""
        if word == "resign":
            return RESIGN
        try:
            action = read_move(self.game, word)
        except UsageError:
            raise Fault(f"illegal move {text or '(none)'}") from None
        self._made(action)
        return action

    def verdict(self) -> str:
        if not isinstance(self.game, Go) or "final_score" not in (self._commands or ()):
            return ""
        good, text = self._ask("final_score", self.limits.start)
        return text if good else ""

    def _meet(self) -> None:
        """What it can do, asked once."""
        if self._commands is not None:
            return
        good, text = self._ask("list_commands", self.limits.start)
        commands = frozenset(text.split()) if good else frozenset()
        self._commands, wanted = commands, type(self.game).__name__
        plays = self._plays(commands)
        if wanted.lower() not in plays.lower().split():
            raise Fault(f"it plays {plays}, not {wanted}")
        if "set_game" in commands:
            self._must(f"set_game {wanted}")

    def _plays(self, commands: Collection[str]) -> str:
        """Its game, or its games in one line."""
        for command in ("gogui-rules_game_id", "list_games"):
            if command in commands:
                good, text = self._ask(command, self.limits.start)
                if good:
                    return shown(" ".join(text.split()))
        return "Hex" if HEXGUI in commands else "Go"

    def _allow_swap(self, allowed: bool) -> None:
        if "param_game" in (self._commands or ()):
            self._must(f"param_game allow_swap {int(allowed)}")

    def _made(self, action: int) -> None:
        """Engines for HexGui leave it to the window to exchange the stone of a swap: it is put anew."""
        if isinstance(self.game, Hex) and action == self.game.points and HEXGUI in (self._commands or ()):
            row, column = divmod(self._last, self.game.size)
            self._allow_swap(False)
            self._must("clear_board")
            self._must(f"play w {move_name(self.game, column * self.game.size + row)}")
        self._last = action

    def _told_seconds(self) -> int:
        """What it is told that a move may take: GTP has whole seconds, so at least 1; 0 where it is told nothing."""
        knows = "time_settings" in (self._commands or ())
        return max(1, int(self.limits.move)) if self.limits.move and knows else 0

    def _set_rules(self, game: Go) -> None:
        """KataGo can be told the rules; other engines have flags for them."""
        if "kata-set-rules" in (self._commands or ()):
            rules = {"ko": game.ko.upper(), "scoring": ONLY["scoring"], "tax": ONLY["tax"], "suicide": game.suicide}
            self._must(f"kata-set-rules {json.dumps(rules, separators=(',', ':'))}")

    def _must(self, command: str) -> None:
        good, text = self._ask(command, self.limits.start)
        if not good:
            raise Fault(f"it refuses {command}: {text}")

    def _ask(self, command: str, seconds: float) -> tuple[bool, str]:
        """Whether the command was done, and the answer. Answers carry the command's number; lines that begin
        otherwise are passed over."""
        self._number += 1
        number, deadline = str(self._number), self._deadline(seconds)
        self.process.send(f"{number} {command}")
        line = ""
        for _ in range(STRAY):
            line = self.process.read(deadline, command)
            found = re.fullmatch(rf"([=?])(?:{number}(?!\S)|(?=[A-Za-z\s]|$))\s*(.*)", line)
            if found:
                break
        else:
            raise Fault(f"garbage instead of an answer to {command}: {shown(line)}")
        lines = [found[2]]
        while line := self.process.read(deadline, command):
            lines.append(line)
            if len(lines) > LONGEST:
                raise Fault(f"an endless answer to {command}")
        text = "\n".join(lines).strip()
        return found[1] == "=", text if command.startswith("list_") else shown(text)


class Gomocup(ProcessEngine):
    """An engine (a `brain`) of Gomoku tournaments."""

    parting = "END"
    chatter = "MESSAGE", "DEBUG"
    refusal = "ERROR"

    def __init__(self, game: Game[Any], words: Sequence[str], limits: Limits, settings: Settings = ()) -> None:
        super().__init__(game, words, limits, settings)
        self._moves: list[tuple[int, int]] = []
        self._known = 0  # how many of them the engine has on its board

    @staticmethod
    def check(game: Game[Any]) -> None:
        if not plain_gomoku(game):
            raise UsageError(f"engines of Gomocup play Gomoku without opening rules, not {game}")

    @staticmethod
    def pace(limits: Limits, settings: Settings) -> float:
        return limits.move or TURN

    def begin(self, moves: Sequence[tuple[int, int]]) -> None:
        if not isinstance(self.game, Gomoku):
            raise AssertionError("not checked")
        self._moves, self._known = list(moves), 0
        start = f"START {self.game.size}"
        self.process.send(start)
        self._await(start, self._deadline(self.limits.start), re.compile(r"OK\b.*", re.IGNORECASE))
        turn = int(1000 * self.pace(self.limits, self.settings))
        about = {"timeout_turn": turn, "timeout_match": 0, "time_left": NO_LIMIT, "max_memory": 0, "game_type": 1}
        for name, value in {**about, "rule": GOMOCUP[self.game.rules]}.items():
            self.process.send(f"INFO {name} {value}")

    def told(self, seat: int, action: int) -> None:
        self._moves.append((seat, action))

    def choose(self, seat: int) -> int:
        fresh = self._moves[self._known :]
        if not self._moves:
            command = "BEGIN"
        elif self._known and len(fresh) == 1:
            command = f"TURN {self._point(fresh[0][1])}"
        else:
            stones = [f"{self._point(action)},{1 if mover == seat else 2}" for mover, action in self._moves]
            command = "\n".join(["BOARD", *stones, "DONE"])
        self.process.send(command)
        word, seconds = command.split("\n")[0], self.pace(self.limits, self.settings)
        found = self._await(word, self._deadline(seconds), re.compile(rf"(?:SUGGEST\s+)?{POINT}", re.IGNORECASE))
        if found[0][0] in "sS":  # it plays where its manager says
            self.process.send(f"PLAY {found[1]},{found[2]}")
            found = self._await("PLAY", self._deadline(seconds), re.compile(POINT))
        column, row = int(found[1]), int(found[2])
        size = self.game.shape[0]
        if not (0 <= column < size and 0 <= row < size):
            raise Fault(f"illegal move {shown(found[0])}")
        action = row * size + column
        self._moves.append((seat, action))
        self._known = len(self._moves)
        return action

    def _point(self, action: int) -> str:
        row, column = divmod(action, self.game.shape[0])
        return f"{column},{row}"
