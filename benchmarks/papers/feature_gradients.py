"""Feature Gradients: figures and tables

Sheth and Fusi, *Feature Gradients: scalable feature selection via discrete relaxation*. Every
figure and table of the paper that public data allow, made again by one command each.
"""

from __future__ import annotations

from papers.figure import Figure

FIGURES: dict[str, Figure] = {}
