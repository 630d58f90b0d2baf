"""Seed 003, Connect Four 3D: each item of its checklist and what holds it, and a test of its presets."""

import jax
import numpy as np
import pytest
from seed_items import check

from jaxgo.games import GAMES
from jaxgo.players import load_player

RULES, LEARNER = "rules/test_connect3d.py", "training/test_learner.py"
ITEMS = {
    "3.1 the game": (f"{RULES}::test_scoring_examples", f"{RULES}::test_playouts"),
    "3.2 tree search": ("search/test_analysis.py::test_outcomes_count_every_simulation",),
    "3.3 UCB with either logarithm": ("search/test_uct.py::test_the_bonus_is_that_of_ucb1",),
    "3.4 PUCT with its prior": (
        "search/test_puct.py::test_formula_of_the_text",
        "search/test_puct.py::test_formula_that_adds_the_prior",
        "seeds/test_seed_003.py::test_3_4_and_3_7_the_preset_has_its_prior_and_prunes",
    ),
    "3.5 the sign": ("search/test_signs.py::test_the_move_that_looks_best_is_refuted",),
    "3.6 connect and block": (f"{RULES}::test_connect_and_block_in_the_published_figure",),
    "3.7 dominant pruning": (
        f"{RULES}::test_dominant_pruning_is_what_play_shows",
        "seeds/test_seed_003.py::test_3_4_and_3_7_the_preset_has_its_prior_and_prunes",
    ),
    "3.8 stronger by pruning and prior": ("benchmarks/classical.py::duels",),
    "3.9 openings": ("arena/test_statistics.py::test_openings_by_hand", "benchmarks/classical.py::first_moves"),
    "3.10 planes of the root, choice by value": (
        "rules/test_connect3d.py::test_a_lead_may_be_part_of_the_result",
        "test_heat.py::test_shares_land_on_their_cells_and_are_drawn_there",
        "search/test_uct.py::test_a_mixed_choice_weighs_results_and_belief",
    ),
    "3.11 actor, learner, memory": (
        "training/test_loop.py::test_a_run_reports_saves_judges_and_can_be_played_against",
        "training/test_train_cli.py::test_a_killed_run_goes_on_to_the_same_numbers",
    ),
    "3.12 the network": ("training/test_nets.py::test_sizes_reach_from_ten_thousand_to_fifty_million",),
    "3.13 the loss": (
        f"{LEARNER}::test_learning_lowers_every_part_of_the_loss_and_the_average_follows",
        f"{LEARNER}::test_sgd_learns_too_in_one_trace",
    ),
    "3.14 the curves": (
        f"{LEARNER}::test_learning_lowers_every_part_of_the_loss_and_the_average_follows",
        "test_report_curves.py::test_curves_have_the_colour_of_the_words_and_no_ground",
    ),
    "3.15 positions a day": ("benchmarks/training.py::main",),
    "3.16 tree search comes to minimax": (
        "search/test_solver.py::test_late_tictactoe_is_played_perfectly_everywhere",
        "search/test_solver.py::test_dodgem_wins_within_three_plies_are_found",
    ),
    "3.17 pictures and plots": (
        "test_board_view.py::test_every_game_has_both_views",
        "test_heat.py::test_shares_land_on_their_cells_and_are_drawn_there",
        "arena/test_notation.py::test_show_tells_the_notation",
    ),
    "3.18 what its authors had still to do": (
        "test_frame.py::test_importing_jaxgo_costs_no_more_than_importing_jax",
        "training/test_train_cli.py::test_a_preset_and_its_settings_are_read",
    ),
    "3.19 time for a move, games with pictures": (
        "arena/test_engine_contests.py::test_players_by_the_clock",
        "search/test_think.py::test_a_limit_of_time_is_kept_within_one_chunk",
        "arena/test_page.py::test_games_are_the_recorded_ones",
    ),
}


def test_every_item_names_what_holds_it():
    check(ITEMS, "3.", 19)


GAME = GAMES["connect3d"]


@pytest.mark.slow
def test_3_4_and_3_7_the_preset_has_its_prior_and_prunes():
    player = load_player("nycu3d-puct:8", GAME)
    assert player.search.prune
    assert player.model.evaluator.prior == "weights"
    position = jax.jit(lambda key: player.model.start(key, 1))(jax.random.key(0))
    step = jax.jit(player.model.play)
    for action in (0, 23, 0, 23, 0, 22):  # three on one stack: the fourth makes a line
        position = step(position, np.array([action], np.int32))[0]
    run = jax.jit(lambda key: player.search.run(player.model, player.params, key, position))
    result = jax.device_get(run(jax.random.key(0)))
    assert result.action.tolist() == [0]
    assert result.visits[0].sum() == result.visits[0, 0]  # nothing but the line is looked at
