"""The file of results: whole lines, torn lines, merging."""

import dataclasses
import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from jaxgo.arena import records
from jaxgo.arena.contest import Contest, seat
from jaxgo.arena.ledger import Ledger
from jaxgo.arena.openings import start_only
from jaxgo.arena.records import PairResult, pair_id
from jaxgo.arena.schedule import Schedule
from jaxgo.cli.main import main
from jaxgo.core.errors import UsageError
from jaxgo.games import make


def pair(number: int, first: float = 1.0, second: float = 0.5, **more) -> PairResult:
    name = pair_id("connect4", (), "uct:8", "random", seed=3, number=number)
    return PairResult("connect4", "uct:8", "random", first, second, name, seed=3, number=number, **more)


FULL = pair(
    7,
    options=("height=5",),
    opening=("4", "4"),
    temperature=0.5,
    hot_plies=4,
    plies=(17, 22),
    checkpoints=("", "0123abcd"),
    problems=("game 1: b forfeits, illegal move z9 — \u2028",),
    commit="abc",
    versions=("jax 1",),
    time="2026-01-01T00:00:00Z",
)


def test_a_line_says_everything_and_reads_back():
    line = records.to_line(FULL)
    assert "\n" not in line
    assert records.from_line(line) == FULL
    assert records.from_line(line[:-1] + ',"later":1}') == FULL, "a field of a later version is no error"
    assert {f.name for f in dataclasses.fields(PairResult)} == set(json.loads(line))


def test_numbers_of_a_match_may_be_those_of_numpy(tmp_path):
    score = np.array([0.75, 0.25], np.float32)
    told = PairResult("go5", "a", "b", 0.0, 0.0, id="1")
    for name, number in zip(("first", "second"), score, strict=True):
        object.__setattr__(told, name, number)  # as where nobody looks at types, which tests do
    records.append(tmp_path / "pairs.jsonl", [told])
    (pair,) = records.read(tmp_path / "pairs.jsonl")
    assert (pair.first, pair.second) == (0.75, 0.25)


def test_names_are_shown_and_not_obeyed():
    line = json.dumps({"game": "go9", "a": "q", "b": "\u202eabc\x1b[31m", "first": 1, "second": 0.5, "id": "1"})
    assert records.from_line(line).b == "?abc?[31m"


def test_scores():
    assert pair(0, 1.0, 0.5).score == 1.5
    same = [pair(0, a, b).same_seat for a, b in ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (0.5, 0.5))]
    assert same == [True, True, False, False]


def test_an_id_names_the_games_and_nothing_else():
    base = {"seed": 1, "number": 2, "opening": ("a1",), "checkpoints": ("", "x")}
    one = pair_id("go9", ("komi=5.5", "size=9"), "a", "b", **base)
    assert one == "0c68b9795e81ec6d", "an id of today must be found again tomorrow"
    assert one == pair_id("go9", ("size=9", "komi=5.5"), "a", "b", **base), "the order of options means nothing"
    others = [
        pair_id("go7", ("komi=5.5", "size=9"), "a", "b", **base),
        pair_id("go9", ("komi=6.5", "size=9"), "a", "b", **base),
        pair_id("go9", ("komi=5.5", "size=9"), "b", "a", **base),
        *(
            pair_id("go9", ("komi=5.5", "size=9"), "a", "b", **(base | change))
            for change in ({"seed": 2}, {"number": 3}, {"opening": ("a2",)}, {"checkpoints": ("", "y")})
        ),
    ]
    assert len({one, *others}) == 8


def test_a_torn_last_line_is_left_out_and_cut_off_by_the_next_writer(tmp_path):
    path = tmp_path / "runs" / "matches.jsonl"
    records.append(path, [pair(0), FULL])
    whole = path.read_bytes()
    line = records.to_line(pair(1)).encode()
    for torn in range(1, len(line)):
        path.write_bytes(whole + line[:torn])
        assert records.read(path) == [pair(0), FULL]
    path.write_bytes(whole + bytes(40))  # as a machine that lost its power leaves it
    assert records.read(path) == [pair(0), FULL]
    records.append(path, [pair(2)])
    assert path.read_bytes().startswith(whole)
    assert records.read(path) == [pair(0), FULL, pair(2)]


def test_a_device_keeps_nothing_and_holds_nothing():
    records.append("/dev/null", [pair(0)])
    for device in ("/dev/null", "/dev/full"):  # the latter can be read without an end
        assert records.read_begun(Path(device)) == []


def test_results_are_not_written_where_reading_them_would_wait_for_ever(tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe")
    writer = os.open(tmp_path / "pipe", os.O_RDWR)  # as that of /dev/stdout is the process itself
    records.append(tmp_path / "file", [pair(0)])
    try:
        for words in (["tictactoe", "--agents", "random", "greedy"], ["ratings", str(tmp_path / "file")]):
            assert main(["eval", *words, "--out", str(tmp_path / "pipe")]) == 2
            assert "pipe is no plain file" in capsys.readouterr().err
    finally:
        os.close(writer)


def test_a_last_line_that_is_whole_and_wrong_is_not_cut(tmp_path):
    path = tmp_path / "matches.jsonl"
    wrong = records.to_line(pair(0)).replace('"seed":3', '"seed":"x"')
    path.write_text(wrong)
    with pytest.raises(UsageError, match="line 1 is no result of a pair"):
        records.read(path)
    with pytest.raises(UsageError, match="ends in no result of a pair"):
        records.append(path, [pair(1)])
    assert path.read_text() == wrong


@pytest.mark.parametrize("other", ["(;GM[1]SZ[9];B[ee])", '{"name": "a package"}', "9|4,4;3,3", "\xff"])
def test_a_file_of_something_else_is_refused_and_kept(other, tmp_path):
    """One line without an end is not taken for a torn one."""
    path = tmp_path / "somebody.json"
    path.write_text(other)
    with pytest.raises(UsageError, match=r"line 1 is no result of a pair .*; name a file of results"):
        records.read(path)
    with pytest.raises(UsageError, match="ends in no result of a pair"):
        records.append(path, [pair(0)])
    assert path.read_text() == other


def test_a_disk_that_becomes_full_is_told_and_keeps_whole_lines(tmp_path):
    """The system writes what there is room for, and says only by a number that it was not all."""
    path = tmp_path / "matches.jsonl"
    records.append(path, [pair(0)])
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 40, before[1]))
    try:
        with pytest.raises(UsageError, match=r"cannot write to .*: No space left"):
            records.append(path, [pair(1), pair(2)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert records.read(path) == [pair(0)]
    records.append(path, [pair(1)])
    assert records.read(path) == [pair(0), pair(1)]


def test_a_last_line_that_only_lacks_its_end_counts(tmp_path):
    path = tmp_path / "matches.jsonl"
    path.write_text(records.to_line(FULL))
    assert records.read(path) == [FULL]
    records.append(path, [pair(0)])
    assert records.read(path) == [FULL, pair(0)]


def test_pairs_of_others_do_not_vanish_behind_the_same_id():
    one = records.PairResult("go9", "ann", "bob", 1.0, 0.5, "0")
    for other in (dataclasses.replace(one, b="eve"), dataclasses.replace(one, number=1)):
        with pytest.raises(UsageError, match="two pairs have the id '0', number 0 of ann and bob, and"):
            records.merge([one], [other])
    assert len(records.merge([dataclasses.replace(one, id="")] * 3)) == 3


def test_pairs_without_an_id_count_each(tmp_path):
    bare = records.PairResult("tictactoe", "greedy", "random", 1.0, 0.5, "", lines=("x", ""))
    pairs = [dataclasses.replace(bare, number=number, lines=("", "")) for number in (1, 2)]
    assert records.once([bare, *pairs, dataclasses.replace(bare, number=3)]) == [bare, *pairs], "the last is the first"
    records.append(tmp_path / "matches.jsonl", pairs)
    game = make("tictactoe")
    players = tuple(seat(spec, game) for spec in ("random", "greedy"))
    openings = start_only(game)
    ledger = Ledger(Contest("tictactoe", game, players), Schedule(), openings, tmp_path / "matches.jsonl")
    assert (ledger.known, ledger.results()) == (pairs, []), "they are rated, and no match of this one is played by them"


def test_merging_is_idempotent_and_keeps_the_first(tmp_path):
    path = tmp_path / "matches.jsonl"
    records.append(path, [pair(0), pair(1), pair(0, 0.0, 0.0)])
    records.append(path, [])
    found = records.read(path)
    assert found == [pair(0), pair(1)]
    assert records.merge(found, found, [pair(1), pair(2)]) == [pair(0), pair(1), pair(2)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", "no game, a, b, first, second, id"),
        ("[1]", "not a JSON object"),
        ("nonsense", "Expecting value"),
        ("[" * 100_000, "nested too deep"),
        (records.to_line(dataclasses.replace(FULL, a="\ud800")), "surrogates not allowed"),
        (json.dumps(json.loads(records.to_line(FULL)) | {"first": "1"}), "first is '1'"),
        (json.dumps(json.loads(records.to_line(FULL)) | {"second": 1.5}), "from 0 to 1"),
        (json.dumps(json.loads(records.to_line(FULL)) | {"first": float("nan")}), "NaN is no number"),
        (records.to_line(FULL).replace('"first":', '"first": 1e400, "was":'), "1e400 is too large a number"),
        (records.to_line(FULL).replace('"first":', f'"first": 1{"0" * 400}, "was":'), "is too long a number"),
        (json.dumps(json.loads(records.to_line(FULL)) | {"seed": True}), "seed is True"),
        (json.dumps(json.loads(records.to_line(FULL)) | {"plies": [1]}), "plies is [1]"),
        (json.dumps(json.loads(records.to_line(FULL)) | {"opening": "a1"}), "opening is 'a1'"),
    ],
)
def test_a_bad_line_is_named(text, said, tmp_path):
    path = tmp_path / "matches.jsonl"
    path.write_text(f"{records.to_line(FULL)}\n{text}\n")
    with pytest.raises(UsageError) as caught:
        records.read(path)
    assert "line 2" in str(caught.value)
    assert said in str(caught.value)


def test_files_that_cannot_be_used(tmp_path):
    with pytest.raises(UsageError, match="cannot read the matches"):
        records.read(tmp_path / "missing")
    with pytest.raises(UsageError, match="cannot write to"):
        records.append(tmp_path, [FULL])


WRITER = """
import sys
from jaxgo.arena import records
assert "jax" not in sys.modules, "records must be light"
path, first = sys.argv[1], int(sys.argv[2])
for number in range(first, first + 40):
    records.append(path, [records.PairResult("go9", "a", "b", 1.0, 0.0, str(number), number=number)])
"""


def test_two_writers_do_not_tear_each_other(tmp_path):
    path = tmp_path / "matches.jsonl"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(100 * i)]) for i in range(2)]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    assert sorted(p.number for p in records.read(path)) == [*range(40), *range(100, 140)]


def test_where_results_come_from():
    assert any(text.startswith("jax ") for text in records.versions())
    assert re.fullmatch(r"([0-9a-f]{12}\+?)?", records.commit())
    assert bool(records.commit()) == (Path(records.__file__).parents[2] / ".git").exists()
