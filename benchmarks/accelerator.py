"""What will our programs be on an accelerator? Compiled ahead of time for one that is not there.

`uv run --extra cuda --extra benchmark benchmarks/accelerator.py`: XLA's whole pipeline for an H100 runs on any Linux
machine (convolutions are not tuned). Kernels, predicates and copies are counted: the text of the program says what one
turn of a loop takes, and a run on a processor how often loops turn. No time of a device is measured here.

With `--target v5e:2x2`, and `--extra tpu` for `--extra cuda`, `play` is compiled for a TPU of such a topology instead.

Questions: `ply` (one ply of self-play with a full search), `peer` (the same on pgx + mctx with the same net), `learn`
(one step of the learner on several devices), `play` (how long the program of self-play takes to compile), `judged`
(how many positions the network judges for each that pgx + mctx judges; counted on the processor, with `--plies 100
--counted 1024` for games that are at all plies).
"""

import dataclasses
import functools
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import harness
import hlo
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import topologies
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from jaxgo.core.errors import unknown_name
from jaxgo.core.lanes import where_lanes
from jaxgo.core.names import package
from jaxgo.evaluators import Heuristic
from jaxgo.evaluators.network import chunk_of, judge_some
from jaxgo.nets.base import planes_shape
from jaxgo.players import load_player
from jaxgo.search.model import Model
from jaxgo.selfplay import Selfplay, SelfplayConfig
from jaxgo.system import devices
from jaxgo.training import machine, sizes
from jaxgo.training.config import TrainConfig
from jaxgo.training.presets import preset
from jaxgo.training.trainer import Trainer, _play

# what XLA must know of a device that it compiles for: NVIDIA's figures of an H100 with 80 GB
H100 = """
gpu_device_info {
  threads_per_block_limit: 1024 threads_per_warp: 32 shared_memory_per_block: 49152 shared_memory_per_core: 233472
  threads_per_core_limit: 2048 core_count: 132 fpus_per_core: 128 block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535 block_dim_limit_z: 65535 memory_bandwidth: 3352320000000 l2_cache_size: 52428800
  clock_rate_ghz: 1.98 device_memory_size: 84978434048 shared_memory_per_block_optin: 232448
  cuda_compute_capability { major: 9 minor: 0 } registers_per_core_limit: 65536 registers_per_block_limit: 65536
}
platform_name: "CUDA"
dnn_version_info { major: 9 minor: 8 patch: 0 }
device_description_str: "NVIDIA H100 80GB HBM3"
"""
# what the runtime of TPUs would ask a cloud for
ALONE = {"TPU_SKIP_MDS_QUERY": "1", "TPU_WORKER_HOSTNAMES": "localhost", "TPU_ACCELERATOR_TYPE": "v5litepod-4"}
PEERS = {"connect4": "connect_four", "go9": "go_9x9", "go19": "go_19x19"}
GIB = 2**30


@dataclasses.dataclass(frozen=True)
class Options:
    """Which programs."""

    only: str = "ply"  # questions, parted by commas: ply, play, peer, learn, judged; empty: all
    games: tuple[str, ...] = ("connect4", "go9")  # presets
    count: int = 0  # games side by side; 0: the preset's
    search: str = ""  # of `ply`, such as puct:48,parallel_leaves=8; empty: the preset's
    counted: int = 64  # games side by side where turns of loops are counted
    plies: int = 30  # random ones before the ply that is counted
    devices: int = 8  # of `learn`
    keep: str = ""  # a folder for the texts of the programs
    target: str = ""  # of `play`: a topology of TPUs; empty: an H100


@dataclasses.dataclass
class Compiled:
    """A program for an accelerator, and how long it took to make."""

    module: hlo.Module
    seconds: float
    processor_seconds: float
    memory: Any


def mesh(count: int = 1, tpu: str = "") -> Mesh:
    """Devices that are not there."""
    shape = f"1x1x{count}"
    if tpu:
        for name, value in ALONE.items():
            os.environ.setdefault(name, value)
        target = topologies.get_topology_desc(platform="tpu", topology_name=tpu)
    else:
        target = topologies.get_topology_desc(platform="cuda", topology_name=shape, target_config=H100, topology=shape)
    return Mesh(np.array(target.devices)[:count], (devices.AXIS,), axis_types=(AxisType.Auto,))


def laid(tree: Any, where: Mesh, spec: PartitionSpec = PartitionSpec()) -> Any:  # noqa: B008  (a constant)
    sharding = NamedSharding(where, spec)
    return jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=sharding), tree)


def compiled(function: Callable[..., Any], *arguments: Any, keep: str = "", **settings: Any) -> Compiled:
    lowered = jax.jit(function, **settings).lower(*arguments)
    began, busy = time.monotonic(), processor()
    made = lowered.compile()
    seconds, busy = time.monotonic() - began, processor() - busy
    if keep:
        Path(keep).write_text(made.as_text())
    return Compiled(hlo.Module(made.as_text()), seconds, busy, made.memory_analysis())


def processor() -> float:
    """Seconds that processors have worked for this process and those it has started."""
    return sum(os.times()[:4])


def full(config: TrainConfig, count: int) -> TrainConfig:
    """A ply at a time, each with a full search."""
    selfplay = dataclasses.replace(
        config.selfplay, steps=1, fast_simulations=0, opening=0.0, games=count or config.selfplay.games
    )
    return dataclasses.replace(config, selfplay=selfplay)


@dataclasses.dataclass(frozen=True)
class StandIn(Heuristic):
    """Judges by the game's own heuristic, as many at a time as a network on a GPU does, of `times` as many games."""

    times: int = 1
    told: Callable[[int], None] | None = None  # is told how many positions each call judges

    def __call__(self, game: Any, params: Any, key: Any, states: Any) -> Any:
        if self.told is not None:
            lanes = jax.tree.leaves(states)[0].shape[0]
            jax.debug.callback(lambda: self.told(lanes))
        return super().__call__(game, params, key, states)

    def evaluate_wanted(self, game: Any, params: Any, key: Any, states: Any, wanted: Any) -> Any:
        chunk = max(1, chunk_of(game, wanted.shape[0] * self.times, "gpu") // self.times)
        return judge_some(lambda some: self(game, params, key, some), game, states, wanted, chunk, whole=False)


def stand_in(config: TrainConfig, count: int, told: Callable[[int], None] | None = None) -> Model:
    """What plans in so many games as a GPU does in all of the config's."""
    return Model(config.make_game(), StandIn(times=max(1, config.selfplay.games // count), told=told), platform="gpu")


def turns(
    config: TrainConfig, count: int, plies: int, told: Callable[[int], None] | None = None
) -> dict[hlo.Site, list[int]]:
    """How often the loops of a ply turn, on positions of random games, with the game's own judgement for a net."""
    model = stand_in(config, count, told)
    player = Selfplay(config.search, model, SelfplayConfig(games=count, steps=1, opening=0.0))
    begun = jax.jit(lambda key: shuffled(model, player.begin(key, count), plies))(jax.random.key(0))
    with hlo.counting() as seen:
        ply = jax.jit(lambda params, state, key: player.collect(params, state, key)[1:])
        jax.block_until_ready(ply(model.init(jax.random.key(0)), begun, jax.random.key(1)))
        jax.effects_barrier()
    return dict(seen)


def shuffled(model: Model, state: Any, plies: int) -> Any:
    """After so many random moves; who is at the end by then begins anew."""
    start, keys = state.position, jax.random.split(jax.random.key(5), plies)

    def move(position: Any, key: Any) -> tuple[Any, None]:
        action = jax.random.categorical(key, jnp.where(model.legal(position), 0.0, -jnp.inf))
        moved = model.play(position, action.astype(jnp.int32))[0]
        over = model.over(moved)
        return where_lanes(over, start, moved), None

    return state._replace(position=jax.lax.scan(move, start, keys)[0])


def kept(options: Options, name: str, program: str) -> str:
    return f"{options.keep}/{name}-{program}.hlo" if options.keep else ""


def tell(question: str, made: Compiled, simulations: int, found: dict[hlo.Site, list[int]], **more: Any) -> None:
    cost = made.module.executed(found)
    harness.report(
        question,
        **more,
        simulations=simulations,
        compile_s=made.seconds,
        compile_processor_s=made.processor_seconds,
        kernels=cost.kernels,
        predicates=cost.predicates,
        copies=cost.copies,
        kernels_a_simulation=cost.kernels / simulations,
        predicates_a_simulation=cost.predicates / simulations,
        kernels_of_a_turn=most(made.module.loops),
        turns={site: sum(found.get(site, [])) for site in made.module.loops},
        kernels_of_a_branch=most(made.module.branches),
        loops_not_counted=made.module.unknown(found),
        convolutions=made.module.convolutions,
        collectives=made.module.collectives,
        arguments_gib=made.memory.argument_size_in_bytes / GIB,
        temporary_gib=made.memory.temp_size_in_bytes / GIB,
    )


def most(copies: dict[hlo.Site, list[hlo.Cost]]) -> dict[hlo.Site, float]:
    """The kernels of the longest copy."""
    return {site: max(cost.kernels for cost in costs) for site, costs in copies.items()}


def ply(options: Options) -> None:
    """One ply of self-play with a full search."""
    where, key = mesh(), jax.random.key(0)
    for name in options.games:
        config = full(preset(name).config, options.count)
        if options.search:
            config = dataclasses.replace(
                config, search=load_player(options.search, config.make_game(), noise=True).search
            )
        trainer, count = Trainer(config, where), config.selfplay.games
        begin = functools.partial(trainer.selfplay.begin, games=count)
        shapes = jax.eval_shape(trainer.model.init, key), jax.eval_shape(begin, key), jax.eval_shape(lambda: key)
        made = compiled(trainer.selfplay.collect, *(laid(x, where) for x in shapes), keep=kept(options, name, "ply"))
        found = turns(config, options.counted, options.plies)
        tell("ply", made, config.search.budget, found, game=name, games=count, search=options.search or "the preset's")


def begun(config: TrainConfig) -> tuple[Trainer, Any]:
    """A run on a device of this host, and the shapes of the state that it begins with."""
    run = Trainer(config, devices.make_mesh(jax.devices()[:1]))
    return run, jax.eval_shape(run.begin)


def playing(run: Trainer, state: Any, **settings: Any) -> Compiled:
    """The program of self-play as a run has it on its devices: all plies of an iteration, labels, restarts."""
    given = state.player, state.selfplay, state.window, state.key, state.iteration
    return compiled(functools.partial(_play.__wrapped__, run), *(laid(x, run.mesh) for x in given), None, **settings)


def play(options: Options) -> None:
    """How long self-play takes to compile, and what it needs besides its arguments."""
    where = mesh(tpu=options.target)
    for name in options.games:
        config = preset(name).config
        config = sizes.of_games(config, options.count) if options.count else config
        made = playing(Trainer(config, where), begun(config)[1], keep=kept(options, name, "play"))
        harness.report(
            "play",
            game=name,
            games=config.selfplay.games,
            target=options.target or "H100",
            arguments_gib=made.memory.argument_size_in_bytes / GIB,
            compile_s=made.seconds,
            compile_processor_s=made.processor_seconds,
            temporary_gib=made.memory.temp_size_in_bytes / GIB,
        )


def peer(options: Options) -> None:
    """The same on pgx + mctx: one environment step, one search, the net of the preset on planes of pgx."""
    where, key = mesh(), jax.random.key(0)
    for name in options.games:
        if name not in PEERS:
            raise unknown_name("game that pgx has here", name, PEERS)
        config = full(preset(name).config, options.count)
        player, count = Peer(PEERS[name], config), config.selfplay.games
        states = jax.eval_shape(lambda keys, env=player.env: jax.vmap(env.init)(keys), jax.random.split(key, count))
        shapes = jax.eval_shape(player.init, key), jax.eval_shape(lambda: key), states
        made = compiled(player.ply, *(laid(x, where) for x in shapes), keep=kept(options, name, "peer"))
        found = player.turns(options.counted, options.plies)
        tell("peer", made, config.search.budget, found, game=name, games=count)


class Peer:
    """A ply of pgx + mctx."""

    def __init__(self, env: str, config: TrainConfig) -> None:
        self.env, self.mctx = (package(name, "the peer", "benchmark") for name in ("pgx", "mctx"))
        self.env = self.env.make(env)
        self.simulations, self.net = config.search.budget, config.network.module(config.make_game())

    def init(self, key: Any) -> Any:
        return self.net.init(key, jnp.zeros((1, *self.env.observation_shape)))

    def judge(self, params: Any, state: Any) -> tuple[Any, Any]:
        """Logits of the legal moves, and the value."""
        if params is None:  # loops turn as they do with a net that knows nothing
            logits = jax.random.normal(jax.random.key(2), state.legal_action_mask.shape)
            value = jnp.zeros(logits.shape[0])
        else:
            logits, value = self.net.apply(params, state.observation.astype(jnp.float32))
        return jnp.where(state.legal_action_mask, logits, jnp.finfo(jnp.float32).min), value

    def step(self, params: Any, key: Any, action: Any, state: Any) -> tuple[Any, Any]:
        mover = state.current_player
        state = jax.vmap(self.env.step)(state, action)
        logits, value = self.judge(params, state)
        over = state.terminated
        reward = jnp.take_along_axis(state.rewards, mover[:, None], axis=1)[:, 0]
        out = self.mctx.RecurrentFnOutput(
            reward=reward,
            discount=jnp.where(over, 0.0, -jnp.ones_like(value)),
            prior_logits=logits,
            value=jnp.where(over, 0.0, value),
        )
        return out, state

    def ply(self, params: Any, key: Any, state: Any) -> tuple[Any, Any]:
        logits, value = self.judge(params, state)
        found = self.mctx.gumbel_muzero_policy(
            params=params,
            rng_key=key,
            root=self.mctx.RootFnOutput(prior_logits=logits, value=value, embedding=state),
            recurrent_fn=self.step,
            num_simulations=self.simulations,
            invalid_actions=~state.legal_action_mask,
        )
        return jax.vmap(self.env.step)(state, found.action), found.action_weights

    def turns(self, count: int, plies: int) -> dict[hlo.Site, list[int]]:
        def move(state: Any, key: Any) -> tuple[Any, None]:
            chance = jnp.where(state.legal_action_mask, 0.0, -jnp.inf)
            moved = jax.vmap(self.env.step)(state, jax.random.categorical(key, chance))
            over = moved.terminated
            return where_lanes(over, state, moved), None

        @jax.jit
        def begin(key: Any) -> Any:
            start = jax.vmap(self.env.init)(jax.random.split(key, count))
            return jax.lax.scan(move, start, jax.random.split(key, plies))[0]

        state = begin(jax.random.key(0))
        with hlo.counting() as seen:
            jax.block_until_ready(jax.jit(functools.partial(self.ply, None))(jax.random.key(1), state))
            jax.effects_barrier()
        return dict(seen)


def learn(options: Options) -> None:
    """One step of the learner, its batch shared by several devices: what they exchange."""
    where = mesh(options.devices)
    for name in options.games:
        trainer = Trainer(preset(name).config, where)
        planes = jax.ShapeDtypeStruct((1, *planes_shape(trainer.game)), jnp.float32)
        params = jax.eval_shape(trainer.learner.module.init, jax.random.key(0), planes)
        state = laid(jax.eval_shape(trainer.learner.begin, params), where)
        batch = laid(machine.blank_batch(trainer), where, PartitionSpec(devices.AXIS))
        whole, split = PartitionSpec(), PartitionSpec(devices.AXIS)
        step = functools.partial(trainer.learner.update, axis=devices.AXIS)
        spread = jax.shard_map(step, mesh=where, in_specs=(whole, split), out_specs=whole, check_vma=False)
        made = compiled(spread, state, batch, keep=kept(options, name, "learn"))
        weights, kept_back = machine.network(trainer)  # what a run is refused by, before anything is compiled
        tell(
            "learn",
            made,
            1,
            {},
            game=name,
            devices=options.devices,
            batch=trainer.config.learner.batch,
            counted_gib=(weights + kept_back / options.devices) / GIB,
        )


def judged(options: Options) -> None:
    """Positions that are judged in a ply with a full search, for each that pgx + mctx would judge."""
    for name in options.games:
        config = full(preset(name).config, options.count)
        calls: list[int] = []
        turns(config, options.counted, options.plies, calls.append)
        asked = options.counted * (config.search.budget + 1)
        harness.report(
            "judged",
            game=name,
            games=config.selfplay.games,
            counted=options.counted,
            plies=options.plies,
            simulations=config.search.budget,
            judged=sum(calls) / asked,
            calls=len(calls),
        )


if __name__ == "__main__":
    jax.config.update("jax_platforms", "cpu")
    harness.ask(Options, {"ply": ply, "play": play, "peer": peer, "learn": learn, "judged": judged})
