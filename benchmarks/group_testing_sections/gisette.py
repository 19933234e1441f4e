"""The row of the paper's Table 3 for Gisette, on a problem built alike from MNIST, and Figure 3."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from common.data import missing
from common.gisette import N_REAL, Parts, gisette_like
from common.measure import N_THREADS, say
from common.options import Options
from common.page import PAGE
from common.table import Section, table
from sklearn.metrics import roc_auc_score

from secateur import AGBMClassifier, GBFSClassifier, GTGBMClassifier

PICTURE = PAGE.with_name("benchmarks") / "group_testing_correlation.png"
FIRST = 20
PENALTIES = {
    "GBFS": (GBFSClassifier, (2.0, 6.0, 20.0)),
    "A-GBM": (AGBMClassifier, (0.001, 0.003, 0.01)),
    "GT-GBM": (GTGBMClassifier, (0.001, 0.003, 0.01)),
}


class Result(NamedTuple):
    name: str
    features: Any
    first: Any
    rmse: float
    auc: float
    seconds: float
    params: str


def run(options: Options) -> Section:
    section = Section("gisette")
    parts = gisette_like(options)
    if parts is None:
        section.skip(missing("mnist"))
        return section
    results = [_tuned(name, parts, options) for name in PENALTIES]
    results.insert(0, _top(parts, max(len(r.features) for r in results), options))
    rows = [
        [
            r.name,
            r.params,
            len(r.features),
            f"{r.rmse:.4f}",
            f"{r.auc:.4f}",
            r.seconds,
            _mean(r, parts),
        ]
        for r in results
    ]
    header = ["", "penalty", "features", "RMSE", "AUC", "s", f"mean correlation, first {FIRST}"]
    section.add(
        f"MNIST 4 against 9: {N_REAL:,} pixels and products of pixel pairs, and as many probes, "
        f"which are such columns with their rows permuted; {len(parts.y):,} rows to train on, "
        f"{len(parts.y_valid):,} to choose the penalty by, {len(parts.y_test):,} to test on. 200 "
        "rounds of depth 4, rate 0.1. Top-K is LightGBM on all features, then again on the K that "
        "it used most, K being the most that another method kept; its seconds are those of both "
        "fits. Seconds are those of `fit` at the chosen penalty (one run).",
        table(header, rows),
    )
    if not options.quick:
        _picture(results, parts)
        section.add(f"![Correlations of the first {FIRST} features]({PICTURE.name})")
    return section


def _models(name: str, options: Options) -> Iterator[tuple[float, Any]]:
    cls, penalties = PENALTIES[name]
    params = {
        "max_iter": 10 if options.quick else 200,
        "early_stopping": False,
        "random_state": 0,
        "n_jobs": N_THREADS,
    }
    for penalty in penalties:
        yield penalty, cls(penalty=penalty, **params)


def _tuned(name: str, parts: Parts, options: Options) -> Result:
    """The penalty with the best AUC on the validation rows, evaluated on the test rows."""
    best: tuple[float, Any] = (-1.0, None)
    for penalty, model in _models(name, options):
        say(f"{name}, penalty {penalty:g}")
        start = perf_counter()
        model.fit(parts.X, parts.y)
        seconds = perf_counter() - start
        valid = roc_auc_score(parts.y_valid, model.decision_function(parts.X_valid))
        if valid > best[0]:
            best = (valid, (penalty, model, seconds))
    penalty, model, seconds = best[1]
    shares = model.predict_proba(parts.X_test)[:, 1]
    step = model.path_[model.selection_.index]
    rmse = float(np.sqrt(np.mean((shares - parts.y_test) ** 2)))
    auc = float(roc_auc_score(parts.y_test, shares))
    return Result(name, step.support, step.order[:FIRST], rmse, auc, seconds, f"{penalty:g}")


def _top(parts: Parts, k: int, options: Options) -> Result:
    import lightgbm as lgb

    say(f"top {k} by importance")
    params = {
        "n_estimators": 10 if options.quick else 200,
        "max_depth": 4,
        "num_leaves": 15,
        "n_jobs": N_THREADS,
        "verbosity": -1,
    }
    start = perf_counter()
    first = lgb.LGBMClassifier(**params).fit(parts.X, parts.y)
    chosen = np.argsort(-first.feature_importances_, kind="stable")[:k]
    again = lgb.LGBMClassifier(**params).fit(parts.X[:, chosen], parts.y)
    seconds = perf_counter() - start
    shares = again.predict_proba(parts.X_test[:, chosen])[:, 1]
    rmse = float(np.sqrt(np.mean((shares - parts.y_test) ** 2)))
    auc = float(roc_auc_score(parts.y_test, shares))
    return Result("top-K by importance", chosen, chosen[:FIRST], rmse, auc, seconds, "-")


def _correlation(result: Result, parts: Parts) -> Any:
    return np.abs(np.corrcoef(parts.X[:, result.first].T))


def _mean(result: Result, parts: Parts) -> float:
    r = _correlation(result, parts)
    return float(r[np.triu_indices(len(r), 1)].mean())


def _picture(results: list[Result], parts: Parts) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    shown = [results[0], results[-1]]
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.8), layout="constrained")
    for axis, result in zip(axes, shown, strict=True):
        image = axis.imshow(_correlation(result, parts), cmap="Greys", vmin=0, vmax=1)
        axis.set_title(f"{result.name}: first {FIRST}", fontsize=10)
    figure.colorbar(image, ax=axes, label="absolute correlation")
    figure.savefig(PICTURE, dpi=80)
    plt.close(figure)
