"""What a folder of games tells: who won, how long games took, which came twice, and how they were opened."""

import dataclasses
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from jaxgo.arena.ratings import NINETY_FIVE
from jaxgo.core import play, position_text
from jaxgo.core.errors import UsageError
from jaxgo.core.game import without_ply_limit
from jaxgo.core.replay import follow
from jaxgo.records import formats
from jaxgo.records.record import GameRecord

ENDINGS = (*(f".{form}" for form in formats.WRITERS), ".txt")  # of files with games; .txt as matches save some
FIRST, SECOND, DRAWN = "first mover won", "second mover won", "drawn"


@dataclasses.dataclass(frozen=True)
class Opening:
    """The games that began with these moves."""

    moves: tuple[str, ...]
    games: int
    score: float  # of the first mover
    low: float  # the 95 % interval of that score, after Wilson
    high: float


@dataclasses.dataclass(frozen=True)
class Statistics:
    """Numbers of finished games; of those that are the same, move for move, all count, but for intervals."""

    games: int
    unfinished: int  # left out of all else
    results: dict[str, int]  # by FIRST, SECOND, DRAWN
    moves: dict[str, float]  # how many on average, of all games ("") and by result
    repeated: dict[str, int]  # games that came before, by their result
    openings: tuple[Opening, ...]  # the most frequent first


def read(folder: Path, say: Callable[[str], None] | None = None) -> list[GameRecord]:
    """All games of a folder and those below it, or those of one file; of one kind, or a UsageError.

    With `say`, games with a mistake and files that hold none are left out, and it is told, as long as there are others.
    """
    there = [folder] if folder.is_file() else sorted(folder.rglob("*"))
    paths = [path for path in there if path.suffix.lower() in ENDINGS and path.is_file()]
    if not paths:
        raise UsageError(f"there are no games below {folder}; files that end in {', '.join(ENDINGS)} are read")
    found: dict[str, GameRecord] = {}
    faults: list[UsageError] = []
    for path in paths:
        for place, one in _games(path).items():
            try:
                found[place] = _judged(place, formats.whole(one))
            except UsageError as fault:
                if say is None:
                    raise
                faults.append(fault)
    if not found:
        raise faults[0] if faults else UsageError(f"there are no games below {folder}; its files are empty")
    first = next(iter(found))
    # a limit of plies makes no other game: that of a long one in SGF is as large as it needs
    kind = without_ply_limit(found[first].game)
    for place, record in found.items():
        if without_ply_limit(record.game) != kind:
            raise UsageError(f"{place} is a game of another kind than {first}; keep each kind in a folder of its own")
    if say and faults:
        what = "a game with a mistake is" if len(faults) == 1 else f"{len(faults):,} games with a mistake are"
        say(f"{what} left out, of {len(found) + len(faults):,}: {faults[0]}")
    return list(found.values())


def _games(path: Path) -> dict[str, GameRecord | UsageError]:
    """The games of a file by where they stand, or what is wrong with them."""
    try:
        return formats.load_each(path)
    except UsageError as fault:
        return {str(path): fault}


def _judged(place: str, record: GameRecord) -> GameRecord:
    """The game with its result, where its file tells none (PSQ and Zero+ never do) and it is over by the rules; a
    UsageError where a move is not legal."""
    game = record.game
    told = record.returns is not None or bool(record.verdict)
    if told and record.tried:
        return record
    try:
        start, before = position_text.read(game, record.start or position_text.START)
        line = [*map(game.parse_action, before), *record.moves]
    except UsageError as error:
        raise UsageError(f"{place}: {error}") from None
    found = follow(game, start, line)
    if (made := int(found.made)) < len(line):
        number = made + 1 - len(before)
        where = record.place(number) if number > 0 else f"move {made + 1} of its start"
        raise UsageError(f"{place}: {where}, {game.action_name(line[made])!r} is not legal")
    if told:
        return record
    view = play.look(game, found.position)
    return dataclasses.replace(record, returns=view.returns) if view.over else record


def count(records: Iterable[GameRecord], plies: int = 2) -> Statistics:
    """The numbers of these games; openings are told up to so many moves."""
    records = list(records)
    ended = [(record, _result(record)) for record in records if record.returns is not None]
    lengths: dict[str, list[int]] = {"": [], FIRST: [], SECOND: [], DRAWN: []}
    seen: set[tuple[str, tuple[int, ...]]] = set()
    repeated: Counter[str] = Counter()
    for record, result in ended:
        for kind in ("", result):
            lengths[kind].append(len(record.moves))
        line = (record.start, record.moves)
        repeated[result] += line in seen
        seen.add(line)
    return Statistics(
        games=len(ended),
        unfinished=len(records) - len(ended),
        results={kind: len(lengths[kind]) for kind in (FIRST, SECOND, DRAWN)},
        moves={kind: sum(some) / len(some) for kind, some in lengths.items() if some},
        repeated={kind: number for kind, number in repeated.items() if number},
        openings=tuple(_openings([record for record, _ in ended], plies)),
    )


def _result(record: GameRecord) -> str:
    share = _share(record)
    return FIRST if share > 0.5 else SECOND if share < 0.5 else DRAWN


def _share(record: GameRecord) -> float:
    """What the first mover has of a win."""
    assert record.returns is not None, "only finished games have a result"
    return (1 + record.returns[record.first]) / 2


def _openings(ended: Sequence[GameRecord], plies: int) -> list[Opening]:
    begun: dict[tuple[str, ...], list[GameRecord]] = {}
    for record in ended:
        names = [record.game.action_name(action) for action in record.moves[:plies]]
        for length in range(1, len(names) + 1):
            if not record.start:  # from a position of its own a game has another opening
                begun.setdefault(tuple(names[:length]), []).append(record)
    found = []
    for line, some in begun.items():
        distinct = len({record.moves for record in some})
        found.append(Opening(line, len(some), *wilson(sum(map(_share, some)), len(some), distinct)))
    return sorted(found, key=lambda opening: (len(opening.moves), -opening.games, opening.moves))


def wilson(points: float, games: int, distinct: int | None = None) -> tuple[float, float, float]:
    """A share with its 95 % interval, which never leaves [0, 1]; `distinct` games tell something, where not all do:
    players without luck play the same game again."""
    share, weight = points / games, NINETY_FIVE**2 / (distinct or games)
    middle = (share + weight / 2) / (1 + weight)
    spread = math.sqrt(share * (1 - share) * weight + weight**2 / 4) / (1 + weight)
    return share, middle - spread, middle + spread


def lines(found: Statistics, most: int = 10) -> list[str]:
    """The numbers as people read them; of the openings of each length the `most` frequent."""
    if not found.games:
        return [f"no finished games; {found.unfinished} unfinished"]
    out = [f"{found.games:,} finished games, {found.unfinished:,} unfinished"]
    for kind, number in found.results.items():
        taken = f", after {found.moves[kind]:.1f} moves on average" if number else ""
        out.append(f"{kind}: {number:,} ({number / found.games:.1%}){taken}")
    out.append(f"moves of a game: {found.moves['']:.1f} on average")
    again = ", ".join(f"{kind} {number}" for kind, number in found.repeated.items())
    out.append(f"the same as a game before: {sum(found.repeated.values())}{f' ({again})' if again else ''}")
    for length in sorted({len(opening.moves) for opening in found.openings}):
        out.append(f"{'first moves' if length == 1 else f'the first {length} moves'}, score of the first mover:")
        for opening in [opening for opening in found.openings if len(opening.moves) == length][:most]:
            share = f"{opening.score:.1%} ({opening.low:.1%} to {opening.high:.1%})"
            out.append(f"  {' '.join(opening.moves)}: {opening.games:,} games, {share}")
    return out
