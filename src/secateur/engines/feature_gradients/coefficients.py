"""Coefficients of the learnability estimator, orders 1 to 12, and the divisors of a batch."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from secateur._kernels.learnability import symmetric_sums
from secateur.typing import FloatArray

COEFFICIENTS: dict[int, tuple[float, ...]] = {
    1: (0.60355337,),
    2: (1.52705001, -0.34841729),
    3: (2.90254224, -1.87216745, 0.0),
    4: (4.63445685, -5.19936195, 0.0, 1.50391676),
    5: (6.92948049, -14.12216211, 9.4475009, 0.0, -1.21093546),
    6: (9.54431082, -28.09414643, 31.84703652, -11.18763791, -1.14175281, 0.0),
    7: (12.54505041, -49.64891525, 79.78828031, -46.72250909, 0.0, 0.0, 5.02973646),
    8: (
        *(16.03550163, -84.286182, 196.86078756, -215.36747071, 92.63961263),
        *(0.0, 0.0, -4.86280869),
    ),
    9: (
        *(19.86409184, -130.76801006, 390.95349861, -570.09210416, 354.77764899),
        *(0.0, -73.84234865, 0.0, 10.09148767),
    ),
    10: (
        *(24.1117752, -194.946061, 734.214614, -1428.51995, 1415.6741),
        *(-581.738134, 0.0, 0.0, 31.1664751, 1.05018365),
    ),
    11: (
        *(28.75280839, -279.22576729, 1280.46325445, -3104.47148101, 3990.6092248),
        *(-2300.29413333, 0.0, 427.35289033, 0.0, 0.0, -42.17587475),
    ),
    12: (
        *(33.85141912, -391.4229382, 2184.97827882, -6716.28280208, 11879.75233977),
        *(-11739.97267239, 5384.94542245, 0.0, -674.23291712, 0.0, 0.0, 39.37456439),
    ),
}
"""a_i of Eq. 1, by order: a polynomial that approximates 1 / x for eigenvalues from 0 to 1."""


class Chain(NamedTuple):
    """Divisors of the sums over chains of rows, one factor per link.

    The sum over chains of m rows is divided by e_m, the sum of the products of the weights of m
    rows; e_m = binom(N, m) if all weights are one. Both grow like N^m and would overflow, so link q
    of a chain is divided by ``step[q]`` = e_(q+2) / e_(q+1). Further

        z = sum_i value[i] <w y, r_(i+1)>
        W_p = w sum_q slope[p, q] r_q; dz/ds_j = sum_p <W_p x_j, E_p[j]>
    """

    step: FloatArray
    value: FloatArray
    slope: FloatArray


def chain_of(order: int, weight: FloatArray, scale: float = 1.0) -> Chain:
    """The divisors of one batch; ``scale`` divides X diag(s) X', and so each link."""
    n, sums = len(weight), np.zeros(order + 2)
    sums[0] = 1.0
    if (weight == 1.0).all():  # binomials
        sums[1:] = np.cumprod([float(n), *((n - m) / (m + 1) for m in range(1, order + 1))])
    else:
        symmetric_sums(weight, sums)
    return _chain(order, tuple(sums[1:].tolist()), scale)


@lru_cache(maxsize=256)
def _chain(order: int, sums: tuple[float, ...], scale: float) -> Chain:
    """The divisors from e_1, e_2, ..., which are the same for most batches."""
    step = np.array(sums[1:]) / np.array(sums[:-1])
    a = np.array(COEFFICIENTS[order])
    slope = np.zeros((order, order))
    for p in range(order):
        for q in range(order - p):
            # T^p on one side, T^q on the other, and one link between them
            left, both = np.prod(step[:p]), np.prod(step[q : p + q + 1])
            slope[p, q] = a[p + q] * left / both / sums[0] / scale
    return Chain(scale * step, a / sums[0], slope)
