"""What is this position worth? The evaluators by name; a new one is one file in this folder and one line here.

`Network` and `Mix` are made of parts (a module, two judges), so they have no entry.
"""

from typing import cast

from jaxgo.core import names
from jaxgo.core.errors import unknown_name
from jaxgo.evaluators.base import Evaluation, Evaluator, Params
from jaxgo.evaluators.heuristic import Heuristic
from jaxgo.evaluators.likely import Likely
from jaxgo.evaluators.mix import Mix
from jaxgo.evaluators.network import Network
from jaxgo.evaluators.noisy import Dirichlet, Noisy
from jaxgo.evaluators.race import Race
from jaxgo.evaluators.rollout import Rollout
from jaxgo.evaluators.solved import Solved
from jaxgo.evaluators.uniform import Uniform

EVALUATORS: dict[str, Evaluator] = {
    "uniform": Uniform(),
    "heuristic": Heuristic(),
    "rollout": Rollout(),
    "solved": Solved(),
    "race": Race(),
    "likely": Likely(),
}


def find(name: str) -> Evaluator:
    """The evaluator of this name: registered, or at `package.module:Object`."""
    if name in EVALUATORS:
        return EVALUATORS[name]
    if not names.is_place(name):
        raise unknown_name("evaluator", name, [*EVALUATORS, names.PLACE])
    return cast(Evaluator, names.part(name, "evaluator", Evaluator, "jaxgo.evaluators.Evaluator"))


__all__ = [
    "EVALUATORS",
    "Dirichlet",
    "Evaluation",
    "Evaluator",
    "Heuristic",
    "Likely",
    "Mix",
    "Network",
    "Noisy",
    "Params",
    "Race",
    "Rollout",
    "Solved",
    "Uniform",
    "find",
]
