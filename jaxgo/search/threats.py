"""Proofs by moves that leave no choice: the attacker threatens to win at every move, the defender must answer.

In games of five in a row this is the victory by continuous fours (VCF). With `quiet` the attacker may also threaten a
double, a move that leaves two wins: this is the victory by continuous threats (VCT), by threes as well as fours. To a
four the blocks are the answers; to a three whatever may stop the double (`Game.stops`), and every four of the
defender's own. A proof holds against every defence: the answers that are left out lose. Without a proof nothing is
said. Seats must alternate.

All positions of a batch are searched side by side, each depth first on a stack of its own, one move of each at every
step; so a search can be cut after any number of nodes, and go on. A quiet one looks for short wins before longer ones:
its threats leave many answers, and a long chase of the first that comes would find nothing. Most attacks end after few
nodes and some take many, so of a wide batch on a processor only a few are searched side by side (`turns.py`).
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int8, Int32

from jaxgo.core import play
from jaxgo.core.choice import first_max
from jaxgo.core.game import Game, Threats
from jaxgo.core.lanes import column_of
from jaxgo.search import forcing, turns

DEPTH = 25  # plies of the longest proof
NONE = -1
OPEN, WON, FAILED = range(3)
ANY, LIKELY = 1, 2  # how much a move promises
BLOCK, THREE, FOUR, DOUBLE = range(1, 5)  # the same where threats may be quiet
SHORT, STEP = 7, 4  # plies of the first quiet search, and how many each next one has more
ABREAST, MANY = 8, 32  # attacks side by side on a processor, where there are more than many: it takes longer to compile


class Prover(NamedTuple):
    """Attacks under way: the attacker moves at even levels of the stack, the defender at odd ones."""

    states: Any  # [B, D, ...]
    moves: Int8[Array, "B D A"]  # what is still to be tried; 0: nothing
    now: Int32[Array, "B D"]  # the move that is tried
    line: Int32[Array, "B D D"]  # how the attacker wins from each level on; filled up with NONE
    level: Int32[Array, " B"]
    known: Int32[Array, " B"]  # of the node on top of the stack
    nodes: Int32[Array, " B"]
    first: Int8[Array, "B A"]  # the moves of the root
    limit: Int32[Array, " B"]  # levels of the stack that may be used
    cut: Bool[Array, " B"]  # whether something had to be left there

    @property
    def won(self) -> Bool[Array, " B"]:
        """Whether the side to move at the root is proven to win."""
        return (self.level == 0) & (self.known == WON)

    @property
    def ended(self) -> Bool[Array, " B"]:
        return (self.level == 0) & (self.known != OPEN) & ~self.short

    @property
    def short(self) -> Bool[Array, " B"]:
        """Whether there was nothing so far but because of the limit."""
        return (self.level == 0) & (self.known == FAILED) & self.cut & (self.limit < self.now.shape[1])


def begin(
    game: Game[Any],
    states: Any,
    legal: Bool[Array, "B A"],
    wanted: Bool[Array, " B"],
    depth: int,
    quiet: bool = False,
) -> Prover:
    """Attacks that begin at these positions, where `wanted`."""
    games = legal.shape[0]
    moves, known, win = _attack(jax.vmap(game.threats)(states), legal, quiet)
    column = functools.partial(column_of, places=depth)
    line = jnp.full((games, depth, depth), NONE, jnp.int32)
    return Prover(
        states=jax.tree.map(column, states),
        moves=column(moves),
        now=jnp.zeros((games, depth), jnp.int32),
        line=line.at[:, 0, 0].set(jnp.where(known == WON, win, NONE)),
        level=jnp.zeros(games, jnp.int32),
        known=jnp.where(wanted, known, FAILED),
        nodes=jnp.zeros(games, jnp.int32),
        first=moves,
        limit=jnp.full(games, min(SHORT, depth) if quiet else depth, jnp.int32),
        cut=jnp.zeros(games, bool),
    )


def go_on(game: Game[Any], prover: Prover, most: Int32[Array, " B"], quiet: bool = False, platform: str = "") -> Prover:
    """Searches until each attack is decided or has looked at `most` nodes; `quiet` is that of `begin`.

    The platform, where it is told, changes how long it takes, and nothing that is found.
    """
    games = most.shape[0]

    def active(p: Prover, places: Int32[Array, " W"]) -> Bool[Array, " W"]:
        return ~p.ended & (p.nodes < most[places])

    def step(p: Prover, places: Int32[Array, " W"]) -> Prover:
        p = _return(p, active(p, places))
        if quiet:
            p = _deepen(p, active(p, places))
        return _visit(game, p, active(p, places) & (p.known == OPEN), quiet)

    return turns.go_on(step, active, prover, turns.width_on(platform, games, ABREAST) if games > MANY else games)


def prove(
    game: Game[Any],
    states: Any,
    legal: Bool[Array, "B A"],
    wanted: Bool[Array, " B"],
    nodes: int,
    depth: int = DEPTH,
    quiet: bool = False,
    platform: str = "",
) -> tuple[Bool[Array, " B"], Int32[Array, " B"]]:
    """Whether the side to move is proven to win within so many nodes, and its first move."""
    prover = begin(game, states, legal, wanted, depth, quiet)
    prover = go_on(game, prover, jnp.full(wanted.shape, nodes, jnp.int32), quiet, platform)
    return prover.won, jnp.maximum(prover.line[:, 0, 0], 0)


def _attack(
    threats: Threats, legal: Bool[Array, "B A"], quiet: bool
) -> tuple[Int8[Array, "B A"], Int32[Array, " B"], Int32[Array, " B"]]:
    """The attacker's moves, what is known at once, and the winning move if there is one."""
    wins = threats.win[:, 0] & legal
    in_danger = threats.win[:, 1].any(axis=-1, keepdims=True)
    force = threats.force[:, 0] & legal
    moves = jnp.where(force, jnp.where(threats.double[:, 0], LIKELY, ANY), 0)
    if quiet:
        four = jnp.where(threats.double[:, 0], DOUBLE, FOUR)
        other = jnp.where(threats.build[:, 0], THREE, jnp.where(in_danger, BLOCK, 0))
        moves = jnp.where(legal, jnp.where(force, four, other), 0)
    free = ~in_danger & ~(threats.block & legal).any(axis=-1, keepdims=True)
    moves = jnp.where(threats.block | free, moves, 0).astype(jnp.int8)
    known = jnp.where(wins.any(axis=-1), WON, jnp.where((moves > 0).any(axis=-1), OPEN, FAILED))
    return moves, known, jnp.argmax(wins, axis=-1).astype(jnp.int32)


def _defence(
    threats: Threats, legal: Bool[Array, "B A"], stops: Bool[Array, "B A"] | None
) -> tuple[Int8[Array, "B A"], Int32[Array, " B"]]:
    """The defender's answers, and what is known at once. Who is not threatened need not answer.

    `stops` are the answers to the threat of a double; None: it is not counted as a threat.
    """
    answers, threatened = threats.block & legal, threats.win[:, 1].any(axis=-1)
    if stops is not None:
        answers = jnp.where(threatened[:, None], answers, forcing.answers_to_double(threats, legal, stops))
        threatened |= threats.double[:, 1].any(axis=-1)
    escapes = (threats.win[:, 0] & legal).any(axis=-1) | ~threatened
    known = jnp.where(escapes, FAILED, jnp.where(answers.any(axis=-1), OPEN, WON))
    return answers.astype(jnp.int8), known


def _return(p: Prover, active: Bool[Array, " B"]) -> Prover:
    """A decided node tells the one above: one winning attack is enough, and every answer must fail."""
    rows = jnp.arange(p.level.shape[0])
    up = active & (p.level > 0) & (p.known != OPEN)
    above = jnp.maximum(p.level - 1, 0)
    won, attacker = p.known == WON, above % 2 == 0
    more = (p.moves[rows, above] > 0).any(axis=-1)
    told = jnp.where(won, WON, FAILED)
    open_ = more & (attacker != won)
    below = p.line[rows, p.level]
    line = jnp.concatenate([p.now[rows, above][:, None], below[:, :-1]], axis=1)
    old = p.line[rows, above]
    longer = (line >= 0).sum(axis=1) > (old >= 0).sum(axis=1)
    keep = up & won & (attacker | longer)
    return p._replace(
        line=p.line.at[rows, jnp.where(keep, above, p.line.shape[1])].set(line, mode="drop"),
        level=jnp.where(up, above, p.level),
        known=jnp.where(up, jnp.where(open_, OPEN, told), p.known),
    )


def _deepen(p: Prover, active: Bool[Array, " B"]) -> Prover:
    """Attacks that found nothing within the limit begin again with a longer one."""
    again = active & p.short
    return p._replace(
        moves=p.moves.at[:, 0].set(jnp.where(again[:, None], p.first, p.moves[:, 0])),
        known=jnp.where(again, OPEN, p.known),
        limit=jnp.where(again, jnp.minimum(p.limit + STEP, p.now.shape[1]), p.limit),
        cut=p.cut & ~again,
    )


def _visit(game: Game[Any], p: Prover, ready: Bool[Array, " B"], quiet: bool) -> Prover:
    """Tries the next move of the node on top of the stack."""
    rows, top, depth = jnp.arange(p.level.shape[0]), p.level, p.now.shape[1]
    move = first_max(p.moves[rows, top].astype(jnp.float32))
    states = jax.tree.map(lambda x: x[rows, top], p.states)
    moved = jax.vmap(play.advance, in_axes=(None, 0, 0))(game, states, move)
    legal = jax.vmap(game.legal)(moved.state)
    over = jax.vmap(game.over)(moved.state)
    named = jax.vmap(game.threats)(moved.state)
    attacks, attack_known, win = _attack(named, legal, quiet)
    stops = jax.vmap(game.stops)(moved.state, legal) if quiet else None
    answers, defence_known = _defence(named, legal, stops)
    attacker = top % 2 == 1  # who moves below
    known = jnp.where(attacker, attack_known, defence_known)
    known = jnp.where(over, jnp.where(~attacker & (moved.reward > 0), WON, FAILED), known)
    cut = (top + 1 >= p.limit - 1) & (known == OPEN)
    known = jnp.where(cut, FAILED, known)
    first = jnp.where(attacker & ~over & (known == WON), win, NONE)
    line = jnp.full((rows.shape[0], depth), NONE, jnp.int32).at[:, 0].set(first)
    here, below = jnp.where(ready, top, depth), jnp.where(ready, top + 1, depth)

    def write(column: Array, values: Array) -> Array:
        return column.at[rows, below].set(values, mode="drop")

    moves = p.moves.at[rows, here, move].set(jnp.int8(0), mode="drop")
    return p._replace(
        states=jax.tree.map(write, p.states, moved.state),
        moves=write(moves, jnp.where(attacker[:, None], attacks, answers)),
        now=p.now.at[rows, here].set(move, mode="drop"),
        line=write(p.line, line),
        level=jnp.where(ready, top + 1, top),
        known=jnp.where(ready, known, p.known),
        nodes=p.nodes + ready.astype(jnp.int32),
        cut=p.cut | (cut & ready),
    )
