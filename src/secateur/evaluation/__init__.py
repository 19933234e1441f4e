"""Honest scores: which rows judge, and what their verdict is worth."""
