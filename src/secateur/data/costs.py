"""The cost of features: single costs, feature groups, neighbours, or a rule."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from secateur.data.categories import is_missing, missing_in
from secateur.data.checks import FeatureIndex, name_of
from secateur.data.frames import as_array
from secateur.exceptions import InputError, ParameterError, some_of
from secateur.typing import AnyArray, BoolArray, FloatArray, IntArray

CostRule = Callable[[BoolArray], Any]
_COLLECTIONS = (list, tuple, set, frozenset, range, np.ndarray)
Members = tuple[IntArray, IntArray, list[Any]]  # features, their groups by number, all labels


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
        if self.rule is not None:
            what = f"What the rule {getattr(self.rule, '__name__', repr(self.rule))!r} returns"
            cost = _checked(_as_numbers(self.rule(used.copy()), what), range(len(used)), what)
        else:
            cost = self.cost.copy()
            if self.neighbours is not None:
                cost[(self.neighbours @ used) > 0] *= self.discount
            if self.feature_groups is not None:
                is_open = (self.feature_groups.T @ used) > 0
                cost[(self.feature_groups @ is_open) > 0] = 0.0
        cost[used] = 0.0
        return cost

    def paid(self, order: IntArray) -> FloatArray:
        """Return the cost of each feature when it was selected, given the order of selection."""
        order = np.asarray(order, dtype=np.int64)
        used, paid = self.keep.copy(), np.zeros(len(order))
        if self.is_plain:
            feature, first = np.unique(order, return_index=True)
            paid[first] = np.where(used, 0.0, self.cost)[feature]
            return paid
        groups, neighbours = self.feature_groups, self.neighbours
        is_open = None if groups is None else (groups.T @ used) > 0
        for position, feature in enumerate(order):
            if used[feature]:
                continue
            if self.rule is not None:
                paid[position] = self.costs(used)[feature]
            else:  # feature by feature: orders and tables may both be long
                is_beside = neighbours is not None and used[_row(neighbours, feature)].any()
                paid[position] = self.cost[feature] * (self.discount if is_beside else 1.0)
                if is_open is not None:
                    its_groups = _row(groups, feature)
                    paid[position] = 0.0 if is_open[its_groups].any() else paid[position]
                    is_open[its_groups] = True
            used[feature] = True
        return paid

    def total(self, order: IntArray) -> float:
        """Return the cost of all features that were selected in this order."""
        return float(self.paid(order).sum())


def _row(matrix: Any, row: int) -> IntArray:
    return matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]]


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
        if _is_given(self.keep):
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
    # a pandas series that is labelled by feature would be misread by position
    labels = getattr(costs, "index", None)
    if hasattr(costs, "to_dict") and labels is not None and not callable(labels):
        labels = list(labels)
        is_text = all(isinstance(label, str) for label in labels)
        if labels and (is_text or all(name_of(label) in index.positions for label in labels)):
            costs = dict(zip(labels, costs.tolist(), strict=True))
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


def _as_numbers(costs: Any, what: str) -> FloatArray:
    try:
        return as_array(costs, "costs").astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{what} must hold numbers. Got {type(costs).__name__}: {error}. Give one per feature."
        ) from error


def read_feature_groups(feature_groups: Any, index: FeatureIndex) -> tuple[Any, list[str]]:
    """Which feature is in which group, as a sparse matrix, and the names or numbers of groups."""
    n_features = len(index.names)
    is_list = isinstance(feature_groups, list) and len(feature_groups) > 0
    is_matrix = len(getattr(feature_groups, "shape", ())) == 2
    if isinstance(feature_groups, Mapping):
        rows, numbers, labels = _members_by_dict(feature_groups, index)
    elif is_matrix or (is_list and isinstance(feature_groups[0], list)):
        import scipy.sparse as sp

        matrix = feature_groups if sp.issparse(feature_groups) else np.asarray(feature_groups)
        if matrix.ndim != 2 or matrix.shape[0] != n_features:
            raise InputError(
                f"'feature_groups' as a matrix must have one row per feature, {n_features}. Got "
                f"shape {matrix.shape}. Transpose it if rows are groups."
            )
        if not sp.issparse(matrix) and not np.isin(matrix, (0, 1)).all():
            raise InputError(
                "'feature_groups' as a matrix must be boolean: rows are features, columns "
                f"are groups. Got dtype {matrix.dtype}. Use one label per feature if each has one "
                "group."
            )
        (rows, numbers), labels = matrix.nonzero(), list(range(matrix.shape[1]))
    else:
        rows, numbers, labels = _members_by_label(feature_groups, n_features)
    members = _ones(rows, numbers, (n_features, len(labels)))
    return members, [str(label) for label in labels]


def _members_by_label(feature_groups: Any, n_features: int) -> Members:
    labels: AnyArray = feature_groups
    if not isinstance(feature_groups, np.ndarray):
        try:
            labels = np.fromiter(feature_groups, dtype=object)
        except TypeError as error:
            raise InputError(
                "'feature_groups' must be a sequence of labels, a dict or a matrix. Got "
                f"{type(feature_groups).__name__}. Give one label per feature."
            ) from error
    if labels.shape != (n_features,):
        raise InputError(
            f"'feature_groups' must have one label per feature, {n_features}. Got shape "
            f"{labels.shape}. Use None for features without a group, or a dict for a few features."
        )
    rows = np.flatnonzero(~missing_in(labels))
    return rows, *_number_labels(labels[rows])


def _number_labels(labels: AnyArray) -> tuple[IntArray, list[Any]]:
    """The number of the group of each label, and the groups."""
    if labels.dtype.kind != "O":
        values, numbers = np.unique(labels, return_inverse=True)
        return numbers, values.tolist()
    known: dict[Any, int] = {}
    try:
        found = [known.setdefault(label, len(known)) for label in labels.tolist()]
    except TypeError as error:
        raise InputError(
            f"'feature_groups' must hold plain labels such as text or numbers. Got {error}. Use a "
            "dict from label to features, or a matrix, if features are in several groups."
        ) from error
    return np.array(found, dtype=np.int64), list(known)


def _members_by_dict(feature_groups: Mapping[Any, Any], index: FeatureIndex) -> Members:
    single = [key for key, value in feature_groups.items() if not isinstance(value, _COLLECTIONS)]
    if not single:
        found = [index.find(each, parameter="feature_groups") for each in feature_groups.values()]
        numbers = np.repeat(np.arange(len(found)), [len(features) for features in found])
        rows = np.concatenate(found) if found else np.zeros(0, dtype=np.int64)
        return rows, numbers, list(feature_groups)
    if len(single) < len(feature_groups):
        raise InputError(
            "'feature_groups' as a dict must go from feature to label or from label to a list of "
            f"features. Got both: {some_of(single)} have no list. Put single features into a list."
        )
    # the keys of missing labels must be features as well
    rows = index.find(list(feature_groups), parameter="feature_groups")
    labelled = [not is_missing(label) for label in feature_groups.values()]
    labels = np.fromiter(feature_groups.values(), dtype=object)[labelled]
    return rows[labelled], *_number_labels(labels)


def _ones(rows: IntArray, columns: IntArray, shape: tuple[int, int]) -> Any:
    """A sparse matrix that is 1 at the given places."""
    import scipy.sparse as sp

    is_there = np.ones(len(rows), np.bool_)  # of truths the sum is a truth
    return sp.csr_array((is_there, (rows, columns)), shape=shape).astype(np.int32)


def read_neighbours(neighbours: Any, n_features: int) -> Any:
    """Return which features are neighbours, as a symmetric sparse matrix."""
    import scipy.sparse as sp

    is_array = isinstance(neighbours, np.ndarray) and neighbours.ndim == 2
    if not sp.issparse(neighbours) and not is_array:
        try:
            shape = tuple(int(length) for length in neighbours)
            is_grid = len(shape) > 0 and shape == tuple(neighbours) and min(shape) > 0
        except (TypeError, ValueError):
            is_grid, shape = False, ()
        if not is_grid:
            raise InputError(
                "'neighbours' must be the shape of a grid or a matrix of features by features. Got "
                f"{neighbours!r}. Use (28, 28) for images of 28 x 28 pixels."
            )
        if math.prod(shape) != n_features:
            raise InputError(
                f"'neighbours' as a grid must have one cell per feature, {n_features}. Got "
                f"{shape}, which has {math.prod(shape)}. Give the shape that the features were "
                "flattened from."
            )
        cells = np.arange(n_features).reshape(shape)
        # each cell and the next one along each axis
        one, other = (
            np.concatenate([np.delete(cells, end, axis).ravel() for axis in range(cells.ndim)])
            for end in (-1, 0)
        )
    elif neighbours.shape != (n_features, n_features):
        raise InputError(
            f"'neighbours' as a matrix must have the shape {(n_features, n_features)}. Got "
            f"{neighbours.shape}. Give one row and one column per feature."
        )
    else:
        one, other = neighbours.nonzero()
        apart = one != other
        one, other = one[apart], other[apart]
    rows, columns = np.concatenate([one, other]), np.concatenate([other, one])
    return _ones(rows, columns, (n_features, n_features))
