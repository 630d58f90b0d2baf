"""Games of chess in PGN, portable game notation, and of Gardner's chess with `[Variant "Gardner"]`.

Read: all games of a file, their tags, moves in standard algebraic notation or by UCI's names, comments; variations and
glyphs are passed over. A draw that somebody has to claim ends a game here, so moves behind one are left out, which a
comment tells. Written: the export format, the result told by the record.
"""

import dataclasses
import functools
import itertools
import re
import textwrap
from collections.abc import Iterator
from typing import Any

import numpy as np

from jaxgo.core import position_text
from jaxgo.core.errors import UsageError
from jaxgo.core.game import MOST_LIMIT, Game
from jaxgo.core.replay import some_legal
from jaxgo.games import make
from jaxgo.games.chess import san
from jaxgo.games.chess.mailbox import Mailbox
from jaxgo.games.chess.rules import Chess
from jaxgo.games.names import name_of
from jaxgo.records.record import GameRecord, attempt, bounded

HEAD = re.compile(r'\s*(?:[%;].*\n\s*)*(?:\[\s*\w+\s*"|1\s*\.)')
TOKEN = re.compile(
    r"(?P<blank>\s+|^%.*$)|;(?P<rest>.*)|\{(?P<comment>[^}]*)\}"
    r'|\[\s*(?P<tag>\w+)\s*"(?P<value>(?:\\.|[^"\\\n])*(?="\s*\])|.{0,500}(?="\s*\]\s*$))"\s*\]'  # lines may be long
    r"|(?P<result>1-0|0-1|1/2-1/2|1/2|½-½|\*)(?![\w/-])|(?P<sign>(?!0)\d+(?!\S)|\d*\s*(?:\.+|…)|\$\d+|(?!--)[^\s\w(){}\[\];$]+|e\.?p\b\.?)"
    r"|(?P<bracket>[()])|(?P<move>(?:--|\w)[^\s(){}\[\];$]*)|(?P<bad>.)",
    re.MULTILINE,
)
UNCLOSED = re.compile(TOKEN.pattern.replace(r"|\{(?P<comment>[^}]*)\}", ""), re.MULTILINE)  # where no comment ends
FIGURES = str.maketrans("♔♕♖♗♘♙♚♛♜♝♞♟", 2 * "KQRBNP")
UNENDED = {"{": "a comment without its '}'", "[": 'a tag that is not written as [Name "value"]'}
COMMAND = re.compile(r"\[%[^\[\]]*\]")  # clocks and values of servers, in comments
VARIANTS = {"": "chess", "standard": "chess", "chess": "chess", "normal": "chess", "from position": "chess"}
VARIANTS |= {"gardner": "gardner"}
RETURNS = {
    "1-0": (1.0, -1.0),
    "0-1": (-1.0, 1.0),
    "1/2-1/2": (0.0, 0.0),
    "1/2": (0.0, 0.0),
    "½-½": (0.0, 0.0),
    "*": None,
}
ROSTER = {"Event": "?", "Site": "?", "Date": "????.??.??", "Round": "?"}
SILENT = ("", "normal", "unterminated")  # what Termination says where it says nothing
WAYS = {  # in words of Termination
    "R": re.compile(r"\bresign(s|ed|ation)?\b", re.IGNORECASE),
    "T": re.compile(r"\btime(d|out)?\b", re.IGNORECASE),
}
BY_RULES = "by the rules"
OCCURRENCES = {"draw": 3, "loss": 2, "none": MOST_LIMIT + 1}  # of a position, that end a game
WIDE = 79


def tells_all(game: Game[Any]) -> bool:
    """Whether a file of this game is read with all its options."""
    return isinstance(game, Chess) and dataclasses.replace(game, fen="") in (make("chess"), make("gardner"))


# -- writing ---------------------------------------------------------------------------------------------------------
def write(record: GameRecord) -> str:
    """The game in the export format; White is seat 0."""
    game = record.game
    if not isinstance(game, Chess):
        raise UsageError(f"PGN tells of chess, not of {record.name}; write JSON")
    fen = game.read_fen(_start(game, record.start) or game.fen)
    result = next((word for word, returns in RETURNS.items() if returns == record.returns), "*")
    players = dict(zip(("White", "Black"), (*record.players, "", ""), strict=False))
    tags = ROSTER | {seat: name or "?" for seat, name in players.items()} | {"Result": result}
    # behind the seven by the alphabet
    tags |= {"FEN": fen, "SetUp": "1"} if fen != game.read_fen() else {}
    tags |= {"Termination": told} if (told := _termination(record)) else {}
    tags |= {"Variant": "Gardner"} if game.board == "gardner" else {}
    head = "".join(f'[{name} "{_escaped(value)}"]\n' for name, value in tags.items())
    # blanks that no line may end at: one that begins with % would be passed over
    moves = " ".join([*_words(record, game.mailbox(fen)), result]).replace(" %", "\0%")
    lines = textwrap.wrap(moves, WIDE, break_long_words=False, break_on_hyphens=False)
    return f"{head}\n{chr(10).join(lines)}\n".replace("\0", " ")


def _start(game: Chess, start: str) -> str:
    """The start of a record as FEN; nothing where that is the game's own."""
    if not start or game.is_fen(start):
        return start
    position, moves = position_text.read(game, start)
    if moves:
        raise UsageError("the start of a game in PGN is a position, not moves; play them as moves")
    return game.to_fen(position.state)


def _termination(record: GameRecord) -> str:
    if record.reason:
        return "normal" if record.reason == BY_RULES else record.reason
    return {"R": "resigned", "T": "time forfeit"}.get(record.verdict.upper().partition("+")[2][:1], "")


def _words(record: GameRecord, box: Mailbox) -> Iterator[str]:
    """Numbers, moves and comments."""
    first, alone = box.seat, True
    for ply in range(len(record.moves) + 1):
        if comment := " ".join(record.comments.get(ply, "").replace("}", ")").split()):
            yield f"{{{comment}}}"
            alone = True
        if ply == len(record.moves):
            return
        if not box.legal(action := record.moves[ply]):
            name = record.game.action_name(action)
            raise UsageError(f"move {ply + 1}, {name!r}, is not legal, and PGN has names of legal moves alone")
        if alone or not box.seat:
            yield _number(first + ply)
        yield san.written(action, box)
        alone = False


def _number(ply: int) -> str:
    """The number of a move as it is written: `1.`, and `1...` where Black makes it."""
    return f"{ply // 2 + 1}{'...' if ply % 2 else '.'}"


def _escaped(value: str) -> str:
    return " ".join(value.split()).replace("\\", "\\\\").replace('"', '\\"')


# -- reading ---------------------------------------------------------------------------------------------------------
@dataclasses.dataclass
class Told:
    """What a file says of a game."""

    line: int
    number: int
    tags: dict[str, str] = dataclasses.field(default_factory=dict)
    moves: list[tuple[int, str]] = dataclasses.field(default_factory=list)  # each with its line
    comments: dict[int, list[str]] = dataclasses.field(default_factory=dict)  # their words, by the moves before them
    result: str = ""
    fault: str = ""  # what is no PGN; the game goes on to the tags of the next one

    @property
    def place(self) -> str:
        return f"line {self.line}: game {self.number}"

    def take(self, kind: str, found: re.Match[str], line: int) -> None:
        """What stands in a line outside of variations."""
        if not (self.tags or self.moves):
            self.line = line
        if kind == "value":
            self.tags[found["tag"]] = re.sub(r"\\(.)", r"\1", found["value"])
        elif kind in ("comment", "rest"):
            self.comments.setdefault(len(self.moves), []).extend(COMMAND.sub("", found[kind]).split())
        elif kind == "move":
            self.moves.append((line, found.group()))
        elif kind == "result":
            self.result = found.group()


def read(text: str | bytes, game: Game[Any] | None = None, upto: int | None = None) -> GameRecord:
    """The first game of a file. `game` says which it must be (options apart); `upto` moves are read, no more."""
    told = next(_games(bounded(text)), None)
    if told is None:
        raise UsageError("line 1: there is no game in this PGN")
    return _record(told, game, upto)


def read_all(text: str | bytes) -> Iterator[GameRecord | UsageError]:
    """All games of a file, or what is wrong with a game."""
    for told in _games(bounded(text)):
        yield attempt(functools.partial(_record, told))


def _games(text: str) -> Iterator[Told]:
    """The games of a file, whose moves nobody has looked at."""
    now, line, inside, apart = Told(1, 1), 1, 0, False
    for found in _tokens(text.translate(FIGURES)):
        kind, word = str(found.lastgroup), found.group()
        next_ = kind == "value" and apart  # whatever is wrong with this game
        if not now.fault and (wrong := _wrong(kind, word, inside, next_)):
            now.fault = f"line {line}: game {now.number}: {wrong}"
        if now.fault:
            if next_:
                yield now
                now, inside = Told(line, now.number + 1), 0
                now.take(kind, found, line)
        elif kind == "bracket":
            inside += 1 if word == "(" else -1
        elif not inside and kind != "blank":
            if kind == "result" and not (now.tags or now.moves):  # it is told twice
                continue
            if kind == "value" and (now.moves or (found["tag"] in now.tags and apart)):
                yield now
                now = Told(line, now.number + 1)
            now.take(kind, found, line)
            if kind == "result":
                yield now
                now = Told(line, now.number + 1)
        line += word.count("\n")
        apart = kind == "blank" and word.count("\n") > 1  # an empty line
    if inside and not now.fault:
        now.fault = f"line {line}: game {now.number}: the file ends inside a variation; a ')' is missing"
    if now.tags or now.moves or now.fault:
        yield now


def _tokens(text: str) -> Iterator[re.Match[str]]:
    """The words of a text. Behind a comment that does not end none is looked for: each would be to the last letter."""
    for found in TOKEN.finditer(text):
        if found["bad"] == "{":
            yield from UNCLOSED.finditer(text, found.start())
            return
        yield found


def _wrong(kind: str, word: str, inside: int, next_: bool) -> str:
    """What is wrong with a word of a game, so many variations deep; nothing if it may stand there."""
    if kind == "bad":
        return UNENDED.get(word, f"{word!r} where none belongs")
    if word == ")" and kind == "bracket" and not inside:
        return "a ')' without its '('"
    return "it ends inside a variation; a ')' is missing" if inside and next_ else ""


def _record(told: Told, wanted: Game[Any] | None = None, upto: int | None = None) -> GameRecord:
    if told.fault:
        raise UsageError(told.fault)
    game = _game(told, wanted)
    if not told.result and "Result" in told.tags and upto is None:
        raise UsageError(f"{told.place} breaks off: no result (1-0, 0-1, 1/2-1/2 or *) stands behind its moves")
    fen = told.tags.get("FEN", "")
    try:
        start = game.read_fen(fen)
    except UsageError as error:
        raise UsageError(f"{told.place}: {error}") from None
    box = game.mailbox(start)
    moves, left = _actions(told, game, box, upto)
    comments = {ply: words for ply, words in told.comments.items() if words and ply <= len(moves)}
    if left:
        words = f"the file goes on by {left} plies; by the rules here the game is over"
        comments[len(moves)] = [*comments.get(len(moves), []), words]
    result = told.result if told.result not in ("", "*") else told.tags.get("Result", "*")
    returns, end = RETURNS.get(result), told.tags.get("Termination", "").strip()
    players = tuple(told.tags.get(seat, "").removeprefix("?") for seat in ("White", "Black"))
    verdict = ""
    if returns is None:
        returns = _returns(game, box)
        verdict = "" if returns else "?"  # nobody need ask the rules again
    elif returns[0]:
        won, by = "B" if returns[0] > 0 else "W", _way(end, players)  # as SGF calls the seats
        verdict = f"{won}+{by}" if by else ""
    return GameRecord(
        game=game,
        name=name_of(game)[0],
        moves=tuple(moves),
        start="" if start == game.read_fen(game.fen) else start,
        players=players,
        returns=returns,
        verdict=verdict,
        reason="" if end.lower() in SILENT else end,
        lines=tuple(line for line, _ in told.moves[: len(moves)]),
        comments={ply: " ".join(words) for ply, words in comments.items()},
        tried=True,
    )


def _way(end: str, players: tuple[str, ...]) -> str:
    """How a game was won, as SGF has it: by resignation or on time; names of players say nothing of that."""
    named = "|".join(re.escape(name) for name in players if name)
    words = re.sub(rf"(?<!\w)({named})(?!\w)", " ", end, flags=re.IGNORECASE) if named else end
    return next((way for way, told in WAYS.items() if told.search(words)), "")


def _returns(game: Chess, box: Mailbox) -> tuple[float, float] | None:
    """What each seat gets where a game is over by the rules."""
    if box.moves():
        return (0.0, 0.0) if _drawn(game, box) and game.repetition != "loss" else None
    gain = (1.0 if box.seat else -1.0) if box.check else 0.0
    return gain, 0.0 - gain


def _drawn(game: Chess, box: Mailbox) -> bool:
    """Whether a game is over that has moves left."""
    return box.drawn or box.times >= OCCURRENCES[game.repetition]


def _game(told: Told, wanted: Game[Any] | None) -> Chess:
    """The game that the tags tell of."""
    variant = told.tags.get("Variant", "").strip()
    if variant.lower() not in VARIANTS:
        raise UsageError(f"{told.place} is of the variant {variant[:40]!r}; chess and Gardner's are known here")
    name = VARIANTS[variant.lower()]
    usual = make(name)
    assert isinstance(usual, Chess)
    game = usual if wanted is None else wanted
    if not isinstance(game, Chess) or game.board != usual.board:
        here = game.board if isinstance(game, Chess) else type(game).__name__
        raise UsageError(f"{told.place}: the file tells of {name}, and this is {here}")
    if len(told.moves) > game.max_plies:  # other programs know of no limit
        return dataclasses.replace(game, max_plies=min(2 * len(told.moves), MOST_LIMIT))
    return game


def _actions(told: Told, game: Chess, box: Mailbox, upto: int | None) -> tuple[list[int], int]:
    """The actions of a game, and how many moves stand behind a draw that ended it."""
    first, actions = box.seat, list[int]()
    for ply, (line, word) in enumerate(itertools.islice(told.moves, upto)):
        if _drawn(game, box):
            return actions, len(told.moves) - ply
        found = san.named(word, box.cells, box.shape, box.legal)
        if found is None or len(found) != 1:
            place = f"line {line}: game {told.number}: {_number(first + ply)} {word[:20]}"
            if found:
                raise UsageError(f"{place} may be any of {', '.join(map(game.action_name, found))}")
            wrong = "names no move" if found is None else "is not legal"
            legal = some_legal(game, np.isin(np.arange(game.num_actions), box.moves()))
            raise UsageError(f"{place} {wrong}; legal moves are: {legal}")
        actions.append(found[0])
        box.play(found[0])
    return actions, 0
