"""Games for judging: openings, matches in one jitted program, tournaments, records, ratings."""
