"""Feature groups and neighbouring features: from what users give to sparse matrices."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from secateur.data.categories import is_missing, missing_in
from secateur.data.names import FeatureIndex
from secateur.exceptions import InputError, some_of
from secateur.typing import AnyArray, IntArray

_COLLECTIONS = (list, tuple, set, frozenset, range, np.ndarray)


def read_feature_groups(feature_groups: Any, index: FeatureIndex) -> Any:
    """Return which feature is in which group."""
    n_features = len(index.names)
    if feature_groups is None:
        return None
    if isinstance(feature_groups, Mapping):
        return _groups_of_dict(feature_groups, index)
    if _is_matrix(feature_groups):
        return _groups_of_matrix(feature_groups, n_features)
    labels = _as_vector(feature_groups)
    if labels.shape != (n_features,):
        raise InputError(
            f"'feature_groups' must have one label per feature, {n_features}. Got shape "
            f"{labels.shape}. Use None for features without a group, or a dict for a few features."
        )
    rows = np.flatnonzero(~missing_in(labels))
    numbers, n_groups = _number_labels(labels[rows])
    return _ones(rows, numbers, (n_features, n_groups))


def feature_group_labels(feature_groups: Any) -> list[str]:
    """Return the names of the groups, in the order of the columns of `read_feature_groups`.

    Groups of a matrix are numbered.
    """
    if feature_groups is None:
        return []
    if isinstance(feature_groups, Mapping):
        if all(isinstance(value, _COLLECTIONS) for value in feature_groups.values()):
            return [str(label) for label in feature_groups]
        labels = np.fromiter(feature_groups.values(), dtype=object)
    elif _is_matrix(feature_groups):
        return [str(number) for number in range(np.shape(feature_groups)[1])]
    else:
        labels = _as_vector(feature_groups)
    labels = labels[~missing_in(labels)]
    numbers, n_groups = _number_labels(labels)
    first = np.full(n_groups, len(labels))
    np.minimum.at(first, numbers, np.arange(len(labels)))
    return [str(labels[position]) for position in first.tolist()]


def _is_matrix(feature_groups: Any) -> bool:
    if len(getattr(feature_groups, "shape", ())) == 2:
        return True
    is_list = isinstance(feature_groups, list) and len(feature_groups) > 0
    return is_list and isinstance(feature_groups[0], list)


def _groups_of_matrix(feature_groups: Any, n_features: int) -> Any:
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
    rows, numbers = matrix.nonzero()
    return _ones(rows, numbers, (n_features, matrix.shape[1]))


def _as_vector(feature_groups: Any) -> AnyArray:
    if isinstance(feature_groups, np.ndarray):
        return feature_groups
    try:
        return np.fromiter(feature_groups, dtype=object)
    except TypeError as error:
        raise InputError(
            "'feature_groups' must be a sequence of labels, a dict or a matrix. Got "
            f"{type(feature_groups).__name__}. Give one label per feature."
        ) from error


def _number_labels(labels: AnyArray) -> tuple[IntArray, int]:
    """The number of the group of each label, and how many groups there are."""
    if labels.dtype.kind != "O":
        values, numbers = np.unique(labels, return_inverse=True)
        return numbers, len(values)
    known: dict[Any, int] = {}
    try:
        found = [known.setdefault(label, len(known)) for label in labels.tolist()]
    except TypeError as error:
        raise InputError(
            f"'feature_groups' must hold plain labels such as text or numbers. Got {error}. Use a "
            "dict from label to features, or a matrix, if features are in several groups."
        ) from error
    return np.array(found, dtype=np.int64), len(known)


def _groups_of_dict(feature_groups: Mapping[Any, Any], index: FeatureIndex) -> Any:
    n_features = len(index.names)
    single = [key for key, value in feature_groups.items() if not isinstance(value, _COLLECTIONS)]
    if not single:
        found = [index.find(each, parameter="feature_groups") for each in feature_groups.values()]
        numbers = np.repeat(np.arange(len(found)), [len(features) for features in found])
        rows = np.concatenate(found) if found else np.zeros(0, dtype=np.int64)
        return _ones(rows, numbers, (n_features, len(found)))
    if len(single) < len(feature_groups):
        raise InputError(
            "'feature_groups' as a dict must go from feature to label or from label to a list of "
            f"features. Got both: {some_of(single)} have no list. Put single features into a list."
        )
    labelled = {key: label for key, label in feature_groups.items() if not is_missing(label)}
    # the keys of the missing labels must be features as well
    index.find(list(feature_groups), parameter="feature_groups")
    rows = index.find(list(labelled), parameter="feature_groups")
    numbers, n_groups = _number_labels(np.fromiter(labelled.values(), dtype=object))
    return _ones(rows, numbers, (n_features, n_groups))


def _ones(rows: IntArray, columns: IntArray, shape: tuple[int, int]) -> Any:
    """A sparse matrix that is 1 at the given places."""
    import scipy.sparse as sp

    matrix = sp.csr_array((np.ones(len(rows), dtype=np.int32), (rows, columns)), shape=shape)
    matrix.sum_duplicates()
    matrix.data[:] = 1
    return matrix


# ---- neighbours -------------------------------------------------------------------------------


def read_neighbours(neighbours: Any, n_features: int) -> Any:
    """Return which features are neighbours, as a symmetric sparse matrix, or None."""
    if neighbours is None:
        return None
    import scipy.sparse as sp

    if not sp.issparse(neighbours) and not (
        isinstance(neighbours, np.ndarray) and neighbours.ndim == 2
    ):
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
