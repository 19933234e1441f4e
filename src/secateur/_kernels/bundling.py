"""Several columns of codes as one, whose codes are the combinations that occur.

Notation
--------
i        row
pair     number 256 a + b of a code a of the bundle so far and a code b of the next column; pairs
         that occur are numbered in their order
j, k     feature, bundle
c        code of a bundle; ``own[j, c]`` is the code of feature j in it
"""

import numpy as np
from numba import njit

from secateur._kernels.records import N_CODES


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


@njit(cache=True, nogil=True)
def spread_bins(bundled, column, own, features, offset, n_bins, start, stop, histogram_out):
    """Histograms of the features start .. stop of a list from those of the bundles.

    ``bundled[k, c]`` are packed sums of bundle k.
    """
    for f in range(start, stop):
        j = features[f]
        first, n, k = offset[j], n_bins[j], column[j]
        histogram_out[first : first + n + 1] = 0
        for c in range(N_CODES):
            histogram_out[first + min(np.int64(own[j, c]), n)] += bundled[k, c]


@njit(cache=True, nogil=True)
def spread_cells(bundled, column, own, features, places, histogram_out):
    """``histogram[places[f], cell * 256 + code]`` of features from those of the bundles."""
    for f in range(features.shape[0]):
        j = features[f]
        k = column[j]
        out = histogram_out[places[f]]
        out[:] = 0
        for first in range(0, out.shape[0], N_CODES):
            for c in range(N_CODES):
                out[first + own[j, c]] += bundled[k, first + c]
