"""Gomoku and its relatives: the rules, lines of five, renju's forbidden points, openings, scores of points."""
