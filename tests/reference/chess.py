"""Chess in plain Python, after the rules: a mailbox with a frame, every move made, and then a look at the king.

Squares are numbered row by row from the top-left, letters are those of FEN, White moves first. A move is (source,
target, letter of what a pawn becomes or ""). A state is a tuple: cells, seat to move, castling letters, the square that
a pawn has just jumped over or None, plies since a capture or a pawn's move, plies, and how often each position came.
"""

import functools

KNIGHT = [(2, 1), (2, -1), (-2, 1), (-2, -1), (1, 2), (1, -2), (-1, 2), (-1, -2)]
ROOK = [(1, 0), (-1, 0), (0, 1), (0, -1)]
BISHOP = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
SLIDERS = {"r": ROOK, "b": BISHOP, "q": ROOK + BISHOP}
LEAPERS = {"n": KNIGHT, "k": ROOK + BISHOP}
STARTS = {
    "standard": "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "gardner": "rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1",
}


WHOSE = {".": None, **dict.fromkeys("PNBRQK", 0), **dict.fromkeys("pnbrqk", 1)}


@functools.cache
def rays(size: int, letter: str, square: int) -> list[list[int]]:
    """The squares on each way of a man, the next one first."""
    found = []
    for down, right in LEAPERS.get(letter, SLIDERS.get(letter, [])):
        target, ray = step_by(size, square, down, right), []
        while target is not None:
            ray.append(target)
            target = step_by(size, target, down, right) if letter in SLIDERS else None
        found.append(ray)
    return found


@functools.cache
def step_by(size: int, square: int, down: int, right: int) -> int | None:
    row, column = square // size + down, square % size + right
    return row * size + column if 0 <= row < size and 0 <= column < size else None


class Chess:
    def __init__(self, board: str = "standard", fen: str = "", max_plies: int = 512, repetition: str = "draw"):
        self.start = fen or STARTS[board]
        self.size = 8 if board == "standard" else 5
        self.max_plies, self.repetition = max_plies, repetition

    # -- positions ---------------------------------------------------------------------------------------------
    def initial(self):
        return self.at(self.start)

    def at(self, fen: str):
        fields = fen.split()
        rows, mover, castling, passed, clock, _ = fields + ["w", "-", "-", "0", "1"][len(fields) - 1 :]
        cells = "".join("." * int(c) if c.isdigit() else c for c in rows.replace("/", ""))
        square = None if passed == "-" else (self.size - int(passed[1])) * self.size + "abcdefgh".index(passed[0])
        state = (cells, "wb".index(mover), castling.replace("-", ""), square, int(clock), 0)
        return (*state, {self.name(state): 1})

    def cells(self, state) -> str:
        return state[0]

    def to_move(self, state) -> int:
        return state[1]

    def name(self, state):
        """What makes a position the same as another one."""
        passed = state[3] if any(self.captures_passed(state, *move) for move in self.moves(state)) else None
        return state[0], state[1], "".join(sorted(state[2])), passed

    # -- moves -------------------------------------------------------------------------------------------------
    def attacked(self, cells: str, square: int, by: int) -> bool:
        """Whether a man of a seat could capture on a square: from there one of the other seat would attack it."""
        for letter, attackers in (("p", "p"), ("n", "n"), ("k", "k"), ("b", "bq"), ("r", "rq")):
            others = attackers if by else attackers.upper()
            if any(cells[man] in others for man in self.reached(cells, square, letter, 1 - by, True)):
                return True
        return False

    def men(self, cells: str, seat: int) -> list[int]:
        return [square for square, letter in enumerate(cells) if WHOSE[letter] == seat]

    def reached(self, cells: str, source: int, letter: str, seat: int, attacks: bool = False) -> list[int]:
        """Where a man goes without castling, en passant and a look at the king; or what it attacks."""
        out = []
        if letter == "p":
            down = 1 if seat else -1
            for right in (-1, 1):
                target = step_by(self.size, source, down, right)
                if target is not None and (attacks or WHOSE[cells[target]] == 1 - seat):
                    out.append(target)
            ahead = step_by(self.size, source, down, 0)
            if not attacks and ahead is not None and cells[ahead] == ".":
                out.append(ahead)
                row = source // self.size
                if self.size == 8 and row == (1 if seat else 6) and cells[ahead + down * 8] == ".":
                    out.append(ahead + down * 8)
            return out
        for ray in rays(self.size, letter, source):
            for target in ray:
                if WHOSE[cells[target]] != seat:
                    out.append(target)
                if cells[target] != ".":
                    break
        return out

    def captures_passed(self, state, source: int, target: int, _: str) -> bool:
        return state[0][source].lower() == "p" and target == state[3] and (target - source) % self.size != 0

    def moved(self, state, source: int, target: int, becomes: str) -> str:
        """The board after a move."""
        cells = list(state[0])
        letter = cells[source]
        if self.captures_passed(state, source, target, ""):
            cells[source // self.size * self.size + target % self.size] = "."
        if letter.lower() == "k" and abs(source % self.size - target % self.size) == 2:
            rook, beside = (target + 1, target - 1) if target > source else (target - 2, target + 1)
            cells[beside], cells[rook] = cells[rook], "."
        cells[target] = (becomes.upper() if letter.isupper() else becomes) or letter
        cells[source] = "."
        return "".join(cells)

    @functools.lru_cache(maxsize=4096)  # noqa: B019
    def _moves(self, cells: str, seat: int, castling: str, passed: int | None) -> list[tuple[int, int, str]]:
        state = (cells, seat, castling, passed)
        found = []
        for source in self.men(cells, seat):
            letter = cells[source].lower()
            targets = self.reached(cells, source, letter, seat)
            if letter == "p" and passed is not None:
                targets += [t for t in self.reached(cells, source, letter, seat, True) if t == passed]
            last = 0 if seat == 0 else self.size - 1
            promotes = letter == "p"
            found += [
                (source, t, p) for t in targets for p in ("qrbn" if promotes and t // self.size == last else [""])
            ]
        for letter in castling:
            if WHOSE[letter] != seat:
                continue
            king = 4 if seat else 60
            side, free = (1, (1, 2)) if letter.lower() == "k" else (-1, (-1, -2, -3))
            clear = all(cells[king + step] == "." for step in free)
            if clear and not any(self.attacked(cells, king + side * step, 1 - seat) for step in (0, 1, 2)):
                found.append((king, king + 2 * side, ""))
        out = []
        for move in found:
            after = self.moved(state, *move)
            if not self.attacked(after, after.index("k" if seat else "K"), 1 - seat):
                out.append(move)
        return out

    def moves(self, state):
        return self._moves(*state[:4])

    def legal(self, state):
        return [] if self.result(state) is not None else self.moves(state)

    def step(self, state, move):
        cells, seat, castling, _, clock, ply, seen = state
        source, target, _ = move
        after = self.moved(state, *move)
        pawn = cells[source].lower() == "p"
        for letter, rook in (("K", 63), ("Q", 56), ("k", 7), ("q", 0)):
            king = 60 if letter.isupper() else 4
            if self.size == 8 and {source, target} & {rook, king}:
                castling = castling.replace(letter, "")
        passed = (source + target) // 2 if pawn and abs(source - target) == 2 * self.size else None
        quiet = 0 if pawn or cells[target] != "." else clock + 1
        state = (after, 1 - seat, castling, passed, quiet, ply + 1)
        name = self.name(state)
        return (*state, {**seen, name: seen.get(name, 0) + 1})

    # -- ends --------------------------------------------------------------------------------------------------
    def ended(self, state) -> str | None:
        """Why a game has ended."""
        cells, seat, _, _, clock, ply, seen = state
        if not self.moves(state):
            return "mate" if self.attacked(cells, cells.index("k" if seat else "K"), 1 - seat) else "stalemate"
        if clock >= 100:
            return "clock"
        if self.repetition == "draw" and max(seen.values()) >= 3:
            return "repetition"
        men = [(letter.lower(), square) for square, letter in enumerate(cells) if letter.lower() not in ".k"]
        shades = {(square // self.size + square % self.size) % 2 for _, square in men}
        if all(letter in "nb" for letter, _ in men) and len(men) <= 1:
            return "barren"
        if all(letter == "b" for letter, _ in men) and len(shades) == 1:
            return "barren"
        return "limit" if ply >= self.max_plies else None

    def result(self, state) -> int | None:
        why = self.ended(state)
        return None if why is None else 0 if why != "mate" else 1 if state[1] else -1


def perft(rules: Chess, depth: int, state=None) -> list[int]:
    """Sequences of moves, counted one by one; ends of games but mate and stalemate are not looked at."""
    counts, level = [], [rules.initial() if state is None else state]
    for left in reversed(range(depth)):
        moves = [(state, move) for state in level for move in rules.moves(state)]
        counts.append(len(moves))
        level = [rules.step(state, move) for state, move in moves] if left else []
    return counts
