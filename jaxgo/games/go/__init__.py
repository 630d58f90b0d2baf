"""Go: the rules, the board they run on, superko, and what a network sees."""
