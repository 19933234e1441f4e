"""Boosted fits at one penalty after another."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur._kernels.records import DenseCodes
from secateur.data.costs import CostModel
from secateur.data.sampling import keys_of
from secateur.data.table import Fold
from secateur.engines.boosted.elimination import Dropping
from secateur.engines.boosted.engine import BoostedData
from secateur.engines.boosted.grower import TreeColumns
from secateur.engines.boosted.trees import BoostingParams
from secateur.engines.boosted.whole_fit import LOSSES, CompiledFit, largest_buffers
from secateur.engines.fold_losses import FoldLosses, mean_of
from secateur.path.step import Step
from secateur.typing import FloatArray, IntArray

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
# Fewer rows than these, and so many columns for each: features are ordered by correlations.
FEW_ROWS, COLUMNS_PER_ROW = 500, 2
# Penalties of longer tables are searched on a sample; the chosen step is fitted to all rows. Each
# class has so many rows in it, if there are so many, of those that train and of those that test.
SEARCH_ROWS, CLASS_ROWS = 125_000, 20
SAMPLE_CELLS = 1 << 28  # the most of a sample, a byte each
TRIAL_RATE, TRIAL_ROUNDS = 0.3, 30  # of a trial
SHORT_PATIENCE = 5  # rounds of a trial without progress
SEARCH_RATE = 0.2  # the learning rate of a search; the chosen step is fitted at that of the user


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


def has_few_rows(data: Any, params: BoostingParams, folds: Sequence[Fold]) -> bool:
    """Whether an automatic search orders features by correlations."""
    return (
        isinstance(data, BoostedData)
        and len(data.target) < FEW_ROWS
        and COLUMNS_PER_ROW * len(data.target) <= data.columns.n_features
        and data.groups is None
        and data.category is None
        and data.loss.name in LOSSES
        and data.cost_model.is_plain
        and data.cost_model.sources is None
        and params.subsample == params.feature_subsample == 1.0
        and bool(folds)
    )


def sampled(data: Any, folds: list[Fold], seed: int) -> tuple[Any, list[Fold]]:
    """A sample of the rows of a long table, and its fold; what is not sampled is as it was."""
    if len(folds) != 1 or not _can_be_sampled(data):
        return data, folds
    n_rows = len(folds[0].train) + len(folds[0].test)
    if n_rows <= SEARCH_ROWS:
        return data, folds
    codes = data.target if data.loss.name == "log_loss" else np.zeros(len(data.target))
    train, test = (
        _sample_by_class(rows, codes, SEARCH_ROWS / n_rows, seed)
        for rows in (folds[0].train, folds[0].test)
    )
    of_parts = Fold(np.arange(len(train)), len(train) + np.arange(len(test)))
    return data.part(np.concatenate([train, test])), [of_parts]


def _can_be_sampled(data: Any) -> bool:
    """Whether rows can be taken by themselves, and leave room in the memory."""
    return (
        isinstance(data, BoostedData)
        and isinstance(data.columns.codes, DenseCodes)
        and data.columns.n_features * SEARCH_ROWS <= SAMPLE_CELLS
        and all(
            each is None
            for each in (data.groups, data.category, data.queries, data.rows, data.given)
        )
    )


def _sample_by_class(rows: IntArray, codes: FloatArray, share: float, seed: int) -> IntArray:
    """A share of the rows of each class, and ``CLASS_ROWS`` of it if there are so many."""
    rows = rows[np.argsort(keys_of(rows, seed), kind="stable")]
    rows = rows[np.argsort(codes[rows], kind="stable")]  # by class, in random order
    _, first, size = np.unique(codes[rows], return_index=True, return_counts=True)
    n_kept = np.minimum(size, np.maximum(np.ceil(share * size), CLASS_ROWS)).astype(np.int64)
    place = np.arange(len(rows)) - np.repeat(first, size)
    return np.sort(rows[place < np.repeat(n_kept, size)])


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
    stay out, until ``refit``, which takes ``all_data`` where the search has a sample. Without folds
    all rows train for all rounds. ``params`` are those of the refit: with ``is_fast`` the search
    itself has fewer rounds at a higher learning rate.
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
        all_data: BoostedData | TasksData | None = None,
    ) -> None:
        self._all_data = data if all_data is None else all_data
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
        shared: dict[Any, TreeColumns] | None = {} if len(parts) > 1 else None
        for fold, its in zip(parts, params, strict=True):
            is_last = fold is parts[-1]  # the others only score
            fit = self._data.whole_fit(fold, its, has_objective=is_last, shared=shared)
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
                lambda worker, i: deque(fits[i].grow(last, buffers[worker]), 0),  # noqa: B023  # at once
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
        params = replace(self._params, learning_rate=TRIAL_RATE, n_rounds=TRIAL_ROUNDS)
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
        return self._all_data.refit(step, replace(params, cost_budget=None))

    def eliminate(self, step: Step, sizes: Iterable[int]) -> Iterator[Step]:
        """Steps of falling sizes, by backward elimination from the features of an earlier step.

        Each fold drops features of its own, which its validation rows do not choose. A step has no
        penalty of its own: its number is just below that of the step it comes from.
        """
        data, penalty = self._data, step.penalty
        if not isinstance(data, BoostedData) or penalty not in self._found:
            return
        found, rounds = self._found[penalty], step.model.n_rounds
        supports = [support for support, _ in found]
        base = replace(self._params, penalty=0.0, max_features=None)
        dropping = Dropping(data, self._params, self._parts, supports, rounds)
        for size in sizes:
            penalty = float(np.nextafter(penalty, -np.inf))
            params = [replace(base, only=its) for its in dropping.down_to(size, found)]
            fits = self._whole_fits(params)
            fewer = self._fit_whole(fits, base) if fits else self._fit_by_rounds(params)
            found = self._found[0.0]
            details = {**fewer.details, "eliminated_from": step.n_features}
            yield replace(fewer, penalty=penalty, details=details)
