"""Several lines of one position, the best first, as UCI's MultiPV asks for.

A search that weighs all moves of its root tells them at once. Alpha-beta knows what its best move is worth, and of all
others only that they are worth no more: each further line is a search without the moves of the lines before it. All of
them go as deep as the first, then the first goes deeper; each keeps what it knows as long as its moves stay the same.
"""

import dataclasses
import math
import time
from collections.abc import Callable, Sequence
from typing import Any

from jaxgo.frontends.board import Board
from jaxgo.frontends.thinking import SHARE, SHOW_EVERY, Mind, OnSnapshot, Thinking, Thought
from jaxgo.players import Player
from jaxgo.search.think import Limit

SLICE = 100  # nodes between looks at how deep a line is
Only = Callable[[Board, Sequence[int]], Board]  # the board with these moves alone


def lines(thought: Thought, count: int) -> list[Thought]:
    """So many lines of a thought, or as many as it tells: each is a thought of its own, of the nodes of all.

    Who deepens has looked through the lines that it tells, and knows of other moves only how much they are at most.
    """
    if thought.others or thought.depth is not None:
        return [thought, *thought.others][:count]
    known = [move for move in thought.moves[1:count] if move.visits or move.proven]
    further = [
        dataclasses.replace(
            thought,
            action=move.action,
            name=move.name,
            value=move.value,
            solved=move.proven,
            variation=move.variation,
            ends=0,
        )
        for move in known
    ]
    return [thought, *further]


class Several:
    """How a player thinks of several lines; it keeps a mind for each but the first, which is the session's."""

    def __init__(self, only: Only) -> None:
        self._only = only
        self._player: Player | None = None
        self._minds: list[Mind] = []
        self._boards: dict[int, tuple[Board, frozenset[int], Board]] = {}

    def think(
        self, count: int, mind: Mind, job: Thinking, board: Board, limit: Limit | None, on_snapshot: OnSnapshot | None
    ) -> Thought:
        """As `Mind.think`; where the search knows one line alone, so many searches share the limit."""
        search: Any = mind.player.search
        count = min(count, len(board.legal()))
        if count == 1 or search.draws or not (search.budget and search.resumable):
            return mind.think(job, board, limit, on_snapshot, True)
        began = time.monotonic()
        found, nodes, deep, due = list[Thought](), 0, -1, 0.0

        def told(final: bool) -> Thought:
            seconds = time.monotonic() - began
            first, *others = (
                dataclasses.replace(thought, simulations=nodes, seconds=seconds, final=final) for thought in found
            )
            return dataclasses.replace(first, others=tuple(others))

        while True:
            before = nodes
            for line, its_mind in enumerate(self._of(mind, count)):
                here = self._without(line, board, frozenset(thought.action for thought in found[:line]))
                while True:
                    part = _part(limit, nodes, time.monotonic() - began)
                    if found and (part is None or job.stopped.is_set()):
                        job.began = began
                        return told(final=True)
                    thought = its_mind.think(job, here, part or Limit(simulations=1), None, True)
                    nodes += thought.simulations
                    _put(found, line, thought)
                    now = time.monotonic()
                    if on_snapshot and len(found) == count and now - began >= due:
                        on_snapshot(told(final=False))
                        due = time.monotonic() - began + max(SHOW_EVERY, SHARE * (time.monotonic() - now))
                    if not thought.simulations or _deeper(thought, deep, line):
                        break
                if line == 0:
                    deep = max(deep, thought.depth or 0)
            if nodes == before:  # there is nothing more to find
                job.began = began
                return told(final=True)

    def _of(self, mind: Mind, count: int) -> list[Mind]:
        if self._player is not mind.player:
            self._player, self._minds, self._boards = mind.player, [], {}
        while len(self._minds) < count - 1:
            self._minds.append(Mind(mind.player))
        return [mind, *self._minds[: count - 1]]

    def _without(self, line: int, board: Board, actions: frozenset[int]) -> Board:
        """The board without these moves: the same object as long as they are, so that its search goes on."""
        if not actions:
            return board
        known = self._boards.get(line)
        if known is None or known[0] is not board or known[1] != actions:
            rest = [action for action in board.legal() if action not in actions]
            known = self._boards[line] = board, actions, self._only(board, rest)
        return known[2]


def _deeper(thought: Thought, deep: int, line: int) -> bool:
    """Whether a line has gone as far as it should in this round: the first to another depth, the others as deep."""
    return thought.depth is None or thought.depth > deep or (line > 0 and thought.depth == deep)


def _put(found: list[Thought], line: int, thought: Thought) -> None:
    """The line is this one by now; no move stands in two lines."""
    for other in range(line + 1, len(found)):
        if found[other].action == thought.action:
            found[other] = found[line]
    found[line : line + 1] = [thought]


def _part(limit: Limit | None, nodes: int, seconds: float) -> Limit | None:
    """What the next slice may take of a limit, of which so much has been used; None: nothing is left."""
    if limit is None:
        return Limit(simulations=SLICE)
    left, time_left = (limit.simulations or math.inf) - nodes, (limit.seconds or math.inf) - seconds
    if left < 1 or time_left <= 0:
        return None
    return Limit(simulations=int(min(left, SLICE)), seconds=None if time_left == math.inf else time_left)
