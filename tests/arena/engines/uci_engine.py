"""A tiny engine of UCI whose knight goes to and fro on 5x5: `uci_engine.py [FAULT] [LOG]`.

FAULT, or `none`, happens at the second `go` of the process, or at the start. Lines are written to LOG.
"""

import os
import sys
import time
from pathlib import Path

OPTIONS = """id name Knight 1.0
id author nobody
option name Skill Level type spin default 20 min 0 max 20
option name Use Book type check default true
option name Style type combo default Solid var Solid var Very Risky
option name EvalFile type string default <empty>
option name Clear Hash type button
option name UCI_LimitStrength type check default false
option name UCI_Elo type spin default 1350 min 1350 max 2850
option name UCI_Variant type combo default chess var chess var gardner"""
GREETINGS = {
    "plain": OPTIONS.rpartition("\n")[0],
    "bold": OPTIONS.replace("Style type", "Sty\x1b[1mle  type"),
    "chess": OPTIONS.replace(" var gardner", ""),
    "endless": "option name X type check\n" * 2000,
    "garbage": "hello\n" * 200,
    "chatty": f"Knight 1.0 by nobody\n\ninfo string hello\n{OPTIONS}",
}
INSTEAD = {
    "illegal": "bestmove a2a5",
    "outside": "bestmove z9z8",
    "none": "bestmove (none)",
    "null": "bestmove 0000",
    "nothing": "bestmove",
    "nonsense": "here\n" * 200,
}
HOPS = (("b1c3", "c3b1"), ("b5a3", "a3b5"))  # of White's knight and of Black's


def misbehave(fault: str) -> None:
    if fault == "crash":
        print("out of cheese", file=sys.stderr, flush=True)
        os._exit(3)
    while fault == "hang":
        print("info depth 1", flush=True)
        time.sleep(0.05)


def move(words: list[str]) -> str:
    """To the other of two squares, where it is by its own last move."""
    cut = words.index("moves") if "moves" in words else len(words)
    moves = words[cut + 1 :]
    black = (len(moves) + (words[1] == "fen" and words[3] == "b")) % 2
    there, back = HOPS[black]
    return back if moves[-2:-1] == [there] else there


def main(fault: str = "well", log: str = os.devnull) -> None:
    asked, position = 0, list[str]()
    end = "\r\n" if fault == "chatty" else "\n"
    for line in sys.stdin:
        with Path(log).open("a") as book:
            book.write(line)
        word, answer = line.split()[0], ""
        if word == "quit":
            return
        if word == "uci":
            answer = f"{GREETINGS.get(fault, OPTIONS)}\nuciok"
        elif word == "isready" and fault == "unready":
            os._exit(1)
        elif word == "isready":
            answer = "info string all is well\nreadyok"
        elif word == "position":
            position = line.split()
        elif word == "go":
            asked += 1
            if asked == 2:
                misbehave(fault)
            talk = "info depth 1 score cp 3\n" * 500 if fault == "chatty" else ""
            answer = f"{talk}bestmove {move(position)} ponder a1a1"
            answer = INSTEAD.get(fault, answer) if asked == 2 else answer
        if answer:
            print(*answer.split("\n"), sep=end, end=end, flush=True)


main(*sys.argv[1:])
