"""The estimator of learnability, whatever the rows are.

z(s) = sum_i a_i / binom(N, i + 2) y' T^(i + 1) y, T = triud(X diag(s) X') / scale, as in Eq. 1.

``back`` and ``forth`` are r_q = T^q y and l_p = (T')^p y; ``given`` and ``carried`` are what each
row gives to the slopes of its columns, W, and what it leaves for later rows, w l.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from secateur._kernels import learnability as dense
from secateur._kernels import sparse_learnability as sparse
from secateur._kernels.threads import Threads
from secateur.data.centred import Centred, DenseRows, SparseRows
from secateur.engines.feature_gradients.coefficients import Chain, chain_of
from secateur.engines.feature_gradients.targets import Curve
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


class Estimator(Protocol):
    """Signals and slopes of batches; both kinds of rows have one.

    ``see`` tells how much each column is in; batches after it are asked at that. Slopes of batches
    add up until they are collected, so what takes a pass over all columns is done once an update.
    """

    def see(self, s: FloatArray) -> None:
        """Set how much each column is in."""
        ...

    def signals(self, batch: Batch) -> FloatArray:
        """Estimated signal of each target on one batch."""
        ...

    def slopes(self, batch: Batch, curve: Curve) -> FloatArray:
        """Estimated signals, and add the slopes of one batch to those kept."""
        ...

    def collect(self) -> FloatArray:
        """Give the slopes kept so far, and start again at zero."""
        ...


@runtime_checkable
class ManyBatches(Protocol):
    """An estimator that takes the batches of an update all at once."""

    def all_slopes(self, batches: Sequence[Batch], curve: Curve) -> list[FloatArray]:
        """Apply ``slopes`` to all batches of an update."""
        ...


def slopes_of_all(estimator: Estimator, batches: Sequence[Batch], curve: Curve) -> list[FloatArray]:
    """The z of each target of every batch; side by side, where the estimator can."""
    if len(batches) > 1 and isinstance(estimator, ManyBatches):
        return estimator.all_slopes(batches, curve)
    return [estimator.slopes(batch, curve) for batch in batches]


def estimator_of(columns: Centred, order: int, scale: float, threads: Threads) -> Estimator:
    """The estimator for dense or sparse rows.

    Parameters
    ----------
    columns : Centred
    order : int
    scale : float
        The top eigenvalue of the covariance: the spectrum of what the polynomial sees is then
        between 0 and 1.
    threads : Threads
    """
    if isinstance(columns.rows, DenseRows):
        return DenseEstimator(columns.rows, order, scale, threads)
    return SparseEstimator(columns.rows, order, scale, threads)
