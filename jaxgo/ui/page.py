"""The look of every page that is written for people: one file, no network, light or dark as the reader has it."""

from collections.abc import Sequence
from html import escape

STYLE = """
body{font:15px/1.5 ui-sans-serif,system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
body{color:#222;background:#fff}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}table{border-collapse:collapse}
td,th{padding:.15rem .8rem .15rem 0;text-align:left;vertical-align:top}th{color:#777;font-weight:400}
td.n{text-align:right;font-variant-numeric:tabular-nums}.row{display:flex;flex-wrap:wrap;gap:2rem}
.bar{display:inline-block;height:.7em;background:#4878a8}code{font-size:.9em;overflow-wrap:anywhere}
figure{margin:0;max-width:24rem}figure svg{width:100%;height:auto}
.curves{overflow-x:auto}.curves svg{width:100%;min-width:44rem;height:auto;fill:currentColor}
@media (max-width:40rem){table{display:block;overflow-x:auto}}
@media (prefers-color-scheme:dark){body{color:#ddd;background:#15181c}th{color:#999}}
"""


def page(title: str, parts: Sequence[str], style: str = "") -> str:
    """A whole page from the parts of its body, with what `style` adds to the look."""
    body, head = "\n".join(parts), '<meta name="viewport" content="width=device-width">'
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">{head}\n'
        f"<title>jaxgo: {escape(title)}</title>\n<style>{STYLE}{style}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )
