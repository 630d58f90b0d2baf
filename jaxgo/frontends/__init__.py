"""People and protocols: what turns a game into something to look at and to type at."""
