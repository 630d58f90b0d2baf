"""The curves of a run's report: one axis of time, readable on light and on dark."""

import pytest

from jaxgo.ui import run_report

pytest.importorskip("matplotlib")


def test_curves_have_the_colour_of_the_words_and_no_ground():
    rows = [
        {
            "phase": "play",
            "iteration": i,
            "seconds": 6.0 * i,
            "loss": {"policy": 1.0 / i},
            "length": 9.0,
            "moves_s": 5.0,
        }
        for i in range(1, 5)
    ]
    rows.append(
        {"phase": "judge", "iteration": 4, "seconds": 72.0, "player": "me", "elo": {"me": [10.0, 5.0], "x": [0.0, 5.0]}}
    )
    png, svg = run_report._curves(rows)
    assert png.startswith(b"\x89PNG")
    assert "currentColor" in svg
    assert "fill: #ffffff" not in svg
    assert "#000000" not in svg
