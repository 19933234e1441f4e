"""Training with group tests against our own exact search, on tables with very many features."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from adapters.secateur_boosted import AGBM, bin_data
from adapters.secateur_groups import GTGBM
from common.data import Split
from common.measure import N_THREADS, Stopwatch, Times, say, take_turns
from common.options import Options
from common.table import Section, table
from sklearn.metrics import roc_auc_score

from secateur._kernels.threads import Threads

N_INFORMATIVE = 10
PENALTY = 0.005
N_TEST = 2_500
SEED = 20_260
"""Chosen once; nothing was tuned on the tables that it makes."""

MOST_LOST = 0.005
"""Test AUC that group testing may lose."""

HEADER = [
    "",
    "features",
    "informative",
    "test AUC",
    "grouping s",
    "training s",
    "training s, median",
    "memory of sums, MB",
]


@dataclass(frozen=True, slots=True)
class Size:
    n_rows: int
    n_features: int
    n_rounds: int
    repeats: int
    limit: float


SIZES = (Size(20_000, 20_000, 50, 2, 0.4), Size(10_000, 100_000, 50, 2, 0.15))
QUICK = (Size(2_000, 2_000, 5, 1, 0.4),)


def run(options: Options) -> Section:
    section = Section("speed")
    for size in QUICK if options.quick else SIZES:
        _compare(section, size)
    return section


def problem(n_rows: int, n_features: int, seed: int = SEED) -> tuple[Split, Any]:
    """Whole numbers from 0 to 249, uniform and independent; ten of them make the log odds.

    One byte a cell: the widest table has a billion of them.
    """
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 250, (n_rows + N_TEST, n_features), dtype=np.uint8)
    relevant = np.sort(rng.choice(n_features, N_INFORMATIVE, replace=False))
    effect = np.linspace(1.0, 0.5, N_INFORMATIVE) * np.where(np.arange(N_INFORMATIVE) % 2, -1, 1)
    score = (X[:, relevant] / 249.0 - 0.5) @ effect
    odds = 1.5 * score / score.std()
    y = (rng.random(len(X)) < 1.0 / (1.0 + np.exp(-odds))).astype(np.float64)
    return Split(X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:]), relevant


def _compare(section: Section, size: Size) -> None:
    say(f"{size.n_rows:,} x {size.n_features:,}")
    split, relevant = problem(size.n_rows, size.n_features)
    exact = AGBM(size.n_rounds, PENALTY)
    grouped = GTGBM(exact, N_INFORMATIVE)
    watch = Stopwatch()
    with Threads(N_THREADS) as threads:
        with watch("binning"):
            data = bin_data(split.X, split.y, threads)
        warm = replace(exact, n_rounds=2)
        warm.train(data)
        replace(grouped, boosting=warm).train(data)
        found = take_turns(
            {
                "A-GBM": partial(exact.train, data),
                "A-GBM, every node searched": partial(replace(exact, lazy=False).train, data),
                "GT-GBM": partial(grouped.train, data),
            },
            size.repeats,
        )
    rows = [_row(name, times, split, relevant) for name, times in found.items()]
    ours = found.pop("GT-GBM")
    theirs = min(found.values(), key=lambda times: times.best("training"))
    ratio = ours.best("training") / theirs.best("training")
    median = ours.median("training") / theirs.median("training")
    both = (ours.best() + watch.stages["binning"]) / (theirs.best() + watch.stages["binning"])
    lost = auc(theirs, split) - auc(ours, split)
    design = ours.last.facts["design"]
    section.add(
        f"**{split.shape}, s = {N_INFORMATIVE}**, penalty {PENALTY:g}, {size.n_rounds} rounds of "
        f"depth 4, {size.repeats} repeats. Binning, the same for both, took "
        f"{watch.stages['binning']:.1f} s. A node looks at {design.n_columns:,} columns. Training "
        f"takes {ratio:.3f} of the time of the quicker exact search (median {median:.3f}); with "
        f"binning and grouping {both:.3f}.",
        table(HEADER, rows),
    )
    section.aim(f"{split.shape}: training, ratio", ratio, size.limit)
    section.aim(f"{split.shape}: test AUC lost", lost, MOST_LOST)


def auc(times: Times, split: Split) -> float:
    return float(roc_auc_score(split.y_test, times.last.decide(split.X_test)))


def _row(name: str, times: Times, split: Split, relevant: Any) -> list[Any]:
    step = times.last.facts["step"]
    has_groups = "bytes" in times.last.facts
    return [
        name,
        step.n_features,
        len(np.intersect1d(step.support, relevant)),
        f"{auc(times, split):.4f}",
        times.best("grouping") if has_groups else None,
        times.best("training"),
        times.median("training"),
        f"{times.last.facts['bytes'] / 1e6:.0f}" if has_groups else None,
    ]
