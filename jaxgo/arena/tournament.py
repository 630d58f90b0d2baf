"""A tournament: rounds of matches by a schedule, every finished pair a line in a file, resumed where it stopped."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from jax.sharding import Mesh

from jaxgo.arena import notes
from jaxgo.arena.contest import Contest, News, Progress
from jaxgo.arena.engines.protocols import Limits
from jaxgo.arena.hosts import Hosts, Plan
from jaxgo.arena.ledger import Ledger
from jaxgo.arena.openings import Openings
from jaxgo.arena.runner import Runner
from jaxgo.arena.saved_games import SavedGames
from jaxgo.arena.schedule import Schedule
from jaxgo.players import Player

CHUNK = 256  # most pairs of one match in a round, for each host
SHORT_CHUNK = 32  # where every round decides anew who plays


class Tournament:
    """Plays a contest by a schedule. Results go to `path`, the games themselves to the folder `games`.

    `chunk` is the most pairs of a match that are begun together; `sample` is how many pairs of each match have their
    games saved, those of the first openings (None: all). `limits` are those of engines; `spare` and `room` let several
    tournaments share one compiled program (see `Runner`). With `say`, games that cannot be saved are a message, and
    results of a name's earlier player are left alone.

    Among several `hosts` the first one has the record and runs the tournament, and the others serve it.
    """

    def __init__(
        self,
        contest: Contest,
        schedule: Schedule,
        openings: Openings,
        path: Path | None = None,
        games: Path | None = None,
        slots: int | None = None,
        chunk: int | None = None,
        sample: int | None = None,
        limits: Limits | None = None,
        spare: Sequence[Player] = (),
        room: int = 0,
        mesh: Mesh | None = None,
        say: Callable[[str], None] | None = None,
        hosts: Hosts | None = None,
    ) -> None:
        self.ledger = Ledger(contest, schedule, openings, path, limits, namesakes=say is not None)
        self._schedule, self._hosts = schedule, hosts or Hosts()
        usual = SHORT_CHUNK if schedule.by_ratings else CHUNK * self._hosts.count
        self._chunk = min(chunk or usual, schedule.pairs)
        room = max(room, -(-self._chunk // self._hosts.count))
        self.runner = Runner(self.ledger, room, slots, limits, spare, mesh)
        self._saved = SavedGames(self.ledger, games, sample, say)
        self._games, self._seconds, self._anchor = 0, 0.0, ""

    def run(self, anchor: str = "") -> Iterator[Progress]:
        """Plays until the schedule has enough, and tells every now and then how it stands.

        Error bars are those of ratings with this `anchor`; without one, of ratings against their mean.
        """
        self._anchor = anchor
        ledger = self.ledger
        while True:
            played = {match: ledger.done(match) for match in ledger.matches}
            table = self.progress().table() if self._schedule.by_ratings else None
            room = {match: len(ledger.missing(match, self._chunk)) for match in ledger.matches}
            plan = self._schedule.round(played, table, ledger.names, self._chunk, room)
            yield self.progress()
            if not plan:
                return
            for news in self._play({match: ledger.missing(match, count) for match, count in plan.items()}):
                self._keep(news)
                yield self.progress(news.doing)

    def serve(self) -> int:
        """Plays for the first of several hosts until that has ended; gives the exit status."""
        return self._hosts.serve(self.runner.sign, self.runner.play)

    def progress(self, doing: str = "") -> Progress:
        ledger = self.ledger
        pairs = sum(map(ledger.done, ledger.matches))
        return Progress(pairs, ledger.most(), self._games, self._seconds, tuple(ledger.known), doing, self._anchor)

    def notes(self) -> list[str]:
        """What a reader of the results should know, and which games are not in the folder."""
        table = self.progress().table() if self._schedule.until > 0 else None
        return [*notes.of_results(self.ledger, table), *self._saved.notes()]

    def _play(self, plan: Plan) -> Iterator[News]:
        """One round, on all hosts."""
        return self._hosts.play(plan, self.runner.sign, self.runner.play)

    def _keep(self, news: News) -> None:
        """Saves the games that ended and writes their pairs down."""
        pairs = [self.ledger.record(ended) for ended in news.ended]
        for pair, ended in zip(pairs, news.ended, strict=True):
            self._saved.save(pair, ended.moves)
        self.ledger.add(pairs)
        self._games += 2 * len(pairs)
        self._seconds += news.seconds
