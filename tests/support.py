"""Tools of many tests: whole batches of random games as numpy arrays, from one compiled program per game."""

import contextlib
import dataclasses
import functools
import json
import random
from collections.abc import Container, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
import pytest
import quick

from jaxgo.core import play
from jaxgo.core.game import Game

GOLDEN = Path(__file__).parent / "golden"


@contextlib.contextmanager
def compiling() -> Iterator[list[str]]:
    """An event for each program that XLA compiles meanwhile, in whatever thread."""
    seen: list[str] = []

    def listener(name: str, *_: Any, **__: Any) -> None:
        if name.endswith("backend_compile_duration"):
            seen.append(name)

    jax.monitoring.register_event_duration_secs_listener(listener)
    try:
        yield seen
    finally:
        jax.monitoring.unregister_event_duration_listener(listener)


@contextlib.contextmanager
def unchecked() -> Iterator[None]:
    """For tests that call a hundred thousand times what others check: looking at types would be most of their time."""
    jaxtyping.config.update("jaxtyping_disable", True)
    try:
        yield
    finally:
        jaxtyping.config.update("jaxtyping_disable", False)


def mostly_slow(values: Iterable[Any], quick: Container[Any]) -> list[Any]:
    """Parameters of a test of which only some run by default."""
    return [value if value in quick else _slow(value) for value in values]


def _slow(value: Any) -> Any:
    return pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.slow)


@functools.cache
def perft_json() -> Any:
    """Counts, playouts, positions and solved values made by plain programs (see tests/golden/README.md)."""
    return json.loads((GOLDEN / "perft.json").read_text())


class Host:
    """One game played move by move from Python, for tests that read like transcripts."""

    def __init__(self, game: Game[Any], position: Any = None):
        self.game = game
        self.position = start(game)(jax.random.key(0)) if position is None else position

    @classmethod
    def at(cls, game: Game[Any], rows: str, to_play: int = 0) -> "Host":
        """From a diagram whose rows are parted by `/`, in the glyphs of the game."""
        return cls(game, play.resume(game, game.place(codes(game, rows), to_play)))

    def legal(self) -> list[int]:
        return np.flatnonzero(np.asarray(legal(self.game)(self.position))).tolist()

    def play(self, *actions: int) -> "Host":
        for action in actions:
            assert action in self.legal(), f"{action} ({self.game.action_name(action)}) is not legal"
            self.position, self.transition = step(self.game)(self.position, jnp.int32(action))
        return self

    @property
    def state(self) -> Any:
        return self.position.state

    @property
    def over(self) -> bool:
        return bool(end(self.game)(self.position)[0])

    @property
    def result(self) -> float | None:
        """For player 0; None while the game runs."""
        over, returns = end(self.game)(self.position)
        return float(returns[0]) if over else None

    @property
    def planes(self) -> np.ndarray:
        """What a net sees."""
        return np.asarray(planes(self.game)(self.state))

    @property
    def heuristic(self) -> float:
        return float(heuristic(self.game)(self.state))

    @property
    def weights(self) -> np.ndarray:
        """Of all moves, legal or not."""
        return np.asarray(weights(self.game)(self.state))

    @property
    def rows(self) -> str:
        height, width = self.game.picture
        glyphs = [piece.glyph for piece in self.game.pieces]
        row = "".join(glyphs[code] for code in play.cells(self.game, self.state).tolist())
        return "/".join(row[r * width : (r + 1) * width] for r in range(height))


def codes(game: Game[Any], rows: str) -> np.ndarray:
    glyphs = [piece.glyph for piece in game.pieces]
    return np.array([glyphs.index(c) for c in rows.replace("/", "")], np.int8)


@functools.cache
def start(game: Game[Any]) -> Any:
    return jax.jit(lambda key: play.start(game, key))


@functools.cache
def step(game: Game[Any]) -> Any:
    return jax.jit(lambda position, action: play.play(game, position, action))


@functools.cache
def legal(game: Game[Any]) -> Any:
    return jax.jit(lambda position: play.legal(game, position))


@functools.cache
def planes(game: Game[Any]) -> Any:
    return jax.jit(game.observe)


@functools.cache
def heuristic(game: Game[Any]) -> Any:
    return jax.jit(game.heuristic)


@functools.cache
def weights(game: Game[Any]) -> Any:
    return jax.jit(game.move_weights)


@functools.cache
def end(game: Game[Any]) -> Any:
    """Whether a position is the end of a game, and the returns."""
    return jax.jit(lambda position: (play.over(game, position), play.returns(game, position)))


def check_playout(game: Game[Any], record: dict[str, Any], position: Any = None) -> Host:
    """Replays one playout of perft.json: the same legal counts, the same choice by rank, the same result."""
    host = Host(game, position)
    for ply, (action, count) in enumerate(zip(record["moves"], record["n_legal"], strict=True)):
        legal_now = host.legal()
        assert len(legal_now) == count, f"ply {ply}: {len(legal_now)} legal moves, expected {count}"
        assert action in legal_now, f"ply {ply}: {action} should be legal"
        host.play(action)
    assert host.result == record["result_p0"]
    return host


class Games(NamedTuple):
    """A batch of random games. The record at ply t is what was so before action t; lanes that ended stand still."""

    actions: np.ndarray  # int32 [T, B]
    live: np.ndarray  # bool [T, B]: action t was played
    legal_bits: np.ndarray  # uint8 [T, B, ceil(A/8)]: exact legal mask
    cells: np.ndarray  # int8 [T+1, B, cells]
    keys: np.ndarray  # uint32 [T+1, B, 2]
    to_play: np.ndarray  # int8 [T+1, B]
    rewards: np.ndarray  # float32 [T, B]
    discounts: np.ndarray  # float32 [T, B]
    returns: np.ndarray  # float32 [B, P]
    final: Any  # the positions at the end

    def legal(self, t: int, lane: int, actions: int) -> list[int]:
        return np.flatnonzero(np.unpackbits(self.legal_bits[t, lane], count=actions)).tolist()


def _tick(game: Game[Any], position: Any, key: jax.Array) -> tuple[Any, Any]:
    mask = play.legal(game, position)
    live = ~play.over(game, position)
    scores = jnp.where(mask, jax.random.uniform(key, mask.shape), -1.0)
    action = jnp.argmax(scores).astype(jnp.int32)
    after, moved = play.play(game, position, action)
    record = (action, live, jnp.packbits(mask), moved.reward, moved.discount)
    return after, record


def _look(game: Game[Any], position: Any) -> Any:
    return game.cells(position.state), game.hash(position.state), position.state.to_play


@functools.cache
def _batched(game: Game[Any], thorough: bool) -> Any:
    """start, tick, look and returns for a batch, compiled once whatever the seed."""
    compiled = functools.partial(jax.jit, compiler_options=quick.THOROUGH if thorough else None)
    return tuple(compiled(jax.vmap(functools.partial(f, game))) for f in (play.start, _tick, _look, play.returns))


@functools.cache
def random_games(
    game: Game[Any], games: int = 256, seed: int = 0, plies: int | None = None, thorough: bool = False
) -> Games:
    """Plays uniformly random games to the end (or for `plies`), recording everything at every ply.

    `thorough`: by programs that take longer to compile and less to run, for many games of dear rules.
    """
    begin, tick, look, result = _batched(game, thorough)
    key = jax.random.key(seed)
    positions = begin(jax.random.split(key, games))
    records, looks = [], [jax.device_get(look(positions))]
    for t in range(plies or game.max_plies):
        keys = jax.random.split(jax.random.fold_in(key, t + 1), games)
        positions, record = tick(positions, keys)
        records.append(jax.device_get(record))
        looks.append(jax.device_get(look(positions)))
        if not records[-1][1].any():
            break
    actions, live, bits, rewards, discounts = (np.stack(x) for x in zip(*records, strict=True))
    boards, zkeys, to_play = (np.stack(x) for x in zip(*looks, strict=True))
    last, returns = jax.device_get((positions, result(positions)))
    return Games(actions, live, bits, boards, zkeys, to_play, rewards, discounts, returns, last)


def perft(game: Game[Any], depth: int) -> list[int]:
    """Counts action sequences by breadth-first merging of equal positions (by the bytes of the whole position)."""
    legal = jax.jit(jax.vmap(functools.partial(play.legal, game)))
    actions = jnp.arange(game.num_actions)
    expand = jax.jit(jax.vmap(lambda p: jax.vmap(lambda a: play.play(game, p, a)[0])(actions)))
    width = max(1, 4096 // game.num_actions)
    level = {b"": (jax.device_get(start(game)(jax.random.key(0))), 1)}
    counts = []
    for ply in range(depth):
        following: dict[bytes, tuple[Any, int]] = {}
        entries, count = list(level.values()), 0
        for i in range(0, len(entries), width):
            chunk = entries[i : i + width]
            padded = [p for p, _ in chunk] + [chunk[-1][0]] * (width - len(chunk))
            positions = jax.tree.map(lambda *x: np.stack(x), *padded)
            mask = np.asarray(legal(positions))
            count += sum(times * int(mask[lane].sum()) for lane, (_, times) in enumerate(chunk))
            if ply == depth - 1:
                continue  # the last actions are counted, and what they lead to is not needed
            leaves, structure = jax.tree.flatten(jax.device_get(expand(positions)))
            for lane, (_, times) in enumerate(chunk):
                for action in np.flatnonzero(mask[lane]):
                    rows = [leaf[lane, action] for leaf in leaves]
                    name = b"".join(np.ascontiguousarray(row).tobytes() for row in rows)
                    old = following.get(name)
                    position = old[0] if old else jax.tree.unflatten(structure, rows)
                    following[name] = (position, (old[1] if old else 0) + times)
        level = following
        counts.append(count)
    return counts


def sample_lanes(games: Games, count: int, seed: int = 0) -> list[int]:
    lanes = games.actions.shape[1]
    return random.Random(seed).sample(range(lanes), min(count, lanes))


def untyped(kind: type, **fields: Any) -> Any:
    """A dataclass with these fields, made and checked as it is where nobody looks at types, which tests do."""
    made = object.__new__(kind)
    for field in dataclasses.fields(kind):
        object.__setattr__(made, field.name, fields.get(field.name, field.default))
    made.__post_init__()
    return made


def check_hashes(game: Game[Any], games: Games) -> None:
    """The hash of a drawn position is the one that was kept move by move, in the first and the last game."""
    for t in range(0, len(games.actions), 7):
        for lane in (0, -1):
            state = game.place(games.cells[t, lane], int(games.to_play[t, lane]))
            np.testing.assert_array_equal(game.hash(state), games.keys[t, lane])
