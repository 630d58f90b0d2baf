"""Everything that a training run is made of, as one frozen value: the same config and seed are the same run."""

import dataclasses
import typing
from typing import Any, cast

from jaxgo.core.errors import UsageError, check_finite, unknown_name
from jaxgo.core.game import Game
from jaxgo.games import make
from jaxgo.nets import NETS, Net, ResNet
from jaxgo.nets import from_json as net_from_json
from jaxgo.nets import to_json as net_to_json
from jaxgo.search import SEARCHES, Gumbel, Search
from jaxgo.selfplay import SelfplayConfig
from jaxgo.training.gate import GateConfig
from jaxgo.training.judge import JudgeConfig
from jaxgo.training.learner import LearnerConfig
from jaxgo.training.replay import ReplayConfig
from jaxgo.training.targets import TargetsConfig

MOST_SEEDS = 2**31 - 1  # the gate takes the one after

__all__ = ["Budget", "JudgeConfig", "LearnerConfig", "ReplayConfig", "SelfplayConfig", "TargetsConfig", "TrainConfig"]


@dataclasses.dataclass(frozen=True)
class Budget:
    """How long to train; what is 0 sets no limit, and the first limit that is reached ends the run."""

    iterations: int = 0
    seconds: float = 0.0

    def __post_init__(self) -> None:
        check_finite("budget.", self)
        if self.iterations < 0 or not self.seconds >= 0:
            raise UsageError(f"a budget of {self.iterations} iterations and {self.seconds} seconds cannot be kept")


@dataclasses.dataclass(frozen=True)
class TrainConfig:
    """A run. Each part is a frozen dataclass beside the code that it sets."""

    game: str = "connect4"
    options: tuple[tuple[str, Any], ...] = ()  # of the game, such as (("komi", 5.5),)
    net: Net = ResNet()
    search: Search = Gumbel(simulations=32)
    selfplay: SelfplayConfig = SelfplayConfig()
    targets: TargetsConfig = TargetsConfig()
    replay: ReplayConfig = ReplayConfig()
    learner: LearnerConfig = LearnerConfig()
    judge: JudgeConfig = JudgeConfig()
    gate: GateConfig = GateConfig()
    budget: Budget = Budget()
    save_every: float = 300.0  # seconds between checkpoints; there is always one at the end
    seed: int = 0

    def __post_init__(self) -> None:
        check_finite("", self)
        if not 0 <= self.seed < MOST_SEEDS:
            raise UsageError(f"seed={self.seed} is not from 0 to {MOST_SEEDS - 1}")
        if self.save_every < 0:
            raise UsageError(f"save_every={self.save_every} is a number of seconds; 0 saves only at the end")
        if self.learner.batch > self.replay.capacity:
            raise UsageError(
                f"learner.batch={self.learner.batch} is more than the samples of replay.capacity="
                f"{self.replay.capacity}; lower it"
            )

    def make_game(self) -> Game[Any]:
        """The game of the run."""
        return make(self.game, **dict(self.options))

    @property
    def updates(self) -> int:
        """Steps of the learner in each iteration."""
        positions = self.selfplay.games * self.selfplay.steps
        return max(1, round(self.learner.reuse * positions / self.learner.batch))


def to_json(config: TrainConfig) -> dict[str, Any]:
    """A config as plain data, readable and complete."""
    parts = {field.name: _plain(getattr(config, field.name)) for field in dataclasses.fields(config)}
    search = next(name for name, value in SEARCHES.items() if type(value) is type(config.search))
    parts["options"] = dict(config.options)
    parts["net"] = net_to_json(config.net)
    parts["search"] = {"kind": search, **parts["search"]}
    return parts


def from_json(data: dict[str, Any]) -> TrainConfig:
    """The config that `to_json` wrote."""
    data = dict(data)
    search = dict(data.pop("search"))
    kind = search.pop("kind", None)
    if kind not in SEARCHES:
        raise unknown_name("search", kind, SEARCHES)
    return TrainConfig(
        options=tuple(dict(data.pop("options")).items()),
        net=net_from_json(data.pop("net")),
        search=dataclasses.replace(cast(Any, SEARCHES[kind]), **search),
        **{name: _made(typing.get_type_hints(TrainConfig)[name], value) for name, value in data.items()},
    )


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _made(kind: Any, value: Any) -> Any:
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        hints = typing.get_type_hints(kind)
        return kind(**{name: _made(hints[name], item) for name, item in value.items()})
    return tuple(value) if isinstance(value, list) else value


__all__ += ["NETS", "SEARCHES", "from_json", "to_json"]
