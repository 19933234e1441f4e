"""Nearest neighbours in increments: known squared distances, plus what one more column adds.

Notation
--------
i       test row
j       training row, which may be its neighbour
c       candidate column
a       value of the test row in the column
x       values of the training rows in the column
d       known squared distances of one test row, shape (n_train,)
s       what a difference of category adds; 0 for a numeric column

A candidate costs one pass over the pairs and no copy of the distances:

    distance(i, j) = d[j] + (a - x[j])^2          numbers
    distance(i, j) = d[j] + s [a != x[j]]         categories
"""

import numpy as np
from numba import njit

# Neighbours compared together: their smallest distance shows whether any of them matters.
CHUNK = 256
INFINITY_BITS = 0x7FF0000000000000  # the bits of infinity, read as an integer


@njit(cache=True, nogil=True)
def add_column(test, train, s, start, stop, distances_out):
    """Add one column to the squared distances of the test rows start .. stop."""
    for i in range(start, stop):
        a = test[i]
        d = distances_out[i]
        if s == 0.0:
            for j in range(train.shape[0]):
                difference = a - train[j]
                d[j] += difference * difference
        else:
            for j in range(train.shape[0]):
                if train[j] != a:
                    d[j] += s


@njit(cache=True, nogil=True, inline="always")
def distance(d, x, a, s, j):
    """The distance to row j with the candidate's column added."""
    difference = a - x[j]
    added = difference * difference if s == 0.0 else (s if difference != 0.0 else 0.0)
    return d[j] + added


@njit(cache=True, nogil=True)
def smallest_of_chunk(d, x, a, s, first, last):
    """The bits of the smallest distance of a chunk with the candidate's column added.

    Floats that are not negative have the order of their bits; as integers they need no check for
    NaN, and the loop is vectorised.
    """
    smallest = np.int64(INFINITY_BITS)
    if s == 0.0:
        for j in range(first, last):
            difference = a - x[j]
            bits = np.float64(d[j] + difference * difference).view(np.int64)
            smallest = min(smallest, bits)
    else:
        for j in range(first, last):
            bits = np.float64(d[j] + (s if x[j] != a else 0.0)).view(np.int64)
            smallest = min(smallest, bits)
    return smallest


@njit(cache=True, nogil=True)
def take_from_chunk(d, x, a, s, first, last, best, found):
    """Insert near rows of a chunk into the k nearest, ``best`` and ``found``; the earlier wins."""
    k = best.shape[0]
    for j in range(first, last):
        v = distance(d, x, a, s, j)
        if v < best[k - 1]:
            q = k - 1
            while q > 0 and best[q - 1] > v:
                best[q], found[q] = best[q - 1], found[q - 1]
                q -= 1
            best[q], found[q] = v, j


@njit(cache=True, nogil=True)
def take_nearest(d, x, a, s, found):
    """The one nearest row: the first chunk with the smallest distance, and the first row there."""
    n = np.uint64(x.shape[0])
    smallest = np.int64(INFINITY_BITS)
    there = np.uint64(0)
    first = np.uint64(0)
    while first < n:  # unsigned: no index is checked for being negative
        last = min(first + np.uint64(CHUNK), n)
        bits = smallest_of_chunk(d, x, a, s, first, last)
        if bits < smallest:
            smallest, there = bits, first
        first = last
    for j in range(there, min(there + np.uint64(CHUNK), n)):
        if np.float64(distance(d, x, a, s, j)).view(np.int64) == smallest:
            found[0] = j
            return


@njit(cache=True, nogil=True)
def take_k_nearest(d, x, a, s, best, found):
    """The k nearest rows; distances of those ``found`` by another column bound the search."""
    n = np.uint64(x.shape[0])
    k = best.shape[0]
    best[:] = bound(d, x, a, s, found)
    found[:] = -1
    first = np.uint64(0)
    while first < n:
        last = min(first + np.uint64(CHUNK), n)
        worst = np.float64(best[k - 1]).view(np.int64)
        if smallest_of_chunk(d, x, a, s, first, last) < worst:
            take_from_chunk(d, x, a, s, first, last, best, found)
        first = last


@njit(cache=True, nogil=True)
def bound(d, x, a, s, found):
    """Just above the largest distance of rows that are known: the k nearest are below it."""
    largest = 0.0
    for q in range(found.shape[0]):
        if found[q] < 0:
            return np.inf  # none known yet, or fewer rows than neighbours asked for
        largest = max(largest, distance(d, x, a, s, found[q]))
    return np.nextafter(largest, np.inf)


@njit(cache=True, nogil=True)
def nearest(distances, test, train, s, before, start, stop, nearest_out):
    """The k nearest training rows of each test row, for each candidate column by itself.

    ``distances`` (block, n_train) are those of a block of test rows without the candidates, of
    which the rows start .. stop are asked for; ``before`` test rows come before the block. ``test``
    and ``train`` are (n_candidates, rows), ``nearest_out`` (n_candidates, n_test, k): nearest
    first, -1 where there are fewer than k.
    """
    k = nearest_out.shape[2]
    best, found = np.empty(k), np.full(k, -1, np.int32)
    for i in range(start, stop):
        d = distances[i]
        for c in range(train.shape[0]):
            a = test[c, before + i]
            if k == 1:
                take_nearest(d, train[c], a, s[c], found)
            else:
                take_k_nearest(d, train[c], a, s[c], best, found)
            nearest_out[c, before + i, :] = found
