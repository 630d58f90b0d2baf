"""Opening rules of gomoku, as part of the game: swap and swap2 (who plays which colour), pro and long pro (where).

swap2: seat 0 puts three stones, black, white, black. Seat 1 takes White, or takes Black, or puts two more stones, white
and black, and leaves the colours to seat 0. White moves next in any case. swap is the same without the two stones.
The colour of a stone always follows from the number of stones; whose turn it is follows from the phase.
"""

from typing import Literal, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Int8

from jaxgo.core.errors import UsageError

Opening = Literal["none", "swap", "swap2", "pro", "long-pro"]

PLAY, PUT_THREE, CHOOSE, PUT_TWO, CHOOSE_AGAIN = range(5)
PHASES = 5
CHOICES = ("white", "black", "more")  # the actions after the cells: take White, take Black, put two more stones
TAKE_WHITE, TAKE_BLACK, PUT_MORE = range(3)
TOLD: dict[Opening, str] = {  # the rules to people
    "none": "",
    "swap": " Before that the first player puts a black, a white and a black stone, and the second one takes a colour.",
    "swap2": " Before that the first player puts a black, a white and a black stone; the second one takes a colour, or "
    "puts a white and a black stone more and leaves the colours to the first.",
    "pro": " Black begins in the centre, and puts the second stone at least three points away from it.",
    "long-pro": " Black begins in the centre, and puts the second stone at least four points away from it.",
}
FAR = {"pro": 3, "long-pro": 4}  # how far from the centre Black's second stone is, at least


class Turn(NamedTuple):
    """Whose move, and what kind of move."""

    phase: Int8[Array, ""]
    to_play: Int8[Array, ""]
    black: Int8[Array, ""]  # the seat that plays Black


def choices(opening: Opening) -> int:
    """How many actions there are besides the cells."""
    return {"swap": 2, "swap2": 3}.get(opening, 0)


def begin(opening: Opening) -> Turn:
    phase = PUT_THREE if choices(opening) else PLAY
    return Turn(jnp.int8(phase), jnp.int8(0), jnp.int8(0))


def choosing(phase: Int8[Array, ""]) -> Bool[Array, ""]:
    """Whether the mover has to choose, rather than to put a stone."""
    return (phase == CHOOSE) | (phase == CHOOSE_AGAIN)


def advance(turn: Turn, stones: Int[Array, ""], choice: Int[Array, ""]) -> Turn:
    """The next turn, after a move that left this many stones; `choice` counts where the mover had to choose."""
    phase, seat, black = turn
    other = jnp.int8(1) - seat
    # a choice of colour: White moves next
    black_now = jnp.where(choice == TAKE_BLACK, seat, other)
    more = choice == PUT_MORE
    chosen = Turn(
        jnp.where(more, jnp.int8(PUT_TWO), jnp.int8(PLAY)),
        jnp.where(more, seat, jnp.int8(1) - black_now),
        jnp.where(more, black, black_now),
    )
    # a stone: the last one of an opening hands the choice over
    full = jnp.where(phase == PUT_THREE, stones == 3, (phase == PUT_TWO) & (stones == 5))
    put = Turn(
        jnp.where(full, phase + jnp.int8(1), phase),
        jnp.where(full | (phase == PLAY), other, seat),
        black,
    )
    return Turn(*(jnp.where(choosing(phase), a, b) for a, b in zip(chosen, put, strict=True)))


def choice_mask(opening: Opening, phase: Int8[Array, ""]) -> Bool[Array, " choices"]:
    """Which choices the mover has."""
    number = jnp.arange(choices(opening))
    return jnp.where(number == PUT_MORE, phase == CHOOSE, choosing(phase))


def check(opening: Opening, n: int) -> None:
    """pro and long pro need a centre, and room around it."""
    if opening in FAR and (n % 2 == 0 or n < 2 * FAR[opening] + 1):
        raise UsageError(f"opening {opening!r} needs an odd size of at least {2 * FAR[opening] + 1}, not {n}")


def allowed_cells(opening: Opening, n: int) -> np.ndarray:
    """`bool[2, cells]`: where Black's first and second stone may stand."""
    row, column = np.divmod(np.arange(n * n), n)
    distance = np.maximum(abs(row - n // 2), abs(column - n // 2))
    return np.stack([distance == 0, distance >= FAR[opening]])
