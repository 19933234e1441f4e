"""The variables of the search, one per feature or per feature group, and their costs."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from secateur.data.costs import CostModel
from secateur.engines.limits import Limits
from secateur.exceptions import InputError
from secateur.typing import BoolArray, FloatArray, IntArray

GroupMode = Literal["hard", "soft"]

SOFTNESS = 0.05  # temperature of the softmax that shares a soft group's cost among its members
SELECTED_SHARE = 2.0 / 3.0  # of the largest s, or one half, above which a unit is selected
MIN_LARGEST = 0.03  # if no s is above this, nothing is selected


class Units:
    """Maps columns to units and gives the cost term of the objective.

    A unit is a column, or with hard groups a whole group: its members have one v and are selected
    together. The cost term is

        penalty / D * sum_u cost_u s_u                      single units and hard groups
        penalty / D * sum_g cost_g max_(j in g) s_j         soft groups

    where a group costs as much as its cheapest member. The gradient of the maximum is shared by a
    softmax of s / 0.05. Costs that depend on the selected features are updated by `update_costs`.
    """

    def __init__(self, cost_model: CostModel, features: IntArray, mode: GroupMode = "hard") -> None:
        self.features = features
        self.n_features = cost_model.n_features
        self._cost_model = cost_model
        groups = None if cost_model.feature_groups is None else cost_model.feature_groups[features]
        self._soft_groups: Any = groups if mode == "soft" else None
        self.unit: IntArray | None = None if groups is None or mode == "soft" else _units_of(groups)
        self.n_units = len(features) if self.unit is None else int(self.unit.max(initial=-1)) + 1
        self.kept: BoolArray = self._max_by_unit(cost_model.keep[features].astype(np.float64)) > 0
        # kept columns that were left out of the search (constant, duplicate) stay selected
        kept = np.flatnonzero(cost_model.keep)
        self._absent = kept[~np.isin(kept, features)]
        self.reset_costs()

    def initial_v(self, init: FloatArray | float) -> FloatArray:
        """V at the start, from one value or one per column; inf for kept units."""
        v = np.asarray(init, np.float64)
        if v.ndim and self.unit is not None:  # the mean over the columns of a unit
            sizes = np.bincount(self.unit, minlength=self.n_units)
            v = np.bincount(self.unit, v, minlength=self.n_units) / sizes
        v = np.broadcast_to(v, (self.n_units,)).copy()
        v[self.kept] = np.inf
        return v

    def reset_costs(self) -> None:
        """Costs before anything but the kept features is selected."""
        self.column_cost: FloatArray = self._costs_beside(self._cost_model.keep)[self.features]
        self._cost: FloatArray = -self._max_by_unit(-self.column_cost)

    def update_costs(self, v: FloatArray) -> None:
        """Compute the costs beside the features selected now, if they depend on them."""
        if self._cost_model.is_plain or self._cost_model.feature_groups is not None:
            return
        selected = self.to_columns(self.selected(v))
        used = self._cost_model.keep.copy()
        used[self.features[selected]] = True
        now = self._costs_beside(used)[self.features]
        self.column_cost = self._cost = np.where(selected, self.column_cost, now)

    def _costs_beside(self, used: BoolArray) -> FloatArray:
        """Cost of each feature, given those in use; groups are handled by the units."""
        if self._cost_model.feature_groups is None:
            return self._cost_model.costs(used)
        return np.where(self._cost_model.keep, 0.0, self._cost_model.cost)

    def _max_by_unit(self, value: FloatArray) -> FloatArray:
        if self.unit is None:
            return value
        out = np.full(self.n_units, -np.inf)
        np.maximum.at(out, self.unit, value)
        return out

    def cost_gradient(self, s: FloatArray) -> FloatArray:
        """d(sum of costs)/ds of each unit."""
        if self._soft_groups is None:
            return self._cost
        column, group, top, cost = self._group_maxima(s, -np.inf)
        share = np.exp((s[column] - top[group]) / SOFTNESS)
        share /= np.bincount(group, share, minlength=len(top))[group]
        gradient = np.where(np.diff(self._soft_groups.indptr) == 0, self._cost, 0.0)
        np.add.at(gradient, column, share * cost[group])
        return gradient

    def total_cost(self, s: FloatArray) -> float:
        """Sum of the costs at s."""
        if self._soft_groups is None:
            return float(np.einsum("j,j", self._cost, s))  # @ starts threads for wide tables
        *_, top, cost = self._group_maxima(s, 0.0)
        single = np.diff(self._soft_groups.indptr) == 0
        used = np.isfinite(cost)
        return float(self._cost[single] @ s[single] + cost[used] @ top[used])

    def _group_maxima(
        self, s: FloatArray, start: float
    ) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
        """Column and group of each membership; largest s and smallest cost of each group."""
        groups = self._soft_groups
        column = np.repeat(np.arange(self.n_units), np.diff(groups.indptr))
        top, cost = np.full(groups.shape[1], start), np.full(groups.shape[1], np.inf)
        np.maximum.at(top, groups.indices, s[column])
        np.minimum.at(cost, groups.indices, self._cost[column])
        return column, groups.indices, top, cost

    def with_size(self, by_column: FloatArray, n_features: int) -> FloatArray:
        """V of units, changed to select the first ``n_features`` columns, of groups what fits."""
        v = self._max_by_unit(by_column)
        # features of each unit; those of one column of the table count once
        unit = np.arange(self.n_units) if self.unit is None else self.unit
        sources = self._cost_model.sources
        column = self.features if sources is None else sources[self.features]
        sizes = np.bincount(np.unique(np.stack([unit, column]), axis=1)[0], minlength=self.n_units)
        by_rank = np.argsort(-v, kind="stable")
        fits = np.cumsum(sizes[by_rank]) <= n_features
        n_selected = max(int(fits.sum()), int(self.kept.sum()))
        changed = np.full(self.n_units, -1.0)
        changed[by_rank[:n_selected]] = np.arange(n_selected, 0, -1.0)
        changed[self.kept] = np.inf
        return changed

    def count(self, v: FloatArray) -> int:
        """How many features are selected."""
        return self._cost_model.count(self.features[self.to_columns(self.selected(v))])

    def selected(self, v: FloatArray) -> BoolArray:
        """Which units are selected: s above 1/2, or above 2/3 of the largest s if that is less.

        With polynomials of high order the penalty may hold all s at a level far below one half.
        """
        free = v[~self.kept]
        s = 1.0 / (1.0 + np.exp(-2.0 * np.clip(free, -40.0, 40.0)))
        top = float(s.max(initial=0.0))
        level = min(0.5, SELECTED_SHARE * top) if top > MIN_LARGEST else 1.0
        selected = self.kept.copy()
        selected[~self.kept] = s > level
        return selected

    def to_columns(self, value: Any) -> Any:
        """One value per column from one per unit."""
        return value if self.unit is None else value[self.unit]

    def order(self, v: FloatArray, limits: Limits | None = None) -> IntArray:
        """The selected features by decreasing v, the cheapest of a hard group first, in limits."""
        by_column = self.to_columns(v)
        selected = np.flatnonzero(self.to_columns(self.selected(v)))
        cost = self.column_cost[selected]
        ranked = selected[np.lexsort((self.features[selected], cost, -by_column[selected]))]
        order = np.concatenate([self._absent, self.features[ranked]])
        return order if limits is None else self.within(order, limits)

    def within(self, order: IntArray, limits: Limits) -> IntArray:
        """The first features of an order that are within limits; hard groups as a whole."""
        if limits.are_none:
            return order
        unit = -1 - np.arange(self.n_features)
        unit[self.features] = np.arange(len(self.features)) if self.unit is None else self.unit
        return limits.filled(order[:0], order, unit[order])


def _units_of(groups: Any) -> IntArray:
    """The unit of each column: its group, or one of its own."""
    n_groups = np.diff(groups.indptr)
    if (n_groups > 1).any():
        raise InputError(
            "'feature_groups' must not overlap for group_mode='hard'. Got a feature in "
            f"{int(n_groups.max())} groups. Use group_mode='soft'."
        )
    label = -1 - np.arange(len(n_groups))
    label[n_groups == 1] = groups.indices
    # numbered by first appearance, so that the order of columns decides nothing else
    _, first, number = np.unique(label, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[number]
