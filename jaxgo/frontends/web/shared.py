"""What all visitors of the page share: whose search runs, the players that are loaded, how much is compiled."""

import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any

import jax

from jaxgo.core import play
from jaxgo.core.game import Game
from jaxgo.frontends.web.offers import Offers
from jaxgo.frontends.web.searches import Searches
from jaxgo.frontends.web.watching import Watched
from jaxgo.players import Player, load_player
from jaxgo.search import think
from jaxgo.system.weights import weight_steps

LOADED = 32  # players that are kept for the next visitor
COMPILED = 40  # games and players; a player takes some 800 of the 65,530 memory maps that a process of Linux has


class Shared:
    """What all visitors of a server share: what is on offer, whose search runs, what is compiled."""

    def __init__(
        self, on_offer: Offers, most_searches: int = 0, most_compiled: int = COMPILED, run: Watched | None = None
    ) -> None:
        self.offers, self.searches, self.run = on_offer, Searches(most_searches), run
        self._most = most_compiled
        self._lock = threading.Lock()
        self._players: OrderedDict[tuple[Any, ...], Player] = OrderedDict()

    def admit(self) -> None:
        """Before a game or a player that may be new: where much is compiled by now, all of it is let go, as it takes
        memory. What somebody still plays with is compiled again, so no visitor uses the server up."""
        with self._lock:
            if play.compiled() + think.compiled() >= self._most:
                jax.clear_caches()

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
