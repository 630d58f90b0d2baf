"""Games in files: SGF for Go and Gomoku, Piskvork's PSQ, and one JSON for every game."""
