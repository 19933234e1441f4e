"""The best split of each feature in a node, and the feature that pays.

Notation: ``j`` feature, ``f`` its place in a list, ``b`` bin. What a threshold is worth is told in
``scanning``; prices come in only at the end, where features are compared.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from secateur._kernels.records import N_CODES
from secateur._kernels.scanning import (
    FEW_BINS,
    LOW,
    best_of_feature,
    middle_of_gap,
    own_score,
    scan_few,
)


@njit(cache=True, nogil=True, error_model="numpy")
def search_features(
    histogram,
    features,
    columns,
    total,
    unit,
    least,
    start,
    stop,
    gain_out,
    split_out,
    divisible_out,
):
    """The best split of the features start .. stop of the list in one node.

    ``columns`` = (offset, n_bins, is_categorical). Output, by feature j: ``gain[j]`` = dSSE or -1
    where nothing is admissible, ``split[j]`` = (last position of the left side, missing left,
    packed left sum), ``divisible[j]`` = whether any node below could split on it: the bins without
    the heaviest, which one side must do with, weigh enough for a side.
    """
    offset, n_bins, is_categorical = columns
    g_left = np.empty(N_CODES)
    w_left = np.empty(N_CODES)
    room = np.empty(N_CODES)
    order = np.empty(N_CODES, np.int64)
    own = own_score(total, unit)
    for f in range(start, stop):
        j = features[f]
        first = offset[j]
        n = n_bins[j]
        heaviest = np.int64(0)
        for b in range(first, first + n + 1):
            heaviest = max(heaviest, histogram[b] & LOW)
        divisible_out[j] = (total & LOW) - heaviest >= least
        gain_out[j] = -1.0
        if not divisible_out[j]:
            continue
        if n <= FEW_BINS and not is_categorical[j] and histogram[first + n] & LOW == 0:
            score, position, missing_left, left = scan_few(histogram, first, n, total, unit, least)
        else:
            score, position, missing_left, left = best_of_feature(
                histogram,
                first,
                n,
                is_categorical[j],
                total,
                unit,
                least,
                g_left,
                w_left,
                room,
                order,
            )
        if position >= 0:
            gain_out[j] = score - own
            if not is_categorical[j]:
                position = middle_of_gap(histogram, first, n, position)
        split_out[j, 0] = position
        split_out[j, 1] = missing_left
        split_out[j, 2] = left


@njit(cache=True, nogil=True)
def subtract_features(parent, child, features, columns, start, stop, sibling_out):
    """The sibling's histograms: the parent's less the child's. The output may be the parent."""
    offset, n_bins, _ = columns
    for f in range(start, stop):
        j = features[f]
        for b in range(offset[j], offset[j] + n_bins[j] + 1):
            sibling_out[b] = parent[b] - child[b]


@njit(cache=True, nogil=True)
def copy_features(source, features, columns, start, stop, target_out):
    """Copy the histograms of the listed features."""
    offset, n_bins, _ = columns
    for f in range(start, stop):
        j = features[f]
        for b in range(offset[j], offset[j] + n_bins[j] + 1):
            target_out[b] = source[b]


@njit(cache=True, nogil=True)
def search_built(
    histogram, kept_out, features, columns, total, unit, least, start, stop, gain, split, divisible
):
    """Search a node whose histogram was built, and keep it for subtraction if there is room."""
    search_features(
        histogram, features, columns, total, unit, least, start, stop, gain, split, divisible
    )
    if kept_out.shape[0] > 0:
        copy_features(histogram, features, columns, start, stop, kept_out)


@njit(cache=True, nogil=True)
def search_rest(
    parent,
    child,
    features,
    columns,
    total,
    unit,
    least,
    start,
    stop,
    gain,
    split,
    divisible,
):
    """Search a node whose histogram is its parent's less its sibling's, and takes its place."""
    subtract_features(parent, child, features, columns, start, stop, parent)
    search_features(
        parent, features, columns, total, unit, least, start, stop, gain, split, divisible
    )


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
