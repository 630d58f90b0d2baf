"""The page to play on: a server of one process, its protocol, and what a browser is sent."""
