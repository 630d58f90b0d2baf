"""Maharajah and the Sepoys: counts, playouts, mates, castling, and a plain reference at every ply of all variants."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.maharajah import Maharajah as Reference
from reference.replay import check_agreement
from sparse import perft
from support import Host, check_playout, perft_json, random_games

from jaxgo.core.errors import UsageError
from jaxgo.games.maharajah.rules import Maharajah

GOLDEN = perft_json()["maharajah"]
LANES = 32
VARIANTS = [(layout, goal) for layout in ("dagaz", "classic", "two") for goal in ("capture", "mate")]
COUNTED = [variant for variant in VARIANTS if variant[0] != "two"]
PLAYOUTS = [(*v, record) for v in COUNTED for record in GOLDEN["maharajah_{}_{}".format(*v)]["playouts"]]
MATES = GOLDEN["mate_in_one"]
every = pytest.mark.parametrize(("layout", "goal"), VARIANTS)


@pytest.mark.slow
@pytest.mark.parametrize(("layout", "goal"), COUNTED)
def test_perft(layout, goal):
    nodes = GOLDEN[f"maharajah_{layout}_{goal}"]["perft"]["nodes"]
    assert perft(Maharajah(layout, goal), len(nodes)) == nodes


@pytest.mark.slow
@pytest.mark.parametrize(
    ("layout", "goal", "record"),
    [
        pytest.param(*p, id=f"{p[0]}-{p[1]}-{p[2]['seed']}", marks=[pytest.mark.slow] * (p[1] == "mate"))
        for p in PLAYOUTS
    ],
)
def test_playouts(layout, goal, record):
    assert check_playout(Maharajah(layout, goal), record).rows == record["final"]


@pytest.mark.slow
@pytest.mark.parametrize("record", MATES, ids=lambda r: r["board"].replace("/", ""))
def test_mates_in_one(record):
    game = Maharajah(goal="mate")
    host = Host.at(game, record["board"], 1)
    assert len(host.legal()) == record["n_legal"]
    results = {action: Host.at(game, record["board"], 1).play(action).result for action in host.legal()}
    assert [action for action, result in results.items() if result == -1] == record["mating_actions"]
    assert set(results.values()) <= {-1, None}


@pytest.mark.slow
def test_two_mates_in_one_position():
    game = Maharajah(goal="mate")
    rows = "......../......../......../......M./N...P.../.PP..P.P/P..P..P./R.BQK.NR"
    actions = Host.at(game, rows, 1).legal()
    assert actions == Reference(goal="mate").legal(Reference(goal="mate").at(rows, 1))
    assert [a for a in actions if Host.at(game, rows, 1).play(a).result == -1] == [1966, 1974]


@pytest.mark.slow
@pytest.mark.parametrize("goal", ["capture", "mate"])
def test_taking_the_royal_piece_wins(goal):
    host = Host.at(Maharajah(goal=goal), "......../......../......../....M.../...P..../......../......../....K...", 0)
    host.play(host.game.parse_action("d4-e5"))
    assert host.result == 1
    assert float(host.transition.reward) == 1


@pytest.mark.slow
def test_only_the_last_of_two_maharajas_is_royal():
    host = Host.at(
        Maharajah("two", "mate"), "...K..../......../...R..../......../......../......../.M.M..../........", 0
    )
    assert "d6-d2" in names(host)
    host.play(host.game.parse_action("d6-d2"))
    assert host.result is None
    assert "b2-c2" not in names(host)  # the other one may not stay beside the rook
    assert "b2-d2" in names(host)
    assert int(host.state.men[6]) == 7 << 4 | 4 << 12


@pytest.mark.parametrize("first", ["b2-b3", "b2-b4"])
def test_stalemate_is_a_draw(first):
    """The Maharaja that went into the corner is not attacked and has no square to go to."""
    host = Host(Maharajah(goal="mate"))
    host.play(*map(host.game.parse_action, (first, "e5-a1", "b1-c3")))
    assert host.result == 0


def names(host: Host) -> list[str]:
    return [host.game.action_name(a) for a in host.legal()]


CASTLE = "......../......../......../......../......../{}/PPPPPPPP/R...K..R"


@pytest.mark.parametrize(
    ("maharaja", "short", "long"),
    [
        ("a3", True, True),
        ("d3", False, False),
        ("e3", False, False),
        ("g3", False, True),
        ("h3", False, True),
        ("b3", True, False),
    ],
    ids=["free", "out of attack", "through both", "through", "into", "into long"],
)
def test_castling_out_of_through_and_into_attack(maharaja, short, long):
    """Behind its own pawns the king is attacked by jumps alone."""
    third = "".join("M" if file == maharaja[0] else "." for file in "abcdefgh")
    for goal in ("capture", "mate"):
        legal = names(Host.at(Maharajah(goal=goal), CASTLE.format(third), 0))
        assert ("e1-g1" in legal, "e1-c1" in legal) == (short, long)


def test_castling_moves_the_rook_and_ends_the_rights():
    for action, rank in (("e1-g1", "R....RK."), ("e1-c1", "..KR...R")):
        host = Host.at(Maharajah(), CASTLE.format("M......."), 0)
        assert int(host.state.rights) == 3
        host.play(host.game.parse_action(action))
        assert host.rows.endswith(rank)
        assert int(host.state.rights) == 0
    assert "e1-g1" not in names(Host.at(Maharajah(castling=False), CASTLE.format("M......."), 0))


@pytest.mark.parametrize(("action", "left"), [("a1-b1", 1), ("h1-g1", 2), ("e1-d1", 0), ("a2-a3", 3)])
def test_moves_that_spoil_castling(action, left):
    host = Host.at(Maharajah(), CASTLE.format("...M...."), 0)
    before = host.state.rights
    host.play(host.game.parse_action(action))
    assert (int(before), int(host.state.rights)) == (3, left)


def test_pawns_do_not_promote():
    host = Host.at(Maharajah(), "......../P......./......../....M.../......../......../......../....K...", 0)
    host.play(host.game.parse_action("a7-a8"))
    assert host.rows.startswith("P......./")
    host.play(host.game.parse_action("e5-e4"))
    assert not [name for name in names(host) if name.startswith("a8")]


def test_the_cap_makes_a_draw():
    host = Host(Maharajah(max_plies=2))
    host.play(host.legal()[0])
    host.play(host.legal()[0])
    assert host.result == 0


@pytest.mark.slow
@every
def test_reference_agrees_in_many_games(layout, goal):
    games = random_games(Maharajah(layout, goal), 256, seed=1, thorough=True)
    assert check_agreement(Maharajah(layout, goal), Reference(layout, goal), games) > 1000


@pytest.mark.slow
@settings(max_examples=60)
@given(st.lists(st.sampled_from("PPNBRRQ"), max_size=14), st.integers(1, 2), st.integers(0, 1), st.randoms())
def test_drawn_positions_agree_with_the_reference(men, maharajas, seat, random):
    """Pins, checks and double checks are rare in games, so drawn positions look for them; lone kings castle too."""
    places = random.sample(range(64), len(men) + maharajas + 1)
    cells = ["."] * 64
    for place, man in zip(places, [*men, *("M" * maharajas), "K"], strict=True):
        cells[place] = man
    rows = "".join(cells)
    for goal in ("capture", "mate"):
        layout = "dagaz" if maharajas == 1 else "two"
        host, reference = Host.at(Maharajah(layout, goal), rows, seat), Reference(layout, goal)
        state = reference.at(rows, seat)
        assert host.legal() == reference.legal(state)
        if host.legal():
            action = random.choice(host.legal())
            host.play(action)
            state = reference.step(state, action)
            assert host.rows.replace("/", "") == reference.cells(state)
            assert host.result == reference.result(state)


def test_heuristic_and_weights():
    game = Maharajah()
    start = Host(game).state
    assert float(game.heuristic(start)) == pytest.approx(0.9)
    host = Host.at(game, "......../......../......../....M.../...P..../......../......../....K...", 1)
    assert host.heuristic == pytest.approx(0.9 - 1.8 / 39)
    weights = host.weights
    assert [weights[game.parse_action(m)] for m in ("e5-f5", "e5-d4", "e5-e1")] == [1, 10, 1000]
    two = Maharajah("two")
    assert Host(two).weights.max() == 10


def test_observation():
    game = Maharajah()
    host = Host(game).play(game.parse_action("a2-a4"))
    planes = host.planes.reshape(64, 17)
    assert np.flatnonzero(planes[:, 6]).tolist() == [28]  # the mover's own Maharaja
    assert not planes[:, :6].any()
    assert planes[:, 7].sum() == 8  # enemy pawns
    assert planes[:, 12].sum() == 1
    assert planes[:, 14:16].all()
    assert not planes[:, 16].any()


@pytest.mark.parametrize("layout", ["dagaz", "classic", "two"])
def test_pieces_belong_to_the_seats_of_the_layout(layout):
    game = Maharajah(layout)
    host = Host(game)
    mover = {game.pieces[int(game.cells(host.state)[a // 64])].seat for a in host.legal()}
    assert mover == {0}


def test_left_and_right_are_the_same_without_castling():
    game = Maharajah(castling=False)
    cells, actions = game.symmetries()
    assert len(cells) == 2
    rows = "......../...B..../......../....M.../...P..../.N....../.....PP./.Q..K..R"
    host = Host.at(game, rows, 0)
    mirror = Host.at(game, "/".join(row[::-1] for row in rows.split("/")), 0)
    mask = np.isin(np.arange(4096), host.legal())
    assert np.flatnonzero(mask[actions[1]]).tolist() == mirror.legal()
    assert len(Maharajah().symmetries().cells) == 1


def test_a_drawn_position_needs_royal_pieces():
    with pytest.raises(UsageError, match="one king"):
        Maharajah().place(np.zeros(64, np.int8), 0)


@pytest.mark.parametrize(
    ("goal", "rows", "result"),
    [
        ("mate", "......../......../......../......../......../......M./......../.......K", -1),
        ("capture", "......PK/......PP/......../......../......../......../......../M.......", 0),
    ],
)
def test_a_drawn_position_without_a_move_is_over(goal, rows, result):
    host = Host.at(Maharajah(goal=goal), rows, 0)
    assert (host.legal(), host.over, host.result) == ([], True, result)
