"""Features between in and out: the squashing function, and Adam on what it squashes.

s = sigmoid(2 v), and v > 0 means selected. One loop over features does all of an update, so that
a million features cost as few passes over memory as can be.

Notation
--------
j           feature, or group of features that go together
v, s        what is searched, and what the estimator sees
first, second   Adam's moments of the gradient
"""

import math

from numba import njit

BETA_1 = 0.9
BETA_2 = 0.999
EPSILON = 1e-8


@njit(nogil=True, cache=True)
def squash(v, s_out):
    """S = 1 / (1 + exp(-2 v)); kept features have v = inf, and columns left out v = -inf."""
    for j in range(v.shape[0]):
        s_out[j] = 1.0 / (1.0 + math.exp(-2.0 * v[j]))


@njit(nogil=True, cache=True)
def adam_step(slope, price, rate, n_steps, bound, start, stop, v, first, second, s):
    """One update of v by Adam from the slopes by s, and the new s.

    ``price`` is the slope of the penalty by s; ``n_steps`` counts from 1; v stays within the bound.
    Where s (1 - s) is zero the gradient is, and v stays as it is.
    """
    by_first = 1.0 / (1.0 - BETA_1**n_steps)
    by_second = 1.0 / (1.0 - BETA_2**n_steps)
    for j in range(start, stop):
        g = (slope[j] + price[j]) * 2.0 * s[j] * (1.0 - s[j])
        m = BETA_1 * first[j] + (1.0 - BETA_1) * g
        u = BETA_2 * second[j] + (1.0 - BETA_2) * g * g
        first[j] = m
        second[j] = u
        if g != 0.0:
            moved = v[j] - rate * m * by_first / (math.sqrt(u * by_second) + EPSILON)
            v[j] = min(max(moved, -bound), bound)
            s[j] = 1.0 / (1.0 + math.exp(-2.0 * v[j]))
