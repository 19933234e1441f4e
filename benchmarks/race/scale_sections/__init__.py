"""Sections of the race of scale."""
