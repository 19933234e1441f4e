"""The estimated signal of a soft set of features on one batch of rows, and its slopes.

z(s) = sum_i a_i / binom(N, i + 2) y' T^(i + 1) y, T = triud(X diag(s) X') / scale, as in Eq. 1.

``back`` and ``forth`` are r_q = T^q y and l_p = (T')^p y; ``given`` and ``carried`` are what each
row gives to the slopes of its columns, W, and what it leaves for later rows, w l.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from secateur._data.centred import Centred, DenseRows, SparseRows
from secateur._engines.feature_gradients.coefficients import Chain, chain_of
from secateur._engines.feature_gradients.curves import Curve
from secateur._kernels import learnability as dense
from secateur._kernels import sparse_learnability as sparse
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


class Estimator(Protocol):
    """Signals and slopes of batches; both kinds of rows have one."""

    def signals(self, batch: Batch, s: FloatArray) -> FloatArray: ...

    def slopes(
        self, batch: Batch, s: FloatArray, curve: Curve, slope_out: FloatArray
    ) -> FloatArray: ...


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


def _signals(chain: Chain, batch: Batch, r: FloatArray) -> FloatArray:
    """The z of each target from r of shape (targets, order + 1, N)."""
    links: FloatArray = np.einsum("tqn,tn->tq", r[:, 1:], batch.weight * batch.y)
    z: FloatArray = links @ chain.value
    return z


def _factors(
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

    def signals(self, batch: Batch, s: FloatArray) -> FloatArray:
        """The z of each target."""
        chain = chain_of(self._order, batch.weight, self._scale)
        return _signals(chain, batch, self._walk(batch, s.astype(self._type), chain, -1))

    def slopes(
        self, batch: Batch, s: FloatArray, curve: Curve, slope_out: FloatArray
    ) -> FloatArray:
        """The z of each target; d(mean curve)/ds is added to slope_out."""
        chain = chain_of(self._order, batch.weight, self._scale)
        inclusion = s.astype(self._type)
        found: list[FloatArray] = [np.empty(0)] * 2

        def walk(_: int, way: int) -> None:
            found[way] = self._walk(batch, inclusion, chain, 1 if way else -1)

        share(self._threads, walk, len(batch.rows) * len(s))
        z = _signals(chain, batch, found[0])
        lanes = _factors(chain, batch, found[0], found[1], curve.slope(z))
        given, carried = (lane.astype(self._type) for lane in lanes)
        slope = self._room.array("slope", s.shape, self._type)

        def part(start: int, stop: int) -> None:
            carry = np.empty((len(given), dense.TILE), self._type)
            dense.slopes_by_feature(self._X, batch.rows, given, carried, start, stop, carry, slope)

        self._threads.run(part, len(s), dense.TILE)
        slope_out += slope / np.float64(len(z))
        return z

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


class SparseEstimator:
    """For sparse rows, centred in thought: work and memory go with the stored cells of a batch."""

    wide = 200_000
    """Above so many columns a table of their numbers leaves the cache, and cells are sorted."""

    def __init__(self, rows: SparseRows, order: int, scale: float, threads: Threads) -> None:
        self._rows = rows
        self._order = order
        self._scale = scale
        self._threads = threads
        n_numbers = len(rows.mean) if len(rows.mean) <= self.wide else 0
        self._number = np.full(n_numbers, -1, np.int32)
        self._square = rows.mean * rows.mean
        self._room = Room()

    def signals(self, batch: Batch, s: FloatArray) -> FloatArray:
        """The z of each target."""
        chain = chain_of(self._order, batch.weight, self._scale)
        part = self._part(batch, s)
        return _signals(chain, batch, self._walk(part, batch, chain, -1))

    def slopes(
        self, batch: Batch, s: FloatArray, curve: Curve, slope_out: FloatArray
    ) -> FloatArray:
        """The z of each target; d(mean curve)/ds is added to slope_out."""
        chain = chain_of(self._order, batch.weight, self._scale)
        part = self._part(batch, s)
        found: list[FloatArray] = [np.empty(0)] * 2

        def walk(_: int, way: int) -> None:
            found[way] = self._walk(part, batch, chain, 1 if way else -1)

        share(self._threads, walk, len(part.cells[1]))
        z = _signals(chain, batch, found[0])
        given, carried = _factors(chain, batch, found[0], found[1], curve.slope(z) / len(z))
        before = np.cumsum(carried, axis=1) - carried
        after = np.cumsum(given[:, ::-1], axis=1)[:, ::-1] - given
        by_means = (given * before).sum(axis=0)
        centre = by_means + (carried * after).sum(axis=0)
        slopes = self._slopes_met(part, given, carried, centre)
        sparse.add_at(part.met, part.place, slopes, by_means.sum(), self._square, slope_out)
        return z

    def _slopes_met(
        self, part: _Part, given: FloatArray, carried: FloatArray, centre: FloatArray
    ) -> FloatArray:
        """Slopes of the columns of a batch; the lanes in two halves, whatever the threads."""
        half = (len(given) + 1) // 2
        slopes = self._room.zeros("slopes", (2, len(part.met)))
        takes_off = np.stack([centre, np.zeros_like(centre)])

        def of_half(_: int, number: int) -> None:
            lanes = slice(0, half) if number == 0 else slice(half, len(given))
            w, kept = given[lanes].T.copy(), carried[lanes].T.copy()
            carry = self._room.zeros(f"carry of half {number}", (len(part.met), w.shape[1]))
            sparse.sparse_slopes(
                *part.cells, part.mean, w, kept, takes_off[number], carry, slopes[number]
            )

        share(self._threads, of_half, len(part.cells[1]))
        total: FloatArray = slopes[0] + slopes[1]
        return total

    def _part(self, batch: Batch, s: FloatArray) -> _Part:
        indptr, indices, data, mean = self._rows
        n_cells = int((indptr[batch.rows + 1] - indptr[batch.rows]).sum())
        room, shape = self._room, (n_cells,)
        ptr = np.empty(len(batch.rows) + 1, np.int64)
        index, met, place = (room.array(name, shape, np.int32) for name in ("i", "met", "place"))
        value = room.array("value", shape, np.float32)
        cells = (indptr, indices, data, batch.rows)
        if len(mean) > self.wide:
            n_bits = len(mean).bit_length()
            work = room.array("sorting", (4, n_cells), np.int32)
            n_met = sparse.renumber_sorted(*cells, n_bits, work, ptr, index, value, met, place)
        else:
            n_met = sparse.renumber(*cells, self._number, ptr, index, value, met)
            place[:n_met] = np.arange(n_met)
        met, place = met[:n_met], place[:n_met]
        inclusion, means = room.array("s", (n_met,)), room.array("m", (n_met,))
        sparse.take_at(met, place, s, mean, inclusion, means)
        return _Part((ptr, index, value), met, place, inclusion, means, float(s @ self._square))

    def _walk(self, part: _Part, batch: Batch, chain: Chain, way: int) -> FloatArray:
        step = chain.step if way < 0 else chain.step[:-1].copy()
        r = np.zeros((len(batch.y), len(step) + 1, len(batch.rows)))
        r[:, 0] = batch.y
        if len(step):
            shape = (len(part.met), len(batch.y) * len(step))
            carry = self._room.zeros(f"carry {way}", shape)
            sparse.walk_sparse_chains(
                *part.cells, part.inclusion, part.mean, part.by_mean, batch.y, batch.weight, step,
                way < 0, carry, r,
            )  # fmt: skip
        return r


class _Part(NamedTuple):
    """The rows of a batch with its columns renumbered."""

    cells: tuple[IntArray, AnyArray, AnyArray]
    met: AnyArray
    place: AnyArray
    inclusion: FloatArray
    mean: FloatArray
    by_mean: float
