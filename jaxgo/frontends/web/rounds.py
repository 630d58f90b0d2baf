"""One game after another, with a pause between them."""

import dataclasses
import threading
from collections.abc import Callable


@dataclasses.dataclass
class Rounds:
    """Whether the next game begins by itself, and how many seconds after the end of one."""

    on: bool = False
    delay: float = 3.0
    pause: threading.Timer | None = None

    def wait(self, again: Callable[[], None]) -> None:
        """Calls `again` after the pause, from a thread of its own, unless somebody ends this before."""
        self.wait_no_more()
        self.pause = threading.Timer(self.delay, again)
        self.pause.daemon = True
        self.pause.start()

    def wait_no_more(self) -> None:
        if self.pause:
            self.pause.cancel()
            self.pause = None

    @property
    def due(self) -> bool:
        """Whether this thread is that of the pause, and the pause was not ended while it had to wait for a lock."""
        return self.on and threading.current_thread() is self.pause
