"""What is switched on and off: single features, or groups; and the slope of what they cost."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from secateur.data.costs import Prices
from secateur.exceptions import InputError
from secateur.typing import BoolArray, FloatArray, IntArray

GroupMode = Literal["hard", "soft"]

SOFTNESS = 0.05
"""Members whose s is within about this much of the group's largest share the price of the group."""


SHARE = 2.0 / 3.0
"""A unit is selected if its s is above this share of the largest, or above one half."""

LEAST = 0.03
"""Where no s is above this, nothing is selected."""


class Units:
    """Switches v over the columns that take part, and the price of leaving them on.

    A unit is a column, or with hard groups a whole group: its members have one v and are selected
    together. The penalty is

        penalty / D * sum_u price_u s_u                      units alone and hard groups
        penalty / D * sum_g price_g max_(j in g) s_j         soft groups

    where a group costs what its cheapest member does: the first of a group pays, and the others
    are free. The slope of a maximum is shared out among members that are close to it, by a softmax
    of s / 0.05. Prices that depend on what is used (neighbours, a rule) are asked anew with
    `reprice`: those outside cost what they cost now, those inside what they cost when they came.

    Parameters
    ----------
    prices : Prices
        Of all features of the table.
    features : array of int
        The columns that take part.
    mode : {"hard", "soft"}
        What ``prices.bags`` means.
    """

    def __init__(self, prices: Prices, features: IntArray, mode: GroupMode = "hard") -> None:
        self.features = features
        self._prices = prices
        groups = None if prices.bags is None else prices.bags[features]
        self._bags = groups if mode == "soft" else None
        self.unit: IntArray | None = None
        if groups is not None and mode == "hard":
            self.unit = _units_of(groups)
        self.n_units = len(features) if self.unit is None else int(self.unit.max(initial=-1)) + 1
        self.kept: BoolArray = self._of_units(prices.keep[features].astype(np.float64), max) > 0
        # columns without any say are in all the same, if they are to be kept
        self._absent = np.setdiff1d(np.flatnonzero(prices.keep), features)
        self.reset()

    def reset(self) -> None:
        """Prices as they are before anything is selected."""
        self._now: FloatArray = self._listed(self._prices.keep)[self.features]
        self._price: FloatArray = self._of_units(self._now, min)

    def _listed(self, used: BoolArray) -> FloatArray:
        """What each feature costs beside those in use; groups are dealt with here."""
        if self._prices.bags is None:
            return self._prices.prices(used)
        cost = self._prices.cost.copy()
        cost[self._prices.keep] = 0.0
        return cost

    def _of_units(self, value: FloatArray, how: object) -> FloatArray:
        """One value per unit from one per column: the least or the largest of its members."""
        if self.unit is None:
            return value
        empty = np.inf if how is min else -np.inf
        out = np.full(self.n_units, empty)
        (np.minimum if how is min else np.maximum).at(out, self.unit, value)
        return out

    def reprice(self, v: FloatArray) -> None:
        """Ask for the prices beside what is selected now, if they depend on it."""
        if self._prices.is_plain or self._prices.bags is not None:
            return
        inside = self.spread(self.inside(v))
        used = self._prices.keep.copy()
        used[self.features[inside]] = True
        self._now = np.where(inside, self._now, self._listed(used)[self.features])
        self._price = self._now

    def price_slope(self, s: FloatArray) -> FloatArray:
        """d(sum of prices)/ds of each unit."""
        if self._bags is None:
            return self._price
        alone = np.diff(self._bags.indptr) == 0
        slope = np.where(alone, self._price, 0.0)
        column = np.repeat(np.arange(self.n_units), np.diff(self._bags.indptr))
        bag, member = self._bags.indices, s[column]
        top = np.full(self._bags.shape[1], -np.inf)
        np.maximum.at(top, bag, member)
        share = np.exp((member - top[bag]) / SOFTNESS)
        share /= np.bincount(bag, share, minlength=len(top))[bag]
        cost = np.full(len(top), np.inf)
        np.minimum.at(cost, bag, self._price[column])
        np.add.at(slope, column, share * cost[bag])
        return slope

    def paid(self, s: FloatArray) -> float:
        """The sum of prices at s, each in the measure that it is on."""
        if self._bags is None:
            return float(self._price @ s)
        alone = np.diff(self._bags.indptr) == 0
        column = np.repeat(np.arange(self.n_units), np.diff(self._bags.indptr))
        top, cost = np.zeros(self._bags.shape[1]), np.full(self._bags.shape[1], np.inf)
        np.maximum.at(top, self._bags.indices, s[column])
        np.minimum.at(cost, self._bags.indices, self._price[column])
        member = np.isfinite(cost)
        return float(self._price[alone] @ s[alone] + cost[member] @ top[member])

    @property
    def column_price(self) -> FloatArray:
        """What each column would pay alone."""
        return self._now

    def shifted(self, by_column: FloatArray, n_features: int) -> FloatArray:
        """The v of units, moved so that the first so many columns are selected.

        Of hard groups, as many as fit; kept units are in, whatever the number.
        """
        v = by_column if self.unit is None else self._of_units(by_column, max)
        sizes = np.ones(self.n_units) if self.unit is None else np.bincount(self.unit)
        surest = np.argsort(-v, kind="stable")
        fits = np.cumsum(sizes[surest]) <= n_features
        n_in = max(int(fits.sum()), int(self.kept.sum()))
        shifted = np.full(self.n_units, -1.0)
        inside = surest[:n_in]
        shifted[inside] = np.arange(n_in, 0, -1.0)
        shifted[self.kept] = np.inf
        return shifted

    def inside(self, v: FloatArray) -> BoolArray:
        """Which units are selected: s above 1/2, or above 2/3 of the largest s if that is less.

        With the polynomials of high order z hardly changes once s of a feature is above some
        level far below one half, and the penalty then holds s at that level: what is in and what
        is out is still plain to see, but not at one half.
        """
        free = v[~self.kept]
        s = 1.0 / (1.0 + np.exp(-2.0 * np.clip(free, -40.0, 40.0)))
        top = float(s.max(initial=0.0))
        level = min(0.5, SHARE * top) if top > LEAST else 1.0
        inside = self.kept.copy()
        inside[~self.kept] = s > level
        return inside

    def spread(self, value: Any) -> Any:
        """One value per column from one per unit."""
        return value if self.unit is None else value[self.unit]

    def gather(self, slope: FloatArray) -> FloatArray:
        """The slope of a unit is the sum of those of its columns."""
        if self.unit is None:
            return slope
        return np.bincount(self.unit, slope, minlength=self.n_units).astype(np.float64)

    def order(self, v: FloatArray) -> IntArray:
        """The selected columns as features of the table, from the surest to the least.

        Of the members of a hard group the cheapest comes first: it is the one that pays.
        """
        by_column = self.spread(v)
        inside = np.flatnonzero(self.spread(self.inside(v)))
        cost = self._now[inside]
        ranked = inside[np.lexsort((self.features[inside], cost, -by_column[inside]))]
        return np.concatenate([self._absent, self.features[ranked]])


def _units_of(groups: object) -> IntArray:
    """The unit of each column: its group, or one of its own."""
    indptr, indices = groups.indptr, groups.indices  # type: ignore[attr-defined]  # csr_array
    n_groups = np.diff(indptr)
    if (n_groups > 1).any():
        msg = (
            "'groups' must not overlap for group_mode='hard'. Got a feature in "
            f"{int(n_groups.max())} groups. Use group_mode='soft'."
        )
        raise InputError(msg)
    label = -1 - np.arange(len(n_groups))
    label[n_groups == 1] = indices
    # numbered by first appearance, so that the order of columns decides nothing else
    _, first, number = np.unique(label, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    units: IntArray = rank[number]
    return units
