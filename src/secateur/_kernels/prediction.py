"""Sums of trees for raw rows and for binned rows.

Trees lie in flat arrays; node q asks ``value <= threshold[q]`` (or whether its code is in a set),
the left child is ``left[q]`` and the right one follows it. A leaf has ``left[q] == -1``.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from secateur._kernels.partition import goes_left


@njit(cache=True, nogil=True)
def add_trees_raw(
    X, feature, threshold, missing_left, is_set, words, left, value, roots, start, stop, raw_out
):
    """Add the trees to the prediction of the rows start .. stop of X (n_rows, n_columns)."""
    for i in range(start, stop):
        total = raw_out[i]
        for t in range(roots.shape[0]):
            q = roots[t]
            while left[q] >= 0:
                x = X[i, feature[q]]
                if np.isnan(x):
                    go = missing_left[q]
                elif is_set[q]:
                    go = goes_left(np.int64(x), words[q])
                else:
                    go = x <= threshold[q]
                q = left[q] if go else left[q] + 1
            total += value[q]
        raw_out[i] = total


@njit(cache=True, nogil=True)
def add_trees_binned(codes, column, words, left, value, roots, rows, start, stop, raw_out):
    """Add the trees to the prediction of some binned rows; ``words[q]`` is node q's left set."""
    for i in range(start, stop):
        r = rows[i]
        total = raw_out[r]
        for t in range(roots.shape[0]):
            q = roots[t]
            while left[q] >= 0:
                go = goes_left(np.int64(codes[column[q], r]), words[q])
                q = left[q] if go else left[q] + 1
            total += value[q]
        raw_out[r] = total
