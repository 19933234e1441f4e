"""Grafting of linear models: free the weights that violate most, fit the free ones, repeat.

With L1 and L2 prices only, the order in which weights become free does not change the optimum
(Section 3.2.4), so many are freed at once, and twice as many each time.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass

import numpy as np

from secateur._kernels.coordinate_descent import HAIR
from secateur._kernels.threads import Threads
from secateur.data.table import Table
from secateur.engines.grafting.columns import GraftingParams, View, without_twins
from secateur.engines.grafting.criterion import Penalty, duality_gap, violations
from secateur.engines.grafting.gram import Free
from secateur.engines.grafting.newton import LinearState, Refit
from secateur.typing import BoolArray, FloatArray, IntArray, Loss


def read_filled(table: Table, features: IntArray, fill: FloatArray) -> FloatArray:
    """Columns of a table with missing values filled, shape (n_rows, n_features)."""
    cells = table.columns(features)
    missing = np.isnan(cells)
    if missing.any():
        cells = np.where(missing, fill, cells)
    return cells


@dataclass(frozen=True, slots=True, eq=False)
class LinearModel:
    """``raw = at_centre + sum_j coef_j (x_j - centre_j)``, one row of coefficients per output.

    Features stand in their order of entry, so that sums do not depend on the order of columns.
    Centring first keeps the digits of columns far from zero.
    """

    loss: Loss
    features: IntArray
    coef: FloatArray
    centre: FloatArray
    fill: FloatArray
    at_centre: FloatArray

    @property
    def intercept(self) -> FloatArray:
        """Raw predictions where all features are 0."""
        value: FloatArray = self.at_centre - self.coef @ self.centre
        return value

    def raw(self, table: Table, threads: Threads | None = None) -> FloatArray:  # noqa: ARG002
        """Raw predictions of shape (n_outputs, n_rows)."""
        out = np.repeat(self.at_centre[:, None], table.n_rows, axis=1)
        if len(self.features):
            cells = read_filled(table, self.features, self.fill)
            out += self.coef @ (cells - self.centre).T
        return out

    def response(self, table: Table, threads: Threads | None = None) -> FloatArray:
        """Predictions on the target's scale: values, or a probability per class."""
        return self.loss.response(self.raw(table, threads))


Solving = Generator["LinearGrafting", None, "Certificate"]
"""A fit that says where it wants its gradients known, and ends with how far it came."""


def together(solvings: Sequence[Solving]) -> list[Certificate]:
    """Run fits on the same columns, each until it waits, and then give all of them what they want.

    A pass over all rows is what costs where these are in a file or on a cluster; what each of the
    fits does with its gradients depends on nothing but them.
    """
    ends: dict[int, Certificate] = {}
    while len(ends) < len(solvings):
        waiting = []
        for number, solving in enumerate(solvings):
            if number in ends:
                continue
            try:
                waiting.append(next(solving))
            except StopIteration as end:
                ends[number] = end.value
        if waiting:
            _learn(waiting)
    return [ends[number] for number in range(len(solvings))]


def _learn(cores: Sequence[LinearGrafting]) -> None:
    by_row = [core.view.row_gradients(core.state.raw)[0] for core in cores]
    view = cores[0].view
    dots = view.columns.dots(np.concatenate(by_row), view.threads)
    ends = np.cumsum([len(rows) for rows in by_row])[:-1]
    for core, rows, its_dots in zip(cores, by_row, np.split(dots, ends), strict=True):
        core.learn(rows, its_dots)


FIRST_FREE = 64
"""Weights freed in the first round; later as many as are free already."""

LOOSE = 0.05
"""A round need not fit better than this share of what it found wrong: the next round will."""

STRICTEST = 1e-6
"""Violations below this share of the tolerance drown in rounding."""

NOT_YET = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Certificate:
    """How far a state is from the optimum, in shares of the start; and what it took."""

    violation: float
    gap: float
    n_rounds: int


class LinearGrafting:
    """A linear model that grows, warm-started from penalty to penalty."""

    def __init__(self, view: View, params: GraftingParams, alpha: FloatArray) -> None:
        self.view, self.params = view, params
        self.alpha = alpha
        n_outputs, n_features = view.loss.n_outputs, view.columns.n_features
        start = view.baseline() if params.fit_intercept else np.zeros(n_outputs)
        raw = np.repeat(start[:, None], view.columns.n_rows, axis=1)
        self.state = LinearState(np.zeros((n_outputs, n_features)), start.copy(), raw)
        self.entry = np.full(n_features, NOT_YET)
        self.n_grafts = 0
        self.allowed: BoolArray | None = None
        self._refit = Refit(view, fit_intercept=params.fit_intercept)
        self._null_loss = view.mean_loss(raw) or 1.0
        self._known: tuple[FloatArray, FloatArray, FloatArray] | None = None
        self.scale = float(np.abs(self.gradient()[1]).max(initial=0.0)) or 1.0

    def largest_l1(self) -> float:
        """The smallest L1 price that keeps all weights out, once what is free is fitted."""
        self.solve(np.inf)
        gradient = self.gradient()[1]
        priced = self.alpha > 0.0
        size = np.abs(gradient[:, priced]) / self.alpha[priced]
        top = float(size.max(initial=0.0))
        return top if top > 1e-13 * self.scale else 0.0

    def gradient(self) -> tuple[FloatArray, FloatArray]:
        """Gradients of the loss by row and by weight; asked twice, they are not made again."""
        if self._known is None or self._known[0] is not self.state.raw:
            by_row, _ = self.view.row_gradients(self.state.raw)
            self._known = self.state.raw, by_row, self.view.column_gradients(by_row)
        return self._known[1:]

    def learn(self, by_row: FloatArray, dots: FloatArray) -> None:
        """Take gradients that somebody else made, by row and as sums over the stored columns."""
        self._known = self.state.raw, by_row, self.view.standardised(dots, by_row)

    def penalty(self, l1: float) -> Penalty:
        """The penalty at one L1 price."""
        return Penalty(l1, self.params.l2, self.alpha)

    def solve(self, l1: float) -> Certificate:
        """Graft until the optimum at this L1 price is reached, or the rounds are used up."""
        solving = self.solving(l1)
        while True:
            try:
                next(solving)  # what it waits for it makes itself
            except StopIteration as end:
                certificate: Certificate = end.value
                return certificate

    def solving(self, l1: float) -> Generator[LinearGrafting, None, Certificate]:
        """The same, with a halt wherever gradients are wanted: see `lockstep`."""
        penalty, tol, strictness = self.penalty(l1), self.params.tol, 0.3
        for n_rounds in range(self.params.max_rounds + 1):
            if self._known is None or self._known[0] is not self.state.raw:
                yield self
            by_row, gradient = self.gradient()
            certificate, found = self._certify(by_row, gradient, penalty, n_rounds)
            is_last = n_rounds == self.params.max_rounds or strictness < STRICTEST
            if is_last or (certificate.violation <= tol and certificate.gap <= tol):
                break
            if certificate.violation <= tol:
                strictness *= 0.1  # the gap wants more than the violations
            goal = strictness * tol
            if not self.view.loss.constant_hessian:
                goal = max(goal, LOOSE * certificate.violation)
            self.fit(self._choose(gradient, found, penalty), penalty, goal * self.scale)
        return Certificate(certificate.violation, certificate.gap, max(1, n_rounds))

    def certify(self, l1: float) -> Certificate:
        """How far the state is from the optimum at this L1 price."""
        by_row, gradient = self.gradient()
        return self._certify(by_row, gradient, self.penalty(l1), self.params.max_rounds)[0]

    def _certify(
        self, by_row: FloatArray, gradient: FloatArray, penalty: Penalty, n_rounds: int
    ) -> tuple[Certificate, FloatArray]:
        state = self.state
        found = violations(gradient, state.weight, penalty)
        if self.allowed is not None:
            found[:, ~self.allowed] = 0.0
        worst = float(found.max(initial=0.0))
        if self.params.fit_intercept:
            worst = max(worst, float(np.abs(by_row.sum(axis=1)).max()))
        worst /= self.scale
        if worst > self.params.tol and n_rounds < self.params.max_rounds:
            return Certificate(worst, np.inf, n_rounds), found
        gap = duality_gap(
            self.view, state.raw, by_row, gradient, state.weight, penalty, self.allowed
        )
        return Certificate(worst, gap / self._null_loss, n_rounds), found

    def _choose(self, gradient: FloatArray, found: FloatArray, penalty: Penalty) -> list[IntArray]:
        """For each output the weights to free: those in use, and the worst violators (Eq. 8)."""
        used = self.state.weight != 0.0
        excess = np.where(used, 0.0, found)
        excess[np.abs(gradient) <= penalty.threshold * (1.0 + HAIR)] = 0.0
        n_new = max(FIRST_FREE, int(used.sum()))
        output, feature = _largest(excess, n_new + FIRST_FREE)
        order = np.lexsort((feature, output, -excess[output, feature]))
        order = order[: n_new + FIRST_FREE]
        free = []
        for k in range(len(used)):
            here = feature[order[output[order] == k]][:n_new]
            old = np.flatnonzero(used[k])
            old = old[np.argsort(self.entry[old], kind="stable")]
            new = without_twins(self.view, gradient[k], self.alpha, old, here)
            self.enter(new)
            free.append(np.concatenate([old, new]))
        return free

    def enter(self, features: IntArray) -> None:
        """Remember in which order features became free."""
        for j in features:
            if self.entry[j] == NOT_YET:
                self.entry[j] = self.n_grafts
            self.n_grafts += 1

    def fit(self, free: list[IntArray], penalty: Penalty, goal: float) -> None:
        """Fit the free weights of all outputs again."""
        self._refit.fit(self.state, Free.of(free), penalty, goal)
        if self.params.fit_intercept and len(free) > 1:
            self._centre_intercepts()

    def _centre_intercepts(self) -> None:
        """A shift common to all classes changes nothing: the shortest vector is kept."""
        shift = self.state.intercept.mean()
        self.state.intercept -= shift
        self.state.raw = self.state.raw - shift

    def support(self) -> IntArray:
        """The features in use, in order of entry."""
        used = np.flatnonzero(self.state.weight.any(axis=0))
        return used[np.argsort(self.entry[used], kind="stable")]

    def value(self, l1: float) -> float:
        """The criterion without its L0 part."""
        return self.state.loss(self.view) + self.penalty(l1).value(self.state.weight)

    def model(self) -> LinearModel:
        """The state as a model in the user's units."""
        features = self.support()
        centre, inverse = self.view.user_scale(features)
        return LinearModel(
            self.view.loss,
            features,
            self.state.weight[:, features] * inverse,
            centre,
            self.view.user_mean(features),
            self.state.intercept.copy(),
        )


def _largest(excess: FloatArray, n: int) -> tuple[IntArray, IntArray]:
    """The places of the n largest, and of all that equal the last of them; no zeros."""
    least = 0.0
    if excess.size > n:
        least = float(np.partition(excess, excess.size - n, axis=None)[excess.size - n])
    output, feature = np.nonzero(excess >= least if least > 0.0 else excess)
    return output, feature
