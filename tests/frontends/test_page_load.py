"""Fifty visitors at once: the honest ones are all answered, and each hostile one is refused."""

import asyncio

import pytest

pytest.importorskip("starlette")
pytest.importorskip("websockets")
import page
from browsing import served

from jaxgo.frontends.web import server
from jaxgo.frontends.web.offers import Offers
from jaxgo.frontends.web.shared import Shared

pytestmark = pytest.mark.slow


def test_honest_visitors_are_answered_whatever_hostile_ones_do():
    app = server.create(Shared(Offers({}, ("random",))), "tictactoe")
    seen = page.Load()
    with served(app) as address:
        asyncio.run(page.load(address, 1, 0, 0.5, page.Load()))
        asyncio.run(page.load(address, 45, 5, 3.0, seen))
        assert len(seen.times) == seen.asked > 45
        for kind in ("flood", "huge", "greedy", "stranger"):
            assert seen.refused[kind] > 0, kind


def test_no_more_sockets_than_there_may_be(monkeypatch):
    monkeypatch.setattr(server, "SOCKETS", 3)
    app = server.create(Shared(Offers({}, ("random",))), "tictactoe")

    async def visit(address):
        refused = 0
        async with page.visit(address) as first, page.visit(address), page.visit(address):
            await page.hear(first, "position", patience=page.START)
            try:
                async with page.visit(address) as wire:
                    await wire.recv()
            except page.websockets.ConnectionClosed as closed:
                refused += closed.rcvd.reason == server.FULL
        async with asyncio.timeout(page.PATIENCE):
            while True:  # there is room again as soon as one has left
                try:
                    async with page.visit(address) as wire:
                        await page.hear(wire, "position", patience=page.START)
                        return refused
                except page.websockets.ConnectionClosed:
                    await asyncio.sleep(0.05)

    with served(app) as address:
        assert asyncio.run(visit(address)) == 1
