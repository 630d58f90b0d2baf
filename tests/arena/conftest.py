"""The openings that engines play in tests, and how long these may think."""

import collections
import functools

import pytest
from engine_tables import GARDNER, GO, GOMOKU, PATIENT, STRICT

from jaxgo.arena.engines.specs import PROTOCOLS
from jaxgo.arena.openings import book


@pytest.fixture
def hurry(monkeypatch):
    """To be called: little time for an engine's second move, at which it hangs, and enough for all others, so that a
    slow machine loses no game at its first."""

    def hurry():
        for kind in PROTOCOLS.values():
            monkeypatch.setattr(kind, "choose", functools.partialmethod(choose, kind.choose))

    def choose(engine, whole, seat):
        engine.limits = STRICT if moves[engine.process.pid] == 1 else PATIENT
        moves[engine.process.pid] += 1
        return whole(engine, seat)

    moves = collections.Counter()
    return hurry


@pytest.fixture(scope="module")
def openings(tmp_path_factory):
    lines = tmp_path_factory.mktemp("book") / "go.txt"
    lines.write_text("c3 b2\nc2 d4\nb3 c4\n")
    return book(GO, lines)


@pytest.fixture(scope="module")
def gomoku_openings(tmp_path_factory):
    lines = tmp_path_factory.mktemp("book") / "gomoku.txt"
    lines.write_text("d4 e5 d5\n-\n")
    return book(GOMOKU, lines)


@pytest.fixture(scope="module")
def gardner_openings(tmp_path_factory):
    lines = tmp_path_factory.mktemp("book") / "gardner.txt"
    lines.write_text("b1c3 b5a3\n-\n")
    return book(GARDNER, lines)
