"""Rows in fixed point: sums of integers do not depend on the order of the rows.

A row's weighted gradient and its weight (16 bits each at most) share one int64, gradient high:

    packed[i] = (rint(w g * gradient_scale) << 32) + rint(w * weight_scale)

The scales are such that the halves of the sum over all rows stay below 2^31 and 2^32: no sum over
any rows can overflow into the other half, and packed sums are added and subtracted as they are.

Notation
--------
i, r     position in a list of rows, row
g, h, w  negative gradient, hessian, weight
q        a rounded number
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def largest_terms(g, h, w, rows, start, stop):
    """The largest |w g|, w g g and w h of some rows: what the scales are made of."""
    max_g = 0.0
    max_gg = 0.0
    max_h = 0.0
    for i in range(start, stop):
        r = rows[i]
        wg = w[r] * g[r]
        max_g = max(max_g, abs(wg))
        max_gg = max(max_gg, wg * g[r])
        max_h = max(max_h, abs(w[r] * h[r]))
    return max_g, max_gg, max_h


@njit(cache=True, nogil=True)
def sum_terms(g, w, rows, scale_g, scale_gg, start, stop):
    """Exact sums of |w g|, w g and w g g, each term rounded to a multiple of 1 / scale."""
    sum_abs = np.int64(0)
    sum_g = np.int64(0)
    sum_gg = np.int64(0)
    for i in range(start, stop):
        r = rows[i]
        wg = w[r] * g[r]
        q = np.int64(np.rint(wg * scale_g))
        sum_abs += abs(q)
        sum_g += q
        sum_gg += np.int64(np.rint(wg * g[r] * scale_gg))
    return sum_abs, sum_g, sum_gg


@njit(cache=True, nogil=True)
def pack_rows(g, w, quantised_weight, rows, scale, start, stop, packed_out):
    """Pack some rows, by row; returns their packed sum."""
    total = np.int64(0)
    for i in range(start, stop):
        r = rows[i]
        q = np.int64(np.rint(w[r] * g[r] * scale))
        packed_out[r] = (q << 32) + quantised_weight[r]
        total += packed_out[r]
    return total


@njit(cache=True, nogil=True)
def sum_leaves(g, h, w, rows, bounds, scales, first, last, sums_out):
    """Exact sums of w g, w h and w of each leaf; ``bounds[l] = (start, stop)`` in ``rows``."""
    for leaf in range(first, last):
        sum_g = np.int64(0)
        sum_h = np.int64(0)
        sum_w = np.int64(0)
        for i in range(bounds[leaf, 0], bounds[leaf, 1]):
            r = rows[i]
            sum_g += np.int64(np.rint(w[r] * g[r] * scales[0]))
            sum_h += np.int64(np.rint(w[r] * h[r] * scales[1]))
            sum_w += np.int64(np.rint(w[r] * scales[2]))
        sums_out[leaf, 0] = sum_g
        sums_out[leaf, 1] = sum_h
        sums_out[leaf, 2] = sum_w


@njit(cache=True, nogil=True)
def add_leaf_values(rows, bounds, values, first, last, raw_out):
    """Add each leaf's value to the prediction of its rows."""
    for leaf in range(first, last):
        for i in range(bounds[leaf, 0], bounds[leaf, 1]):
            raw_out[rows[i]] += values[leaf]
