"""The line below the board: what it said last, and when it has to say something else."""

from collections.abc import Callable
from typing import Any


class StatusLine:
    """What the page shows of what goes on. `say` gives the words for now, `tell` sends them."""

    def __init__(self, say: Callable[[], str], tell: Callable[[dict[str, Any]], None]) -> None:
        self._say, self._tell = say, tell
        self._said, self._coming = "", ""
        self._looked: tuple[Any, ...] | None = None

    def now(self) -> str:
        return self._coming or self._say()

    def told(self, text: str) -> None:
        """The page has heard these words with something else; the next look compares with them."""
        self._said, self._looked = text, None

    def look(self, *seen: Any) -> None:
        """Tells the words where they are others by now, which they can be only where what is `seen` is."""
        if seen != self._looked:
            self._looked, said = seen, self.now()
            if said != self._said:
                self._said = said
                self._tell({"tell": "status", "text": said})

    def coming(self, text: str) -> None:
        """Says what is being done, which may take long, until it `came`."""
        self._coming = text
        self._tell({"tell": "status", "text": text})
        self.told(text)

    def came(self) -> None:
        """It is done, or refused."""
        if self._coming:
            self._coming, self._looked = "", None
