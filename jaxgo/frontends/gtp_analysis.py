"""Searches over GTP: moves that are asked for, and analyses that tell what they see until the next line comes."""

import dataclasses
import time
from collections.abc import Callable, Sequence

from jaxgo.core.errors import UsageError
from jaxgo.frontends import board as boards
from jaxgo.frontends.gtp_engine import GtpEngine
from jaxgo.frontends.gtp_text import COLOURS, Line, read_number, read_seat
from jaxgo.frontends.outlook import Outlook, foresee
from jaxgo.frontends.thinking import OnSnapshot, Thought
from jaxgo.games.go.rules import Go
from jaxgo.games.gtp_moves import move_name
from jaxgo.search.analysis import Move
from jaxgo.ui import heat

INTERVAL = 50  # hundredths of a second between lines
OPTIONS = ("interval", "maxmoves", "ownership")  # of an analysis
PASSED_OVER = (  # KataGo's; nothing here answers to them
    "minmoves",
    "rootInfo",
    "pvVisits",
    "pvEdgeVisits",
    "ownershipStdev",
    "movesOwnership",
    "movesOwnershipStdev",
    "noResultValue",
)
SHOWN = 20  # moves of a table


@dataclasses.dataclass(frozen=True)
class Wish:
    """What an analysis was asked for."""

    seat: int
    interval: float  # seconds
    most: int  # moves that are told of
    outlook: Outlook  # for the points, where they are told, too


def generate(
    engine: GtpEngine, seat: int, plays: bool, show: OnSnapshot | None = None, began: float | None = None
) -> str:
    """The move of a seat; `plays` it, or leaves the board as it is. Its clock runs since it `began`, or since now."""
    began = time.monotonic() if began is None else began
    session = engine.session
    if session.board.now.over:
        if not isinstance(engine.game, Go):
            raise UsageError("the game is over")
        if plays:
            engine.beyond.append(session.board.now)
        return "pass"
    before = session.board
    engine.take_turn(seat)
    try:
        thinking = session.think(engine.limit(seat), seat, show, detail=show is not None)
        thought = engine.searching(thinking).result()
    except BaseException:
        session.restore(before)  # the turn that was taken, too
        raise
    if not plays:
        session.restore(before)
        return move_name(engine.game, thought.action)
    engine.clocks[seat].spend(time.monotonic() - began)
    engine.own = seat
    engine.played.add(seat)
    if engine.resign and thought.value < -engine.resign and engine.game.players == 2:
        session.restore(before.undo(0))  # a turn that was taken is given back, an earlier `resign` is not
        session.resign(seat)
        return "resign"
    session.play(thought.action)
    return move_name(engine.game, thought.action)


# -- streams ---------------------------------------------------------------------------------------------------------
def _wish(engine: GtpEngine, words: Sequence[str]) -> Wish:
    """`[color] [interval] [option value ...]`; those of `PASSED_OVER` only say what else to tell."""
    rest, seat = list(words), engine.session.board.now.seat
    if rest and rest[0].lower() in COLOURS:
        seat = read_seat(rest.pop(0), engine.game)
    interval, most, points = INTERVAL, 1000, False
    if rest and rest[0].isdecimal():
        interval = read_number(rest.pop(0), "an interval", 0, 10**6)
    while rest:
        option, *rest = rest
        if option not in (*OPTIONS, *PASSED_OVER) or not rest:
            raise UsageError(f"unknown option {option[:40]!r}, or one without its value")
        value, *rest = rest
        if option == "interval":
            interval = read_number(value, "an interval", 0, 10**6)
        elif option == "maxmoves":
            most = read_number(value, "a number of moves", 1, 10**6)
        elif option == "ownership":
            points = value.lower() == "true"
    outlook = Outlook()
    if points:
        session = engine.session
        outlook = foresee(boards.take_turn(session.board, seat), session.player_of(seat))
    return Wish(seat, interval / 100, most, outlook)


def _teller(engine: GtpEngine, wish: Wish, style: Callable[..., str], write: Callable[[str], None]) -> OnSnapshot:
    """Writes a line for a snapshot, as often as was wished."""
    due = 0.0

    def tell(thought: Thought) -> None:
        nonlocal due
        now = time.monotonic()
        if now >= due:
            due = now + wish.interval
            write(_told(engine, thought, wish, style) + "\n")

    return tell


def _told(engine: GtpEngine, thought: Thought, wish: Wish, style: Callable[..., str]) -> str:
    seen = [move for move in thought.moves if move.visits or move.best][: wish.most]
    told = [style(engine, wish, order, move) for order, move in enumerate(seen)]
    if wish.outlook.owned:
        sign = 1 - 2 * wish.seat  # from Black's points to those of who is to move
        told.append(" ".join(["ownership", *(f"{sign * value:.4f}" for value in wish.outlook.owned)]))
    return " ".join(told)


def _line(engine: GtpEngine, move: Move) -> str:
    game = engine.game
    return " ".join(move_name(game, game.parse_action(name)) for name in move.variation)


def _lz(engine: GtpEngine, wish: Wish, order: int, move: Move) -> str:
    rate, prior = round(5000 * (move.value + 1)), round(10000 * (move.prior or 0.0))
    name = move_name(engine.game, move.action)
    return f"info move {name} visits {move.visits} winrate {rate} prior {prior} order {order} pv {_line(engine, move)}"


def _kata(engine: GtpEngine, wish: Wish, order: int, move: Move) -> str:
    rate, name = (move.value + 1) / 2, move_name(engine.game, move.action)
    points = ""
    if wish.outlook.owned:  # else nobody knows, and 0 would be a lie
        lead, spread = wish.outlook.lead(move.value, wish.seat, move.action), wish.outlook.spread
        points = f"scoreMean {lead:.3f} scoreStdev {spread:.3f} scoreLead {lead:.3f} scoreSelfplay {lead:.3f} "
    return (
        f"info move {name} visits {move.visits} utility {move.value:.6f} winrate {rate:.6f} {points}"
        f"prior {move.prior or 0.0:.6f} lcb {rate:.6f} utilityLcb {move.value:.6f} "
        f"order {order} pv {_line(engine, move)}"
    )


def _analyze(style: Callable[..., str]) -> Callable[[GtpEngine, Line], str | None]:
    """Searches until the next line, telling what it sees."""

    def analyze(engine: GtpEngine, line: Line) -> str | None:
        wish, session = _wish(engine, line.words), engine.session
        before = session.board
        if before.now.over:
            raise UsageError("the game is over")
        engine.take_turn(wish.seat)
        tell = _teller(engine, wish, style, engine.write)
        engine.write(f"={line.number}\n")
        thinking = engine.searching(session.analyse(None, tell))
        try:
            engine.wait_for_line(thinking)
        finally:
            thinking.stop()
            if thinking.future.exception() is None:
                engine.write(_told(engine, thinking.result(), wish, style) + "\n")
            engine.write("\n")
            if session.board is not before:
                session.restore(before)
        return None

    return analyze


def _generate(style: Callable[..., str], plays: bool) -> Callable[[GtpEngine, Line], str | None]:
    """Searches for a move, telling what it sees, and says `play MOVE` at the end."""

    def search(engine: GtpEngine, line: Line) -> str | None:
        began = time.monotonic()
        wish = _wish(engine, line.words)
        told: list[str] = []
        header = f"={line.number}\n"

        def tell(text: str) -> None:
            engine.write((header if not told else "") + text)
            told.append(text)

        try:
            move = generate(engine, wish.seat, plays, _teller(engine, wish, style, tell), began)
        except UsageError as error:
            if not told:
                raise
            tell(f"# {error}\n\n")  # no move: none was played
            return None
        tell(f"play {move}\n\n")
        return None

    return search


# -- for GoGui's menu ------------------------------------------------------------------------------------------------
def _searched(engine: GtpEngine) -> Thought:
    thought: Thought = engine.searching(engine.session.think()).result()
    return thought


def moves(engine: GtpEngine, line: Line) -> str:
    """The table of a search: move, visits, value, line."""
    rows = []
    for move in _searched(engine).moves[:SHOWN]:
        rows.append(f"{move_name(engine.game, move.action)} {move.visits} {move.value:+.3f} {_line(engine, move)}")
    return "\n".join(rows)


def visits(engine: GtpEngine, line: Line) -> str:
    """Shares of visits, cell by cell, where moves land."""
    game, state = engine.game, engine.session.board.now.position.state
    share, _ = heat.of_moves(game, state, _searched(engine).moves, "visits")
    rows = share.reshape(game.picture).tolist()
    return "\n" + "\n".join(" ".join(f"{value:.3f}" for value in row) for row in rows)


COMMANDS: dict[str, Callable[[GtpEngine, Line], str | None]] = {
    "lz-analyze": _analyze(_lz),
    "kata-analyze": _analyze(_kata),
    "lz-genmove_analyze": _generate(_lz, plays=True),
    "kata-genmove_analyze": _generate(_kata, plays=True),
    "kata-search_analyze": _generate(_kata, plays=False),
    "jaxgo-moves": moves,
    "jaxgo-visits": visits,
}
