"""How fast and how small are the rules? Beside pgx in the same run, one JSON line for each question.

uv run --extra benchmark benchmarks/rules.py                    # everything
uv run --extra benchmark benchmarks/rules.py --only go9,bytes   # some questions
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import harness
import jax
import jax.numpy as jnp
import numpy as np
import pgx
import tyro

from jaxgo.core import choice, play
from jaxgo.core.errors import unknown_name
from jaxgo.core.game import Game, state_bytes
from jaxgo.games import GAMES

# our name, the name in pgx, games at once
DUELS = (
    ("go9", "go_9x9", 1024),
    ("go19", "go_19x19", 256),
    ("connect4", "connect_four", 1024),
    ("othello", "othello", 1024),
    ("hex11", "hex", 1024),
    ("chess", "chess", 1024),
    ("gardner", "gardner_chess", 1024),
)
# games at once when a game runs alone; big masks want fewer lanes, to stay in the processor's cache
BATCHES = {"go13": 512, "go19": 256, "maharajah": 128, "archimedes": 128}
BATCH = 1024
TICKS = {"go_19x19": 8}  # moves between two looks at the clock
FEW = 16  # games of pgx at a time that stay in a processor's cache
FLOOR = 200_000  # steps a second that no game should miss on two cores


@dataclass(frozen=True)
class Rules:
    """Measure the rules of the games."""

    only: str = ""
    """Questions, parted by commas: names of games, or duels, games, bytes, superko. Empty: all."""
    seconds: float = 2.0
    """How long each repetition lasts at least."""
    repetitions: int = 5
    """Repetitions of each program, in turns; the median counts."""


# -- random play: every lane plays one move a tick, whatever happens ------------------------------------------------
# A finished game is replaced by the start before its tick, so no tick is a restart and every counted step is a move.

Tick = Callable[[Any, Any], Any]  # (state of one game, word) -> state after one more random move


def node_tick(game: Game[Any]) -> tuple[Any, Tick]:
    """What a search does: states only, the legal mask of a state (simple ko)."""
    start = game.init(jax.random.key(0))

    def tick(state: Any, word: Any) -> Any:
        state = jax.tree.map(lambda a, b: jnp.where(game.over(state), a, b), start, state)
        return game.step(state, choice.pick(game.legal(state), word))

    return start, tick


def game_tick(game: Game[Any]) -> tuple[Any, Tick]:
    """What a game does: the history goes along, the legal mask is exact (strict superko)."""
    start = play.start(game, jax.random.key(0))

    def tick(position: Any, word: Any) -> Any:
        over = play.over(game, position)
        fresh = functools.partial(jax.tree.map, lambda a, b: jnp.where(over, a, b))
        state, past = position
        # the first key is the start's for ever: a fresh history forgets the other keys by its size, without a copy
        past = fresh(start.history._replace(keys=()), past._replace(keys=()))._replace(keys=past.keys)
        position = play.Position(fresh(start.state, state), past)
        return play.play(game, position, choice.pick(play.legal(game, position), word))[0]

    return start, tick


def pgx_tick(name: str) -> tuple[Any, Tick]:
    """The same with pgx: its own mask, our choice, the same restart."""
    env = pgx.make(name)
    start = jax.tree.map(jnp.asarray, env.init(jax.random.key(0)))  # Othello begins with plain numbers of Python

    def tick(state: Any, word: Any) -> Any:
        state = jax.tree.map(lambda a, b: jnp.where(state.terminated, a, b), start, state)
        return env.step(state, choice.pick(state.legal_action_mask, word))

    return start, tick


def player(start: Any, tick: Tick, batch: int, ticks: int, seconds: float, together: int = 0) -> harness.Program:
    """Compiled random play of `batch` games that goes on where the last repetition stopped; `together` so many games at
    a time, all `ticks` of one group before the next (0: all games)."""

    def played(first: Any, states: Any, lanes: Any) -> Any:
        words = jax.vmap(choice.word, in_axes=(None, 0))
        return jax.lax.fori_loop(0, ticks, lambda t, s: jax.vmap(tick)(s, words(first + t, lanes)), states)

    def run(first: Any, states: Any) -> Any:
        lanes = jnp.arange(batch)
        if not together:
            return played(first, states, lanes)
        groups = jax.tree.map(lambda x: x.reshape(-1, together, *x.shape[1:]), (states, lanes))
        done = jax.lax.map(lambda group: played(first, *group), groups)
        return jax.tree.map(lambda x: x.reshape(batch, *x.shape[2:]), done)

    program = jax.jit(run, donate_argnums=1)
    states = jax.tree.map(lambda x: jnp.repeat(x[None], batch, axis=0), start)
    states = jax.block_until_ready(program(jnp.int32(0), states))
    clock = ticks

    def chunk() -> Any:
        nonlocal states, clock
        states = program(jnp.int32(clock), states)
        clock += ticks
        return states

    return harness.rate(float(batch * ticks), chunk, seconds)


# -- the questions --------------------------------------------------------------------------------------------------


def duel(ours: str, theirs: str, batch: int, options: Rules) -> None:
    """Steps a second of one game in both libraries; on a processor also pgx with few games at a time."""
    game, ticks, batch = GAMES[ours], TICKS.get(theirs, 16), harness.wider(batch)
    entries = {"jaxgo": node_tick(game), "pgx": pgx_tick(theirs)}
    if game.repetition != "none":
        entries["jaxgo_exact"] = game_tick(game)
    programs = {k: player(*entry, batch, ticks, options.seconds) for k, entry in entries.items()}
    if jax.default_backend() == "cpu":
        programs["pgx_few"] = player(*entries["pgx"], batch, ticks, options.seconds, FEW)
    rates = harness.interleaved(programs, options.repetitions)
    ratios = {f"ratio_{k}": rates[k] / rates["pgx"] for k in rates if k != "pgx"}
    if "pgx_few" in rates:
        ratios["ratio_to_pgx_few"] = rates["jaxgo"] / rates["pgx_few"]
    harness.report(ours, batch=batch, **ratios, **{f"{k}_steps_s": v for k, v in rates.items()}, pgx=pgx.__version__)


def alone(name: str, options: Rules) -> None:
    """Steps a second of one game, repetition rules included."""
    game, batch = GAMES[name], harness.wider(BATCHES.get(name, BATCH))
    program = player(*game_tick(game), batch, 16, options.seconds)
    steps = harness.interleaved({name: program}, options.repetitions)[name]
    harness.report(f"games/{name}", batch=batch, steps_s=steps, below_floor=steps < FLOOR)


def sizes() -> None:
    """Bytes of a node's state in both libraries."""
    ours = {name: state_bytes(game) for name, game in GAMES.items()}
    theirs = {}
    for name, other, _ in DUELS:
        shapes = jax.eval_shape(pgx.make(other).init, jax.random.key(0))
        theirs[name] = sum(math.prod(x.shape) * _itemsize(x.dtype) for x in jax.tree.leaves(shapes))
    harness.report("bytes", jaxgo=ours, pgx=theirs)


def _itemsize(dtype: Any) -> int:
    return 8 if jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key) else np.dtype(dtype).itemsize


def superko(options: Rules, batch: int = 256, plies: int = 150) -> None:
    """The exact mask of 19x19 games in their middle, against the simple-ko mask of the same states."""
    game = GAMES["go19"]
    start, tick = game_tick(game)
    words = jax.vmap(choice.word, in_axes=(None, 0))
    advance = jax.jit(lambda t, p: jax.vmap(tick)(p, words(t, jnp.arange(batch))), donate_argnums=1)
    positions = jax.tree.map(lambda x: jnp.repeat(x[None], batch, axis=0), start)
    for t in range(plies):
        positions = advance(jnp.int32(t), positions)
    simple = jax.jit(jax.vmap(game.legal))
    exact = jax.jit(jax.vmap(functools.partial(play.legal, game)))
    jax.block_until_ready((simple(positions.state), exact(positions)))
    programs = {
        "simple": harness.rate(float(batch), lambda: simple(positions.state), options.seconds),
        "exact": harness.rate(float(batch), lambda: exact(positions), options.seconds),
    }
    rates = harness.interleaved(programs, options.repetitions)
    cost = rates["simple"] / rates["exact"]
    masks = {f"{name}_masks_s": value for name, value in rates.items()}
    harness.report("superko", batch=batch, plies=plies, cost=cost, **masks)


@harness.told
def main() -> None:
    options = tyro.cli(Rules, prog="benchmarks/rules.py")
    groups = ("duels", "games", "bytes", "superko")
    wanted = {name for name in options.only.split(",") if name} or set(groups)
    for name in sorted(wanted - set(groups) - set(GAMES)):
        raise unknown_name("question", name, [*groups, *GAMES])
    duels = {ours for ours, _, _ in DUELS}
    for ours, theirs, batch in DUELS:
        if ours in GAMES and ("duels" in wanted or ours in wanted):
            duel(ours, theirs, batch, options)
    for name in GAMES:
        if "games" in wanted or name in wanted - duels:
            alone(name, options)
    if "bytes" in wanted:
        sizes()
    if "superko" in wanted and "go19" in GAMES:
        superko(options)


if __name__ == "__main__":
    main()
