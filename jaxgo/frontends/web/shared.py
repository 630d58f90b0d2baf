"""What all visitors of the page share: whose search runs, and the players that are loaded."""

import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any

from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.frontends.compiled import make_room
from jaxgo.frontends.web.offers import Offers, check_player
from jaxgo.frontends.web.searches import Searches
from jaxgo.frontends.web.watching import Watched
from jaxgo.games import GAMES
from jaxgo.players import Player, load_player
from jaxgo.system.weights import weight_steps

LOADED = 32  # players that are kept for the next visitor


class Shared:
    """What all visitors of a server share: what is on offer, whose search runs, which players are loaded."""

    def __init__(self, on_offer: Offers, most_searches: int = 0, run: Watched | None = None) -> None:
        self.offers, self.searches, self.run = on_offer, Searches(most_searches), run
        self._lock = threading.Lock()
        self._players: OrderedDict[tuple[Any, ...], Player] = OrderedDict()

    def players(self, name: str, game: Game[Any]) -> list[str]:
        """Specs to choose from, the first one who sits there if nobody says otherwise. With options that are not the
        usual ones a game is another one than the networks have learnt: those that cannot play it are left out."""
        specs = self.offers.players(name, game)
        if game == GAMES.get(name):
            return specs
        return [spec for spec in specs if "@" not in spec or self._fits(spec, game)]

    def _fits(self, spec: str, game: Game[Any]) -> bool:
        try:
            self.player(spec, game)
        except UsageError:
            return False
        return True

    def seated(self, spec: str, game: Game[Any]) -> Player | None:
        """Who sits down by a spec that somebody has typed; None is a human."""
        if not spec:
            return None
        player = check_player(self.player(self.offers.check(spec), game))
        make_room()
        return player

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
