"""Any two-player environment of pgx as a game: `jaxgo.adapters.pgx:othello` wherever a game is named.

pgx plays by the rules and decides who won; this file only turns its state round: seats instead of players (pgx draws
who begins), a result at the end instead of rewards along the way, planes when they are asked for. pgx itself is an
extra (`uv sync --extra benchmark`, or `pip install pgx`) and is imported when the first game is made, because it
makes arrays on import.
"""

import dataclasses
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float32, Int8, Int16, Num, UInt32

from jaxgo.core.errors import UsageError, check_settings
from jaxgo.core.game import EMPTY, Action, Game, Piece, check_ply_limit
from jaxgo.core.mix import well_mixed
from jaxgo.core.names import package

LONGEST = {"tic_tac_toe": 9, "connect_four": 42, "othello": 128, "hex": 122}  # plies, where pgx sets no limit
OTHERWISE = 512
# what says nothing of the rules, or is made from the rest
SILENT = ("observation", "legal_action_mask", "rewards", "current_player", "_step_count")


class PgxState(NamedTuple):
    inner: Any  # pgx's own state
    to_play: Int8[Array, ""]
    ply: Int16[Array, ""]
    first: Int8[Array, ""]  # pgx's number of the player on seat 0
    result: Float32[Array, "2"]  # of each seat, so far


@dataclasses.dataclass(frozen=True)
class PgxGame(Game[PgxState]):
    """One environment of pgx; `limit` ends longer games as they stand, 0: where pgx ends them."""

    env: str = "tic_tac_toe"
    limit: int = 0

    pieces = (EMPTY, Piece("X", 0), Piece("O", 1))
    ply_limit = "limit"

    def __post_init__(self) -> None:
        check_settings("PgxGame: ", self)
        check_ply_limit(self, f"{self.env} of pgx", "pgx's own limit")
        if self._env.num_players != 2:
            raise UsageError(f"{self.env} of pgx has {self._env.num_players} players; jaxgo plays games of two")
        if len(self._env.observation_shape) != 3:
            raise UsageError(
                f"{self.env} of pgx is seen as {self._env.observation_shape}, and not as planes of a board"
            )

    @property
    def _env(self) -> Any:
        return _make(self.env)

    @property
    def shape(self) -> tuple[int, int]:
        height, width, _ = self._env.observation_shape
        return int(height), int(width)

    @property
    def num_actions(self) -> int:
        return int(self._env.num_actions)

    @property
    def max_plies(self) -> int:
        rules = getattr(self._env, "_game", None)  # where pgx keeps the limit of a Go game
        return self.limit or LONGEST.get(self.env) or int(getattr(rules, "max_termination_steps", OTHERWISE))

    def init(self, key: Array) -> PgxState:
        inner = jax.tree.map(jnp.asarray, self._env.init(key))  # some begin with plain numbers, and go on with arrays
        first = inner.current_player.astype(jnp.int8)
        return PgxState(inner, jnp.int8(0), jnp.int16(0), first, jnp.zeros(2, jnp.float32))

    def legal(self, state: PgxState) -> Bool[Array, " A"]:
        # pgx calls every action legal at the end of a game
        return jnp.where(self.over(state), jnp.zeros(self.num_actions, bool), state.inner.legal_action_mask)

    def step(self, state: PgxState, action: Action) -> PgxState:
        inner = self._env.step(state.inner, action)
        rewards = inner.rewards.astype(jnp.float32)
        seats = jnp.stack([rewards[state.first], rewards[1 - state.first]])
        return PgxState(
            inner=inner,
            to_play=jnp.bitwise_xor(inner.current_player.astype(jnp.int8), state.first),
            ply=state.ply + jnp.int16(1),
            first=state.first,
            result=state.result + seats,
        )

    def over(self, state: PgxState) -> Bool[Array, ""]:
        return state.inner.terminated | state.inner.truncated | (state.ply >= jnp.int16(self.max_plies))

    def returns(self, state: PgxState) -> Float32[Array, "2"]:
        return jnp.clip(state.result, -1.0, 1.0)

    def observe(self, state: PgxState) -> Num[Array, "H W C"]:
        return state.inner.observation.astype(jnp.float32)

    def cells(self, state: PgxState) -> Int8[Array, " cells"]:
        """Stones, where the first two planes are those of the mover and of the other, as they are on most boards."""
        planes = state.inner.observation[..., :2].astype(bool)
        own, other = planes[..., 0].reshape(-1), planes[..., -1].reshape(-1)
        mover = jnp.int8(1) + state.to_play
        return jnp.where(own, mover, jnp.where(other, jnp.int8(3) - mover, jnp.int8(0))).astype(jnp.int8)

    def hash(self, state: PgxState) -> UInt32[Array, "2"]:
        """A mix of all numbers of pgx's state that decide the future."""
        words = [jnp.uint32(0x9E3779B9) + state.to_play.astype(jnp.uint32)]
        for path, leaf in jax.tree_util.tree_flatten_with_path(state.inner)[0]:
            named = any(getattr(part, "name", "") in SILENT for part in path)
            if not named and not jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
                words.append(_words(leaf))
        flat = jnp.concatenate([jnp.atleast_1d(word) for word in words])
        return jnp.stack([_mix(flat, jnp.uint32(seed)) for seed in (0x85EBCA6B, 0xC2B2AE35)])


class NoPgxGameError(UsageError, AttributeError):
    """A name of this module that is no game: the user's mistake, and no attribute to whoever looks for one."""


@functools.cache
def _make(name: str) -> Any:
    """pgx's environment; one for each name, because pgx compares them by identity."""
    pgx = package("pgx", f"the game {name} of pgx", "benchmark")
    if name not in pgx.available_envs():
        names = ", ".join(sorted(pgx.available_envs()))
        raise UsageError(f"pgx has no game {name!r}; it has: {names}")
    with jax.ensure_compile_time_eval():  # some environments make tables
        return pgx.make(name)


def _words(leaf: Array) -> UInt32[Array, " n"]:
    flat = leaf.reshape(-1)
    if jnp.issubdtype(flat.dtype, jnp.floating):
        flat = jax.lax.bitcast_convert_type(flat.astype(jnp.float32), jnp.uint32)
    return flat.astype(jnp.uint32)


def _mix(words: UInt32[Array, " n"], seed: UInt32[Array, ""]) -> UInt32[Array, ""]:
    """A sum of words, each mixed with its place."""
    place = jnp.asarray(np.arange(1, words.shape[0] + 1, dtype=np.uint32))
    word = (words + place * seed) ^ (place * jnp.uint32(0x27D4EB2F))
    return well_mixed(word).sum(dtype=jnp.uint32)


def __getattr__(name: str) -> PgxGame:
    """`jaxgo.adapters.pgx:othello` names a game of this module."""
    if name.startswith("_"):
        raise AttributeError(name)
    try:
        return PgxGame(name)
    except UsageError as error:
        raise NoPgxGameError(str(error)) from None
