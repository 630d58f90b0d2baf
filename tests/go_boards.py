"""Boards of Go for its tests: few different games, so that few programs are compiled."""

from support import perft_json

from jaxgo.games.go.rules import Go

KO = {"psk": "positional", "ssk": "situational", "simple": "simple"}
RULES = [(ko, suicide) for ko in KO.values() for suicide in (False, True)]


def golden(part):
    return perft_json()["go"][part]


def board(size, ko="positional", suicide=False, width=0):
    """A board whose limit no stored game reaches."""
    return Go(size, width, ko=ko, suicide=suicide, komi=0.5, move_limit=400 if size > 5 else 120)


def variant(name):
    """The game of a name such as `3x2_psk_nosuicide` (width x height) or `9_simple_nosuicide_komi0.5`."""
    size, ko, suicide = name.split("_")[:3]
    width, _, height = size.partition("x")
    width, height = int(width), int(height or width)
    return board(height, KO[ko], suicide == "suicide", 0 if width == height else width)
