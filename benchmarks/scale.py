"""How near to its network's speed will a run come on an H100, how far do eight go, and has the memory room for it?

`uv run --extra cuda --extra benchmark benchmarks/scale.py --games go9`: predicted, since no accelerator is here. The
programs of a preset are compiled ahead of time for an H100 with 80 GB, with the sizes that it gets there. What they
launch, how often they wait, and what they write beside the network, is read from their text; what one of these costs is
assumed, and set by options. Nothing overlaps in this reckoning, which is to our disadvantage: on a device one kernel is
launched while another one runs. The network alone is reckoned without a launch.

Questions: `share` (of the speed of the network alone that self-play reaches, and what eight devices do), `memory` (what
XLA says that the programs take, beside what `machine.takes` says of the preset).
"""

import dataclasses
import functools
from typing import Any
from unittest import mock

import accelerator
import harness
import hlo
import jax
import jax.numpy as jnp
import numpy as np
from accelerator import GIB, laid

from jaxgo.nets.base import planes_shape
from jaxgo.search import tree
from jaxgo.selfplay import Selfplay
from jaxgo.training import machine, sizes
from jaxgo.training.config import TrainConfig
from jaxgo.training.presets import preset
from jaxgo.training.trainer import Trainer, _learn

MEMORY = 60 * GIB  # that JAX takes of an H100 with 80 GB


@dataclasses.dataclass(frozen=True)
class Options:
    """Of which presets, and what is assumed."""

    only: str = "share"  # questions, parted by commas: share, memory; empty: all
    games: tuple[str, ...] = ("go9",)  # presets
    count: int = 0  # games of a device; 0: what the preset has there
    kernel: float = 5e-6  # seconds to launch one
    wait: float = 15e-6  # seconds until the host knows a predicate
    speed: float = 300e12  # operations a second of convolutions and products
    traffic: float = 3e12  # bytes a second of all other kernels
    link: float = 300e9  # bytes a second between two devices
    hop: float = 10e-6  # seconds from one device to the next
    devices: int = 8
    counted: int = 64  # games side by side where turns of loops are counted
    plies: int = 30  # random ones before the ply that is counted
    keep: str = ""  # a folder for the texts of the programs


@dataclasses.dataclass(frozen=True)
class Programs:
    """The two programs of an iteration on one device, compiled."""

    config: TrainConfig
    play: accelerator.Compiled
    learn: accelerator.Compiled


@functools.cache
def programs(options: Options, name: str) -> Programs:
    """With the sizes that a preset has on an H100."""
    config = sizes.fitted(preset(name).config, 1, MEMORY)
    config = sizes.of_games(config, options.count) if options.count else config
    where = accelerator.mesh()
    run, (here, state) = Trainer(config, where), accelerator.begun(config)
    _, batches = jax.eval_shape(here.replay.draw, state.replay)
    keep = functools.partial(accelerator.kept, options, name)
    learn = functools.partial(_learn.__wrapped__, run)
    taught = state.learner, batches, state.key, state.iteration, state.seconds  # which is like the share that is spent
    return Programs(
        config,
        accelerator.playing(run, state, keep=keep("play"), donate_argnums=(1, 2)),
        accelerator.compiled(learn, *(laid(x, where) for x in taught), keep=keep("learn"), donate_argnums=0),
    )


def memory(options: Options) -> None:
    """What XLA says that a device needs, samples included, and what sizes are chosen by."""
    for name in options.games:
        made = programs(options, name)
        needed = machine.needs(made.config)
        # samples are there all the time, and what waits also while another program learns
        playing = needed.samples + made.play.memory.peak_memory_in_bytes
        learning = needed.samples + needed.waiting + made.learn.memory.peak_memory_in_bytes
        told = machine.takes(made.config)
        harness.report(
            "memory",
            game=name,
            games=made.config.selfplay.games,
            samples_gib=needed.samples / GIB,
            playing_gib=playing / GIB,
            learning_gib=learning / GIB,
            told_gib=told / GIB,
            told_of_compiled=told / max(playing, learning),
            told_of_programs=(told - needed.samples) / (max(playing, learning) - needed.samples),
        )


def share(options: Options) -> None:
    """The speed of self-play beside that of the network alone, and of several devices beside one."""
    for name in options.games:
        made = programs(options, name)
        config, selfplay = made.config, made.config.selfplay
        found = turns(config, options)
        often = {True: selfplay.full_share if selfplay.fast_simulations else 1.0}
        often[False] = 1.0 - often[True]
        cost, module = hlo.Cost(), made.play.module
        cost.add(module.whole)
        for full, seen in found.items():
            inside = module.executed(seen)
            inside.add(module.whole, -1.0)  # what the loops of one such ply take
            cost.add(inside, often[full] * selfplay.steps)
        asked = {True: config.search.budget, False: selfplay.fast_simulations}
        judged = selfplay.games * selfplay.steps * sum(often[full] * (asked[full] + 1) for full in asked)
        products, passed = judgement(options, config)
        network = judged * (products + passed)
        launches = cost.kernels * options.kernel + cost.predicates * options.wait
        # what the network moves at the roots, whose judgement is no loop, is the network's as well
        moved = cost.moved / options.traffic - selfplay.games * selfplay.steps * passed
        playing = network + launches + moved
        learning, exchange = taught(options, made)
        harness.report(
            "share",
            game=name,
            games=selfplay.games,
            batch=config.learner.batch,
            rounds_of_a_full_ply=sum(sum(turned) for site, turned in found[True].items() if "_extend" in site),
            kernels_a_ply=cost.kernels / selfplay.steps,
            waits_a_ply=cost.predicates / selfplay.steps,
            network_ms=1e3 * network / selfplay.steps,
            launches_ms=1e3 * launches / selfplay.steps,
            moved_ms=1e3 * moved / selfplay.steps,
            share=network / playing,
            moves_s=selfplay.games * selfplay.steps / playing,
            learning_of_the_time=learning / (playing + learning),
            devices=options.devices,
            loops_not_counted=module.unknown({site: [] for seen in found.values() for site in seen}),
            times_one=options.devices * (playing + learning) / (playing + learning + exchange),
        )


def judgement(options: Options, config: TrainConfig) -> tuple[float, float]:
    """Seconds that the network alone takes for a position without a launch: for products, and for what it moves."""
    where, batch = accelerator.mesh(), config.selfplay.games
    trainer = Trainer(config, where)
    planes = jax.ShapeDtypeStruct((batch, *planes_shape(trainer.game)), jnp.float32)
    params = jax.eval_shape(trainer.model.init, jax.random.key(0))
    module = trainer.learner.module
    made = accelerator.compiled(module.apply, laid(params, where), laid(planes, where))
    work = operations(jax.make_jaxpr(module.apply)(params, planes).jaxpr)
    return work / options.speed / batch, made.module.whole.moved / options.traffic / batch


def taught(options: Options, made: Programs) -> tuple[float, float]:
    """Seconds that the learner's steps of an iteration take, and those that several devices exchange numbers for."""
    trainer, steps = Trainer(made.config, accelerator.mesh()), made.config.updates
    params = jax.eval_shape(trainer.model.init, jax.random.key(0))
    batch = machine.blank_batch(trainer)
    loss = jax.grad(lambda params, batch: trainer.learner.loss(params, batch)[0])
    work = operations(jax.make_jaxpr(loss)(params, batch).jaxpr) * steps
    whole = made.learn.module.whole
    seconds = whole.kernels * options.kernel + work / options.speed + whole.moved / options.traffic
    size = sum(4 * leaf.size for leaf in jax.tree.leaves(params))
    others = options.devices - 1
    ring = 2 * others * (options.hop + size / options.devices / options.link)
    return seconds, steps * (ring + 2 * others * options.hop)  # the weights of the samples are exchanged first


def operations(program: Any) -> float:
    """Multiplications and additions of the convolutions and products of a program."""
    total = 0.0
    for step in program.eqns:
        kind, out = step.primitive.name, step.outvars[0].aval
        if kind == "conv_general_dilated":
            form = step.params["dimension_numbers"]
            kernel = step.invars[1].aval.shape
            total += 2.0 * out.size * np.prod(kernel) / kernel[form.rhs_spec[0]]
        elif kind == "dot_general":
            contracted = step.params["dimension_numbers"][0][0]
            total += 2.0 * out.size * np.prod([step.invars[0].aval.shape[axis] for axis in contracted])
        for value in step.params.values():
            inner = getattr(value, "jaxpr", value)
            if hasattr(inner, "eqns"):
                total += operations(inner)
    return total


def turns(config: TrainConfig, options: Options) -> dict[bool, dict[hlo.Site, list[int]]]:
    """How often the loops of a ply turn where the search is a full one, and where it is a fast one.

    There are fewer games than in the program that is reckoned with, which walk as its many do.
    """
    mapped = tree.MAPPED * options.counted // config.selfplay.games
    model = accelerator.stand_in(config, options.counted)
    selfplay = dataclasses.replace(config.selfplay, games=options.counted, steps=1, opening=0.0)
    player = Selfplay(config.search, model, selfplay)
    begun = jax.jit(lambda key: accelerator.shuffled(model, player.begin(key, options.counted), options.plies))(
        jax.random.key(0)
    )
    found: dict[bool, dict[hlo.Site, list[int]]] = {}
    with hlo.counting() as seen, mock.patch.object(tree, "MAPPED", mapped):
        params = model.init(jax.random.key(0))
        ply = jax.jit(lambda params, state, key: player.collect(params, state, key)[1:])
        for number in range(100):
            seen.clear()
            plies, _ = jax.block_until_ready(ply(params, begun, jax.random.key(number)))
            jax.effects_barrier()
            found[bool(plies.full.all())] = dict(seen)
            if len(found) == 2 or not selfplay.fast_simulations:
                break
    return found


if __name__ == "__main__":
    jax.config.update("jax_platforms", "cpu")
    harness.ask(Options, {"share": share, "memory": memory})
