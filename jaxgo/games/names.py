"""Games as people name them on a command line: `go9`, with options such as `komi=5.5`."""

from collections.abc import Mapping, Sequence
from typing import Any

from jaxgo.core import trial
from jaxgo.core.errors import UsageError, as_field
from jaxgo.core.game import Game
from jaxgo.core.names import place_of
from jaxgo.core.words import Value, read_value, split_setting, write_settings
from jaxgo.games import GAMES, find, make, options_of


def read_game(name: str, options: Sequence[str] = ()) -> Game[Any]:
    """The game `name` with `options` such as "komi=5.5"; a UsageError on anything unknown."""
    game = make(name, **read_settings(name, _split(options)))
    trial.check_shapes(game)
    return game


def _split(options: Sequence[str]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for words in options:
        setting = split_setting(words)
        if setting is None:
            raise UsageError(f"option {words!r} is not of the form name=value, such as max_plies=100")
        if setting[0] in texts:
            raise UsageError(f"option {setting[0]} is given twice, as {texts[setting[0]]} and {setting[1]}; name one")
        texts[setting[0]] = setting[1]
    return texts


def read_settings(name: str, texts: Mapping[str, str]) -> dict[str, Value]:
    """The values of options that were typed, each of the kind that this game's own has."""
    usual = find(name)
    defaults = {name: as_field(field, getattr(usual, name)) for name, field in options_of(usual).items()}
    return {option: read_value(text, defaults.get(option)) for option, text in texts.items()}


def as_recorded(name: str, options: Sequence[str] = ()) -> tuple[str, tuple[str, ...]]:
    """A game as records have it, by its name and the options in which it differs from that: the same for equal games,
    however they were typed. One that is not in GAMES keeps its name."""
    game = make(name, **read_settings(name, _split(options)))
    name, differ = name_of(game) if name in GAMES else (name, _differences(find(name), game))
    return name, tuple(sorted(write_settings(differ)))


def describe_options(game: Game[Any]) -> str:
    """The options of a game and their values, as they are typed."""
    return " ".join(write_settings({name: getattr(game, name) for name in options_of(game)}))


def name_of(game: Game[Any]) -> tuple[str, dict[str, Any]]:
    """A name that `make` reads, and the options in which the game differs from it: the registered game that is most
    like it, or the place where its class is written."""
    best: tuple[str, dict[str, Any]] | None = None
    for name, known in GAMES.items():
        if type(known) is type(game):
            differ = _differences(known, game)
            if best is None or len(differ) < len(best[1]):
                best = name, differ
    if best is None:
        place = place_of(type(game))
        best = place, _differences(find(place), game)
    return best


def describe(game: Game[Any]) -> str:
    """The name of a game, with the options in which it differs, as they are typed."""
    name, options = name_of(game)
    return " ".join([name, *write_settings(options)])


def _differences(known: Game[Any], game: Game[Any]) -> dict[str, Any]:
    """The options in which `game` differs from a known one."""
    return {field: getattr(game, field) for field in options_of(game) if getattr(game, field) != getattr(known, field)}
