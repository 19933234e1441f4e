"""How good the subsets are: the paper's Figures 2, 3 and 4, and what spoils a top-20 list."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from common.data import missing
from common.measure import say
from common.options import Options
from common.table import Section, table
from scipy.stats import ttest_rel

from feature_gradients_sections import protocol
from secateur import FeatureGradientsSelector

SIZES = (5, 10, 15, 20, 30, 40, 60, 80, 120, 160)
SPARSE_SETS = ("BASEHOCK", "PCMAC", "dexter", "news20_multiclass_test")
SPARSE_SIZES = (10, 20, 50, 100)
ORDERS = (1, 4, 6)
N_DRAWS = 3
"""Draws of the noise on mnist35: one is a matter of luck."""
FOLDER = Path(__file__).resolve().parents[3] / "docs" / "benchmarks"


def run(options: Options) -> Section:
    section = Section("quality", is_timed=False)
    sizes = SIZES[:3] if options.quick else SIZES
    draws = [protocol.mnist35(draw) for draw in range(1 if options.quick else N_DRAWS)]
    data = draws[0]
    if data is None:
        section.skip(missing("mnist"))
        return section
    each = [_curves(draw, sizes) for draw in draws]
    curves = {name: np.array([found[name] for found in each]) for name in each[0]}
    means = {name: list(values.mean(axis=0)) for name, values in curves.items()}
    section.add(
        f"**mnist35** (3 against 5, normal noise of 0.5 on pixels from 0 to 1), test AUC of "
        f"logistic regression, mean over {len(draws)} draws of the noise; a pair of the t-tests "
        "is a draw and a size:",
        _curve_table(sizes, means),
    )
    for ours in ("order 4", "order 6"):
        for rival in ("ANOVA F", "mutual information", "order 1"):
            _judge(section, curves, ours, rival)
    if not options.quick:
        _draw(data, means, sizes)
        section.add(
            "![AUC against the number of features](feature_gradients_auc.png)",
            "![selected pixels](feature_gradients_pixels.png)",
        )
    section.add(*_blame(data, 20))
    return section


def _judge(section: Section, curves: dict[str, Any], ours: str, rival: str) -> None:
    """The paper's paired t-test."""
    difference = (curves[ours] - curves[rival]).ravel()
    p = float(ttest_rel(curves[ours].ravel(), curves[rival].ravel(), alternative="greater").pvalue)
    section.add(
        f"{ours} against {rival}: mean difference {difference.mean():+.4f}, better in "
        f"{int((difference > 0).sum())} of {len(difference)} pairs, paired t-test p = {p:.2g}."
    )
    if rival != "order 1":
        section.aim(f"{ours}: p of the paired t-test against {rival}", p, 0.01)


def run_words(options: Options) -> Section:
    section = Section("words", is_timed=False)
    for name in SPARSE_SETS[: 1 if options.quick else None]:
        words = protocol.sparse_set(name)
        if words is None:
            section.skip(missing(name))
            continue
        found = _curves(words, SPARSE_SIZES, orders=(1, 4))
        section.add(f"**{name}**, 7 rows of 10 train:", _curve_table(SPARSE_SIZES, found))
    return section


def _curves(data: Any, sizes: Any, orders: Any = ORDERS) -> dict[str, list[float]]:
    curves: dict[str, list[float]] = {}
    for order in orders:
        say(f"{data.name}, order {order}")
        found = [protocol.by_gradients(data, size, order) for size in sizes]
        curves[f"order {order}"] = [protocol.auc(data, features) for features in found]
    for name, ranked in protocol.filters(data).items():
        curves[name] = [protocol.auc(data, ranked[:size]) for size in sizes]
    return curves


def _curve_table(sizes: Any, curves: dict[str, list[float]]) -> str:
    rows = [[name, *values] for name, values in curves.items()]
    return table(["features", *map(str, sizes)], rows)


def _blame(data: Any, size: int) -> list[str]:
    """Why a list of the best 20 of one fixed penalty disappoints: penalty, epochs or estimator."""
    rows: list[list[Any]] = []
    for penalty in (0.03, 0.3, 3.0):
        for n_epochs in (1, 9, 40):
            selector = FeatureGradientsSelector(
                penalty=penalty, max_epochs=n_epochs, standardize=False, random_state=0, tol=0
            ).fit(data.X, data.y)
            top = np.argsort(-selector.scores_)[:size]
            own = int(selector.support_.sum())
            rows.append([f"penalty {penalty:g}, {n_epochs} epochs", own, protocol.auc(data, top)])
    searched = FeatureGradientsSelector(n_features=size, standardize=False, random_state=0)
    searched.fit(data.X, data.y)
    rows.append([f"n_features={size}", size, protocol.auc(data, np.flatnonzero(searched.support_))])
    return [
        f"**The best {size} by v at a fixed penalty** against a search for the penalty (order 4):",
        table(["", "own size", f"AUC of the best {size}"], rows),
    ]


def _draw(data: Any, curves: dict[str, list[float]], sizes: Any) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, panel = plt.subplots(figsize=(5, 3.2), layout="constrained")
    for name, values in curves.items():
        panel.plot(sizes, values, "o-" if name.startswith("order") else "s--", label=name, ms=3)
    panel.set(xlabel="features", ylabel="test AUC", xscale="log")
    panel.legend(fontsize=7)
    figure.savefig(FOLDER / "feature_gradients_auc.png", dpi=90)
    shown = (10, 40, 160)
    ranked = protocol.by_anova(data)
    figure, panels = plt.subplots(2, len(shown), figsize=(5, 3.6), layout="constrained")
    for column, size in enumerate(shown):
        for row, features in enumerate((ranked[:size], protocol.by_gradients(data, size, 6))):
            picture = np.zeros(784)
            picture[features] = 1.0
            panels[row, column].imshow(picture.reshape(28, 28), cmap="Greens")
            panels[row, column].set(xticks=[], yticks=[])
        panels[1, column].set_xlabel(f"{size} features")
    panels[0, 0].set_ylabel("ANOVA F")
    panels[1, 0].set_ylabel("order 6")
    figure.savefig(FOLDER / "feature_gradients_pixels.png", dpi=90)
