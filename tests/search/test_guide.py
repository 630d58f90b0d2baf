"""The guide to adding a search shows what is in the files."""

import re
from pathlib import Path

from jaxgo.search import PRESETS, SEARCHES

ROOT = Path(__file__).parents[2]


def test_the_excerpts_of_adding_a_search_are_in_the_files():
    page = (ROOT / "docs" / "adding-a-search.md").read_text()
    blocks = re.findall(r"^```python *(\S+)\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 6
    for path, code in blocks:
        assert f"\n{code}" in (ROOT / path).read_text(), f"{path} has no longer:\n{code}"


def test_the_page_of_searches_names_them_all():
    page = (ROOT / "docs" / "search.md").read_text()
    assert all(f"`{name}`" in page for name in (*SEARCHES, *PRESETS))
