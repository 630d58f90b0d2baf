"""The ablation machine: settings are read before anything is trained, nothing is asked twice, and seeds decide."""

import dataclasses
import json
import operator
from pathlib import Path
from types import SimpleNamespace

import ablations
import jax
import kept_runs
import numpy as np
import pytest
import seed_bars
import variants

from jaxgo.arena.sprt import Sprt
from jaxgo.core.errors import UsageError
from jaxgo.search import Puct
from jaxgo.system.rundir import RunDir
from jaxgo.system.weights import load_weights
from jaxgo.training.config import to_json
from jaxgo.training.presets import preset

PRESET, NOWHERE = "tictactoe-cpu", Path("nowhere")
SPRT = Sprt(0.0, 30.0)


def test_every_variant_changes_what_it_names():
    plain = preset("connect4-cpu").config
    config = variants.changed("connect4-cpu", [one for some in variants.VARIANTS.values() for one in some], NOWHERE)
    for name, settings in variants.VARIANTS.items():
        places = [operator.attrgetter(one.partition("=")[0]) for one in settings]
        assert any(of(config) != of(plain) for of in places), name


def test_a_setting_is_read_by_its_kind():
    typed = ("search=puct", "search.solver=no", "targets.heads=short,reply", "learner.rate=6e-3", "learner.batch=64")
    config = variants.changed(PRESET, typed, NOWHERE)
    assert isinstance(config.search, Puct)
    assert not config.search.solver
    assert config.targets.heads == ("short", "reply")
    assert (config.learner.rate, config.learner.batch) == (0.006, 64)
    assert variants.changed(PRESET, ("targets.heads=",), NOWHERE).targets.heads == ()


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("learner.rate", "PART.NAME=VALUE"),
        ("seed=3", "the same for all runs"),
        ("budget.seconds=9", "the same for all runs"),
        ("learner.rat=1", "did you mean --learner.rate"),
        ("learner.rate=fast", "learner.rate"),
        ("learner.batch=2.5", "learner.batch"),
        ("search.solver=perhaps", "neither yes nor no"),
        ("targets.horizons=4,soon", "targets.horizons"),
        ("learner.rate=-1", "above 0"),
        ("search=best", "unknown search"),
    ],
)
def test_a_setting_that_is_wrong_is_told(setting, said):
    with pytest.raises(UsageError, match=said):
        variants.changed(PRESET, (setting,), NOWHERE)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"only": "luck"}, "unknown variant"),
        ({"change": ((),)}, "no settings"),
        ({"change": (("learner.warmup=100",),), "preset": "connect4-cpu"}, "changes nothing"),
        ({"seeds": 1}, "at least 2"),
        ({"minutes": float("nan")}, "above 0"),
        ({"preset": "slide8", "only": "ema"}, "puzzle"),
    ],
)
def test_what_cannot_be_measured_is_told_before_anything_is_trained(options, said, tmp_path):
    with pytest.raises(UsageError, match=said):
        ablations.configs(ablations.Ablations(**options), tmp_path)
    assert not list(tmp_path.iterdir())


def test_variants_are_those_named_and_those_typed():
    typed = (("learner.ema=0", "learner.reuse=2"),)
    assert set(ablations.wanted(ablations.Ablations())) == set(variants.VARIANTS)
    assert ablations.wanted(ablations.Ablations(change=typed)) == {"learner.ema=0 learner.reuse=2": typed[0]}
    both = ablations.wanted(ablations.Ablations(only="ema, sgd", change=typed))
    assert list(both) == ["ema", "sgd", "learner.ema=0 learner.reuse=2"]


def test_a_question_is_asked_once(tmp_path):
    answers = iter([[1, 2], "another"])
    assert [kept_runs.found(tmp_path, "a", lambda: next(answers)) for _ in range(2)] == [[1, 2], [1, 2]]
    assert kept_runs.found(tmp_path, "b", lambda: next(answers)) == "another"
    (tmp_path / kept_runs.FOUND).write_text("{")
    with pytest.raises(UsageError, match="JSON"):
        kept_runs.found(tmp_path, "a", lambda: 1)


def test_a_preset_that_begins_with_weights_begins_so_here(tmp_path, monkeypatch):
    config = kept_runs.for_minutes(preset("go9-late-cpu").config, 1.0)
    monkeypatch.setattr(kept_runs, "train", lambda config, run: SimpleNamespace(iteration=3))
    assert kept_runs.trained(config, tmp_path / "run", "go9-cpu") == 3
    assert load_weights(tmp_path / "run", 0)[0]["from"] == "go9-cpu"
    assert kept_runs.starts(config, tmp_path / "run", "go9-cpu") is None, "they are here by now"
    other = ablations.Ablations(preset="go9-late-cpu", change=(("net.channels=8",),))
    monkeypatch.setattr(ablations.ready, "check", lambda trainer: None)
    with pytest.raises(UsageError, match=r"do not fit, as net\.channels is 32 there and 8 here"):
        ablations.configs(other, tmp_path / "other")


# -- what seeds say --------------------------------------------------------------------------------------------------


def drawn(true: float, spread: float, runs: int, seeds: int, pairs: int = 64) -> np.ndarray:
    """Pairs by outcome of matches between runs that differ so much on average, and so much from seed to seed."""
    rng = np.random.default_rng(0)
    score = 1 / (1 + 10 ** (-(true + spread * rng.standard_normal((runs, seeds))) / 400))
    points = rng.binomial(4, score[..., None], (runs, seeds, pairs))
    return (points[..., None] == np.arange(5)).sum(-2)


def test_the_bar_is_students_and_never_narrower_than_that_of_games():
    mean, bar = seed_bars.mean_and_bar([1.0, 2.0, 6.0])
    np.testing.assert_allclose([mean, bar], [3.0, 4.302653 * np.std([1, 2, 6], ddof=1) / np.sqrt(3)], rtol=1e-5)
    same = seed_bars.judge(SPRT, [[5, 10, 20, 18, 11]] * 3)
    assert same.error_95 == same.error_95_of_games > 10
    apart = seed_bars.judge(SPRT, [[0, 0, 4, 20, 40], [40, 20, 4, 0, 0]])
    assert apart.error_95 > 1000 > 10 * apart.error_95_of_games
    assert apart.verdict == seed_bars.UNDECIDED


def test_sides_are_told_apart_and_one_seed_says_nothing():
    counts = np.array([[2, 6, 20, 20, 16]] * 4)
    ours, theirs = seed_bars.judge(SPRT, counts), seed_bars.judge(SPRT, counts[:, ::-1])
    assert (ours.verdict, theirs.verdict) == (seed_bars.BETTER, seed_bars.WORSE)
    np.testing.assert_allclose([ours.elo, ours.llr_better], [-theirs.elo, theirs.llr_worse])
    assert seed_bars.judge(SPRT, counts[:1]).verdict == seed_bars.UNDECIDED
    even = seed_bars.judge(SPRT, [[8, 16, 144, 16, 8]] * 6)
    assert even.verdict == seed_bars.NEITHER


def test_matches_without_a_loss_are_finitely_far():
    answer = seed_bars.judge(SPRT, [[0, 0, 0, 0, 64]] * 2)
    assert all(np.isfinite([answer.elo, answer.error_95, answer.llr_better]))
    assert answer.elo > 800
    draws = seed_bars.judge(SPRT, [[0, 0, 64, 0, 0]] * 2)
    assert draws.elo == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("spread", [0.0, 40.0, 80.0])
def test_of_equals_one_in_twenty_is_called_better_at_most(spread):
    counts, runs = drawn(0.0, spread, 600, 6), 600
    evidence = np.stack([seed_bars.evidence(SPRT, counts[:, :n]) for n in range(2, 7)])
    better = (evidence[..., 0] >= SPRT.bounds[1]).any(axis=0).sum()
    assert better / runs < 0.05 + 2 * np.sqrt(0.05 * 0.95 / runs)


def test_what_is_kept_is_not_trained_again_and_becomes_a_row(tmp_path, monkeypatch, capsys):
    """The matches are there already; seeds are added until they decide, and no further."""
    options = ablations.Ablations(only="ema", preset=PRESET, minutes=1.0, runs=tmp_path)
    trained = []

    def train(config, run):
        trained.append((config.learner.ema, config.seed))
        return SimpleNamespace(iteration=7 if config.learner.ema else 9)

    monkeypatch.setattr(kept_runs, "train", train)
    monkeypatch.setattr(ablations.ready, "check", lambda trainer: None)
    monkeypatch.setattr(jax, "clear_caches", lambda: None)  # the programs of other tests
    machine = ablations.Machine(options)
    for seed in range(4):
        folder = machine.folder("ema", seed)
        with RunDir(folder, to_json(dataclasses.replace(machine.configs["ema"], seed=seed))):
            question = "64 pairs against plain at 64 simulations"
            kept_runs.found(folder, question, lambda: [0, 1, 12, 30, 21])
    for _ in range(2):
        machine.run()
        row = json.loads(capsys.readouterr().out)
        assert (row["question"], row["verdict"], row["change"]) == ("ablation/ema", "better", "learner.ema=0")
        assert (row["iterations"], row["iterations_plain"]) == (9, 7)
        assert row["games"] == 128 * len(row["elo_of_seeds"]) < 128 * 4
        assert len(trained) == 2 * len(row["elo_of_seeds"])
