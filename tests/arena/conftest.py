"""The openings that engines play in tests."""

import pytest
from engine_tables import GO, GOMOKU

from jaxgo.arena.openings import book


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
