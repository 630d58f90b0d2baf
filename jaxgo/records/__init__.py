"""Games in files: SGF for Go, Othello, Gomoku and Hex, PGN for chess, Piskvork's PSQ, the text of Zero+, one JSON for
every game, and the text of matches."""
