"""What estimates on dense and on sparse rows share: batches, lanes, and room to work in.

z(s) = sum_i a_i / binom(N, i + 2) y' T^(i + 1) y, T = triud(X diag(s) X') / scale, as in Eq. 1.

``back`` and ``forth`` are r_q = T^q y and l_p = (T')^p y; ``given`` and ``carried`` are what each
row gives to the slopes of its columns, W, and what it leaves for later rows, w l.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from secateur._engines.feature_gradients.coefficients import Chain
from secateur._kernels.threads import Threads
from secateur.typing import AnyArray, FloatArray, IntArray

PRECISE = 7
"""From this order on the coefficients are so large that carries are float64."""

MANY_CELLS = 20_000
"""Below so many cells two threads take longer to meet than one to do the work."""


def share(threads: Threads, task: Callable[[int, int], object], n_cells: int) -> None:
    """Two tasks, side by side if there is enough to do; the result is the same."""
    if n_cells < MANY_CELLS:
        task(0, 0)
        task(0, 1)
    else:
        threads.share(task, 2)


class Batch(NamedTuple):
    """Some rows in the order of the chains: numbers, targets (targets, N) and weights (N,)."""

    rows: IntArray
    y: FloatArray
    weight: FloatArray


def signals_of(chain: Chain, batch: Batch, r: FloatArray) -> FloatArray:
    """The z of each target from r of shape (targets, order + 1, N)."""
    links: FloatArray = np.einsum("tqn,tn->tq", r[:, 1:], batch.weight * batch.y)
    z: FloatArray = links @ chain.value
    return z


def factors_of(
    chain: Chain, batch: Batch, back: FloatArray, forth: FloatArray, by_z: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """What rows give and what they carry, in all lanes: shape (targets * order, N)."""
    order, n = len(chain.step), len(batch.rows)
    given = np.einsum("pq,tqn->tpn", chain.slope, back[:, :order]) * batch.weight
    given *= by_z[:, None, None]
    carried = forth * batch.weight
    return given.reshape(-1, n), carried.reshape(-1, n)


class Room:
    """Arrays that are made once: new memory would have to be fetched page by page."""

    def __init__(self) -> None:
        self._held: dict[str, AnyArray] = {}

    def array(self, name: str, shape: tuple[int, ...], kind: Any = np.float64) -> AnyArray:
        """An array of this shape, with whatever it held before."""
        size = int(np.prod(shape))
        held = self._held.get(name)
        if held is None or held.size < size or held.dtype != kind:
            held = self._held[name] = np.empty(size + size // 4, kind)
        return held[:size].reshape(shape)

    def zeros(self, name: str, shape: tuple[int, ...], kind: Any = np.float64) -> AnyArray:
        """The same, filled with zeros."""
        array = self.array(name, shape, kind)
        array[:] = 0
        return array
