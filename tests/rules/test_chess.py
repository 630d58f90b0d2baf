"""Chess and Gardner's minichess: known counts, a reference at every ply, castling, en passant, all kinds of draws."""

import collections
import functools
import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from reference.chess import Chess as Reference
from reference.chess import perft as count
from reference.replay import check_agreement
from sparse import perft
from support import Host, mostly_slow, random_games

from jaxgo.core import play
from jaxgo.core.board import square_name
from jaxgo.core.errors import UsageError
from jaxgo.games import GAMES
from jaxgo.games.chess.rules import Chess

CHESS, GARDNER = GAMES["chess"], GAMES["gardner"]
LANES = 32
COUNTS = {  # the last number of each takes a while
    "": [20, 400, 8902, 197281],
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq -": [48, 2039, 97862],
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - -": [14, 191, 2812, 43238],
    "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1": [6, 264, 9467],
    "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8": [44, 1486, 62379],
    "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10": [46, 2079, 89890],
}


class Numbered(Reference):
    """The reference by the numbers of moves."""

    def __init__(self, game: Chess):
        super().__init__(game.board, game.fen, game.max_plies, game.repetition)
        self.game = game
        self.number = functools.cache(self.number)

    def number(self, move) -> int:
        return self.game.parse_action("".join(square_name(cell, *self.game.shape) for cell in move[:2]) + move[2])

    def legal(self, state):
        return sorted(map(self.number, super().legal(state)))

    def step(self, state, action):
        return super().step(state, next(move for move in self.moves(state) if self.number(move) == action))


@functools.cache
def resume(game: Chess):
    return jax.jit(functools.partial(play.resume, game))


def at(fen: str, game: Chess = CHESS) -> Host:
    return Host(game, resume(game)(game.from_fen(fen)))


def names(host: Host, begin: str = "") -> set[str]:
    return {name for name in map(host.game.action_name, host.legal()) if name.startswith(begin)}


def go(host: Host, moves: str) -> Host:
    return host.play(*map(host.game.parse_action, moves.split()))


@pytest.mark.parametrize(
    ("fen", "deep"),
    [(fen, False) for fen in COUNTS] + [pytest.param(fen, True, marks=pytest.mark.slow) for fen in COUNTS],
)
def test_perft(fen, deep):
    counts = COUNTS[fen] if deep else COUNTS[fen][:2]
    start = CHESS.from_fen(fen) if fen else None
    assert perft(CHESS, len(counts), start=start) == counts


def test_the_reference_counts_the_same():
    for fen, counts in COUNTS.items():
        assert count(Reference(fen=fen), 2) == counts[:2]


def test_perft_of_gardner():
    assert perft(GARDNER, 4) == count(Reference("gardner"), 4) == [7, 53, 506, 4775]


@pytest.mark.parametrize(
    ("name", "games"), mostly_slow([("gardner", 4), ("gardner", 96), ("chess", 12)], [("gardner", 4)])
)
def test_reference_agrees_at_every_ply(name, games):
    game = GAMES[name]
    assert (
        check_agreement(game, Numbered(game), random_games(game, LANES if games < LANES else games), range(games)) > 100
    )


@pytest.mark.slow
def test_random_games_end_in_every_way():
    """The kinds of ends that the reference tells of games whose results agree with it."""
    ends = collections.Counter()
    for game in (GARDNER, CHESS):
        games, reference = random_games(game, 96 if game == GARDNER else LANES), Numbered(game)
        for lane in range(games.actions.shape[1] if game == GARDNER else 12):
            state = reference.initial()
            for t in range(len(games.actions)):
                if games.live[t, lane]:
                    state = reference.step(state, int(games.actions[t, lane]))
            ends[reference.ended(state)] += 1
    assert set(ends) == {"mate", "stalemate", "clock", "repetition", "barren", "limit"}


# -- castling ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("black", "castles"),
    [
        ("8/2k5/8/8/8/8", {"e1g1", "e1c1"}),
        ("4r3/2k5/8/8/8/8", set()),
        ("5r2/2k5/8/8/8/8", {"e1c1"}),
        ("3r4/2k5/8/8/8/8", {"e1g1"}),
        ("6r1/2k5/8/8/8/8", {"e1c1"}),
        ("1r6/2k5/8/8/8/8", {"e1g1", "e1c1"}),  # the rook may pass b1
        ("7r/2k5/8/8/8/8", {"e1g1", "e1c1"}),  # and be attacked
    ],
    ids=["free", "out of check", "through", "through d1", "into", "past b1", "rook"],
)
def test_castling_out_of_through_and_into_check(black, castles):
    host = at(f"{black}/8/R3K2R w KQ -")
    assert names(host, "e1") & {"e1g1", "e1c1"} == castles


def test_castling_moves_the_rook_and_ends_the_rights():
    for seat, (fen, moves) in enumerate(
        [("4k3/8/8/8/8/8/8/R3K2R w KQ -", ("e1g1", "e1c1")), ("r3k2r/8/8/8/8/8/8/4K3 b kq -", ("e8g8", "e8c8"))]
    ):
        for move, row in zip(moves, ("R....RK.", "..KR...R"), strict=True):
            host = go(at(fen), move)
            assert host.rows.split("/")[-1 if seat == 0 else 0].upper() == row
            assert int(host.state.rights) == 0


@pytest.mark.parametrize(
    ("moves", "left"),
    [
        ("e1e2 e8d8", "-"),
        ("a1b1 h8g8", "Kq"),
        ("a1a8", "Kk"),  # the rook leaves its square, and the other one is captured
        ("h1h8", "Qq"),
    ],
)
def test_moves_and_captures_that_spoil_castling(moves, left):
    host = go(at("r3k2r/8/8/8/8/8/8/R3K2R w KQkq -"), moves)
    assert CHESS.to_fen(host.state).split()[2] == left


# -- en passant --------------------------------------------------------------------------------------------------------


def test_en_passant_lasts_one_move():
    host = go(at("4k3/3p4/8/4P3/8/8/8/4K3 b - -"), "d7d5")
    assert CHESS.to_fen(host.state).split()[3] == "d6"
    assert names(host, "e5") == {"e5d6", "e5e6"}
    later = go(go(host, "e1e2 e8e7"), "e2e1")
    assert CHESS.to_fen(later.state).split()[3] == "-"
    taken = go(go(at("4k3/3p4/8/4P3/8/8/8/4K3 b - -"), "d7d5"), "e5d6")
    assert taken.rows == "....k.../......../...P..../......../......../......../......../....K..."
    assert int(taken.state.clock) == 0


@pytest.mark.parametrize(
    ("fen", "move"),
    [
        ("8/8/8/K2pP2r/8/8/8/7k w - d6", "e5d6"),  # both pawns leave the row
        ("8/8/8/r2pP2K/8/8/8/7k w - d6", "e5d6"),
        ("7b/8/8/3pP3/8/2K5/8/7k w - d6", "e5d6"),  # the captor is pinned along a line
        ("k7/b7/8/2Pp4/8/4K3/8/8 w - d6", "c5d6"),
        ("6bk/8/8/2Pp4/8/1K6/8/8 w - d6", "c5d6"),  # the captured pawn stood in a line
        ("4r2k/8/8/3pP3/8/8/8/4K3 w - d6", "e5d6"),
    ],
)
def test_en_passant_that_would_show_the_king_is_no_move_and_no_right(fen, move):
    host = at(fen)
    assert move not in names(host)
    assert int(host.state.passed) == -1


@pytest.mark.parametrize(
    ("fen", "move"),
    [
        ("7k/8/8/3pP3/4K3/8/8/8 w - d6", "e5d6"),  # the pawn that gives check is captured
        ("7k/8/8/b2pP3/8/8/8/4K3 w - d6", None),  # it does not come between
        ("7k/8/5K2/3pP3/8/8/8/b7 w - d6", None),  # along the line of the pin there is no capture
        ("3r3k/8/8/3pP3/8/8/8/3K4 w - d6", "e5d6"),  # on the file the captor closes what it opens
        ("3r3k/4p3/8/2PpP3/8/3K4/8/8 w - d6", "c5d6"),
    ],
)
def test_en_passant_that_is_a_cure_or_harmless(fen, move):
    """As the reference sees it, too."""
    host, reference = at(fen), Numbered(CHESS)
    assert host.legal() == reference.legal(reference.at(fen))
    assert move is None or move in names(host)


def test_promotions_are_four_moves_also_by_capture():
    host = at("1r5k/P7/8/8/8/8/8/K7 w - -")
    assert names(host, "a7") == {f"a7{to}{kind}" for to in ("a8", "b8") for kind in "qrbn"}
    assert go(host, "a7b8n").rows.startswith(".N.....k/")
    black = at("7k/8/8/8/8/8/p7/1R5K b - -")
    assert names(black, "a2") == {f"a2{to}{kind}" for to in ("a1", "b1") for kind in "qrbn"}
    assert go(black, "a2a1r").rows.endswith("/rR.....K")


# -- ends --------------------------------------------------------------------------------------------------------------


def test_mate_and_stalemate():
    assert go(Host(CHESS), "f2f3 e7e5 g2g4 d8h4").result == -1
    assert go(at("k7/8/1K6/8/8/8/8/7R w - -"), "h1h8").result == 1
    assert go(at("k7/8/1K6/8/8/8/8/2Q5 w - -"), "c1c7").result == 0
    assert at("k7/2Q5/1K6/8/8/8/8/8 b - -").result == 0, "a position that is an end already"


def test_the_third_time_is_a_draw():
    host, back = Host(CHESS), "g1f3 g8f6 f3g1 f6g8"
    assert go(host, back).result is None
    assert go(host, back).result == 0
    assert go(go(Host(Chess(repetition="none")), back), back).result is None


def test_positions_with_other_rights_are_others():
    """With the rights to castle, and with a pawn to capture en passant, a position has not come before."""
    host = at("4k3/8/8/8/8/8/8/4K2R w K -")
    for _ in range(2):
        go(host, "e1e2 e8e7 e2e1 e7e8")
    assert host.result is None, "at first White might castle"
    assert go(host, "e1e2").result == 0
    for black, over in (("3p4/8/4P3", False), ("3p4/8/7P", True)):  # capturing is possible, or not
        host = go(at(f"4k3/{black}/8/8/8/8/4K3/8 b - -".replace("/8/8/8/8/4K3/8", "/8/8/8/4K3")), "d7d5")
        for _ in range(2):
            go(host, "e1e2 e8e7 e2e1 e7e8")
        assert (host.result == 0) == over


def test_a_hundred_quiet_plies_are_a_draw_but_mate_counts():
    host = at("7k/8/8/8/8/8/R7/K7 w - - 98 90")
    assert go(host, "a2b2").result is None
    assert go(host, "h8g8").result == 0
    assert go(at("k7/8/1K6/8/8/8/8/7R w - - 99 90"), "h1h8").result == 1
    assert go(at("7k/8/8/8/8/8/RP6/K7 w - - 99 90"), "b2b4").result is None


@pytest.mark.parametrize(
    ("fen", "result"),
    [
        ("7k/8/8/8/8/8/8/K7 w - -", 0),
        ("7k/8/8/8/8/8/8/KN6 w - -", 0),
        ("6bk/8/8/8/8/8/8/K7 w - -", 0),
        ("6bk/8/8/8/8/8/8/KB6 w - -", 0),  # both on white
        ("6bk/7b/8/8/8/8/8/K1B5 w - -", None),
        ("6bk/8/8/8/8/8/8/K1B5 w - -", None),
        ("7k/8/8/8/8/8/8/KNN5 w - -", None),
        ("6nk/8/8/8/8/8/8/KN6 w - -", None),
        ("7k/8/8/8/8/8/P7/K7 w - -", None),
        ("7k/8/8/8/8/8/8/KR6 w - -", None),
    ],
)
def test_men_that_cannot_mate(fen, result):
    assert at(fen).result == result


@pytest.mark.slow
def test_the_cap_makes_a_draw():
    assert go(Host(Chess(max_plies=2)), "e2e4 e7e5").result == 0


# -- positions ---------------------------------------------------------------------------------------------------------


def scattered(random: random.Random, men: list[str], passing: bool) -> str:
    """A FEN of men on squares of luck, or "": the kings on their first squares, as often as not."""
    cells = ["."] * 64
    for king, home in (("K", 60), ("k", 4)):
        free = [c for c in range(64) if cells[c] == "."]
        cells[home if home in free and random.random() < 0.5 else random.choice(free)] = king
    for corner, rook in ((63, "R"), (56, "R"), (7, "r"), (0, "r")):
        if cells[corner] == "." and random.random() < 0.5:
            cells[corner] = rook
    seat, passed = random.choice("wb"), "-"
    if passing:  # a pawn beside one that has just moved by two squares
        column, row, side = random.randrange(8), 3 if seat == "w" else 4, -8 if seat == "w" else 8
        beside = row * 8 + column + (1 if column == 0 or (column < 7 and random.random() < 0.5) else -1)
        square = row * 8 + column
        if any(cells[c] != "." for c in (square, square + side, square + 2 * side, beside)):
            return ""
        cells[square], cells[beside] = ("p", "P") if seat == "w" else ("P", "p")
        passed = square_name(square + side, 8, 8)
        kept = {square + side, square + 2 * side}
    else:
        kept = set()
    for man in men:
        rows = range(8, 56) if man in "Pp" else range(64)
        free = [c for c in rows if cells[c] == "." and c not in kept]
        cells[random.choice(free)] = man
    rights = "".join(
        letter
        for letter, king, rook in (("K", 60, 63), ("Q", 60, 56), ("k", 4, 7), ("q", 4, 0))
        if cells[king] == ("K" if letter.isupper() else "k") and cells[rook] == ("R" if letter.isupper() else "r")
    )
    rows = "/".join("".join(cells[row * 8 : row * 8 + 8]).replace(".", "1") for row in range(8))
    return f"{rows} {seat} {rights or '-'} {passed} 0 1"


@pytest.mark.slow
@settings(max_examples=400, suppress_health_check=[HealthCheck.filter_too_much])
@given(st.lists(st.sampled_from("PPNBRQppnbrqbrq"), max_size=14), st.booleans(), st.randoms(use_true_random=False))
def test_drawn_positions_agree_with_the_reference(men, passing, luck):
    """Pins, double checks and captures en passant are rare in games, so drawn positions look for them."""
    fen = scattered(luck, men, passing)
    assume(fen)
    reference = Numbered(CHESS)
    state = reference.at(fen)
    assume(not reference.attacked(state[0], state[0].index("Kk"[state[1] == 0]), state[1]))
    host = at(fen)
    assert host.legal() == reference.legal(state), fen
    for action in luck.sample(host.legal(), min(3, len(host.legal()))):
        after, known = at(fen).play(action), reference.step(state, action)
        assert after.rows.replace("/", "") == reference.cells(known)
        assert after.result == reference.result(known)


def test_fen_there_and_back():
    for fen in [*COUNTS, "rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6 0 1"]:
        if len(fen.split()) == 6:
            assert CHESS.to_fen(CHESS.from_fen(fen)).split()[:5] == fen.split()[:5]
    start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
    assert CHESS.to_fen(Host(CHESS).state) == start
    played = go(Host(CHESS), "e2e4 c7c5 g1f3")
    assert CHESS.to_fen(played.state) == "rnbqkbnr/pp1ppppp/8/2p5/4P3/5N2/PPPP1PPP/RNBQKB1R b KQkq - 1 2"
    black = CHESS.from_fen("4k3/8/8/8/8/8/4P3/4K3 b - - 0 1")
    moved = CHESS.step(black, jnp.int32(CHESS.parse_action("e8d8")))
    assert CHESS.to_fen(moved) == "3k4/8/8/8/8/8/4P3/4K3 w - - 1 2", "a move is over when Black has made it"
    np.testing.assert_array_equal(CHESS.hash(CHESS.from_fen(CHESS.to_fen(played.state))), CHESS.hash(played.state))
    drawn = CHESS.place(np.asarray(CHESS.cells(Host(CHESS).state)), 0)
    np.testing.assert_array_equal(CHESS.hash(drawn), CHESS.hash(Host(CHESS).state))
    assert GARDNER.to_fen(Host(GARDNER).state) == "rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1"


@pytest.mark.slow
def test_a_game_begins_where_its_fen_says():
    mated = Chess(fen="k7/8/1K6/8/8/8/8/7R_w")
    assert go(Host(mated), "h1h8").result == 1
    assert Host(Chess(fen="R6k/8/6K1/8/8/8/8/8 b")).result == 1
    in_vain = Chess(fen="rnbqkbnr/ppp1pppp/8/8/3pP3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 1")
    assert Host(in_vain).legal() == Host(CHESS, play.put(CHESS, CHESS.from_fen(in_vain.fen))).legal()


@pytest.mark.parametrize(
    ("fen", "words"),
    [
        ("8/8/8/8/8/8/8/8 w", "one king of each side"),
        ("k7/8/8/8/8/8/8/KK6 w", "one king of each side"),
        ("k6P/8/8/8/8/8/8/K7 w", "no pawn on the first and the last row"),
        ("k6R/8/8/8/8/8/8/K7 w", "the king of the side that does not move is in check"),
        ("k7/8/1N6/8/8/8/8/K7 w", "is in check"),
        ("k7/1P6/8/8/8/8/8/K7 w", "is in check"),
        ("k7/1K6/8/8/8/8/8/8 w", "is in check"),
        ("k7/8/8/8/8/8/K7 w", "8 rows of 8 squares"),
        ("k7/8/8/8/8/8/8/K8 w", "8 rows of 8 squares"),
        ("k7/8/8/8/8/8/8/K6X w", "not 'X'"),
        ("k7/8/8/8/8/8/8/K7 x", "w or b for who moves, not 'x'"),
        ("k7/8/8/8/8/8/8/K7 w KX", "letters of KQkq"),
        ("k7/8/8/8/8/8/8/K7 w - e9", "a square of the board"),
        ("k7/8/8/8/8/8/8/K7 w - e6", "no pawn can have jumped over e6"),
        ("4k3/8/8/8/3Pp3/8/8/4K3 w - e5", "no pawn can have jumped over e5"),
        ("4k3/8/8/8/8/8/3Pp3/4K3 w - e3", "no pawn can have jumped over e3"),
        ("k7/8/8/8/8/8/8/K7 w - a" + 5000 * "1", "a square of the board"),
        ("k7/8/8/8/8/8/8/K7 w - - x", "two numbers"),
    ],
)
def test_what_is_no_position_is_told(fen, words):
    with pytest.raises(UsageError, match=words):
        CHESS.from_fen(fen)
    with pytest.raises(UsageError, match=words):
        Chess(fen=fen)


# -- views and hints ---------------------------------------------------------------------------------------------------


def test_names_are_those_of_uci():
    assert (CHESS.num_actions, GARDNER.num_actions) == (1968, 520)
    assert CHESS.parse_action("E7E8Q") == CHESS.parse_action("e7e8q") != CHESS.parse_action("e7e8")


@pytest.mark.parametrize("name", mostly_slow(["gardner", "chess"], ["gardner"]))
def test_symmetries_hold_for_positions(name):
    """The contract test sees only those that keep the start; these swap the sides, or move king and queen."""
    game = GAMES[name]
    games, (cells, actions) = random_games(game, LANES), game.symmetries()
    see = jax.jit(lambda s: (game.legal(s), game.observe(s), game.heuristic(s)))
    assert len(cells) == (2 if name == "chess" else 4)
    swap = np.array([0, *range(7, 13), *range(1, 7)])
    for lane, t in enumerate((0, 3, 8, 15, 20)):
        drawn, seat = games.cells[t, lane], int(games.to_play[t, lane])
        mask, planes, guess = jax.device_get(see(game.place(drawn, seat)))
        for group, turn in enumerate(cells):
            swaps = group >= len(cells) // 2
            turned = swap[drawn[turn]] if swaps else drawn[turn]
            mask_g, planes_g, guess_g = see(game.place(turned.astype(np.int8), 1 - seat if swaps else seat))
            np.testing.assert_array_equal(mask_g, mask[actions[group]])
            flat = planes.reshape(-1, planes.shape[-1])
            np.testing.assert_array_equal(np.asarray(planes_g).reshape(flat.shape), flat[turn])
            assert guess_g == pytest.approx(guess, abs=1e-5)


def test_observation():
    host = go(at("r3k2r/3p4/8/4P3/8/8/8/4K2R b Kq - 60 1"), "d7d5")
    planes = host.planes.reshape(64, 18)
    assert np.flatnonzero(planes[:, 0]).tolist() == [28]  # own pawns
    assert np.flatnonzero(planes[:, 5]).tolist() == [60]
    assert np.flatnonzero(planes[:, 6]).tolist() == [27]  # the other's
    assert np.flatnonzero(planes[:, 12]).tolist() == list(range(8))  # where White promotes
    assert np.flatnonzero(planes[:, 13]).tolist() == [0, 63]  # rooks that may castle
    assert np.flatnonzero(planes[:, 14]).tolist() == [19]
    assert not planes[:, 15:].any(), "a pawn has moved"
    quiet = at("4k3/8/8/8/8/8/8/4K2R b K - 60 1").planes.reshape(64, 18)
    assert quiet[:, 15:].all(axis=0).tolist() == [True, True, False]
    assert np.flatnonzero(quiet[:, 12]).tolist() == list(range(56, 64)), "where Black promotes"


def test_hints_count_men():
    assert Host(CHESS).heuristic == pytest.approx(0, abs=1e-6)
    up = "4k3/8/8/8/8/8/8/3QK3 {} - -"
    assert at(up.format("w")).heuristic > 0.9
    assert at(up.format("b")).heuristic == -at(up.format("w")).heuristic
    host = at("4k3/P7/8/3q4/4P3/2Q5/8/4K3 w - -")
    weights = {name: float(host.weights[CHESS.parse_action(name)]) for name in ("e1e2", "e4d5", "a7a8q", "a7a8n")}
    assert weights["e1e2"] == 1
    assert weights["e4d5"] > weights["a7a8q"] > weights["a7a8n"] > 1
    assert (Host(GARDNER).weights > 0).all()
