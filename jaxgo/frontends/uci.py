"""UCI, the protocol of chess programs: an engine that GUIs and referees start.

https://www.wbec-ridderkerk.nl/html/UCIProtocol.html. Lines are read in the caller's thread and searches run in that of
the session, so that `stop`, `isready` and `quit` are heard while one of them goes on. One tree is for both sides: it is
kept while the position only goes on by moves, in games as in analyses.
"""

import dataclasses
import functools
import itertools
import math
import re
import threading
import time
from collections.abc import Callable, Iterable, Sequence

import jaxgo
from jaxgo.core import play
from jaxgo.core.errors import UsageError
from jaxgo.evaluators.base import MOST
from jaxgo.frontends import board as boards
from jaxgo.frontends.board import Board
from jaxgo.frontends.clock import fischer, freeze_garbage
from jaxgo.frontends.compiled import make_room
from jaxgo.frontends.gomocup_clock import MatchClock
from jaxgo.frontends.lines import LONGEST, Teller
from jaxgo.frontends.session import Session
from jaxgo.frontends.several import Several, lines
from jaxgo.frontends.thinking import Thinking, Thought
from jaxgo.games.chess.rules import BOARDS, USUAL_VARIANT, Chess
from jaxgo.players import Player, load_player
from jaxgo.search.think import Limit

Write = Callable[[str], None]
NUMBERS = ("wtime", "btime", "winc", "binc", "movestogo", "movetime", "nodes", "depth", "mate")  # that `go` tells
WORDS = (*NUMBERS, "infinite", "ponder", "searchmoves")  # of `go`
NOBODY = "bestmove 0000"  # no move, as UCI writes it
LEAST = 0.02  # seconds in which more than one simulation can be made
FEW, MANY = 20, 40  # moves that a game of chess may still have
STARTPOS = "startpos"
MOST_LINES = 256


@dataclasses.dataclass
class Going:
    """What `go` asked for, until it is answered."""

    told: dict[str, int]
    held: bool  # it is answered when `stop` or `ponderhit` has come, not before
    ponders: bool
    began: float
    moves: Sequence[str] = ()  # the only ones to look at; none: all
    lines: int = 1  # that are told
    planned: float | None = None  # seconds, by a limit for the move
    thinking: Thinking | None = None
    answer: str | None = None  # that is held
    dropped: bool = False  # another search goes on with its tree, and answers


class Uci:
    """The engine: its session, who plays, and what it was asked for."""

    def __init__(self, game: Chess, name: str, player: str, write: Write) -> None:
        self.game, self.name, self.asked = game, name, player
        self.player: Player = load_player(player, game)
        self.over = False
        self._write, self._writing = write, threading.Lock()
        self._lock = threading.Lock()  # of `_going`
        self._going: Going | None = None
        self._session: Session | None = None
        self._seated: Player | None = None  # who is compiled, or about to be
        self._line: tuple[str, list[str]] | None = (STARTPOS, [])  # what is on the board; None: what was refused
        self._turn = MatchClock()
        self._tell = Teller()
        self.lines = 1  # that the next `go` tells
        self._several = Several(self._only)

    # -- lines -------------------------------------------------------------------------------------------------
    def run(self, lines: Iterable[str]) -> None:
        """Answers until `quit`, or until the lines end and what has an end of its own is answered."""
        for text in lines:
            self.take(text)
            if self.over:
                break
        if self._session is not None:
            if not self.over:
                self.stop(held_only=True)
                self._session.warm_up().result()  # it comes behind all others
            self._session.close(timeout=0.5)

    def take(self, text: str) -> None:
        """Does what a line says; whatever it holds, the engine goes on. Words that nobody knows are passed over."""
        words = text[:LONGEST].split()
        while words and words[0] not in COMMANDS:
            del words[0]
        if not words:
            return
        try:
            COMMANDS[words[0]](self, words[1:])
        except UsageError as error:
            self.note(str(error))
        except BrokenPipeError:  # nobody reads any more
            raise
        except Exception as error:  # a fault of ours must not end the game
            self.note(f"internal error: {type(error).__name__}: {error}")

    def say(self, *lines: str) -> None:
        with self._writing:
            self._write("".join(f"{line}\n" for line in lines))

    def note(self, text: str) -> None:
        self.say(_note(text))

    # -- the board ---------------------------------------------------------------------------------------------
    @property
    def session(self) -> Session:
        """The rules are compiled when a board is needed first: GUIs wait for `uciok` a short time only."""
        if self._session is None:
            self._session = Session(self.game, self.name)
            self._begun(self.game.to_fen(self._session.board.now.position.state))  # compiles how a FEN is read
        return self._session

    def new_game(self) -> None:
        self.session.new_game()
        self._line = STARTPOS, []

    def put(self, start: str, moves: Sequence[str]) -> None:
        """A position by where it began, `startpos` or `fen` and a FEN, and its moves. Where it goes on from the one on
        the board, that one is kept."""
        known, self._line = self._line, None
        session = self.session
        if known is not None and known[0] == start and known[1] == moves[: len(known[1])]:
            board, more = session.board, moves[len(known[1]) :]
        else:
            board, more = self._started(start), moves
        for move in more:
            board = self._alive(board)
            board = board.play(board.read(move))
        board = self._alive(board)
        if board is not session.board:
            session.restore(board)
        self._line = start, [*moves]

    def _started(self, start: str) -> Board:
        kind, _, fen = start.partition(" ")
        if kind not in (STARTPOS, "fen"):
            raise UsageError("a position is startpos or fen, and moves")
        return boards.begin(self.game) if kind == STARTPOS else self._begun(fen)

    def _begun(self, fen: str) -> Board:
        return boards.begin(self.game, play.put(self.game, self.game.from_fen(fen)))

    def _alive(self, board: Board) -> Board:
        """The board, or where it is drawn by what has been and a GUI may go on, the same men without their past."""
        if not board.over:
            return board
        men = self.game.to_fen(board.now.position.state).split()[:4]
        fresh = self._begun(" ".join(men))
        return board if fresh.over else fresh

    # -- searches ----------------------------------------------------------------------------------------------
    def seat(self) -> None:
        """The player that was asked for last is the one that thinks; it is compiled in the session's thread."""
        if self._seated is not self.player:
            make_room()
            self._seated = self.player
            warming = self.session.set_adviser(self.player)
            warming.future.add_done_callback(lambda _: freeze_garbage())
            self._tell(self.player)

    def ready(self) -> None:
        """`readyok` when all is compiled; at once where a search goes on."""
        with self._lock:
            busy = self._going is not None and self._going.thinking is not None
        if busy:
            self.say("readyok")
            return
        self.seat()

        def told(thinking: Thinking) -> None:
            fault = thinking.future.exception()
            self.say(*([] if fault is None else [_fault(fault)]), "readyok")

        warming = self.session.warm_up()
        warming.future.add_done_callback(lambda _: told(warming))

    def go(self, told: dict[str, int], held: bool, ponders: bool, moves: Sequence[str] = ()) -> None:
        """Thinks of the position on the board; `bestmove` comes whatever happens."""
        self.stop()
        self.seat()
        going = Going(told, held, ponders, time.monotonic(), moves, self.lines)
        with self._lock:
            self._going = going
        if self._line is None:
            self.note("the last position was refused; send one to think about")
            self._answer(going, NOBODY)
        elif self.session.board.over:
            self.note("the game is over")
            self._answer(going, NOBODY)
        else:
            try:
                going.thinking = self._begin(going)
            except Exception:
                self._answer(going, NOBODY)
                raise

    def _begin(self, going: Going) -> Thinking:
        session, board = self.session, self._narrowed(going.moves)
        tell = functools.partial(self._told, going, board)
        answered = functools.partial(self._answered, going, board)
        how = functools.partial(self._several.think, going.lines)
        limit = None if going.held else self._limit(going)
        if limit is None:
            return session.analyse(None, tell, answered, board=board, how=how)
        return session.think(limit, None, tell, answered, board=board, how=how)

    def _narrowed(self, moves: Sequence[str]) -> Board:
        """The board, with these moves alone; those that are not legal are told, and where none is left, all are."""
        board = self.session.board
        actions, strange = list[int](), list[str]()
        for move in moves:
            try:
                actions.append(board.read(move))
            except UsageError:
                strange.append(move)
        if strange:
            self.note(f"not legal here, and so not searched: {' '.join(strange)}")
        return self._only(board, actions) if actions else board

    def _only(self, board: Board, actions: Sequence[int]) -> Board:
        state, history = board.now.position
        view = play.look(self.game, play.Position(self.game.only(state, actions), history))
        return dataclasses.replace(board, views=(*board.views[:-1], view))

    def _limit(self, going: Going) -> Limit | None:
        """The clock's time, or that of the move, and never more than the player itself would take, or `nodes`.

        None: until it is as deep as it was told.
        """
        told, board = going.told, self.session.board
        count = min(told.get("nodes", 0), MOST) or max(1, self.player.search.budget)
        side, seconds = "wb"[board.now.seat], math.inf
        if f"{side}time" in told:
            left, more = (told.get(f"{side}{word}", 0) / 1000 for word in ("time", "inc"))
            moves = max(FEW, MANY - len(board.actions) // 2)
            seconds = fischer(left, more, told.get("movestogo", 0), moves)
        if "movetime" in told:
            self._turn.told("timeout_turn", told["movetime"] / 1000)
            going.planned = self._turn.budget(0, self.game.shape[0] * self.game.shape[1])
            seconds = min(seconds, going.planned)
        if seconds == math.inf:
            deep = told.get("depth") and not told.get("nodes")
            return None if deep else Limit(simulations=count)
        return Limit(simulations=count, seconds=seconds) if seconds >= LEAST else Limit(simulations=1)

    def stop(self, held_only: bool = False) -> None:
        """Ends the search; its answer comes, or has come and may be told now."""
        with self._lock:
            going = self._going
            if going is None or (held_only and not going.held):
                return
            going.held = False
            answer, going.answer = going.answer, None
        if answer is not None:
            self._answer(going, answer)
        elif going.thinking is not None:
            going.thinking.stop()

    def ponderhit(self) -> None:
        """The move that was expected has come: from now on the clock counts, and the tree goes on."""
        with self._lock:
            going = self._going
            if going is None or not going.ponders:
                return
            going.dropped = going.answer is None
        if not going.dropped:
            self.stop()
            return
        self.go(going.told, held=False, ponders=False, moves=going.moves)

    def _told(self, going: Going, board: Board, thought: Thought) -> None:
        if thought.simulations or thought.depth or thought.solved:  # else nobody knows what it is worth
            self.say(*info(board, thought, going.lines))
        if going.thinking is not None and not going.held and _enough(going.told, board, thought):
            going.thinking.stop()

    def _answered(self, going: Going, board: Board, thinking: Thinking) -> None:
        """A search is over; in the session's thread."""
        fault = thinking.future.exception()
        if fault is not None:
            self._answer(going, f"{_fault(fault)}\n{NOBODY}")
            return
        if going.planned is not None:  # what had to be compiled first will not be so again
            self._turn.spend(time.monotonic() - max(going.began, thinking.began), going.planned)
        thought: Thought = thinking.result()
        expected = f" ponder {thought.variation[1]}" if len(thought.variation) > 1 else ""
        self._told(going, board, thought)
        self._answer(going, f"bestmove {thought.name}{expected}")

    def _answer(self, going: Going, answer: str) -> None:
        with self._lock:
            if going.dropped:
                return
            if going.held:
                going.answer = answer
                return
            if self._going is going:
                self._going = None
        self.say(answer)


# -- what it says ------------------------------------------------------------------------------------------------------
def depth(thought: Thought) -> int:
    """Of a search that deepens; else the length of the line."""
    return len(thought.variation) if thought.depth is None else thought.depth


def info(board: Board, thought: Thought, count: int = 1) -> list[str]:
    """What a thought comes to, by so many lines; they are numbered where more than one is asked for."""
    seconds, nodes = max(thought.seconds, 1e-3), thought.simulations
    spent = f"nodes {nodes} nps {round(nodes / seconds)} time {round(1000 * thought.seconds)}"
    return [
        f"info depth {max(1, depth(line))} {f'multipv {number} ' if count > 1 else ''}score {score(board, line)} "
        f"{spent} pv {' '.join(line.variation)}"
        for number, line in enumerate(lines(thought, count), 1)
    ]


def score(board: Board, thought: Thought) -> str:
    """`mate` in so many moves where that is proven; else hundredths of a pawn."""
    moves = mate(board, thought)
    return f"mate {moves if thought.value > 0 else -moves}" if moves else f"cp {centipawns(thought.value)}"


def mate(board: Board, thought: Thought) -> int:
    """In so many moves somebody is mated, whatever the other side does; 0: nobody knows.

    What the search proves says so, or a line that goes to the end: of a proof, or of one move.
    """
    if abs(thought.value) < 1 or not (thought.solved or len(thought.variation) == 1):
        return 0
    if thought.ends:
        return (thought.ends + 1) // 2
    for name in thought.variation:
        board = board.play(board.read(name))
    return (len(thought.variation) + 1) // 2 if board.over and any(board.now.returns) else 0


def _enough(told: dict[str, int], board: Board, thought: Thought) -> bool:
    """Whether a search has come to what `go` asked for; a line that is solved goes no deeper."""
    wanted, open_lines = told.get("depth", 0), (line for line in (thought, *thought.others) if not line.solved)
    deep = 0 < wanted <= min(map(depth, open_lines), default=wanted)
    return deep or (thought.value > 0 and 0 < mate(board, thought) <= told.get("mate", 0))


def centipawns(value: float) -> int:
    """The usual word for a chance, as lc0 has had it."""
    return round(111.7 * math.tan(1.562 * max(-1.0, min(1.0, value))))


def _note(text: str) -> str:
    return f"info string {' '.join(text.split())[:400]}"


def _fault(fault: BaseException) -> str:
    return _note(str(fault) if isinstance(fault, UsageError) else f"internal error: {type(fault).__name__}: {fault}")


# -- commands ----------------------------------------------------------------------------------------------------------
def _uci(engine: Uci, words: Sequence[str]) -> None:
    variant = BOARDS[engine.game.board].variant
    engine.say(
        f"id name jaxgo {jaxgo.__version__}",
        "id author the authors of jaxgo",
        f"option name Agent type string default {engine.asked}",
        f"option name MultiPV type spin default 1 min 1 max {MOST_LINES}",
        "option name Ponder type check default false",
        *([] if variant == USUAL_VARIANT else [f"option name UCI_Variant type combo default {variant} var {variant}"]),
        "uciok",
    )


def _isready(engine: Uci, words: Sequence[str]) -> None:
    engine.ready()


def _ucinewgame(engine: Uci, words: Sequence[str]) -> None:
    engine.new_game()


def _position(engine: Uci, words: Sequence[str]) -> None:
    """`startpos` or `fen FEN`, and `moves`."""
    cut = words.index("moves") if "moves" in words else len(words)
    engine.put(" ".join(words[:cut]), words[cut + 1 :])


def _go(engine: Uci, words: Sequence[str]) -> None:
    at = words.index("searchmoves") + 1 if "searchmoves" in words else len(words)
    moves = list(itertools.takewhile(lambda word: word not in WORDS, words[at:]))
    pairs = itertools.pairwise(words)
    told = {key: max(0, int(value)) for key, value in pairs if key in NUMBERS and re.fullmatch(r"-?\d{1,10}", value)}
    engine.go(told, held="infinite" in words or "ponder" in words, ponders="ponder" in words, moves=moves)


def _stop(engine: Uci, words: Sequence[str]) -> None:
    engine.stop()


def _ponderhit(engine: Uci, words: Sequence[str]) -> None:
    engine.ponderhit()


def _setoption(engine: Uci, words: Sequence[str]) -> None:
    """`name Agent value SPEC`, or `name MultiPV value COUNT`. That somebody may ponder changes nothing."""
    found = re.fullmatch(r"name (.+?)(?: value (.*))?", " ".join(words))
    name, value = (found[1].lower(), found[2] or "") if found is not None else ("", "")
    if name == "agent" and value:
        player = load_player(value, engine.game)
        if player.name != engine.player.name:
            engine.player = player
    elif name == "multipv":
        if not re.fullmatch(r"\d{1,9}", value) or not 1 <= int(value) <= MOST_LINES:
            raise UsageError(f"MultiPV is a number of lines from 1 to {MOST_LINES}, and {value[:40]!r} is none")
        engine.lines = int(value)


def _quit(engine: Uci, words: Sequence[str]) -> None:
    engine.over = True


COMMANDS: dict[str, Callable[[Uci, Sequence[str]], None]] = {
    "uci": _uci,
    "isready": _isready,
    "ucinewgame": _ucinewgame,
    "position": _position,
    "go": _go,
    "stop": _stop,
    "ponderhit": _ponderhit,
    "setoption": _setoption,
    "quit": _quit,
}
