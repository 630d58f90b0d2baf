"""`jaxgo watch`: the page of `jaxgo play` beside a run of training."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from jaxgo.cli.command import reader
from jaxgo.cli.play import Listening


@dataclass(frozen=True)
class Watch(Listening):
    """Open a page that follows a run of training: curves, ladder, and the newest player's games to replay.

    The folder is only read. The page computes on the CPU, with low priority, unless JAX_PLATFORMS says otherwise.
    """

    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """The folder of the run."""

    def run(self) -> int:
        from jaxgo.system import devices
        from jaxgo.system.rundir import read_config

        read_config(self.folder)  # complains now
        self.check()
        devices.stay_aside()
        from jaxgo.frontends.web import shared, watching
        from jaxgo.frontends.web.offers import Offers
        from jaxgo.system.weights import name_of_run

        watched = watching.Watched(self.folder)
        watched.start()
        name = watched.config.game_name
        try:
            shown = shared.Shared(Offers({name_of_run(self.folder): name}), run=watched)
            return self.serve(shown, name, watched.options)
        finally:
            watched.close()


read = reader(Watch)
