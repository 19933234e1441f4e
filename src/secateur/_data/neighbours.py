"""Features that lie beside each other, as pixels do: a grid's shape or a matrix of one's own."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from secateur.exceptions import InputError
from secateur.typing import IntArray


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
