"""The cost of features: single costs, feature groups, neighbours, or a rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from secateur.data.checks import FeatureIndex, name_of
from secateur.data.feature_groups import read_feature_groups, read_neighbours
from secateur.data.frames import as_array
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
    group_labels: Sequence[str] = ()
    neighbours: Any = None  # CSR, (n_features, n_features)
    discount: float = 1.0  # a feature with a used neighbour costs this times its cost
    rule: CostRule | None = None  # costs from the mask of used features; replaces all but keep
    sources: IntArray | None = None  # the column of each feature, where some were one-hot encoded

    @property
    def n_features(self) -> int:
        """The number of features."""
        return len(self.cost)

    def count(self, features: IntArray) -> int:
        """Return how many features these are; those of one column of `sources` count once."""
        return len(features if self.sources is None else np.unique(self.sources[features]))

    def with_siblings(self, used: BoolArray) -> BoolArray:
        """Add to a mask the other features of the columns that it has features of."""
        return used if self.sources is None else np.isin(self.sources, self.sources[used])

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
        used, paid = self.keep.copy(), np.zeros(len(order))
        groups = None if self.rule is not None else self.feature_groups
        is_open = None if groups is None else (groups.T @ used) > 0
        for position, feature in enumerate(order):
            paid[position] = self._cost_of(feature, used)
            if is_open is not None:
                its_groups = _row(groups, feature)
                paid[position] = 0.0 if is_open[its_groups].any() else paid[position]
                is_open[its_groups] = True
            used[feature] = True
        return paid

    def _cost_of(self, feature: int, used: BoolArray) -> float:
        """The cost of one feature, apart from groups: orders and tables may both be long."""
        if used[feature]:
            return 0.0
        if self.rule is not None:
            return float(self.costs(used)[feature])
        is_beside = self.neighbours is not None and used[_row(self.neighbours, feature)].any()
        return float(self.cost[feature]) * (self.discount if is_beside else 1.0)

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
        return replace(
            self,
            cost=self.cost[features],
            keep=self.keep[features],
            feature_groups=None if groups is None else groups[features],
            neighbours=None if neighbours is None else neighbours[features][:, features],
            sources=None if self.sources is None else self.sources[features],
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


def _row(matrix: Any, row: int) -> IntArray:
    return matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]]


def _apply_rule(rule: CostRule, used: BoolArray) -> FloatArray:
    what = f"What the rule {getattr(rule, '__name__', repr(rule))!r} returns"
    return _checked(_as_numbers(rule(used.copy()), what), range(len(used)), what)


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
        dict by name or index, where features left out cost 1. Names may be of any type; if all
        are whole numbers, a number is a name, not an index.
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
    sources : None or array of int, default=None
        The column that each feature was made of, where columns were one-hot encoded: features of
        one column count as one for ``max_features``, ``n_features`` and ``cut``.

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
    sources: IntArray | None = None

    def bind(self, names: Sequence[str]) -> CostModel:
        """Return the costs as arrays, for the features of one table.

        Parameters
        ----------
        names : sequence of str
            The names of the features, in the order of the columns.
        """
        if not isinstance(self.discount, int | float | np.number) or not 0 <= self.discount <= 1:
            raise ParameterError(
                f"'discount' must be from 0 to 1. Got {self.discount!r}. Use 1 for no discount "
                "beside a used neighbour."
            )
        if self.rule is not None and not callable(self.rule):
            raise ParameterError(
                "'rule' must be a function of the mask of used features. Got "
                f"{type(self.rule).__name__}. Use 'costs' for fixed costs."
            )
        index = FeatureIndex(names)
        keep = np.zeros(len(names), dtype=np.bool_)
        if self.keep is not None:
            keep[index.find(self.keep, parameter="keep")] = True
        groups, neighbours, labels = None, self.neighbours, list[str]()
        cost = _read_costs(self.costs, index)
        if self.feature_groups is not None:
            groups, labels = read_feature_groups(self.feature_groups, index)
        if neighbours is not None:
            neighbours = read_neighbours(neighbours, len(names))
        shared = (neighbours, float(self.discount), self.rule, self.sources)
        return CostModel(cost, keep, groups, labels, *shared)


def as_costs(value: Any = None, feature_groups: Any = None, keep: Any = None) -> FeatureCosts:
    """Return costs, feature groups and kept features as one `FeatureCosts`."""
    costs = value if isinstance(value, FeatureCosts) else FeatureCosts(value)
    given = {"feature_groups": feature_groups} if feature_groups is not None else {}
    if _is_given(keep):
        given["keep"] = keep
    known = {"feature_groups": costs.feature_groups is not None, "keep": _is_given(costs.keep)}
    for name in given:
        if known[name]:
            raise ParameterError(
                f"{name!r} must be given once. Got it both as a parameter and in FeatureCosts. "
                "Remove one of them."
            )
    return replace(costs, **given)


def _is_given(keep: Any) -> bool:
    return keep is not None and (np.isscalar(keep) or len(keep) > 0)


def _read_costs(costs: Any, index: FeatureIndex) -> FloatArray:
    n_features = len(index.names)
    if costs is None:
        return np.ones(n_features)
    costs = _by_name(costs, index)
    if isinstance(costs, Mapping):
        cost = np.ones(n_features)
        found = index.find(list(costs), parameter="costs")
        cost[found] = _as_numbers(list(costs.values()), "'costs'")
    else:
        cost = _as_numbers(costs, "'costs'")
    if cost.ndim == 0:
        cost = np.full(n_features, float(cost))
    return _checked(cost, index.names, "'costs'")


def _checked(cost: FloatArray, names: Sequence[Any], what: str) -> FloatArray:
    """The costs, if there is one >= 0 for each feature."""
    if cost.shape != (len(names),):
        raise InputError(
            f"{what} must have one value per feature, {len(names)}. Got shape {cost.shape}. Give "
            "one for each feature; 'costs' may be a dict by name for a few of them."
        )
    wrong = np.flatnonzero(~(np.isfinite(cost) & (cost >= 0)))
    if wrong.size:
        raise InputError(
            f"{what} must be finite and >= 0. Got {some_of(cost[wrong])} for "
            f"{some_of([names[j] for j in wrong.tolist()])}. Use 0 for free features."
        )
    return cost


def _by_name(costs: Any, index: FeatureIndex) -> Any:
    # a pandas series that is labelled by feature would be misread by position
    labels = getattr(costs, "index", None)
    if hasattr(costs, "to_dict") and labels is not None and not callable(labels):
        labels = list(labels)
        is_text = all(isinstance(label, str) for label in labels)
        if labels and (is_text or all(name_of(label) in index.positions for label in labels)):
            return dict(zip(labels, costs.tolist(), strict=True))
    return costs


def _as_numbers(costs: Any, what: str) -> FloatArray:
    try:
        return as_array(costs, "costs").astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{what} must hold numbers. Got {type(costs).__name__}: {error}. Give one per feature."
        ) from error
