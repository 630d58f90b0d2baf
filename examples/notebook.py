# %% [markdown]
# A notebook as cells: open it in an editor that knows `# %%`, or run it as a script. It draws boards, what searches
# think, ratings and the curves of a small run.

# %%
import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp

import jaxgo
from jaxgo.system.metrics import read_rows
from jaxgo.training.config import Budget, JudgeConfig, LearnerConfig, ReplayConfig, to_json
from jaxgo.ui.notebook import curves

# %% [markdown]
# A batch of boards: two games of tic-tac-toe, one move old.

# %%
game = jaxgo.make("tictactoe")
player = jaxgo.load_player("uct:64", game)
positions, _ = jax.jit(player.model.play)(player.model.start(jax.random.key(0), 2), jnp.array([4, 0]))
board = jaxgo.draw(game, positions, lane=1)
board

# %% [markdown]
# What a search thinks of both at once; the table is of one of them.

# %%
search = jax.jit(lambda key: player.search.run(player.model, player.params, key, positions))
found = search(jax.random.key(1))
table = jaxgo.thoughts(game, found, lane=1)
table

# %% [markdown]
# A match, every opening from both seats, and ratings with their error bars.

# %%
rival = jaxgo.load_player("random", game)
openings, _ = jax.jit(player.model.play)(player.model.start(jax.random.key(2), 9), jnp.arange(9))
score = jaxgo.play_match(player, rival, jax.random.key(3), openings)
pairs = [
    jaxgo.PairResult("tictactoe", player.name, rival.name, float(first), float(second), id="")
    for first, second in zip(score.first, score.second, strict=True)
]
ratings = jaxgo.ladder(jaxgo.rate(pairs))
ratings

# %% [markdown]
# A run of some seconds, and its curves.

# %%
config = jaxgo.TrainConfig(
    game=game,
    net=jaxgo.Mlp(width=32, blocks=1),
    search=jaxgo.Gumbel(simulations=4, max_considered=4),
    selfplay=jaxgo.SelfplayConfig(games=32, steps=8, opening_plies=2),
    learner=LearnerConfig(batch=64, warmup=4),
    replay=ReplayConfig(capacity=4096, start=256),
    judge=JudgeConfig(opponents=(), final=()),
    budget=Budget(seconds=0.0, iterations=30),
)
with tempfile.TemporaryDirectory() as folder:
    place = Path(folder) / "run"
    with jaxgo.RunDir(place, to_json(config)) as run:
        jaxgo.train(config, run)
    drawn = curves(read_rows(place))
drawn

# %%
print(len(board.svg), "characters of a board,", len(drawn.svg), "of curves; the match:", f"{score.mean:.0%}")
