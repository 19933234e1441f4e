"""Compiled loops over arrays: numba lives here and nowhere else."""
