"""Openings: live, distinct up to symmetry, the same however many are asked for; and books."""

import functools
import itertools

import numpy as np
import pytest
from reference.mnk import Mnk
from reference.solve import solve
from support import Host

from jaxgo.arena import openings
from jaxgo.arena.openings import Openings, book, canonical, random_openings, start_only
from jaxgo.core.errors import UsageError
from jaxgo.games import make
from jaxgo.players import load_player

TICTACTOE = make("tictactoe")


def played(game, line) -> Host:
    return Host(game).play(*line)


def images(game, line) -> set[bytes]:
    """The boards of an opening and of its mirror images, by the cells of the game itself."""
    board = np.asarray(game.cells(played(game, line).state))
    return {board[gather].tobytes() for gather in game.symmetries().cells}


@pytest.fixture(scope="module")
def two_plies() -> Openings:
    return random_openings(TICTACTOE, plies=2)


def test_all_openings_of_two_plies_of_tictactoe_are_found_once(two_plies):
    """By hand: a corner (5 answers), an edge (5) or the centre (2), up to symmetry."""
    assert two_plies.distinct(100) == 12
    lines = [two_plies.actions(i) for i in range(12)]
    assert all(len(line) == 2 for line in lines)
    for one, other in itertools.combinations(lines, 2):
        assert not images(TICTACTOE, one) & images(TICTACTOE, other)
    assert two_plies.actions(12) == lines[0], "they begin again"
    assert two_plies.names(3) == tuple(TICTACTOE.action_name(a) for a in lines[3])


def test_the_positions_are_those_after_the_moves(two_plies):
    states = two_plies.positions([3, 0, 15]).state
    for lane, number in enumerate((3, 0, 15)):
        expected = played(TICTACTOE, two_plies.actions(number)).state
        for got, want in zip(states, expected, strict=True):
            np.testing.assert_array_equal(got[lane], want)


def test_a_longer_match_begins_with_the_openings_of_a_shorter_one(two_plies):
    again = random_openings(TICTACTOE, plies=2)
    assert [again.actions(i) for i in (4, 2, 7)] == [two_plies.actions(i) for i in (4, 2, 7)]
    other = random_openings(TICTACTOE, plies=2, seed=1)
    assert [other.actions(i) for i in range(12)] != [two_plies.actions(i) for i in range(12)]


def test_openings_that_are_decided_are_left_out():
    """After five plies of tic-tac-toe some games are over; some others one seat nearly always wins by chance."""
    strict, lax = (random_openings(TICTACTOE, plies=5, balance=b) for b in (0.3, 1.0))
    few, many = strict.distinct(200), lax.distinct(200)
    assert 0 < few < many
    for opening, count in ((strict, few), (lax, many)):
        assert not any(played(TICTACTOE, opening.actions(i)).over for i in range(count))


def test_an_opening_is_left_out_whichever_seat_it_favours():
    values = np.tile(np.array([-0.9, 0.0, 0.9, 0.5], np.float32), openings.BATCH // 4)
    candidates = openings._candidates(TICTACTOE, 0, 2, 0.6, lambda key, position: values)
    found = [bool(candidate) for candidate in itertools.islice(candidates, openings.BATCH)]
    assert found == (np.abs(values) <= 0.6).tolist()


@pytest.mark.slow  # compiles for seconds
def test_a_player_says_which_openings_are_balanced():
    """By exhaustive search, whose word is the truth: draws alone pass, and they are all the draws that there are."""
    judge = load_player("alphabeta:100000,depth=9", TICTACTOE)
    fair, all_of_them = (
        random_openings(TICTACTOE, plies=3, judge=judge),
        random_openings(TICTACTOE, plies=3, balance=1.0),
    )
    lines, every = ([o.actions(i) for i in range(o.distinct(1000))] for o in (fair, all_of_them))
    plain = Mnk()
    truth = solve(plain, plain.initial()).values
    drawn = [line for line in every if truth[functools.reduce(plain.step, line, plain.initial())] == 0]
    assert lines == drawn
    assert 0 < len(drawn) < len(every)


@pytest.mark.parametrize("name", ["random", "careful"])
def test_who_plays_blindly_has_no_word_on_openings(name: str):
    with pytest.raises(UsageError, match=f"{name} has no word on positions"):
        random_openings(TICTACTOE, judge=load_player(name, TICTACTOE))


@pytest.mark.slow
def test_plies_are_as_many_as_it_takes():
    assert len(random_openings(TICTACTOE).actions(0)) == 2, "a quarter of nine"
    assert len(random_openings(make("connect4")).actions(0)) == 4, "7 * 7 * 7 / 2 are too few"


def test_the_start_alone():
    only = start_only(TICTACTOE)
    assert only.actions(5) == ()
    assert only.distinct(9) == 1
    assert np.asarray(only.positions([0, 1]).state.ply).tolist() == [0, 0]


def test_a_book(tmp_path):
    path = tmp_path / "book.txt"
    path.write_text("# the corner, twice\na1, b2\n\nC3 b2  # the same from the other side\n-\nb2 a2 c3\n")
    found = book(TICTACTOE, path)
    assert [found.names(i) for i in range(3)] == [("a1", "b2"), (), ("b2", "a2", "c3")]
    assert found.distinct(4) == 3
    assert np.asarray(found.positions([0, 1, 2, 3]).state.ply).tolist() == [2, 0, 3, 2]


def test_a_book_is_read_to_its_end(tmp_path):
    """However many lines in a row are known: the rest of a sorted book was left out without a word."""
    path = tmp_path / "book.txt"
    path.write_text("a1 b2\n" + "c3 b2\n" * 1000 + "b2 a2 c3\n")
    assert book(TICTACTOE, path).distinct(9) == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a1 b2\na1 z9\n", "line 2: no action is called 'z9'"),
        ("a1 b2\na1 b2 a1\n", "line 2: move 3, a1, is not legal there"),
        ("a1 a2 b1 b2 c1\n", "line 1: the game is over after these moves"),
        ("a1 a2 b1 b2 c1 c2\n", "line 1: move 6, c2, is not legal there"),
        ("# nothing\n", "there are no openings in"),
    ],
)
def test_a_bad_book_is_named(text, said, tmp_path):
    path = tmp_path / "book.txt"
    path.write_text(text)
    with pytest.raises(UsageError, match=said):
        book(TICTACTOE, path)


def test_mistakes_are_named(tmp_path):
    with pytest.raises(UsageError, match="cannot read the book"):
        book(TICTACTOE, tmp_path / "missing")
    with pytest.raises(UsageError, match="0 to 16 random plies"):
        random_openings(TICTACTOE, plies=17)
    with pytest.raises(UsageError, match="balance of openings"):
        random_openings(TICTACTOE, balance=0.0)
    with pytest.raises(UsageError, match="ask for fewer"):
        random_openings(TICTACTOE, plies=9, balance=1.0).actions(0)


@pytest.mark.slow  # compiles for seconds
def test_longer_openings_follow_where_the_short_ones_end(two_plies):
    """Opening i stays, and no position comes twice, whatever its length and however it is turned."""
    longer = random_openings(TICTACTOE)
    count = longer.distinct(1000)
    assert 12 < count < 1000
    assert longer.most == count
    lines = [longer.actions(i) for i in range(count)]
    assert lines[:12] == [two_plies.actions(i) for i in range(12)]
    assert [len(line) for line in lines] == sorted(len(line) for line in lines)
    assert len(lines[-1]) > 3
    seen = [min(images(TICTACTOE, line)) for line in lines]
    assert len(set(seen)) == count
    assert not any(played(TICTACTOE, line).over for line in lines)
    assert longer.numbers(1000) == range(count)
    assert longer.numbers(1000, luck=True) == range(1000)
    assert two_plies.numbers(5) == range(5)


def test_plies_that_were_asked_for_are_kept(two_plies):
    assert two_plies.numbers(100) == range(12)
    assert two_plies.most == 12


def test_what_led_to_a_position_of_go_does_not_matter():
    """Two orders of the same stones are one opening, whatever planes show of it, and so are their mirror images."""
    go = make("go5", ko="simple")
    same = ("a1 c3 b2 d4", "b2 d4 a1 c3", "e5 c3 d4 b2", "a1 pass b2 pass")
    lines = [[go.parse_action(name) for name in line.split()] for line in (*same, "c3 a1 d4 b2", "b2 pass a1 pass")]
    keys = canonical(go, np.array(lines, np.int32), np.full(len(lines), 4, np.int32))
    assert keys[0] == keys[1] == keys[2]
    assert len({keys[0], keys[3], keys[4]}) == 3, "the fifth has the colours changed"
    assert keys[3] == keys[5]
