"""What KataGo's JSON analysis protocol answers about a position, from the thoughts of a player."""

import hashlib
from typing import Any

import numpy as np

from jaxgo.core import play
from jaxgo.core.game import Game
from jaxgo.core.play import View
from jaxgo.frontends.analysis_query import Query
from jaxgo.frontends.board import Board
from jaxgo.frontends.gtp_text import LETTERS
from jaxgo.frontends.outlook import HERE, Outlook, at_the_end, foresee
from jaxgo.frontends.thinking import Thought
from jaxgo.games.gtp_moves import move_name
from jaxgo.players import Player
from jaxgo.search.analysis import Move, untried

DIGITS = 6


class Answer:
    """The answers about one turn of a query: values of thoughts are the mover's, those of answers are for a side."""

    def __init__(self, query: Query, turn: int, board: Board) -> None:
        self.query, self.turn, self.board = query, turn, board
        self.game, self.seat = board.game, board.now.seat
        other = {"BLACK": 0, "WHITE": 1, "SIDETOMOVE": self.seat}[query.side]
        self._sign = 1.0 if other == self.seat else -1.0
        self._outlook = Outlook()

    def foresee(self, player: Player) -> None:
        """Asks a player for the points, where the game has any."""
        self._outlook = foresee(self.board, player)

    def told(self, thought: Thought, during: bool) -> dict[str, Any]:
        """The answer in the middle or at the end of a search."""
        only = self.query.only.get(self.seat)
        seen = [move for move in thought.moves if move.visits or move.best]
        if only is not None:
            seen = [move for move in seen if move.action in only] or self._unseen(only, thought.moves)
        visits = sum(move.visits for move in thought.moves)
        said = {
            **self._head(during),
            "moveInfos": [self._move(order, move) for order, move in enumerate(seen)],
            "rootInfo": self._root(thought.value, visits),
        }
        if self.query.policy:
            said["policy"] = self._policy(thought.moves)
        return said | self._ownership()

    def ended(self) -> dict[str, Any]:
        """The answer where the game is over: its result, without a move."""
        returns, game = self.board.now.returns, self.game
        self._outlook = at_the_end(self.board)
        root = self._root(float(returns[self.seat]), 0)
        root |= {"lcb": root["winrate"], "utilityLcb": root["utility"]}  # nothing is in doubt
        said = {**self._head(False), "moveInfos": [], "rootInfo": root}
        if self.query.policy:
            said["policy"] = [-1.0] * game.num_actions
        return said | self._ownership()

    # -- parts -------------------------------------------------------------------------------------------------
    def _head(self, during: bool) -> dict[str, Any]:
        return {"id": self.query.id, "isDuringSearch": during, "turnNumber": self.turn}

    def _for_side(self, number: float) -> float:
        """A number that is good for the seat to move where it is above 0."""
        return round(self._sign * number, DIGITS)

    def _numbers(self, value: float, visits: int, action: int = HERE) -> dict[str, Any]:
        chance = (value + 1) / 2
        doubt = min(1.0, 1.0 / max(visits, 1) ** 0.5)  # of a chance: two standard errors at most
        points = self._for_side(self._outlook.lead(value, self.seat, action))
        return {
            "visits": visits,
            "winrate": round(chance if self._sign > 0 else 1 - chance, DIGITS),
            "utility": self._for_side(value),
            "scoreLead": points,
            "scoreMean": points,
            "scoreSelfplay": points,
            "scoreStdev": round(self._outlook.spread, DIGITS),
            "lcb": round(chance - doubt if self._sign > 0 else 1 - chance + doubt, DIGITS),
            "utilityLcb": self._for_side(value - 2 * doubt),
        }

    def _root(self, value: float, visits: int) -> dict[str, Any]:
        key = np.asarray(self.game.hash(self.board.now.position.state)).tolist()
        this = "".join(f"{word:08X}" for word in key)
        named = {"thisHash": this, "symHash": _image(self.game, self.board.now) or this}
        return {"currentPlayer": LETTERS[self.seat].upper(), **named, **self._numbers(value, visits)}

    def _move(self, order: int, move: Move) -> dict[str, Any]:
        line = [move_name(self.game, self.game.parse_action(name)) for name in move.variation[: self.query.length + 1]]
        said = {"move": move_name(self.game, move.action), "order": order, "pv": line}
        prior = {"prior": round(move.prior or 0.0, DIGITS), "edgeVisits": move.visits, "weight": float(move.visits)}
        return {**said, **prior, **self._numbers(move.value, move.visits, move.action)}

    def _unseen(self, only: frozenset[int], moves: list[Move]) -> list[Move]:
        """The legal ones of these moves, none of which was tried."""
        known = {move.action: move for move in moves}
        legal = [action for action in self.board.legal() if action in only]
        return [known.get(action) or untried(action, self.game.action_name) for action in legal]

    def _policy(self, moves: list[Move]) -> list[float]:
        """The prior of every action in their order, a pass of Go last; all alike where the search keeps none."""
        legal, known = self.board.now.legal, [move for move in moves if move.prior is not None]
        out = np.where(legal, 0.0 if known else 1.0 / max(1, int(legal.sum())), -1.0)
        for move in known:
            out[move.action] = move.prior
        return [round(share, DIGITS) for share in out.tolist()]

    def _ownership(self) -> dict[str, Any]:
        if not (self.query.ownership and self._outlook.owned):
            return {}
        turned = self._sign if self.seat == 0 else -self._sign  # from Black to whom numbers are for
        return {"ownership": [round(turned * value, 4) for value in self._outlook.owned]}


def _image(game: Game[Any], view: View) -> str:
    """The same word for all symmetric images of a position: the first of what names of them there are."""
    kinds, cells = game.symmetries(), view.cells
    if kinds.cells.shape[1] != len(cells):  # drawn otherwise than its rules see it
        return ""
    kept = play.keeping(game)
    images = zip(kinds.cells[kept], kinds.actions[kept], strict=True)
    words = [cells[order].tobytes() + view.legal[actions].tobytes() for order, actions in images]
    return hashlib.sha256(bytes([view.seat]) + min(words)).hexdigest()[:32].upper()
