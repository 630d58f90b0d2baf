"""Tables, pictures and JSON of a small pool."""

import dataclasses
import importlib.util
import io
import json
import math
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from rich.console import Console

from jaxgo.arena.elo import rate
from jaxgo.arena.records import PairResult
from jaxgo.core.errors import UsageError
from jaxgo.ui import tables as report


def pool(*matches):
    """Each match: two names and how many pairs were won by both games of the first, halved, and lost."""
    results = []
    for a, b, won, halved, lost in matches:
        for first, second, times in ((1.0, 1.0, won), (1.0, 0.5, halved), (0.5, 0.0, halved), (0.0, 0.0, lost)):
            results += [PairResult("go9", a, b, first, second, id=f"{len(results) + i}") for i in range(times)]
    return results


@pytest.fixture(scope="module")
def table():
    return rate(pool(("[red]<b>", "uct:400", 9, 4, 2), ("uct:400", "random", 12, 3, 1)), anchor=("random", 0.0))


def printed(table, width=120):
    console = Console(width=width, file=io.StringIO())
    report.show(table, console)
    return console.file.getvalue()


def test_the_table_says_everything(table):
    text = printed(table)
    lines = [line for line in text.splitlines() if "uct:400" in line]
    rating = table.rating("uct:400")
    games, score = 2 * (9 + 8 + 2) + 2 * (12 + 6 + 1), (2 * 2 + 4 * 0.5 + 4 * 1.5 + 2 * 12 + 3 * 1.5 + 3 * 0.5)
    assert f"{rating.value:+.0f} ± {rating.error:.0f}" in lines[0]
    assert f" {games} " in lines[0]
    assert f"{100 * score / games:.1f} %" in lines[0]
    assert f"{100 * table.superiority('uct:400', 'random'):.1f} %" in lines[0]
    assert "[red]<b>" in text, "a name is no markup"
    assert "+0 ± 0 (anchor)" in text
    assert "random is held fixed" in text
    assert "Moving first is worth" in text


def test_ratings_by_draws_are_told_to_mislead(table):
    """Three quarters of the points are 191 Elo; where nobody loses, 64 pairs of them make 59."""
    drawn = rate([PairResult("go9", "a", "b", 1.0, 0.5, str(number)) for number in range(64)])
    assert drawn.difference("a", "b").value < 100
    assert "a higher score than usual: read the scores" in printed(drawn)
    assert "read the scores" not in printed(table)


def test_a_terminal_of_80_columns_holds_a_long_name_in_one_line():
    name = "gumbel:64@runs/connect4-cpu/12"
    lines = printed(
        rate(pool((name, "uct:400,c=1.4", 9, 4, 2), ("uct:400,c=1.4", "random", 12, 3, 1)), "random"), width=80
    )
    for agent in (name, "uct:400,c=1.4", "random"):
        assert sum(agent in line for line in lines.splitlines()[:8]) == 1
    assert max(len(line) for line in lines.splitlines()) <= 80


def test_openings_that_a_seat_won_twice_are_counted():
    pairs = pool(("a", "b", 2, 0, 1))
    assert report.lopsided(pairs) == []
    same = [PairResult("go9", "a", "b", 1.0, 0.0, "x"), PairResult("go9", "a", "b", 0.0, 1.0, "y")]
    assert report.lopsided([*pairs, *same]) == ["2 of 5 openings (40.0 %) were won from the same seat by both."]


def test_lengths_seats_and_repeated_games_are_told():
    """Ten games by hand: two of them the same as others, one pair without moves that anybody wrote down."""
    one, two = ("x1", "x2", "x1"), ("y1", "y2", "y3")
    made = [
        PairResult("go9", "a", "b", first, second, f"{i}", plies=(10 + i, 20), lines=(one[i], two[i]), opening=("a1",))
        for i, (first, second) in enumerate([(1.0, 0.0), (0.5, 1.0), (1.0, 0.5)])
    ]
    # game one: won, drawn, won by the first mover after 11, 12, 13 moves; game two, after 21: won, lost, drawn
    assert report.lengths(made) == [
        "Games take 16.5 moves on average: 15.0 where the first mover wins, 21.0 where the second mover wins, "
        "16.5 where it is drawn."
    ]
    older = PairResult("go9", "a", "b", 1.0, 0.0, "older", opening=("d1", "e1"))
    assert report.lengths([older]) == [], "which do not say"
    assert report.lengths([*made, older]) == report.lengths(made)
    assert report.by_seat(made) == ["Scores moving first / second: a 83.3 % / 50.0 %; b 50.0 % / 16.7 %."]
    hashes = [
        dataclasses.replace(pair, checkpoints=(code, ""), time=code) for pair, code in zip(made, "112", strict=True)
    ]
    told = "Scores moving first / second: a #1 75.0 % / 50.0 %; b 50.0 % / 16.7 %; a 100.0 % / 50.0 %."
    assert report.by_seat(hashes) == [told], "players of one name are told apart, as ratings do"
    faulty = [dataclasses.replace(pair, problems=("game 1: a forfeits, it is gone",)) for pair in hashes[1:]]
    told = [line.partition(" forfeited")[0] for line in report.incidents(faulty)]
    assert len(told) == 2, "two players of one name"
    assert report.repeats(made) == [
        "1 games are the same as another one, move for move: the first mover won 1, drew 0, lost 0."
    ]
    assert report.repeats(made[:2]) == report.lengths([]) == report.by_seat([]) == []


def test_no_rating_without_its_error(table):
    """Whatever prints an Elo prints ± after it."""
    for row in report.rows(table):
        assert "±" in row.rating
    assert "±" in str(table.advantage)
    assert "±" in f"{table.rating('uct:400')}"
    assert report.ladder_svg(table).count("±") == len(table.agents)


def test_cross_table(table):
    uct, random = table.agents.index("uct:400"), table.agents.index("random")
    lost, drawn, won = table.results[uct, random]
    assert report.cell(table, uct, random) == f"{won + drawn / 2:g}/{won + drawn + lost:g}" == "30/38"
    assert report.cell(table, random, uct) == "8/38"
    assert report.cell(table, uct, uct) == ""
    assert " 79 " in printed(table)
    many = rate([PairResult("go9", f"a{i}", f"a{i + 1}", 0.5, 0.5, id=str(i)) for i in range(30)])
    assert "the best 16 of 31" in report.cross(many, 120).title
    long = rate([PairResult("go9", f"{'a' * 50}{i}", f"{'a' * 50}{i + 1}", 0.5, 0.5, id=str(i)) for i in range(30)])
    console = Console(width=80, file=io.StringIO())
    report.show(long, console)
    text = console.file.getvalue()
    assert "the best 8 of 31" in text
    assert [len(re.findall(r" 50\b", line)) for line in text.splitlines() if "…" in line] == [1, *6 * [2], 1]


def test_json_is_plain_and_whole(table):
    data = json.loads(json.dumps(report.to_json(table), allow_nan=False))
    assert [agent["name"] for agent in data["agents"]] == list(table.agents)
    assert data["agents"][0]["elo"] == pytest.approx(table.elo[0])
    assert data["agents"][0]["error95"] == pytest.approx(table.rating(table.agents[0]).error)
    np.testing.assert_allclose(data["covariance"], table.covariance)
    assert data["anchor"] == "random"
    assert json.dumps(report.to_json(rate([])), allow_nan=False)


def test_ladder_is_an_svg_that_shows_all(table, tmp_path):
    path = tmp_path / "ladder.svg"
    report.save_ladder(table, path)
    root = ET.fromstring(path.read_text())
    assert "".join(root.itertext()).count("[red]<b>") == 1
    circles = [node for node in root.iter() if node.tag.endswith("circle")]
    assert [float(c.get("cx")) for c in circles] == sorted((float(c.get("cx")) for c in circles), reverse=True)
    bars = [node.get("d") for node in root.iter() if node.get("class") == "bar"]
    for circle, bar in zip(circles, bars, strict=True):
        low, high = (float(part.split()[0]) for part in bar.replace("M", "").split("H"))
        assert low <= float(circle.get("cx")) <= high
        assert (low == high) == (circle is circles[-1]), "only the anchor has no bar"


def test_pools_are_apart():
    table = rate(pool(("a", "b", 1, 1, 1), ("c", "d", 2, 1, 0)))
    assert [row.rank for row in report.rows(table)] == [1, 2, 1, 2]
    assert report.rows(table)[1].above_next is None
    assert "2 pools that never met" in printed(table)
    assert 'stroke-dasharray="4 4"' in report.ladder_svg(table)


def test_hardly_anything_can_be_printed():
    assert "Ratings" in printed(rate([]))
    assert ET.fromstring(report.ladder_svg(rate([]))) is not None
    alone = rate([PairResult("go9", "a", "a", 1.0, 0.0, id="1")])
    assert math.isnan(report.rows(alone)[0].score)
    assert "a" in printed(alone)


def test_png_needs_matplotlib(table, tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"--extra plot.*\.svg"):
        report.save_ladder(table, tmp_path / "ladder.png")
    with pytest.raises(UsageError, match=r"\.svg or \.png"):
        report.save_ladder(table, tmp_path / "ladder.gif")


def test_png(table, tmp_path):
    pytest.importorskip("matplotlib", reason="the extra `plot` is not installed")
    report.save_ladder(table, tmp_path / "ladder.png")
    assert (tmp_path / "ladder.png").read_bytes().startswith(b"\x89PNG")
