"""What is this position worth? The evaluators by name; a new one is one file in this folder and one line here.

`Network` and `Mix` are made of parts (a module, two judges), so they have no entry.
"""

from jaxgo.evaluators.base import Evaluation, Evaluator, Params
from jaxgo.evaluators.heuristic import Heuristic
from jaxgo.evaluators.mix import Mix
from jaxgo.evaluators.network import Network
from jaxgo.evaluators.rollout import Rollout
from jaxgo.evaluators.uniform import Uniform

EVALUATORS: dict[str, Evaluator] = {
    "uniform": Uniform(),
    "heuristic": Heuristic(),
    "rollout": Rollout(),
}

__all__ = ["EVALUATORS", "Evaluation", "Evaluator", "Heuristic", "Mix", "Network", "Params", "Rollout", "Uniform"]
