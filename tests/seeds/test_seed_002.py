"""Seed 002, Dagaz: each item of its checklist and what holds it, and tests of its bots by rules."""

import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference.maharajah import Maharajah as Reference
from seed_items import check

from jaxgo.core import play
from jaxgo.games import GAMES
from jaxgo.players import load_player

CHAIN, SIMPLE, EVALUATORS = "search/test_chain.py", "search/test_simple.py", "search/test_evaluators.py"
PUZZLES, RETROGRADE = "solvers/test_puzzles.py", "solvers/test_retrograde.py"
ITEMS = {
    "2.1 many games, to play in a browser": (
        "rules/test_registry.py::test_every_game_is_made_by_its_name",
        "frontends/test_browser.py::test_a_whole_game_by_clicking",
    ),
    "2.2 instinct and aggressive": (
        f"{CHAIN}::test_captures_that_cannot_be_taken_back",
        f"{CHAIN}::test_aggressive_takes_most_whatever_is_taken_back",
        "seeds/test_seed_002.py::test_2_2_bots_have_names",
        "seeds/test_seed_002.py::test_2_2_instinct_takes_the_king_and_stays_out_of_reach",
    ),
    "2.3 roles that differ": ("arena/test_report.py::test_lengths_seats_and_repeated_games_are_told",),
    "2.4 Archimedes": (
        "rules/test_archimedes.py::test_listed_moves",
        "rules/test_archimedes.py::test_reference_agrees_in_many_games",
    ),
    "2.5 careful": ("seeds/test_seed_002.py::test_2_5_careful_musketeers_never_line_up_unless_they_must",),
    "2.6 chains and books": (f"{CHAIN}::test_the_first_link_with_something_to_say_decides",),
    "2.7 quick bots": (
        "benchmarks/strength.py::main",
        "benchmarks/classical.py::bots",
        "search/test_chain.py::test_careful_plays_every_safe_move_and_nothing_else",
    ),
    "2.8 sliding blocks": (
        f"{PUZZLES}::test_hughes_puzzle_breadth_first_in_31_moves_with_equal_blocks_merged",
        f"{PUZZLES}::test_klotski_in_116_moves",
        "rules/test_sliding.py::test_the_reference_s_breadth_first_search",
    ),
    "2.9 a solution to watch": (
        "search/test_breadth.py::test_with_enough_room_the_way_is_the_shortest_and_is_found_once",
        "search/test_breadth.py::test_with_any_budget_the_game_goes_on_and_no_position_comes_twice",
        "frontends/test_play_page.py::test_a_solver_runs_ahead_of_its_puzzle",
        f"{PUZZLES}::test_astar_is_as_short_as_breadth_first_however_small_the_batch",
    ),
    "2.10 solitaire, backwards too": (
        f"{PUZZLES}::test_the_latin_cross_forward_and_backward",
        f"{PUZZLES}::test_other_figures_forward_and_backward",
        f"{PUZZLES}::test_english_peg_solitaire",
        "rules/test_pegs.py::test_figures",
    ),
    "2.11 no callback within a search": ("test_lowering.py::test_no_callback_no_wide_number_no_collective",),
    "2.12 playouts that are cut; no stop amid captures": (
        f"{EVALUATORS}::test_a_cut_playout_is_worth_the_guess_for_who_moved_first",
        "search/test_threats.py::test_forcing_moves_let_alpha_beta_see_beyond_the_horizon",
    ),
    "2.13 the flat bandit": (
        f"{SIMPLE}::test_flat_pulls_every_move_once_first_and_counts_every_playout",
        f"{SIMPLE}::test_flat_wins_at_once_without_a_single_pull",
        f"{SIMPLE}::test_a_bandit_finds_the_better_arm_and_wastes_little",
    ),
    "2.14 playouts of limited depth": (f"{EVALUATORS}::test_dodgem_8_never_ends_in_twenty_plies",),
    "2.15 weights of moves": (
        f"{EVALUATORS}::test_moves_are_drawn_in_proportion_to_their_weights",
        "rules/test_heuristics.py::test_towers_go_home_and_do_not_send_others_home",
        "benchmarks/classical.py::duels",
    ),
    "2.16 results and belief together": (
        f"{SIMPLE}::test_a_clear_lead_in_results_beats_belief",
        "search/test_uct.py::test_a_mixed_choice_weighs_results_and_belief",
    ),
    "2.17 its logs": (
        "search/test_playouts.py::test_every_playout_is_logged_with_its_true_end",
        "search/test_analysis.py::test_the_log_of_dagaz_has_every_tried_move_and_all_playouts",
    ),
    "2.18 Kono": ("rules/test_kono.py::test_perft", f"{RETROGRADE}::test_kono_is_a_draw_by_any_first_move"),
    "2.19 Dodgem": (
        f"{RETROGRADE}::test_dodgem_is_what_is_published_and_what_plain_python_finds",
        "rules/test_dodgem.py::test_three_by_three_is_solved",
        "search/test_race.py::test_a_race_is_worth_the_difference_of_distances",
    ),
    "2.20 without information": (
        f"{SIMPLE}::test_flat_believes_the_game_where_playouts_see_nothing",
        f"{SIMPLE}::test_greedy_draws_equals_and_takes_its_own_five_before_all_else",
    ),
    "2.21 Kamisado": ("benchmarks/classical.py::duels", "rules/test_kamisado.py::test_perft"),
    "2.22 several threads": (
        "arena/test_match.py::test_a_result_does_not_hang_on_slots_or_devices",
        "search/test_think.py::test_chunks_change_nothing_for_rounds_of_several_leaves",
    ),
    "2.23 minimax": ("search/test_alphabeta.py::test_every_trick_leaves_the_value_as_it_is",),
}


def test_every_item_names_what_holds_it():
    check(ITEMS, "2.", 23)


GAME = GAMES["musketeers"]


@pytest.mark.slow
def test_2_5_careful_musketeers_never_line_up_unless_they_must():
    """Games of careful musketeers against random soldiers, with every lost game's last choices counted."""
    careful, soldiers = load_player("careful", GAME), load_player("random", GAME)
    model, lanes = careful.model, 64

    @jax.jit
    def tick(key, position):
        legal = model.legal(position)
        safe = jax.vmap(GAME.safe)(position.state, legal).any(axis=-1)
        ours = position.state.to_play == 0
        a = careful.search.run(model, careful.params, key, position).action
        b = soldiers.search.run(model, soldiers.params, key, position).action
        live = ~model.over(position)
        after, moved = model.play(position, jnp.where(ours, a, b))
        return after, live & ours & safe & (moved.reward < 0), live & ours & (moved.reward < 0)

    position = model.start(jax.random.key(0), lanes)
    avoidable = 0
    for ply in range(GAME.max_plies):
        position, blunder, _ = tick(jax.random.fold_in(jax.random.key(1), ply), position)
        avoidable += int(blunder.sum())
    assert np.asarray(model.over(position)).all()
    assert avoidable == 0


def royal_moments(plain, wanted: int) -> list[tuple]:
    """States of random games by plain rules, so many of each kind, with the moves that instinct may make there: a royal
    piece can be taken; or the Maharaja is to move, and some squares are out of the army's reach and some are not."""
    rng, kinds = random.Random(5), ([], [])
    while min(map(len, kinds)) < wanted:
        state = plain.initial()
        while state[4] is None:
            cells, seat, *_ = state
            legal = plain.legal(state)
            takes = [a for a in legal if cells[a % 64] in "KM"]
            free = [a for a in legal if not plain._royal_attacked(plain._moved(cells, *divmod(a, 64)), seat)]
            if takes:
                kinds[0].append((cells, seat, takes))
            elif seat != plain.army and 0 < len(free) < len(legal) and all(cells[a % 64] == "." for a in free):
                kinds[1].append((cells, seat, free))
            state = plain.step(state, rng.choice(legal))
    return [*kinds[0][:wanted], *kinds[1][:wanted]]


@pytest.mark.slow
def test_2_2_instinct_takes_the_king_and_stays_out_of_reach():
    game, moments = GAMES["maharajah"], royal_moments(Reference(), 3)
    glyphs = "".join(piece.glyph for piece in game.pieces)
    placed = [
        play.resume(game, game.place(np.array([glyphs.index(c) for c in cells], np.int8), seat))
        for cells, seat, _ in moments
    ]
    root, instinct = jax.tree.map(lambda *x: jnp.stack(x), *placed), load_player("instinct", game)
    run = jax.jit(lambda key: instinct.search.run(instinct.model, instinct.params, key, root).action)
    for action, (cells, _, may) in zip(run(jax.random.key(0)).tolist(), moments, strict=True):
        assert action in may, cells


def test_2_2_bots_have_names():
    for spec in ("careful", "instinct", "aggressive", "chain:win+take+safe+uct:40"):
        assert load_player(load_player(spec, GAME).name, GAME) == load_player(spec, GAME)
