"""Go beside two other programs: pgx, and GNU Go over the Go Text Protocol."""

import functools
import random
import shutil
import subprocess

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import quick
from jax import lax
from pgx._src.games import go as pgx_go
from support import random_games, start, step

from jaxgo.core import play
from jaxgo.games import make
from jaxgo.games.go.rules import Go

pytestmark = pytest.mark.slow
COLOURS = ("black", "white")


# -- pgx ------------------------------------------------------------------------------------------------------------
def counts(state, size):
    """What pgx's `_count` tells of a board's chains, each point added once: it asks every chain about every point.

    How many free neighbours the stones of a chain have, the sum of those and of their squares; a chain is named by a
    point of it, and other names have none.
    """
    around = jax.vmap(lambda point: pgx_go._adj_ixs(point, size))(jnp.arange(size**2))
    board = jnp.abs(state.board)
    free = (around != -1) & (board == 0)[around]
    names = jnp.where(free, around + 1, 0)
    each = jnp.stack([free.sum(axis=1), names.sum(axis=1), (names**2).sum(axis=1)])
    return tuple(jnp.zeros((3, size**2 + 1), jnp.int32).at[:, board].add(each)[:, 1:])


# 1,000 games of 19x19 take a minute, so they are parted among the workers
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("size", "games", "part"), [(9, 1000, 0), *[(19, 250, part) for part in range(4)]])
def test_pgx_agrees(size, games, part, monkeypatch):
    """Boards, legal moves under simple ko and results of whole random games.

    The rules are the same but for superko (pgx offers the move and calls it a loss) and pgx's cap of plies; a game
    that meets either is compared up to there.
    """
    rules = pgx_go.Game(size, komi=7.5)
    theirs = pgx_go._count
    monkeypatch.setattr(pgx_go, "_count", counts)
    ours = make(f"go{size}", ko="simple", komi=7.5)
    record = random_games(ours, games, seed=part, thorough=True)
    order = np.argsort(record.live.sum(axis=0))  # games of like length side by side: ten that have ended cost nothing
    actions, live, legal_bits, boards = (
        array[:, order] for array in (record.actions, record.live, record.legal_bits, record.cells)
    )
    returns = record.returns[order]
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):

        def one(seen, action, playing):
            game = seen[0]
            after = jax.tree.map(lambda new, old: jnp.where(playing, new, old), rules.step(game, action), game)
            return after, rules.legal_action_mask(after), rules.is_terminal(after)

        # ten games at a time fit into a processor's cache with all that pgx keeps of them: a third of the time of 250
        def ten(seen, *more):
            return lax.cond(more[1].any(), jax.vmap(one), lambda seen, *_: seen, seen, *more)

        def by_tens(*parts):
            parts = jax.tree.map(lambda x: x.reshape(-1, 10, *x.shape[1:]), parts)
            return jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), lax.map(lambda part: ten(*part), parts))

        move = jax.jit(by_tens, compiler_options=quick.THOROUGH)
        by_ten = functools.partial(lax.map, lambda each: theirs(each, size), batch_size=10)
        count = jax.jit(by_ten, compiler_options=quick.THOROUGH)
        begun = jax.tree.map(lambda x: jnp.repeat(x[None], games, axis=0), rules.init())
        seen = begun, jnp.ones((games, ours.num_actions), bool), jnp.zeros(games, bool)
        ended = np.zeros(games, bool)
        for t, action in enumerate(actions):
            playing = live[t] & ~ended
            mask = np.unpackbits(legal_bits[t], axis=1, count=ours.num_actions).astype(bool)
            if t % 50 == 10:  # what is put in its place says what pgx's own says
                for own, quick_one in zip(count(seen[0]), jax.vmap(lambda s: counts(s, size))(seen[0]), strict=True):
                    np.testing.assert_array_equal(own, quick_one)
            np.testing.assert_array_equal(mask[playing], np.asarray(seen[1])[playing], err_msg=f"{t}")
            seen = move(seen, action, playing)
            stones = np.sign(np.asarray(seen[0].board))
            cells = np.array([0, 1, -1])[boards[t + 1]]
            np.testing.assert_array_equal(cells[playing], stones[playing], err_msg=f"board after ply {t}")
            ended |= playing & np.asarray(seen[2])
            if ended.all():
                break
        # pgx's own steps count both areas at every ply, which takes most of their time; a game stays as it has ended
        black = np.asarray(jax.jit(jax.vmap(rules.rewards))(seen[0]))[:, 0]
        scored = ended & ~np.asarray(seen[0].is_psk)
    np.testing.assert_array_equal(black[scored], returns[scored, 0])
    assert ended.all()
    assert scored.sum() > 0.9 * games


# -- GNU Go ---------------------------------------------------------------------------------------------------------
class GnuGo:
    """GNU Go as a process that answers one command after another."""

    def __init__(self, binary: str, options: list[str]):
        self.process = subprocess.Popen(
            [binary, "--mode", "gtp", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, *commands: str) -> str:
        """Sends commands and returns the last answer."""
        answer = ""
        for command in commands:
            self.process.stdin.write(f"{command}\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
            assert answer.startswith("="), f"GNU Go does not accept {command!r}: {answer}"
            assert self.process.stdout.readline() == "\n"
        return answer[1:].strip()

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait(timeout=10)


@pytest.fixture
def gnugo():
    binary = shutil.which("gnugo") or shutil.which("gnugo", path="/usr/games")
    if binary is None:
        pytest.skip("no gnugo binary; on Debian: apt-get install gnugo")
    program = GnuGo(binary, ["--chinese-rules", "--simple-ko", "--forbid-suicide", "--level", "0"])
    yield program
    program.close()


@functools.cache
def look(game: Go):
    """The exact legal mask, which points are ordinary ones, the area."""
    return jax.jit(lambda p: (play.legal(game, p), game.move_weights(p.state) == 1, game.score(p.state)))


def test_gnugo_agrees(gnugo):
    """200 random games of several sizes: the same legal moves at every ply, the same board and score at the end.

    Players fill no eyes of their own, so that nothing dead is left at the end and both ways of scoring mean the same.
    """
    rng = random.Random(0)
    for number in range(200):
        game = make(f"go{(5, 7, 9, 9, 13)[number % 5]}", ko="simple", komi=0.5, move_limit=1000)
        names = [game.action_name(action) for action in range(game.num_actions)]
        gnugo.ask(f"boardsize {game.size}", "clear_board", f"komi {game.komi}")
        position = start(game)(jax.random.key(0))
        while True:
            colour = COLOURS[int(position.state.to_play)]
            mine, ordinary, score = jax.device_get(look(game)(position))
            if not mine.any():
                break
            theirs = gnugo.ask(f"all_legal {colour}").split()
            ours = [names[point] for point in np.flatnonzero(mine[:-1]).tolist()]
            assert sorted(ours) == sorted(set(theirs) - {"PASS"}), f"game {number}, ply {position.state.ply}"
            action = rng.choice(np.flatnonzero((mine & ordinary)[:-1]).tolist() or [game.points])
            gnugo.ask(f"play {colour} {names[action]}")
            position, _ = step(game)(position, jnp.int32(action))
        cells = np.asarray(game.cells(position.state))
        for code, colour in enumerate(COLOURS, start=1):
            points = [names[point] for point in np.flatnonzero(cells == code).tolist()]
            assert sorted(gnugo.ask(f"list_stones {colour}").split()) == sorted(points)
        assert lead(gnugo.ask("final_score")) == score - game.komi, f"game {number}"


def lead(text: str) -> float:
    """Black's lead in a score such as `W+3.5`."""
    return 0.0 if text == "0" else float(text[2:]) * (1 if text[0] == "B" else -1)
