"""A search along a stream of blocks: each row is seen once, and what is kept does not grow.

Means, spreads and the top eigenvalue are those of the rows seen so far; each block is centred and
scaled by them, cut into batches, and gives its updates. v stays within 3, so that a feature that
was out can come back when the target changes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from secateur._kernels.threads import Threads
from secateur.data.centred import Centred
from secateur.data.costs import Prices
from secateur.data.standardize import Moments, centre_by, moments_of
from secateur.data.table import Table
from secateur.data.target import Target
from secateur.engines.feature_gradients.estimate import Batch, estimator_of
from secateur.engines.feature_gradients.rows import (
    single_shares,
    times_covariance,
    top_eigenvalue,
)
from secateur.engines.feature_gradients.search import (
    Descent,
    State,
    by_unit,
    check_finite,
    first_v,
    step_of,
)
from secateur.engines.feature_gradients.targets import Curve, SearchParams, TargetType, contrasts
from secateur.engines.feature_gradients.units import Units
from secateur.path.step import Step
from secateur.typing import FloatArray, IntArray

BOUND = 3.0
"""v of a stream: s then stays between 0.0025 and 0.9975."""

AUTO = 64.0
"""The penalty of a stream is the dearest that could buy anything, divided by this."""

STEERING = 0.1
"""How far the penalty follows an update whose own size is not the wanted one, in logarithms."""

LEAST_PER_LINK = 20
"""Rows that a batch needs for each link of its chains; fewer wait for the next block."""

MEMORY = 0.1
"""The least that a block counts in the running eigenvalue."""


class Stream:
    """The moving state of a search along a stream.

    Parameters
    ----------
    prices : Prices
    params : SearchParams
    target_type : {"classification", "ordinal", "regression"}
    standardize : bool
    penalty : float or None
        None has it set by the first batch.
    n_wanted : int or None
        The wanted number of features, after which the penalty is steered.
    """

    def __init__(
        self,
        prices: Prices,
        params: SearchParams,
        target_type: TargetType,
        *,
        standardize: bool,
        penalty: float | None,
        n_wanted: int | None = None,
    ) -> None:
        self.prices = prices
        self.params = params
        self.target_type = target_type
        self.penalty = penalty
        self.n_wanted = n_wanted
        self._standardize = standardize
        self.units = Units(prices, np.arange(prices.n_features), params.group_mode)
        init = np.asarray(params.init, np.float64)
        start = init if init.ndim == 0 else by_unit(self.units, init)
        bounded = np.clip(first_v(self.units, start), -BOUND, BOUND)
        bounded[self.units.kept] = np.inf
        self.descent = Descent.begin(bounded, BOUND)
        self.curve = Curve("residual variance" if target_type == "regression" else "error rate")
        self.rng = np.random.default_rng(params.seed)
        self.moments: Moments | None = None
        self.questions: Moments | None = None
        self.scale = 0.0
        self.vector: FloatArray = self.rng.standard_normal(prices.n_features)
        self.n_rows = 0
        self.objective = float("nan")
        self.estimate = float("nan")

    @property
    def least(self) -> int:
        """Rows that a block must have to be used at once."""
        return min(self.params.batch_size, LEAST_PER_LINK * (self.params.order + 1))

    def push(self, table: Table, target: Target, weight: FloatArray, threads: Threads) -> None:
        """Use a block of rows: of ``least`` rows or more, all of positive weight."""
        asked = contrasts(target, self.target_type)
        moments, questions = self._note(moments_of(table, weight), _row_moments(asked, weight))
        columns = centre_by(table, moments, standardize=self._standardize)
        self._follow_spectrum(columns, threads)
        y = _standard(asked, questions)
        shuffled = self.rng.permutation(table.n_rows)
        parts = np.array_split(shuffled, self.params.n_batches(table.n_rows))
        if self.penalty is None:
            self.penalty = self._first_penalty(columns, y, weight, threads)
        self._descend(columns, y, weight / weight.mean(), parts, threads)
        self.n_rows += table.n_rows
        self.units.reprice(self.descent.v)

    def _note(self, moments: Moments, questions: Moments) -> tuple[Moments, Moments]:
        """Add a block to what is known of columns and targets."""
        if self.moments is not None and self.questions is not None:
            moments = self.moments.joined(moments)
            questions = self.questions.joined(questions)
        self.moments, self.questions = moments, questions
        return moments, questions

    def _follow_spectrum(self, columns: Centred, threads: Threads) -> None:
        """One power iteration a block, from where the last one stopped."""
        rows = np.arange(len(columns.rows[0]) - columns.is_sparse)[:2000]
        if self.scale == 0.0:
            self.scale = top_eigenvalue(columns, rows, threads, self.params.seed)
        unit = self.vector / np.linalg.norm(self.vector)
        product = times_covariance(columns, rows, unit, threads)
        found = float(np.linalg.norm(product))
        if found > 0.0:
            self.vector = product
            share = max(MEMORY, len(rows) / (self.n_rows + len(rows)))
            # an iteration that has not arrived yet is below the eigenvalue, never above
            self.scale += share * max(0.0, found - self.scale)
            self.scale += share * MEMORY * min(0.0, found - self.scale)

    def _first_penalty(
        self, columns: Centred, y: FloatArray, weight: FloatArray, threads: Threads
    ) -> float:
        rows = np.arange(len(weight))
        shares = single_shares(columns, rows, y, weight, threads)
        gain = self.curve.value(np.zeros(1)) - self.curve.value(shares)
        price = self.units.column_price
        paid = price[price > 0.0]
        top = float(gain.max(initial=0.0)) / float(paid.mean()) if len(paid) else 0.0
        return max(0.0, top) * columns.n_columns / AUTO

    def _descend(
        self,
        columns: Centred,
        y: FloatArray,
        weight: FloatArray,
        parts: list[IntArray],
        threads: Threads,
    ) -> None:
        estimator = estimator_of(columns, self.params.order, self.scale, threads)
        values, n_waiting = [], 0
        for number, part in enumerate(parts, start=1):
            if n_waiting == 0:
                estimator.see(self.units.spread(self.descent.s))
            batch = Batch(part, np.ascontiguousarray(y[:, part]), weight[part])
            z = estimator.slopes(batch, self.curve)
            check_finite(z, self.params.order)
            values.append(z)
            n_waiting += 1
            if n_waiting == self.params.accumulate or number == len(parts):
                self._update(estimator.collect() / n_waiting)
                n_waiting = 0
        mean = np.mean(values, axis=0)
        self.estimate = float(self.curve.told(mean).mean())
        paid = self._per_price * self.units.paid(self.descent.s)
        self.objective = float(self.curve.value(mean).mean()) + paid

    @property
    def _per_price(self) -> float:
        return (self.penalty or 0.0) / self.prices.n_features

    def _update(self, slope: FloatArray) -> None:
        units = self.units
        price = self._per_price * units.price_slope(self.descent.s)
        self.descent.update(units.gather(slope), price, self.params.learning_rate)
        if self.n_wanted is not None and self.penalty:
            size = int(units.spread(units.inside(self.descent.v)).sum())
            pull = np.clip(np.log((size + 0.5) / (self.n_wanted + 0.5)), -1.0, 1.0)
            self.penalty = float(self.penalty * np.exp(STEERING * pull))

    def step(self) -> Step:
        """The subset as it is now."""
        v = self.descent.v
        if self.n_wanted is not None:
            v = self.units.shifted(self.units.spread(v), self.n_wanted)
        state = State(v, self.objective, self.descent.n_steps)
        return step_of(self.units, state, self.penalty or 0.0, self.prices.n_features)

    @property
    def details(self) -> dict[str, Any]:
        """Facts of the moment, for a step."""
        return {
            "rows": self.n_rows,
            "estimate": self.estimate,
            "estimate_spread": None,
            "estimate_of": self.curve.kind,
        }


def _standard(asked: FloatArray, known: Moments) -> FloatArray:
    """Targets of mean 0 and variance 1 over all rows so far; 0 where nothing varies."""
    spread = np.sqrt(known.square / known.weight)
    varies = spread > 1e-12
    centred = asked - known.mean[:, None]
    y: FloatArray = np.where(varies[:, None], centred / np.where(varies, spread, 1.0)[:, None], 0.0)
    return y


def _row_moments(asked: FloatArray, weight: FloatArray) -> Moments:
    total = float(weight.sum())
    mean = asked @ weight / total
    centred = asked - mean[:, None]
    return Moments(total, mean, (centred * centred) @ weight)
