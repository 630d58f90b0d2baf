"""The server of the page: a few fixed files, and a socket for each visitor.

It answers only to names that it was told to answer to (a page elsewhere, or a name that points here, gets nothing),
serves files from a fixed list, and bounds sockets, messages and their rate. Rules run in worker threads and searches in
threads of their own, so the loop that listens is always free.
"""

import asyncio
import contextlib
import json
import logging
import secrets
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from jaxgo.core.errors import UsageError
from jaxgo.frontends.web import protocol
from jaxgo.frontends.web.offers import game_list
from jaxgo.frontends.web.shared import Shared
from jaxgo.frontends.web.table import Table
from jaxgo.ui import board_shape

SCRIPTS = ("main.js", "board.js", "space.js", "panel.js", "run.js", "make.js", "keys.js", "rules.js")
STATIC = Path(__file__).parent / "static"
FILES = {
    "/": ("index.html", "text/html"),
    "/style.css": ("style.css", "text/css"),
    **{f"/{name}": (name, "text/javascript") for name in SCRIPTS},
}
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}
OWN_FAULT = "this is an error of jaxgo itself, and nothing was changed; the server's log tells more"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
SOCKETS = 64  # open at once
FULL = "as many pages are open here as there may be; close another tab, or wait until somebody leaves"
RATE, BURST = 25.0, 60  # messages a second, and at once
STRIKES = 200  # messages in a row that were refused, before the socket is closed
BACKLOG = 64  # messages that a slow page may be behind
GOODBYE = 1.0  # seconds that it has to hear why it is left
LOOK = 0.2  # seconds between looks at what searches are doing
LOG = logging.getLogger(__name__)  # where nobody sets it up, it writes to stderr


class Guard:
    """Refuses requests for other hosts and from pages of other origins; sets the headers of every answer."""

    def __init__(self, app: ASGIApp, hosts: Sequence[str]) -> None:
        # as browsers write them: an address of IPv6 has brackets
        bracketed = (f"[{name}]" if ":" in name and name[0] != "[" else name for name in hosts)
        self.app, self.hosts = app, {_plain(name) for name in bracketed}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        host, origin = headers.get("host", "").lower(), headers.get("origin")
        known = _name(host) in self.hosts
        # a browser always says where the page of a socket comes from
        own = (origin or "").lower() == f"{'https' if scope['scheme'] in ('https', 'wss') else 'http'}://{host}"
        if not known or not (own or (origin is None and scope["type"] == "http")):
            await self._refuse(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                extra = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", []), *extra]}
            await send(message)

        await self.app(scope, receive, with_headers)

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        await PlainTextResponse("this host or origin is not served here", 403)(scope, receive, send)


def _name(host: str) -> str:
    """The host without its port."""
    return _plain(host[: host.find("]") + 1] if host.startswith("[") else host.partition(":")[0])


def _plain(name: str) -> str:
    """A name of a host as it is compared: case does not matter, nor does the dot that may end it."""
    return name.lower().removesuffix(".")


class Visit:
    """A socket: messages in, messages out, and the table behind them."""

    def __init__(self, socket: WebSocket, shared: Shared, game: str, options: dict[str, str]) -> None:
        self.socket, self.shared = socket, shared
        self.game, self.options = game, options
        self.loop = asyncio.get_running_loop()
        self.out: deque[dict[str, Any]] = deque()
        self.news = asyncio.Event()
        self.behind = asyncio.Event()  # it is too far behind
        self.threads = anyio.CapacityLimiter(1)  # of its own: boards that compile let nobody else wait
        self.table: Table | None = None
        self.allowance, self.seen, self.strikes = float(BURST), time.monotonic(), 0
        self.run_seen = 0  # what of a run that is watched the page knows

    def tell(self, message: dict[str, Any]) -> None:
        """Queues a message; from any thread."""
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self.loop.call_soon_threadsafe(self._queue, message)

    def _queue(self, message: dict[str, Any]) -> None:
        """A page that is behind needs only the newest of what the next one replaces, and of thoughts that were ended as
        many as there is room for: a fast match floods no page."""
        kind = message["tell"]
        if kind in ("position", "status") or (kind == "thought" and not message["final"]):
            self.out = deque(old for old in self.out if old["tell"] != kind or old.get("final"))
        oldest = next((old for old in self.out if old["tell"] == "thought"), None)
        if oldest is not None and len(self.out) >= BACKLOG // 2:
            self.out.remove(oldest)
        self.out.append(message)
        self.news.set()
        if len(self.out) > BACKLOG:
            self.out.clear()
            self.behind.set()

    async def _apart(self, function: Callable[..., Any], *args: Any) -> Any:
        """Runs what may take long, in a thread."""
        return await anyio.to_thread.run_sync(function, *args, limiter=self.threads)

    async def run(self) -> None:
        """Serves the page until it leaves."""
        writing = asyncio.create_task(self._write())  # the page hears what there is while its board is set up
        try:
            self.tell({"tell": "hello", "games": game_list(self.game), "game": self.game})
            self.table = await self._apart(Table, self.shared, self.tell, self.game, self.options)
            await self._apart(self.table.open)
            jobs = [writing, *(asyncio.create_task(job) for job in (self._read(), self._look(), self._falls_behind()))]
            await asyncio.wait(jobs, return_when=asyncio.FIRST_COMPLETED)
            for job in jobs:
                job.cancel()
            await asyncio.wait(jobs)
            for job in jobs:
                if not job.cancelled() and (fault := job.exception()) is not None:
                    LOG.error("a visit ended by an error of jaxgo itself", exc_info=fault)
        finally:
            writing.cancel()
            if self.table is not None:
                with anyio.CancelScope(shield=True):  # a visit that is cancelled must not leave its search behind
                    await self._apart(self.table.close)

    async def _read(self) -> None:
        while True:
            try:
                text = await self.socket.receive_text()
            except (WebSocketDisconnect, KeyError, RuntimeError):  # gone, or bytes
                return
            now = time.monotonic()
            self.allowance = min(BURST, self.allowance + RATE * (now - self.seen)) - 1
            self.seen = now
            if self.allowance < 0:
                await asyncio.sleep(-self.allowance / RATE)  # the socket's own buffer makes a flood wait
            fine = await self._answer(text)
            self.strikes = 0 if fine else self.strikes + 1
            if self.strikes > STRIKES:
                await self.socket.close(1008)
                return

    async def _answer(self, text: str) -> bool:
        """Does one request; whether it was not refused."""
        assert self.table is not None
        try:
            request = protocol.read(text)
            await self._apart(self.table.handle, request)
        except UsageError as error:
            self.tell({"tell": "error", "text": str(error)})
            return False
        except Exception:  # the page waits for an answer whatever happens
            LOG.exception("an error of jaxgo itself, at the request %.200r", text)
            self.tell({"tell": "error", "text": OWN_FAULT})
        return True

    async def _write(self) -> None:
        while True:
            await self.news.wait()
            self.news.clear()
            while self.out:
                try:
                    await self.socket.send_text(json.dumps(self.out.popleft(), separators=(",", ":")))
                except (WebSocketDisconnect, RuntimeError):
                    return

    async def _falls_behind(self) -> None:
        """Waits for what a page that reads too slowly must not hold: its place, and ever more messages."""
        await self.behind.wait()
        with contextlib.suppress(TimeoutError, RuntimeError):
            await asyncio.wait_for(self.socket.close(1013), GOODBYE)  # it may not read this either

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(LOOK)
            if self.table is not None:
                self.table.tick()
            self.shared.searches.tick()
            run = self.shared.run
            if run is not None and run.number != self.run_seen:
                self.run_seen = run.number
                self.tell(run.told)


def create(
    shared: Shared,
    game: str,
    options: dict[str, str] | None = None,
    hosts: Sequence[str] = LOOPBACK,
) -> Starlette:
    """The application: `hosts` are the names that it answers to."""
    served = {path: ((STATIC / name).read_bytes(), kind) for path, (name, kind) in FILES.items()}
    served["/colours.css"] = f".diagram{{{board_shape.STYLE}}}".encode(), "text/css"
    open_now: set[str] = set()

    async def file(request: Any) -> Response:
        found = served.get(request.url.path)
        return Response(found[0], media_type=found[1]) if found else PlainTextResponse("not here", 404)

    async def socket(websocket: WebSocket) -> None:
        if len(open_now) >= SOCKETS:
            await websocket.accept()  # who is refused before hears no reason
            await websocket.close(1013, FULL)
            return
        ticket = secrets.token_hex(8)
        open_now.add(ticket)
        try:
            await websocket.accept()
            await Visit(websocket, shared, game, dict(options or {})).run()
        finally:
            open_now.discard(ticket)

    routes = [*(Route(path, file) for path in served), WebSocketRoute("/socket", socket)]
    return Starlette(routes=routes, middleware=[Middleware(Guard, hosts=hosts)])
