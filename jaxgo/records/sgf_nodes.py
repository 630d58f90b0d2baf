"""The syntax of SGF, file format 4: properties and their values, node by node along the first line of play.

Everything up to the first closing bracket is that line; what follows is looked at only for its brackets.
"""

import dataclasses
import re
from collections.abc import Iterator

from jaxgo.core.errors import UsageError

TOKEN = re.compile(
    r"(?P<blank>\s+)|(?P<sign>[();])|(?P<name>[A-Za-z][A-Za-z0-9]*)|(?P<value>\[(?:\\.|[^\]\\])*\])|(?P<bad>.)",
    re.DOTALL,
)
DEEPEST = 1000  # variations inside variations


@dataclasses.dataclass
class Node:
    """The properties of one node, and the line of the file where it begins."""

    line: int
    values: dict[str, list[str]] = dataclasses.field(default_factory=dict)

    def first(self, name: str, default: str = "") -> str:
        return self.values.get(name, [default])[0]


def main_line(text: str, first: int = 1) -> Iterator[Node]:
    """The nodes of the first line of the first game, as far as they are asked for; the text begins with this line of
    its file."""
    found = re.search(r"\(\s*;", text)  # a letter may stand before it, with brackets of its own
    start = found.start() if found else text.find("(")
    if start < 0:
        raise UsageError(f"line {first}: this is no SGF: there is no '(' in it")
    node: Node | None = None
    name, depth, inside = "", 0, True
    for line, kind, word in _tokens(text, start, first):
        if word in ("(", ")"):
            depth += 1 if word == "(" else -1
            if depth > DEEPEST:
                raise UsageError(f"line {line}: more than {DEEPEST} variations inside each other")
            if word == ")" and inside:
                inside = False
                if node:
                    yield node
            if depth == 0:
                return
            name = ""
        elif inside and word == ";":
            if node:
                yield node
            node, name = Node(line), ""
        elif inside:
            name = _property(node, name, line, kind, word)
    raise UsageError(f"line {first + text.count(chr(10))}: the file ends inside the game; a ')' is missing")


def games(text: str) -> Iterator[tuple[int, str]]:
    """Each game of a file as a text of its own, with the line where it begins. One that does not end goes on to the end
    of the file."""
    found = re.search(r"\(\s*;", text)
    depth, begun = 0, 0
    line, counted = 1, 0  # the line of `begun`, and the place to which lines are counted
    for token in TOKEN.finditer(text, found.start() if found else len(text)):
        if token["bad"] == "[" or (token["bad"] and depth):  # nothing can be read behind it
            break
        if token["sign"] == "(":
            if depth == 0:
                begun = token.start()
                line += text.count("\n", counted, begun)
                counted = begun
            depth += 1
        elif token["sign"] == ")" and depth:
            depth -= 1
            if depth == 0:
                yield line, text[begun : token.end()]
    if depth or not found:
        yield line, text[begun:]


def _property(node: Node | None, name: str, line: int, kind: str, word: str) -> str:
    """Takes a name or a value into the node, and returns the name that further values belong to."""
    if node is None:
        raise UsageError(f"line {line}: {word[:20]!r} before the first ';'")
    if kind == "name":
        return "".join(letter for letter in word if not letter.islower()) or word.upper()  # FF[1] wrote `Black`
    if not name:
        raise UsageError(f"line {line}: the value {word[:20]!r} has no name before it")
    node.values.setdefault(name, []).append(unescape(word[1:-1]))
    return name


def _tokens(text: str, start: int, line: int) -> Iterator[tuple[int, str, str]]:
    line += text.count("\n", 0, start)
    for found in TOKEN.finditer(text, start):
        kind, word = str(found.lastgroup), found.group()
        if kind == "bad":
            what = "a value without its ']'" if word == "[" else f"{word!r} where none belongs"
            raise UsageError(f"line {line}: {what}")
        if kind != "blank":
            yield line, kind, word
        line += word.count("\n")


def unescape(text: str) -> str:
    """What a value says: a backslash makes the next character plain, or takes a line break away."""
    return re.sub(r"\\(\r\n|\n\r|\r|\n|.)", lambda found: found[1].strip("\r\n"), text, flags=re.DOTALL)


def escape(text: str) -> str:
    """A text that can stand as a value."""
    return text.replace("\\", "\\\\").replace("]", "\\]")
