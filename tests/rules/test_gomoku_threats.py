"""What gomoku knows: threats cell by cell, against their definitions; scores of Zero+; weights of moves."""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gomoku_states import drawn
from reference.gomoku import DIRECTIONS, put
from reference.gomoku import Gomoku as Reference
from support import mostly_slow, perft_json

from jaxgo.core import lookahead
from jaxgo.core.game import Game
from jaxgo.games import make
from jaxgo.games.gomoku import point_scores
from jaxgo.games.gomoku.lines import pack
from jaxgo.games.gomoku.rules import FAR, NEAR, WINS, Gomoku

GOLDEN = perft_json()["zero_plus_threats"]
SMALL = Gomoku(9)


@functools.cache
def ask(game, question):
    """A question about a batch of boards, each with the seat to move, in one program."""

    def answer(cells, seat):
        return getattr(game, question)(drawn(game, cells, seat))

    return jax.jit(jax.vmap(answer))


def random_boards(count, seed, full=0.45):
    rng = np.random.default_rng(seed)
    boards = rng.choice(3, size=(count, 81), p=[1 - full, 0.65 * full, 0.35 * full]).astype(np.int8)
    boards[count // 2 :] = np.where(boards[count // 2 :] > 0, 3 - boards[count // 2 :], 0)  # crowded with white stones
    return boards


def text(board):
    return "".join(".XO"[code] for code in board.tolist())


# -- threats --------------------------------------------------------------------------------------------------------
def threats_by_definition(reference, cells, cell, stone):
    """Does a stone win, leave one winning cell, leave two, may it become a four that both ends complete?"""
    after = put(cells, cell, stone)
    winning, three = set(), False
    for direction, steps in itertools.product(DIRECTIONS, (-4, -3, -2, -1, 1, 2, 3, 4)):
        second = reference.along(cell, direction, steps)
        if second is None or cells[second] != ".":
            continue
        both = put(after, second, stone)
        run = reference.run(both, second, direction)
        if cell not in run:
            continue
        if reference.line_wins(both, second, direction):
            winning.add(second)
        ends = reference.along(run[0], direction, -1), reference.along(run[-1], direction, 1)
        three |= len(run) == 4 and all(
            end is not None and cells[end] == "." and reference.line_wins(put(both, end, stone), end, direction)
            for end in ends
        )
    return [reference.wins(after, cell), len(winning) >= 1, len(winning) >= 2, three]


@pytest.mark.parametrize("rules", mostly_slow(WINS, ["freestyle", "standard"]))
def test_threats_mean_what_they_say(rules):
    reference = Reference(9, rules)
    boards, seats = random_boards(16, seed=7), np.tile(np.array([0, 1], np.int8), 8)
    threats = ask(Gomoku(9, rules), "threats")(boards, seats)
    found = np.stack([np.asarray(kind) for kind in threats[:4]], axis=-1)  # [boards, sides, cells, kinds]
    assert (found.sum((0, 1, 2)) > 20).all()
    for index, (board, seat) in enumerate(zip(boards, seats.tolist(), strict=True)):
        cells = text(board)
        for side, cell in itertools.product((0, 1), range(81)):
            stone = "XO"[seat ^ side]
            closed = cells[cell] != "." or (rules == "renju" and stone == "X" and reference.forbidden(cells, cell))
            want = [False] * 4 if closed else threats_by_definition(reference, cells, cell, stone)
            assert found[index, side, cell].tolist() == want, f"{cells}: {stone} on {cell}"


def test_choices_are_no_threats():
    game = make("swap2-15")
    threats = ask(game, "threats")(np.ones((1, 225), np.int8), np.zeros(1, np.int8))
    for kind in threats[:4]:
        assert kind.shape == (1, 2, 228)
        assert not kind.any()
    assert threats.block.shape == (1, 228)


def rows_of_caro():
    """A four that is closed at one end, which two points stop, and one of which a single stone closes both ends."""
    boards = np.zeros((2, 9, 9), np.int8)
    boards[0, 4, :5] = [2, 1, 1, 1, 1]
    boards[1, 4, 1:7] = [2, 0, 1, 1, 1, 1]
    return boards.reshape(2, 81)


@pytest.mark.parametrize("rules", mostly_slow(WINS, ["caro"]))
def test_safe_moves_are_those_of_a_look_at_every_reply(rules):
    game = Gomoku(9, rules)

    def look(cells, seat):
        state = drawn(game, cells, seat)
        legal = game.legal(state)
        return legal, game.safe(state, legal), lookahead.look(game, state, legal).loses

    boards = np.concatenate([rows_of_caro(), random_boards(30, seed=11, full=0.4)])
    seats = (np.arange(len(boards), dtype=np.int8) + 1) % 2
    seats[:2] = 1
    legal, found, loses = jax.device_get(jax.jit(jax.vmap(look))(boards, seats))
    np.testing.assert_array_equal(found, legal & ~loses)
    assert (loses.any(axis=1) & found.any(axis=1)).sum() >= 3
    assert rules != "caro" or [np.flatnonzero(row).tolist() for row in found[:2]] == [[41, 42], [43]]


# -- scores -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("line", list(GOLDEN["sequence_vectors"]))
def test_lines_are_named_as_in_zero_plus(line):
    """The original counts exactly five, so it is our table for those rules."""
    assert point_scores.classify(line, "exact") == [n for n in GOLDEN["sequence_vectors"][line] if n != "none"]


@pytest.mark.parametrize(
    ("line", "names"),
    [("..SSSSSS..", ["5"]), ("..SSS.SS..", ["sp4"]), ("ESSS.SS..", ["bp4"]), ("..SSS.SSS..", ["sp4"])],
)
def test_faults_that_freestyle_mends(line, names):
    assert point_scores.classify(line, "exact") == []
    assert point_scores.classify(line, "free") == names


def test_other_lines_are_the_same_in_freestyle():
    for line, names in GOLDEN["sequence_vectors"].items():
        if line not in ("..SSSSSS..", "..SSS.SS.."):
            assert point_scores.classify(line, "free") == [n for n in names if n != "none"]


@pytest.mark.parametrize(
    ("line", "caro", "caro5"),
    [
        ("ESSSSSE", [], []),
        ("ESSSS.E", [], []),
        ("ESS.SSE", [], []),
        ("#SSSSSE", ["5"], ["5"]),
        ("ESSSS.#", ["b4"], ["b4"]),
        ("ESSSS..", ["b4"], ["b4"]),
        ("E.SSSS.E", ["s4"], ["s4"]),
        ("ESSSSSSE", ["5"], []),
    ],
)
def test_in_caro_five_cells_between_two_enemies_are_worth_nothing(line, caro, caro5):
    assert point_scores.classify(line, "caro") == caro
    assert point_scores.classify(line, "caro5") == caro5
    assert point_scores.classify(line.replace("#", "E"), "free")


@pytest.mark.parametrize("rules", mostly_slow(["caro", "caro5"], ["caro"]))
def test_a_five_that_does_not_win_is_no_lead(rules):
    """Nor is the point that would make it worth a stone; at the edge it wins."""
    boards = np.zeros((3, 9, 9), np.int8)
    boards[0, 4, 1:8] = [2, 1, 1, 1, 1, 0, 2]
    boards[1, 4, 1:8] = [2, 1, 1, 1, 1, 1, 2]
    boards[2, 4, :6] = [1, 1, 1, 1, 0, 2]
    boards, seats, game = boards.reshape(3, 81), np.zeros(3, np.int8), Gomoku(9, rules)
    weights, value = (np.asarray(ask(game, asked)(boards, seats)) for asked in ("move_weights", "heuristic"))
    assert weights[0, 42] <= NEAR
    assert (np.abs(value[:2]) < 0.1).all()
    assert weights[2].argmax() == 40


def test_weights():
    assert {**GOLDEN["weights"], "5": 1e9} == {**point_scores.WEIGHTS, "none": 0}


def sample_board():
    cells = np.zeros(225, np.int8)
    for code, places in ((1, "board15_X"), (2, "board15_O")):
        for row, column in GOLDEN[places]:
            cells[row * 15 + column] = code
    return cells


@pytest.mark.parametrize("rules", mostly_slow(["freestyle", "standard", "renju"], ["freestyle"]))
def test_scores_of_points(rules):
    """A point is worth what it is worth to both sides."""
    weights = np.asarray(ask(Gomoku(15, rules), "move_weights")(sample_board()[None], np.zeros(1, np.int8)))[0]
    for place, scores in GOLDEN["point_scores_row_col"].items():
        row, column = map(int, place.split(","))
        assert weights[row * 15 + column] == scores["sum_basic"] + NEAR


@pytest.mark.slow
def test_a_point_can_count_for_the_side_that_gains_more_from_it():
    """Zero+'s ZeroSum, whose stones count as before."""
    game, state = Gomoku(15), Gomoku(15).place(sample_board(), 0)
    value, weights = jax.jit(game.judge)(state, jnp.asarray(game.knowledge_from(game.weights(), greater=True)))
    for place, scores in GOLDEN["point_scores_row_col"].items():
        row, column = map(int, place.split(","))
        assert weights[row * 15 + column] == scores["max_zerosum"] + NEAR
    np.testing.assert_allclose(value, jax.jit(game.heuristic)(state), rtol=1e-6)
    known, points = [game.knowledge_from(game.weights(), greater) for greater in (False, True)], jnp.arange(225)
    ours, theirs = (jax.jit(game.judge_moves)(state, jnp.asarray(one), points) for one in known)
    np.testing.assert_array_equal(np.asarray(ours[0]), np.asarray(theirs[0]))


def looked_up(board, tables):
    """The score of every point for Black and for White."""
    stones = jnp.stack([pack(jnp.asarray(board == code), 9) for code in (1, 2)])
    lines = np.asarray(jnp.stack(point_scores.looked_at(stones).lines)) % point_scores.LINES
    return tables[lines].sum(axis=0, dtype=np.float32).T


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["free", "exact", "caro", "caro5"])
def test_the_table_is_the_naming_of_lines(rule):
    """Every point of random boards, looked up, against the four lines cut out one by one."""
    boards = random_boards(4, seed=3)
    tables = point_scores.line_scores((rule, rule))
    for board in boards:
        scores = looked_up(board, tables)
        for colour, cell in itertools.product((0, 1), range(81)):
            seen = [cut(text(board), cell, d, "XO"[colour]) for d in DIRECTIONS]
            names = [name for line in seen for name in point_scores.classify(line, rule)]
            assert scores[colour, cell] == np.float32(sum(point_scores.WEIGHTS[name] for name in names))


def cut(cells, cell, direction, stone):
    """What is seen from a cell along a line, as the seed document draws it, and the edge apart."""

    def arm(sign):
        seen = ""
        for steps in range(1, 6):
            at = Reference(9).along(cell, direction, sign * steps)
            if at is None or cells[at] not in (stone, "."):
                return seen + ("#" if at is None else "E")
            seen += "." if cells[at] == "." else "S"
            if seen.count(".") == 2:
                break
        return seen

    return arm(-1)[::-1] + "S" + arm(1)


def test_the_heuristic_is_fair():
    """It turns with the colours, with the seat, and not with the board."""
    boards, seats = random_boards(32, seed=11, full=0.2), np.zeros(32, np.int8)
    value = ask(SMALL, "heuristic")
    plain = np.asarray(value(boards, seats))
    assert (np.abs(plain) > 0.01).sum() > 16
    np.testing.assert_allclose(value(np.where(boards > 0, 3 - boards, 0).astype(np.int8), seats), -plain, rtol=1e-5)
    np.testing.assert_allclose(value(boards, seats + np.int8(1)), -plain, rtol=1e-5)
    for cells in SMALL.symmetries().cells:
        np.testing.assert_allclose(value(boards[:, cells], seats), plain, rtol=1e-5)


def test_more_stones_in_a_row_are_better():
    rows = ["." * 9] * 9
    boards = []
    for stones in range(5):
        boards.append("".join([*rows[:4], ("..." + "X" * stones).ljust(9, "."), *rows[5:]]))
    batch = np.array([[".XO".index(c) for c in board] for board in boards], np.int8)
    values = np.asarray(ask(SMALL, "heuristic")(batch, np.zeros(5, np.int8)))
    assert values[0] == values[1] == 0
    assert (np.diff(values[1:]) > 0).all()
    assert values[4] < 1.0001


# -- weights of moves -----------------------------------------------------------------------------------------------
def weights_of(*rows, seat=0):
    board = np.array([".XO".index(c) for c in "".join(rows)], np.int8)
    return np.asarray(ask(SMALL, "move_weights")(board[None], np.array([seat], np.int8))).reshape(9, 9)


EMPTY = ["." * 9] * 9


def test_a_five_comes_before_all():
    rows = [*EMPTY[:4], ".XXXX....", *EMPTY[5:7], "..OO.O...", EMPTY[8]]
    weights = weights_of(*rows)
    best = np.argsort(weights.reshape(-1))[::-1]
    assert sorted(best[:2].tolist()) == [36, 41]
    assert (weights_of(*rows, seat=1) == weights).all()  # the enemy's key point is my key point


def test_points_far_from_all_stones_hardly_count():
    weights = weights_of(*EMPTY[:4], "....X....", *EMPTY[5:])
    near = [(r, c) for r, c in itertools.product(range(9), repeat=2) if weights[r, c] > FAR]
    lines = [(4 + k * dr, 4 + k * dc) for dr, dc in DIRECTIONS for k in (-2, -1, 1, 2)]
    assert sorted(near) == sorted(lines)
    assert weights[0, 0] == np.float32(FAR)


def test_the_first_stone_goes_to_the_centre():
    weights = weights_of(*EMPTY)
    assert weights[4, 4] == NEAR
    assert (np.delete(weights.reshape(-1), 40) == np.float32(FAR)).all()


def test_weights_are_the_scores_of_both_colours_and_what_is_near():
    boards = random_boards(4, seed=3)
    scores = np.stack([looked_up(board, point_scores.line_scores(("free", "free"))) for board in boards]).sum(axis=1)
    free = boards == 0  # where a stone stands, nothing can be made
    near = np.asarray(ask(SMALL, "move_weights")(boards, np.zeros(4, np.int8))) - scores * free
    assert (np.abs(near) <= NEAR + 1e-6 * scores).all()


@pytest.mark.parametrize(
    "rules", ["freestyle", *(pytest.param(rules, marks=pytest.mark.slow) for rules in ("standard", "caro", "caro5"))]
)
def test_moves_are_judged_as_if_they_were_played(rules):
    """Every free point of random boards, one of them all but full: the value and the end, bit for bit."""
    game, boards = Gomoku(9, rules), random_boards(8, seed=6)
    boards[0] = np.where(np.arange(81) == 40, 0, 1 + (np.arange(81) // 2 + np.arange(81) // 9) % 2)
    stones = jnp.stack([jnp.stack([pack(jnp.asarray(board == code), 9) for code in (1, 2)]) for board in boards])
    known = jnp.asarray(game.knowledge())

    def both(stones, seat):
        state, points = game.init(jax.random.key(0))._replace(stones=stones, to_play=seat), jnp.arange(81)
        return game.judge_moves(state, known, points), Game.judge_moves(game, state, known, points)

    seats = jnp.asarray(np.arange(8) % 2, jnp.int8)
    (value, over), (played, ended) = jax.device_get(jax.jit(jax.vmap(both))(stones, seats))
    free = boards == 0
    assert over[0, 40]
    assert 0 < over[1:][free[1:]].sum() < free[1:].sum()
    np.testing.assert_array_equal(over[free], ended[free])
    np.testing.assert_array_equal(value[free], played[free])


@pytest.mark.slow
def test_weights_are_data_and_not_constants():
    """One program judges by any weights; those of Zero+ give what the game says itself."""
    board = random_boards(1, seed=4)[0]
    state = SMALL.place(board, 0)
    weights = np.array(list(point_scores.WEIGHTS.values()), np.float32)
    judge = jax.jit(lambda known: SMALL.judge(state, known))
    usual = jax.jit(lambda: SMALL.judge(state, SMALL.knowledge()))()  # numpy's arrays, as they are
    np.testing.assert_array_equal(usual[1], judge(SMALL.knowledge())[1])
    value, moves = judge(SMALL.knowledge_from(dict(zip(SMALL.weights(), weights.tolist(), strict=True))))
    np.testing.assert_allclose(value, SMALL.heuristic(state), rtol=1e-5)
    np.testing.assert_allclose(moves, SMALL.move_weights(state), rtol=1e-5)
    flat = np.asarray(judge(SMALL.knowledge_from(dict.fromkeys(SMALL.weights(), 0.0)))[1])
    assert set(np.round(flat, 3)) <= {NEAR, round(FAR, 3)}
    assert judge._cache_size() == 1
