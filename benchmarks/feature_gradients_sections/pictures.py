"""Figures 2 and 3 of the paper, and why a list of the best disappoints, beside the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from common.page import DOCS

from feature_gradients_sections import protocol

FOLDER = DOCS / "benchmarks"
SHOWN = (10, 40, 160)
PENALTY_PICTURE = "feature_gradients_penalty.png"


def curves(means: dict[str, list[float]], sizes: Any) -> None:
    """Test AUC against the number of features."""
    plt = _pyplot()
    figure, panel = plt.subplots(figsize=(5, 3.2), layout="constrained")
    for name, values in means.items():
        panel.plot(sizes, values, "o-" if name.startswith("order") else "s--", label=name, ms=3)
    panel.set(xlabel="features", ylabel="test AUC", xscale="log")
    panel.legend(fontsize=7)
    figure.savefig(FOLDER / "feature_gradients_auc.png", dpi=90)


def pixels(data: protocol.Set) -> None:
    """Where the selected pixels are, by ANOVA's F and by order 6."""
    plt = _pyplot()
    ranked = protocol.by_anova(data)
    figure, panels = plt.subplots(2, len(SHOWN), figsize=(5, 3.6), layout="constrained")
    found = protocol.by_gradients(data, SHOWN, 6)
    for column, size in enumerate(SHOWN):
        for row, features in enumerate((ranked[:size], found[column])):
            picture = np.zeros(784)
            picture[features] = 1.0
            panels[row, column].imshow(picture.reshape(28, 28), cmap="Greens")
            panels[row, column].set(xticks=[], yticks=[])
        panels[1, column].set_xlabel(f"{size} features")
    panels[0, 0].set_ylabel("ANOVA F")
    panels[1, 0].set_ylabel("order 6")
    figure.savefig(FOLDER / "feature_gradients_pixels.png", dpi=90)


def penalty_effect(panels: dict[str, dict[str, Any]], lines: Sequence[str]) -> None:
    """Accuracy of the best 20 by v against the size of the subset that they were taken from."""
    plt = _pyplot()
    figure, axes = plt.subplots(1, len(panels), figsize=(9, 3.4), layout="constrained")
    for panel, (name, found) in zip(axes, panels.items(), strict=True):
        searches = [each for each in found.values() if each["own"] and each["order"] == 4]
        epochs = sorted({each["epochs"] for each in searches if each["epochs"]})
        for n_epochs in epochs:
            some = [each for each in searches if each["epochs"] == n_epochs]
            place = [each["own"] for each in some], [each["accuracy"] for each in some]
            panel.plot(*place, "o-", label=f"epochs: {n_epochs}", ms=4)
        asked = next(each for each in searches if not each["epochs"])
        panel.plot(asked["own"], asked["accuracy"], "k*", ms=11, label="n_features=20")
        for line, style in zip(lines, ("-", "--", ":"), strict=False):
            panel.axhline(found[line]["accuracy"], color="grey", ls=style, lw=1, label=line)
        panel.set(xlabel="own subset of the search", xscale="log", title=name)
        panel.set(xlim=(0.8, 1.3 * found[lines[0]]["used"]))
    axes[0].set_ylabel("test accuracy of 20 features")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right", fontsize=7)
    figure.savefig(FOLDER / PENALTY_PICTURE, dpi=90)
    plt.close(figure)


def _pyplot() -> Any:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    return plt
