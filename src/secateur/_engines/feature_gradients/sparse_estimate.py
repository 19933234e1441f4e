"""The estimated signal of a soft set of features on batches of sparse rows, and its slopes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from secateur._data.centred import SparseRows
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
from secateur._kernels import sparse_learnability as sparse
from secateur._kernels.threads import Threads
from secateur.typing import AnyArray, FloatArray, IntArray


class _Part(NamedTuple):
    """The rows of a batch with its columns renumbered, and the columns that it met."""

    ptr: IntArray
    number: AnyArray
    z: AnyArray
    zs: AnyArray
    u: FloatArray
    met: AnyArray
    mean: AnyArray


class SparseEstimator:
    """For sparse rows, centred in thought: work and memory of a batch go with its stored cells."""

    def __init__(self, rows: SparseRows, order: int, scale: float, threads: Threads) -> None:
        self._rows = rows
        self._order = order
        self._scale = scale
        self._threads = threads
        self._type: Any = np.float64 if order >= PRECISE else np.float32
        self._room = Room()
        self._card = np.zeros((len(rows.mean), sparse.FOUR), self._type)
        self._number = self._card.view(np.int64 if order >= PRECISE else np.int32)
        self._number[:, sparse.NUMBER] = -1
        self._base = 0
        self._by_mean = 0.0
        self._slope, self._slope_by_means = np.zeros(len(rows.mean)), 0.0

    def see(self, s: FloatArray) -> None:
        """Ask at this s from now on."""
        self._by_mean = sparse.fill_cards(s, self._rows.mean, self._card)

    def signals(self, batch: Batch) -> FloatArray:
        """The z of each target."""
        chain = chain_of(self._order, batch.weight, self._scale)
        return signals_of(chain, batch, self._walk(self._part(batch), batch, chain, -1))

    def slopes(self, batch: Batch, curve: Curve) -> FloatArray:
        """The z of each target; d(mean curve)/ds waits to be collected."""
        chain = chain_of(self._order, batch.weight, self._scale)
        part = self._part(batch)
        found: list[FloatArray] = [np.empty(0)] * 2

        def walk(_: int, way: int) -> None:
            found[way] = self._walk(part, batch, chain, 1 if way else -1)

        share(self._threads, walk, len(part.z))
        z = signals_of(chain, batch, found[0])
        given, carried = factors_of(chain, batch, found[0], found[1], curve.slope(z) / len(z))
        before = np.cumsum(carried, axis=1) - carried
        after = np.cumsum(given[:, ::-1], axis=1)[:, ::-1] - given
        by_means = (given * before).sum(axis=0)
        self._slope_by_means += by_means.sum()
        centre = by_means + (carried * after).sum(axis=0)
        self._add_slopes(part, given, carried, centre)
        return z

    def collect(self) -> FloatArray:
        """The slopes of all batches since they were last collected."""
        collected = self._slope
        collected += self._slope_by_means * (self._rows.mean * self._rows.mean)
        self._slope, self._slope_by_means = np.zeros_like(collected), 0.0
        return collected

    def _add_slopes(
        self, part: _Part, given: FloatArray, carried: FloatArray, centre: FloatArray
    ) -> None:
        """Slopes of the columns of a batch; the rows in two halves, whatever the threads."""
        fours = [self._in_fours(lanes) for lanes in (given, carried)]
        n_fours, n = len(fours[0]), len(part.met)
        middle = int(np.searchsorted(part.ptr, part.ptr[-1] // 2))
        kept = self._room.zeros("kept", (2, n_fours, n, sparse.FOUR), self._type)
        slopes = self._room.zeros("slopes", (2, n), self._type)
        centres = np.zeros((n_fours, len(centre)), self._type)
        centres[0] = centre  # once, not with each four of lanes

        def of_half(_: int, high: int) -> None:
            walk = (len(centre) - 1, middle - 1, -1) if high else (0, middle, 1)
            give, keep = fours[::-1] if high else fours
            for f in range(n_fours):
                sparse.sparse_slopes(
                    part.ptr, part.number, part.z, part.mean, *walk, give[f], keep[f], centres[f],
                    kept[high, f], slopes[high],
                )  # fmt: skip

        share(self._threads, of_half, len(part.z))
        sparse.join_halves(part.met, kept[0], kept[1], slopes, self._slope)

    def _in_fours(self, lanes: FloatArray) -> AnyArray:
        """Lanes (lanes, N) as (fours, N, FOUR), filled up with zeros."""
        n_fours = -(-len(lanes) // sparse.FOUR)
        filled = np.zeros((n_fours * sparse.FOUR, lanes.shape[1]), self._type)
        filled[: len(lanes)] = lanes
        apart = filled.reshape(n_fours, sparse.FOUR, -1)
        return np.ascontiguousarray(apart.transpose(0, 2, 1))

    def _part(self, batch: Batch) -> _Part:
        indptr, indices, data, _ = self._rows
        n_cells = int((indptr[batch.rows + 1] - indptr[batch.rows]).sum())
        if self._base > np.iinfo(np.int32).max - n_cells:
            self._number[:, sparse.NUMBER] = -1
            self._base = 0
        room, shape = self._room, (n_cells,)
        ptr, u = np.empty(len(batch.rows) + 1, np.int64), np.empty(len(batch.rows))
        index, met = (room.array(name, shape, np.int32) for name in ("index", "met"))
        z = room.array("z", shape, np.float32)
        zs, mean = (room.array(name, shape, self._type) for name in ("zs", "mean"))
        n_met = sparse.renumber(
            indptr, indices, data, batch.rows, self._card, self._number, self._base,
            ptr, index, z, zs, u, met, mean,
        )  # fmt: skip
        self._base += n_met
        return _Part(ptr, index, z, zs, u, met[:n_met], mean[:n_met])

    def _walk(self, part: _Part, batch: Batch, chain: Chain, way: int) -> FloatArray:
        step = chain.step if way < 0 else chain.step[:-1].copy()
        r = np.zeros((len(batch.y), len(step) + 1, len(batch.rows)))
        r[:, 0] = batch.y
        if len(step):
            n_fours = -(-len(batch.y) * len(step) // sparse.FOUR)
            shape = (n_fours, len(part.met), sparse.FOUR)
            carry = self._room.zeros(f"carry {way}", shape, self._type)
            sparse.walk_sparse_chains(
                part.ptr, part.number, part.z, part.zs, part.u, self._by_mean, batch.y,
                batch.weight, step, way < 0, carry, r,
            )  # fmt: skip
        return r
