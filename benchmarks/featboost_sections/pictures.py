"""The pictures of the page: small, beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import MaxNLocator

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "benchmarks"
COLOURS = ("#0b5394", "#6fa8dc", "#888888", "#cc4125", "#38761d", "#8e7cc3")
DPI = 80


def draw_curves(name: str, results: dict[str, list[dict[str, Any]]], validators: list[str]) -> None:
    """A panel for each validator: accuracy on held-out rows against the number of features."""
    figure, axes = plt.subplots(
        1, len(validators), figsize=(10.5, 3.6), sharey=True, layout="constrained"
    )
    for axis, validator in zip(axes, validators, strict=True):
        for colour, (method, found) in zip(COLOURS, results.items(), strict=False):
            sizes, values = _mean_curve(found, validator)
            axis.plot(sizes, values, "o-", color=colour, label=method, markersize=3, lw=1.4)
        axis.set_title(f"{name}, {validator}", fontsize=9)
        axis.set_xlabel("features", fontsize=8)
        axis.grid(alpha=0.25)
        axis.tick_params(labelsize=7)
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes[0].set_ylabel("accuracy", fontsize=8)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, fontsize=8, loc="outside lower center", ncols=len(labels))
    _save(figure, f"featboost-{name}.png")


def _mean_curve(found: list[dict[str, Any]], validator: str) -> tuple[list[int], list[float]]:
    """Means over the folds at the sizes that all folds reach."""
    done = [each for each in found if each["order"]]
    if not done:
        return [], []
    shared = min((each["sizes"] for each in done), key=len)
    curves = [each["accuracy"][validator][: len(shared)] for each in done]
    return shared, [float(value) for value in np.mean(curves, axis=0)]


def draw_variants(name: str, results: dict[str, list[dict[str, Any]]]) -> None:
    """Two panels for the first fold: candidates with ranks; weights with resets as rings."""
    figure, axes = plt.subplots(1, 2, figsize=(9.0, 3.6), sharey=True, layout="constrained")
    for colour, (variant, found) in zip(COLOURS, results.items(), strict=False):
        first = found[0]
        values = first["held_out"]
        axis = axes[0] if variant.startswith("m =") else axes[1]
        sizes = np.arange(1, len(values) + 1)
        axis.plot(sizes, values, ".-", color=colour, label=variant, lw=1.4)
        if variant.startswith("m = 50"):
            for size, value, rank in zip(sizes, values, first["ranks"], strict=True):
                axis.annotate(str(rank), (size, value), fontsize=6, xytext=(0, 3),
                              textcoords="offset points", ha="center")  # fmt: skip
        after = np.array(first.get("after_reset", []), bool)
        if after.any():
            axis.plot(sizes[after], np.array(values)[after], "o", mfc="none", color=colour)
    axes[0].set_title(f"{name}: candidates (numbers: rank of the winner)", fontsize=9)
    axes[1].set_title(f"{name}: weights (rings: after a reset)", fontsize=9)
    for axis in axes:
        axis.set_xlabel("features", fontsize=8)
        axis.grid(alpha=0.25)
        axis.tick_params(labelsize=7)
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        axis.set_xlim(0.5, max(3.5, axis.get_xlim()[1]))  # one point alone has no scale
        axis.legend(fontsize=7, loc="lower right")
    axes[0].set_ylabel("1-NN accuracy, held out, first fold", fontsize=8)
    _save(figure, f"featboost-variants-{name}.png")


def _save(figure: Any, file: str) -> None:
    figure.savefig(FOLDER / file, dpi=DPI)
    plt.close(figure)
