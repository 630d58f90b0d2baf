"""`jaxgo weights`: the weights that come with jaxgo, what they cost, how they play, and whether they are whole."""

import dataclasses
import json
import sys
from typing import Annotated, Any

import tyro

from jaxgo.cli.command import columns, reader
from jaxgo.core.words import write_settings
from jaxgo.training.shipped import MADE_WITH

DAMAGED = 1  # the exit status where weights are not what was shipped
ANCHOR = "uct:400"  # whose rating stands beside


@dataclasses.dataclass(frozen=True)
class ListWeights:
    """List the weights that come with jaxgo: game, cost, rating, and whether their checksum holds."""

    name: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="NAME")] = ()
    """Tell all that is known of these; none: a line for each there is."""
    json: bool = False
    """Print one JSON object for each of them."""

    def run(self) -> int:
        from jaxgo.core.errors import unknown_name
        from jaxgo.system.weights import shipped

        for name in self.name:
            if name not in shipped():
                raise unknown_name("weights", name, shipped())
        notes = [_note(name) for name in self.name or shipped()]
        if self.json:
            for note in notes:
                print(json.dumps(note))
        elif self.name:
            for note in notes:
                _tell(note)
        else:
            _table(notes)
        for note in notes:
            if note["fault"]:
                print(note["fault"], file=sys.stderr if self.json else sys.stdout)
        return DAMAGED if any(note["fault"] for note in notes) else 0


def _note(name: str) -> dict[str, Any]:
    """What the file says of itself, its size, and what is wrong with it."""
    from jaxgo.core.errors import UsageError
    from jaxgo.system.weights import SHIPPED, digest, read_weights

    path = SHIPPED / f"{name}.npz"
    try:
        about, params = read_weights(path)
    except UsageError as error:
        return {"name": name, "fault": str(error)}
    made = about.get("made", {})
    if name in MADE_WITH:
        about = {**about, "made": {**made, "command": f"{made.get('command')} {MADE_WITH[name]}"}}
    sha256, told = digest(params), made.get("sha256")
    fault = "" if told == sha256 else f"{path} holds other arrays than were shipped; install jaxgo again"
    return {"name": name, **about, "sha256": sha256, "bytes": path.stat().st_size, "fault": fault}


def _rating(made: dict[str, Any], agent: str) -> str:
    """A rating in words; that of an agent who is held fixed has no error."""
    from jaxgo.arena.ratings import Estimate

    value, error = made.get("elo", {}).get(agent, (None, None))
    return "" if value is None else str(Estimate(float(value), float(error))) if error else f"{value:+.0f}"


def _table(notes: list[dict[str, Any]]) -> None:
    rows = [("name", "game", "kB", "minutes", "Elo ± 95 %", ANCHOR, "sha256")]
    for note in notes:
        made = note.get("made", {})
        minutes = f"{made.get('seconds', 0) / 60:.1f}"
        elo = _rating(made, str(made.get("player"))), _rating(made, ANCHOR)
        size, code = f"{note.get('bytes', 0) / 1000:.0f}", note.get("sha256", "")[:12]
        rows.append((note["name"], note.get("game", "?"), size, minutes, *elo, code))
    print(*columns(rows), sep="\n")
    print("play against one: jaxgo play --text GAME --agent @NAME; what it was made by: jaxgo weights NAME")


def _tell(note: dict[str, Any]) -> None:
    """All of it, a line each."""
    made = note.get("made", {})
    options = "".join(f" --option {setting}" for setting in write_settings(note.get("options", {})))
    lines = {
        "game": f"{note.get('game')}{options}",
        "net": " ".join(write_settings(note.get("net", {}))),
        "player": f"{made.get('player')}",
        "command": f"{made.get('command')}",
        "cost": f"{made.get('seconds', 0) / 60:.1f} minutes on {made.get('machine')}, {made.get('iterations')} "
        f"iterations, {made.get('positions', 0):,} positions; jax {made.get('jax')}",
        "Elo": ", ".join(f"{agent} {_rating(made, agent)}" for agent in made.get("elo", {})),
        "sha256": f"{note.get('sha256')}",
    }
    print(note["name"])
    for word, text in lines.items():
        print(f"  {word:<8}{text}")


read = reader(ListWeights)
