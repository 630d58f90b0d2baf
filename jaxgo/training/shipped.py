"""How the weights that come with jaxgo were made, where their preset alone does not say it."""

from collections.abc import Mapping
from types import MappingProxyType

# what one types besides the command to make these again: seeds and times that are not those of the preset; and since
# some were shipped, the ends of games have got their part in learning, and processors round the factors of products
EXACT = "--net.precision float32"
THEN = f"{EXACT} --learner.head-weight 0.15"
MADE_WITH: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(
            (
                "archimedes-cpu",
                "connect3d-cpu",
                "dodgem3-cpu",
                "dodgem4-cpu",
                "dodgem5-cpu",
                "dodgem6-cpu",
                "kamisado-cpu",
                "maharajah-cpu",
                "minerace-cpu",
                "musketeers-cpu",
                "scorefour-cpu",
            ),
            EXACT,
        ),
        "connect4-cpu": f"--targets.heads short {THEN} --selfplay.opening 0.8 --selfplay.opening-plies 24",
        "connect4-long-cpu": f"{EXACT} --seed 1",
        "connect4-late-cpu": f"{EXACT} --seed 11",
        "connect4-gpu": "--seed 1",
        "connect4-late-gpu": "--seed 2",
        **dict.fromkeys(("go5-cpu", "go7-cpu", "go9-cpu", "go9-late-cpu", "go13-cpu"), THEN),
        "go9-later-cpu": f"--seed 3 {THEN}",
        "go9-last-cpu": f"--seed 5 {THEN}",
        "go9-deep-cpu": f"--seed 7 {THEN}",
        "go9-gpu": "--seed 1",
        "go9-late-gpu": "--seed 2",
        "go13-late-cpu": f"{EXACT} --seed 4",
        "go13-gpu": "--seed 1",
        "gomoku9-cpu": f"{EXACT} --seed 1 --budget.seconds 3168",
        "gomoku15-cpu": f"{EXACT} --seed 1 --budget.seconds 6708",
        "othello-cpu": f"{EXACT} --seed 1 --budget.seconds 3795",
        "othello-late-cpu": f"{EXACT} --seed 2",
        "hex7-cpu": f"{EXACT} --seed 1",
        "breakthrough-cpu": f"{EXACT} --seed 1",
        "kono-cpu": f"{EXACT} --seed 1 --budget.seconds 1440",
        "kono-long-cpu": f"{EXACT} --seed 1",
    }
)
