"""Peg solitaire: counts, solutions of every figure, forward and backward, a plain reference at every ply."""

import numpy as np
import pytest
from explore import counts, explore
from reference.pegs import Pegs as Reference
from reference.pegs import jumps
from reference.replay import check_agreement
from support import Host, mostly_slow, perft_json, random_games

from jaxgo.core.errors import UsageError
from jaxgo.games import GAMES, make
from jaxgo.games.pegs import FIGURES, Pegs, figure_pegs
from jaxgo.games.pegs import jumps as needs

GOLDEN = perft_json()["peg_solitaire"]
CENTRAL = GOLDEN["central_game_33"]
FIGURE_GAMES = {
    "latin_cross (british_2, the article's log)": Pegs(figure="latin_cross"),
    "greek_cross (british_3)": Pegs(figure="greek_cross"),
    "tiny_diamond (british_5)": Pegs(figure="tiny_diamond"),
    "tiny_pyramid (british_7)": Pegs(figure="tiny_pyramid"),
    "french_cross (french_2)": Pegs(board="french", figure="greek_cross"),
}


def reference(game: Pegs) -> Reference:
    return Reference(game.board, np.flatnonzero(figure_pegs(game.board, game.figure)).tolist(), game.backward)


def won(layer) -> np.ndarray:
    return layer.returns[:, 0] == 1


@pytest.mark.parametrize("board", ["english", "french"])
def test_jumps_that_the_board_has_room_for(board):
    full, empty = needs(board, False)
    real = np.flatnonzero(empty.any(axis=1))
    assert len(real) == GOLDEN[f"jumps_{board}"]
    assert real.tolist() == sorted(jumps(Reference(board, []).holes))
    assert (full[~empty.any(axis=1)] == 2**32 - 1).all()


@pytest.mark.parametrize("name", GOLDEN["figures"])
def test_figures(name):
    game, golden = FIGURE_GAMES[name], GOLDEN["figures"][name]
    assert np.flatnonzero(figure_pegs(game.board, game.figure)).tolist() == golden["cells"]
    layers = explore(game)
    after = layers[1:]
    assert [int(layer.paths.sum()) for layer in after][: len(golden["perft"])] == golden["perft"]
    assert [len(layer.paths) for layer in after][: len(golden["distinct"])] == golden["distinct"]
    assert sum(len(layer.paths) for layer in after) == golden["states_seen"]
    solutions = counts(layers, won)
    assert solutions[0][0] == golden["solution_sequences"]
    first = [[int(a), int(solutions[1][c])] for a, c in zip(layers[0].action, layers[0].child, strict=True)]
    assert first == golden["first_jumps_and_solution_counts"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    mostly_slow(GOLDEN["figures"], [name for name in GOLDEN["figures"] if "british" in name and "diamond" not in name]),
)
def test_figures_backward(name):
    """As many ways lead back from the last peg to the figure as forward."""
    game = make("pegs", board=FIGURE_GAMES[name].board, figure=FIGURE_GAMES[name].figure, backward=True)
    layers = explore(game, thorough="diamond" in name)
    assert counts(layers, won)[0][0] == GOLDEN["figures"][name]["solution_sequences"]
    assert len(layers) == GOLDEN["figures"][name]["pegs"]


@pytest.mark.slow
def test_central_game_perft():
    layers = explore(Pegs(), 9)[1:]
    assert [int(layer.paths.sum()) for layer in layers] == CENTRAL["perft"]
    assert [len(layer.paths) for layer in layers] == CENTRAL["distinct"]


def test_a_solution_of_the_central_game_both_ways():
    actions = CENTRAL["solution_by_reverse_dfs"]["actions"]
    assert np.flatnonzero(figure_pegs("english", "central")).tolist() == CENTRAL["start"]
    forward = Host(GAMES["pegs"]).play(*actions)
    assert forward.result == 1
    assert forward.rows == "  ...  /  ...  /......./...o.../......./  ...  /  ...  "
    assert float(forward.transition.reward) == 1
    assert float(forward.transition.discount) == 0
    backward = Host(make("pegs", backward=True))
    for action in reversed(actions):
        assert backward.result is None
        backward.play(action)
        assert backward.state.to_play == 0
    assert backward.result == 1
    assert backward.rows == Host(GAMES["pegs"]).rows


def test_the_latin_cross_by_names():
    host = Host(GAMES["latincross"])
    assert [host.game.action_name(a) for a in host.legal()] == ["d5-d7", "d5-f5", "d5-b5", "d4-d2"]
    host.play(host.game.parse_action("D5-B5"))
    assert host.rows == "  ...  /  .o.  /.o..o../...o.../...o.../  ...  /  ...  "
    assert host.result is None
    assert float(host.transition.discount) == 1


def test_a_dead_end_is_lost():
    game = Pegs(figure="latin_cross")
    rows = "  ...  /  ...  /......./o.....o/......./  ...  /  ...  "
    assert Host.at(game, rows).result == -1
    assert Host.at(game, rows.replace("o.....o", "...o...")).result == 1
    assert Host.at(game, rows.replace("o.....o", "..o....")).result == -1, "one peg, but not in the centre"


def test_names():
    game = GAMES["pegs"]
    assert game.action_name(10 * 4 + 2) == "d6-d4"
    assert game.parse_action("D6-D4") == 42
    assert game.action_name(0) == "a7-n"


@pytest.mark.parametrize("figure", FIGURES)
@pytest.mark.parametrize("board", ["english", "french"])
def test_symmetries_keep_the_rules(board, figure):
    """Forward all eight; backward only those of the figure."""
    assert len(Pegs(board, figure).symmetries().cells) == 8
    pegs = figure_pegs(board, figure)
    squares = Pegs(board, figure).symmetries().cells
    keep = [tuple(row) for row in squares.tolist() if (pegs[row] == pegs).all()]
    assert [tuple(row) for row in Pegs(board, figure, backward=True).symmetries().cells.tolist()] == keep


@pytest.mark.parametrize(
    "game",
    mostly_slow(
        [GAMES["pegs"], GAMES["latincross"], Pegs("french", "central"), Pegs(figure="tiny_diamond", backward=True)],
        [GAMES["pegs"]],
    ),
    ids=["central", "latin cross", "french", "backward"],
)
def test_reference_agrees_at_every_ply(game):
    assert check_agreement(game, reference(game), random_games(game, 256)) > 256


def test_a_drawing_must_fit_the_board():
    french = Host(Pegs("french")).rows
    with pytest.raises(UsageError, match="english board"):
        Host.at(Pegs(), french)


def test_a_drawing_has_no_more_pegs_than_its_figure():
    """Or the game would be longer than the longest that there is."""
    with pytest.raises(UsageError, match="at most 6 pegs, not 32"):
        Host.at(Pegs(figure="latin_cross"), Host(Pegs()).rows)
