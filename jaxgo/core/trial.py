"""A trial of a game of somebody's own, before anything dear is made of it.

`check_shapes` looks at what its methods return, without computing anything. `check` plays a few random games, too,
which must end in time and have a move until they do: else searches would play illegal moves, or games would never end.
Their seats and results must be those of the sign law: else proofs would be wrong without a word.
"""

import contextlib
import functools
import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float32, Int32

from jaxgo.core import keys, play
from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game, Piece
from jaxgo.core.play import Position

GAMES = 32
TAKEN = ("policy", "value", "targets", "short", "reply", "stem", "norm", "few", "pooled")  # by learners and nets
NUMBERED = re.compile(r"(norm|in|out|norm_in|norm_out|pool)\d+")  # layers of blocks


def is_own(part: Any) -> bool:
    """Whether a game, or a search, is of somebody's own, and so no test of jaxgo has seen it."""
    return type(part).__module__.partition(".")[0] != "jaxgo"


def check(game: Game[Any]) -> None:
    """A UsageError where random games of somebody's own break the rules of rules (docs/conventions.md)."""
    if not is_own(game):
        return
    check_shapes(game)
    last, results = _played(game)
    if last.uncounted:
        raise UsageError(f"step of {game} does not count `ply`; let it add 1 at every action")
    if (seat := int(last.seat)) not in range(game.players):
        raise UsageError(f"{game} has to_play={seat} in a random game; number its {game.players} seats from 0 on")
    if last.stuck:
        raise UsageError(
            f"{game} has a position that goes on and has no legal action, after {last.plies} random moves; let `over` "
            "say that the game ends there, or `legal` give a move, such as a pass"
        )
    if last.live.any():
        raise UsageError(
            f"{game} goes on after {last.plies} random moves, as many as its max_plies; raise max_plies, or let `over` "
            "end the game there"
        )
    for result in results:  # all games have ended
        if not (abs(result) <= 1).all() or (game.players == 2 and abs(result.sum()) > 1e-5):
            raise UsageError(
                f"{game} ends a random game with returns of {result.tolist()}; let `returns` give each seat a number "
                "from -1 to 1, and two seats numbers that sum to 0"
            )


@functools.lru_cache(maxsize=256)
def check_shapes(game: Game[Any]) -> None:
    """A UsageError where a method of somebody's own game fails, or returns another shape or type than it should."""
    if not is_own(game):
        return
    state = _start(game)
    height, width = game.shape
    _check_one(game, "legal", state, "bool", (game.num_actions,))
    _check_one(game, "over", state, "bool", ())
    _check_one(game, "returns", state, "float32", (game.players,))
    _check_step(game, state)
    _check_names(game)
    _check_pieces(game)
    # a game that no network and no table of positions ever sees may do without these
    _check_one(game, "observe", state, "numbers", (height, width, "C"), optional=True)
    _check_one(game, "hash", state, "uint32", (2,), optional=True)
    _check_one(game, "cells", state, "whole", (math.prod(game.picture),), optional=True)
    _check_one(game, "heuristic", state, "numbers", ())
    _check_one(game, "move_weights", state, "numbers", (game.num_actions,))
    _check_symmetries(game)
    _check_targets(game, state)


def check_states(game: Game[Any], states: Any) -> None:
    """A UsageError where a batch of positions, which `place` may have made, is of other arrays than a start, as that
    of another game is."""
    _check_kinds(game, tuple((x.shape[1:], x.dtype) for x in jax.tree.leaves(states)))


@functools.lru_cache(maxsize=256)
def _check_kinds(game: Game[Any], kinds: tuple[tuple[Any, Any], ...]) -> None:
    start = tuple((x.shape, x.dtype) for x in jax.tree.leaves(_start(game)))
    if kinds != start:
        found, wanted = (", ".join(f"{kind}{list(shape)}" for shape, kind in some) for some in (kinds, start))
        raise UsageError(
            f"a position for {type(game).__name__} is made of {found}, and a start of it of {wanted}; give one of this "
            "game, whose `place` keeps the shape and the type of every array"
        )


def traced(name: str, method: str, rule: Any, *given: Any) -> Any:
    """What a method of somebody's own returns, as shapes."""
    with _told_by(f"{method} of {name} cannot be traced by JAX", "mend it so that it makes arrays of arrays"):
        return jax.eval_shape(rule, *given)


def _asked(game: Game[Any], method: str, *given: Any) -> Any:
    """What a method of a game answers that JAX does not trace."""
    with _told_by(f"{method} of {type(game).__name__} fails{''.join(f' at {one}' for one in given)}", "mend it"):
        return getattr(game, method)(*given)


@contextlib.contextmanager
def _told_by(what: str, advice: str) -> Iterator[None]:
    """Tells in a sentence what code of somebody's own does wrong."""
    try:
        yield
    except UsageError:
        raise
    except Exception as fault:
        words = " ".join(str(fault).split())[:200]
        raise UsageError(f"{what} ({type(fault).__name__}: {words}); {advice}") from fault


def _told(value: Any) -> str:
    shaped = hasattr(value, "shape") and hasattr(value, "dtype")
    return f"{value.dtype}{list(value.shape)}" if shaped else f"a {type(value).__name__}"


def _start(game: Game[Any]) -> Any:
    """The shapes of a start, which is a NamedTuple of arrays with whose move it is and how many there were."""
    name, plain = type(game).__name__, list[str]()

    def begin(key: Array) -> Any:
        state = game.init(key)
        for path, leaf in jax.tree_util.tree_leaves_with_path(state):
            if isinstance(leaf, bool | int | float):
                plain.append(f"{jax.tree_util.keystr(path).lstrip('.')} as a plain {type(leaf).__name__}")
        return state

    state = traced(name, "init", begin, jax.eval_shape(lambda: jax.random.key(0)))
    if plain:
        raise UsageError(f"init of {name} gives {plain[0]}; make it an array, such as jnp.int8(0) or jnp.bool_(False)")
    for path, leaf in jax.tree_util.tree_leaves_with_path(state):
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):  # which numpy cannot hold, and matches lie there
            raise UsageError(
                f"init of {name} gives a key of randomness, {jax.tree_util.keystr(path).lstrip('.')}; keep its words, "
                "jax.random.key_data(key), and let `step` wrap them by jax.random.wrap_key_data"
            )
    for field in ("to_play", "ply"):
        found: Any = getattr(state, field, None)
        if getattr(found, "shape", None) != () or not jnp.issubdtype(found.dtype, jnp.integer):
            raise UsageError(
                f"init of {name} gives no whole number `{field}`; return a NamedTuple of arrays that has to_play, such "
                "as jnp.int8(0), and ply, jnp.int16(0)"
            )
    if not hasattr(state, "_replace"):
        raise UsageError(f"init of {name} gives a {type(state).__name__}; return a NamedTuple of arrays")
    return state


def _check_one(
    game: Game[Any], method: str, state: Any, kind: str, shape: tuple[int | str, ...], optional: bool = False
) -> None:
    """A method of a state returns one array of this kind and shape; a word in a shape is any size."""
    name = type(game).__name__
    try:
        found = traced(name, method, getattr(game, method), state)
    except UsageError as fault:
        if optional and isinstance(fault.__cause__, NotImplementedError | None):
            return
        raise
    fits = False
    if hasattr(found, "shape"):
        rank = len(found.shape) == len(shape)
        fits = rank and all(a == b or isinstance(b, str) for a, b in zip(found.shape, shape, strict=True))
        number = jnp.issubdtype(found.dtype, jnp.number) or found.dtype == bool
        loose = {
            "numbers": number,
            "float32": number and found.dtype != bool,
            "whole": jnp.issubdtype(found.dtype, jnp.integer),
        }
        fits &= bool(loose.get(kind, found.dtype == kind))
    if not fits:
        wanted = f"{kind}[{', '.join(map(str, shape))}]"
        raise UsageError(f"{method} of {name} gives {_told(found)} for one position; {wanted} is needed")


def _check_symmetries(game: Game[Any]) -> None:
    """Every symmetry has each cell and each action once, and the first one leaves all in place."""
    tables = _asked(game, "symmetries")
    for name, size in (("cells", math.prod(game.shape)), ("actions", game.num_actions)):
        table, same = np.asarray(getattr(tables, name, None)), np.arange(size)
        if table.ndim != 2 or table.shape[1:] != (size,) or len(table) != len(np.asarray(tables.cells)):
            raise UsageError(
                f"symmetries of {type(game).__name__} gives {name} of shape {list(table.shape)}; [symmetries, {size}] "
                "is needed"
            )
        if not (np.sort(table, axis=1) == same).all() or not (table[:1] == same).all():
            raise UsageError(
                f"symmetries of {type(game).__name__} gives {name} with a row that has some of 0 to {size - 1} twice, "
                "or whose first row is not these numbers in order"
            )


def _check_targets(game: Game[Any], state: Any) -> None:
    """Every target has a name that no other part of a learner or a net has, and a value of its shape."""
    kind, targets = type(game).__name__, _asked(game, "aux_targets")
    names = [target.name for target in targets]
    for name in names:
        if NUMBERED.fullmatch(name):
            raise UsageError(f"aux_targets of {kind} has the name {name!r}, as a layer of a net has; give it another")
        if name in TAKEN or names.count(name) > 1:
            raise UsageError(
                f"aux_targets of {kind} has the name {name!r} twice, or it is one of {', '.join(TAKEN)}, which nets "
                "and learners have anyway; give it another"
            )
    given = traced(kind, "aux_values", game.aux_values, state) if targets else {}
    for target in targets:
        found = given.get(target.name) if isinstance(given, dict) else given
        wanted = (math.prod(game.shape),) if target.kind == "cells" else ()
        if not isinstance(given, dict) or getattr(found, "shape", None) != wanted:
            said, shape = "nothing" if found is None else _told(found), ", ".join(map(str, wanted))
            raise UsageError(f"aux_values of {kind} gives {said} for {target.name!r}; float32[{shape}] is needed")


def _check_names(game: Game[Any]) -> None:
    """Every action has a name of its own, which is one word: else moves that were written down are read as others."""
    kind, seen = type(game).__name__, dict[str, int]()
    for action in range(game.num_actions):
        name: Any = _asked(game, "action_name", action)
        if not isinstance(name, str) or not re.fullmatch(r"[^\s,#]+", name):
            raise UsageError(
                f"action_name of {kind} calls action {action} {name!r}; make it one word, without blanks, commas and #"
            )
        if seen.setdefault(name.lower(), action) != action:
            raise UsageError(
                f"action_name of {kind} calls actions {seen[name.lower()]} and {action} {name!r}, as case is not "
                "looked at; give each a name of its own"
            )


def _check_pieces(game: Game[Any]) -> None:
    """Every game says how its board is drawn."""
    pieces: Any = getattr(game, "pieces", None)
    if not isinstance(pieces, tuple) or not pieces or not all(isinstance(piece, Piece) for piece in pieces):
        raise UsageError(
            f"{type(game).__name__} has no `pieces`; give it the look of each code of `cells`, such as "
            "pieces = (EMPTY, Piece('X', 0), Piece('O', 1))"
        )


def _check_step(game: Game[Any], state: Any) -> None:
    """A move keeps the shape and the type of every array: a tree would cut what it stores."""
    name, action = type(game).__name__, jax.ShapeDtypeStruct((), jnp.int32)
    moved = traced(name, "step", game.step, state, action)
    parts: Any = jax.tree.structure(moved)
    if parts != jax.tree.structure(state):
        raise UsageError(
            f"step of {name} gives a {type(moved).__name__} of other parts than init, which gives a "
            f"{type(state).__name__}; return a state with all of its fields"
        )
    leaves = zip(jax.tree_util.tree_leaves_with_path(state), jax.tree.leaves(moved), strict=True)
    for (path, old), new in leaves:
        if not _fits(old, new):
            raise UsageError(
                f"a step of {name} makes {jax.tree_util.keystr(path).lstrip('.')} {new.dtype}{list(new.shape)} of "
                f"{old.dtype}{list(old.shape)}; keep the shape and the type of every array"
            )


def _fits(old: Any, new: Any) -> bool:
    """Whether a new array is stored in the place of an old one as it is; a plain number takes the type there."""
    try:
        kept = jax.eval_shape(lambda old, new: jnp.where(jnp.bool_(True), old, new), old, new)
    except (TypeError, ValueError):
        return False
    return bool(kept.shape == old.shape and kept.dtype == old.dtype)


@functools.lru_cache(maxsize=256)
def _played(game: Game[Any]) -> "tuple[_Carry, Any]":
    """`_play`, on the host."""
    return jax.device_get(_play(game, jax.random.key(0)))


@functools.partial(jax.jit, static_argnums=0)
def _play(game: Game[Any], key: Array) -> "tuple[_Carry, Float32[Array, 'B P']]":
    """Some random games to their ends, and what `returns` says there."""

    def facts(position: Position) -> tuple[Bool[Array, "B A"], Bool[Array, " B"]]:
        live = ~jax.vmap(functools.partial(play.over, game))(position)
        return jax.vmap(functools.partial(play.legal, game))(position), live

    def is_on(carry: _Carry) -> Bool[Array, ""]:
        return carry.live.any() & ~carry.stuck & (carry.plies < game.max_plies)

    def move(carry: _Carry) -> _Carry:
        seats = jnp.where(carry.live, carry.position.state.to_play.astype(jnp.int32), 0)
        wrong = jnp.where((seats < 0) | (seats >= game.players), seats, 0)
        seat = jnp.where(carry.seat != 0, carry.seat, wrong[jnp.abs(wrong).argmax()])
        action = keys.categorical(jax.random.fold_in(draws, carry.plies), jnp.where(carry.legal, 0.0, -jnp.inf))
        after = jax.vmap(functools.partial(play.play, game))(carry.position, action)[0]
        uncounted = carry.live & (after.state.ply != carry.position.state.ply + 1)
        return _Carry(after, *facts(after), carry.plies + 1, seat, carry.uncounted | uncounted.any())

    begins, draws = jax.random.split(key)
    start = jax.vmap(functools.partial(play.start, game))(jax.random.split(begins, GAMES))
    last = jax.lax.while_loop(is_on, move, _Carry(start, *facts(start), jnp.int32(0), jnp.int32(0), jnp.bool_(False)))
    results = jax.vmap(functools.partial(play.returns, game))(last.position)
    return last, results.astype(jnp.float32)


class _Carry(NamedTuple):
    position: Position
    legal: Bool[Array, "B A"]
    live: Bool[Array, " B"]  # which go on
    plies: Int32[Array, ""]  # that were played
    seat: Int32[Array, ""]  # one that there is not, if it was to move, or 0
    uncounted: Bool[Array, ""]  # whether a move was not counted

    @property
    def stuck(self) -> Any:
        """Whether a game has come to a position without a move."""
        return (self.live & ~self.legal.any(axis=-1)).any()
