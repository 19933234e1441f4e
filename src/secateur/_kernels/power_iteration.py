"""Products of centred rows with a vector and back: what power iteration asks for.

Rows and columns are sums of their own, so threads share them out and results do not depend on how.

Notation
--------
i, j    row, feature
w       vector over features
t       vector over rows
m       column means of sparse rows, which are centred in thought: x_i = z_i - m
"""

from numba import njit

# Sums over the features of a row: any order will do, and it is fixed at compile time.
FAST = {"reassoc", "contract", "nsz"}


@njit(nogil=True, cache=True, fastmath=FAST)
def rows_times(X, rows, w, start, stop, t_out):
    """t_i = sum_j x_ij w_j for the rows from start to stop."""
    for n in range(start, stop):
        x = X[rows[n]]
        total = w.dtype.type(0.0)
        for j in range(w.shape[0]):
            total += x[j] * w[j]
        t_out[n] = total


@njit(nogil=True, cache=True, fastmath=FAST)
def times_rows(X, rows, t, start, stop, w_out):
    """w_j = sum_i x_ij t_i for the columns from start to stop."""
    w = w_out[start:stop]
    w[:] = 0.0
    for n in range(rows.shape[0]):
        x = X[rows[n], start:stop]
        tn = t[n]
        for j in range(w.shape[0]):
            w[j] += tn * x[j]


@njit(nogil=True, cache=True, fastmath=FAST)
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
