"""The benchmark counts what it says: both libraries are given the same games, and every tick is a move."""

import json
import re
import sys
from pathlib import Path

import arena
import harness
import hlo
import jax
import jax.numpy as jnp
import numpy as np
import pgx
import protocols
import published
import pytest
import regret
import rules
import tuning

from jaxgo.core import choice, replay
from jaxgo.core.errors import UsageError
from jaxgo.games import GAMES
from jaxgo.players import load_player


@pytest.mark.slow
def test_both_libraries_play_the_same_games():
    """The same words choose the same moves, through ends of games and fresh starts, so the boards stay equal."""
    lanes, ticks = 16, 120
    (start, tick), (theirs, their_tick) = rules.node_tick(GAMES["connect4"]), rules.pgx_tick("connect_four")
    observe = jax.jit(jax.vmap(pgx.make("connect_four").observe))
    see = jax.jit(jax.vmap(GAMES["connect4"].observe))
    state, other = (jax.tree.map(lambda x: jnp.stack([x] * lanes), s) for s in (start, theirs))
    move, their_move = jax.jit(jax.vmap(tick)), jax.jit(jax.vmap(their_tick))
    restarts = 0
    for t in range(ticks):
        words = jax.vmap(choice.word, in_axes=(None, 0))(jnp.int32(t), jnp.arange(lanes))
        ply = np.asarray(state.ply)
        state, other = move(state, words), their_move(other, words)
        np.testing.assert_array_equal(np.asarray(see(state))[..., :2] > 0, observe(other)[..., :2])
        moved = np.asarray(state.ply)
        assert ((moved == ply + 1) | (moved == 1)).all(), "a tick that is not a move"
        restarts += int((moved == 1).sum())
    assert restarts > 2 * lanes


@pytest.mark.parametrize("name", [name for name, game in GAMES.items() if game.players == 2])
def test_a_benchmark_knows_the_slow_rules_of_a_game(name):
    reference = arena.reference_of(GAMES[name])
    state = reference.initial()
    assert reference.result(state) is None
    assert reference.legal(state)


def test_choices_are_legal_and_even():
    legal = np.arange(100) % 3 == 0
    words = jax.vmap(choice.word, in_axes=(None, 0))(jnp.int32(7), jnp.arange(34 * 500))
    counts = np.bincount(jax.vmap(choice.pick, in_axes=(None, 0))(jnp.asarray(legal), words), minlength=100)
    assert not counts[~legal].any()
    expected = 500.0
    assert (((counts[legal] - expected) ** 2) / expected).sum() < 75  # chi-square, 33 degrees: 1 in 25,000


def test_medians_and_the_json_line(capsys):
    rates = iter([3.0, 1.0, 2.0])
    assert harness.interleaved({"a": lambda: next(rates), "b": lambda: 5.0}, 3) == {"a": 2.0, "b": 5.0}
    harness.report("a question", ratio=1.23456)
    line = json.loads(capsys.readouterr().out)
    assert line["question"] == "a question"
    assert line["ratio"] == 1.235
    assert {"device", "cores", "jax", "python"} <= set(line["machine"])


def test_a_benchmark_that_is_asked_what_cannot_be_ends_with_a_sentence(monkeypatch):
    for program, words, said in (
        (rules.main, ["--only", "go8"], "unknown question 'go8'"),
        (tuning.main, ["--generations", "0"], "tuning needs generations"),
        (protocols.main, ["gomocup", "--size", "3"], "size"),
    ):
        monkeypatch.setattr(sys, "argv", ["benchmark", *words])
        with pytest.raises(SystemExit, match=said):
            program()


def test_a_rate_counts_whole_runs():
    runs = []
    speed = harness.rate(10.0, lambda: runs.append(1) or jnp.int32(0), seconds=0.02)()
    assert runs
    assert 0 < speed < 10.0 * len(runs) / 0.02 + 1


HLO = """HloModule example, is_scheduled=true

%turn (p: (f32[8,4], s32[])) -> (f32[8,4], s32[]) {
  %p = (f32[8,4]{1,0}, s32[]) parameter(0)
  %x = f32[8,4]{1,0} get-tuple-element(%p), index=0
  %loop_add_fusion = (f32[8,4]{1,0}, /*index=1*/bf16[2]{0}) fusion(%x), kind=kLoop, calls=%f
  %input_scatter_fusion = f32[8,4]{1,0} fusion(%x), kind=kInput, calls=%g
  %conv = (f32[8,4]{1,0}, u8[0]{0}) custom-call(%x), custom_call_target="__cudnn$convForward"
  ROOT %t = (f32[8,4]{1,0}, s32[]) tuple(%x, %i)
}

ENTRY %main (a: f32[8,4]) -> f32[8,4] {
  %a = f32[8,4]{1,0} parameter(0)
  %w = (f32[8,4]{1,0}, s32[]) while(%b), condition=%none, body=%turn, backend_config={"known_trip_count":{"n":"3"}}
  ROOT %copy.1 = f32[8,4]{1,0} copy(%a)
}
"""


def test_kernels_of_a_program_and_the_bytes_they_move_are_read_from_its_text():
    """Kernels that write a part of their result, and convolutions, count as kernels, and move nothing."""
    whole = hlo.Module(HLO).whole
    assert (whole.kernels, whole.copies, whole.predicates) == (3 * 3 + 1, 1, 0)
    assert whole.moved == 3 * 2 * (8 * 4 * 4 + 2 * 2) + 2 * 8 * 4 * 4


def test_the_questions_that_the_page_explains_are_asked():
    folder = Path(__file__).parents[1] / "benchmarks"
    sections = re.findall(
        r"^## How `(\w+)\.py` counts$(.*?)(?=^## |\Z)", (folder / "README.md").read_text(), re.M | re.S
    )
    told = [(name, question) for name, text in sections for question in re.findall(r"^- `([a-z]+)[`/]", text, re.M)]
    assert ("training", "smoke") in told
    unknown = [(name, question) for name, question in told if question not in (folder / f"{name}.py").read_text()]
    assert not unknown, "the page explains what no program asks"


@pytest.mark.slow
def test_published_positions_are_played_out_and_wrong_lines_are_named(tmp_path):
    game, path = GAMES["connect4"], tmp_path / "Test_L1_R1"
    path.write_text("4453 -2\n1 0\n77 1\n")
    position, worth = published.read(game, path)
    assert worth.tolist() == [-1, 0, 1]
    cells = np.asarray(jax.vmap(game.cells)(position.state)).reshape(3, *game.shape)
    assert cells[0].nonzero()[0].tolist() == [4, 5, 5, 5]  # rows from above
    assert cells[0, 4].tolist() == [0, 0, 0, 2, 0, 0, 0]
    assert cells[0, 5].tolist() == [0, 0, 2, 1, 1, 0, 0]
    assert cells[2, 4:, 6].tolist() == [2, 1]
    assert position.state.ply.tolist() == [4, 1, 2]
    for wrong, told in (
        ("44\n", "has no lines of columns and a score"),
        ("4x 1\n", "has no lines of columns and a score"),
        ("", "is empty"),
        ("44 1\n8 0\n", "line 2: these moves end"),
        ("0 0\n", "line 1: these moves end"),
        ("1 0\n1111111 0\n", "line 2: these moves end"),  # the column is full
        ("1212121 18\n", "line 1: these moves end"),  # four in a column
    ):
        path.write_text(wrong)
        with pytest.raises(UsageError, match=told):
            published.read(game, path)
    with pytest.raises(UsageError, match="leave --published out"):
        published.read(GAMES["kono"], path)


@pytest.mark.slow
def test_moves_are_worth_what_the_judge_finds_behind_them():
    """c3 wins, or is all that does not lose; where both players choose the same nobody is asked."""
    game = GAMES["tictactoe"]
    lines = [("a3", "a2", "b3", "b2"), ("a3", "b2", "b3"), ("a3",)]
    root = replay.follow_all(game, [[game.parse_action(move) for move in line] for line in lines]).position
    moves = np.array([[game.parse_action(move) for move in row] for row in (("c3", "c3", "a1"), ("a1", "a1", "a1"))])
    worth = regret.worths(load_player("uct:400", game), root, moves, regret.Regret(batch=8))
    assert worth.tolist() == [[1.0, 0.0, 0.0], [-1.0, -1.0, 0.0]]
