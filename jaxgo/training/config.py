"""Everything that a training run is made of, as one frozen value: the same config and seed are the same run."""

import dataclasses
import math
import numbers
import typing
from pathlib import Path
from typing import Any, cast

from jaxgo.arena.match import MOST_PAIRS
from jaxgo.core.errors import (
    MOST_SEED,
    UsageError,
    brief,
    check_frozen,
    check_kind,
    check_settings,
    check_whole,
    unknown_name,
)
from jaxgo.core.game import Game
from jaxgo.core.words import native
from jaxgo.games import make
from jaxgo.games.names import name_of
from jaxgo.nets import Head, Net, ResNet, Source, as_net
from jaxgo.nets import from_json as net_from_json
from jaxgo.nets import to_json as net_to_json
from jaxgo.search import Gumbel, Search
from jaxgo.search import from_json as search_from_json
from jaxgo.search import to_json as search_to_json
from jaxgo.selfplay import SelfplayConfig
from jaxgo.system.rundir import CONFIG, read_config

SHORT, REPLY = "short", "reply"  # heads that every game can teach
MEMORIES = ("device", "host")
OPTIMIZERS = ("adamw", "sgd")
MOST_PAST = 100  # earlier players that one judgement meets
MOST_STEPS = 2**31 - 1  # of the learner, that are counted
# what may differ when a run goes on: how long, how often, and against whom it measures itself
FREE = ("budget", "judge", "watch", "save_every", "learner.patience")
HORIZON = 400  # plies that wait for the end of their game at most, unless asked for


@dataclasses.dataclass(frozen=True)
class TargetsConfig:
    """What is learnt from a game."""

    td_lambda: float = 0.9  # 1: the label is the result of the game; less: later searches have a say in it
    bootstrap_weight: float = 0.5  # of values that no result stands behind, only the search
    fast_weight: float = 0.25  # how often a position with a fast search is drawn, against one with a full search
    surprise: float = 0.5  # share of a sample's weight that goes by how much the search changed the policy
    heads: tuple[str, ...] = (SHORT,)  # besides policy and value: short, reply, and the game's auxiliary targets
    horizons: tuple[float, ...] = (4.0, 12.0)  # plies over which `short` averages what the searches to come say

    def __post_init__(self) -> None:
        check_settings("targets.", self)
        for name in ("td_lambda", "bootstrap_weight", "fast_weight", "surprise"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise UsageError(f"targets.{name} is a share from 0 to 1, not {getattr(self, name)}")
        for plies in self.horizons:
            check_kind(plies, numbers.Real, "number of plies, as targets.horizons are")
            if not math.isfinite(plies):  # no JSON has it, so the run could not be resumed
                raise UsageError(f"targets.horizons={plies} is not a finite number")
        if any(not plies >= 1.0 for plies in self.horizons):
            raise UsageError("targets.horizons are plies, at least 1 each")
        for name in self.heads:
            check_kind(name, str, "name of a head, as targets.heads are")
        if len(set(self.heads)) < len(self.heads):
            raise UsageError(f"targets.heads={','.join(self.heads)} has a head twice; name each once")
        if SHORT in self.heads and not self.horizons:
            raise UsageError(f"targets.heads has {SHORT}, and targets.horizons is empty; name plies, or leave it out")

    def make_heads(self, game: Game[Any]) -> tuple[Head, ...]:
        """The further heads of a network; a UsageError names those that this game has."""
        known = {
            SHORT: Head(SHORT, "values", len(self.horizons)),
            REPLY: Head(REPLY, "policy"),
            **{target.name: Head(target.name, target.kind) for target in game.aux_targets()},
        }
        for name in self.heads:
            if name not in known:
                raise UsageError(
                    f"targets.heads has {name!r}, which this game does not teach; it has: {', '.join(known)}"
                )
        return tuple(known[name] for name in self.heads)


@dataclasses.dataclass(frozen=True)
class ReplayConfig:
    """How much is remembered. The window grows as KataGo's does, by a power of the samples seen so far."""

    capacity: int = 2**17  # samples, all devices together
    start: int = 2**12  # samples before learning begins, and the smallest window
    growth: float = 0.75  # the exponent: 1 keeps a fixed share of all samples, 0 grows as a logarithm
    share: float = 0.6  # by how much the window widens with each new sample, at its start
    memory: str = "device"  # or host, for a window that the accelerators have no room for

    def __post_init__(self) -> None:
        check_settings("replay.", self)
        if self.memory not in MEMORIES:
            raise unknown_name("replay.memory", self.memory, MEMORIES)
        if not 1 <= self.start <= self.capacity:
            raise UsageError(f"replay.start={self.start} is not between 1 and replay.capacity={self.capacity}")
        if not (0.0 <= self.growth <= 1.0 and 0.0 <= self.share <= 1.0):
            raise UsageError("replay.growth and replay.share are from 0 to 1")


@dataclasses.dataclass(frozen=True)
class LearnerConfig:
    """How the network learns."""

    batch: int = 512  # samples of one step, all devices together
    reuse: float = 4.0  # how often each sample is learnt from, on average
    optimizer: str = "adamw"  # or sgd, which wants ten times the rate or more
    momentum: float = 0.9  # of sgd, Nesterov's
    rate: float = 2e-3  # of a step, once it is warm
    warmup: int = 100  # steps until the full rate
    cooldown: float = 0.0  # last share of the budget, in which the rate falls along a cosine to `final`; 0: it stays
    final: float = 0.1  # of the rate, at the end of the budget
    weight_decay: float = 1e-2  # share of a weight that a step at rate 1 takes away; norms and biases are spared
    clip: float = 1.0  # of the gradient's norm
    ema: float = 0.995  # of the weights to play with; they average about the last 1 / (1 - ema) steps
    value_weight: float = 1.0  # of the loss of the value, against that of the policy
    head_weight: float = 0.15  # of each further head
    patience: int = 20  # broken steps in a row before the run goes back to a checkpoint

    def __post_init__(self) -> None:
        check_settings("learner.", self)
        check_whole("learner.", self, MOST_STEPS)
        if self.optimizer not in OPTIMIZERS:
            raise unknown_name("learner.optimizer", self.optimizer, OPTIMIZERS)
        if self.batch < 1 or self.patience < 1 or self.warmup < 0:
            raise UsageError("learner.batch and patience are at least 1, warmup at least 0")
        if not (self.reuse > 0 and self.rate > 0 and self.clip > 0):
            raise UsageError("learner.reuse, rate and clip are above 0")
        for name in ("ema", "momentum"):
            if not 0 <= getattr(self, name) < 1:
                raise UsageError(f"learner.{name} is at least 0 and below 1, not {getattr(self, name):g}")
        if not (0 <= self.final <= 1 and 0 <= self.cooldown <= 1) or self.weight_decay < 0:
            raise UsageError("learner.cooldown and final are from 0 to 1, and weight_decay at least 0")
        if min(self.value_weight, self.head_weight) < 0:
            raise UsageError("learner.value_weight and head_weight are at least 0: below, the net would unlearn")


def _check_pairs(name: str, pairs: int) -> None:
    if pairs > MOST_PAIRS:
        raise UsageError(f"{name}={pairs} is too large; at most {MOST_PAIRS:,}")


@dataclasses.dataclass(frozen=True)
class JudgeConfig:
    """When and against whom a run measures itself. Ratings never decide what is learnt."""

    every: float = 120.0  # seconds between two judgements; 0: only at the end
    pairs: int = 32  # games from the same opening, both seats, against each opponent
    simulations: int = 0  # of the learner's search; 0: as in self-play
    opponents: tuple[str, ...] = ("random", "uct:100")  # agents to stand beside the run's own players
    past: int = 1  # how many earlier players of the run to meet, the latest first
    final: tuple[str, ...] = ("random", "uct:100", "uct:400")  # opponents of the last judgement
    final_pairs: int = 64  # of the last judgement
    slots: int = 0  # games of an agent side by side; 0: as many as there are pairs

    def __post_init__(self) -> None:
        check_settings("judge.", self)
        if self.pairs < 1 or self.final_pairs < 1 or min(self.simulations, self.past, self.slots) < 0:
            raise UsageError("judge.pairs and final_pairs are at least 1; simulations, past and slots at least 0")
        if not self.every >= 0:
            raise UsageError(f"judge.every is a number of seconds, not {self.every}")
        for name in ("pairs", "final_pairs"):
            _check_pairs(f"judge.{name}", getattr(self, name))
        if self.past > MOST_PAST:
            raise UsageError(f"judge.past={self.past} is too large; at most {MOST_PAST}")


@dataclasses.dataclass(frozen=True)
class GateConfig:
    """Whether new weights must win a test before they make self-play. By default the newest ones always do."""

    every: int = 0  # iterations between two tests; 0: no gate
    elo: float = 20.0  # how much better the new weights are by H1; by H0 they are no better
    pairs: int = 200  # of games at most; where they do not decide, the old weights stay

    def __post_init__(self) -> None:
        check_settings("gate.", self)
        if self.every < 0 or self.pairs < 1 or not self.elo > 0:
            raise UsageError("gate.every is at least 0, gate.pairs at least 1, and gate.elo is above 0")
        _check_pairs("gate.pairs", self.pairs)


@dataclasses.dataclass(frozen=True)
class WatchConfig:
    """What a run watches itself for, and says where it sees it; 0 does not watch. Means are of self-play."""

    silent: float = 900.0  # seconds without a step of anything before it is said; what compiles is one step
    give_up: float = 0.0  # seconds without a step after which the process ends; more than any judgement takes
    iterations: int = 20  # whose mean counts for what follows
    entropy: float = 1e-3  # least, of the search's policy in nats: below it all positions have one move
    spread: float = 1e-3  # least standard deviation of the values: below it the net tells no positions apart
    length: float = 0.0  # fewest plies of a game
    draws: float = 0.0  # largest share of draws
    stop: bool = False  # end the run where one of these four is passed, and not only say so

    def __post_init__(self) -> None:
        check_settings("watch.", self)
        check_whole("watch.", self, MOST_STEPS)
        if min(self.silent, self.give_up, self.entropy, self.spread, self.length) < 0 or self.iterations < 1:
            raise UsageError("watch.iterations is at least 1, and silent, give_up, entropy, spread, length at least 0")
        if not 0.0 <= self.draws <= 1.0:
            raise UsageError(f"watch.draws is a share from 0 to 1, not {self.draws}")


@dataclasses.dataclass(frozen=True)
class Budget:
    """How long to train; what is 0 sets no limit, and the first limit that is reached ends the run."""

    iterations: int = 0  # of self-play and learning
    seconds: float = 0.0  # by the clock, from the end of the first iteration on; judgements in between count

    def __post_init__(self) -> None:
        check_settings("budget.", self)
        if self.iterations < 0 or not self.seconds >= 0:
            raise UsageError(
                f"a budget of {self.iterations} iterations and {self.seconds} seconds cannot be kept; 0 sets no limit"
            )


@dataclasses.dataclass(frozen=True)
class TrainConfig:
    """A run."""

    game: str | Game[Any] = "connect4"  # by name, or itself
    options: tuple[tuple[str, Any], ...] = ()  # of the game, such as (("komi", 5.5),)
    net: Net | Source = ResNet()  # what learns: a net, or a module of Flax (see jaxgo.nets.outside)
    search: Search = Gumbel(simulations=32)  # what plays
    selfplay: SelfplayConfig = SelfplayConfig()
    targets: TargetsConfig = TargetsConfig()
    replay: ReplayConfig = ReplayConfig()
    learner: LearnerConfig = LearnerConfig()
    judge: JudgeConfig = JudgeConfig()
    gate: GateConfig = GateConfig()
    watch: WatchConfig = WatchConfig()
    budget: Budget = Budget()
    save_every: float = 300.0  # seconds between checkpoints; there is always one at the end
    seed: int = 0  # the same config and seed are the same run

    def __post_init__(self) -> None:
        if isinstance(self.game, Game):  # by its name from here on, so that a run can be resumed
            name, options = name_of(self.game)
            object.__setattr__(self, "game", name)
            object.__setattr__(self, "options", tuple(options.items()))
        object.__setattr__(self, "net", as_net(self.net))
        for option in self.options:
            if not (isinstance(option, tuple) and len(option) == 2 and isinstance(option[0], str)):
                raise UsageError(f'options has {brief(option)}, which is no name with a value, as ("komi", 5.5) is')
        for field in dataclasses.fields(self):
            if dataclasses.is_dataclass(field.default) and field.name not in ("net", "search"):
                kind = type(field.default)
                check_kind(getattr(self, field.name), kind, f"{kind.__name__}, which {field.name}= takes")
        check_frozen(self.search, f"{type(self.search).__name__} is no search", "jaxgo.search.Search")
        check_settings("", self)
        if not 0 <= self.seed <= MOST_SEED - 2:  # the gate takes the one after, and a book that is drawn the next
            raise UsageError(f"seed={self.seed} is not from 0 to {MOST_SEED - 2}")
        if self.save_every < 0:
            raise UsageError(f"save_every={self.save_every} is a number of seconds; 0 saves only at the end")
        if self.learner.batch > self.replay.capacity:
            raise UsageError(
                f"learner.batch={self.learner.batch} is more than the samples of replay.capacity="
                f"{self.replay.capacity}; lower it"
            )

    def make_game(self) -> Game[Any]:
        """The game of the run."""
        return make(self.game_name, **dict(self.options))

    @property
    def game_name(self) -> str:
        """The name of the game."""
        return cast(str, self.game)

    @property
    def network(self) -> Net:
        """The net."""
        return cast(Net, self.net)

    @property
    def heads(self) -> tuple[Head, ...]:
        """What the net learns besides policy and value."""
        game = self.make_game()
        return self.network.heads(game, self.targets.make_heads(game))

    @property
    def horizon(self) -> int:
        """Plies that wait for the end of their game."""
        return self.selfplay.horizon or min(self.make_game().max_plies, HORIZON)

    @property
    def updates(self) -> int:
        """Steps of the learner in each iteration."""
        return max(1, round(self.learner.reuse * self.positions / self.learner.batch))

    @property
    def positions(self) -> int:
        """Of self-play in each iteration."""
        return self.selfplay.games * self.selfplay.steps

    @property
    def reuse(self) -> float:
        """How often each position is learnt from, as whole steps have it."""
        return self.updates * self.learner.batch / self.positions


def to_json(config: TrainConfig) -> dict[str, Any]:
    """A config as plain data, readable and complete."""
    names = [field.name for field in dataclasses.fields(config) if field.name not in ("net", "search")]
    parts = {name: _plain(getattr(config, name)) for name in names}
    parts["options"] = dict(config.options)
    parts["net"] = net_to_json(config.network)
    parts["search"] = search_to_json(config.search)
    return parts


def from_json(data: dict[str, Any]) -> TrainConfig:
    """The config that `to_json` wrote."""
    data = dict(data)
    return TrainConfig(
        options=tuple((name, native(value)) for name, value in dict(data.pop("options")).items()),
        net=net_from_json(data.pop("net")),
        search=search_from_json(data.pop("search")),
        **{name: _made(typing.get_type_hints(TrainConfig)[name], value) for name, value in data.items()},
    )


def completed(data: dict[str, Any]) -> dict[str, Any]:
    """The config of a run of an older version with what can be set since then, each as it is unless somebody sets it.

    What is no config comes back as it is; a UsageError where it has settings that are gone.
    """
    kinds = {name: kind for name, kind in typing.get_type_hints(TrainConfig).items() if name not in ("net", "search")}
    for part, said in data.items() if isinstance(data, dict) else ():
        if dataclasses.is_dataclass(kinds.get(part)) and isinstance(said, dict):
            known = {field.name for field in dataclasses.fields(kinds[part])}
            if gone := sorted(said.keys() - known):
                raise UsageError(
                    f"the run has {part}.{gone[0]}, which is no setting of this version of jaxgo; end it with the "
                    "version that made it, or begin a new run with its weights (--init-from)"
                )
    try:
        return to_json(from_json(data))
    except (UsageError, AttributeError, KeyError, TypeError, ValueError):
        return data


def of_run(run: Path) -> TrainConfig:
    """The config of the run in a folder; a UsageError where it holds what is no setting here."""
    data = read_config(run)
    try:
        return from_json(data)
    except UsageError as fault:
        raise UsageError(f"{run / CONFIG}: {fault}") from None
    except (AttributeError, KeyError, TypeError, ValueError) as fault:
        raise UsageError(
            f"{run / CONFIG} was edited or is of another version of jaxgo, as its settings are not those of this one "
            f"({type(fault).__name__}: {' '.join(str(fault).split())[:200]}); restore it, or read it with the version "
            "that wrote it"
        ) from None


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _made(kind: Any, value: Any) -> Any:
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        hints = typing.get_type_hints(kind)
        return kind(**{name: _made(hints[name], item) for name, item in value.items()})
    return native(value)
