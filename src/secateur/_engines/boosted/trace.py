"""Boosting as a sequence of steps: one raw step per round, one shared set of used features.

Algorithm 1 of GBFS, with the gain of GBFS (Eq. 14) or of A-GBM.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from secateur._data.binned import BinnedColumns
from secateur._data.costs import Prices
from secateur._data.weights import are_counts
from secateur._engines.boosted import rows
from secateur._engines.boosted.ensemble import Ensemble
from secateur._engines.boosted.grower import Grower, WeightScale, fixed_point_scale
from secateur._engines.boosted.ledger import Ledger
from secateur._engines.boosted.nodes import NodeHistograms
from secateur._engines.boosted.params import BoostingParams
from secateur._engines.boosted.search import ExactSearch
from secateur._execution.blocks import RowBlock
from secateur._execution.local import LocalExecutor
from secateur._kernels.threads import Threads
from secateur.losses.base import fixed_point_sum
from secateur.path.step import Step
from secateur.typing import FloatArray, Loss

WEIGHT_STEPS = 65535.0
"""Weights that are not whole numbers are rounded to so many steps."""


def trace_boosted(
    executor: LocalExecutor[RowBlock],
    columns: BinnedColumns,
    loss: Loss,
    prices: Prices,
    params: BoostingParams,
    threads: Threads,
) -> Iterator[Step]:
    """Boost round after round and yield the state after each.

    Parameters
    ----------
    executor : LocalExecutor
        Holds the rows.
    columns : BinnedColumns
        The shape of the binned columns: bins, cuts, offsets.
    loss : Loss
    prices : Prices
        What features cost, given the ones in use.
    params : BoostingParams
    threads : Threads

    Yields
    ------
    Step
        One per round; ``details["round"]`` counts from 1, ``model`` predicts at that round.
    """
    target, weight = _training_rows(executor)
    weights = _weight_scale(weight)
    ensemble = Ensemble(loss, loss.baseline(target, weight))
    executor.each(rows.set_baseline, ensemble.baseline, weights.scale)
    ledger = Ledger(prices, params.max_features, params.cost_budget)
    histograms = NodeHistograms(executor, columns, params.max_depth, threads)
    search = ExactSearch(histograms, ledger, columns.varying)
    grower = Grower(executor, columns, params, search, histograms, weights)
    importances = np.zeros(columns.n_features)
    for n_rounds in range(1, params.n_rounds + 1):
        executor.each(rows.begin_round, loss)
        trees = [
            grower.grow(k, loss, _seed(params.seed, n_rounds, k)) for k in range(loss.n_outputs)
        ]
        ensemble.rounds.append(trees)
        for tree in trees:
            split = tree.left >= 0
            np.add.at(importances, tree.feature[split], tree.gain[split])
        order = ledger.entered
        yield Step.of(
            order,
            importances,
            control=params.penalty,
            objective=_objective(executor, loss, weights),
            cost=ledger.spent,
            model=ensemble.at(n_rounds),
            details={"round": n_rounds},
        )


def _training_rows(executor: LocalExecutor[RowBlock]) -> tuple[FloatArray, FloatArray]:
    """Target and weight of all training rows."""
    parts = executor.each(rows.training_rows)
    return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])


def _weight_scale(weight: FloatArray) -> WeightScale:
    """Whole weights count rows and stay exact; others are relative, scaled to a mean of one."""
    most = float(weight.max())
    total = fixed_point_sum(weight)
    counts = are_counts(weight)
    scale = 1.0 if counts and most <= WEIGHT_STEPS else WEIGHT_STEPS / most
    return WeightScale(scale, 1.0 if counts else total / len(weight), most, total)


def _objective(executor: LocalExecutor[RowBlock], loss: Loss, weights: WeightScale) -> float:
    """The mean training loss; an exact sum, the same for every cut into blocks."""
    found = executor.each(rows.loss_terms, loss)
    n_rows = sum(n for _, n in found)
    scale = fixed_point_scale(max(most for most, _ in found), n_rows)
    return float(executor.sum(rows.sum_of_terms, scale)) / scale / weights.total


def _seed(seed: int, n_rounds: int, k: int) -> int:
    """A seed of its own for the rows of each tree."""
    return int(np.random.SeedSequence([seed, n_rounds, k]).generate_state(1, np.uint64)[0])
