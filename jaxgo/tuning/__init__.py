"""Which numbers play best? An evolution strategy over a player's options and weights, by games against its like."""
