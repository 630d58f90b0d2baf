"""Sets of cells in words: all that moves, joins and tells them, against sets of Python."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgo.games.boards import words

DISTANCES = np.arange(1, words.WORD, dtype=np.uint32)


@pytest.fixture(params=[80, 250], ids=["3 words", "8 words"])
def members(request):
    """A few sets of cells, the empty and the full one among them."""
    cells = request.param
    some = np.random.default_rng(cells).random((5, cells)) < 0.3
    return np.concatenate([some, np.zeros((1, cells), bool), np.ones((1, cells), bool)])


def as_sets(found, cells: int) -> list[set[int]]:
    """The sets behind words, one array each."""
    bits = np.stack(jax.device_get(found), axis=-1)[..., None] >> np.arange(words.WORD, dtype=np.uint32) & 1
    return [set(np.flatnonzero(row[:cells]).tolist()) for row in bits.reshape(-1, bits.shape[-2] * words.WORD)]


def of(member) -> list[set[int]]:
    return [set(np.flatnonzero(row).tolist()) for row in member]


def test_cells_come_back_from_their_words(members):
    cells = members.shape[1]
    packed = words.mask(members)
    assert as_sets(words.split(packed), cells) == of(members)
    np.testing.assert_array_equal(words.unpack(jnp.asarray(packed), cells), members)
    np.testing.assert_array_equal(words.unpack(jnp.asarray(packed), cells - 40), members[:, :-40])
    beyond = words.unpack(jnp.asarray(packed), cells + 40)
    np.testing.assert_array_equal(beyond, np.pad(members, ((0, 0), (0, 40))))
    together = words.unpack_by_cell(words.split(packed), cells)
    np.testing.assert_array_equal(together, members.T.reshape(-1))
    long = np.stack([words.unpack_long(jnp.asarray(row), cells - 40) for row in packed])
    np.testing.assert_array_equal(long, members[:, :-40])
    np.testing.assert_array_equal(words.count(jnp.asarray(packed)), members.sum(axis=1))
    for cell in (0, 31, 32, cells - 1):
        one = words.single(jnp.int32(cell), packed.shape[1])
        assert as_sets(one, cells) == [{cell}]
        assert as_sets(words.single(jnp.int32(cell), packed.shape[1], jnp.bool_(False)), cells) == [set()]


def test_shifts_by_every_distance(members):
    """Each set is shifted by all distances at once."""
    sets = tuple(word[:, None] for word in words.split(words.mask(members)))
    whole = len(sets) * words.WORD
    for shift, sign in ((words.higher, 1), (words.lower, -1)):
        found = as_sets(jax.jit(shift)(sets, jnp.asarray(DISTANCES[None])), whole)
        moved = [
            {cell + sign * by for cell in cells if 0 <= cell + sign * by < whole}
            for cells in of(members)
            for by in DISTANCES.tolist()
        ]
        assert found == moved


def test_what_sets_have_in_common(members):
    a, b, cells = members[:-1], members[1:], members.shape[1]
    first, second = (words.split(words.mask(some)) for some in (a, b))
    pairs = list(zip(of(a), of(b), strict=True))
    assert as_sets(words.both(first, second), cells) == [x & y for x, y in pairs]
    assert as_sets(words.either(first, second), cells) == [x | y for x, y in pairs]
    assert as_sets(words.without(first, second), cells) == [x - y for x, y in pairs]
    assert as_sets(words.union(first), cells) == [set().union(*of(a))]
    assert words.some(first).tolist() == [bool(x) for x in of(a)]
