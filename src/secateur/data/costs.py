"""What features cost, in the user's words: alone, in bags, beside each other, or by a rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from secateur.data.feature_groups import read_bags, read_neighbours
from secateur.data.messages import some_of
from secateur.data.names import FeatureIndex
from secateur.data.vectors import as_array
from secateur.exceptions import InputError, ParameterError
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


__all__ = ["FeatureCosts", "Prices", "as_costs"]


@dataclass(frozen=True, slots=True, eq=False)
class FeatureCosts:
    """What features cost: given to a selector, it is bound to the features of its table.

    A feature is paid for once, when it is first used. Nothing here is looked at before the
    features are known: mistakes come up when a selector is fitted, or with `bind`.

    Parameters
    ----------
    costs : None, number, sequence or dict, default=None
        What each feature costs alone, >= 0: 1 each, one number for all, one per feature, or a dict
        by name or index, where features left out cost 1.
    groups : None, sequence, dict or matrix, default=None
        Bags, as results of one blood test: the first feature of a bag pays its cost, and all
        others in it are free from then on. One label per feature (None for no bag), a dict from
        feature to label, a dict from label to a list of features, or a boolean or sparse matrix
        of shape (n_features, n_bags). Bags may overlap: a feature opens all of its bags, and is
        free if any of them is open.
    neighbours : None, tuple or matrix, default=None
        The shape of a grid of features, as (28, 28) for pixels, or a matrix of shape
        (n_features, n_features) that is not zero for neighbours. A feature with a used neighbour
        costs ``discount`` times its cost.
    discount : float, default=0.5
        From 0 (free beside a used neighbour) to 1 (no discount).
    rule : callable, default=None
        ``rule(used)`` takes the mask of used features and gives the price of each; it replaces
        costs, groups and neighbours. Used and kept features stay free.
    keep : names, indices or mask, default=()
        Features that are always in, and free.
    unit : str, default=""
        What costs are counted in, for reports.

    Examples
    --------
    >>> import numpy as np
    >>> costs = FeatureCosts({"sodium": 10, "potassium": 10}, groups={"blood": ["sodium",
    ...     "potassium"]}, unit="euro")
    >>> prices = costs.bind(["age", "sodium", "potassium"])
    >>> prices.prices(np.array([False, False, False]))
    array([ 1., 10., 10.])
    >>> prices.prices(np.array([False, True, False]))
    array([1., 0., 0.])
    """

    costs: Any = None
    groups: Any = None
    neighbours: Any = None
    discount: float = 0.5
    rule: PriceRule | None = None
    keep: Any = ()
    unit: str = ""

    def bind(self, names: Sequence[str]) -> Prices:
        """Turn the words into arrays for the features of one table.

        Parameters
        ----------
        names : sequence of str
            The names of the features, in the order of the columns.

        Returns
        -------
        Prices
            To be asked for the prices that count now.
        """
        index = FeatureIndex(names)
        keep = np.zeros(len(names), dtype=np.bool_)
        if self.keep is not None:
            keep[index.find(self.keep, parameter="keep")] = True
        return Prices(
            cost=_read_costs(self.costs, index),
            keep=keep,
            bags=read_bags(self.groups, index),
            neighbours=read_neighbours(self.neighbours, len(names)),
            discount=_read_discount(self.discount),
            rule=_read_rule(self.rule),
        )


def as_costs(value: Any = None, groups: Any = None, keep: Any = None) -> FeatureCosts:
    """Turn the short form of costs into the long one.

    Parameters
    ----------
    value : None, number, sequence, dict or FeatureCosts
        The ``costs`` of `FeatureCosts`, or all of it.
    groups, keep : optional
        As in `FeatureCosts`; must not be given twice.

    Examples
    --------
    >>> as_costs({"age": 2.0}, keep=["age"]).keep
    ['age']
    """
    if not isinstance(value, FeatureCosts):
        return FeatureCosts(value, groups=groups, keep=() if keep is None else keep)
    if groups is not None and value.groups is not None:
        raise _given_twice("groups")
    if _is_given(keep) and _is_given(value.keep):
        raise _given_twice("keep")
    return replace(
        value,
        groups=value.groups if groups is None else groups,
        keep=keep if _is_given(keep) else value.keep,
    )


def _is_given(keep: Any) -> bool:
    return keep is not None and (np.isscalar(keep) or len(keep) > 0)


def _given_twice(name: str) -> ParameterError:
    return ParameterError(
        f"{name!r} must be given once. Got it both as a parameter and in FeatureCosts. Remove one "
        "of them."
    )


def _read_costs(costs: Any, index: FeatureIndex) -> FloatArray:
    n_features = len(index.names)
    if costs is None:
        return np.ones(n_features)
    costs = _by_name(costs)
    if isinstance(costs, Mapping):
        cost = np.ones(n_features)
        found = index.find(list(costs), parameter="costs")
        cost[found] = _as_numbers(list(costs.values()))
    else:
        cost = _as_numbers(costs)
    if cost.ndim == 0:
        cost = np.full(n_features, float(cost))
    if cost.shape != (n_features,):
        raise InputError(
            f"'costs' must have one value per feature, {n_features}. Got shape {cost.shape}. Use a "
            "dict by name for a few features."
        )
    _check_costs(cost, index.names)
    return cost


def _by_name(costs: Any) -> Any:
    # a pandas series that is labelled by feature would be misread by position
    labels = getattr(costs, "index", None)
    if hasattr(costs, "to_dict") and labels is not None and not callable(labels):
        labels = list(labels)
        if labels and all(isinstance(label, str) for label in labels):
            return dict(zip(labels, costs.tolist(), strict=True))
    return costs


def _as_numbers(costs: Any) -> FloatArray:
    try:
        return as_array(costs, "costs").astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"'costs' must hold numbers. Got values that are none: {error}. Give a number, one per "
            "feature, or a dict by name."
        ) from error


def _check_costs(cost: FloatArray, names: Sequence[str]) -> None:
    wrong = np.flatnonzero(~(np.isfinite(cost) & (cost >= 0)))
    if wrong.size:
        raise InputError(
            f"'costs' must be finite and >= 0. Got {some_of(cost[wrong])} for "
            f"{some_of([names[feature] for feature in wrong.tolist()])}. Use 0 for what is free."
        )


def _read_discount(discount: Any) -> float:
    is_number = isinstance(discount, int | float | np.number)
    if not is_number or not 0 <= discount <= 1:
        raise ParameterError(
            f"'discount' must be from 0 to 1. Got {discount!r}. Use 1 for no discount beside a "
            "used neighbour."
        )
    return float(discount)


def _read_rule(rule: PriceRule | None) -> PriceRule | None:
    given: Any = rule  # users are not held to the types
    if given is not None and not callable(given):
        raise ParameterError(
            f"'rule' must be a function of the mask of used features. Got {type(given).__name__}. "
            "Use 'costs' for fixed prices."
        )
    return rule
