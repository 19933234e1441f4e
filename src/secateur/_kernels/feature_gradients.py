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

from numba import njit

from secateur._kernels.columns import SUMS

BETA_1 = 0.9
BETA_2 = 0.999
EPSILON = 1e-8


@njit(nogil=True, cache=True)
def squash(v, s_out):
    """S = 1 / (1 + exp(-2 v)); kept features have v = inf, and columns left out v = -inf."""
    for j in range(v.shape[0]):
        s_out[j] = 1.0 / (1.0 + math.exp(-2.0 * v[j]))


@njit(nogil=True, cache=True)
def adam_step(slope, penalty, rate, n_steps, bound, v, first, second, s):
    """One update of v by Adam from the slopes by s, and the new s.

    ``penalty`` is the slope of the penalty by s; ``n_steps`` counts from 1; v stays within the
    bound. Where s (1 - s) is zero the gradient is zero too, and v does not change.
    """
    by_first = 1.0 / (1.0 - BETA_1**n_steps)
    by_second = 1.0 / (1.0 - BETA_2**n_steps)
    for j in range(v.shape[0]):
        g = (slope[j] + penalty[j]) * 2.0 * s[j] * (1.0 - s[j])
        m = BETA_1 * first[j] + (1.0 - BETA_1) * g
        u = BETA_2 * second[j] + (1.0 - BETA_2) * g * g
        first[j] = m
        second[j] = u
        if g != 0.0:
            moved = v[j] - rate * m * by_first / (math.sqrt(u * by_second) + EPSILON)
            v[j] = min(max(moved, -bound), bound)
            s[j] = 1.0 / (1.0 + math.exp(-2.0 * v[j]))


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
