"""Synthetic problems with known relevant features, and the data of the demonstration."""

from __future__ import annotations

from secateur.datasets.demo import Demo, load_demo
from secateur.datasets.synthetic import (
    Generated,
    make_grafting_a,
    make_grafting_b,
    make_grafting_c,
    make_nonlinear_pair,
    make_threshold_max,
    make_wide,
)

__all__ = [
    "Demo",
    "Generated",
    "load_demo",
    "make_grafting_a",
    "make_grafting_b",
    "make_grafting_c",
    "make_nonlinear_pair",
    "make_threshold_max",
    "make_wide",
]
