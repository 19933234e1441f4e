"""Descent on v at one penalty: a raw step per epoch.

minimise over v   mean over batches and targets of f(z(s)) + penalty / D * sum_j price_j s_j,
s = sigmoid(2 v)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from secateur._kernels.relaxation import adam_step, squash
from secateur.engines.feature_gradients.estimate import slopes_of_all
from secateur.engines.feature_gradients.rows import Field
from secateur.engines.feature_gradients.targets import SearchParams
from secateur.engines.feature_gradients.units import Units
from secateur.exceptions import InputError
from secateur.path.step import Step
from secateur.typing import FloatArray, IntArray


@dataclass(slots=True, eq=False)
class Descent:
    """Adam on v, with its moments; all of it moves.

    Parameters
    ----------
    v : array of shape (n_units,)
        inf for units that are kept.
    bound : float, default=inf
        v stays between -bound and bound: what is far out can no longer come back.
    """

    v: FloatArray
    s: FloatArray
    first: FloatArray
    second: FloatArray
    n_steps: int = 0
    bound: float = np.inf

    @classmethod
    def begin(cls, v: FloatArray, bound: float = np.inf) -> Descent:
        """From v, with nothing in mind."""
        s = np.empty_like(v)
        squash(v, s)
        return cls(v.copy(), s, np.zeros_like(v), np.zeros_like(v), bound=bound)

    def refresh(self, n_steps: int) -> None:
        """After v was put in place from outside: s follows."""
        self.n_steps = n_steps
        squash(self.v, self.s)

    def update(self, slope: FloatArray, price: FloatArray, rate: float) -> None:
        """One step against the slopes by s."""
        self.n_steps += 1
        adam_step(
            slope, price, rate, self.n_steps, self.bound, 0, len(self.v), self.v, self.first,
            self.second, self.s,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Where a search stood at a step: what the step's handle on its model gives.

    ``scores`` is v and ``inclusion`` s, of all features of the table; columns that took no part
    have -inf and 0.
    """

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


def first_v(units: Units, init: FloatArray | float) -> FloatArray:
    """V to start from: as asked, and inf where a unit is kept."""
    start = np.broadcast_to(np.asarray(init, np.float64), (units.n_units,)).copy()
    start[units.kept] = np.inf
    return start


def trace_penalty(
    field: Field, params: SearchParams, penalty: float, n_features: int
) -> Iterator[Step]:
    """Search at one penalty: a step per epoch."""
    for state in descend(field, params, penalty):
        yield step_of(field.units, state, penalty, n_features)


class State(NamedTuple):
    """Where a search is after so many epochs; v moves on."""

    v: FloatArray
    objective: float
    epoch: int


def descend(field: Field, params: SearchParams, penalty: float) -> Iterator[State]:
    """Search at one penalty, epoch after epoch; ends when the objective stays where it is."""
    units = field.units
    rng = np.random.default_rng(params.seed)
    init = np.asarray(params.init, np.float64)
    start = init if init.ndim == 0 else by_unit(units, init[units.features])
    units.reset()
    descent = Descent.begin(first_v(units, start))
    last = np.nan  # which nothing is close to
    for epoch in range(params.epochs(len(field.rows))):
        if epoch > 0:
            units.reprice(descent.v)
        objective = run_epoch(field, params, penalty, descent, rng)
        yield State(descent.v, objective, epoch + 1)
        if abs(last - objective) <= params.tol * abs(last):
            return
        last = objective


def run_epoch(
    field: Field, params: SearchParams, penalty: float, descent: Descent, rng: np.random.Generator
) -> float:
    """Go through all rows once; returns the mean objective of the batches."""
    units, estimator = field.units, field.estimator
    per_price = penalty / max(1, field.columns.n_columns)
    objectives = []
    batches = list(field.batches(params, rng))
    for first in range(0, len(batches), params.accumulate):
        some = batches[first : first + params.accumulate]
        estimator.see(units.spread(descent.s))
        paid = per_price * units.paid(descent.s)
        for z in slopes_of_all(estimator, some, field.curve):
            check_finite(z, params.order)
            objectives.append(float(field.curve.value(z).mean()) + paid)
        price = per_price * units.price_slope(descent.s)
        slope = estimator.collect() / len(some)
        descent.update(units.gather(slope), price, params.learning_rate)
    return float(np.mean(objectives))


def check_finite(z: FloatArray, order: int) -> None:
    """Refuse to go on from what is no number."""
    if not np.isfinite(z).all():
        msg = (
            f"The estimate of order {order} must be finite. Got {z}: values of X are too far apart "
            "for float32. Use standardize=True, clip the outliers, or lower 'order'."
        )
        raise InputError(msg)


def step_of(units: Units, state: State, penalty: float, n_features: int) -> Step:
    """The step of a state: the selected features, weighed by s."""
    found = Found(units.features, units.spread(state.v).copy(), n_features)
    return Step.of(
        units.order(state.v),
        found.inclusion,
        penalty=penalty,
        objective=state.objective,
        model=found,
        details={"epoch": state.epoch},
    )


def by_unit(units: Units, value: FloatArray) -> FloatArray:
    """One value per unit: the mean of its columns."""
    if units.unit is None:
        return value
    total = np.bincount(units.unit, value, minlength=units.n_units)
    return total / np.bincount(units.unit, minlength=units.n_units)
