"""`jaxgo doctor`: the machine, the versions and a short speed test; what to paste into a report of a problem."""

import importlib.metadata
import os
import platform
from dataclasses import dataclass

from jaxgo.cli.command import reader
from jaxgo.core.errors import UsageError

PACKAGES = ("jax", "jaxlib", "flax", "optax", "orbax-checkpoint", "numpy")


@dataclass(frozen=True)
class Doctor:
    """Print device, versions, compile cache and a speed test of some seconds."""

    game: str = "go9"
    """The game of the speed test."""
    batch: int = 1024
    """Games at once."""
    seconds: float = 5.0
    """How long to play, compilation not counted."""

    def run(self) -> int:
        if self.batch < 1 or not 0 < self.seconds <= 3600:
            raise UsageError("--batch must be at least 1 and --seconds between 0 and 3600")
        from jaxgo.games.names import read_game
        from jaxgo.system.speed import measure_play, most_games

        game = read_game(self.game)
        if 0 < (most := most_games(game)) < self.batch:
            raise UsageError(f"--batch {self.batch:,} games do not fit into the device's memory; name at most {most:,}")
        for name, value in [*machine().items(), *devices().items()]:
            print(f"{name:<17} {value}")
        compiling, speed = measure_play(game, self.batch, self.seconds)
        print(f"{'speed':<17} {self.game}, {self.batch:,} random games at once: {speed:,.0f} steps/s", end="")
        print(f" (compiled in {compiling:.1f} s)")
        return 0


def machine() -> dict[str, str]:
    """Python, the system and the versions of what matters."""
    import jaxgo

    out = {"jaxgo": jaxgo.__version__, "python": platform.python_version(), "system": platform.platform()}
    out["cpu cores"] = str(os.cpu_count())
    for package in PACKAGES:
        try:
            out[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            out[package] = "missing; run: uv sync"
    return out


def devices() -> dict[str, str]:
    """What JAX runs on, and where it keeps compiled programs."""
    import jax

    kinds = [f"{device.platform}:{device.id} {device.device_kind}" for device in jax.devices()]
    return {
        "devices": ", ".join(kinds),
        "compile cache": f"{jax.config.jax_compilation_cache_dir} (JAX_COMPILATION_CACHE_DIR moves it)",  # type: ignore[attr-defined]
    }


read = reader(Doctor)
