"""The rows of a fit, standardised, with their targets, and drawn in batches.

X is divided by the root of the top eigenvalue of its covariance, so that one polynomial serves all
data. The eigenvalue is that of a sample of all rows: a batch with fewer rows than columns has a
much larger one, but sums over chains of different rows are unbiased for the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from secateur._kernels import feature_gradients as power
from secateur._kernels.threads import Threads
from secateur.data.centred import Centred, DenseRows, centre
from secateur.data.table import Problem
from secateur.data.target import Target, are_counts
from secateur.engines.feature_gradients.estimator import Batch, Estimator, make_estimator
from secateur.engines.feature_gradients.objective import Objective, ObjectiveKind
from secateur.engines.feature_gradients.units import GroupMode, Units
from secateur.exceptions import InputError
from secateur.execution.blocks import added
from secateur.execution.dask import DaskExecutor
from secateur.execution.worker import BlockSource
from secateur.typing import FloatArray, IntArray

Arguments = tuple[Centred, int, float]  # of `make_estimator`, but for the threads
Gradients = tuple[list[FloatArray], FloatArray]  # of `Estimator.gradients`
TargetType = Literal["classification", "ordinal", "regression"]

AUTO_UPDATES = 100  # updates after which "auto" epochs end: the selection has then converged
EIGENVALUE_ROWS = 10_000  # sampled for it, as in the paper for its largest data sets
MAX_POWER_ITERATIONS = 30
EIGENVALUE_TOL = 1e-3  # relative change of the eigenvalue below which the power iteration ends
MAX_REPEATED = 10  # times as many rows, at most, where whole weights repeat rows


@dataclass(frozen=True, slots=True)
class SearchParams:
    """Parameters of the search; ``n_epochs=None`` makes about a hundred updates of Adam."""

    target_type: TargetType
    order: int = 4
    batch_size: int = 1000
    accumulate: int = 1
    n_epochs: int | None = None
    learning_rate: float = 0.1
    tol: float = 1e-5
    init: Any = 0.0
    group_mode: GroupMode = "hard"
    multiclass: Literal["mean", "softmax"] = "mean"
    standardize: bool = True
    seed: int = 0

    @property
    def objective(self) -> Objective:
        """The objective for the type of target."""
        is_regression = self.target_type == "regression"
        kind: ObjectiveKind = "residual variance" if is_regression else "error rate"
        return Objective(kind, self.multiclass == "softmax")

    def epochs(self, n_rows: int) -> int:
        """The largest number of passes over the rows."""
        if self.n_epochs is not None:
            return self.n_epochs
        updates = max(1, self.n_batches(n_rows) // self.accumulate)
        return -(-AUTO_UPDATES // updates)

    def n_batches(self, n_rows: int) -> int:
        """Batches of an epoch, all of about the same size."""
        return max(1, round(n_rows / self.batch_size))

    def check_rows(self, n_rows: int) -> None:
        """Refuse fewer rows than the longest chain needs."""
        smallest = self.order + 2
        if n_rows < smallest:
            some = "1 sample" if n_rows == 1 else f"{n_rows} rows"
            raise InputError(
                f"Feature Gradients of order {self.order} needs at least {smallest} rows. Got "
                f"{some} to train on. Lower 'order', or give more rows."
            )


def contrasts(target: Target, target_type: TargetType) -> FloatArray:
    """Contrasts of the target: one per class, of two classes one; of ordered one per threshold."""
    y = target.values
    if target_type == "regression":
        return y[None, :].copy()
    if target_type == "ordinal" or target.n_classes == 2:
        cuts = np.arange(1, target.n_classes)
        return np.where(y[None, :] >= cuts[:, None], 1.0, -1.0)
    return np.where(y[None, :] == np.arange(target.n_classes)[:, None], 1.0, -1.0)


def standardize_contrasts(y: FloatArray, weight: FloatArray) -> FloatArray:
    """Mean 0 and variance 1 for each contrast; those that do not vary are left out."""
    share = weight / weight.sum()
    # centred labels have the same expectation of y x for centred x, and less noise
    centred = y - (y @ share)[:, None]
    deviation = np.sqrt((centred * centred) @ share)
    varies = deviation > 1e-12 * np.abs(y).max(axis=1, initial=0.0)
    if not varies.any():
        raise InputError(
            "The target must vary. Got the same value in all training rows. Check the rows that "
            "y was taken from."
        )
    return centred[varies] / deviation[varies, None]


def top_eigenvalue(
    columns: Centred, rows: IntArray, threads: Threads, seed: int = 0
) -> tuple[float, FloatArray]:
    """The largest eigenvalue of the covariance of some rows, and its vector: power iteration."""
    start = np.random.default_rng(seed).standard_normal(len(columns.features))
    vector = start / np.linalg.norm(start)
    found = 0.0
    for _ in range(MAX_POWER_ITERATIONS):
        product = times_covariance(columns, rows, vector, threads)
        latest = float(np.linalg.norm(product))
        if not latest > 0.0:
            return 1.0, vector
        vector = product / latest
        if abs(latest - found) <= EIGENVALUE_TOL * latest:
            break
        found = latest
    return latest, vector


def times_covariance(
    columns: Centred, rows: IntArray, vector: FloatArray, threads: Threads
) -> FloatArray:
    """The covariance of some rows times a vector."""
    projected = np.empty(len(rows))
    if isinstance(columns.rows, DenseRows):
        X, small = columns.rows.X, vector.astype(np.float32)
        threads.run(lambda a, b: power.rows_times(X, rows, small, a, b, projected), len(rows), 16)
    else:
        indptr, indices, data, mean = columns.rows
        centre = float(mean @ vector)
        cells = indptr, indices, data, rows, vector, centre
        threads.run(lambda a, b: power.sparse_rows_times(*cells, a, b, projected), len(rows), 16)
    return _weighted_row_sum(columns, rows, projected, threads) / len(rows)


def _weighted_row_sum(
    columns: Centred, rows: IntArray, value: FloatArray, threads: Threads
) -> FloatArray:
    """The sum of centred rows, each times its value."""
    total = np.zeros(len(columns.features))
    if isinstance(columns.rows, DenseRows):
        X = columns.rows.X
        threads.run(lambda a, b: power.times_rows(X, rows, value, a, b, total), len(total), 64)
    else:
        indptr, indices, data, mean = columns.rows
        power.times_sparse_rows(indptr, indices, data, rows, value, total)
        total -= value.sum() * mean
    return total


@dataclass(frozen=True, slots=True, eq=False)
class Batches:
    """All that is the same for all penalties; ``rows`` are sorted by content, perhaps repeated."""

    columns: Centred
    units: Units
    rows: IntArray
    y: FloatArray
    weight: FloatArray
    objective: Objective
    estimator: Estimator
    gradients: Callable[..., Gradients]  # here, or on a cluster

    @property
    def shares(self) -> FloatArray:
        """The share of rows in the class of each contrast; of regression it means nothing."""
        # of mean 0 and variance 1, the larger value is the root of (1 - share) / share
        return 1.0 / (1.0 + self.y.max(axis=1) ** 2)

    def draw(self, params: SearchParams, rng: np.random.Generator) -> Iterator[Batch]:
        """All rows once, shuffled, in batches of about the same size."""
        shuffled = rng.permutation(len(self.rows))
        for part in np.array_split(shuffled, params.n_batches(len(self.rows))):
            yield Batch(self.rows[part], self.y[:, part], self.weight[part])


def best_single_gain(batches: Batches, threads: Threads) -> float:
    """How much a single feature can lower the objective: f(0) - f(R^2), the mean over targets."""
    columns, rows, weight = batches.columns, batches.rows, batches.weight
    r2 = np.zeros(len(columns.features))
    for target in batches.y:
        covariance = _weighted_row_sum(columns, rows, weight * target, threads) / weight.sum()
        r2 += (covariance / columns.spread) ** 2
    r2 /= len(batches.y)
    gain = batches.objective.value(np.zeros(1)) - batches.objective.value(r2)
    return float(gain.max(initial=0.0))


def make_batches(
    problem: Problem, params: SearchParams, threads: Threads, executor: DaskExecutor | None = None
) -> Batches:
    """Standardise the columns and targets of a problem, and sort its rows."""
    cost = problem.cost_model.costs(problem.cost_model.keep)
    columns = centre(problem.table, problem.weight, standardize=params.standardize, cost=cost)
    units = Units(problem.cost_model, columns.features, params.group_mode)
    targets = standardize_contrasts(contrasts(problem.target, params.target_type), problem.weight)
    rows, weight = np.arange(problem.n_rows), problem.weight / problem.weight.mean()
    if are_counts(problem.weight):  # whole weights as repeated rows
        counts = problem.weight.astype(np.int64)
        counts //= np.gcd.reduce(counts)
        if counts.sum() <= MAX_REPEATED * len(rows):
            rows = np.repeat(rows, counts)
            weight = np.ones(len(rows))
    if isinstance(columns.rows, DenseRows):
        total = columns.rows.X.sum(axis=1, dtype=np.float64)
    else:
        row = np.repeat(np.arange(problem.n_rows), np.diff(columns.rows.indptr))
        total = np.bincount(row, columns.rows.data, minlength=problem.n_rows)
    order = np.lexsort((total[rows], problem.target.values[rows]))
    rows, weight = rows[order], weight[order]
    sample = np.random.default_rng(params.seed).permutation(len(rows))[:EIGENVALUE_ROWS]
    scale, _ = top_eigenvalue(columns, rows[sample], threads, params.seed)
    estimator = make_estimator(columns, params.order, scale, threads)
    gradients = estimator.gradients
    if executor is not None:
        gradients = distributed_gradients(estimator, (columns, params.order, scale), executor)
    y, objective = targets[:, rows], params.objective
    return Batches(columns, units, rows, y, weight, objective, estimator, gradients)


class WorkerCopy:
    """The estimator of a worker, ``which`` = (k, n): it has the batches k, k + n, ..."""

    def __init__(self, which: tuple[int, int], arguments: Arguments, threads: Threads) -> None:
        self._which, self._estimator = which, make_estimator(*arguments, threads)

    def gradients(
        self, s: FloatArray, batches: Sequence[Batch], objective: Objective
    ) -> dict[int, Gradients]:
        """Signals and gradients of its batches, by number; runs on a worker."""
        numbers = range(self._which[0], len(batches), self._which[1])
        found = ((k, self._estimator.gradients(s, [batches[k]], objective)) for k in numbers)
        return {k: (z, gradient.copy()) for k, (z, gradient) in found}

    def checkpoint(self) -> None:
        """A copy has no state that must be restored."""


def distributed_gradients(
    local: Estimator, arguments: Arguments, executor: DaskExecutor
) -> Callable[..., Gradients]:
    """`Estimator.gradients` on a cluster; single batches are computed here, by ``local``.

    Batches are drawn from all rows in each epoch, so every worker has a copy of all rows; gradients
    are added here in batch order.
    """
    n = executor.n_workers
    source = BlockSource("copies", [1] * n, lambda number: (number, n), WorkerCopy, arguments)
    copies = executor.distribute(source).code_executor()

    def gradients(s: FloatArray, batches: Sequence[Batch], objective: Objective) -> Gradients:
        if len(batches) < 2:
            return local.gradients(s, batches, objective)
        found: dict[int, Gradients] = {}
        for part in copies.each(WorkerCopy.gradients, s, batches, objective):
            found.update(part)
        copies.checkpoint(WorkerCopy.checkpoint)
        in_order = [found[number] for number in range(len(batches))]
        return [z for signals, _ in in_order for z in signals], added(one for _, one in in_order)

    return gradients
