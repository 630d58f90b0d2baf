"""`jaxgo eval`: a tournament, a sequential test of two agents, ratings of files of results.

A command is a frozen dataclass, as those of `jaxgo` are: its fields are its flags. JAX is imported inside `run`.
"""

import functools
import json
import math
import re
import shlex
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from jaxgo.cli.command import INTERRUPTED, Command, File, GameName, Option, bring
from jaxgo.cli.rating_table import Table
from jaxgo.core.errors import MOST_SEED, UsageError, check_seed

if TYPE_CHECKING:
    from jaxgo.arena import tournament as arena
    from jaxgo.arena.contest import Contest
    from jaxgo.arena.engines.protocols import Limits
    from jaxgo.arena.hosts import Hosts
    from jaxgo.arena.openings import Openings
    from jaxgo.arena.schedule import Schedule

FIELD = ("random", "greedy", "uct:50", "uct:200", "gumbel:32")  # who plays where nobody is named
PAIRS, PAIRS_UNTIL, PAIRS_SPRT = 40, 1000, 5000  # of each match, unless told otherwise
CHUNK_SPRT = 64  # pairs that a sequential test begins together: what is under way when it knows is lost
GAMES, SAMPLE = "games", 2  # where games for a page are saved, next to the results; of how many pairs of each match


@dataclass(frozen=True)
class Setting:
    """Where games begin and what they are played with."""

    book: File = None
    """Openings, one a line, as names of moves; else they are random."""
    plies: int | None = None
    """Random moves of an opening; else as many as it takes to have enough different ones. 0: the start alone."""
    fair: Annotated[str, tyro.conf.arg(metavar="AGENT")] = ""
    """Who says which random openings are balanced, such as gumbel:64@go9-cpu; else playouts, in short games alone."""
    balance: float | None = None
    """What an opening may be worth to either seat, from 0 to 1; else 0.3 by an agent's word, 0.6 by playouts."""
    option: Option = ()
    """An option of the game, such as komi=5.5; may be given several times."""
    seed: int = 0
    """Of openings and of all luck."""
    temperature: float = 0.0
    """Of the first moves of a game after the opening; 0: the best move. Engines, alphabeta, random and players by the
    clock have none."""
    hot_plies: int = 0
    """How many moves the temperature holds for."""
    slots: int | None = None
    """Games that an agent thinks about at once, on each device; else as many as memory allows, up to 512 on a CPU."""
    engines: int = 2
    """Games with engines (gtp:, gomocup:, uci:) and players by the clock that are played side by side."""
    engine_seconds: float | None = None
    """What engines are told to take for a move, and lose for exceeding; else gtp: engines go by their own settings,
    gomocup: and uci: ones take 5 unless their spec says otherwise."""
    engine_start: float = 60.0
    """Seconds that an engine may take to start, and for a command that asks for no move."""

    def apart(self) -> "Setting":
        """The same with another seed, which no tournament has: of a seed the same games come each time."""
        check_seed(self.seed)
        return replace(self, seed=MOST_SEED - self.seed)

    def limits(self) -> "Limits":
        from jaxgo.arena.engines.protocols import Limits

        return Limits(move=self.engine_seconds, start=self.engine_start, at_once=self.engines)

    def tournament(
        self,
        contest: "Contest",
        schedule: "Schedule",
        openings: "Openings",
        hosts: "Hosts",
        chunk: int | None = None,
    ) -> "functools.partial[arena.Tournament]":
        """How a tournament begins on every host; the first one adds where its record is."""
        from jaxgo.arena.tournament import Tournament

        return functools.partial(
            Tournament,
            contest,
            schedule,
            openings,
            slots=self.slots,
            limits=self.limits(),
            hosts=hosts,
            chunk=chunk,
        )

    def contest(self, name: str, agents: Sequence[str]) -> "Contest":
        """What is played; a UsageError for all that could not be, before anything compiles."""
        from jaxgo.arena.contest import Contest, check_plays, seat
        from jaxgo.arena.match import check_slots
        from jaxgo.games.names import as_recorded, read_game

        check_slots(self.slots)
        self.limits()
        game = read_game(name, self.option)
        players = tuple(seat(spec, game) for spec in agents)
        name, options = as_recorded(name, self.option)
        contest = Contest(name, game, players, options, self.seed, self.temperature, self.hot_plies)
        for player in players:
            check_plays(player)
        return contest

    def openings(self, contest: "Contest") -> "Openings":
        from jaxgo.arena import openings
        from jaxgo.players import load_player

        asked = [name for name in ("plies", "fair", "balance") if getattr(self, name) not in ("", None)]
        if self.book:
            if asked:
                raise UsageError(f"--{asked[0]} is for random openings, and --book has its own; leave one out")
            return openings.book(contest.game, self.book)
        if self.plies == 0:
            if len(asked) > 1:
                raise UsageError(f"--{asked[1]} chooses among random openings, and --plies 0 has none; leave one out")
            return openings.start_only(contest.game)
        judge = load_player(self.fair, contest.game) if self.fair else None
        return openings.random_openings(
            contest.game, seed=self.seed, plies=self.plies, balance=self.balance, judge=judge
        )


def home(name: str, terms: Sequence[str], file: str = "matches.jsonl") -> Path:
    """Where results go unless told otherwise."""
    from jaxgo.system.files import as_file_name

    return Path("runs", "eval", as_file_name("_".join([name, *terms])), file)


@dataclass(frozen=True)
class TournamentCommand:
    """Let agents play each other, both seats of every opening, and rate them. A run that was killed goes on."""

    name: GameName
    """The game, as `jaxgo games` lists it."""
    agents: tuple[str, ...] = FIELD
    """Who plays, such as uct:400 gumbel:64@runs/go9 uct:400,rollouts=4,c=1.4 random; '@runs/go9/*' is each step."""
    steps: int | None = None
    """Of each run whose steps a star names so many, evenly spread up to the newest; else all."""
    pairs: int | None = None
    """Openings of each match, each played twice; 40 unless told otherwise."""
    until: str = ""
    """Play until no error bar is wider, as in ±15; games go where they help most, --pairs (1000) a match on average."""
    schedule: Literal["", "round-robin", "gauntlet", "informative"] = ""
    """Who plays whom; gauntlet: the first agent against all others."""
    out: File = None
    """Results, one line a pair; else runs/eval/GAME/matches.jsonl."""
    games: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """Save the games here: SGF or PGN for some games, text for others. A page needs a few and saves them unasked."""
    setting: tyro.conf.OmitArgPrefixes[Setting] = Setting()
    table: tyro.conf.OmitArgPrefixes[Table] = Table()

    def play(self, hosts: "Hosts") -> int:
        """Plays on this host, or among several, and shows what came of it."""
        from jaxgo.arena.ledger import written
        from jaxgo.arena.schedule import Schedule
        from jaxgo.players import every_spec
        from jaxgo.system.files import check_writable
        from jaxgo.ui import match_screen

        until = precision(self.until)
        kind = self.schedule or ("informative" if until else "round-robin")
        pairs = (PAIRS_UNTIL if until else PAIRS) if self.pairs is None else self.pairs
        schedule = Schedule(kind, pairs, until)
        contest = self.setting.contest(self.name, every_spec(self.agents, self.steps))
        openings = self.setting.openings(contest)
        out = self.out or home(contest.name, contest.terms)
        saved = self.games or out.parent / GAMES
        folder, sample = (saved, None) if self.games else (saved if self.table.html else None, SAMPLE)
        held = ""
        if hosts.first:
            names = [player.name for player in contest.players]
            names += [name for pair in written(contest, out) for name in (pair.a, pair.b)]
            held = self.table.check(names, [out])
            check_writable(out)
            if folder:
                check_writable(folder / "games")
        begin = self.setting.tournament(contest, schedule, openings, hosts)
        if not hosts.first:
            return begin().serve()
        play = begin(out, folder, sample=sample)
        last = match_screen.follow(play.run(held), quiet=self.table.json)
        self.table.show(last.results, [*play.notes(), f"{len(last.results)} pairs are in {out}"], [saved])
        return 0


@dataclass(frozen=True)
class SprtCommand:
    """Play two agents until it is known whether the first is the better one, and stop."""

    a: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="A")]
    """The agent that may be better."""
    b: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="B")]
    """The one to compare with."""
    game: str = "connect4"
    """The game, as `jaxgo games` lists it."""
    elo0: float = 0.0
    """H0: a is this much better."""
    elo1: float = 10.0
    """H1: a is this much better."""
    alpha: float = 0.05
    """How often H1 may be accepted where H0 is true."""
    beta: float = 0.05
    """How often H0 may be accepted where H1 is true."""
    pairs: int = PAIRS_SPRT
    """The most pairs to play."""
    out: File = None
    """Results, one line a pair; else runs/eval/GAME/sprt.jsonl: games that suggested a test must not decide it."""
    json: bool = False
    """Print the verdict as JSON and nothing else."""
    setting: tyro.conf.OmitArgPrefixes[Setting] = Setting()

    def play(self, hosts: "Hosts") -> int:
        """Plays on this host, or among several, and tells what is known."""
        from jaxgo.arena.ledger import written
        from jaxgo.arena.schedule import Schedule
        from jaxgo.arena.sprt import Sprt
        from jaxgo.system.files import check_writable
        from jaxgo.ui import match_screen
        from jaxgo.ui import tables as report

        test, most = Sprt(self.elo0, self.elo1, self.alpha, self.beta), Schedule(pairs=self.pairs)
        setting = self.setting.apart()  # or the very games that suggested the test would be played again
        contest = setting.contest(self.game, (self.a, self.b))
        openings = setting.openings(contest)
        out = self.out or home(contest.name, contest.terms, "sprt.jsonl")
        if hosts.first:
            written(contest, out)  # refuses what is no file of results
            check_writable(out)
        begin = setting.tournament(contest, most, openings, hosts, chunk=CHUNK_SPRT)
        if not hosts.first:
            return begin().serve()
        play = begin(out)
        verdict = match_screen.decide(play, test, quiet=self.json)
        remarks = [*play.notes(), *report.incidents(play.ledger.line())]
        if self.json:
            known = {"elo": verdict.elo.value, "error95": verdict.elo.error}
            elo = {name: value if math.isfinite(value) else None for name, value in known.items()}  # no JSON has inf
            record = {"a": self.a, "b": self.b, "accepted": verdict.accepted, "llr": verdict.llr, **elo}
            more = {"bounds": [verdict.lower, verdict.upper], "pairs": verdict.pairs, "remarks": remarks}
            print(json.dumps(record | more))
        else:
            print(*[verdict.ended(), *remarks], sep="\n")
        return 0


@dataclass(frozen=True)
class RatingsCommand:
    """Rate all results of some files together; pairs that are in several count once."""

    files: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="FILE")]
    """Files of results, such as runs/eval/connect4/matches.jsonl."""
    out: File = None
    """Write the merged results to this file."""
    games: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """Where the games for a page were saved; else the folder `games` next to each file."""
    game: Annotated[str, tyro.conf.arg(metavar="GAME")] = ""
    """The game, if it is one of your own, such as examples.own_game:Nim: a file alone starts no code."""
    table: tyro.conf.OmitArgPrefixes[Table] = Table()

    def run(self) -> int:
        from jaxgo.arena import records, tally

        bring(self.game)
        if self.games and not (self.table.html and self.games.is_dir()):
            raise UsageError(f"--games {self.games} is a folder of games for a page; name one, and the page by --html")
        if not self.files:
            raise UsageError("ratings of what? Name a file, such as runs/eval/connect4/matches.jsonl")
        results = records.merge(*(records.read(path) for path in self.files))
        rated = tally.by_one_name(results)
        files = [*self.files, *([self.out] if self.out else [])]
        self.table.check((name for pair in rated for name in (pair.a, pair.b)), files)
        if self.out:
            before = records.read_begun(self.out)
            there = {pair.id for pair in before}
            fresh = [pair for pair in results if pair.id not in there]
            tally.tally([*before, *fresh])  # refuses what has no common rating before the file has it
            records.append(self.out, fresh)
        self.table.show(rated, games=[self.games] if self.games else [path.parent / GAMES for path in self.files])
        return 0


def precision(text: str) -> float:
    """The Elo of `±15`, `+-15` or `15`; 0 for nothing."""
    if not text:
        return 0.0
    try:
        elo = float(re.sub(r"^(±|\+-|\+/-)", "", text.strip()))
    except ValueError:
        elo = 0.0
    if not 0.0 < elo < float("inf"):
        raise UsageError(f"--until {text} is no precision; write one such as ±15")
    return elo


ABOUT = """Let players play each other and rate them, with error bars.

  jaxgo eval tictactoe                                            a first table, within a minute
  jaxgo eval connect4 --agents uct:100 uct:400 random --pairs 200
  jaxgo eval go9 --agents gumbel:64@runs/a uct:400 --until ±15    games until the error bars are this small
  jaxgo eval go9 --agents '@runs/a/*' uct:400 --steps 8    eight steps of a run, evenly spread
  jaxgo eval gomoku15 --agents uct:800 uct:400 uct:200 --schedule gauntlet --games games/
  jaxgo eval go9 --agents 'gtp:gnugo --mode gtp --level 1' uct:400    engines of GTP and Gomocup play, too
  jaxgo eval chess --agents best 'uci:stockfish,nodes=1000,Skill Level=3'    and those of chess, over UCI
  jaxgo eval connect4 --agents uct:0.5s uct:400    half a second a move, and not so many simulations
  jaxgo eval connect4 --option height=5 --book openings.txt --plot ladder.svg

  jaxgo eval sprt uct:400,c=1.2 uct:400 --game connect4 --elo0 0 --elo1 10
  jaxgo eval ratings runs/a/matches.jsonl runs/b/matches.jsonl --html ladder.html

`sprt --help` and `ratings --help` tell their own flags. Agents are named as in docs/search.md."""

COMMANDS: dict[str, type[Any]] = {"ratings": RatingsCommand, "sprt": SprtCommand}


@dataclass(frozen=True)
class Eval:
    """One of the three, on all cores and hosts; what is finished when it is stopped is kept."""

    command: TournamentCommand | SprtCommand | RatingsCommand

    def run(self) -> int:
        from jaxgo.system import devices

        if isinstance(self.command, RatingsCommand):
            return self.command.run()
        devices.use_cores()
        devices.join_hosts()
        return meet(self.command)


def meet(command: TournamentCommand | SprtCommand) -> int:
    """Lets the hosts of a match play it; this one may be the only one."""
    from jaxgo.arena.hosts import gather
    from jaxgo.system.hosts import shared_store
    from jaxgo.system.pulse import Pulse
    from jaxgo.system.stop import STOPPED, Stop

    store = shared_store()
    with Pulse(store, again="plays what is missing", tells=False), Stop() if store else nullcontext() as stop:
        hosts = gather(store, stop)
        try:
            with hosts:
                return command.play(hosts)
        except KeyboardInterrupt:
            if hosts.first:
                print("stopped; all finished pairs are kept, the same command goes on", file=sys.stderr)
            if stop is None:
                return INTERRUPTED
            return stop.status if stop() else STOPPED


def _check_order(program: str, words: Sequence[str]) -> None:
    """A UsageError that has the words in their order, where their first ones are what a command wants, and not in
    it."""
    flags = next((i for i, word in enumerate(words) if word.startswith("-")), len(words))
    first, rest = list(words[:flags]), list(words[flags:])
    verb = next((word for word in first if word in COMMANDS), "")
    named = [word for word in first if word != verb]
    if verb == "sprt" and len(named) == 3 and "--game" not in rest:
        from jaxgo.games import GAMES

        game = next((word for word in named if word in GAMES), named[0])
        meant = [verb, *(word for word in named if word != game), "--game", game]
    elif verb and first[0] != verb:
        meant = [verb, *named]
    elif not verb and len(named) > 1 and "--agents" not in rest:
        meant = [named[0], "--agents", *named[1:]]
    else:
        return
    raise UsageError(f"these words have another order: `{program} {shlex.join([*meant, *rest])}`")


def read(program: str, words: Sequence[str]) -> Command:
    """The command of these words: `ratings ...`, `sprt ...`, or a tournament."""
    _check_order(program, words)
    first = words[0] if words else "--help"
    if first in COMMANDS:
        return Eval(tyro.cli(COMMANDS[first], prog=f"{program} {first}", args=list(words[1:])))
    return Eval(tyro.cli(TournamentCommand, prog=program, description=ABOUT, args=list(words) or ["--help"]))
