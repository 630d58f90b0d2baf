"""How fast is self-play, how much does the loop cost, and how soon is it strong? One JSON line an answer.

uv run --extra benchmark benchmarks/training.py                        # what takes minutes
uv run --extra benchmark benchmarks/training.py --only limit,peers     # some questions
"""

import dataclasses
import functools
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cores  # noqa: F401  before pgx
import harness
import jax
import jax.numpy as jnp
import peers_alphazero
import pgx
import tyro
from jax.sharding import Mesh
from kept_runs import for_minutes, quiet, trained
from walk import Walk

from jaxgo.core import play
from jaxgo.core.errors import unknown_name
from jaxgo.evaluators import network
from jaxgo.evaluators.network import Network
from jaxgo.games import GAMES
from jaxgo.nets import Net, ResNet
from jaxgo.nets import to_json as net_to_json
from jaxgo.nets.base import on_platform
from jaxgo.search.gumbel import Gumbel
from jaxgo.search.model import Model
from jaxgo.selfplay import Selfplay, SelfplayConfig
from jaxgo.system import devices
from jaxgo.system.rundir import RunDir
from jaxgo.system.weights import load_weights
from jaxgo.training.config import Budget, to_json
from jaxgo.training.loop import Loop
from jaxgo.training.presets import preset
from jaxgo.training.trainer import Trainer

SMALL = ResNet(channels=32, blocks=2)  # for a processor
# ours, theirs, simulations, games at once
SHAPES = {
    "connect4/32": ("connect4", "connect_four", 32, 256),
    "go9/32": ("go9", "go_9x9", 32, 64),
    "go9/128": ("go9", "go_9x9", 128, 32),
    "go19/32": ("go19", "go_19x19", 32, 8),
}
CHUNKED = ("connect4/32", "go9/32")  # what the question of chunks asks about
PLIES = 8  # of one call of self-play, as in the presets for a CPU


@dataclasses.dataclass(frozen=True)
class Training:
    """Measure the learning loop."""

    only: str = "limit,peers,overhead,smoke"
    """Questions, parted by commas: limit, peers, overhead, smoke, chunks; or one shape, as go9/32 or chunks/go9/32."""
    seconds: float = 5.0
    """Of one repetition of one program."""
    repetitions: int = 3
    """The median counts."""


def net_of(game: str) -> Net:
    """What both sides play with; on accelerators that of the preset."""
    return SMALL if jax.default_backend() == "cpu" else preset(game).config.network


def apply_of(game: str, planes: Any) -> tuple[Any, Any]:
    """The network of the benchmark as a function of planes, by the products that ours has here, and its weights."""
    module: Any = on_platform(net_of(game).module(GAMES[game]), jax.default_backend())
    return module.apply, module.init(jax.random.key(0), planes)


def planes_of(states: Any, game: str) -> Any:
    return jax.vmap(GAMES[game].observe)(states).astype(jnp.float32)


def going_on(local: Any, params: Any, states: Any, mesh: Mesh) -> Callable[[], Any]:
    """Self-play as a run has it: games go on from call to call."""
    collect = peers_alphazero.spread(local, mesh)
    params = jax.device_put(params, devices.copied(mesh))
    state = [jax.device_put(states, devices.split(mesh)), 0]
    where = jax.tree.map(lambda leaf: leaf.sharding, state[0])

    def run() -> Any:
        state[1] += 1
        played_on, played = collect(params, state[0], jax.random.fold_in(jax.random.key(2), state[1]))
        state[0] = jax.device_put(played_on, where)  # moves nothing, and says it in the words of the first: one program
        return played

    return run


def our_selfplay(game: str, simulations: int, games: int) -> Callable[[], Any]:
    """Self-play of jaxgo, all searches full."""
    model = Model(GAMES[game], Network(net_of(game).module(GAMES[game])))
    selfplay = Selfplay(Gumbel(simulations=simulations), model, SelfplayConfig(games=games, steps=PLIES))

    def local(params: Any, state: Any, key: Any) -> Any:
        state, plies, _ = selfplay.collect(params, state, key)
        return state, plies.value

    return going_on(local, model.init(jax.random.key(0)), selfplay.begin(jax.random.key(1), games), devices.make_mesh())


def their_selfplay(game: str, env_name: str, simulations: int, games: int, mesh: Mesh) -> Callable[[], Any]:
    """The same with pgx and mctx, and the same network on pgx's own planes."""
    env = pgx.make(env_name)
    states = jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.key(0), games))
    apply, params = apply_of(game, states.observation.astype(jnp.float32))

    def judge(params: Any, planes: Any) -> Any:
        return apply(params, planes.astype(jnp.float32))

    def local(params: Any, states: Any, key: Any) -> Any:
        states, plies = peers_alphazero.collect(env, judge, simulations, PLIES, params, states, key)
        return states, plies.reward

    return going_on(local, params, states, mesh)


def network_alone(game: str, games: int) -> Callable[[], Any]:
    """The network on the planes of so many games, shared out in the same way."""
    states = jax.vmap(functools.partial(play.start, GAMES[game]))(jax.random.split(jax.random.key(0), games)).state
    planes, mesh = planes_of(states, game), devices.make_mesh()
    apply, params = apply_of(game, planes)
    planes, params = jax.device_put(planes, devices.split(mesh)), jax.device_put(params, devices.copied(mesh))
    judge = jax.jit(apply)
    return lambda: judge(params, planes)


def bar_selfplay(options: Training, name: str, peer: bool) -> None:
    """Self-play against what the network alone would allow, and against pgx + mctx, taking turns."""
    game, env, simulations, few = SHAPES[name]
    games = harness.wider(few)
    moves = float(games * PLIES)
    programs = {
        # an evaluation of the root and of every simulation
        "limit": (games / (simulations + 1), network_alone(game, games)),
        "ours": (moves, our_selfplay(game, simulations, games)),
    }
    if peer:
        meshes = {"theirs": devices.make_mesh()}
        if jax.device_count() > 1:  # as JAX gives a processor to programs that do not ask for its cores one by one
            meshes["default"] = devices.make_mesh(jax.devices()[:1])
        for kind, mesh in meshes.items():
            programs[kind] = (moves, their_selfplay(game, env, simulations, games, mesh))
    for _, run in programs.values():
        jax.block_until_ready(run())
    rates = harness.compared(programs, options.seconds, options.repetitions)
    answer = {"moves_s": rates["ours"], "limit_moves_s": rates["limit"], "of_limit": rates["ours"] / rates["limit"]}
    if peer:
        answer |= {"pgx_mctx_moves_s": rates["theirs"], "pgx_mctx_of_limit": rates["theirs"] / rates["limit"]}
        answer["ratio"] = rates["ours"] / rates["theirs"]
    if "default" in rates:
        answer |= {"pgx_mctx_on_one_device": rates["default"], "ratio_default": rates["ours"] / rates["default"]}
    harness.report(f"selfplay/{name}", games=games, simulations=simulations, net=net_to_json(net_of(game)), **answer)


def bar_chunks(options: Training, name: str) -> None:
    """Self-play by how many cells the network judges at once, beside pgx + mctx."""
    game, env, simulations, few = SHAPES[name]
    games = harness.wider(few)
    moves = float(games * PLIES)
    bound = "LEAST" if jax.default_backend() == "cpu" else "LEAST_ELSE"
    usual = getattr(network, bound)
    programs = {"theirs": (moves, their_selfplay(game, env, simulations, games, devices.make_mesh()))}
    jax.block_until_ready(programs["theirs"][1]())
    try:
        for cells in (usual // 4, usual // 2, usual, 2 * usual, 4 * usual):
            setattr(network, bound, cells)  # read where the program is made
            programs[str(cells)] = (moves, our_selfplay(game, simulations, games))
            jax.block_until_ready(programs[str(cells)][1]())
    finally:
        setattr(network, bound, usual)
    rates = harness.compared(programs, options.seconds, options.repetitions)
    theirs = rates.pop("theirs")
    ratios = {f"ratio_{cells}": rate / theirs for cells, rate in rates.items()}
    harness.report(
        f"chunks/{name}", games=games, simulations=simulations, usual=usual, pgx_mctx_moves_s=theirs, **ratios
    )


def bar_overhead(options: Training) -> None:
    """What the loop adds to its two programs: iterations of the loop against the same calls by hand."""
    config = dataclasses.replace(preset("connect4-cpu").config, save_every=0.0, budget=Budget(iterations=10**9))
    config = dataclasses.replace(config, judge=dataclasses.replace(config.judge, every=0.0))
    trainer = Trainer(config, devices.make_mesh())
    with tempfile.TemporaryDirectory() as folder, RunDir(Path(folder) / "run", to_json(config)) as run:
        loop = Loop(trainer, run, lambda report: None)
        bare = [trainer.begin()]

        def by_hand() -> Any:
            state, _ = trainer.play(bare[0])
            bare[0], learnt = trainer.learn(state)
            return learnt

        def by_loop() -> Any:
            loop.advance()
            return loop.state.iteration

        for program in (by_hand, by_loop):
            for _ in range(4):  # until the ring is full enough to learn from
                jax.block_until_ready(program())
        programs = {
            "hand": harness.rate(1.0, by_hand, options.seconds),
            "loop": harness.rate(1.0, by_loop, options.seconds),
        }
        rates = harness.interleaved(programs, options.repetitions)
    harness.report(
        "overhead", iterations_s=rates["loop"], by_hand_s=rates["hand"], overhead=rates["hand"] / rates["loop"] - 1
    )


# -- smoke -------------------------------------------------------------------------------------------------------


def bar_smoke(options: Training) -> None:
    """Tic-tac-toe from nothing: how long, and does it ever lose to perfect play from either seat?"""
    config = preset("tictactoe-cpu").config
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        trained(for_minutes(config, config.budget.seconds / 60), Path(folder) / "run")
        seconds = time.perf_counter() - began
        params = load_weights(Path(folder) / "run")[1]
    game = GAMES["tictactoe"]
    model = Model(game, Network(config.network.module(game)))
    walk = Walk(model, params, quiet(config))
    losses = [walk.lost(seat) for seat in (0, 1)]
    harness.report("smoke", seconds=seconds, lost_as_first=losses[0], lost_as_second=losses[1])


@harness.told
def main() -> None:
    options = tyro.cli(Training)
    asked = [word.strip() for word in options.only.split(",") if word.strip()]
    valid = ["limit", "peers", "overhead", "smoke", "chunks", *SHAPES, *(f"chunks/{name}" for name in SHAPES)]
    for word in asked:
        if word not in valid:
            raise unknown_name("question", word, valid)
    for name in SHAPES:
        if name in asked or {"limit", "peers"} & set(asked):
            bar_selfplay(options, name, peer="peers" in asked or name in asked)
        if f"chunks/{name}" in asked or ("chunks" in asked and name in CHUNKED):
            bar_chunks(options, name)
    for word, bar in (("overhead", bar_overhead), ("smoke", bar_smoke)):
        if word in asked:
            bar(options)


if __name__ == "__main__":
    main()
