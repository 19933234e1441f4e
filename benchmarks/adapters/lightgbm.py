"""LightGBM, plain or with its coupled penalty on features (CEGB)."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import lightgbm as lgb
import numpy as np
from common.measure import N_THREADS, TOTAL, Run, Stopwatch

LAYOUTS: dict[str, dict[str, bool]] = {
    "its own choice": {},
    "by columns": {"force_col_wise": True},
    "by rows": {"force_row_wise": True},
}
"""How LightGBM may go through a table; it tries two of them in each fit unless one is set."""


@dataclass(frozen=True, slots=True)
class LightGBM:
    """The parameters of LightGBM; ``tradeoff`` scales a cost of one per feature, None is no cost.

    ``seconds`` end the training where it takes longer, with as many trees as there are then.
    """

    n_rounds: int = 100
    tradeoff: float | None = None
    layout: str = "its own choice"
    max_depth: int = 4
    num_leaves: int = 16
    seconds: float = float("inf")
    n_classes: int = 2
    min_leaf: int = 20
    n_threads: int = N_THREADS
    quantised: bool = False

    def parameters(self, n_features: int) -> dict[str, Any]:
        settings: dict[str, Any] = {
            "objective": "binary",
            "num_leaves": self.num_leaves,
            "max_depth": self.max_depth,
            "min_data_in_leaf": self.min_leaf,
            "max_bin": 255,
            "learning_rate": 0.1,
            "num_threads": self.n_threads,
            "verbosity": -1,
            **LAYOUTS[self.layout],
        }
        if self.n_classes > 2:
            settings |= {"objective": "multiclass", "num_class": self.n_classes}
        if self.quantised:
            settings["use_quantized_grad"] = True
        if self.tradeoff is not None:
            settings["cegb_tradeoff"] = self.tradeoff
            settings["cegb_penalty_feature_coupled"] = [1.0] * n_features
        return settings

    def run(self, X: Any, y: Any) -> Run:
        """Bin (Dataset), then train on the binned table."""
        settings = self.parameters(X.shape[1])
        watch = Stopwatch()
        with watch("binning"):
            dataset = lgb.Dataset(X, y, params=settings).construct()
        with watch("training"):
            booster = lgb.train(settings, dataset, self.n_rounds, callbacks=self._callbacks())
        return Run(watch.stages, len(features_of(booster)), booster.predict, {"model": booster})

    def _callbacks(self) -> list[Any]:
        if self.seconds == float("inf"):
            return []
        until = time.perf_counter() + self.seconds

        def stop_in_time(state: Any) -> None:
            if time.perf_counter() > until:
                raise lgb.callback.EarlyStopException(state.iteration, [])

        return [stop_in_time]

    def run_estimator(self, X: Any, y: Any) -> Run:
        """The same through its scikit-learn interface."""
        settings = self.parameters(X.shape[1])
        watch = Stopwatch()
        with watch("fit"):
            model = lgb.LGBMClassifier(n_estimators=self.n_rounds, **settings).fit(X, y)
        booster = model.booster_
        return Run(watch.stages, len(features_of(booster)), booster.predict, {"model": booster})

    def fastest_layout(self, X: Any, y: Any) -> LightGBM:
        """The same with the layout that trained fastest in one try of each."""
        tried = [replace(self, layout=layout) for layout in LAYOUTS]
        return min(tried, key=lambda one: one.run(X, y).seconds("training"))

    def fastest(self, X: Any, y: Any, n_rounds: int) -> LightGBM:
        """The same with the threads, layout and kind of gradients that are fastest in few rounds.

        Each has run once before it is timed; the better of two counts.
        """
        tried = [
            replace(
                self, n_rounds=n_rounds, n_threads=n_threads, layout=layout, quantised=quantised
            )
            for n_threads in (1, 2)
            for layout in ("by columns", "by rows")
            for quantised in (False, True)
        ]
        seconds = [min(one.run(X, y).seconds(TOTAL) for _ in range(2)) for one in tried]
        return replace(tried[int(np.argmin(seconds))], n_rounds=self.n_rounds)


def features_of(booster: lgb.Booster) -> Any:
    """The features that its trees ask for."""
    return np.flatnonzero(booster.feature_importance("split"))
