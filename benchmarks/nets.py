"""How fast are our convolutions on this machine beside XLA's own? One JSON line for each net and batch.

uv run benchmarks/nets.py
"""

from collections.abc import Callable
from typing import Any
from unittest import mock

import harness
import jax

from jaxgo.games import GAMES
from jaxgo.nets import ResNet, conv
from jaxgo.nets.base import on_platform

NET = ResNet(channels=32, blocks=2)
SHAPES = (("connect4", 64), ("connect4", 256), ("go9", 16), ("go9", 64))
STEPS = 4  # of a loop
SECONDS, REPETITIONS = 2.0, 3


def programs(game: str, batch: int) -> dict[str, Callable[[], Any]]:
    """The net said in a loop, as self-play does, one step of learning, and such steps in a loop."""
    rules = GAMES[game]
    module = on_platform(NET.module(rules), "cpu")
    planes = jax.eval_shape(rules.observe, jax.eval_shape(rules.init, jax.random.key(0)))
    planes = jax.random.normal(jax.random.key(1), (batch, *planes.shape))
    params = module.init(jax.random.key(0), planes)

    def say(params: Any, planes: Any) -> Any:
        def again(_: Any, shift: Any) -> Any:
            return module.apply(params, planes + shift)[1][0] * 1e-9

        return jax.lax.fori_loop(0, STEPS, again, 0.0)

    def step(params: Any, planes: Any) -> Any:
        def loss(params: Any) -> Any:
            logits, value = module.apply(params, planes)
            return (logits**2).mean() + (value**2).mean()

        return jax.tree.map(lambda x, slope: x - 1e-4 * slope, params, jax.grad(loss)(params))

    def loop(params: Any, planes: Any) -> Any:
        return jax.lax.scan(lambda params, _: (step(params, planes), None), params, None, length=STEPS)[0]

    made = {name: jax.jit(program) for name, program in (("say", say), ("step", step), ("loop", loop))}
    for program in made.values():
        jax.block_until_ready(program(params, planes))
    return {name: lambda program=program: program(params, planes) for name, program in made.items()}  # type: ignore[misc]


def main() -> None:
    if jax.default_backend() != "cpu":
        raise SystemExit("this is a question about processors: set JAX_PLATFORMS=cpu")
    for game, batch in SHAPES:
        rates: dict[str, harness.Program] = {}
        for name, function in (("ours", conv.on_cpu), ("xla", conv.convolution)):
            with mock.patch.object(conv, "on_cpu", function):  # read when the net is traced
                for kind, run in programs(game, batch).items():
                    done = batch * (1 if kind == "step" else STEPS)
                    rates[f"{kind} {name}"] = harness.rate(float(done), run, SECONDS)
        found = harness.interleaved(rates, REPETITIONS)
        harness.report(
            f"nets/{game}",
            batch=batch,
            evaluations_s=found["say ours"],
            beside_xla=found["say ours"] / found["say xla"],
            learnt_s=found["loop ours"],
            beside_xla_in_a_loop=found["loop ours"] / found["loop xla"],
            beside_xla_step_by_step=found["loop ours"] / found["step xla"],
        )


if __name__ == "__main__":
    main()
