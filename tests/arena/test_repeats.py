"""A game that must be the same as one already counted is not counted again: by matches, tests and ratings."""

import dataclasses
import functools
import itertools
from pathlib import Path

import jax
import numpy as np
import pytest

from jaxgo.arena import elo, games_file, records
from jaxgo.arena.contest import Contest, Ended, News, seat
from jaxgo.arena.ledger import Ledger
from jaxgo.arena.match import play_match
from jaxgo.arena.openings import Openings, book
from jaxgo.arena.records import PairResult
from jaxgo.arena.schedule import Schedule
from jaxgo.arena.sprt import Sprt
from jaxgo.arena.tally import by_one_name, five
from jaxgo.arena.tournament import Tournament
from jaxgo.games import make
from jaxgo.players import load_player
from jaxgo.ui import match_screen

TICTACTOE, CONNECT4 = make("tictactoe"), make("connect4")
QUIET = ("gumbel:4", "puct:2")  # neither draws luck
SPREAD = np.array([0.15, 0.2, 0.3, 0.2, 0.15])  # paired outcomes of equal agents
SCORES = ((0.0, 0.0), (0.5, 0.0), (1.0, 0.0), (1.0, 0.5), (1.0, 1.0))


@pytest.mark.parametrize(
    ("spec", "lucky"),
    [
        ("random", True),
        ("uct:8", True),
        ("uct:8,evaluator=heuristic", True),  # in which order it tries moves first
        ("uct:8,evaluator=heuristic,smooth=yes", False),
        ("flat:4", True),
        ("flat:4,evaluator=heuristic", False),  # each move is worth the same whenever it is tried
        ("greedy", False),
        ("greedy,evaluator=rollout", False),  # its policy is the same however the playouts end
        ("puct:8", False),
        ("puct:8,noise=0.25", True),
        ("gumbel:8", False),
        ("gumbel:8,gumbel_scale=1", True),
        ("gumbel:8,evaluator=rollout", True),
        ("chain:win+puct:8,evaluator=heuristic", False),  # whichever move wins
        ("chain:win+puct:8,evaluator=rollout", True),
        ("chain:win+careful+puct:8,evaluator=heuristic", True),
    ],
)
def test_who_draws_luck(spec, lucky):
    assert load_player(spec, TICTACTOE).lucky == lucky


@pytest.mark.slow
def test_uct_without_playouts_plays_another_game_each_time():
    """It draws the order in which it tries moves: of 32 games of Connect Four against itself 31 differ."""
    player = load_player("uct:16,evaluator=heuristic", CONNECT4)
    start = jax.jit(player.model.start, static_argnums=1)(jax.random.key(0), 32)
    score = play_match(player, player, jax.random.key(0), start)
    assert len({tuple(line) for pair in range(32) for line in score.line(pair)}) > 32
    assert player.lucky


def contest(**more) -> Contest:
    return Contest("tictactoe", TICTACTOE, tuple(seat(spec, TICTACTOE) for spec in QUIET), **more)


def lines(tmp_path: Path, *texts: str) -> Openings:
    path = tmp_path / "book"
    path.write_text("\n".join(texts))
    return book(TICTACTOE, path)


def played(pair: PairResult, folder: Path) -> list[str]:
    """The names of the moves of a pair's first game."""
    return [TICTACTOE.action_name(action) for action in games_file.load(folder, TICTACTOE, pair, 0)]


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    """Two agents without luck and a book of two openings, where five pairs are asked for."""
    folder = tmp_path_factory.mktemp("short")
    play = Tournament(contest(), Schedule(pairs=5), lines(folder, "b2", "a1"), folder / "m.jsonl", folder, slots=4)
    *_, last = play.run()
    return play, last, folder


@pytest.mark.slow
def test_a_match_without_luck_ends_with_the_openings(short):
    play, last, folder = short
    assert last.pairs == len(last.results) == 2
    assert last.most == 2
    assert sum(play.ledger.outcomes()) == 2
    assert all(all(pair.lines) for pair in last.results)
    assert play.notes() == [
        "there are only 2 different openings, and without luck the same games would come again: gumbel:4 - puct:2 "
        "ended after them"
    ]
    again = Tournament(contest(), Schedule(pairs=5), lines(folder, "b2", "a1"), folder / "m.jsonl", slots=4)
    assert [step.games for step in again.run()] == [0]


@pytest.mark.slow
def test_games_that_were_played_before_they_were_asked_for_are_told(short, tmp_path):
    _, _, folder = short
    asked = {"path": folder / "m.jsonl", "games": tmp_path, "slots": 4}
    play = Tournament(contest(), Schedule(pairs=5), lines(folder, "b2", "a1"), **asked)
    assert play.notes()[-1] == (
        f"2 pairs were played before, when games were not saved in {tmp_path}; for them, take another --out"
    )
    one = Tournament(contest(), Schedule(pairs=5), lines(folder, "b2", "a1"), **asked, sample=1)
    assert one.notes()[-1].startswith("a pair was played before")


@pytest.mark.slow
def test_games_of_a_sample_are_the_first_that_are_played_when_it_is_asked_for(tmp_path):
    """A run may judge the same weights twice, and saves games of the last judgement alone."""
    file, games = tmp_path / "m.jsonl", tmp_path / "games"
    begin = functools.partial(
        Tournament, contest(), openings=lines(tmp_path, "b2", "a1", "a2"), path=file, slots=4, room=5
    )
    *_, _ = begin(schedule=Schedule(pairs=1)).run()
    last = begin(schedule=Schedule(pairs=3), games=games, sample=1)
    *_, _ = last.run()
    assert [bool(games_file.find(games, pair)) for pair in last.ledger.results()] == [False, True, False]
    assert not any("played before" in note for note in last.notes())


@pytest.mark.slow
def test_luck_may_play_an_opening_again(tmp_path):
    warm = contest(temperature=1.0, hot_plies=2)
    play = Tournament(warm, Schedule(pairs=5), lines(tmp_path, "b2", "a1"), slots=4)
    *_, last = play.run()
    assert last.pairs == 5
    assert {(pair.temperature, pair.hot_plies) for pair in last.results} == {(1.0, 2)}
    assert not any(any(pair.lines) for pair in last.results)
    assert "2 different openings for 5 pairs; they were played again" in play.notes()[0]
    file = tmp_path / "m.jsonl"
    records.append(file, last.results)
    cold = Tournament(contest(), Schedule(pairs=5), lines(tmp_path, "b2", "a1"), file, slots=4)
    assert cold.progress().results == (), "games of another temperature are other games"


@pytest.mark.slow
def test_an_opening_that_an_agent_would_have_played_makes_no_new_game(short, tmp_path):
    """The second line is the first one and the answer to it: one of its games is one of the first opening."""
    _, last, folder = short
    first = next(pair for pair in last.results if pair.opening == ("b2",))
    openings = lines(tmp_path, "b2", " ".join(played(first, folder)[:2]), "a1")
    play = Tournament(contest(), Schedule(pairs=5), openings, tmp_path / "m.jsonl", slots=4)
    *_, last = play.run()
    assert last.pairs == 3
    kept = records.once(reversed(last.results))
    assert sorted(pair.number for pair in kept) == [0, 2], "the lower number stays, whatever the order"
    assert sum(play.ledger.outcomes()) == 2
    assert elo.rate(last.results).pairs == 2
    assert int(five(last.results, QUIET[0]).sum()) == 2


def test_games_of_others_are_not_the_same():
    pair = PairResult("go9", "a", "b", 1.0, 0.0, "1", lines=("x", "y"))
    mirrored = PairResult("go9", "b", "a", 0.0, 1.0, "2", number=1, lines=("y", "x"))
    swapped = dataclasses.replace(pair, id="3", number=2, lines=("y", "x"))  # the same moves from the other seats
    other = dataclasses.replace(pair, id="4", number=3, a="c")
    lucky = [dataclasses.replace(pair, id=f"l{n}", number=n, lines=("", "")) for n in range(3)]
    half = dataclasses.replace(pair, id="5", number=4, lines=("x", "z"))  # one of its games is new
    assert records.once([pair, mirrored, swapped, other, half, *lucky]) == [pair, swapped, other, *lucky]
    anew = dataclasses.replace(pair, id="6", number=5, checkpoints=("another", ""))  # a run begun anew in its folder
    assert records.once([pair, anew]) == [pair, anew]
    assert records.from_line(records.to_line(pair)) == pair


def test_a_player_whose_run_was_moved_is_rated_once():
    here, there, timed = "gumbel:8@runs/a/3", "gumbel:8@/elsewhere/a/3", "gumbel:1s@runs/a/3"
    pair = PairResult("go9", here, "uct:8", 1.0, 0.0, "1", checkpoints=("x", "u"), lines=("v", "w"), time="1")
    moved = dataclasses.replace(pair, a=there, id="2", time="2")
    others = [dataclasses.replace(moved, a=timed, id="3"), dataclasses.replace(moved, checkpoints=("y", "u"), id="4")]
    unknown = dataclasses.replace(moved, checkpoints=("", ""), id="5")
    found = by_one_name([pair, moved, *others, unknown])
    assert [one.a for one in found] == [there, there, timed, there, there]
    assert found[2:] == [*others, unknown], "the budget, the weights, or that nobody knows them makes another one"
    assert len(records.once(found[:2])) == 1, "the very same games"
    against = dataclasses.replace(moved, b=here, checkpoints=("x", "x"))
    assert by_one_name([pair, against]) == [pair, against], "who lets the two names meet wants both"
    engines = "gtp:ssh me@one gnugo", "gtp:ssh me@two katago gtp"  # nobody knows their hashes
    some = [dataclasses.replace(pair, a=name, checkpoints=("untold", "u"), time=name) for name in engines]
    assert by_one_name(some) == some


class Remembered(Ledger):
    """A ledger that nobody has played for, with the same record as often as a pair ends alike: to write one takes
    longer than all the rest."""

    def __init__(self, like: Ledger, records: dict) -> None:
        super().__init__(like.contest, like.schedule, like.openings)
        self._records = records

    def record(self, ended):
        known = ended.match, ended.number, ended.scores
        if known not in self._records:
            self._records[known] = super().record(ended)
        return self._records[known]


class Simulated(Tournament):
    """A tournament whose results are drawn: each opening has its own, and gives it again whenever it is played."""

    def __init__(self, openings: Openings) -> None:
        played = Contest("connect4", CONNECT4, tuple(seat(spec, CONNECT4) for spec in QUIET))
        super().__init__(played, Schedule(pairs=5000), openings, chunk=192)
        self._records = {}

    def draw(self, seed: int) -> None:
        """Begins anew with other results."""
        self.outcome = np.random.default_rng(seed).choice(5, size=5000, p=SPREAD)
        self.ledger = Remembered(self.ledger, self._records)

    def _play(self, plan):
        ended = []
        for match, numbers in plan.items():
            for number in numbers:
                which = number % (self.ledger.openings.most or len(self.outcome))
                ended.append(Ended(match, number, SCORES[self.outcome[which]], [[which, side] for side in range(2)]))
        yield News(ended)


@pytest.mark.slow
def test_a_sequential_test_does_not_decide_by_repeats():
    """Tests of equal agents, where there are 564 openings and 5000 pairs are allowed, seldom accept H1. With repeats
    one in five did; those seeds are among the first."""
    some = itertools.islice(itertools.product(range(7), repeat=4), 564)
    play, found = Simulated(Openings(CONNECT4, [[(line, bytes(line)) for line in some]])), list[bool]()
    for seed in range(150):
        play.draw(seed)
        verdict = match_screen.decide(play, Sprt(0.0, 10.0), quiet=True)
        assert verdict.pairs <= 564
        found.append(verdict.accepted == "H1")
    assert not any(found[:12])
    assert np.mean(found) <= 0.05


def test_an_undecided_test_says_so(capsys):
    play = Simulated(Openings(CONNECT4, [[((column,), bytes([column])) for column in range(7)]]))
    play.draw(0)
    verdict = match_screen.decide(play, Sprt(0.0, 10.0))
    assert verdict.accepted is None
    assert "after 7 pairs" in verdict.ended()
    assert "not decided" in verdict.ended()
    assert "there are only 7 different openings, and without luck" in str(play.notes())
    play._games = 0  # as a process that finds all pairs in the file
    capsys.readouterr()
    assert match_screen.decide(play, Sprt(0.0, 10.0)) == verdict
    assert capsys.readouterr().out == f"{verdict}\n"
