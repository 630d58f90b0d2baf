"""What is the truth? Exact solutions: shortest ways through puzzles, and games of two worked out to the end."""
