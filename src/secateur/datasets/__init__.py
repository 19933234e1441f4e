"""Data sets: synthetic problems, the data of the demonstration, and those of the papers."""

from __future__ import annotations

from secateur.datasets.download import Fetched, fetch
from secateur.datasets.synthetic import (
    Demo,
    Generated,
    load_demo,
    make_grafting_a,
    make_grafting_b,
    make_grafting_c,
    make_nonlinear_pair,
    make_ranking,
    make_threshold_max,
    make_wide,
)

__all__ = [
    "Demo",
    "Fetched",
    "Generated",
    "fetch",
    "load_demo",
    "make_grafting_a",
    "make_grafting_b",
    "make_grafting_c",
    "make_nonlinear_pair",
    "make_ranking",
    "make_threshold_max",
    "make_wide",
]
