"""FeatBoost and IIS: figures and tables

Alsahaf, Petkov, Shenoy and Azzopardi, *A framework for feature selection through boosting*,
chapter 4 of Alsahaf's thesis, 2020. Every figure and table of the paper
that public data allow, made again by one command each.
"""

from __future__ import annotations

from papers.figure import Figure

FIGURES: dict[str, Figure] = {}
