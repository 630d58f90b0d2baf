"""The way in to the page: which files are served, which hosts and origins are let in, and what the files are."""

import pytest

pytest.importorskip("starlette")
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect
from visitor import HOME, visit

from jaxgo.core.errors import UsageError
from jaxgo.frontends.web import offers, server
from jaxgo.frontends.web.offers import Offers
from jaxgo.frontends.web.shared import Shared
from jaxgo.games import GAMES, make
from jaxgo.players import EASIER
from jaxgo.records import formats
from jaxgo.records.record import GameRecord


def test_files_are_served_from_a_fixed_list(client):
    assert client.get("/").status_code == 200
    assert "script-src 'self'" in client.get("/").headers["content-security-policy"]
    assert client.get("/board.js").headers["content-type"].startswith("text/javascript")
    for path in (
        "/static/../server.py",
        "/%2e%2e/server.py",
        "/..%2fserver.py",
        "/server.py",
        "/board.js%00",
        "//etc/passwd",
    ):
        assert client.get(path).status_code == 404, path


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example", ""]
)
def test_other_hosts_are_refused(client, host):
    assert client.get("/", headers={"host": host}).status_code == 403


@pytest.mark.parametrize("host", ["mymachine:8000", "MyMachine", "mymachine.", "MYMACHINE.:8000"])
@pytest.mark.parametrize("name", ["MyMachine", "mymachine."])
def test_names_of_hosts_are_the_same_in_capitals_and_with_a_dot(host, name):
    app = server.create(Shared(Offers({})), "tictactoe", hosts=[name])
    with TestClient(app, base_url=f"http://{host}") as client:
        assert client.get("/", headers={"host": host}).status_code == 200
        for other in ("mymachine.x", "mymachine..", "."):
            assert client.get("/", headers={"host": other}).status_code == 403


@pytest.mark.parametrize("names", [["2001:db8::1"], ["[2001:db8::1]"]])
def test_a_host_may_be_an_address_of_ipv6(names):
    app = server.create(Shared(Offers({})), "tictactoe", hosts=names)
    with TestClient(app, base_url="http://[2001:db8::1]:8000") as client:
        assert client.get("/").status_code == 200
        assert client.get("/", headers={"host": "[2001:db8::2]:8000"}).status_code == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://localhost", "http://localhost:1", "", None])
def test_pages_of_other_origins_open_no_socket(client, origin):
    headers = {} if origin is None else {"origin": origin}
    with (
        pytest.raises(WebSocketDisconnect),
        client.websocket_connect("ws://localhost/socket", headers=headers) as socket,
    ):
        socket.receive_text()


def test_the_browser_is_told_of_all_scripts_at_once():
    """One look at the page, and all scripts are on their way: none waits until another one has been read."""
    page = (server.STATIC / "index.html").read_text()
    for name in set(server.SCRIPTS) - {"main.js"}:
        assert f'<link rel="modulepreload" href="/{name}">' in page


def test_the_page_is_small():
    size = sum((server.STATIC / name).stat().st_size for name, _ in server.FILES.values())
    assert size < 150_000


def test_nothing_on_the_page_reads_markup():
    for name, _ in server.FILES.values():
        text = (server.STATIC / name).read_text()
        for word in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "Function(",
            "DOMParser",
        ):
            assert word not in text, f"{name} has {word}"
        assert "http://" not in text.replace("http://www.w3.org/2000/svg", ""), name
        assert "https://" not in text


def test_the_strongest_is_offered_first():
    found = offers.find(())
    for name, order in {
        "go9": ("go9-late-gpu", "go9-deep-cpu", "go9-last-cpu", "go9-later-cpu", "go9-late-cpu", "go9-cpu"),
        "kono": ("kono-long-cpu", "kono-cpu", "uct:1600", "uct:400"),
        "dodgem7": ("uct:1600",),  # what plays Dodgem knows one size
        "go19": ("go13-gpu", "go13-late-cpu", "go13-cpu", "uct:400"),
        "gomoku19": ("gomoku15-cpu", "uct:400"),
        "renju15": ("puct:5000", "uct:1600"),  # its planes have forbidden points
    }.items():
        players = [spec.rpartition("@")[2] for spec in found.players(name, make(name))]
        assert players[0] == order[0]
        assert [player for player in players if player in order] == list(order)


@pytest.mark.slow  # compiles three boards
@pytest.mark.parametrize("options", [{"width": "5"}, {}])
def test_a_board_with_options_is_offered_who_can_play_it(options):
    """The weights of a game know the board of its usual options; another one begins with the next player."""
    shared = Shared(Offers({"tictactoe-cpu": "tictactoe"}, ("random",)))
    learnt = "gumbel:400@tictactoe-cpu"
    with TestClient(server.create(shared, "tictactoe", options), base_url=HOME) as client, visit(client, None) as page:
        first = ["random", *EASIER] if options else [learnt, "random", *EASIER]
        assert page.last["board"]["players"] == first
        assert page.last["position"]["players"] == ["", first[0]]
        told = page.answer("new", game="tictactoe", options={"height": "5"})
        assert page.last["board"]["players"] == ["random", *EASIER]
        assert (told["tell"], told["players"], len(told["codes"])) == ("position", ["", "random"], 15)


def test_a_game_on_the_page_has_room_for_its_past():
    """Each position keeps the keys of all that a game may have: a file of 60 KB took 0.7 GB."""
    assert all(offers.check_length(game) is game for game in GAMES.values())
    referees = make("go19", move_limit=4 * 361)  # as `jaxgo gtp` saves its games
    assert offers.read_record(formats.write(GameRecord(referees, "go19", (0,)), "sgf")).game == referees
    kono = make("kono", max_plies=10_000)
    assert offers.check_length(kono) is kono, "its rules do not look back"
    for long in ("(;GM[1]SZ[5]RU[AGA]ML[2001];B[aa])", "(;GM[1]SZ[9]RU[AGA]" + ";B[aa];W[bb]" * 1100 + ")"):
        with pytest.raises(
            UsageError, match=r"lasts 2,000 plies at most on a page, not [24],[04]0[01]; lower its move_limit"
        ):
            offers.read_record(long)


def test_a_comment_may_begin_with_a_quote():
    """JSON begins with the same bracket."""
    record = offers.read_record('{"Hello" says White} 1. e4 {"e5"} e5 *')
    assert record.comments == {0: '"Hello" says White', 1: '"e5"'}
    assert offers.read_record('\ufeff { "jaxgo" : 1, "game": "go5"}').name == "go5"
    for text in ('{"game": "examples/nim.py:Nim", "jaxgo": 1}', '{\n"jaxgo"\n: 1, "game": "examples/nim.py:Nim"}'):
        with pytest.raises(UsageError, match=r"unknown game 'examples/nim\.py:Nim'"):
            offers.read_record(text)
