"""Tables of small games: position by position what plain Python works out, and what is published."""

import dataclasses
import io
import resource

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from judges import At, Bare, Road
from reference.dodgem import Dodgem as PlainDodgem
from reference.mnk import Mnk as PlainMnk
from reference.solve import solve
from support import Host, codes

from jaxgo import players
from jaxgo.core.errors import UsageError
from jaxgo.core.game import without_ply_limit
from jaxgo.core.lanes import alone
from jaxgo.evaluators import solved
from jaxgo.games import make
from jaxgo.games.dodgem import Dodgem
from jaxgo.solvers.explore import Explorer, Room
from jaxgo.solvers.retrograde import solve_game, work_back

SMALL = Room(batch=2048)


def answers(game, table, *states):
    """What a table says of positions: values, distances, and the same of every move."""
    batch = jax.tree.map(lambda *x: np.stack(x), *states)
    return jax.device_get(solved.judge(game, solved.on_device(table), batch))


@pytest.fixture(scope="module")
def dodgem3():
    game = make("dodgem3")
    return game, solve_game(game, room=SMALL)


@pytest.mark.slow  # compiles for seconds
def test_dodgem_is_what_is_published_and_what_plain_python_finds(dodgem3):
    game, table = dodgem3
    assert len(table.keys) == 1963
    assert table.counts() == (1123, 0, 840)
    plain = PlainDodgem(3)
    truth = solve(plain, plain.initial())
    known = [state for state in truth.values if plain.result(state) is None]
    states = [game.place(np.array([".BR".index(c) for c in plain.cells(state)]), state[2]) for state in known]
    here, below = answers(game, table, *states)
    assert here.known.all()
    assert here.value.tolist() == [truth.values[state] for state in known]
    assert here.distance.tolist() == [truth.distances[state] for state in known]
    start = known.index(plain.initial())
    assert (here.value[start], here.distance[start]) == (1, 19)
    assert {a: (int(below.value[start, a]), int(below.distance[start, a])) for a in (21, 22, 24)} == {
        21: (-1, 17),
        22: (-1, 15),
        24: (1, 18),
    }


def test_tic_tac_toe_counts_and_values():
    game = make("tictactoe")
    table = solve_game(game, room=SMALL)
    plain = PlainMnk(3, 3, 3)
    truth = solve(plain, plain.initial())
    assert len(table.keys) == len(truth.values) == 5478
    values = list(truth.values.values())
    assert table.counts() == tuple(values.count(value) for value in (1, 0, -1))


@pytest.mark.slow  # compiles for seconds
def test_the_mine_race_is_won_by_leaving_multiples_of_five():
    game = make("minerace")
    table = solve_game(game, room=SMALL)
    here, below = answers(game, table, game.init(jax.random.key(0)))
    assert here.value.tolist() == [1]
    assert np.flatnonzero(below.value[0] > 0).tolist() == [3]  # 4 cells ahead


def test_going_round_for_ever_is_a_draw_and_the_same_seat_may_move_twice():
    # 0 -> 1, 2; 1 -> 0; 2 -> 3 (won by its mover) where the same seat moves again
    parent, child = np.array([0, 0, 1, 2]), np.array([2, 4, 0, 7])
    values, distances = work_back(np.array([0, 0, 0, 1], np.int8), parent, child)
    assert values.tolist() == [0, 0, 1, 1]
    assert distances.tolist() == [0, 0, 1, 0]
    values, _ = work_back(np.array([0, 0, 0, 1], np.int8), parent, np.array([2, 4, 0, 6]))
    assert values.tolist() == [1, -1, -1, 1]


def test_a_table_is_saved_loaded_and_plays_perfectly(dodgem3, tmp_path):
    game, table = dodgem3
    path = tmp_path / "dodgem3.npz"
    table.save(path, solved.describe(game))
    again, about = solved.load(path)
    assert about == solved.describe(game)
    assert all((a == b).all() for a, b in zip(table, again, strict=True))
    player = players.load_player(f"greedy,evaluator=solved,file={path}", game)
    host = Host(game)
    root = alone(host.position)
    run = jax.jit(lambda params, root: player.search.run(player.model, params, jax.random.key(0), root))
    chosen = run(player.params, root)
    assert int(chosen.action[0]) == 24
    with pytest.raises(UsageError, match="is about Dodgem size=3"):
        players.load_player(f"greedy,evaluator=solved,file={path}", Dodgem(3, blocked_wins=False))
    with pytest.raises(UsageError, match="needs file=TABLE"):
        players.load_player("greedy,evaluator=solved", game)
    with path.open("rb") as file:
        data = file.read()
    single = io.BytesIO()
    np.save(single, np.arange(3))
    for damaged in (b"nothing", b"", data[: len(data) // 2], single.getvalue()):
        path.write_bytes(damaged)
        with pytest.raises(UsageError, match="cannot read a solved table"):
            solved.load(path)
        with pytest.raises(UsageError, match="cannot read a solved table"):  # of the whole one nothing is remembered
            players.load_player(f"greedy,evaluator=solved,file={path}", game)


def test_a_table_that_cannot_be_written_leaves_the_old_one(tmp_path):
    path = tmp_path / "table.npz"
    table = solved.Table(np.arange(50, dtype=np.uint64), np.ones(50, np.int8), np.ones(50, np.uint16))
    table.save(path, "Nim")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, before[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            table.save(path, "Nim")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (solved.load(path)[0].keys == table.keys).all()
    assert [file.name for file in tmp_path.iterdir()] == ["table.npz"]


def test_no_damage_to_a_table_is_a_traceback(tmp_path):
    """A few bytes of a file changed at many places: what is read is the table, or it is refused in words."""
    rng, path = np.random.default_rng(0), tmp_path / "table.npz"
    table = solved.Table(np.arange(50, dtype=np.uint64), np.ones(50, np.int8), np.ones(50, np.uint16))
    table.save(path, "Nim")
    whole, refused = path.read_bytes(), 0
    for place in range(0, len(whole), 7):
        path.write_bytes(whole[:place] + rng.bytes(5) + whole[place + 5 :])
        try:
            assert all((a == b).all() for a, b in zip(table, solved.load(path)[0], strict=True))
        except UsageError:
            refused += 1
    assert refused > len(whole) // 14
    nothing = solved.Table(*(column[:0] for column in table))
    for wrong in (table._replace(values=table.values[1:]), table._replace(keys=table.keys[::-1]), nothing):
        wrong.save(path, "Nim")
        with pytest.raises(UsageError, match="cannot read a solved table"):
            solved.load(path)


def test_a_table_of_another_version_is_told_so_once(tmp_path, monkeypatch):
    path = tmp_path / "table.npz"
    table = solved.Table(np.arange(5, dtype=np.uint64), np.ones(5, np.int8), np.ones(5, np.uint16))
    with monkeypatch.context() as patch:
        patch.setattr(solved, "VERSION", solved.VERSION + 1)
        table.save(path, "Nim")
    with pytest.raises(UsageError, match="writes it: it is of another version; solve the game again"):
        solved.load(path)


def test_the_winner_hurries_and_the_loser_holds_out(monkeypatch):
    """Five moves: won in 9 and in 1, drawn, lost in 9 and in 1; then the order of their logits."""
    values, distances = jnp.array([[1, 1, 0, -1, -1]]), jnp.array([[9, 1, 0, 9, 1]])
    below = solved.Answer(jnp.ones((1, 5), bool), values, distances)
    monkeypatch.setattr(solved, "judge", lambda *_: (solved.Answer(*(x[:, 1] for x in below)), below))
    said = solved.Solved("table")(make("tictactoe"), (), jax.random.key(0), ())
    assert np.argsort(-said.logits[0]).tolist() == [1, 0, 2, 3, 4]
    assert said.value.tolist() == [1.0]
    far = below._replace(distance=jnp.array([[60000, 3000, 0, 3000, 60000]]))
    monkeypatch.setattr(solved, "judge", lambda *_: (solved.Answer(*(x[:, 1] for x in far)), far))
    logits = solved.Solved("table")(make("tictactoe"), (), jax.random.key(0), ()).logits[0]
    assert min(logits[:2]) > logits[2] > max(logits[3:]), "a win is a win, however far it is"


@pytest.mark.slow
def test_a_move_that_keeps_the_turn_keeps_the_sign(monkeypatch):
    """Every position counts as won for its mover: good where the same seat moves again (on 7), bad elsewhere."""
    game = Road()

    def all_won(table, keys):
        count = len(keys)
        return solved.Answer(jnp.ones(count, bool), jnp.ones(count, jnp.int32), jnp.ones(count, jnp.int32))

    monkeypatch.setattr(solved, "look_up", all_won)
    state = game.init(jax.random.key(0))._replace(cell=jnp.int8(5))
    nothing = solved.Table(np.zeros(1, np.uint64), np.zeros(1, np.int8), np.zeros(1, np.uint16))
    assert answers(game, nothing, state)[1].value.tolist() == [[-1, 1, -1]]


@pytest.mark.parametrize(("name", "option", "kept"), [("go5", "move_limit", "ko"), ("dodgem3", "move_limit", "size")])
def test_the_limit_of_plies_is_lifted_whatever_its_option_is_called(name, option, kept):
    short, long = (make(name, **{option: plies}) for plies in (6, 300))
    assert getattr(without_ply_limit(short), option) == 10_000
    assert without_ply_limit(short) == without_ply_limit(long)
    assert solved.describe(short) == solved.describe(long)
    assert f"{kept}=" in solved.describe(short)


def test_roots_are_a_batch_of_states():
    game = make("tictactoe")
    state = game.init(jax.random.key(0))
    for wrong in (state, Host(game).position, None):
        with pytest.raises(UsageError, match="roots are a batch of states"):
            Explorer(game, wrong, SMALL)
    with pytest.raises(UsageError, match=r"a position for Mnk is made of .*; give one of this game"):
        solve_game(game, alone(make("kono").init(jax.random.key(0))), SMALL)


def test_what_cannot_be_solved_is_refused():
    with pytest.raises(UsageError, match="a puzzle has a solution"):
        solve_game(make("hughe"))
    with pytest.raises(UsageError, match="depend on the way"):
        solve_game(make("kono", repetition="loss"))
    with pytest.raises(UsageError, match=r"what Go says of repetition.*: ko=simple in Go"):
        solve_game(make("go5", size=2))
    with pytest.raises(UsageError, match="more than 1,000 positions"):
        solve_game(make("dodgem3"), room=Room(2048, most=1000))


@dataclasses.dataclass(frozen=True)
class Round(Bare):
    """Steps on a line of seven, or of one or two round a ring of twenty, until the plies end it."""

    ring: bool

    num_actions = 2
    max_plies = 6

    def legal(self, state):
        return jnp.array([True, self.ring])

    def step(self, state, action):
        at = state.at + 1 + action.astype(jnp.int8)
        return At(at % 20 if self.ring else at, 1 - state.to_play, state.ply + jnp.int16(1))

    def over(self, state):
        return state.ply >= self.max_plies

    def returns(self, state):
        return jnp.array([1.0, -1.0])


def test_plies_that_end_a_game_are_refused_where_positions_come_back():
    with pytest.raises(UsageError, match=r"Round ends after max_plies=6 plies.*; make the limit an option"):
        solve_game(Round(ring=True), room=SMALL)
    assert solve_game(Round(ring=False), room=SMALL).counts() == (4, 0, 3), "there a position has its plies"
    later = jax.tree.map(
        lambda x: x[None], Round(ring=True).step(Round(ring=True).init(jax.random.key(0)), jnp.int8(0))
    )
    with pytest.raises(UsageError, match=r"Round ends after max_plies=6 plies"):
        solve_game(Round(ring=True), later, room=SMALL)


@pytest.mark.slow
def test_a_finished_game_of_go_is_no_live_one_on_the_same_board():
    """Two passes in a row end it, two passes with a stone between them do not; a plain search counts 255 positions."""
    game = make("go5", size=2, ko="simple", komi=0.5)
    assert len(solve_game(game, room=SMALL).keys) == 255


@pytest.mark.slow
def test_dodgem_4_is_a_draw():
    game = make("dodgem4")
    table = solve_game(game)
    assert len(table.keys) == 393_900
    here, below = answers(game, table, game.init(jax.random.key(0)))
    assert here.value.tolist() == [0]
    assert [int(below.value[0, a]) for a in (39, 40, 42, 45)] == [0, -1, 0, 0]
    assert int(below.distance[0, 40]) == 37


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "winning"),
    [
        ("eeee./M..M./e.e.e/...e./...M.", {92}),
        ("ee.e./.Mee./M..M./....e/..eee", {15, 33}),
        (".Me.e/.Me.e/....M/...e./e.eee", {39}),
    ],
)
def test_endings_of_the_three_musketeers(rows, winning):
    game = make("musketeers")
    seat = 0 if winning == {92} else 1
    state = game.place(codes(game, rows), seat)
    table = solve_game(game, alone(state))
    _, below = answers(game, table, state)
    legal = np.flatnonzero(np.asarray(game.legal(state)))
    assert {a for a in legal.tolist() if below.value[0, a] > 0} == winning


@pytest.mark.slow
def test_kono_is_a_draw_by_any_first_move():
    game = make("kono")
    table = solve_game(game, room=Room(batch=1 << 16))
    here, below = answers(game, table, game.init(jax.random.key(0)))
    assert here.value.tolist() == [0]
    assert [int(below.value[0, a]) for a in (100, 108, 116, 124)] == [0, 0, 0, 0]
    assert int(table.distances.max()) == 114
