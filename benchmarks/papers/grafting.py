"""Grafting: figures and tables

Perkins, Lacker and Theiler, *Grafting: fast, incremental feature selection by gradient descent in
function space*, JMLR 2003. Every figure and table of the paper
that public data allow, made again by one command each.
"""

from __future__ import annotations

from papers.figure import Figure

FIGURES: dict[str, Figure] = {}
