"""KaTrain on `jaxgo analysis`: its own classes for engines and games, without its window, as a user would drive them.

`uv run --with katrain benchmarks/katrain_games.py`: KaTrain plays a game by its own ways of choosing a move, asks for
whatever its buttons ask for, ponders and begins anew. Counts what it calls an error, and positions without an answer.
"""

import os
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import Any
from unittest.mock import MagicMock

import harness
import tyro

# before KaTrain is imported: it keeps a folder in the home, and Kivy reads the command line and writes to the terminal
os.environ |= {"HOME": tempfile.mkdtemp(), "KIVY_NO_ARGS": "1", "KIVY_NO_CONSOLELOG": "1"}
START, PATIENCE = 600.0, 60.0  # seconds for the first answer, before which all is compiled; and for each other one
BUTTONS = ("extra", "sweep", "equalize", "alternative", "local")
PONDERS = 3.0  # seconds


@dataclass(frozen=True)
class Katrain:
    """A game of KaTrain against itself, all of it thought by jaxgo."""

    agent: str = "gumbel:64@go9-cpu"
    board: str = "go9"
    size: int = 9
    moves: int = 24
    visits: int = 60

    def run(self) -> dict[str, Any]:
        from katrain.core import constants
        from katrain.core.ai import generate_ai_move
        from katrain.core.base_katrain import KaTrainBase
        from katrain.core.engine import KataGoEngine
        from katrain.core.game import Game

        errors: list[str] = []

        class Host(KaTrainBase):
            """What its window is for the rest of it."""

            controls, update_state = MagicMock(), MagicMock()

            def log(self, message: Any, level: int = constants.OUTPUT_INFO) -> None:
                if level == constants.OUTPUT_ERROR:
                    errors.append(str(message))

            def __call__(self, *asked: Any, **_: Any) -> None:
                errors.append(f"a dialogue: {asked}")

        host = Host(force_package_config=True)
        command = f"exec {sys.executable} -m jaxgo analysis {self.board} --agent {self.agent}"
        settings = {
            "backend": "custom",
            "altcommand": command,
            "max_visits": self.visits,
            "fast_visits": self.visits // 3,
        }
        host._config["engine"] = {**host.config("engine"), **settings}
        host._config["game"] = {**host.config("game"), "size": str(self.size), "rules": "chinese", "komi": 7}
        engine = KataGoEngine(host, host.config("engine"))
        host.game = game = Game(host, engine)
        counts = {"positions": 1, "unanswered": int(not answered(game, START))}
        ways = (constants.AI_DEFAULT, constants.AI_POLICY, constants.AI_SCORELOSS, constants.AI_WEIGHTED)
        for ply in range(self.moves):
            way = ways[ply % len(ways)]
            generate_ai_move(game, way, host.config(f"ai/{way}") or {})
            counts["positions"] += 1
            counts["unanswered"] += not answered(game, PATIENCE)
        game.undo(3)
        for button in BUTTONS:
            game.analyze_extra(button)
            counts["unanswered"] += not soon(engine.is_idle, PATIENCE)
        game.analyze_extra("ponder")
        time.sleep(PONDERS)
        pondered = game.current_node.analysis["root"]["visits"]
        engine.stop_pondering()
        engine.on_new_game()
        counts["unanswered"] += not answered(Game(host, engine), PATIENCE)
        engine.shutdown(finish=True)
        return counts | {"buttons": len(BUTTONS), "pondered visits": pondered, "errors": errors}


def answered(game: Any, seconds: float) -> bool:
    """Whether the position in front has its moves, its score and an owner of every point."""
    node = game.current_node
    whole = soon(lambda: node.analysis_complete, seconds)
    return (
        whole and node.score is not None and bool(node.candidate_moves) and len(node.ownership) == len(node.policy) - 1
    )


def soon(holds: Any, seconds: float) -> bool:
    until = time.monotonic() + seconds
    while not holds() and time.monotonic() < until:
        time.sleep(0.1)
    return bool(holds())


def main() -> None:
    asked = tyro.cli(Katrain)
    harness.report("protocols/katrain", **vars(asked) | asked.run())


if __name__ == "__main__":
    main()
