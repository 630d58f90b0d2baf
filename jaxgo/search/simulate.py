"""One round of simulations: walk down, make nodes, judge them all in one evaluator call, back up."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float32, Int32

from jaxgo.core import history as histories
from jaxgo.core.history import History
from jaxgo.evaluators.base import Params
from jaxgo.search import tree as trees
from jaxgo.search.backup import backup, prove
from jaxgo.search.model import Model
from jaxgo.search.tree import Choose, Descent, Tree


def depth_limit(model: Model, tree: Tree) -> int:
    """No path can be longer: it has no node twice, and games end."""
    return min(tree.visits.shape[1], model.game.max_plies) + 1


def side_by_side(
    model: Model,
    params: Params,
    key: Array,
    tree: Tree,
    choose: Choose,
    active: Bool[Array, " L"],
    first: Int32[Array, " L"] | None,
    solver: bool,
    past: History,
) -> tuple[Tree, Float32[Array, " L"]]:
    """One simulation on every active lane, and what each came to, for seat 0.

    Lanes of one game must part at the root: `first` differs among them. A line ends where it comes back to the `past`
    of its game, if the rules say so, and not where it comes back to itself.
    """
    descent = trees.descend(tree, choose, active, first, depth_limit(model, tree), model.on_cpu)
    fresh = active & (descent.leaf < 0)
    tree, descent = trees.reserve(tree, descent, active)
    tree, results = _finish(model, params, key, tree, descent, active, fresh, solver, past, apart=True)
    return trees.advance(tree, descent, fresh), results


def one_by_one(
    model: Model,
    params: Params,
    key: Array,
    tree: Tree,
    choose: Choose,
    active: Bool[Array, " L"],
    virtual_loss: float,
    solver: bool,
    past: History,
) -> tuple[Tree, Float32[Array, " L"]]:
    """The same, where each walk sees the visits of those before it but not their results.

    Until these are known a path under way counts as visited, with an even result less `virtual_loss` for who chose it,
    so that the next lane tends elsewhere. Two lanes may end in the same leaf; it is judged once and backed up for both.
    """
    limit = depth_limit(model, tree)
    known = tree.visits, tree.value

    def walk(tree: Tree, go: Bool[Array, " B"]) -> tuple[Tree, tuple[Descent, Array]]:
        descent = trees.descend(tree, choose, go, None, limit, model.on_cpu)
        fresh = go & (descent.leaf < 0)
        tree, descent = trees.reserve(tree, descent, go)
        # where any move may pay nothing is even: until `fill` a fresh leaf is worth what its parent is
        if tree.reward is not None:
            game = jnp.arange(fresh.shape[0])
            worth = known[1][game, descent.node] - virtual_loss
            leaf = jnp.where(fresh, descent.leaf, tree.visits.shape[1])
            tree = tree._replace(reward=tree.reward.at[game, leaf].set(worth, mode="drop"))
        even = jnp.zeros(fresh.shape, jnp.float32)
        tree = backup(trees.advance(tree, descent, fresh), descent, even, virtual_loss, model.on_cpu)
        return tree, (descent, fresh)

    games = tree.visits.shape[0]
    tree, walked = jax.lax.scan(walk, tree, active.reshape(games, -1).T)
    visits, value = known
    tree = tree._replace(visits=visits, value=value)
    # from one batch of games for each walk to the walks of each game side by side
    descent, fresh = jax.tree.map(lambda x: jnp.moveaxis(x, 0, 1).reshape(-1, *x.shape[2:]), walked)
    return _finish(model, params, key, tree, descent, active, fresh, solver, past)


def _finish(
    model: Model,
    params: Params,
    key: Array,
    tree: Tree,
    descent: Descent,
    active: Bool[Array, " L"],
    fresh: Bool[Array, " L"],
    solver: bool,
    past: History,
    apart: bool = False,
) -> tuple[Tree, Float32[Array, " L"]]:
    action = jnp.maximum(descent.action, 0)
    before = trees.parents_of(tree, descent, model.on_cpu)
    leaves = model.expand(params, key, before, action, fresh)
    if histories.judges(model.game):
        game = trees.games_of(tree, active.shape[0])
        leaves = model.looking_back(jax.tree.map(lambda x: x[game], past), before, leaves)
    words = None if tree.key is None else model.keys(leaves.states)
    if words is not None:
        leaves = trees.recall(tree, leaves, words)
    tree = trees.fill(tree, descent.leaf, fresh, leaves, words)
    leaf = jnp.where(active, descent.leaf, 0)
    # after `fill` every leaf knows its value: fresh ones their judge's, proven ones the exact one
    results = trees.results_of(tree, descent, leaf, model.on_cpu)
    tree = backup(tree, descent, results, on_cpu=model.on_cpu, apart=apart)
    return prove(tree, leaf, fresh, model.best, model.on_cpu) if solver else tree, results
