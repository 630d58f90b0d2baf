"""What a run asks of the machine: its memory, told before it begins, and how fast its network is alone."""

import functools
import math
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.extend.core import Literal

from jaxgo.core.errors import UsageError
from jaxgo.core.game import state_bytes, tree_bytes
from jaxgo.evaluators.network import Network
from jaxgo.nets import ResNet
from jaxgo.nets.base import planes_shape
from jaxgo.search.model import Model
from jaxgo.system import devices
from jaxgo.training.config import TrainConfig
from jaxgo.training.learner import Batch, Learner
from jaxgo.training.trainer import Trainer

GIB = 2**30
PRODUCTS = ("conv_general_dilated", "dot_general")
BESIDE = 5  # of the weights, with their average, a gradient and what an optimiser keeps
# activations of a layer that programs of a residual net hold at a time where XLA compiles them for a GPU: of a position
# that is judged, and of a sample that is learnt from, there for each block
JUDGING, LEARNING = 3, 6
LANES = 16  # positions of a game that a search asks about at once, at most


class Needs(NamedTuple):
    """Bytes, all devices together."""

    samples: int  # the ring
    waiting: int  # plies that wait for the end of their game
    trees: int
    judging: int  # what a residual net makes of positions
    batches: int  # that are drawn for an iteration

    def at_once(self, step: int) -> int:
        """The most that is there at a time, samples apart, with a step of the learner of so many bytes.

        One program plays, and labels are made on a copy when no tree is needed any more; then another one learns.
        """
        return self.waiting + max(self.waiting, self.trees + self.judging, self.batches + step)


def needs(config: TrainConfig) -> Needs:
    """What a run takes at least; the `network` and what it computes come on top."""
    game = config.make_game()
    state, actions = state_bytes(game), game.num_actions
    heads = {head.name: 2 * math.prod(head.shape(game)) for head in config.heads}
    sample = state + 2 * actions + 12 + sum(size + 2 for size in heads.values())
    ply = state + 2 * actions + 21 + sum(heads.get(target.name, 0) for target in game.aux_targets())
    return Needs(
        samples=config.replay.capacity * sample,
        waiting=config.selfplay.games * config.horizon * ply,
        trees=config.selfplay.games * (config.search.budget + 1) * (state + 8 * actions),
        judging=config.selfplay.games * min(LANES, actions) * JUDGING * _layer(config),
        batches=config.updates * config.learner.batch * sample,
    )


def _layer(config: TrainConfig) -> int:
    """Bytes of what one layer of a residual net makes of a position."""
    net = config.network
    if not isinstance(net, ResNet):
        return 0
    return math.prod(config.make_game().shape) * net.channels * jnp.dtype(net.precision).itemsize


def takes(config: TrainConfig) -> int:
    """Bytes that a run takes on accelerators, told by its sizes alone; `check` looks at the learner more closely."""
    needed, net = needs(config), config.network
    learning = config.learner.batch * LEARNING * _layer(config) * net.blocks if isinstance(net, ResNet) else 0
    return needed.samples + needed.at_once(learning)


def network(trainer: Trainer) -> tuple[int, int]:
    """Bytes of the weights with all that lies beside them, and of what a step of the learner keeps for its way back."""
    params = jax.eval_shape(trainer.model.init, jax.random.key(0))
    return BESIDE * tree_bytes(params), step_bytes(
        trainer.learner, params, blank_batch(trainer), devices.platform(trainer.mesh)
    )


def step_bytes(learner: Learner, params: Any, batch: Batch, platform: str) -> int:
    """Bytes that a step of the learner keeps for its way back, its planes included.

    XLA for a CPU keeps what `jax.vjp` does. For an accelerator it makes all that is cheap anew, and keeps a quarter.
    """

    def loss(params: Any, batch: Batch) -> Any:
        return learner.loss(params, batch)[0]

    if platform == "cpu":
        few = learner.at_once(params, batch)
        part = jax.tree.map(lambda x: jax.ShapeDtypeStruct((few, *x.shape[1:]), x.dtype), batch)
        kept = jax.eval_shape(lambda p, b: jax.vjp(functools.partial(loss, batch=b), p)[1], params, part)
        return tree_bytes((batch.planes, kept)) - tree_bytes(params)
    program = jax.make_jaxpr(loss)(params, batch).jaxpr
    return tree_bytes(batch.planes) + _kept(program, program.invars[len(jax.tree.leaves(params)) :])


def _kept(program: Any, batched: Sequence[Any]) -> int:
    """Bytes of what goes into convolutions and products of a program, and comes out of them, for a batch that is given.

    What lies between is cheap: additions, norms, what is made of one number at a time.
    """
    known, found, below = set(batched), dict[Any, int](), 0
    for step in program.eqns:
        given = [one for one in step.invars if not isinstance(one, Literal) and one in known]
        if not given:
            continue  # weights alone
        known.update(step.outvars)
        if step.primitive.name in PRODUCTS:
            found |= {one: one.aval.size * one.aval.dtype.itemsize for one in (*given, *step.outvars)}
        for inner in map(_program, step.params.values()):
            if inner is not None:
                pairs = zip(inner.invars[-len(step.invars) :], step.invars, strict=False)
                below += _kept(inner, [mine for mine, theirs in pairs if any(theirs is one for one in given)])
    return below + sum(found.values())


def _program(setting: Any) -> Any:
    """The program that a step of another one runs, if that is what a setting of it holds."""
    inner = getattr(setting, "jaxpr", setting)
    return inner if hasattr(inner, "eqns") else None


def blank_batch(trainer: Trainer) -> Batch:
    """The shapes of a batch of the learner."""
    game, count = trainer.game, trainer.config.learner.batch

    def array(*shape: int, dtype: Any = jnp.float32) -> Any:
        return jax.ShapeDtypeStruct((count, *shape), dtype)

    planes = planes_shape(game)
    heads = {head.name: array(*head.shape(game)) for head in trainer.heads}
    policy, legal, one = array(game.num_actions), array(game.num_actions, dtype=jnp.bool_), array()
    return Batch(array(*planes), legal, policy, one, one, one, heads, dict.fromkeys(heads, one))


class Share(NamedTuple):
    """What a run takes of one memory."""

    what: str
    wanted: int  # bytes
    there: int  # 0: nobody knows
    movable: bool  # to another memory, in part


def shares(trainer: Trainer) -> tuple[dict[str, int], list[Share]]:
    """Bytes of the parts of a run, and what it takes at least of each memory; nothing is compiled for it."""
    needed = needs(trainer.config)
    weights, step = network(trainer)
    apart = trainer.replay.home != trainer.mesh
    parts = {
        "samples": needed.samples,
        "plies that wait": needed.waiting,
        "trees": needed.trees,
        "weights": weights,
        "a step of the learner": step,
        "positions that are judged": needed.judging,
    }
    here = needed.at_once(step) + weights + (0 if apart else needed.samples)
    found = [Share("the device", here, devices.memory(trainer.mesh), not apart)]
    if apart:
        found.append(Share("the host", needed.samples, devices.host_memory() * jax.process_count(), False))
    return parts, found


def check(trainer: Trainer) -> None:
    """A UsageError where there is less memory than a run takes."""
    parts, found = shares(trainer)
    for what, wanted, there, movable in found:
        if not there or wanted <= there:
            continue
        told = ", ".join(f"{name} {size / GIB:.1f}" for name, size in parts.items())
        advice = " or say replay.memory=host" if movable and jax.default_backend() != "cpu" else ""
        raise UsageError(
            f"this run needs at least {wanted / GIB:.1f} GiB ({told}), and {what} has {there / GIB:.1f}: lower "
            f"replay.capacity, selfplay.games, selfplay.horizon, search.simulations, learner.batch or the net{advice}"
        )


def measure_evaluations(config: TrainConfig, seconds: float = 0.5) -> float:
    """Evaluations a second of the config's network alone, at the batch of self-play and on the devices of a run."""
    game = config.make_game()
    module: Any = config.network.module(game)
    model = Model(game, Network(module))
    every, games = devices.make_mesh(), config.selfplay.games
    mesh = devices.of_this_host(every)
    batch = games // every.devices.size * mesh.devices.size  # hosts need not have equally many
    states = jax.jit(functools.partial(model.start, games=batch))(jax.random.key(0)).state
    states = jax.device_put(states, devices.split(mesh))
    params = jax.device_put(jax.jit(model.init)(jax.random.key(1)), devices.copied(mesh))
    judge: Any = jax.jit(
        lambda params, states: model.evaluator.on(model.platform)(game, params, jax.random.key(2), states)
    )
    jax.block_until_ready(judge(params, states))
    calls, began = 0, time.perf_counter()
    while (passed := time.perf_counter() - began) < seconds or not calls:
        jax.block_until_ready(judge(params, states))
        calls += 1
    return calls * games / passed
