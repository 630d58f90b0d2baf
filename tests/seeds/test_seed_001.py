"""Seed 001, Zero+: each item of its checklist and what holds it, and tests of its personalities."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from seed_items import check

from jaxgo.core import play
from jaxgo.core.lanes import alone
from jaxgo.evaluators import Heuristic
from jaxgo.games import make
from jaxgo.players import load_player
from jaxgo.search import Model

RULES, THREATS, SESSION = "rules/test_gomoku.py", "rules/test_gomoku_threats.py", "frontends/test_session.py"
ALPHABETA = "search/test_alphabeta.py"
ITEMS = {
    "1.1 sizes and modes": (
        f"{RULES}::test_two_sizes_at_once",
        "frontends/test_play_page.py::test_another_game_and_its_options",
        "frontends/test_play_page.py::test_two_humans_play_a_game",
    ),
    "1.2 Zobrist keys": (f"{RULES}::test_the_hash_is_that_of_the_board", f"{RULES}::test_transpositions_share_a_key"),
    "1.3 a map from keys to scores": (
        f"{ALPHABETA}::test_every_trick_leaves_the_value_as_it_is",
        "search/test_memory.py::test_positions_of_one_hash_are_not_taken_for_each_other",
    ),
    "1.4 moves in order": (
        f"{ALPHABETA}::test_every_trick_leaves_the_value_as_it_is",
        "benchmarks/classical.py::tricks",
    ),
    "1.5 a point is worth what it is to both": (f"{THREATS}::test_scores_of_points",),
    "1.6 scores after a move": (f"{THREATS}::test_scores_of_points", "benchmarks/classical.py::evaluations"),
    "1.7 points near stones": (
        f"{THREATS}::test_points_far_from_all_stones_hardly_count",
        f"{THREATS}::test_the_first_stone_goes_to_the_centre",
        f"{ALPHABETA}::test_breadth_takes_the_likeliest",
    ),
    "1.8 lines through a point": (f"{THREATS}::test_lines_are_named_as_in_zero_plus",),
    "1.9 threats and their weights": (
        f"{THREATS}::test_weights",
        f"{THREATS}::test_weights_are_data_and_not_constants",
    ),
    "1.10 a table of lines": (f"{THREATS}::test_the_table_is_the_naming_of_lines",),
    "1.11 what a position is worth": (f"{THREATS}::test_the_heuristic_is_fair",),
    "1.12 personalities": (
        "seeds/test_seed_001.py::test_1_12_personalities_have_names_that_load_the_same_player",
        f"{THREATS}::test_a_point_can_count_for_the_side_that_gains_more_from_it",
        f"{ALPHABETA}::test_layers_are_the_depths_before_the_last",
        "search/test_threats.py::test_two_plies_alone_do_not_see_it",
        "benchmarks/classical.py::personalities",
    ),
    "1.13 the heuristic bot": (
        "seeds/test_seed_001.py::test_1_13_every_classical_player_takes_a_five_and_stops_one",
        "search/test_simple.py::test_greedy_draws_equals_and_takes_its_own_five_before_all_else",
    ),
    "1.14 alpha-beta": (
        f"{ALPHABETA}::test_every_trick_leaves_the_value_as_it_is",
        f"{ALPHABETA}::test_null_windows_and_all_tricks_are_brute_force_on_gomoku",
        f"{ALPHABETA}::test_ends_are_final_and_a_lost_side_holds_out",
    ),
    "1.15 null windows": (f"{ALPHABETA}::test_null_windows_and_all_tricks_are_brute_force_on_gomoku",),
    "1.16 threats beyond the horizon": (
        "search/test_threats.py::test_proofs_are_those_of_a_plain_search",
        "search/test_threats.py::test_forcing_moves_let_alpha_beta_see_beyond_the_horizon",
        "search/test_vct.py::test_proofs_are_those_of_a_plain_search_of_every_reply",
    ),
    "1.17 iterative deepening": (
        f"{ALPHABETA}::test_a_cut_search_is_that_of_the_last_whole_depth_and_goes_on_as_if_never_cut",
        "seeds/test_seed_001.py::test_1_17_odd_depths_flatter_who_moves",
    ),
    "1.18 tree search with candidates": ("benchmarks/classical.py::duels",),
    "1.19 tuning of weights": (
        "tuning/test_tuning.py::test_bad_weights_become_weights_that_beat_them_in_one_program",
        f"{THREATS}::test_weights_are_data_and_not_constants",
    ),
    "1.20 a network": (
        "training/test_learns.py::test_tic_tac_toe_is_learnt_from_nothing",
        "system/test_shipped.py::test_the_network_of_gomoku_beats_the_weights_that_people_set_for_its_threats",
    ),
    "1.21 games without end, saved": (
        "records/test_game_files.py::test_zero_plus_reads_and_writes_the_size_and_then_column_and_row",
        "arena/test_statistics.py::test_the_rules_say_how_a_game_ended_where_its_file_does_not",
        "frontends/test_play_page.py::test_games_follow_each_other_with_sides_changed",
        "arena/test_tournament.py::test_games_are_saved_as_they_were_played",
        "arena/test_tournament.py::test_a_killed_run_goes_on_and_ends_as_if_it_had_not_been",
    ),
    "1.22 statistics": (
        "arena/test_report.py::test_lengths_seats_and_repeated_games_are_told",
        "arena/test_statistics.py::test_ten_games_by_hand",
    ),
    "1.23 a live view": (
        "frontends/test_browser.py::test_numbers_change_while_it_thinks",
        "test_heat.py::test_shares_land_on_their_cells_and_are_drawn_there",
    ),
    "1.24 undo, redo, save, load": (
        f"{SESSION}::test_moves_are_played_taken_back_and_played_again",
        "frontends/test_play_page.py::test_a_game_is_saved_and_loaded_again",
        "frontends/test_terminal.py::test_words",
    ),
    "1.25 three and two joined win": (f"{RULES}::test_two_runs_joined_by_a_stone",),
    "1.26 further faults": (
        f"{THREATS}::test_faults_that_freestyle_mends",
        f"{RULES}::test_a_win_on_the_last_cell_is_no_draw",
    ),
    "1.27 no operating system is asked for": ("test_frame.py::test_lock_files_agree",),
}


def test_every_item_names_what_holds_it():
    check(ITEMS, "1.", 27)


GAME = make("gomoku", size=9)
# Black has a four that White stopped at one end; White has nothing
CLOSED_FOUR = ".........|.........|..OXXXX..|...O.....|....O....|.........|.........|.........|........."


def root(rows: str, seat: int):
    cells = np.array([".XO".index(stone) for stone in rows.replace("|", "")], np.int8)
    return alone(play.resume(GAME, GAME.place(cells, seat)))


def mover(spec: str):
    """What a player does in a position, by one program."""
    player = load_player(spec, GAME)
    run = jax.jit(lambda key, position: player.search.run(player.model, player.params, key, position).action)
    return lambda rows, seat: int(run(jax.random.key(0), root(rows, seat))[0])


PLAYERS = [
    "greedy",
    pytest.param("threats:50", marks=pytest.mark.slow),
    pytest.param("alphabeta:300,depth=2,breadth=6", marks=pytest.mark.slow),
    pytest.param("zeroplus:20", marks=pytest.mark.slow),
    pytest.param("chain:win+careful+random", marks=pytest.mark.slow),
]


@pytest.mark.slow
@pytest.mark.parametrize("spec", PLAYERS)
def test_1_13_every_classical_player_takes_a_five_and_stops_one(spec):
    move = mover(spec)
    assert move(CLOSED_FOUR, 0) == 2 * 9 + 7
    assert move(CLOSED_FOUR, 1) == 2 * 9 + 7


def test_1_12_personalities_have_names_that_load_the_same_player():
    for spec in (
        "alphabeta:20000,depth=6,breadth=12",
        "alphabeta:20000,breadth=12,quiescence=8,followed=0.5,layers=odd",
        "zerosum",
        "threats:500",
        "puct:100,breadth=8,threats=yes,vcf=40",
        "zeroplus:200",
        "zeromax",
    ):
        player = load_player(spec, GAME)
        assert load_player(player.name, GAME) == player


@pytest.mark.slow
def test_1_17_odd_depths_flatter_who_moves():
    """After one ply the mover's stone counts and the answer does not; after two the value is nearer to what it was."""
    model, known = Model(GAME, Heuristic()), jnp.asarray(GAME.knowledge())

    def drawn(key):
        position = model.start(key, 32)
        for ply in range(10):
            luck = jax.random.gumbel(jax.random.fold_in(key, ply), (32, GAME.num_actions))
            action = jnp.where(model.legal(position), luck, -jnp.inf).argmax(axis=1).astype(jnp.int32)
            position = model.play(position, action)[0]
        return position.state

    def deepened(state):
        points = jnp.arange(GAME.num_actions)

        def best(state):
            return jnp.where(GAME.legal(state), GAME.judge_moves(state, known, points)[0], -jnp.inf)

        two = jax.vmap(lambda action: -best(GAME.step(state, action)).max())(points)
        return GAME.heuristic(state), best(state).max(), jnp.where(GAME.legal(state), two, -jnp.inf).max()

    still, one, two = (np.asarray(x) for x in jax.jit(lambda key: jax.vmap(deepened)(drawn(key)))(jax.random.key(0)))
    assert (one - still).mean() > 0.02
    assert abs((two - still).mean()) < 0.5 * (one - still).mean()
