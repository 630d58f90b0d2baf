"""What each GTP command does. A new one is a function here or in `gtp_analysis`, and a line in `COMMANDS`.

A command gets the engine and its line, and returns the answer; a UsageError is answered with `?` and changes nothing.
"""

import dataclasses
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import jaxgo
from jaxgo.core import position_text
from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.core.play import NOTHING, scores
from jaxgo.frontends import board as boards
from jaxgo.frontends import gtp_analysis as analysis
from jaxgo.frontends.go_rules import long_enough, read_rules
from jaxgo.frontends.gtp_engine import GtpEngine
from jaxgo.frontends.gtp_text import Line, read_number, read_real, read_seat
from jaxgo.games.go.board import handicap_points, label_chains, most_handicap
from jaxgo.games.go.rule_names import ONLY
from jaxgo.games.go.rules import MOST_KOMI, Go
from jaxgo.games.gomoku.rules import Gomoku
from jaxgo.games.gtp_moves import move_name, read_move
from jaxgo.games.hex import Hex
from jaxgo.games.othello import Othello
from jaxgo.games.sizes import SIZED, of_size
from jaxgo.records import formats, sgf
from jaxgo.records.record import GameRecord
from jaxgo.ui import board_view

Command = Callable[[GtpEngine, Line], str | None]


def _words(line: Line, least: int, most: int | None = None) -> tuple[str, ...]:
    if not least <= len(line.words) <= (least if most is None else most):
        raise UsageError("syntax error: wrong number of arguments")
    return line.words


def _word(line: Line) -> str:
    (word,) = _words(line, 1)
    return word


def _go(engine: GtpEngine) -> Go:
    if not isinstance(engine.game, Go):
        raise UsageError("this is not a game of Go")
    return engine.game


# -- about the engine ------------------------------------------------------------------------------------------------
def protocol_version(engine: GtpEngine, line: Line) -> str:
    return "2"


def name(engine: GtpEngine, line: Line) -> str:
    return "jaxgo"


def version(engine: GtpEngine, line: Line) -> str:
    return jaxgo.__version__


def known_command(engine: GtpEngine, line: Line) -> str:
    return "true" if line.words and line.words[0] in COMMANDS else "false"


def list_commands(engine: GtpEngine, line: Line) -> str:
    return "\n".join(sorted(COMMANDS))


def quit_(engine: GtpEngine, line: Line) -> str:
    engine.over = True
    return ""


def cputime(engine: GtpEngine, line: Line) -> str:
    return f"{time.process_time():.3f}"


# -- the board -------------------------------------------------------------------------------------------------------
def boardsize(engine: GtpEngine, line: Line) -> str:
    size = read_number(_word(line), "a size", -(10**8), 10**8)
    try:
        game = of_size(engine.game, size, size)
    except UsageError:
        raise UsageError("unacceptable size") from None
    _other_size(engine, long_enough(game, engine.named))
    _restart_clocks(engine)
    return ""


def _other_size(engine: GtpEngine, game: Game[Any]) -> None:
    try:
        engine.change(game, keep=False)
    except UsageError as error:  # a network of one size
        raise UsageError(f"unacceptable size: {error}") from None


def _restart_clocks(engine: GtpEngine) -> None:
    """Another game begins, with the times that were set for the last one unless others are told."""
    for clock in engine.clocks:
        clock.restart()


def clear_board(engine: GtpEngine, line: Line) -> str:
    engine.new_game()
    _restart_clocks(engine)
    engine.warm_up()
    return ""


def komi(engine: GtpEngine, line: Line) -> str:
    value = read_real(_word(line), "komi")
    if not abs(value) <= MOST_KOMI:
        raise UsageError(f"komi is a number from -{MOST_KOMI} to {MOST_KOMI}")
    if isinstance(engine.game, Go):  # other games have none, and GUIs tell it all the same
        engine.change(dataclasses.replace(engine.game, komi=value), keep=True)
        engine.warm_up()
    return ""


def set_rules(engine: GtpEngine, line: Line) -> str:
    game, text = _go(engine), " ".join(line.words)
    ko, suicide = read_rules(text, (game.ko, game.suicide))
    engine.change(dataclasses.replace(game, ko=ko, suicide=suicide), keep=True)
    engine.warm_up()
    return ""


def get_rules(engine: GtpEngine, line: Line) -> str:
    game = _go(engine)
    return json.dumps({"ko": game.ko.upper(), "suicide": game.suicide, **ONLY})


def showboard(engine: GtpEngine, line: Line) -> str:
    view, result = engine.session.board.now, engine.session.board.result()
    drawn = board_view.text(engine.game, view.position.state)
    said = result.text if result else f"{('black', 'white')[view.seat]} to move"
    return f"\n{drawn}\nply {int(view.position.state.ply)}: {said}"


# -- moves -----------------------------------------------------------------------------------------------------------
def play(engine: GtpEngine, line: Line) -> str:
    return _play_all(engine, _words(line, 2))


def _play_all(engine: GtpEngine, words: Sequence[str]) -> str:
    """Colours and moves in turn; all are played, or none is."""
    board = engine.session.board
    try:
        for colour, move in zip(words[::2], words[1::2], strict=True):
            seat, action = read_seat(colour, engine.game), read_move(engine.game, move)
            engine.take_turn(seat)
            if action not in engine.session.board.legal():
                raise UsageError("illegal move")
            engine.session.play(action)
    except UsageError:
        engine.session.restore(board)
        raise
    return ""


def undo(engine: GtpEngine, line: Line) -> str:
    session = engine.session
    if engine.beyond and engine.beyond[-1] is session.board.now:
        engine.beyond.pop()
        return ""
    if not session.board.actions:
        raise UsageError("cannot undo")
    session.undo()
    if session.board.actions and session.board.actions[-1] == NOTHING:  # a turn that was taken for the move
        session.undo()
    return ""


def play_sequence(engine: GtpEngine, line: Line) -> str:
    if len(line.words) % 2:
        raise UsageError("syntax error: colors and moves in turn")
    return _play_all(engine, line.words)


def genmove(engine: GtpEngine, line: Line) -> str:
    return analysis.generate(engine, read_seat(_word(line), engine.game), plays=True)


def reg_genmove(engine: GtpEngine, line: Line) -> str:
    return analysis.generate(engine, read_seat(_word(line), engine.game), plays=False)


# -- handicap --------------------------------------------------------------------------------------------------------
def fixed_handicap(engine: GtpEngine, line: Line) -> str:
    game = _go(engine)
    try:
        points = handicap_points(game.lines, read_number(_word(line), "a handicap"))
    except UsageError as error:
        raise UsageError(f"invalid number of stones: {error}") from None
    return _handicap(engine, game, points)


def place_free_handicap(engine: GtpEngine, line: Line) -> str:
    game, wanted = _go(engine), read_number(_word(line), "a handicap", 2)
    most = most_handicap(game.lines)
    if not most:
        raise UsageError("this board takes no handicap")
    return _handicap(engine, game, handicap_points(game.lines, min(wanted, most)))  # fewer than asked for are allowed


def set_free_handicap(engine: GtpEngine, line: Line) -> str:
    game = _go(engine)
    points = [read_move(game, word) for word in line.words]
    if not 2 <= len(points) < game.points or len(set(points)) < len(points) or game.points in points:
        raise UsageError("bad vertex list")
    _handicap(engine, game, points)
    return ""


def _handicap(engine: GtpEngine, game: Go, points: list[int]) -> str:
    if engine.session.board.now.cells.any():
        raise UsageError("board not empty")
    cells = np.zeros(game.points, np.int8)
    cells[points] = 1
    board = boards.placed(game, cells, 1)
    engine.session.restore(board)
    return " ".join(move_name(game, point) for point in points)


# -- time ------------------------------------------------------------------------------------------------------------
def time_settings(engine: GtpEngine, line: Line) -> str:
    main, period, stones = _words(line, 3)
    times = read_real(main, "main time"), read_real(period, "byo yomi time"), read_number(stones, "byo yomi stones")
    for clock in engine.clocks:
        clock.begin(*times)
    return ""


def kgs_time_settings(engine: GtpEngine, line: Line) -> str:
    kind, *rest = _words(line, 1, 4)
    wanted = {"none": 0, "absolute": 1, "byoyomi": 3, "canadian": 3}.get(kind.lower())
    if wanted != len(rest):
        raise UsageError("time is none, absolute MAIN, byoyomi MAIN PERIOD PERIODS or canadian MAIN PERIOD STONES")
    times = [read_real(word, "a time") for word in rest]
    for clock in engine.clocks:
        if not times:
            clock.begin(None)
        elif len(times) == 1:
            clock.begin(times[0])
        else:
            clock.begin(times[0], times[1], 1 if kind.lower() == "byoyomi" else max(1, int(times[2])))
    return ""


def time_left(engine: GtpEngine, line: Line) -> str:
    colour, seconds, stones = _words(line, 3)
    clock = engine.clocks[read_seat(colour, engine.game)]
    clock.left(read_real(seconds, "a time"), read_number(stones, "stones"))
    return ""


# -- the end ---------------------------------------------------------------------------------------------------------
def final_score(engine: GtpEngine, line: Line) -> str:
    """By area, all stones alive: what is dead must be taken off before both pass. Other games: who has won, by how many
    points if they count any."""
    board = engine.session.board
    if isinstance(board.game, Go):
        return boards.go_score(board.game, board.now)
    result = board.result()
    if result is None:
        raise UsageError("the game is not over")
    if result.returns[0] == 0:
        return "0"
    points = scores(board.game, board.now.position.state) if board.now.over else None
    lead = 1 if points is None else abs(points[0] - points[1])
    return f"{'B' if result.returns[0] > 0 else 'W'}+{lead:g}"


def final_status_list(engine: GtpEngine, line: Line) -> str:
    game, kind = _go(engine), _word(line)
    if kind not in ("alive", "dead", "seki"):
        raise UsageError("a status is alive, dead or seki")
    if kind != "alive":
        return ""
    cells = engine.session.board.now.cells
    chain, _ = label_chains(game.lines, cells)
    names = sorted({int(chain[point]) for point in np.flatnonzero(cells).tolist()})
    groups = [np.flatnonzero((chain == chosen) & (cells > 0)).tolist() for chosen in names]
    return "\n".join(" ".join(move_name(game, point) for point in group) for group in groups)


# -- files -----------------------------------------------------------------------------------------------------------
def _file(line: Line, least: int, most: int) -> tuple[str, ...]:
    """The words of a command that names a file."""
    if len(line.words) > most:
        raise UsageError('syntax error: too many arguments; a name with blanks stands in double quotes: "my game.sgf"')
    return _words(line, least, most)


def loadsgf(engine: GtpEngine, line: Line) -> str:
    file, *number = _file(line, 1, 2)
    upto = read_number(number[0], "a move", 1) - 1 if number else None
    game = engine.game
    try:
        record = formats.load(Path(file), None, upto)
        if type(record.game) is type(game):
            same: Game[Any] | None = game
            if isinstance(game, SIZED) and game.shape != record.game.shape:
                same = of_size(game, *record.game.shape)
            record = formats.load(Path(file), same, upto)  # what it does not say stays as it is
    except UsageError as error:
        raise UsageError(f"cannot load file: {error}") from None
    if type(record.game) is not type(game):
        raise UsageError(f"cannot load file: it is a game of {record.name}, and this is {engine.session.name}")
    record = without_handicap(record)
    record = dataclasses.replace(record, game=long_enough(record.game, engine.named, len(record.moves)))
    engine.put_board(boards.of_record(record), record)
    engine.warm_up()
    return ""


def without_handicap(record: GameRecord) -> GameRecord:
    """The same game with the stones of its handicap put there by hand: those of the next game are not given."""
    game = record.game
    if not isinstance(game, Go) or not game.handicap:
        return record
    start = record.start or position_text.example(game)
    return dataclasses.replace(record, game=dataclasses.replace(game, handicap=0), start=start)


def printsgf(engine: GtpEngine, line: Line) -> str:
    names = _file(line, 0, 1)
    record = engine.session.record()
    game, named = record.game, engine.named
    if isinstance(game, Go) and isinstance(named, Go):  # without the limit that only the engine has set
        record = dataclasses.replace(record, game=dataclasses.replace(game, move_limit=named.move_limit))
    players = tuple(engine.session.player_of(seat).name for seat in range(game.players))
    if record.players == players:  # whoever makes the moves of the other seat, the engine does not know
        told = tuple(name if seat in engine.played else "" for seat, name in enumerate(players))
        record = dataclasses.replace(record, players=told)
    if not names:
        return sgf.write(record).rstrip("\n")
    if not names[0].lower().endswith(".sgf"):
        raise UsageError("the name of the file ends in .sgf")
    formats.save(Path(names[0]), record)
    return ""


# -- GoGui -----------------------------------------------------------------------------------------------------------
def rules_game_id(engine: GtpEngine, line: Line) -> str:
    return type(engine.game).__name__


def set_game(engine: GtpEngine, line: Line) -> str:
    if _word(line).lower() != rules_game_id(engine, line).lower():
        raise UsageError("this engine has one game")
    return ""


def rules_board_size(engine: GtpEngine, line: Line) -> str:
    return str(max(engine.game.picture))


def rules_board(engine: GtpEngine, line: Line) -> str:
    """The board row by row: X for seat 0, O for seat 1, a dot where nothing stands."""
    game, cells = engine.game, engine.session.board.now.cells.tolist()
    width = game.picture[1]
    signs = [".XO"[game.pieces[code].seat + 1] if code else "." for code in cells]
    rows = [" ".join(signs[row * width : (row + 1) * width]) for row in range(game.picture[0])]
    if isinstance(game, Hex | Othello):  # row 1, which these have at the top, is the lowest to GoGui
        rows.reverse()
    return "\n".join(["", *rows])


def rules_legal_moves(engine: GtpEngine, line: Line) -> str:
    return " ".join(move_name(engine.game, action) for action in engine.session.board.legal())


def rules_side_to_move(engine: GtpEngine, line: Line) -> str:
    return ("black", "white")[engine.session.board.now.seat]


def rules_final_result(engine: GtpEngine, line: Line) -> str:
    result = engine.session.board.result()
    return result.text if result else ""


def analyze_commands(engine: GtpEngine, line: Line) -> str:
    commands = ["hstring/Moves Of A Search/jaxgo-moves", "string/Legal Moves/gogui-rules_legal_moves"]
    if isinstance(engine.game, Go | Gomoku):
        commands += ["dboard/Visits Of A Search/jaxgo-visits", "string/Final Score/final_score"]
    return "\n".join(commands)


COMMANDS: dict[str, Command] = {
    "protocol_version": protocol_version,
    "name": name,
    "version": version,
    "known_command": known_command,
    "list_commands": list_commands,
    "quit": quit_,
    "cputime": cputime,
    "boardsize": boardsize,
    "clear_board": clear_board,
    "komi": komi,
    "kata-set-rules": set_rules,
    "kata-get-rules": get_rules,
    "showboard": showboard,
    "play": play,
    "undo": undo,
    "genmove": genmove,
    "reg_genmove": reg_genmove,
    "fixed_handicap": fixed_handicap,
    "place_free_handicap": place_free_handicap,
    "set_free_handicap": set_free_handicap,
    "time_settings": time_settings,
    "kgs-time_settings": kgs_time_settings,
    "time_left": time_left,
    "final_score": final_score,
    "final_status_list": final_status_list,
    "list_games": rules_game_id,  # as Quarry asks
    "set_game": set_game,
    "loadsgf": loadsgf,
    "printsgf": printsgf,
    "gogui-play_sequence": play_sequence,
    "gogui-analyze_commands": analyze_commands,
    "gogui-interrupt": lambda engine, line: "",
    "gogui-rules_game_id": rules_game_id,
    "gogui-rules_board_size": rules_board_size,
    "gogui-rules_board": rules_board,
    "gogui-rules_legal_moves": rules_legal_moves,
    "gogui-rules_side_to_move": rules_side_to_move,
    "gogui-rules_final_result": rules_final_result,
    **analysis.COMMANDS,
}
