"""Boosted fits at one penalty after another, and backward elimination from one of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from secateur.data.binning import BinnedColumns, described, take_columns
from secateur.data.costs import CostModel
from secateur.data.table import Fold
from secateur.engines.boosted.engine import BoostedData
from secateur.engines.boosted.trees import BoostingParams
from secateur.engines.boosted.whole_fit import LOSSES, CompiledFit, boost_small, largest_buffers
from secateur.engines.fold_losses import FoldLosses, mean_of
from secateur.losses import Loss
from secateur.path.step import Step
from secateur.typing import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from secateur.engines.boosted.multitask import TasksData

GRID_POINTS = 8  # penalties that "auto" tries
FEW_POINTS = 5  # of them where elimination finds the sizes between
# The largest of them, as a share of the best gain that any single split has at the start.
GRID_TOP = 0.25
GRID_BOTTOM = 0.002  # the smallest, likewise
# The penalty of the step without features, by one that is higher than the grid already.
FAR_ABOVE = 8.0
FAST_ROWS = 1000  # from which on "auto" searches penalties at a higher learning rate
SEARCH_RATE = 0.2  # the learning rate of a search; the chosen step is fitted at that of the user
# Short fits decide which feature is dropped. On 15,000 x 300, 15 informative and 30 redundant: six
# candidates are as good as all, three clearly worse; twice the rounds gain little, and swaps with
# features that were dropped before gain nothing on other rows.
SHORT_RATE, SHORT_ROUNDS = 0.3, 30
SHORT_PATIENCE = 5  # rounds of short fits without progress
MAX_ROWS = 12_000  # of short fits; half of them find worse subsets
MIN_ROWS = 800  # training rows below which a quarter of them decides nothing
# How features are dropped by short fits: how many together, as a share of those left, and of how
# many more that are tried one by one. The first that is fast enough; else by the gains of the fits.
WAYS_TO_DROP = ((0.0, 5), (0.05, 5), (0.1, 5), (0.2, 5), (0.3, 5))
LITTLE_WORK = 2e8  # cells: a tenth of a second, which is always spent
SMALL = 1e-12  # instead of a cost of 0, by which gains are divided
MAX_WORK = 4.0  # the work of elimination, as a multiple of that of the fits it begins from


def penalty_grid(
    data: BoostedData | TasksData, params: BoostingParams, n_points: int = GRID_POINTS
) -> list[float]:
    """Falling penalties, as shares of the best gain of a single split at the start."""
    top = data.best_gain(params)
    if top <= 0.0:
        return [0.0]
    return [float(p) for p in np.geomspace(GRID_TOP * top, GRID_BOTTOM * top, n_points)]


def higher_penalties(penalty: float, cost_model: CostModel) -> tuple[float, float]:
    """Two penalties above the first of a grid, so that any limit has a step: one takes none."""
    now = cost_model.costs(cost_model.keep)
    paid = now[now > 0.0]
    ratio = float(paid.mean() / paid.min()) if len(paid) else 1.0
    return 5.0 * ratio * penalty, 2.0 * penalty


def no_features(penalty: float, cost_model: CostModel, largest: float) -> float:
    """A penalty far above the first of a grid, but allowed for features of the lowest cost."""
    cost = cost_model.costs(cost_model.keep)
    least = min(1.0, float(cost[cost > 0.0].min(initial=1.0)))
    high, _ = higher_penalties(penalty, cost_model)
    return min(FAR_ABOVE * high, 0.999 * largest / least)


def search_params(params: BoostingParams) -> BoostingParams:
    """Those of a search: at least ``SEARCH_RATE``, and fewer rounds in proportion."""
    rate = max(params.learning_rate, SEARCH_RATE)
    n_rounds = math.ceil(params.n_rounds * params.learning_rate / rate)
    return replace(params, learning_rate=rate, n_rounds=n_rounds)


def is_fast(n_rows: int, penalty: object) -> bool:
    """Whether penalties are searched with fewer rounds: with few rows that takes little time."""
    return n_rows >= FAST_ROWS and penalty is None


class BestRound:
    """The round with the least mean loss."""

    def __init__(self, patience: int) -> None:
        self._patience, self._least = patience, np.inf
        self.n_rounds = 0

    def note(self, n_rounds: int, mean: float) -> bool:
        """Note the loss after so many rounds; returns whether it is the best so far."""
        if self.n_rounds and not mean < self._least:
            return False
        self._least = mean if np.isfinite(mean) else np.inf
        self.n_rounds = n_rounds
        return True

    def is_past(self, n_rounds: int) -> bool:
        """Whether the best was too many rounds ago."""
        return self.n_rounds > 0 and n_rounds - self.n_rounds >= self._patience


class BoostedEngine:
    """Boosted trees at one penalty after another, for `search_penalties`.

    All folds are boosted side by side, until ``patience`` rounds have not lowered the validation
    loss; all rows then train for the best number of rounds. The validation rows of a single fold
    stay out, until ``refit``. Without folds all rows train for all rounds. ``params`` are those of
    the refit: with ``is_fast`` the search itself has fewer rounds at a higher learning rate.
    """

    def __init__(
        self,
        data: BoostedData | TasksData,
        params: BoostingParams,
        folds: Sequence[Fold],
        patience: int,
        on_round: Callable[[], None] = lambda: None,
        *,
        is_fast: bool = False,
    ) -> None:
        self._data, self._folds, self._on_round = data, folds, on_round
        self._final = self._params = params
        self._speed = 1.0
        if is_fast:
            self._params = search_params(params)
            self._speed = self._params.learning_rate / params.learning_rate
        self._patience = math.ceil(patience / self._speed)
        self._losses: Sequence[FoldLosses] = ()
        self._whole: list[CompiledFit] | None = None
        # by penalty, the features of each fold, and of all rows unless there is a single fold,
        # with their total gains
        self._found: dict[float, list[tuple[IntArray, FloatArray]]] = {}
        self.metric = data.metric

    @property
    def _parts(self) -> list[Fold]:
        """The folds, and all rows unless there is a single fold."""
        parts = [*self._folds]
        return parts if len(parts) == 1 else [*parts, self._data.everything]

    def fit(self, penalty: float, max_features: int | None = None) -> Step:
        """The step of one penalty: the folds find the number of rounds, then all rows train."""
        limit = self._params.max_features if max_features is None else max_features
        params = replace(self._params, penalty=penalty, max_features=limit)
        of_parts = [params] * len(self._parts)
        if self._whole is None:
            self._whole = self._whole_fits(of_parts)
        # what has a limit may have to be grown by rounds
        whole = self._whole if max_features is None else self._whole_fits(of_parts)
        return self._fit_whole(whole, params) if whole else self._fit_by_rounds(of_parts)

    def _whole_fits(self, params: Sequence[BoostingParams]) -> list[CompiledFit]:
        """A fit for each part of the rows, all with their own parameters; [] where it is slower."""
        fits: list[CompiledFit] = []
        parts = self._parts
        for fold, its in zip(parts, params, strict=True):
            is_last = fold is parts[-1]  # the others only score
            fit = self._data.whole_fit(fold, its, has_objective=is_last)
            if fit is None:
                return []
            fits.append(fit)
        return fits

    def _fit_whole(self, fits: Sequence[CompiledFit], params: BoostingParams) -> Step:
        """All fits advance side by side, a thread for each, ``patience`` rounds at a time."""
        folds, threads = fits[: len(self._folds)], self._data.threads
        buffers = [largest_buffers(fits) for _ in range(min(threads.n_threads, len(fits)))]
        for fit in fits:
            fit.begin(params)
        best, n_done, n_rounds = BestRound(self._patience), 0, self._params.n_rounds
        while n_done < n_rounds and not best.is_past(n_done):
            last = min(n_done + self._patience, n_rounds) if folds else n_rounds
            threads.share(
                lambda worker, i: fits[i].advance(last, buffers[worker]),  # noqa: B023  # at once
                len(fits),
            )
            for n in range(n_done + 1, last + 1):
                if folds and not best.is_past(n - 1):
                    best.note(n, mean_of([fit.losses_after(n) for fit in folds]))
                    for _ in folds:
                        self._on_round()
            n_done = last
        n_best = best.n_rounds if folds else n_rounds
        self._losses = [fit.losses_after(n_best) for fit in folds]
        self._found[params.penalty] = [fit.support_after(n_best) for fit in fits]
        if len(fits) > len(folds):
            for _ in range(n_best):
                self._on_round()
        return fits[-1].step(n_best)

    def _fit_by_rounds(self, params: Sequence[BoostingParams]) -> Step:
        """The same round by round; each part of the rows has its own parameters."""
        runs = [self._data.run(*of_run) for of_run in zip(self._folds, params, strict=False)]
        best = BestRound(self._patience)
        kept: tuple[Step, ...] = ()
        for n_rounds, steps in enumerate(zip(*(run.steps for run in runs), strict=True), start=1):
            losses = [run.fold_losses(step) for run, step in zip(runs, steps, strict=True)]
            for _ in runs:
                self._on_round()
            if best.note(n_rounds, mean_of(losses)):
                kept, self._losses = steps, losses
            if best.is_past(n_rounds):
                break  # more rounds would fit noise
        if len(kept) != 1:
            last = params[-1]
            if kept:
                last = replace(last, n_rounds=best.n_rounds)
            for step in self._data.run(self._data.everything, last).steps:  # noqa: B007
                self._on_round()
            kept = (*kept, step)
        self._found[params[-1].penalty] = [(step.support, step.weight) for step in kept]
        return kept[-1]

    def fold_losses(self, step: Step) -> Sequence[FoldLosses]:
        """Validation losses at the best number of rounds."""
        del step  # the last one
        return self._losses

    def trial(self, penalties: Sequence[float], n_worse: int) -> Sequence[FoldLosses]:
        """Losses at the best penalty of a search by few rounds on the first fold.

        It ends after ``n_worse`` penalties without progress.
        """
        params = replace(self._params, learning_rate=SHORT_RATE, n_rounds=SHORT_ROUNDS)
        engine = BoostedEngine(self._data, params, self._folds[:1], SHORT_PATIENCE)
        best, since = (np.inf, [FoldLosses(np.full(1, np.inf), np.ones(1))]), 0
        for penalty in penalties:
            losses = [*engine.fold_losses(engine.fit(penalty))]
            since += 1
            if mean_of(losses) < best[0]:
                best, since = (mean_of(losses), losses), 0
            if since >= n_worse:
                break
        return best[1]

    def fit_only(self, features: Sequence[IntArray], penalty: float = 0.0) -> Step:
        """The step of a fit that may use some features only, others in each part of the rows."""
        base = replace(self._params, penalty=penalty, max_features=None, cost_budget=None)
        params = [replace(base, only=its) for its in features]
        fits = self._whole_fits(params)
        return self._fit_whole(fits, base) if fits else self._fit_by_rounds(params)

    def refit(self, step: Step) -> Step:
        """The step fitted to all rows at the wanted learning rate, with its features and rounds."""
        if not step.n_features:
            return step
        is_whole = len(self._folds) != 1 or not len(self._folds[0].test)
        if is_whole and self._speed == 1.0:
            return step
        n_rounds = min(self._final.n_rounds, round(self._speed * step.model.n_rounds))
        params = replace(self._final, penalty=0.0, max_features=None, n_rounds=n_rounds)
        return self._data.refit(step, replace(params, cost_budget=None))

    def eliminate(self, step: Step, sizes: Iterable[int]) -> Iterator[Step]:
        """Steps of falling sizes, by backward elimination from the features of an earlier step.

        Each fold drops features of its own, which its validation rows do not choose. A step has no
        penalty of its own: its number is just below that of the step it comes from.
        """
        data, penalty = self._data, step.penalty
        if not isinstance(data, BoostedData) or penalty not in self._found:
            return
        found, keep = self._found[penalty], data.cost_model.keep
        cost = np.maximum(data.cost_model.costs(keep), SMALL)
        trials = self._trials(step) if can_try(data, self._parts) else None
        for size in sizes:
            penalty = float(np.nextafter(penalty, -np.inf))
            if trials is None:
                left = [with_most_gain(its, gain / cost[its], keep, size) for its, gain in found]
            else:
                left = [part.down_to(size, *trials[1]) for part in trials[0]]
            fewer = self.fit_only(left)
            found = self._found[0.0]
            details = {**fewer.details, "eliminated_from": step.n_features}
            yield replace(fewer, penalty=penalty, details=details)

    def _trials(self, step: Step) -> tuple[list[Elimination], tuple[float, int]] | None:
        """Short fits of each fold, and how many features they drop at once; None if too slow."""
        data = self._data
        assert isinstance(data, BoostedData)  # noqa: S101  # see `eliminate`
        pairs = zip(self._parts, self._found[step.penalty], strict=True)
        parts = [Elimination(data, self._params, fold.train, its[0]) for fold, its in pairs]
        n_trained = step.model.n_rounds * sum(len(part.train) for part in self._parts)
        begun = tree_cells(n_trained * data.cells_per_row(), self._params, data.loss)
        most = max(LITTLE_WORK, MAX_WORK * begun)
        for way in WAYS_TO_DROP:
            if sum(part.work(1, *way) for part in parts) <= most:
                return parts, way
        return None


def can_eliminate(data: BoostedData, params: BoostingParams, folds: Sequence[Fold]) -> bool:
    """Whether features can be dropped: exact searches, costs that do not depend on each other."""
    is_plain = data.groups is None and data.cost_model.is_plain
    return is_plain and params.cost_budget is None and bool(folds)


def replaces_penalties(data: BoostedData, folds: Sequence[Fold]) -> bool:
    """Whether the sizes below that of a low penalty are better found by dropping features.

    Short fits have to say which, or NDCG by query; else high penalties find better subsets than the
    features with the largest gains at a low one.
    """
    return can_try(data, folds) or (data.loss.by_query and _has_many(folds))


def can_try(data: BoostedData, folds: Sequence[Fold]) -> bool:
    """Whether short fits can say which feature to drop; else the gains of the fits do.

    For a loss by query the gains decide: NDCG of few queries is too noisy.
    """
    keep = data.cost_model.keep
    has_one_cost = len(np.unique(data.cost_model.costs(keep)[~keep])) == 1
    return data.category is None and data.loss.name in LOSSES and has_one_cost and _has_many(folds)


def _has_many(folds: Sequence[Fold]) -> bool:
    return min(len(fold.train) for fold in folds) >= MIN_ROWS


def with_most_gain(support: IntArray, gains: FloatArray, keep: BoolArray, size: int) -> IntArray:
    """So many of the features: those that are kept anyway, then those with the largest gains."""
    order = np.lexsort((-gains, ~keep[support]))
    return np.sort(support[order[: max(size, int(keep[support].sum()))]])


def tree_cells(n_cells: float, params: BoostingParams, loss: Loss) -> float:
    """The cells that trees add up, about, for so many of their root nodes: by depth and output.

    It does not depend on how rows are held or searched, so neither does what is made of it.
    """
    return n_cells * (1.0 + 0.4 * (params.max_depth - 1)) * loss.n_outputs


class Elimination:
    """Drops features one after the other, by short fits on some of the training rows.

    Of those with the least gain, the one goes without which a fit on three quarters of the rows
    predicts the last quarter best. ``features`` are those that are left.
    """

    def __init__(
        self, data: BoostedData, params: BoostingParams, train: IntArray, support: IntArray
    ) -> None:
        self._loss, self._threads = data.loss, data.threads
        self._params = replace(
            params, penalty=0.0, learning_rate=SHORT_RATE, n_rounds=SHORT_ROUNDS, max_features=None
        )
        rng = np.random.default_rng(params.seed)
        by_target = np.lexsort((rng.random(len(train)), data.target[train]))
        rows = train[by_target[:: -(-len(train) // MAX_ROWS)]]
        is_held = np.arange(len(rows)) % 4 == 3
        self._fold = Fold(np.flatnonzero(~is_held), np.flatnonzero(is_held))
        self._target, self._weight = data.target[rows], data.weight[rows]
        self._data, self._rows = data, rows
        self._support, self._is_kept = support, data.cost_model.keep[support]
        self._left, self._gains = np.arange(len(support)), np.empty(0)

    @cached_property
    def _columns(self) -> BinnedColumns:
        return described(
            self._data.columns, self._support, self._data.codes(self._rows, self._support)
        )

    def work(self, size: int, share: float, n_more: int) -> float:
        """The cells to be added up until so many features are left, about."""
        k, cells = len(self._support), 0.0
        while k > size:
            n_drop = min(max(1, int(share * k)), k - size)
            cells += (n_drop + n_more) * k
            k -= n_drop
        cells *= len(self._fold.train) * SHORT_ROUNDS
        return tree_cells(cells, self._params, self._loss)

    def down_to(self, size: int, share: float, n_more: int) -> IntArray:
        """Drop features until so many are left, a share of them at once; returns the others.

        Those that are dropped are the best of ``n_more`` candidates more.
        """
        if not len(self._gains):
            self._gains = self._fit(self._left)[1]
        while len(self._left) > size and not self._is_kept[self._left].all():
            n_drop = max(1, int(share * len(self._left)))
            self._drop(min(n_drop, len(self._left) - size), n_more)
        return self._support[self._left]

    def _drop(self, n_drop: int, n_more: int) -> None:
        """Drop the features whose absence costs least, of those with the least gain."""
        by_gain = np.argsort(self._gains, kind="stable")
        by_gain = by_gain[~self._is_kept[self._left[by_gain]]]
        candidates = by_gain[: n_drop + n_more]
        if len(candidates) <= n_drop:
            self._left = np.delete(self._left, candidates)
            self._gains = self._fit(self._left)[1]
            return
        found: list[tuple[float, FloatArray]] = [(np.inf, np.empty(0))] * len(candidates)

        def leave_out(_: int, number: int) -> None:
            found[number] = self._fit(np.delete(self._left, candidates[number]))

        self._threads.share(leave_out, len(candidates))
        order = np.argsort([loss for loss, _ in found], kind="stable")[:n_drop]
        gains = np.insert(found[order[0]][1], candidates[order[0]], 0.0)
        self._gains = np.delete(gains, candidates[order])
        self._left = np.delete(self._left, candidates[order])

    def _fit(self, places: IntArray) -> tuple[float, FloatArray]:
        """The mean loss of the held rows, and the gain of each feature."""
        given = (self._target, self._weight, self._loss, self._params, self._fold)
        raw, gains, _ = boost_small(take_columns(self._columns, places), *given)
        held = self._fold.test
        losses = self._loss.scores(self._target[held], raw[:, held])
        return float(np.average(losses, weights=self._weight[held])), gains
