"""Learning from self-play: what a run is made of (`config`), and the loop that drives it (`loop`)."""
