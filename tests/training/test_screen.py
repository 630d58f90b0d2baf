"""The screen: a page in a terminal, lines elsewhere, and no number that was not heard."""

import errno
import io
import os

import pytest
from rich.console import Console

from jaxgo.training.presets import preset
from jaxgo.training.report import Report
from jaxgo.ui.run_screen import Screen, _short
from jaxgo.ui.streams import Forgiving

CONFIG = preset("connect4-cpu").config
PLAY = {
    "games_s": 3.25,
    "moves_s": 1234.4,
    "play_moves_s": 200.0,
    "play_simulations_s": 1500.0,
    "simulations_s": 45678.9,
    "loss": {"total": 2.5, "policy": 1.5, "value": None},
    "skipped": 0,
}
JUDGED = {"elo": {"random": [0.0, 0.0], "uct:100": [512.4, 40.2], "step 3": [-20.0, 30.0]}, "player": "step 3"}


def shown(terminal: bool, *reports: Report, limit: float = 2000.0) -> str:
    out = io.StringIO()
    with Screen("connect4-cpu", CONFIG, Console(file=out, force_terminal=terminal, width=120), limit) as screen:
        for report in reports:
            screen(report)
        screen.say("a sentence [with brackets]")
        if terminal:
            out.truncate(0)
            screen.console.print(screen.page())
    return out.getvalue()


class Full(io.StringIO):
    """A log on a full disk."""

    def write(self, text: str) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_log_that_cannot_be_written_ends_no_run(capsys):
    screen = Screen("tictactoe", CONFIG, Console(file=Forgiving(Full())))
    for sentence in ("one", "two"):
        screen.say(sentence)
    assert (
        capsys.readouterr().err == "what is told here cannot be written (No space left on device); training goes on\n"
    )


def test_a_reader_that_has_gone_ends_no_run(capsys):
    """Rich leaves the program by itself there, or the thread that speaks: a run was not saved, or went on unseen."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as pipe:
        screen = Screen("tictactoe", CONFIG, Console(file=Forgiving(pipe)))
        for sentence in ("one", "two"):
            screen.say(sentence)
        assert capsys.readouterr().err == "what is told here cannot be written (Broken pipe); training goes on\n"
        os.dup2(os.open(os.devnull, os.O_WRONLY), writer)  # what is left in the buffer goes there


@pytest.mark.parametrize("terminal", [True, False])
def test_what_is_heard_is_shown(terminal):
    half = CONFIG.budget.seconds / 2
    said = shown(terminal, Report("play", 7, half, PLAY), Report("judge", 7, half, JUDGED))
    for word in ("games/s", "3.25", "1,234", "45.7k", "85%", "2.500", "1.500", "uct:100", "+512 ± 40", "-20 ± 30"):
        assert word in said, word
    assert "a sentence [with brackets]" in said
    if terminal:
        assert "judging" in said
        assert "to go, then the last judgement" in said
        assert "●" in said


@pytest.mark.parametrize("terminal", [True, False])
def test_nothing_is_shown_that_was_not_heard(terminal):
    said = shown(terminal, Report("start", 0, 0.0, {}), limit=0.0)
    for word in ("games/s", "loss 0", "Elo", "to go", "network", "value"):
        assert word not in said


def test_an_iteration_whose_steps_were_all_broken_is_shown():
    """The run goes back to a checkpoint, which a screen that fails would not let it."""
    assert [_short(value) for value in (float("nan"), float("inf"), 0.5)] == ["nan", "inf", "0.5"]


def test_no_share_is_above_all():
    """The network's own speed is measured for half a second at the start, when the machine may be busy."""
    said = shown(False, Report("play", 7, 1.0, PLAY | {"play_simulations_s": 3800.0}), limit=2000.0)
    assert "100%" in said
    assert "200%" not in said


def test_games_are_counted_over_a_while():
    """Games of one length end together, and nine iterations of ten see none of them."""
    screen = Screen("connect4-cpu", CONFIG, Console(file=io.StringIO(), force_terminal=False, width=120))
    for second in range(61):
        ended = 40 * (second // 10)
        screen(Report("play", second, float(second), PLAY | {"games": ended, "games_s": 0.0}))
    assert "games/s 4 " in screen.line(Report("play", 61, 61.0, {}))
    screen(Report("start", 30, 61.0, {}))  # it goes back
    for second, ended in ((62, 160), (72, 200)):
        screen(Report("play", second, float(second), PLAY | {"games": ended, "games_s": 0.0}))
    assert "games/s 4 " in screen.line(Report("play", 72, 72.0, {}))


def test_the_clock_goes_on_between_two_reports():
    """Compiling and judging take minutes in which no report comes."""
    time, out = [100.0], io.StringIO()
    console = Console(file=out, force_terminal=False, width=120)
    screen = Screen("connect4-cpu", CONFIG, console, now=lambda: time[0])

    def after(seconds: float) -> str:
        time[0] += seconds
        out.truncate(out.seek(0))
        screen.pulse()
        console.print(screen.page())
        return out.getvalue()

    screen(Report("start", 0, 0.0, {}))
    said = after(41.0)
    assert "0:00 start      0 | compiling for 0:41" in said
    assert said.count("compiling for 0:41") == 2, "in the line and on the page"
    assert "| compiling" not in after(1.0), "once in a while"
    screen(Report("judge", 7, 60.0, {}))
    said = after(20.0)
    assert "1:20 judge      7 | judging for 0:20" in said
    assert "1:20  judging for 0:20" in said
    screen(Report("stopped", 7, 61.0, {}))
    said = after(100.0)
    assert "stopped" in said
    assert "1:01" in said
    assert "to go" not in said


def test_the_cursor_rests_on_an_empty_line():
    """Behind a full line, a terminal that shows ^C would begin another one, and the page be drawn one line too low."""
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=80)
    console.print(Screen("connect4-cpu", CONFIG, console).page())
    assert out.getvalue().endswith("\n\n")


def test_lines_are_not_repeated_for_every_iteration():
    said = shown(False, *(Report("play", i, float(i), PLAY) for i in range(50)))
    assert said.count("games/s") == 1


def test_a_run_that_goes_on_says_where():
    """Both lines said "start 0", as if the run had begun anew."""
    said = shown(False, Report("start", 0, 0.0, {}), Report("start", 0, 0.0, {}), Report("start", 200, 9.0, {}))
    assert [line.split()[1:3] for line in said.splitlines() if "start" in line] == [["start", "0"], ["start", "200"]]


@pytest.mark.parametrize("terminal", [True, False])
def test_a_test_of_new_weights_is_told(terminal):
    gate = {"player": 40, "accepted": False, "llr": -2.98, "pairs": 48, "elo": -5.0}
    said = shown(terminal, Report("gate", 60, 9.0, {}), Report("gate", 60, 9.0, {"gate": gate}))
    if terminal:
        assert "testing the new weights" in said
        assert "weights of 40" in said
    else:
        assert "those of 40 still play (LLR -2.98 after 48 pairs)" in said


def test_ratings_are_told_in_lines_too():
    """They come with the second report of a judgement."""
    assert "uct:100 +512 ± 40" in shown(False, Report("judge", 7, 1.0, {}), Report("judge", 7, 9.0, JUDGED))


def test_the_rise_of_the_player_is_drawn():
    reports = [
        Report("judge", i, 60.0 * i, {"elo": {f"step {i}": [100.0 * i, 9.0]}, "player": f"step {i}"}) for i in (1, 2, 3)
    ]
    assert "▁▅█" in shown(True, *reports)


@pytest.mark.parametrize(
    ("value", "text"), [(9_996, "9,996"), (10_400, "10.4k"), (999_600, "1M"), (999_700_000, "1G"), (0.25, "0.25")]
)
def test_a_number_has_the_unit_of_what_is_shown(value, text):
    assert _short(value) == text
