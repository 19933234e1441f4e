"""Sums over chains of rows, and their slopes by feature, for dense rows.

With K = X diag(s) X' and T its strictly upper triangle, the estimator asks for y' T^m y, m up to
the order, and for the derivative by each s_j. T is never formed: T r at row i needs only

    C[j] = sum over later rows i' of r[i'] x[i'][j],      (T r)[i] = sum_j x[i][j] s[j] C[j].

Because T is strictly triangular, r_0 = y, r_1 = T r_0, r_2 = T r_1, ... ride in one walk over the
rows, with one carry C_q for each. The same walk in the other direction gives l_p = (T')^p y. Then

    dz/ds_j = sum_i x[i][j] sum_p W[i][p] E_p[j](i),
    E_p[j](i) = sum over i' < i of l_p[i'] x[i'][j],

is a third walk, in which features do not meet: threads share them out.

Notation
--------
i, j    row, feature
q, p    link of a chain: C_q carries r_q, E_p carries l_p
a       lane: a target and a link together, a = target * order + q
b       row within a block of BLOCK rows, in which K is formed: carries are loaded once per block
t       feature within a tile, which stays in the first cache

Rows of X are float32. Carries are float32 up to order 6 and float64 above, where the coefficients
are large and of both signs. Sums over a tile are of the carry's type, sums of tiles are float64.
"""

import numpy as np
from numba import njit

from secateur._kernels.columns import SUMS

BLOCK = 4
TILE = 512


@njit(nogil=True, cache=True, fastmath=SUMS)
def walk_chains(X, rows, s, y, weight, step, carry, r_out):
    """Fill r_out[a, n] for the rows in the order of the walk; r_0 = y stands there already.

    rows (N,), y (targets, N) and weight (N,) in the order of the walk; carry (targets * order, D)
    zeros; r_out (targets, order + 1, N).
    """
    n_rows, n_features = rows.shape[0], X.shape[1]
    n_targets, order = y.shape[0], step.shape[0]
    near = np.zeros((BLOCK, BLOCK))
    dots = np.zeros((n_targets * order, BLOCK))
    put = np.zeros((n_targets * order, BLOCK), carry.dtype)
    before = np.zeros(BLOCK, np.int64)
    now = np.zeros(BLOCK, np.int64)
    n_put = 0
    for start in range(0, n_rows, BLOCK):
        n_now = min(BLOCK, n_rows - start)
        for b in range(BLOCK):  # a short last block repeats its first row, unused
            now[b] = rows[start + b] if b < n_now else rows[start]
        near[:] = 0.0
        dots[:] = 0.0
        for first in range(0, n_features, TILE):
            last = min(first + TILE, n_features)
            _near_rows(X, now, s, first, last, near)
            for a in range(n_targets * order):
                if n_put:
                    _carry_on(X, before, now, s, put[a], first, last, carry[a], dots[a])
        _link(near, dots, weight, step, start, n_now, y, put, r_out)
        before[:] = now
        n_put = n_now


@njit(nogil=True, cache=True, fastmath=SUMS)
def _near_rows(X, now, s, first, last, near_out):
    """K between the rows of a block, this tile's share of it."""
    x0, x1 = X[now[0], first:last], X[now[1], first:last]
    x2, x3 = X[now[2], first:last], X[now[3], first:last]
    tile = s[first:last]
    zero = s.dtype.type(0.0)
    k10, k20, k21, k30, k31, k32 = zero, zero, zero, zero, zero, zero
    for t in range(tile.shape[0]):
        s1, s2, s3 = tile[t] * x1[t], tile[t] * x2[t], tile[t] * x3[t]
        k10 += s1 * x0[t]
        k20 += s2 * x0[t]
        k21 += s2 * x1[t]
        k30 += s3 * x0[t]
        k31 += s3 * x1[t]
        k32 += s3 * x2[t]
    near_out[1, 0] += k10
    near_out[2, 0] += k20
    near_out[2, 1] += k21
    near_out[3, 0] += k30
    near_out[3, 1] += k31
    near_out[3, 2] += k32


@njit(nogil=True, cache=True, fastmath=SUMS)
def _carry_on(X, before, now, s, put, first, last, carry, dots_out):
    """Add the block before to the carry of one lane, and multiply the rows of this block by it."""
    w0, w1 = X[before[0], first:last], X[before[1], first:last]
    w2, w3 = X[before[2], first:last], X[before[3], first:last]
    x0, x1 = X[now[0], first:last], X[now[1], first:last]
    x2, x3 = X[now[2], first:last], X[now[3], first:last]
    tile, kept = s[first:last], carry[first:last]
    p0, p1, p2, p3 = put[0], put[1], put[2], put[3]
    zero = carry.dtype.type(0.0)
    d0, d1, d2, d3 = zero, zero, zero, zero
    for t in range(tile.shape[0]):
        c = kept[t] + p0 * w0[t] + p1 * w1[t] + p2 * w2[t] + p3 * w3[t]
        kept[t] = c
        c *= tile[t]
        d0 += c * x0[t]
        d1 += c * x1[t]
        d2 += c * x2[t]
        d3 += c * x3[t]
    dots_out[0] += d0
    dots_out[1] += d1
    dots_out[2] += d2
    dots_out[3] += d3


@njit(nogil=True, cache=True)
def _link(near, dots, weight, step, start, n_now, y, put_out, r_out):
    """The chains through a block: what was carried, and the earlier rows of the block itself."""
    n_targets, order = y.shape[0], step.shape[0]
    put_out[:] = 0.0
    for target in range(n_targets):
        r = r_out[target]
        for b in range(n_now):
            for q in range(order):
                linked = dots[target * order + q, b]
                for e in range(b):
                    linked += near[b, e] * put_out[target * order + q, e]
                r[q + 1, start + b] = linked / step[q]
                # exactly what the carry will get: both roads see the same rounding
                put_out[target * order + q, b] = weight[start + b] * r[q, start + b]


@njit(nogil=True, cache=True, fastmath=SUMS)
def slopes_by_feature(X, rows, W, L, start, stop, carry, slope_out):
    """Fill slope_out[start:stop]; W and L (lanes, N), rows in order of L, carry (lanes, TILE)."""
    n_rows, n_lanes = rows.shape[0], W.shape[0]
    n_whole = n_rows - n_rows % BLOCK
    for first in range(start, stop, TILE):
        last = min(first + TILE, stop)
        slope = slope_out[first:last]
        slope[:] = 0.0
        carry[:] = 0.0
        for n in range(0, n_whole, BLOCK):
            x0, x1 = X[rows[n], first:last], X[rows[n + 1], first:last]
            x2, x3 = X[rows[n + 2], first:last], X[rows[n + 3], first:last]
            for a in range(n_lanes):
                _slopes_of_block(x0, x1, x2, x3, W[a], L[a], n, carry[a], slope)
        for n in range(n_whole, n_rows):
            x = X[rows[n], first:last]
            for a in range(n_lanes):
                w, l, c = W[a, n], L[a, n], carry[a]
                for t in range(x.shape[0]):
                    slope[t] += w * x[t] * c[t]
                    c[t] += l * x[t]


@njit(nogil=True, cache=True, fastmath=SUMS)
def _slopes_of_block(x0, x1, x2, x3, W, L, n, carry, slope_out):
    """Four rows of one lane and one tile."""
    w0, w1, w2, w3 = W[n], W[n + 1], W[n + 2], W[n + 3]
    l0, l1, l2, l3 = L[n], L[n + 1], L[n + 2], L[n + 3]
    for t in range(slope_out.shape[0]):
        c = carry[t]
        g = slope_out[t] + w0 * x0[t] * c
        c += l0 * x0[t]
        g += w1 * x1[t] * c
        c += l1 * x1[t]
        g += w2 * x2[t] * c
        c += l2 * x2[t]
        slope_out[t] = g + w3 * x3[t] * c
        carry[t] = c + l3 * x3[t]


@njit(nogil=True, cache=True)
def symmetric_sums(weight, sums):
    """Sums of products of m different weights, for all m; ``sums`` is (1, 0, 0, ...) at first."""
    for n in range(weight.shape[0]):
        for m in range(sums.shape[0] - 1, 0, -1):
            sums[m] += weight[n] * sums[m - 1]
