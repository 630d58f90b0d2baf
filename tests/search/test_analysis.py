"""What a search says of itself: variations, tables, Dagaz's log, trees for mctx's tools, and the command line."""

import json
import re
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from judges import peer

from jaxgo.cli import main as cli
from jaxgo.core import play
from jaxgo.core.errors import UsageError
from jaxgo.evaluators import Heuristic
from jaxgo.evaluators.base import Evaluation
from jaxgo.games import make
from jaxgo.search import Model, Puct, Uct, analysis
from jaxgo.search.mctx_tree import to_mctx
from jaxgo.search.think import Limit, Thinker

TICTACTOE = make("tictactoe")


@pytest.fixture(scope="module")
def thought():
    """X to move wins at once at c3 (action 2), and O threatens c2."""
    position = play.resume(TICTACTOE, TICTACTOE.place(np.array([1, 1, 0, 2, 2, 0, 0, 0, 0], np.int8), 0))
    thinker = Thinker(Uct(simulations=60, solver=False), Model(TICTACTOE, Heuristic()), (), jax.random.key(0))
    thinker.begin(jax.tree.map(lambda x: jnp.stack([x] * 2), position))
    snapshot = thinker.think(Limit(simulations=60))
    return snapshot.result, thinker.state.tree, np.asarray(thinker.state.outcomes)


@pytest.mark.slow
def test_the_table_is_the_search(thought):
    result, tree, _ = thought
    moves = analysis.table(result, TICTACTOE.action_name, tree, game=1)
    assert [m.action for m in moves if m.best] == [2] == [moves[0].action]
    assert {m.action for m in moves} == {2, 5, 6, 7, 8}
    assert sum(m.visits for m in moves) == 60
    assert sum(m.share for m in moves) == pytest.approx(1.0)
    assert sum(m.prior for m in moves) == pytest.approx(1.0)
    assert [m.visits for m in moves[1:]] == sorted((m.visits for m in moves[1:]), reverse=True)
    for m in moves:
        assert m.visits == result.visits[1, m.action]
        assert m.value == pytest.approx(result.q[1, m.action])
        assert m.wins == pytest.approx(m.visits * (1 + m.value) / 2)
        assert m.variation[0] == m.name == TICTACTOE.action_name(m.action)
        assert len(m.variation) <= m.depth
    assert moves[0].value == 1.0
    assert moves[0].verdict == "win"
    assert moves[0].variation == ("c3",)
    assert moves[0].depth == 1
    assert max(m.depth for m in moves) > 1


def test_the_variation_goes_down_the_most_visited_children(thought):
    _, tree, _ = thought
    known = analysis.lane(tree)
    line = analysis.principal_variation(known)
    node, before = 0, 10**9
    for action in line:
        below = [int(c) for c in known.child[node]]
        visits = [int(known.visits[c]) if c >= 0 else 0 for c in below]
        assert visits[action] == max(visits)
        assert visits[action] <= before
        node, before = below[action], visits[action]
    assert not (known.child[node] >= 0).any()


def test_depths_count_plies(thought):
    _, tree, _ = thought
    known = analysis.lane(tree)
    depth = analysis.depths(known)
    plies = np.asarray(tree.states.ply[0, : len(depth)])
    assert (depth == plies - plies[0]).all()
    assert analysis.summary(thought[0], TICTACTOE.action_name, tree)["nodes_at_depth"] == np.bincount(depth).tolist()


def test_nodes_out_of_reach_have_no_depth():
    """Nodes 1 and 2 lie behind a root move that superko forbids: nothing leads there any more."""
    parent, action = np.array([-1, -1, 1, 0, 3]), np.array([-1, 0, 3, 2, 1])
    child = np.full((5, 4), -1)
    child[0, 2], child[1, 3], child[3, 1] = 3, 2, 4
    lane = analysis.Lane(np.array([3, 2, 1, 2, 1]), np.zeros(5, bool), parent, action, np.ones(4, np.float32), child)
    assert analysis.depths(lane).tolist() == [0, -1, -1, 1, 2]
    assert analysis._reach(lane) == {2: 2}


def test_json_lines_hold_the_table(thought):
    result, tree, _ = thought
    moves = analysis.table(result, TICTACTOE.action_name, tree)
    whole = analysis.summary(result, TICTACTOE.action_name, tree)
    lines = [json.loads(json.dumps(record)) for record in analysis.json_records(moves, whole)]
    assert lines[0]["kind"] == "search"
    assert lines[0]["best"] == "c3"
    assert lines[0]["playouts"] == 60
    assert [line["visits"] for line in lines[1:]] == [m.visits for m in moves]


def test_the_summary_tells_the_value_and_the_line_of_the_best_move(thought):
    """Among moves of as many visits it told those of the first one."""
    result, tree, _ = thought
    name, even = TICTACTOE.action_name, np.ones_like(result.policy) / 9
    best = result._replace(action=np.full(2, 8, np.int32), solved=np.zeros(2, bool), chances=None)
    tied = best._replace(policy=even)
    sure = best._replace(chances=np.eye(9, dtype=np.float32)[[8, 8]])  # by results, say, and not by visits
    for played in (tied, sure):
        told, row = analysis.summary(played, name, tree), analysis.table(played, name, tree)[0]
        assert (told["best"], told["value"], tuple(told["variation"])) == (row.name, round(row.value, 4), row.variation)
    for drawn in (best, best._replace(chances=best.policy)):
        assert analysis.summary(drawn, name, tree)["variation"] == ["c3"], "where a temperature drew the move"


def test_the_log_of_dagaz_has_every_tried_move_and_all_playouts(thought):
    result, tree, _ = thought
    lines = analysis.dagaz_log(analysis.table(result, TICTACTOE.action_name, tree))
    found = [re.fullmatch(r"Win = ([\d.]+); All = (\d+); Deep = (\d+); Move = (\w+)", line) for line in lines]
    assert all(found)
    assert sum(int(m[2]) for m in found) == 60
    wins = [float(m[1]) for m in found]
    assert wins == sorted(wins, reverse=True)
    assert found[0][4] == "c3"


def test_without_a_tree_there_is_a_table_without_lines(thought):
    result, *_ = thought
    moves = analysis.table(result, TICTACTOE.action_name)
    assert moves[0].prior is None
    assert moves[0].variation == ("c3",)
    assert sum(m.visits for m in moves) == 60
    assert not any("Deep" in line for line in analysis.dagaz_log(moves)), "nobody knows how deep playouts were"


def test_one_move_has_the_line_that_a_search_without_a_tree_expects(thought):
    result, *_ = thought
    name = TICTACTOE.action_name
    best = int(result.action[0])
    other = next(action for action in range(9) if action != best and result.visits[0, action])
    for first in (best, other):  # another one is played where it was drawn
        moves = analysis.table(result, name, lines=np.array([(first, 7, 3, -1)]))
        assert moves[0].action == best
        for move in moves:
            assert move.variation == ((move.name, name(7), name(3)) if move.action == first else (move.name,))


def test_any_node_can_be_read_and_the_root_reads_as_the_table(thought):
    result, tree, _ = thought
    name = TICTACTOE.action_name
    root = {m.action: m for m in analysis.inner(tree, [], name)}
    for m in analysis.table(result, name, tree):
        same = root[m.action]
        assert (same.visits, same.depth, same.variation, same.proven) == (m.visits, m.depth, m.variation, m.proven)
        assert same.value == pytest.approx(m.value, abs=1e-6)
    behind = analysis.inner(tree, [8], name)
    node = int(tree.child[0, 0, 8])
    assert sum(m.visits for m in behind) == int(tree.visits[0, node]) - 1
    for m in behind:
        child = int(tree.child[0, node, m.action])
        assert m.visits == (int(tree.visits[0, child]) if child >= 0 else 0)
        if child >= 0:
            assert m.value == pytest.approx(-float(tree.value[0, child]))
    assert max(m.depth for m in behind) + 1 == root[8].depth
    known = {m.action for m in analysis.inner(tree, [], name, exact=False) if m.proven}
    ends = {m.action for m in root.values() if m.proven and m.depth == 1}
    assert known == ends, "with a rule on repetition only what ends the game is proven"
    with pytest.raises(UsageError, match="no node behind"):
        analysis.inner(tree, [2, 5], name)


def test_outcomes_count_every_simulation(thought):
    result, tree, outcomes = thought
    assert outcomes.sum(axis=1).tolist() == [60, 60]
    summary = analysis.summary(result, TICTACTOE.action_name, tree, outcomes=outcomes)
    assert summary["outcomes"] == dict(zip(("lost", "between", "won"), outcomes[0].tolist(), strict=True))
    # the judge knows nothing, so only ends of games are won and lost: what the root got of them in all
    total = float(tree.value[0, 0]) * 61
    assert outcomes[0, 2] - outcomes[0, 0] == pytest.approx(total, abs=1e-3)
    assert outcomes[0, 2] > 0


# -- mctx.Tree -------------------------------------------------------------------------------------------------


class Hashed(Heuristic):
    """Numbers that differ from position to position, so that two trees are alike only if they are the same."""

    def __call__(self, game, params, key, states):
        words = jax.vmap(game.hash)(states)
        mixed = (words[:, :1] ^ (jnp.arange(game.num_actions, dtype=jnp.uint32) * jnp.uint32(0x9E3779B9))[None]) >> 8
        return Evaluation(
            (mixed % 1000).astype(jnp.float32) / 500.0, (words[:, 1] % 1001).astype(jnp.float32) / 500.0 - 1.0
        )


@pytest.mark.slow  # compiles for seconds
def test_the_tree_is_that_of_mctx_on_the_same_inputs():
    game, games, simulations = make("connect4"), 2, 24
    model, key = Model(game, Hashed()), jax.random.key(0)
    root = jax.jit(lambda key: model.start(key, games))(key)
    puct = Puct(simulations=simulations, solver=False)  # one leaf after the other, so the nodes have the same numbers

    def ours():
        state = puct.begin(model, (), key, root)
        tree = to_mctx(model, puct.extend(model, (), key, state, simulations).tree)
        return tree, tree.summary()

    theirs = peer("muzero_policy", model, simulations, dirichlet_fraction=0.0)
    (a, ours_at_root), b = jax.jit(ours)(), theirs(key, root).search_tree
    exact = ("node_visits", "parents", "action_from_parent", "children_index", "children_visits", "children_discounts")
    for field in exact:
        np.testing.assert_array_equal(np.asarray(getattr(a, field)), np.asarray(getattr(b, field)), err_msg=field)
    for field in ("raw_values", "node_values", "children_values", "children_rewards"):
        np.testing.assert_allclose(np.asarray(getattr(a, field)), np.asarray(getattr(b, field)), atol=1e-6)
    np.testing.assert_array_equal(np.asarray(a.root_invalid_actions), ~np.asarray(jax.jit(model.legal)(root)))
    theirs_at_root = jax.jit(lambda tree: tree.summary())(b)
    np.testing.assert_array_equal(ours_at_root.visit_counts, theirs_at_root.visit_counts)
    np.testing.assert_allclose(ours_at_root.qvalues, theirs_at_root.qvalues, atol=1e-6)
    np.testing.assert_allclose(ours_at_root.value, theirs_at_root.value, atol=1e-6)


def test_finished_nodes_have_their_result_on_the_edge(thought):
    result, tree, _ = thought
    model = Model(TICTACTOE, Heuristic())
    converted, at_root = jax.jit(lambda tree: (to_mctx(model, tree), to_mctx(model, tree).summary()))(tree)
    child = int(converted.children_index[0, 0, 2])
    assert float(converted.children_rewards[0, 0, 2]) == 1.0
    assert float(converted.children_discounts[0, 0, 2]) == 0.0
    assert float(converted.node_values[0, child]) == 0.0
    np.testing.assert_allclose(at_root.qvalues[0], result.q[0], atol=1e-6)


# -- the command line ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_command_prints_a_table(capsys):
    assert cli.main(["analyse", "tictactoe", "--moves", "a3,a2,b3,b2", "--agent", "uct:60"]) == 0
    said = capsys.readouterr().out
    assert "tictactoe  uct:60" in said
    assert "principal variation" in said
    first = said.splitlines()[2].split()
    assert first[0] == "c3"
    assert "win" in first
    assert "value +1.000, exact" in said


def test_the_command_prints_json_lines_and_the_log_of_dagaz(capsys):
    arguments = ["analyse", "tictactoe", "--moves", "b2", "--agent", "flat:30", "--rows", "0"]
    assert cli.main([*arguments, "--json"]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert records[0]["playouts"] == 30 == sum(record["visits"] for record in records[1:])
    assert len(records) == 9
    assert cli.main([*arguments, "--dagaz"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 8


def test_what_programs_read_is_not_cut(capsys):
    """It ended at 20 moves, as a table does; of the log those were most visited and not most won."""
    arguments = ["analyse", "tictactoe", "--option", "width=5", "--option", "height=5", "--agent", "flat:60"]
    assert cli.main([*arguments, "--json"]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()][1:]
    assert len(records) == 25
    assert cli.main([*arguments, "--dagaz"]) == 0
    whole = capsys.readouterr().out.splitlines()
    assert len(whole) == 25
    assert cli.main([*arguments, "--dagaz", "--rows", "9"]) == 0
    assert capsys.readouterr().out.splitlines() == whole[:9]
    assert cli.main(arguments) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2 + 20


@pytest.mark.slow
def test_a_terminal_waits_for_the_node_of_a_line(capsys, monkeypatch):
    """The first tables are of small trees, where it is not yet."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    line = ["--line", "b2,a1,c3,a3", "--agent"]
    assert cli.main(["analyse", "tictactoe", *line, "uct:2000"]) == 0
    assert "2,000 simulations" in capsys.readouterr().out
    assert cli.main(["analyse", "tictactoe", *line, "uct:20"]) == 2
    assert "search longer" in capsys.readouterr().err


def test_a_search_by_the_clock(capsys):
    assert cli.main(["analyse", "tictactoe", "--agent", "flat", "--seconds", "0.2", "--rows", "1"]) == 0
    searched = re.search(r"([\d,]+) simulations in ([\d.]+) s", capsys.readouterr().out)
    assert int(searched[1].replace(",", "")) > 9


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--agent", "minimax"], "unknown search 'minimax'"),
        (["--agent", "uct:4", "--moves", "a3,a2,b3,b2,c3"], "the game is over after --moves a3,a2,b3,b2,c3"),
        (["--agent", "uct:4", "--moves", "z9"], "'z9', names no move of this game; legal moves are: a3, b3, c3"),
        (["--json", "--dagaz"], "choose one"),
        (["--agent", "uct:4", "--line", "z9"], "z9"),
        (["--rows", "-1"], "cannot be below 0"),
        (["--seconds", "nan"], "cannot be below 0"),
        (["--seconds", "inf"], "cannot be below 0"),
        (["--agent", "uct:99999999999"], "Uct: simulations=99999999999 is too large; at most 16,777,216"),
        (["--agent", "gumbel:16,gumbel_scale=nan"], "gumbel_scale=nan is not a finite number"),
    ],
)
def test_mistakes_are_told_in_one_sentence(arguments, said, capsys):
    assert cli.main(["analyse", "tictactoe", *arguments]) == 2
    assert said in capsys.readouterr().err
