"""Seed 004, the notebook of UCT in the mine race, and what holds of all seeds together."""

from seed_items import check

UCT, POLICIES = "search/test_uct.py", "search/test_policies.py"
ITEMS = {
    "4.1 reads, delay, outcomes, a policy of priors, choice and value": (
        f"{UCT}::test_until_the_delay_every_expansion_counts_as_even",
        "search/test_analysis.py::test_outcomes_count_every_simulation",
        f"{POLICIES}::test_a_policy_of_the_likeliest_moves",
    ),
    "4.2 w / (1 + n) and sqrt(ln N / (1 + n)), any of equals": (f"{UCT}::test_the_formula_of_the_notebook",),
    "4.3 a policy from a heuristic; starts with stones": (
        f"{POLICIES}::test_a_policy_of_the_likeliest_moves",
        "frontends/test_session.py::test_positions_are_set_up_from_text",
    ),
    "4.4 the game": (
        "rules/test_minerace.py::test_nobody_runs_over_the_end",
        "rules/test_minerace.py::test_complete_games",
    ),
    "4.5 its policies": ("rules/test_minerace.py::test_lookahead_avoids_mines_and_nothing_else",),
    "4.6 results alternate on the way up": ("rules/test_minerace.py::test_a_path_to_a_mine_of_white",),
    "4.7 the rule of five": (f"{UCT}::test_the_rule_of_five_is_found",),
    "4.8 a sure loss": (f"{UCT}::test_a_lost_race_looks_lost_whatever_one_does",),
    "4.9 the long race": (
        f"{UCT}::test_proofs_find_the_long_race",
        f"{UCT}::test_the_long_race_is_won_by_one_move_only",
    ),
    "4.10 a policy that looks ahead helps": (f"{UCT}::test_looking_ahead_proves_the_long_race_no_later",),
    "4.11 one point of view": (
        "search/test_signs.py::test_the_move_that_looks_best_is_refuted",
        "search/test_evaluators.py::test_the_value_is_for_the_side_to_move",
    ),
    "4.12 counts and the best line": (
        "search/test_analysis.py::test_outcomes_count_every_simulation",
        "search/test_analysis.py::test_the_variation_goes_down_the_most_visited_children",
        "search/test_analysis.py::test_any_node_can_be_read_and_the_root_reads_as_the_table",
    ),
    "4.13 heuristic policies and threats on large boards": (
        f"{POLICIES}::test_a_policy_of_the_likeliest_moves",
        "search/test_threats.py::test_proofs_are_those_of_a_plain_search",
        "search/test_vct.py::test_proofs_are_those_of_a_plain_search_of_every_reply",
    ),
}

TOGETHER = {
    "C1 one interface of games": (
        "rules/test_registry.py::test_every_game_is_made_by_its_name",
        "rules/test_contract.py::test_random_games",
    ),
    "C2 one core, with presets": ("test_players.py::test_every_search_and_preset_is_its_own_name",),
    "C3 evaluators, the exact one among them": (
        "search/test_evaluators.py::test_every_registered_evaluator_judges_a_batch",
        "solvers/test_retrograde.py::test_a_table_is_saved_loaded_and_plays_perfectly",
    ),
    "C4 one law of signs": ("search/test_signs.py::test_means_through_double_moves",),
    "C5 a ladder of bots": (
        "benchmarks/classical.py::ladder",
        "benchmarks/classical.py::duels",
        "search/test_simple.py::test_every_registered_search_plays_a_legal_move",
    ),
    "C6 solvers as oracles": (
        "solvers/test_retrograde.py::test_dodgem_is_what_is_published_and_what_plain_python_finds",
        "solvers/test_puzzles.py::test_hughes_puzzle_breadth_first_in_31_moves_with_equal_blocks_merged",
    ),
    "C7 a front end": (
        "frontends/test_browser.py::test_a_whole_game_by_clicking",
        "frontends/test_session.py::test_moves_are_played_taken_back_and_played_again",
    ),
}


def test_every_item_names_what_holds_it():
    check(ITEMS, "4.", 13)


def test_what_all_seeds_ask_for_names_what_holds_it():
    check(TOGETHER, "C", 7)
