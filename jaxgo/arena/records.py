"""What a match leaves behind: one JSON line for every pair of games, in a file that can be torn, resumed and merged.

Two games of one opening, with the seats swapped, are one observation: they are not independent, so the pair is what
is kept, and what ratings are fitted to. The id of a pair says which games it is, not how they ended: whoever plays it
again gets the same id, so a resumed run knows what it has, and merging two files is idempotent.
"""

import contextlib
import dataclasses
import functools
import hashlib
import importlib.metadata
import io
import json
import math
import os
import platform
import subprocess
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, get_type_hints

from jaxgo.core.errors import UsageError
from jaxgo.core.words import native, printable, read_value, split_setting
from jaxgo.system import files
from jaxgo.system.files import may_begin, read_json

HEAD = b'{"game":'  # how each line begins


@dataclasses.dataclass(frozen=True)
class PairResult:
    """Two games of one opening. Results are those of `a`: 1 won, 0.5 drawn, 0 lost (or a share of a win between)."""

    game: str  # its name in GAMES
    a: str  # the spec of an agent
    b: str
    first: float  # what `a` got on seat 0
    second: float  # what `a` got on seat 1
    id: str  # see `pair_id`; "": another pair than all others
    options: tuple[str, ...] = ()  # of the game, such as "komi=5.5"
    seed: int = 0
    number: int = 0  # of the opening among those of this seed
    opening: tuple[str, ...] = ()  # names of its moves
    temperature: float = 0.0  # of the first moves after it
    hot_plies: int = 0  # how many these are
    plies: tuple[int, int] = (0, 0)  # how long the first and the second game were
    checkpoints: tuple[str, str] = ("", "")  # hashes of a and b: search, evaluator, weights; "" where nobody knows
    lines: tuple[str, str] = ("", "")  # hashes of the moves of each game; "" where luck would make another one of it
    problems: tuple[str, ...] = ()  # such as "game 1: b forfeits, illegal move z9"
    commit: str = ""
    versions: tuple[str, ...] = ()  # such as "jax 0.12.0"
    time: str = ""  # UTC, ISO 8601

    @property
    def terms(self) -> tuple[str, ...]:
        """What was played besides the game itself, as it was typed."""
        return terms(self.options, self.temperature, self.hot_plies)

    @property
    def rules(self) -> tuple[Any, ...]:
        """What was played, however it was typed."""
        return rules(self.game, self.options, self.temperature, self.hot_plies)

    @property
    def score(self) -> float:
        """What `a` got in both games: 0, 0.5, 1, 1.5 or 2 where games are won, drawn or lost."""
        return self.first + self.second

    def seats(self, side: int) -> tuple[str, str]:
        """Who has seat 0 and seat 1 in the first (0) or the second (1) game."""
        return (self.a, self.b) if side == 0 else (self.b, self.a)

    def result(self, side: int) -> float:
        """What seat 0 got in that game, from 0 to 1."""
        return self.first if side == 0 else 1.0 - self.second

    def told(self, side: int, name: Callable[[str], str] = str) -> str:
        """That result in words; `name` may shorten who played."""
        first, second = map(name, self.seats(side))
        result = self.result(side)
        return {1.0: f"{first} won", 0.0: f"{second} won", 0.5: "drawn"}.get(result, f"{first} got {result:g}")

    @property
    def same_seat(self) -> bool:
        """Whether the opening was won by the same seat twice, whoever sat there."""
        return (self.first, self.second) in ((1.0, 0.0), (0.0, 1.0))


def terms(options: Sequence[str], temperature: float, hot_plies: int) -> tuple[str, ...]:
    """The options of a game, and the temperature of its first moves where they have one: it makes other players."""
    warm = temperature > 0 and hot_plies > 0
    return (*options, f"temperature={temperature}", f"hot_plies={hot_plies}") if warm else tuple(options)


def rules(game: str, options: Sequence[str], temperature: float, hot_plies: int) -> tuple[Any, ...]:
    """What is played, the same however it is typed: `suicide=yes` is `suicide=True`, `gomoku15` is `gomoku`, and an
    option that says what the game has anyway is none."""
    name, differ = _as_recorded(game, tuple(options))
    return name, *read_options(terms(differ, temperature, hot_plies))


@functools.lru_cache(maxsize=1024)
def _as_recorded(game: str, options: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    from jaxgo.games import GAMES  # who only writes results waits for no JAX
    from jaxgo.games.names import as_recorded

    if game in GAMES:  # no code that a file names is run
        with contextlib.suppress(UsageError):
            return as_recorded(game, options)
    return game, options


def read_options(options: Sequence[str]) -> list[tuple[str, Any]]:
    """Options of a game as names and values, in the order of their names."""
    settings = (split_setting(text) or (text, "") for text in options)
    return sorted(((name, read_value(value)) for name, value in settings), key=lambda setting: setting[0])


def pair_id(
    game: str,
    options: Sequence[str],
    a: str,
    b: str,
    *,
    seed: int,
    number: int,
    opening: Sequence[str] = (),
    checkpoints: Sequence[str] = ("", ""),
    temperature: tuple[float, int] = (0.0, 0),
) -> str:
    """Which two games these are, as 16 hexadecimal digits that are the same on every machine.

    `temperature` is that of the first moves, and how many these are.
    """
    what: list[object] = [game, sorted(options), a, b, seed, number, list(opening), list(checkpoints)]
    if temperature[0] > 0 and temperature[1] > 0:
        what.append(list(temperature))
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()[:16]


def line_hash(actions: Sequence[int]) -> str:
    """Which game this is, move for move from the start."""
    return hashlib.sha256(json.dumps([int(action) for action in actions]).encode()).hexdigest()[:16]


def once(results: Iterable[PairResult]) -> list[PairResult]:
    """The results without those that are there twice, by their ids, and without the pairs of which a game must be the
    same as one of a pair before.

    Players without luck play the same game again as soon as they meet a position again: from the same opening, or from
    one that goes on with the very moves that they had chosen. Of such pairs that of the lower number stays, in
    whatever order they were written.
    """
    pairs = merge(results)
    seen: set[tuple[tuple[str, str], tuple[str, str], str]] = set()
    again: set[int] = set()  # by their places: some have no id
    told = [place for place, pair in enumerate(pairs) if any(pair.lines)]
    for place in sorted(told, key=lambda place: (pairs[place].seed, pairs[place].number, pairs[place].id)):
        pair = pairs[place]
        a, b = zip((pair.a, pair.b), pair.checkpoints, strict=True)  # another player may have had the same name
        games = {(*seats, line) for seats, line in zip(((a, b), (b, a)), pair.lines, strict=True)}
        if games & seen:
            again.add(place)
        else:
            seen |= games
    return [pair for place, pair in enumerate(pairs) if place not in again]


def to_line(pair: PairResult) -> str:
    """One line of JSON, without its end of line."""
    return json.dumps(dataclasses.asdict(pair), separators=(",", ":"), default=native)  # scores of a match are numpy's


def from_line(text: str) -> PairResult:
    """The pair of a line; a ValueError says what is wrong with it. Fields that are not known are left out."""
    record = read_json(text)
    if "\\u" in text:  # half of a sign cannot be written to any file
        json.dumps(record, ensure_ascii=False).encode()
    if not isinstance(record, dict):
        raise ValueError("not a JSON object")
    fields = {field.name: field for field in dataclasses.fields(PairResult)}
    missing = [n for n, f in fields.items() if f.default is dataclasses.MISSING and n not in record]
    if missing:
        raise ValueError(f"no {', '.join(missing)}")
    known = {name: _read(name, value) for name, value in record.items() if name in fields}
    pair = PairResult(**known | {side: printable(known[side]) for side in ("a", "b")})
    if not all(0.0 <= result <= 1.0 for result in (pair.first, pair.second)):
        raise ValueError("first and second must be from 0 to 1")
    return pair


@functools.cache
def _kinds() -> dict[str, Any]:
    return get_type_hints(PairResult)


def _read(name: str, value: Any) -> Any:
    """The value of a field as its type, checked: a file may come from anywhere."""
    kind = _kinds()[name]
    if kind is float and isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    if kind in (str, int) and type(value) is kind:
        return value
    pair_of = {tuple[int, int]: int, tuple[str, str]: str}.get(kind)
    if isinstance(value, list):
        if pair_of and len(value) == 2 and all(type(v) is pair_of for v in value):
            return tuple(value)
        if kind == tuple[str, ...] and all(type(v) is str for v in value):
            return tuple(value)
    raise ValueError(f"{name} is {value!r}")


def read(path: str | os.PathLike[str]) -> list[PairResult]:
    """All pairs of a file, each id once. A last line that was cut short is left out; any other bad line is an error."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read the matches in {path}: {error.strerror}") from None
    lines = data.split(b"\n")
    pairs = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            pairs.append(from_line(line.decode()))
        except ValueError as error:  # of JSON, of UTF-8 and of the fields
            if number == len(lines) and _is_torn(line):
                break
            # where nothing before it is one, it may be a file of something else
            advice = "delete the line" if pairs else "name a file of results, such as `jaxgo eval` writes"
            raise UsageError(f"{path}, line {number} is no result of a pair ({error}); {advice}") from None
    return merge(pairs)


def _is_torn(line: bytes) -> bool:
    """Whether a line that cannot be read may be one of ours that was cut short, and not a line of somebody's file."""
    if not may_begin(line, HEAD):
        return False
    try:
        json.loads(line)
    except ValueError:
        return True
    return False  # it is whole, and wrong otherwise


def read_begun(path: Path) -> list[PairResult]:
    """All pairs of a file that may not have been begun: then there are none."""
    if not path.exists() or path.is_char_device():
        return []
    if not path.is_file():  # who wrote to a pipe would wait for its own words
        raise UsageError(f"{path} is no plain file, which a match reads before it adds its results; name another one")
    return read(path)


def merge(*files: Iterable[PairResult]) -> list[PairResult]:
    """All pairs of all files in their order, each id once: the first that was found."""
    found: dict[str, PairResult] = {}
    for pairs in files:
        for pair in pairs:
            old = found.setdefault(pair.id or f"nameless {len(found)}", pair)
            if (old.game, old.a, old.b, old.seed, old.number) != (pair.game, pair.a, pair.b, pair.seed, pair.number):
                raise UsageError(
                    f"two pairs have the id {pair.id!r}, number {old.number} of {old.a} and {old.b}, and {pair.number} "
                    f"of {pair.a} and {pair.b}; give each an id of its own, as records.pair_id does, or none"
                )
    return list(found.values())


def append(path: str | os.PathLike[str], pairs: Iterable[PairResult]) -> None:
    """Adds whole lines in one write, after cutting off a line that a killed run left unfinished."""
    data = "".join(to_line(pair) + "\n" for pair in pairs).encode()
    if not data:
        return
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        with open(path, "a+b", buffering=0) as file, files.locked(file):
            _mend(file)
            files.append(file, data)
    except OSError as error:
        raise UsageError(f"cannot write to {path}: {error.strerror}") from None


def _mend(file: io.FileIO) -> None:
    """Cuts the file back to its last whole line; a last line that only lacks its end gets it. Only ours is cut."""
    size = file.seek(0, io.SEEK_END)
    tail, start = b"", size
    while start > 0 and b"\n" not in tail:
        start = max(0, start - 65536)
        file.seek(start)
        tail = file.read(size - start)
    last = tail[tail.rfind(b"\n") + 1 :]
    if not last:
        return
    try:
        from_line(last.decode())
    except ValueError as error:
        if not _is_torn(last):
            raise UsageError(f"{file.name} ends in no result of a pair ({error}); name another file") from None
        file.truncate(size - len(last))
    else:
        file.write(b"\n")


@functools.cache
def commit() -> str:
    """The commit of the source that runs, with a + if files differ from it; "" for an installed package."""
    home = Path(__file__).parents[2]

    def git(*words: str) -> str:
        done = subprocess.run(["git", "-C", str(home), *words], capture_output=True, text=True, timeout=10, check=True)
        return done.stdout.strip()

    try:
        if not (home / ".git").exists():
            return ""
        changed = "+" if git("status", "--porcelain", "--untracked-files=no") else ""
        return git("rev-parse", "--short=12", "HEAD") + changed
    except (OSError, subprocess.SubprocessError):
        return ""


@functools.cache
def versions() -> tuple[str, ...]:
    """Of what results may depend on."""
    packages = tuple(f"{name} {importlib.metadata.version(name)}" for name in ("jaxgo", "jax", "jaxlib"))
    return (f"python {platform.python_version()}", *packages)
