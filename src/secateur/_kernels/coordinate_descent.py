"""The inner problem of grafting: a quadratic plus absolute values, over the free weights.

    minimise over w   q0'(w - w0) + (w - w0)' H (w - w0) / 2 + sum_j t_j |w_j|

Notation
--------
H       Gram matrix of the free columns, ridge on its diagonal
q       gradient of the quadratic at w
t       threshold of each weight, l1 times its alpha
w       weights, changed in place
violation   how far the subgradient is from zero: |q + t sign(w)|, or |q| - t at w = 0

On the Gram matrix: coordinate descent with Newton steps on the weights that are not zero. Where the
matrix would be too large: coordinate descent on the columns, with r = gradient of every row.
"""

import math

import numpy as np
from numba import njit

from secateur._kernels.columns import SUMS

HAIR = 1e-12  # a weight leaves zero only for more than rounding
INEXACT = 0.1  # how much of the violations a Newton step on columns may leave to the next


@njit(cache=True, nogil=True)
def violation_of(q, t, w):
    if w > 0.0:
        return abs(q + t)
    if w < 0.0:
        return abs(q - t)
    return max(abs(q) - t, 0.0)


@njit(cache=True, nogil=True)
def best_value(q, t, w, curvature):
    """The weight that minimises along one coordinate."""
    u = w - q / curvature
    s = t / curvature
    if w == 0.0 and abs(q) <= t * (1.0 + HAIR):
        return 0.0
    if u > s:
        return u - s
    if u < -s:
        return u + s
    return 0.0


@njit(cache=True, nogil=True, fastmath=SUMS)
def sweep_gram(H, q, t, w):
    """One round over all weights; the largest violation that was met."""
    worst = 0.0
    for j in range(w.shape[0]):
        worst = max(worst, violation_of(q[j], t[j], w[j]))
        if H[j, j] <= 0.0:
            continue
        change = best_value(q[j], t[j], w[j], H[j, j]) - w[j]
        if change != 0.0:
            w[j] += change
            for k in range(w.shape[0]):
                q[k] += change * H[j, k]
    return worst


@njit(cache=True, nogil=True, fastmath=SUMS)
def factor(M):
    """Cholesky in place, lower part; False where the matrix is as good as singular."""
    for i in range(M.shape[0]):
        diagonal = M[i, i]
        for j in range(i + 1):
            total = M[i, j]
            for k in range(j):
                total -= M[i, k] * M[j, k]
            if j < i:
                M[i, j] = total / M[j, j]
            elif total <= 1e-13 * diagonal or diagonal <= 0.0:
                return False
            else:
                M[i, i] = math.sqrt(total)
    return True


@njit(cache=True, nogil=True, fastmath=SUMS)
def solve_factored(M, x):
    """Solve M M' y = x in place."""
    n = x.shape[0]
    for i in range(n):
        total = x[i]
        for k in range(i):
            total -= M[i, k] * x[k]
        x[i] = total / M[i, i]
    for i in range(n - 1, -1, -1):
        x[i] /= M[i, i]
        for k in range(i):
            x[k] -= M[i, k] * x[i]


@njit(cache=True, nogil=True, fastmath=SUMS)
def newton_on_support(H, q, t, w):
    """Minimise over the non-zero weights, up to a sign change; False where it is not solvable."""
    support = np.flatnonzero(w)
    n = support.shape[0]
    if n == 0:
        return False
    M = np.empty((n, n))
    step = np.empty(n)
    for a in range(n):
        j = support[a]
        for b in range(a + 1):
            M[a, b] = H[j, support[b]]
        step[a] = -(q[j] + math.copysign(t[j], w[j]))
    if not factor(M):
        return False
    solve_factored(M, step)
    part, crossing = 1.0, -1
    for a in range(n):
        j = support[a]
        if (w[j] + step[a]) * w[j] <= 0.0 and t[j] > 0.0 and -w[j] / step[a] < part:
            part, crossing = -w[j] / step[a], a
    for a in range(n):
        j = support[a]
        change = -w[j] if a == crossing else part * step[a]
        w[j] = 0.0 if a == crossing else w[j] + change
        for k in range(w.shape[0]):
            q[k] += change * H[j, k]
    return True


@njit(cache=True, nogil=True)
def descend_gram(H, q, t, w, tol, max_sweeps):
    """Minimise on a Gram matrix until no violation is above ``tol``; the number of sweeps."""
    pause = 3
    can_solve = True
    for sweep in range(1, max_sweeps + 1):
        worst = sweep_gram(H, q, t, w)
        if worst <= tol:
            return sweep
        if can_solve and sweep % pause == 0:
            can_solve = newton_on_support(H, q, t, w)
            # a factorisation of n weights costs as much as about n / 10 sweeps
            pause = 3 + np.count_nonzero(w) // 10
    return max_sweeps


@njit(cache=True, nogil=True, fastmath=SUMS)
def descend_dense(X, features, mean, inverse, d, ridge, t, fit_intercept, tol, max_sweeps, r, w):
    """Minimise on dense columns; r is the gradient of rows, d their curvature.

    Ends where violations are below ``tol``, or below a tenth of those at the start. Returns the
    change of the intercept, and the largest violation at the start; r and w change in place.
    """
    n_rows, moved, at_start = X.shape[1], 0.0, 0.0
    total_d = d.sum()
    curvature = np.empty(features.shape[0])
    for a in range(features.shape[0]):
        j, total = features[a], 0.0
        for i in range(n_rows):
            x = X[j, i] - mean[j]
            total += d[i] * x * x
        curvature[a] = total * inverse[j] * inverse[j] + ridge[a]
    for sweep in range(max_sweeps):
        worst = 0.0
        if fit_intercept and total_d > 0.0:
            total = 0.0
            for i in range(n_rows):
                total += r[i]
            worst = abs(total)
            change = -total / total_d
            moved += change
            for i in range(n_rows):
                r[i] += d[i] * change
        for a in range(features.shape[0]):
            if curvature[a] <= 0.0:
                continue
            j, total = features[a], 0.0
            for i in range(n_rows):
                total += (X[j, i] - mean[j]) * r[i]
            q = total * inverse[j] + ridge[a] * w[a]
            worst = max(worst, violation_of(q, t[a], w[a]))
            change = best_value(q, t[a], w[a], curvature[a]) - w[a]
            if change != 0.0:
                w[a] += change
                change *= inverse[j]
                for i in range(n_rows):
                    r[i] += d[i] * change * (X[j, i] - mean[j])
        if sweep == 0:
            at_start = worst
        if worst <= max(tol, INEXACT * at_start) and (sweep > 0 or worst <= tol):
            break
    return moved, at_start


@njit(cache=True, nogil=True, fastmath=SUMS)
def _sparse_sums(indptr, indices, values, features, mean, inverse, d, total_d, ridge):
    """For each column the sum of d x, and its curvature."""
    first = np.zeros(features.shape[0])
    curvature = np.empty(features.shape[0])
    for a in range(features.shape[0]):
        j, second, m = features[a], 0.0, mean[features[a]]
        for cell in range(indptr[j], indptr[j + 1]):
            x, i = values[cell], np.uint32(indices[cell])
            first[a] += d[i] * x
            second += d[i] * x * x
        spread = second - 2.0 * m * first[a] + m * m * total_d
        curvature[a] = max(spread, 0.0) * inverse[j] * inverse[j] + ridge[a]
    return first, curvature


@njit(cache=True, nogil=True, fastmath=SUMS)
def descend_sparse(
    indptr, indices, values, features, mean, inverse, d, ridge, t, fit_intercept, tol, max_sweeps,
    r, w,
):  # fmt: skip
    """As descend_dense by stored cells; centring adds c to all rows: r + c d is the gradient."""
    total_d, moved, c, at_start = d.sum(), 0.0, 0.0, 0.0
    total_r = r.sum()
    first, curvature = _sparse_sums(
        indptr, indices, values, features, mean, inverse, d, total_d, ridge
    )
    for sweep in range(max_sweeps):
        worst = 0.0
        if fit_intercept and total_d > 0.0:
            worst = abs(total_r)
            change = -total_r / total_d
            moved += change
            c += change
            total_r = 0.0
        for a in range(features.shape[0]):
            if curvature[a] <= 0.0:
                continue
            j, total = features[a], c * first[a]
            for cell in range(indptr[j], indptr[j + 1]):
                total += values[cell] * r[np.uint32(indices[cell])]
            q = (total - mean[j] * total_r) * inverse[j] + ridge[a] * w[a]
            worst = max(worst, violation_of(q, t[a], w[a]))
            change = best_value(q, t[a], w[a], curvature[a]) - w[a]
            if change != 0.0:
                w[a] += change
                change *= inverse[j]
                for cell in range(indptr[j], indptr[j + 1]):
                    i = np.uint32(indices[cell])
                    r[i] += d[i] * change * values[cell]
                c -= change * mean[j]
                total_r += change * (first[a] - mean[j] * total_d)
        if sweep == 0:
            at_start = worst
        if worst <= max(tol, INEXACT * at_start) and (sweep > 0 or worst <= tol):
            break
    return moved, at_start
