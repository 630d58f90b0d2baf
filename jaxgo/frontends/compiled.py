"""How much a process that goes from game to game keeps compiled."""

import jax

from jaxgo.core import play
from jaxgo.search import think
from jaxgo.system import devices, heap

MOST = 40  # games and players; one of them takes some 800 of the 65,530 memory maps that a process of Linux has
FEW = 8  # that are kept whatever they take: or what else is in memory would have them compiled again and again
SHARE = 4  # one part in so many of the machine's memory is taken before more than those are let go


def make_room() -> None:
    """Before a game or a player that may be new: where much is compiled by now, or it takes much memory, all of it is
    let go. What somebody still plays with is compiled again."""
    compiled = play.compiled() + think.compiled()
    if compiled >= MOST or (compiled >= FEW and _takes_much()):
        jax.clear_caches()
        heap.give_back()


def _takes_much() -> bool:
    """Whether this process holds more than its share, without what compiling took: that is given back first."""
    if not _holds_much():
        return False
    heap.give_back()
    return _holds_much()


def _holds_much() -> bool:
    return heap.held() * SHARE > devices.host_memory() > 0
