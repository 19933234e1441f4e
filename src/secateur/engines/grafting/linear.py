"""Grafting of linear models: free the weights that violate most, fit the free ones, repeat.

With L1 and L2 penalties only, the order in which weights become free does not change the optimum
(Section 3.2.4), so many are freed at once, and twice as many each time. A path follows a falling
grid of L1 penalties with warm starts, in all folds at once.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from secateur._kernels.coordinate_descent import HAIR
from secateur.data.table import Fold, all_rows
from secateur.engines.fold_losses import FoldLosses
from secateur.engines.grafting.columns import GraftingData, GraftingParams, View, without_duplicates
from secateur.engines.grafting.models import LinearModel
from secateur.engines.grafting.solver import LinearState, Penalty, Refit, violations
from secateur.engines.limits import Limits
from secateur.path.step import Step
from secateur.typing import BoolArray, FloatArray, IntArray

FIRST_FREE = 128  # weights freed in the first round; later as many as are free already
LOOSE = 0.1  # a round is fitted to this share of its largest violation: another follows
MIN_STRICTNESS = 1e-6  # violations below this share of the tolerance are rounding errors
NEVER = np.iinfo(np.int64).max  # entry of a feature that was never free
GRID_POINTS = 40  # L1 penalties of the automatic grid
GRID_BOTTOM = 1e-3  # the lowest of them, as a share of the one that keeps everything out
WIDE_GRID_BOTTOM = 1e-2  # the same with more features than rows: lower penalties overfit
APPROACH_POINTS = 20  # penalties on the way down to a single one under ``max_features``
# A fit that yields itself when it needs its gradients, and returns a certificate.
Solving = Generator["LinearGrafting", None, "Certificate"]


def solve_together(fits: Sequence[Solving]) -> list[Certificate]:
    """Run several fits; the gradients of all are computed in one pass over the rows."""
    done: dict[int, Certificate] = {}
    while len(done) < len(fits):
        waiting = []
        for number, fit in enumerate(fits):
            if number in done:
                continue
            try:
                waiting.append(next(fit))
            except StopIteration as end:
                done[number] = end.value
        if waiting:
            _set_gradients(waiting)
    return [done[number] for number in range(len(fits))]


def _set_gradients(fits: Sequence[LinearGrafting]) -> None:
    by_row = [fit.view.row_gradients(fit.state.raw)[0] for fit in fits]
    view = fits[0].view
    dots = view.columns.dots(np.concatenate(by_row), view.threads)
    ends = np.cumsum([len(rows) for rows in by_row])[:-1]
    for fit, rows, its_dots in zip(fits, by_row, np.split(dots, ends), strict=True):
        fit.known = fit.state.raw, rows, fit.view.standardised(its_dots, rows)


class Certificate(NamedTuple):
    """Violation and duality gap of a state, as shares of the start, and the rounds it took."""

    violation: float
    gap: float
    rounds: int


class LinearGrafting:
    """A linear model that grows on the training rows of a fold, from penalty to penalty."""

    def __init__(self, data: GraftingData, params: GraftingParams, fold: Fold) -> None:
        self.data, self.params, self.fold = data, params, fold
        self.view = view = View(data, fold.train, params)
        self.alpha, self.alpha2 = data.alphas(np.empty(0, np.int64))
        self.limits = Limits(data.cost_model, params.max_features, params.cost_budget)
        self._chosen: IntArray | None = None  # the only features, once a limit was reached
        n_outputs, n_features = view.loss.n_outputs, view.columns.n_features
        raw = np.repeat(view.start[:, None], view.columns.n_rows, axis=1)
        self.state = LinearState(np.zeros((n_outputs, n_features)), view.start.copy(), raw)
        self.entry = np.full(n_features, NEVER)
        self.n_grafts = 0
        self.allowed: BoolArray | None = None
        self._refit = Refit(view, fit_intercept=params.fit_intercept)
        self._null_loss = view.mean_loss(raw) or 1.0
        self.known: tuple[FloatArray, FloatArray, FloatArray] | None = None
        self.scale = float(np.abs(self.gradient()[1]).max(initial=0.0)) or 1.0

    def largest_l1(self) -> float:
        """The smallest L1 penalty that keeps all weights with alpha > 0 at zero."""
        self.solve(np.inf)
        gradient = self.gradient()[1]
        priced = self.alpha > 0.0
        size = np.abs(gradient[:, priced]) / self.alpha[priced]
        top = float(size.max(initial=0.0))
        return top if top > 1e-13 * self.scale else 0.0

    def gradient(self) -> tuple[FloatArray, FloatArray]:
        """Gradients of the loss by row and by weight, cached."""
        if self.known is None or self.known[0] is not self.state.raw:
            _set_gradients([self])
        return self.known[1:]  # type: ignore[index]  # set by _set_gradients

    def penalty(self, l1: float) -> Penalty:
        """The penalty with this ``l1``."""
        return Penalty(l1, self.params.l2, (self.alpha, self.alpha2))

    def solve(self, l1: float) -> Certificate:
        """Graft until the optimum at this L1 penalty is reached, or for ``max_iter``."""
        return solve_together([self._solving(l1)])[0]

    def solving(self, l1: float) -> Solving:
        """Fit at the next penalty; features beyond the limits do not enter."""
        data, limits, chosen = self.data, self.limits, self._chosen
        if not data.cost_model.is_plain:
            self.alpha, self.alpha2 = data.alphas(self.support())
        if limits.are_none:
            return (yield from self._solving(l1))
        before = self.state.copy()
        if chosen is not None:
            self.allowed = limits.open(chosen)
        used = data.with_kept(self.support()) if chosen is None else chosen
        certificate = yield from self._solving(l1)
        after = data.with_kept(self.support())
        new = np.setdiff1d(after, used)
        if not limits.allow(after if chosen is None else np.concatenate([used, new])):
            self.state = before
            # by falling gradient, in units of their alphas
            size = np.abs(self.gradient()[1][:, new]).max(axis=0)
            size /= np.where(self.alpha[new] > 0.0, self.alpha[new], 1.0)
            self._chosen = limits.filled(used, new[np.argsort(-size, kind="stable")])
            is_chosen = np.isin(np.arange(len(self.alpha)), self._chosen)
            self.allowed = data.cost_model.with_siblings(is_chosen)
            certificate = yield from self._solving(l1)
        return certificate

    def _solving(self, l1: float) -> Solving:
        """`solve` as a generator that yields when it needs gradients."""
        penalty, tol, strictness = self.penalty(l1), self.params.tol, 0.3
        for n_rounds in range(self.params.max_iter + 1):
            if self.known is None or self.known[0] is not self.state.raw:
                yield self
            by_row, gradient = self.gradient()
            certificate, found = self.certify(by_row, gradient, penalty, n_rounds)
            is_last = n_rounds == self.params.max_iter or strictness < MIN_STRICTNESS
            if is_last or (certificate.violation <= tol and certificate.gap <= tol):
                break
            if certificate.violation <= tol:
                strictness *= 0.1  # the gap needs a closer fit than the violations
            goal = strictness * tol
            if not self.view.loss.constant_hessian:
                goal = max(goal, LOOSE * certificate.violation)
            self.fit(self._choose(gradient, found, penalty), penalty, goal * self.scale)
        return Certificate(certificate.violation, certificate.gap, max(1, n_rounds))

    def certify(
        self, by_row: FloatArray, gradient: FloatArray, penalty: Penalty, n_rounds: int
    ) -> tuple[Certificate, FloatArray]:
        """Violation and duality gap (infinite where another round follows), and all violations."""
        state = self.state
        found = violations(gradient, state.weight, penalty.threshold, penalty.ridge)
        if self.allowed is not None:
            found[:, ~self.allowed] = 0.0
        worst = float(found.max(initial=0.0))
        if self.params.fit_intercept:
            worst = max(worst, float(np.abs(by_row.sum(axis=1)).max()))
        worst /= self.scale
        if worst > self.params.tol and n_rounds < self.params.max_iter:
            return Certificate(worst, np.inf, n_rounds), found
        gap = self._duality_gap(by_row, gradient, penalty)
        return Certificate(worst, gap / self._null_loss, n_rounds), found

    def _duality_gap(self, by_row: FloatArray, gradient: FloatArray, penalty: Penalty) -> float:
        """The duality gap ``P(w) - D(u) >= 0``, a bound on how much the criterion can still fall.

        The dual point is the gradient by row, scaled until ``|x_j' u| <= l1 alpha_j`` where there
        is no squared penalty. Intercepts and features of alpha 0 are taken to be at their optimum.
        """
        view, threshold, ridge = self.view, penalty.threshold, penalty.ridge
        held = threshold > 0.0 if self.allowed is None else (threshold > 0.0) & self.allowed
        size = np.abs(gradient)
        strict = held & (ridge == 0.0)
        top = float((size[:, strict] / threshold[strict]).max(initial=0.0))
        part = min(1.0, 1.0 / top) if top > 0.0 else 1.0
        slope = np.zeros_like(by_row)
        used = view.shares > 0.0
        slope[:, used] = part * by_row[:, used] / view.shares[used]
        dual = -float(view.shares @ view.loss.conjugate(view.target, slope))  # type: ignore[attr-defined]  # the losses of grafting have one
        soft = held & (ridge > 0.0)
        if soft.any():
            beyond = np.maximum(part * size[:, soft] - threshold[soft], 0.0)
            dual -= float((beyond * beyond / (2.0 * ridge[soft])).sum())
        return max(0.0, view.mean_loss(self.state.raw) + penalty.value(self.state.weight) - dual)

    def _choose(self, gradient: FloatArray, found: FloatArray, penalty: Penalty) -> list[IntArray]:
        """For each output the weights to free: those in use, and the largest violations (Eq. 8)."""
        used = self.state.weight != 0.0
        excess = np.where(used, 0.0, found)
        excess[np.abs(gradient) <= penalty.threshold * (1.0 + HAIR)] = 0.0
        n_new = max(FIRST_FREE, int(used.sum()))
        smallest, n_most = 0.0, n_new + FIRST_FREE
        if excess.size > n_most:  # the largest, with ties of the last of them; no zeros
            smallest = float(np.partition(excess, -n_most, axis=None)[-n_most])
        output, feature = np.nonzero(excess >= smallest if smallest > 0.0 else excess)
        order = np.lexsort((feature, output, -excess[output, feature]))[:n_most]
        free = []
        for k in range(len(used)):
            here = feature[order[output[order] == k]][:n_new]
            old = np.flatnonzero(used[k])
            old = old[np.argsort(self.entry[old], kind="stable")]
            new = without_duplicates(self.view, gradient[k], self.alpha, old, here)
            self.enter(new)
            free.append(np.concatenate([old, new]))
        return free

    def enter(self, features: IntArray) -> None:
        """Record the order in which features became free."""
        for j in features:
            if self.entry[j] == NEVER:
                self.entry[j] = self.n_grafts
            self.n_grafts += 1

    def fit(self, free: list[IntArray], penalty: Penalty, goal: float) -> None:
        """Fit the free weights of all outputs again."""
        self._refit.fit(self.state, free, penalty, goal)
        if self.params.fit_intercept and len(free) > 1:
            # remove the shift common to all classes, which changes no probability
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

    def importances(self) -> FloatArray:
        """The sum of absolute weights over outputs, of standardised columns."""
        return np.abs(self.state.weight).sum(axis=0)

    def model(self) -> LinearModel:
        """The state as a model in the user's units."""
        features = self.support()
        centre, inverse, fill = self.view.user_units(features)
        weight, intercept = self.state.weight[:, features], self.state.intercept.copy()
        return LinearModel(self.view.loss, features, weight * inverse, centre, fill, intercept)


class LinearEngine:
    """Linear grafting on all rows and in all folds, for `search_penalties`."""

    def __init__(
        self,
        data: GraftingData,
        params: GraftingParams,
        folds: Sequence[Fold],
        on_round: Callable[[], None] = lambda: None,
    ) -> None:
        self._data, self._params, self.metric = data, params, data.loss.metric
        self._whole = LinearGrafting(data, params, all_rows(len(data.target)))
        self._runs = self._latest = [LinearGrafting(data, params, fold) for fold in folds]
        self._on_round = on_round

    def fit(self, penalty: float, max_features: int | None = None) -> Step:
        """The step of all rows at one L1 penalty; folds are fitted along with it."""
        runs = [*self._runs, self._whole]
        if max_features is not None:  # fits of their own: these may have more features already
            params = replace(self._params, max_features=max_features)
            runs = [LinearGrafting(self._data, params, run.fold) for run in runs]
        *_, certificate = solve_together([run.solving(penalty) for run in runs])
        for _ in runs:
            self._on_round()
        *self._latest, whole = runs
        details = {"grafts": whole.n_grafts, **certificate._asdict()}
        return self._data.step(whole, penalty, whole.value(penalty), **details)

    def fold_losses(self, step: Step) -> list[FoldLosses]:  # noqa: ARG002  # the last one
        """Losses of the test rows of each fold."""
        return [self._data.fold_losses(run.fold, run.state.raw) for run in self._latest]

    def grid(self) -> list[float]:
        """Falling penalties, from the smallest that keeps everything out."""
        top = self._whole.largest_l1()
        if top == 0.0:
            return [0.0]
        columns = self._data.columns
        bottom = GRID_BOTTOM if columns.n_rows >= columns.n_features else WIDE_GRID_BOTTOM
        return [float(value) for value in np.geomspace(top, bottom * top, GRID_POINTS)]

    def approach(self, l1: float) -> list[float]:
        """Penalties that lead down to one, so that features enter in order."""
        top = self._whole.largest_l1()
        if l1 >= top:
            return [l1]
        grid = np.geomspace(top, max(l1, 1e-6 * top), APPROACH_POINTS)
        return [float(value) for value in grid[:-1]]

    def follow(self, penalties: Sequence[float]) -> None:
        """Fit all rows at some penalties without a step for each."""
        for l1 in penalties:
            solve_together([self._whole.solving(l1)])
