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
def add_at(met, slope, slope_out):
    """Give the columns of a batch back their own numbers."""
    for k in range(met.shape[0]):
        slope_out[met[k]] += slope[k]


@njit(nogil=True, cache=True)
def take_at(met, s, m, s_out, m_out):
    """Values of the columns of a batch."""
    for k in range(met.shape[0]):
        s_out[k] = s[met[k]]
        m_out[k] = m[met[k]]
