"""From bad weights to good ones: what `jaxgo tune` makes of a player of Gomoku that knows nothing of threats.

uv run --extra tune benchmarks/tuning.py             # 9x9, greedy, all weights alike at first
"""

import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import harness
import tyro

from jaxgo.arena import records
from jaxgo.arena.elo import rate
from jaxgo.cli.tune import Tune
from jaxgo.games import make
from jaxgo.games.gomoku.rules import Gomoku


@dataclass(frozen=True)
class Tuning:
    """Measure the tuning of weights."""

    agent: str = "greedy,threats=no"
    """Whose weights are tuned."""
    size: int = 9
    """Of the board."""
    generations: int = 30
    population: int = 16
    pairs: int = 32
    ladder: int = 200
    """Pairs of each match at the end."""


@harness.told
def main() -> None:
    options = tyro.cli(Tuning)
    with TemporaryDirectory() as folder:
        bad = Path(folder) / "bad.json"
        weights = dict.fromkeys(make("gomoku").weights(), 1000.0)
        bad.write_text(json.dumps({"game": Gomoku.__name__, "weights": weights}))
        began = time.perf_counter()
        status = Tune(
            "gomoku",
            f"{options.agent},file={bad}",
            ("weights",),
            options.generations,
            options.population,
            options.pairs,
            ladder=options.ladder,
            option=(f"size={options.size}",),
            out=Path(folder),
        ).run()
        if status:
            sys.exit(status)
        seconds = time.perf_counter() - began
        lines = [json.loads(line) for line in (Path(folder) / "log.jsonl").read_text().splitlines()[1:]]
        results = records.read(Path(folder) / "ladder.jsonl")
        names = {name for pair in results for name in (pair.a, pair.b)}
        first, last = (next(n for n in names if f"weights-{step}." in n) for step in (0, options.generations))
        between = [pair for pair in results if {pair.a, pair.b} == {first, last}]
        share = sum(pair.score if pair.a == last else 2 - pair.score for pair in between) / 2 / len(between)
        found = json.loads((Path(folder) / f"weights-{options.generations}.json").read_text())["weights"]
        elo = rate(results, (first, 0.0)).difference(last, first)
        harness.report(
            "tuning/gomoku",
            size=options.size,
            games=sum(line["games"] for line in lines),
            games_s=sum(line["games"] for line in lines[1:]) / max(sum(line["seconds"] for line in lines[1:]), 1e-9),
            seconds=seconds,
            share=share,
            elo=elo.value,
            error95=elo.error,
            bar=200.0,
            order=" ".join(sorted(found, key=lambda name: -found[name])),  # the seed asks for 5, s4, fours, s3, b3, s2
            weights=found,
        )


if __name__ == "__main__":
    main()
