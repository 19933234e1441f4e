"""Sections of `./dev bench leaderboard`."""
