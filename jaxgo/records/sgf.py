"""Games of Go (GM 1), of Othello (GM 2), of Gomoku and of renju (GM 4), and of Hex (GM 11) in SGF.

Read: the first line of play, with the stones that are on the board before it; sizes, komi, handicaps, and rules as far
as their name is known. A side that moves twice lets the other one pass: so do files of Go whose handicap is moves, and
files of Othello that tell of no passes.
Written: the same, one node a move.
"""

import codecs
import dataclasses
import functools
import re
from collections.abc import Iterable, Iterator
from typing import Any, get_args

import numpy as np

from jaxgo.core import play, position_text
from jaxgo.core.errors import UsageError
from jaxgo.core.game import MOST_LIMIT, Game
from jaxgo.games import make
from jaxgo.games.go import rule_names
from jaxgo.games.go.board import handicap_points, most_handicap
from jaxgo.games.go.rules import MOST_KOMI, Go
from jaxgo.games.gomoku.rules import Gomoku, Rules
from jaxgo.games.hex import SWAP, Hex
from jaxgo.games.names import name_of
from jaxgo.games.othello import Othello
from jaxgo.games.sizes import on_points
from jaxgo.records.record import GameRecord, attempt, bounded, winner
from jaxgo.records.sgf_nodes import Node, escape, games, main_line

LETTERS = "abcdefghijklmnopqrstuvwxyz"
KINDS = {1: "Go", 2: "Othello", 4: "Gomoku", 11: "Hex"}
USUAL = {1: "go19", 2: "othello", 4: "gomoku", 11: "hex11"}  # with their sizes, where a file tells none
SEATS = {"B": 0, "W": 1}
LIMIT = "ML"  # of moves in Go, a property of jaxgo's own
PROGRAM = "jaxgo"
NO_SWAP = "no swap"  # a rule of Hex
FOX = 200  # a komi of so much is written as the Fox server does: in hundredths
CHARSET = re.compile(rb"CA\s*\[\s*([\w.:+-]{1,40})\s*\]")
CHARSETS = re.compile(r"gb18030|big5\w*|(euc|shift)_\w+|cp\d+|iso8859[-_]\d+|koi8[-_]\w")  # of people's names
WIDER = {"gb2312": "gb18030", "gbk": "gb18030"}  # programs name the smaller ones, and write the larger one's signs


# -- writing ---------------------------------------------------------------------------------------------------------
def write(record: GameRecord) -> str:
    """The game in SGF, file format 4; Black is seat 0."""
    game = record.game
    if not on_points(game):
        raise UsageError(
            f"SGF tells of Go, Othello and Hex, and of Gomoku without swaps, not of {record.name}; write JSON"
        )
    head = _rules(game)
    head |= {letters: [escape(name)] for letters, name in zip(("PB", "PW"), record.players, strict=False)}
    head |= {"RE": [escape(record.verdict_or_letter())]} if record.verdict_or_letter() else {}
    head |= _stones(game, record.start)
    if 0 in record.comments:
        head["C"] = [escape(record.comments[0])]
    root = "".join(name + "".join(f"[{value}]" for value in values) for name, values in head.items())
    nodes = []
    for number, (seat, action) in enumerate(zip(_seats(record), record.moves, strict=False), 1):
        comment = f"C[{escape(record.comments[number])}]" if number in record.comments else ""
        nodes.append(f";{'BW'[seat]}[{_point(game, action)}]{comment}")
    return f"(;{root}\n{''.join(nodes)})\n"


def _rules(game: Game[Any]) -> dict[str, list[str]]:
    """The properties that say what is played."""
    height, width = game.shape
    size = str(height) if height == width else f"{width}:{height}"
    kind = next(str(number) for number, name in KINDS.items() if name == type(game).__name__)
    head = {"FF": ["4"], "GM": [kind], "CA": ["UTF-8"], "AP": [PROGRAM], "SZ": [size]}
    if isinstance(game, Go):
        head["RU"] = [rule_names.written(game.ko, game.suicide)]
        head |= {"KM": [f"{game.komi:.12g}"]} | ({"HA": [str(game.handicap)]} if game.handicap else {})
        head |= {LIMIT: [str(game.move_limit)]} if game.move_limit else {}
    elif isinstance(game, Gomoku):
        head["RU"] = [game.rules]
    elif isinstance(game, Hex) and not game.swap:
        head["RU"] = [NO_SWAP]
    return head


def _stones(game: Game[Any], start: str) -> dict[str, list[str]]:
    """The stones that are on the board before the first move."""
    text = start or position_text.example(game)
    position, moves = position_text.read(game, text)
    if moves:
        raise UsageError("the start of a game in SGF is a drawing, not moves; play them as moves")
    cells, seat = play.cells(game, position.state), int(position.state.to_play)
    stones = {
        name: [_point(game, cell) for cell in np.flatnonzero(cells == code).tolist()]
        for name, code in (("AB", 1), ("AW", 2))
    }
    out = {name: points for name, points in stones.items() if points}
    return out | ({"PL": ["BW"[seat]]} if out or seat else {})


def _seats(record: GameRecord) -> Iterable[int]:
    """Who makes each move: the seats take turns."""
    return [(record.first + ply) % 2 for ply in range(len(record.moves))]


def _point(game: Game[Any], action: int) -> str:
    height, width = game.shape
    if isinstance(game, Hex):
        return SWAP if action == game.points else game.action_name(action)
    if action >= height * width:
        return ""
    row, column = divmod(action, width)
    return LETTERS[column] + LETTERS[row]


# -- reading ---------------------------------------------------------------------------------------------------------
def read(text: str | bytes, game: Game[Any] | None = None, upto: int | None = None) -> GameRecord:
    """The game of a file. `game` says which it must be (komi and rules apart); `upto` moves are read, and no more."""
    return _read(main_line(_text(text)), 1, game, upto)


def read_all(text: str | bytes) -> Iterator[GameRecord | UsageError]:
    """All games of a file, which may be a collection, of each the first line of play; or what is wrong with a game."""
    for line, game in games(_text(text)):
        yield attempt(functools.partial(_read, main_line(game, line), line))


def _text(text: str | bytes) -> str:
    return bounded(text, _charset(text) if isinstance(text, bytes) else "latin-1")


def _read(nodes: Iterator[Node], line: int, game: Game[Any] | None = None, upto: int | None = None) -> GameRecord:
    """The game of these nodes, which begins in this line of its file."""
    root = next(nodes, None)
    if root is None:
        raise UsageError(f"line {line}: the game has no node")
    game = _game(root, game)
    setup: list[Node] = [root]
    moves: list[int] = []
    lines: list[int] = []
    comments: dict[int, str] = {}
    added: set[int] = set()  # passes that no file tells of, by their place among the moves
    turn: tuple[int, int] | None = None  # whose turn it is by PL behind the last move, and in which line
    first, told = None, 0  # who began, and how many moves the file has so far
    lost = None  # the seat that gave the game up
    node: Node | None = root
    while node is not None:
        lost = _gives_up(node, game)
        for seat, action in _moves(node, game) if lost is None else ():
            first, turn = seat if first is None else first, None
            passes = _passes(node, game, seat, (first + len(moves)) % 2)
            added |= {len(moves)} if passes else set()
            if (upto is None or told < upto) and _behind_end(game, [*moves, *passes], action, added):
                raise UsageError(
                    f"line {node.line}: {'BW'[seat]} moves behind two passes, which end the game: where a side moves "
                    "twice in a row the other one passes between"
                )
            for played in (*passes, action):
                if (upto is None or told < upto) and not _ends_again(game, moves, played):
                    moves.append(played)
                    lines.append(node.line)
            told += 1
        stones = node.values.keys() & {"AB", "AW", "AE"}
        if stones and told:
            raise UsageError(f"line {node.line}: stones are put on the board in the midst of the game")
        given = _turn(node) if told else None
        turn = turn if given is None else (given, node.line)
        if node is not root and not told and (stones or "PL" in node.values):
            setup.append(node)
        if node.first("C") and (upto is None or told <= upto):
            comments[len(moves)] = "\n".join(filter(None, (comments.get(len(moves)), node.first("C"))))
        # behind the last one that is asked for anything may stand
        last = lost is not None or (upto is not None and told >= max(upto, 1))
        node = None if last else next(nodes, None)
    if turn is not None and first is not None and turn[0] != (first + len(moves)) % 2:
        raise UsageError(f"line {turn[1]}: PL gives {'BW'[turn[0]]} the next move, and it is not that side's turn")
    verdict = root.first("RE") or ("" if lost is None else f"{'WB'[lost]}+R")
    game, start = _start(_long_enough(game, len(moves)), setup, first)
    return GameRecord(
        game=game,
        name=name_of(game)[0],
        moves=tuple(moves),
        start=start,
        players=(root.first("PB"), root.first("PW")),
        returns=winner(verdict),
        verdict=verdict,
        lines=tuple(lines),
        comments=comments,
    )


def _charset(data: bytes) -> str:
    """The encoding that a file names, where it is one for texts; in some a byte of a letter looks like a bracket."""
    found = CHARSET.search(data)
    try:
        name = codecs.lookup(found[1].decode("ascii")).name if found else ""
    except LookupError:
        return "latin-1"
    name = WIDER.get(name, name)
    return name if CHARSETS.fullmatch(name) else "latin-1"


def _game(root: Node, wanted: Game[Any] | None) -> Game[Any]:
    """The game that the first node tells of."""
    kind = _number(root, "GM", "1", 1, 999)
    if kind not in KINDS:
        raise UsageError(f"line {root.line}: GM[{kind}] is none of Go (1), Othello (2), Gomoku (4) and Hex (11)")
    size = re.fullmatch(r"\s*(\d{1,4})\s*(?::\s*(\d{1,4})\s*)?", root.first("SZ", str(make(USUAL[kind]).shape[0])))
    if size is None:
        raise UsageError(f"line {root.line}: SZ[{root.first('SZ')[:20]}] is no size of a board")
    width, height = int(size[1]), int(size[2] or size[1])
    if wanted is not None:
        if KINDS[kind] != type(wanted).__name__ or wanted.shape != (height, width):
            here = f"{type(wanted).__name__} {wanted.shape[1]}x{wanted.shape[0]}"
            raise UsageError(f"line {root.line}: the file tells of {KINDS[kind]} {width}x{height}, and this is {here}")
        return _with_rules(root, wanted)
    try:
        if kind == 1:
            usual = make(USUAL[kind], size=height, width=0 if height == width else width, ko="simple")
        elif height != width:
            raise UsageError(f"a board of {KINDS[kind]} is square, not {width}x{height}")
        else:
            usual = make(USUAL[kind], size=height)
    except UsageError as error:
        raise UsageError(f"line {root.line}: {error}") from None
    return _with_rules(root, usual)


def _with_rules(root: Node, game: Game[Any]) -> Game[Any]:
    """The game with the komi and the rules of a file, as far as they are known."""
    rules = root.first("RU").strip().lower()
    if isinstance(game, Gomoku):
        known = [rule for rule in get_args(Rules) if rule == rules]
        return make_like(game, rules=known[0]) if known and game.opening == "none" else game
    if isinstance(game, Hex):
        return make_like(game, swap=False) if rules == NO_SWAP else game
    if not isinstance(game, Go):
        return game
    # of rules that have no name here, such as the Japanese, it is known that none forbids what superko does
    ko, suicide = rule_names.read_written(rules) or ("simple" if rules else game.ko, game.suicide)
    komi = _komi(root, game.komi)
    limit = _number(root, LIMIT, str(game.move_limit), 0, MOST_LIMIT)
    return make_like(game, ko=ko, suicide=suicide, komi=komi, handicap=0, move_limit=limit)


def _komi(root: Node, usual: float) -> float:
    """The komi of a file; programs leave empty what they do not know."""
    text = re.sub(r"^(-?\d+),(\d+)$", r"\1.\2", root.first("KM").strip())  # many countries write a comma
    if not text:
        return usual
    try:
        komi = float(text)
    except ValueError:
        raise UsageError(f"line {root.line}: KM[{text[:20]}] is no number") from None
    if not abs(komi) <= MOST_KOMI:
        raise UsageError(
            f"line {root.line}: KM[{text[:20]}] is no komi; give a number from -{MOST_KOMI} to {MOST_KOMI}"
        )
    if komi >= FOX and root.first("AP") != PROGRAM:
        komi /= 100
        return 2 * komi if komi < 4 else komi  # by area it counts stones, half as many as points
    return komi


def _long_enough(game: Game[Any], moves: int) -> Game[Any]:
    """Go that takes so many moves: other programs know of no limit."""
    if not isinstance(game, Go) or moves <= game.max_plies:
        return game
    return make_like(game, move_limit=min(2 * moves, MOST_LIMIT))


def make_like(game: Game[Any], **options: Any) -> Game[Any]:
    """The game with other options; equal ones leave it the same object."""
    changed: Game[Any] = dataclasses.replace(game, **options)  # type: ignore[type-var]
    return game if changed == game else changed


def _moves(node: Node, game: Game[Any]) -> list[tuple[int, int]]:
    """The moves of a node: seat and action."""
    return [
        (SEATS[name], _cell(node, name, value, game, passes=True))
        for name, values in node.values.items()
        if name in SEATS
        for value in values
    ]


def _gives_up(node: Node, game: Game[Any]) -> int | None:
    """The seat that resigns or forfeits in this node, which is a move in files of Hex."""
    words = {seat: node.first(name).strip().lower() for name, seat in SEATS.items()} if isinstance(game, Hex) else {}
    return next((seat for seat, word in words.items() if word in ("resign", "forfeit")), None)


def _passes(node: Node, game: Game[Any], seat: int, due: int) -> list[int]:
    """What is played before the move of a seat: where it is not that seat's turn, a pass of the other one."""
    if seat == due:
        return []
    if not isinstance(game, Go | Othello):
        raise UsageError(f"line {node.line}: {'BW'[seat]} moves twice in a row, which cannot be played here")
    return [game.num_actions - 1]


def _behind_end(game: Game[Any], moves: list[int], action: int, added: set[int]) -> bool:
    """Whether it is a move on the board of Go behind an end that came by a pass of which no file tells."""
    ended = isinstance(game, Go) and moves[-2:] == [game.points] * 2 and action != game.points
    return ended and not added.isdisjoint(range(len(moves))[-2:])


def _ends_again(game: Game[Any], moves: list[int], action: int) -> bool:
    """Whether it is a pass behind the two that ended a game of Go, as rules that give stones for passes ask for."""
    return isinstance(game, Go) and [*moves[-2:], action] == [game.points] * 3


def _cell(node: Node, name: str, value: str, game: Game[Any], passes: bool = False) -> int:
    """The point of a value: two letters, or its name as programs of Gomoku, Othello and Hex write it."""
    height, width = game.shape
    word = value.strip().lower()
    if passes and isinstance(game, Go | Othello) and (not word or (word == "tt" and max(height, width) <= 19)):
        return game.num_actions - 1
    if passes and isinstance(game, Hex) and game.swap and word in ("swap", SWAP):
        return game.points
    if passes and isinstance(game, Hex) and word == "swap-sides":
        raise UsageError(f"line {node.line}: {name}[swap-sides] lets players change seats; write {SWAP} in its place")
    found = re.fullmatch(r"[a-z]{2}", word)
    row, column = (LETTERS.index(word[1]), LETTERS.index(word[0])) if found else (-1, -1)
    if not found and re.fullmatch(r"[a-z]\d{1,2}", word) and not isinstance(game, Go):
        row, column = int(word[1:]) - 1, LETTERS.index(word[0])
        row = height - 1 - row if isinstance(game, Gomoku) else row
    if not (0 <= row < height and 0 <= column < width):
        raise UsageError(f"line {node.line}: {name}[{value[:20]}] is no point of a board of {width}x{height}")
    return row * width + column


def _cells(node: Node, name: str, game: Game[Any]) -> list[int]:
    """The points of a list, rectangles among them."""
    out = []
    for value in node.values.get(name, []):
        corner, colon, other = value.partition(":")
        a = _cell(node, name, corner, game)
        b = _cell(node, name, other, game) if colon else a
        (top, left), (bottom, right) = divmod(a, game.shape[1]), divmod(b, game.shape[1])
        if top > bottom or left > right:
            raise UsageError(f"line {node.line}: {name}[{value[:20]}] is no rectangle: the upper left corner is first")
        out += [row * game.shape[1] + col for row in range(top, bottom + 1) for col in range(left, right + 1)]
    return out


def _start(game: Game[Any], setup: list[Node], first: int | None) -> tuple[Game[Any], str]:
    """The game with its handicap, and its start as text where it is not the usual one."""
    height, width = game.shape
    told = any(node.values.keys() & {"AB", "AW"} for node in setup)
    usual = game.start if isinstance(game, Othello) else np.zeros(height * width, np.int8)
    cells, seat = np.zeros_like(usual) if told else usual.copy(), None
    for node in setup:
        for name, code in (("AB", 1), ("AW", 2), ("AE", 0)):
            cells[_cells(node, name, game)] = code
        both = {*_cells(node, "AB", game)} & {*_cells(node, "AW", game)}
        if both:
            raise UsageError(f"line {node.line}: AB and AW put two stones on {game.action_name(min(both))}")
        turn = _turn(node)
        seat = seat if turn is None else turn
    black = np.flatnonzero(cells == 1).tolist()
    if first is not None:
        seat = first  # whatever else the file says
    elif seat is None:
        handicap = setup[0].first("HA").strip()  # one that cannot be read gives none
        seat = int(bool(black) and re.fullmatch(r"0*([2-9]|[1-9]\d+)", handicap) is not None)
    if isinstance(game, Go) and seat == 1 and black and not (cells == 2).any():
        stones = usual_handicap(game, black)
        if stones:
            return make_like(game, handicap=stones), ""
    if seat == 0 and (cells == usual).all():
        return game, ""
    glyphs = [piece.glyph for piece in game.pieces]
    drawn = "/".join("".join(glyphs[code] for code in cells[row * width : (row + 1) * width]) for row in range(height))
    try:
        position_text.read(game, f"{drawn} {seat}")
    except UsageError as error:
        raise UsageError(f"line {setup[-1].line}: {error}") from None
    return game, f"{drawn} {seat}"


def _turn(node: Node) -> int | None:
    """Who is to move, as PL says it; None where it says nothing that can be read."""
    return {"b": 0, "w": 1}.get(node.first("PL").strip().lower()[:1])


def usual_handicap(game: Go, stones: list[int]) -> int:
    """How many stones a handicap has that stands on its usual points; 0 where it does not."""
    count = len(stones)
    usual = 2 <= count <= most_handicap(game.lines) and sorted(stones) == sorted(handicap_points(game.lines, count))
    return count if usual else 0


def _number(node: Node, name: str, default: str, least: int, most: int) -> int:
    text = node.first(name).strip() or default
    if not re.fullmatch(r"\d{1,5}", text) or not least <= int(text) <= most:
        raise UsageError(f"line {node.line}: {name}[{text[:20]}] is not a number from {least} to {most}")
    return int(text)
