"""The judge: its players are quiet, their names load them, and what it writes can be rated."""

import dataclasses
import types
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from jaxgo.arena import elo, records
from jaxgo.arena.openings import start_only
from jaxgo.arena.schedule import Schedule
from jaxgo.arena.tournament import Tournament
from jaxgo.core.errors import UsageError
from jaxgo.nets import Mlp
from jaxgo.players import load_player, spec
from jaxgo.search import Gumbel, Puct, Random, Uct
from jaxgo.system import devices
from jaxgo.system.rundir import RunDir
from jaxgo.training import judge as judges
from jaxgo.training import presets
from jaxgo.training.config import GateConfig, JudgeConfig, TrainConfig, from_json, to_json
from jaxgo.training.judge import Judge, opponents, rated_search
from jaxgo.training.loop import about
from jaxgo.training.trainer import Trainer

CONFIG = TrainConfig(game="tictactoe", net=Mlp(width=8, blocks=1))


@pytest.mark.slow
@pytest.mark.parametrize(
    "search",
    [
        Puct(simulations=8, noise=0.25, forced=2.0, fpu="parent", c_init=2.0, parallel_leaves=4),
        Gumbel(simulations=8, max_considered=4, min_value_range=1.0),
        Uct(simulations=8, c=0.5),
    ],
)
@pytest.mark.parametrize("simulations", [0, 24])
def test_the_name_that_is_written_loads_the_player_that_was_judged(search: Any, simulations: int, tmp_path: Path):
    config = dataclasses.replace(CONFIG, search=search, judge=JudgeConfig(simulations=simulations))
    assert from_json(to_json(config)) == config
    trainer = Trainer(config, devices.make_mesh())
    params = jax.jit(trainer.model.init)(jax.random.key(1))
    with RunDir(tmp_path / "a run, 1", to_json(config)) as run:
        run.save_weights(7, params, about(config))
        run.checkpoints.wait()
        player = Judge(trainer, run).player(7, params)
    game = config.make_game()
    assert player.search == dataclasses.replace(search.quiet(), simulations=simulations or 8), "without any noise"
    assert player.search.quiet() == player.search
    assert spec(player) == player.name
    for text in (player.name, f"@{run.path}", f"@{run.path}:7"):
        loaded = load_player(text, game)
        assert loaded == player
        assert loaded.search == player.search
        assert loaded.name == player.name
        assert loaded.fingerprint() == player.fingerprint()


def test_more_pairs_than_a_match_has_room_for_are_refused():
    JudgeConfig(pairs=100_000, final_pairs=100_000)
    for name in ("pairs", "final_pairs"):
        with pytest.raises(UsageError, match=rf"^judge\.{name}=100001 is too large; at most 100,000$"):
            JudgeConfig(**{name: 100_001})
    with pytest.raises(UsageError, match=r"^judge\.past=1000000000 is too large; at most 100$"):
        JudgeConfig(past=1_000_000_000)


def test_every_preset_is_judged_as_a_player_that_its_weights_name():
    for preset in map(presets.preset, presets.names()):
        search: Any = rated_search(preset.config)
        assert search.quiet() == search
        assert search.budget == (preset.config.judge.simulations or preset.config.search.budget)


def test_two_players_of_one_name_are_rated_apart():
    def pairs(count: int, result: float, code: str) -> list[records.PairResult]:
        return [
            records.PairResult("go5", "uct:8", "random", result, result, f"{code}{n}", checkpoints=(code, "r"))
            for n in range(count)
        ]

    table = elo.rate([*pairs(20, 1.0, "first"), *pairs(20, 0.5, "second"), *pairs(20, 0.5, "")])
    assert set(table.agents) == {"uct:8", "random", "uct:8 #first"}
    assert table.rating("uct:8 #first").value > table.rating("uct:8").value + 50
    assert any("uct:8 has been several players" in note for note in table.notes)
    assert not any("several" in note for note in elo.rate(pairs(20, 1.0, "first")).notes)


def test_the_last_player_of_a_name_is_known_by_the_time_and_not_by_the_order_of_files():
    found = [
        records.PairResult("go5", "uct:8", "random", 1.0, 1.0, code, checkpoints=(code, "r"), time=f"2026-01-0{day}")
        for day, code in ((2, "new"), (1, "old"))
    ]
    assert set(elo.rate(found).agents) == {"uct:8", "random", "uct:8 #old"}


def test_judgements_and_tests_of_a_run_share_one_program(tmp_path: Path):
    """A gate plays more pairs than a judgement, and an opponent may have weights of its own."""
    search, met = Gumbel(simulations=4), f"@{tmp_path / 'other' / '7'}"
    config = dataclasses.replace(
        CONFIG,
        search=search,
        judge=JudgeConfig(pairs=4, final_pairs=8, opponents=("random", met), final=("uct:4",)),
        gate=GateConfig(every=1, pairs=100),
    )
    trainer = Trainer(config, devices.make_mesh())
    blank = jax.eval_shape(trainer.model.init, jax.random.key(1))
    game, params = trainer.game, jax.tree.map(lambda x: np.zeros(x.shape, x.dtype), blank)
    with RunDir(tmp_path / "other", to_json(config)) as other:
        other.save_weights(7, params, about(config))
    with RunDir(tmp_path / "run", to_json(config)) as run:
        judge = Judge(trainer, run)
        one, two = (judge.player(step, params) for step in (1, 2))
        known = opponents(config)
        others = [known[spec] for spec in config.judge.opponents]
        played = [
            judge.tournament(players, list(known.values()), Schedule("gauntlet", pairs), start_only(game), file)
            for players, pairs, file in (
                ([one, *others], 4, "matches.jsonl"),
                ([two, one, *others], 4, "matches.jsonl"),
                ([two, one, known["uct:4"]], 8, "matches.jsonl"),
                ([two, one], 100, "gate.jsonl"),
            )
        ]
    pools = [tournament.runner.pool for tournament in played]
    programs = {(pool.slots, pool.capacity, *(type(agent.search) for agent in pool.agents)) for pool in pools if pool}
    assert {program[1:] for program in programs} == {(8, Gumbel, Gumbel, Gumbel, Random, Uct)}
    assert len(programs) == 1


def test_a_run_that_meets_its_own_past_alone_begins_with_its_first_player(tmp_path: Path, monkeypatch: Any):
    config = dataclasses.replace(CONFIG, judge=JudgeConfig(opponents=(), past=2))
    trainer = Trainer(config, devices.make_mesh())
    seen: list[list[str]] = []

    def tournament(self: Judge, players: Any, *_: Any, **__: Any) -> Any:
        seen.append([player.name.rpartition("/")[2] for player in players])
        return types.SimpleNamespace(run=lambda: (), ledger=types.SimpleNamespace(results=list))

    monkeypatch.setattr(Judge, "tournament", tournament)
    monkeypatch.setattr(Judge, "_rate", lambda *_: {})
    with RunDir(tmp_path / "run", to_json(config)) as run:
        judge = Judge(trainer, run)
        for step in (1, 2, 3, 4):
            judge(step, {})
        assert seen == [["2", "1"], ["3", "2", "1"], ["4", "3", "2"]]

        seen.clear()  # a sitting of one judgement has nobody in its matches who would say what was judged
        run.save_weights(4, {"x": np.zeros(1)}, {})
        run.checkpoints.wait()
        Judge(trainer, run, began=4)(5, {})
        assert seen == [["5", "4"]]


def test_opponents_are_read_once_a_judgement(tmp_path: Path, monkeypatch: Any):
    """Their weights were read three times; those of a run that goes on could be others each time."""
    config = dataclasses.replace(CONFIG, judge=JudgeConfig(opponents=("random", "uct:8"), final=("random", "uct:16")))
    read: list[str] = []
    monkeypatch.setattr(judges, "load_player", lambda spec, game: read.append(spec) or load_player(spec, game))
    monkeypatch.setattr(Tournament, "run", lambda self: iter(()))
    with RunDir(tmp_path / "run", to_json(config)) as run:
        records.append(run.path / judges.MATCHES, [records.PairResult("tictactoe", "uct:8", "random", 1.0, 1.0, "x")])
        trainer = Trainer(config, devices.make_mesh())
        blank = jax.eval_shape(trainer.model.init, jax.random.key(1))
        judge, params = Judge(trainer, run), jax.tree.map(lambda x: np.zeros(x.shape, x.dtype), blank)
        for final in (False, True):
            judge(1, params, final)
            assert read == ["random", "uct:8", "uct:16"]
            read.clear()
