"""Engines by their specs: how they are written and refused, and tournaments with them."""

import sys

import jax
import numpy as np
import pytest
from engine_tables import GO, GOMOKU, PATIENT, gtp, play

from jaxgo.arena import records
from jaxgo.arena.contest import Contest, seat
from jaxgo.arena.engines import clocked
from jaxgo.arena.engines.clocked import Clocked
from jaxgo.arena.engines.process import Fault
from jaxgo.arena.engines.protocols import RESIGN, Limits
from jaxgo.arena.engines.specs import Program, is_engine, read_engine
from jaxgo.arena.ledger import Ledger
from jaxgo.arena.openings import random_openings, start_only
from jaxgo.arena.runner import Runner
from jaxgo.arena.schedule import Schedule
from jaxgo.arena.tournament import Tournament
from jaxgo.core.errors import UsageError
from jaxgo.core.play import Position
from jaxgo.evaluators import Network
from jaxgo.games import make
from jaxgo.nets import Mlp, to_json
from jaxgo.players import load_player
from jaxgo.search import Model
from jaxgo.system.weights import save_weights
from jaxgo.ui import tables as report


def contest(*agents: str) -> Contest:
    return Contest("go5", GO, tuple(seat(spec, GO) for spec in agents), options=("move_limit=10",))


# -- specs ----------------------------------------------------------------------------------------------------------
def test_specs():
    assert is_engine('gtp:"gnugo --mode gtp"')
    assert is_engine(" gomocup:engine ")
    assert not is_engine("uct:400")
    assert not is_engine("gtps:x")
    assert is_engine("uct:3s")
    assert read_engine(" uct:.5s,c=1.4 ", GO).name == "uct:0.5s,c=1.4", "one player has one name"
    assert read_engine("uct:3.0s", GO).name == "uct:3s"
    assert read_engine("jaxgo.search:Uct:2s,c=1.4", GO).name == "jaxgo.search:Uct:2s,c=1.4", "a search at a place"
    assert is_engine("gumbel:0.5s,max_considered=8@runs/go9")
    assert not is_engine("uct:3")
    plain = read_engine(f"gtp:{sys.executable} -c pass", GO)
    assert plain == Program(f"gtp:{sys.executable} -c pass", "gtp", (sys.executable, "-c", "pass"))
    assert read_engine(f'gtp:"{sys.executable} -c pass"', GO) == plain


def test_a_temperature_is_only_for_players_that_can_have_one(tmp_path):
    game = make("tictactoe")
    clocked, agent = seat("uct:0.2s", game), seat("greedy", game)
    with pytest.raises(UsageError, match="none of these players can have a temperature"):
        Contest("tictactoe", game, (clocked, seat("uct:0.3s", game)), temperature=0.5, hot_plies=4)
    warm = Contest("tictactoe", game, (clocked, agent), temperature=0.5, hot_plies=4)
    play = Tournament(warm, Schedule(pairs=3), random_openings(game, plies=1), tmp_path / "matches.jsonl")
    assert play.notes() == [
        "the temperature is none of uct:0.2s: engines, players by the clock, alpha-beta and random play as ever"
    ]
    sure = seat("alphabeta:30", game)
    with pytest.raises(UsageError, match="none of these players can have a temperature"):
        Contest("tictactoe", game, (sure, seat("alphabeta:2", game)), temperature=0.5, hot_plies=4)
    halves = Contest("tictactoe", game, (sure, agent), temperature=0.5, hot_plies=4)
    assert Tournament(halves, Schedule(pairs=3), random_openings(game, plies=1)).notes()
    cold = Contest("tictactoe", game, (clocked, agent))
    assert Tournament(cold, Schedule(pairs=3), random_openings(game, plies=1)).notes() == []


@pytest.mark.slow
def test_an_engine_with_other_seconds_is_another_player(openings, tmp_path):
    path, one = tmp_path / "matches.jsonl", f"gtp:{sys.executable} -c pass"
    plays = contest(one, "random")

    def tournament(seconds):
        return Tournament(plays, Schedule(pairs=3), openings, path, limits=Limits(move=seconds))

    told = tournament(2.0).ledger.hashes
    assert told[0] == "2 s"
    pair = records.PairResult(
        "go5", plays.players[0].name, "random", 1.0, 0.0, "1", plays.options, checkpoints=tuple(told)
    )
    records.append(path, [pair])
    tournament(2.0)
    for other in (None, 10.0):
        with pytest.raises(UsageError, match="other weights, files, settings or seconds"):
            tournament(other)


def test_a_match_with_a_handicap_says_whom_it_calls_the_first_mover():
    game = make("go7", handicap=2)
    contest = Contest("go7", game, (seat("random", game), seat("greedy", game)), ("handicap=2",))
    (note,) = Tournament(contest, Schedule(pairs=3), random_openings(game, plies=1)).notes()
    assert (
        note == "seat 1 begins here: who moves first in this table is seat 0, in Go who has the stones of the handicap"
    )


@pytest.mark.slow
def test_a_player_by_the_clock_stops_with_the_match():
    """A game that was under way was played to its end: minutes after Ctrl-C, or after a test that was decided."""
    engine = read_engine("uct:0.2s", make("tictactoe")).open(make("tictactoe"), Limits())
    engine.begin([])
    engine.kill()
    with pytest.raises(Fault, match="it was stopped"):
        engine.choose(0)


@pytest.mark.slow
def test_engines_of_one_player_by_the_clock_share_their_programs(monkeypatch):
    """Each table compiled the moves of the game for itself."""
    for _ in range(2):
        game = make("tictactoe")
        engine = read_engine("puct:0.02s", game).open(game, Limits())
        engine.begin([(0, 4)])
        engine.told(1, 0)
        monkeypatch.setattr(type(game), "step", None)


def test_openings_of_engines_have_one_shape(monkeypatch):
    """Each other number of pairs compiled anew."""
    asked, given, game = [], [], make("tictactoe")
    one = Contest("tictactoe", game, (seat("puct:1s", game), seat("random", game)))
    runner = Runner(Ledger(one, Schedule(pairs=8), start_only(game)), room=8)

    def positions(numbers):
        asked.append(len(numbers))
        return Position(np.array(numbers), ())

    def play_pairs(players, game, lines, positions, *_, **__):
        given.append(positions.state.tolist())
        return []

    monkeypatch.setattr(runner._openings, "positions", positions)
    monkeypatch.setattr("jaxgo.arena.engines.referee.play_pairs", play_pairs)
    for numbers in ([0], [1, 2, 3]):
        list(runner.play({(0, 1): numbers}))
    assert asked == [8, 8]
    assert given == [[0], [1, 2, 3]]


@pytest.mark.slow
def test_players_by_the_clock(tmp_path):
    """They play whole games from either seat beside players of so many simulations, and think as long as they may."""
    game = make("tictactoe")
    contest = Contest("tictactoe", game, (seat("uct:0.2s", game), seat("random", game)))
    played = Tournament(contest, Schedule(pairs=3), random_openings(game, plies=1), tmp_path / "matches.jsonl")
    *_, last = played.run()
    assert len(last.results) == 3
    assert not any(pair.problems for pair in last.results)
    assert sum(p.score if p.a.startswith("uct") else 2 - p.score for p in last.results) >= 4
    moves = sum(sum(pair.plies) for pair in last.results)
    assert last.seconds > 0.2 * (moves - 12) / 2 / 2  # half of the moves are its own, two games at once


@pytest.mark.slow  # compiles for seconds
def test_every_game_of_a_player_by_the_clock_has_a_key_of_its_own(monkeypatch):
    """All games began with the same one, so that a player drew alike in each."""
    drawn = []

    class Resigning(Clocked):
        def draw_by(self, key):
            drawn.append(tuple(jax.random.key_data(key).tolist()))

        def begin(self, moves):
            pass

        def choose(self, seat):
            return RESIGN

    monkeypatch.setattr(clocked, "Clocked", Resigning)
    openings = random_openings(make("tictactoe"), plies=1)
    for _ in range(2):
        play(openings, "uct:1s", "uct:2s", pairs=2)
    assert len(set(drawn)) == 2 * 2 * 2
    assert sorted(drawn[:8]) == sorted(drawn[8:]), "the keys are those of the pairs"


@pytest.mark.slow
def test_a_player_by_the_clock_is_told_by_its_weights(tmp_path, monkeypatch):
    """Its name was what had been typed, without a hash: pairs of older weights of a run counted for the newest ones."""
    monkeypatch.setattr(clocked, "Clocked", Resigns)
    game, net = make("tictactoe"), Mlp(width=4, blocks=1)
    model = Model(game, Network(net.module(game)))
    about = {"game": "tictactoe", "options": {}, "net": to_json(net), "search": None}
    openings, file = random_openings(game, plies=1), tmp_path / "matches.jsonl"

    def played(step: int) -> Tournament:
        save_weights(tmp_path / "run/players" / f"{step:08d}.npz", jax.jit(model.init)(jax.random.key(step)), about)
        agents = tuple(seat(spec, game) for spec in (f"gumbel:0.5s@{tmp_path / 'run'}", "random"))
        made = Tournament(Contest("tictactoe", game, agents), Schedule(pairs=1), openings, file)
        list(made.run())
        return made

    first, second = played(1), played(2)
    assert [one.ledger.names[0].rpartition("/")[2] for one in (first, second)] == ["1", "2"]
    assert len(records.read(file)) == 2, "the newest weights have met nobody before"
    assert all(all(pair.checkpoints) for pair in records.read(file))
    assert [one.ledger.contest.players[0].player.weights for one in (first, second)] == [
        one.ledger.names[0].partition("@")[2] for one in (first, second)
    ]


@pytest.mark.slow
def test_a_player_by_the_clock_draws_by_its_temperature():
    game = make("tictactoe")
    agent = seat("uct:0.05s,temperature=10", game)
    table, chosen = agent.open(game, Limits()), set()
    for seed in range(12):
        table.draw_by(jax.random.key(seed))
        table.begin([])
        chosen.add(table.choose(0))
    assert len(chosen) > 1


class Resigns(Clocked):
    """Gives up at once."""

    def begin(self, moves):
        pass

    def told(self, seat, action):
        pass

    def choose(self, seat):
        return RESIGN


def test_a_path_with_blanks(tmp_path):
    program = tmp_path / "my engine"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    engine = read_engine(f'gomocup:"{program}"', GOMOKU)
    assert engine.words == (str(program),)
    assert read_engine(engine.name, GOMOKU) == engine
    (tmp_path / "my").write_text("#!/bin/sh\n")
    (tmp_path / "my").chmod(0o755)
    other = read_engine(f"gomocup:{program}", GOMOKU)
    assert other.words == (str(tmp_path / "my"), "engine")
    assert other.name != engine.name, "results of one would be those of the other"


def test_the_name_of_an_engine_can_be_shown_and_written(tmp_path):
    """Results are read without what a terminal might obey: under the raw name they were somebody else's."""
    program = tmp_path / "br\u00a0in"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    engine = read_engine(f"gomocup:'{program}'\tx", GOMOKU)
    assert engine.words == (str(program), "x")
    assert engine.name == f"gomocup:'{tmp_path}/br?in'?x"


@pytest.mark.parametrize(
    ("text", "game", "message"),
    [
        ("gtp:", GO, "names no program"),
        ("gtp:'gnugo", GO, "cannot read the command"),
        ('gtp:"it\'s"', GO, "cannot read the command"),
        ("gtp:/no/gnugo --mode gtp", GO, "apt-get install gnugo"),
        ("gomocup:/no/such", GOMOKU, "there is no program '/no/such'"),
        ("gtp:sh", make("connect4"), "not ConnectFour"),
        ("gtp:sh", make("go9", width=7), "square boards"),
        ("gomocup:sh", GO, "engines of Gomocup play Gomoku"),
        ("gomocup:sh", make("swap2-15"), "without opening rules"),
        ("uct:0s", GO, "takes 0 seconds"),
        ("greedy:2s", GO, "cannot be given seconds"),
        ("uct:2s,dept=3", GO, "unknown option"),
        ("uct:2s", make("hughe"), "needs two seats"),
    ],
)
def test_specs_that_are_refused(text, game, message):
    with pytest.raises(UsageError, match=message):
        read_engine(text, game)


def test_a_file_that_is_no_program(tmp_path):
    program = tmp_path / "engine"
    program.write_bytes(b"\x7fELF no program")
    program.chmod(0o755)
    with pytest.raises(UsageError, match="cannot start the engine"):
        read_engine(f"gomocup:{program}", GOMOKU).open(GOMOKU, Limits())


@pytest.mark.slow
def test_what_breaks_on_a_table_is_raised_by_the_match(openings, tmp_path):
    program = tmp_path / "engine"
    program.write_bytes(b"\x7fELF no program")
    program.chmod(0o755)
    with pytest.raises(UsageError, match="cannot start the engine"):
        play(openings, f"gtp:{program}")


@pytest.mark.slow
def test_one_engine_in_two_spellings_is_one_agent(openings):
    name = f"gtp:{sys.executable} -c pass"
    with pytest.raises(UsageError, match="given twice"):
        Tournament(contest(name, name.replace(":", ':"') + '"'), Schedule(pairs=1), openings)


def test_outside_the_arena():
    with pytest.raises(UsageError, match="only jaxgo eval can play"):
        load_player("gtp:gnugo --mode gtp", GO)


@pytest.mark.parametrize("wrong", [{"move": 0.0}, {"start": float("nan")}, {"at_once": 0}])
def test_limits_are_checked(wrong):
    with pytest.raises(UsageError):
        Limits(**wrong)


# -- tournaments ----------------------------------------------------------------------------------------------------
@pytest.mark.slow
def test_a_tournament_with_an_engine(openings, tmp_path):
    """An engine among agents: matches of agents are played as ever, and everything lies in one file."""
    path, agents = tmp_path / "matches.jsonl", (gtp("crash"), "random", "greedy")
    event = Tournament(contest(*agents), Schedule(pairs=2), openings, path, tmp_path / "games", limits=PATIENT)
    *_, last = event.run()
    pairs = records.read(path)
    assert len(pairs) == last.pairs == last.most == 6
    assert last.games == 12
    with_engine = [pair for pair in pairs if "gtp:" in pair.a + pair.b]
    assert len(with_engine) == 4
    assert all(len(pair.problems) == 2 for pair in with_engine)
    assert [pair.problems for pair in pairs if pair not in with_engine] == [(), ()]
    assert len(list((tmp_path / "games").glob("*.sgf"))) == 12
    (note,) = report.incidents(pairs)
    assert note.startswith(f"{gtp('crash')} forfeited 8 games: its process ended with status 3 (out of cheese) (8)")
    table = last.table()
    assert table is not None
    assert table.agents[-1] == gtp("crash")

    again = Tournament(contest(*reversed(agents)), Schedule(pairs=2), openings, path, limits=PATIENT)
    *_, last = again.run()
    assert last.games == 0  # nothing is played twice

    alone = Tournament(contest("random", "greedy"), Schedule(pairs=2), openings, tmp_path / "alone.jsonl")
    *_, last = alone.run()
    assert {pair.id for pair in last.results} == {pair.id for pair in pairs if pair not in with_engine}


@pytest.mark.slow
def test_a_match_that_was_killed_goes_on(openings, tmp_path):
    """Stopped after the first pair, and resumed: every pair is there once, with the openings of a whole run."""
    path, agents = tmp_path / "matches.jsonl", (gtp(), "random")

    def event() -> Tournament:
        return Tournament(contest(*agents), Schedule(pairs=3), openings, path, limits=PATIENT)

    run = event().run()
    while next(run).pairs < 1:
        pass
    run.close()
    there = len(records.read(path))
    assert 1 <= there < 3
    *_, last = event().run()
    assert last.games == 2 * (3 - there)
    pairs = records.read(path)
    assert sorted(pair.number for pair in pairs) == [0, 1, 2]
    whole = Tournament(contest(*agents), Schedule(pairs=3), openings, tmp_path / "whole.jsonl", limits=PATIENT)
    *_, last = whole.run()
    assert {(p.id, p.score, p.plies) for p in last.results} == {(p.id, p.score, p.plies) for p in pairs}
