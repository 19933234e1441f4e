"""Gradient boosted feature selection: figures and tables

Xu, Huang, Weinberger and Zheng, KDD 2014. Every figure and table of the paper
that public data allow, made again by one command each.
"""

from __future__ import annotations

from papers.figure import Figure
from papers.gbfs_figures.curves import FIG3, FIG5, FIG6, FIG7
from papers.gbfs_figures.kdd import FIG4
from papers.gbfs_figures.simple import FIG1, FIG2

FIGURES: dict[str, Figure] = {
    "fig1": FIG1,
    "fig2": FIG2,
    "fig3": FIG3,
    "fig4": FIG4,
    "fig5": FIG5,
    "fig6": FIG6,
    "fig7": FIG7,
}
