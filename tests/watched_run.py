"""A small run of training, as its folder looks while it goes on."""

import jax

from jaxgo.arena import games_file, records
from jaxgo.arena.records import PairResult
from jaxgo.evaluators.network import Network
from jaxgo.games import make
from jaxgo.nets import Mlp
from jaxgo.search.model import Model
from jaxgo.system.metrics import FILE, Metrics
from jaxgo.system.rundir import RunDir
from jaxgo.training.config import TrainConfig, to_json
from jaxgo.training.judge import GAMES, MATCHES
from jaxgo.training.loop import about

CONFIG = TrainConfig(game="tictactoe", net=Mlp(width=8, blocks=1))
LINE = ("a1", "a2", "b1", "b2", "c1")  # seat 0 wins


def begin(path):
    """The folder, without a word in it yet."""
    with RunDir(path, to_json(CONFIG)):
        pass
    return path


def train(path, iterations=range(1, 5)):
    """Some rows, and the beginning of one that is being written."""
    metrics = Metrics(path)
    for i in iterations:
        row = {"phase": "play", "seconds": 6.0 * i, "loss": {"total": 2.0 / i, "value": 1.0 / i}, "moves_s": 100.0 * i}
        metrics.write(i, row | ({"length": 7.5} if i > 1 else {}))
    metrics.close()
    with (path / FILE).open("a") as file:
        file.write('{"phase": "play", "iter')


def judge(path, step=4):
    """A judgement with its games; the matches end in half a line."""
    game, name = make("tictactoe"), f"step {step}"
    pair = PairResult("tictactoe", name, "random", 1.0, 0.0, f"tictactoe-{step}-0", number=0, opening=LINE[:1])
    actions = [game.parse_action(word) for word in LINE]
    games_file.save(path / GAMES, game, pair, actions[:1], [actions[1:]] * 2)
    with (path / MATCHES).open("a") as file:
        file.write(records.to_line(pair) + '\n{"game": "tic')
    metrics = Metrics(path)
    elo = {"random": [0.0, 9.0], name: [50.0, 20.0], "nobody": [None, None]}
    metrics.write(step, {"phase": "judge", "seconds": 30.0, "player": name, "elo": elo})
    metrics.close()


def save_player(path, step=4):
    game = CONFIG.make_game()
    params = jax.jit(Model(game, Network(CONFIG.network.module(game))).init)(jax.random.key(1))
    with RunDir(path, to_json(CONFIG)) as run:
        run.save_weights(step, params, about(CONFIG))
