"""A wanted number of features: the test AUC at each size, against the best of three rivals."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
from common.data import Split
from common.measure import N_THREADS, say
from common.options import Options
from common.table import Section, table
from sklearn.datasets import make_classification
from sklearn.metrics import roc_auc_score

from answer_sections import rivals
from secateur import AGBMClassifier

SIZES = [10, 15, 20, 26, 32]
SEEDS = (0, 1, 2)
N_TRAIN = 15_000
SLACK = 0.0005


def problem(seed: int, options: Options) -> Split:
    """Rows of 15 informative, 30 redundant and 255 other features; the last rows are the test."""
    n_train, n_test, d = (2_000, 1_000, 80) if options.quick else (N_TRAIN, 5_000, 300)
    X, y = make_classification(
        n_train + n_test, d, n_informative=15, n_redundant=30, random_state=seed
    )
    return Split(X[:n_train], y[:n_train], X[n_train:], y[n_train:])


def evaluate(split: Split, chosen: Any) -> float:
    """The test AUC of a fresh LightGBM on the chosen features."""
    if len(chosen) == 0:
        return 0.5
    model = rivals.train(split.X[:, chosen], split.y, max_depth=-1, num_leaves=31)
    return float(roc_auc_score(split.y_test, model.predict(split.X_test[:, chosen])))


def run(options: Options) -> Section:
    section = Section("sizes")
    for seed in SEEDS[:1] if options.quick else SEEDS:
        split = problem(seed, options)
        say(f"seed {seed}: rivals")
        found = _rivals(split)
        rows: list[list[Any]] = []
        for size in SIZES:
            say(f"seed {seed}: at most {size}")
            start = perf_counter()
            chosen = _ours(split, max_features=size)
            seconds = perf_counter() - start
            auc = evaluate(split, chosen)
            best = max(score for n, score in found.values() if n <= size)
            rows.append([size, len(chosen), auc, seconds, *_at(found, size)])
            section.aim(f"seed {seed}, at most {size}: AUC below the best", best - auc, SLACK)
        own = _ours(split)
        all_auc, auc = evaluate(split, np.arange(split.X.shape[1])), evaluate(split, own)
        section.aim(f"seed {seed}, no arguments: features", len(own), 30)
        section.aim(f"seed {seed}, no arguments: AUC below all features", all_auc - auc, 0.0)
        kinds = sorted({name for name, _ in found})
        header = ["at most", "A-GBM keeps", "AUC", "s", *kinds]
        section.add(
            f"Seed {seed}, {split.shape}; no arguments keep {len(own)} features, AUC {auc:.4f}; "
            f"all features {all_auc:.4f}.",
            table(header, rows),
        )
    return section


def _ours(split: Split, **more: Any) -> Any:
    selector = AGBMClassifier(random_state=0, n_jobs=N_THREADS, **more)
    return np.flatnonzero(selector.fit(split.X, split.y).get_support())


def _rivals(split: Split) -> dict[tuple[str, int], tuple[int, float]]:
    """(number of features, AUC) by kind and number of a try."""
    found: dict[tuple[str, int], tuple[int, float]] = {}
    for i, tradeoff in enumerate(rivals.MORE_TRADEOFFS):
        chosen = rivals.used(rivals.cegb(split.X, split.y, tradeoff, 300))
        found["CEGB", i] = (len(chosen), evaluate(split, chosen))
    for size, chosen in rivals.eliminated(split.X, split.y, SIZES).items():
        found["elimination", size] = (len(chosen), evaluate(split, chosen))
    for name, scores in rivals.rankings(split.X, split.y).items():
        for size in SIZES:
            found[name, size] = (size, evaluate(split, rivals.top(scores, size)))
    return found


def _at(found: dict[tuple[str, int], tuple[int, float]], size: int) -> list[str]:
    """The best AUC of each kind with at most so many features."""
    cells = []
    for kind in sorted({name for name, _ in found}):
        fitting = [(score, n) for (name, _), (n, score) in found.items() if name == kind]
        score, n = max((pair for pair in fitting if pair[1] <= size), default=(float("nan"), 0))
        cells.append(f"{score:.4f} ({n})")
    return cells
