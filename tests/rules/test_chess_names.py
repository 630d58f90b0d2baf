"""Names of chess moves that depend on the position, and the host's own rules, by which they are read."""

import copy
import random

import numpy as np
import pytest
from reference.replay import check_agreement
from support import mostly_slow, random_games, unchecked

from jaxgo.core import play, position_text, replay
from jaxgo.core.errors import UsageError
from jaxgo.games import GAMES
from jaxgo.games.chess import san
from jaxgo.games.chess.mailbox import Mailbox

CHESS, GARDNER = GAMES["chess"], GAMES["gardner"]
COUNTS = {  # of `test_chess`, without a program
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq": [20, 400],
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq -": [48, 2039],
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - -": [14, 191, 2812],
    "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1": [6, 264],
    "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8": [44, 1486],
}
TO_NAME = {  # move and name
    "4k3/8/8/8/8/8/8/RN2K2N w - -": {"b1d2": "Nd2", "a1a8": "Ra8+", "b1a3": "Na3"},
    "4k3/8/8/8/8/5N2/8/1N2K3 w - -": {"b1d2": "Nbd2", "f3d2": "Nfd2"},
    "k7/8/8/4R3/8/8/8/K3R3 w - -": {"e1e2": "R1e2", "e5e2": "R5e2"},
    "1k6/8/8/8/4Q2Q/8/8/K6Q w - -": {"h4e1": "Qh4e1", "e4e1": "Qee1", "h1e1": "Q1e1"},
    "4k3/8/8/8/1b6/2N5/8/4K1N1 w - -": {"g1e2": "Ne2"},  # the other knight is pinned
    "r3k2r/8/8/8/8/8/8/R3K2R w KQkq": {"e1g1": "O-O", "e1c1": "O-O-O", "e1f1": "Kf1", "a1a8": "Rxa8+"},
    "4k3/8/8/3Pp3/8/8/8/4K3 w - e6": {"d5e6": "dxe6"},
    "3r3k/4P3/8/8/8/8/8/4K3 w - -": {"e7d8q": "exd8=Q+", "e7e8n": "e8=N", "e7e8q": "e8=Q+"},
    "r1bqkbnr/pppp1ppp/2n5/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq": {"h5f7": "Qxf7#", "c4f7": "Bxf7+"},
}
MEANT = {  # what people may write for a move
    "e4": "e2e4",
    "e2e4": "e2e4",
    "E2E4": "e2e4",
    "e2-e4": "e2e4",
    "e4!?": "e2e4",
    " Nf3 ": "g1f3",
    "Ng1f3": "g1f3",
    "Ng1-f3": "g1f3",
    "Ngf3": "g1f3",
    "Pe4": "e2e4",
    "Nf3+": "g1f3",
    "Nxf3": "g1f3",
}


def twin(box: Mailbox) -> Mailbox:
    """Another one of the same position."""
    other = copy.copy(box)
    other.cells, other._seen = box.cells.copy(), box._seen.copy()
    return other


def count(box: Mailbox, depth: int) -> int:
    if depth == 0:
        return 1
    total = 0
    for action in box.moves():
        after = twin(box)
        after.play(action)
        total += count(after, depth - 1)
    return total


def named(text: str, box: Mailbox) -> list[str] | None:
    found = san.named(text, box.cells, box.shape, box.legal)
    game = CHESS if box.shape == (8, 8) else GARDNER
    return None if found is None else [game.action_name(action) for action in found]


class ByHost:
    """The host's rules as a reference, which keeps the moves of the position that it is in."""

    def __init__(self, game):
        self.game = game

    def initial(self):
        return self.reached(self.game.mailbox(self.game.read_fen()))

    def reached(self, box):
        self.moves = sorted(box.moves())
        return box

    def cells(self, box):
        return "".join(self.game.pieces[code].glyph for code in box.cells)

    def to_move(self, box):
        return box.seat

    def result(self, box):
        if not self.moves and box.check:
            return 1.0 if box.seat else -1.0
        plies = sum(box._seen.values()) - 1
        ended = not self.moves or box.drawn or box.times >= 3 or plies >= self.game.max_plies
        return 0.0 if ended else None

    def legal(self, box):
        return [] if self.result(box) is not None else self.moves

    def step(self, box, action):
        box.play(action)
        return self.reached(box)


@pytest.mark.parametrize("fen", COUNTS)
def test_counts_of_the_host(fen):
    box = CHESS.mailbox(fen)
    assert [count(box, depth + 1) for depth in range(len(COUNTS[fen]))] == COUNTS[fen]
    if fen == next(iter(COUNTS)):
        assert count(GARDNER.mailbox(GARDNER.read_fen()), 3) == 506


@pytest.mark.parametrize(
    ("moves", "rows", "rights"),
    [
        ("exd6", "r...k..r/......../...P..../......../......../......../......../R...K..R", 9),  # the pawn is gone
        ("O-O Kd7", "r......r/...k..../......../...pP.../......../......../......../R....RK.", 0),
        ("Rxa8+", "R...k..r/......../......../...pP.../......../......../......../....K..R", 1),
    ],
)
def test_moves_of_two_men_and_rights_that_end(moves, rows, rights):
    box = CHESS.mailbox("r3k2r/8/8/3pP3/8/8/8/R3K2R w Kq d6")
    for name in moves.split():
        (action,) = san.named(name, box.cells, box.shape, box.legal) or []
        box.play(action)
    assert "".join(CHESS.pieces[code].glyph for code in box.cells) == rows.replace("/", "")
    assert box.rights == rights


@pytest.mark.parametrize(
    ("name", "games"), mostly_slow([("gardner", 4), ("gardner", 96), ("chess", 12)], [("gardner", 4)])
)
@unchecked()
def test_the_host_moves_by_the_same_rules(name, games):
    game = GAMES[name]
    assert check_agreement(game, ByHost(game), random_games(game, max(games, 32)), range(games)) > 100


@pytest.mark.parametrize(
    ("name", "plies"),
    mostly_slow([("chess", 3), ("gardner", 12), ("chess", 80), ("gardner", 80)], [("chess", 3), ("gardner", 12)]),
)
@unchecked()
def test_every_legal_move_has_a_name_of_its_own_that_is_read(name, plies):
    game, draw, positions = GAMES[name], random.Random(3), 0
    for start in [game.read_fen()] * 2 + ([*COUNTS, *TO_NAME] if game is CHESS else []):
        box = game.mailbox(start)
        for _ in range(plies):
            moves = box.moves()
            if not moves or box.drawn:
                break
            names = {action: san.written(action, twin(box)) for action in moves}
            assert len({*names.values()}) == len(moves), bytes(box.cells)
            mask = np.isin(np.arange(game.num_actions), moves)
            for action, name in names.items():
                bare = name.rstrip("+#")
                for text in {name, bare, bare.replace("=", "") + "!?", name.replace("O", "0")}:
                    assert san.named(text, box.cells, box.shape, box.legal) == [action], (text, name)
                assert game.named(name, np.array(box.cells, np.int8), mask) == [action], name
                assert game.named(game.action_name(action), np.array(box.cells, np.int8), mask) == [action]
            box.play(draw.choice(moves))
            positions += 1
    assert positions > plies


@pytest.mark.parametrize("fen", TO_NAME)
def test_names_tell_no_more_than_they_must(fen):
    for move, name in TO_NAME[fen].items():
        assert san.written(CHESS.parse_action(move), CHESS.mailbox(fen)) == name


def test_names_are_read_as_people_write_them():
    box = CHESS.mailbox(CHESS.read_fen())
    for text, move in MEANT.items():
        assert named(text, box) == [move], text
    castling = CHESS.mailbox("r3k2r/8/8/8/8/8/8/R3K2R w KQkq")
    for text in ("O-O", "0-0", "o-o", "OO", "O-O+", "e1g1", "Kg1"):
        assert named(text, castling) == ([] if text == "Kg1" else ["e1g1"]), text
    for text in ("O-O-O", "0-0-0", "OOO"):
        assert named(text, castling) == ["e1c1"]
    pawns = CHESS.mailbox("3r3k/2P5/8/3Pp3/8/8/8/B3K3 w - e6")
    for text in ("cxd8=Q", "cxd8Q", "cd8=q", "cxd8Q+!", "c7d8q", "c7xd8=Q"):
        assert named(text, pawns) == ["c7d8q"], text
    for text in ("dxe6", "de6", "dxe6 e.p.", "dxe6ep", "d5e6"):
        assert named(text, pawns) == ["d5e6"], text
    assert named("c8", pawns) == [], "into what?"


def test_a_man_is_a_capital_letter():
    box = CHESS.mailbox("4k3/8/8/8/8/2p5/1P6/2N1KB2 w - -")
    assert named("bxc3", box) == ["b2c3"]
    assert named("Bb5", box) == ["f1b5"]
    assert named("bb5", box) == [], "the pawn cannot go there, nor is it so called"
    assert named("bb3", box) == [], "it may be meant for the bishop"
    ranks = CHESS.mailbox("4k3/8/8/8/8/B7/8/BN2K3 w - -")
    assert named("B1b2", ranks) == ["a1b2"]
    with pytest.raises(UsageError, match="'B1b2' is a bishop's move"):
        CHESS.parse_action("B1b2")
    assert CHESS.parse_action("B1A3") == CHESS.parse_action("b1a3")
    both = CHESS.mailbox("4k3/8/8/8/8/B7/8/BN1B1K2 w - -")
    assert named("b1c3", both) == ["b1c3"], "a name of UCI"


def test_what_may_be_two_moves_is_two_and_nonsense_is_none():
    box = CHESS.mailbox("4k3/8/8/8/8/5N2/8/1N2K3 w - -")
    assert sorted(named("Nd2", box) or []) == ["b1d2", "f3d2"]
    assert named("Ne6", box) == []
    for text in ("", "hello", "Nd", "e9e10", "++", "Xf3", "--", "1-0"):
        assert named(text, box) is None, text
    assert named("f6", GARDNER.mailbox(GARDNER.read_fen())) == [], "no square of that board"


@pytest.mark.slow
def test_moves_of_a_list_may_be_called_so():
    position, last = replay.replay(CHESS, ["e4", "e5", "Nf3", "b8c6", "Bb5"])
    assert CHESS.action_name(last) == "f1b5"
    assert CHESS.to_fen(position.state).split()[0] == "r1bqkbnr/pppp1ppp/2n5/1B2p3/4P3/5N2/PPPP1PPP/RNBQK2R"
    position, last = replay.replay(CHESS, ["B2d4"], "4k3/8/5B2/8/8/8/1Q3B2/4K3 w - -")
    assert CHESS.action_name(last) == "f2d4", "and not the queen's b2d4"
    for names, said in (
        ("e4 e5 Nf4", "move 3, 'Nf4', is not legal; legal moves are: "),
        ("Nf3 a6 d3 a5 Nd2", "move 5, 'Nd2', may be any of f3d2, b1d2; legal moves are: "),
        ("e4 hello", "move 2, 'hello', names no move of this game; legal moves are: "),
    ):
        with pytest.raises(UsageError, match=said):
            replay.replay(CHESS, names.split())


def test_a_position_may_be_told_by_fen():
    fen = "r3k2r/8/8/3pP3/8/8/8/R3K2R w Kq d6 7 1"
    position, moves = position_text.read(CHESS, f"{fen} Rxa8+ e8e7")
    assert CHESS.to_fen(position.state) == fen
    assert moves == ["Rxa8+", "e8e7"]
    assert position_text.write(CHESS, position, []) == fen
    short, moves = position_text.read(CHESS, "4k3/8/8/8/8/8/8/R3K3 w e1e2")
    assert (CHESS.to_fen(short.state), moves) == ("4k3/8/8/8/8/8/8/R3K3 w - - 0 1", ["e1e2"])
    gone = play.look(CHESS, short, CHESS.parse_action("e1e2")).position
    told = position_text.write(CHESS, gone, ["e1e2"], "4k3/8/8/8/8/8/8/R3K3 w")
    assert told == "4k3/8/8/8/8/8/8/R3K3 w - - 0 1 e1e2", "no move is read as a field that is missing"
    drawn, _ = position_text.read(CHESS, "....k.../......../......../......../......../......../......../R...K... 0")
    assert CHESS.to_fen(drawn.state) == "4k3/8/8/8/8/8/8/R3K3 w Q - 0 1"
    with pytest.raises(UsageError, match="one king of each side"):
        position_text.read(CHESS, "8/8/8/8/8/8/8/8 w - -")
    assert not play.look(CHESS, position).over
