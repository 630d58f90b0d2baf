"""`jaxgo review`: what a search thinks of the moves of games in files."""

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from jaxgo.cli.command import File, bring, reader
from jaxgo.core.errors import UsageError

if TYPE_CHECKING:
    from jaxgo.arena import review
    from jaxgo.records.record import GameRecord

EVERY = 10.0  # seconds between two words of how far the search is


@dataclass(frozen=True)
class Review:
    """Search every position of finished games, and tell what each move gave away."""

    files: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="FILE")]
    """Games of one kind, in any format that jaxgo reads: SGF, PGN, PSQ, Zero+, JSON, texts of matches."""
    agent: str = "best"
    """Who searches each position, such as puct:800 or gumbel:64@runs/go9, or the best that comes with jaxgo."""
    skip: int = 0
    """Leave so many first moves out, such as those of a drawn opening."""
    moves: bool = False
    """Of many games, too, print every move, as of one."""
    json: bool = False
    """Print JSON lines: each game, then its moves, then its players."""
    svg: File = None
    """Draw the chances over the game, its mistakes marked, into this file, which ends in .svg; of one game."""
    game: Annotated[str, tyro.conf.arg(metavar="GAME")] = ""
    """The game, if it is one of your own, such as examples.own_game:Nim: a file alone starts no code."""

    def run(self) -> int:
        from jaxgo.arena import review
        from jaxgo.system.files import check_writable, save_whole
        from jaxgo.ui import review_view

        bring(self.game)
        if self.skip < 0:
            raise UsageError(f"--skip {self.skip} is below 0; say how many first moves are left out")
        if self.svg is not None and self.svg.suffix.lower() != ".svg":
            raise UsageError(f"--svg {self.svg} is no name of such a picture; end it in .svg")
        records = review.read(self.files)
        if not records:
            raise UsageError("there is no game to review; name a file, as in jaxgo review game.sgf")
        records = self._moved(records)
        if self.svg is not None and len(records) > 1:
            raise UsageError(f"--svg draws one game, and there are {len(records)}; name one file, or leave --svg out")
        if self.svg is not None:
            check_writable(self.svg)
        found = self._found(records)
        if self.svg is not None:
            save_whole(self.svg, review_view.curve(found[0]))
        if self.json:
            for told in (told for one in found for told in review_view.json_records(one)):
                print(json.dumps(told))
        else:
            _print(found, self.moves)
        return 0

    def _moved(self, records: "dict[str, GameRecord]") -> "dict[str, GameRecord]":
        """The games that have moves to review; of many it is told that others are left out."""
        moved = {place: record for place, record in records.items() if record.moves[self.skip :]}
        out = [place for place in records if place not in moved]
        behind = f" behind the first {self.skip}" if self.skip else ""
        if len(records) == 1 or not out:
            return records
        if not moved:
            raise UsageError(f"none of the {len(records):,} games has moves to review{behind}")
        what = "a game is" if len(out) == 1 else f"{len(out):,} games are"
        print(
            f"jaxgo: {what} left out, of {len(records):,}, without moves to review{behind}: {out[0]}", file=sys.stderr
        )
        return moved

    def _found(self, records: "Mapping[str, GameRecord]") -> "list[review.Review]":
        """The reviews of the games. Games that differ in the limit of plies, which the rules know, are searched after
        each other."""
        from jaxgo.arena import review
        from jaxgo.frontends.lines import tell_player
        from jaxgo.players import load_player

        players = {game: load_player(self.agent, game) for game in dict.fromkeys(r.game for r in records.values())}
        lines = [review.replayed(record, place, self.skip) for place, record in records.items()]
        found: dict[str, review.Review] = {}
        for game, player in players.items():
            tell_player(player)
            some = [line for line in lines if line.record.game == game]
            found |= {one.place: one for one in review.review(player, some, _teller())}
        return [found[place] for place in records]


def _teller() -> "Callable[[int, int], None]":
    """Says on standard error now and then how far the search is."""
    told = time.monotonic()

    def tell(done: int, total: int) -> None:
        nonlocal told
        if done < total and time.monotonic() - told >= EVERY:
            told = time.monotonic()
            print(f"jaxgo: {done:,} of {total:,} positions searched", file=sys.stderr, flush=True)

    return tell


def _print(found: "Sequence[review.Review]", every: bool) -> None:
    """One game as a table of its moves; of many, of which `every` move is to be told or not, what players gave away."""
    from rich.console import Console, Group

    from jaxgo.ui import review_view
    from jaxgo.ui.streams import show

    alone = len(found) == 1
    parts = [part for one in found if alone or every for part in review_view.game(one)]
    parts += review_view.games(found) if not alone else []
    show(Group(*parts), Console(width=160, emoji=False))


read = reader(Review)
