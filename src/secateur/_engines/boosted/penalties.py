"""Which penalties are tried: a falling grid, as shares of the best gain that one split has."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from secateur._data.prices import Prices
from secateur._engines.boosted.grid import BoostedData
from secateur._engines.boosted.params import BoostingParams
from secateur.typing import FloatArray

GRID_POINTS = 8
"""Penalties that "auto" tries."""

GRID_TOP = 0.25
"""The largest of them, as a share of the best gain that any single split has at the start."""

GRID_BOTTOM = 0.002
"""The smallest, likewise."""


def penalty_grid(data: BoostedData, params: BoostingParams) -> list[float]:
    """Falling penalties, as shares of the best gain that one split has at the start."""
    return falling_from(best_gain(data, params))


def falling_from(top: float) -> list[float]:
    """The penalties of a grid, given the best gain of one split."""
    if top <= 0.0:
        return [0.0]
    return [float(p) for p in np.geomspace(GRID_TOP * top, GRID_BOTTOM * top, GRID_POINTS)]


def best_gain(data: BoostedData, params: BoostingParams) -> float:
    """The best gain that one split has at the start, set against what features cost on average.

    There every feature is new.
    """
    stump = replace(
        params,
        penalty=0.0,
        max_depth=1,
        n_rounds=1,
        max_features=None,
        cost_budget=None,
        subsample=1.0,
    )
    step = next(data.run(data.everything, stump).steps)
    gains = [float(tree.gain[0]) for tree in step.model.ensemble.rounds[0]]
    units = _root_errors(data, step.model.ensemble.baseline)
    if params.criterion == "gbfs":
        units = np.full(len(gains), 2.0)
    top = max((g / u for g, u in zip(gains, units, strict=True) if u > 0.0), default=0.0)
    return top / _typical_price(data.prices)


def _root_errors(data: BoostedData, baseline: FloatArray) -> FloatArray:
    """The squared error of the gradients of each output at the baseline."""
    target, weight = data.target, data.weight
    if data.rows is not None:
        target, weight = target[data.rows], weight[data.rows]
    raw = np.repeat(baseline[:, None], len(target), axis=1)
    gradient, hessian = np.empty_like(raw), np.empty_like(raw)
    data.loss.gradients(target, raw, gradient, hessian)
    centred = gradient - np.average(gradient, axis=1, weights=weight)[:, None]
    errors: FloatArray = (centred * centred) @ weight
    return errors


def _typical_price(prices: Prices) -> float:
    """What a feature that is not free costs on average."""
    now = prices.prices(prices.keep)
    paid = now[now > 0.0]
    return float(paid.mean()) if len(paid) else 1.0


def dearer(penalty: float, prices: Prices) -> tuple[float, float]:
    """Two penalties above a grid, so that there is a step for every limit: the first buys nothing.

    The grid begins at a quarter of the best gain there is, set against the mean price.
    """
    now = prices.prices(prices.keep)
    paid = now[now > 0.0]
    spread = float(paid.mean() / paid.min()) if len(paid) else 1.0
    return 5.0 * spread * penalty, 2.0 * penalty
