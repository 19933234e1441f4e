"""A table of any kind as one column of numbers per feature, as other libraries want it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from secateur._data.frames import read_table
from secateur.exceptions import InputError
from secateur.typing import BoolArray

MOST_DENSE_CELLS = 200_000_000
"""Sparse tables with more cells than this are not made dense: 1.6 GB."""


class Matrix(NamedTuple):
    """Columns of standard deviation one, and which of them are codes of categories instead."""

    values: Any
    is_category: BoolArray

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return int(self.values.shape[1])


def as_matrix(X: Any, *, dense: bool = False) -> Matrix:
    """Missing cells get the mean of their column; categories are numbered, -1 for missing.

    Sparse tables stay sparse, and are then not centred, unless ``dense``.

    Examples
    --------
    >>> as_matrix([[0.0, 5.0], [2.0, None]]).values
    array([[-1.,  0.],
           [ 1.,  0.]])
    """
    table = read_table(X, categorical_features="from_dtype")
    is_category = np.zeros(table.n_features, np.bool_)
    is_category[list(table.categories)] = True
    if table.is_sparse and not dense:
        return Matrix(_scaled_sparse(table.csc), is_category)
    if table.is_sparse and table.n_rows * table.n_features > MOST_DENSE_CELLS:
        raise InputError(
            f"A table must have at most {MOST_DENSE_CELLS:,} cells to be made dense. Got "
            f"{table.n_rows:,} rows and {table.n_features:,} columns. Leave this method out."
        )
    raw = table.columns(np.arange(table.n_features))
    missing = np.isnan(raw)
    count = np.maximum((~missing).sum(axis=0), 1)
    mean = np.where(missing, 0.0, raw).sum(axis=0) / count
    values = np.where(missing, 0.0, raw - mean)
    values /= _or_one(np.sqrt((values * values).mean(axis=0)))
    values[:, is_category] = np.nan_to_num(raw[:, is_category], nan=-1.0)
    return Matrix(values, is_category)


def _scaled_sparse(csc: Any) -> Any:
    clean = sp.csc_matrix(csc, copy=True)
    clean.data = np.nan_to_num(clean.data)
    mean = np.asarray(clean.mean(axis=0)).ravel()
    square = np.asarray(clean.multiply(clean).mean(axis=0)).ravel()
    spread = np.sqrt(np.maximum(square - mean * mean, 0.0))
    return sp.csc_matrix(clean @ sp.diags(1.0 / _or_one(spread)))


def _or_one(spread: Any) -> Any:
    return np.where(spread > 0.0, spread, 1.0)
