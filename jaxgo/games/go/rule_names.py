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
    "chinese-kgs": ("positional", False),
    "cgos": ("positional", False),
}
WRITTEN = ("tromp-taylor", "nz", "aga", "chinese")  # the names that files have; other rules are told in KataGo's words
TOLD_RULES = re.compile(r"ko(simple|positional|situational)scoreareataxnonesui([01])\w*")
ONLY = {  # what KataGo's words may ask for besides, where there is no choice
    "scoring": "AREA",
    "tax": "NONE",
    "hasButton": False,
}
IDLE = ("whiteHandicapBonus", "friendlyPassOk")  # of a handicap's points, and of when to pass: the board is the same


def written(ko: str, suicide: bool) -> str:
    """How a file of SGF names these rules."""
    told = f"ko{ko.upper()}score{ONLY['scoring']}tax{ONLY['tax']}sui{suicide:d}"
    return next((name for name in WRITTEN if NAMED_RULES[name] == (ko, suicide)), told)


def named(text: str) -> tuple[str, bool] | None:
    """Ko and suicide by their name, however it is spelled; None where it is not known."""
    return NAMED_RULES.get("-".join(re.split(r"[\s_-]+", text.strip().lower())))


def read_written(text: str) -> tuple[str, bool] | None:
    """The same by a name as files have it."""
    told = TOLD_RULES.fullmatch(text.strip().lower())
    return (told[1], told[2] == "1") if told else named(text)
