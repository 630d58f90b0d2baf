"""A tiny Gomocup brain that takes the first empty cell: `gomocup_engine.py [FAULT] [LOG]`."""

import os
import sys
import time
from pathlib import Path

INSTEAD = {"error": "ERROR no idea", "illegal": "0,0", "outside": "0,99", "nonsense": "here\n" * 200}


class Brain:
    def __init__(self, fault: str, log: str) -> None:
        self.fault, self.log, self.asked = fault, Path(log), 0

    def hear(self) -> str:
        """The next line; nothing at the end."""
        line = sys.stdin.readline()
        with self.log.open("a") as book:
            book.write(line)
        return line.strip()

    def do_start(self, size: str) -> str:
        self.size, self.taken = int(size), set[str]()
        return "ERROR unsupported size" if self.fault == "size" else "OK"

    def do_begin(self) -> str:
        self.asked += 1
        if self.asked == 2 and self.fault == "hang":
            time.sleep(600)
        if self.asked == 2 and self.fault in INSTEAD:
            return INSTEAD[self.fault]
        cells = (f"{x},{y}" for y in range(self.size) for x in range(self.size))
        cell = next(cell for cell in cells if cell not in self.taken)
        if self.fault == "suggest":  # until it is told to play it
            return f"SUGGEST {cell}"
        self.taken.add(cell)
        return f"MESSAGE thinking\nDEBUG depth 1\n{cell}"

    def do_play(self, cell: str) -> str:
        self.taken.add(cell)
        return cell

    def do_turn(self, cell: str) -> str:
        self.taken.add(cell)
        return self.do_begin()

    def do_board(self) -> str:
        self.taken = set()
        while (row := self.hear()) != "DONE":
            self.taken.add(row.rpartition(",")[0])
        return self.do_begin()


def main(fault: str = "none", log: str = os.devnull) -> None:
    brain = Brain(fault, log)
    while (line := brain.hear()) and line != "END":
        word, *rest = line.split()
        if word != "INFO":
            print(getattr(brain, f"do_{word.lower()}", lambda *_: "UNKNOWN command")(*rest), flush=True)


main(*sys.argv[1:])
