"""A training loop of your own on jaxgo's parts, without a run folder: what `jaxgo train` does, on one device.

Arrays go from part to part: self-play makes plies, labels make samples of them, the ring keeps samples, and the learner
learns from what is drawn. Two programs are jitted, and every key is an argument.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp

from jaxgo.evaluators import Network
from jaxgo.games import make
from jaxgo.nets import Mlp
from jaxgo.players import load_player
from jaxgo.search import Gumbel, Model
from jaxgo.selfplay import Selfplay, SelfplayConfig
from jaxgo.training import replay, targets
from jaxgo.training.config import LearnerConfig, ReplayConfig, TargetsConfig
from jaxgo.training.learner import Learner, make_batch

ITERATIONS, UPDATES = 6, 4
GAME = make("tictactoe")
LABELS, RING = TargetsConfig(heads=()), ReplayConfig(capacity=1024, start=64)
NET = Mlp(width=32, blocks=1).module(GAME)
LEARNER = Learner(NET, (), LearnerConfig(batch=32, warmup=4))
MODEL = Model(GAME, Network(NET))
PLAYER = Selfplay(Gumbel(simulations=4, max_considered=4), MODEL, SelfplayConfig(games=16, steps=4, opening_plies=2))


@jax.jit
def play(params: Any, games: Any, window: Any, ring: Any, key: Any) -> Any:
    """Some plies of every game; the samples that are ready go into the ring."""
    games, plies, _ = PLAYER.collect(params, games, key)
    window, samples, present = targets.make_samples(LABELS, (), window, plies)
    return games, window, replay.add(ring, replay.NewSamples(samples, present))


@jax.jit
def learn(learner: Any, ring: Any, key: Any) -> Any:
    """Some steps of the learner, on samples drawn by weight and turned by symmetries."""
    draw, turn = jax.random.split(key)
    places = replay.draw(RING, ring, draw, UPDATES, LEARNER.config.batch, 1)

    def step(learner: Any, one: Any) -> Any:
        place, key = one
        return LEARNER.update(learner, make_batch(GAME, (), key, replay.read(ring, place)))

    return jax.lax.scan(step, learner, (places, jax.random.split(turn, UPDATES)))


def begin(key: Any) -> Any:
    """The games, the plies that wait for the end of theirs, an empty ring, and untrained weights."""
    games = PLAYER.begin(key, PLAYER.config.games)
    params = MODEL.init(key)
    _, plies, _ = jax.eval_shape(PLAYER.collect, params, games, key)
    window = targets.empty_window(plies, GAME.max_plies)
    label = functools.partial(targets.make_samples, LABELS, ())
    _, samples, _ = jax.eval_shape(label, window, plies)
    return games, window, replay.empty(samples, RING.capacity), LEARNER.begin(params)


def main() -> None:
    key = jax.random.key(0)
    games, window, ring, learner = jax.jit(begin)(key)
    for iteration in range(ITERATIONS):
        now = jax.random.fold_in(key, iteration)
        games, window, ring = play(learner.average, games, window, ring, now)
        if int(ring.seen[0]) >= RING.start:
            learner, told = learn(learner, ring, jax.random.fold_in(now, 1))
            print(f"iteration {iteration}: {int(ring.seen[0])} samples, loss {float(told['loss'].mean()):.3f}")
    # the weights are plain arrays: play them with any search
    root = MODEL.start(key, 1)
    found = PLAYER.search.quiet().run(MODEL, learner.average, key, root)
    other = load_player("uct:50", GAME)
    answer = other.search.run(other.model, other.params, key, root)
    print("begins at", GAME.action_name(int(found.action[0])), "and uct:50 at", GAME.action_name(int(answer.action[0])))
    assert bool(jnp.isfinite(found.value).all())


if __name__ == "__main__":
    main()
