"""Games over the protocols, under a referee in a process of its own: what the engine side promises, counted.

`uv run benchmarks/protocols.py gtp --games 20`: GNU Go plays `jaxgo gtp`; counts protocol errors (forfeits) and games
whose two final scores differ. `uv run benchmarks/protocols.py gomocup --games 100 --move 0.1 1 5 --minutes 5`: `jaxgo
gomocup` plays itself; counts what is illegal, refused, not answered, and late by the referee's clock.
"""

import random
import shlex
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import harness
import jax
import numpy as np
import tyro

from jaxgo.arena.engines.process import Fault
from jaxgo.arena.engines.protocols import Engine, Limits
from jaxgo.arena.engines.referee import play_pairs
from jaxgo.arena.engines.specs import read_engine
from jaxgo.core.errors import UsageError
from jaxgo.frontends import board as boards
from jaxgo.games import make

GNUGO = "gnugo --mode gtp --level {level} --chinese-rules --positional-superko --capture-all-dead"
START = 300.0  # seconds to compile
PATIENCE, LEAST_PATIENCE = 10.0, 5.0  # times a move's limit, and seconds, after which an engine hangs


@dataclass(frozen=True)
class Gtp:
    """GNU Go against `jaxgo gtp`: two games of every opening."""

    games: int = 20
    agent: str = "uct:48"
    board: str = "go9"
    level: int = 1
    at_once: int = 1

    def run(self) -> Iterator[dict[str, Any]]:
        if shutil.which("gnugo") is None and shutil.which("gnugo", path="/usr/games") is None:
            raise UsageError("there is no GNU Go here; on Debian and Ubuntu: apt-get install gnugo")
        game = make(self.board, move_limit=800)
        ours = f"gtp:{shlex.quote(sys.executable)} -m jaxgo gtp {self.board} --agent {self.agent}"
        players = read_engine(f"gtp:{GNUGO.format(level=self.level)}", game), read_engine(ours, game)
        draw, pairs = random.Random(0), (self.games + 1) // 2
        lines = [draw.sample(range(game.points), 2) for _ in range(pairs)]
        ends = [boards.begin(game).play(a).play(b).now.position for a, b in lines]
        positions = jax.tree.map(lambda *rows: np.stack(rows), *ends)
        keys = jax.random.split(jax.random.key(0), pairs)
        limits = Limits(start=START, at_once=self.at_once)
        counts = {"games": 0, "protocol errors": 0, "scores differ": 0, "jaxgo won": 0, "plies": 0}
        for pair in play_pairs(players, game, lines, positions, keys, limits=limits):
            for side, played in enumerate(pair.games):
                counts["games"] += 1
                counts["plies"] += len(played.moves)
                counts["protocol errors"] += played.forfeit is not None
                counts["scores differ"] += played.forfeit is None and len(set(map(score, played.verdicts))) > 1
                counts["jaxgo won"] += played.result == (0.0 if side == 0 else 1.0)
                told = [game.action_name(action) for action in played.moves[-4:]]
                print(played.verdicts, played.forfeit or "", f"{len(played.moves)} moves, last {told}", file=sys.stderr)
        yield counts


def score(verdict: str) -> tuple[str, float]:
    """A score by its winner and its size: engines write `B+3` and `B+3.0`."""
    winner, _, size = verdict.upper().partition("+")
    return winner, float(size or 0)


@dataclass(frozen=True)
class Gomocup:
    """`jaxgo gomocup` against itself, each move timed from outside; a line for each time of a move."""

    games: int = 20
    move: tuple[float, ...] = (0.1,)
    """Seconds of a move."""
    minutes: float = 60.0
    """No game begins later than so long after the first, for each time of a move."""
    agent: str = "puct:5000"
    size: int = 15
    seed: int = 0
    """Of the openings."""

    def run(self) -> Iterator[dict[str, Any]]:
        for seconds in self.move:
            yield {"move": seconds} | self._match(seconds)

    def _match(self, seconds: float) -> dict[str, Any]:
        game = make("gomoku", size=self.size)
        limits = Limits(move=seconds, start=START, grace=max(LEAST_PATIENCE, PATIENCE * seconds))
        ours = read_engine(f"gomocup:{shlex.quote(sys.executable)} -m jaxgo gomocup --agent {self.agent}", game)
        counts = {"games": 0, "moves": 0, "late": 0, "illegal": 0, "refused": 0, "unanswered": 0, "crashes": 0}
        times, draw = [0.0], random.Random(self.seed)
        engines = [ours.open(game, limits) for _ in range(2)]
        until = time.monotonic() + 60 * self.minutes
        try:
            while counts["games"] < self.games and time.monotonic() < until:
                try:
                    for took in play_game(game, engines[:: -1 if counts["games"] % 2 else 1], draw):
                        times.append(took)
                        counts["moves"] += 1
                        counts["late"] += took > seconds
                except Fault as fault:
                    print(f"game {counts['games']} after {len(times)} moves: {fault}", file=sys.stderr)
                    counts[kind_of(fault)] += 1
                    for engine in engines:
                        engine.kill()
                    engines = [ours.open(game, limits) for _ in range(2)]
                counts["games"] += 1
        finally:
            for engine in engines:
                engine.close()
        slowest = {"median ms": 1000 * float(np.median(times)), "slowest ms": 1000 * max(times)}
        return counts | {name: round(value, 1) for name, value in slowest.items()}


def kind_of(fault: Fault) -> str:
    """Under which word a fault is counted."""
    words = {"illegal": "illegal", "refuses": "refused", "no answer": "unanswered"}
    return next((kind for word, kind in words.items() if word in str(fault)), "crashes")


def play_game(game: Any, seats: list[Engine], draw: random.Random) -> Iterator[float]:
    """One game from three stones drawn by chance; yields how long every move took, pipe and all."""
    board, moves = boards.begin(game), []
    for ply, action in enumerate(draw.sample(range(game.points), 3)):
        board = board.play(action)
        moves.append((ply % 2, action))
    for engine in seats:
        engine.begin(moves)
    while not board.over:
        seat = board.now.seat
        time.sleep(0.02)  # some engines drop what comes right behind their own move
        began = time.monotonic()
        action = seats[seat].choose(seat)
        yield time.monotonic() - began
        if action not in board.legal():
            raise Fault(f"illegal move {game.action_name(action)}")
        board = board.play(action)
        seats[1 - seat].told(seat, action)


@harness.told
def main() -> None:
    chosen: Gtp | Gomocup = tyro.extras.subcommand_cli_from_dict({"gtp": Gtp, "gomocup": Gomocup})
    for answer in chosen.run():
        harness.report(f"protocols/{type(chosen).__name__.lower()}", **vars(chosen) | answer)


if __name__ == "__main__":
    main()
