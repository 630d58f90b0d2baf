"""What all visitors of the page share: whose search runs, the players that are loaded, how much has been compiled."""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.frontends.web.offers import Offers
from jaxgo.frontends.web.searches import Searches
from jaxgo.frontends.web.watching import Watched
from jaxgo.players import Player, load_player
from jaxgo.system.weights import weight_steps

LOADED = 32  # players that are kept for the next visitor


class Shared:
    """What all visitors of a server share: what is on offer, whose search runs, what has been compiled."""

    def __init__(
        self, on_offer: Offers, most_searches: int = 0, most_programs: int = 200, run: Watched | None = None
    ) -> None:
        self.offers, self.searches, self.run = on_offer, Searches(most_searches), run
        self._programs: set[tuple[str, ...]] = set()
        self._most = most_programs
        self._lock = threading.Lock()
        self._players: OrderedDict[tuple[Any, ...], Player] = OrderedDict()

    def admit(self, *what: str) -> None:
        """Every new game and player compiles, which takes memory for good; so there is a limit."""
        with self._lock:
            if what not in self._programs and len(self._programs) >= self._most:
                raise UsageError("this server has compiled as many games and players as it may; start it again")
            self._programs.add(what)

    def admit_game(self, name: str, options: Mapping[str, Any]) -> None:
        self.admit("game", name, *sorted(f"{key}={value}" for key, value in options.items()))

    def player(self, spec: str, game: Game[Any]) -> Player:
        """A player, loaded once for all visitors; that of a run again when the run has saved another one."""
        newest = [weight_steps(Path(name))[-1:] for name in self.offers.networks if f"@{name}" in spec]
        key = spec, game, str(newest)
        found = self._players.get(key) or load_player(spec, game)  # by two at once rather than in turn
        with self._lock:
            self._players[key] = found
            self._players.move_to_end(key)
            if len(self._players) > LOADED:
                self._players.popitem(last=False)
        return found
