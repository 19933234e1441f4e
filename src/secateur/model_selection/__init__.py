"""Folds, scorers, held-out scores, stability and the comparison of methods."""
