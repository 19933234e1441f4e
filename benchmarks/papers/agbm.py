"""Scalable feature selection for (multitask) gradient boosted trees: figures and tables

Han, Rao, Sorokina and Subbian, AISTATS 2020. Every figure and table of the paper
that public data allow, made again by one command each.
"""

from __future__ import annotations

from papers.figure import Figure

FIGURES: dict[str, Figure] = {}
