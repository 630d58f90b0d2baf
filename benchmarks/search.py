"""How fast, how small and how faithful are the searches? Beside mctx in the same run, one JSON line an answer.

uv run benchmarks/search.py                     # everything
uv run benchmarks/search.py --only gumbel,puct  # some questions
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import harness
import jax
import jax.numpy as jnp
import mctx
import numpy as np
from toy import Hashed, Toy

from jaxgo.core import choice
from jaxgo.core.game import state_bytes
from jaxgo.core.play import Position, advance
from jaxgo.games import GAMES
from jaxgo.search import mctx as dropin
from jaxgo.search.base import Search
from jaxgo.search.gumbel import Gumbel
from jaxgo.search.model import Model
from jaxgo.search.puct import Puct
from jaxgo.search.think import Limit, Thinker
from jaxgo.search.uct import Uct

SHAPES = ((64, 362, 128), (64, 82, 32))  # games, actions, simulations
RULE_GAMES = (("connect4", 12), ("gomoku9", 12), ("go9", 30))  # game, random plies before the search
PGX_GO19_STATE = 25_318  # bytes, as benchmarks/rules.py --only bytes measures it
MCTX_EDGE = 24  # bytes: index, prior, value, visits, reward and discount of a child


@dataclass(frozen=True)
class Searches:
    """Measure the searches."""

    only: str = ""
    """Questions, parted by commas: gumbel, puct, growth, room, leaves, bytes, rounds, rule, traces. Empty: all."""
    repetitions: int = 5
    """Repetitions of each program, in turns; the median counts."""
    seconds: float = 1.0
    """How long each repetition lasts at least."""


def toy(games: int, actions: int) -> tuple[Model, Position]:
    model = Model(Toy(actions), Hashed())
    return model, model.start(jax.random.key(0), games)


def searching(search: Search, model: Model, root: Position) -> Callable[[], Any]:
    return _compiled(lambda key, root: search.run(model, (), key, root).action, root)


def _compiled(run: Callable[..., Any], root: Position) -> Callable[[], Any]:
    """The program with its arguments, compiled and run once, so that no repetition pays for it."""
    program = functools.partial(jax.jit(run), jax.random.key(1), root)
    jax.block_until_ready(program())
    return program


def with_mctx(policy: Callable[..., Any], model: Model, root: Position, simulations: int) -> Callable[[], Any]:
    """mctx's own policy on the same game and judge, called as its README does."""

    def recur(params: Any, key: Any, action: Any, state: Any) -> Any:
        state = jax.vmap(model.game.step)(state, action)
        judged = model.evaluator(model.game, (), key, state)
        ones = jnp.ones(action.shape)
        output = mctx.RecurrentFnOutput(
            reward=0.0 * ones, discount=-ones, prior_logits=judged.logits, value=judged.value
        )
        return output, state

    def run(key: Any, root: Position) -> Any:
        judged = model.evaluator(model.game, (), key, root.state)
        first = mctx.RootFnOutput(prior_logits=judged.logits, value=judged.value, embedding=root.state)
        return policy((), key, first, recur, simulations).action

    return _compiled(run, root)


def ask_duel(name: str, options: Searches) -> None:
    search, policy = {"gumbel": (Gumbel(), mctx.gumbel_muzero_policy), "puct": (Puct(), mctx.muzero_policy)}[name]
    for few, actions, simulations in SHAPES:
        games = harness.wider(few)
        model, root = toy(games, actions)
        work = float(games * simulations)
        programs = {
            "jaxgo": searching(replace(search, simulations=simulations), model, root),
            "mctx": with_mctx(policy, model, root, simulations),
        }
        counted = {name: (work, run) for name, run in programs.items()}
        rates = harness.compared(counted, options.seconds, options.repetitions)
        harness.report(
            f"search/{name}/{games}x{actions}x{simulations}",
            jaxgo_simulations_s=rates["jaxgo"],
            mctx_simulations_s=rates["mctx"],
            ratio=rates["jaxgo"] / rates["mctx"],
            bar={"gumbel": {128: 10.0, 32: 1.3}, "puct": {128: 30.0, 32: 10.0}}[name][simulations],
        )


def ask_growth(options: Searches) -> None:
    """The cost of a simulation in a search of 1,024 over that in one of 128, with 82 actions.

    64 games for jaxgo; as many for mctx as end within minutes, since its cost grows with the whole tree. A simulation
    walks as many levels as the deepest of its lanes; how much longer the walks get is told beside the cost.
    """
    sizes = (128, 1024)
    for name, search, policy, peers in (
        ("gumbel", Gumbel(), mctx.gumbel_muzero_policy, 16),
        ("puct", Puct(), mctx.muzero_policy, 2),
    ):
        model, root = toy(64, 82)
        _, few = toy(peers, 82)
        programs = {}
        for n in sizes:
            ours = searching(replace(search, simulations=n), model, root)
            programs[f"jaxgo_{n}"] = harness.rate(64.0 * n, ours, options.seconds)
            theirs = with_mctx(policy, model, few, n)
            programs[f"mctx_{n}"] = harness.rate(float(peers * n), theirs, options.seconds)
        rates = harness.interleaved(programs, min(options.repetitions, 3))
        levels = [_levels(replace(search, simulations=n), model, root) for n in sizes]
        harness.report(
            f"search/growth/{name}",
            jaxgo=rates["jaxgo_128"] / rates["jaxgo_1024"],
            jaxgo_longer_walks=levels[1] / levels[0],
            mctx=rates["mctx_128"] / rates["mctx_1024"],
            bar=1.5,
            mctx_games=peers,
            **{f"{k}_simulations_s": v for k, v in rates.items()},
        )


def _levels(search: Search, model: Model, root: Position) -> float:
    """Levels that a walk has, on average over simulations, in the game where it is longest."""
    tree = jax.device_get(jax.jit(functools.partial(_whole, search, model))(jax.random.key(1), root).tree)
    depth = np.zeros(tree.parent.shape, int)
    games = np.arange(len(depth))
    for node in range(1, int(tree.used.min())):
        depth[:, node] = depth[games, tree.parent[:, node]] + 1
    return float(depth[:, 1 : tree.used.min()].max(axis=0).mean())


def thinking(search: Search, model: Model, root: Position) -> Callable[[], Any]:
    """The search as who plays a game is searched for."""
    thinker, limit = Thinker(search, model, (), jax.random.key(1)), Limit(simulations=search.budget)

    def run() -> Any:
        thinker.begin(root)
        return thinker.think(limit).result.action

    run()
    return run


def ask_room(options: Searches) -> None:
    """What a simulation of one game costs in a tree with room for 262,144 nodes, over one for 16,384 of the same.

    Beside it the speed of the same search in a program as `jax.jit` makes it, which parts its reads among the cores.
    """
    model, root = toy(1, 8)
    few, many, simulations = 2**14, 2**18, 12_000
    for name, search in (("gumbel", Gumbel()), ("puct", Puct()), ("uct", Uct())):
        programs = {}
        for nodes in (few, many):
            sized = replace(search, simulations=simulations, nodes=nodes)
            for kind, make in (("thinker", thinking), ("jit", searching)):
                program = make(sized, model, root)
                programs[f"{kind}_{nodes}"] = harness.rate(float(simulations), program, options.seconds)
        rates = harness.interleaved(programs, options.repetitions)
        harness.report(
            f"search/room/{name}",
            times=rates[f"thinker_{few}"] / rates[f"thinker_{many}"],
            bar=1.5,
            **{f"{k}_simulations_s": v for k, v in rates.items()},
        )


def ask_leaves(options: Searches) -> None:
    """What several leaves a round cost or save when the evaluator is free; a network gains from fewer calls."""
    model, root = toy(64, 362)
    searches = {
        "gumbel_one_leaf": Gumbel(simulations=128, parallel_leaves=1),
        "gumbel_all": Gumbel(simulations=128),
        "puct_one_leaf": Puct(simulations=128),
        "puct_8_leaves": Puct(simulations=128, parallel_leaves=8),
    }
    rates = harness.interleaved(
        {k: harness.rate(64.0 * 128, searching(s, model, root), options.seconds) for k, s in searches.items()},
        options.repetitions,
    )
    harness.report("search/leaves/64x362x128", **{f"{k}_simulations_s": v for k, v in rates.items()})


def ask_bytes(options: Searches) -> None:
    """Bytes of one node in a tree of Go 19x19, state included; mctx keeps 24 bytes an edge and pgx 25 kB a state."""
    game = GAMES["go19"]
    model = Model(game, Hashed())

    def tree(nodes: int) -> int:
        search = Gumbel(simulations=nodes - 1)
        shapes = jax.eval_shape(lambda k: search.begin(model, (), k, model.start(k, 1)).tree, jax.random.key(0))
        return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(shapes))

    harness.report(
        "search/bytes/go19",
        jaxgo=tree(802) - tree(801),
        of_which_state=state_bytes(game),
        mctx_and_pgx=MCTX_EDGE * game.num_actions + PGX_GO19_STATE,
        bar=5000,
    )


def ask_rounds(options: Searches) -> None:
    """Evaluator calls of one search, the root's apart, at 16 considered moves."""
    model, root = toy(2, 82)
    calls = {}
    for simulations in (32, 64, 400):
        search = Gumbel(simulations=simulations)
        q = jax.jit(functools.partial(_whole, search, model))(jax.random.key(0), root)
        calls[f"calls_{simulations}"] = int(q.calls)
    harness.report("search/rounds", **calls, bar="4, 15 and 97")


def _whole(search: Search, model: Model, key: Any, root: Position) -> Any:
    return search.extend(model, (), key, search.begin(model, (), key, root), search.budget)


def ask_rule(options: Searches) -> None:
    """How often picking survivors at the phase boundary (the paper) changes the move that mctx's rule plays."""
    for name, plies in RULE_GAMES:
        model = Model(GAMES[name], Hashed())
        root = _random_positions(model, plies, 512)
        live = ~model.over(root)
        for simulations in (32, 64):
            search = Gumbel(simulations=simulations, gumbel_scale=0.0, solver=False)
            actions = [
                searching(search, model, root)(),
                _scored_anew(model, root, simulations)(),
                searching(replace(search, parallel_leaves=1), model, root)(),
            ]
            changed = ((actions[0] != actions[1]) & live).sum() / live.sum()
            harness.report(
                f"search/rule/{name}/{simulations}",
                moves_changed=float(changed),
                positions=int(live.sum()),
                one_leaf_equals_all=bool((actions[0] == actions[2]).all()),
            )


def _scored_anew(model: Model, root: Position, simulations: int) -> Callable[[], Any]:
    """The same search with mctx's rule, on the same tree."""

    def recur(params: Any, key: Any, action: Any, states: Any) -> Any:
        moved = jax.vmap(functools.partial(advance, model.game))(states, action)
        judged = model.evaluate((), key, moved.state, jax.vmap(model.game.legal)(moved.state))
        return dropin.RecurrentFnOutput(moved.reward, moved.discount, judged.logits, judged.value), moved.state

    def run(key: Any, root: Position) -> Any:
        legal = model.legal(root)
        judged = model.evaluate((), key, root.state, legal)
        first = dropin.RootFnOutput(judged.logits, judged.value, root.state)
        options = {"invalid_actions": ~legal, "gumbel_scale": 0.0}
        return dropin.gumbel_muzero_policy((), key, first, recur, simulations, **options).action

    return _compiled(run, root)


def _random_positions(model: Model, plies: int, games: int) -> Position:
    def move(position: Position, ply: Any) -> tuple[Position, None]:
        words = ply * jnp.uint32(0x9E3779B9) + jnp.arange(games, dtype=jnp.uint32)
        action = jax.vmap(choice.pick)(model.legal(position), words)
        return model.play(position, action)[0], None

    start = model.start(jax.random.key(0), games)
    return jax.jit(lambda p: jax.lax.scan(move, p, jnp.arange(plies, dtype=jnp.uint32))[0])(start)


def ask_traces(options: Searches) -> None:
    """Compilations of one search over many budgets, some of them different for each game."""
    model, root = toy(8, 82)
    traces = {}
    for name, search in (("gumbel", Gumbel(simulations=64)), ("puct", Puct(simulations=64))):
        run = jax.jit(lambda key, root, budget, s=search: s.run(model, (), key, root, budget).visits)
        for budget in (1, 7, 64, jnp.arange(8) + 1):
            run(jax.random.key(0), root, jnp.broadcast_to(jnp.asarray(budget, jnp.int32), (8,)))
        traces[name] = run._cache_size()
    harness.report("search/traces", **traces, bar=1)


QUESTIONS: dict[str, Callable[[Searches], None]] = {
    "gumbel": functools.partial(ask_duel, "gumbel"),
    "puct": functools.partial(ask_duel, "puct"),
    "growth": ask_growth,
    "room": ask_room,
    "leaves": ask_leaves,
    "bytes": ask_bytes,
    "rounds": ask_rounds,
    "rule": ask_rule,
    "traces": ask_traces,
}


if __name__ == "__main__":
    harness.ask(Searches, QUESTIONS)
