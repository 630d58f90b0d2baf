"""Which moves a search looks at: options that any search over a tree takes, applied where positions are judged.

What a game's threats say is exact: a move that `threats` leaves out loses at once and one that `doubles` leaves out a
move later, `vcf` and `vct` find wins that hold against every defence, so proofs stay proofs. What `breadth` and the
game's own pruning say is belief: the other moves stay legal, with a logit that puts them behind all candidates, and
nothing is ever proven from their absence.
"""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float32, Int32

from jaxgo.core.errors import UsageError
from jaxgo.core.game import Game
from jaxgo.search import forcing
from jaxgo.search import threats as proofs


@dataclasses.dataclass(frozen=True, kw_only=True)
class Narrowing:
    """Options of a search, all off by default."""

    breadth: int = 0  # candidates of a position: its likeliest moves; 0: all
    threats: bool = False  # where a game names threats: take a win, else stop the other seat's, before all else
    doubles: bool = False  # and else keep the other seat from a move that leaves two wins, such as an open four
    prune: bool = False  # the game's own pruning tells candidates from the rest
    vcf: int = 0  # where a game names threats: nodes of a proof by them at every position that is judged; 0: none
    vct: int = 0  # the same by threats that leave more of a choice, where those did not win

    def __post_init__(self) -> None:
        if min(self.breadth, self.vcf, self.vct) < 0:
            raise UsageError("breadth, vcf and vct of a search are at least 0")

    @property
    def narrowing(self) -> "Narrowing":
        """These options alone."""
        return Narrowing(**{field.name: getattr(self, field.name) for field in dataclasses.fields(Narrowing)})

    @property
    def narrows(self) -> bool:
        """Whether moves other than candidates may be legal."""
        return self.breadth > 0 or self.prune

    @property
    def proves(self) -> bool:
        """Whether wins are proven at every position that is judged."""
        return self.vcf > 0 or self.vct > 0

    def count(self, game: Game[Any], states: Any, legal: Bool[Array, "B A"]) -> Bool[Array, "B A"]:
        """The legal moves that do not lose at once or a move later, as far as they are asked for."""
        knows = (self.threats or self.doubles) and forcing.knows_threats(game)
        return forcing.narrowed(game, states, legal, self.doubles) if knows else legal

    def candidates(
        self, game: Game[Any], states: Any, legal: Bool[Array, "B A"], logits: Float32[Array, "B A"]
    ) -> Bool[Array, "B A"]:
        """The moves to look at before the others; some, wherever there are legal ones."""
        among = legal
        if self.prune:
            kept = jax.vmap(game.prune)(states, legal) & legal
            among = jnp.where(kept.any(axis=-1, keepdims=True), kept, legal)
        if 0 < self.breadth < legal.shape[1]:
            ranked = jnp.where(among, logits, -jnp.inf)
            least = jax.lax.top_k(ranked, self.breadth)[0][:, -1:]
            among &= ranked >= least
        return among

    def wins(
        self, game: Game[Any], platform: str, states: Any, legal: Bool[Array, "B A"], wanted: Bool[Array, " B"]
    ) -> tuple[Bool[Array, " B"], Int32[Array, " B"]]:
        """Where the mover is proven to win, and by which move."""
        won, move = jnp.zeros_like(wanted), jnp.zeros(wanted.shape, jnp.int32)
        for nodes, quiet in ((self.vcf, False), (self.vct, True)):
            if nodes:
                more, first = proofs.prove(game, states, legal, wanted & ~won, nodes, quiet=quiet, platform=platform)
                won, move = won | more, jnp.where(more, first, move)
        return won, move


ALL_MOVES = Narrowing()
