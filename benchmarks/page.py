"""How quickly the page of `jaxgo play` answers: under load, and in a browser while a search runs; the bars beside it.

`uv run benchmarks/page.py`: 45 honest sockets and 5 hostile ones for 20 seconds, then one page in headless Chromium.
`--only load` or `--only browser` asks one of the two. Needs the group `dev`, and Chromium for the second. "first visit"
is that of a server that has just begun, which compiles; "interactive" is the median of visits after that.
"""

import asyncio
import contextlib
import dataclasses
import json
import os
import random
import shutil
import socket
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import harness
import websockets
from websockets.asyncio.client import ClientConnection, connect

from jaxgo.frontends.web import server

BARS = {
    "honest median ms": 150,
    "click median ms": 100,
    "first analysis ms": 1000,
    "stop ms": 200,
    "page bytes": 150_000,
    "interactive ms": 1000,
}
START = 120.0  # seconds until a server or a page must be there
PATIENCE = 30.0  # seconds after which a request counts as not answered
PAUSE = 0.3  # seconds between the requests of an honest visitor, at most
STOPS = 7  # clicks and stops that a median is of
VISITS = 9  # that a median is of


@dataclasses.dataclass(frozen=True)
class Page:
    """Measure the page of `jaxgo play`."""

    only: str = ""
    """Questions, parted by commas: load, browser. Empty: all."""
    game: str = "connect4"
    honest: int = 45
    hostile: int = 5
    seconds: float = 20.0
    """Of the load."""
    agent: str = "uct:100000"
    """Who thinks while clicks are timed."""


@dataclasses.dataclass
class Load:
    """What visitors have seen."""

    times: list[float] = dataclasses.field(default_factory=list)  # of the honest ones' answers, in seconds
    asked: int = 0
    refused: Counter[str] = dataclasses.field(default_factory=Counter)  # how often each kind of hostile visitor was


# -- load ------------------------------------------------------------------------------------------------------------
async def load(address: str, honest: int, hostile: int, seconds: float, seen: Load) -> None:
    """So many visitors at once, each for so many seconds."""
    kinds = list(HOSTILE)
    ready = asyncio.Barrier(honest + 1)
    bad = [asyncio.create_task(HOSTILE[kinds[i % len(kinds)]](address, seen)) for i in range(hostile)]
    good = [asyncio.create_task(_honest(address, seconds, ready, seen, i)) for i in range(honest)]
    async with asyncio.timeout(START + seconds + PATIENCE):
        await ready.wait()
        await asyncio.gather(*good)
    for task in bad:
        task.cancel()
    for result in await asyncio.gather(*bad, return_exceptions=True):
        if isinstance(result, Exception):
            raise result


def visit(address: str, origin: str = "") -> Any:
    return connect(
        address.replace("http", "ws") + "socket",
        origin=origin or address.rstrip("/"),
        max_size=2**22,
        open_timeout=START,
    )


async def hear(wire: ClientConnection, *kinds: str, patience: float = PATIENCE) -> dict[str, Any]:
    """The next message of one of these kinds."""
    async with asyncio.timeout(patience):
        while (told := json.loads(await wire.recv()))["tell"] not in kinds:
            pass
    return dict(told)


async def _honest(address: str, seconds: float, ready: asyncio.Barrier, seen: Load, number: int) -> None:
    """Two humans at one board, game after game, at a human's pace."""
    draw = random.Random(number)
    async with visit(address) as wire:
        await hear(wire, "position", patience=START)
        await wire.send(json.dumps({"do": "seats", "players": ["", ""]}))
        told = await hear(wire, "position", patience=START)
        await ready.wait()
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            choices, request = told["choices"], {"do": "new"}
            if choices:
                request = {"do": "play", "action": draw.choice(choices)["action"], "number": told["number"]}
            seen.asked += 1
            began = time.monotonic()
            await wire.send(json.dumps(request))
            told = await hear(wire, "position")
            seen.times.append(time.monotonic() - began)
            await asyncio.sleep(draw.random() * PAUSE)


async def _flood(address: str, seen: Load) -> None:
    """Nonsense, a thousand messages a second."""
    while True:
        with contextlib.suppress(websockets.ConnectionClosed):
            async with visit(address) as wire:
                listening = asyncio.create_task(_count(wire, "flood", seen))
                try:
                    while True:
                        await wire.send('{"do": "dance"}')
                        await asyncio.sleep(0.001)
                finally:
                    listening.cancel()
        seen.refused["flood, closed"] += 1


async def _count(wire: ClientConnection, kind: str, seen: Load) -> None:
    with contextlib.suppress(websockets.ConnectionClosed):
        async for text in wire:
            seen.refused[kind] += json.loads(text)["tell"] == "error"


async def _huge(address: str, seen: Load) -> None:
    """Messages of a megabyte."""
    while True:
        async with visit(address) as wire:
            with contextlib.suppress(websockets.ConnectionClosed):
                await wire.send("x" * 2**20)
                while True:
                    await wire.recv()
            seen.refused["huge"] += wire.close_code == 1009
        await asyncio.sleep(PAUSE)


async def _mute(address: str, seen: Load) -> None:
    """Asks for much and reads nothing."""
    while True:
        with contextlib.suppress(websockets.ConnectionClosed):
            async with visit(address) as wire:
                while True:
                    await wire.send('{"do": "setup", "actions": []}')
                    await asyncio.sleep(0.01)
        seen.refused["mute, closed"] += 1


async def _greedy(address: str, seen: Load) -> None:
    """Wants the machine for itself: more than there is, and then all that there is."""
    async with visit(address) as wire:
        await wire.send('{"do": "budget", "simulations": 100000000}')
        await hear(wire, "error", patience=START)
        seen.refused["greedy"] += 1
        await wire.send('{"do": "seats", "players": ["uct:200000", "uct:200000"]}')
        await wire.send('{"do": "analyse", "on": true}')
        with contextlib.suppress(websockets.ConnectionClosed):
            async for _ in wire:
                pass


async def _stranger(address: str, seen: Load) -> None:
    """A page from elsewhere."""
    while True:
        try:
            async with visit(address, "http://evil.example"):
                return  # it was let in
        except (websockets.InvalidStatus, websockets.InvalidMessage):
            seen.refused["stranger"] += 1
        await asyncio.sleep(PAUSE)


HOSTILE: dict[str, Callable[[str, Load], Awaitable[None]]] = {
    "flood": _flood,
    "huge": _huge,
    "mute": _mute,
    "greedy": _greedy,
    "stranger": _stranger,
}


@contextlib.contextmanager
def playing(game: str) -> Iterator[str]:
    """The address of `jaxgo play` in a process of its own."""
    words = [sys.executable, "-m", "jaxgo", "play", game, "--port", "0", "--no-browser", "--runs", os.devnull]
    child = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        address = child.stdout.readline().split()[2]
        until = time.monotonic() + START
        while time.monotonic() < until:  # it is said before it is served
            with contextlib.suppress(OSError):
                socket.create_connection(("localhost", int(address.rstrip("/").rpartition(":")[2]))).close()
                break
            time.sleep(0.1)
        yield address
    finally:
        child.terminate()
        try:
            child.wait(10)
        except subprocess.TimeoutExpired:
            child.kill()


def ask_load(options: Page) -> None:
    seen = Load()
    with playing(options.game) as address:
        asyncio.run(load(address, 1, 0, 2.0, Load()))  # compiles
        asyncio.run(load(address, options.honest, options.hostile, options.seconds, seen))
    times = sorted(1000 * value for value in seen.times)
    told = {
        "honest median ms": statistics.median(times),
        "p95 ms": times[int(0.95 * len(times))],
        "worst ms": times[-1],
    }
    harness.report(
        "page/load", answers=len(times), unanswered=seen.asked - len(times), **told, bars=BARS, **seen.refused
    )


# -- browser ---------------------------------------------------------------------------------------------------------
WATCH = """() => {  // when something on the page came to be otherwise, by the page's own clock
  window.seen = {};
  const look = (id, name) => new MutationObserver(() => { window.seen[name] = performance.now(); })
    .observe(document.getElementById(id), {childList: true, subtree: true, characterData: true});
  look("moves", "moves"); look("thinking", "thinking"); look("status", "status");
}"""
CLICK = """([what, name]) => new Promise((answer, fail) => {
  window.seen[name] = 0;
  const began = performance.now();
  document.querySelector(what).dispatchEvent(new MouseEvent("click", {bubbles: true}));
  const wait = () => window.seen[name] ? answer(window.seen[name] - began)
    : performance.now() - began > 60000 ? fail("nothing happened to " + name) : setTimeout(wait, 1);
  wait();
})"""


def ask_browser(options: Page) -> None:
    from playwright import sync_api

    found = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    with playing(options.game) as address, sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(1000 * START)
        told: dict[str, Any] = {"first visit ms": _come(page, address)}
        visits = [_come(page, address) for _ in range(VISITS)]
        told["interactive ms"], told["interactive worst ms"] = statistics.median(visits), max(visits)
        page.select_option("#player1", "")
        page.evaluate(WATCH)
        page.evaluate(CLICK, ["#analyse", "thinking"])  # compiles the adviser
        page.locator("#analyse").uncheck()
        _settle(page, "document.getElementById('status').textContent.endsWith('first')")
        told["first analysis ms"] = page.evaluate(CLICK, ["#analyse", "thinking"])
        clicks = []
        for _ in range(STOPS):
            page.wait_for_timeout(300)  # the search of the position is on its way
            clicks.append(_touch(page))
        told["click median ms"], told["click worst ms"] = statistics.median(clicks), max(clicks)
        page.wait_for_timeout(500)
        told["stop ms"] = page.evaluate(CLICK, ["#stop", "status"])
        told["page bytes"] = sum((server.STATIC / name).stat().st_size for name, _ in server.FILES.values())
        browser.close()
    harness.report("page/browser", **told, bars=BARS)


def _come(page: Any, address: str) -> float:
    """A visit from another page; milliseconds until moves can be made."""
    page.goto("about:blank")
    began = time.monotonic()
    page.goto(address)
    page.locator("#moves-now option").first.wait_for(state="attached")
    return 1000 * (time.monotonic() - began)


def _settle(page: Any, state: str) -> None:
    """Waits until the page is in a state."""
    until = time.monotonic() + START
    while not page.evaluate(f"() => {state}"):
        if time.monotonic() > until:
            raise SystemExit(f"the page was never so: {state}")
        page.wait_for_timeout(50)


def _touch(page: Any) -> float:
    """A move by its button, or a new game; milliseconds until it is on the page."""
    over = page.locator("#banner").is_visible()
    if over:
        page.locator("#new").click()
        _settle(page, "!document.querySelectorAll('#moves li').length")
        page.wait_for_timeout(300)
    page.evaluate(
        "() => { document.getElementById('move').value = document.querySelector('#moves-now option').value; }"
    )
    return float(page.evaluate(CLICK, ["#typed button", "moves"]))


if __name__ == "__main__":
    harness.ask(Page, {"load": ask_load, "browser": ask_browser})
