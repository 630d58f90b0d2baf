"""The rules of Go by the names and in the words that files, GUIs and engines have for them. All of them count areas."""

import re

NAMED_RULES = {  # ko and suicide
    "tromp-taylor": ("positional", True),
    "nz": ("situational", True),
    "new-zealand": ("situational", True),
    "aga": ("situational", False),
    "bga": ("situational", False),
    "french": ("situational", False),
    "chinese": ("simple", False),  # as KataGo and GUIs mean it
    "chinese-ogs": ("positional", False),
    "cgos": ("positional", False),
}
WRITTEN = ("tromp-taylor", "nz", "aga", "chinese")  # the names that files have; other rules are told in KataGo's words
TOLD_RULES = re.compile(r"ko(simple|positional|situational)scoreareataxnonesui([01])\w*")
ONLY = {  # what KataGo's words may ask for besides, where there is no choice
    "scoring": "AREA",
    "tax": "NONE",
    "whiteHandicapBonus": "0",
    "hasButton": False,
    "friendlyPassOk": False,
}


def written(ko: str, suicide: bool) -> str:
    """How a file of SGF names these rules."""
    told = f"ko{ko.upper()}score{ONLY['scoring']}tax{ONLY['tax']}sui{suicide:d}"
    return next((name for name in WRITTEN if NAMED_RULES[name] == (ko, suicide)), told)


def read_written(text: str) -> tuple[str, bool] | None:
    """Ko and suicide by such a name; None where it is not known."""
    name = text.strip().lower()
    told = TOLD_RULES.fullmatch(name)
    return (told[1], told[2] == "1") if told else NAMED_RULES.get(name)
