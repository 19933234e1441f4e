"""The cost of features: single costs, feature groups, neighbours, or a rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from secateur.data.feature_groups import read_feature_groups, read_neighbours
from secateur.data.frames import as_array
from secateur.data.names import FeatureIndex
from secateur.exceptions import InputError, ParameterError, some_of
from secateur.typing import BoolArray, FloatArray, IntArray

__all__ = ["CostModel", "FeatureCosts", "as_costs"]

CostRule = Callable[[BoolArray], Any]


@dataclass(frozen=True, slots=True, eq=False)
class CostModel:
    """The costs of the features of one table; made by ``FeatureCosts.bind``."""

    cost: FloatArray  # of each feature alone
    keep: BoolArray  # features that are always selected, at no cost
    feature_groups: Any = None  # CSR, (n_features, n_groups): a used feature frees its group
    neighbours: Any = None  # CSR, (n_features, n_features)
    discount: float = 1.0  # a feature with a used neighbour costs this times its cost
    rule: CostRule | None = None  # costs from the mask of used features; replaces all but keep

    @property
    def n_features(self) -> int:
        """The number of features."""
        return len(self.cost)

    @property
    def is_plain(self) -> bool:
        """Whether using a feature changes no other cost."""
        return self.feature_groups is None and self.neighbours is None and self.rule is None

    def costs(self, used: BoolArray) -> FloatArray:
        """Return the cost of each feature now, as a new array; 0 for used and kept features."""
        used = np.asarray(used, dtype=np.bool_) | self.keep
        cost = self._listed(used) if self.rule is None else _apply_rule(self.rule, used)
        cost[used] = 0.0
        return cost

    def paid(self, order: IntArray) -> FloatArray:
        """Return the cost of each feature when it was selected, given the order of selection."""
        order = np.asarray(order, dtype=np.int64)
        if self.is_plain:
            cost = np.where(self.keep, 0.0, self.cost)[order]
            first = np.zeros(len(order), dtype=np.bool_)
            first[np.unique(order, return_index=True)[1]] = True
            return np.where(first, cost, 0.0)
        return self._paid_by_rule(order) if self.rule is not None else self._paid_one_by_one(order)

    def total(self, order: IntArray) -> float:
        """Return the cost of all features that were selected in this order."""
        return float(self.paid(order).sum())

    def take(self, features: IntArray) -> CostModel:
        """Return the costs of some features; those in ``keep`` must be among them."""
        features = np.asarray(features, dtype=np.int64)
        if self.keep.sum() != self.keep[features].sum():
            raise InputError(
                "The features taken must include those of 'keep'. Got "
                f"{some_of(features.tolist())}. Add the features of 'keep'."
            )
        groups, neighbours = self.feature_groups, self.neighbours
        return CostModel(
            cost=self.cost[features],
            keep=self.keep[features],
            feature_groups=None if groups is None else groups[features],
            neighbours=None if neighbours is None else neighbours[features][:, features],
            discount=self.discount,
            rule=None if self.rule is None else _rule_of(self.rule, features, self.n_features),
        )

    def _listed(self, used: BoolArray) -> FloatArray:
        cost = self.cost.copy()
        if self.neighbours is not None:
            cost[(self.neighbours @ used) > 0] *= self.discount
        if self.feature_groups is not None:
            is_open = (self.feature_groups.T @ used) > 0
            cost[(self.feature_groups @ is_open) > 0] = 0.0
        return cost

    def _paid_by_rule(self, order: IntArray) -> FloatArray:
        used = self.keep.copy()
        paid = np.zeros(len(order))
        for position, feature in enumerate(order):
            paid[position] = self.costs(used)[feature]
            used[feature] = True
        return paid

    def _paid_one_by_one(self, order: IntArray) -> FloatArray:
        # looks at the groups and neighbours of one feature: orders and tables may both be long
        used, groups = self.keep.copy(), self.feature_groups
        is_open = None if groups is None else (groups.T @ used) > 0
        paid = np.zeros(len(order))
        for position, feature in enumerate(order):
            cost = 0.0 if used[feature] else float(self.cost[feature])
            if self.neighbours is not None and used[_row(self.neighbours, feature)].any():
                cost *= self.discount
            if is_open is not None:
                its_groups = _row(groups, feature)
                cost = 0.0 if is_open[its_groups].any() else cost
                is_open[its_groups] = True
            used[feature] = True
            paid[position] = cost
        return paid


def _row(matrix: Any, row: int) -> IntArray:
    found: IntArray = matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]]
    return found


def _apply_rule(rule: CostRule, used: BoolArray) -> FloatArray:
    name = getattr(rule, "__name__", repr(rule))
    answer = rule(used.copy())
    try:
        cost = np.array(answer, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"The rule {name!r} must return numbers, one cost per feature. Got "
            f"{type(answer).__name__}: {error}. Return an array of {len(used)} costs."
        ) from error
    if cost.shape != used.shape:
        raise InputError(
            f"The rule {name!r} must return one cost per feature, shape {used.shape}. Got shape "
            f"{cost.shape}. Return an array of {len(used)} costs."
        )
    wrong = cost[~(np.isfinite(cost) & (cost >= 0))]
    if wrong.size:
        raise InputError(
            f"The rule {name!r} must return finite costs >= 0. Got {some_of(wrong)}. Use 0 for "
            "free features."
        )
    return cost


def _rule_of(rule: CostRule, features: IntArray, n_features: int) -> CostRule:
    """The rule for some of the features."""

    def narrowed(used: BoolArray) -> FloatArray:
        everywhere = np.zeros(n_features, dtype=np.bool_)
        everywhere[features] = used
        return _apply_rule(rule, everywhere)[features]

    narrowed.__name__ = getattr(rule, "__name__", "narrowed")
    return narrowed


@dataclass(frozen=True, slots=True, eq=False)
class FeatureCosts:
    """The cost of features: given to a selector, which binds it to the features of its table.

    A feature costs something once, when it is first used. Values are checked in `bind`, or when
    a selector is fitted.

    Parameters
    ----------
    costs : None, number, sequence or dict, default=None
        The cost of each feature alone, >= 0: 1 each, one number for all, one per feature, or a
        dict by name or index, where features left out cost 1.
    feature_groups : None, sequence, dict or matrix, default=None
        Features that are acquired together, as results of one blood test: once one feature of a
        group is used, the others are free. One label per feature (None for no group), a dict from
        feature to label, a dict from label to a list of features, or a boolean or sparse matrix
        of shape (n_features, n_groups). Groups may overlap: a feature is free if any of its groups
        has a used feature.
    neighbours : None, tuple or matrix, default=None
        The shape of a grid of features, as (28, 28) for pixels, or a matrix of shape
        (n_features, n_features) that is not zero for neighbours. A feature with a used neighbour
        costs ``discount`` times its cost.
    discount : float, default=0.5
        From 0 (free beside a used neighbour) to 1 (no discount).
    rule : callable, default=None
        ``rule(used)`` takes the mask of used features and returns the cost of each; it replaces
        costs, feature_groups and neighbours. Used and kept features stay free.
    keep : names, indices or mask, default=()
        Features that are always selected, at no cost.
    unit : str, default=""
        The unit of the costs, for reports.

    Examples
    --------
    >>> import numpy as np
    >>> costs = FeatureCosts({"sodium": 10, "potassium": 10}, feature_groups={"blood": ["sodium",
    ...     "potassium"]}, unit="euro")
    >>> model = costs.bind(["age", "sodium", "potassium"])
    >>> model.costs(np.array([False, False, False]))
    array([ 1., 10., 10.])
    >>> model.costs(np.array([False, True, False]))
    array([1., 0., 0.])
    """

    costs: Any = None
    feature_groups: Any = None
    neighbours: Any = None
    discount: float = 0.5
    rule: CostRule | None = None
    keep: Any = ()
    unit: str = ""

    def bind(self, names: Sequence[str]) -> CostModel:
        """Return the costs as arrays, for the features of one table.

        Parameters
        ----------
        names : sequence of str
            The names of the features, in the order of the columns.
        """
        index = FeatureIndex(names)
        keep = np.zeros(len(names), dtype=np.bool_)
        if self.keep is not None:
            keep[index.find(self.keep, parameter="keep")] = True
        return CostModel(
            cost=_read_costs(self.costs, index),
            keep=keep,
            feature_groups=read_feature_groups(self.feature_groups, index),
            neighbours=read_neighbours(self.neighbours, len(names)),
            discount=_read_discount(self.discount),
            rule=_read_rule(self.rule),
        )


def as_costs(value: Any = None, feature_groups: Any = None, keep: Any = None) -> FeatureCosts:
    """Return costs, feature groups and kept features as one `FeatureCosts`."""
    if not isinstance(value, FeatureCosts):
        keep = () if keep is None else keep
        return FeatureCosts(value, feature_groups=feature_groups, keep=keep)
    if feature_groups is not None and value.feature_groups is not None:
        raise _given_twice("feature_groups")
    if _is_given(keep) and _is_given(value.keep):
        raise _given_twice("keep")
    return replace(
        value,
        feature_groups=value.feature_groups if feature_groups is None else feature_groups,
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
    wrong = np.flatnonzero(~(np.isfinite(cost) & (cost >= 0)))
    if wrong.size:
        raise InputError(
            f"'costs' must be finite and >= 0. Got {some_of(cost[wrong])} for "
            f"{some_of([index.names[j] for j in wrong.tolist()])}. Use 0 for free features."
        )
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


def _read_discount(discount: Any) -> float:
    if not isinstance(discount, int | float | np.number) or not 0 <= discount <= 1:
        raise ParameterError(
            f"'discount' must be from 0 to 1. Got {discount!r}. Use 1 for no discount beside a "
            "used neighbour."
        )
    return float(discount)


def _read_rule(rule: Any) -> CostRule | None:
    if rule is not None and not callable(rule):
        raise ParameterError(
            f"'rule' must be a function of the mask of used features. Got {type(rule).__name__}. "
            "Use 'costs' for fixed costs."
        )
    checked: CostRule | None = rule
    return checked
