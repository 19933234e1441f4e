"""Gradient descent on v at one penalty, one raw step per epoch.

minimise over v   mean over batches and targets of f(z(s)) + penalty / D * sum_j cost_j s_j,
s = sigmoid(2 v)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from secateur._kernels.feature_gradients import adam_step, squash
from secateur.engines.feature_gradients.batches import Batches, SearchParams
from secateur.engines.feature_gradients.units import Units
from secateur.exceptions import InputError
from secateur.path.step import Step
from secateur.typing import FloatArray, IntArray


class Adam:
    """The Adam optimiser on v (inf for kept units), which stays between -bound and bound."""

    def __init__(self, v: FloatArray, bound: float = np.inf) -> None:
        self.v = v.copy()
        self.s = np.empty_like(v)
        self.first, self.second = np.zeros_like(v), np.zeros_like(v)
        self.bound = bound
        self.restore(0)

    def restore(self, n_steps: int) -> None:
        """Compute s after v was changed from outside."""
        self.n_steps = n_steps
        squash(self.v, self.s)

    def update(self, gradient: FloatArray, cost: FloatArray, rate: float) -> None:
        """One step against the gradient by s."""
        self.n_steps += 1
        adam_step(
            gradient, cost, rate, self.n_steps, self.bound, 0, len(self.v), self.v, self.first,
            self.second, self.s,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Inclusion:
    """The state of a search as a model; features that took no part have v = -inf and s = 0."""

    features: IntArray
    v: FloatArray
    n_features: int

    @property
    def scores(self) -> FloatArray:
        """The v of each feature."""
        scores = np.full(self.n_features, -np.inf)
        scores[self.features] = self.v
        return scores

    @property
    def inclusion(self) -> FloatArray:
        """The s of each feature."""
        s = np.empty(len(self.v))
        squash(self.v, s)
        inclusion = np.zeros(self.n_features)
        inclusion[self.features] = s
        return inclusion


class SearchState(NamedTuple):
    """State of a search after some epochs; v is not a copy."""

    v: FloatArray
    objective: float
    epoch: int


def search(batches: Batches, params: SearchParams, penalty: float) -> Iterator[SearchState]:
    """Minimise at one penalty, one state per epoch, until the objective converges."""
    units = batches.units
    rng = np.random.default_rng(params.seed)
    init = np.asarray(params.init, np.float64)
    units.reset_costs()
    adam = Adam(units.initial_v(init if init.ndim == 0 else init[units.features]))
    last = np.nan  # which nothing is close to
    for epoch in range(params.epochs(len(batches.rows))):
        if epoch > 0:
            units.update_costs(adam.v)
        objective = run_epoch(batches, params, penalty, adam, rng)
        yield SearchState(adam.v, objective, epoch + 1)
        if abs(last - objective) <= params.tol * abs(last):
            return
        last = objective


def run_epoch(
    batches: Batches, params: SearchParams, penalty: float, adam: Adam, rng: np.random.Generator
) -> float:
    """Update on all rows once; returns the mean objective of the batches."""
    value = batches.objective.value
    steps = updates(batches, params, lambda: penalty, adam, rng)
    return float(
        np.mean([float(value(z).mean()) + cost for signals, cost in steps for z in signals])
    )


def updates(
    batches: Batches,
    params: SearchParams,
    penalty: Callable[[], float],
    adam: Adam,
    rng: np.random.Generator,
) -> Iterator[tuple[list[FloatArray], float]]:
    """Update v on all rows once; for each update the z of its batches, and the cost before it."""
    units, drawn = batches.units, list(batches.draw(params, rng))
    for first in range(0, len(drawn), params.accumulate):
        some = drawn[first : first + params.accumulate]
        signals, gradient = batches.gradients(units.to_columns(adam.s), some, batches.objective)
        if not np.isfinite(signals).all():
            raise InputError(
                f"The estimate of order {params.order} must be finite. Got {signals}: values of X "
                "are too far apart for float32. Use standardize=True, clip the outliers, or lower "
                "'order'."
            )
        cost_factor = penalty() / max(1, batches.columns.n_columns)
        cost = cost_factor * units.total_cost(adam.s)
        by_cost = cost_factor * units.cost_gradient(adam.s)
        adam.update(units.sum_columns(gradient / len(some)), by_cost, params.learning_rate)
        yield signals, cost


def step_of(units: Units, state: SearchState, penalty: float, n_features: int) -> Step:
    """The step of a state: the selected features, weighted by s."""
    model = Inclusion(units.features, units.to_columns(state.v).copy(), n_features)
    return Step.of(
        units.order(state.v),
        model.inclusion,
        penalty=penalty,
        objective=state.objective,
        model=model,
        details={"epoch": state.epoch},
    )
