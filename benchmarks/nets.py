"""How fast are our convolutions on this machine beside XLA's own? One JSON line for each net and batch.

What do products of bfloat16 buy, beside the same nets in float32? And what do Winograd's way and small chunks buy in
self-play of Go 9x9? That is for devices of one core.

JAX_NUM_CPU_DEVICES=1 taskset -c 0 uv run benchmarks/nets.py
"""

import dataclasses
from collections.abc import Callable
from typing import Any
from unittest import mock

import harness
import jax

from jaxgo.evaluators import Network, network
from jaxgo.games import GAMES
from jaxgo.nets import Mlp, Net, ResNet, conv
from jaxgo.nets.base import cast_once, on_platform
from jaxgo.search import Model
from jaxgo.selfplay import Selfplay
from jaxgo.system.devices import has_one_core, multiplies_bfloat16
from jaxgo.training.presets import preset

NET = ResNet(channels=32, blocks=2)
SHAPES = (("connect4", 64), ("connect4", 256), ("go9", 16), ("go9", 64))
HALVED = (
    ("connect4", Mlp(width=184, blocks=3), 256),
    ("go9", ResNet(channels=32, blocks=3), 25),
    ("go9", ResNet(channels=64, blocks=6), 25),
)
STEPS = 4  # of a loop
SECONDS, REPETITIONS = 2.0, 3
PRESET = "go9-last-cpu"
PLIES = 2


def programs(game: str, batch: int, net: Net = NET) -> dict[str, Callable[[], Any]]:
    """The net said in a loop, as self-play does, one step of learning, and such steps in a loop."""
    rules = GAMES[game]
    module = on_platform(net.module(rules), "cpu")
    planes = jax.eval_shape(rules.observe, jax.eval_shape(rules.init, jax.random.key(0)))
    planes = jax.random.normal(jax.random.key(1), (batch, *planes.shape))
    params = module.init(jax.random.key(0), planes)

    def say(params: Any, planes: Any) -> Any:
        params = cast_once(module, params)

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


def rates_of(way: str, game: str, batch: int, net: Net = NET) -> dict[str, harness.Program]:
    """Positions a second of each of these programs."""
    done = {"say": STEPS * batch, "step": batch, "loop": STEPS * batch}
    made = programs(game, batch, net).items()
    return {f"{kind} {way}": harness.rate(float(done[kind]), run, SECONDS) for kind, run in made}


def selfplay(near: bool) -> Callable[[], Any]:
    """Plies of the preset's self-play, whose net judges as it does near one core, or as it did before."""
    config = preset(PRESET).config
    game, net = config.make_game(), config.net
    module: Any = net.module(game)  # type: ignore[union-attr]  # a preset's net is jaxgo's own
    model = Model(game, Network(module))
    player = Selfplay(config.search, model, dataclasses.replace(config.selfplay, steps=PLIES))
    params = jax.jit(model.init)(jax.random.key(0))
    games = jax.jit(player.begin, static_argnums=1)(jax.random.key(1), config.selfplay.games)

    def play(key: Any) -> Any:
        return player.collect(params, games, key)[2]

    program = jax.jit(play)
    few = mock.patch.object(conv, "FEW", conv.FEW if near else conv.MANY)  # no batch is Winograd's then
    chunks = mock.patch.object(network, "has_one_core", return_value=near)
    with few, chunks:  # both are read when the program is traced
        jax.block_until_ready(program(jax.random.key(2)))
    return lambda: program(jax.random.key(2))


def ask_halves(game: str, net: Mlp | ResNet, batch: int) -> None:
    rates: dict[str, harness.Program] = {}
    for precision in ("bfloat16", "float32"):
        rates |= rates_of(precision, game, batch, dataclasses.replace(net, precision=precision))  # type: ignore[arg-type]
    found = harness.interleaved(rates, REPETITIONS)
    harness.report(
        f"nets/bfloat16/{game}",
        net=repr(net),
        quick=multiplies_bfloat16(),
        evaluations_s=found["say bfloat16"],
        beside_float32=found["say bfloat16"] / found["say float32"],
        learnt_s=found["loop bfloat16"],
        learnt_beside_float32=found["loop bfloat16"] / found["loop float32"],
    )


def ask_selfplay() -> None:
    plies = PLIES * preset(PRESET).config.selfplay.games
    ways = {"near": True, "before": False}
    rates = {name: harness.rate(float(plies), selfplay(near), SECONDS) for name, near in ways.items()}
    found = harness.interleaved(rates, REPETITIONS)
    harness.report("nets/selfplay", preset=PRESET, moves_s=found["near"], beside_before=found["near"] / found["before"])


def main() -> None:
    if jax.default_backend() != "cpu":
        raise SystemExit("this is a question about processors: set JAX_PLATFORMS=cpu")
    for game, batch in SHAPES:
        rates: dict[str, harness.Program] = {}
        for name, function in (("ours", conv.on_cpu), ("xla", lambda x, kernel, _: conv.convolution(x, kernel))):
            with mock.patch.object(conv, "on_cpu", function):  # read when the net is traced
                rates |= rates_of(name, game, batch)
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
    for game, net, batch in HALVED:
        ask_halves(game, net, batch)
    if has_one_core():
        ask_selfplay()


if __name__ == "__main__":
    main()
