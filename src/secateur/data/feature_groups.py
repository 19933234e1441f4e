"""Features that lie beside each other, as pixels do: a grid's shape or a matrix of one's own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from secateur.data.categories import is_missing, missing_in
from secateur.data.messages import some_of
from secateur.data.names import FeatureIndex
from secateur.exceptions import InputError
from secateur.typing import AnyArray, IntArray

_COLLECTIONS = (list, tuple, set, frozenset, range, np.ndarray)


def read_bags(groups: Any, index: FeatureIndex) -> Any:
    """Give the membership of features in bags.

    Parameters
    ----------
    groups : None, sequence, dict or matrix
        One label per feature, where None and NaN mean a bag of its own; a dict from feature to
        label; a dict from label to a list of features; or a boolean or sparse matrix of shape
        (n_features, n_bags). Features are called by name or index.
    index : FeatureIndex
        The features.

    Returns
    -------
    scipy.sparse.csr_array of shape (n_features, n_bags), or None
        1 where the feature is in the bag; None without groups.

    Examples
    --------
    >>> index = FeatureIndex(("age", "na", "k"))
    >>> read_bags({"blood": ["na", "k"]}, index).toarray()
    array([[0],
           [1],
           [1]], dtype=int32)
    """
    if groups is None:
        return None
    if isinstance(groups, Mapping):
        return _bags_of_dict(groups, index)
    import scipy.sparse as sp

    if sp.issparse(groups) or _is_matrix(groups):
        return _bags_of_matrix(groups, len(index.names))
    return _bags_of_labels(groups, len(index.names))


def bag_labels(groups: Any) -> list[str]:
    """Give what the user calls the bags, in the order of the columns of `read_bags`.

    Bags of a matrix have no names: they are numbered.

    Examples
    --------
    >>> bag_labels({"blood": ["na", "k"]}), bag_labels(["urine", None, "blood", "urine"])
    (['blood'], ['urine', 'blood'])
    """
    if groups is None:
        return []
    if isinstance(groups, Mapping):
        if all(isinstance(value, _COLLECTIONS) for value in groups.values()):
            return [str(label) for label in groups]
        labels = np.fromiter(groups.values(), dtype=object)
        return _labels_in_order(labels[~missing_in(labels)])
    import scipy.sparse as sp

    if sp.issparse(groups) or _is_matrix(groups):
        n_bags = groups.shape[1] if hasattr(groups, "shape") else len(groups[0])
        return [str(number) for number in range(n_bags)]
    labels = groups if isinstance(groups, np.ndarray) else _object_vector(groups)
    return _labels_in_order(labels[~missing_in(labels)])


def _labels_in_order(labels: AnyArray) -> list[str]:
    """The labels as `_number_labels` numbers them."""
    numbers, n_bags = _number_labels(labels)
    first = np.full(n_bags, len(labels))
    np.minimum.at(first, numbers, np.arange(len(labels)))
    return [str(labels[position]) for position in first.tolist()]


def _is_matrix(groups: Any) -> bool:
    if len(getattr(groups, "shape", ())) == 2:
        return True
    return bool(isinstance(groups, list) and groups and isinstance(groups[0], list))


def _bags_of_matrix(groups: Any, n_features: int) -> Any:
    import scipy.sparse as sp

    matrix = groups if sp.issparse(groups) else np.asarray(groups)
    if matrix.ndim != 2 or matrix.shape[0] != n_features:
        raise InputError(
            f"'groups' as a matrix must have one row per feature, {n_features}. Got shape "
            f"{matrix.shape}. Use groups.T if rows are bags."
        )
    if not sp.issparse(matrix) and not np.isin(matrix, (0, 1)).all():
        raise InputError(
            f"'groups' as a matrix must be boolean: rows are features, columns are bags. Got dtype "
            f"{matrix.dtype}. Use one label per feature instead if each has one bag."
        )
    rows, bags = matrix.nonzero()
    return _membership(rows, bags, (n_features, matrix.shape[1]))


def _bags_of_labels(groups: Any, n_features: int) -> Any:
    labels = groups if isinstance(groups, np.ndarray) else _object_vector(groups)
    if labels.shape != (n_features,):
        raise InputError(
            f"'groups' must have one label per feature, {n_features}. Got shape {labels.shape}. "
            "Use None for features without a bag, or a dict for a few features."
        )
    rows = np.flatnonzero(~missing_in(labels))
    bags, n_bags = _number_labels(labels[rows])
    return _membership(rows, bags, (n_features, n_bags))


def _object_vector(groups: Any) -> AnyArray:
    try:
        return np.fromiter(groups, dtype=object)
    except TypeError as error:
        raise InputError(
            "'groups' must be a sequence of labels, a dict or a matrix. Got "
            f"{type(groups).__name__}. Give one label per feature."
        ) from error


def _number_labels(labels: AnyArray) -> tuple[IntArray, int]:
    if labels.dtype.kind != "O":
        values, bags = np.unique(labels, return_inverse=True)
        return bags, len(values)
    known: dict[Any, int] = {}
    try:
        numbers = [known.setdefault(label, len(known)) for label in labels.tolist()]
    except TypeError as error:
        raise InputError(
            f"'groups' must hold plain labels such as text or numbers. Got another kind ({error}). "
            "Use a dict from label to features, or a matrix, if features are in several bags."
        ) from error
    return np.array(numbers, dtype=np.int64), len(known)


def _bags_of_dict(groups: Mapping[Any, Any], index: FeatureIndex) -> Any:
    holds_lists = [isinstance(value, _COLLECTIONS) for value in groups.values()]
    if any(holds_lists) and not all(holds_lists):
        single = [key for key, is_list in zip(groups, holds_lists, strict=True) if not is_list]
        raise InputError(
            "'groups' as a dict must go from feature to label or from label to a list of features. "
            f"Got both: {some_of(single)} have no list. Put single features into a list."
        )
    if all(holds_lists):
        found = [index.find(features, parameter="groups") for features in groups.values()]
        bags = np.repeat(np.arange(len(found)), [len(features) for features in found])
        rows = np.concatenate(found) if found else np.zeros(0, dtype=np.int64)
        return _membership(rows, bags, (len(index.names), len(found)))
    labelled = {key: label for key, label in groups.items() if not is_missing(label)}
    # the keys of the missing labels must be features as well
    index.find(list(groups), parameter="groups")
    rows = index.find(list(labelled), parameter="groups")
    bags, n_bags = _number_labels(np.fromiter(labelled.values(), dtype=object))
    return _membership(rows, bags, (len(index.names), n_bags))


def _membership(rows: IntArray, bags: IntArray, shape: tuple[int, int]) -> Any:
    import scipy.sparse as sp

    membership = sp.csr_array((np.ones(len(rows), dtype=np.int32), (rows, bags)), shape=shape)
    membership.sum_duplicates()
    membership.data[:] = 1
    return membership


def read_neighbours(neighbours: Any, n_features: int) -> Any:
    """Give which features are neighbours, both ways.

    Parameters
    ----------
    neighbours : None, tuple of int, or matrix of shape (n_features, n_features)
        The shape of a grid whose cells are the features in C order, or a matrix that is not zero
        where two features are neighbours, in either direction.
    n_features : int
        The number of features.

    Returns
    -------
    scipy.sparse.csr_array of shape (n_features, n_features), or None
        1 where two features are neighbours; symmetric.
    """
    if neighbours is None:
        return None
    import scipy.sparse as sp

    if sp.issparse(neighbours) or (isinstance(neighbours, np.ndarray) and neighbours.ndim == 2):
        return _from_matrix(neighbours, n_features)
    return grid_neighbours(_grid_shape(neighbours, n_features))


def grid_neighbours(shape: tuple[int, ...]) -> Any:
    """Connect each cell of a grid with the next one along each axis.

    Parameters
    ----------
    shape : tuple of int
        The lengths of the axes; cells are numbered in C order.

    Returns
    -------
    scipy.sparse.csr_array
        Symmetric, 1 for neighbours: at most 4 a row on a plane, 6 in space.

    Examples
    --------
    >>> grid_neighbours((2, 2)).toarray()
    array([[0, 1, 1, 0],
           [1, 0, 0, 1],
           [1, 0, 0, 1],
           [0, 1, 1, 0]], dtype=int32)
    """
    cells = np.arange(math.prod(shape)).reshape(shape)
    ahead = [
        (np.delete(cells, -1, axis).ravel(), np.delete(cells, 0, axis).ravel())
        for axis in range(len(shape))
    ]
    one = np.concatenate([pair[0] for pair in ahead])
    other = np.concatenate([pair[1] for pair in ahead])
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


def _from_matrix(neighbours: Any, n_features: int) -> Any:
    if neighbours.shape != (n_features, n_features):
        raise InputError(
            f"'neighbours' as a matrix must have the shape {(n_features, n_features)}. Got "
            f"{neighbours.shape}. Give one row and one column per feature."
        )
    one, other = neighbours.nonzero()
    apart = one != other
    return _both_ways(one[apart], other[apart], n_features)


def _both_ways(one: IntArray, other: IntArray, n_features: int) -> Any:
    import scipy.sparse as sp

    rows, columns = np.concatenate([one, other]), np.concatenate([other, one])
    ones = np.ones(len(rows), dtype=np.int32)
    matrix = sp.csr_array((ones, (rows, columns)), shape=(n_features, n_features))
    matrix.sum_duplicates()
    matrix.data[:] = 1
    return matrix
