"""What people look at after a review: the moves of a game, what players gave away, and the chances as a curve."""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from jaxgo.arena.review import KINDS, Move, Review, Tally, tally, worst
from jaxgo.games.names import describe
from jaxgo.ui import tables

WORST = 5  # moves that are named for each player
NAME = 44  # characters of who is named above the curve
PLURALS = {"inaccuracy": "inaccuracies", "mistake": "mistakes", "blunder": "blunders"}
EXACT = {1.0: "won", 0.0: "drawn", -1.0: "lost"}
LEGEND = (
    "before, after: the score that the mover may expect, or won, drawn, lost where that is proven\n"
    "lost: the per cent of a win that a move gave away; "
    + ", ".join(f"{kind} from {100 * KINDS[kind]:.0f}" for kind in reversed(KINDS))
)
LEADS = "\nlead: the points that the mover is ahead before and behind the move, as the net sees them without a search"
LEFT, RIGHT, TOP, FOOT, HEIGHT = 52, 24, 40, 280, 344  # of the curve and of its picture
STYLE = """
.curve{fill:none;stroke:#2f6f8f;stroke-width:2;stroke-linejoin:round}.under{fill:#2f6f8f;fill-opacity:.12}
.inaccuracy{fill:#d8a524}.mistake{fill:#d9772b}.blunder{fill:#c0392b}
@media (prefers-color-scheme:dark){.curve{stroke:#6db6d6}.under{fill:#6db6d6}.blunder{fill:#e05a4b}}
"""


def players(review: Review) -> list[str]:
    """Who sat on each seat, as far as the file tells."""
    told = [*review.record.players, "", ""][:2]
    return [_plain(name) or f"seat {seat}" for seat, name in enumerate(told)]


def _plain(name: str) -> str:
    """A text of a file that is safe to print."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in name).split())


def head(review: Review) -> str:
    """What was played, by whom, how it ended, and whose search this is."""
    one, other = (_seated(review, seat) for seat in range(2))
    return f"{describe(review.record.game)}: {one} against {other}, {ending(review)}; as {review.judge} sees it"


def _seated(review: Review, seat: int) -> str:
    """A player with the seat."""
    name = players(review)[seat]
    return name if name == f"seat {seat}" else f"{name} (seat {seat})"


def ending(review: Review) -> str:
    """How a game ended."""
    if review.returns is None:
        return "not finished"
    first, second = review.returns
    said = "a draw" if first == second else f"seat {int(second > first)} wins"
    how = _plain(review.record.reason or review.record.verdict)  # B and W are of Go: White of chess is seat 0
    return f"{said} ({how})" if how else said


def moves(review: Review) -> Table:
    """A row for each move."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("", "seat"):
        table.add_column(heading, justify="right")
    table.add_column("move")
    for heading in ("before", "after", "lost", *(("lead",) if review.leads else ())):
        table.add_column(heading, justify="right")
    table.add_column("would play")
    table.add_column("")
    for move in review.moves:
        table.add_row(
            *(str(move.number), str(move.seat), Text(move.name)),
            *(_chance(move.before, move.proven[0]), _chance(move.after, move.proven[1])),
            f"{100 * move.lost:.1f}" if move.lost >= 0.0005 else "",
            *([f"{move.lead[0]:+.1f} to {move.lead[1]:+.1f}"] if move.lead else ()),
            Text("" if move.own else move.choice),
            remark(move),
            style="bold" if move.kind == "blunder" else None,
        )
    return table


def _chance(value: float, proven: bool) -> str:
    """The chances that a value stands for, or in a word what is proven."""
    share = f"{50 * (value + 1):.1f} %"
    return EXACT.get(value, f"exactly {share}") if proven else share


def remark(move: Move) -> str:
    """What is to be said of a move in words."""
    if not move.thrown:
        return move.kind
    thrown = f"a proven {'win' if move.before > 0 else 'draw'} thrown away"
    return f"{move.kind}: {thrown}" if move.kind else thrown


def game(review: Review) -> list[RenderableType]:
    """A game whole: its head, its moves, what each player gave away."""
    told = [([str(seat), name], tally(review.of(seat))) for seat, name in enumerate(players(review))]
    worse = [Text(line) for line in worst_moves(review)]
    legend = LEGEND + (LEADS if review.leads else "")
    return [Text(head(review)), "", moves(review), "", _tallies(told, ["seat", "player"]), *worse, Text(legend), ""]


def games(reviews: Sequence[Review]) -> list[RenderableType]:
    """A row for each player of each game, and what each has given away in all of them."""
    told: list[tuple[list[str], Tally]] = []
    of_all: dict[str, list[Move]] = {}
    folders = zip(*(Path(review.place).parent.parts for review in reviews), strict=False)
    shared = sum(1 for _ in itertools.takewhile(lambda same: len(set(same)) == 1, folders))
    for review in reviews:
        for seat, name in enumerate(players(review)):
            game = [_plain(str(Path(*Path(review.place).parts[shared:]))), ending(review)] if seat == 0 else ["", ""]
            told.append(([*game, str(seat), name], tally(review.of(seat))))
            of_all.setdefault(name, []).extend(review.of(seat))
    totals = [([name], tally(some)) for name, some in of_all.items()]
    rows, whole = _tallies(told, ["game", "result", "seat", "player"]), _tallies(totals, ["player"])
    return [rows, "", Text(f"{len(reviews)} games"), whole, Text(LEGEND)]


def _tallies(rows: Sequence[tuple[Sequence[str], Tally]], headings: Sequence[str]) -> Table:
    """What players gave away; each row begins with words of its own, below these headings."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for heading in ("moves", "own choice", "lost", *(PLURALS[kind] for kind in reversed(KINDS)), "thrown away"):
        table.add_column(heading, justify="right")
    for words, told in rows:
        numbers = [str(told.kinds[kind]) for kind in reversed(KINDS)]
        share = f"{told.own / told.moves:.0%}" if told.moves else "-"
        lost = f"{100 * told.lost:.1f} %" if told.moves else "-"
        table.add_row(*map(Text, words), str(told.moves), share, lost, *numbers, str(told.thrown))
    return table


def worst_moves(review: Review) -> list[str]:
    """The moves of each player that gave away most."""
    out = []
    for seat, name in enumerate(players(review)):
        named = [f"{move.number} {move.name} ({100 * move.lost:.1f} %)" for move in worst(review.of(seat), WORST)]
        if named:
            out.append(f"worst of {name}: {', '.join(named)}")
    return out


def json_records(review: Review) -> list[dict[str, Any]]:
    """What `json.dumps` writes line by line: the game, its moves, and what each player gave away. Chances are from 0
    to 1; those of moves are the mover's, and leads likewise, where a net knows them."""
    record = review.record
    whole = {"game": describe(record.game), "players": list(record.players), "returns": review.returns}
    whole |= {"verdict": record.verdict, "reason": record.reason, "start": record.start}
    out: list[dict[str, Any]] = [
        {
            "kind": "game",
            "file": review.place,
            "agent": review.judge,
            **whole,
            "chances": [share(v) for v in review.values],
            **({"leads": [round(lead, 2) for lead in review.leads]} if review.leads else {}),
        }
    ]
    for move in review.moves:
        told = {"number": move.number, "seat": move.seat, "move": move.name, "choice": move.choice}
        told |= {"before": share(move.before), "after": share(move.after), "proven": list(move.proven)}
        told |= {"lead": [round(lead, 2) for lead in move.lead]} if move.lead else {}
        out.append({"kind": "move", **told, "lost": round(move.lost, 4), "judgement": move.kind, "thrown": move.thrown})
    for seat in range(2):
        found = dataclasses.asdict(tally(review.of(seat)))
        out.append({"kind": "player", "seat": seat, **found, "lost": round(found["lost"], 4)})
    return out


def share(value: float) -> float:
    """A chance from 0 to 1."""
    return round((value + 1) / 2, 4)


def curve(review: Review) -> str:
    """The chances of seat 0 over the game as a picture, its worse moves marked; it follows the reader's light or dark
    mode."""
    one = _seated(review, 0)
    one = one if len(one) <= NAME else one[: NAME - 1] + "…"
    plot = _Plot(review.moves[0].number - 1, len(review.moves))
    line = " ".join(f"{plot.x(ply):.1f},{plot.y(value):.1f}" for ply, value in enumerate(review.values, plot.first))
    ends = f"{LEFT + plot.wide},{FOOT}", f"{LEFT},{FOOT}"
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {plot.width} {HEIGHT}" width="{plot.width}" '
        f'height="{HEIGHT}" role="img">',
        f"<style>{tables.STYLE.strip()}{STYLE.rstrip()}</style>",
        f"<title>{escape(head(review))}</title>",
        f'<rect class="back" width="{plot.width}" height="{HEIGHT}"/>',
        f'<text class="name" x="{LEFT}" y="{TOP - 16}">chances of {escape(one)}</text>',
        *plot.axes(),
        f'<polygon class="under" points="{" ".join((line, *ends))}"/>',
        f'<polyline class="curve" points="{line}"/>',
    ]
    for move in (move for move in review.moves if move.kind):
        said = escape(f"{move.number} {move.name} (seat {move.seat}): {remark(move)}, {100 * move.lost:.1f} %")
        place = f'cx="{plot.x(move.number):.1f}" cy="{plot.y(review.values[move.number - plot.first]):.1f}"'
        out.append(f'<circle class="{move.kind}" {place} r="5"><title>{said}</title></circle>')
    for number, kind in enumerate(reversed(KINDS)):
        at = LEFT + 100 * number
        out.append(f'<circle class="{kind}" cx="{at + 5}" cy="{FOOT + 44}" r="5"/>')
        out.append(f'<text class="value" x="{at + 16}" y="{FOOT + 48}">{kind}</text>')
    return "\n".join([*out, "</svg>"]) + "\n"


class _Plot(NamedTuple):
    """Where plies and values of a curve are drawn."""

    first: int  # ply
    plies: int

    @property
    def wide(self) -> int:
        return max(400, min(1200, 8 * self.plies))

    @property
    def width(self) -> int:
        return LEFT + self.wide + RIGHT

    def x(self, ply: int) -> float:
        return LEFT + self.wide * (ply - self.first) / self.plies

    def y(self, value: float) -> float:
        return FOOT - (FOOT - TOP) * (value + 1) / 2

    def axes(self) -> Iterator[str]:
        """Lines at round chances, and round numbers of moves."""
        for share in (0, 25, 50, 75, 100):
            level = self.y(share / 50 - 1)
            yield f'<path class="{"zero" if share == 50 else "grid"}" d="M{LEFT} {level:.1f}H{LEFT + self.wide}"/>'
            yield f'<text class="axis" text-anchor="end" x="{LEFT - 8}" y="{level + 4:.1f}">{share} %</text>'
        step = next(n for n in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000) if n * 12 >= self.plies)
        for ply in range(-(-self.first // step) * step, self.first + self.plies + 1, step):
            yield f'<text class="axis" text-anchor="middle" x="{self.x(ply):.1f}" y="{FOOT + 18}">{ply}</text>'
