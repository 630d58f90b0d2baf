"""The documents are true: code runs, excerpts and tables are those of the code, links lead somewhere."""

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import games_page
import pytest

from jaxgo.games import GAMES

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md")])
BLOCK = re.compile(r"^```python *(\S*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.mark.slow
def test_the_code_of_the_readme_runs(capsys):
    blocks = BLOCK.findall((ROOT / "README.md").read_text())
    assert blocks
    for _, code in blocks:
        exec(compile(code, "README.md", "exec"), {})
    said = re.search(r"wins (\d+)% and loses (\d+)%", capsys.readouterr().out)
    assert said
    # random Connect Four: 55.6 % and 44.1 % of many games; five standard errors of 1,000
    assert abs(int(said[1]) - 55.6) < 8
    assert abs(int(said[2]) - 44.1) < 8


def test_the_excerpts_of_adding_a_game_are_in_the_files():
    blocks = BLOCK.findall((ROOT / "docs" / "adding-a-game.md").read_text())
    assert len(blocks) >= 8
    for path, code in blocks:
        assert f"\n{code}" in (ROOT / path).read_text(), f"{path} has no longer:\n{code}"


def test_the_page_of_games_is_up_to_date():
    assert games_page.PAGE.read_text() == games_page.page(), "run: uv run tools/games_page.py"


def test_the_readme_lists_every_game():
    assert games_page.readme_table() in (ROOT / "README.md").read_text(), "run: uv run tools/games_page.py"
    assert all(f"`{name}`" in games_page.readme_table() for name in GAMES)


def test_pictures_are_valid_and_complete():
    files = {path.stem: path for path in games_page.PICTURES.glob("*.svg")}
    assert set(files) == {games_page.shown(names) for names in games_page.families()}, "run: uv run tools/games_page.py"
    for path in files.values():
        assert ElementTree.parse(path).getroot().tag == "{http://www.w3.org/2000/svg}svg"


@pytest.mark.slow
@pytest.mark.parametrize("name", [games_page.shown(names) for names in games_page.families()])
def test_a_picture_is_up_to_date(name):
    assert (games_page.PICTURES / f"{name}.svg").read_text() == games_page.picture(name)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#\s]+)", page.read_text()):
        abroad = target.startswith("https://")
        assert abroad or (page.parent / target).exists(), f"{page.name} points to {target}, which is not there"
