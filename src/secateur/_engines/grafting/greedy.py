"""Grafting one weight at a time: the gradient test, the L0 bound of Eq. 9, and the undo."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from secateur._data.prices import Prices
from secateur._engines.grafting.params import GraftingParams
from secateur._kernels.descent import HAIR
from secateur.typing import BoolArray, FloatArray, IntArray


class Growing(Protocol):
    """A model that grows: weights are numbered by slot (where they go) and feature."""

    raw: FloatArray
    n_grafts: int

    def gradients(self) -> FloatArray:
        """Gradient of the loss by every weight that could be freed, (n_slots, n_features)."""
        ...

    def is_open(self, max_features: int | None, kept: BoolArray) -> BoolArray:
        """Which weights may be freed now, (n_slots, n_features)."""
        ...

    def typical_step(self, excess: float) -> float:
        """The size that the first weight would take, to begin the bound of Eq. 9 with."""
        ...

    def graft(self, slot: int, feature: int) -> float:
        """Free a weight, fit, and give the size that it took."""
        ...

    def value(self) -> float:
        """The criterion without its L0 part."""
        ...

    def support(self) -> IntArray:
        """The features in use, in order of entry."""
        ...

    def save(self) -> Any:
        """The state, to come back to."""
        ...

    def restore(self, state: Any) -> None:
        """Go back to a state."""
        ...

    def model(self) -> Any:
        """The state as a model in the user's units."""
        ...

    def importances(self) -> FloatArray:
        """How much weight each feature carries."""
        ...


@dataclass(frozen=True, slots=True)
class Graft:
    """One more weight: the criterion with its L0 part, and how many grafts there were."""

    criterion: float
    n_grafts: int


def graft_one_by_one(
    growing: Growing, params: GraftingParams, prices: Prices, alpha: FloatArray
) -> Iterator[Graft]:
    """Free the most promising weight, fit, and stop where the criterion rises.

    The promise of a weight is the bound of Eq. 9,
    ``l0 price - |w'| (|dL/dw| - l1 alpha - l2 alpha |w'|)``, with w' the newest weight; used
    features are free. Where the criterion rises, the graft is undone, and the next candidates are
    tried, ``params.retries`` of them, before the end (Section 3.2.3).

    Yields
    ------
    Graft
        The state before the first graft, then after each.
    """
    criterion = _criterion(growing, params, prices)
    least = params.tol * abs(criterion)  # a smaller fall is no progress
    yield Graft(criterion, 0)
    newest = np.nan
    for n_grafts in range(1, params.max_rounds + 1):
        candidates, newest = _candidates(growing, params, prices, alpha, newest)
        before, is_better = growing.save(), False
        for slot, feature in candidates[: params.retries + 1]:
            size = growing.graft(int(slot), int(feature))
            value = _criterion(growing, params, prices)
            is_better = value < criterion - least
            if is_better:
                break
            growing.restore(before)
        if not is_better:
            return
        criterion, newest = value, size or newest
        growing.n_grafts = n_grafts
        yield Graft(criterion, n_grafts)


def _criterion(growing: Growing, params: GraftingParams, prices: Prices) -> float:
    value = growing.value()
    return value + params.l0 * prices.total(growing.support()) if params.l0 > 0.0 else value


def _candidates(
    growing: Growing, params: GraftingParams, prices: Prices, alpha: FloatArray, newest: float
) -> tuple[IntArray, float]:
    """Weights in order of promise, as (slot, feature); and the size that the bound assumes."""
    size = np.abs(growing.gradients())
    open_ = growing.is_open(params.max_features, prices.keep)
    open_ &= size > params.l1 * alpha * (1.0 + HAIR) + np.finfo(np.float64).tiny
    excess = np.where(open_, size - params.l1 * alpha, 0.0)
    if np.isnan(newest):
        newest = growing.typical_step(float(excess.max(initial=0.0)))
    used = np.zeros(len(alpha), np.bool_)
    used[growing.support()] = True
    price = prices.prices(used) if params.l0 > 0.0 else np.zeros(len(alpha))
    bound = params.l0 * price - newest * (excess - params.l2 * alpha * newest)
    flat = np.flatnonzero(open_)
    flat = flat[np.argsort(bound.ravel()[flat], kind="stable")]
    return np.column_stack(np.unravel_index(flat, open_.shape)), newest
