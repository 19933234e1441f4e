"""Rows through splits: partition the rows of a node, and add trees to predictions.

    rows = [c e f | a b d g h]   each node is a run of ``rows``; a split makes two runs of one

Notation
--------
i, r     position in ``rows``, row
q        node of a tree in flat arrays: ``left[q]`` is its left child, the right one follows; a leaf
         has ``left[q] == -1``
t        tree; ``roots[t]`` is its root
words    256 bits in four words: the set of codes that go left

A split of raw values is ``value <= threshold[q]``, one of codes ``code in words[q]``.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def goes_left(code, words):
    """Whether the code is in the set."""
    return (words[code >> 6] >> np.uint64(code & 63)) & np.uint64(1) != 0


@njit(cache=True, nogil=True)
def split_run(codes, words, rows, start, stop, scratch):
    """Rows that go left to the front, others to ``scratch``, in order; where the left ends."""
    table = np.empty(256, np.uint8)
    for c in range(256):
        table[c] = goes_left(c, words)
    n_left, n_right = start, 0
    for i in range(start, stop):
        r = rows[i]
        left = table[codes[r]]
        # Both are written, one of them counts: no branch to mispredict.
        rows[n_left] = r
        scratch[n_right] = r
        n_left += left
        n_right += 1 - left
    return n_left


@njit(cache=True, nogil=True)
def split_dense(codes, words, rows, start, stop, scratch):
    """Partition ``rows[start:stop]`` in place by its codes; returns where the right begins."""
    middle = split_run(codes, words, rows, start, stop, scratch)
    for i in range(middle, stop):  # an assignment of slices takes seconds to compile
        rows[i] = scratch[i - middle]
    return middle


@njit(cache=True, nogil=True)
def sparse_column(indptr, indices, codes, zero_code, j, codes_out):
    """One sparse column's codes for all rows."""
    codes_out[:] = zero_code[j]
    for i in range(indptr[j], indptr[j + 1]):
        codes_out[indices[i]] = codes[i]


@njit(cache=True, nogil=True)
def gather(packed, rows, start, stop, packed_out):
    """Packed rows in the order of ``rows``."""
    for i in range(start, stop):
        packed_out[i] = packed[rows[i]]


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
