"""The best split of each feature in a node, and the feature that pays.

Notation: ``j`` feature, ``f`` its place in a list, ``b`` bin. What a threshold is worth is told in
``scanning``; prices come in only at the end, where features are compared.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from secateur._kernels.histogram import add_features
from secateur._kernels.records import MISSING, N_CODES
from secateur._kernels.scanning import (
    FEW_BINS,
    LOW,
    best_of_feature,
    gain_of,
    middle_of_gap,
    scan_few,
)


@njit(cache=True, nogil=True, error_model="numpy")
def search_one(bins, first, n, is_categorical, total, unit, least, rooms):
    """The best split of a feature: its bins are ``bins[first : first + n]``, then the missing one.

    Gives (gain, split, divisible): dSSE or -1 where nothing is admissible; (last position of the
    left side, missing left, packed left sum); whether any node below could split on it: the bins
    without the heaviest, which one side must do with, weigh enough for a side.
    """
    nothing = (np.int64(-1), np.int64(0), np.int64(0))
    total_w = total & LOW
    # A first bin that outweighs all others, as the zeros of a sparse column, settles it.
    if total_w - (bins[first] & LOW) < least:
        return -1.0, nothing, False
    missing_left = 0
    if n <= FEW_BINS and not is_categorical and bins[first + n] & LOW == 0:
        score, position, left, heaviest = scan_few(bins, first, n, total, least)
    else:
        heaviest = np.int64(0)
        for b in range(first, first + n + 1):
            heaviest = max(heaviest, bins[b] & LOW)
        if total_w - heaviest < least:
            return -1.0, nothing, False
        score, position, missing_left, left = best_of_feature(
            bins, first, n, is_categorical, total, unit, least, *rooms
        )
    gain = -1.0
    if position >= 0:
        gain = gain_of(score, total, unit)
        if not is_categorical:
            position = middle_of_gap(bins, first, n, position)
    split = (np.int64(position), np.int64(missing_left), np.int64(left))
    return gain, split, total_w - heaviest >= least


@njit(cache=True, nogil=True)
def search_rooms():
    """Room that the search of one feature works in."""
    return np.empty(N_CODES), np.empty(N_CODES), np.empty(N_CODES), np.empty(N_CODES, np.int64)


@njit(cache=True, nogil=True, inline="always")
def note_split(j, found, found_out):
    """Write down what was found of feature j; of a split only where there is one."""
    gain_out, split_out, divisible_out = found_out
    gain, split, divisible = found
    gain_out[j] = gain
    divisible_out[j] = divisible
    if gain >= 0.0:
        split_out[j, 0], split_out[j, 1], split_out[j, 2] = split


@njit(cache=True, nogil=True, error_model="numpy")
def search_features(
    histogram, less, kept_out, features, columns, total, unit, least, start, stop, found_out
):
    """The best split of the features start .. stop of the list in one node.

    ``histogram`` is the node's own, or that of its parent and ``less`` its sibling's: then the
    node's own takes the parent's place. It is copied to ``kept``; both are empty where not wanted.
    ``columns`` = (offset, n_bins, is_categorical). Output, by feature j: ``found`` = (gain, split,
    divisible) of ``search_one``.
    """
    offset, n_bins, is_categorical = columns
    rooms = search_rooms()
    for f in range(start, stop):
        j = features[f]
        first = offset[j]
        n = n_bins[j]
        if less.shape[0] > 0:
            for b in range(first, first + n + 1):
                histogram[b] -= less[b]
        if kept_out.shape[0] > 0:
            for b in range(first, first + n + 1):
                kept_out[b] = histogram[b]
        found = search_one(histogram, first, n, is_categorical[j], total, unit, least, rooms)
        note_split(j, found, found_out)


@njit(cache=True, nogil=True, error_model="numpy")
def search_rows(
    codes, rows, packed, in_order, features, columns, total, unit, least, start, stop, found_out
):
    """As ``search_features`` from the rows of a node, whose histograms nobody needs after it.

    They do not leave the nearest cache: see ``dense_histograms`` for how they are built.
    """
    _, n_bins, is_categorical = columns
    rooms = search_rooms()
    bins = np.empty((4, N_CODES), np.int64)
    for f in range(start, stop, 4):
        bins[:] = 0
        add_features(codes, rows, packed, in_order, features, f, stop, bins)
        for q in range(min(4, stop - f)):
            j = features[f + q]
            n = n_bins[j]
            bins[q, n] = bins[q, MISSING]
            found = search_one(bins[q], 0, n, is_categorical[j], total, unit, least, rooms)
            note_split(j, found, found_out)


@njit(cache=True, nogil=True)
def pick_feature(features, gain, used, prices, penalty, unit, floor):
    """Of the listed features the one with the largest priced gain.

    Ties go to a used one, then to the smaller index. Returns (feature, priced gain); the feature is
    -1 where nothing gains more than it costs.
    """
    best = 0.0
    feature = -1
    for f in range(features.shape[0]):
        j = features[f]
        if gain[j] <= floor:
            continue
        priced = gain[j] / unit - penalty * prices[j]
        if priced > best or (feature >= 0 and priced == best and used[j] and not used[feature]):
            best = priced
            feature = j
    return feature, best
