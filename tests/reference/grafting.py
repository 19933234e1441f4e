"""Grafting as in the paper: plain numpy, one weight at a time.

Notation: X standardised (m rows, n features), y the target, W row weights of sum one, F the free
weights, Z those at zero, L the mean loss, C the criterion of Eq. 7 with alphas ``a``.
"""

from __future__ import annotations

import itertools

import numpy as np


def standardised(X, W):
    mean = W @ X
    spread = np.sqrt(W @ (X - mean) ** 2)
    return (X - mean) / np.where(spread > 1e-12, spread, np.inf)


def loss_value(kind, y, f):
    if kind == "squared":
        return (y - f) ** 2 / 2
    if kind == "logistic":
        rho = np.where(y == 1, 1.0, -1.0) * f
        return np.logaddexp(0.0, -rho)
    return np.logaddexp.reduce(f, axis=1) - f[np.arange(len(y)), y.astype(int)]


def loss_slope(kind, y, f):
    if kind == "squared":
        return f - y
    if kind == "logistic":
        return 1.0 / (1.0 + np.exp(-f)) - y
    p = np.exp(f - np.logaddexp.reduce(f, axis=1)[:, None])
    p[np.arange(len(y)), y.astype(int)] -= 1.0
    return p


def criterion(kind, X, y, W, w, b, l1=0.0, l2=0.0, l0=0.0, a=None, price=None):
    """Eq. 7; w of shape (n,), or (n, classes)."""
    a = np.ones(X.shape[1]) if a is None else a
    price = a if price is None else price
    used = w != 0 if w.ndim == 1 else w.any(axis=1)
    pay = l1 * (a @ np.abs(w)).sum() + l2 * (a @ w**2).sum() + l0 * price[used].sum()
    return W @ loss_value(kind, y, X @ w + b) + pay


def optimise(kind, X, y, W, F, l1, l2, a):
    """Minimise C over the weights of F and the bias: proximal gradient with momentum (FISTA)."""
    F = np.asarray(F, dtype=int)
    Z = np.column_stack([X[:, F], np.ones(len(X))])
    t, ridge = np.append(l1 * a[F], 0.0), np.append(2 * l2 * a[F], 0.0)
    bound = {"squared": 1.0, "logistic": 0.25, "multinomial": 0.5}[kind]
    rate = 1.0 / (bound * np.linalg.eigvalsh(Z.T @ (W[:, None] * Z))[-1] + ridge.max())
    shape = (len(t), int(y.max()) + 1) if kind == "multinomial" else (len(t),)
    t, ridge = (v.reshape(-1, *[1] * (len(shape) - 1)) for v in (t, ridge))
    rows = W[:, None] if kind == "multinomial" else W
    w = ahead = np.zeros(shape)
    speed, still = 1.0, 0
    for _ in range(30_000):
        gradient = Z.T @ (rows * loss_slope(kind, y, Z @ ahead)) + ridge * ahead
        raw = ahead - rate * gradient
        new = np.sign(raw) * np.maximum(np.abs(raw) - rate * t, 0.0)
        if ((ahead - new) * (new - w)).sum() > 0:  # momentum against the slope: restart
            speed = 1.0
        faster = (1.0 + np.sqrt(1.0 + 4.0 * speed**2)) / 2.0
        ahead = new + (speed - 1.0) / faster * (new - w)
        still = still + 1 if np.abs(new - w).max() < 1e-13 * (1 + np.abs(new).max()) else 0
        w, speed = new, faster
        if still == 3:
            break
    full = np.zeros((X.shape[1], *shape[1:]))
    full[F] = w[:-1]
    return full, w[-1]


def graft_l1(kind, X, y, W, l1, l2=0.0, a=None, tol=1e-7):
    """Section 3.2.1: free the weight with the largest |dC/dw|, optimise, until none is left."""
    n = X.shape[1]
    a = np.ones(n) if a is None else a
    F = []
    w, b = optimise(kind, X, y, W, F, l1, l2, a)
    while True:
        G = X.T @ (W * loss_slope(kind, y, X @ w + b))
        excess = np.abs(G) - l1 * a
        excess[F] = -np.inf
        if len(F) == n or excess.max() <= tol:
            return w, b, F
        F = [*F, int(excess.argmax())]
        w, b = optimise(kind, X, y, W, F, l1, l2, a)


def graft_l0(kind, X, y, W, l1, l0, price, retries=0, a=None):
    """Sections 3.2.2 and 3.2.3: choose by the bound of Eq. 9, undo where the criterion rises.

    ``a`` are the alphas of L1, ``price`` those of L0.
    """
    a = price if a is None else a
    n = X.shape[1]
    F, newest = [], None
    w, b = optimise(kind, X, y, W, F, l1, 0.0, a)
    C = criterion(kind, X, y, W, w, b, l1, l0=l0, a=a, price=price)
    states = [(tuple(F), C)]
    while True:
        f = X @ w + b
        G = X.T @ (W * loss_slope(kind, y, f))
        excess = np.abs(G) - l1 * a
        Z = [j for j in range(n) if j not in F and excess[j] > 0]
        if newest is None:
            p = 1 / (1 + np.exp(-f))
            curvature = 1.0 if kind == "squared" else W @ (p * (1 - p))
            newest = max((excess[j] for j in Z), default=0.0) / curvature
        bound = {j: l0 * price[j] - newest * excess[j] for j in Z}
        for j in sorted(Z, key=lambda j: bound[j])[: retries + 1]:
            w_new, b_new = optimise(kind, X, y, W, [*F, j], l1, 0.0, a)
            C_new = criterion(kind, X, y, W, w_new, b_new, l1, l0=l0, a=a, price=price)
            if C_new < C - 1e-10 * abs(states[0][1]):
                break
        else:
            return w, b, states
        F, w, b, C = [*F, j], w_new, b_new, C_new
        newest = abs(w[j]) or newest
        states.append((tuple(F), C))


def best_subset(kind, X, y, W, l1, l0, price):
    """Exhaustive search: the set of features with the least criterion."""
    n, best = X.shape[1], (np.inf, ())
    for size in range(n + 1):
        for F in itertools.combinations(range(n), size):
            w, b = optimise(kind, X, y, W, list(F), l1, 0.0, price)
            best = min(best, (criterion(kind, X, y, W, w, b, l1, l0=l0, a=price), F))
    return best


def g(a):
    """The transfer function of Section 3.3.2."""
    return 2.0 / (1.0 + np.exp(-a)) - 1.0


def network_output(X, connections, hidden_bias, unit_output, output_bias):
    """f_k(x), one unit after the other; ``connections`` are (feature, unit, weight)."""
    f = np.tile(output_bias, (len(X), 1)).astype(float)
    for h, bias in enumerate(hidden_bias):
        inner = np.full(len(X), bias, dtype=float)
        for j, unit, weight in connections:
            if unit == h:
                inner += weight * X[:, j]
        f[:, unit_output[h]] += g(inner)
    return f


def limited(kind, X, y, W, q, limit):
    """Eq. 5 by a general solver: w split in two parts of one sign, so that |w| is smooth."""
    from scipy.optimize import minimize

    n = X.shape[1]

    def loss(v):
        return W @ loss_value(kind, y, X @ (v[:n] - v[n:-1]) + v[-1])

    def slope(v):
        pull = X.T @ (W * loss_slope(kind, y, X @ (v[:n] - v[n:-1]) + v[-1]))
        return np.concatenate(
            [pull, -pull, [W @ loss_slope(kind, y, X @ (v[:n] - v[n:-1]) + v[-1])]]
        )

    bound = {"type": "ineq", "fun": lambda v: limit - (v[:-1] ** q).sum()}
    start = np.append(np.full(2 * n, 1e-3), W @ y if kind == "squared" else 0.0)
    bounds = [(0.0, None)] * (2 * n) + [(None, None)]
    options = {"maxiter": 2000, "ftol": 1e-14}
    found = minimize(
        loss, start, jac=slope, method="SLSQP", bounds=bounds, constraints=bound, options=options
    )
    return found.x[:n] - found.x[n:-1], loss(found.x)


def _program(X, W, l1, rows, right):
    """Least sum W xi + l1 sum |w|, with ``rows @ (w+, w-, b, xi) <= right``; the least value."""
    from scipy.optimize import linprog

    m, n = X.shape
    cost = np.concatenate([np.full(2 * n, l1), [0.0], W])
    bounds = [(0, None)] * (2 * n) + [(None, None)] + [(0, None)] * m
    return linprog(cost, A_ub=rows, b_ub=right, bounds=bounds).fun


def hinge_program(X, y, W, l1):
    """The L1 hinge problem as a linear program: xi >= 1 - y f(x), xi >= 0."""
    sign = np.where(y == 1, 1.0, -1.0)[:, None]
    rows = np.hstack([-sign * X, sign * X, -sign, -np.eye(len(X))])
    return _program(X, W, l1, rows, -np.ones(len(X)))


def epsilon_program(X, y, W, l1, epsilon):
    """The L1 epsilon-insensitive problem as a linear program: xi >= |y - f(x)| - epsilon."""
    m, ones = len(X), np.ones((len(X), 1))
    above = np.hstack([-X, X, -ones, -np.eye(m)])  # y - f - epsilon <= xi
    below = np.hstack([X, -X, ones, -np.eye(m)])
    right = np.concatenate([epsilon - y, epsilon + y])
    return _program(X, W, l1, np.vstack([above, below]), right)
