"""Variants of a preset by settings as they are typed, such as `learner.rate=0.006 targets.heads=short,reply`.

They are read by the words of `jaxgo train`, so that what is wrong is told in the same sentences.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jaxgo.cli.train_words import parse
from jaxgo.core.errors import UsageError
from jaxgo.core.words import SWITCHES, split_setting
from jaxgo.training import sizes
from jaxgo.training.config import TrainConfig

VARIANTS: dict[str, tuple[str, ...]] = {  # as they are typed behind --change
    "span": ("search.min_value_range=0",),
    "openings": ("selfplay.opening=0",),
    "cap": ("selfplay.fast_simulations=8", "selfplay.full_share=0.25"),
    "trust": ("targets.td_lambda=1",),
    "surprise": ("targets.surprise=0",),
    "short": ("targets.heads=",),
    "ema": ("learner.ema=0",),
    "reuse": ("learner.reuse=2",),
    "sgd": ("learner.optimizer=sgd", "learner.rate=0.05"),
}
KINDS = ("net", "search")  # of them there are several, with settings of their own
PARTS = (*KINDS, "selfplay", "targets", "replay", "learner", "gate")  # that may be changed


def words(setting: str, like: TrainConfig) -> list[str]:
    """A setting as the words of `jaxgo train`, by the kind of what stands in a config like this one."""
    name, value = split_setting(setting) or ("", "")
    name = name.replace("-", "_")
    if name.partition(".")[0] not in PARTS:
        raise UsageError(
            f"--change {setting} is not of the form PART.NAME=VALUE, such as learner.rate=0.006, with one of the parts "
            f"{', '.join(PARTS)}; game, time, seed and judge are the same for all runs"
        )
    now: Any = like
    for part in name.split("."):
        now = getattr(now, part, None)
    if isinstance(now, bool):
        if value.lower() not in SWITCHES:
            raise UsageError(f"--change {setting} is neither yes nor no")
        part, _, last = name.rpartition(".")
        return [f"--{name}" if SWITCHES[value.lower()] else f"--{part}.no-{last}"]
    if isinstance(now, tuple):
        return [f"--{name}", *filter(None, value.split(","))]
    return [f"--{name}={value}"]


def changed(preset: str, settings: Sequence[str], like: Path) -> TrainConfig:
    """The config of a preset with these settings; open sizes are those of the run `like`, or what suits the devices."""
    kinds = [one for one in settings if one.partition("=")[0].strip() in KINDS]
    argv = [preset, *(f"--{one}" for one in kinds)]
    begun = parse(argv).config
    argv += [word for one in settings if one not in kinds for word in words(one, begun)]
    job = parse(argv)
    return sizes.chosen(job.config, job.open, like)
