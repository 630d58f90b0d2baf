"""The ratings as one HTML page: the ladder, the ranking, the cross table, and games that can be replayed.

The page needs no network and, but for the moving boards, no script. Boards are drawn here, by `board_view`: the page
holds every distinct thing that is drawn once, and for each ply what it adds and takes away.
"""

import dataclasses
import itertools
import json
import math
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int8

from jaxgo.arena import games_file
from jaxgo.arena.ratings import RatingTable
from jaxgo.arena.records import PairResult
from jaxgo.core import play
from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.core.names import check_loaded
from jaxgo.core.play import Position
from jaxgo.core.replay import follow
from jaxgo.games.names import read_game
from jaxgo.system.files import write_whole
from jaxgo.ui import board_shape, board_view
from jaxgo.ui import tables as report
from jaxgo.ui.page import page

PAIRS = 2  # of each match whose games are shown: four games
MOST = 80  # games on a page
DOUBTS = 5  # that are told one by one
NUMBER = ' class="n"'
STYLE = """
th.n{text-align:right}.wide{overflow-x:auto}.wide svg{display:block}
.cross td,.cross th{padding:.15rem .5rem;text-align:center;white-space:nowrap;font-variant-numeric:tabular-nums}
.cross td.name,.cross th.name{text-align:left}
.cross td{background:color-mix(in srgb,#2f6f8f calc(var(--share,0)*55%),transparent)}
#diagram{width:26rem;max-width:100%;height:auto}[hidden]{display:none!important}
#viewer{margin:1rem 0;align-items:flex-start;outline:none}
#moves{position:relative;max-height:16rem;overflow-y:auto;margin:.5rem 0;padding-left:3rem;min-width:12rem}
#moves li{cursor:pointer;padding:0 .4rem}#moves li.here{background:color-mix(in srgb,#2f6f8f 40%,transparent)}
.disc{display:inline-block;width:.8em;height:.8em;border-radius:50%;border:1px solid #777;margin-right:.4em}
.disc.zero{background:#26303a}.disc.one{background:#fffdf8}
button{font:inherit;padding:.1rem .7rem;cursor:pointer}button[aria-pressed=true]{background:#2f6f8f;color:#fff}
details{max-width:34rem}summary{cursor:pointer}
"""
VIEWER = """
<div id="viewer" class="row script" tabindex="-1" hidden="">
<svg id="diagram" class="diagram" role="img" aria-label="the board" viewBox="0 0 1 1"></svg>
<div><div><span id="disc0"></span>first: <b id="seat0"></b></div>
<div><span id="disc1"></span>second: <b id="seat1"></b></div>
<p id="ply" aria-live="polite"></p>
<div><button id="first" title="start (Home)">|◀</button> <button id="prev" title="back (left arrow)">◀</button>
<button id="next" title="on (right arrow)">▶</button> <button id="last" title="end (End)">▶|</button></div>
<ol id="moves"></ol></div></div>
"""


@dataclasses.dataclass(frozen=True)
class Sample:
    """A game of a match, from its start."""

    pair: PairResult
    game: Game[Any]
    side: int  # 0: `a` has seat 0; 1: `b` has
    actions: tuple[int, ...]

    @property
    def seats(self) -> tuple[str, str]:
        return self.pair.seats(self.side)

    @property
    def said(self) -> str:
        """The result in words."""
        return self.pair.told(self.side)


def write(
    path: Path, table: RatingTable, results: Sequence[PairResult], folders: Sequence[Path], notes: Sequence[str] = ()
) -> None:
    """Writes the page. Games are those that were saved in one of the folders."""
    samples, doubts = choose(results, folders, table.agents)
    try:
        write_whole(path, render(table, results, samples, [*notes, *doubts]))
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None


# -- which games ---------------------------------------------------------------------------------------------------


def choose(
    results: Sequence[PairResult], folders: Sequence[Path], order: Sequence[str] = ()
) -> tuple[list[Sample], list[str]]:
    """Saved games of the first openings of each match, the best agents' first; and why others are left out."""
    try:
        name = results[0].game
        check_loaded(name, "the results are of")
        game = read_game(name, results[0].options)
    except UsageError as error:
        return [], [f"no games are shown: {error}"]
    place = {agent: i for i, agent in enumerate(order)}
    matches: dict[tuple[str, str], list[PairResult]] = {}
    for pair in sorted(results, key=lambda pair: (pair.number, pair.id)):
        matches.setdefault((min(pair.a, pair.b), max(pair.a, pair.b)), []).append(pair)
    doubts: list[str] = []
    best = sorted(matches.values(), key=lambda pairs: place.get(pairs[0].a, 0) + place.get(pairs[0].b, 0))
    saved = [_saved(game, pairs, folders, doubts) for pairs in best]
    # a first pair of every match before the second of any
    some = (sample for _ in range(PAIRS) for games in saved for sample in itertools.islice(games, 2))
    picked = sorted(itertools.islice(some, MOST), key=lambda sample: _match_rank(sample, place))
    if len(doubts) > DOUBTS:
        doubts[DOUBTS:] = [f"{len(doubts) - DOUBTS} more games are not shown, for such reasons"]
    return picked, doubts


def _match_rank(sample: Sample, place: dict[str, int]) -> tuple[Any, ...]:
    low, high = sorted(place.get(agent, 0) for agent in sample.seats)
    return low, high, sample.pair.number, sample.pair.id, sample.side


def _saved(
    game: Game[Any], pairs: Sequence[PairResult], folders: Sequence[Path], doubts: list[str]
) -> Iterator[Sample]:
    """The games of these pairs that were saved and that follow the rules to the recorded result."""
    for pair, side in itertools.product(pairs, range(2)):
        for folder in dict.fromkeys(folders):
            try:
                actions = games_file.load(folder, game, pair, side)
                if actions is None:
                    continue
                sample = Sample(pair, game, side, tuple(actions))
                retrace(sample)
            except UsageError as error:
                doubts.append(f"a game is not shown: {error}")
                continue
            yield sample
            break  # another folder may have the same game


# -- what is drawn -------------------------------------------------------------------------------------------------


def retrace(sample: Sample) -> tuple[list[list[int]], list[int], list[int]]:
    """The cells of the board at the start and after every move, who moved, and who had the dark pieces;
    a UsageError if that is not the game."""
    game, count = sample.game, len(sample.actions)
    if count > game.max_plies:
        raise UsageError(f"{sample.pair.id} has {count} moves, more than the rules allow")
    found = follow(game, play.begin(game), sample.actions, _frame)
    if (made := int(found.made)) < count:
        raise UsageError(f"move {made + 1} of a game of pair {sample.pair.id} is not legal")
    last = play.look(game, found.position)
    ended = last.over and math.isclose((1 + last.returns[0]) / 2, sample.pair.result(sample.side), abs_tol=1e-6)
    if not ended and not sample.pair.problems:  # who resigns or forfeits has not lost on the board
        raise UsageError(f"a game of pair {sample.pair.id} does not end as was recorded")
    cells, movers, dark = (np.asarray(x) for x in found.seen)
    return cells[: count + 1].tolist(), movers[:count].tolist(), dark[: count + 1].tolist()


def _frame(game: Game[Any], position: Position) -> tuple[Int8[Array, " cells"], Int8[Array, ""], Int8[Array, ""]]:
    state = position.state
    return game.cells(state), state.to_play, game.first_pieces(state) ^ jnp.int8(game.light_first)


def _rank(part: str) -> int:
    """The place of an element above and below others of its layer: texts, and discs that lie on discs, are above."""
    return 2 if part.startswith("<text") else int(part.startswith('<circle class="tint"'))


class Drawing:
    """All that is drawn of the boards, each thing once, in an order in which nothing hides what is above it."""

    def __init__(self, game: Game[Any]) -> None:
        self.game = game
        self._found: dict[tuple[int, int, str], int] = {}  # layer, rank in it, the element

    def turns(self, sample: Sample) -> tuple[list[list[int]], list[int], list[int]]:
        """What each ply toggles, the start first, who moved, and who had the dark pieces."""
        frames, movers, dark = retrace(sample)
        shown: set[int] = set()
        turns = []
        for codes, last in zip(frames, [None, *sample.actions], strict=True):
            layers = board_view.layers(self.game, codes, last)
            now = {
                self._found.setdefault((number, _rank(part), part), len(self._found))
                for number, layer in enumerate(layers)
                for part in layer
            }
            turns.append(sorted(now ^ shown))
            shown = now
        return turns, movers, dark

    def parts(self) -> tuple[list[str], dict[int, int]]:
        """The elements from below to above, and where each number of `turns` is among them."""
        order = sorted(self._found.items(), key=lambda item: (item[0][:2], item[1]))
        return [key[2] for key, _ in order], {number: place for place, (_, number) in enumerate(order)}


def replays(samples: Sequence[Sample]) -> dict[str, Any]:
    """What the script of the page needs."""
    drawing = Drawing(samples[0].game)
    told = [drawing.turns(sample) for sample in samples]
    parts, place = drawing.parts()
    games = [
        {
            "seats": sample.seats,
            "result": sample.said,
            "opening": len(sample.pair.opening),
            "moves": [drawing.game.action_name(action) for action in sample.actions],
            "movers": movers,
            "dark": dark,
            "turns": [sorted(place[part] for part in turn) for turn in turns],
        }
        for sample, (turns, movers, dark) in zip(samples, told, strict=True)
    ]
    return {"size": board_shape.size(drawing.game), "parts": parts, "games": games}


# -- the page ------------------------------------------------------------------------------------------------------


def render(
    table: RatingTable, results: Sequence[PairResult], samples: Sequence[Sample], notes: Sequence[str] = ()
) -> str:
    name = " ".join([results[0].game, *results[0].options])
    title = f"{name}: {len(table.agents)} agents, {len(results)} pairs of games"
    said = "".join(f"<li>{escape(line)}</li>" for line in [*report.remarks(table), *notes])
    parts = [f"<h1>{escape(title)}</h1>", f'<div class="wide">{report.ladder_svg(table)}</div>']
    parts += [f"<h2>Ratings</h2>{_ranking(table)}<ul>{said}</ul>"]
    if len(table.agents) > 2:
        parts.append(f"<h2>Who scored how much against whom</h2>{_cross(table)}")
    parts += [_games(samples), _origin(results)]
    # nested, so that the colours of the boards are theirs alone
    return page(f"ratings of {name}", parts, STYLE + f".diagram{{{board_shape.STYLE}}}\n")


def _cells(kind: str, *texts: str) -> str:
    return "".join(f"<td{kind}>{text}</td>" for text in texts)


def _ranking(table: RatingTable) -> str:
    heads = "".join(f"<th{NUMBER}>{head}</th>" for head in ("Elo ± 95 %", "games", "score", "draws", "LOS"))
    lines = [f"<tr><th></th><th>name</th>{heads}</tr>"]
    for row in report.rows(table):
        shares = (report.percent(share, "") for share in (row.score, row.draws, row.above_next))
        name = f"<td>{escape(row.name)}</td>"
        lines.append(
            f"<tr>{_cells(NUMBER, str(row.rank))}{name}{_cells(NUMBER, row.rating, f'{row.games:g}', *shares)}</tr>"
        )
    return '<div class="wide"><table>' + "\n".join(lines) + "</table></div>"


def _cross(table: RatingTable) -> str:
    """Points / games; the more of the points, the deeper the colour."""
    count = range(len(table.agents))
    head = "".join(f'<th title="{escape(agent)}">{i}</th>' for i, agent in enumerate(table.agents, 1))
    lines = [f'<tr><th></th><th class="name">name</th>{head}</tr>']
    for i in count:
        lines.append(f'<tr><th>{i + 1}</th><td class="name">{escape(table.agents[i])}</td>')
        lines += [_meeting(table, i, j) for j in count]
        lines.append("</tr>")
    return '<div class="wide"><table class="cross">' + "\n".join(lines) + "</table></div>"


def _meeting(table: RatingTable, i: int, j: int) -> str:
    text = report.cell(table, i, j)
    if not text:
        return "<td></td>"
    lost, drawn, won = table.results[i, j].tolist()
    about = f"{table.agents[i]} against {table.agents[j]}: {won:g} won, {drawn:g} drawn, {lost:g} lost"
    share = (won + drawn / 2) / (lost + drawn + won)
    return f'<td style="--share:{share:.2f}" title="{escape(about)}">{text}</td>'


def _games(samples: Sequence[Sample]) -> str:
    if not samples:
        return "<h2>Games</h2><p>None of these games were saved; a tournament with --html or --games saves some.</p>"
    data = json.dumps(replays(samples), separators=(",", ":"), ensure_ascii=False)
    lines = ['<tr><th class="script" hidden=""></th><th>first</th><th>second</th><th>result</th><th>moves</th></tr>']
    for number, sample in enumerate(samples):
        show = f'<td class="script" hidden=""><button data-game="{number}">show</button></td>'
        words = [escape(text) for text in (*sample.seats, ", ".join([sample.said, *sample.pair.problems]))]
        names = ", ".join(sample.game.action_name(action) for action in sample.actions)
        moves = f"<details><summary>{len(sample.actions)}</summary><code>{escape(names)}</code></details>"
        lines.append(f"<tr>{show}{_cells('', *words, moves)}</tr>")
    script = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
    return "\n".join(
        [
            f"<h2>Games</h2><p>{len(samples)} of those that were saved: both games of the first openings of each match."
            "<noscript> Boards that move need JavaScript.</noscript></p>",
            VIEWER,
            '<div class="wide"><table>',
            *lines,
            "</table></div>",
            f'<script type="application/json" id="games">{data.replace("<", chr(92) + "u003c")}</script>',
            f"<script>{script}</script>",
        ]
    )


def _origin(results: Sequence[PairResult]) -> str:
    """What was played with: whoever doubts a number can play it again."""
    seeds = sorted({str(pair.seed) for pair in results})
    made = sorted({", ".join([*pair.versions, f"commit {pair.commit}" if pair.commit else ""]) for pair in results})
    words = [f"Seeds of openings: {', '.join(seeds[:8])}{' and more' if len(seeds) > 8 else ''}.", *made[:8]]
    more = f" and {len(made) - 8} others" if len(made) > 8 else ""
    return f"<h2>Played with</h2><p>{'<br>'.join(escape(text.rstrip(', ')) for text in words if text)}{more}</p>"
