"""The names of moves that depend on the position, standard algebraic notation: `Nf3`, `exd5`, `O-O`, `e8=Q+`.

Reading is lenient: signs of check and of praise may be missing, zeros castle, `e8Q` promotes, and what is told twice
(`Ng1f3`, `e2-e4`) is looked at; UCI's names (`g1f3`) are read beside them. Men are capital letters: `bxc3` is a pawn.
"""

import re
from collections.abc import Callable, Sequence

from jaxgo.core.board import square_name
from jaxgo.games.chess import tables
from jaxgo.games.chess.mailbox import Mailbox, lines
from jaxgo.games.chess.tables import KING, LETTERS, PAWN

SAN = re.compile(
    r"(?:(?P<castle>[O0o]-?[O0o](?P<long>-?[O0o])?)"
    r"|(?P<man>[PNBRQK])?(?P<file>[a-h])?(?P<rank>\d)?(?P<takes>[x:-])?(?P<target>[a-h]\d)(?:=?(?P<into>[NBRQnbrq]))?"
    r"(?:\s*e\.?p\.?)?)(?:\+\+?|#)?[!?]*"
)
BISHOP = re.compile(r"B\d[a-h]\d")  # from this row, and not UCI's `b2d4`
Legal = Callable[[int], bool]


def named(text: str, cells: Sequence[int], shape: tuple[int, int], legal: Legal) -> list[int] | None:
    """The legal actions that are called so where these men stand: one, or several if it does not tell which; None: no
    move is called so anywhere."""
    word = text.strip()
    found, action = SAN.fullmatch(word), tables.numbers(*shape).get(word.lower())
    if found is None and action is None:
        return None
    actions = [] if found is None else _meant(found, cells, shape, legal)
    return actions or [action for action in [action] if action is not None and legal(action)]


def _meant(found: re.Match[str], cells: Sequence[int], shape: tuple[int, int], legal: Legal) -> list[int]:
    on = lines(*shape)
    if found["castle"]:
        step = -2 if found["long"] else 2
        kings = [s for s, man in enumerate(cells) if man and (man - 1) % 6 == KING]
        castling = [a for s in kings for a in on.leaving[s] if on.moves[a][1] == s + step]
        return [action for action in castling if legal(action)]
    target = tables.squares(*shape).get(found["target"])
    kind = LETTERS.index((found["man"] or "p").lower())
    into = LETTERS.index(found["into"].lower()) if found["into"] else 0
    if target is None:
        return []
    actions = _alike(kind, target, into, cells, shape, legal)
    column, row, file = found["file"], found["rank"], found["target"][0]
    if kind == PAWN and column == file and not row:  # `bb5` may be meant for a bishop
        return []
    if kind == PAWN and not (column or found["takes"]):
        column = file
    names = {action: square_name(on.moves[action][0], *shape) for action in actions}
    return [a for a, name in names.items() if (not column or name[0] == column) and (not row or name[1:] == row)]


def _alike(kind: int, target: int, into: int, cells: Sequence[int], shape: tuple[int, int], legal: Legal) -> list[int]:
    """The legal actions by which a man of this kind comes to a square, a pawn as something else if so."""
    coming = lines(*shape).coming.get((kind, target, into), ())
    return [action for action, source in coming if cells[source] in (1 + kind, 7 + kind) and legal(action)]


def written(action: int, box: Mailbox) -> str:
    """The name of a legal move, as PGN has it, which is made."""
    name = _name(action, box.cells, box.shape, box.legal)
    box.play(action)
    return name + (("+" if box.moves() else "#") if box.check else "")


def _name(action: int, cells: Sequence[int], shape: tuple[int, int], legal: Legal) -> str:
    source, target, into, _ = lines(*shape).moves[action]
    kind, here, there = (cells[source] - 1) % 6, *(square_name(square, *shape) for square in (source, target))
    if kind == KING and abs(target - source) == 2 and shape == (8, 8):
        return "O-O" if target > source else "O-O-O"
    takes = "x" if cells[target] or (kind == PAWN and here[0] != there[0]) else ""
    if kind == PAWN:
        return (here[0] + takes if takes else "") + there + (f"={LETTERS[into].upper()}" if into else "")
    others = [lines(*shape).moves[other][0] for other in _alike(kind, target, into, cells, shape, legal)]
    beside = [square_name(square, *shape) for square in others if square != source]
    if not beside:
        told = ""
    elif all(name[0] != here[0] for name in beside):
        told = here[0]
    else:
        told = here if any(name[1:] == here[1:] for name in beside) else here[1:]
    return LETTERS[kind].upper() + told + takes + there
