"""Go: what may not come back, by each rule of ko."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from go_boards import KO, board
from support import Host, mostly_slow, random_games

from jaxgo.core import play
from jaxgo.core.game import Game
from jaxgo.games.go.rules import Go

# (rows, who moves, a cycle of moves that brings the board back, stones taken by each move)
SENDING_TWO = (".O.O./XXOO./...../...../.....", 1, [0, 2, 1], [0, 2, 1])
ETERNAL_LIFE = ("X.O./OOXX/.O.X", 1, [3, 1, 2, 0], [0, 2, 2, 0])
ROTATING = ("XXOO/.XO./.OX.", 0, [7, 3, 11, 6, 10, 2], [3, 0, 0, 3, 0, 0])
TRIPLE_KO = (
    ".XO...XO./XO.O.X.XO/.XO...XO./........./.XO....../XO.O...../.XO....../........./.........",
    0,
    [11, 15, 47, 10, 16, 46],
    [1] * 6,
)
CYCLES = [SENDING_TWO, ETERNAL_LIFE, ROTATING, TRIPLE_KO]


@pytest.mark.slow
@pytest.mark.parametrize("cycle", CYCLES, ids=["sending two", "eternal life", "rotating", "triple ko"])
@pytest.mark.parametrize("ko", KO.values())
def test_superko_forbids_what_closes_a_cycle(cycle, ko):
    rows, seat, moves, taken = cycle
    lines = rows.split("/")
    game = board(len(lines), ko, width=len(lines[0]) if len(lines) != len(lines[0]) else 0)
    host = Host.at(game, rows, seat)
    for move, captures in zip(moves[:-1], taken[:-1], strict=True):
        stones = sum(glyph != "." for glyph in host.rows.replace("/", ""))
        host.play(move)
        assert sum(glyph != "." for glyph in host.rows.replace("/", "")) == stones + 1 - captures
    # an odd cycle leaves the other player to move, which only the positional rule minds
    closes = moves[-1] in host.legal()
    assert closes == (ko == "simple" or (ko == "situational" and len(moves) % 2 == 1))
    if closes:
        assert host.play(moves[-1]).rows == rows


def test_situational_superko_counts_passes():
    """Sending two, returning one, pass: the board and the player to move are those of the start."""
    rows, seat, moves, _ = SENDING_TWO
    host = Host.at(board(5, "situational"), rows, seat).play(*moves, 25)
    assert host.rows == rows
    assert moves[0] not in host.legal()


def test_a_game_may_go_round_as_long_as_simple_ko_lets_it():
    rows, seat, moves, _ = TRIPLE_KO
    host = Host.at(board(9, "simple"), rows, seat).play(*moves * 66, *moves[:3])
    assert not host.over
    assert host.play(moves[3]).over


def test_history_set_back_to_its_start_forgets_the_last_game():
    """Hosts restart a game by cutting its history to one key; what the last game left must not count."""
    game = board(3)
    used = Host(game).play(0, 1, 3, 4, 6, 7, 9, 2)
    fresh = Host(game)
    position = play.Position(fresh.state, used.position.history._replace(size=jnp.int16(1)))
    again = Host(game, position)
    for action in (4, 0, 1, 2, 3, 9, 5):
        assert again.legal() == fresh.legal()
        again.play(action)
        fresh.play(action)
    jax.tree.map(np.testing.assert_array_equal, again.position.history.trace, fresh.position.history.trace)


class Thorough(Go):
    """Compares every move but the pass with all earlier positions, as games do that name no suspects."""

    def next_suspect(self, state, trace, action):
        following = Game.next_suspect(self, state, trace, action)
        return jnp.where(following < self.points, following, self.num_actions)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ko", "suicide"), mostly_slow([("positional", False), ("situational", True)], [("positional", False)])
)
def test_suspects_miss_nothing(ko, suicide):
    options = {"size": 3, "ko": ko, "suicide": suicide, "komi": 0.5, "move_limit": 120}
    quick, thorough = (random_games(kind(**options), 64) for kind in (Go, Thorough))
    np.testing.assert_array_equal(quick.legal_bits, thorough.legal_bits)
    np.testing.assert_array_equal(quick.actions, thorough.actions)
