"""Writes docs/games.md, docs/pictures/ and the README's table of games: `uv run tools/games_page.py`.

Everything on the page comes from the code: the rules in brief are the docstrings of the file and of the class, and
the sizes are asked of the values.
"""

import inspect
import re
import textwrap
from itertools import groupby
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from jaxgo.core import choice, play
from jaxgo.core.game import Game, state_bytes
from jaxgo.games import GAMES
from jaxgo.games.names import describe_options
from jaxgo.ui import board_view, how_to_play

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "games.md"
README = ROOT / "README.md"
README_TABLE = re.compile(r"(?<=## The games\n\n)\|.*?\n(?=\n)", re.DOTALL)
PICTURES = ROOT / "docs" / "pictures"
WIDE = 120  # letters of a line
PLIES = 40  # a picture shows a random game after so many plies, or after a third of a short one

HEAD = """# The games

Written by `uv run tools/games_page.py` from the registry; do not edit. Names go into `jaxgo.make(name, **options)` and
`uv run jaxgo show name --option key=value`. "Bytes" is one state, as a search tree stores it; "symmetries" counts the
identity. The words are those of each game's file: what it is, how it is kept, and how it is played, as the page to play
on tells it. `uv run --extra benchmark benchmarks/rules.py` measures how fast they are.
"""
HEADINGS = ("name", "options", "board", "actions", "max plies", "bytes", "symmetries")
COLUMNS = f"| {' | '.join(HEADINGS)} |\n{'|---' * len(HEADINGS)}|"


def families() -> list[list[str]]:
    """The names in the order of the registry, those of one class together."""
    return [list(names) for _, names in groupby(GAMES, key=lambda name: type(GAMES[name]))]


def shown(names: list[str]) -> str:
    """The one of a family that has the picture: the largest board up to 9 x 9, or else the first."""
    small = [name for name in names if max(GAMES[name].picture) <= 9]
    return max(small or names[:1], key=lambda name: GAMES[name].picture)


def row(name: str, game: Game[Any]) -> str:
    height, width = game.picture
    numbers = (game.num_actions, game.max_plies, state_bytes(game), len(game.symmetries().cells))
    cells = [f"`{name}`", describe_options(game).replace(" ", ", "), f"{height}x{width}", *(f"{n:,}" for n in numbers)]
    return "| " + " | ".join(cells) + " |"


def words(name: str) -> str:
    """The rules in brief: what the file and the class of a game say of it. Aligned lines stay as they are."""
    family = type(GAMES[name])
    texts = (inspect.getdoc(inspect.getmodule(family)), inspect.getdoc(family))
    paragraphs = [p for text in texts if text for p in text.split("\n\n")]
    return "\n\n".join(f"```text\n{p}\n```" if re.search(r"\S {2,}\S", p) else p for p in paragraphs)


def rules(names: list[str]) -> str:
    """How a family is played: once for those whose rules differ in a number alone, by that which has the picture."""
    told = {name: how_to_play.rules(GAMES[name]) for name in [shown(names), *names]}
    kinds: dict[str, str] = {}
    for name, text in told.items():
        kinds.setdefault(re.sub(r"\d+(\.\d+)?", "", text), f"`{name}`: {text}" if len({*told.values()}) > 1 else text)
    return "\n\n".join(textwrap.fill(text, WIDE, break_on_hyphens=False) for text in kinds.values())


def section(names: list[str]) -> str:
    """One family: a picture, the rules in brief, and a row for each registered value."""
    family = type(GAMES[names[0]])
    rows = "\n".join(row(name, GAMES[name]) for name in names)
    figure = f"![a position of {shown(names)}](pictures/{shown(names)}.svg)"
    source = f"[source](../{family.__module__.replace('.', '/')}.py)"
    notation = how_to_play.notation(GAMES[names[0]])
    told = [words(names[0]), rules(names), notation, source, f"{COLUMNS}\n{rows}"]
    return "\n\n".join([f"## {', '.join(names)}", figure, *told]) + "\n"


def page() -> str:
    return "\n".join([HEAD, *map(section, families())])


def readme_table() -> str:
    """One line for each family: the names, and what its file says first."""
    lines = ["| names | the game |", "|---|---|"]
    for names in families():
        brief = " ".join(words(names[0]).split("\n\n")[0].split())
        lines.append(f"| {', '.join(f'`{name}`' for name in names)} | {brief} |")
    return "\n".join(lines) + "\n"


def picture(name: str) -> str:
    """A position of a random game, drawn; the same everywhere, because the choices are hashes."""
    game = GAMES[name]

    @jax.jit
    def tick(position: play.Position, number: jax.Array) -> tuple[play.Position, jax.Array]:
        action = choice.pick(play.legal(game, position), choice.word(number, jnp.int32(0)))
        return play.play(game, position, action)[0], action

    position, last = play.start(game, jax.random.key(0)), None
    for number in range(min(PLIES, game.max_plies // 3)):
        after, action = tick(position, jnp.int32(number))
        if bool(play.over(game, after)):
            break
        position, last = after, int(action)
    return board_view.svg(game, position.state, last=last)


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    PAGE.write_text(page())
    README.write_text(README_TABLE.sub(lambda _: readme_table(), README.read_text()))
    wanted = {f"{shown(names)}.svg" for names in families()}
    for old in PICTURES.glob("*.svg"):
        if old.name not in wanted:
            old.unlink()
    for names in families():
        (PICTURES / f"{shown(names)}.svg").write_text(picture(shown(names)))


if __name__ == "__main__":
    main()
