"""`jaxgo watch`: a page beside a run, which reads the run's folder and leaves it as it is."""

import contextlib
import dataclasses
import hashlib
import json
import math
import os

import pytest
import watched_run

pytest.importorskip("starlette")
from starlette.testclient import TestClient

from jaxgo.cli.main import main
from jaxgo.cli.watch import Watch
from jaxgo.core.errors import UsageError
from jaxgo.frontends.web import server
from jaxgo.frontends.web.offers import Offers
from jaxgo.frontends.web.shared import Shared
from jaxgo.frontends.web.watching import Watched
from jaxgo.system.metrics import Metrics
from jaxgo.system.rundir import RunDir
from jaxgo.training.config import to_json
from jaxgo.ui import run_summary


@pytest.fixture
def run(tmp_path):
    return watched_run.begin(tmp_path / "run")


@pytest.mark.parametrize("told", ["{}", '{"pony": 1}', '{"net": 5}', '{"search": {"kind": "x"}}', '{"options": [1]}'])
def test_settings_of_another_version_are_refused_in_one_sentence(run, told):
    config = run / "config.json"
    whole = json.loads(config.read_text())
    config.write_text(json.dumps({**whole, **json.loads(told)} if told != "{}" else {"format": whole["format"]}))
    with pytest.raises(UsageError) as refused:
        Watched(run)
    assert str(refused.value).startswith(f"{config}")
    assert "\n" not in str(refused.value)


def files(folder):
    """Every file with its bytes and its time."""
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path: (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns) for path in found}


def test_the_page_begins_with_the_options_of_the_run(tmp_path, monkeypatch):
    config = dataclasses.replace(watched_run.CONFIG, game="examples.own_game:Nim", options=(("heaps", (2, 3, 4)),))
    with RunDir(tmp_path, to_json(config)):
        pass
    began, lowered = [], []
    monkeypatch.setattr(Watch, "serve", lambda self, shared, name, options: began.append((name, options)) or 0)
    monkeypatch.setattr(os, "nice", lowered.append)  # or all later tests of this process would wait for those of others
    Watch(tmp_path).run()
    assert lowered == [10], "the training goes first"
    assert began == [("examples.own_game:Nim", {"heaps": "2,3,4"})]


def app_of(watched):
    return server.create(Shared(Offers({str(watched.run): "tictactoe"}), run=watched), "tictactoe")


def test_a_run_is_followed_while_it_writes_and_nothing_is_touched(run):
    with RunDir(run, to_json(watched_run.CONFIG)):  # the lock is held, as by a training that goes on
        watched = Watched(run)
        assert watched.look()
        told = watched.told
        assert (told["iteration"], told["curves"], told["groups"], told["player"]) == (0, [], [], "")
        assert told["written"] is None
        watched_run.train(run)
        before = files(run)
        assert watched.look()
        assert not watched.look(), "nothing has changed since"
        told = watched.told
        assert (told["iteration"], told["seconds"]) == (4, 24.0), "half a line is left for later"
        curves = {curve["title"]: curve["lines"] for curve in told["curves"]}
        assert [line["name"] for line in curves["loss"]] == ["total", "value"]
        assert curves["loss"][0]["points"] == [[0.1, 2.0], [0.2, 1.0], [0.3, 0.66667], [0.4, 0.5]]
        assert len(curves["plies a game"][0]["points"]) == 3
        assert told["ladder"] == []
        watched_run.judge(run)
        assert watched.look()
        told = watched.told
        assert told["ladder"] == [["step 4", 50.0, 20.0], ["random", 0.0, 9.0]]
        (group,) = told["groups"]
        assert [game["actions"] for game in group["games"]] == [[6, 3, 7, 4, 8]] * 2
        assert "step 4 won" in group["games"][0]["result"]
        assert watched.number == 3
        now = files(run)
        assert {path: now[path] for path in before if path.name != "metrics.jsonl"} == {
            path: seen for path, seen in before.items() if path.name != "metrics.jsonl"
        }
        watched.look()
        assert files(run) == now
        json.dumps(told, allow_nan=False)


def test_the_page_is_told_of_the_run_and_of_what_is_new(run):
    watched_run.train(run)
    watched = Watched(run)
    watched.look()
    with (
        TestClient(app_of(watched), base_url="http://localhost") as client,
        client.websocket_connect("ws://localhost/socket", headers={"origin": "http://localhost"}) as socket,
    ):

        def hear():
            while (message := json.loads(socket.receive_text()))["tell"] != "run":
                if message["tell"] == "position":
                    assert message["players"] == ["", ""], "nobody computes beside a run before it is asked"
            return message

        assert hear()["iteration"] == 4
        watched_run.judge(run)
        watched.look()
        told = hear()
        game = told["groups"][0]["games"][0]
        socket.send_text(json.dumps({"do": "setup", "text": game["start"], "actions": game["actions"]}))
        while (message := json.loads(socket.receive_text()))["tell"] != "position":
            pass
        assert message["moves"] == list(watched_run.LINE)


def test_what_is_no_run_is_refused(tmp_path, capsys):
    assert main(["watch", str(tmp_path)]) == 2
    assert "is not the folder of a run" in capsys.readouterr().err


def test_a_loss_that_is_no_number_breaks_its_line(run):
    metrics = Metrics(run)
    for i, total in enumerate((2.0, math.nan, 1.0), 1):
        metrics.write(i, {"phase": "play", "seconds": 60.0 * i, "loss": {"total": total, "value": math.nan}})
    metrics.close()
    watched = Watched(run)
    watched.look()
    (curve,) = watched.told["curves"]
    assert curve["lines"] == [{"name": "total", "points": [[1.0, 2.0], [2.0, None], [3.0, 1.0]]}]
    json.dumps(watched.told, allow_nan=False)


def test_numbers_that_no_run_comes_to_are_left_out(run):
    """One of them would leave no room on its axis for the others."""
    metrics = Metrics(run)
    sound = {"phase": "play", "seconds": 60.0, "loss": {"total": 2.0}, "length": 9.0}
    wrong = ({"seconds": 1e300}, {"seconds": -5.0}, {"seconds": 10**300}, {"loss": {"total": -1e300}}, {"length": 1e39})
    for i, other in enumerate(({}, *wrong, {"seconds": 120.0, "loss": {"total": 3e38}}), 1):
        metrics.write(i, {**sound, **other})
    metrics.close()
    watched = Watched(run)
    watched.look()
    assert (watched.told["iteration"], watched.told["seconds"]) == (7, 120.0)
    loss, length = watched.told["curves"]
    assert loss["lines"][0]["points"] == [[1.0, 2.0], [2.0, 3e38]]
    assert length["lines"][0]["points"] == [[1.0, 9.0], [2.0, 9.0]]


def test_losses_for_which_there_is_no_room_are_named(run):
    metrics = Metrics(run)
    metrics.write(1, {"phase": "play", "seconds": 60.0, "loss": dict.fromkeys("abcdefgh", 1.0), "length": 9.0})
    metrics.close()
    watched = Watched(run)
    watched.look()
    loss, length = watched.told["curves"]
    assert [line["name"] for line in loss["lines"]] == [*"abcdef"]
    assert (loss["left"], length["left"]) == (["g", "h"], [])


def test_long_curves_are_thinned():
    points = run_summary.thin([[float(i), 2.0 * i] for i in range(10_000)])
    assert 100 < len(points) <= run_summary.POINTS
    assert points[0] == [24.5, 49.0]
    torn = run_summary.thin([[float(i), math.nan if i < 75 else 1.0] for i in range(10_000)])
    assert torn[:3] == [[24.5, None], [74.5, 1.0], [124.5, 1.0]], "as far as there are numbers"


@contextlib.contextmanager
def on_a_phone(browser, watched):
    """The page beside a run; its scripts may tell no error."""
    from browsing import opened, served

    with served(app_of(watched)) as address:
        page, faults = opened(browser, address, 360, 740)
        yield page
        page.close()
        assert not faults


@pytest.mark.slow
def test_curves_of_a_run_that_has_begun_or_whose_loss_is_no_number_can_be_seen(run, browser):
    from playwright.sync_api import expect

    names = [f"a-player-with-a-long-name,of={many}-settings,that-nobody-shortens" for many in range(40)]
    metrics = Metrics(run)
    metrics.write(1, {"phase": "play", "seconds": 60.0, "loss": {"total": 2.0}})
    watched = Watched(run)
    watched.look()
    with on_a_phone(browser, watched) as page:
        box = page.locator("#curves path.curve").bounding_box()  # of the line alone, which has no length
        expect(page.locator("#curves path.alone")).to_have_count(1)
        assert box is not None
        for i, total in enumerate((1.0, math.nan, 1.0, 1.0, math.nan), 2):
            metrics.write(i, {"phase": "play", "seconds": 7200.0 * i, "loss": {"total": total}})
        elo = {name: [float(i), 1.0] for i, name in enumerate(names)}
        metrics.write(6, {"phase": "judge", "seconds": 4e5, "player": names[0], "elo": elo})
        watched.look()
        expect(page.locator("#curves figure").first.locator("path.curve")).to_have_count(2)
        expect(page.locator("#run-state")).to_contain_text("4.63 days")
        expect(page.locator("#run-state")).to_contain_text("a loss is no number any more")
        for number in (page.locator("#ladder tbody td.n").first, page.locator("#ladder th").last):
            inside = number.bounding_box()
            assert inside["x"] + inside["width"] <= 360
        assert page.locator(".ladder").bounding_box()["height"] < 400
        left = [f"a-head-with-a-long-name-that-nobody-shortens-{i}" for i in range(9)]
        metrics.write(8, {"phase": "play", "seconds": 5e5, "loss": dict.fromkeys(["total", *left], 1.0), "length": 9.0})
        metrics.close()
        watched.look()
        expect(page.locator("#curves figcaption").first).to_contain_text(f" not drawn: {', '.join(left[-4:])}")
        expect(page.locator("#curves figcaption", has_text="not drawn")).to_have_count(1)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.slow
def test_the_newest_player_plays_and_the_page_shows_it(run, browser):
    from page_hands import moves
    from playwright.sync_api import expect

    watched_run.train(run)
    watched_run.judge(run)
    watched = Watched(run)
    watched.start()
    with on_a_phone(browser, watched) as page:
        expect(page.locator("#run-state")).to_contain_text("iteration 4")
        expect(page.locator("#curves svg")).to_have_count(4)
        expect(page.locator("#ladder tbody tr").first).to_contain_text("step 4")
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        page.locator("#run-games button").first.click()
        expect(page.locator("#last")).to_be_enabled()
        page.locator("h1").click()
        page.keyboard.press("End")
        expect(moves(page)).to_have_count(5)
        expect(page.locator("#banner")).to_contain_text("first wins")
        watched_run.save_player(run, 6)
        expect(page.locator("#run-games")).to_contain_text("of step 6, by its policy alone")
        page.locator("#run-games ol").last.locator("button").first.click()
        expect(moves(page)).to_have_count(0)
        page.keyboard.press("ArrowRight")
        expect(moves(page)).to_have_count(1)
        page.locator("#meet").click()
        expect(page.locator("#seat1 b")).to_contain_text(str(run))
    watched.close()
