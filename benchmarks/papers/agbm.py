"""Scalable feature selection for (multitask) gradient boosted trees: figures and tables

Han, Rao, Sorokina and Subbian, AISTATS 2020. Every figure and table of the paper
that public data allow, made again by one command each.
"""

from __future__ import annotations

from papers.agbm_figures.comparison import FIG2, FIG3, TABLE3
from papers.agbm_figures.ranking import TABLE4
from papers.agbm_figures.recall import FIG1
from papers.agbm_figures.tasks import FIG4
from papers.figure import Figure

FIGURES: dict[str, Figure] = {
    "fig1": FIG1,
    "table3": TABLE3,
    "fig2": FIG2,
    "fig3": FIG3,
    "table4": TABLE4,
    "fig4": FIG4,
}
