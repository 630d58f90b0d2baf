"""`jaxgo tune`: better numbers for a player, found by games against its like, with a ladder as proof."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from jaxgo.cli.command import INTERRUPTED, GameName, Option, reader
from jaxgo.cli.rating_table import Table
from jaxgo.core.errors import UsageError

if TYPE_CHECKING:
    from jaxgo.players import Player
    from jaxgo.tuning.evolve import Generation, Plan
    from jaxgo.tuning.space import Space

LADDER = "ladder.jsonl"  # the pairs of games between means


@dataclass(frozen=True)
class Tune:
    """Tune numbers of a player by self-play: options of its search, or the weights that its game guesses by."""

    name: GameName
    """The game, as `jaxgo games` lists it."""
    agent: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="AGENT")]
    """The player to begin with, such as greedy or uct:64,c=0.5; see docs/search.md."""
    numbers: tuple[str, ...] = ()
    """What is tuned: names of options, such as c; `weights` for those of the game (Gomoku)."""
    generations: int = 30
    """Generations in all; a run that is told to make more goes on."""
    population: int = 16
    """Candidates of a generation, an even number."""
    pairs: int = 32
    """Openings of each match, played with both seats; all matches are played at once."""
    rounds: int = 2
    """Matches of each candidate in a generation."""
    sigma: float = 0.5
    """The first step, as a share of each number."""
    ladder: int = 100
    """Pairs of each match of the ladder at the end; 0: no ladder."""
    plies: int | None = None
    """Random moves of an opening; else as many as it takes to have enough different ones."""
    option: Option = ()
    """An option of the game, such as size=9; may be given several times."""
    seed: int = 0
    """Of openings and of all luck."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """Log, weights and ladder go here; else runs/tune/GAME. A run that was stopped goes on by the same command."""

    def run(self) -> int:
        from jaxgo.system import devices

        devices.use_cores()
        try:
            return self._run()
        except KeyboardInterrupt:
            print("stopped; all finished generations are kept, the same command goes on", file=sys.stderr)
            return INTERRUPTED

    def _run(self) -> int:
        from jaxgo.games.names import read_game
        from jaxgo.players import load_player
        from jaxgo.system.files import Lock, as_file_name, check_writable
        from jaxgo.tuning.evolve import Plan
        from jaxgo.tuning.space import space_of

        plan = Plan(self.generations, self.population, self.pairs, self.rounds, self.sigma, self.seed, self.plies)
        if self.ladder < 0:
            raise UsageError("--ladder is at least 0")
        game = read_game(self.name, self.option)
        if game.players != 2:
            raise UsageError(f"{self.name} is a puzzle for one; tuning needs games between players")
        space = space_of(load_player(self.agent, game), self.numbers)
        folder = self.out or Path("runs", "tune", as_file_name(self.name))
        check_writable(folder / "log.jsonl")
        with Lock(folder / "lock"):  # the log of two at once could not be gone on with
            return self._evolve(space, plan, folder)

    def _evolve(self, space: "Space", plan: "Plan", folder: Path) -> int:
        """Plays the generations that are left, and writes down what came of all of them."""
        from jaxgo.arena import records
        from jaxgo.arena.openings import random_openings
        from jaxgo.tuning.evolve import Evolution

        log = folder / "log.jsonl"
        openings = random_openings(space.player.model.game, seed=self.seed, plies=self.plies)
        evolution = Evolution(space, plan, openings, log)
        if self.ladder and records.read_begun(folder / LADDER) and not evolution.done:  # told before all the work
            raise UsageError(
                f"{folder / LADDER} is of a tuning whose log is gone; move it away, or name another folder with --out"
            )
        if evolution.done:
            print(f"{len(evolution.done)} generations are in {log}")
        for generation in evolution.run():
            print(_line(generation), flush=True)
        steps = _steps(len(evolution.done))
        players = [space.written(evolution.mean(step), folder / f"weights-{step}.json") for step in steps]
        tuned = f"the tuned player: {players[-1].name}"
        if self.ladder:
            print(tuned, flush=True)  # the ladder may be stopped
            self._ladder(space, players, folder)
        print(tuned, flush=True)
        return 0

    def _ladder(self, space: "Space", players: "list[Player]", folder: Path) -> None:
        """Lets the means of some generations play each other, on openings drawn by another seed."""
        from jaxgo.arena.contest import Contest
        from jaxgo.arena.openings import random_openings
        from jaxgo.arena.schedule import Schedule
        from jaxgo.arena.tournament import Tournament
        from jaxgo.games.names import as_recorded
        from jaxgo.ui import match_screen

        game, seed = space.player.model.game, self.seed + 1
        name, options = as_recorded(self.name, self.option)
        contest = Contest(name, game, tuple(players), options, seed)
        openings = random_openings(game, seed=seed, plies=self.plies)
        play = Tournament(contest, Schedule(pairs=self.ladder), openings, folder / LADDER)
        last = match_screen.follow(play.run(), quiet=True)
        mine = [pair for pair in last.results if {pair.a, pair.b} <= set(play.ledger.names)]
        Table(anchor=players[0].name).show(mine, play.notes())


def _steps(last: int) -> list[int]:
    """The generations of the ladder: the start, the end, two between them."""
    return sorted({0, last // 3, 2 * last // 3, last})


def _line(generation: "Generation") -> str:
    values = " ".join(f"{name}={value:.4g}" for name, value in generation.values.items())
    best = max(generation.scores)
    return (
        f"generation {generation.generation}: {generation.games} games in {generation.seconds:.1f} s, "
        f"best {best:.0%}, step {generation.sigma:.2f}: {values}"
    )


read = reader(Tune)
