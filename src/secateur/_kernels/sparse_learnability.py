"""Sums over chains of sparse rows that are centred in thought, and their slopes by feature.

The rows are x_i = z_i - m, with z_i sparse and m the column means; they are never formed. What the
walk of `learnability` carries splits into a part at the non-zeros and a few numbers:

    C_q     = sum r_q z             at the non-zeros only
    rho_q   = sum r_q
    t_q     = sum_j m_j s_j C_q[j]

    r_(q+1)[i] = <z_i s, C_q> - rho_q u_i - (t_q - rho_q M),
    u_i = sum_j z_ij s_j m_j,   M = sum_j s_j m_j^2

Columns of a batch are renumbered in the order in which its rows meet them, so carries are as small
as the batch. A cell touches four lanes at once, one register: lanes are filled up to a multiple of
FOUR, and carries are (fours of lanes, columns of the batch, FOUR).

Notation
--------
i, n    row of the table, of the batch
j       feature (renumbered)
e       stored cell
a       lane: a target and a link together, a = target * order + q
f       four of lanes
z, zs   stored value, and the same times s
"""

import numpy as np
from numba import njit

from secateur._kernels.columns import SUMS

FOUR = 4

# What `card` has of a feature, side by side: a feature is looked up at random in memory once.
NUMBER, INCLUSION, MEAN = 0, 1, 2


@njit(nogil=True, cache=True)
def fill_cards(s, m, card_out):
    """Put s and m on the cards; returns M."""
    M = 0.0
    for j in range(s.shape[0]):
        card_out[j, INCLUSION] = s[j]
        card_out[j, MEAN] = m[j]
        M += s[j] * m[j] * m[j]
    return M


@njit(nogil=True, cache=True)
def renumber(indptr, indices, data, rows, card, number, base, ptr_out, index_out, z_out, zs_out,
             u_out, met_out, m_out):  # fmt: skip
    """Copy the rows of a batch with columns renumbered; returns how many columns it has.

    ``number`` is ``card`` seen as integers of the same size. Numbers that an earlier batch left are
    below ``base``, so nothing has to be wiped.
    """
    n_met = 0
    place = 0
    ptr_out[0] = 0
    for n in range(rows.shape[0]):
        u = 0.0
        for e in range(indptr[rows[n]], indptr[rows[n] + 1]):
            j = np.uint32(indices[e])
            known = number[j, NUMBER] - base
            if known < 0:
                known = n_met
                number[j, NUMBER] = base + known
                met_out[n_met] = j
                m_out[n_met] = card[j, MEAN]
                n_met += 1
            zs = data[e] * card[j, INCLUSION]
            u += zs * card[j, MEAN]
            index_out[place] = known
            z_out[place] = data[e]
            zs_out[place] = zs
            place += 1
        u_out[n] = u
        ptr_out[n + 1] = place
    return n_met


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
