"""Bots by rules: what each link names, who decides, and a look ahead by playing."""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgo.core import lookahead, play, position_text
from jaxgo.core.errors import UsageError
from jaxgo.evaluators import Uniform
from jaxgo.games import make
from jaxgo.players import load_player
from jaxgo.search import SEARCHES, Chain, Greedy, Gumbel, Model, Uct, from_json, to_json
from jaxgo.search.chain import read_book

GAME = make("tictactoe")
# X to move: 2 wins at once, 5 stops O; X must stop 5; nothing hangs on it; lost whatever he does
BOARDS = [
    [1, 1, 0, 2, 2, 0, 0, 0, 0],
    [1, 0, 0, 2, 2, 0, 1, 0, 0],
    [0, 0, 0, 0, 1, 0, 0, 0, 2],
    [1, 0, 2, 0, 2, 0, 0, 1, 0],
]
LANES = 64
HERE = __name__


@dataclasses.dataclass(frozen=True)
class Best(Uct):
    """A search of somebody's own."""


@dataclasses.dataclass(frozen=True)
class Steady(Greedy):
    """One that always makes as many simulations."""

    @property
    def budget(self) -> int:
        return 3


ended = Chain("win+random")


@functools.cache
def roots() -> Any:
    placed = [play.resume(GAME, GAME.place(np.array(board, np.int8), 0)) for board in BOARDS]
    return jax.tree.map(lambda *x: jnp.repeat(jnp.stack(x), LANES, axis=0), *placed)


def played(chain: Chain) -> tuple[list[set[int]], list[set[int]]]:
    """The moves of every board over many lanes, and which links decided."""
    model = Model(GAME, Uniform())
    result = jax.jit(lambda key, root: chain.run(model, (), key, root))(jax.random.key(0), roots())
    moves, by = (np.asarray(x).reshape(len(BOARDS), LANES) for x in (result.action, result.by))
    return [set(row.tolist()) for row in moves], [set(row.tolist()) for row in by]


def plain_safe(board: list[int]) -> set[int]:
    """Moves of X after which O does not win at once, by hand."""
    lines = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]

    def won(cells: list[int], code: int) -> bool:
        return any(all(cells[i] == code for i in line) for line in lines)

    def put(cells: list[int], cell: int, code: int) -> list[int]:
        return [code if i == cell else c for i, c in enumerate(cells)]

    free = {i for i, c in enumerate(board) if c == 0}
    return {
        m for m in free if won(put(board, m, 1), 1) or not any(won(put(put(board, m, 1), r, 2), 2) for r in free - {m})
    }


def test_careful_plays_every_safe_move_and_nothing_else():
    moves, by = played(Chain("careful+random"))
    for board, found, decided in zip(BOARDS, moves, by, strict=True):
        safe = plain_safe(board)
        free = {i for i, c in enumerate(board) if c == 0}
        assert found == (safe or free)
        assert decided == {0 if safe else 1}
    assert {len(found) > 1 for found in moves} == {True, False}


@pytest.mark.slow  # compiles for seconds
def test_the_first_link_with_something_to_say_decides(tmp_path):
    book = tmp_path / "openings.book"
    book.write_text("b2 a1  # the centre, then a corner\n\n", encoding="utf-8-sig")  # as some editors of Windows save
    chain = Chain("win+book+careful+uct:16", book=str(book))
    moves, by = played(chain)
    assert moves[0] == {2}
    assert by == [{0}, {2}, {2}, {2} if plain_safe(BOARDS[3]) else {3}]
    assert chain.rules == ("win", "book", "careful")
    assert chain.search == Uct(16)
    start = Model(GAME, Uniform()).start(jax.random.key(0), 8)
    result = jax.jit(lambda key, root: chain.run(Model(GAME, Uniform()), (), key, root))(jax.random.key(0), start)
    assert result.action.tolist() == [GAME.parse_action("b2")] * 8
    assert result.by.tolist() == [1] * 8
    assert (result.visits == 0).all()  # where the book knows a move, nothing is searched


def test_captures_that_cannot_be_taken_back():
    """Kono: a jump takes; the look ahead says what it takes and what the reply takes back."""
    game = make("kono")
    position = play.begin(game)
    legal = play.look(game, position).legal
    found = jax.device_get(jax.jit(lambda s, m: lookahead.look(game, s, m))(position.state, legal))
    step, answers = jax.jit(game.step), jax.jit(game.legal)
    for action in np.flatnonzero(legal).tolist():
        after = step(position.state, action)
        taken = 8 - int((play.cells(game, after) == 2).sum())
        replies = np.flatnonzero(np.asarray(answers(after))).tolist()
        hurt = any((play.cells(game, step(after, r)) == 1).sum() < 8 for r in replies)
        assert found.takes[action] == taken
        assert found.exposes[action] == hurt
    assert found.takes.max() == 1
    assert not found.wins.any()


def test_a_piece_that_leaves_is_not_taken():
    """A car of Dodgem that drives off the board is one less, and nobody has taken it."""
    game = make("dodgem3")
    state = position_text.read(game, "B../.R./.B. 0")[0].state
    found = jax.jit(lambda s, m: lookahead.look(game, s, m))(state, game.legal(state))
    assert not found.exposes.any()


def test_every_search_can_end_a_chain():
    for name, search in SEARCHES.items():
        if not isinstance(search, Chain):
            assert Chain(f"win+{name}").search == search.quiet()
    assert Chain("win+gumbel:8").search == Gumbel(8, gumbel_scale=0.0), "a name means a player as it plays to win"


@pytest.mark.slow
def test_aggressive_takes_most_whatever_is_taken_back():
    """Kono from positions of a random game: of the moves that take, and of none else."""
    game = make("kono")
    model = Model(game, Uniform())
    chain = Chain("win+capture+safe+random")
    run = jax.jit(lambda key, root: chain.run(model, (), key, root))
    look = jax.jit(jax.vmap(functools.partial(lookahead.look, game)))
    root = jax.jit(lambda key: model.start(key, LANES))(jax.random.key(0))
    step, legal = jax.jit(model.play), jax.jit(model.legal)
    taken = 0
    for ply in range(8):
        key = jax.random.fold_in(jax.random.key(2), ply)
        found, ahead = run(key, root), look(root.state, legal(root))
        takes = np.asarray(ahead.takes)
        mine = takes[np.arange(LANES), np.asarray(found.action)]
        wins = np.asarray(ahead.wins).any(axis=1)
        assert ((mine == takes.max(axis=1)) | wins).all()
        assert ((np.asarray(found.by) == 1) == ((takes.max(axis=1) > 0) & ~wins)).all()
        taken += int((mine > 0).sum())
        root = step(root, jax.random.categorical(key, jnp.where(legal(root), 0.0, -jnp.inf)).astype(jnp.int32))[0]
    assert taken > 0


def test_a_chain_with_a_book_is_loaded_by_its_name(tmp_path):
    book = tmp_path / "openings.book"
    book.write_text("b2 a1\n")
    name = f"chain:win+book+careful+uct:16,book={book}"
    player = load_player(name, make("tictactoe"))
    assert player.search == Chain("win+book+careful+uct:16", book=str(book))
    assert load_player(player.name, make("tictactoe")).search == player.search


def test_with_another_book_it_is_another_player(tmp_path, monkeypatch):
    """Results of two players were counted as those of one, and the match went on where the other had ended."""
    found = []
    for folder, line in (("a", "b2 a1"), ("b", "b2 c1"), ("c", "b2 a1  # a comment")):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        (tmp_path / folder / "b.book").write_text(f"{line}\n")
        read_book.cache_clear()  # another process
        found.append(load_player("chain:book+random,book=b.book", GAME).fingerprint())
    assert found[0] != found[1]
    assert found[0] == found[2]


def test_a_book_that_is_no_text_is_refused(tmp_path):
    book = tmp_path / "openings.book"
    book.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="cannot read the book"):
        read_book(GAME, str(book))


def test_a_book_says_which_line_is_wrong(tmp_path):
    book = tmp_path / "openings.book"
    book.write_text("# the centre\n-\nc9 b2\n")
    with pytest.raises(UsageError, match=r"openings\.book, line 3: no action is called 'c9'"):
        read_book(GAME, str(book))
    again = tmp_path / "again.book"
    again.write_text("b2 b2\n")
    with pytest.raises(UsageError, match=r"again\.book, line 1: move 2, b2, is not legal there"):
        read_book(make("tictactoe"), str(again))


def test_a_chain_is_searched_in_the_rounds_of_its_last_link():
    """A clock cut them where it liked, so that a thought came out otherwise each time."""
    assert [Chain(f"win+{last}").parallel_leaves for last in ("gobang:40", "uct:40", "random")] == [8, 1, 1]


def test_a_search_of_ones_own_can_end_a_chain():
    assert Chain(f"win+{HERE}:Best").search == Best()
    chain = Chain(f"win+{HERE}:Best:4")
    assert (chain.search, chain.budget) == (Best(4), 4)
    assert from_json(to_json(chain)) == chain
    assert load_player(f"chain:win+{HERE}:Best:4", GAME).search == chain


def test_wrong_chains():
    for links, message in (
        ("lucky+random", "rule of a chain"),
        ("win+guess:4", "search at the end"),
        ("win+chain:greedy", "search at the end of a chain 'chain'"),
        ("win+guess:Best", "search 'guess:Best': guess cannot be imported"),
        (f"win+{HERE}:Worst:4", f"search '{HERE}:Worst': {HERE} has no Worst"),
        (f"win+{HERE}:GAME", "is no search: let it inherit"),
        (f"win+{HERE}:Best:many", "no search with a number"),
        (f"win+{HERE}:Steady:4", "no search with a number"),
        (f"win+{HERE}:ended", "is a chain itself"),
        ("win+uct:many", "no search with a number"),
        ("win+uct:²", "no search with a number"),
        ("win+book+random", "needs book=FILE"),
    ):
        with pytest.raises(UsageError, match=message):
            Chain(links)
