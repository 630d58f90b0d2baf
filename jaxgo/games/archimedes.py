"""Archimedes (Scott Marley and Philip Cohen, 1988): ships that vanish when three enemies aim at them."""

import dataclasses
import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float32, Int8, Int16, UInt32

from jaxgo.core import board, zobrist
from jaxgo.core.bitwise import union
from jaxgo.core.errors import unknown_name
from jaxgo.core.game import EMPTY, Action, Game, Piece, check_ply_limit, returns_of_winner
from jaxgo.games.boards import nibbles
from jaxgo.games.boards.nibbles import EACH, OPPOSITE, Board, any_square, equal, look, nonzero, square, unpack, widen

START = "....WWW./....WWWW/.....WWW/......WW/BB....../BBB...../BBBB..../.BBB...."
RULES = ("original", "dagaz")
PORTS = (56, 7)  # a1 of Black, h8 of White
TOWARDS = (np.array([0, 1, 4]), np.array([2, 3, 6]))  # the three directions that lead into the enemy port
Seat = UInt32[Array, ""]


class ArchimedesState(NamedTuple):
    ships: UInt32[Array, "8"]  # nibbles: 1 Black, 2 White
    lost: Int8[Array, "2"]  # ships of each seat that were destroyed and not rebuilt
    to_play: Int8[Array, ""]
    ply: Int16[Array, ""]
    winner: Int8[Array, ""]  # 0 nobody yet, 1 Black, 2 White


@dataclasses.dataclass(frozen=True)
class Archimedes(Game[ArchimedesState]):
    """Rules "original": a ship that is rebuilt sails in the same turn, by an action from the port. Rules "dagaz": ships
    are removed once, those of both sides together, and none is rebuilt. In both `max_plies` make a draw.
    """

    rules: str = "original"
    max_plies: int = 300

    pieces = (EMPTY, Piece("B", 0), Piece("W", 1))
    notation = "the two squares of the move, `b3-b5`"

    @property
    def how_to_play(self) -> str:
        start = (
            "Move a ship as a queen of chess moves, onto an empty square, but not into its own port (a1 of the first "
            "player, h8 of the second). Enemy ships aim at a ship if nothing stands between them, in rows, columns and "
            "diagonals. "
        )
        if self.rules == "original":
            ends = (
                "Your move destroys every enemy ship at which three of yours aim, again and again until there is none. "
                "Instead you may build a destroyed ship again in your port, if that is empty, and sail it out. Whose "
                "ship is in the enemy port after the opponent's turn wins"
            )
        else:
            ends = (
                "Your move removes every ship at which three enemies aim, your own ones as well; they may not aim at "
                "the ship that moves. A ship may enter the enemy port where no answer could have three ships aim at "
                "it, and wins at once"
            )
        return f"{start}{ends}; who cannot move loses."

    def __post_init__(self) -> None:
        if self.rules not in RULES:
            raise unknown_name("rules of archimedes", self.rules, RULES)
        check_ply_limit(self, "archimedes")

    @property
    def shape(self) -> tuple[int, int]:
        return 8, 8

    @property
    def num_actions(self) -> int:
        return 64 * 64

    def init(self, key: Array) -> ArchimedesState:
        codes = [".BW".index(c) for c in START.replace("/", "")]
        return self._running(np.array(codes, np.int8), 0)

    def _running(self, cells: np.ndarray, to_play: int) -> ArchimedesState:
        ships = nibbles.pack(jnp.asarray(cells))
        return ArchimedesState(ships, jnp.zeros(2, jnp.int8), jnp.int8(to_play), jnp.int16(0), jnp.int8(0))

    def place(self, cells: np.ndarray, to_play: int) -> ArchimedesState:
        """No ship counts as destroyed; set `lost` where the drawn position allows to rebuild."""
        cells = self.drawn(cells, to_play)
        state, last = self._running(cells, to_play), 1 - to_play
        held = [cells[PORTS[1 - seat]] == 1 + seat for seat in range(2)]
        if self.rules == "dagaz" and held[last]:
            winner = 1 + last
        elif held[to_play]:  # nobody has driven the ship out
            winner = 1 + to_play
        else:
            winner = 0 if bool(_may_move(self, state)) else 1 + last
        return state._replace(winner=jnp.int8(winner))

    def legal(self, state: ArchimedesState) -> Bool[Array, " A"]:
        reach = self._reach(state)
        if self.rules == "original":
            return nibbles.within(reach[None], jnp.full((1, 8), EACH)).reshape(-1)
        return nibbles.within(*_lawful(state.ships, _seat(state), reach)).reshape(-1)

    def _reach(self, state: ArchimedesState) -> UInt32[Array, "8 8"]:
        """How far each ship of the mover can go in each direction."""
        seat = _seat(state)
        port, empty = _port(seat), equal(state.ships, 0)
        free = empty & ~port  # the port is a corner, so closing it shuts no way through
        sources = _ships_of(state.ships, seat)
        if self.rules == "original":
            sources |= jnp.where(state.lost[state.to_play] > 0, port & empty, jnp.uint32(0))
        return look(free, widen(free)) & widen(sources)[None]

    def step(self, state: ArchimedesState, action: Action) -> ArchimedesState:
        seat, source, target = _seat(state), action // 64, action % 64
        port = _port(seat)
        ships = state.ships & ~widen(nibbles.at(source)) | nibbles.at(target) << seat
        if self.rules == "original":
            after = _cascade(ships, seat)
            lost_port = any_square(_ships_of(after, 1 - seat) & port)
            winner = jnp.where(lost_port, 2 - state.to_play, jnp.int8(0))
        else:
            after = ships & ~widen(_vulnerable(ships, jnp.uint32(0)) | _vulnerable(ships, jnp.uint32(1)))
            won = any_square(nibbles.at(target) & _port(1 - seat))
            winner = jnp.where(won, 1 + state.to_play, jnp.int8(0))
        # a legal action from the empty own port is a rebuilding; a drawn ship may stand there, which sails as any other
        rebuilt = any_square(nibbles.at(source) & port & ~nonzero(state.ships)).astype(jnp.int8)
        lost = _count_by_seat(ships) - _count_by_seat(after)
        lost = state.lost + lost - jnp.where(jnp.arange(2, dtype=jnp.int8) == state.to_play, rebuilt, jnp.int8(0))
        following = ArchimedesState(after, lost, 1 - state.to_play, state.ply + jnp.int16(1), winner)
        stuck = ~self.over(following) & ~self._can_move(following)
        return following._replace(winner=jnp.where(stuck, 1 + state.to_play, winner))

    def _can_move(self, state: ArchimedesState) -> Bool[Array, ""]:
        # the dagaz rules judge single moves, so they pay for two masks a step
        return any_square(self._reach(state)).any() if self.rules == "original" else self.legal(state).any()

    def over(self, state: ArchimedesState) -> Bool[Array, ""]:
        return (state.winner != 0) | (state.ply >= self.max_plies)

    def returns(self, state: ArchimedesState) -> Float32[Array, " 2"]:
        return returns_of_winner(state.winner)

    def observe(self, state: ArchimedesState) -> Bool[Array, "8 8 11"]:
        """Ships (own, enemy), squares under 2 and 3 attacks (own, enemy), ports, who may rebuild, White's turn."""
        seat = _seat(state)
        own, enemy = _attackers(state.ships, seat), _attackers(state.ships, 1 - seat)
        boards = [_ships_of(state.ships, seat), _ships_of(state.ships, 1 - seat)]
        boards += [_at_least(count, least) for count in (own, enemy) for least in (2, 3)]
        boards += [_port(seat), _port(1 - seat)]
        lost = jnp.where(self.rules == "original", state.lost, jnp.int8(0))
        flags = [lost[state.to_play] > 0, lost[1 - state.to_play] > 0, state.to_play == 1]
        boards += [jnp.where(flag, jnp.full(8, EACH), jnp.zeros(8, jnp.uint32)) for flag in flags]
        return (unpack(jnp.stack(boards)) != 0).T.reshape(8, 8, 11)

    def cells(self, state: ArchimedesState) -> Int8[Array, " cells"]:
        return unpack(state.ships).astype(jnp.int8)

    def hash(self, state: ArchimedesState) -> UInt32[Array, "2"]:
        scalars = jnp.append(state.lost, state.to_play).astype(jnp.uint32) << jnp.arange(0, 24, 8, dtype=jnp.uint32)
        return zobrist.of_words(jnp.append(state.ships, scalars.sum(dtype=jnp.uint32)))

    def heuristic(self, state: ArchimedesState) -> Float32[Array, ""]:
        """Ships ahead, of twelve; never quite 1."""
        counts = _count_by_seat(state.ships).astype(jnp.float32)
        ahead = (counts[state.to_play] - counts[1 - state.to_play]) * 0.9 / 12
        return jnp.clip(ahead, -0.9, 0.9)  # a board that was set up may have more ships

    def move_weights(self, state: ArchimedesState) -> Float32[Array, " A"]:
        """1, and 10 more for each enemy ship of which the target square would be the third attacker; the enemy port
        counts 10 more, or 1000 where entering it wins.

        It looks at target squares alone: a ship that already attacks may not add to the attack by moving there.
        """
        seat = _seat(state)
        count = _attackers(state.ships, seat)
        prey = _ships_of(state.ships, 1 - seat) & _at_least(count, 2) & ~_at_least(count, 3)
        removed = look(prey, widen(equal(state.ships, 0))).sum(0, dtype=jnp.uint32)
        port = jnp.float32(10 if self.rules == "original" else 1000)
        weights = 1 + 10 * unpack(removed).astype(jnp.float32) + port * unpack(_port(1 - seat)).astype(jnp.float32)
        return jnp.tile(weights, 64)

    def symmetries(self) -> board.Symmetries:
        """The identity and the reflection in the diagonal between the ports."""
        grid = np.arange(64, dtype=np.int32).reshape(8, 8)
        mirror = grid[::-1, ::-1].T.reshape(-1)
        return board.of_from_to_actions(np.stack([grid.reshape(-1), mirror]))

    def action_name(self, action: int) -> str:
        return "-".join(board.square_name(cell, 8, 8) for cell in divmod(action, 64))


def _seat(state: ArchimedesState) -> Seat:
    return state.to_play.astype(jnp.uint32)


@functools.partial(jax.jit, static_argnums=0)
def _may_move(game: Archimedes, state: ArchimedesState) -> Bool[Array, ""]:
    return game._can_move(state)


def _ships_of(ships: Board, seat: Seat) -> Board:
    return ships >> seat & EACH


def _port(seat: Seat) -> Board:
    return jnp.where(seat == 0, jnp.asarray(square(PORTS[0])), jnp.asarray(square(PORTS[1])))


def _count_by_seat(ships: Board) -> Int8[Array, "2"]:
    seats = jnp.stack([_ships_of(ships, jnp.uint32(seat)) for seat in range(2)])
    return jax.lax.population_count(seats).sum(-1, dtype=jnp.uint32).astype(jnp.int8)


def _attackers(ships: Board, seat: Seat) -> Board:
    """How many ships of this seat are the first on a line from each square."""
    return (look(ships, widen(equal(ships, 0))) >> seat & EACH).sum(0, dtype=jnp.uint32)


def _at_least(counts: Board, least: int) -> Board:
    """1 where a count of 0 to 8 is at least so large."""
    return (counts + EACH * np.uint32(8 - least)) >> 3 & EACH


def _vulnerable(ships: Board, seat: Seat) -> Board:
    """The ships of this seat with three or more attackers."""
    return _ships_of(ships, seat) & _at_least(_attackers(ships, 1 - seat), 3)


def _cascade(ships: Board, seat: Seat) -> Board:
    """Destroys the enemies of this seat with three attackers until none is left."""

    def destroy(carry: tuple[Board, Board]) -> tuple[Board, Board]:
        left = carry[0] & ~widen(carry[1])
        return left, _vulnerable(left, 1 - seat)

    return jax.lax.while_loop(lambda carry: any_square(carry[1]), destroy, (ships, _vulnerable(ships, 1 - seat)))[0]


def _lawful(
    ships: Board, seat: Seat, reach: UInt32[Array, "8 8"]
) -> tuple[UInt32[Array, "3 8 8"], UInt32[Array, "3 8"]]:
    """Reaches and landings of the Dagaz rules: where the moved ship would have fewer than three attackers.

    A square shows its attackers as the board is; a ship that leaves may uncover one more behind itself.
    """
    empty = equal(ships, 0)
    seen = look(ships, widen(empty)) >> (1 - seat) & EACH
    count = seen.sum(0, dtype=jnp.uint32)
    port = _port(1 - seat)
    two = _at_least(count, 2)
    landings = jnp.stack([~two & EACH & ~port, two & ~_at_least(count, 3) & ~port, port])
    covered = reach & ~widen(seen[OPPOSITE])
    entering = reach & widen(_entrants(ships, seat, port))[None]
    return jnp.stack([reach, covered, entering]), landings


def _entrants(ships: Board, seat: Seat, port: Board) -> Board:
    """The ships that may enter the enemy port: no reply attacks them three times there."""
    empty = equal(ships, 0)
    sight = look(port, widen(empty))
    facing = jnp.where(seat == 0, sight[TOWARDS[0]], sight[TOWARDS[1]])
    entrants = _ships_of(ships, seat)[None] & facing & ~jnp.where(any_square(port & ~empty), EACH, jnp.uint32(0))
    entered = ships[None] & ~widen(entrants) | (port << seat)[None]
    safe = jax.vmap(_is_safe, in_axes=(0, None, None))(entered, seat, port)
    return union(jnp.where(safe[:, None], entrants, jnp.uint32(0)))


def _is_safe(ships: Board, seat: Seat, port: Board) -> Bool[Array, ""]:
    """Whether a ship in the enemy port has at most two attackers, now and after every reply.

    The corner has three lines, so a reply must keep two attacks and add the third: it comes from a ship that is not
    the only enemy on an attacking line and goes to a square of the third line in sight of the port.
    """
    empty = equal(ships, 0)
    enemies = _ships_of(ships, 1 - seat)
    seen = look(enemies | port << 2, widen(empty))  # bit 0: an enemy is the first ship, bit 2: the port is
    away = jnp.where(seat == 0, seen[OPPOSITE[TOWARDS[0]]], seen[OPPOSITE[TOWARDS[1]]]) & EACH
    facing = jnp.where(seat == 0, seen[TOWARDS[0]], seen[TOWARDS[1]]) >> 2 & EACH
    attackers = facing & enemies[None]
    attacked = any_square(attackers)
    fixed = union(attackers & ~away)
    needed = union(jnp.where(attacked[:, None], jnp.uint32(0), facing & empty[None]))
    replies = union(look(enemies & ~fixed, widen(empty))) & needed
    attacks = attacked.sum(dtype=jnp.int32)
    return (attacks < 2) | (attacks == 2) & ~any_square(replies)
