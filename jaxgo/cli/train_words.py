"""The words of `jaxgo train`: a preset, and settings of its config as `--search.simulations 64`."""

import contextlib
import dataclasses
import difflib
import io
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import tyro

from jaxgo import nets
from jaxgo import search as searches
from jaxgo.cli.command import columns
from jaxgo.core.errors import UsageError, unknown_name
from jaxgo.core.words import split_setting
from jaxgo.games.names import read_settings
from jaxgo.nets import Net, Outside, ResNet
from jaxgo.training import presets, sizes
from jaxgo.training.config import TrainConfig

ABOUT = """Train a player by self-play: `jaxgo train` for what suits this machine, `jaxgo train PRESET`, or a preset
with other settings: `jaxgo train go9 --search.simulations 64`. Ctrl-C saves; the same command goes on.
`jaxgo train --list` lists the presets. `--net NAME` and `--search NAME` take another net or search, whose settings are
then listed here, and `--option NAME=VALUE` changes the game. (`train.py` in a clone is the same command.)"""


@dataclasses.dataclass(frozen=True)
class Log:
    """Where the numbers go besides metrics.jsonl."""

    tensorboard: bool = False  # event files in the run folder: uv run --extra tensorboard
    wandb: str = ""  # a project of Weights & Biases: uv run --extra wandb


@dataclasses.dataclass(frozen=True)
class Settings(TrainConfig):
    """A run by words: the game by its name, and a net with settings of its own."""

    game: str = "connect4"  # by name, or package.module:Object
    net: Net = ResNet()  # what learns


@dataclasses.dataclass(frozen=True)
class OwnNet(Settings):
    """A run by words whose net is somebody's module, which has no settings that can be typed."""

    net: tyro.conf.Suppress[tyro.conf.Fixed[Any]] = ResNet()


@dataclasses.dataclass(frozen=True)
class Job:
    """What was asked for."""

    config: Annotated[TrainConfig, tyro.conf.arg(name="")]
    run: str = ""  # the folder of the run; runs/PRESET by default
    init_from: str = ""  # weights to begin with: a run (runs/go7-cpu), a step of it, a file or a shipped name
    log: Log = Log()
    plain: bool = False  # lines instead of a live page
    dry_run: bool = False  # only tell whether the run could begin, and what it would do
    preset: tyro.conf.Suppress[str] = ""
    words: tyro.conf.Suppress[tuple[str, ...]] = ()  # behind the preset, as they were typed
    open: tyro.conf.Suppress[tuple[str, ...]] = ()  # sizes that the devices decide, since nobody has typed them

    @property
    def again(self) -> str:
        """The command that resumes it: all that was typed, because a run goes on with its own settings alone."""
        return self._command(self.words)

    @property
    def further(self) -> str:
        """The command that trains it on, for as long again or ten minutes."""
        budget, words, queue = self.config.budget, list[str](), iter(self.words)
        for word in queue:  # the new budget stands in place of the one that was typed
            name, equals, _ = word.partition("=")
            if not name.startswith("--budget."):
                words.append(word)
            elif not equals:
                next(queue, None)
        seconds = round(2 * budget.seconds)
        if budget.iterations:
            words += ["--budget.iterations", str(2 * budget.iterations)]
        elif not seconds:
            seconds = 600
        return self._command([*words, "--budget.seconds", str(seconds)])

    def _command(self, words: Sequence[str]) -> str:
        return shlex.join([*typed("train"), self.preset, *words])


def typed(command: str) -> list[str]:
    """A command of jaxgo as it is typed where this process was started: in a clone by uv, elsewhere by its name."""
    if not Path("train.py").is_file():
        return ["jaxgo", command]
    return ["uv", "run", f"{command}.py"] if command in ("train", "eval") else ["uv", "run", "jaxgo", command]


def parse(argv: Sequence[str]) -> Job:
    """The job of a command line; help exits 0, a mistake is a UsageError."""
    words = list(argv)
    preset = words.pop(0) if words and not words[0].startswith("-") else presets.default_preset()
    given = tuple(words)
    found = presets.preset(preset)
    open_ = tuple(name for name in sizes.SETTINGS if not any(word.partition("=")[0] == f"--{name}" for word in given))
    config, words = _replaced(found.config, words)
    if found.by_device and "replay.capacity" not in open_:
        # what is typed may be less than a large machine begins with; the devices of here decide that yet
        config = sizes.put(config, {name: 1 for name in ("replay.start", "learner.batch") if name in open_})
    kind = OwnNet if isinstance(config.net, Outside) else Settings
    job = Job(
        kind(**_fields(config)),
        run=f"runs/{preset.rpartition(':')[2]}",
        init_from=found.init_from,
        preset=preset,
        words=given,
        open=open_ if found.by_device else (),
    )
    job, unknown = _tyro(job, words)
    if unknown:
        raise _unknown(unknown[0], job)
    return dataclasses.replace(job, config=TrainConfig(**_fields(job.config)))


def _fields(config: TrainConfig) -> dict[str, Any]:
    return {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}


def _replaced(config: TrainConfig, words: list[str]) -> tuple[TrainConfig, list[str]]:
    """Takes `--game`, `--net`, `--search` and `--option NAME=VALUE` out: they change which settings there are."""
    rest: list[str] = []
    texts = dict[str, str]()
    queue = iter(words)
    for word in queue:
        name, equals, value = word.partition("=")
        if name not in ("--game", "--net", "--search", "--option"):
            rest.append(word)
            continue
        value = value if equals else next(queue, "")
        if name == "--option":
            setting = split_setting(value)
            if setting is None:
                raise UsageError(f"--option {value} is not of the form NAME=VALUE, such as --option komi=5.5")
            if setting[0] in texts:
                raise UsageError(
                    f"option {setting[0]} is given twice, as {texts[setting[0]]} and {setting[1]}; name one"
                )
            texts[setting[0]] = setting[1]
        elif name == "--game":
            config = dataclasses.replace(config, game=value)
        elif name == "--net":
            config = dataclasses.replace(config, net=nets.find(value))
        else:
            config = dataclasses.replace(config, search=searches.find(value))
    options = dict(config.options) | read_settings(config.game_name, texts)
    return dataclasses.replace(config, options=tuple(options.items())), rest


def _tyro(job: Job, words: list[str]) -> tuple[Job, list[str]]:
    """Reads settings with tyro, and makes one sentence of what it complains about."""
    out, errors = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            return tyro.cli(
                Job, prog="jaxgo train", description=ABOUT, args=words, default=job, return_unknown_args=True
            )
    except SystemExit as end:
        if end.code == 0:
            print(out.getvalue(), end="")
            raise
    text = errors.getvalue() or out.getvalue()
    told = " ".join(re.sub(r"^[│╭╰|].*?(?=\s|$)|[│|╮╯]\s*$", "", line).strip() for line in text.splitlines()[1:])
    parts = [" ".join(part.split()) for part in re.split(r"[-─]{8,}", told)]
    sentence = next((part for part in parts if part), "the settings cannot be read; see jaxgo train --help")
    raise UsageError(sentence.removeprefix("Error parsing config.").rstrip("."))


def settings(value: Any, above: str = "") -> list[str]:
    """The names of all settings, as they are typed."""
    names = []
    for field in dataclasses.fields(value):
        inner, name = getattr(value, field.name), f"{above}{field.name}"
        if dataclasses.is_dataclass(inner):
            names += settings(inner, f"{name}.")
        elif field.name != "options":
            names.append(name)
    return names


def _unknown(word: str, job: Job) -> UsageError:
    """The error for a setting that is not there, with those that are near."""
    if not word.startswith("-"):
        return UsageError(f"{word!r} belongs to no setting; write --NAME VALUE, and the preset first")
    name = word.lstrip("-").partition("=")[0].replace("-", "_")
    valid = [
        *settings(job.config),
        "run",
        "init_from",
        "plain",
        "dry_run",
        "log.tensorboard",
        "log.wandb",
        "net",
        "search",
        "option",
    ]
    group = [other for other in valid if "." in name and other.startswith(name.partition(".")[0] + ".")]
    near = difflib.get_close_matches(name, valid, 1, 0.75)
    said = unknown_name("setting", word, [f"--{other}" for other in group or valid])
    return UsageError(f"{said}; did you mean --{near[0]}?") if near else said


def list_presets() -> str:
    """The presets as a table."""
    rows = [("preset", "game", "trains for", "hardware", "measured")]
    for name in presets.names():
        preset = presets.preset(name)
        minutes = f"{preset.minutes:g} min" if preset.minutes < 120 else f"{preset.minutes / 60:g} h"
        rows.append((name, preset.config.game_name, minutes, preset.hardware, preset.reached or "-"))
    return "\n".join(columns(rows))
