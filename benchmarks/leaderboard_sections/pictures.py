"""The picture of mean ranks: methods that are joined by a bar do not differ clearly."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "benchmarks"


def draw_ranks(name: str, methods: Sequence[str], ranks: Any, difference: float) -> None:
    """Mean ranks, the best on top, with bars of one critical difference."""
    means = ranks.mean(axis=0)
    order = np.argsort(means, kind="stable")
    figure, axis = plt.subplots(figsize=(6.4, 0.8 + 0.26 * len(methods)), layout="constrained")
    for place, method in enumerate(order):
        colour = "#0b5394" if means[method] <= means[order[0]] + difference else "#999999"
        axis.plot(means[method], place, "o", color=colour)
        axis.hlines(place, means[method], means[method] + difference, color=colour, alpha=0.3)
    axis.axvline(means[order[0]] + difference, color="#cc4125", lw=0.8, ls=":")
    axis.set_yticks(range(len(order)), [methods[method] for method in order], fontsize=8)
    axis.invert_yaxis()
    axis.set_xlabel("mean rank; bars are one critical difference long", fontsize=8)
    axis.tick_params(labelsize=8)
    axis.grid(axis="x", alpha=0.25)
    figure.savefig(FOLDER / f"leaderboard-{name}.png", dpi=80)
    plt.close(figure)
