"""The estimated signal of a soft set of features on batches of dense rows, and its slopes."""

from __future__ import annotations

import numpy as np

from secateur._data.centred import DenseRows
from secateur._engines.feature_gradients.batches import (
    PRECISE,
    Batch,
    Room,
    factors_of,
    share,
    signals_of,
)
from secateur._engines.feature_gradients.coefficients import Chain, chain_of
from secateur._engines.feature_gradients.curves import Curve
from secateur._kernels import learnability as dense
from secateur._kernels.threads import Threads
from secateur.typing import AnyArray, FloatArray


class DenseEstimator:
    """For dense rows: walks from both ends side by side, then slopes of features in parts."""

    def __init__(self, rows: DenseRows, order: int, scale: float, threads: Threads) -> None:
        self._X = rows.X
        self._order = order
        self._scale = scale
        self._threads = threads
        self._type = np.float64 if order >= PRECISE else np.float32
        self._room = Room()
        self._s = np.ones(self._X.shape[1], self._type)
        self._slope = np.zeros(self._X.shape[1])

    def see(self, s: FloatArray) -> None:
        """Ask at this s from now on."""
        self._s = s.astype(self._type)

    def signals(self, batch: Batch) -> FloatArray:
        """The z of each target."""
        chain = chain_of(self._order, batch.weight, self._scale)
        return signals_of(chain, batch, self._walk(batch, self._s, chain, -1))

    def slopes(self, batch: Batch, curve: Curve) -> FloatArray:
        """The z of each target; d(mean curve)/ds waits to be collected."""
        chain = chain_of(self._order, batch.weight, self._scale)
        found: list[FloatArray] = [np.empty(0)] * 2

        def walk(_: int, way: int) -> None:
            found[way] = self._walk(batch, self._s, chain, 1 if way else -1)

        share(self._threads, walk, len(batch.rows) * len(self._s))
        z = signals_of(chain, batch, found[0])
        lanes = factors_of(chain, batch, found[0], found[1], curve.slope(z))
        given, carried = (lane.astype(self._type) for lane in lanes)
        slope = self._room.array("slope", self._s.shape, self._type)

        def part(start: int, stop: int) -> None:
            carry = np.empty((len(given), dense.TILE), self._type)
            dense.slopes_by_feature(self._X, batch.rows, given, carried, start, stop, carry, slope)

        self._threads.run(part, len(self._s), dense.TILE)
        self._slope += slope / np.float64(len(z))
        return z

    def collect(self) -> FloatArray:
        """The slopes of all batches since they were last collected."""
        collected, self._slope = self._slope, np.zeros_like(self._slope)
        return collected

    def _walk(self, batch: Batch, s: AnyArray, chain: Chain, way: int) -> FloatArray:
        """R (way -1, from the last row) or l (way 1, one link fewer), in the order of the batch."""
        step = chain.step if way < 0 else chain.step[:-1].copy()
        y = np.ascontiguousarray(batch.y[:, ::way])
        r = np.zeros((len(y), len(step) + 1, len(batch.rows)))
        r[:, 0] = y
        if len(step):
            carry = self._room.zeros(f"carry {way}", (len(y) * len(step), len(s)), self._type)
            rows, weight = batch.rows[::way].copy(), batch.weight[::way].copy()
            dense.walk_chains(self._X, rows, s, y, weight, step, carry, r)
        return r[:, :, ::way]
