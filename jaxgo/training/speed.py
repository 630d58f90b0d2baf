"""How fast is the network alone? The bound that self-play is measured against."""

import functools
import time
from typing import Any

import jax

from jaxgo.evaluators.network import Network
from jaxgo.search.model import Model
from jaxgo.system import devices
from jaxgo.training.config import TrainConfig


def measure_evaluations(config: TrainConfig, games: int = 0, seconds: float = 0.5) -> float:
    """Evaluations a second of the config's network alone, at the batch of self-play and on the devices of a run."""
    game = config.make_game()
    module: Any = config.net.module(game)
    model = Model(game, Network(module))
    batch, mesh = games or config.selfplay.games, devices.make_mesh()
    states = jax.jit(functools.partial(model.start, games=batch))(jax.random.key(0)).state
    states = devices.place(states, devices.split(mesh))
    params = devices.place(jax.jit(model.init)(jax.random.key(1)), devices.copied(mesh))
    judge: Any = jax.jit(lambda params, states: model.evaluator(game, params, jax.random.key(2), states))
    jax.block_until_ready(judge(params, states))
    calls, began = 0, time.perf_counter()
    while (passed := time.perf_counter() - began) < seconds or not calls:
        jax.block_until_ready(judge(params, states))
        calls += 1
    return calls * batch / passed
