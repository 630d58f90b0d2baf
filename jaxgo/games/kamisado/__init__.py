"""Kamisado: the rules, and the towers with their ways."""
