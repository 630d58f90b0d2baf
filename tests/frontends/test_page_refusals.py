"""What the page refuses, and that refusals change nothing; what visitors share; messages of nonsense."""

import contextlib
import dataclasses
import json
import threading
import time

import numpy as np
import pytest

pytest.importorskip("starlette")
from starlette.testclient import TestClient
from visitor import HOME, QUICK, WAIT, Page, guest, state, visit

from jaxgo.core import play
from jaxgo.core.errors import UsageError
from jaxgo.evaluators import EVALUATORS
from jaxgo.frontends import compiled
from jaxgo.frontends.session import Session
from jaxgo.frontends.web import protocol, server, table, told
from jaxgo.frontends.web import searches as turns
from jaxgo.frontends.web import shared as shared_by_all
from jaxgo.frontends.web.offers import FILES, USUAL, Offers, check_player
from jaxgo.frontends.web.shared import LOADED, Shared
from jaxgo.games import GAMES, make
from jaxgo.players import load_player
from jaxgo.search import PRESETS, SEARCHES, Chain, think

# -- refusals --------------------------------------------------------------------------------------------------------
LONG = "uct:150000,evaluator=uniform,solver=no"

REFUSED = [
    "",
    "nonsense",
    "[]",
    "null",
    "1e999",
    '{"do": "dance"}',
    '{"do": 7}',
    '{"do": "play"}',
    '{"do": "play", "number": 0}',
    '{"do": "play", "number": 0, "name": 4}',
    '{"do": "play", "action": "4", "number": 0}',
    '{"do": "play", "action": true, "number": 0}',
    '{"do": "play", "action": 4.0, "number": 0}',
    '{"do": "play", "action": NaN, "number": 0}',
    '{"do": "play", "action": -1, "number": 0}',
    '{"do": "play", "action": 1e400, "number": 0}',
    '{"do": "play", "action": 99999999999999999999, "number": 0}',
    '{"do": "play", "action": 4, "number": 0, "file": "/etc/passwd"}',
    '{"do": "new", "game": "shogi"}',
    '{"do": "new", "game": "../../etc/passwd"}',
    '{"do": "new", "game": "tictactoe", "options": {"__class__": "x"}}',
    '{"do": "new", "game": "tictactoe", "options": {"width": "99999999"}}',
    '{"do": "new", "game": "tictactoe", "options": [1]}',
    '{"do": "new", "game": "examples/nim.py:Nim"}',
    '{"do": "load", "text": "{\\"jaxgo\\": 1, \\"game\\": \\"examples/nim.py:Nim\\", \\"moves\\": []}"}',
    '{"do": "load", "text": "{\\"jaxgo\\": 1, \\"game\\": \\"jaxgo.games.go.rules:Go\\", \\"moves\\": []}"}',
    '{"do": "load", "text": "\\ufeff{\\"jaxgo\\": 1, \\"game\\": \\"jaxgo.games.go.rules:Go\\", \\"moves\\": []}"}',
    '{"do": "seats", "players": ["", "examples.mine:Search"]}',
    '{"do": "undo", "count": 7}',
    '{"do": "redo"}',
    '{"do": "seats", "players": ["uct:8"]}',
    '{"do": "seats", "players": ["", "gumbel:8@/etc/passwd"]}',
    '{"do": "seats", "players": ["", "gumbel:8@runs/x"]}',
    '{"do": "seats", "players": ["", "gtp:\\"rm -rf x\\""]}',
    '{"do": "seats", "players": ["", "uct:999999999999999"]}',
    '{"do": "seats", "players": ["", 5]}',
    '{"do": "seats", "players": [null]}',
    '{"do": "setup", "text": "", "players": ["", null]}',
    '{"do": "budget", "seconds": 1e9}',
    '{"do": "budget", "simulations": -4}',
    '{"do": "loop", "on": 1}',
    '{"do": "setup", "text": "X../... 0"}',
    '{"do": "setup", "actions": [9]}',
    '{"do": "setup", "actions": [0], "source": "no game"}',
    '{"do": "load", "text": "game: jaxgo.games.go.rules:Go\\nresult of seat 0: 1\\n"}',
    '{"do": "load", "text": "\\n game: tictactoe\\ngame: jaxgo.games.go.rules:Go\\nresult of seat 0: 1\\n"}',
    '{"do": "load", "text": "(;GM[1]"}',
    '{"do": "load", "text": "(;GM[1]SZ[5]RU[AGA]ML[2001];B[aa])"}',
    '{"do": "new", "game": "go5", "options": {"move_limit": "2001"}}',
    '{"do": "setup", "game": "kono", "options": {"max_plies": "10000", "repetition": "draw"}}',
    '{"do": "save", "kind": "../x"}',
    "[" * 50_000,
    '{"do":' * 10_000,
    '{"do": "load", "text": "' + "x" * protocol.MOST_TEXT + '"}',
]


def test_what_is_refused_is_answered_and_changes_nothing(client):
    with visit(client) as page:
        page.play("b2")
        before = state(page)
        for text in REFUSED:
            page.socket.send_text(text)
            told = page.hear_any("error", "position")
            assert told["tell"] == "error", text[:80]
            assert "\n" not in told["text"]
            assert len(told["text"]) < 2000
            assert "Traceback" not in told["text"]
        assert state(page) == before


@pytest.mark.parametrize(
    ("place", "name", "request_"),
    [
        (table.drawing, "choices", {"do": "play", "action": 0}),  # breaks when the move is made already
        (table.drawing, "choices", {"do": "setup", "text": "X.O/.X./... 1"}),
        (Offers, "check", {"do": "seats", "players": ["random", ""]}),
        (told.formats, "write", {"do": "save", "kind": "json"}),
    ],
)
def test_an_error_of_our_own_is_answered_logged_and_changes_nothing(client, monkeypatch, caplog, place, name, request_):
    whole, calls = getattr(place, name), []

    def breaks(*args):
        calls.append(args)
        if len(calls) == 1:
            raise ZeroDivisionError("the cause")
        return whole(*args)

    with visit(client) as page:
        page.play("b2")
        before = state(page)
        monkeypatch.setattr(place, name, breaks)
        page.ask(**request_, **({"number": before["number"]} if request_["do"] == "play" else {}))
        told = page.hear("error")["text"]
        assert "an error of jaxgo itself" in told
        assert "ZeroDivision" not in told
        assert "\n" not in told
        logged = [record.exc_info[0] for record in caplog.records if record.name == server.__name__]
        assert logged == [ZeroDivisionError]
        assert {**state(page), "number": before["number"]} == before
        assert page.play("a1")["moves"] == ["b2", "a1"]


@pytest.mark.parametrize("do", ["seats", "setup"])
def test_a_refusal_takes_no_move_back_that_came_meanwhile(monkeypatch, do):
    shared = Shared(Offers({}, ("random",)))
    sat = table.Table(shared, lambda message: None, "tictactoe")

    def moves_and_refuses(spec, game):
        sat.session.play("b2")
        raise UsageError("nobody is called so")

    monkeypatch.setattr(shared, "player", moves_and_refuses)
    try:
        with pytest.raises(UsageError, match="nobody"):
            sat.handle(protocol.read(json.dumps({"do": do, "players": ["random", "nobody"]})))
        assert sat.session.board.moves == ["b2"]
        assert sat.session.seats == [None, None]
    finally:
        sat.close()


def test_a_page_that_is_behind_cannot_move(client):
    with visit(client) as page:
        number = page.last["position"]["number"]
        page.play("b2")
        assert "changed" in page.answer("play", action=0, number=number)["text"]


@pytest.mark.slow
def test_nobody_moves_for_the_machine(client):
    with visit(client, ("uct:150000,evaluator=uniform,solver=no", "")) as page:
        told = page.answer("play", action=0, number=page.last["position"]["number"])
        assert "not your turn" in told["text"]
        page.ask("stop")
        assert len(page.hear("position", lambda message: message["moves"])["moves"]) == 1, "it moves when it is stopped"


@pytest.mark.slow
def test_nothing_but_stop_makes_a_machine_move_before_it_has_thought():
    """What it has found so far is not played: its seat may be a human's by now."""
    long, shared = "uct:150000,solver=no,evaluator=uniform", Shared(Offers({}, ("random",)))

    def at_work():
        """The search that goes on, once it does."""
        last = time.monotonic() + WAIT
        while True:
            begun = [thinking for thinking in list(shared.searches._running.values()) if thinking is not None]
            if begun and not begun[0].stopped.is_set():
                return begun[0]
            assert time.monotonic() < last
            time.sleep(0.01)

    with guest(shared=shared) as sat:
        for asks, players in (
            ([{"do": "go"}, {"do": "go"}], [long, ""]),  # a button that is clicked twice
            ([{"do": "seats", "players": [long, "random"]}], [long, "random"]),
            ([{"do": "swap"}], ["", long]),
            ([{"do": "seats", "players": ["", ""]}], ["", ""]),
        ):
            sat.ask("seats", players=[long, ""])
            thinking = at_work()
            for on in (True, False):
                sat.ask("analyse", on=on)
            assert not thinking.stopped.is_set(), "to look on does not let it begin its move again"
            for fields in asks:
                sat.ask(**fields)
            thinking.future.result(WAIT)
            assert sat.table.session.board.moves == [], asks
            assert sat.table._players() == players


def test_an_answer_that_is_there_at_once_is_heard_in_the_thread_of_its_own_session(monkeypatch):
    """In that of another visitor, who has begun the search, two tables could wait for each other for ever."""
    whole, sat = Session._submit, table.Table(Shared(Offers({}, ("random",))), lambda told: None, "tictactoe")
    heard, here, answered = threading.Event(), [], sat._answered

    def submit(session, thinking, work):
        whole(session, thinking, work)
        thinking.result(WAIT)

    def hear(*answer):
        here.append(threading.current_thread() is sat.session._thread)
        answered(*answer)
        heard.set()

    sat.session.set_player(0, "random", warm=False)
    assert sat.session.prepare().result(WAIT) is None
    monkeypatch.setattr(Session, "_submit", submit)
    monkeypatch.setattr(sat, "_answered", hear)
    try:
        sat._changed()
        assert heard.wait(WAIT)
        assert here == [True]
    finally:
        sat.close()


def test_a_visit_that_is_cancelled_leaves_no_search_behind(monkeypatch):
    closed, whole = [], table.Table.close

    def close(sat):
        whole(sat)
        closed.append(sat)

    monkeypatch.setattr(table.Table, "close", close)
    with TestClient(server.create(Shared(Offers({}, ("random",))), "tictactoe"), base_url=HOME) as client:
        with visit(client):  # the client cancels it while it says goodbye
            pass
        assert len(closed) == 1


@pytest.mark.slow
def test_a_search_that_waits_for_another_is_stopped_as_well():
    app = server.create(Shared(Offers({}, ("random",)), most_searches=1), "tictactoe")
    with TestClient(app, base_url=HOME) as client, visit(client) as busy, visit(client) as page:
        busy.ask("seats", players=[LONG, ""])
        busy.hear("status", lambda message: "is thinking" in message["text"])
        page.ask("seats", players=[QUICK, ""])
        page.hear("status", lambda message: "waits until another search has ended" in message["text"])
        page.ask("stop")
        assert page.hear("position")["paused"], "or it says that it will move, and never does"
        busy.ask("stop")
        busy.hear("position", lambda message: message["moves"])
        page.ask("go")
        page.hear("position", lambda message: message["moves"])


@pytest.mark.slow
def test_an_analysis_goes_on_after_a_hint(client):
    with visit(client, ("", LONG)) as page:
        page.answer("budget", simulations=8)
        page.ask("analyse", on=True)
        page.hear("thought", goes_on)
        page.ask("hint")
        page.hear("thought", lambda message: message["hint"] and message["final"])
        page.hear("thought", goes_on)
        page.ask("stop")
        assert not page.hear("position")["analysing"], "or a ticked box says that it goes on"


@pytest.mark.slow
def test_analyses_of_two_visitors_take_turns(monkeypatch):
    monkeypatch.setattr(turns, "SLICE", 0.2)
    app = server.create(Shared(Offers({}, ("random",)), most_searches=1), "tictactoe")
    with TestClient(app, base_url=HOME) as client, visit(client, ("", LONG)) as one, visit(client, ("", LONG)) as other:
        for page in (one, other):
            page.ask("analyse", on=True)
        for page in (one, other, one, other):
            page.hear("thought", lambda message: message["final"])
            page.hear("thought", goes_on)


def goes_on(message):
    return not message["final"] and not message["hint"]


def test_names_of_networks_are_those_on_offer():
    offers = Offers({"net": "tictactoe", "runs/a b": "go9"})
    for spec in (
        "uct:8",
        "alphabeta:8,evaluator=rollout, evaluator.depth = 9",
        "gumbel:64@net",
        "gumbel:64@net:120",
        "gumbel:64@net/120",
        "gumbel:8,considered=4@runs/a b",
    ):
        assert offers.check(spec) == spec
    for spec in (
        "gumbel:64@other",
        "gumbel:64@net/../x",
        "gumbel@netz",
        "uct:8,book=../x",
        "uct:8,book=/etc/passwd",
        "gtp:x",
        "os:system",
        "uct:8,evaluator=os:system",
        "greedy,file=secret",
        'greedy, file = "secret"',
        "uct:8,evaluator=solved,file=LICENSE",
        "uct:8,evaluator=solved,evaluator.file=LICENSE",
        "uct:8,evaluator=evaluator.own",
        "evaluator.own:Search",
        "chain:book+random,book=LICENSE",
        "chain,links=win+examples.own:Best:4",
        "chain,links=win+mysearch:Best",
    ):
        with pytest.raises(UsageError):
            offers.check(spec)


def test_every_option_that_takes_any_text_is_known_as_the_name_of_a_file():
    parts = [*SEARCHES.values(), *EVALUATORS.values()]
    texts = {field.name for part in parts for field in dataclasses.fields(part) if field.type in (str, "str")}
    assert texts == {*FILES, Chain.colon}


@pytest.mark.parametrize(
    "spec",
    [
        "uct:4,rollouts=16000000",
        "uct:4,rollouts=+16000000",
        "uct:4,rollouts= 16_000_000",
        'uct:4,rollouts="16000000"',
        "puct:4,evaluator=rollout,depth=10001",
        "uct:4,nodes=+16000000",
        "uct:4,c=1e5",
        "uct:200_001",
        "uct,simulations=+200001",
        "alphabeta:200_001",
        "uct:200,rollouts=10000,parallel_leaves=2",
        "uct:200,rollouts=101,parallel_leaves=100",
        "gumbel:64,evaluator=rollout,rollouts=1000",
        "alphabeta:1,table=17",
    ],
)
def test_a_number_is_bounded_however_it_is_written(spec):
    offers, game = Offers({}), GAMES["tictactoe"]
    with pytest.raises(UsageError, match="on a page"):
        check_player(load_player(offers.check(spec), game))


@pytest.mark.parametrize("spec", [*USUAL, *PRESETS, "uct:200000", "bfs:100", "uct:8,rollouts=10_000"])
def test_usual_players_may_sit_on_a_page_whatever_their_numbers(spec):
    game = GAMES["slide8" if spec.startswith("bfs") else "gomoku9"]
    if spec != "shortest-path":  # of races
        assert check_player(load_player(Offers({}).check(spec), game)).search


# -- what visitors share ---------------------------------------------------------------------------------------------
def test_a_page_hears_what_there_is_while_its_board_is_set_up(client, monkeypatch):
    come, whole = threading.Event(), table.Table.open

    def slowly(self):
        assert come.wait(WAIT)
        whole(self)

    monkeypatch.setattr(table.Table, "open", slowly)
    with client.websocket_connect("ws://localhost/socket", headers={"origin": HOME}) as socket:
        page = Page(socket)
        try:
            assert page.hear_any("hello", "board", "position")["game"] == "tictactoe"
            assert [message["tell"] for message in page.heard] == ["hello"]
        finally:
            come.set()
        page.hear("position")


def test_a_player_is_loaded_once_for_all_visitors(monkeypatch, tmp_path):
    loaded, steps, anyone = [], [1], load_player("random", GAMES["tictactoe"])
    monkeypatch.setattr(
        shared_by_all, "load_player", lambda spec, game: loaded.append(spec) or dataclasses.replace(anyone, name=spec)
    )
    monkeypatch.setattr(shared_by_all, "weight_steps", lambda run: steps if run.name == "run" else [])
    shared, game = Shared(Offers({str(tmp_path / "run"): "tictactoe"})), GAMES["tictactoe"]
    assert shared.player("uct:8", game) is shared.player("uct:8", game)
    shared.player("uct:8", GAMES["connect4"])
    net = f"gumbel:8@{tmp_path / 'run'}"
    first = shared.player(net, game)
    assert shared.player(net, game) is first
    steps.append(2)
    assert shared.player(net, game) is not first, "the run has a newer player"
    assert loaded == ["uct:8", "uct:8", net, net]
    for number in range(2 * LOADED):
        shared.player(f"uct:{number}", game)
    assert len(shared._players) == LOADED


@pytest.mark.slow  # compiles for seconds
def test_no_visitor_uses_up_what_the_server_may_compile(monkeypatch):
    programs, most, swept = [], [], []

    def sweep():
        swept.append(len(programs))
        programs.clear()

    monkeypatch.setattr(think, "compiled", lambda: len(programs))
    monkeypatch.setattr(play, "compiled", lambda: 0)
    monkeypatch.setattr(compiled.jax, "clear_caches", sweep)  # the programs of other tests
    monkeypatch.setattr(compiled.heap, "held", lambda: 0)
    monkeypatch.setattr(
        Session, "set_player", lambda self, seat, player, warm=True: player is not None and programs.append(player)
    )
    shared = Shared(Offers({}, ("random",)))
    busy, other = (table.Table(shared, lambda told: None, "tictactoe") for _ in range(2))
    try:
        for number in range(1, 250):
            busy.handle(protocol.Seats(["", f"uct:{number}"]))
            most.append(len(programs))
        other.handle(protocol.New("tictactoe", {"width": "4"}))
        other.handle(protocol.Seats(["", "uct:1600"]))
        assert max(most) == swept[0] == compiled.MOST
        assert len(shared._players) == LOADED
    finally:
        busy.close()
        other.close()


def test_what_is_compiled_is_counted():
    games, searches = play.compiled(), think.compiled()
    fresh = make("tictactoe", width=2, height=5)
    opened = Session(fresh, "tictactoe")
    try:
        opened.set_player(0, "random").result(WAIT)
    finally:
        opened.close()
    assert (play.compiled(), think.compiled()) == (games + 1, searches + 1)


def test_random_messages_harm_nobody(client):
    """Fields of all kinds in requests of all kinds: each is answered, and the game can be gone on with."""
    fuzz(client, 150)


@pytest.mark.slow
def test_ten_thousand_random_messages_harm_nobody(client):
    fuzz(client, 10_000)


def fuzz(client, count):
    rng = np.random.default_rng(7)
    words = ["", "b2", "you", "uct:8", "random", "x" * 500, "../x", "\x00", "🂡", "tictactoe", "-1", "X.O/.X./... 1"]
    values = [None, True, 0, 1, -1, 4, 2**40, 0.5, -1e300, [], {}, [1, 2], ["", ""], {"width": "3"}, *words]
    fields = ["action", "number", "count", "players", "game", "options", "text", "actions", "on", "delay", "kind", "x"]
    kinds = [kind for kind in protocol.KINDS if kind not in ("stop", "analyse", "hint", "new", "seats", "swap", "draw")]
    with visit(client) as page:
        for number in range(count):
            chosen = rng.choice(len(fields), rng.integers(0, 4), replace=False)
            message = {fields[i]: values[rng.integers(len(values))] for i in chosen}
            text = json.dumps({"do": str(rng.choice(kinds)), **message})
            if rng.random() < 0.2:
                cut = rng.integers(1, len(text))
                text = text[:cut] + chr(rng.integers(1, 0x300)) + text[cut + 1 :]
            with contextlib.suppress(UsageError):
                protocol.read(text)
            if number % (1 + count // 150) == 0:  # the socket takes so many a second
                page.socket.send_text(text)
                assert page.hear_any("error", "position", "file")["tell"] in ("error", "position", "file")
        page.answer("loop", on=False)
        page.answer("setup", text="... / ... / ... 0".replace(" / ", "/"))
        assert page.play("b2")["moves"] == ["b2"]


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"do": "budget", "seconds": 999}, "the time of a move must be between 0 and 120 seconds"),
        ({"do": "budget", "simulations": 10**6}, "the time of a move must be between 0 and 200,000 simulations"),
        ({"do": "loop", "on": True, "delay": 61}, "the pause must be between 0 and 60 seconds"),
        ({"do": "setup", "game": "tictactoe", "actions": [None]}, "each move in a link must be a whole number"),
        ({"do": "new", "game": "x" * 500}, "the name of a game is longer than 400 characters"),
        ({"do": "seats", "players": ["", "x" * 500]}, "the spec of a player is longer than 400 characters"),
    ],
)
def test_what_people_fill_in_is_refused_in_the_words_of_the_page(request_, words):
    with pytest.raises(UsageError, match=f"^{words}$"):
        protocol.read(json.dumps(request_))


def test_what_the_page_calls_a_field_is_a_field():
    fields = {f"{word}.{field.name}" for word, kind in protocol.KINDS.items() for field in dataclasses.fields(kind)}
    assert {name.removesuffix("[]") for name in protocol.CALLED} <= fields
