"""`jaxgo export`: weights as files for other programs, and back."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from jaxgo.cli.command import bring, reader
from jaxgo.core.errors import UsageError

KINDS = (".safetensors", ".onnx", ".npz")


@dataclass(frozen=True)
class Export:
    """Write the weights of a run, or a file of them, as another kind of file."""

    weights: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="WEIGHTS")]
    """A run (runs/go9, its newest weights), a step of it (runs/go9/120), a file of weights, or a shipped name."""
    to: Annotated[Path, tyro.conf.arg(metavar="FILE")]
    """What to write: FILE.safetensors, FILE.onnx (planes in, logits and value out), or FILE.npz, jaxgo's own."""
    game: Annotated[str, tyro.conf.arg(metavar="GAME")] = ""
    """The game, if it is one of your own, such as examples.own_game:Nim: a file alone starts no code."""

    def run(self) -> int:
        from jaxgo.system.files import check_writable, write_whole
        from jaxgo.system.weights import digest, find_weights, metadata, save_weights

        bring(self.game)
        kind_of_file = self.to.suffix.lower()
        if kind_of_file not in KINDS:
            raise UsageError(f"--to {self.to} names no kind of file that is known here; end it in {', '.join(KINDS)}")
        place, about, params = find_weights(self.weights)
        try:
            game_name, kind = about["game"], about["net"]["kind"]
        except (KeyError, TypeError):
            raise UsageError(f"the weights of {self.weights} do not say which game and network they are of") from None
        if self.game and self.game != game_name:
            raise UsageError(f"the weights of {self.weights} are of {game_name}, not of {self.game}; leave out --game")
        check_writable(self.to)
        if kind_of_file == ".onnx":
            from jaxgo.nets.onnx_graph import to_onnx
            from jaxgo.players import network, trained

            game, net = trained(place, about)
            network(place, about, params, game)  # or it says what does not fit
            write_whole(self.to, to_onnx(net, game, params, metadata(params, about)))
        else:
            save_weights(self.to, params, about)
        step, code = about.get("step", "?"), digest(params)
        print(f"{self.to}: {game_name}, {kind}, step {step}, sha256 {code}")
        return 0


read = reader(Export)
