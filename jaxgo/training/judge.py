"""How strong has it become? Tournaments of the run's newest player with past ones and plain agents, rated together; and
tests of new weights before they make self-play.

Whoever may be met sits beside in every tournament, so all of them are one program, whatever weights the run's players
have. Every pair of games goes to `matches.jsonl`, and ratings are always fitted to all of them.
"""

import dataclasses
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxgo.arena import elo, records
from jaxgo.arena.contest import Contest
from jaxgo.arena.openings import Openings, random_openings
from jaxgo.arena.schedule import Schedule
from jaxgo.arena.sprt import Sprt, Verdict
from jaxgo.arena.tally import five
from jaxgo.arena.tournament import Tournament
from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.core.words import write_settings
from jaxgo.evaluators.base import Params
from jaxgo.players import Player, load_player, named
from jaxgo.search.base import Search
from jaxgo.system import devices
from jaxgo.system.rundir import RunDir
from jaxgo.system.weights import load_weights, name_of_run, weight_steps
from jaxgo.training.config import GateConfig, TrainConfig
from jaxgo.training.trainer import Trainer

MATCHES, GAMES, TESTS = "matches.jsonl", "games", "gate.jsonl"
CHUNK = 16  # pairs between two looks at the test of a gate
SAVED = 2  # pairs of each match of the last judgement whose games are kept to be looked at


def opponents(config: TrainConfig) -> dict[str, Player]:
    """Whoever the run may meet besides its own players, by the words of the config. Of another run that is the newest
    player of now."""
    game = config.make_game()
    return {spec: load_player(spec, game) for spec in dict.fromkeys([*config.judge.opponents, *config.judge.final])}


def anchor(others: Iterable[Player], played: Sequence[records.PairResult]) -> str | None:
    """Whose rating is held at 0: one of the run's opponents that knows something, if there is one.

    An agent that loses every game is anywhere far below, and so would everybody be far above it, with that error.
    """
    met = {agent for pair in played for agent in (pair.a, pair.b)}
    plain = [player.name for player in others if player.name in met]
    return next((name for name in plain if name != "random"), plain[0] if plain else None)


def rated_search(config: TrainConfig) -> Search:
    """The search of a run as it plays to win, which its weights are rated with."""
    search: Any = config.search.quiet()
    return dataclasses.replace(search, simulations=config.judge.simulations) if config.judge.simulations else search


class Judge:
    """Measures the players of one run; starts to work, and to compile, at its first call.

    `began` is the iteration that this sitting goes on from.
    """

    def __init__(self, trainer: Trainer, run: RunDir, stop: Callable[[], bool] = lambda: False, began: int = 0) -> None:
        self.config, self.game, self.folder, self.stop = trainer.config, trainer.game, run.path, stop
        self._trainer, self._run = trainer, run
        self._slots = self.config.judge.slots or None
        self._openings: Openings | None = None
        self._past = self._remembered(began)

    def __call__(self, iteration: int, params: Params, final: bool = False) -> dict[str, Any]:
        """Ratings after matches of the player with these weights; empty where nobody can be met."""
        config = self.config.judge
        if self.game.players != 2:
            return {}
        known = opponents(self.config)
        others, met = list(known.values()), [known[spec] for spec in (config.final if final else config.opponents)]
        player = self.player(iteration, params)
        past = [one for one in reversed(self._past) if one.name != player.name]
        later = [*past[::-1], player][-config.past :] if config.past else []
        if not (met or past):
            self._past = later  # the next one has somebody to meet
            return {}
        if self._openings is None:
            self._openings = random_openings(self.game, seed=self.config.seed)
        plan = Schedule("gauntlet", config.final_pairs if final else config.pairs)
        who = list({one.name: one for one in (player, *past, *met)}.values())
        play = self.tournament(who, others, plan, self._openings, MATCHES, sample=SAVED if final else 0)
        for _ in play.run():
            if self.stop():
                return {}
        self._past = later
        return self._rate(player.name, others, play.ledger.results())

    def tournament(
        self,
        players: Sequence[Player],
        others: Sequence[Player],
        plan: Schedule,
        openings: Openings,
        file: str,
        seed: int = 0,
        sample: int = 0,
    ) -> Tournament:
        """A tournament of this run that compiles nothing but once: all `others` who may ever be met sit beside."""
        config = self.config
        away = {player.name: player for player in others}
        mine = sum(away.pop(player.name, None) is None for player in players)
        own = 1 + max(config.judge.past, 1 if config.gate.every else 0)
        room = max(config.judge.pairs, config.judge.final_pairs)
        options = tuple(write_settings(dict(config.options)))
        play = Tournament(
            Contest(config.game_name, self.game, tuple(players), options, config.seed + seed),
            plan,
            openings,
            self.folder / file,
            self.folder / GAMES if sample else None,
            self._slots,
            chunk=room,
            sample=sample,
            spare=[players[0]] * (own - mine) + list(away.values()),
            room=room,
            mesh=devices.of_this_host(self._trainer.mesh),
            say=self._run.say,
        )
        self._slots = play.runner.slots
        return play

    def player(self, iteration: int, params: Params) -> Player:
        """The run's player at an iteration, under the name that loads it."""
        search, place = rated_search(self.config), f"{name_of_run(self.folder)}/{iteration}"
        return named(Player(search, self._trainer.model, jax.device_get(params), "", place, search))

    def _remembered(self, began: int) -> list[Player]:
        """The players that earlier sittings have judged, the last of them that may be met again."""
        past, file = self.config.judge.past, self.folder / MATCHES
        pairs = records.read_begun(file) if began else []  # a file that is damaged is told before all the work
        places = {Path(name.partition("@")[2]) for pair in pairs for name in (pair.a, pair.b) if "@" in name}
        home = self.folder.resolve()
        # a folder that is not there was this one, before it was moved or as another working directory sees it
        ours = {place for place in places if place.parent.resolve() == home or not os.path.isdir(place.parent)}
        judged = {int(place.name) for place in ours if place.name.isdecimal()}
        saved = [step for step in weight_steps(self.folder) if 0 < step <= began]
        steps = [step for step in saved if step in judged]
        if not (steps or self.config.judge.opponents):  # where the first one was judged it met nobody
            steps = saved[-1:]
        found = []
        for step in steps[-past:] if past else []:
            try:
                found.append(self.player(step, load_weights(self.folder, step)[1]))
            except UsageError as fault:
                self._run.say(str(fault))
        return found

    def _rate(self, player: str, others: Sequence[Player], played: Sequence[records.PairResult]) -> dict[str, Any]:
        """Ratings of everybody by all that was ever played, and how the player did this time."""
        every = records.read(self.folder / MATCHES)
        table = elo.rate(every, anchor(others, every))
        ratings = {agent: table.rating(agent) for agent in table.agents}
        scores: dict[str, list[float]] = {}
        for pair in played:
            mine = pair.score if pair.a == player else 2 - pair.score
            scores.setdefault(pair.b if pair.a == player else pair.a, []).append(mine / 2)
        return {
            "player": player,
            "elo": {agent: (rating.value, rating.error) for agent, rating in ratings.items()},
            "scores": {agent: float(np.mean(shares)) for agent, shares in scores.items()},
            "notes": list(table.notes),
        }


# -- who makes self-play ------------------------------------------------------------------------------------------


def check_gate(config: GateConfig, game: Game[Any], seed: int) -> None:
    """A UsageError where not even a player that wins every game could pass: the first weights would play for ever."""
    if not config.every:
        return
    most, test = _gate_openings(game, seed).distinct(config.pairs), Sprt(0.0, config.elo)
    if test.judge([0, 0, 0, 0, most]).accepted != "H1":
        more = "gate.pairs or gate.elo" if most == config.pairs else "gate.elo"
        raise UsageError(
            f"gate.elo={config.elo:g}: not even by winning both games of all {most} openings could new weights show "
            f"that they are better; raise {more}"
        )


def _gate_openings(game: Game[Any], seed: int) -> Openings:
    """Others than those of the judge, who takes the seed itself."""
    return random_openings(game, seed=seed + 1)


class Gate:
    """A gate before self-play: new weights make games only after a sequential test found them better than the old ones.

    The judge's program plays the tests, so that nothing more is compiled. Their games lie in `gate.jsonl`, and ratings
    are never fitted to them: a player that was chosen because it won them looks stronger by them than it is. Tests come
    after so many iterations, not seconds, so that the same config and seed are the same run.
    """

    def __init__(self, judge: Judge) -> None:
        self._judge, self._config = judge, judge.config.gate
        check_gate(self._config, judge.game, judge.config.seed)
        self._openings: Openings | None = None

    def __call__(self, candidate: tuple[int, Any], best: tuple[int, Any]) -> Verdict | None:
        """What a test says of two iterations and their weights; None where it was stopped in the middle.

        It looks at whole chunks of pairs in their order only, so the verdict does not hang on the clock.
        """
        if self._openings is None:
            self._openings = _gate_openings(self._judge.game, self._judge.config.seed)
        players = [self._judge.player(*candidate), self._judge.player(*best)]
        plan = Schedule(pairs=self._openings.distinct(self._config.pairs))
        others = list(opponents(self._judge.config).values())
        play = self._judge.tournament(players, others, plan, self._openings, TESTS, seed=1)
        test, looked = Sprt(0.0, self._config.elo), 0
        for _ in play.run():
            if self._judge.stop():
                return None
            line = play.ledger.line()
            while len(line) >= looked + CHUNK:
                looked += CHUNK
                verdict = test.judge(five(line[:looked], players[0].name))
                if verdict.accepted:
                    return verdict
        return test.judge(five(play.ledger.line(), players[0].name))
