"""Sections of `./dev bench answer`."""
