"""scikit-learn's HistGradientBoosting, which knows no penalty for features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from common.measure import N_THREADS, Run, Stopwatch
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits


@dataclass(frozen=True, slots=True)
class HistGradientBoosting:
    """The parameters of HistGradientBoosting."""

    n_rounds: int = 100
    max_depth: int = 4

    def run(self, X: Any, y: Any) -> Run:
        """Bin and train; it does not let itself be timed in stages."""
        model = HistGradientBoostingClassifier(
            max_iter=self.n_rounds,
            max_depth=self.max_depth,
            max_leaf_nodes=None,
            min_samples_leaf=20,
            max_bins=255,
            learning_rate=0.1,
            early_stopping=False,
        )
        watch = Stopwatch()
        with threadpool_limits(N_THREADS), watch("fit"):
            model.fit(X, y)
        return Run(watch.stages, _n_features(model), model.decision_function)


def _n_features(model: HistGradientBoostingClassifier) -> int:
    asked = [
        nodes["feature_idx"][nodes["is_leaf"] == 0]
        for trees in model._predictors  # noqa: SLF001 - it has no public account of its features
        for nodes in (tree.nodes for tree in trees)
    ]
    return len(np.unique(np.concatenate(asked)))
