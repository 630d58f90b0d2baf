"""What `jaxgo train --dry-run` tells of a run that could begin."""

from collections.abc import Iterator
from pathlib import Path

import jax

from jaxgo.cli.command import columns
from jaxgo.cli.train_words import Job
from jaxgo.system.checkpoints import saved_steps
from jaxgo.system.rundir import dotted
from jaxgo.training import machine, presets
from jaxgo.training.config import TrainConfig, to_json
from jaxgo.training.inherit import Start
from jaxgo.training.machine import GIB
from jaxgo.training.trainer import Trainer


def lines(job: Job, trainer: Trainer, start: Start | None, resumed: bool) -> list[str]:
    """A table of what the run is made of."""
    rows = [*_changes(job), *_sizes(trainer), *_judgements(trainer), ("begins", _beginning(job, start, resumed))]
    return [*columns(rows), "it could begin: nothing is compiled for it yet, and nothing written"]


def _changes(job: Job) -> Iterator[tuple[str, str]]:
    """The settings that are not those of the preset: typed, or sizes for the devices of here."""
    usual = dotted(to_json(presets.preset(job.preset).config))
    changed = {name: value for name, value in dotted(to_json(job.config)).items() if usual.get(name) != value}
    for number, (name, value) in enumerate(changed.items()):
        was = f"{usual[name]} in the preset" if name in usual else "not in the preset"
        yield "" if number else "settings", f"{name} {value} ({was})"


def _sizes(trainer: Trainer) -> Iterator[tuple[str, str]]:
    config = trainer.config
    selfplay, learner = config.selfplay, config.learner
    params = jax.eval_shape(trainer.model.init, jax.random.key(0))
    yield "net", f"{sum(leaf.size for leaf in jax.tree.leaves(params)):,} parameters"
    yield "self-play", f"{selfplay.games:,} games; {config.positions:,} positions of them in an iteration"
    most = "on average at most" if selfplay.fast_simulations else "at most"
    yield "search", f"{_simulations(config)}; {most} {_evaluations(config):,} evaluations in an iteration"
    steps = f"{config.updates:,} step{'s' * (config.updates > 1)} of {learner.batch:,} samples"
    yield "learning", f"{steps} in an iteration, from {config.replay.start:,} samples on"
    yield "memory", f"the last {config.replay.capacity:,} samples"
    for what, wanted, there, _ in machine.shares(trainer)[1]:
        known = f" of the {there / GIB:.3g} that {what} has" if there else f" of {what}"
        yield "", f"at least {wanted / GIB:.3g} GiB{known}"


def _simulations(config: TrainConfig) -> str:
    selfplay, budget = config.selfplay, config.search.budget
    if not selfplay.fast_simulations:
        return f"{budget:,} simulations"
    fast = 100 * (1 - selfplay.full_share)
    return f"{budget:,} simulations, in {fast:g} % of searches {selfplay.fast_simulations:,}"


def _evaluations(config: TrainConfig) -> int:
    """One for each root and each simulation; what is solved or ends needs fewer."""
    selfplay, mean = config.selfplay, float(config.search.budget)
    if selfplay.fast_simulations:
        mean = selfplay.full_share * mean + (1 - selfplay.full_share) * min(mean, selfplay.fast_simulations)
    return round(config.positions * (1 + mean))


def _judgements(trainer: Trainer) -> Iterator[tuple[str, str]]:
    judge, gate = trainer.config.judge, trainer.config.gate
    if trainer.game.players != 2:
        yield "judge", "nobody is met, as puzzles are for one"
        return
    plan = [(f"every {judge.every:g} seconds", judge.pairs, judge.opponents)] if judge.every else []
    for when, pairs, others in [*plan, ("at its end", judge.final_pairs, judge.final)]:
        met = [*others, *([f"its own last {judge.past}"] if judge.past else [])]
        yield "judge", f"{when} {pairs} pairs against each of {', '.join(met)}" if met else f"{when} nobody is met"
    if gate.every:
        yield "gate", f"every {gate.every} iterations: up to {gate.pairs} pairs against the player of before"


def _beginning(job: Job, start: Start | None, resumed: bool) -> str:
    steps = saved_steps(Path(job.run))
    if resumed and steps:
        return f"with checkpoint {steps[-1]} of {job.run}"
    return f"with the weights of {start.place}" if start is not None else "with new weights"
