"""Rows to the two sides of a split, each side in the order it had.

    rows = [c e f | a b d g h]   each node is a run of ``rows``; a split makes two runs of one

Notation: ``i`` position, ``r`` row. A split asks ``code in left set``, the set being 256 bits in
four words.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def goes_left(code, words):
    """Whether the code is in the set."""
    return (words[code >> 6] >> np.uint64(code & 63)) & np.uint64(1) != 0


@njit(cache=True, nogil=True)
def split_run(codes, words, rows, start, stop, scratch):
    """Bring those of ``rows[start:stop]`` that go left together, the others to ``scratch``.

    Returns where the left side ends.
    """
    table = np.empty(256, np.uint8)
    for c in range(256):
        table[c] = goes_left(c, words)
    n_left = start
    n_right = 0
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
    rows[middle:stop] = scratch[: stop - middle]
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
def mark_rows(rows, start, stop, value, mark_out):
    """Give the rows of one node a mark."""
    for i in range(start, stop):
        mark_out[rows[i]] = value
