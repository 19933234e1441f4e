"""Sums over chains of sparse rows that are centred in thought, and their slopes by feature.

The rows are x_i = z_i - m, with z_i sparse and m the column means; they are never formed. What the
walk of `learnability` carries splits into a part at the non-zeros and a few numbers:

    C_q     = sum r_q z             at the non-zeros only
    rho_q   = sum r_q
    t_q     = sum_j m_j s_j C_q[j]

    r_(q+1)[i] = <z_i s, C_q> - rho_q u_i - (t_q - rho_q M),
    u_i = sum_j z_ij s_j m_j,   M = sum_j s_j m_j^2

Columns of a batch are renumbered in the order in which its rows meet them: the carries of a batch
are then as small as the batch, and lie in memory in the order of their first use.

Notation
--------
i, j    row, feature (renumbered)
e       stored cell
a       lane: a target and a link together, a = target * order + q
z       stored value
"""

import numpy as np
from numba import njit

# The sums over the cells of a row may be taken in any order, which is fixed at compile time.
FAST = {"reassoc", "contract", "nsz"}

DIGIT = 11
"""Bits of a pass of the sort: as many piles as the first cache has room for."""


@njit(nogil=True, cache=True)
def renumber(indptr, indices, data, rows, number, ptr_out, index_out, value_out, met_out):
    """Copy the rows of a batch with columns renumbered; returns how many columns it has.

    ``number`` (D,) holds -1 everywhere, before and after.
    """
    n_met = 0
    place = 0
    ptr_out[0] = 0
    for n in range(rows.shape[0]):
        for e in range(indptr[rows[n]], indptr[rows[n] + 1]):
            j = indices[e]
            known = number[j]
            if known < 0:
                known = n_met
                number[j] = known
                met_out[n_met] = j
                n_met += 1
            index_out[place] = known
            value_out[place] = data[e]
            place += 1
        ptr_out[n + 1] = place
    for k in range(n_met):
        number[met_out[k]] = -1
    return n_met


@njit(nogil=True, cache=True, fastmath=FAST)
def walk_sparse_chains(ptr, index, value, s, m, M, y, weight, step, backward, carry, r_out):
    """Fill r_out (targets, order + 1, N) for rows from the last to the first, or the other way.

    s, m (columns of the batch,); carry (columns of the batch, targets * order) zeros.
    """
    n_rows, n_targets, order = ptr.shape[0] - 1, y.shape[0], step.shape[0]
    n_lanes = n_targets * order
    rho, t = np.zeros(n_lanes), np.zeros(n_lanes)
    dots, put = np.zeros(n_lanes), np.zeros(n_lanes)
    for walked in range(n_rows):
        n = n_rows - 1 - walked if backward else walked
        u = 0.0
        dots[:] = 0.0
        for e in range(ptr[n], ptr[n + 1]):
            j = index[e]
            zs = value[e] * s[j]
            u += zs * m[j]
            for a in range(n_lanes):
                dots[a] += zs * carry[j, a]
        for target in range(n_targets):
            for q in range(order):
                a = target * order + q
                linked = dots[a] - rho[a] * u - (t[a] - rho[a] * M)
                r_out[target, q + 1, n] = linked / step[q]
                put[a] = weight[n] * r_out[target, q, n]
        for a in range(n_lanes):
            rho[a] += put[a]
            t[a] += put[a] * u
        for e in range(ptr[n], ptr[n + 1]):
            j = index[e]
            z = value[e]
            for a in range(n_lanes):
                carry[j, a] += put[a] * z


@njit(nogil=True, cache=True, fastmath=FAST)
def sparse_slopes(ptr, index, value, m, W, L, centre, carry, slope_out):
    """Add to slope_out (columns of the batch,) what the lanes of W and L (N, lanes) give.

    ``centre`` (N,) is what the means take off at each row; carry (columns, lanes) zeros.
    """
    n_lanes = W.shape[1]
    for n in range(ptr.shape[0] - 1):
        for e in range(ptr[n], ptr[n + 1]):
            j = index[e]
            z = value[e]
            linked = -m[j] * centre[n]
            for a in range(n_lanes):
                linked += W[n, a] * carry[j, a]
                carry[j, a] += L[n, a] * z
            slope_out[j] += z * linked


@njit(nogil=True, cache=True)
def renumber_sorted(indptr, indices, data, rows, n_bits, room, ptr_out, index_out, value_out,
                    met_out, place_out):  # fmt: skip
    """The same for very many columns, where a number for each would be looked up all over memory.

    Cells are sorted by column, in passes of DIGIT bits; then columns are met in rising order:
    met_out rises, and met_out[k] has the number place_out[k]. ``room`` (4, cells) is to work in.
    """
    key, at, key_2, at_2 = room[0], room[1], room[2], room[3]
    n_cells = 0
    ptr_out[0] = 0
    for n in range(rows.shape[0]):
        for e in range(indptr[rows[n]], indptr[rows[n] + 1]):
            key[n_cells] = indices[e]
            at[n_cells] = n_cells
            value_out[n_cells] = data[e]
            n_cells += 1
        ptr_out[n + 1] = n_cells
    start = np.zeros(1 << DIGIT, np.int64)
    for shift in range(0, n_bits, DIGIT):
        _sort_by_digit(key, at, n_cells, shift, start, key_2, at_2)
        key, at, key_2, at_2 = key_2, at_2, key, at
    n_met = 0
    for k in range(n_cells):
        if n_met == 0 or met_out[n_met - 1] != key[k]:
            met_out[n_met] = key[k]
            place_out[n_met] = -1
            n_met += 1
        index_out[at[k]] = n_met - 1
    n_numbers = 0
    for e in range(n_cells):
        k = index_out[e]
        if place_out[k] < 0:
            place_out[k] = n_numbers
            n_numbers += 1
        index_out[e] = place_out[k]
    return n_met


@njit(nogil=True, cache=True)
def _sort_by_digit(key, at, n_cells, shift, start, key_out, at_out):
    """One pass of a radix sort, stable."""
    mask = (1 << DIGIT) - 1
    start[:] = 0
    for k in range(n_cells):
        start[(key[k] >> shift) & mask] += 1
    total = 0
    for digit in range(start.shape[0]):
        count = start[digit]
        start[digit] = total
        total += count
    for k in range(n_cells):
        digit = (key[k] >> shift) & mask
        key_out[start[digit]] = key[k]
        at_out[start[digit]] = at[k]
        start[digit] += 1


@njit(nogil=True, cache=True)
def add_at(met, place, slope, by_mean, square, slope_out):
    """Give columns of a batch their own numbers back, and all columns the share of the means."""
    for k in range(met.shape[0]):
        slope_out[met[k]] += slope[place[k]]
    for j in range(square.shape[0]):
        slope_out[j] += by_mean * square[j]


@njit(nogil=True, cache=True)
def take_at(met, place, s, m, s_out, m_out):
    """Values of the columns of a batch."""
    for k in range(met.shape[0]):
        s_out[place[k]] = s[met[k]]
        m_out[place[k]] = m[met[k]]
