"""The device side of a run: its state, and the two programs that move it on, `play` and `learn`.

Self-play, labels and the ring run in `shard_map` over the axis `data`, each device with its own games and its own ring
and no word between them; the learner runs in `jit` on batches that are split over the devices, so that the one thing
they exchange is the gradient.
"""

import dataclasses
import functools
from typing import Any, cast

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding
from jaxtyping import Array, Int32

from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.core.play import Position
from jaxgo.evaluators.network import Network
from jaxgo.nets.base import Head, on_platform
from jaxgo.search.model import Model
from jaxgo.selfplay import Selfplay, SelfplayState, Tally
from jaxgo.system import devices
from jaxgo.training import books, replay, source, store, targets
from jaxgo.training.config import TrainConfig
from jaxgo.training.learner import Learner, LearnerState
from jaxgo.training.replay import ReplayState
from jaxgo.training.state import Best, TrainState, layout
from jaxgo.training.store import ALL, EACH, LATER, Drawn, Fresh, Store
from jaxgo.training.targets import Sample, Window

HORIZON = 400  # plies of a window at most, unless asked for


@dataclasses.dataclass(frozen=True)
class Trainer:
    """A config on some devices. Equal ones share their compiled programs."""

    config: TrainConfig
    mesh: Mesh

    def __post_init__(self) -> None:
        config = self.config
        for name, count in (
            ("selfplay.games", config.selfplay.games),
            ("learner.batch", config.learner.batch),
            ("replay.capacity", config.replay.capacity),
        ):
            devices.check_divides(name, count, self.mesh)
        if config.gate.every and self.game.players != 2:
            raise UsageError(
                f"gate.every={config.gate.every}: {config.game} has one player, so there is no test; say 0"
            )
        most = 2 * config.selfplay.games * config.selfplay.steps
        if config.replay.capacity < most:
            raise UsageError(
                f"replay.capacity={config.replay.capacity} is too small for iterations of {most // 2} positions: "
                f"make it at least {most}, or lower selfplay.games or selfplay.steps"
            )

    # -- parts -----------------------------------------------------------------------------------------------
    @functools.cached_property
    def game(self) -> Game[Any]:
        return self.config.make_game()

    @functools.cached_property
    def heads(self) -> tuple[Head, ...]:
        return self.config.targets.make_heads(self.game)

    @functools.cached_property
    def learner(self) -> Learner:
        module = on_platform(self.config.net.module(self.game, self.heads), devices.platform(self.mesh))
        return Learner(module, self.heads, self.config.learner)

    @functools.cached_property
    def model(self) -> Model:
        """What searches plan with; its parameters are the learner's average."""
        return Model(self.game, Network(cast(Any, self.learner.module)), devices.platform(self.mesh))

    @functools.cached_property
    def selfplay(self) -> Selfplay:
        lessons = {lesson.name for lesson in self.game.lessons()}
        wanted = tuple(head.name for head in self.heads if head.name in lessons)
        return Selfplay(self.config.search, self.model, self.config.selfplay, wanted)

    @functools.cached_property
    def book(self) -> Position | None:
        """Where games begin, if not at the start. An argument of the programs: another book is no other program."""
        found = books.read(self.game, self.config.selfplay.book, self.config.seed)
        return None if found is None else devices.place(found, devices.copied(self.mesh))

    @property
    def horizon(self) -> int:
        """Plies of the window."""
        return self.config.selfplay.horizon or min(self.game.max_plies, HORIZON)

    @functools.cached_property
    def home(self) -> Mesh | None:
        """Where the samples are, if not on the devices that play and learn."""
        return devices.beside(self.mesh) if self.config.replay.memory == "host" else None

    # -- programs --------------------------------------------------------------------------------------------
    def begin(self) -> TrainState:
        """A run before its first move."""
        state = _begin(self, jax.random.key(self.config.seed), self.book)
        if self.home is None:
            return state
        pattern = cast(ReplayState, state.replay)
        return state._replace(replay=store.begin(pattern.samples, self.config.replay.capacity, self.home, state.key))

    def play(self, state: TrainState) -> tuple[TrainState, Tally]:
        """One iteration of self-play, its samples kept; the tally has a row for each device."""
        ring = None if isinstance(state.replay, Store) else state.replay
        games = state.selfplay, state.window, ring
        made = _play(self, state.player, *games, state.key, state.iteration, self.book)
        selfplay, window, kept, tally = self._settled(made)
        if isinstance(state.replay, Store):
            kept = state.replay._replace(fresh=kept)
        return state._replace(selfplay=selfplay, window=window, replay=kept), tally

    def learn(self, state: TrainState) -> tuple[TrainState, dict[str, Array]]:
        """The learner's steps of one iteration, which ends it; no steps while too little is remembered."""
        drawn, kept = self._fetch(state.replay) if isinstance(state.replay, Store) else (state.replay, state.replay)
        made = _learn(self, state.learner, drawn, state.key, state.iteration)
        learner, iteration, metrics = self._settled(made)
        if isinstance(kept, Store):
            kept = self._keep(kept)
        return state._replace(learner=learner, replay=kept, iteration=iteration), metrics

    def _fetch(self, kept: Store) -> tuple[Drawn, Store]:
        """All batches of an iteration, brought from the hosts."""
        assert self.home is not None
        shape = self.config.updates, self.config.learner.batch // self.mesh.devices.size
        drawn, draws = store.draw(self.config.replay, self.home, *shape, kept.ring, kept.key, kept.draws)
        samples = devices.carry(drawn.samples, self.home, self.mesh, LATER)
        seen = devices.carry(drawn.seen, self.home, self.mesh, EACH)
        return self._settled(Drawn(samples, seen)), kept._replace(draws=draws)

    def _keep(self, kept: Store) -> Store:
        """The samples of the last self-play brought to the hosts; this waits for it, and the learner runs meanwhile."""
        assert self.home is not None
        fresh = devices.carry(kept.fresh, self.mesh, self.home, EACH)
        return self._settled(kept._replace(ring=store.keep(self.home, kept.ring, fresh), fresh=None))

    @property
    def waits(self) -> bool:
        """Whether a program is over when its method returns.

        On CPU devices it must be: XLA can deadlock, and then abort, while several programs are under way of which one
        exchanges numbers between devices.
        """
        return self.mesh.devices.size > 1 and bool(self.mesh.devices.flat[0].platform == "cpu")

    def _settled(self, made: Any) -> Any:
        return jax.block_until_ready(made) if self.waits else made

    def fold(self, key: Array, iteration: Int32[Array, ""], program: int) -> Array:
        """The key of a program in an iteration."""
        return jax.random.fold_in(jax.random.fold_in(key, iteration), program)


@functools.partial(jax.jit, static_argnums=0)
def _begin(trainer: Trainer, key: Array, book: Position | None) -> TrainState:
    config, count = trainer.config, trainer.mesh.devices.size
    net, games, onward = jax.random.split(key, 3)
    params = trainer.model.init(net)

    def local(key: Array, book: Position | None) -> tuple[SelfplayState, Window, ReplayState]:
        mine = jax.random.fold_in(key, jax.lax.axis_index(devices.AXIS))
        state = trainer.selfplay.begin(mine, config.selfplay.games // count, book)
        _, plies, _ = jax.eval_shape(trainer.selfplay.collect, params, state, mine)
        window = targets.empty_window(plies, trainer.horizon)
        make = functools.partial(targets.make_samples, config.targets, trainer.heads)
        _, samples, _ = jax.eval_shape(make, window, plies)
        # where the hosts keep the samples this is the pattern for it
        capacity = 1 if trainer.home else config.replay.capacity // count
        return state, window, replay.empty(samples, capacity)

    spread = jax.shard_map(local, mesh=trainer.mesh, in_specs=ALL, out_specs=(EACH, LATER, EACH), check_vma=False)
    zero = jnp.int32(0)
    best = Best(jax.tree.map(jnp.copy, params), zero, zero) if config.gate.every else None
    learner, played = trainer.learner.begin(params), jnp.zeros((2, 2), jnp.int32)
    state = TrainState(learner, *spread(games, book), zero, jnp.float32(0), played, best, onward)
    return TrainState(
        *(jax.lax.with_sharding_constraint(*pair) for pair in zip(state, layout(trainer.mesh), strict=True))
    )


@functools.partial(jax.jit, static_argnums=0, donate_argnums=(2, 3, 4))
def _play(
    trainer: Trainer,
    params: Any,
    state: SelfplayState,
    window: Window,
    ring: ReplayState | None,
    key: Array,
    iteration: Int32[Array, ""],
    book: Position | None,
) -> tuple[SelfplayState, Window, ReplayState | Fresh, Tally]:
    def local(
        params: Any, state: SelfplayState, window: Window, ring: ReplayState | None, key: Array, book: Position | None
    ) -> tuple[SelfplayState, Window, ReplayState | Fresh, Tally]:
        place = jax.lax.axis_index(devices.AXIS)
        state, plies, tally = trainer.selfplay.collect(params, state, key, place, book)
        window, samples, present = targets.make_samples(trainer.config.targets, trainer.heads, window, plies)
        kept = Fresh(samples, present) if ring is None else replay.add(ring, samples, present)
        return state, window, kept, jax.tree.map(lambda x: x[None], tally)

    spread = jax.shard_map(
        local,
        mesh=trainer.mesh,
        in_specs=(ALL, EACH, LATER, EACH, ALL, ALL),
        out_specs=(EACH, LATER, EACH, EACH),
        check_vma=False,
    )
    return spread(params, state, window, ring, trainer.fold(key, iteration, 0), book)


@functools.partial(jax.jit, static_argnums=0, donate_argnums=1)
def _learn(
    trainer: Trainer, learner: LearnerState, kept: ReplayState | Drawn, key: Array, iteration: Int32[Array, ""]
) -> tuple[LearnerState, Int32[Array, ""], dict[str, Array]]:
    config, mesh = trainer.config, trainer.mesh
    draw, turn = jax.random.split(trainer.fold(key, iteration, 1))

    def step(learner: LearnerState, one: tuple[Array | Sample, Array]) -> tuple[LearnerState, dict[str, Array]]:
        at, number = one
        turned = jax.random.fold_in(turn, number)
        return trainer.learner.update(learner, source.batch(trainer.game, trainer.heads, mesh, kept, at, turned))

    def steps(learner: LearnerState) -> tuple[LearnerState, dict[str, Array]]:
        batches = source.batches(config, mesh, kept, draw)
        learner, metrics = jax.lax.scan(step, learner, (batches, jnp.arange(config.updates)))
        return learner, jax.tree.map(jnp.mean, metrics)

    def wait(learner: LearnerState) -> tuple[LearnerState, dict[str, Array]]:
        return learner, trainer.learner.nothing()

    learner, metrics = jax.lax.cond(source.ready(config.replay, mesh, kept), steps, wait, learner)
    learner = jax.lax.with_sharding_constraint(learner, NamedSharding(mesh, ALL))
    metrics |= {
        "samples": kept.seen.astype(jnp.float32).sum(),
        "window": replay.window(config.replay, kept.seen, mesh.devices.size).sum(),
        "step": learner.step,
        "skipped": learner.skipped,
        "broken": learner.broken,
    }
    return learner, iteration + 1, metrics
