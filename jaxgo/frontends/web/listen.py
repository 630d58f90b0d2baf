"""Listening on a port: the address is said, the browser opened, and Ctrl-C ends it."""

import socket
import threading
import webbrowser

import uvicorn
from starlette.types import ASGIApp

from jaxgo.core.errors import UsageError
from jaxgo.frontends.web.protocol import MOST_TEXT

OTHERS = 512  # connections at once, sockets among them


def serve(app: ASGIApp, host: str, port: int, browser: bool) -> int:
    """Serves until Ctrl-C."""
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen()  # now: who comes before the server runs waits instead of being refused
    except (OSError, OverflowError, TypeError) as error:  # TypeError: a name that no network could have
        raise UsageError(f"cannot listen on {host} port {port}: {error}; choose another --port, or 0") from None
    shown = "localhost" if host in ("127.0.0.1", "::1") else f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{listening.getsockname()[1]}/"
    print(f"play at {address} (Ctrl-C ends it)", flush=True)
    if browser:
        threading.Thread(target=webbrowser.open, args=[address], daemon=True).start()
    uvicorn.Server(config(app)).run(sockets=[listening])
    return 0


def config(app: ASGIApp) -> uvicorn.Config:
    """How it is served: what is bounded, and that nothing is told of the server."""
    return uvicorn.Config(
        app,
        port=0,
        log_level="warning",
        access_log=False,
        ws_max_size=4 * MOST_TEXT,
        ws_per_message_deflate=True,
        limit_concurrency=OTHERS,
        timeout_keep_alive=10,
        h11_max_incomplete_event_size=16 * 1024,
        server_header=False,
    )
