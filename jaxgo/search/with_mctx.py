"""mctx's own policies, untouched, behind the four verbs: for comparison and for trust.

They run a whole search at once, so they can neither be resumed nor limited, and a tree cannot be kept.
"""

import dataclasses
import functools
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import mctx
from jaxtyping import Array, Bool, Float32, Int32

from jaxgo.core import keys
from jaxgo.core.errors import UsageError
from jaxgo.core.play import Position
from jaxgo.evaluators.base import Params
from jaxgo.search.base import Budget, Search, SearchResult, Temperature, draw, per_game
from jaxgo.search.model import Model

Backend = Literal["jaxgo", "mctx"]


class MctxState(NamedTuple):
    action: Int32[Array, " B"]
    policy: Float32[Array, "B A"]
    value: Float32[Array, " B"]
    visits: Int32[Array, "B A"]
    q: Float32[Array, "B A"]


@dataclasses.dataclass(frozen=True)
class WithMctx(Search):
    """`policy` names the function of mctx; the first four constants are of its Gumbel policy, the others of PUCT."""

    policy: Literal["gumbel", "puct"] = "gumbel"
    simulations: int = 64
    considered: int = 16
    scale: float = 1.0
    value_scale: float = 0.1
    visit_offset: float = 50.0
    noise: float = 0.0
    alpha: float = 0.3
    c_init: float = 1.25
    c_base: float = 19652.0

    @property
    def budget(self) -> int:
        return self.simulations

    def start(self, model: Model, params: Params, key: Array, root: Position, plan: Budget | None = None) -> MctxState:
        shapes = jax.eval_shape(model.legal, root).shape
        nothing = jnp.zeros(shapes)
        return MctxState(jnp.zeros(shapes[0], jnp.int32), nothing, nothing[:, 0], jnp.zeros(shapes, jnp.int32), nothing)

    def extend(
        self, model: Model, params: Params, key: Array, root: Position, q: MctxState, budget: Budget
    ) -> MctxState:
        if not isinstance(budget, int) or budget != self.simulations:
            raise UsageError(f"mctx runs whole searches only: its budget must be its {self.simulations} simulations")
        judge, search = jax.random.split(keys.any_one(key))
        legal = model.legal(root)
        known = model.evaluate(params, judge, root.state, legal)
        first = mctx.RootFnOutput(prior_logits=known.logits, value=known.value, embedding=root.state)
        options: dict[str, Any] = {"invalid_actions": ~legal}
        if self.policy == "gumbel":
            run = mctx.gumbel_muzero_policy
            complete = functools.partial(
                mctx.qtransform_completed_by_mix_value, value_scale=self.value_scale, maxvisit_init=self.visit_offset
            )
            options |= {"max_num_considered_actions": self.considered, "gumbel_scale": self.scale}
            options |= {"qtransform": complete}
        else:
            run = mctx.muzero_policy
            options |= {"dirichlet_fraction": self.noise, "dirichlet_alpha": self.alpha, "temperature": 0.0}
            options |= {"pb_c_init": self.c_init, "pb_c_base": self.c_base}

        def recur(params: Params, key: Array, action: Array, state: Any) -> tuple[mctx.RecurrentFnOutput, Any]:
            moved, judged = model.recur(params, key, state, action)
            output = mctx.RecurrentFnOutput(
                reward=moved.reward, discount=moved.discount, prior_logits=judged.logits, value=judged.value
            )
            return output, moved.state

        output = run(params, search, first, recur, self.simulations, **options)
        summary = output.search_tree.summary()
        return MctxState(
            action=output.action.astype(jnp.int32),
            policy=output.action_weights,
            value=summary.value,
            visits=summary.visit_counts.astype(jnp.int32),
            q=summary.qvalues,
        )

    def result(
        self, model: Model, key: Array, root: Position, q: MctxState, temperature: Temperature = 0.0
    ) -> SearchResult:
        heat = per_game(temperature, q.value.shape[0], jnp.float32)
        action = jnp.where(heat > 0, draw(key, q.policy, temperature), q.action)
        nowhere = jnp.zeros(q.visits.shape, bool)
        healthy: Bool[Array, " B"] = jnp.isfinite(q.value)
        return SearchResult(action, q.policy, q.value, q.visits, q.q, nowhere, nowhere[:, 0], healthy)

    def follow(
        self,
        model: Model,
        params: Params,
        key: Array,
        q: MctxState,
        action: Int32[Array, " B"],
        root: Position,
        plan: Budget | None = None,
    ) -> MctxState:
        return self.start(model, params, key, root)
