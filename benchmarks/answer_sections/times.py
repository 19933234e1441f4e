"""The whole time of a fit, over that of LightGBM with a tuned penalty, or of one plain fit."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from common.data import missing, whole
from common.measure import N_THREADS, say
from common.options import Options
from common.table import Section, table
from sklearn.datasets import load_digits, make_classification

from answer_sections import rivals, sizes
from secateur import AGBMClassifier

TUNED = {"spambase": 1.0, "RELATHE": 1.0, "lung_small": 1.0, "PCMAC": 1.0, "300 x 279": 1.0}
"""The largest wanted ratio to a tuned CEGB."""


def run(options: Options) -> Section:
    section = Section("times")
    rows = []
    for name, limit in {**TUNED, "15,000 x 300": 0.3}.items():
        found = _table(name, options)
        if found is None:
            section.skip(missing(name))
            continue
        ratio, *cells = _race(name, found, lambda X, y: _fastest(rivals.tuned_cegb, X, y))
        rows.append([name, f"{found[0].shape[0]:,} x {found[0].shape[1]:,}", *cells, ratio])
        section.aim(f"{name}: no arguments / tuned CEGB", ratio, limit)
    for name, limit, more in (("digits", 8.0, {}), ("COIL20", 2.0, {"max_features": 20})):
        found = _table(name, options)
        if found is None:
            section.skip(missing(name))
            continue
        ratio, *cells = _race(name, found, lambda X, y: _fastest(rivals.train, X, y), **more)
        rows.append([name, f"{found[0].shape[0]:,} x {found[0].shape[1]:,}", *cells, ratio])
        section.aim(f"{name}: whole fit / one LightGBM fit of 100 rounds", ratio, limit)
    section.add(
        "Best of three, in turns; LightGBM with one or two threads, whichever is faster. The first "
        "six against six CEGB tradeoffs in three folds and a last fit, the last two against one "
        "plain fit.",
        table(["", "shape", "A-GBM s", "features", "LightGBM s", "ratio"], rows),
    )
    return section


def _table(name: str, options: Options) -> tuple[Any, Any] | None:
    if name == "digits":
        return load_digits(return_X_y=True)
    if name == "300 x 279":
        return make_classification(300, 279, n_informative=10, n_redundant=10, random_state=0)
    if name == "15,000 x 300":
        split = sizes.problem(0, options)
        return split.X, split.y
    found = whole(name)
    if found is None:
        return None
    return found[0], np.unique(found[1], return_inverse=True)[1]


def _race(
    name: str, found: tuple[Any, Any], rival: Callable[[Any, Any], float], **more: Any
) -> tuple[float, float, int, float]:
    """The ratio, our seconds and features, and the rival's seconds: each the least of three."""
    X, y = found
    ours, theirs, n_features = [], [], 0
    some = np.random.default_rng(0).permutation(len(y))[: max(200, len(y) // 10)]
    AGBMClassifier(random_state=0, n_jobs=N_THREADS, **more).fit(X[some], y[some])  # loads code
    for turn in range(3):
        say(f"{name}, turn {turn + 1}")
        start = perf_counter()
        selector = AGBMClassifier(random_state=0, n_jobs=N_THREADS, **more).fit(X, y)
        ours.append(perf_counter() - start)
        n_features = int(selector.get_support().sum())
        theirs.append(rival(X, y))
    return min(ours) / min(theirs), min(ours), n_features, min(theirs)


def _fastest(fit: Callable[..., Any], X: Any, y: Any) -> float:
    """Seconds of a fit with one thread or two, whichever is faster."""
    found = []
    for n_threads in (1, N_THREADS):
        start = perf_counter()
        fit(X, y, n_threads=n_threads)
        found.append(perf_counter() - start)
    return min(found)
