"""Does the arena judge fast and truly? One JSON line an answer.

uv run benchmarks/arena.py                        # everything; about half an hour on two cores
uv run benchmarks/arena.py --only speed,fit       # some questions

speed: Connect Four, uct:64 against itself, all games in one program, beside one game at a time.
seats: how often the first mover wins when both play at random, beside the slow plain rules of tests/reference.
strength: uct:400 against uct:100 on Connect Four, and uct:100 against itself.
fit: the time that ratings of 200 agents take.
gnugo: GNU Go, level 1, against random on Go 9x9 through GTP: who wins, and whether GNU Go counts the same winner.
"""

import functools
import importlib
import math
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import engine
import harness
import jax
import jax.numpy as jnp
import numpy as np

from jaxgo.arena import elo
from jaxgo.arena.match import Score, play_match
from jaxgo.arena.openings import random_openings
from jaxgo.arena.records import PairResult
from jaxgo.core import play
from jaxgo.core.game import Game
from jaxgo.games import GAMES
from jaxgo.players import Player, load_player
from jaxgo.system import devices

REFERENCES = str(Path(__file__).parents[1] / "tests")


@dataclass(frozen=True)
class Arena:
    """Measure the arena."""

    only: str = ""
    """Questions, parted by commas: speed, seats, strength, fit, gnugo. Empty: all."""
    pairs: int = 500
    """Pairs of games of the question of speed."""
    seconds: float = 30.0
    """How long one game at a time is measured, and the slow rules of each game."""
    games: str = ""
    """Games of the question of seats, parted by commas. Empty: all of two seats."""
    gnugo: str = engine.GNUGO
    """The engine of the question of GNU Go."""
    gnugo_games: int = 200
    """Games of that question."""


# -- speed ----------------------------------------------------------------------------------------------------------


def ask_speed(options: Arena) -> None:
    """Games a second of one program, and of one game at a time through the same search. Compilation is not counted.

    One game at a time is measured twice: as arenas usually do it, and with a whole game in one compiled loop.
    """
    game = GAMES["connect4"]
    agent = load_player("uct:64", game)
    openings = random_openings(game)
    positions = openings.positions(range(options.pairs))

    def together() -> Score:
        return play_match(agent, agent, jax.random.key(1), positions)

    together()
    began = time.perf_counter()
    score = together()
    seconds = time.perf_counter() - began

    pieces = [jax.tree.map(lambda x, i=i: x[i : i + 1], positions) for i in range(min(64, options.pairs))]
    moves, loop = rate_of(one_by_one(agent), pieces, options.seconds)
    _, compiled = rate_of(jax.jit(functools.partial(single_game, agent)), pieces, options.seconds)
    rate = score.games / seconds
    harness.report(
        "arena/speed/connect4/uct:64",
        games=score.games,
        devices=jax.device_count(),
        seconds=seconds,
        games_s=rate,
        plies_a_game=float(score.plies.mean()),
        one_at_a_time_games_s=loop,
        one_at_a_time_plies_a_game=moves,
        ratio=rate / loop,
        bar=20.0,
        one_at_a_time_in_one_program_games_s=compiled,
        ratio_to_that=rate / compiled,
    )


def rate_of(run: Callable[[Any, Any], Any], positions: list[Any], seconds: float) -> tuple[float, float]:
    """Moves of a game and games a second, over some seconds after the first game, which compiles."""
    int(run(jax.random.key(0), positions[0]))
    began, done, plies = time.perf_counter(), 0, 0
    while time.perf_counter() - began < seconds:
        plies += int(run(jax.random.fold_in(jax.random.key(2), done), positions[done % len(positions)]))
        done += 1
    return plies / done, done / (time.perf_counter() - began)


def one_by_one(agent: Player) -> Callable[[Any, Any], int]:
    """One game as arenas usually play it: compiled searches and moves, called from a loop in Python."""
    model = agent.model
    think = jax.jit(lambda key, position: agent.search.run(model, agent.params, key, position).action)
    step, over = jax.jit(lambda position, action: model.play(position, action)[0]), jax.jit(model.over)

    def run(key: Any, position: Any) -> int:
        plies = 0
        while not bool(over(position)[0]):
            position = step(position, think(jax.random.fold_in(key, plies), position))
            plies += 1
        return plies

    return run


def single_game(agent: Player, key: Any, position: Any) -> Any:
    """Plays one game, in a batch of one, to its end; returns how many moves that took."""
    model = agent.model

    def move(carry: Any) -> Any:
        position, plies = carry
        result = agent.search.run(model, agent.params, jax.random.fold_in(key, plies), position)
        return model.play(position, result.action)[0], plies + 1

    return jax.lax.while_loop(lambda c: ~model.over(c[0]).all(), move, (position, jnp.int32(0)))[1]


# -- seats ----------------------------------------------------------------------------------------------------------


def reference_of(game: Game[Any]) -> Any:
    """The slow rules of a game, as its tests have them."""
    if REFERENCES not in sys.path:
        sys.path.append(REFERENCES)
    g: Any = game
    makers: dict[str, tuple[str, Callable[[Any], Any]]] = {
        "Go": ("go", lambda m: m.Go(*g.shape, g.ko, g.suicide, g.komi, g.max_plies)),
        "Mnk": ("mnk", lambda m: m.Mnk(g.height, g.width, g.k)),
        "Gomoku": ("gomoku", lambda m: m.Gomoku(g.size, g.rules)),
        "Swap": ("swap2", lambda m: m.Swap(g.size, g.rules, g.opening == "swap2")),
        "ConnectFour": ("connect4", lambda m: m.ConnectFour()),
        "Connect3D": ("connect3d", lambda m: m.Connect3D(g.floor)),
        "ScoreFour": ("scorefour", lambda m: m.ScoreFour()),
        "Kono": ("kono", lambda m: m.Kono(g.alive_min, g.compulsory, g.repetition, g.max_plies)),
        "Dodgem": ("dodgem", lambda m: m.Dodgem(g.size, g.blocked_wins, g.repetition, g.max_plies)),
        "Kamisado": ("kamisado", lambda m: m.Kamisado(g.points, g.max_plies)),
        "Musketeers": ("musketeers", lambda m: m.Musketeers()),
        "Maharajah": ("maharajah", lambda m: m.Maharajah(g.layout, g.goal, g.castling, g.max_plies)),
        "Archimedes": ("archimedes", lambda m: m.Archimedes(g.rules, g.max_plies)),
        "MineRace": ("minerace", lambda m: m.MineRace(g.board)),
        "Othello": ("othello", lambda m: m.Othello(g.size)),
        "Hex": ("hex", lambda m: m.Hex(g.size, g.swap)),
        "Breakthrough": ("breakthrough", lambda m: m.Breakthrough(*g.shape)),
        "Chess": ("chess", lambda m: m.Chess(g.board, "", g.max_plies, g.repetition)),
    }
    swap = getattr(game, "opening", "none") != "none"
    module, make = makers["Swap" if swap else type(game).__name__]
    return make(importlib.import_module(f"reference.{module}"))


def slow_wins(reference: Any, seconds: float, most: int) -> tuple[int, int]:
    """How often seat 0 won, and of how many random games, by the slow rules: so many games, or so many seconds."""
    luck, won, done, began = random.Random(0), 0, 0, time.perf_counter()
    while done < most and time.perf_counter() - began < seconds:
        state = reference.initial()
        while reference.result(state) is None:
            state = reference.step(state, luck.choice(reference.legal(state)))
        won += reference.result(state) > 0
        done += 1
    return won, done


def ask_seats(options: Arena) -> None:
    """Random against random: the first mover's share of wins, in standard errors from that of the slow rules."""
    wanted = [word for word in options.games.split(",") if word] or [n for n, g in GAMES.items() if g.players == 2]
    worst = 0.0
    for name in wanted:
        game = GAMES[name]
        agent = load_player("random", game)
        start = jax.tree.map(lambda x: jnp.stack([x] * 500), play.start(game, jax.random.key(0)))
        score = play_match(agent, agent, jax.random.key(3), start)
        fast = int((score.first == 1).sum() + (score.second == 0).sum())
        won, done = slow_wins(reference_of(game), options.seconds, 1000)
        share = (fast + won) / (score.games + done)
        spread = math.sqrt(max(share * (1 - share), 1e-9) * (1 / score.games + 1 / done))
        off = (fast / score.games - won / done) / spread
        worst = max(worst, abs(off))
        harness.report(
            f"arena/seats/{name}",
            first_mover_wins=fast / score.games,
            games=score.games,
            slow_rules=won / done,
            slow_games=done,
            standard_errors=off,
            bar=3.0,
        )
    harness.report("arena/seats", games=len(wanted), worst_standard_errors=worst, bar=3.0)


# -- strength -------------------------------------------------------------------------------------------------------


def results(a: str, b: str, score: Score) -> list[PairResult]:
    return [
        PairResult("connect4", a, b, float(one), float(two), f"{a} {b} {i}")
        for i, (one, two) in enumerate(zip(score.first, score.second, strict=True))
    ]


def ask_strength(options: Arena) -> None:
    """400 games each: the stronger wins by more than the error bar; an agent is as strong as itself."""
    game = GAMES["connect4"]
    positions = random_openings(game).positions(range(200))
    for a, b, name in (("uct:400", "uct:100", "uct:100"), ("uct:100", "uct:100", "uct:100 again")):
        began = time.perf_counter()
        score = play_match(load_player(a, game), load_player(b, game), jax.random.key(4), positions)
        difference = elo.rate(results(a, name, score)).difference(a, name)
        harness.report(
            f"arena/strength/{a}/{name}",
            games=score.games,
            score=score.mean,
            elo=difference.value,
            error_95=difference.error,
            outcomes=score.outcomes.tolist(),
            seconds_with_compilation=time.perf_counter() - began,
            bar="above 0 by more than the error" if a != b else "covers 0",
            met=bool(difference.value > difference.error if a != b else abs(difference.value) <= difference.error),
        )


# -- the fit --------------------------------------------------------------------------------------------------------


def ask_fit(options: Arena) -> None:
    """200 agents with ratings over 1,000 Elo, 20,000 pairs of agents drawn at random."""
    agents, pairs, luck = 200, 20_000, np.random.default_rng(0)
    strength = np.sort(luck.uniform(-500, 500, agents))
    rows = []
    for number in range(pairs):
        a, b = luck.choice(agents, 2, replace=False)
        chance = 1 / (1 + 10 ** ((strength[b] - strength[a] + np.array([-35, 35])) / 400))
        drawn = luck.uniform(size=2) < 0.2
        won = np.where(drawn, 0.5, luck.uniform(size=2) < chance)
        rows.append(PairResult("go9", f"agent{a}", f"agent{b}", float(won[0]), float(won[1]), str(number)))
    began = time.perf_counter()
    table = elo.rate(rows)
    seconds = time.perf_counter() - began
    errors = np.array([table.rating(f"agent{i}").error for i in range(agents)])
    # draws shrink the scale on which strengths were drawn; the shape must be the same
    found = np.array([table.rating(f"agent{i}").value for i in range(agents)])
    harness.report(
        "arena/fit",
        agents=agents,
        pairs=pairs,
        seconds=seconds,
        bar=5.0,
        correlation=float(np.corrcoef(found, strength)[0, 1]),
        median_error_95=float(np.median(errors)),
    )


QUESTIONS: dict[str, Callable[[Arena], None]] = {
    "speed": ask_speed,
    "seats": ask_seats,
    "strength": ask_strength,
    "fit": ask_fit,
    "gnugo": lambda options: engine.ask(options.gnugo, options.gnugo_games),
}


if __name__ == "__main__":
    harness.ask(Arena, QUESTIONS, devices.use_cores)
