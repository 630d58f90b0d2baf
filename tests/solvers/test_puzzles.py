"""Solutions of puzzles: as short as plain Python finds them, and real when replayed."""

import dataclasses
import random
import shlex

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from judges import At, Bare
from reference.pegs import Pegs as PlainPegs
from reference.sliding import SlidingBlocks as PlainSliding
from reference.sliding import breadth_first
from support import Host, untyped

from jaxgo.cli import main as cli
from jaxgo.core import play
from jaxgo.core.errors import UsageError
from jaxgo.core.lanes import alone
from jaxgo.games import make, walking
from jaxgo.games.sliding import SlidingBlocks
from jaxgo.solvers.explore import Explorer, Room
from jaxgo.solvers.puzzles import solve_puzzle
from jaxgo.solvers.visited import Visited

SMALL = Room(batch=512)


def solves(game, moves, state=None) -> bool:
    """Whether these moves are legal one after the other and end the puzzle solved."""
    return Host(game, None if state is None else play.put(game, state)).play(*moves).result == 1.0


def test_the_table_gives_every_key_one_number_in_one_lane():
    rng = np.random.default_rng(0)
    keys = rng.integers(0, 400, 3000).astype(np.uint64) << np.uint64(40)  # few, so that batches repeat them
    keys[keys == 40] = 0
    table, known = Visited(1024), {}
    for part in np.split(keys, 6):
        found = table.insert(part)
        assert sorted(part[found.fresh].tolist()) == sorted(set(part.tolist()) - known.keys())
        for key, number in zip(part.tolist(), found.number.tolist(), strict=True):
            assert known.setdefault(key, number) == number
    assert sorted(known.values()) == list(range(table.total))
    assert table.by_number().tolist() == sorted(known, key=known.__getitem__)
    more = rng.integers(0, 2**63, 20_000).astype(np.uint64)  # the table grows
    assert table.insert(more).fresh.sum() == len(more)
    again = table.insert(np.concatenate([keys, more]))
    assert not again.fresh.any()
    assert again.number[: len(keys)].tolist() == [known[key] for key in keys.tolist()]
    assert sorted(again.number[len(keys) :].tolist()) == list(range(len(known), table.total))


@pytest.mark.slow
def test_hughes_puzzle_breadth_first_in_31_moves_with_equal_blocks_merged():
    game = make("hughe")
    found = solve_puzzle(game, method="breadth", room=SMALL)
    assert found.moves is not None
    assert len(found.moves) == breadth_first(PlainSliding(game.rows, game.goal), distinct=False).shortest == 31
    assert found.seen < 1138  # of all that can be reached, equal blocks being one
    assert solves(game, found.moves)


@pytest.mark.slow
def test_the_limit_of_plies_is_lifted(capsys):
    assert cli.main(["solve", "hughe", "--option", "max_plies=20", "--batch", "512"]) == 0
    assert "31 moves, none shorter" in capsys.readouterr().out


@pytest.mark.slow
def test_a_batch_that_no_program_holds_is_refused(capsys):
    assert cli.main(["solve", "hughe", "--batch", "100000000000"]) == 2
    assert "a batch of 100,000,000,000 positions is too large" in capsys.readouterr().err


def test_a_batch_whose_moves_int32_cannot_number_is_refused():
    with pytest.raises(UsageError, match="too large for 4,096 actions; at most 524,287"):
        Explorer(make("maharajah"), None, Room(batch=524_288))


@pytest.mark.parametrize("batch", ["9", 2.5, None])
def test_room_is_of_whole_numbers(batch):
    with pytest.raises(UsageError, match=r"Room: batch=.* is not a whole number"):
        untyped(Room, batch=batch)


@pytest.mark.slow
def test_astar_is_as_short_as_breadth_first_however_small_the_batch():
    game = make("slide8")
    for seed in (0, 3):
        plain = walked(PlainSliding("123/456/78.", game.goal), random.Random(seed), 60)
        drawn = [(".", *game.letters).index(letter) for letter in "".join(plain.rows)]
        state = game.place(np.array(drawn), 0)
        tight = solve_puzzle(game, state, room=Room(batch=32))
        assert tight.moves is not None
        assert len(tight.moves) == shortest_by_layers(plain)
        assert solves(game, tight.moves, state)


@dataclasses.dataclass(frozen=True)
class Pit(Bare):
    """Two actions of many lead to 2, which solves it; a third one falls, and below 0 nothing leads back."""

    dead: int = 2**30

    players = 1
    num_actions = 60_000
    max_plies = 50

    def legal(self, state):
        action = jnp.arange(self.num_actions)
        return (action == 0) | ((action == 40_000) & (state.at == 0)) | ((action == 50_000) & (state.at == 1))

    def step(self, state, action):
        at = jnp.where(action == 0, jnp.minimum(state.at, 0) - 1, state.at + 1)
        return At(jnp.maximum(at, -20).astype(jnp.int8), state.to_play, state.ply + jnp.int16(1))

    def over(self, state):
        return (state.at == 2) | (state.ply >= self.max_plies)

    def returns(self, state):
        return (state.at == 2).astype(jnp.float32)[None]

    def least_moves(self, state):
        return jnp.where(state.at < 0, jnp.int32(self.dead), 2 - state.at.astype(jnp.int32))


@pytest.mark.parametrize("dead", [2**30, 2**31 - 1])
def test_bounds_and_actions_may_be_large(dead):
    """A position that nothing leads back from has a large bound; it is looked at last, and not counted up to."""
    assert solve_puzzle(Pit(dead), room=Room(batch=4)).moves == [40_000, 50_000]


@pytest.mark.slow
@pytest.mark.parametrize("begin", [["--seed", "1"], ["--moves", "1-E"], ["--seed", "3", "--moves", "4-E"]])
def test_what_is_printed_can_be_shown(begin, capsys):
    """Wherever the puzzle began, the position and the moves lead `jaxgo show` to its end."""
    assert cli.main(["solve", "slide8", *begin]) == 0
    lines = capsys.readouterr().out.splitlines()
    (position,) = (shlex.split(line) for line in lines if line.startswith("--position "))
    moves = lines[next(number for number, line in enumerate(lines) if "none shorter" in line) + 1]
    assert cli.main(["show", "slide8", *position, "--moves", moves]) == 0
    assert "result for each seat: +1" in capsys.readouterr().out


@pytest.mark.slow
def test_walking_distances_never_say_too_much():
    assert (walking.walks(4, 4, 3).least < walking.FAR).sum() == 24_964  # as published
    assert walking.walks(30, 2, 29) is None  # at once: long puzzles go without
    game = SlidingBlocks("123/45.", "123/45.")
    plain, far = PlainSliding(game.rows, game.goal), {}
    layer, depth = [plain.rows], 0
    while layer:
        far |= dict.fromkeys(layer, depth)
        layer = list({plain.slide(rows, action) for rows in layer for action in plain.moves(rows)} - far.keys())
        depth += 1
    assert len(far) == 360
    boards = [[(".", *game.letters).index(letter) for letter in "".join(rows)] for rows in far]
    state = jax.vmap(game._state)(jnp.asarray(boards, jnp.int8))
    least = np.asarray(jax.jit(jax.vmap(game.least_moves))(state))
    steps = np.asarray(jax.jit(jax.vmap(game._steps))(state))
    depths = np.array(list(far.values()))
    assert (least <= depths).all()
    assert (least >= steps).all()
    assert least.mean() > steps.mean() + 0.5
    for rows, bound in zip(far, least.tolist(), strict=True):
        beside = [least[list(far).index(plain.slide(rows, a))] for a in plain.moves(rows)] if bound % 3 == 0 else []
        assert all(abs(int(other) - bound) <= 1 for other in beside)


def walked(plain: PlainSliding, rng: random.Random, moves: int) -> PlainSliding:
    """The puzzle as it stands after random moves."""
    for _ in range(moves):
        plain.rows = plain.slide(plain.rows, rng.choice(plain.moves(plain.rows)))
    return plain


def shortest_by_layers(plain: PlainSliding) -> int:
    """Moves to the solved position, by plain layers."""
    seen, layer, depth = {plain.rows}, [plain.rows], 0
    while not any(plain.solved(rows) for rows in layer):
        fresh = {plain.slide(rows, action) for rows in layer for action in plain.moves(rows)} - seen
        seen |= fresh
        layer, depth = list(fresh), depth + 1
    return depth


def solves_figure(game, backward: bool) -> None:
    """One peg is left, after as many jumps as that takes, and some ways came together."""
    found = solve_puzzle(game, backward=backward, room=SMALL)
    assert found.moves is not None
    assert len(found.moves) == int((play.cells(game, play.begin(game).state) == 1).sum()) - 1
    assert solves(game, found.moves)
    assert found.seen - 1 <= found.made
    assert found.again == 1 - (found.seen - 1) / found.made


@pytest.mark.slow
@pytest.mark.parametrize("backward", [False, True])
def test_the_latin_cross_forward_and_backward(backward):
    solves_figure(make("latincross"), backward)


@pytest.mark.slow
@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("figure", ["greek_cross", "tiny_diamond", "tiny_pyramid", "french"])
def test_other_figures_forward_and_backward(figure, backward):
    game = make("pegs", board="french", figure="greek_cross") if figure == "french" else make("pegs", figure=figure)
    solves_figure(game, backward)


def test_a_puzzle_is_solved_from_one_state_of_its_own():
    game = make("hughe")
    state = game.init(jax.random.key(0))
    for wrong in (alone(state), game):
        with pytest.raises(UsageError, match="solved from one state, without the axis of a batch"):
            solve_puzzle(game, wrong, room=SMALL)
    for other in ("klotski", "pegs"):
        with pytest.raises(UsageError, match=r"a position for SlidingBlocks is made of .*; give one of this game"):
            solve_puzzle(game, make(other).init(jax.random.key(0)), room=SMALL)


def test_what_cannot_be_solved_is_said_to_be():
    plain = PlainPegs("english", figure=[10, 38])
    game = make("latincross")
    stuck = game.place(
        np.where(np.isin(np.arange(49), [10, 38]), 1, np.where(np.isin(np.arange(49), sorted(plain.holes)), 0, 2)), 0
    )
    assert solve_puzzle(game, stuck, room=SMALL).moves is None
    with pytest.raises(UsageError, match="cannot be solved backward"):
        solve_puzzle(make("hughe"), backward=True)
    with pytest.raises(UsageError, match="only a puzzle"):
        solve_puzzle(make("tictactoe"))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["astar", "breadth"])
def test_klotski_in_116_moves(method):
    game = make("klotski")
    found = solve_puzzle(game, method=method, room=Room(batch=4096))
    assert found.moves is not None
    assert len(found.moves) == 116
    assert found.seen <= 25_955
    assert solves(game, found.moves)


KORF = [  # from a list of a hundred that is used everywhere, with the empty cell at home in the first corner
    (42, "0 1 9 7 11 13 5 3 14 12 4 2 8 6 10 15"),
    (45, "14 1 9 6 4 8 12 5 7 2 3 0 10 11 13 15"),
    (41, "13 8 14 3 9 1 0 7 15 5 4 10 12 2 6 11"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("moves", "tiles"), KORF)
def test_published_instances_of_the_15_puzzle(moves, tiles):
    game = SlidingBlocks(".123/4567/89ab/cdef", ".123/4567/89ab/cdef")
    state = game.place(np.array([int(tile) for tile in tiles.split()]), 0)
    found = solve_puzzle(game, state)
    assert found.moves is not None
    assert len(found.moves) == moves
    assert solves(game, found.moves, state)


@pytest.mark.slow
@pytest.mark.parametrize("backward", [False, True])
def test_english_peg_solitaire(backward):
    game = make("pegs")
    found = solve_puzzle(game, backward=backward, room=Room(batch=1024))
    assert found.moves is not None
    assert len(found.moves) == 31
    assert solves(game, found.moves)
