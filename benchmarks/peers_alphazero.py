"""The peer of training: an AlphaZero loop on pgx and mctx, as the example of pgx does it, written plainly.

What it shares with that example, and what ours does otherwise: one search of full size for every move; every position
is learnt from exactly once, in the order of a shuffle; the value is the result of the game, and positions whose game
did not end within the iteration have no value to learn; no symmetries; a net with batch norm; Adam at a fixed rate.
The defaults of the example are for a cluster of accelerators; `Peer` has them scaled to two CPU cores by the same
ratios (an iteration is one batch of games of 256 plies there, the length of a game here).
"""

import dataclasses
import functools
import time
from typing import Any, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import mctx
import optax
import pgx
from jax.sharding import PartitionSpec
from pgx.experimental.wrappers import auto_reset

from jaxgo.system import devices


@dataclasses.dataclass(frozen=True)
class Peer:
    """The settings of the loop."""

    env: str = "connect_four"
    channels: int = 32
    blocks: int = 2
    simulations: int = 32
    games: int = 128
    plies: int = 42
    batch: int = 512
    rate: float = 1e-3


class PeerNet(nn.Module):
    """A pre-activation residual net with batch norm and two heads."""

    actions: int
    channels: int
    blocks: int

    @nn.compact
    def __call__(self, planes: Any, train: bool = False) -> Any:
        norm = functools.partial(nn.BatchNorm, use_running_average=not train, momentum=0.9)
        conv = functools.partial(nn.Conv, self.channels, (3, 3))
        x = conv()(planes.astype(jnp.float32))
        for _ in range(self.blocks):
            y = conv()(nn.relu(norm()(x)))
            x = x + conv()(nn.relu(norm()(y)))
        x = nn.relu(norm()(x))
        policy = nn.relu(norm()(nn.Conv(2, (1, 1))(x)))
        logits = nn.Dense(self.actions)(policy.reshape(policy.shape[0], -1))
        value = nn.relu(norm()(nn.Conv(1, (1, 1))(x)))
        value = nn.relu(nn.Dense(self.channels)(value.reshape(value.shape[0], -1)))
        return logits, jnp.tanh(nn.Dense(1)(value))[:, 0]


@dataclasses.dataclass(frozen=True)
class OnOurPlanes:
    """The peer's net where jaxgo plays Connect Four: it sees the planes of both, and none that only jaxgo has."""

    net: PeerNet

    def init(self, key: Any, planes: Any) -> Any:
        return self.net.init(key, planes[..., :2])

    def apply(self, variables: Any, planes: Any) -> Any:
        return self.net.apply(variables, planes[..., :2])


class Ply(NamedTuple):
    """What self-play leaves behind; axes [T B]."""

    planes: Any
    policy: Any
    reward: Any  # of who moved
    discount: Any
    over: Any


def recurrent(env: Any, apply: Any) -> Any:
    """How mctx moves a node, with `apply(params, planes) -> logits, value`."""

    def move(params: Any, key: Any, action: Any, state: Any) -> Any:
        mover = state.current_player
        state = jax.vmap(env.step)(state, action)
        logits, value = apply(params, state.observation)
        logits = logits - logits.max(axis=-1, keepdims=True)
        logits = jnp.where(state.legal_action_mask, logits, jnp.finfo(logits.dtype).min)
        reward = state.rewards[jnp.arange(state.rewards.shape[0]), mover]
        value = jnp.where(state.terminated, 0.0, value)
        discount = jnp.where(state.terminated, 0.0, -1.0)
        return mctx.RecurrentFnOutput(reward=reward, discount=discount, prior_logits=logits, value=value), state

    return move


def collect(env: Any, apply: Any, simulations: int, plies: int, params: Any, states: Any, key: Any) -> Any:
    """So many plies of every game."""
    step = auto_reset(env.step, env.init)

    def ply(states: Any, key: Any) -> Any:
        search, reset = jax.random.split(key)
        logits, value = apply(params, states.observation)
        # pgx's reset leaves the mark of the last game's end on the start of the next one, where steps would stand still
        live = states.replace(
            terminated=jnp.zeros_like(states.terminated),
            truncated=jnp.zeros_like(states.truncated),
            rewards=jnp.zeros_like(states.rewards),
        )
        root = mctx.RootFnOutput(prior_logits=logits, value=value, embedding=live)
        found = mctx.gumbel_muzero_policy(
            params,
            search,
            root,
            recurrent(env, apply),
            simulations,
            invalid_actions=~states.legal_action_mask,
            qtransform=mctx.qtransform_completed_by_mix_value,
            gumbel_scale=1.0,
        )
        mover, seen = states.current_player, states.observation
        keys = jax.random.split(reset, states.terminated.shape[0])
        states = jax.vmap(step)(states, found.action, keys)
        reward = states.rewards[jnp.arange(mover.shape[0]), mover]
        discount = jnp.where(states.terminated, 0.0, -1.0)
        return states, Ply(seen, found.action_weights, reward, discount, states.terminated)

    return jax.lax.scan(ply, states, jax.random.split(key, plies))


def targets(plies: Ply) -> tuple[Any, Any]:
    """The result of its game for every ply, and whether that game ended."""
    known = jnp.cumsum(plies.over[::-1], axis=0)[::-1] >= 1

    def back(after: Any, ply: Any) -> Any:
        value = ply[0] + ply[1] * after
        return value, value

    _, value = jax.lax.scan(back, jnp.zeros_like(plies.reward[0]), (plies.reward, plies.discount), reverse=True)
    return value, known


def spread(local: Any, mesh: Any) -> Any:
    """`local(params, states, key) -> states, [T B]` on all devices, each with its own games, compiled."""
    each, later = PartitionSpec(devices.AXIS), PartitionSpec(None, devices.AXIS)

    def own_key(params: Any, states: Any, key: Any) -> Any:
        return local(params, states, jax.random.fold_in(key, jax.lax.axis_index(devices.AXIS)))

    specs = {"in_specs": (PartitionSpec(), each, PartitionSpec()), "out_specs": (each, later)}
    return jax.jit(jax.shard_map(own_key, mesh=mesh, check_vma=False, **specs))


class Learnt(NamedTuple):
    variables: Any
    optimiser: Any


class PeerLoop:
    """Trains from nothing; `run` goes on for some seconds."""

    def __init__(self, peer: Peer, seed: int = 0) -> None:
        self.peer, self.env, self.mesh = peer, pgx.make(peer.env), devices.make_mesh()
        self.net = PeerNet(self.env.num_actions, peer.channels, peer.blocks)
        first, games, self.key = jax.random.split(jax.random.key(seed), 3)
        states = jax.jit(jax.vmap(self.env.init))(jax.random.split(games, peer.games))
        variables = self.net.init(first, states.observation)
        self.states = jax.device_put(states, devices.split(self.mesh))
        self.adam = optax.adam(peer.rate)
        self.learnt = Learnt(variables, self.adam.init(variables["params"]))
        self.frames = 0
        self._collect = spread(
            functools.partial(collect, self.env, self.apply, peer.simulations, peer.plies), self.mesh
        )
        self._shuffle = jax.jit(self.shuffle)
        self._step = jax.jit(self.step, donate_argnums=0)

    def apply(self, variables: Any, planes: Any) -> Any:
        return self.net.apply(variables, planes)

    def shuffle(self, plies: Ply, key: Any) -> list[Any]:
        """All samples in batches, each in one of them."""
        value, known = targets(plies)
        flat = [x.reshape(-1, *x.shape[2:]) for x in (plies.planes, plies.policy, value, known)]
        steps = flat[0].shape[0] // self.peer.batch
        order = jax.random.permutation(key, flat[0].shape[0])[: steps * self.peer.batch]
        return [x[order].reshape(steps, self.peer.batch, *x.shape[1:]) for x in flat]

    def step(self, learnt: Learnt, batches: list[Any], number: Any) -> Learnt:
        """One batch; told from the host, as the example does it, for XLA is slow at it in a loop on a CPU."""
        batch = [x[number] for x in batches]
        slope, state = jax.grad(self.loss, has_aux=True)(learnt.variables["params"], learnt.variables, *batch)
        change, optimiser = self.adam.update(slope, learnt.optimiser)
        return Learnt({"params": optax.apply_updates(learnt.variables["params"], change), **state}, optimiser)

    def loss(self, params: Any, variables: Any, planes: Any, policy: Any, result: Any, known: Any) -> Any:
        said, state = self.net.apply({**variables, "params": params}, planes, train=True, mutable=["batch_stats"])
        logits, value = said
        cross = optax.softmax_cross_entropy(logits, policy).mean()
        return cross + (optax.l2_loss(value, result) * known).mean(), state

    def advance(self) -> None:
        """One iteration."""
        self.key, play, shuffle = jax.random.split(self.key, 3)
        variables = jax.device_put(self.learnt.variables, devices.copied(self.mesh))
        self.states, plies = self._collect(variables, self.states, play)
        batches = self._shuffle(jax.device_put(plies, self.mesh.devices.flat[0]), shuffle)
        for number in range(batches[0].shape[0]):
            self.learnt = self._step(self.learnt, batches, number)
        self.frames += self.peer.games * self.peer.plies

    def run(self, seconds: float) -> float:
        """Trains for so long, compilation not counted; how long it was."""
        self.advance()
        jax.block_until_ready(self.learnt)
        began = time.perf_counter()
        while (passed := time.perf_counter() - began) < seconds:
            self.advance()
            jax.block_until_ready(self.learnt)
        return passed
