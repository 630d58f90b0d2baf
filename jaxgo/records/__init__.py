"""Games in files: SGF for Go, Othello and Gomoku, Piskvork's PSQ, the text of Zero+, and one JSON for every game."""
