"""One run: play, label, keep, learn, judge, save.

The next iteration is handed to an accelerator before the numbers of the last one are fetched, so it never waits for the
host, and what a watcher hears is one iteration old. (Several CPU devices must wait; see `Trainer.waits`.)
"""

import contextlib
import dataclasses
import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from jaxgo.core import trial
from jaxgo.core.errors import UsageError
from jaxgo.nets import to_json as net_to_json
from jaxgo.search import to_json as search_to_json
from jaxgo.search.health import EvaluatorError
from jaxgo.selfplay import Tally
from jaxgo.system import devices, heap, hosts
from jaxgo.system.aside import Aside
from jaxgo.system.rundir import RunDir
from jaxgo.system.stop import Stop
from jaxgo.training import going_back, inherit, ready
from jaxgo.training.config import TrainConfig, to_json
from jaxgo.training.due import Due, Word
from jaxgo.training.judge import Gate, Judge, rated_search
from jaxgo.training.learner import LearnerState, are_finite
from jaxgo.training.report import Recorder, Report, Watch, Watcher
from jaxgo.training.trainer import PER_DEVICE, Best, Trainer, TrainState
from jaxgo.training.watchdog import Collapse, Stall

T = TypeVar("T")

PATIENCE = 15.0  # seconds that a match has to end itself when the run is asked to stop
BEST = "best"  # the name of the weights that a gate lets play
RADIX = 2**31  # a count that goes on for weeks does not fit into one number of a state


class DivergedError(UsageError):
    """The learner's numbers are broken and stay so."""


class CollapsedError(UsageError):
    """Self-play has stopped to look like play, and the config says that this ends the run."""


def train(
    config: TrainConfig,
    run: RunDir,
    watch: Watch = lambda report: None,
    *,
    mesh: Mesh | None = None,
    stop: Callable[[], bool] | None = None,
) -> TrainState:
    """Trains until the budget is spent or `stop` says so, going on from the run's last checkpoint; saves at the end.

    Without a `stop` of yours Ctrl-C and SIGTERM do what they do elsewhere as soon as all is saved. What it measures
    goes into the folder, and `watch` hears it; an error of it ends the run, and is raised when all is saved. A run that
    could not begin, or would fail at its first judgement, is a UsageError; one that collapses is saved too, and ends in
    a CollapsedError.
    """
    if not (isinstance(config, TrainConfig) and isinstance(run, RunDir)):
        raise UsageError(
            f"train takes a TrainConfig and a RunDir, and not {type(config).__name__} and {type(run).__name__}; see "
            "examples/own_net.py"
        )
    if not callable(watch) or not (stop is None or callable(stop)):
        raise UsageError("watch is a function of a report, and stop one of nothing; leave out what is not needed")
    run.check(to_json(config))
    trainer = Trainer(config, mesh or devices.make_mesh())
    ready.check(trainer)
    with contextlib.closing(Recorder(run.path, run.say)) as recorder:
        if stop is not None:
            return train_with(trainer, run, recorder, watch, stop)
        with Stop() as asked:
            state = train_with(trainer, run, recorder, watch, asked)
    asked.pass_on()
    return state


def train_with(trainer: Trainer, run: RunDir, recorder: Recorder, watch: Watch, stop: Callable[[], bool]) -> TrainState:
    """As `train`, with a trainer that `ready.check` knows, and a recorder that the caller closes."""
    with Stall(trainer.config.watch, run.say) as stall:
        watcher = Watcher(watch)

        def heard(report: Report) -> None:
            stall.beat(f"{report.phase} {report.iteration}")
            if devices.is_first_host():
                recorder(report)
            watcher(report)

        loop = Loop(trainer, run, heard, lambda: watcher.fault is not None or stop(), stall.beat)
        while not (loop.finished or loop.stopped) or not loop.heard():
            loop.advance()
        loop.end(judge=not (loop.stopped or loop.collapsed))
        if watcher.fault is not None:
            raise watcher.fault
        if loop.collapsed:
            raise loop.collapsed
        return loop.state


@dataclasses.dataclass
class Underway:
    """An iteration that the device is at, or has just done."""

    iteration: int
    tally: Tally
    learnt: dict[str, Any]
    word: Word | None  # of all hosts, where there are several
    began: float
    played: float  # when its self-play was handed over, or over where the trainer waits
    done: float

    def clock(self, free: float, played: float, done: float, waits: bool, rounds: bool) -> tuple[float, float]:
        """Seconds of its self-play and of all of it, from when the device was free and when its numbers were fetched.

        A GPU is handed a program with loops round by round (`rounds`): there, handing over takes as long as the work,
        and the numbers of the one before are fetched at the end of this one.
        """
        began = max(free, self.began)
        if waits or (rounds and 2 * (self.done - self.began) > done - began):
            began, played, done = self.began, self.played, self.done
        return played - began, done - began


class Tested(NamedTuple):
    """How a test of the gate went, in numbers that the first host tells the others."""

    held: float = 1.0  # 0: it was stopped
    broken: float = 0.0  # 1: the network's numbers were
    better: float = 0.0  # 1: the newest weights are
    llr: float = 0.0
    pairs: float = 0.0
    elo: float = 0.0


class Loop:
    """A run under way on this host."""

    def __init__(
        self,
        trainer: Trainer,
        run: RunDir,
        watch: Watch,
        stop: Callable[[], bool] = lambda: False,
        beat: Callable[[], None] = lambda: None,
    ) -> None:
        """`beat` is called by matches that move; what else moves is reported."""
        self.trainer, self.run, self._watch, self._stop, self._beat = trainer, run, watch, stop, beat
        self.config = trainer.config
        self._underway: list[Underway] = []
        watch(Report("start", 0, 0.0, {}))
        hosts.meet("start")
        devices.connect(trainer.mesh)
        begun: TrainState | None = trainer.begin()
        # what a checkpoint is like; beside one no arrays stay, as two rings of samples may be more than the memory has
        self._like = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=x.sharding), begun)
        if run.checkpoints.steps():
            begun = None
        found = self._restore()
        run.set_aside(found[0] if found is not None else 0)
        # of a history that is gone, because somebody has removed its checkpoints, the note tells nothing
        went, self._fell = going_back.known(run) if found is not None else (-1, "")
        if found is None:
            self._take_up(inherit.begin(trainer, begun or trainer.begin(), run))
        else:
            self._take_up(going_back.renewed(found[1]) if found[0] == went else found[1])
        self._due = Due(self.config, stop, float(self.state.seconds))
        self.collapsed: CollapsedError | None = None  # what ends the run, if the config says so
        self._sound = ""  # the last loss, in words
        self._done = time.monotonic()  # when the device had done what we last heard of
        watch(Report("start", self.iteration, self.seconds, {}))

    def _restore(self, before: int | None = None) -> tuple[int, TrainState] | None:
        """The newest checkpoint, on the devices of now; None where there is none."""
        found = self.run.checkpoints.restore(self._like, before, PER_DEVICE)
        if found is None:
            return None
        step, state = found
        state, then = self.trainer.deal(state)
        now = self.trainer.mesh.devices.size
        if then != now and devices.is_first_host():
            self.run.say(
                f"checkpoint {step} is of {then} devices and goes on on {now}: games and samples are dealt out anew, "
                "and random numbers are others from here on"
            )
        return step, state

    def _take_up(self, state: TrainState) -> None:
        """Goes on from this state."""
        self._collapse = Collapse(self.config.watch)  # knows nothing of iterations that are made again
        self.state, self.iteration = state, int(state.iteration)
        self._games, self._moves = (high * RADIX + low for high, low in np.asarray(state.played).tolist())
        self._judge = Judge(self.trainer, self.run, self._between, self.iteration)
        self._gate, self._tested = Gate(self._judge), 0
        if state.best is not None:
            self._tested = int(state.best.tested)
            self._keep_best(state.best)

    @property
    def seconds(self) -> float:
        """Of this run so far, from the end of the first iteration of each sitting, when both programs are compiled."""
        return self._due.seconds

    @property
    def finished(self) -> bool:
        """Whether the budget is spent, or self-play has collapsed."""
        return self._due.spent(self.iteration) >= 1 or self.collapsed is not None

    @property
    def stopped(self) -> bool:
        """Whether it was asked to stop; on several hosts, once all have heard that one of them was."""
        return self._due.stop

    def _asked(self) -> bool:
        """Whether what this host does alone shall end: some host was asked to stop."""
        return self._stop() or (self._due.together and self.run.asked_to_stop())

    def _between(self) -> bool:
        """What a match asks between two of its looks, so it is alive."""
        self._beat()
        return self._asked()

    def _alone(self, work: Callable[[], T]) -> T | None:
        """What the first host finds out while the others wait; None on them, and where a stop came first.

        All stay awake for signals. A match looks at the stop itself; one that is being compiled is left behind, but
        where there are several hosts: their programs may not run beside it.
        """
        if not devices.is_first_host():
            return None
        found = Aside(work).wait(self._asked, math.inf if self._due.together else PATIENCE)
        heap.give_back()  # what was compiled for it
        return found

    def _meet(self, where: str) -> None:
        """Waits for the other hosts, and lets them know of a stop, as they may be at work for long."""

        def pass_on() -> bool:
            if self._stop():
                self.run.ask_to_stop()
            return False

        if self._due.together:
            Aside(lambda: hosts.meet(where)).wait(pass_on, math.inf)

    def advance(self) -> None:
        """One iteration; where its numbers are broken the run goes back to its last good checkpoint, once."""
        try:
            self._advance()
        except (DivergedError, EvaluatorError) as fault:
            self._go_back(fault)

    def heard(self) -> bool:
        """Hears what is left before the end; False where it was broken and the run has iterations to make again."""
        try:
            self._hear_all()
        except (DivergedError, EvaluatorError) as fault:
            self._go_back(fault)
        return self.finished or self.stopped

    def _go_back(self, fault: Exception) -> None:
        """Other random numbers from there on: the same ones would end the same way."""
        seen = f"iteration {self.iteration}: {fault}{self._sound}"
        self._underway.clear()
        del self.state  # before another one is read into the same memory
        found = None if self._fell else self._restore()
        while found is not None and not _is_good(found[1].learner):
            step, found = found[0], None
            found = self._restore(before=step)
        if found is None:
            before = f"; it had gone back once already, after {self._fell}" if self._fell else ""
            raise DivergedError(
                f"{seen}{before}; train with a lower learner.rate in another folder, from weights of this run if they "
                f"play well: --init-from {self.run.path}/STEP"
            ) from None
        state, self._fell = going_back.renewed(found[1]), seen  # before anything is removed
        self.run.say(f"{seen}; going back to checkpoint {found[0]}, once, with other random numbers")
        self.run.forget(found[0])
        going_back.note(self.run, found[0], seen)
        self._take_up(state)
        self._watch(Report("start", self.iteration, self.seconds, {}))

    def _advance(self) -> None:
        """One iteration, then whatever is due; a test comes first, so that a run that was stopped in it tests again."""
        best = self.state.best
        if best is not None and self.iteration - self._tested >= self.config.gate.every and not self.test(best):
            return
        began = time.monotonic()
        self.state, tally = self.trainer.play(self.state)
        played = time.monotonic()
        self.state, learnt = self.trainer.learn(self.state, self._due.spent(self.iteration))
        self.iteration += 1
        word = None
        if self._due.together:
            tally, word = self.trainer.share(tally, self._due.say())
        self._underway.append(Underway(self.iteration, tally, learnt, word, began, played, time.monotonic()))
        if len(self._underway) > 1 or not self._due.started or self.trainer.waits:
            self._hear()
        judgement, save = self._due.judgement, self._due.save
        if save:  # first, or a kill would cost the judgement, too
            self.save()
        if judgement:
            self.judge()

    def end(self, judge: bool = True) -> None:
        """Saves, and judges for the last time."""
        self.save()
        if judge:
            self.judge(final=True)
        self.run.checkpoints.wait()
        self._watch(Report("stopped" if self.stopped else "end", self.iteration, self.seconds, {}))

    def save(self) -> None:
        """Writes a checkpoint and the weights to play with; all that it knows has been told by then."""
        self._hear_all()
        self._watch(Report("save", self.iteration, self.seconds, {}))
        played = np.array([divmod(self._games, RADIX), divmod(self._moves, RADIX)], np.int32)
        self.state = self.state._replace(
            seconds=devices.lay(np.float32(self.seconds), self.state.seconds.sharding),
            played=devices.lay(played, self.state.played.sharding),
        )
        self.run.checkpoints.save(self.iteration, self.state)
        # stopped before its first iteration, it leaves the note of what it begins with as it is
        if self.iteration or inherit.first(self.run.path) is None:
            self.run.save_weights(self.iteration, self.state.learner.average, about(self.config))
        self._due.saved()

    def judge(self, final: bool = False) -> None:
        """Measures the player of now."""
        self._hear_all()  # what the device does beside a match would count as slow
        self._watch(Report("judge", self.iteration, self.seconds, {}))
        if not final:
            self.run.save_weights(self.iteration, self.state.learner.average, about(self.config))
        # the first host plays, on its own devices, and the others wait for it
        found = self._alone(lambda: self._judgement(final))
        self._meet(f"judgement {self.iteration}")
        self._due.judged()
        if any(devices.from_first_host([self._asked()])):  # the last judgement has no iteration that would say so
            self._due.end()
        if found:
            self._watch(Report("judge", self.iteration, self.seconds, found))

    def _judgement(self, final: bool) -> dict[str, Any]:
        """Ratings; none, with a word, where a player gives broken numbers (it may be an opponent, and those of the
        run are found in self-play, by all hosts), or where the disk is full or an opponent is gone."""
        try:
            return self._judge(self.iteration, self.state.learner.average, final)
        except UsageError as fault:
            self.run.say(f"iteration {self.iteration} is not judged: {fault}")
            return {}

    def _verdict(self, best: Best) -> Tested:
        """Holds a test of the gate."""
        newest = self.state.learner.average
        try:
            verdict = self._gate((self.iteration, newest), (int(best.step), best.params))
        except EvaluatorError:
            return Tested(broken=1.0)
        except UsageError as fault:  # a full disk ends no run
            self.run.say(f"iteration {self.iteration} is not tested, and the weights of before play on: {fault}")
            return Tested()
        if verdict is None:
            return Tested(held=0.0)
        better = float(verdict.accepted == "H1")
        return Tested(better=better, llr=verdict.llr, pairs=float(verdict.pairs), elo=verdict.elo.value)

    def test(self, best: Best) -> bool:
        """Lets the newest weights make self-play from now on if they are better; False where it was stopped."""
        self._hear_all()  # or the match would count as the iteration before it
        self._watch(Report("gate", self.iteration, self.seconds, {}))
        newest = self.state.learner.average
        known = self._alone(lambda: self._verdict(best)) or Tested(held=0.0)
        self._meet(f"gate {self.iteration}")
        told = Tested(*devices.from_first_host(known))
        if told.broken:  # on all hosts, which go back together
            raise EvaluatorError("the network gave numbers that are not finite in a match of the gate")
        if not told.held:
            self._due.end()
            return False  # the checkpoint says that the test is still to come
        self._tested = self.iteration
        now = devices.lay(np.int32(self.iteration), best.tested.sharding)
        # a copy: the learner gives its own away
        best = Best(jax.tree.map(jnp.copy, newest), now, now) if told.better else best._replace(tested=now)
        self.state = self.state._replace(best=best)
        if told.better:
            self.run.save_weights(self.iteration, newest, about(self.config))
            self._keep_best(best)
        said = {"accepted": bool(told.better), "llr": told.llr, "pairs": round(told.pairs), "elo": told.elo}
        self._watch(Report("gate", self.iteration, self.seconds, {"gate": {"player": int(best.step), **said}}))
        return True

    def _keep_best(self, best: Best) -> None:
        self.run.save_weights(int(best.step), best.params, about(self.config), BEST)

    def _hear_all(self) -> None:
        while self._underway:
            self._hear()

    def _hear(self) -> None:
        """Fetches the numbers of the oldest iteration under way and passes them on."""
        one = self._underway.pop(0)
        tally = {name: float(np.sum(value)) for name, value in jax.device_get(one.tally)._asdict().items()}
        if one.word is not None:
            self._due.hear(Word(*map(float, jax.device_get(one.word))))
        played = time.monotonic()
        learnt = {name: float(value) for name, value in jax.device_get(one.learnt).items()}
        done = time.monotonic()
        rounds = devices.platform(self.trainer.mesh) != "cpu"
        play, whole = one.clock(self._done, played, done, self.trainer.waits, rounds)
        if not self._due.started:
            self._due.start(done)
            heap.give_back()
        self._check(tally, learnt)
        if learnt["ready"] and math.isfinite(learnt["loss"]):
            self._sound = f"; the last loss was {learnt['loss']:.4g}, its gradient {learnt['gradient']:.3g}"
        self._games += round(tally["games"])
        self._moves += round(tally["plies"])
        metrics = _rates(tally, play, whole) | _losses(learnt)
        metrics |= {"games": self._games, "moves": self._moves}
        self._done = done
        self._watch(Report("play", one.iteration, self.seconds, metrics))
        for sentence in self._collapse(metrics):
            self.run.say(f"iteration {one.iteration}: {sentence}")
            if self.config.watch.stop and self.collapsed is None:  # what was seen first ends the run
                told = f"iteration {one.iteration}: {sentence}; watch.stop ends the run there, and it is saved"
                self.collapsed = CollapsedError(told)

    def _check(self, tally: dict[str, float], learnt: dict[str, float]) -> None:
        if tally["broken"]:
            trial.check(self.trainer.game)  # no checkpoint mends the rules
            raise EvaluatorError("the network gave numbers that are not finite in self-play")
        if tally["illegal"]:
            name = type(self.config.search).__name__
            raise UsageError(f"the search {name} chose moves that are not legal in self-play; look at `action` there")
        if learnt["broken"] >= self.config.learner.patience:
            raise DivergedError(f"the last {learnt['broken']:.0f} steps of the learner were broken (NaN or infinite)")


def _is_good(learner: LearnerState) -> bool:
    """Whether the numbers of a checkpoint were whole."""
    return are_finite((learner.params, learner.average)) and not int(learner.broken)


def about(config: TrainConfig) -> dict[str, Any]:
    """What must be known of weights to play with them."""
    return {
        "game": config.game_name,
        "options": dict(config.options),
        "net": net_to_json(config.network),
        "search": search_to_json(rated_search(config)),
        "heads": list(config.targets.heads),
    }


def _rates(tally: dict[str, float], play: float, whole: float) -> dict[str, Any]:
    """What self-play tells, from its sums; `play` and `whole` are seconds of self-play and of the iteration."""
    games, plies = max(tally["games"], 1.0), tally["plies"]
    whole, play = max(whole, 1e-9), max(play, 1e-9)
    told = {
        "games_s": tally["games"] / whole,
        "moves_s": plies / whole,
        "simulations_s": tally["simulations"] / whole,
        "play_moves_s": plies / play,
        "play_simulations_s": tally["simulations"] / play,
        "play_share": play / whole,
        "entropy": tally["entropy"] / plies,
        "surprise": tally["surprise"] / plies,
        "solved": tally["solved"] / plies,
        "spread": max(0.0, tally["squares"] / plies - (tally["values"] / plies) ** 2) ** 0.5,
    }
    if tally["games"]:
        told |= {name: tally[name] / games for name in ("length", "wins", "draws", "resigned")}
    if tally["audited"]:
        told["false_resigns"] = tally["false_resigns"] / tally["audited"]
    return told


def _losses(learnt: dict[str, float]) -> dict[str, Any]:
    """What the learner tells; nothing of a loss before its first step."""
    told: dict[str, Any] = {name: learnt[name] for name in ("samples", "window", "step", "skipped")}
    if not learnt["ready"]:
        return told
    parts = {name.removeprefix("loss_"): value for name, value in learnt.items() if name.startswith("loss_")}
    more = {name: learnt[name] for name in ("targets", "gradient", "rate")}
    return told | {"loss": {"total": learnt["loss"], **parts}} | more
