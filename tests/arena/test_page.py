"""The page of ratings: whole, escaped, with every agent, and with games that are the ones that were recorded."""

import dataclasses
import json
import re
import shutil
from html.parser import HTMLParser

import pytest

from jaxgo.arena import games_file
from jaxgo.arena.elo import rate
from jaxgo.arena.records import PairResult
from jaxgo.cli import eval as evaluate
from jaxgo.cli.main import main
from jaxgo.core.errors import UsageError
from jaxgo.games import make
from jaxgo.games.gomoku.rules import Gomoku
from jaxgo.ui import board_shape, board_view, ladder_page

NASTY = "gtp:\"</script><b>&';W[aa]"  # an agent whose name is markup and a move at once
VOID = {"meta", "br"}
LINES = {  # seat 0 wins, in Go by a capture
    "tictactoe": ("a1", "a2", "b1", "b2", "c1"),
    "go5": ("a2", "a1", "b1", "pass", "pass"),
}


class Reader(HTMLParser):
    """Checks that every element is closed where it should be, and collects texts and addresses."""

    def __init__(self, text):
        super().__init__()
        self.open, self.texts, self.links = [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.links += [value for name, value in attrs if name in ("src", "href", "xlink:href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.texts.append(data)


def actions(name):
    return [make(name).parse_action(word) for word in LINES[name]]


def pair(name, number, a=NASTY, b="random", **more):
    """Both games are the same moves, so the one on seat 0 wins both."""
    opening = LINES[name][:1]
    return PairResult(name, a, b, 1.0, 0.0, f"{name}-{a[0]}{b[0]}-{number}", number=number, opening=opening, **more)


@pytest.fixture(scope="module", params=LINES)
def played(request, tmp_path_factory):
    """Results of three agents, with the games in a folder; one file is torn, one match was not saved."""
    name, folder = request.param, tmp_path_factory.mktemp("games")
    results = [pair(name, number) for number in range(4)]
    results += [pair(name, 0, "uct:8", versions=("jax 1",), commit="abc"), pair(name, 0, "uct:8", NASTY)]
    for one in results[:-1]:
        games_file.save(folder, make(name), one, actions(name)[:1], [actions(name)[1:]] * 2)
    torn = next(folder.glob(f"{name}-{results[0].id}-2.*"))
    text = torn.read_text().rstrip(")\n")
    torn.write_text(text[: text.rindex(";" if name == "go5" else "\n")])
    return name, results, folder


@pytest.fixture(scope="module")
def text(played, tmp_path_factory):
    _, results, folder = played
    path = tmp_path_factory.mktemp("page") / "page.html"
    ladder_page.write(path, rate(results), results, [folder / "nowhere", folder], ["a note <i>"])
    return path.read_text()


def data(text):
    return json.loads(re.search(r'<script type="application/json" id="games">(.*?)</script>', text, re.DOTALL)[1])


@pytest.mark.slow
def test_the_page_is_whole_and_names_everybody(text):
    read = Reader(text)
    said = " ".join(read.texts)
    assert said.count(NASTY) >= 3, "in the table, in the cross table and beside the games"
    for words in ("uct:8", "random", "±", "a note <i>", "jax 1, commit abc"):
        assert words in said
    assert "does not end as was recorded" in said or "the file ends inside the game" in said
    assert "<b>&" not in text
    assert text.count("</script>") == 2
    assert not read.links, "nothing is fetched"
    assert "http" not in text.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert 'class="dot"' in text, "the ladder"


def test_results_start_no_code(played):
    _, results, folder = played
    theirs = [dataclasses.replace(pair, game="nowhere.games:Chess") for pair in results]
    samples, (doubt,) = ladder_page.choose(theirs, [folder])
    assert not samples
    assert "the results are of nowhere.games:Chess, a place in code that no file of data may start" in doubt


@pytest.mark.slow
def test_games_that_lie_in_two_folders_are_shown_once(played, tmp_path):
    _, results, folder = played
    shutil.copytree(folder, tmp_path / "copy")
    once, _ = ladder_page.choose(results, [folder])
    twice, _ = ladder_page.choose(results, [folder, folder, tmp_path / "copy"])
    assert [(sample.pair.id, sample.side) for sample in twice] == [(sample.pair.id, sample.side) for sample in once]


def test_games_are_the_recorded_ones(played, text):
    name, results, folder = played
    samples, doubts = ladder_page.choose(results, [folder], ("uct:8", NASTY, "random"))
    assert len(doubts) == 1, "the torn one"
    assert [sample.pair.a for sample in samples] == ["uct:8"] * 2 + [NASTY] * 4, "the best agents come first"
    games = data(text)["games"]
    assert sorted(tuple(game["seats"]) for game in games) == sorted(sample.seats for sample in samples)
    for sample in samples:
        assert list(sample.actions) == actions(name)
        assert sample.said == f"{sample.seats[0]} won"
    for game in games:
        assert game["moves"] == [make(name).action_name(action) for action in actions(name)]
        assert game["movers"] == [0, 1, 0, 1, 0]
        assert game["dark"] == [0] * 6
        assert game["result"] == f"{game['seats'][0]} won"


def test_what_the_script_toggles_is_what_the_board_view_draws(played, text):
    """After every ply the parts that are on are those of the picture of that position, made by hand."""
    name, told, on = played[0], data(text), set()
    game = make(name)
    codes = [0] * (game.shape[0] * game.shape[1])
    assert told["size"] == list(board_shape.size(game))
    turns = told["games"][-1]["turns"]
    assert len(turns) == 1 + len(LINES[name])
    for ply, (turn, action) in enumerate(zip(turns, [None, *actions(name)], strict=True)):
        on ^= set(turn)
        if action is not None and action < len(codes):
            codes[action] = 1 + (ply - 1) % 2
        if name == "go5" and ply == 3:
            codes[game.parse_action("a1")] = 0
        drawn = [part for layer in board_view.layers(game, codes, action) for part in layer]
        assert {told["parts"][part] for part in on} == set(drawn)


def test_nothing_hides_what_is_above_it(text):
    """Shapes come before texts in each layer, the board first and the rings last."""
    kinds = [part.split()[0] for part in data(text)["parts"]]
    assert kinds[0] == "<rect"
    assert kinds.index("<circle") > max(i for i, kind in enumerate(kinds) if kind == "<rect")
    assert 'class="last"' in data(text)["parts"][-1]


def test_the_disc_of_one_seat_does_not_hide_the_colour_of_a_tower(monkeypatch):
    """Towers of one colour of both seats on the same square: the colour is drawn once, before the second disc."""
    game, cell = make("kamisado"), 12
    own = [code for code, piece in enumerate(game.pieces) if code and piece.colour == game.pieces[1].colour]
    first, second = (next(code for code in own if game.pieces[code].seat == seat) for seat in (0, 1))
    frames = [[code if at == cell else 0 for at in range(64)] for code in (first, second)]
    monkeypatch.setattr(ladder_page, "retrace", lambda sample: (frames, [0], [0, 0]))
    drawing = ladder_page.Drawing(game)
    drawing.turns(ladder_page.Sample(pair("tictactoe", 0), game, 0, (0,)))
    circles = [part.split('"')[1] for part in drawing.parts()[0] if part.startswith("<circle") and "last" not in part]
    assert circles == ["zero", "one", "tint"]


def test_the_page_tells_whose_the_stones_are_once_the_colours_are_changed():
    game = Gomoku(7, "freestyle", "swap2")
    forfeit = pair("tictactoe", 0, problems=("game 1: a forfeits",))
    told = ladder_page.replays([ladder_page.Sample(forfeit, game, 0, (0, 1, 2, taken, 10)) for taken in (49, 50)])
    assert [one["dark"] for one in told["games"]] == [[0] * 6, [0, 0, 0, 0, 1, 1]]


def test_a_game_that_is_not_the_recorded_one_is_refused(played):
    name, results, _ = played
    sample = ladder_page.Sample(results[0], make(name), 0, tuple(actions(name)))
    ladder_page.retrace(sample)
    lost = dataclasses.replace(results[0], first=0.0)
    for wrong, said in (
        (dataclasses.replace(sample, pair=lost), "does not end as was recorded"),
        (dataclasses.replace(sample, actions=sample.actions[:-1]), "does not end as was recorded"),
        (dataclasses.replace(sample, actions=(0, 0)), "move 2 of a game of pair .* is not legal"),
        (dataclasses.replace(sample, actions=(0,) * 99), "more than the rules allow"),
    ):
        with pytest.raises(UsageError, match=said):
            ladder_page.retrace(wrong)
    forfeit = dataclasses.replace(lost, problems=("game 1: a forfeits",))
    assert len(ladder_page.retrace(dataclasses.replace(sample, pair=forfeit, actions=sample.actions[:2]))[0]) == 3


def test_without_games_there_is_still_a_page(played, tmp_path):
    _, results, _ = played
    ladder_page.write(tmp_path / "page.html", rate(results), results, [tmp_path])
    text = (tmp_path / "page.html").read_text()
    Reader(text)
    assert "None of these games were saved" in text
    assert "<script" not in text
    with pytest.raises(UsageError, match="cannot write"):
        ladder_page.write(tmp_path / "page.html" / "below", rate(results), results, [])


def test_a_tournament_saves_what_its_page_needs(tmp_path, monkeypatch):
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path / "cache"))
    out, page = tmp_path / "matches.jsonl", tmp_path / "page.html"
    words = [
        "tictactoe",
        "--agents",
        "random",
        "greedy",
        "--pairs",
        "5",
        "--plies",
        "2",
        "--out",
        str(out),
        "--html",
        str(page),
    ]
    assert main(["eval", *words]) == 0
    assert len(list((tmp_path / evaluate.GAMES).iterdir())) == 2 * evaluate.SAMPLE
    first = data(page.read_text())
    assert len(first["games"]) == 2 * evaluate.SAMPLE
    assert main(["eval", "ratings", str(out), "--html", str(page), "--json"]) == 0
    assert data(page.read_text()) == first
