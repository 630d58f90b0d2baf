"""Proofs by threes and fours against a plain search of every reply there is, in freestyle and in renju."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import quick
from gomoku_states import drawn
from reference import fours, threes
from reference.gomoku import Gomoku as Reference
from reference.gomoku import put

from jaxgo.core import play
from jaxgo.core.lanes import alone
from jaxgo.evaluators import Heuristic, Uniform
from jaxgo.games import make
from jaxgo.games.connect4 import ConnectFour
from jaxgo.search import Attack, Model, Puct, threats

SIZE, LANES, DEPTH, NODES = 9, 64, 7, 3_000
ASKED = 2  # positions of each kind that the plain search is asked about


@functools.cache
def program(rules: str) -> Any:
    """How positions are won, which are, and of which that is known."""
    game = make("gomoku", size=SIZE, rules=rules)

    def prove(cells: Any, seats: Any) -> Any:
        states, everyone = jax.vmap(functools.partial(drawn, game))(cells, seats), jnp.ones(LANES, bool)
        legal, most = jax.vmap(game.legal)(states), jnp.full(LANES, NODES, jnp.int32)
        prover = threats.begin(game, states, legal, everyone, DEPTH, quiet=True)
        prover = threats.go_on(game, prover, most, quiet=True)
        return prover.line[:, 0], prover.won, prover.ended

    return jax.jit(prove, compiler_options=quick.BRISK)


@functools.cache
def boards(rules: str) -> tuple[list[str], np.ndarray]:
    """Boards with some stones on which nobody can make a five at once."""
    rng, reference = np.random.default_rng(3), Reference(SIZE, rules)
    found: list[str] = []
    while len(found) < LANES:
        text = "".join(rng.choice(list(".XO"), size=SIZE * SIZE, p=[0.84, 0.1, 0.06]))
        over = any(Reference(SIZE).wins(text, c) for c, stone in enumerate(text) if stone != ".")
        if not over and not any(fours.fives(reference, text, stone) for stone in "XO"):
            found.append(text)
    return found, np.arange(LANES, dtype=np.int8) % 2


@pytest.mark.slow
@pytest.mark.parametrize("rules", ["freestyle", "renju"])
def test_proofs_are_those_of_a_plain_search_of_every_reply(rules):
    """Positions that threes win and fours do not, positions that fours win, and positions that are not won."""
    reference = Reference(SIZE, rules)
    texts, seats = boards(rules)
    cells = np.array([[".XO".index(c) for c in text] for text in texts], np.int8)
    lines, won, ended = jax.device_get(program(rules)(cells, seats))
    assert ended.mean() > 0.9
    asked = [0, 0, 0]
    for i, (text, seat) in enumerate(zip(texts, seats.tolist(), strict=True)):
        stone, budget = "XO"[seat], [4000]
        by_fours = fours.wins(reference, text, stone, DEPTH, [1000]) is not None
        assert won[i] or not by_fours or not ended[i]
        kind = int(won[i]) + by_fours
        if asked[kind] == ASKED or not ended[i]:
            continue
        moves = [int(move) for move in lines[i] if move >= 0]
        assert bool(moves) == won[i]
        if won[i]:
            # the first move wins against every reply; where two threats cannot be met at once a proof ends early
            after = put(text, moves[0], stone)
            assert threes.answered(reference, after, moves[0], stone, DEPTH + 4, budget) is not None or budget[0] < 0
            legal(reference, text, stone, moves)
        else:
            assert threes.wins(reference, text, stone, DEPTH, budget) is None, text
        asked[kind] += budget[0] >= 0
    assert asked[0] == asked[2] == ASKED
    assert asked[1] >= 1


def legal(reference: Any, cells: str, stone: str, line: list[int]) -> None:
    for ply, move in enumerate(line):
        mover = (stone, "O" if stone == "X" else "X")[ply % 2]
        assert fours.may(reference, cells, move, mover)
        cells = put(cells, move, mover)


# X: two pairs that cross in an empty point: a double three wins, no line of fours does
DOUBLE_THREE = """
.........
.........
....X....
....X....
..XX.....
.........
......OO.
.......O.
.......O.
"""


@pytest.mark.slow
def test_threats_with_threes_win_where_fours_do_not():
    game = make("gomoku", size=9)
    text = "".join(DOUBLE_THREE.split())
    position = play.resume(game, game.place(np.array([".XO".index(c) for c in text], np.int8), 0))
    root, model = alone(position), Model(game, Heuristic())
    assert fours.wins(Reference(9), text, "X", 9, [10**6]) is None
    search = Attack(simulations=3000, vct=True)

    def run(key: Any) -> Any:
        return search.extend(model, (), key, search.begin(model, (), key, root), 3000)

    state = jax.jit(run)(jax.random.key(0))
    assert search.result(jax.random.key(0), state).solved.all()
    line = [int(move) for move in np.asarray(state.line)[0] if move >= 0]
    assert len(line) >= 3
    legal(Reference(9), text, "X", line)


@pytest.mark.slow
def test_proofs_by_threes_serve_at_leaves():
    """A search that judges nothing but what is proven plays the first move of the proof, and thinks of no other."""
    game = make("gomoku", size=9)
    text = "".join(DOUBLE_THREE.split())
    position = play.resume(game, game.place(np.array([".XO".index(c) for c in text], np.int8), 0))
    root = alone(position)
    search, model = Puct(2, vct=3000), Model(game, Uniform())
    result = jax.jit(lambda key: search.run(model, (), key, root))(jax.random.key(0))
    assert result.policy.max() > 0.99
    after = put(text, int(result.action[0]), "X")
    assert threes.makes_three(Reference(9), text, int(result.action[0]), "X") or fours.fives(Reference(9), after, "X")


class Looking(ConnectFour):
    """A game of somebody's own, with threats, in which positions that come back are draws."""

    @property
    def repetition(self):
        return "draw"


def test_threats_prove_nothing_where_rules_look_back():
    """A move that was proven by them was taken for one that ends the game, and its value for a fact."""
    for game, proves in ((ConnectFour(), True), (Looking(), False)):
        assert Model(game, Uniform()).seen_by(Puct(vcf=20, vct=20)).narrowing.proves == proves
