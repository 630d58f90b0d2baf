"""Proofs by continuous fours against a plain search of all of them, in freestyle and in renju."""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gomoku_states import drawn
from reference import fours
from reference.gomoku import Gomoku as Reference
from reference.gomoku import put
from support import mostly_slow

from jaxgo.core import play
from jaxgo.core.game import Threats
from jaxgo.core.lanes import alone
from jaxgo.evaluators import Heuristic
from jaxgo.games import make
from jaxgo.search import AlphaBeta, Attack, Gumbel, Model, Puct, Uct, forcing, threats

SIZE, LANES, DEPTH = 9, 32, 11


@functools.cache
def program(rules: str) -> Any:
    game = make("gomoku", size=SIZE, rules=rules)

    def prove(cells: Any, seats: Any, most: Any) -> Any:
        states = jax.vmap(functools.partial(drawn, game))(cells, seats)
        everyone = jnp.ones(LANES, bool)
        prover = threats.begin(game, states, jax.vmap(game.legal)(states), everyone, DEPTH)
        return threats.go_on(game, prover, jnp.full(LANES, most, jnp.int32))

    return jax.jit(prove)


@functools.cache
def boards() -> tuple[list[str], np.ndarray]:
    """Crowded boards on which nobody has five yet: random stones, near the middle."""
    rng = np.random.default_rng(8)
    found: list[str] = []
    while len(found) < LANES:
        cells = rng.choice(list(".XO"), size=SIZE * SIZE, p=[0.64, 0.18, 0.18])
        text = "".join(cells)
        if not any(Reference(SIZE).wins(text, c) for c, stone in enumerate(text) if stone != "."):
            found.append(text)
    return found, np.arange(LANES, dtype=np.int8) % 2


@pytest.mark.slow
def test_attacks_that_take_turns_find_the_same():
    """A wide batch on a processor: attacks make room for each other when they end, and nothing else changes."""
    game, copies = make("gomoku", size=SIZE), 2
    texts, seats = boards()
    cells = np.tile(np.array([[".XO".index(c) for c in text] for text in texts], np.int8), (copies, 1))
    everyone = np.ones(len(cells), bool)
    # the copies have other budgets, so that no two of a place are the same search
    most = np.where(np.arange(len(cells)) < len(texts), 40, 7).astype(np.int32)
    assert len(cells) > threats.MANY > threats.ABREAST

    def prove(platform: str) -> Any:
        states = jax.vmap(functools.partial(drawn, game))(jnp.asarray(cells), jnp.tile(seats, copies))
        prover = threats.begin(game, states, jax.vmap(game.legal)(states), jnp.asarray(everyone), DEPTH)
        return threats.go_on(game, prover, jnp.asarray(most), platform=platform)

    side_by_side, in_turns = (jax.jit(functools.partial(prove, name))() for name in ("gpu", "cpu"))
    assert 0 < side_by_side.won.sum() < len(cells)
    assert len(set(side_by_side.nodes.tolist())) > 5
    jax.tree.map(np.testing.assert_array_equal, side_by_side, in_turns)


def named(**cells: tuple[int, ...]) -> Threats:
    """What a game of four cells names: `win` is the mover's, `win_` the other seat's."""

    def row(name: str) -> np.ndarray:
        return np.isin(np.arange(4), cells.get(name, ()))

    both = {name: np.stack([row(name), row(name + "_")])[None] for name in ("win", "force", "double", "build")}
    return jax.tree.map(jnp.asarray, Threats(**both, block=row("block")[None]))


def test_the_attacker_moves_where_he_threatens_and_meets_what_threatens_him():
    """First the moves in their order of promise, then what is known at once."""
    legal = jnp.array([[True, True, True, False]])

    def attack(quiet: bool = False, **cells: tuple[int, ...]) -> tuple[list[int], int]:
        moves, known, _ = threats._attack(named(**cells), legal, quiet)
        return moves[0].tolist(), int(known[0])

    any_, likely = threats.ANY, threats.LIKELY
    assert attack(force=(1, 2, 3), double=(2,)) == ([0, any_, likely, 0], threats.OPEN)
    assert attack(force=(1, 2), block=(0, 2), win_=(0,)) == ([0, 0, any_, 0], threats.OPEN)
    assert attack(force=(1,), block=(0,), win_=(0,)) == ([0, 0, 0, 0], threats.FAILED)
    assert attack(win=(1,), block=(0,), win_=(0,))[1] == threats.WON
    assert attack(win=(3,))[1] == threats.FAILED, "that move is not legal"
    assert attack(quiet=True, force=(1,), build=(0, 1, 2), double=(3,)) == (
        [threats.THREE, threats.FOUR, threats.THREE, 0],
        threats.OPEN,
    )
    assert attack(quiet=True, block=(0, 2), build=(1,), win_=(0,)) == ([threats.BLOCK, 0, threats.BLOCK, 0], 0)


def test_the_defender_answers_threats_alone_and_is_lost_without_an_answer():
    legal = jnp.array([[True, True, True, False]])

    def defence(stops: tuple[int, ...] | None = None, **cells: tuple[int, ...]) -> tuple[list[int], int]:
        may = None if stops is None else jnp.isin(jnp.arange(4), jnp.array(stops))[None]
        answers, known = threats._defence(named(**cells), legal, may)
        return np.flatnonzero(answers[0]).tolist(), int(known[0])

    assert defence(win_=(0,), block=(0, 2, 3)) == ([0, 2], threats.OPEN)
    assert defence(win_=(3,), block=(3,)) == ([], threats.WON)
    assert defence(win_=(0,), win=(1,), block=(0,))[1] == threats.FAILED, "who wins at once need not answer"
    assert defence(block=(0,))[1] == threats.FAILED, "nothing is threatened"
    assert defence(double_=(1,), block=(0,))[1] == threats.FAILED, "a double is no four"
    assert defence(stops=(1, 3), double_=(1,), force=(2,)) == ([1, 2], threats.OPEN)
    assert defence(stops=(1, 2), win_=(0,), block=(0,), force=(2,)) == ([0], threats.OPEN)
    assert defence(stops=(3,), double_=(3,)) == ([], threats.WON)


def test_the_moves_that_count_are_wins_else_blocks_else_all():
    legal = jnp.array([[True, True, True, False]])

    def among(**cells: tuple[int, ...]) -> tuple[list[int], bool]:
        known = named(**cells)
        return np.flatnonzero(forcing.among(known, legal)[0]).tolist(), bool(forcing.must(known, legal)[0])

    assert among(force=(1,), force_=(2,)) == ([0, 1, 2], False)
    assert among(force=(1,), block=(0,)) == ([0], False), "the others would give the other seat a win that it lacks"
    assert among(win=(1, 3), win_=(0,), block=(0,)) == ([1], True)
    assert among(win=(3,), win_=(0,), block=(0, 2, 3)) == ([0, 2], True)
    assert among(win_=(3,), block=(3,)) == ([0, 1, 2], True), "nothing helps, and a move is made all the same"


def test_who_keeps_doubles_off_stops_them_or_forces_where_nothing_is_nearer():
    legal = jnp.array([[True, True, True, False]])

    def among(stops: tuple[int, ...], **cells: tuple[int, ...]) -> list[int]:
        may = jnp.isin(jnp.arange(4), jnp.array(stops))[None]
        return np.flatnonzero(forcing.among(named(**cells), legal, may)[0]).tolist()

    assert among((1, 3), double_=(1,)) == [1]
    assert among((1, 3), double_=(1,), force=(2, 3)) == [1, 2]
    assert among((1,), double=(0,)) == [0, 1, 2], "a double of one's own is nothing to stop"
    assert among((1,), double_=(1,), win_=(0,), block=(0,)) == [0], "a win of the other seat comes first"
    assert among((1,), double_=(1,), win=(2,)) == [2]
    assert among((3,), double_=(3,)) == [0, 1, 2], "nothing helps, and a move is made all the same"


@pytest.mark.slow
@pytest.mark.parametrize("rules", ["freestyle", "standard", "renju"])
def test_moves_that_leave_a_double_lose_in_plain_python(rules):
    """Whatever `doubles` leaves out and `threats` does not: the other seat then wins by a four and a five."""
    game, plain = make("gomoku", size=SIZE, rules=rules), Reference(SIZE, rules=rules)
    texts, seats = boards()
    cells = np.array([[".XO".index(c) for c in text] for text in texts], np.int8)

    @jax.jit
    def counting(cells: Any, seats: Any) -> Any:
        states = jax.vmap(functools.partial(drawn, game))(cells, seats)
        legal = jax.vmap(game.legal)(states)
        return [forcing.narrowed(game, states, legal, doubles) for doubles in (False, True)]

    before, after = map(np.asarray, counting(cells, seats))
    assert not (after & ~before).any()
    assert after.any(axis=1).all()
    left_out = 0
    for lane, cell in np.argwhere(before & ~after):
        mine, yours = "XO" if seats[lane] == 0 else "OX"
        line = fours.wins(plain, put(texts[lane], int(cell), mine), yours, 3, [10_000])
        assert line is not None, f"{texts[lane]}: {mine} at {cell}"
        left_out += 1
    assert left_out > 100


def test_a_line_is_that_of_the_longest_defence():
    """A defender whose answer has just lost: is that line kept, and not the one that an answer before it led to?"""

    def line(below: list[int], before: list[int], level: int) -> list[int]:
        lines = jnp.full((1, 4, 4), threats.NONE, jnp.int32)
        lines = lines.at[0, level].set(jnp.array(below)).at[0, level - 1].set(jnp.array(before))
        prover = threats.Prover(
            states=(),
            moves=jnp.zeros((1, 4, 4), jnp.int8),
            now=jnp.full((1, 4), 2, jnp.int32),
            line=lines,
            level=jnp.array([level], jnp.int32),
            known=jnp.array([threats.WON], jnp.int32),
            nodes=jnp.array([9], jnp.int32),
            first=jnp.zeros((1, 4), jnp.int8),
            limit=jnp.array([4], jnp.int32),
            cut=jnp.array([False]),
        )
        told = threats._return(prover, jnp.array([True]))
        assert (told.level.tolist(), told.known.tolist()) == ([level - 1], [threats.WON])
        return told.line[0, level - 1].tolist()

    assert line([0, 1, 2, -1], [3, -1, -1, -1], level=2) == [2, 0, 1, 2]
    assert line([0, -1, -1, -1], [3, 2, 1, -1], level=2) == [3, 2, 1, -1]
    assert line([0, -1, -1, -1], [3, 2, 1, -1], level=1) == [2, 0, -1, -1], "the attacker takes what wins"


def numbers(texts: list[str]) -> np.ndarray:
    return np.array([[".XO".index(c) for c in text] for text in texts], np.int8)


@pytest.mark.parametrize("rules", mostly_slow(["freestyle", "renju"], ["freestyle"]))
def test_proofs_are_those_of_a_plain_search(rules):
    reference = Reference(SIZE, rules)
    texts, seats = boards()
    proof = jax.device_get(program(rules)(numbers(texts), seats, 100_000))
    found = np.asarray((proof.level == 0) & (proof.known == threats.WON))
    expected = [fours.wins(reference, t, "XO"[s], DEPTH, [3000]) for t, s in zip(texts, seats.tolist(), strict=True)]
    assert found.tolist() == [line is not None for line in expected]
    long = [len(line) for line in expected if line]
    assert 5 < len(long) < LANES - 5
    assert max(long) >= 5
    for text, seat, won, lines in zip(texts, seats.tolist(), found, proof.line, strict=True):
        line = [int(move) for move in lines[0] if move >= 0]
        assert bool(line) == won
        if won:
            follow(reference, text, "XO"[seat], line)


def follow(reference: Any, cells: str, stone: str, line: list[int]) -> None:
    """Every move is legal, every attack but the last threatens a five, and the end is one, or cannot be answered."""
    enemy = "O" if stone == "X" else "X"
    for ply, move in enumerate(line):
        mover = (stone, enemy)[ply % 2]
        assert fours.may(reference, cells, move, mover)
        cells = put(cells, move, mover)
        if ply % 2 == 0 and ply + 1 < len(line):
            assert line[ply + 1] in fours.fives(reference, cells, stone)
    if not reference.wins(cells, line[-1]):
        threatened = fours.fives(reference, cells, stone)
        assert threatened
        assert not any(fours.may(reference, cells, cell, enemy) for cell in threatened)


def test_a_search_that_is_cut_says_nothing_wrong():
    texts, seats = boards()
    whole = jax.device_get(program("freestyle")(numbers(texts), seats, 100_000))
    cut = jax.device_get(program("freestyle")(numbers(texts), seats, 2))
    won = (cut.level == 0) & (cut.known == threats.WON)
    assert (cut.nodes <= 2).all()
    assert 0 < won.sum() < ((whole.level == 0) & (whole.known == threats.WON)).sum()
    assert ((whole.known == threats.WON) | ~won).all()


SEARCHES = {
    "threats": Attack(),
    "uct": Uct(20, vcf=50),
    "puct": Puct(20, vcf=50),
    "gumbel": Gumbel(16, max_considered=2, vcf=50),
}

# X: an open three and a blocked three that cross; fours on both win, by force and in many ways, but not at once
FORCED_WIN = """
.........
.........
..XXX....
.....X...
.....X...
.....X.O.
.....O...
..O....O.
.........
"""


@functools.cache
def crossing() -> Any:
    game = make("gomoku", size=SIZE)
    return game, play.resume(game, game.place(numbers(["".join(FORCED_WIN.split())])[0], 0))


def won_by(search: Any) -> Any:
    """What a search makes of it, and whether the move it plays keeps the win by fours."""
    game, position = crossing()
    model = Model(game, Heuristic())
    root = alone(position)
    result = jax.device_get(jax.jit(lambda key: search.run(model, (), key, root))(jax.random.key(0)))
    cells = put("".join(FORCED_WIN.split()), int(result.action[0]), "X")
    line = fours.answered(Reference(SIZE), cells, "X", "O", fours.fives(Reference(SIZE), cells, "X"), 9, [1000])
    return result, bool(fours.fives(Reference(SIZE), cells, "X")) and line is not None


@pytest.mark.slow
@pytest.mark.parametrize("name", SEARCHES)
def test_proofs_serve_every_search(name):
    result, wins = won_by(SEARCHES[name])
    assert wins
    assert result.value[0] == 1.0 or name != "threats"
    assert result.policy[0].max() > 0.99  # nothing else is worth a thought


@pytest.mark.slow
@pytest.mark.parametrize("beyond", ["vcf", "quiescence"])
def test_forcing_moves_let_alpha_beta_see_beyond_the_horizon(beyond):
    search = AlphaBeta(depth=2, breadth=8, deepening=False, table=8)
    result, wins = won_by(dataclasses.replace(search, **{beyond: 50 if beyond == "vcf" else 8}))
    assert result.value[0] == 1.0
    assert wins


@pytest.mark.slow
def test_two_plies_alone_do_not_see_it():
    """With `followed=0` forcing moves are looked at for no position, which is as if they were not asked for."""
    alone = AlphaBeta(depth=2, breadth=8, deepening=False, table=8)
    result, _ = won_by(alone)
    assert result.value[0] < 1.0
    never, _ = won_by(dataclasses.replace(alone, quiescence=8, followed=0.0))
    assert never.value[0] == result.value[0]
    assert never.action[0] == result.action[0]
