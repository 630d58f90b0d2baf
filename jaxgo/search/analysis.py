"""What a search thinks, for people: pure functions from a finished tree to tables and lines of text.

They work on one game of a batch, on the host, with numpy.
"""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxgo.core.errors import UsageError
from jaxgo.search.base import SearchResult
from jaxgo.search.model import ILLEGAL
from jaxgo.search.tree import NOWHERE, ROOT, Tree

Name = Callable[[int], str]  # of an action


@dataclasses.dataclass(frozen=True)
class Move:
    """One move of the root. Value and wins are for the side to move there."""

    action: int
    name: str
    visits: int
    share: float  # of all visits
    value: float  # in [-1, 1]; 0 where not visited
    prior: float | None  # None where the search keeps none
    proven: bool  # the value is exact
    best: bool  # the move to play
    wins: float  # playouts won, a draw counting half
    depth: int  # plies that the search looked ahead behind this move, itself included; 0: it keeps no tree to tell
    variation: tuple[str, ...]  # the line of most visits, this move first

    @property
    def written(self) -> str:
        """The value in a table; nothing where nobody knows it."""
        return f"{self.value:+.3f}" if self.visits or self.proven else ""

    @property
    def verdict(self) -> str:
        """The value in a word; nothing where it is not proven."""
        if not self.proven:
            return ""
        return "win" if self.value > 0 else "loss" if self.value < 0 else "draw"


class Lane(NamedTuple):
    """The tree of one game, without the states."""

    visits: np.ndarray  # int32[N]
    proven: np.ndarray  # bool[N]
    parent: np.ndarray  # int[N]
    action: np.ndarray  # int[N]
    prior: np.ndarray  # float32[A], of the root
    child: np.ndarray  # int[N, A]


def lane(tree: Tree, game: int = 0) -> Lane:
    """One game of a tree, brought to the host, without the room that is not used."""
    used = int(tree.used[game])
    columns = (tree.visits, tree.proven, tree.parent, tree.action, tree.child)
    if all(device.platform == "cpu" for device in tree.visits.devices()):  # the host's own memory: no program is needed
        cut = [np.array(np.asarray(column)[game, :used]) for column in columns]
    else:  # cut on the device, so that little is copied; every length that is cut out is a program
        room = min(1 << (used - 1).bit_length(), tree.visits.shape[1])
        cut = [np.asarray(column[game, :room])[:used] for column in columns]
    visits, proven, parent, action, child = cut
    return Lane(visits, proven, parent, action, _prior(tree, game, ROOT), child)


def _prior(tree: Tree, game: int, node: int) -> np.ndarray:
    """What the evaluator made of each action of a node; nothing of what may not be played."""
    logits = np.asarray(tree.logits[game, node], np.float64)
    weights = np.where(logits > ILLEGAL, np.exp(logits - logits.max()), 0.0)
    return (weights / max(weights.sum(), 1e-300)).astype(np.float32)


def principal_variation(tree: Lane, node: int = ROOT) -> list[int]:
    """The actions of the most visited line below a node."""
    line: list[int] = []
    while True:
        below = tree.child[node]
        visits = np.where(below >= 0, tree.visits[np.maximum(below, 0)], 0)
        action = int(visits.argmax())
        if visits[action] == 0:
            return line
        line.append(action)
        node = int(below[action])


def _behind(tree: Lane, action: int, node: int = ROOT) -> list[int]:
    """The actions of the line that begins with this one of a node."""
    child = int(tree.child[node, action])
    return [action, *(principal_variation(tree, child) if child >= 0 else [])]


def depths(tree: Lane, top: int = ROOT) -> np.ndarray:
    """`int32[N]`: plies from a node to each one below it; NOWHERE elsewhere, as behind what the real game forbids."""
    out = np.full(len(tree.parent), NOWHERE, np.int32)
    out[top] = 0
    for node in range(top + 1, len(out)):  # a parent always comes before its children
        if tree.parent[node] >= 0 and out[tree.parent[node]] >= 0:
            out[node] = out[tree.parent[node]] + 1
    return out


def _reach(tree: Lane, top: int = ROOT) -> dict[int, int]:
    """How deep the tree is below each action of a node."""
    depth = depths(tree, top)
    first = np.zeros(len(depth), np.int32)  # the action of `top` that leads to each node
    reach: dict[int, int] = {}
    for node in np.flatnonzero(depth > 0).tolist():
        first[node] = tree.action[node] if tree.parent[node] == top else first[tree.parent[node]]
        reach[int(first[node])] = max(reach.get(int(first[node]), 0), int(depth[node]))
    return reach


def table(
    result: SearchResult, name: Name, tree: Tree | None = None, game: int = 0, lines: np.ndarray | None = None
) -> list[Move]:
    """The moves of the root: the one to play first, then those of most visits. Without a tree one may have a line,
    which a search expects."""
    visits, q = np.asarray(result.visits[game]), np.asarray(result.q[game])
    proven, policy = np.asarray(result.proven[game]), np.asarray(result.policy[game])
    best, total = int(result.action[game]), max(int(visits.sum()), 1)
    told = [] if lines is None else [step for step in lines[game].tolist() if step >= 0]
    known = None if tree is None else lane(tree, game)
    prior = None if known is None else known.prior
    reach = {} if known is None else _reach(known)

    def move(action: int) -> Move:
        alone = told if told[:1] == [action] else [action]
        line = alone if known is None else _behind(known, action)
        count = int(visits[action])
        return _move(
            name,
            line,
            visits=count,
            share=count / total,
            value=float(q[action]),
            prior=None if prior is None else float(prior[action]),
            proven=bool(proven[action]),
            best=action == best,
            depth=0 if known is None else reach.get(action, 1 if count else 0),
        )

    likely = policy if prior is None else prior
    seen = np.flatnonzero((likely > 0) | (visits > 0) | proven)
    order = sorted({*seen.tolist(), best}, key=lambda a: (a != best, -int(visits[a]), -float(likely[a]), a))
    return [move(action) for action in order]


def _move(name: Name, line: list[int], visits: int, value: float, **known: Any) -> Move:
    """The first move of a line."""
    wins, words = visits * (value + 1.0) / 2.0, tuple(name(step) for step in line)
    return Move(line[0], words[0], visits=visits, value=value, wins=wins, variation=words, **known)


def untried(action: int, name: Name) -> Move:
    """A move of which a search says nothing."""
    known = {"share": 0.0, "prior": None, "proven": False, "best": False, "depth": 0}
    return _move(name, [action], visits=0, value=0.0, **known)


def inner(tree: Tree, line: Sequence[int], name: Name, exact: bool = True) -> list[Move]:
    """The moves of the node behind these actions of the root, as its mover sees them, those of most visits first. Of a
    batch the first game is told.

    Where a rule on repetition looks back further than a tree does, proofs are not `exact`: only ends of games count.
    """
    game, node = 0, ROOT
    known = lane(tree, game)
    for number, action in enumerate(line, 1):
        node = int(known.child[node, action])
        if node < 0:
            raise UsageError(f"the tree has no node behind {name(action)}, move {number} of the line; search longer")
    legal = np.flatnonzero(np.asarray(tree.logits[game, node]) > ILLEGAL)
    prior, reach = _prior(tree, game, node), _reach(known, node)
    value, seat = np.asarray(tree.value[game]), int(tree.seat[game, node])
    below = known.child[node, legal].astype(int)
    visits = np.where(below >= 0, known.visits[below], 0)
    total, most = max(int(visits.sum()), 1), int(visits.argmax()) if len(legal) else 0
    found = []
    for i, action in enumerate(legal.tolist()):
        child, count = int(below[i]), int(visits[i])
        q = 0.0 if count == 0 else _worth(tree, game, child, float(value[child]) * (1.0 if seat == 0 else -1.0))
        move = _move(
            name,
            _behind(known, action, node),
            visits=count,
            share=count / total,
            value=q,
            prior=float(prior[action]),
            proven=child >= 0 and bool(known.proven[child]) and (exact or not (known.parent == child).any()),
            best=i == most,
            depth=reach.get(action, 0),
        )
        found.append(move)
    return sorted(found, key=lambda move: (-move.visits, -(move.prior or 0.0), move.action))


def _worth(tree: Tree, game: int, node: int, otherwise: float) -> float:
    """The value of a node to who moved there, where moves pay on the way; `otherwise` in a game of results alone."""
    if tree.reward is None or tree.discount is None:
        return otherwise
    return float(tree.reward[game, node] + tree.discount[game, node] * tree.value[game, node])


def summary(
    result: SearchResult, name: Name, tree: Tree | None = None, game: int = 0, outcomes: Any = None
) -> dict[str, Any]:
    """The whole search in one record; `nodes_at_depth` counts the nodes of the tree by plies from the root, `outcomes`
    (of a search's state) the simulations that came to a loss, to something between and to a win of who moves."""
    record: dict[str, Any] = {
        "best": name(int(result.action[game])),
        "value": round(float(result.worth[game]), 4),
        "solved": bool(result.solved[game]),
        "playouts": int(np.asarray(result.visits[game]).sum()),
    }
    if outcomes is not None:
        record["outcomes"] = dict(zip(("lost", "between", "won"), np.asarray(outcomes[game]).tolist(), strict=True))
    if tree is not None:
        known = lane(tree, game)
        reached = depths(known)
        best = int(result.action[game])
        told = best == int(result.first[game]) and result.visits[game, best] > 0  # else it was drawn, or is a guess
        line = _behind(known, best) if told else principal_variation(known)
        record["variation"] = [name(action) for action in line]
        record["nodes_at_depth"] = np.bincount(reached[reached >= 0]).tolist()
    return record


def json_records(moves: list[Move], whole: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What `json.dumps` writes line by line: the summary, then one record for each move."""
    yield {"kind": "search", **whole}
    for move in moves:
        record = dataclasses.asdict(move)
        short = {key: round(value, 4) if isinstance(value, float) else value for key, value in record.items()}
        yield {"kind": "move", **short, "variation": list(move.variation)}


def dagaz_log(moves: list[Move]) -> list[str]:
    """The log of Dagaz: `Win = w; All = n; Deep = d; Move = m`, the most won first; no `Deep` where nobody knows it."""
    tried = [move for move in moves if move.visits]
    by_wins = sorted(tried, key=lambda move: -move.wins)
    deep = [f"Deep = {m.depth}; " if m.depth else "" for m in by_wins]
    return [f"Win = {m.wins:.1f}; All = {m.visits}; {d}Move = {m.name}" for m, d in zip(by_wins, deep, strict=True)]
