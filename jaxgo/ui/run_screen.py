"""What a person sees of a run: a live page in a terminal, plain lines elsewhere.

A screen hears the loop's `Report`s and shows the numbers that come; those that do not come are left out.
"""

import math
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from jaxgo.arena.ratings import Estimate
from jaxgo.training.config import TrainConfig
from jaxgo.training.report import Report

PHASES = {"start": "compiling", "play": "playing and learning", "gate": "testing the new weights"}
PHASES |= {"judge": "judging", "save": "saving", "end": "done", "stopped": "stopped"}
OVER = ("end", "stopped")
BLOCKS = "▁▂▃▄▅▆▇█"
RATED, BAR = 8, 32  # players of a table, and characters of an error bar
LINE_EVERY = 15.0  # seconds between two plain lines
GAMES_OVER = 30.0  # seconds that games are counted over


class Screen:
    """A listener of a run. Use it as a context; `limit` is the network's own speed, in evaluations a second.

    The clock goes on between two reports: what compiles or judges for minutes must not look hung.
    """

    def __init__(
        self,
        name: str,
        config: TrainConfig,
        console: Console | None = None,
        limit: float = 0.0,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.console = console or Console(emoji=False)
        self.limit = limit
        self._name, self._config = name, config
        self._seen: dict[str, Any] = {}
        self._last: Report | None = None
        self._elo: dict[str, Estimate] = {}
        self._own: list[float] = []  # the Elo of the run's player, judgement by judgement
        self._notes: list[str] = []
        self._now = now
        self._changed = self._heard = now()  # when this phase began, and when a report came
        self._spoke = -LINE_EVERY
        self._ended: deque[tuple[float, int]] = deque()  # seconds of training, and games that had ended by then
        self._live: Live | None = None
        self._left = threading.Event()
        self._pulse: threading.Thread | None = None

    def __enter__(self) -> "Screen":
        if self.console.is_terminal:
            self._live = Live(get_renderable=self.page, console=self.console, refresh_per_second=4, transient=False)
            self._live.start()
        else:
            self._pulse = threading.Thread(target=self._keep_speaking, daemon=True)
            self._pulse.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._left.set()
        if self._pulse is not None:
            self._pulse.join()
            self._pulse = None
        if self._live is not None:
            self._live.stop()
            self._live = None

    def __call__(self, report: Report) -> None:
        """Takes a report in and shows it."""
        last = self._last
        changed = last is None or last.phase != report.phase
        # a run that goes on first says that it starts, and then where
        changed = changed or (report.phase == "start" and last is not None and last.iteration != report.iteration)
        self._heard = self._now()
        if changed:
            self._changed = self._heard
        if report.phase == "start":
            self._ended.clear()  # a run that goes back has had fewer games again
        self._last = report
        told = {name: value for name, value in report.metrics.items() if name != "elo"}
        self._seen = self._seen | told | self._games_rate(report)
        self._take_ratings(report)
        if self._live is not None:
            self._live.refresh()
        elif (
            (changed and report.phase in ("start", "judge", *OVER))
            or "elo" in report.metrics
            or "gate" in report.metrics
        ) or (report.phase == "play" and self._heard - self._spoke >= LINE_EVERY):
            self._speak(report)

    def say(self, sentence: str) -> None:
        """A sentence that must not be missed."""
        self._notes = [*self._notes[-2:], sentence]
        if self._live is None:
            self.console.print(escape(sentence), soft_wrap=True)

    def _games_rate(self, report: Report) -> dict[str, float]:
        """Games of a fixed length end all at once, and in most iterations none: what a while brought tells more."""
        if "games" not in report.metrics:
            return {}
        self._ended.append((report.seconds, report.metrics["games"]))
        while report.seconds - self._ended[0][0] > GAMES_OVER:
            self._ended.popleft()
        (before, few), (now, many) = self._ended[0], self._ended[-1]
        return {"games_s": (many - few) / (now - before)} if now > before else {}

    def _take_ratings(self, report: Report) -> None:
        ratings = report.metrics.get("elo")
        if not ratings:
            return
        self._elo = {agent: Estimate(float(value), float(error)) for agent, (value, error) in ratings.items()}
        player = report.metrics.get("player")
        if player in self._elo:
            self._own.append(self._elo[player].value)

    # -- plain lines -----------------------------------------------------------------------------------------
    def _speak(self, report: Report) -> None:
        self._spoke = self._now()
        self.console.print(Text(self.line(report)), soft_wrap=True)

    def _keep_speaking(self) -> None:
        while not self._left.wait(1.0):
            self.pulse()

    def pulse(self) -> None:
        """A line where nothing was said for long: what goes on, and for how long already."""
        last = self._last
        if last is None or last.phase in OVER or self._now() - max(self._spoke, self._heard) < LINE_EVERY:
            return
        self._spoke = self._now()
        words = f"{self._head(last)} | {PHASES.get(last.phase, last.phase)} for {_clock(self._now() - self._changed)}"
        self.console.print(Text(words), soft_wrap=True)

    def _seconds(self) -> float:
        """Of training, by now: the clock of the run stands while it compiles, and at its end."""
        if self._last is None:
            return 0.0
        goes = self._last.phase not in ("start", *OVER)
        return self._last.seconds + (self._now() - self._heard if goes else 0.0)

    def _head(self, report: Report) -> str:
        return f"{_clock(self._seconds())} {report.phase:<5} {report.iteration:>6}"

    def line(self, report: Report) -> str:
        """A report in one line."""
        parts = [self._head(report)]
        if report.phase == "play":
            parts += [f"{name} {value}" for name, value in self._rates()]
            parts += [f"loss {value:.3f}" if name == "total" else f"{name} {value:.3f}" for name, value in self._loss()]
        if report.metrics.get("elo"):
            parts += [f"{short_name(agent)} {rating}" for agent, rating in self._elo.items()]
        if report.metrics.get("gate"):
            gate = report.metrics["gate"]
            said = "new weights play" if gate["accepted"] else f"those of {gate['player']} still play"
            parts += [f"{said} (LLR {gate['llr']:+.2f} after {gate['pairs']} pairs)"]
        return " | ".join(parts)

    # -- the page --------------------------------------------------------------------------------------------
    def page(self) -> RenderableType:
        """Everything at once."""
        body: list[RenderableType] = [self._progress(), self._numbers()]
        if self._elo:
            body.append(self._ladder())
        body += [Text(note, style="yellow") for note in self._notes]
        config = self._config
        title = f"jaxgo · {self._name} · {config.game_name} · {type(config.search).__name__.lower()}"
        panel = Panel(Group(*body), title=escape(title), title_align="left", border_style="dim")
        # the cursor rests on an empty line: a ^C that the terminal writes at the end of a full one moves the page
        return Group(panel, Text(""))

    def _progress(self) -> RenderableType:
        phase, seconds = self._last.phase if self._last else "start", self._seconds()
        row = Table.grid(padding=(0, 2), expand=True)
        for ratio in (None, 1, None):
            row.add_column(ratio=ratio)
        done = self._share()
        eta = f"{_clock(seconds * (1 - done) / done)} to go" if 0.01 < done < 1 and phase not in OVER else ""
        if eta and self._config.judge.final:
            eta += ", then the last judgement"
        if phase in ("start", "judge", "gate"):
            eta = f"{PHASES[phase]} for {_clock(self._now() - self._changed)}  {eta}"
        bar = ProgressBar(total=1.0, completed=done, pulse=phase == "start")
        row.add_row(f"[bold]{escape(PHASES.get(phase, phase))}[/]", bar, f"{_clock(seconds)}  {eta}")
        return row

    def _share(self) -> float:
        """How much of the budget is spent."""
        budget, last = self._config.budget, self._last
        if last is None:
            return 0.0
        shares = [self._seconds() / budget.seconds] if budget.seconds else []
        shares += [last.iteration / budget.iterations] if budget.iterations else []
        return min(1.0, max(shares, default=0.0))

    def _rates(self) -> list[tuple[str, str]]:
        seen, out = self._seen, []
        for name, words in (("games_s", "games/s"), ("moves_s", "moves/s"), ("simulations_s", "simulations/s")):
            if name in seen:
                out.append((words, _short(seen[name])))
        if self.limit and "play_moves_s" in seen:  # a root is an evaluation, too
            evaluations = seen["play_moves_s"] + seen["play_simulations_s"]
            # more than all: the machine was busy when the network was measured
            out.append(("of the network's speed", f"{min(1.0, evaluations / self.limit):.0%}"))
        return out

    def _loss(self) -> list[tuple[str, float]]:
        losses = self._seen.get("loss") or {}
        return [(name, float(value)) for name, value in losses.items() if value is not None]

    def _numbers(self) -> RenderableType:
        """Rates, losses and the state of learning, side by side."""
        more = [
            ("games", "games"),
            ("moves", "moves"),
            ("samples", "samples"),
            ("window", "window"),
            ("length", "plies a game"),
        ]
        more += [("draws", "draws"), ("gradient", "gradient"), ("rate", "learning rate"), ("skipped", "skipped steps")]
        state = [(words, _short(self._seen[name])) for name, words in more if self._seen.get(name) is not None]
        if "gate" in self._seen:
            state.append(("plays by", f"weights of {self._seen['gate']['player']}"))
        if self._last:
            state.insert(0, ("iteration", str(self._last.iteration)))
        grid = Table.grid(padding=(0, 4))
        columns = [self._rates(), [(name, f"{value:.3f}") for name, value in self._loss()], state]
        grid.add_row(*(_pairs(title, rows) for title, rows in zip(("speed", "loss", "state"), columns, strict=True)))
        return grid

    def _ladder(self) -> RenderableType:
        """The newest ratings with their error bars, and how the run's own rose with time."""
        table = rating_table(self._elo)
        return Group(table, Text(f"over time  {_rise(self._own)}", style="dim")) if len(self._own) > 1 else table


def short_name(agent: str) -> str:
    """A player of a run by its iteration; others by their whole name."""
    search, at, place = agent.partition("@")
    return f"{search.split(',')[0]} @ {place.rsplit('/', 1)[-1]}" if at else agent


def rating_table(ratings: dict[str, Estimate]) -> Table:
    """The best players and their ratings with error bars, the best first."""
    table = Table(box=None, padding=(0, 2), header_style="dim")
    for title, justify in (("player", "left"), ("Elo, 95 %", "right"), ("", "left")):
        table.add_column(title, justify=justify)  # type: ignore[arg-type]
    best = sorted(ratings.items(), key=lambda item: -item[1].value)
    low = min((rating.value - rating.error for rating in ratings.values()), default=0.0)
    high = max((rating.value + rating.error for rating in ratings.values()), default=0.0)
    for agent, rating in best[:RATED]:
        table.add_row(escape(short_name(agent)), str(rating), _bar(rating, low, high))
    return table


def _pairs(title: str, rows: list[tuple[str, str]]) -> RenderableType:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(style="dim")
    grid.add_column(justify="right")
    for name, value in rows:
        grid.add_row(escape(name), value)
    return Group(Text(title, style="bold"), grid) if rows else Text("")


def _bar(rating: Estimate, low: float, high: float) -> str:
    """An error bar in characters."""
    scale = (BAR - 1) / max(high - low, 1e-9)
    ends = rating.value - rating.error, rating.value, rating.value + rating.error
    left, middle, right = (round((x - low) * scale) for x in ends)
    return "".join("●" if i == middle else "─" if left <= i <= right else " " for i in range(BAR)).rstrip()


def _rise(values: list[float]) -> str:
    """Values as a row of blocks, the first to the last."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    scale = (len(BLOCKS) - 1) / max(high - low, 1e-9)
    return "".join(BLOCKS[round((value - low) * scale)] for value in values[-60:])


def _short(value: float | int) -> str:
    """A number in at most five characters or so; of all steps of an iteration none may have been finite."""
    if not math.isfinite(value):
        return str(value)
    if abs(value) >= 1e4:
        value = float(f"{value:.3g}")  # first, so that its unit is that of what is shown
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            return f"{value / (size if letter != 'k' else 1e3):.3g}{letter}"
    if abs(value) >= 1e3 or value == int(value):
        return f"{int(value):,}"
    return f"{value:.3g}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(max(0.0, seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
