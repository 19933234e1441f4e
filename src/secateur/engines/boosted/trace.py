"""Boosting as a sequence of steps: one raw step per round, one shared set of used features.

Algorithm 1 of GBFS, with the gain of GBFS (Eq. 14) or of A-GBM.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from secateur._kernels.threads import Threads
from secateur.data.binning import BinnedColumns, narrowed
from secateur.data.costs import CostModel
from secateur.engines.boosted import rows
from secateur.engines.boosted.feature_use import FeatureUse
from secateur.engines.boosted.group_search import GroupSearch, GroupTests
from secateur.engines.boosted.groups import GroupPlan
from secateur.engines.boosted.grower import Grower
from secateur.engines.boosted.lazy import LazySearch
from secateur.engines.boosted.nodes import NodeHistograms
from secateur.engines.boosted.params import BoostingParams
from secateur.engines.boosted.rows import WeightScale
from secateur.engines.boosted.search import ExactSearch
from secateur.engines.boosted.trees import Ensemble, Tree
from secateur.losses.base import fixed_point_sum
from secateur.path.step import Step
from secateur.typing import Executor, IntArray, Loss

OBJECTIVE_ROWS = 10_000
"""The training loss of a step is taken over so many rows at the most: it is told, not used."""


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
    """Boost round after round and yield the state after each.

    Parameters
    ----------
    executor : Executor
        Holds the rows.
    columns : BinnedColumns
        The shape of the binned columns: bins, cuts, offsets.
    loss : Loss
    cost_model : CostModel
        What features cost, given the ones in use.
    params : BoostingParams
    threads : Threads
    plan : GroupPlan, optional
        Groups of features, whose sums the blocks hold: newcomers are then found by group tests.
    feature_use : FeatureUse, optional
        The account that purchases go to, if it is not this fit's alone.
    done : sequence of rounds of trees, default=()
        The first rounds of a fit that was broken off: taken as they are, and gone on from.

    Yields
    ------
    Step
        One per round; ``details["round"]`` counts from 1, ``model`` predicts at that round.
    """
    ensemble, weights, n_rows = _begin(executor, loss)
    executor.apply(rows.set_baseline, ensemble.baseline, weights.scale)
    feature_use = feature_use or FeatureUse(cost_model, params.max_features, params.cost_budget)
    has_tests = plan is not None and plan.design.has_tests
    if has_tests:  # most features will never be looked at: none is weighed beforehand
        divisible = columns.varying
    else:
        divisible = _divisible(executor, columns, weights.least(params.min_samples_leaf))
    executor.apply(rows.narrow, divisible)
    columns = narrowed(columns, divisible)
    search = _search(executor, columns, feature_use, divisible, params, threads, plan)
    lazy = LazySearch(executor, columns, search, threads)
    if has_tests:
        params = replace(params, lazy=False)
    grower = Grower(executor, columns, params, search, lazy, weights)
    objective = _Objective(executor, loss, n_rows)
    importances = np.zeros(columns.n_features)
    for n_rounds in range(1, params.n_rounds + 1):
        state = (ensemble.baseline, weights.scale, divisible, objective.stride)
        executor.checkpoint(rows.go_on_from, *state, tuple(ensemble.rounds))
        if n_rounds <= len(done):
            trees = _take_over(executor, search, done[n_rounds - 1])
        else:
            trees = _grow(executor, grower, loss, params, n_rounds)
        ensemble.rounds.append(trees)
        ensemble.n_cells = search.histograms.cells
        for tree in trees:
            split = tree.left >= 0
            np.add.at(importances, tree.feature[split], tree.gain[split])
        yield Step.of(
            feature_use.entered,
            importances,
            penalty=params.penalty,
            objective=objective.now(),
            cost=feature_use.spent,
            model=ensemble.at(n_rounds),
            details={"round": n_rounds},
        )


def _grow(
    executor: Executor, grower: Grower, loss: Loss, params: BoostingParams, n_rounds: int
) -> list[Tree]:
    """A new round: one tree for each output."""
    executor.apply(rows.begin_round, loss)
    return [grower.grow(k, loss, _seed(params, n_rounds, k)) for k in range(loss.n_outputs)]


def _take_over(executor: Executor, search: ExactSearch, trees: list[Tree]) -> list[Tree]:
    """A round that is there already: its purchases are booked, its trees added.

    Nodes are numbered in the order in which they were split.
    """
    for tree in trees:
        search.skip_tree()
        for feature in tree.feature[tree.left >= 0]:
            search.feature_use.use(int(feature))
    executor.apply(rows.add_round, trees)
    return trees


def _search(
    executor: Executor,
    columns: BinnedColumns,
    feature_use: FeatureUse,
    divisible: IntArray,
    params: BoostingParams,
    threads: Threads,
    plan: GroupPlan | None,
) -> ExactSearch:
    """Who finds the features of nodes: by looking at all, or by group tests."""
    histograms = NodeHistograms(executor, columns, params.max_depth, threads)
    if plan is None or not plan.design.has_tests:
        return ExactSearch(histograms, feature_use, divisible)
    tests = GroupTests(executor, plan, threads)
    return GroupSearch(histograms, feature_use, divisible, tests, plan.alone)


def _divisible(executor: Executor, columns: BinnedColumns, least: int) -> IntArray:
    """The features that any split can use.

    One side of a split lacks the heaviest bin, so all other bins together must weigh enough for a
    side; what is too light in all rows is so in every node.
    """
    weights = executor.sum(rows.bin_weights)
    first = columns.offset[:-1]
    rest = np.add.reduceat(weights, first) - np.maximum.reduceat(weights, first)
    found: IntArray = np.flatnonzero(rest >= least)
    return found


def _begin(executor: Executor, loss: Loss) -> tuple[Ensemble, WeightScale, int]:
    """The best constant as a model, how weights are rounded, and how many rows train."""
    parts = executor.each(rows.training_rows)
    targets, weights = map(list, zip(*parts, strict=True))
    del parts  # long tables have little room: pieces go as soon as they are joined
    target = np.concatenate(targets)
    del targets
    weight = np.concatenate(weights)
    del weights
    best = loss.baseline(target, weight)
    return Ensemble(loss, best), WeightScale.of(weight), len(target)


class _Objective:
    """The mean training loss over at most 10,000 rows, evenly spaced; exact sums."""

    def __init__(self, executor: Executor, loss: Loss, n_rows: int) -> None:
        self._executor = executor
        self._loss = loss
        self.stride = -(-n_rows // OBJECTIVE_ROWS)
        weights = executor.each(rows.choose_objective_rows, self.stride)
        self._weight = fixed_point_sum(np.concatenate(weights))

    def now(self) -> float:
        """Its value at the predictions so far."""
        terms = np.concatenate(self._executor.each(rows.loss_terms, self._loss))
        return fixed_point_sum(terms) / self._weight if len(terms) else np.nan


def _seed(params: BoostingParams, n_rounds: int, k: int) -> int:
    """A seed of its own for the rows of each tree, where trees see samples."""
    if params.subsample == 1.0:
        return 0
    sequence = np.random.SeedSequence([params.seed, n_rounds, k])
    return int(sequence.generate_state(1, np.uint64)[0])
