"""Feature Gradients: Adam on relaxed features, and the products of power iteration.

A feature is relaxed to s = sigmoid(2 v), above 1/2 for v > 0. Rows and columns of the products are
independent sums, so results do not depend on the number of threads.

Notation
--------
i, j, n       row, feature (or group of features that go together), position in a list of rows
v, s          parameter of a feature, and its relaxed value
first, second moments of the gradient in Adam
w, t          vector over features, vector over rows
m             column means of sparse rows z_i, which are centred implicitly: x_i = z_i - m
e             stored cell
"""

import math

import numpy as np
from numba import njit

from secateur._kernels.columns import SUMS

BETA_1 = 0.9
BETA_2 = 0.999
EPSILON = 1e-8
TILE = 512  # features whose state stays in the first cache

LOG2_E = 1.4426950408889634
LN2, LN2_REST = 0.693147180369123816490, 1.90821492927058770002e-10  # their sum is ln 2
SHIFT = 1.5 * 2.0**52  # added to a number, it rounds it to a whole one


@njit(nogil=True, cache=True)
def squash(v, s_out):
    """S = 1 / (1 + exp(-2 v)); kept features have v = inf, and columns left out v = -inf."""
    for j in range(v.shape[0]):
        s_out[j] = 1.0 / (1.0 + math.exp(-2.0 * v[j]))


@njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract"}, inline="always")
def sigmoid(x):
    """1 / (1 + exp(-x)) but for the last digit; vectorised in a loop, which math.exp is not."""
    x = min(max(-x, -700.0), 700.0)
    shifted = x * LOG2_E + SHIFT  # its last bits are the power of two
    power = shifted - SHIFT
    r = x - power * LN2 - power * LN2_REST
    e = 1.0
    for k in range(13, 0, -1):  # the first terms of the series of exp(r), |r| < 0.35
        e = 1.0 + e * r * (1.0 / k)
    bits = np.float64(e).view(np.int64) + (np.float64(shifted).view(np.int64) << 52)
    return 1.0 / (1.0 + np.int64(bits).view(np.float64))


@njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract"})
def _adam_tile(slope, cost, by, rate, root, bound, v, first, second, s, g):
    """`adam_step` for a few features: short loops with few arrays are vectorised."""
    n = v.shape[0]
    for j in range(n):
        g[j] = (by[0] * slope[j] + by[1] * cost[j]) * 2.0 * s[j] * (1.0 - s[j])
    for j in range(n):
        first[j] = BETA_1 * first[j] + (1.0 - BETA_1) * g[j]
    for j in range(n):
        second[j] = BETA_2 * second[j] + (1.0 - BETA_2) * g[j] * g[j]
    for j in range(n):
        moved = v[j] - rate * first[j] / (math.sqrt(second[j]) * root + EPSILON)
        v[j] = min(max(moved, -bound), bound) if g[j] != 0.0 else v[j]
    for j in range(n):
        s[j] = sigmoid(2.0 * v[j]) if g[j] != 0.0 else s[j]


@njit(nogil=True, cache=True)
def adam_step(slope, cost, by, rate, n_steps, bound, v, first, second, s):
    """One update of v by Adam, and the new s; the gradient by s is by[0] slope + by[1] cost.

    ``n_steps`` counts from 1; v stays within the bound. Where s (1 - s) is zero the gradient is
    zero too, and v does not change.
    """
    rate = rate / (1.0 - BETA_1**n_steps)
    root = 1.0 / math.sqrt(1.0 - BETA_2**n_steps)
    g = np.empty(TILE)
    for a in range(0, v.shape[0], TILE):
        b = min(a + TILE, v.shape[0])
        state = v[a:b], first[a:b], second[a:b], s[a:b]
        _adam_tile(slope[a:b], cost[a:b], by, rate, root, bound, *state, g)


@njit(nogil=True, cache=True, fastmath=SUMS)
def rows_times(X, rows, w, start, stop, t_out):
    """t_i = sum_j x_ij w_j for the rows from start to stop."""
    for n in range(start, stop):
        x = X[rows[n]]
        total = w.dtype.type(0.0)
        for j in range(w.shape[0]):
            total += x[j] * w[j]
        t_out[n] = total


@njit(nogil=True, cache=True, fastmath=SUMS)
def times_rows(X, rows, t, start, stop, w_out):
    """w_j = sum_i x_ij t_i for the columns from start to stop."""
    w = w_out[start:stop]
    w[:] = 0.0
    for n in range(rows.shape[0]):
        x = X[rows[n], start:stop]
        tn = t[n]
        for j in range(w.shape[0]):
            w[j] += tn * x[j]


@njit(nogil=True, cache=True, fastmath=SUMS)
def sparse_rows_times(indptr, indices, data, rows, w, centre, start, stop, t_out):
    """t_i = sum_j z_ij w_j - centre, centre = sum_j m_j w_j."""
    for n in range(start, stop):
        total = 0.0
        for e in range(indptr[rows[n]], indptr[rows[n] + 1]):
            total += data[e] * w[indices[e]]
        t_out[n] = total - centre


@njit(nogil=True, cache=True)
def times_sparse_rows(indptr, indices, data, rows, t, w_out):
    """Add sum_i z_ij t_i to w_out; the share of the means is the caller's."""
    for n in range(rows.shape[0]):
        for e in range(indptr[rows[n]], indptr[rows[n] + 1]):
            w_out[indices[e]] += data[e] * t[n]
