"""Hooks of the site: README is its first page, and files outside of docs/ are named instead of linked."""

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

import jaxgo

ROOT = Path(__file__).parents[1]
PUBLIC = re.compile(r"^@ (\w+)$", re.MULTILINE)  # a public name in api.md
OUTSIDE = re.compile(r"\[([^\]]+)\]\((?:\.\./)+([^)#]+)[^)]*\)")
TO_DOCS = re.compile(r"\]\(docs/")
FROM_ROOT = re.compile(r"\[([^\]]+)\]\(((?:[A-Za-z][\w-]*/)*[\w.-]+\.(?:md|py))\)")


def on_files(files: Files, config: Any) -> Files:
    """Adds README.md as the first page."""
    files.append(File.generated(config, "index.md", content=_first_page()))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Links that leave docs/ would lead nowhere on the site."""
    markdown = PUBLIC.sub(lambda m: f"::: {jaxgo.HOMES[m[1]]}.{m[1]}\n    options:\n      heading: {m[1]}", markdown)
    inside = page.file.src_uri.startswith("decisions/")
    return re.sub(
        OUTSIDE, lambda m: m[0] if inside and (ROOT / "docs" / m[2]).exists() else f"{m[1]} (`{m[2]}`)", markdown
    )


def _first_page() -> str:
    text = TO_DOCS.sub("](", (ROOT / "README.md").read_text()).replace('src="docs/', 'src="')
    docs = ROOT / "docs"
    return FROM_ROOT.sub(lambda m: m[0] if (docs / m[2]).exists() else f"{m[1]} (`{m[2]}`)", text)
