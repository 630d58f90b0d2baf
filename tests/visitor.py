"""A visitor of the page without a browser: says what a page says, and hears what it hears."""

import contextlib
import json
import queue
import threading
import time

from jaxgo.frontends.web import protocol
from jaxgo.frontends.web.offers import Offers
from jaxgo.frontends.web.shared import Shared
from jaxgo.frontends.web.table import Table

HOME = "http://localhost"
WAIT = 60.0
FIRST_WON, SECOND_WON = (  # the score of two humans
    [["you (first)", first, 0, 1 - first], ["you (second)", 1 - first, 0, first]] for first in (1, 0)
)
QUICK = "uct:8,solver=no,evaluator=uniform"


class Page:
    """A visitor: sends requests, keeps what it was told last of each kind."""

    def __init__(self, socket):
        self.socket, self.last, self.heard = socket, {}, []
        self._told = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()  # as the socket itself waits for ever

    def _listen(self):
        while True:
            try:
                self._told.put(json.loads(self.socket.receive_text()))
            except BaseException as gone:
                return self._told.put(gone)

    def hear(self, kind, test=lambda message: True):
        """Reads on until a message of this kind that passes the test."""
        return self._hear((kind,), test)

    def _hear(self, kinds, test):
        until = time.monotonic() + WAIT
        while (left := until - time.monotonic()) > 0:
            try:
                message = self._told.get(timeout=left)
            except queue.Empty:
                break
            if isinstance(message, BaseException):
                raise message
            self.last[message["tell"]] = message
            self.heard.append(message)
            if message["tell"] in kinds and test(message):
                return message
        raise AssertionError(f"no {' and no '.join(kinds)}; the last words were {self.heard[-3:]}")

    def ask(self, do, **fields):
        self.socket.send_text(json.dumps({"do": do, **fields}))

    def answer(self, do, **fields):
        """Asks, and waits for the position or the error that answers."""
        self.ask(do, **fields)
        return self.hear_any("position", "error")

    def hear_any(self, *kinds):
        return self._hear(kinds, lambda message: True)

    def play(self, name):
        position = self.last["position"]
        choice = next(c for c in position["choices"] if c["name"] == name)
        return self.answer("play", action=choice["action"], number=position["number"])


class Guest:
    """A table without a socket: what its page would be told, the last of each kind in `last`."""

    def __init__(self, name="tictactoe", shared=None):
        self.last, self.heard = {}, []
        self.table = Table(shared or Shared(Offers({}, ("random",))), self._hear, name)

    def _hear(self, message):
        message = json.loads(json.dumps(message, allow_nan=False))
        self.last[message["tell"]] = message
        self.heard.append(message)

    def ask(self, do, **fields):
        """Does what a page asks for, and gives the position that it saw last."""
        self.table.handle(protocol.read(json.dumps({"do": do, **fields})))
        return self.last.get("position")

    def play(self, *actions):
        for action in actions:
            self.ask("play", action=action, number=self.table.session.number)


@contextlib.contextmanager
def guest(name="tictactoe", shared=None):
    sat = Guest(name, shared)
    try:
        yield sat
    finally:
        sat.table.close()


@contextlib.contextmanager
def visit(client, players=("", "")):
    with client.websocket_connect("ws://localhost/socket", headers={"origin": HOME}) as socket:
        page = Page(socket)
        page.hear("position")
        if players is not None:
            page.answer("seats", players=list(players))
        yield page


def state(page):
    """What of a game a refusal must leave alone."""
    page.ask("go")
    told = page.hear("position")
    return {k: told[k] for k in ("number", "codes", "moves", "players", "limit", "loop")}
