"""The `jaxgo` program: finds the command, reports mistakes in one sentence.

A new command is a file in this folder that has a `read` (see `command`), and a line in `COMMANDS`. Files are imported
when their command is asked for: `jaxgo --help` waits for nothing.
"""

import errno
import importlib
import io
import os
import sys
from collections.abc import Sequence

import jaxgo
from jaxgo.cli.command import INTERRUPTED, Command, Read
from jaxgo.core.errors import UsageError, unknown_name
from jaxgo.system import aside
from jaxgo.system.stop import at_once

FULL = (errno.ENOSPC, errno.EDQUOT)
# what is wrong with a place that the user named; that a file is missing may be a mistake of ours
FORBIDDEN = (*(errno.EACCES, errno.EPERM, errno.EROFS), *(errno.EISDIR, errno.ENOTDIR, errno.EEXIST, errno.ELOOP))
NO_MEMORY = (
    "{} has no memory left for this; end other programs that use it, or ask for less at once (fewer games, "
    "simulations or positions, a smaller batch), and give the command again"
)
COMMANDS = {  # the file, and what it is for
    "train": ("train_job", "learn a game by self-play, and end in a table of ratings"),
    "eval": ("eval", "let players meet and rate them, with error bars; also `eval sprt` and `eval ratings`"),
    "tune": ("tune", "find better numbers for a player by games against its like"),
    "analyse": ("analyse", "search a position: visits, values, priors, proofs, lines"),
    "review": ("review", "search every position of saved games: what each move gave away"),
    "play": ("play", "open a page to play any game on, against a player or a friend; --text: in the terminal"),
    "watch": ("watch", "open a page beside a run of training: curves, ladder, its games to replay"),
    "solve": ("solve", "find a puzzle's shortest solution, or work a small game out to the end"),
    "show": ("show", "draw a position in the terminal and as a picture"),
    "stats": ("stats", "count a folder of games: results, lengths, repeats, openings"),
    "runs": ("runs", "list runs of training, and check what they saved"),
    "weights": ("weights", "list the weights that come with jaxgo: what they cost, and how they play"),
    "export": ("export", "write weights as safetensors or ONNX for other programs, and take safetensors back"),
    "gtp": ("gtp", "be an engine for GUIs and referees that speak GTP"),
    "uci": ("uci", "be an engine for GUIs and referees of chess, which speak UCI"),
    "gomocup": ("gomocup", "be a brain for managers that speak Gomocup's protocol"),
    "analysis": ("analysis", "be an analysis engine for programs that speak KataGo's JSON protocol, such as KaTrain"),
    "games": ("games", "list the games"),
    "doctor": ("doctor", "tell device, versions and speed of this machine"),
}


def about() -> str:
    """What `jaxgo --help` says."""
    lines = [
        f"{jaxgo.__doc__ or ''}".splitlines()[0] + f" Version {jaxgo.__version__}.",
        "",
        "usage: jaxgo COMMAND ...",
    ]
    wide = max(map(len, COMMANDS))
    lines += ["", *(f"  {name:<{wide}}  {words}" for name, (_, words) in COMMANDS.items())]
    return "\n".join([*lines, "", "`jaxgo COMMAND --help` tells the flags of a command."])


def parse(words: Sequence[str]) -> Command:
    """The command that these words describe."""
    name, *rest = words
    if name not in COMMANDS:
        raise unknown_name("command", name, COMMANDS)
    read: Read = importlib.import_module(f"jaxgo.cli.{COMMANDS[name][0]}").read
    return read(f"jaxgo {name}", rest)


def program(*command: str) -> int:
    """The program itself, which is `command` and what was typed after it: the exit status of `main`, or the end of
    the process here and now where a thread of it still compiles or searches."""
    return aside.leave(main([*command, *sys.argv[1:]]))


def main(words: Sequence[str]) -> int:
    """Runs one command and returns the exit status: 0 fine, 2 the user's mistake."""
    _open_streams()
    arguments = list(words) or ["--help"]
    try:
        if arguments[0] in ("--help", "-h", "--version"):
            print(f"jaxgo {jaxgo.__version__}" if arguments[0] == "--version" else about())
            status = 0
        else:
            status = _run(arguments)
        sys.stdout.flush()
        return status
    except UsageError as error:
        print(f"jaxgo: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("jaxgo: stopped", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # `jaxgo games | head`: the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            print(f"jaxgo: {str(error.filename)[:60]}... is too long for a name; choose another", file=sys.stderr)
            return 2
        if error.errno in FORBIDDEN and error.filename is not None:
            print(f"jaxgo: {error.filename}: {error.strerror}; name another place, or mend this one", file=sys.stderr)
            return 2
        if error.errno not in FULL:
            raise
        print(f"jaxgo: the disk is full ({error.strerror}); make room, and give the command again", file=sys.stderr)
        return 2


def _open_streams() -> None:
    """Streams that the caller has closed lead nowhere; the next file to be opened would take their place. What the
    encoding of one cannot write or read, such as ± in ASCII, is a question mark."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115  (for as long as the process lives)
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _run(words: Sequence[str]) -> int:
    try:
        with at_once():
            command = parse(words)
            from jaxgo.system import devices  # not before: it brings JAX, and a wrong word needs none

            devices.keep_programs()
        return command.run()
    except (AssertionError, RuntimeError) as error:  # as JAX says that there is no such device, or no memory left on it
        from jaxgo.system import devices

        devices.check_platforms()
        if str(error).startswith("RESOURCE_EXHAUSTED"):
            raise UsageError(NO_MEMORY.format("the device")) from error
        raise
    except MemoryError as error:
        raise UsageError(NO_MEMORY.format("this machine")) from error
