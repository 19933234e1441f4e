"""Search along a stream of blocks: each row is seen once, and memory does not grow.

Means, standard deviations and the top eigenvalue are those of the rows so far, all alike or with a
half-life; each block is standardised by them, cut into batches, and gives its updates. v stays
within 3, so that a feature can come back when the target changes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from secateur._kernels.columns import DenseColumns
from secateur._kernels.threads import Threads
from secateur.data.centred import Centred, centre_by, moments_of
from secateur.data.costs import CostModel
from secateur.data.standardize import Moments, column_moments
from secateur.data.table import Table
from secateur.data.target import Target
from secateur.engines.feature_gradients.batches import (
    Batches,
    SearchParams,
    best_single_gain,
    contrasts,
    times_covariance,
    top_eigenvalue,
)
from secateur.engines.feature_gradients.estimator import make_estimator
from secateur.engines.feature_gradients.search import Adam, SearchState, step_of, updates
from secateur.engines.feature_gradients.units import Units
from secateur.engines.limits import Limits
from secateur.path.step import Step
from secateur.typing import FloatArray

BOUND = 3.0  # bound of v in a stream: s stays between 0.0025 and 0.9975
AUTO_DIVISOR = 64.0  # the automatic penalty is this part of the highest that selects
SIZE_CONTROL = 0.1  # change of the log penalty per update and per unit of log size error
MIN_ROWS_PER_LINK = 20  # rows of a batch per link of its chains; smaller blocks are buffered
MIN_BLOCK_SHARE = 0.1  # the least share of a block in the running eigenvalue
EIGENVALUE_ROWS = 2000  # rows of a block that enter the eigenvalue


@dataclass(eq=False)
class Stream:
    """A search along a stream; a penalty of None comes from the first block, and is adapted."""

    cost_model: CostModel
    params: SearchParams
    penalty: float | None
    n_wanted: int | None = None
    limits: Limits | None = None
    half_life: float | None = None  # in rows

    def __post_init__(self) -> None:
        cost_model, params = self.cost_model, self.params
        self.units = Units(cost_model, np.arange(cost_model.n_features), params.group_mode)
        start = np.clip(self.units.initial_v(params.init), -BOUND, BOUND)
        start[self.units.kept] = np.inf
        self.adam = Adam(start, BOUND)
        self.rng = np.random.default_rng(params.seed)
        self.moments: Moments | None = None
        self.target_moments: Moments | None = None
        self.scale = 0.0
        self.vector: FloatArray = self.rng.standard_normal(cost_model.n_features)
        self.n_rows = 0
        self.objective = float("nan")
        self.estimate = float("nan")

    @property
    def min_rows(self) -> int:
        """The least number of rows of a block."""
        return min(self.params.batch_size, MIN_ROWS_PER_LINK * (self.params.order + 1))

    def update(self, table: Table, target: Target, weight: FloatArray, threads: Threads) -> None:
        """Use a block of at least ``min_rows`` rows, all of positive weight."""
        y = contrasts(target, self.params.target_type)
        moments, by_target = moments_of(table, weight), column_moments(DenseColumns(y), weight)
        if self.moments is not None and self.target_moments is not None:
            share = 1.0 if self.half_life is None else 0.5 ** (table.n_rows / self.half_life)
            moments = self.moments.faded(share).joined(moments)
            by_target = self.target_moments.faded(share).joined(by_target)
        self.moments, self.target_moments = moments, by_target
        columns = centre_by(table, moments, standardize=self.params.standardize)
        self._update_eigenvalue(columns, table.n_rows, threads)
        estimator = make_estimator(columns, self.params.order, self.scale, threads)
        # targets of mean 0 and variance 1 over all rows so far; 0 for constant ones
        deviation = np.sqrt(by_target.square / by_target.weight)[:, None]
        scaled = (y - by_target.mean[:, None]) / np.where(deviation > 1e-12, deviation, 1.0)
        batches = Batches(
            columns,
            self.units,
            np.arange(table.n_rows),
            np.where(deviation > 1e-12, scaled, 0.0),
            weight / weight.mean(),
            self.params.objective,
            estimator,
            estimator.gradients,
        )
        if self.penalty is None:
            paid = self.units.column_cost[self.units.column_cost > 0.0]
            top = best_single_gain(batches, threads) / paid.mean() if len(paid) else 0.0
            self.penalty = float(top * len(columns.features) / AUTO_DIVISOR)
        self._search(batches, 0.5 + 0.5 * by_target.mean)  # contrasts are -1 and 1
        self.n_rows += table.n_rows
        self.units.update_costs(self.adam.v)

    def _update_eigenvalue(self, columns: Centred, n_rows: int, threads: Threads) -> None:
        """Of the first block until it converges, then one power iteration for each block."""
        rows = np.arange(min(n_rows, EIGENVALUE_ROWS))
        if self.scale == 0.0:
            self.scale, self.vector = top_eigenvalue(columns, rows, threads, self.params.seed)
            return
        unit = self.vector / np.linalg.norm(self.vector)
        product = times_covariance(columns, rows, unit, threads)
        found = float(np.linalg.norm(product))
        if found > 0.0:
            self.vector = product
            n_before = self.n_rows
            if self.half_life is not None:  # the sum of the weights that are left of them
                n_before = min(n_before, round(self.half_life / np.log(2.0)))
            share = max(MIN_BLOCK_SHARE, len(rows) / (n_before + len(rows)))
            # an iteration that has not converged is below the eigenvalue, never above
            self.scale += share * max(0.0, found - self.scale)
            self.scale += share * MIN_BLOCK_SHARE * min(0.0, found - self.scale)

    def _search(self, batches: Batches, shares: FloatArray) -> None:
        """Update v, and adapt the penalty to the wanted size, on the batches of one block."""
        units, values = self.units, []
        steps = updates(batches, self.params, lambda: self.penalty or 0.0, self.adam, self.rng)
        for signals, _ in steps:
            values += signals
            if self.n_wanted is not None and self.penalty:
                size = units.count(self.adam.v)
                error = np.clip(np.log((size + 0.5) / (self.n_wanted + 0.5)), -1.0, 1.0)
                self.penalty = float(self.penalty * np.exp(SIZE_CONTROL * error))
        mean = np.mean(values, axis=0)
        estimate = self.params.objective.estimate(np.clip(mean, 0.0, 1.0), shares)
        self.estimate = float(estimate.mean())
        cost = (self.penalty or 0.0) / self.cost_model.n_features * units.total_cost(self.adam.s)
        self.objective = self.params.objective.over_targets(mean) + cost

    def step(self) -> Step:
        """The present subset."""
        v = self.adam.v
        if self.n_wanted is not None:
            v = self.units.with_size(self.units.to_columns(v), self.n_wanted)
        state = SearchState(v, self.objective, self.adam.n_steps)
        step = step_of(self.units, state, self.penalty or 0.0, self.limits)
        details = {
            **step.details,
            "rows": self.n_rows,
            "estimate": self.estimate,
            "estimate_standard_error": None,
            "estimate_of": self.params.objective.kind,
        }
        return replace(step, details=details)
