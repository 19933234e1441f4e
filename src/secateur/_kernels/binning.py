"""Values to bins: where to cut a sorted column, the code of each value, and codes of bundles.

A column with the cuts c_0 < c_1 < ... has bin b = the number of cuts below the value, so that
``v <= c_b`` is the same as "bin <= b".

Notation
--------
v, w     value, weight
b        bin
i, r     stored cell, row
j        column
pair     number 256 a + b of a code a of a bundle so far and a code b of the next column; pairs that
         occur are numbered in their order
"""

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
    at = np.searchsorted(v, 0.0)
    values = np.concatenate((v[:at], np.zeros(1), v[at:]))
    return values, np.concatenate((w[:at], np.full(1, zero_weight), w[at:]))


@njit(cache=True, nogil=True)
def encode(v, cuts, codes_out):
    """Write the code of each value, by eight steps without a branch; returns whether one is NaN."""
    padded = np.empty(255)
    for b in range(255):
        padded[b] = cuts[b] if b < cuts.shape[0] else np.inf
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


@njit(cache=True, nogil=True)
def bin_dense_columns(values, columns, ordered, weights, max_bins, out):
    """Cuts and codes of some of the columns, each a row of ``values``.

    ``ordered`` has the sorted values that choose the cuts, NaN last, and ``weights`` their weights,
    one row for all columns where these are equal; ``out`` = (cuts and n_cuts of these columns;
    codes, has_missing of all).
    """
    cuts_out, n_cuts_out, codes_out, has_missing_out = out
    for f in range(columns.shape[0]):
        j, v, w = columns[f], ordered[f], weights[min(f, weights.shape[0] - 1)]
        n = v.shape[0]
        while n > 0 and v[n - 1] != v[n - 1]:
            n -= 1
        n_cuts = cut_sorted(v[:n], w[:n], max_bins, cuts_out[f])
        n_cuts_out[f] = n_cuts
        has_missing_out[j] = encode(values[j], cuts_out[f, :n_cuts], codes_out[j])


@njit(cache=True, nogil=True)
def sort_pairs(v, w):
    """Sort values and take their weights along; by insertion where they are few."""
    n = v.shape[0]
    if n > 64:
        order = np.argsort(v)
        v[:] = v[order]
        w[:] = w[order]
        return
    for i in range(1, n):
        x, y, k = v[i], w[i], i
        while k > 0 and v[k - 1] > x:
            v[k], w[k] = v[k - 1], w[k - 1]
            k -= 1
        v[k], w[k] = x, y


@njit(cache=True, nogil=True)
def seen_cells(data, indices, weight, is_seen, first, last):
    """The stored cells of a column that choose its cuts: values, weights, number and weight.

    Sorted and without NaN; the count has the NaN in it, for what is not stored is zero.
    """
    v, w = np.empty(last - first), np.empty(last - first)
    n, n_cells, stored_weight = 0, 0, 0.0
    for i in range(first, last):
        r = indices[i]
        if is_seen[r]:
            n_cells += 1
            stored_weight += weight[r]
            if data[i] == data[i]:
                v[n] = data[i]
                w[n] = weight[r]
                n += 1
    v, w = v[:n], w[:n]
    sort_pairs(v, w)
    return v, w, n_cells, stored_weight


@njit(cache=True, nogil=True)
def bin_sparse_columns(cells, weight, seen, max_bins, cut_start, start, stop, out):
    """Cuts and codes of the columns start .. stop; column j's cuts begin at ``cut_start[j]``.

    ``cells`` = (indptr, indices, data); ``seen`` = (which rows choose the cuts, their number, their
    weight); ``out`` = (cuts, n_cuts, codes, zero_code, has_missing).
    """
    indptr, indices, data = cells
    is_seen, n_seen, seen_weight = seen
    cuts_out, n_cuts_out, codes_out, zero_code_out, has_missing_out = out
    cuts = np.empty(max_bins)
    for j in range(start, stop):
        first, last = indptr[j], indptr[j + 1]
        v, w, n_cells, stored_weight = seen_cells(data, indices, weight, is_seen, first, last)
        if n_cells < n_seen:
            v, w = merge_zero(v, w, max(0.0, seen_weight - stored_weight))
        n_cuts = cut_sorted(v, w, max_bins, cuts)
        n_cuts_out[j] = n_cuts
        for b in range(n_cuts):
            cuts_out[cut_start[j] + b] = cuts[b]
        zero = 0
        while zero < n_cuts and cuts[zero] < 0.0:
            zero += 1
        zero_code_out[j] = zero
        has_missing_out[j] = encode(data[first:last], cuts[:n_cuts], codes_out[first:last])


@njit(cache=True, nogil=True)
def bins_by_row(indptr, indices, codes, offset, n_bins, row_start, row_bins_out):
    """The stored cells row after row, each as its place in a histogram."""
    place = row_start[:-1].copy()
    for j in range(indptr.shape[0] - 1):
        for i in range(indptr[j], indptr[j + 1]):
            r = indices[i]
            row_bins_out[place[r]] = offset[j] + min(np.int64(codes[i]), n_bins[j])
            place[r] += 1


@njit(cache=True, nogil=True)
def move_bins(row_start, row_bins, place, row_start_out, row_bins_out):
    """Cells by row at other places, without those of negative place; returns how many are left."""
    n = 0
    row_start_out[0] = 0
    for i in range(row_start.shape[0] - 1):
        for q in range(row_start[i], row_start[i + 1]):
            b = place[row_bins[q]]
            row_bins_out[n] = b
            n += b >= 0
        row_start_out[i + 1] = n
    return n


@njit(cache=True, nogil=True)
def mark_pairs(bundled, codes, seen_out):
    """Mark the pairs that occur."""
    seen_out[:] = 0
    for i in range(bundled.shape[0]):
        seen_out[(np.uint32(bundled[i]) << np.uint32(8)) + np.uint32(codes[i])] = 1


@njit(cache=True, nogil=True)
def bundle_pairs(codes, number, bundled_out):
    """Each row's code becomes the number of its pair."""
    for i in range(bundled_out.shape[0]):
        pair = (np.uint32(bundled_out[i]) << np.uint32(8)) + np.uint32(codes[i])
        bundled_out[i] = number[pair]
