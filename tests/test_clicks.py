"""Every legal move of every game can be chosen by touching cells, alone or from a short list."""

import collections
import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import mostly_slow

from jaxgo.core import play
from jaxgo.core.game import EMPTY, Piece
from jaxgo.games import GAMES
from jaxgo.games.connect4 import ConnectFour
from jaxgo.games.mnk import Mnk
from jaxgo.ui import clicks

MENU = 4  # moves that may share their cells, such as promotions of a pawn
# moves of each kind; the other games have them, too
QUICK = ["connect3d", "dodgem3", "go5", "kono", "tictactoe"]
NAMES = mostly_slow(sorted(GAMES), QUICK)


@functools.cache
def programs(game):
    return (
        jax.jit(lambda p: (play.legal(game, p), play.over(game, p), game.cells(p.state))),
        jax.jit(lambda p, a: play.play(game, p, a)[0]),
        jax.jit(lambda key: play.start(game, key)),
    )


def positions(game, seed=0, count=5, most=40):
    """Some positions of a random game."""
    look, step, start = programs(game)
    rng, position = np.random.default_rng(seed), start(jax.random.key(seed))
    wanted = set(rng.choice(min(most, game.max_plies), min(count, game.max_plies), replace=False).tolist())
    for ply in range(min(most, game.max_plies)):
        legal, over, cells = look(position)
        if over:
            return
        actions = np.flatnonzero(legal)
        if ply in wanted:
            yield position.state, actions.tolist(), np.asarray(cells)
        position = step(position, jnp.int32(rng.choice(actions)))


def check(game, state, actions, codes):
    found = clicks.choices(game, state, actions)
    assert [choice.action for choice in found] == actions
    by_steps = collections.Counter(choice.steps for choice in found)
    for steps, count in by_steps.items():
        assert count <= MENU, f"{count} moves are chosen by {steps}"
    for choice in found:
        assert all(0 <= cell < len(codes) for step in choice.steps for cell in step)
        assert choice.at == -1 or choice.at in choice.steps[-1]
    return found


@pytest.mark.parametrize("name", NAMES)
def test_every_move_can_be_chosen(name):
    game = GAMES[name]
    for state, actions, codes in positions(game):
        found = check(game, state, actions, codes)
        without = [choice.name for choice in found if not choice.steps]
        assert set(without) <= {"pass", "fill-left", "fill-right", "white", "black", "more"}, without


def test_a_column_is_touched_anywhere():
    game = GAMES["connect4"]
    state = game.place(np.array([0] * 35 + [0, 0, 0, 1, 0, 0, 0], np.int8), 1)
    choice = clicks.choices(game, state, [3])[0]
    assert choice.steps == ((3, 10, 17, 24, 31, 38),)
    assert choice.at == 31, "above the disc that lies there"


def test_a_piece_that_is_nobodys_falls_as_others_do():
    @dataclasses.dataclass(frozen=True)
    class Shared(ConnectFour):
        pieces = (EMPTY, Piece("X", -1), Piece("O", -1))

    game = Shared()
    state = game.place(np.zeros(42, np.int8), 0)
    (choice,) = clicks.choices(game, state, [3])
    assert (choice.steps, choice.at) == (((3, 10, 17, 24, 31, 38),), 38)


def test_a_stack_is_touched_on_any_level():
    game = GAMES["scorefour"]
    state = programs(game)[2](jax.random.key(0)).state
    choice = clicks.choices(game, state, [0])[0]
    assert choice.steps == ((0, 5, 10, 15),), "a4 of four boards side by side, a column between two of them"
    assert choice.at == 0


def test_a_block_is_touched_and_then_where_it_goes():
    game = GAMES["klotski"]
    state = programs(game)[2](jax.random.key(0)).state
    names = {c.name: c for c in clicks.choices(game, state, np.flatnonzero(game.legal(state)).tolist())}
    assert names["i-E"].steps == ((16,), (17,))


def test_the_towers_own_square_then_its_target():
    game = GAMES["kamisado"]
    state = programs(game)[2](jax.random.key(0)).state
    choice = clicks.choices(game, state, [game.parse_action("orange-ahead-3")])[0]
    assert choice.steps == ((63,), (39,)), "h1 to h4"


def test_a_promotion_is_chosen_from_four():
    game = GAMES["chess"]
    state = game.from_fen("8/P5k1/8/8/8/8/8/4K2R w K -")
    found = {c.name: c for c in clicks.choices(game, state, np.flatnonzero(game.legal(state)).tolist())}
    assert {name for name, choice in found.items() if choice.steps == ((8,), (0,))} == {
        f"a7a8{kind}" for kind in "qrbn"
    }
    assert found["e1g1"].steps == ((60,), (62,)), "castling is the king's move"


def test_a_car_that_leaves_is_touched_alone():
    game = GAMES["dodgem3"]
    state = game.place(np.array([0, 1, 0, 0, 0, 0, 0, 0, 0], np.int8), 0)
    names = {c.name: c.steps for c in clicks.choices(game, state, np.flatnonzero(game.legal(state)).tolist())}
    assert names["b3-forward"] == ((1,),)
    assert names["b3-left"] == ((1,), (0,))


def test_a_game_from_outside_with_names_of_its_own():
    @dataclasses.dataclass(frozen=True)
    class Strange(Mnk):
        def action_name(self, action: int) -> str:
            return f"no-{action}"

    game = Strange(3, 3, 3)
    state = programs(game)[2](jax.random.key(0)).state
    assert [choice.steps for choice in clicks.choices(game, state, [0, 4])] == [((0,),), ((4,),)]


def test_a_line_is_drawn_board_by_board():
    game = GAMES["tictactoe"]
    state = programs(game)[2](jax.random.key(0)).state
    boards = clicks.boards_along(game, state, [4, 0], 8)
    assert boards.tolist() == [[0] * 4 + [1] + [0] * 4, [2] + [0] * 3 + [1] + [0] * 4]


def test_the_swap_of_hex_is_no_cell():
    """The cell where the stone would come to is another move, so the swap is a button."""
    game = GAMES["hex5"]
    state = game.place(np.eye(1, 25, 3, dtype=np.int8)[0], 1)
    swap = game.parse_action("swap")
    assert clicks.choices(game, state, [swap]) == [clicks.Choice(swap, "swap", (), -1)]
