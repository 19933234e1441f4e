"""Values to bins: where to cut a sorted column, and the code of each value.

Notation: ``v`` value, ``w`` weight, ``b`` bin, ``i`` row. A column with the cuts c_0 < c_1 < ... has
bin b = the number of cuts below the value, so that ``v <= c_b`` is the question "bin <= b".
"""

from __future__ import annotations

import numpy as np
from numba import njit

from secateur._kernels.records import MISSING


@njit(cache=True, nogil=True)
def cut_sorted(v, w, max_bins, cuts_out):
    """Choose the cuts of one sorted column without NaN; returns how many.

    Each distinct value has a bin of its own where they are few; otherwise bins of about equal
    weight, where a value too heavy for one bin leaves the others to share what remains.
    """
    n = v.shape[0]
    if n == 0:
        return 0
    n_distinct = 1
    total = w[0]
    for i in range(1, n):
        total += w[i]
        if v[i] != v[i - 1]:
            n_distinct += 1
    every = n_distinct <= max_bins
    n_cuts = 0
    remaining = total
    filled = 0.0
    for i in range(n - 1):
        filled += w[i]
        if v[i] == v[i + 1]:
            continue
        if every or filled * (max_bins - n_cuts) >= remaining:
            cuts_out[n_cuts] = middle(v[i], v[i + 1])
            n_cuts += 1
            remaining -= filled
            filled = 0.0
            if n_cuts == max_bins - 1:
                break
    return n_cuts


@njit(cache=True, nogil=True)
def middle(a, b):
    """A number m with a <= m < b, half way where floats allow it."""
    m = a + (b - a) * 0.5
    if not np.isfinite(m):
        m = a * 0.5 + b * 0.5
    # Neighbouring floats have no number between them: the cut is then the lower value itself.
    if m >= b or m < a:
        m = a
    return m


@njit(cache=True, nogil=True)
def merge_zero(v, w, zero_weight):
    """Insert the value 0 with its weight into the sorted non-zeros of a sparse column."""
    n = v.shape[0]
    values = np.empty(n + 1)
    weights = np.empty(n + 1)
    shift = 0
    for i in range(n):
        if shift == 0 and v[i] >= 0.0:
            values[i] = 0.0
            weights[i] = zero_weight
            shift = 1
        values[i + shift] = v[i]
        weights[i + shift] = w[i]
    if shift == 0:
        values[n] = 0.0
        weights[n] = zero_weight
    return values, weights


@njit(cache=True, nogil=True)
def encode(v, cuts, codes_out):
    """Write the code of each value; NaN becomes MISSING. Returns whether there was any NaN.

    The cuts are padded with infinity to 255, so that eight steps without a branch find the bin.
    """
    padded = np.full(255, np.inf)
    padded[: cuts.shape[0]] = cuts
    has_missing = False
    for i in range(v.shape[0]):
        x = v[i]
        b = 0
        b += 128 * (x > padded[b + 127])
        b += 64 * (x > padded[b + 63])
        b += 32 * (x > padded[b + 31])
        b += 16 * (x > padded[b + 15])
        b += 8 * (x > padded[b + 7])
        b += 4 * (x > padded[b + 3])
        b += 2 * (x > padded[b + 1])
        b += 1 * (x > padded[b])
        missing = x != x
        has_missing |= missing
        codes_out[i] = MISSING if missing else b
    return has_missing
