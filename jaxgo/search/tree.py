"""The search tree of a batch of games: allocated once, statistics per node, a prior and a child index per edge.

Values of a board game are kept for seat 0. A simulation's result then is one number for its whole path, whoever moves
where, and a backup is a scatter of that number over the path; a node's mover reads it with his sign. A model that pays
on the way has two more columns, the reward and the discount of the move to each node; its values are for the mover of
their node (all seats are 0), and a backup sums up from the leaf. A node is `proven` when its value is exact: the game
is over there, or the solver closed it. Proven nodes are never expanded or searched.

Letters: B games, N nodes, A actions, D depth, L lanes: walks that happen at once, the same number for each game and
those of one game side by side.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float32, Int, Int8, Int32, Shaped, UInt32

from jaxgo.core.lanes import column_of, first_where
from jaxgo.search import frontier as frontiers
from jaxgo.search.frontier import Frontier
from jaxgo.search.model import Leaves

ROOT, NOWHERE = 0, -1
PER_GAME = ("used", "healthy")  # what a tree has once; all else it has at every node
BLANK = {"parent": NOWHERE, "action": NOWHERE, "child": NOWHERE}  # what places without a node hold, where it is not 0
BLOCK = 16  # levels of a path that one scatter covers
NARROW = 32  # fewer lanes than this are not worth parting
STRIDE = 16  # levels of a walk by a map from one look at who still walks to the next; not above BLOCK
MAPPED = 2**25  # edges of all trees, up to which a map of the moves at all nodes is made


class Tree(NamedTuple):
    used: Int32[Array, " B"]  # nodes in use
    visits: Int32[Array, "B N"]
    value: Float32[Array, "B N"]  # mean result of the visits, for seat 0; exact where proven
    raw: Float32[Array, "B N"]  # what the evaluator said, for seat 0
    seat: Int8[Array, "B N"]  # who moves
    proven: Bool[Array, "B N"]
    parent: Int[Array, "B N"]
    action: Int[Array, "B N"]  # that led here from the parent
    logits: Float32[Array, "B N A"]
    child: Int[Array, "B N A"]  # node index, or NOWHERE
    states: Any
    healthy: Bool[Array, " B"]
    key: UInt32[Array, "B N 2"] | None = None  # of the position, where equal ones share their proofs
    frontier: Frontier | None = None  # of searches that walk by priors
    reward: Float32[Array, "B N"] | None = None  # of the move that led here, for who made it; None: only ends pay
    discount: Float32[Array, "B N"] | None = None  # of the value here, for who made that move

    def each(self, change: Callable[[Array, int], Array]) -> "Tree":
        """The tree with all columns of nodes changed; `change` also takes what a column holds where no node is."""

        def changed(name: str) -> Any:
            return jax.tree.map(lambda x: change(x, BLANK.get(name, 0)), getattr(self, name))

        return self._replace(**{name: changed(name) for name in self._fields if name not in PER_GAME})


class Spot(NamedTuple):
    """Where lanes stand and must choose a move."""

    tree: Tree
    game: Int32[Array, " L"]
    node: Int32[Array, " L"]
    everywhere: bool = False  # one lane stands at each node of each tree, in their order

    def here(self, column: Shaped[Array, "B N ..."]) -> Shaped[Array, "L ..."]:
        """What a column says of the nodes where lanes stand."""
        return column.reshape(-1, *column.shape[2:]) if self.everywhere else column[self.game, self.node]

    def around(self, column: Shaped[Array, "B N"]) -> Shaped[Array, "L N"]:
        """What a column says of all nodes of each lane's tree."""
        if not self.everywhere:
            return column[self.game]
        games, nodes = column.shape
        return jnp.broadcast_to(column[:, None], (games, nodes, nodes)).reshape(-1, nodes)


class Descent(NamedTuple):
    """Where lanes came to: an edge to try, and the nodes on the way."""

    node: Int32[Array, " L"]  # the last node with a choice
    action: Int32[Array, " L"]
    leaf: Int32[Array, " L"]  # the node below that edge; NOWHERE if it must be made
    path: Int32[Array, "L D"]  # nodes from the root to the leaf, filled up with NOWHERE
    length: Int32[Array, " L"]  # where on its path the leaf stands


Choose = Callable[[Spot], Int32[Array, " L"]]


def index_type(count: int) -> Any:
    """The type that numbers so many things of a kind."""
    return jnp.int16 if count < 2**15 else jnp.int32


def plant(leaves: Leaves, nodes: int, frontier: bool = False, key: UInt32[Array, "B 2"] | None = None) -> Tree:
    """Trees of one visited node each, with room for `nodes`; with a `key` of the roots equal positions share proofs."""
    games, actions = leaves.logits.shape
    index = index_type(nodes)
    move = index_type(actions)

    def column(first: Array, dtype: Any) -> Array:
        return column_of(first.astype(dtype), nodes)

    tree = Tree(
        used=jnp.ones(games, jnp.int32),
        visits=column(jnp.ones(games), jnp.int32),
        value=column(leaves.value, jnp.float32),
        raw=column(leaves.value, jnp.float32),
        seat=column(leaves.seat, jnp.int8),
        proven=column(leaves.over, bool),
        parent=jnp.full((games, nodes), NOWHERE, index),
        action=jnp.full((games, nodes), NOWHERE, move),
        logits=column(leaves.logits, jnp.float32),
        child=jnp.full((games, nodes, actions), NOWHERE, index),
        states=jax.tree.map(lambda x: column_of(x, nodes), leaves.states),
        healthy=leaves.healthy,
        key=None if key is None else column(key, jnp.uint32),
        reward=None if leaves.reward is None else column(leaves.reward, jnp.float32),
        discount=None if leaves.discount is None else column(leaves.discount, jnp.float32),
    )
    return survey(tree._replace(frontier=frontiers.blank(games, nodes, move))) if frontier else tree


def survey(tree: Tree) -> Tree:
    """The frontier of the roots anew: their logits or their children have changed."""
    if tree.frontier is None:
        return tree
    ahead = frontiers.survey(tree.frontier, ROOT, tree.logits[:, ROOT], tree.child[:, ROOT])
    return tree._replace(frontier=ahead)


def games_of(tree: Tree, lanes: int) -> Int32[Array, " L"]:
    """The game of each lane."""
    games = tree.visits.shape[0]
    return jnp.repeat(jnp.arange(games, dtype=jnp.int32), lanes // games)


def descend(
    tree: Tree,
    choose: Choose,
    active: Bool[Array, " L"],
    first: Int32[Array, " L"] | None,
    depth_limit: int,
    on_cpu: bool = True,
) -> Descent:
    """Walks every active lane from its root to an edge without a node, or to a proven node.

    `first` fixes the action at the root; without it the root is a node like others. No path may be longer than
    `depth_limit`. Most lanes arrive early, so `on_cpu` the walk goes on with fewer and fewer lanes. An accelerator
    takes as long for a few lanes as for all, and another loop and a sort cost it more. What costs it most are the many
    small steps of a choice, so where trees are small it chooses once, at all nodes.
    """
    lanes = active.shape[0]
    path = jnp.full((lanes, depth_limit + BLOCK), NOWHERE, jnp.int32)
    nothing = jnp.full(lanes, NOWHERE, jnp.int32)
    here = Descent(
        node=jnp.full(lanes, ROOT, jnp.int32),
        action=nothing,
        leaf=nothing,
        path=path.at[:, 0].set(jnp.where(active, ROOT, NOWHERE)),
        length=jnp.zeros(lanes, jnp.int32),
    )
    walk = _fewer_and_fewer if on_cpu else _by_map if tree.logits.size <= MAPPED else _all_lanes
    return walk(tree, choose, here, active, first, depth_limit)


def _fewer_and_fewer(
    tree: Tree, choose: Choose, here: Descent, active: Bool[Array, " L"], first: Int32[Array, " L"] | None, limit: int
) -> Descent:
    """The walk in one loop after the other, each for the lanes that have not arrived."""
    lanes = active.shape[0]
    games = games_of(tree, lanes)
    Carry = tuple[Descent, Array, Array, Array]

    def move(at: Descent, level: Array, lane: Array, moving: Array, chosen: Array) -> Carry:
        game, node = games[lane], at.node[lane]
        below = tree.child[game, node, chosen].astype(jnp.int32)
        onward = moving & (below >= 0) & ~tree.proven[game, jnp.maximum(below, 0)]
        moved = jnp.where(moving, lane, lanes)
        at = Descent(
            node=at.node.at[jnp.where(onward, lane, lanes)].set(below, mode="drop"),
            action=at.action.at[moved].set(chosen, mode="drop"),
            leaf=at.leaf.at[moved].set(below, mode="drop"),
            path=at.path.at[moved, level].set(below, mode="drop"),
            length=at.length.at[moved].set(level, mode="drop"),
        )
        return at, level + 1, lane, onward

    def step(carry: Carry) -> Carry:
        at, _, lane, _ = carry
        return move(*carry, choose(Spot(tree, games[lane], at.node[lane])))

    carry = (here, jnp.int32(1), jnp.arange(lanes, dtype=jnp.int32), active)
    if first is not None:
        carry = move(*carry, first)
    width = lanes
    while True:
        narrower = width // 4 if width >= 4 * NARROW else 0
        carry = jax.lax.while_loop(
            lambda c, few=narrower: (c[3].sum() > few) & (c[1] <= limit),  # type: ignore[misc]
            step,
            carry,
        )
        if narrower == 0:
            return carry[0]
        at, level, lane, moving = carry
        still = jnp.arange(narrower, dtype=jnp.int32) < moving.sum()
        carry = (at, level, lane[first_where(moving, narrower)], still)
        width = narrower


def _all_lanes(
    tree: Tree, choose: Choose, here: Descent, active: Bool[Array, " L"], first: Int32[Array, " L"] | None, limit: int
) -> Descent:
    """The walk in one loop. Lanes stay in their places, so that next to nothing of a step is a scatter."""
    game = games_of(tree, active.shape[0])
    Carry = tuple[Descent, Array, Array]

    def move(at: Descent, level: Array, moving: Array, chosen: Array) -> Carry:
        below = tree.child[game, at.node, chosen].astype(jnp.int32)
        onward = moving & (below >= 0) & ~tree.proven[game, jnp.maximum(below, 0)]
        column = jnp.where(moving, below, NOWHERE)  # as it is where a lane has arrived
        at = Descent(
            node=jnp.where(onward, below, at.node),
            action=jnp.where(moving, chosen, at.action),
            leaf=jnp.where(moving, below, at.leaf),
            path=jax.lax.dynamic_update_slice_in_dim(at.path, column[:, None], level, axis=1),
            length=jnp.where(moving, level, at.length),
        )
        return at, level + 1, onward

    def step(carry: Carry) -> Carry:
        return move(*carry, choose(Spot(tree, game, carry[0].node)))

    carry = here, jnp.int32(1), active
    if first is not None:
        carry = move(*carry, first)
    return jax.lax.while_loop(lambda c: c[2].any() & (c[1] <= limit), step, carry)[0]


def _by_map(
    tree: Tree, choose: Choose, here: Descent, active: Bool[Array, " L"], first: Int32[Array, " L"] | None, limit: int
) -> Descent:
    """The walk by a map of the moves at all nodes, so that a level is one look-up.

    Many levels go without a question whether anybody still walks: for the answer a device waits for its host.
    """
    (games, nodes), game = tree.visits.shape, games_of(tree, active.shape[0])
    every = games_of(tree, games * nodes), jnp.tile(jnp.arange(nodes, dtype=jnp.int32), games)
    moves = choose(Spot(tree, *every, everywhere=True))
    signs = _signs(tree, *every, moves)
    Carry = tuple[Descent, Array, Array]

    def place(at: Descent) -> Array:
        return game * nodes + at.node

    def move(at: Descent, moving: Array, sign: Array, level: Array | int) -> tuple[Descent, Array]:
        below, onward = sign >> 1, moving & (sign & 1 == 1)
        at = at._replace(
            node=jnp.where(onward, below, at.node),
            leaf=jnp.where(moving, below, at.leaf),
            length=jnp.where(moving, level, at.length),
        )
        return at, onward & (level < limit)

    def stride(carry: Carry) -> Carry:
        at, level, moving = carry
        columns = []
        for step in range(STRIDE):
            sign = jnp.take(signs, place(at), mode="clip")
            columns.append(jnp.where(moving, sign >> 1, NOWHERE))
            at, moving = move(at, moving, sign, level + step)
        path = jax.lax.dynamic_update_slice_in_dim(at.path, jnp.stack(columns, axis=1), level, axis=1)
        return at._replace(path=path), level + STRIDE, moving

    begun, level, moving = here, 1, active
    if first is not None:
        sign = _signs(tree, game, here.node, first)
        begun, moving = move(here, active, sign, level)
        begun = begun._replace(path=begun.path.at[:, level].set(jnp.where(active, sign >> 1, NOWHERE)))
        level += 1
    carry = stride((begun, jnp.int32(level), moving))
    at = jax.lax.while_loop(lambda c: c[2].any(), stride, carry)[0]
    action = jnp.take(moves, place(at), mode="clip")
    if first is not None:
        action = jnp.where(at.length == 1, first, action)
    return at._replace(action=jnp.where(active, action, NOWHERE))


def _signs(tree: Tree, game: Int32[Array, " L"], node: Int32[Array, " L"], action: Int32[Array, " L"]) -> Array:
    """Where moves lead, twice, and one more where the walk goes on there."""
    below = tree.child[game, node, action].astype(jnp.int32)
    return 2 * below + ((below >= 0) & ~tree.proven[game, jnp.maximum(below, 0)])


def remaining(tree: Tree, left: Int32[Array, " B"]) -> Int32[Array, " B"]:
    """A game that is solved, or has no room for another node, searches no more."""
    stop = tree.proven[:, ROOT] | (tree.used >= tree.visits.shape[1])
    return jnp.where(stop, 0, left)


def parents_of(tree: Tree, descent: Descent, on_cpu: bool = True) -> Any:
    """The states from which lanes move."""
    games = games_of(tree, descent.node.shape[0])
    return read_now(reader_at(games, descent.node), tree.states, descent.length.max() >= 0, on_cpu)


def results_of(tree: Tree, descent: Descent, leaf: Int32[Array, " L"], on_cpu: bool = True) -> Float32[Array, " L"]:
    """What the tree says of leaves, for seat 0."""
    games = games_of(tree, leaf.shape[0])
    return cast(Array, read_now(reader_at(games, leaf), tree.value, descent.length.max() >= 0, on_cpu))


def reader_at(games: Array, node: Array) -> Callable[[Any], Any]:
    """Reads columns at nodes."""
    return lambda columns: jax.tree.map(lambda x: x[games, node], columns)


def read_now(read: Callable[[Any], Any], columns: Any, sure: Bool[Array, ""], on_cpu: bool) -> Any:
    """What is read of columns that are about to be written, by a program that cannot know that it is `sure` to be.

    XLA fuses a plain read into what needs it after the write and then copies the whole column, in every round; a branch
    stops it. A host that must be asked for the branch costs an accelerator more than the copies.
    """
    if not on_cpu:
        return jax.lax.optimization_barrier(read(columns))
    return jax.lax.cond(sure, read, lambda c: jax.tree.map(jnp.zeros_like, read(c)), columns)


def reserve(tree: Tree, descent: Descent, active: Bool[Array, " L"]) -> tuple[Tree, Descent]:
    """Makes a node and an edge for every lane that found none.

    Until `fill` such a node counts as proven, so that no other lane of this round walks into it.
    """
    games, beyond = tree.visits.shape
    lanes = active.shape[0]
    game = games_of(tree, lanes)
    new = active & (descent.leaf < 0)
    ahead = jnp.cumsum(new.reshape(games, -1), axis=1, dtype=jnp.int32)
    slot = (tree.used[:, None] + ahead - 1).reshape(-1)
    target = jnp.where(new, slot, beyond)
    source = jnp.where(new, descent.node, beyond)
    tree = tree._replace(
        used=tree.used + ahead[:, -1],
        proven=tree.proven.at[game, target].set(True, mode="drop"),
        parent=tree.parent.at[game, target].set(descent.node.astype(tree.parent.dtype), mode="drop"),
        action=tree.action.at[game, target].set(descent.action.astype(tree.action.dtype), mode="drop"),
        child=tree.child.at[game, source, descent.action].set(slot.astype(tree.child.dtype), mode="drop"),
    )
    end = jnp.where(new, descent.length, descent.path.shape[1])
    path = descent.path.at[jnp.arange(lanes), end].set(slot, mode="drop")
    return tree, descent._replace(leaf=jnp.where(new, slot, descent.leaf), path=path)


def advance(tree: Tree, descent: Descent, fresh: Bool[Array, " L"]) -> Tree:
    """Lets the frontier know of the nodes that were made.

    It reads logits, so in one program it stands after what writes them: XLA copies a column that is read beside a
    write.
    """
    if tree.frontier is None:
        return tree
    beyond = tree.visits.shape[1]
    game = games_of(tree, fresh.shape[0])
    parent, node = jnp.where(fresh, descent.node, beyond), jnp.where(fresh, descent.leaf, beyond)
    edges = tree.logits[game, descent.node], tree.child[game, descent.node]
    return tree._replace(frontier=frontiers.advance(tree.frontier, game, parent, node, descent.action, *edges))


def recall(tree: Tree, leaves: Leaves, key: UInt32[Array, "L 2"]) -> Leaves:
    """New positions, with what the tree has proven of equal ones."""
    assert tree.key is not None, "only a tree that was planted with keys tells equal positions"
    game = games_of(tree, key.shape[0])
    lane = jnp.arange(key.shape[0])
    there = jnp.arange(tree.visits.shape[1])[None] < tree.used[game][:, None]
    same = (tree.key[game] == key[:, None]).all(axis=-1) & tree.proven[game] & there
    # nodes that were just reserved count as proven; they have no key yet, and so no value
    known, value = same.any(axis=-1) & ~leaves.over, tree.value[game][lane, jnp.argmax(same, axis=-1)]
    return leaves._replace(over=leaves.over | known, value=jnp.where(known, value, leaves.value))


def fill(
    tree: Tree,
    leaf: Int32[Array, " L"],
    fresh: Bool[Array, " L"],
    leaves: Leaves,
    key: UInt32[Array, "L 2"] | None = None,
) -> Tree:
    """Writes what is known of the fresh leaves into their nodes."""
    games, beyond = tree.visits.shape
    game = games_of(tree, leaf.shape[0])
    target = jnp.where(fresh, leaf, beyond)

    def write(column: Array, values: Array) -> Array:
        values = values if values.dtype == column.dtype else values.astype(column.dtype)
        return column.at[game, target].set(values, mode="drop")

    if tree.frontier is not None:
        tree = tree._replace(frontier=frontiers.begin(tree.frontier, game, target, leaves.logits))
    return tree._replace(
        value=write(tree.value, leaves.value),
        raw=write(tree.raw, leaves.value),
        seat=write(tree.seat, leaves.seat),
        proven=write(tree.proven, leaves.over),
        logits=write(tree.logits, leaves.logits),
        states=jax.tree.map(write, tree.states, leaves.states),
        healthy=tree.healthy & (leaves.healthy | ~fresh).reshape(games, -1).all(axis=1),
        key=jax.tree.map(write, tree.key, key),
        reward=jax.tree.map(write, tree.reward, leaves.reward),
        discount=jax.tree.map(write, tree.discount, leaves.discount),
    )
