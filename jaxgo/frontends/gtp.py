"""The Go Text Protocol, version 2, for Go and for every other game: an engine that GUIs and referees can start.

Here is the loop: lines come in, each is answered, and whatever they hold, the engine goes on; between them it may think
on the other side's time. What commands do is in `gtp_commands`, and analyses that run until the next line in
`gtp_analysis`.
"""

import threading
from collections.abc import Iterable

from jaxgo.core.errors import UsageError
from jaxgo.frontends.gtp_commands import COMMANDS
from jaxgo.frontends.gtp_engine import GtpEngine
from jaxgo.frontends.gtp_text import Line, answer, read_line
from jaxgo.frontends.lines import LONGEST


def run(engine: GtpEngine, lines: Iterable[str]) -> None:
    """Answers until the lines end, or until it is told to quit."""

    def listen() -> None:
        for text in lines:
            engine.put_line(text)
        engine.put_line(None)

    threading.Thread(target=listen, name="lines", daemon=True).start()
    while not engine.over and (text := engine.next_line()) is not None:
        engine.rest()
        take(engine, text)
        engine.ponder()
    engine.session.close(timeout=0.5)


def take(engine: GtpEngine, text: str) -> None:
    """Does what a line says, and answers."""
    if len(text) > LONGEST:
        engine.write(answer("", False, f"a line has at most {LONGEST} characters"))
        return
    line = read_line(text)
    if line is not None:
        good, words = _do(engine, line)
        if words is not None:  # else it has answered by itself
            engine.write(answer(line.number, good, words))


def _do(engine: GtpEngine, line: Line) -> tuple[bool, str | None]:
    known = COMMANDS.get(line.command)
    if known is None:
        return False, "unknown command"
    try:
        return True, known(engine, line)
    except UsageError as error:
        return False, str(error)
    except BrokenPipeError:  # nobody reads any more
        raise
    except Exception as error:  # a fault of ours must not end the game
        return False, f"internal error: {type(error).__name__}: {' '.join(str(error).split())[:200]}"
