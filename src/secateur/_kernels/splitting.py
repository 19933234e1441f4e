"""Where the gain of a split is computed: the best split of each feature in a node.

With g and w the sums of gradients and weights of the rows left (L), right (R) and together, the
reduction of the squared error is twice the first part of Eq. 14 of GBFS:

    dSSE = g_L^2 / w_L + g_R^2 / w_R - g^2 / w
         = (g_L w_R - g_R w_L)^2 / (w_L w_R w)                      ``gain_of`` and ``score_of``

and a feature is chosen by dSSE / gain_unit - penalty * cost         ``pick_feature``

The second form has one division and no difference of large squares; a split and its mirror image
are exactly alike in it. The cost of a feature is the same for all its thresholds.

Notation
--------
j, f     feature, its position in a list
b        bin; those of a feature are ``bins[first : first + n]``, then comes the missing one
G, W     sums of gradients and weights as integers, packed as (G << 32) + W
g, w     G and W times the rounding ``steps`` = (1 / gradient scale, 1 / weight scale)
score    (G_L W_R - G_R W_L)^2 / (W_L W_R): dSSE but for a factor that all splits of a node share
left     packed sum of the left side
total    packed sum of the node
"""

import numpy as np
from numba import njit

from secateur._kernels.histogram import add_features
from secateur._kernels.records import MISSING, N_CODES

LOW = 0xFFFFFFFF
"""The lower half of a packed sum: the weight."""

FEW_BINS = 24
"""Up to this many bins one plain loop is faster than three vectorised ones."""


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def score_of(g_l, w_l, total_g, total_w):
    """The score of a split, (G_L W_R - G_R W_L)^2 / (W_L W_R), of floats that hold integers."""
    g_r = total_g - g_l
    w_r = total_w - w_l
    d = g_l * w_r - g_r * w_l
    return d * d / (w_l * w_r)


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def gain_of(score, total, steps):
    """The gain of a split: dSSE of a score (twice the first part of Eq. 14 of GBFS)."""
    return score / float(total & LOW) * (steps[0] * steps[0] / steps[1])


@njit(cache=True, nogil=True, error_model="numpy")
def scan_order(bins, first, n, order, m, total, min_weight):
    """The best prefix of the bins in ``order`` (m of them) as the left side.

    For each prefix first the missing rows to the right, then to the left; the first of equals
    wins. Returns (score, last position, missing left, packed left sum); ``min_weight`` is the
    smallest integer weight of a side.
    """
    total_g = float(total >> 32)
    total_w = total & LOW
    missing = bins[first + n]
    has_missing = missing & LOW > 0
    score, position, missing_left = -1.0, -1, 0
    best, left = np.int64(0), np.int64(0)
    for b in range(m if has_missing else m - 1):
        left += bins[first + order[b]]
        for with_missing in range(2 if has_missing and b < m - 1 else 1):
            side = left + missing * with_missing
            w = side & LOW
            if w >= min_weight and total_w - w >= min_weight:
                s = score_of(float(side >> 32), float(w), total_g, float(total_w))
                if s > score:
                    score, position, missing_left, best = s, b, with_missing, side
    return score, position, missing_left, best


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def scan_few(bins, first, n, total, min_weight):
    """As ``scan_order`` for few bins in their own order and no missing rows; the heaviest too.

    All n prefixes are tried: the last leaves nothing for the right side and is never admissible.
    """
    total_g = float(total >> 32)
    total_w = total & LOW
    score, position = -1.0, -1
    best, left, heaviest = np.int64(0), np.int64(0), np.int64(0)
    for b in range(first, first + n):
        left += bins[b]
        heaviest = max(heaviest, bins[b] & LOW)
        w = left & LOW
        # Selects instead of branches: which bin is best cannot be predicted.
        s = score_of(np.float64(left >> 32), np.float64(w), total_g, float(total_w))
        s = s if (w >= min_weight) & (total_w - w >= min_weight) else -1.0
        better = s > score
        score = s if better else score
        position = b - first if better else position
        best = left if better else best
    return score, position, best, heaviest


@njit(cache=True, nogil=True, error_model="numpy")
def running_sums(bins, first, m, g_out, w_out):
    """Sums of the bins 0 .. b for b < m, as floats: exact, being integers below 2^53."""
    left = np.int64(0)
    for b in range(m):
        left += bins[first + b]
        g_out[b] = left >> 32
        w_out[b] = left & LOW


@njit(cache=True, nogil=True, error_model="numpy")
def split_scores(m, total_g, total_w, g_left, w_left, score_out):
    """``score_of`` each prefix; a loop of its own, so that divisions are vectorised."""
    for b in range(m):
        score_out[b] = score_of(g_left[b], w_left[b], total_g, total_w)


@njit(cache=True, nogil=True, error_model="numpy")
def first_best(m, w_left, score, min_weight, max_weight):
    """The first of the largest scores whose left weight is within bounds."""
    best = -1.0
    position = -1
    for b in range(m):
        if score[b] > best and w_left[b] >= min_weight and w_left[b] <= max_weight:
            best, position = score[b], b
    return best, position


@njit(cache=True, nogil=True, error_model="numpy")
def scan_many(bins, first, m, total, min_weight, g_left, w_left, score):
    """As ``scan_few`` for many bins, in three vectorised loops."""
    total_g = total >> 32
    total_w = total & LOW
    running_sums(bins, first, m - 1, g_left, w_left)
    split_scores(m - 1, float(total_g), float(total_w), g_left, w_left, score)
    best, position = first_best(
        m - 1, w_left, score, float(min_weight), float(total_w - min_weight)
    )
    left = np.int64(0)
    if position >= 0:
        left = (np.int64(g_left[position]) << 32) + np.int64(w_left[position])
    return best, position, 0, left


@njit(cache=True, nogil=True, inline="always")
def middle_of_gap(bins, first, n, position):
    """The middle of the positions that partition the node's rows alike: beside empty bins."""
    last = position
    while last + 1 < n and bins[first + last + 1] & LOW == 0:
        last += 1
    return (position + last) // 2


@njit(cache=True, nogil=True, error_model="numpy")
def order_categories(bins, first, n, steps, order_out):
    """The bins with weight, by mean gradient and then by number; returns how many."""
    inv_g, inv_w = steps
    keys = np.empty(n)
    m = 0
    for b in range(n):
        w = bins[first + b] & LOW
        if w > 0:
            key = ((bins[first + b] >> 32) * inv_g) / (w * inv_w)
            # Insertion keeps equal keys in the order of their bins.
            q = m
            while q > 0 and keys[q - 1] > key:
                keys[q] = keys[q - 1]
                order_out[q] = order_out[q - 1]
                q -= 1
            keys[q] = key
            order_out[q] = b
            m += 1
    return m


@njit(cache=True, nogil=True, error_model="numpy")
def best_of_feature(
    bins, first, n, is_categorical, total, steps, min_weight, g_left, w_left, score, order
):
    """The best split of one feature: (score, last position in order, missing left, packed left).

    The four last arguments are buffers. No slices: they cost more than searching a short column.
    """
    if is_categorical:
        m = order_categories(bins, first, n, steps, order)
    elif bins[first + n] & LOW == 0:
        return scan_many(bins, first, n, total, min_weight, g_left, w_left, score)
    else:
        m = n
        for b in range(n):
            order[b] = b
    return scan_order(bins, first, n, order, m, total, min_weight)


@njit(cache=True, nogil=True, error_model="numpy")
def search_one(bins, first, n, is_categorical, total, steps, min_weight, buffers):
    """The best split of a feature.

    Returns (gain, split, divisible): dSSE or -1 where nothing is admissible; (last position of the
    left side, missing left, packed left sum); whether this node or one below can be split on it:
    all bins but the heaviest must weigh enough for a side.
    """
    nothing = (np.int64(-1), np.int64(0), np.int64(0))
    total_w = total & LOW
    # Often the first bin, such as the zeros of a sparse column, is too heavy.
    if total_w - (bins[first] & LOW) < min_weight:
        return -1.0, nothing, False
    missing_left = 0
    if n <= FEW_BINS and not is_categorical and bins[first + n] & LOW == 0:
        score, position, left, heaviest = scan_few(bins, first, n, total, min_weight)
    else:
        heaviest = np.int64(0)
        for b in range(first, first + n + 1):
            heaviest = max(heaviest, bins[b] & LOW)
        if total_w - heaviest < min_weight:
            return -1.0, nothing, False
        score, position, missing_left, left = best_of_feature(
            bins, first, n, is_categorical, total, steps, min_weight, *buffers
        )
    gain = -1.0
    if position >= 0:
        gain = gain_of(score, total, steps)
        if not is_categorical:
            position = middle_of_gap(bins, first, n, position)
    split = (np.int64(position), np.int64(missing_left), np.int64(left))
    return gain, split, total_w - heaviest >= min_weight


@njit(cache=True, nogil=True)
def search_buffers():
    """Buffers for the search of one feature."""
    return np.empty(N_CODES), np.empty(N_CODES), np.empty(N_CODES), np.empty(N_CODES, np.int64)


@njit(cache=True, nogil=True, inline="always")
def note_split(j, found, found_out):
    """Store what was found for feature j; the split only where there is one."""
    gain_out, split_out, divisible_out = found_out
    gain, split, divisible = found
    gain_out[j] = gain
    divisible_out[j] = divisible
    if gain >= 0.0:
        split_out[j, 0], split_out[j, 1], split_out[j, 2] = split


@njit(cache=True, nogil=True, error_model="numpy")
def search_features(
    histogram, less, kept_out, features, columns, total, steps, min_weight, start, stop, found_out
):
    """The best split of the features start .. stop of the list in one node.

    ``histogram`` is the node's own, or that of its parent where ``less`` is its sibling's: the
    node's own is then written in its place. It is copied to ``kept``. Both may be empty.
    ``columns`` = (offset, n_bins, is_categorical). Output, by feature j: ``found`` = (gain, split,
    divisible) of ``search_one``.
    """
    offset, n_bins, is_categorical = columns
    buffers = search_buffers()
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
        found = search_one(
            histogram, first, n, is_categorical[j], total, steps, min_weight, buffers
        )
        note_split(j, found, found_out)


@njit(cache=True, nogil=True, error_model="numpy")
def search_rows(codes, node, features, columns, total, steps, min_weight, start, stop, found_out):
    """As ``search_features`` from the rows of a node; no histograms leave the nearest cache.

    ``node`` = (rows, packed, in_order) of ``dense_histograms``.
    """
    rows, packed, in_order = node
    _, n_bins, is_categorical = columns
    buffers = search_buffers()
    bins = np.empty((4, N_CODES), np.int64)
    for f in range(start, stop, 4):
        bins[:] = 0
        add_features(codes, rows, packed, in_order, features, f, stop, bins)
        for q in range(min(4, stop - f)):
            j = features[f + q]
            n = n_bins[j]
            bins[q, n] = bins[q, MISSING]
            found = search_one(bins[q], 0, n, is_categorical[j], total, steps, min_weight, buffers)
            note_split(j, found, found_out)


@njit(cache=True, nogil=True)
def pick_feature(features, gain, used, costs, penalty, gain_unit, floor):
    """Of the listed features the one with the largest dSSE / gain_unit - penalty * cost (Eq. 14).

    Ties go to a used feature, then to the smaller index. Returns (feature, net gain); the feature
    is -1 where no net gain is positive.
    """
    best = 0.0
    feature = -1
    for f in range(features.shape[0]):
        j = features[f]
        if gain[j] <= floor:
            continue
        net = gain[j] / gain_unit - penalty * costs[j]
        if net > best or (feature >= 0 and net == best and used[j] and not used[feature]):
            best = net
            feature = j
    return feature, best
