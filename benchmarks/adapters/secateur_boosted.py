"""A-GBM of secateur, as an engine in stages and as an estimator."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from common.measure import N_THREADS, Run, Stopwatch

from secateur import AGBMClassifier
from secateur._kernels.threads import Threads
from secateur.data.binning import bin_table
from secateur.data.costs import as_costs
from secateur.data.frames import read_table
from secateur.engines.boosted.engine import BoostedData
from secateur.engines.boosted.trees import BoostingParams
from secateur.losses import get_loss
from secateur.path import Step

Leaf = Literal["newton", "mean"]


@dataclass(frozen=True, slots=True)
class AGBM:
    """The parameters of A-GBM."""

    n_rounds: int = 100
    penalty: float = 0.0
    max_depth: int = 4
    leaf: Leaf = "newton"
    lazy: bool = True

    @property
    def params(self) -> BoostingParams:
        return BoostingParams(
            criterion="agbm",
            penalty=self.penalty,
            learning_rate=0.1,
            n_rounds=self.n_rounds,
            max_depth=self.max_depth,
            min_samples_leaf=20,
            leaf=self.leaf,
            lazy=self.lazy,
        )

    def run(self, X: Any, y: Any) -> Run:
        """Read and bin, then train on the binned table."""
        watch = Stopwatch()
        with Threads(N_THREADS) as threads:
            with watch("binning"):
                data = bin_data(X, y, threads)
            return self._train(data, watch)

    def train(self, data: BoostedData) -> Run:
        """Train on a table that is binned already."""
        return self._train(data, Stopwatch())

    def _train(self, data: BoostedData, watch: Stopwatch) -> Run:
        with watch("training"):
            *_, last = data.run(data.everything, self.params).steps

        def decide(X: Any) -> Any:
            return last.model.raw(read_table(X))[0]

        return Run(watch.stages, last.n_features, decide, {"step": last, "cells": cells_of(last)})

    def count(self, data: BoostedData, most: int) -> int:
        """The features used; a fit that uses more than ``most`` is given up."""
        n_features = 0
        for step in data.run(data.everything, self.params).steps:
            n_features = step.n_features
            if n_features > most:
                break
        return n_features

    def run_estimator(self, X: Any, y: Any) -> Run:
        """The same through the class that users see."""
        model = AGBMClassifier(
            penalty=self.penalty,
            max_iter=self.n_rounds,
            max_depth=self.max_depth,
            min_samples_leaf=20,
            leaf=self.leaf,
            early_stopping=False,
            random_state=0,
            n_jobs=N_THREADS,
        )
        watch = Stopwatch()
        with watch("fit"):
            model.fit(X, y)
        return Run(watch.stages, int(model.support_.sum()), model.decision_function)


def bin_data(X: Any, y: Any, threads: Threads) -> BoostedData:
    """Check the table, put it into bins, and lay everything out for training."""
    table = read_table(X)
    weight = np.ones(table.n_rows)
    return BoostedData(
        bin_table(table, weight, threads=threads),
        y,
        weight,
        get_loss("log_loss", n_classes=2),
        as_costs(None, None, None).bind(table.names),
        threads,
    )


@contextmanager
def binned(X: Any, y: Any) -> Iterator[BoostedData]:
    """A table in bins, for many fits."""
    with Threads(N_THREADS) as threads:
        yield bin_data(X, y, threads)


def cells_of(step: Step) -> int:
    """The cells of the table that went into histograms so far."""
    return int(step.model.ensemble.n_cells)


def difference(a: Step, b: Step) -> str | None:
    """Where two models differ in any bit, or None."""
    if a.order.tolist() != b.order.tolist():
        return "the order of the features"
    one, other = a.model.ensemble, b.model.ensemble
    if one.baseline.tobytes() != other.baseline.tobytes():
        return "the baseline"
    for n, (here, there) in enumerate(zip(one.rounds, other.rounds, strict=True), start=1):
        for tree, twin in zip(here, there, strict=True):
            for name, values in tree._asdict().items():
                if values.tobytes() != getattr(twin, name).tobytes():
                    return f"{name} in round {n}"
    return None if a.objective == b.objective else "the objective"
