"""Chess and its relatives: the rules, how the men move, how moves are numbered, and positions as FEN."""
