"""Feature groups and neighbouring features: from what users give to sparse matrices."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from secateur.data.categories import is_missing, missing_in
from secateur.data.checks import FeatureIndex
from secateur.exceptions import InputError, some_of
from secateur.typing import AnyArray, IntArray

_COLLECTIONS = (list, tuple, set, frozenset, range, np.ndarray)
Members = tuple[IntArray, IntArray, list[Any]]  # features, their groups by number, all labels


def read_feature_groups(feature_groups: Any, index: FeatureIndex) -> tuple[Any, list[str]]:
    """Which feature is in which group, as a sparse matrix, and the names of the groups.

    Groups of a matrix are numbered.
    """
    if isinstance(feature_groups, Mapping):
        rows, numbers, labels = _members_by_dict(feature_groups, index)
    elif _is_matrix(feature_groups):
        rows, numbers, labels = _members_by_matrix(feature_groups, len(index.names))
    else:
        rows, numbers, labels = _members_by_label(feature_groups, len(index.names))
    matrix = _ones(rows, numbers, (len(index.names), len(labels)))
    return matrix, [str(label) for label in labels]


def _is_matrix(feature_groups: Any) -> bool:
    if len(getattr(feature_groups, "shape", ())) == 2:
        return True
    is_list = isinstance(feature_groups, list) and len(feature_groups) > 0
    return is_list and isinstance(feature_groups[0], list)


def _members_by_matrix(feature_groups: Any, n_features: int) -> Members:
    import scipy.sparse as sp

    matrix = feature_groups if sp.issparse(feature_groups) else np.asarray(feature_groups)
    if matrix.ndim != 2 or matrix.shape[0] != n_features:
        raise InputError(
            f"'feature_groups' as a matrix must have one row per feature, {n_features}. Got shape "
            f"{matrix.shape}. Transpose it if rows are groups."
        )
    if not sp.issparse(matrix) and not np.isin(matrix, (0, 1)).all():
        raise InputError(
            "'feature_groups' as a matrix must be boolean: rows are features, columns are groups. "
            f"Got dtype {matrix.dtype}. Use one label per feature if each has one group."
        )
    return *matrix.nonzero(), list(range(matrix.shape[1]))


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

    matrix = sp.csr_array((np.ones(len(rows), dtype=np.int32), (rows, columns)), shape=shape)
    matrix.sum_duplicates()
    matrix.data[:] = 1
    return matrix


# ---- neighbours -------------------------------------------------------------------------------


def read_neighbours(neighbours: Any, n_features: int) -> Any:
    """Return which features are neighbours, as a symmetric sparse matrix."""
    import scipy.sparse as sp

    is_array = isinstance(neighbours, np.ndarray) and neighbours.ndim == 2
    if not sp.issparse(neighbours) and not is_array:
        return grid_neighbours(_grid_shape(neighbours, n_features))
    if neighbours.shape != (n_features, n_features):
        raise InputError(
            f"'neighbours' as a matrix must have the shape {(n_features, n_features)}. Got "
            f"{neighbours.shape}. Give one row and one column per feature."
        )
    one, other = neighbours.nonzero()
    apart = one != other
    return _both_ways(one[apart], other[apart], n_features)


def grid_neighbours(shape: tuple[int, ...]) -> Any:
    """Connect each cell of a grid with the next one along each axis."""
    cells = np.arange(math.prod(shape)).reshape(shape)
    axes = range(len(shape))
    one = np.concatenate([np.delete(cells, -1, axis).ravel() for axis in axes])
    other = np.concatenate([np.delete(cells, 0, axis).ravel() for axis in axes])
    return _both_ways(one, other, cells.size)


def _grid_shape(neighbours: Any, n_features: int) -> tuple[int, ...]:
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
            f"'neighbours' as a grid must have one cell per feature, {n_features}. Got {shape}, "
            f"which has {math.prod(shape)}. Give the shape that the features were flattened from."
        )
    return shape


def _both_ways(one: IntArray, other: IntArray, n_features: int) -> Any:
    rows, columns = np.concatenate([one, other]), np.concatenate([other, one])
    return _ones(rows, columns, (n_features, n_features))
