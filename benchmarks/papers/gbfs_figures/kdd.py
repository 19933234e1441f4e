"""Figure 4: KDD Cup 99, error by features as rounds go on, at several penalties."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from common.kept import Kept
from common.table import table
from scale_sections.kdd import _load
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from papers.drawing import subplots
from papers.figure import Figure, Shown
from papers.gbfs_figures.methods import COLOURS, fitted, point, staged
from papers.gbfs_figures.sets import Parts

FILES = ("kddcup99_10pct", "kddcup99_corrected_test")
PENALTIES = (8.0, 32.0, 128.0, 512.0)
ROUNDS, N_TREES = 500, 100
MOST_ROWS = 50_000  # of the different rows to train on
SIZES = (1, 2, 3, 5, 10, 20, 40)


def load(quick: bool) -> tuple[Parts, Any]:
    """The different rows to train on with their numbers as weights, and the test rows."""
    (X, y), (X_test, y_test) = (_load(name) for name in FILES)  # type: ignore[misc]  # `needs`
    some = np.random.default_rng(0).permutation(len(y))[: 2_000 if quick else None]
    both = np.ascontiguousarray(np.column_stack([X[some], y[some]]))
    keys = both.view(np.dtype((np.void, both.itemsize * both.shape[1]))).ravel()
    _, first, count = np.unique(keys, return_index=True, return_counts=True)
    kept = np.random.default_rng(1).permutation(len(first))[:MOST_ROWS]
    rows, count = some[first[kept]], count[kept]
    test = slice(None, None, 100) if quick else slice(None)
    empty = X[:0], y[:0]
    return Parts(X[rows], y[rows], *empty, X_test[test], y_test[test]), count.astype(np.float64)


def _gbfs(parts: Parts, weight: Any, penalty: float, quick: bool) -> dict[str, Any]:
    """The test error after each round at which a feature is new, and every tenth."""
    rounds = 20 if quick else ROUNDS
    model = fitted(penalty, 4, rounds, parts.X, parts.y, weight)
    points, before = [], -1
    for k, (used, raw) in enumerate(staged(model, parts.X_test)):
        if len(used) > before or k % 10 == 9 or k == rounds - 1:
            points.append([len(used), float(np.mean((raw > 0) != parts.y_test))])
            before = len(used)
    return {"points": points}


def _forest(parts: Parts, weight: Any, quick: bool) -> dict[str, Any]:
    params = {"min_samples_split": 501, "random_state": 0, "n_jobs": 1}
    trees = 5 if quick else N_TREES
    first = RandomForestClassifier(trees, **params).fit(parts.X, parts.y, weight)
    order = np.argsort(-first.feature_importances_, kind="stable")
    points = []
    for k in SIZES[::3] if quick else SIZES:
        top = order[:k]
        model = RandomForestClassifier(trees, **params).fit(parts.X[:, top], parts.y, weight)
        found = point(top, model.predict(parts.X_test[:, top]) != parts.y_test)
        points.append([k, found["error"]])
    return {"points": points}


def _l1(parts: Parts, weight: Any, quick: bool) -> dict[str, Any]:
    scale = StandardScaler().fit(parts.X, sample_weight=weight)
    X, X_test = scale.transform(parts.X), scale.transform(parts.X_test)
    top = np.abs(((parts.y - np.average(parts.y, weights=weight)) * weight) @ X).max()
    points = []
    for C in np.geomspace(1.1, 300.0, 3 if quick else 8) / top:
        model = LogisticRegression(l1_ratio=1.0, solver="liblinear", C=C, tol=1e-2, max_iter=50)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, parts.y, weight)
        wrong = float(np.mean(model.predict(X_test) != parts.y_test))
        points.append([int(np.count_nonzero(model.coef_)), wrong])
    return {"points": points}


METHODS: dict[str, Callable[..., dict[str, Any]]] = {
    **{f"GBFS, penalty {penalty:g}": partial(_gbfs, penalty=penalty) for penalty in PENALTIES},
    "RF-FS": _forest,
    "L1-LR": _l1,
}


def run(quick: bool, kept: Kept) -> dict[str, Any]:
    ready = cache(partial(load, quick))
    found, n_rows = {}, None
    for method in list(METHODS)[2:] if quick else METHODS:
        label = method.replace(" ", "-").replace(",", "")
        if kept.has(label):
            run_it = partial(_one, ready, METHODS[method], quick)
            found[method] = kept.get(label, run_it)
            n_rows = found[method]["rows"]
    return {
        "protocol": f"GBFS: {ROUNDS} rounds of depth 4 at a rate of 0.1. RF-FS: {N_TREES} trees, "
        f"nodes of at most 500 rows are not split. L1-LR: penalties of liblinear. {n_rows}",
        "methods": found,
    }


def _one(ready: Any, run_it: Any, quick: bool) -> dict[str, Any]:
    parts, weight = ready()
    rows = (
        f"{len(parts.y):,} different rows to train on, which stand for {weight.sum():,.0f}, and "
        f"{len(parts.y_test):,} to test on."
    )
    return {**run_it(parts, weight, quick=quick), "rows": rows}


def show(values: dict[str, Any], picture: Path) -> Shown:
    methods = values["methods"]
    shades = iter(np.linspace(0.35, 0.95, len(PENALTIES)))
    import matplotlib as mpl

    with subplots(picture, 1, 1, width=6.5, height=4.0) as axes:
        for name, each in methods.items():
            counts, errors = np.array(each["points"]).T
            colour = COLOURS.get(name) or mpl.colormaps["Reds"](next(shades))
            axes[0].plot(counts, 100.0 * errors, "o-", ms=2.5, color=colour, label=name)
        axes[0].set(xlabel="features", ylabel="test error in %", xscale="log")
        lowest = min(100.0 * error for each in methods.values() for _, error in each["points"])
        axes[0].set_ylim(
            lowest - 0.2, lowest + 4.0
        )  # first rounds, which name one class, are above
        axes[0].grid(alpha=0.3)
        axes[0].legend(fontsize=8)
    rows = []
    for name, each in methods.items():
        cells = []
        for size in SIZES[2:]:
            fitting = [100.0 * error for k, error in each["points"] if 0 < k <= size]
            cells.append(f"{fitting[-1]:.2f}" if fitting else "-")
        rows.append([name, *cells])
    header = ["test error in %, at most ... features", *map(str, SIZES[2:])]
    return Shown(
        f"{_ahead(methods)} The table has the last model with at most so many features.",
        "The full file of 4.9 million rows was not to be had. The rows are those of the 10 % file, "
        "494,021, most of them repeated: each of the different ones is there once with its number "
        f"as its weight, and of these {MOST_ROWS:,} are drawn, so that it runs in minutes. The "
        "test file is the "
        "paper's; it has kinds of attacks that the training rows have not.",
        (table(header, rows),),
    )


def _ahead(methods: dict[str, Any]) -> str:
    """Which method has the lowest error at each size."""
    best = []
    for size in SIZES[2:]:
        errors = {}
        for name, each in methods.items():
            fitting = [error for k, error in each["points"] if 0 < k <= size]
            if fitting:
                errors[name] = fitting[-1]
        best.append(f"{size}: {min(errors, key=lambda name: errors[name])}")
    return f"The lowest test error with at most so many features: {', '.join(best)}."


FIG4 = Figure(
    "Figure 4: KDD Cup 99",
    "With few features GBFS has a lower error than RF-FS of 100 trees and L1 logistic regression.",
    run, show, FILES, is_slow=True,
)  # fmt: skip
