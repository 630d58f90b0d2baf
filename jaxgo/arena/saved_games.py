"""Which games of a tournament are saved to be looked at: those of the first openings of each match, or all of them."""

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path

from jaxgo.arena import games_file
from jaxgo.arena.ledger import Ledger
from jaxgo.arena.records import PairResult
from jaxgo.core.errors import UsageError


class SavedGames:
    """The games of a ledger in a folder, of the first `sample` pairs of each match (None: of all); no folder, no games.

    With `say`, games that cannot be saved are a message.
    """

    def __init__(
        self, ledger: Ledger, folder: Path | None, sample: int | None, say: Callable[[str], None] | None = None
    ) -> None:
        self._ledger, self._folder, self._sample, self._say = ledger, folder, sample, say
        # the first that are played here: an earlier tournament may have played others, and saved none
        first = {match: ledger.missing(match, sample) for match in ledger.matches} if sample else {}
        self._wanted = {ledger.id(match, number) for match, numbers in first.items() for number in numbers}

    def save(self, pair: PairResult, moves: Sequence[Sequence[int]]) -> None:
        """Saves both games of a pair if they are wanted; `moves` are those since the opening."""
        if not self._folder or (self._sample is not None and pair.id not in self._wanted):
            return
        opening = self._ledger.openings.actions(pair.number)
        try:
            games_file.save(self._folder, self._ledger.contest.game, pair, opening, moves)
        except UsageError as fault:
            if self._say is None:
                raise
            self._say(str(fault))  # a full disk is no reason to lose the ratings

    def notes(self) -> list[str]:
        """What a reader of the results should know: games that were played before somebody asked for them."""
        if not self._folder:
            return []
        missing = 0
        for match in self._ledger.matches:
            pairs = self._ledger.played(match).values()
            wanted = len(pairs) if self._sample is None else min(self._sample, len(pairs))
            saved = (pair for pair in pairs if games_file.find(self._folder, pair))
            missing += wanted - len(list(itertools.islice(saved, wanted)))
        if not missing:
            return []
        which = "a pair was" if missing == 1 else f"{missing:,} pairs were"
        return [f"{which} played before, when games were not saved in {self._folder}; for them, take another --out"]
