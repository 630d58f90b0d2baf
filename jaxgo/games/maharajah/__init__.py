"""Maharajah and the Sepoys: the rules, and how its pieces move."""
