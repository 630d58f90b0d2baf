"""Tournaments: every pair once, whatever was killed, merged or given in another order; and the files of games."""

import dataclasses
import re

import jax
import pytest
from support import Host

from jaxgo.arena import elo, games_file, records, tournament
from jaxgo.arena.contest import Contest, Ended, seat
from jaxgo.arena.ledger import Ledger
from jaxgo.arena.openings import book, random_openings, start_only
from jaxgo.arena.records import PairResult
from jaxgo.arena.schedule import Schedule
from jaxgo.arena.tournament import Tournament
from jaxgo.core.errors import UsageError
from jaxgo.games import make

TICTACTOE = make("tictactoe")
OPENINGS = random_openings(TICTACTOE, plies=2)
AGENTS = ("random", "greedy", "flat:4")
PLAN = Schedule("round-robin", 14)


def contest(*agents: str, seed: int = 0) -> Contest:
    return Contest("tictactoe", TICTACTOE, tuple(seat(spec, TICTACTOE) for spec in agents or AGENTS), seed=seed)


def bare(pairs) -> dict[str, PairResult]:
    """Pairs by their ids, without the time."""
    return {pair.id: dataclasses.replace(pair, time="") for pair in pairs}


@pytest.fixture(scope="module", autouse=True)
def _short_glances():
    """Every tick is looked at, so that runs can be stopped anywhere."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("jaxgo.arena.match.GLANCE", 0.0)
        patch.setattr(tournament, "SHORT_CHUNK", PLAN.pairs)  # one program for all tests
        yield


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A tournament that ran through, its last word and its games."""
    folder = tmp_path_factory.mktemp("whole")
    play = Tournament(contest(), PLAN, OPENINGS, folder / "matches.jsonl", folder / "games", slots=4)
    *_, last = play.run()
    return folder, play, last


def test_pairs_of_an_equal_game_are_not_played_again(tmp_path):
    """With an option that says what the game has anyway, or by its other name, it was another game."""
    path, openings = tmp_path / "matches.jsonl", start_only(TICTACTOE)
    told = dataclasses.replace(contest(*AGENTS[:2]), options=("k=3", "width=3"))
    before = Ledger(told, Schedule(pairs=1), openings, path)
    before.add([before.record(Ended((0, 1), 0, (1.0, 0.5), [[4], [4]]))])
    for one in (told, contest(*AGENTS[:2])):
        assert Ledger(one, Schedule(pairs=1), openings, path).done((0, 1)) == 1
    assert not Ledger(dataclasses.replace(told, options=("k=2",)), Schedule(pairs=1), openings, path).known


def test_every_match_is_played_in_full(whole):
    folder, _, last = whole
    pairs = records.read(folder / "matches.jsonl")
    assert len(pairs) == last.pairs == last.most == 3 * 14
    assert last.games == 2 * len(pairs)
    assert last.seconds > 0
    assert tuple(pairs) == last.results
    codes = {player.name: player.fingerprint() for player in contest().players}
    assert len(set(codes.values())) == 3
    assert {(pair.a, pair.b): pair.checkpoints for pair in pairs} == {
        (pair.a, pair.b): (codes[pair.a], codes[pair.b]) for pair in pairs
    }
    for pair in pairs:
        assert pair.a < pair.b
        assert pair.opening == OPENINGS.names(pair.number)
        assert pair.versions
        told = {name: getattr(pair, name) for name in ("seed", "number", "opening", "checkpoints")}
        assert pair.id == records.pair_id("tictactoe", (), pair.a, pair.b, **told), "other weights, other games"
    for match in (("greedy", "random"), ("flat:4", "random"), ("flat:4", "greedy")):
        assert sorted(p.number for p in pairs if {p.a, p.b} == set(match)) == list(range(14))
    table = elo.rate(pairs)
    assert table.agents[0] == "flat:4"


def test_a_second_run_plays_nothing(whole):
    folder, _, last = whole
    before = (folder / "matches.jsonl").read_bytes()
    steps = list(Tournament(contest(), PLAN, OPENINGS, folder / "matches.jsonl", slots=4).run())
    assert [step.games for step in steps] == [0]
    assert bare(steps[0].results) == bare(last.results)
    assert (folder / "matches.jsonl").read_bytes() == before


def test_a_killed_run_goes_on_and_ends_as_if_it_had_not_been(whole, tmp_path):
    """Stopped anywhere, even within a line, and with the agents in another order."""
    path = tmp_path / "matches.jsonl"
    stops = 0
    for agents in (AGENTS, AGENTS[::-1], ("greedy", "flat:4", "random")):
        for progress in Tournament(contest(*agents), PLAN, OPENINGS, path, slots=4).run():
            if progress.games >= 10:
                stops += 1
                break
        path.write_bytes(path.read_bytes()[:-7])
    assert stops == 3
    known = len(records.read(path))
    assert 0 < known < 42
    *_, last = Tournament(contest(), PLAN, OPENINGS, path, slots=4).run()
    assert last.games == 2 * (42 - known), "something was played again"
    assert bare(records.read(path)) == bare(whole[2].results)


def test_two_files_merge_to_the_same_ratings(whole, tmp_path):
    pairs = list(whole[2].results)
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    records.append(one, pairs[:25])
    records.append(two, pairs[15:])
    merged = records.merge(records.read(two), records.read(one))
    assert bare(merged) == bare(pairs)


def test_other_seeds_are_other_games(whole, tmp_path):
    path = tmp_path / "matches.jsonl"
    records.append(path, whole[2].results)
    play = Tournament(contest(seed=1), PLAN, OPENINGS, path, slots=4)
    assert play.progress().pairs == 0
    assert len(play.progress().results) == 42, "but they count for the ratings"
    other = Tournament(contest(), PLAN, start_only(TICTACTOE), path, slots=4)
    assert other.progress().pairs == 0, "and so do those of other openings"


def test_games_are_saved_as_they_were_played(whole):
    folder, _, last = whole
    pair = last.results[0]
    for side in range(2):
        text = (folder / "games" / f"tictactoe-{pair.id}-{side + 1}.txt").read_text()
        seats = (pair.a, pair.b) if side == 0 else (pair.b, pair.a)
        assert f"seat 0: {seats[0]}\nseat 1: {seats[1]}\n" in text
        moves = re.findall(r"^\d+ ([01]) (\S+)$", text, re.M)
        assert tuple(name for _, name in moves[:2]) == pair.opening
        assert [seat for seat, _ in moves] == ["0", "1"] * (len(moves) // 2) + ["0"] * (len(moves) % 2)
        host = Host(TICTACTOE).play(*(TICTACTOE.parse_action(name) for _, name in moves))
        assert host.over
        got = pair.first if side == 0 else 1 - pair.second
        assert (host.result + 1) / 2 == got
        assert f"result of seat 0: {got:g}\n" in text
    assert len(list((folder / "games").iterdir())) == 84


def test_a_puzzle_is_refused_before_openings_are_drawn():
    game = make("pegs")
    with pytest.raises(UsageError, match="Pegs is for one"):
        Contest("pegs", game, (seat("random", game), seat("greedy", game)))


@pytest.mark.slow  # compiles for seconds
def test_games_of_gomoku_are_sgf(tmp_path):
    game = make("gomoku9", size=5)
    path = tmp_path / "book"
    path.write_text("a1 e5\n")
    play = Tournament(
        Contest("gomoku9", game, (seat("random", game), seat("greedy", game)), ("size=5",)),
        Schedule(pairs=2),
        book(game, path),
        games=tmp_path / "games",
    )
    *_, last = play.run()
    pair = last.results[1]
    text = (tmp_path / "games" / f"gomoku9-{pair.id}-2.sgf").read_text()
    head, moves = text.split("\n", 1)
    assert head.startswith("(;FF[4]GM[4]CA[UTF-8]AP[jaxgo]SZ[5]RU[freestyle]PB[random]PW[greedy]RE[")
    found = re.findall(r";([BW])\[(\w\w)\]", moves)
    assert [colour for colour, _ in found] == (["B", "W"] * 13)[: len(found)]
    assert [place for _, place in found[:2]] == ["ae", "ea"], "a1 is the lowest row, e5 the highest"
    actions = [(ord(place[1]) - 97) * 5 + ord(place[0]) - 97 for _, place in found]
    host = Host(game).play(*actions)
    assert host.over
    assert f"RE[{ {1.0: 'B+', -1.0: 'W+', 0.0: '0'}[host.result] }]" in head
    assert (1 - host.result) / 2 == pair.second
    assert last.table() is not None
    assert play.notes() == ["there is only 1 opening for 2 pairs; it was played again, each time with other luck"]


def test_games_of_go_are_sgf_with_passes_and_handicap(tmp_path):
    game = make("go9", handicap=2, komi=0.5)
    line = [game.parse_action(name) for name in ("E5", "pass", "A9")]
    pair = records.PairResult("go9", "one]", "two", 0.0, 1.0, "id", ("handicap=2",))
    files = games_file.save(tmp_path, game, pair, line[:1], [line[1:]] * 2)
    assert files[0].read_text() == (
        "(;FF[4]GM[1]CA[UTF-8]AP[jaxgo]SZ[9]RU[koPOSITIONALscoreAREAtaxNONEsui0]KM[0.5]HA[2]PB[one\\]]PW[two]RE[W+]AB[gc][cg]PL[W]\n"
        ";W[ee]C[the opening ends here];B[];W[aa])\n"
    )
    assert "PB[two]PW[one\\]]RE[W+]" in files[1].read_text(), "one won that game, with White"
    assert games_file.load(tmp_path, game, pair, 0) == line


def test_games_of_a_place_in_code_have_names_that_every_system_takes(tmp_path):
    pair = records.PairResult("examples.own_game:Nim", "one", "two", 0.0, 1.0, "id")
    game = make(pair.game)
    line = [0] * 3
    files = games_file.save(tmp_path, game, pair, [], [line, line])
    assert [file.name for file in files] == ["examples.own_game-Nim-id-1.txt", "examples.own_game-Nim-id-2.txt"]
    assert games_file.find(tmp_path, pair) == files[0]


def test_play_stops_when_the_error_bars_are_small_enough(tmp_path):
    """No match is told how often; only the precision is."""
    plan = Schedule("informative", 200, until=150.0)
    play = Tournament(contest(), plan, OPENINGS, tmp_path / "m.jsonl", slots=4)
    *_, last = play.run()
    table = last.table()
    assert table is not None
    assert max(table.rating(agent).error for agent in table.agents) <= 150
    assert last.pairs < 3 * 200
    assert set(table.agents) == set(AGENTS)  # bars of 150 need not tell `greedy` from `random`
    assert not any("groups" in note for note in play.notes())


def test_agents_out_of_reach_are_told(tmp_path):
    play = Tournament(contest(), Schedule("informative", 200, until=60.0), OPENINGS, tmp_path / "m.jsonl", slots=4)
    beaten = [("flat:4", "random"), ("flat:4", "greedy")]
    pairs = [PairResult("tictactoe", a, b, 1.0, 1.0, f"{a}{b}{n}") for a, b in beaten for n in range(200)]
    even = [PairResult("tictactoe", "greedy", "random", float(n % 2), float(n % 2), f"even{n}") for n in range(200)]
    play.ledger.known = [*pairs, *even]
    assert "so few were played: random, greedy; flat:4. ±60 is asked within a group" in play.notes()[0]
    assert [step.games for step in play.run()] == [0], "random and greedy are known well enough"


def test_a_sequential_test_counts_pairs_in_their_order(whole):
    _, _, last = whole
    ledger = Ledger(contest("random", "flat:4"), Schedule(pairs=30), OPENINGS)
    mine = {p.number: p for p in last.results if {p.a, p.b} == {"random", "flat:4"}}
    ledger.add([pair for number, pair in mine.items() if number != 9])
    expected = [0] * 5
    for number in range(9):
        expected[4 - round(2 * mine[number].score)] += 1  # flat:4 is `a` there, and the second agent here
    assert ledger.outcomes() == expected


def test_one_name_is_one_player(whole, tmp_path):
    path = tmp_path / "matches.jsonl"
    records.append(path, [dataclasses.replace(whole[2].results[0], checkpoints=("ab", ""))])
    with pytest.raises(UsageError, match=r"another .*, with other weights, files, settings or seconds; name its step"):
        Ledger(contest(), PLAN, OPENINGS, path)


def test_mistakes_are_named():
    with pytest.raises(UsageError, match="at least two agents"):
        contest("random")
    with pytest.raises(UsageError, match="random is given twice"):
        contest("random", "greedy", "random")
    with pytest.raises(UsageError, match="unknown search 'minimax'"):
        Tournament(contest("random", "minimax"), PLAN, OPENINGS)


@pytest.mark.usefixtures("two_devices")
def test_these_tests_run_on_two_devices():
    assert jax.device_count() == 2, "these tests mean to run on two devices"
