"""Boards that several games share: sets of cells in one word, rows of nibbles, stacks of discs."""
