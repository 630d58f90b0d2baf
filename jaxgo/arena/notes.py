"""What a reader of a tournament's results should know: who begins, who has no temperature, of what no precision is
asked, and which openings came again."""

from typing import Any

from jaxgo.arena.contest import Contest
from jaxgo.arena.ledger import Ledger
from jaxgo.arena.ratings import RatingTable
from jaxgo.arena.schedule import errors, groups
from jaxgo.core import play
from jaxgo.core.game import Game

NAMED = 3  # matches that a note names


def of_results(ledger: Ledger, table: RatingTable | None) -> list[str]:
    """All notes; `table` has the ratings so far, where a precision is asked of them."""
    rated = table if table is not None and set(ledger.names) <= set(table.agents) else None
    precise = [*_apart(rated, ledger), *_wide(rated, ledger)] if rated is not None else []
    return [*_begins(ledger.contest.game), *_cold(ledger.contest), *precise, *_repeats(ledger)]


def _begins(game: Game[Any]) -> list[str]:
    """Whom the table calls the first mover, where that is not who begins."""
    if int(play.begin(game).state.to_play) == 0:
        return []
    return ["seat 1 begins here: who moves first in this table is seat 0, in Go who has the stones of the handicap"]


def _cold(contest: Contest) -> list[str]:
    """Who has no temperature where there is one."""
    cold = [player.name for player in contest.players if not contest.draws(player)]
    if contest.temperature <= 0 or not cold:
        return []
    return [
        f"the temperature is none of {', '.join(cold)}: engines, players by the clock, alpha-beta and random play as "
        "ever"
    ]


def _apart(table: RatingTable, ledger: Ledger) -> list[str]:
    """Which agents a precision leaves alone, because nobody is near them."""
    found = groups(table, ledger.names)
    if len(found) < 2:
        return []
    listed = "; ".join(", ".join(ledger.names[i] for i in group) for group in found)
    return [
        f"between these groups nearly all games are won by the same side, so few were played: {listed}. "
        f"±{ledger.schedule.until:g} is asked within a group, against its mean or the anchor; "
        "bars of the whole table are wider"
    ]


def _wide(table: RatingTable, ledger: Ledger) -> list[str]:
    """A precision that the most pairs of a match did not reach."""
    asked, widest = ledger.schedule.until, float(errors(table, ledger.names).max())
    if widest <= asked:
        return []
    return [f"±{asked:g} was not reached: a bar of ±{widest:.0f} is left; --pairs is the most that are played"]


def _repeats(ledger: Ledger) -> list[str]:
    """What came of it that there are fewer openings than pairs."""
    most = ledger.openings.most
    if most is None:
        return []
    ended = [match for match in ledger.matches if not ledger.is_lucky(match) and ledger.done(match) >= most]
    again = max((ledger.done(match) for match in ledger.matches if ledger.is_lucky(match)), default=0)
    only = f"there {'is only 1 opening' if most == 1 else f'are only {most:,} different openings'}"
    notes = []
    if ended and most < ledger.schedule.pairs:
        some = ", ".join(" - ".join(ledger.names[i] for i in match) for match in ended[:NAMED])
        more = f" and {len(ended) - NAMED} more matches" if len(ended) > NAMED else ""
        notes.append(f"{only}, and without luck the same games would come again: {some}{more} ended after them")
    if again > most:
        were = "it was" if most == 1 else "they were"
        notes.append(f"{only} for {again:,} pairs; {were} played again, each time with other luck")
    return notes
