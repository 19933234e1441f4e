"""Sums over chains of sparse rows that are centred in thought, and their slopes by feature.

The rows are x_i = z_i - m, with z_i sparse and m the column means; they are never formed. What the
walk of `learnability` carries splits into a part at the non-zeros and a few numbers:

    C_q     = sum r_q z             at the non-zeros only
    rho_q   = sum r_q
    t_q     = sum_j m_j s_j C_q[j]

    r_(q+1)[i] = <z_i s, C_q> - rho_q u_i - (t_q - rho_q M),
    u_i = sum_j z_ij s_j m_j,   M = sum_j s_j m_j^2

A column with one cell in the batch gives nothing to other rows: it is in u and in slopes only. The
others are renumbered in the order in which a second cell is met, so carries are as small as the
batch. A cell touches four lanes at once, one register: lanes are filled up to a multiple of
FOUR, and carries are (fours of lanes, columns of the batch, FOUR).

Notation
--------
i, n    row of the table, of the batch
j       feature (renumbered)
e       stored cell
a       lane: a target and a link together, a = target * order + q
f       four of lanes
z       stored value
zs, zm  the same times s, and times m
"""

import numpy as np
from numba import njit

from secateur._kernels.columns import SUMS

FOUR = 4

# What `card` has of a feature, side by side: a feature is looked up at random in memory once.
NUMBER, INCLUSION, MEAN = 0, 1, 2


@njit(nogil=True, cache=True, fastmath=SUMS)
def fill_cards(s, m, card_out):
    """Put s and m on the cards; returns M."""
    M = 0.0
    for j in range(s.shape[0]):
        card_out[j, INCLUSION] = s[j]
        card_out[j, MEAN] = m[j]
        M += s[j] * m[j] * m[j]
    return M


@njit(nogil=True, cache=True)
def copy_cells(indptr, indices, data, rows, card, cells_out, zm_out, u_out):
    """Copy the rows of a batch to cells = (j, z, zs).

    Short loops, with unsigned indices, so that the cards of many cells are looked up at a time.
    """
    column, z, zs = cells_out
    place = np.uint64(0)
    for n in range(rows.shape[0]):
        start = np.uint64(indptr[rows[n]])
        size = np.uint64(indptr[rows[n] + 1]) - start
        for e in range(size):
            column[place + e] = indices[start + e]
        for e in range(size):
            z[place + e] = data[start + e]
        place += size
    for e in range(place):
        zs[e] = card[np.uint32(column[e]), INCLUSION]
        zm_out[e] = card[np.uint32(column[e]), MEAN]
    place = np.uint64(0)
    for n in range(rows.shape[0]):
        u = 0.0
        size = np.uint64(indptr[rows[n] + 1] - indptr[rows[n]])
        for e in range(place, place + size):
            zs[e] *= z[e]
            u += zs[e] * zm_out[e]
            zm_out[e] *= z[e]
        place += size
        u_out[n] = u


@njit(nogil=True, cache=True)
def renumber(index, card, number, base, met_out, m_out):
    """Number the columns with several cells; returns how many these are.

    A column j with one cell has the index -1 - j. ``number`` is ``card`` seen as integers of the
    same size: those below ``base`` are of an earlier batch, others of the first cell of a column.
    """
    n_met = 0
    for place in range(np.uint64(index.shape[0])):
        j = np.uint32(index[place])
        first = number[j, NUMBER] - base
        if first < 0:
            number[j, NUMBER] = base + np.int64(place)
            index[place] = -1 - np.int64(j)
            continue
        first = np.uint64(first)
        if index[first] < 0:
            index[first] = n_met
            met_out[n_met] = j
            m_out[n_met] = card[j, MEAN]
            n_met += 1
        index[place] = index[first]
    return n_met


@njit(nogil=True, cache=True)
def set_apart(indptr, rows, cells, zm, ptr_out, alone_ptr_out, alone_out):
    """Move cells of columns with several cells to the front, and number and zm of others apart."""
    index, z, zs = cells
    ptr_out[0] = alone_ptr_out[0] = 0
    e = kept = alone = 0
    for n in range(rows.shape[0]):
        for _ in range(indptr[rows[n]], indptr[rows[n] + 1]):
            if index[e] < 0:
                alone_out[alone] = -1 - index[e]
                zm[alone] = zm[e]
                alone += 1
            else:
                index[kept], z[kept], zs[kept] = index[e], z[e], zs[e]
                kept += 1
            e += 1
        ptr_out[n + 1], alone_ptr_out[n + 1] = kept, alone


@njit(nogil=True, cache=True)
def add_alone(ptr, column, zm, centre, slope_out):
    """Add the slopes of columns with one cell: there are no pairs, only what the means take off."""
    for n in range(ptr.shape[0] - 1):
        for e in range(ptr[n], ptr[n + 1]):
            slope_out[np.uint32(column[e])] -= zm[e] * centre[n]


@njit(nogil=True, cache=True, fastmath=SUMS)
def walk_sparse_chains(ptr, index, z, zs, u, M, y, weight, step, backward, carry, r_out):
    """Fill r_out (targets, order + 1, N) from the last row or the first; carry is zeros."""
    n_rows, n_targets, order = ptr.shape[0] - 1, y.shape[0], step.shape[0]
    n_lanes = carry.shape[0] * FOUR
    rho, t = np.zeros(n_lanes), np.zeros(n_lanes)
    dots, put = np.zeros(n_lanes), np.zeros(n_lanes, carry.dtype)
    for walked in range(n_rows):
        n = n_rows - 1 - walked if backward else walked
        for f in range(carry.shape[0]):
            _dot_row(index, zs, ptr[n], ptr[n + 1], carry[f], dots[f * FOUR : f * FOUR + FOUR])
        for target in range(n_targets):
            for q in range(order):
                a = target * order + q
                linked = dots[a] - rho[a] * u[n] - (t[a] - rho[a] * M)
                r_out[target, q + 1, n] = linked / step[q]
                left = weight[n] * r_out[target, q, n]
                rho[a] += left
                t[a] += left * u[n]
                put[a] = left
        for f in range(carry.shape[0]):
            _put_row(index, z, ptr[n], ptr[n + 1], put[f * FOUR : f * FOUR + FOUR], carry[f])


@njit(nogil=True, cache=True, fastmath=SUMS)
def _dot_row(index, zs, start, stop, carry, dots_out):
    """Four sums over the cells of a row."""
    zero = carry.dtype.type(0)
    d0, d1, d2, d3 = zero, zero, zero, zero
    for e in range(start, stop):
        j = np.uint32(index[e])
        d0 += zs[e] * carry[j, 0]
        d1 += zs[e] * carry[j, 1]
        d2 += zs[e] * carry[j, 2]
        d3 += zs[e] * carry[j, 3]
    dots_out[0], dots_out[1], dots_out[2], dots_out[3] = d0, d1, d2, d3


@njit(nogil=True, cache=True, fastmath=SUMS)
def _put_row(index, z, start, stop, put, carry):
    """Leave at the columns of a row what it gives to later rows."""
    p0, p1, p2, p3 = put[0], put[1], put[2], put[3]
    for e in range(start, stop):
        j = np.uint32(index[e])
        carry[j, 0] += p0 * z[e]
        carry[j, 1] += p1 * z[e]
        carry[j, 2] += p2 * z[e]
        carry[j, 3] += p3 * z[e]


@njit(nogil=True, cache=True, fastmath=SUMS)
def sparse_slopes(ptr, index, z, m, begin, end, way, give, keep, centre, carry, slope_out):
    """Add to slope_out (columns of the batch,) the pairs of rows among those from begin to end.

    The slope of a feature is a sum over pairs of rows n' < n of z_n z_n' <W_n, L_n'>. It may be
    walked from either end: upward W is given and L kept, downward L is given and W kept. ``give``
    and ``keep`` are (N, FOUR); carry (columns, FOUR) zeros, and then what all these rows have kept.
    ``centre`` (N,) is what the means, m (columns,), take off at each row.
    """
    for n in range(begin, end, way):
        w0, w1, w2, w3 = give[n, 0], give[n, 1], give[n, 2], give[n, 3]
        l0, l1, l2, l3 = keep[n, 0], keep[n, 1], keep[n, 2], keep[n, 3]
        off = centre[n]
        for e in range(ptr[n], ptr[n + 1]):
            j = np.uint32(index[e])
            v = z[e]
            c0, c1, c2, c3 = carry[j, 0], carry[j, 1], carry[j, 2], carry[j, 3]
            slope_out[j] += v * (w0 * c0 + w1 * c1 + w2 * c2 + w3 * c3 - m[j] * off)
            carry[j, 0] = c0 + l0 * v
            carry[j, 1] = c1 + l1 * v
            carry[j, 2] = c2 + l2 * v
            carry[j, 3] = c3 + l3 * v


@njit(nogil=True, cache=True)
def join_halves(met, low, high, parts, slope_out):
    """Add the slopes of a batch to those of all features.

    ``parts`` (2, columns of the batch) are pairs of rows within the lower and the upper half; pairs
    across are what both halves have kept, ``low`` and ``high``, lane by lane.
    """
    for k in range(met.shape[0]):
        across = 0.0
        for f in range(low.shape[0]):
            for lane in range(FOUR):
                across += low[f, k, lane] * high[f, k, lane]
        slope_out[np.uint32(met[k])] += parts[0, k] + parts[1, k] + across


@njit(nogil=True, cache=True)
def take_slopes(slope, by_means, m, slope_out):
    """Move the slopes of all features, with those by their means, and leave zeros."""
    for j in range(m.shape[0]):
        slope_out[j] = slope[j] + by_means * (m[j] * m[j])
        slope[j] = 0.0
