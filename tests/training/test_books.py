"""Books: games of self-play begin at their openings, each as often as another, and a bad book is one sentence."""

import jax
import numpy as np
import pytest

from jaxgo.arena.openings import random_openings
from jaxgo.core.errors import UsageError
from jaxgo.evaluators import Uniform
from jaxgo.games import GAMES, make
from jaxgo.search import Model
from jaxgo.search.random import Random
from jaxgo.selfplay import Selfplay, SelfplayConfig
from jaxgo.system.devices import make_mesh
from jaxgo.training.config import TrainConfig
from jaxgo.training.trainer import Trainer, read_book

GAME = make("tictactoe")
LANES, STEPS = 64, 16
LINES = "a1 b2\nb2 a1 c3  # one more\nc3 b2  # the first one again, mirrored\n"


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    path = tmp_path_factory.mktemp("books") / "book.txt"
    path.write_text(LINES)
    return read_book(GAME, str(path))


@pytest.fixture(scope="module")
def plies(book):
    """Plies of games of which three in four begin in the book, and half with random moves."""
    config = SelfplayConfig(games=LANES, steps=STEPS, book_share=0.75, opening=0.5, opening_plies=2)
    player = Selfplay(Random(), Model(GAME, Uniform()), config)

    def play(key, book):
        begin, go = jax.random.split(key)
        return player.collect((), player.begin(begin, LANES, book), go, 0, book)[1]

    return jax.device_get(jax.jit(play)(jax.random.key(3), book))


@pytest.mark.slow
def test_games_begin_in_the_book_in_their_share_and_again_where_one_ended(plies, book):
    begun = np.ones((STEPS, LANES), bool)
    begun[1:] = plies.discount[:-1] == 0
    assert begun[1:].sum() > LANES, "few games began anew"
    names = {bytes(jax.device_get(leaf).tobytes()): ply for leaf, ply in zip(_rows(book.state), (2, 3), strict=True)}
    found = [names.get(leaf.tobytes(), 0) for leaf in _rows(jax.tree.map(lambda x: x[begun], plies.state))]
    np.testing.assert_array_equal(plies.state.ply[begun], found)
    shares = np.bincount(found, minlength=4) / len(found)
    np.testing.assert_allclose(shares, [0.25, 0.0, 0.375, 0.375], atol=0.1)


def _rows(states):
    """The bytes of each state of a batch."""
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(states)]
    return [np.frombuffer(b"".join(leaf[i].tobytes() for leaf in leaves), np.uint8) for i in range(len(leaves[0]))]


@pytest.mark.slow
def test_random_moves_come_after_those_of_the_book(plies):
    begun = np.ones((STEPS, LANES), bool)
    begun[1:] = plies.discount[:-1] == 0
    from_book = begun & (plies.state.ply > 0)
    assert 0.3 < plies.random_move[from_book].mean() < 0.7
    third = plies.random_move[2:] & ~begun[2:] & ~begun[1:-1]
    assert not third.any(), "two random moves at most, wherever a game began"


def test_without_a_book_there_is_nothing_to_hand_on():
    assert read_book(GAME, "") is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# nothing\n", "there are no openings in"),
        ("a1 b2\nd4 e5\n", "line 2: no action is called 'd4'"),
        ("a1 a2 b1 b2 c1\n", "the game is over after these moves"),
    ],
)
def test_a_book_that_does_not_fit_is_refused(text, said, tmp_path):
    path = tmp_path / "book.txt"
    path.write_text(text)
    with pytest.raises(UsageError, match=said):
        read_book(GAME, str(path))


def test_a_book_that_is_not_there_and_a_game_without_openings_are_refused(tmp_path):
    with pytest.raises(UsageError, match=r"selfplay.book=.*missing: no such file; name one with an opening in each"):
        read_book(GAME, str(tmp_path / "missing"))
    with pytest.raises(UsageError, match="begin anew each time"):
        read_book(GAMES["slide8"], "balanced")


@pytest.mark.slow
def test_a_drawn_book_has_other_openings_than_those_in_which_players_are_judged():
    config = TrainConfig(game="dodgem4", selfplay=SelfplayConfig(book="balanced"))
    trainer = Trainer(config, make_mesh())
    judged = random_openings(trainer.game, seed=config.seed).positions(range(8))
    boards = [np.asarray(jax.vmap(trainer.game.cells)(some.state))[:8].tolist() for some in (trainer.book, judged)]
    assert boards[0] != boards[1]
