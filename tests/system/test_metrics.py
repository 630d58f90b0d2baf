"""Rows of metrics: whole lines only, taken back on resume, and told elsewhere by the same names."""

import json
import sys
import threading
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from jaxgo.core.errors import UsageError
from jaxgo.system import aside, metrics
from jaxgo.system.metrics import FILE, Beside, Metrics, TensorBoard, WeightsAndBiases, read_drawable, read_rows


class Told:
    def __init__(self) -> None:
        self.rows: list[tuple[int, dict[str, float]]] = []
        self.closed = False

    def write(self, step, numbers):
        self.rows.append((step, dict(numbers)))

    def close(self):
        self.closed = True


def test_rows_come_back_and_are_told_elsewhere(tmp_path):
    told = Told()
    metrics = Metrics(tmp_path, sinks=[told])
    metrics.write(1, {"loss": {"policy": np.float32(0.5), "value": float("nan")}, "lengths": np.arange(3), "name": "x"})
    metrics.close()
    assert read_rows(tmp_path) == [
        {"iteration": 1, "loss": {"policy": 0.5, "value": None}, "lengths": [0, 1, 2], "name": "x"}
    ]
    assert told.rows == [(1, {"loss/policy": 0.5})]
    assert told.closed
    assert "NaN" not in (tmp_path / "metrics.jsonl").read_text()


@pytest.mark.parametrize("fault", ["fails", "hangs"])
def test_a_sink_that_fails_or_hangs_is_told_once_and_ends_no_run(tmp_path, monkeypatch, fault):
    """tensorboardX waits for its thread, which a full disk has ended; the run waited with it."""
    told, said, free = Told(), list[str](), threading.Event()

    class Faulty(Told):
        def write(self, step, numbers):
            if fault == "fails":
                raise RuntimeError("No space left\non device")
            free.wait()

        close = write if fault == "fails" else Told.close

    monkeypatch.setattr(metrics, "PATIENCE", 0.1 if fault == "hangs" else 60.0)
    monkeypatch.setattr(metrics, "WAITING", 10 if fault == "hangs" else 100)
    faulty = Beside("TensorBoard", Faulty(), said.append)
    rows = Metrics(tmp_path, sinks=[faulty, told])
    for iteration in range(1, 21):
        rows.write(iteration, {"loss": 0.5})
    rows.close()
    assert len(read_rows(tmp_path)) == len(told.rows) == 20
    assert told.closed
    reason = "No space left" if fault == "fails" else "it is late by 10 rows"
    assert said == [f"TensorBoard does not get all numbers ({reason}); metrics.jsonl has them"]
    assert aside.work_is_left() == (fault == "hangs"), "the process does not wait for it"
    free.set()


def test_a_sink_beside_gets_every_row_in_order(tmp_path):
    told, said = Told(), list[str]()
    rows = Metrics(tmp_path, sinks=[Beside("TensorBoard", told, said.append)])
    for iteration in range(1, 6):
        rows.write(iteration, {"loss": iteration})
    rows.close()
    assert told.rows == [(iteration, {"loss": iteration}) for iteration in range(1, 6)]
    assert told.closed
    assert not said


def test_a_resumed_run_takes_back_what_it_will_do_again(tmp_path):
    metrics = Metrics(tmp_path)
    for iteration in range(1, 6):
        metrics.write(iteration, {"loss": iteration})
    metrics.close()
    with open(tmp_path / "metrics.jsonl", "a") as file:
        file.write('{"iteration": 6, "lo')  # a full disk
    assert [row["iteration"] for row in read_rows(tmp_path)] == [1, 2, 3, 4, 5]
    metrics = Metrics(tmp_path, step=3)
    metrics.write(4, {"loss": 4})
    metrics.close()
    assert [json.loads(line)["iteration"] for line in (tmp_path / "metrics.jsonl").read_text().splitlines()] == [
        1,
        2,
        3,
        4,
    ]


def test_a_judgement_that_is_made_again_takes_the_place_of_its_row(tmp_path):
    for elo in (1, 2, 3):
        metrics = Metrics(tmp_path, step=5)
        if elo == 1:
            metrics.write(5, {"phase": "play", "loss": 1})
        metrics.write(5, {"phase": "judge", "elo": elo})
        metrics.close()
        assert [(row["phase"], row.get("elo")) for row in read_rows(tmp_path)] == [("play", None), ("judge", elo)]


def test_a_folder_may_be_named_by_a_text(tmp_path):
    (tmp_path / FILE).write_text('{"iteration": 1, "seconds": 2.0}\n')
    assert read_rows(str(tmp_path)) == read_drawable(str(tmp_path)) == [{"iteration": 1, "seconds": 2.0}]


def test_rows_of_no_iteration_are_left_out(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"iteration": 1}\n{"iteration": null}\n{"iteration": "3"}\n{"iteration": [1]}\n{"iteration": 2}\n')
    assert [row["iteration"] for row in read_rows(tmp_path)] == [1, 2]
    Metrics(tmp_path, step=1).close()
    assert path.read_text() == '{"iteration": 1}\n'
    path.unlink()
    path.mkdir()
    with pytest.raises(UsageError, match=r"metrics\.jsonl cannot be read .*; move it away"):
        read_rows(tmp_path)


@pytest.mark.parametrize(
    "wrong",
    [
        {"seconds": "x"},
        {"seconds": None},
        {"elo": [1]},
        {"elo": {"a": 3}},
        {"elo": {"a": ["x", 1]}},
        {"loss": "abc"},
        {"length": "x"},
    ],
)
def test_rows_that_could_not_be_drawn_are_left_out(wrong, tmp_path):
    sound = {"iteration": 1, "seconds": 1.0, "elo": {"a": [1.0, None]}, "loss": {"total": 0.5}, "length": 9.0}
    (tmp_path / FILE).write_text("".join(json.dumps(row) + "\n" for row in (sound, sound | wrong)))
    assert read_drawable(tmp_path) == [sound]


def test_a_missing_package_is_named_with_its_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(UsageError, match=r"--log\.tensorboard needs tensorboardX: `uv sync --extra tensorboard`"):
        TensorBoard(tmp_path)
    with pytest.raises(UsageError, match=r"--log\.wandb needs wandb: `uv sync --extra wandb`"):
        WeightsAndBiases(tmp_path, "jaxgo", {})


def test_a_resumed_folder_goes_on_with_the_same_run_elsewhere(tmp_path, monkeypatch):
    asked, rows = [], []

    def init(**options):
        asked.append(options)
        return SimpleNamespace(log=rows.append, define_metric=lambda *names, **by: asked[-1].update(by))

    module = ModuleType("wandb")
    module.init = init
    monkeypatch.setitem(sys.modules, "wandb", module)
    for step in (7, 5):  # as where a run has gone back
        WeightsAndBiases(tmp_path, "jaxgo", {"a": 1}).write(step, {"loss/total": 0.5})
    assert rows == [{"iteration": 7, "loss/total": 0.5}, {"iteration": 5, "loss/total": 0.5}]
    assert asked[0]["step_metric"] == "iteration"
    assert asked[0] == asked[1]
    assert asked[0]["resume"] == "allow"
    assert len(asked[0]["id"]) == 12

    def refuse(**options):
        raise RuntimeError("No API key configured.\nUse `wandb login` to log in.")

    module.init = refuse
    with pytest.raises(
        UsageError, match=r"^--log\.wandb jaxgo: No API key configured\.; log in with `wandb login`, or"
    ):
        WeightsAndBiases(tmp_path, "jaxgo", {})
