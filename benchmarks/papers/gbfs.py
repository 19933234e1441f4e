"""Gradient boosted feature selection: figures and tables

Xu, Huang, Weinberger and Zheng, KDD 2014. Every figure and table of the paper
that public data allow, made again by one command each.
"""

from __future__ import annotations

from papers.figure import Figure

FIGURES: dict[str, Figure] = {}
