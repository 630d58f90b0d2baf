"""A gate before self-play: new weights make games only after a sequential test has found them better than the old ones.

The games of these tests lie in `gate.jsonl`, and ratings are never fitted to them: a player that was chosen because it
won them looks stronger by them than it is. Tests come after so many iterations, not seconds, so that the same config
and seed are the same run.
"""

from typing import Any

from jaxgo.arena.openings import Openings, random_openings
from jaxgo.arena.schedule import Schedule
from jaxgo.arena.sprt import Sprt, Verdict
from jaxgo.arena.tally import five
from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.training.config import GateConfig
from jaxgo.training.judge import Judge

GAMES = "gate.jsonl"
CHUNK = 16  # pairs between two looks at the test


def check(config: GateConfig, game: Game[Any], seed: int) -> None:
    """A UsageError where not even a player that wins every game could pass: the first weights would play for ever."""
    if not config.every:
        return
    most, test = _openings(game, seed).distinct(config.pairs), Sprt(0.0, config.elo)
    if test.judge([0, 0, 0, 0, most]).accepted != "H1":
        more = "gate.pairs or gate.elo" if most == config.pairs else "gate.elo"
        raise UsageError(
            f"gate.elo={config.elo:g}: not even by winning both games of all {most} openings could new weights show "
            f"that they are better; raise {more}"
        )


def _openings(game: Game[Any], seed: int) -> Openings:
    """Others than those of the judge, who takes the seed itself."""
    return random_openings(game, seed=seed + 1)


class Gate:
    """Lets the judge's program play the tests of one run, so that nothing more is compiled."""

    def __init__(self, judge: Judge) -> None:
        self._judge, self._config = judge, judge.config.gate
        self._openings: Openings | None = None

    def __call__(self, candidate: tuple[int, Any], best: tuple[int, Any]) -> Verdict | None:
        """What a test says of two iterations and their weights; None where it was stopped in the middle.

        It looks at whole chunks of pairs in their order only, so the verdict does not hang on the clock.
        """
        if self._openings is None:
            self._openings = _openings(self._judge.game, self._judge.config.seed)
        players = [self._judge.player(*candidate), self._judge.player(*best)]
        plan = Schedule(pairs=self._openings.distinct(self._config.pairs))
        play = self._judge.tournament(players, plan, self._openings, GAMES, seed=1)
        test, looked = Sprt(0.0, self._config.elo), 0
        for _ in play.run():
            if self._judge.stop():
                return None
            while len(play.line()) >= looked + CHUNK:
                looked += CHUNK
                verdict = test.judge(five(play.line()[:looked], players[0].name))
                if verdict.accepted:
                    return verdict
        return test.judge(five(play.line(), players[0].name))
