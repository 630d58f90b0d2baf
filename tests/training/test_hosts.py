"""Two hosts on one machine: one run, one folder, the numbers of one host with as many devices."""

import json
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import jax
import numpy as np
import pytest
import several
from several import finish, own_words, wait

from jaxgo.system.devices import LOST
from jaxgo.system.metrics import read_rows
from jaxgo.system.stop import TRY_AGAIN
from jaxgo.system.weights import load_weights

RUN = shlex.split(
    "tictactoe-cpu --plain --budget.seconds 0 --save-every 0 --search small_run:Drawn --selfplay.opening 1 "
    "--selfplay.games 8 --selfplay.steps 4 --net.width 8 --net.blocks 1 --learner.batch 16 --replay.capacity 256 "
    "--replay.start 32 --judge.opponents random --judge.final-pairs 2"
)
# the command but for its report, which no test here reads; its curves take longer than the games
TRAIN = """
import sys
from jaxgo.cli.main import program
from jaxgo.ui import run_report
run_report.write = lambda run: []
sys.exit(program("train"))
"""
BOUND = LOST - 5  # seconds within which all end when a host is lost: before JAX would end them
NOT_THE_CLOCK = ("loss", "samples", "step", "games", "moves", "gradient", "length", "entropy")
# each host traces and compiles for itself, six at once
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]


def start(
    run: Path, hosts: int, devices: int | Sequence[int], *more: str, final: tuple[str, ...] = ()
) -> list[subprocess.Popen[str]]:
    """A run on so many processes with so many devices each, judged at its end by those who are named."""
    return several.start(["-c", TRAIN, *RUN, "--run", str(run), "--judge.final", *final, *more], hosts, devices)


def learnt(run: Path) -> list[dict]:
    rows = [row for row in read_rows(run) if row["phase"] == "play"]
    return [{name: row[name] for name in NOT_THE_CLOCK if name in row} for row in rows]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The same run on two hosts of two devices, and on one of four."""
    folder = tmp_path_factory.mktemp("hosts")
    said = finish(start(folder / "two", 2, 2, "--budget.iterations", "6", final=("random",)))
    finish(start(folder / "one", 1, 4, "--budget.iterations", "6"))
    return folder, said


def alike(run: Path, other: Path) -> None:
    """Two runs of six iterations that are to learn the same."""
    ours, theirs = learnt(run), learnt(other)
    assert len(ours) == 6
    assert any("loss" in row for row in ours)
    for mine, yours in zip(ours, theirs, strict=True):
        assert mine.keys() == yours.keys()
        for name in mine:
            np.testing.assert_allclose(
                *(np.array(list(x.values()) if isinstance(x, dict) else x) for x in (mine[name], yours[name])),
                rtol=1e-4,
                atol=1e-5,
            )


def test_two_hosts_learn_what_one_learns(runs):
    folder, said = runs
    alike(folder / "two", folder / "one")
    (_, params), (_, alone) = load_weights(folder / "two", 6), load_weights(folder / "one", 6)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4), params, alone)
    assert "random" in said[0]
    assert own_words(said[1]) == [], "only the first host speaks"


def test_hosts_with_unequal_numbers_of_devices_learn_what_one_learns_and_go_on_after_a_signal(runs, tmp_path):
    """JAX lets hosts compare their numbers, and tell each other some, only where they have equally many. A signal on
    one of them saves on all, and other devices of theirs go on."""
    run = tmp_path / "run"
    finish(start(run, 2, (3, 1), "--budget.iterations", "6"))
    alike(run, runs[0] / "one")
    children = start(run, 2, (1, 3), "--budget.iterations", "100000")
    try:
        wait(children, lambda: len(learnt_rows(run)) >= 8)
        os.kill(children[1].pid, signal.SIGTERM)
        ended = [child.wait(timeout=120) for child in children]
    finally:
        for child in children:
            child.kill()
    assert ended == [143, 143]
    step = last_step(run)
    assert step >= 8
    said = finish(start(run, 2, 2, "--budget.iterations", str(step + 2)))
    assert "going on in" in said[0]
    assert [row["iteration"] for row in learnt_rows(run)] == list(range(1, step + 3))


def test_a_signal_on_another_host_ends_a_judgement(runs, tmp_path):
    """The first host plays games of hours, the other waits for it, and hears the signal. Both began with the weights of
    another run."""
    run = tmp_path / "run"
    words = (
        "--budget.iterations 100000 --judge.every 0.001 --judge.pairs 250 --judge.opponents uct:3000 --judge.slots 1"
    )
    children = start(run, 2, 2, "--init-from", str(runs[0] / "one"), *words.split())
    try:
        wait(children, (run / "matches.jsonl").exists)
        began = time.monotonic()
        os.kill(children[1].pid, signal.SIGTERM)
        said = [child.communicate(timeout=60)[0] for child in children]
        assert time.monotonic() - began < 30, said
    finally:
        for child in children:
            child.kill()
    assert "stopped and saved" in said[0], said
    assert list(run.glob("checkpoints/*/MANIFEST.json"))


JOINED = """
import time
from jaxgo.system import devices
devices.join_hosts()
print("joined", flush=True)
time.sleep(600)
"""


def test_a_signal_ends_a_host_that_waits_for_the_others():
    """JAX heard it there and did nothing."""
    children = several.start(["-c", JOINED], 2, 1)
    try:
        for child in children:
            assert child.stdout.readline() == "joined\n"
        for child in children[::-1]:  # the first one's end would end the other
            child.terminate()
            assert child.wait(60) == -signal.SIGTERM
    finally:
        for child in children:
            child.kill()


OTHER_WORDS = """
import os, sys
from jaxgo.cli.main import main
sys.exit(main([*sys.argv[3:], *(sys.argv[1:3] if os.environ["JAX_PROCESS_ID"] == "1" else [])]))
"""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        # the other one waited for it for five minutes, and JAX ended both in its own words
        (("--init-from", "nowhere"), "'nowhere' is no run folder"),
        # weights parted from host to host
        (("--learner.rate", "0.01"), "the first host has learner.rate=0.002, and this one 0.01;"),
    ],
)
def test_a_host_that_cannot_begin_ends_the_other_with_its_words(words, said, tmp_path):
    every = ["train", *RUN, "--run", str(tmp_path / "run"), "--budget.iterations", "6"]
    first, second = finish(several.start(["-c", OTHER_WORDS, *words, *every], 2, 1), status=2)
    assert f"jaxgo: {said}" in second
    assert f"jaxgo: host 1: {said}" in first


APART = """
import os, sys
from jaxgo.cli.main import main
sys.exit(main([*sys.argv[2:], "--run", f"{sys.argv[1]}/{os.environ['JAX_PROCESS_ID']}"]))
"""


def test_hosts_that_have_other_folders_are_told_before_the_run_begins(tmp_path):
    """As with a relative path on hosts with disks of their own: they hung in the first checkpoint."""
    first, second = finish(several.start(["-c", APART, str(tmp_path), "train", *RUN], 2, 1), status=2)
    assert f"jaxgo: {tmp_path / '1'} is not the folder that the first host has" in second
    assert f"jaxgo: host 1: {tmp_path / '1'} is not the folder" in first
    assert not (tmp_path / "1").exists()


FULL_FOR_ONE = """
import resource, sys
import jax, numpy as np
from jaxgo.system import devices
devices.join_hosts()
from jaxgo.system.rundir import RunDir
data = np.random.default_rng(1).random(2**19, np.float32)
place = devices.split(devices.make_mesh())
state = {"x": jax.make_array_from_callback(data.shape, place, lambda part: data[part])}
me, most = jax.process_index(), resource.getrlimit(resource.RLIMIT_FSIZE)
with RunDir(sys.argv[1], {"game": "connect4"}, say=print) as run:
    for step, full in enumerate([None, 0, 1, None], 1):
        resource.setrlimit(resource.RLIMIT_FSIZE, (2**16 if me == full else most[0], most[1]))
        run.checkpoints.save(step, state)
        run.checkpoints.wait()
        print(step, run.checkpoints.unsaved)
    step, found = run.checkpoints.restore(state)
    print(step, all((part.data == data[part.index]).all() for part in found["x"].addressable_shards))
"""


def test_a_checkpoint_that_one_host_cannot_write_keeps_the_others_waiting_for_nobody(tmp_path):
    """They waited for twenty minutes, at each checkpoint. What one of them cannot write is saved by none."""
    said = finish(several.start(["-c", FULL_FOR_ONE, str(tmp_path)], 2, 1))
    for host, text in enumerate(said):
        told = [line for line in own_words(text) if "could not be saved" in line]
        assert [f"host {1 - host} could not do its part" in line for line in told] == [host == 1, host == 0], said
        steps = [line for line in own_words(text) if line[0].isdecimal()]
        assert steps == ["1 False", "2 True", "3 True", "4 False", "4 True"], said
    assert {path.parent.name for path in tmp_path.glob("checkpoints/*/MANIFEST.json")} == {"00000001", "00000004"}


def learnt_rows(run: Path) -> list[dict]:
    return [row for row in read_rows(run) if row["phase"] == "play"]


def wait_for_a_checkpoint(run: Path, children: list[subprocess.Popen[str]]) -> None:
    wait(children, lambda: list(run.glob("checkpoints/*/MANIFEST.json")))


def last_step(run: Path) -> int:
    return json.loads(max(run.glob("checkpoints/*/MANIFEST.json")).read_text())["step"]


def test_a_host_that_is_gone_ends_the_other(tmp_path):
    run = tmp_path / "run"
    children = start(run, 2, 2, "--budget.iterations", "100000", "--save-every", "0.01")
    try:
        wait_for_a_checkpoint(run, children)
        children[1].kill()
        began = time.monotonic()
        assert children[0].wait(timeout=90) != 0
        assert time.monotonic() - began < BOUND
    finally:
        for child in children:
            child.kill()
    # the devices may be those of one host now
    finish(start(run, 1, 4, "--budget.iterations", str(last_step(run) + 2)))


def test_a_host_that_does_not_answer_ends_the_other_and_other_devices_go_on(tmp_path):
    """Three runs beside each other, as most of it is waiting: a host is stopped, which is not dead; the first one is;
    or the first one is killed. In the first case the one that was stopped wakes up, and the run goes on without it, on
    one device. The last run goes on on four of one host."""
    cases = {"second": (1, signal.SIGSTOP), "first": (0, signal.SIGSTOP), "killed": (0, signal.SIGKILL)}
    words = "--budget.iterations", "100000", "--save-every", "0.01"
    runs = {name: start(tmp_path / name, 2, 1, *words) for name in cases}
    try:
        for name, children in runs.items():
            wait_for_a_checkpoint(tmp_path / name, children)
        began = time.monotonic()
        for name, (which, number) in cases.items():
            os.kill(runs[name][which].pid, number)
        said = {name: runs[name][1 - which].communicate(timeout=90)[0] for name, (which, _) in cases.items()}
        assert time.monotonic() - began < BOUND, said
        assert "host 1 has given no sign of life" in said["second"]
        assert "the first host has given no sign of life" in said["first"]
        assert [runs[name][1 - which].returncode for name, (which, _) in cases.items()][:2] == [TRY_AGAIN, TRY_AGAIN]
        assert runs["killed"][1].returncode not in (0, TRY_AGAIN), "JAX ends it before we can"
        assert "Terminating process because the JAX distributed service detected fatal errors" in said["killed"]
        os.kill(runs["second"][1].pid, signal.SIGCONT)
        assert runs["second"][1].wait(timeout=BOUND) != 0, "the others have left it"
    finally:
        for child in [child for children in runs.values() for child in children]:
            child.kill()
    # each goes on by itself, at the same time
    more = {"second": 1, "killed": 4}
    steps = {name: last_step(tmp_path / name) for name in more}
    words = {name: ("--budget.iterations", str(step + 2)) for name, step in steps.items()}
    again = [start(tmp_path / name, 1, count, *words[name])[0] for name, count in more.items()]
    for (name, count), told in zip(more.items(), finish(again), strict=True):
        assert f"checkpoint {steps[name]} is of 2 devices and goes on on {count}" in told
        assert [row["iteration"] for row in learnt_rows(tmp_path / name)] == list(range(1, steps[name] + 3))
