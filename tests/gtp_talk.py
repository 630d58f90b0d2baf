"""A GTP engine that is talked to without a pipe."""

from jaxgo.frontends import gtp
from jaxgo.frontends.gtp_engine import GtpEngine
from jaxgo.games import make


class Talk:
    """An engine and what it has said."""

    def __init__(self, name, player="random", **more):
        self.said = []
        self.engine = GtpEngine(make(name), name, player, write=self.said.append, **more)
        self.engine.warm_up()

    def ask(self, line):
        """The answer to a line, without the empty line at its end."""
        self.said.clear()
        gtp.take(self.engine, line)
        text = "".join(self.said)
        assert not text or (text.endswith("\n\n") and text.count("\n\n") == 1 and text[0] in "=?")
        return text[:-2]
