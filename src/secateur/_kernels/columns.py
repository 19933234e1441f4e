"""Loops over the columns of a table of numbers, dense or sparse, each column by itself.

Notation
--------
i, j      row, feature
X         values of dense columns, feature-major: X[j, i]
v, w      a vector over rows; weights of rows, of sum one
m         mean of a column under the weights
*_out     filled in place

Rows of stored cells are read as unsigned, so that no index is checked for being negative. A
column's sums depend neither on other columns nor on the number of threads.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

# Additions may be reordered, once at compile time; infinities and NaN keep their meaning.
SUMS = {"reassoc", "contract", "nsz"}
FLAT = 1e-12  # a spread that is no larger than such a share of the largest value is rounding
SMALL, LARGE = 2.0**-400, 2.0**400  # numbers between these can be squared and summed


class DenseColumns(NamedTuple):
    """All cells, feature-major: ``values[j, i]``."""

    values: npt.NDArray[np.float64]


class SparseColumns(NamedTuple):
    """The stored cells, column after column; all others are zero."""

    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int32]
    values: npt.NDArray[np.float64]


@njit(cache=True, nogil=True, fastmath=SUMS)
def dense_dots(X, v, start, stop, dot_out):
    for j in range(start, stop):
        total = 0.0
        for i in range(X.shape[1]):
            total += X[j, i] * v[i]
        dot_out[j] = total


@njit(cache=True, nogil=True, fastmath=SUMS)
def sparse_dots(indptr, indices, values, v, start, stop, dot_out):
    for j in range(start, stop):
        total = 0.0
        for cell in range(indptr[j], indptr[j + 1]):
            total += values[cell] * v[np.uint32(indices[cell])]
        dot_out[j] = total


@njit(cache=True, nogil=True, fastmath=SUMS)
def dense_moments(X, w, start, stop, mean_out, spread_out):
    """Mean and standard deviation under the weights; 0 where the spread drowns in rounding."""
    for j in range(start, stop):
        m, top = 0.0, 0.0
        for i in range(X.shape[1]):
            m += w[i] * X[j, i]
            top = max(top, abs(X[j, i]))
        square, rest = 0.0, 0.0
        for i in range(X.shape[1]):
            d = X[j, i] - m
            square += w[i] * d * d
            rest += w[i] * d
        mean_out[j] = m + rest
        spread = math.sqrt(max(square - rest * rest, 0.0))
        spread_out[j] = spread if spread > FLAT * top else 0.0


@njit(cache=True, nogil=True, fastmath=SUMS)
def sparse_moments(indptr, indices, values, w, start, stop, mean_out, spread_out):
    """As dense_moments; rows that are not stored are zero, and weigh what the others leave."""
    for j in range(start, stop):
        m, top, stored = 0.0, 0.0, 0.0
        for cell in range(indptr[j], indptr[j + 1]):
            m += w[indices[cell]] * values[cell]
            stored += w[indices[cell]]
            top = max(top, abs(values[cell]))
        square = max(1.0 - stored, 0.0) * m * m
        for cell in range(indptr[j], indptr[j + 1]):
            d = values[cell] - m
            square += w[indices[cell]] * d * d
        mean_out[j] = m
        spread = math.sqrt(square)
        spread_out[j] = spread if spread > FLAT * top else 0.0


@njit(cache=True, nogil=True)
def present(X, w, j):
    """Weight, mean, rest (by rounding), squares, largest and number missing of a column."""
    total, weight, top, n_missing = 0.0, 0.0, 0.0, 0
    for i in range(X.shape[1]):
        x = X[j, i]
        if x == x:
            total += w[i] * x
            weight += w[i]
            top = max(top, abs(x))
        else:
            n_missing += 1
    m = total / weight if weight > 0.0 else 0.0
    rest, square = 0.0, 0.0
    for i in range(X.shape[1]):
        x = X[j, i]
        if x == x:
            d = x - m
            rest += w[i] * d
            square += w[i] * d * d
    if weight > 0.0:
        m += rest / weight
    return weight, m, rest, square, top, n_missing


@njit(cache=True, nogil=True)
def set_scale(X, j, fill, shift, factor, is_zero):
    """Fill missing cells of a column, then centre and scale it in place."""
    inverse = 1.0 / factor
    for i in range(X.shape[1]):
        x = X[j, i]
        if x != x:
            x = fill
        X[j, i] = 0.0 if is_zero else (x - shift) * inverse


@njit(cache=True, nogil=True)
def fill_and_scale(X, w, centre, scale, start, stop, fill_out, shift_out, factor_out):
    """Fill missing cells with the mean of those that are there; then centre and scale in place.

    A column without spread, or without a value, becomes zero where it is centred. If columns are
    scaled, one whose squares overflow or vanish is first divided by a power of two.
    """
    for j in range(start, stop):
        unit = 1.0
        weight, m, rest, square, top, n_missing = present(X, w, j)
        if scale and top > 0.0 and not SMALL < top < LARGE:
            unit = math.ldexp(1.0, math.frexp(top)[1] - 1)
            for i in range(X.shape[1]):
                X[j, i] /= unit
            weight, m, rest, square, top, n_missing = present(X, w, j)
        spread = math.sqrt(max(square - rest * rest, 0.0))
        is_flat = spread <= FLAT * top
        if is_flat and weight > 0.0:
            m = X[j, 0] if n_missing == 0 else m
        shift = m if centre else 0.0
        factor = spread if scale and not is_flat else 1.0
        set_scale(X, j, m, shift, factor, centre and is_flat)
        fill_out[j], shift_out[j], factor_out[j] = m * unit, shift * unit, factor * unit


@njit(cache=True, nogil=True)
def present_moments(X, w, start, stop, weight_out, mean_out, square_out, top_out):
    """The same of a block of rows, to be joined with others: the weights need not have sum one."""
    for j in range(start, stop):
        weight, m, rest, square, top, _ = present(X, w, j)
        weight_out[j] = weight
        mean_out[j] = m
        square_out[j] = max(square - rest * rest / weight, 0.0) if weight > 0.0 else 0.0
        top_out[j] = top


@njit(cache=True, nogil=True)
def scale_by(X, fill, shift, factor, is_zero, start, stop):
    """Fill missing cells, centre and scale in place, by what is known already."""
    for j in range(start, stop):
        set_scale(X, j, fill[j], shift[j], factor[j], is_zero[j])


@njit(cache=True, nogil=True)
def transpose_block(X, start, stop, out):
    """out[j, i] = X[i, j], in tiles that stay in the cache."""
    tile = 32
    for j0 in range(start, stop, tile):
        j1 = min(j0 + tile, stop)
        for i0 in range(0, X.shape[0], tile):
            i1 = min(i0 + tile, X.shape[0])
            for j in range(j0, j1):
                for i in range(i0, i1):
                    out[j, i] = X[i, j]


@njit(cache=True, nogil=True)
def gather_dense(X, features, rows, mean, inverse, out):
    """Standardised cells of some columns and rows: out[a, b] of features[a] and rows[b]."""
    for a in range(features.shape[0]):
        j = features[a]
        m, s = mean[j], inverse[j]
        for b in range(rows.shape[0]):
            out[a, b] = (X[j, rows[b]] - m) * s


@njit(cache=True, nogil=True)
def gather_sparse(indptr, indices, values, features, place, mean, inverse, out):
    """As gather_dense; ``place[i]`` is where row i stands in the output, or -1."""
    for a in range(features.shape[0]):
        j = features[a]
        m, s = mean[j], inverse[j]
        for b in range(out.shape[1]):
            out[a, b] = -m * s
        for cell in range(indptr[j], indptr[j + 1]):
            b = place[indices[cell]]
            if b >= 0:
                out[a, b] = (values[cell] - m) * s


@njit(cache=True, nogil=True)
def add_dense(X, features, mean, inverse, step, change_out):
    """Change += sum over features of step times the standardised column."""
    for a in range(features.shape[0]):
        if step[a] != 0.0:
            j = features[a]
            t = step[a] * inverse[j]
            shift = t * mean[j]
            for i in range(X.shape[1]):
                change_out[i] += t * X[j, i] - shift


@njit(cache=True, nogil=True)
def add_sparse(indptr, indices, values, features, mean, inverse, step, change_out):
    """As add_dense."""
    shift = 0.0
    for a in range(features.shape[0]):
        if step[a] != 0.0:
            j = features[a]
            t = step[a] * inverse[j]
            shift += t * mean[j]
            for cell in range(indptr[j], indptr[j + 1]):
                change_out[indices[cell]] += t * values[cell]
    if shift != 0.0:
        for i in range(change_out.shape[0]):
            change_out[i] -= shift
