"""Boosting as a sequence of steps: one step per round, one set of used features.

Algorithm 1 of GBFS, with the gain of GBFS (Eq. 14) or of A-GBM.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace

import numpy as np

from secateur._kernels.threads import Threads
from secateur.data.binning import BinnedColumns, narrowed
from secateur.data.costs import CostModel
from secateur.engines.boosted import rows
from secateur.engines.boosted.group_search import GroupSearch
from secateur.engines.boosted.groups import GroupPlan
from secateur.engines.boosted.grower import TreeGrower
from secateur.engines.boosted.nodes import ExactSearch, NodeHistograms
from secateur.engines.boosted.trees import BoostedModel, BoostingParams, Ensemble, Tree
from secateur.engines.limits import FeatureUse
from secateur.execution.blocks import Executor
from secateur.losses import Loss, fixed_point_sum
from secateur.path.step import Step
from secateur.typing import IntArray

# The training loss of a step is the mean over at most this many rows, evenly spaced.
OBJECTIVE_ROWS = 10_000


def trace_boosted(
    executor: Executor,
    columns: BinnedColumns,
    loss: Loss,
    cost_model: CostModel,
    params: BoostingParams,
    threads: Threads,
    plan: GroupPlan | None = None,
    feature_use: FeatureUse | None = None,
    *,
    done: Sequence[list[Tree]] = (),
) -> Iterator[Step]:
    """Boost round after round and yield a step after each; its ``model`` predicts at that round.

    With a ``plan`` new features are found by group tests. ``feature_use`` may be shared with other
    fits; ``done`` are the first rounds of an interrupted fit, to continue from.
    """
    with closing(executor):
        ensemble, weights, n_rows = _begin(executor, loss)
        executor.apply(rows.set_baseline, ensemble.baseline, weights.scale)
        feature_use = feature_use or FeatureUse(cost_model, params.max_features, params.cost_budget)
        plan = plan if plan is not None and plan.design.has_tests else None
        # With group tests most features are never evaluated: their weights are not counted.
        divisible = columns.varying if plan else _divisible(executor, columns, weights, params)
        executor.apply(rows.narrow, divisible)
        columns = narrowed(columns, divisible)
        histograms = NodeHistograms(executor, columns, params.max_depth, threads)
        search = ExactSearch(histograms, feature_use, divisible)
        if plan is not None:
            search = GroupSearch(histograms, feature_use, divisible, executor, plan, threads)
            params = replace(params, lazy=False)
        grower = TreeGrower(executor, columns, params, search, threads, weights)
        objective = _Objective(executor, loss, n_rows)
        importances = np.zeros(columns.n_features)
        for n_rounds in range(1, params.n_rounds + 1):
            state = (ensemble.baseline, weights.scale, divisible, objective.stride)
            executor.checkpoint(rows.restore, *state, tuple(ensemble.rounds))
            if n_rounds <= len(done):
                trees = _take_over(executor, search, done[n_rounds - 1])
            else:
                executor.apply(rows.begin_round, loss)
                outputs = range(loss.n_outputs)
                trees = [grower.grow(k, loss, _seed(params, n_rounds, k)) for k in outputs]
            ensemble.rounds.append(trees)
            ensemble.n_cells = histograms.n_cells
            for tree in trees:
                tree.add_gains(importances)
            yield Step.of(
                feature_use.entered,
                importances,
                penalty=params.penalty,
                objective=objective.now(),
                cost=feature_use.total_cost,
                model=BoostedModel(ensemble, n_rounds),
                details={"round": n_rounds},
            )


def _take_over(executor: Executor, search: ExactSearch, trees: list[Tree]) -> list[Tree]:
    """A round of an earlier fit: add its features, in the order of the splits, and its trees."""
    for tree in trees:
        search.skip_tree()
        for feature in tree.feature[tree.left >= 0]:
            search.feature_use.add(int(feature))
    executor.apply(rows.add_round, trees)
    return trees


def _divisible(
    executor: Executor, columns: BinnedColumns, scale: rows.WeightScale, params: BoostingParams
) -> IntArray:
    """The features that any split can use: all bins but the heaviest must weigh enough."""
    weights = executor.sum(rows.bin_weights)
    first = columns.offset[:-1]
    rest = np.add.reduceat(weights, first) - np.maximum.reduceat(weights, first)
    return np.flatnonzero(rest >= scale.min_weight(params.min_samples_leaf))


def _begin(executor: Executor, loss: Loss) -> tuple[Ensemble, rows.WeightScale, int]:
    """The best constant as a model, the scale of the weights, and the number of training rows."""
    parts = executor.each(rows.training_rows)
    targets, weights = map(list, zip(*parts, strict=True))
    del parts  # memory is short for long tables: pieces are freed once they are concatenated
    target = np.concatenate(targets)
    del targets
    weight = np.concatenate(weights)
    del weights
    return Ensemble(loss, loss.baseline(target, weight)), rows.WeightScale.of(weight), len(target)


class _Objective:
    """The mean training loss over at most OBJECTIVE_ROWS rows, evenly spaced; exact sums."""

    def __init__(self, executor: Executor, loss: Loss, n_rows: int) -> None:
        self._executor, self._loss = executor, loss
        self.stride = -(-n_rows // OBJECTIVE_ROWS)
        self._weight = np.concatenate(executor.each(rows.choose_objective_rows, self.stride))
        self._total = fixed_point_sum(self._weight)

    def now(self) -> float:
        """Its value at the current predictions."""
        parts = self._executor.each(rows.row_losses, self._loss, "objective_rows")
        losses = self._weight * np.concatenate(parts)
        return fixed_point_sum(losses) / self._total if len(losses) else np.nan


def _seed(params: BoostingParams, n_rounds: int, k: int) -> int:
    """The seed of a tree's sample of rows."""
    if params.subsample == 1.0:
        return 0
    sequence = np.random.SeedSequence([params.seed, n_rounds, k])
    return int(sequence.generate_state(1, np.uint64)[0])
