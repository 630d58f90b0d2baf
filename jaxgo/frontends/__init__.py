"""Ways to play: a session that holds a game and its players, and the translators around it."""
