"""Whether a run can begin, asked before anything is compiled for it: what a run would fail at later is told at once."""

from jaxgo.core import play
from jaxgo.core.errors import UsageError
from jaxgo.players import Player
from jaxgo.search import name_of
from jaxgo.search.base import check_begins
from jaxgo.training import judge, machine
from jaxgo.training.config import TrainConfig
from jaxgo.training.trainer import Trainer

STARTS = 8  # that are looked at: a puzzle may be drawn at its goal now and then


def check(trainer: Trainer) -> None:
    """A UsageError where a run could not begin, or would fail at its first judgement."""
    config = trainer.config
    if not config.search.budget:
        raise UsageError(
            f"search {name_of(config.search)} makes no simulations, so it teaches nothing; say --search gumbel"
        )
    game, _, _ = trainer.game, trainer.heads, trainer.book
    check_begins(trainer.selfplay.search, trainer.model)
    if all(bool(play.over(game, play.begin(game, seed))) for seed in range(STARTS)):
        raise UsageError(f"{config.game} is over at its start, so there is nothing to learn; take other options")
    _check_variety(config)
    try:
        judge.rated_search(config)
    except (TypeError, UsageError) as fault:  # a search whose simulations are no number, or that has none
        number = config.judge.simulations
        raise UsageError(f"judge.simulations={number} is for another search ({fault}); say 0") from None
    for player in judge.opponents(config).values():
        if game.players == 2:  # nobody is met in a puzzle
            _check_opponent(player)
    judge.check_gate(config.gate, game, config.seed)
    machine.check(trainer)


def _check_variety(config: TrainConfig) -> None:
    """A UsageError where games from one start would be copies of each other."""
    if config.search.draws:
        return
    play, name = config.selfplay, name_of(config.search)
    if play.temperature > 0 or play.final_temperature > 0:
        raise UsageError(f"{name} finds one move, so say selfplay.temperature=0 and selfplay.final_temperature=0")
    if not play.book and play.opening < 1:
        raise UsageError(f"{name} plays the same game from the same start, so say selfplay.opening=1, or name a book")


def _check_opponent(player: Player) -> None:
    """A UsageError where a search cannot play this game; nothing is compiled for it."""
    try:
        check_begins(player.search, player.model)
    except UsageError as fault:
        raise UsageError(f"judge.opponents or judge.final has {player.name}: {fault}") from None
