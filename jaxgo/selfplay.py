"""Games for learning: they live on the device and never end together."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class SelfplayConfig:
    """How games are played to learn from."""

    games: int = 256  # at once, all devices together
    steps: int = 16  # plies of one iteration
    cheap: int = 0  # simulations of a cheap search; 0: every search is full
    full: float = 0.25  # share of full searches where there are cheap ones
    heat: float = 1.0  # temperature of the first plies
    cool: float = 0.2  # what it falls to
    half_life: float = 10.0  # plies in which the temperature above `cool` halves
    opening: float = 0.5  # share of games that begin with random moves
    opening_plies: int = 8  # at most
    resign: float = 0.0  # value from which a game is given up, such as 0.95; 0: never
    play_on: float = 0.1  # share of games that are played on all the same, to measure
    horizon: int = 0  # plies that wait for the end of their game before they are labelled; 0: as many as there can be
