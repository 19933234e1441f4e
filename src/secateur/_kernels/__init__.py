"""Compiled loops over arrays: numba lives here and nowhere else."""

from secateur._kernels.code_cache import ensure_cache

ensure_cache()  # before any kernel is defined: numba chooses its folder then
