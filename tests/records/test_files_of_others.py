"""What other programs and people write: files that keep to no rule by the letter, and some that nobody writes."""

import pytest

from jaxgo.core.errors import UsageError
from jaxgo.records import sgf, sgf_nodes


def test_a_value_that_does_not_end_is_looked_for_once():
    """Each of these would be looked for up to the end of the file again, which would take hours."""
    for text, told in (
        ("(;GM[1]\n;C" + "[" * 300_000, "line 2: a value without its"),
        ("(;GM[1])\n" + "[" * 300_000, ""),
    ):
        assert [line for line, _ in sgf_nodes.games(text)] == [1]
        if told:
            with pytest.raises(UsageError, match=told):
                sgf.read_all(text)
    assert len(sgf.read_all("(;GM[1])\n\nThe next one, by Ann:\n\n(;GM[1])")) == 2
