"""What each feature costs now, given those that are used already."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from secateur._data.wording import some_of
from secateur.exceptions import InputError
from secateur.typing import BoolArray, FloatArray, IntArray

PriceRule = Callable[[BoolArray], Any]


@dataclass(frozen=True, slots=True, eq=False)
class Prices:
    """The prices of a table's features; made by ``FeatureCosts.bind``.

    Parameters
    ----------
    cost : ndarray of shape (n_features,)
        What each feature costs alone.
    keep : ndarray of bool of shape (n_features,)
        Features that are in from the start, and free.
    bags : scipy.sparse.csr_array of shape (n_features, n_bags), optional
        Which feature is in which bag: one used feature makes the others in its bags free.
    neighbours : scipy.sparse.csr_array of shape (n_features, n_features), optional
        Which features are neighbours: one used feature makes the others cheaper.
    discount : float, default=1.0
        The part of its cost that a feature with a used neighbour still costs.
    rule : callable, optional
        Gives the prices from the mask of used features, instead of all the above but ``keep``.

    Examples
    --------
    >>> import numpy as np
    >>> prices = Prices(cost=np.array([1.0, 5.0]), keep=np.array([False, False]))
    >>> prices.prices(np.array([False, True]))
    array([1., 0.])
    >>> prices.total(np.array([1, 0, 1]))
    6.0
    """

    cost: FloatArray
    keep: BoolArray
    bags: Any = None
    neighbours: Any = None
    discount: float = 1.0
    rule: PriceRule | None = None

    @property
    def n_features(self) -> int:
        """The number of features."""
        return len(self.cost)

    @property
    def is_plain(self) -> bool:
        """Whether buying a feature changes no price but its own."""
        return self.bags is None and self.neighbours is None and self.rule is None

    def prices(self, used: BoolArray) -> FloatArray:
        """Give what each feature costs now; 0 for those used and those kept.

        Parameters
        ----------
        used : ndarray of bool of shape (n_features,)
            The features bought so far.

        Returns
        -------
        ndarray of shape (n_features,)
            A new array.
        """
        owned = np.asarray(used, dtype=np.bool_) | self.keep
        price = self._listed(owned) if self.rule is None else _obey(self.rule, owned)
        price[owned] = 0.0
        return price

    def paid(self, order: IntArray) -> FloatArray:
        """Give what each purchase cost, in the order of entry, starting from those kept.

        Parameters
        ----------
        order : ndarray of int
            The features as they were bought; one bought again is free.
        """
        order = np.asarray(order, dtype=np.int64)
        if self.is_plain:
            price = np.where(self.keep, 0.0, self.cost)[order]
            first = np.zeros(len(order), dtype=np.bool_)
            first[np.unique(order, return_index=True)[1]] = True
            return np.where(first, price, 0.0)
        return self._paid_by_rule(order) if self.rule is not None else self._paid_one_by_one(order)

    def total(self, order: IntArray) -> float:
        """Give the sum of all that was paid for features bought in this order."""
        return float(self.paid(order).sum())

    def take(self, features: IntArray) -> Prices:
        """Give the prices of some features only; those kept must be among them."""
        features = np.asarray(features, dtype=np.int64)
        if self.keep.sum() != self.keep[features].sum():
            raise InputError(
                "The features taken must have those kept among them. Got "
                f"{some_of(features.tolist())}. Add the features of 'keep'."
            )
        return Prices(
            cost=self.cost[features],
            keep=self.keep[features],
            bags=None if self.bags is None else self.bags[features],
            neighbours=None if self.neighbours is None else self.neighbours[features][:, features],
            discount=self.discount,
            rule=None if self.rule is None else _narrowed(self.rule, features, self.n_features),
        )

    def _listed(self, owned: BoolArray) -> FloatArray:
        price = self.cost.copy()
        if self.neighbours is not None:
            price[(self.neighbours @ owned) > 0] *= self.discount
        if self.bags is not None:
            is_open = (self.bags.T @ owned) > 0
            price[(self.bags @ is_open) > 0] = 0.0
        return price

    def _paid_by_rule(self, order: IntArray) -> FloatArray:
        owned = self.keep.copy()
        paid = np.zeros(len(order))
        for position, feature in enumerate(order):
            paid[position] = self.prices(owned)[feature]
            owned[feature] = True
        return paid

    def _paid_one_by_one(self, order: IntArray) -> FloatArray:
        # looks at one feature's bags and neighbours a time: orders and tables may both be long
        owned = self.keep.copy()
        is_open = None if self.bags is None else (self.bags.T @ owned) > 0
        paid = np.zeros(len(order))
        for position, feature in enumerate(order):
            price = 0.0 if owned[feature] else float(self.cost[feature])
            if self.neighbours is not None and owned[_row(self.neighbours, feature)].any():
                price *= self.discount
            if is_open is not None:
                its_bags = _row(self.bags, feature)
                price = 0.0 if is_open[its_bags].any() else price
                is_open[its_bags] = True
            owned[feature] = True
            paid[position] = price
        return paid


def _row(matrix: Any, row: int) -> IntArray:
    found: IntArray = matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]]
    return found


def _obey(rule: PriceRule, owned: BoolArray) -> FloatArray:
    name = getattr(rule, "__name__", repr(rule))
    answer = rule(owned.copy())
    try:
        price = np.array(answer, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"The rule {name!r} must return numbers, one price per feature. Got "
            f"{type(answer).__name__}: {error}. Return an array of {len(owned)} prices."
        ) from error
    if price.shape != owned.shape:
        raise InputError(
            f"The rule {name!r} must return one price per feature, shape {owned.shape}. Got shape "
            f"{price.shape}. Return an array of {len(owned)} prices."
        )
    wrong = price[~(np.isfinite(price) & (price >= 0))]
    if wrong.size:
        raise InputError(
            f"The rule {name!r} must return finite prices >= 0. Got {some_of(wrong)}. Use 0 for "
            "what is free."
        )
    return price


def _narrowed(rule: PriceRule, features: IntArray, n_features: int) -> PriceRule:
    def narrowed(used: BoolArray) -> FloatArray:
        everywhere = np.zeros(n_features, dtype=np.bool_)
        everywhere[features] = used
        return _obey(rule, everywhere)[features]

    narrowed.__name__ = getattr(rule, "__name__", "narrowed")
    return narrowed
