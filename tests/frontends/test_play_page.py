"""The page's messages: games played by them, links, files, and what a page is told."""

import asyncio
import socket
import threading
import types
from pathlib import Path

import jax
import pytest

pytest.importorskip("starlette")
from starlette.websockets import WebSocket
from visitor import FIRST_WON, QUICK, SECOND_WON, guest, state, visit

from jaxgo.core.errors import UsageError
from jaxgo.frontends.web import offers, server, table, told
from jaxgo.frontends.web.offers import Offers
from jaxgo.frontends.web.shared import Shared
from jaxgo.games import GAMES


def test_two_humans_play_a_game(client):
    with visit(client) as page:
        for name in ("b2", "a1", "a3", "c1", "b1", "b3", "c3"):
            page.play(name)
        page.play("c2")
        told = page.play("a2")
        assert told["moves"][-1] == "a2"
        assert told["result"]["text"].startswith("a draw")
        assert told["choices"] == []
        assert told["score"] == [["you (first)", 0, 1, 0], ["you (second)", 0, 1, 0]]


def test_a_move_may_be_called_by_its_name(client):
    with visit(client) as page:
        number = page.last["position"]["number"]
        page.ask("play", name="B2", number=number)
        told = page.hear("position", lambda message: message["moves"])
        assert told["moves"] == ["b2"]
        for name, said in (("b2", "'b2' is not legal; legal moves are: a3"), ("z9", "no action is called 'z9' here")):
            assert said in page.answer("play", name=name, number=told["number"])["text"]
        assert "changed" in page.answer("play", name="a1", number=number)["text"]


def test_a_machine_answers_and_tells_what_it_thinks(client):
    with visit(client, ("", QUICK)) as page:
        page.play("b2")
        told = page.hear("position", lambda message: len(message["moves"]) == 2)
        assert told["seat"] == 0
        thought = [m for m in page.heard if m["tell"] == "thought" and m["final"]][-1]
        assert thought["seat"] == 1
        assert thought["by"] == QUICK
        assert thought["name"] == told["moves"][1]
        assert sum(move["visits"] for move in thought["moves"]) >= 8
        undone = page.answer("undo")
        assert undone["moves"] == [], "both moves are taken back, so that the human is to move"


def test_seats_that_are_chosen_one_by_one_without_waiting(client):
    with visit(client, ("random", QUICK)) as page:
        page.ask("seats", players=["", None])
        page.ask("seats", players=[None, ""])
        page.hear("position", lambda message: message["players"] == ["", ""])
        assert page.answer("seats", players=[None, "random"])["players"] == ["", "random"]


@pytest.mark.slow
def test_a_hint_is_for_who_is_to_move(client):
    with visit(client) as page:
        page.answer("seats", players=["uct:150000", None])
        assert page.answer("hint")["text"].startswith("it is not your turn")
        page.ask("stop")
        assert page.hear("position", lambda told: told["moves"])


def test_a_hint_is_told_and_nothing_is_played(client):
    with visit(client) as page:
        page.answer("seats", players=["", QUICK])
        number = page.last["position"]["number"]
        page.ask("hint")
        hint = page.hear("thought", lambda message: message["hint"])
        assert hint["number"] == number
        assert hint["line"][0]["number"] == 1
        assert state(page)["moves"] == []


def test_games_follow_each_other_with_sides_changed(client):
    with visit(client, (QUICK, "random")) as page:
        page.ask("loop", on=True, delay=0)
        told = page.hear("position", lambda message: len(message["kept"]) >= 3)
        page.ask("loop", on=False, delay=0)
        assert [game["players"] for game in told["kept"][:2]] == [[QUICK, "random"], ["random", QUICK]]
        assert sum(sum(row[1:]) for row in told["score"]) == 2 * len(told["kept"])


def test_back_and_on_through_a_game(client):
    with visit(client) as page:
        for name in ("b2", "a1", "a3"):
            page.play(name)
        back = page.answer("undo", count=3)
        assert (back["moves"], back["undone"]) == ([], 3)
        assert page.answer("redo", count=2)["moves"] == ["b2", "a1"]
        assert page.play("c3")["undone"] == 0


def test_who_gave_up_takes_that_back_and_no_move(client):
    with visit(client) as page:
        assert page.answer("resign")["result"]
        assert page.answer("undo")["result"] is None
        page.play("b2")
        assert page.answer("resign")["result"]
        told = page.answer("undo")
        assert (told["moves"], told["result"], told["undone"]) == (["b2"], None, 0)


def test_another_game_and_its_options(client):
    with visit(client) as page:
        page.ask("new", game="tictactoe", options={"width": "4"})
        board = page.hear("board")
        assert board["picture"] == [3, 4]
        assert len(page.hear("position")["codes"]) == 12
        error = page.answer("new", game="tictactoe", options={"widht": "4"})
        assert "option" in error["text"]
        assert len(state(page)["codes"]) == 12


def test_a_position_and_a_link_are_put_up(client):
    with visit(client) as page:
        assert page.answer("setup", actions=[4, 0])["moves"] == ["b2", "a3"]
        assert page.answer("setup", text="X.O/.X./... 1")["codes"] == [1, 0, 2, 0, 1, 0, 0, 0, 0]
        before = state(page)
        assert page.answer("setup", actions=[4, 4])["tell"] == "error"
        assert state(page)["codes"] == before["codes"]


def test_a_game_that_is_only_looked_through_is_not_counted(client):
    with visit(client) as page:
        whole = [4, 0, 3, 1, 5]
        page.answer("setup", actions=whole, undo=len(whole))
        told = page.answer("redo", count=len(whole))
        assert told["result"]["text"].startswith("first wins")
        assert (told["score"], told["kept"]) == ([], [])
        page.answer("new")
        for name in told["moves"]:
            told = page.play(name)
        assert told["score"] == FIRST_WON


def test_a_game_that_somebody_gave_up_is_put_up_as_it_was(client):
    with visit(client) as page:
        page.play("b2")
        told = page.answer("resign")
        assert told["resigned"] == 1
        again = page.answer("setup", actions=told["actions"], resigned=told["resigned"])
        assert (again["result"], again["moves"], again["resigned"]) == (told["result"], ["b2"], 1)
        assert page.answer("setup", actions=[4, 0, 3, 1, 5], resigned=0)["tell"] == "error"
        assert page.answer("setup", actions=[4], resigned=2)["tell"] == "error"
        assert page.answer("setup", actions=[4])["resigned"] is None


def test_who_gave_up_is_known_again_at_the_end_of_his_game(client):
    with visit(client) as page:
        page.play("b2")
        page.play("a1")
        told = page.answer("resign")
        for do in ("undo", "redo"):
            told = page.answer(do, count=1)
        assert told["result"]["text"].endswith("first resigned")
        assert told["score"] == SECOND_WON, "it is counted once"
        told = page.answer("undo", count=2)
        assert (told["result"], told["resigned"], told["later"]) == (None, 0, [4, 6])
        assert told["ahead"] == ["b2", "a1"]
        again = page.answer("setup", actions=[4, 6], undo=2, resigned=0)
        assert (again["moves"], again["resigned"], again["undone"]) == ([], 0, 2)
        page.play("b2")
        told = page.play("a1")
        assert (told["result"], told["resigned"]) == (None, None), "who plays on has not given up"


def test_a_game_that_ends_otherwise_is_counted_once_more(client):
    with visit(client) as page:
        for action in (4, 0, 3, 1, 5):
            told = page.answer("play", action=action, number=page.last["position"]["number"])
        assert told["score"] == FIRST_WON
        page.answer("undo", count=1)
        told = page.answer("redo", count=1)
        assert told["score"] == FIRST_WON, "the same end"
        page.answer("undo", count=1)
        for action in (8, 2):
            told = page.answer("play", action=action, number=page.last["position"]["number"])
        assert told["result"]["text"].startswith("second wins")
        assert told["score"] == [["you (first)", 1, 0, 1], ["you (second)", 1, 0, 1]]
        assert len(told["kept"]) == 2


def test_moves_counted_from_a_position_that_is_gone_are_not_taken_back(client):
    with visit(client) as page:
        page.play("b2")
        before = page.play("a1")
        told = page.answer("undo", count=1, number=before["number"])
        assert told["moves"] == ["b2"]
        page.ask("undo", count=1, number=before["number"])
        page.ask("redo", count=1, number=before["number"])
        assert page.answer("redo", count=1, number=told["number"])["moves"] == ["b2", "a1"]


def test_a_file_that_is_saved_again_keeps_who_played_it_and_how_it_ended(client):
    text = "(;GM[1]SZ[5]KM[7]PB[Honinbo]PW[Inseki]RE[B+T];B[cc];W[bb])"
    with visit(client) as page:
        page.answer("load", text=text)
        page.ask("save", kind="sgf")
        saved = page.hear("file")["text"]
        assert all(part in saved for part in ("PB[Honinbo]", "PW[Inseki]", "RE[B+T]"))
        page.answer("undo", count=1)
        page.answer("redo", count=1)
        page.ask("save", kind="sgf")
        assert page.hear("file")["text"] == saved
        page.play("D4")
        page.ask("save", kind="sgf")
        saved = page.hear("file")["text"]
        assert not any(part in saved for part in ("Honinbo", "RE["))


def test_the_text_in_which_a_match_saves_a_game_is_loaded(client):
    text = "game: tictactoe\nseat 0: uct:8\nseat 1: greedy\nresult of seat 0: 1\nid: x\n\n1 0 b2\n2 1 a1\n"
    with visit(client) as page:
        assert page.answer("load", text=text)["moves"] == ["b2", "a1"]
        page.ask("save", kind="json")
        saved = page.hear("file")["text"]
        assert all(part in saved for part in ("uct:8", "greedy"))


@pytest.mark.parametrize(
    ("kind", "text", "kept"),
    [
        # two passes with dead stones: area alone gives the other colour the game
        (
            "sgf",
            "(;GM[1]SZ[5]KM[0]PB[Honinbo]PW[Inseki]RE[B+2];B[cc]C[the middle];W[bb];B[dd];W[aa];B[];W[])",
            ["PB[Honinbo]", "PW[Inseki]", "RE[B+2]", "C[the middle]"],
        ),
        (
            "psq",
            "\n".join(
                [
                    "Piskvorky 15x15, 11:11, 0",
                    *["1,1,0", "1,2,0", "2,1,0", "2,2,0", "3,1,0", "3,2,0", "4,1,0", "4,2,0", "5,1,0"],
                    "Meijin\nRapfi\n-1\n",
                ]
            ),
            ["Meijin", "Rapfi"],
        ),
    ],
)
def test_a_game_that_is_over_on_the_board_is_saved_as_it_was(client, kind, text, kept):
    with visit(client) as page:
        page.answer("load", text=text)
        page.ask("save", kind=kind)
        saved = page.hear("file")["text"]
        assert [part for part in kept if part not in saved] == []
        page.answer("new", game="tictactoe")


def test_players_who_changed_colours_have_the_others_pieces(client):
    with visit(client) as page:
        page.answer("new", game="swap2-15")
        for name in ("a1", "b3", "c1"):
            told = page.play(name)
        assert (told["seat"], told["first"]) == (1, 0)
        assert page.play("black")["first"] == 1
        page.answer("new", game="tictactoe")


def test_a_link_is_put_up_whole_or_not_at_all(client):
    with visit(client) as page:
        four = {"game": "tictactoe", "options": {"width": "4"}}
        told = page.answer("setup", **four, actions=[4, 0], players=["random", ""], undo=1)
        assert (told["moves"], told["undone"], told["paused"]) == (["a2"], 1, True)
        assert told["players"] == ["random", ""]
        assert page.last["board"]["picture"] == [3, 4]
        before, board = state(page), page.last["board"]
        for bad in (
            {"game": "nothing", "actions": [4]},
            {"game": "tictactoe", "options": {"width": "nan"}, "actions": [4]},
            {"game": "tictactoe", "actions": [4, 4]},
            {"game": "tictactoe", "actions": [4], "undo": 2},
            {"game": "tictactoe", "text": "X../... 0"},
            {"game": "tictactoe", "actions": [4], "players": ["random", "nobody"]},
            {"game": "tictactoe", "actions": [4], "players": ["random"]},
        ):
            page.ask("setup", **bad)
            page.hear("error")
            assert state(page) == {**before, "number": page.last["position"]["number"]}, bad
            assert page.last["board"]["options"] == board["options"], bad


def test_a_game_is_saved_and_loaded_again(client):
    with visit(client) as page:
        for name in ("b2", "a1", "a3"):
            page.play(name)
        page.ask("save", kind="json")
        file = page.hear("file")
        assert file["name"].startswith("tictactoe-")
        page.answer("new")
        page.ask("load", text=file["text"])
        told = page.hear("position", lambda message: message["moves"])
        assert told["moves"] == ["b2", "a1", "a3"]
        assert told["paused"]
        assert "sgf" in page.answer("save", kind="sgf")["text"].lower(), "Tic-tac-toe has none"
        assert state(page)["moves"] == ["b2", "a1", "a3"]


@jax.numpy_rank_promotion("allow")  # as people write their games
def test_a_game_of_ones_own_is_saved_loaded_and_come_back_to():
    own = "examples.own_game:Nim"
    with guest(own) as sat:
        move = sat.table.session.play(0)
        sat.ask("save", kind="json")
        text = sat.last["file"]["text"]
        for _ in range(2):
            sat.ask("load", text=text)
            assert (sat.table.name, list(sat.table.session.board.actions)) == (own, [move])
            sat.ask("new", game="tictactoe")
        sat.ask("new", game=own)
        assert sat.table.name == own
        for other in ("examples.own_game:Piles", "examples.own_loop:GAME"):
            with pytest.raises(UsageError, match="unknown game"):
                sat.ask("load", text=text.replace(own, other))


def test_a_game_of_ones_own_is_in_the_list_of_games():
    own = "examples.own_game:Nim"
    listed = offers.game_list(own)
    assert [game["name"] for game in listed] == [own, *GAMES]
    assert listed[0]["options"] == {"heaps": "1,3,5", "most": "3"}
    assert [game["name"] for game in offers.game_list("go9")] == list(GAMES)


@pytest.mark.slow
def test_a_solver_runs_ahead_of_its_puzzle(client):
    with visit(client) as page:
        page.ask("new", game="hughe", options={"rows": "413/25.", "goal": "123/45.", "max_plies": "60"})
        board = page.hear("board", lambda message: message["game"] == "hughe")
        assert board["players"][0].startswith("bfs:")
        page.ask("budget", seconds=0.2)
        page.ask("seats", players=["bfs:20"])
        told = page.hear("position", lambda message: message["result"])
        assert told["result"]["text"] == "solved"
        assert told["moves"]


def test_every_format_of_files_is_on_offer():
    page = (Path(table.__file__).parent / "static" / "index.html").read_text()
    accepted = page.split('accept="')[1].split('"')[0].split(",")
    for form in told.formats.WRITERS:
        assert form in told.TYPES
        assert f'data-save="{form}"' in page
        assert f".{form}" in accepted


def test_the_address_that_is_said_answers_before_the_server_runs(monkeypatch, capsys):
    """A browser may be there first: it waits, and is not refused."""
    listen = pytest.importorskip("jaxgo.frontends.web.listen")
    came = []

    def run(sockets):
        said = capsys.readouterr().out
        address = sockets[0].getsockname()
        came.append(f"http://localhost:{address[1]}/" in said)
        socket.create_connection(address, timeout=60).close()
        sockets[0].close()

    monkeypatch.setattr(listen, "uvicorn", types.SimpleNamespace(Server=lambda config: types.SimpleNamespace(run=run)))
    monkeypatch.setattr(listen, "config", lambda app: None)  # the real one sets up logging for the whole process
    assert listen.serve(lambda scope, receive, send: None, "127.0.0.1", 0, browser=False) == 0
    assert came == [True]


def test_a_page_that_reads_nothing_is_left(monkeypatch):
    monkeypatch.setattr(server, "GOODBYE", 0.05)

    async def trial():
        said = asyncio.Event()

        async def receive():
            if said.is_set():
                await asyncio.Event().wait()
            said.set()
            return {"type": "websocket.connect"}

        async def send(message):
            if message["type"] != "websocket.accept":
                await asyncio.Event().wait()  # as where the buffers of the network are full

        socket = WebSocket({"type": "websocket"}, receive, send)
        await socket.accept()
        visit = server.Visit(socket, Shared(Offers({}, ("random",))), "tictactoe", {})
        running = asyncio.create_task(visit.run())
        for number in range(3 * server.BACKLOG):
            visit.tell({"tell": "file", "name": str(number)})
        await asyncio.wait_for(running, 60)
        assert len(visit.out) <= server.BACKLOG

    asyncio.run(trial())


def test_a_move_is_answered_while_many_boards_compile():
    async def trial():
        compiled = threading.Event()
        visits = []
        for handle in [*(compiled.wait for _ in range(server.SOCKETS)), lambda: None]:
            visit = server.Visit(
                WebSocket({"type": "websocket"}, None, None), Shared(Offers({}, ("random",))), "tictactoe", {}
            )
            visit.table = types.SimpleNamespace(handle=lambda request, handle=handle: handle())
            visits.append(visit)
        *busy, honest = (asyncio.create_task(visit._answer('{"do": "go"}')) for visit in visits)
        try:
            assert await asyncio.wait_for(honest, 60)
            assert not any(task.done() for task in busy)
        finally:
            compiled.set()

    asyncio.run(trial())


def test_a_page_that_is_behind_is_told_the_newest_only():
    async def told(every):
        visit = server.Visit(
            WebSocket({"type": "websocket"}, None, None), Shared(Offers({}, ("random",))), "tictactoe", {}
        )
        for number in range(100):
            visit._queue({"tell": "position", "number": number})
            visit._queue({"tell": "thought", "number": number, "final": False})
            visit._queue({"tell": "thought", "number": number, "final": number % every == 0})
        return [(m["tell"], m["number"], m.get("final", False)) for m in visit.out]

    finals = [("thought", 0, True), ("thought", 50, True)]
    assert asyncio.run(told(50)) == [*finals, ("position", 99, False), ("thought", 99, False)]
    behind = asyncio.run(told(1))  # every search was ended: it is told of the last ones
    assert behind == [
        *(("thought", number, True) for number in range(70, 99)),
        ("position", 99, False),
        ("thought", 99, False),
        ("thought", 99, True),
    ]
