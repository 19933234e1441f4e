"""The paper's Figure 4 for the large case: test error against the number of features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from common.page import DOCS

PICTURE = DOCS / "benchmarks" / "scale-large.png"
COLOURS = ("#0b5394", "#6fa8dc", "#38761d")


def draw(fits: Sequence[Any], who: Mapping[str, str]) -> None:
    """The path of GBFS at each penalty as a line, fits of LightGBM as points."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
    lines = {fit.penalty: fit for fit in fits if fit.who == "memory"}
    for colour, (penalty, fit) in zip(COLOURS, lines.items(), strict=False):
        sizes, errors = zip(*fit.found["curve"], strict=True)
        label = f"{who['memory']}, penalty {penalty:g}"
        axis.plot(sizes, [100 * e for e in errors], ".-", color=colour, label=label, lw=1.4)
    points = [fit.found["curve"][-1] for fit in fits if fit.who == "lightgbm"]
    sizes, errors = zip(*points, strict=True)
    axis.plot(sizes, [100 * e for e in errors], "D", color="#cc4125", label=who["lightgbm"])
    axis.xaxis.get_major_locator().set_params(integer=True)
    axis.set_xlabel("features", fontsize=9)
    axis.set_ylabel("test error, %", fontsize=9)
    axis.grid(alpha=0.25)
    axis.tick_params(labelsize=8)
    axis.legend(fontsize=8)
    figure.savefig(PICTURE, dpi=80)
    plt.close(figure)
