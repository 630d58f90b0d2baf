"""A tiny GTP engine that plays at random, and can be told to misbehave: `gtp_engine.py [FAULT] [LOG]`.

FAULT, or `none`, happens at the second genmove of the process, or at the start. Commands are written to LOG.
"""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

COLUMNS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
COMMANDS = ["list_commands", "boardsize", "clear_board", "komi", "play", "genmove", "final_score", "quit"]
EXTRA = {
    "gomoku": ["gogui-rules_game_id"],
    "othello": ["list_games", "set_game"],
    "hex": ["hexgui-analyze_commands", "param_game"],
    "timed": ["time_settings", "kata-set-rules"],
    "slowly": ["time_settings"],
    "tidy": ["undo", "kgs-genmove_cleanup"],
}
INSTEAD = {
    "error": "? I would rather not",
    "illegal": "= C3",  # taken in the openings of the tests
    "outside": "= Z99",
    "nonsense": "= over there",
    "resign": "= resign",
}


def misbehave(fault: str) -> None:
    """What keeps an engine from answering."""
    if fault == "crash":
        print("out of cheese", file=sys.stderr, flush=True)
        os._exit(3)
    if fault == "mute":
        os.close(1)
        time.sleep(600)
    if fault == "stuck":  # a child of its own hangs, too, and holds the pipe
        child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"])
        print(f"# child {child.pid}", file=sys.stderr, flush=True)
    if fault in ("hang", "stuck", "slow"):
        time.sleep(600)
    while fault == "garbage":
        sys.stdout.buffer.write(b"\x1b[31m lorem ipsum \xff\n")
    while fault == "flood":
        sys.stdout.write("x" * 2**16)


class Board:
    """What is on the board, as far as an engine needs to know that cannot capture."""

    def __init__(self, fault: str) -> None:
        self.fault, self.size, self.asked = fault, 19, 0
        self.pace = 0.0  # seconds of a move
        self.do_clear_board()

    def do_list_commands(self) -> str:
        return "= " + "\n".join(COMMANDS + EXTRA.get(self.fault, []))

    def do_boardsize(self, size: str) -> str:
        self.size = int(size)
        return "? unacceptable size" if self.fault == "size" else "="

    def do_clear_board(self) -> str:
        self.stones: set[str] = set()
        self.rng = random.Random(1)
        return "="

    def do_list_games(self) -> str:
        return "= Go\nOthello"

    def do_play(self, colour: str, vertex: str) -> str:
        if self.fault == "othello" and vertex == "pass":
            return "? syntax error"
        self.stones.add(vertex.upper())
        return "="

    def do_time_settings(self, main: str, byo: str, stones: str) -> str:
        self.pace = 0.9 * int(byo) if self.fault == "slowly" else 0.0
        return "="

    def do_genmove(self, colour: str) -> str:
        self.asked += 1
        time.sleep(self.pace)
        if self.fault == "hex":
            return "= swap-pieces"
        if self.asked == 2:
            misbehave(self.fault)
            if self.fault in INSTEAD:
                return INSTEAD[self.fault]
        points = [(c, r) for c in range(self.size) for r in range(self.size)]
        good = [self.name(c, r) for c, r in points if self.free(c, r) and self.breathes(c, r)]
        move = self.rng.choice(good) if good and self.fault not in ("pass", "tidy") else "pass"
        self.stones.add(move)
        return f"= {move}"

    def do_kgs_genmove_cleanup(self, colour: str) -> str:
        return "= A1" if "A1" not in self.stones else "= PASS"

    def do_final_score(self) -> str:
        return "= W+0.5"

    def name(self, column: int, row: int) -> str:
        return f"{COLUMNS[column]}{row + 1}"

    def free(self, column: int, row: int) -> bool:
        inside = 0 <= column < self.size and 0 <= row < self.size
        return inside and self.name(column, row) not in self.stones

    def breathes(self, column: int, row: int) -> bool:
        return any(self.free(column + x, row + y) for x, y in ((0, 1), (1, 0), (0, -1), (-1, 0)))


def main(fault: str = "none", log: str = os.devnull) -> None:
    board = Board(fault)
    if fault == "slow":
        misbehave(fault)
    if fault == "chatty":
        print("Welcome!\n\n# a comment\n=99 an old answer\n\n=> bar\n", flush=True)
        print("noise " * 10**5, file=sys.stderr, flush=True)
    end = "\r\n\r\n" if fault == "chatty" else "\n\n"
    for line in sys.stdin:
        with Path(log).open("a") as book:
            book.write(line)
        if line.strip() == "quit":
            return
        number, name, *words = line.split()
        if name == "gogui-rules_game_id":
            answer = "= Gomoku"
        else:
            answer = getattr(board, f"do_{name.replace('-', '_')}", lambda *_: "=")(*words)
        sys.stdout.write(f"{answer[0]}{number}{answer[1:]}{end}")
        sys.stdout.flush()


main(*sys.argv[1:])
