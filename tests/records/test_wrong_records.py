"""Records that programs make by hand: what no game can be is refused when it is written, and not when it is read."""

import pytest

from jaxgo.core.errors import UsageError
from jaxgo.games import make
from jaxgo.records import formats
from jaxgo.records.record import GameRecord

GO = make("go5")


@pytest.mark.parametrize("form", ["sgf", "json"])
@pytest.mark.parametrize(
    ("record", "complaint"),
    [
        (GameRecord(GO, "go5", (0, 77)), "move 2 is 77; go5 has actions from 0 to 25"),
        (GameRecord(GO, "go5", (-1,)), "move 1 is -1; go5 has actions from 0 to 25"),
        (GameRecord(GO, "go5", (0,), returns=(0.5, 0.5)), "so they sum to 0"),
    ],
)
def test_what_is_no_game_is_not_written(record, complaint, form):
    with pytest.raises(UsageError, match=complaint):
        formats.write(record, form)


def test_a_path_may_be_a_text(tmp_path):
    record = GameRecord(GO, "go5", (0, 25), returns=(1.0, -1.0))
    formats.save(str(tmp_path / "game.sgf"), record)
    assert formats.load(str(tmp_path / "game.sgf")).moves == (0, 25)
