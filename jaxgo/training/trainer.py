"""The device side of a run: its state, and the programs that move it on, `play` and `learn`.

All of it runs in `shard_map` over the axis `data`. In self-play each device has its own games and its own ring, and
there is no word between them. The learner's batches are split over the devices, which exchange the gradient.
"""

import dataclasses
import functools
from pathlib import Path
from typing import Any, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jaxtyping import Array, Float32, Int32

from jaxgo.arena import openings
from jaxgo.core import play, trial
from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.core.play import Position
from jaxgo.core.tracing import traced_once
from jaxgo.evaluators.network import Network
from jaxgo.nets.base import Head, on_platform
from jaxgo.search.model import Model
from jaxgo.selfplay import Selfplay, SelfplayState, Tally, Trajectory
from jaxgo.system import devices
from jaxgo.training import learner as learners
from jaxgo.training import replay, targets
from jaxgo.training.config import TrainConfig
from jaxgo.training.due import Word
from jaxgo.training.learner import Learner, LearnerState
from jaxgo.training.replay import ALL, EACH, LATER, Batches, NewSamples, Replay, ReplayState
from jaxgo.training.targets import Sample, Window

DRAWN_BOOK = "balanced"  # openings as eval.py draws them
MOST_DRAWN = 256
AT_ONCE = 8  # plies that an accelerator labels in one turn of a loop; it takes longer to launch than to label
PER_DEVICE = (".replay.ring.seen", ".replay.ring.cursor")  # what of a `TrainState` has a number for each device


class Best(NamedTuple):
    """Who makes self-play where a gate decides it."""

    params: Any
    step: Int32[Array, ""]  # the iteration that these weights are of
    tested: Int32[Array, ""]  # the iteration of the last test


class TrainState(NamedTuple):
    """All that a run is, to the last game under way: its checkpoint."""

    learner: LearnerState
    selfplay: SelfplayState
    window: Window
    replay: ReplayState
    iteration: Int32[Array, ""]
    seconds: Float32[Array, ""]  # of training so far
    played: Int32[Array, "2 2"]  # games that ended and moves, when it was saved: each as quotient and rest of 2^31
    best: Best | None  # None without a gate: the newest weights play
    key: Array

    @property
    def player(self) -> Any:
        """The weights that make self-play."""
        return self.learner.average if self.best is None else self.best.params


def read_book(game: Game[Any], book: str, seed: int = 0) -> Position | None:
    """The positions that games begin from, as a batch: the openings of a file, or drawn ones; None without a book.

    They are no part of a checkpoint: every sitting of a run reads them again.
    """
    if not book:
        return None
    starts = [play.start(game, jax.random.key(number)).state for number in range(2)]
    if not all(bool((one == two).all()) for one, two in zip(*map(jax.tree.leaves, starts), strict=True)):
        raise UsageError(f"selfplay.book={book}: games that begin anew each time have no openings; leave it out")
    if book == DRAWN_BOOK:
        found = openings.random_openings(game, seed=seed)
        count = found.distinct(MOST_DRAWN)
    elif not Path(book).is_file():
        raise UsageError(
            f"selfplay.book={book}: no such file; name one with an opening in each line, or say {DRAWN_BOOK}"
        )
    else:
        found = openings.book(game, book)
        count = found.distinct(10**9)  # all of them
    return jax.tree.map(jnp.asarray, found.positions(range(count)))


@dataclasses.dataclass(frozen=True)
class Trainer:
    """A config on some devices. Equal ones share their compiled programs."""

    config: TrainConfig
    mesh: Mesh

    def __post_init__(self) -> None:
        config = self.config
        if self.mesh.axis_names != (devices.AXIS,):
            raise UsageError(
                f"a run wants a mesh of one axis, {devices.AXIS!r}, as jaxgo.system.devices.make_mesh() is"
            )
        self._check_shares()
        if config.gate.every and self.game.players != 2:
            raise UsageError(
                f"gate.every={config.gate.every}: {config.game_name} has one player, so there is no test; say 0"
            )
        most = 2 * config.selfplay.games * config.selfplay.steps
        if config.replay.capacity < most:
            raise UsageError(
                f"replay.capacity={config.replay.capacity} is too small for iterations of {most // 2} positions: "
                f"make it at least {most}, or lower selfplay.games or selfplay.steps"
            )

    def _check_shares(self) -> None:
        """A UsageError where the devices cannot share what there is, with numbers of which they can."""
        config = self.config
        games = devices.nearest_share(config.selfplay.games, self.mesh)
        least = 2 * games * config.selfplay.steps
        counts = {
            "selfplay.games": config.selfplay.games,
            "learner.batch": config.learner.batch,
            "replay.capacity": config.replay.capacity,
        }
        near = {name: devices.nearest_share(count, self.mesh) for name, count in counts.items()}
        near["replay.capacity"] = max(near["replay.capacity"], least)
        devices.check_divides(counts, near, self.mesh)

    # -- parts -----------------------------------------------------------------------------------------------
    @functools.cached_property
    def game(self) -> Game[Any]:
        game = self.config.make_game()
        trial.check(game)
        return game

    @functools.cached_property
    def heads(self) -> tuple[Head, ...]:
        return self.config.heads

    @functools.cached_property
    def learner(self) -> Learner:
        module = on_platform(self.config.network.module(self.game, self.heads), devices.platform(self.mesh))
        return Learner(module, self.heads, self.config.learner)

    @functools.cached_property
    def model(self) -> Model:
        """What searches plan with; its parameters are the learner's average."""
        return Model(self.game, Network(cast(Any, self.learner.module)), devices.platform(self.mesh))

    @functools.cached_property
    def selfplay(self) -> Selfplay:
        known = {target.name for target in self.game.aux_targets()}
        wanted = tuple(head.name for head in self.heads if head.name in known)
        return Selfplay(self.config.search, self.model, self.config.selfplay, wanted)

    @functools.cached_property
    def replay(self) -> Replay:
        return replay.make(self.config.replay, self.config.updates, self.config.learner.batch, self.mesh)

    @functools.cached_property
    def book(self) -> Position | None:
        """Where games begin, if not at the start. An argument of the programs: another book is no other program."""
        # other openings than those in which its players are judged, and than those of the gate
        found = read_book(self.game, self.config.selfplay.book, self.config.seed + 2)
        return None if found is None else devices.lay(found, devices.copied(self.mesh))

    def deal(self, state: TrainState) -> tuple[TrainState, int]:
        """A state that was saved on any number of devices, among these; and how many there were."""
        return state._replace(replay=self.replay.deal(state.replay)), len(state.replay.ring.seen)

    # -- programs --------------------------------------------------------------------------------------------
    def begin(self) -> TrainState:
        """A run before its first move."""
        state, samples = _begin(self, jax.random.key(self.config.seed), self.book)
        return state._replace(replay=self.replay.begin(samples, self.config.seed))

    def play(self, state: TrainState) -> tuple[TrainState, Tally]:
        """One iteration of self-play, its samples kept; the tally has a row for each device."""
        games = state.selfplay, state.window
        selfplay, window, new, tally = self._settled(
            _play(self, state.player, *games, state.key, state.iteration, self.book)
        )
        kept = self._settled(self.replay.add(state.replay, new))
        return state._replace(selfplay=selfplay, window=window, replay=kept), tally

    def learn(self, state: TrainState, spent: float = 0.0) -> tuple[TrainState, dict[str, Array]]:
        """The learner's steps of one iteration, which ends it; no steps while too little is remembered.

        `spent` is the share of the budget that is gone, which several hosts must agree about.
        """
        kept, batches = self._settled(self.replay.draw(state.replay))
        gone = devices.lay(np.float32(spent), devices.copied(self.mesh))
        made = _learn(self, state.learner, batches, state.key, state.iteration, gone)
        learner, iteration, metrics = self._settled(made)
        kept = self._settled(self.replay.settle(kept))
        return state._replace(learner=learner, replay=kept, iteration=iteration), metrics

    def share(self, tally: Tally, word: Word) -> tuple[Tally, Word]:
        """The sums of an iteration over all devices, and what the hosts say; every host gets them alike."""
        made: tuple[Tally, Word] = self._settled(_share(self.mesh, tally, devices.tell(self.mesh, word)))
        return made

    @property
    def waits(self) -> bool:
        """Whether a program is over when its method returns.

        On CPU devices it must be: XLA can deadlock, and then abort, while several programs are under way of which one
        exchanges numbers between devices.
        """
        return self.mesh.devices.size > 1 and devices.platform(self.mesh) == "cpu"

    def _settled(self, made: Any) -> Any:
        return jax.block_until_ready(made) if self.waits else made

    def fold(self, key: Array, iteration: Int32[Array, ""], program: int) -> Array:
        """The key of a program in an iteration."""
        return jax.random.fold_in(jax.random.fold_in(key, iteration), program)


@traced_once
def _collect(
    selfplay: Selfplay, params: Any, state: SelfplayState, key: Array, place: Int32[Array, ""], book: Position | None
) -> tuple[SelfplayState, Trajectory, Tally]:
    """For the shapes that a run begins with, and for the program that plays: one trace of it takes long."""
    return selfplay.collect(params, state, key, place, book)


@functools.partial(jax.jit, static_argnums=0)
def _begin(trainer: Trainer, key: Array, book: Position | None) -> tuple[TrainState, Sample]:
    """A run without a ring, and a blank sample for it."""
    config, count = trainer.config, trainer.mesh.devices.size
    net, games, onward = jax.random.split(key, 3)
    params = trainer.model.init(net)

    def opened(key: Array, book: Position | None) -> SelfplayState:
        mine = jax.random.fold_in(key, jax.lax.axis_index(devices.AXIS))
        return trainer.selfplay.begin(mine, config.selfplay.games // count, book)

    # the arguments come from outside, as in `_play`: others of the same shapes would be traced anew
    def blank(params: Any, state: SelfplayState, key: Array, book: Position | None) -> tuple[Window, Sample]:
        play = functools.partial(_collect, trainer.selfplay)
        _, plies, _ = jax.eval_shape(play, params, state, key, jax.lax.axis_index(devices.AXIS), book)
        window = targets.empty_window(plies, config.horizon)
        make = functools.partial(targets.make_samples, config.targets, trainer.heads)
        _, samples, _ = jax.eval_shape(make, window, plies)
        return window, jax.tree.map(lambda x: jnp.zeros((1, *x.shape[1:]), x.dtype), samples)

    spread = functools.partial(jax.shard_map, mesh=trainer.mesh, check_vma=False)
    zero = jnp.int32(0)
    best = Best(jax.tree.map(jnp.copy, params), zero, zero) if config.gate.every else None
    each, later, whole = (NamedSharding(trainer.mesh, spec) for spec in (EACH, LATER, ALL))
    selfplay = spread(opened, in_specs=ALL, out_specs=EACH)(games, book)
    window, sample = spread(blank, in_specs=(ALL, EACH, ALL, ALL), out_specs=(LATER, ALL))(
        params, selfplay, games, book
    )
    state = TrainState(
        learner=jax.lax.with_sharding_constraint(trainer.learner.begin(params), whole),
        selfplay=jax.lax.with_sharding_constraint(selfplay, each),
        window=jax.lax.with_sharding_constraint(window, later),
        replay=cast(Any, None),
        iteration=zero,
        seconds=jnp.float32(0),
        played=jnp.zeros((2, 2), jnp.int32),
        best=best,
        key=onward,
    )
    rest = jax.lax.with_sharding_constraint((state.iteration, state.seconds, state.played, state.best, onward), whole)
    names = ("iteration", "seconds", "played", "best", "key")
    return state._replace(**dict(zip(names, rest, strict=True))), sample


@functools.partial(jax.jit, static_argnums=0, donate_argnums=(2, 3))
def _play(
    trainer: Trainer,
    params: Any,
    state: SelfplayState,
    window: Window,
    key: Array,
    iteration: Int32[Array, ""],
    book: Position | None,
) -> tuple[SelfplayState, Window, NewSamples, Tally]:
    def local(
        params: Any, state: SelfplayState, window: Window, key: Array, book: Position | None
    ) -> tuple[SelfplayState, Window, NewSamples, Tally]:
        place = jax.lax.axis_index(devices.AXIS)
        state, plies, tally = _collect(trainer.selfplay, params, state, key, place, book)
        at_once = 1 if trainer.model.on_cpu else AT_ONCE
        window, samples, present = targets.make_samples(trainer.config.targets, trainer.heads, window, plies, at_once)
        return state, window, NewSamples(samples, present), jax.tree.map(lambda x: x[None], tally)

    spread = jax.shard_map(
        local,
        mesh=trainer.mesh,
        in_specs=(ALL, EACH, LATER, ALL, ALL),
        out_specs=(EACH, LATER, EACH, EACH),
        check_vma=False,
    )
    return spread(params, state, window, trainer.fold(key, iteration, 0), book)


@functools.partial(jax.jit, static_argnums=0, donate_argnums=1)
def _learn(
    trainer: Trainer,
    learner: LearnerState,
    drawn: Batches,
    key: Array,
    iteration: Int32[Array, ""],
    spent: Float32[Array, ""],
) -> tuple[LearnerState, Int32[Array, ""], dict[str, Array]]:
    config, mesh = trainer.config, trainer.mesh
    turn = trainer.fold(key, iteration, 1)

    def local(
        learner: LearnerState, samples: Sample, key: Array, spent: Float32[Array, ""]
    ) -> tuple[LearnerState, dict[str, Array]]:
        mine = jax.random.fold_in(key, jax.lax.axis_index(devices.AXIS))
        batch = learners.make_batch(trainer.game, trainer.heads, mine, samples)
        return trainer.learner.update(learner, batch, devices.AXIS, spent)

    def step(learner: LearnerState, one: tuple[Sample, Array]) -> tuple[LearnerState, dict[str, Array]]:
        samples, number = one
        spread = jax.shard_map(local, mesh=mesh, in_specs=(ALL, EACH, ALL, ALL), out_specs=ALL, check_vma=False)
        return spread(learner, samples, jax.random.fold_in(turn, number), spent)

    def steps(learner: LearnerState) -> tuple[LearnerState, dict[str, Array]]:
        learner, metrics = jax.lax.scan(step, learner, (drawn.samples, jnp.arange(config.updates)))
        return learner, jax.tree.map(_mean, metrics)

    def wait(learner: LearnerState) -> tuple[LearnerState, dict[str, Array]]:
        return learner, trainer.learner.nothing()

    ready = trainer.replay.ready(drawn.seen)
    learner, metrics = jax.lax.cond(ready, steps, wait, learner)
    learner = jax.lax.with_sharding_constraint(learner, NamedSharding(mesh, ALL))
    metrics |= {
        "ready": ready,
        "samples": drawn.seen.astype(jnp.float32).sum(),
        "window": replay.window(config.replay, drawn.seen, mesh.devices.size).sum(),
        "step": learner.step,
        "skipped": learner.skipped,
        "broken": learner.broken,
    }
    return learner, iteration + 1, metrics


def _mean(numbers: Array) -> Array:
    """Of the steps that were taken; those that were skipped have numbers that are not finite."""
    return jnp.mean(numbers, where=jnp.isfinite(numbers))


@functools.partial(jax.jit, static_argnums=0)
def _share(mesh: Mesh, tally: Tally, said: Float32[Array, "D K"]) -> tuple[Tally, Word]:
    first = said[devices.first_row(mesh)]
    word = Word(said[:, 0].max(), *(first[number] for number in range(1, len(Word._fields))))
    told = jax.tree.map(jnp.sum, tally), word
    return jax.lax.with_sharding_constraint(told, NamedSharding(mesh, ALL))
