"""Penalties that are searched for: pairs of L1 and L0, and those that stand for a limit (Eq. 5)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from secateur.data.table import Fold, all_rows
from secateur.engines.fold_losses import pool
from secateur.engines.grafting.columns import GraftingData, GraftingParams
from secateur.engines.grafting.greedy import GraftRun
from secateur.engines.grafting.linear import LinearGrafting
from secateur.path.step import Step

# Grids of a joint search: L1 as shares of the largest, L0 as shares of what the first graft gains.
JOINT_SHARES = np.array([0.3, 0.1, 0.03, 0.01, 0.003])
JOINT_GRID = np.array([1.0, 0.3, 0.1, 0.03, 0.01])
LIMIT_TOL = 1e-7  # of the logarithm of the penalty that stands for a limit
MIN_PENALTY = 1e-8  # the lowest that is tried, as a share of the highest
LIMIT_FACTOR = 4.0  # ratio of two penalties on the way down


def pairs_of(
    data: GraftingData,
    params: GraftingParams,
    l1: Sequence[float] | None,
    l0: Sequence[float] | None,
) -> list[tuple[float, float]]:
    """The pairs (l1, l0) of a joint search, from the highest; None is a grid of its own."""
    everything = all_rows(len(data.target))
    if l1 is None:
        run = GraftRun(data, replace(params, l0=0.0), everything)
        l1 = (run.growing.largest_l1() * JOINT_SHARES).tolist()
    if l0 is None:  # the highest pays exactly for the first graft
        first = GraftRun(data, replace(params, l1=min(l1), l0=0.0), everything)
        values = [first.criterion for _, _ in zip(first.grafts, range(2), strict=False)]
        paid = data.cost_model.costs(data.cost_model.keep)
        cost = float(paid[paid > 0.0].mean()) if (paid > 0.0).any() else 1.0
        l0 = ((values[0] - values[-1]) / cost * JOINT_GRID).tolist()
    return [(float(one), float(other)) for one in l1 for other in l0]


def trace_pairs(
    data: GraftingData,
    params: GraftingParams,
    pairs: Sequence[tuple[float, float]],
    folds: Sequence[Fold],
    on_round: Callable[[], None],
) -> Iterator[Step]:
    """One step for each pair of penalties (l1, l0): its last graft, scored in folds."""
    for l1, l0 in pairs:
        each = replace(params, l1=l1, l0=l0)
        runs = [GraftRun(data, each, fold) for fold in [*folds, all_rows(len(data.target))]]
        for run in runs:
            for _ in run.grafts:
                pass
            on_round()
        *tested, whole = runs
        losses = [data.fold_losses(run.fold, run.growing.raw) for run in tested]
        score = pool(losses, origin="held_out", metric=data.loss.metric) if tested else None
        step = whole.step()
        yield replace(step, score=score, details={**step.details, "l0": l0})


def penalty_at_limit(fit: LinearGrafting, q: int, limit: float) -> float:
    """The L1 or L2 penalty whose solution has ``sum alpha |w|^q = limit``; 0 if none is needed.

    The sum falls as the penalty rises, so the penalty is bracketed from above, with warm starts.
    """
    from scipy.optimize import brentq

    params, alpha = fit.params, fit.alpha if q == 1 else fit.alpha2

    def excess(log_penalty: float) -> float:
        penalty = float(np.exp(log_penalty))
        if q == 2:
            fit.params = replace(params, l2=penalty)
        fit.solve(penalty if q == 1 else params.l1)
        return float((np.abs(fit.state.weight) ** q @ alpha).sum()) - limit

    top = fit.largest_l1()
    if top == 0.0:
        return 0.0
    high, step = float(np.log(top)), float(np.log(LIMIT_FACTOR))
    while q == 2 and excess(high) > 0.0:
        high += step
    low = high
    while excess(low) <= 0.0:
        high, low = low, low - step
        if low < np.log(MIN_PENALTY * top):
            return 0.0
    return float(np.exp(brentq(excess, low, high, xtol=LIMIT_TOL))) if low < high else top
