"""The row of the paper's Table 3 for Gisette, on a problem built alike from MNIST, and Figure 3."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from common.data import ROOT, missing
from common.measure import N_THREADS, say
from common.options import Options
from common.page import PAGE
from common.table import Section, table
from sklearn.metrics import roc_auc_score

from secateur import AGBMClassifier, GBFSClassifier, GTGBMClassifier

PICTURE = PAGE.with_name("benchmarks") / "group_testing_correlation.png"
N_TRAIN, N_VALID = 6_000, 2_000
N_REAL, N_FEATURES = 2_500, 5_000
FIRST = 20
PENALTIES = {
    "GBFS": (GBFSClassifier, (2.0, 6.0, 20.0)),
    "A-GBM": (AGBMClassifier, (0.001, 0.003, 0.01)),
    "GT-GBM": (GTGBMClassifier, (0.001, 0.003, 0.01)),
}


class Parts(NamedTuple):
    X: Any
    y: Any
    X_valid: Any
    y_valid: Any
    X_test: Any
    y_test: Any


class Result(NamedTuple):
    name: str
    features: Any
    first: Any
    rmse: float
    auc: float
    seconds: float
    told: str


def run(options: Options) -> Section:
    section = Section("gisette")
    parts = _problem(options)
    if parts is None:
        section.skip(missing("mnist"))
        return section
    results = [_tuned(name, parts, options) for name in PENALTIES]
    results.insert(0, _top(parts, max(len(r.features) for r in results), options))
    rows = [
        [
            r.name,
            r.told,
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
        f"{len(parts.y_valid):,} to choose the penalty by, {len(parts.y_test):,} to judge. 200 "
        "rounds of depth 4, rate 0.1. Top-K is LightGBM on all features, then again on the K that "
        "it used most, K being the most that another method kept; its seconds are those of both "
        "fits. Seconds are those of `fit` at the chosen penalty (one run).",
        table(header, rows),
    )
    if not options.quick:
        _picture(results, parts)
        section.add(f"![Correlations of the first {FIRST} features]({PICTURE.name})")
    return section


def _problem(options: Options) -> Parts | None:
    folder = Path(os.environ.get("SECATEUR_DATA") or ROOT.parent / "shared" / "data")
    file = folder / "mnist.npz"
    if not file.is_file():
        return None
    with np.load(file) as stored:
        digit = stored["y"]
        pixels = stored["X"][np.isin(digit, [4, 9])].astype(np.float32) / 255.0
        y = (digit[np.isin(digit, [4, 9])] == 9).astype(np.int64)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(y))
    pixels, y = pixels[order], y[order]
    varying = np.flatnonzero(pixels.std(axis=0) > 0.02)
    pairs = rng.choice(varying, (N_REAL - len(varying), 2))
    real = np.hstack([pixels[:, varying], pixels[:, pairs[:, 0]] * pixels[:, pairs[:, 1]]])
    source = rng.choice(N_REAL, N_FEATURES - N_REAL)
    probes = np.stack([rng.permutation(real[:, j]) for j in source], axis=1)
    X = np.hstack([real, probes])[:, rng.permutation(N_FEATURES)]
    if options.quick:
        X, y = X[:3000, :500], y[:3000]
    cuts = [N_TRAIN, N_TRAIN + N_VALID] if not options.quick else [1000, 2000]
    (a, b, c), (u, v, w) = np.split(X, cuts), np.split(y, cuts)
    return Parts(a, u, b, v, c, w)


def _models(name: str, options: Options) -> Iterator[tuple[float, Any]]:
    cls, penalties = PENALTIES[name]
    told = {
        "max_iter": 10 if options.quick else 200,
        "early_stopping": False,
        "random_state": 0,
        "n_jobs": N_THREADS,
    }
    for penalty in penalties:
        yield penalty, cls(penalty=penalty, **told)


def _tuned(name: str, parts: Parts, options: Options) -> Result:
    """The penalty with the best AUC on the validation rows, judged on the test rows."""
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
    told = {
        "n_estimators": 10 if options.quick else 200,
        "max_depth": 4,
        "num_leaves": 15,
        "n_jobs": N_THREADS,
        "verbosity": -1,
    }
    start = perf_counter()
    first = lgb.LGBMClassifier(**told).fit(parts.X, parts.y)
    chosen = np.argsort(-first.feature_importances_, kind="stable")[:k]
    again = lgb.LGBMClassifier(**told).fit(parts.X[:, chosen], parts.y)
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
