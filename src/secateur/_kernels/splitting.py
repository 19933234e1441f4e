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
    gain_of,
    middle_of_gap,
    scan_few,
)


@njit(cache=True, nogil=True, error_model="numpy")
def search_features(
    histogram, less, kept_out, features, columns, total, unit, least, start, stop, found_out
):
    """The best split of the features start .. stop of the list in one node.

    ``histogram`` is the node's own, or that of its parent and ``less`` its sibling's: then the
    node's own takes the parent's place. It is copied to ``kept``; both are empty where not wanted.
    ``columns`` = (offset, n_bins, is_categorical). Output, by feature j, ``found`` = (gain, split,
    divisible): ``gain[j]`` = dSSE or -1 where nothing is admissible, ``split[j]`` = (last position
    of the left side, missing left, packed left sum), ``divisible[j]`` = whether any node below
    could split on it: the bins without the heaviest, which one side must do with, weigh enough for
    a side.
    """
    offset, n_bins, is_categorical = columns
    gain_out, split_out, divisible_out = found_out
    g_left = np.empty(N_CODES)
    w_left = np.empty(N_CODES)
    room = np.empty(N_CODES)
    order = np.empty(N_CODES, np.int64)
    total_w = total & LOW
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
        gain_out[j] = -1.0
        divisible_out[j] = False
        # A first bin that outweighs all others, as the zeros of a sparse column, settles it.
        if total_w - (histogram[first] & LOW) < least:
            continue
        missing_left = 0
        if n <= FEW_BINS and not is_categorical[j] and histogram[first + n] & LOW == 0:
            score, position, left, heaviest = scan_few(histogram, first, n, total, least)
            divisible_out[j] = total_w - heaviest >= least
        else:
            heaviest = np.int64(0)
            for b in range(first, first + n + 1):
                heaviest = max(heaviest, histogram[b] & LOW)
            if total_w - heaviest < least:
                continue
            divisible_out[j] = True
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
            gain_out[j] = gain_of(score, total, unit)
            if not is_categorical[j]:
                position = middle_of_gap(histogram, first, n, position)
        split_out[j, 0] = position
        split_out[j, 1] = missing_left
        split_out[j, 2] = left


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
