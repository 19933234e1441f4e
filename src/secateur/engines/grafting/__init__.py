"""Grafting: weights leave zero where the gradient says so, and the free ones are fitted again."""
