"""Sections of the benchmark of scale."""
