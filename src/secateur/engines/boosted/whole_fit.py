"""Fits of small tables, many rounds in one kernel call; with the trees of ``trace_boosted``."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np

from secateur._kernels import boosting
from secateur._kernels.boosting import LOGISTIC, MULTINOMIAL, SQUARED, boost_rounds
from secateur.data.binning import BinnedColumns
from secateur.data.costs import CostModel
from secateur.data.table import Fold
from secateur.data.target import are_counts
from secateur.engines.boosted import rows
from secateur.engines.boosted.grower import TreeColumns, is_small
from secateur.engines.boosted.trees import (
    BoostedModel,
    BoostingParams,
    Ensemble,
    TreeArrays,
    inner_nodes,
    room_for_trees,
    trees_of,
)
from secateur.engines.fold_losses import FoldLosses
from secateur.engines.limits import FeatureUse
from secateur.execution.blocks import Executor, RowBlock, only_block
from secateur.losses import Loss
from secateur.path.step import Step
from secateur.typing import AnyArray, FloatArray, IntArray

LOSSES = {"squared_error": SQUARED, "log_loss": LOGISTIC}
MAX_NODES = 1 << 18  # of all trees that are grown in one call
MIN_SHARED = 200_000  # cells of the trees that a thread grows before it waits for others
STEP_ROUNDS = 50  # rounds after which a fit can be interrupted


def suits(
    executor: Executor,
    columns: BinnedColumns,
    loss: Loss,
    cost_model: CostModel,
    params: BoostingParams,
    *,
    is_alone: bool = True,
) -> bool:
    """Whether several rounds can be grown in one call, by one thread as fast as by several."""
    block: RowBlock | None = only_block(executor)
    if block is None or loss.name not in LOSSES or not cost_model.is_plain:
        return False
    return params.subsample == 1.0 and is_small(columns, block, params, is_alone=is_alone)


def boosting_numbers(
    loss: Loss, params: BoostingParams, weights: rows.WeightScale
) -> tuple[int, tuple[float, ...]]:
    """The loss and the parameters as the kernel takes them."""
    return LOSSES[loss.name] if loss.n_outputs == 1 else MULTINOMIAL, (
        params.max_depth,
        weights.min_weight(params.min_samples_leaf),
        float(params.learning_rate),
        float(params.l2 * weights.mean),
        params.leaf == "mean",
        float(params.penalty),
        params.criterion == "agbm",
        float(loss.max_step),
    )


class CompiledFit(Protocol):
    """A fit of one task or of several, to which many rounds are added in one call."""

    _params: BoostingParams

    def begin(self, params: BoostingParams) -> None:
        """Begin again, without trees; the penalty may be another."""

    def buffers(self) -> tuple[AnyArray, ...]:
        """What the fit needs while it advances."""

    def grow(self, n_rounds: int, buffers: tuple[AnyArray, ...]) -> Iterator[None]:
        """Add rounds until there are so many, some between two yields."""

    def losses_after(self, n_rounds: int) -> FoldLosses:
        """The losses of the rows that are held out after so many rounds."""

    def support_after(self, n_rounds: int) -> tuple[IntArray, FloatArray]:
        """The features in use after so many rounds or kept anyway, sorted, and their gains."""

    def rounds_of_entries(self) -> IntArray:
        """The numbers of rounds before those that used a new feature."""

    def step(self, n_rounds: int) -> Step:
        """The step after so many rounds."""

    def grow_alone(self, n_rounds: int, buffers: tuple[AnyArray, ...]) -> None:
        """The same where no other fit grows; losses are those of the steps only."""
        deque(self.grow(n_rounds, buffers), 0)

    def steps(self) -> Iterator[Step]:
        """The last step of each support, and a few between at which the fit can be ended."""
        buffers, n_rounds = self.buffers(), self._params.n_rounds
        for first in range(0, n_rounds, STEP_ROUNDS):
            last = min(first + STEP_ROUNDS, n_rounds)
            self.grow_alone(last, buffers)
            entered_at = self.rounds_of_entries()
            changes = np.unique(entered_at[(entered_at > first) & (entered_at < last)])
            for n in (*changes.tolist(), last):
                yield self.step(n)


def largest_buffers(fits: Sequence[CompiledFit]) -> tuple[AnyArray, ...]:
    """Buffers that are enough for each of the fits: their bins and rows differ."""
    buffers = zip(*(fit.buffers() for fit in fits), strict=True)
    return tuple(max(arrays, key=lambda array: array.size) for arrays in buffers)


class WholeFit(CompiledFit):
    """A fit on some rows, which can be begun again with another penalty.

    The training loss is computed if ``has_objective``. Fits on some rows of the same table have
    their cells in common, in ``shared``.
    """

    def __init__(
        self,
        executor: Executor,
        columns: BinnedColumns,
        loss: Loss,
        cost_model: CostModel,
        params: BoostingParams,
        *,
        has_objective: bool = True,
        shared: dict[Any, TreeColumns] | None = None,
    ) -> None:
        self._block: RowBlock = only_block(executor)  # type: ignore[assignment]  # it suits
        begun = rows.begin(executor, columns, loss, params)
        shared = {} if shared is None else shared
        columns = self._block.columns._replace(offset=begun.columns.offset)
        key = (id(columns.codes.codes), begun.divisible.tobytes())
        if key not in shared:
            shared[key] = TreeColumns.of(columns, begun.divisible)
        self._columns = shared[key]
        columns = columns._replace(codes=self._columns.codes)
        self._block.columns, self._begun = columns, begun._replace(columns=columns)
        rows.choose_objective_rows(self._block, self._begun.stride)
        self._objective_rows = self._block.objective_rows[: None if has_objective else 0]
        self._loss, self._cost_model, self._params = loss, cost_model, params
        self._held_weight = self._block.weight[self._block.held]
        self._counts = are_counts(self._block.weight)
        self.begin(params)

    def begin(self, params: BoostingParams) -> None:
        """Begin again, without trees; penalty and limits may be others."""
        p = self._params = params
        use = FeatureUse(self._cost_model, p.max_features, p.cost_budget)
        self._block.raw[:] = self._begun.baseline[:, None]
        self.used, self.costs = use.used.copy(), use.costs.copy()
        self._state = (self._block.raw, self.used, self.costs, np.array(use.limits))
        block, begun = self._block, self._begun
        self._given = (
            self._columns.codes,
            (self._columns.shape, begun.divisible),
            (block.weight, block.quantised_weight, *begun.weights),
            (block.rows, block.held, self._objective_rows),
        )
        self._numbers = boosting_numbers(self._loss, p, self._begun.weights)
        self._ensemble = Ensemble(self._loss, self._begun.baseline)
        self._grown: list[TreeArrays] = []
        self._objective: list[float] = []
        # of all splits so far: feature, gain, round
        self._splits: list[tuple[IntArray, FloatArray, IntArray]] = []
        self._held_losses: list[FloatArray] = []
        self._use, self._use_after = FeatureUse(self._cost_model), 0  # of the step made last

    def losses_after(self, n_rounds: int) -> FoldLosses:
        """The losses of the rows that are held out after so many rounds."""
        return FoldLosses(self._held_losses[n_rounds - 1], self._held_weight, counts=self._counts)

    def support_after(self, n_rounds: int) -> tuple[IntArray, FloatArray]:
        """The features in use after so many rounds or kept anyway, sorted, and their gains."""
        features, entered_at = self.entries()
        kept = np.flatnonzero(self._cost_model.keep)
        support = np.union1d(features[entered_at < n_rounds], kept)
        return support, self.gains_after(n_rounds)[support]

    def gains_after(self, n_rounds: int) -> FloatArray:
        """The total gain of each feature after so many rounds."""
        parts = [(f[r < n_rounds], g[r < n_rounds]) for f, g, r in self._splits]
        feature, gain = map(np.concatenate, zip(*parts, strict=True))
        n_features = self._begun.columns.n_features
        total = np.bincount(feature, gain, minlength=n_features)
        return total.astype(np.float64, copy=False)

    @property
    def n_cells(self) -> float:
        """The cells that were added up in histograms since the fit was begun."""
        return self._ensemble.n_cells

    def buffers(self) -> tuple[AnyArray, ...]:
        """What the fit needs while it advances."""
        return self._columns.buffers(self._block.columns.n_rows, self._params.max_depth)

    def grow(
        self,
        n_rounds: int,
        buffers: tuple[AnyArray, ...],
        at_once: int = MAX_NODES,
        *,
        is_each: bool = True,
    ) -> Iterator[None]:
        """Add rounds until there are so many, ``at_once`` or fewer between two yields."""
        block, outputs = self._block, self._loss.n_outputs
        n_nodes = 2 ** (self._params.max_depth + 1)
        n_chunk = max(1, MAX_NODES // (n_nodes * outputs))
        while (n_done := len(self._objective)) < n_rounds:
            n = min(n_chunk, n_rounds - n_done)
            trees = room_for_trees(n * outputs, n_nodes)
            found = np.full(n, np.nan), np.empty((n, len(self._block.held)))
            for r in range(0, n, at_once):
                some = slice(r * outputs, (r + at_once) * outputs)
                its = tuple(array[some] for array in trees)
                self._ensemble.n_cells += boost_rounds(
                    *self._given[:2],
                    block.target,
                    *self._given[2:],
                    *self._numbers,
                    self._state,
                    buffers,
                    its,
                    (*(array[r : r + at_once] for array in found), is_each),
                )
                yield
            self._note(n_done, trees, *found)

    def grow_alone(self, n_rounds: int, buffers: tuple[AnyArray, ...]) -> None:
        """Add rounds until there are so many; the trees of several outputs side by side."""
        n_cells = len(self._block.rows) * len(self._begun.divisible)
        least = -(-MIN_SHARED // max(n_cells, 1))
        n_threads = min(self._block.threads.n_threads, self._loss.n_outputs // least)
        if n_threads <= 1:
            deque(self.grow(n_rounds, buffers, is_each=False), 0)
            return
        block, (loss, _), outputs = self._block, self._numbers, self._loss.n_outputs
        (raw, used, *_), of_rows = self._state, (block.weight, self._objective_rows)
        mean_loss = partial(boosting.mean_loss, loss, block.target)
        n_done, n_nodes = len(self._objective), 2 ** (self._params.max_depth + 1)
        trees = room_for_trees((n_rounds - n_done) * outputs, n_nodes)
        objective = np.full(n_rounds - n_done, np.nan)
        losses = np.empty((len(objective), len(block.held)))
        of_threads, at_once = [buffers, *(self.buffers() for _ in range(n_threads - 1))], least
        for r in range(len(objective)):
            its = tuple(array[r * outputs : (r + 1) * outputs] for array in trees)
            before, n_used = raw.copy(), used.sum()
            at_once = self._grow_round(its, of_threads, least, at_once)
            # as ``boost_rounds`` does: where a step may need it
            if len(of_rows[1]) and r > 0 and used.sum() > n_used:
                objective[r - 1] = mean_loss(before, *of_rows)
            boosting.fill_losses(loss, block.target, raw, block.held, losses[r])
        if len(of_rows[1]) and len(objective):
            objective[-1] = mean_loss(raw, *of_rows)
        self._note(n_done, trees, objective, losses)

    def _grow_round(
        self, trees: TreeArrays, buffers: Sequence[tuple[AnyArray, ...]], least: int, at_once: int
    ) -> int:
        """One round, ``at_once`` outputs in each thread; returns how many the next begins with.

        Where a thread uses another feature, the trees of the outputs after its own are grown again:
        they are those of one thread. The next round then begins with the ``least`` outputs.
        """
        (raw, used, costs, room), (loss, params) = self._state, self._numbers
        gradients = np.empty_like(raw), np.empty_like(raw)
        boosting.fill_gradients(loss, self._block.target, raw, *gradients)
        first, n_outputs, went_well = 0, len(raw), True
        while first < n_outputs:
            before, n_cells = raw.copy(), [0] * len(buffers)
            share = min(at_once, -(-(n_outputs - first) // len(buffers)))
            cuts = np.minimum(first + share * np.arange(len(buffers) + 1), n_outputs).tolist()
            states = [(used.copy(), costs.copy(), room.copy()) for _ in buffers]

            def grow(_: int, i: int) -> None:
                its = slice(cuts[i], cuts[i + 1])  # noqa: B023  # at once
                n_cells[i] = boosting.grow_outputs(  # noqa: B023  # at once
                    *self._given,
                    tuple(array[its] for array in gradients),
                    params,
                    (raw[its], *states[i]),  # noqa: B023  # as above
                    buffers[i],
                    tuple(array[its] for array in trees),
                )

            self._block.threads.share(grow, len(buffers))
            self._ensemble.n_cells += sum(n_cells)
            changed = [i for i, state in enumerate(states) if (state[0] != used).any()]
            last, went_well = min([*changed, len(states) - 1]), went_well and not changed
            for mine, its in zip((used, costs, room), states[last], strict=True):
                mine[:] = its
            first = cuts[last + 1]
            if first < n_outputs:
                raw[first:] = before[first:]
                for array, fresh in zip(trees, room_for_trees(1, trees[1].shape[1]), strict=True):
                    array[first:] = fresh
        return min(2 * at_once, n_outputs) if went_well else least

    def _note(
        self, n_done: int, trees: TreeArrays, objective: FloatArray, losses: FloatArray
    ) -> None:
        """Keep what the kernel found in the rounds after ``n_done``."""
        self._grown.append(trees)
        of_tree, node = np.nonzero(inner_nodes(trees))
        on, gain = trees[2][of_tree, node], trees[4][of_tree, node]
        self._splits.append((on, gain, n_done + of_tree // self._loss.n_outputs))
        self._objective.extend(objective.tolist())
        self._held_losses.extend(self._loss.score_factor * losses)

    def rounds_of_entries(self) -> IntArray:
        """The numbers of rounds before those that used a new feature."""
        return self.entries()[1]

    def step(self, n_rounds: int) -> Step:
        """The step after so many rounds."""
        self._make_trees()
        if n_rounds < self._use_after:
            self._use = FeatureUse(self._cost_model)
        use, self._use_after = self._use, n_rounds
        features, entered_at = self.entries()
        for j in features[entered_at < n_rounds].tolist():
            use.add(j)
        return Step.of(
            use.entered,
            self.gains_after(n_rounds),
            penalty=self._params.penalty,
            objective=self._objective[n_rounds - 1],
            cost=use.total_cost,
            model=BoostedModel(self._ensemble, n_rounds),
            details={"round": n_rounds},
        )

    def entries(self) -> tuple[IntArray, IntArray]:
        """The features in the order of their first use, and the rounds before that."""
        feature, _, round_ = map(np.concatenate, zip(*self._splits, strict=True))
        features, first = np.unique(feature, return_index=True)
        order = np.argsort(first)
        return features[order], round_[first[order]]

    def _make_trees(self) -> None:
        """Make trees of what the kernel wrote; those of fits that only score are never made."""
        outputs, columns = self._loss.n_outputs, self._begun.columns
        for grown in self._grown:
            trees = trees_of(grown, columns)
            firsts = range(0, len(trees), outputs)
            self._ensemble.rounds.extend(trees[first : first + outputs] for first in firsts)
        self._grown.clear()


def boost_small(
    columns: BinnedColumns,
    target: FloatArray,
    weight: FloatArray,
    loss: Loss,
    params: BoostingParams,
    fold: Fold,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Raw predictions, of the rows of a fold (others keep the baseline), gains, and splits.

    The trees are those of ``trace_boosted`` without penalties; squared error and log loss only.
    """
    train = np.sort(fold.train).astype(np.uint32)
    train_weight = weight[train]
    scale = rows.WeightScale.of(train_weight)
    rounded = np.maximum(np.rint(weight * scale.scale), 1.0).astype(np.uint32)
    raw = np.empty((loss.n_outputs, len(target)))
    raw[:] = loss.baseline(target[train], train_weight)[:, None]
    d = columns.n_features
    gains, splits = np.zeros((2, d))
    if d == 0:
        return raw, gains, splits
    n_rounds, depth = params.n_rounds, params.max_depth
    trees = room_for_trees(n_rounds * loss.n_outputs, 2 ** (depth + 1))
    of_trees = TreeColumns.of(columns, np.arange(d))
    boost_rounds(
        of_trees.codes,
        (of_trees.shape, np.arange(d)),
        target,
        (weight, rounded, *scale),
        (train, fold.test.astype(np.uint32), train[:0]),
        *boosting_numbers(loss, params, scale),
        (raw, np.zeros(d, np.bool_), np.zeros(d), np.array([np.inf, 0.0, np.inf])),
        of_trees.buffers(columns.n_rows, depth),
        trees,
        (np.empty(n_rounds), np.empty((n_rounds, len(fold.test))), False),
    )
    inner = inner_nodes(trees)
    np.add.at(gains, trees[2][inner], trees[4][inner])
    return raw, gains, np.bincount(trees[2][inner], minlength=d).astype(np.float64)
