"""The picture beside the experiments: three rows of bars, as in Figure 3 of the paper."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from common.page import DOCS

ROWS = (("error", "test error"), ("n_features", "features"), ("saliency", "saliency"))


def draw(
    means: Mapping[str, Mapping[str, Mapping[str, float]]], methods: Mapping[str, str]
) -> None:
    """Bars by problem and method, into docs/benchmarks/grafting.png."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(len(ROWS), 1, figsize=(8, 7), sharex=True, layout="constrained")
    colours = plt.get_cmap("tab10").colors
    width = 0.8 / len(methods)
    for axis, (fact, label) in zip(axes, ROWS, strict=True):
        for place, letter in enumerate(methods):
            x = np.arange(len(means)) + (place - len(methods) / 2 + 0.5) * width
            heights = [found.get(letter, {}).get(fact, np.nan) for found in means.values()]
            spread = [found.get(letter, {}).get("spread", np.nan) for found in means.values()]
            axis.bar(
                x,
                heights,
                width,
                color=colours[place],
                label=f"({letter}) {methods[letter]}",
                yerr=np.nan_to_num(spread) if fact == "error" else None,
            )
        axis.set_ylabel(label)
        axis.grid(axis="y", alpha=0.3)
    axes[1].set_yscale("log")
    axes[2].set_ylim(-1.05, 1.05)
    axes[2].axhline(0, color="black", linewidth=0.6)
    axes[-1].set_xticks(np.arange(len(means)), [f"problem {name}" for name in means])
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8
    )
    figure.savefig(DOCS / "benchmarks" / "grafting.png", dpi=80)
    plt.close(figure)
