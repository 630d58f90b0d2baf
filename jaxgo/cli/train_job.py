"""`jaxgo train`: a whole job, with the run folder, the loop, what people see of it, and what to do with its result."""

import collections
import contextlib
import dataclasses
import logging
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
from rich.console import Console

from jaxgo.arena import elo, records
from jaxgo.cli import train_plan
from jaxgo.cli.command import INTERRUPTED, Command
from jaxgo.cli.train_words import Job, list_presets, parse, typed
from jaxgo.core.errors import UsageError
from jaxgo.core.words import write_settings
from jaxgo.players.spec_text import Spec
from jaxgo.system import aside, devices
from jaxgo.system.hosts import shared_store
from jaxgo.system.metrics import Beside, Sink, TensorBoard, WeightsAndBiases
from jaxgo.system.pulse import REFUSED, Pulse
from jaxgo.system.rundir import RunDir, resumes
from jaxgo.system.stop import STOPPED, Stop, at_once
from jaxgo.system.weights import name_of_run
from jaxgo.training import inherit, machine, ready, sizes
from jaxgo.training.config import FREE, completed, to_json
from jaxgo.training.judge import MATCHES, anchor, opponents
from jaxgo.training.loop import about, train_with
from jaxgo.training.report import Recorder, Report
from jaxgo.training.trainer import Trainer
from jaxgo.ui import run_report as reports
from jaxgo.ui.run_screen import Screen
from jaxgo.ui.streams import Forgiving
from jaxgo.ui.tables import ranking, remarks

LEFT = "left at once; the same command goes on from the last checkpoint"


@dataclasses.dataclass(frozen=True)
class Train:
    """Train, until the budget is spent or Ctrl-C."""

    job: Job

    def run(self) -> int:
        try:
            with at_once():
                return run(self.job)
        except KeyboardInterrupt:
            print(LEFT, file=sys.stderr)
            return aside.leave(INTERRUPTED, at_once=True)
        except UsageError as fault:
            if not devices.several_hosts():
                raise
            print(f"jaxgo: {fault}", file=sys.stderr)
            return aside.leave(REFUSED, at_once=True)  # JAX would wait for the hosts, which leave, too


@dataclasses.dataclass(frozen=True)
class ListPresets:
    """Print the presets."""

    def run(self) -> int:
        print(list_presets())
        return 0


def read(program: str, words: Sequence[str]) -> Command:
    """The command of these words. Every core is a device, which must be said before anybody asks for one."""
    if "--list" in words:
        return ListPresets()
    devices.use_cores(sizes.MOST_CORES)
    devices.join_hosts()
    job = parse(words)
    return Train(dataclasses.replace(job, config=sizes.chosen(job.config, job.open, Path(job.run))))


def run(job: Job, console: Console | None = None) -> int:
    """Trains, shows, judges and reports. The exit status: 0, or that of the signal that asked it to stop."""
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    # people look at the first host; the others are silent where all is well
    first = devices.is_first_host()
    told: Any = Forgiving(sys.stdout)
    console = console or Console(file=told, force_terminal=False if job.plain else None, emoji=False, quiet=not first)
    with Pulse(shared_store()):  # from here on no host waits for one that is refused
        return _run(job, console, first)


def _run(job: Job, console: Console, first: bool) -> int:
    config = job.config
    trainer = Trainer(config, devices.make_mesh())
    ready.check(trainer)
    for sink, wanted in ((TensorBoard, job.log.tensorboard), (WeightsAndBiases, job.log.wandb)):
        if first and wanted:
            sink.package()  # before there is a folder, which would refuse other settings
    place, start = Path(job.run), None
    if job.init_from:
        start = inherit.find(trainer, job.init_from, place)
    if job.dry_run:
        return _tell_plan(console, job, trainer, start) if first else 0
    screen = Screen(job.preset, config, console)
    phases: collections.deque[str] = collections.deque(maxlen=1)
    with RunDir(place, to_json(config), free=FREE, say=screen.say, completed=completed) as folder:
        if start is not None and first:
            inherit.keep(folder, start, about(config))
        _greet(console, job, folder.resumed)
        recorder = Recorder(place, screen.say, _sinks(job, place, screen.say) if first else [])
        stopping = "stopping: saving first; Ctrl-C again to leave at once"
        with contextlib.closing(recorder), Stop(lambda: screen.say(stopping), LEFT) as stop, screen:
            screen.limit = machine.measure_evaluations(config)

            def watch(report: Report) -> None:
                phases.append(report.phase)
                screen(report)

            train_with(trainer, folder, recorder, watch, stop)
        folder.checkpoints.wait()
        if stop() or phases[-1] == "stopped":  # by a signal here, or on another host
            saved = "but the newest checkpoint could not be saved" if folder.checkpoints.unsaved else "and saved"
            _say(console, f"stopped {saved} in {place}; go on with: {job.again}")
            return stop.status if stop() else STOPPED
        if first:
            _finish(console, job)
    return 0


def _tell_plan(console: Console, job: Job, trainer: Trainer, start: inherit.Start | None) -> int:
    """Says what a run would do that could begin; a UsageError says why its folder keeps it from that."""
    place = Path(job.run)
    resumed = resumes(place, to_json(job.config), free=FREE, completed=completed)
    if start is not None:
        inherit.check(place, start)
    _greet(console, job, resumed)
    for line in train_plan.lines(job, trainer, start, resumed):
        _say(console, line)
    return 0


def _sinks(job: Job, place: Path, say: Callable[[str], None]) -> list[Sink]:
    sinks: dict[str, Sink] = {}
    if job.log.tensorboard:
        sinks["TensorBoard"] = TensorBoard(place)
    if job.log.wandb:
        sinks["Weights & Biases"] = WeightsAndBiases(place, job.log.wandb, to_json(job.config))
    return [Beside(name, sink, say) for name, sink in sinks.items()]


def _greet(console: Console, job: Job, resumed: bool) -> None:
    begun = "going on in" if resumed else "in"
    budget = job.config.budget
    minutes = f", {budget.seconds / 60:.3g} minutes" if budget.seconds else ""
    if not (budget.seconds or budget.iterations):
        minutes = ", without an end until Ctrl-C"
    where = f"{begun} {job.run} (jax {jax.__version__})"
    called = job.config.game_name
    name = called if job.preset == called else f"{job.preset}: {called}"
    words = f"{name} on {devices.describe()}{minutes}, {where}"
    _say(console, words)
    game = job.config.make_game()
    if unlearnt := job.config.network.unlearnt(game, job.config.targets.make_heads(game)):
        _say(console, unlearnt)
    reuse, real = job.config.learner.reuse, job.config.reuse
    if abs(real - reuse) > 0.1 * reuse:
        steps = f"{job.config.updates} steps" if job.config.updates > 1 else "one step"
        samples, positions = f"{job.config.learner.batch:,} samples", f"{job.config.positions:,} positions"
        _say(
            console,
            f"learner.reuse={reuse:g} comes to {real:.3g}: {steps} of {samples} for the {positions} of an iteration",
        )


def _table(console: Console, job: Job) -> None:
    """The ratings by all games of the run, as eval.py prints them."""
    played = records.read_begun(Path(job.run) / MATCHES)
    if not played:
        why = "(see --judge.final)" if job.config.make_game().players == 2 else "as puzzles are for one"
        _say(console, f"nobody was met, so there are no ratings {why}")
        return
    table = elo.rate(played, anchor(opponents(job.config).values(), played))
    console.print(ranking(table))
    for sentence in remarks(table):
        _say(console, sentence)


def _finish(console: Console, job: Job) -> None:
    """The table, the report, and what one can do now."""
    _table(console, job)
    try:
        sentences = reports.write(Path(job.run))
    except OSError as fault:
        sentences = [f"the report in {job.run} could not be written ({fault.strerror}); all else of the run is saved"]
    for sentence in sentences:
        _say(console, sentence)
    for what, words in then(job).items():
        # the command alone on its line, so that it can be copied
        _say(console, f"{what}:\n  {words}")


def _say(console: Console, text: str) -> None:
    """Text on a line of its own, however long, and as it is: names of folders may have brackets."""
    console.print(text, soft_wrap=True, highlight=False, markup=False)


def then(job: Job) -> dict[str, str]:
    """Commands that are of use after a run, by what they are for."""
    options = [word for setting in write_settings(dict(job.config.options)) for word in ("--option", setting)]
    game, player = [job.config.game_name, *options], str(Spec("", weights=name_of_run(Path(job.run))))
    commands = {"its thoughts": shlex.join([*typed("analyse"), *game, "--agent", player])}
    if job.config.make_game().players == 2:
        commands["a match"] = shlex.join([*typed("eval"), *game, "--agents", player, "uct:400"])
    return commands | {"train on": job.further}
