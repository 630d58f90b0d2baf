"""Seed 000, a Gobang for boardgame.io with a search like AlphaGo's: each item of its checklist and what holds it."""

from seed_items import check

ITEMS = {
    "0.1 a baseline, and a search that beats it": ("benchmarks/classical.py::duels",),
    "0.2 the evaluator is injected": ("search/test_evaluators.py::test_every_registered_evaluator_judges_a_batch",),
    "0.3 Monte-Carlo evaluator": (
        "search/test_evaluators.py::test_playouts_of_the_mine_race_have_the_exact_mean",
        "search/test_evaluators.py::test_playouts_of_tictactoe_win_lose_and_draw_as_often_as_they_should",
    ),
    "0.4 q + 5 sqrt(N) p / (n + 1)": ("search/test_puct.py::test_hand_tree",),
    "0.5 nodes and ends": ("search/test_tree.py::test_nobody_walks_below_the_end_of_a_game",),
    "0.6 Dirichlet noise, also at every node": (
        "search/test_puct.py::test_dirichlet_noise",
        "search/test_policies.py::test_noise_leaves_a_policy_on_legal_moves",
        "search/test_policies.py::test_noise_everywhere_is_in_the_prior_of_every_node",
    ),
    "0.7 virtual visits": (
        "search/test_puct.py::test_walks_under_way_count_as_lost",
        "search/test_puct.py::test_one_leaf_a_round_is_plain_search",
    ),
    "0.8 eight leaves a call": ("search/test_puct.py::test_leaves_of_a_round_share_a_call",),
    "0.9 the same leaf twice": ("search/test_puct.py::test_leaves_that_meet_are_judged_once",),
    "0.10 simulations, time, stop, no second thought": (
        "search/test_think.py::test_a_limit_of_time_is_kept_within_one_chunk",
        "search/test_think.py::test_stop_from_another_thread_ends_pondering_with_a_legal_move",
        "search/test_think.py::test_no_limit_at_all_is_a_mistake",
        "search/test_think.py::test_a_second_thought_at_once_is_refused",
    ),
    "0.11 the tree follows the game": (
        "search/test_tree.py::test_following_a_move_keeps_its_subtree_node_by_node",
        "search/test_tree.py::test_a_new_game_or_an_untried_move_begins_afresh",
    ),
    "0.12 temperature, and the chances it gives": (
        "search/test_policies.py::test_chances_are_visits_to_the_power_of_the_inverse_temperature",
        "search/test_puct.py::test_temperature",
    ),
    "0.13 the interface of states": (
        "rules/test_contract.py::test_random_games",
        "frontends/test_session.py::test_what_is_refused_changes_nothing",
    ),
    "0.14 rules of Gobang": ("rules/test_gomoku.py::test_listed_wins",),
    "0.15 signs of ends": (
        "search/test_signs.py::test_means_through_double_moves",
        "rules/test_minerace.py::test_a_path_to_a_mine_of_white",
    ),
    "0.16 playing against it": (
        "frontends/test_play_page.py::test_a_machine_answers_and_tells_what_it_thinks",
        "frontends/test_play_page.py::test_games_follow_each_other_with_sides_changed",
        "frontends/test_page_refusals.py::test_nobody_moves_for_the_machine",
        "frontends/test_session.py::test_stop_ends_a_search_soon",
    ),
    "0.17 undo takes the tree back, too": (
        "frontends/test_session.py::test_the_tree_is_kept_while_the_game_goes_on_and_not_after_undo",
    ),
    "0.18 a network that learns Gobang": (
        "system/test_shipped.py::test_shipped_weights_are_the_player_of_their_note",
        "system/test_shipped.py::test_the_network_of_gomoku_beats_the_weights_that_people_set_for_its_threats",
    ),
}


def test_every_item_names_what_holds_it():
    check(ITEMS, "0.", 18)
