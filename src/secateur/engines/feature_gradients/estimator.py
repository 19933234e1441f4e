"""The estimator of learnability, for dense and for sparse rows, and its coefficients.

z(s) = sum_i a_i / binom(N, i + 2) y' T^(i + 1) y, T = triud(X diag(s) X') / scale, as in Eq. 1.

``backward`` and ``forward`` are r_q = T^q y and l_p = (T')^p y. ``given`` (W) and ``carried``
(w l) are the two factors of each row in the gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from secateur._kernels import learnability as dense
from secateur._kernels import sparse_learnability as sparse
from secateur._kernels.threads import Threads
from secateur.data.centred import Centred, DenseRows, SparseRows
from secateur.engines.feature_gradients.objective import Objective
from secateur.typing import AnyArray, FloatArray, IntArray

FLOAT64_ORDER = 7  # from this order on the coefficients are so large that float32 is not enough
MIN_PARALLEL_CELLS = 20_000  # with fewer cells starting a second thread takes longer than the work
# a_i of Eq. 1, by order: a polynomial that approximates 1 / x for eigenvalues from 0 to 1
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
        dense.symmetric_sums(weight, sums)
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


class Batch(NamedTuple):
    """Some rows in the order of the chains: numbers, targets (targets, N) and weights (N,)."""

    rows: IntArray
    y: FloatArray
    weight: FloatArray


class _Work(NamedTuple):
    """A batch, the divisors of its chains, and what an estimator prepares for it."""

    batch: Batch
    chain: Chain
    n_cells: int
    # of sparse rows: (ptr, number, z, zs, u, columns, mean) and the cells alone in their column,
    part: tuple[AnyArray, ...] = ()  # (ptr, column, zm)


class Estimator:
    """Estimates z of batches and its gradient by s.

    `set_inclusion` sets s for the batches that follow. Gradients add up until `collect` is called,
    so that passes over all columns are made once per update. ``scale`` is the top eigenvalue of the
    covariance: eigenvalues are then between 0 and 1. ``_walk`` gives r (direction -1, from the last
    row) or l (1, one link fewer), in batch order; ``_add`` adds the gradient of one batch.
    """

    set_inclusion: Callable[[FloatArray], None]
    _prepare: Callable[[Batch], _Work]
    _walk: Callable[[_Work, int], FloatArray]
    _add: Callable[[_Work, list[FloatArray], FloatArray], None]

    def __init__(self, n_columns: int, order: int, scale: float, threads: Threads) -> None:
        self._order = order
        self._scale = scale
        self._threads = threads
        self._dtype: Any = np.float64 if order >= FLOAT64_ORDER else np.float32
        self._arrays: dict[str, AnyArray] = {}
        self._gradient = np.zeros(n_columns)

    def signals(self, batch: Batch) -> FloatArray:
        """The z of each target on one batch."""
        work = self._prepare(batch)
        return _signals(work, self._walk(work, -1))

    def add_gradient(self, batch: Batch, objective: Objective) -> FloatArray:
        """The z of each target; d(mean objective)/ds is added to the sum."""
        work = self._prepare(batch)
        walks: list[FloatArray] = [np.empty(0)] * 2

        def walk(_: int, number: int) -> None:
            walks[number] = self._walk(work, 1 if number else -1)

        self._run_two(walk, work.n_cells)
        z = _signals(work, walks[0])
        self._add(work, walks, objective.by_target(z))
        return z

    def gradients(
        self, s: FloatArray, batches: Sequence[Batch], objective: Objective
    ) -> tuple[list[FloatArray], FloatArray]:
        """The z of each batch of an update at s, and the sum of the gradients."""
        self.set_inclusion(s)
        z = [self.add_gradient(batch, objective) for batch in batches]
        return z, self.collect()

    def collect(self) -> FloatArray:
        """The sum of the gradients since the last call; the next call may overwrite it."""
        collected, self._gradient = self._gradient, np.zeros_like(self._gradient)
        return collected

    def _run_two(self, task: Callable[[int, int], object], n_cells: int) -> None:
        """Two tasks, in parallel if there is enough to do; the result is the same."""
        if n_cells < MIN_PARALLEL_CELLS:
            task(0, 0)
            task(0, 1)
        else:
            self._threads.share(task, 2)

    def _array(self, name: str, shape: tuple[int, ...], dtype: Any = None) -> AnyArray:
        """An array with arbitrary content, allocated once and used again for each batch."""
        size, dtype = int(np.prod(shape)), dtype or self._dtype
        array = self._arrays.get(name)
        if array is None or array.size < size or array.dtype != dtype:
            array = self._arrays[name] = np.empty(size + size // 4, dtype)
        return array[:size].reshape(shape)

    def _zeros(self, name: str, shape: tuple[int, ...]) -> AnyArray:
        array = self._array(name, shape)
        array[:] = 0
        return array


def _signals(work: _Work, r: FloatArray) -> FloatArray:
    """The z of each target from r of shape (targets, order + 1, N)."""
    links: FloatArray = np.einsum("tqn,tn->tq", r[:, 1:], work.batch.weight * work.batch.y)
    return links @ work.chain.value


def _row_factors(
    work: _Work, walks: list[FloatArray], by_z: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """``given`` and ``carried`` of each row, of shape (targets * order, N)."""
    batch, chain = work.batch, work.chain
    order, n = len(chain.step), len(batch.rows)
    backward, forward = walks
    given = np.einsum("pq,tqn->tpn", chain.slope, backward[:, :order]) * batch.weight
    given *= by_z[:, None, None]
    return given.reshape(-1, n), (forward * batch.weight).reshape(-1, n)


class DenseEstimator(Estimator):
    """For dense rows: the gradient is computed by blocks of columns, in parallel."""

    def __init__(self, rows: DenseRows, order: int, scale: float, threads: Threads) -> None:
        super().__init__(rows.X.shape[1], order, scale, threads)
        self._X = rows.X
        self._s = np.ones(self._X.shape[1], self._dtype)

    def set_inclusion(self, s: FloatArray) -> None:
        """Set the inclusion of each column for the batches that follow."""
        self._s = s.astype(self._dtype)

    def _prepare(self, batch: Batch) -> _Work:
        chain = chain_of(self._order, batch.weight, self._scale)
        return _Work(batch, chain, len(batch.rows) * len(self._s))

    def _add(self, work: _Work, walks: list[FloatArray], by_z: FloatArray) -> None:
        rows, factors = work.batch.rows, _row_factors(work, walks, by_z)
        given, carried = (factor.astype(self._dtype) for factor in factors)
        slope = self._array("slope", self._s.shape)

        def part_of_columns(start: int, stop: int) -> None:
            carry = np.empty((len(given), dense.TILE), self._dtype)
            dense.slopes_by_feature(self._X, rows, given, carried, start, stop, carry, slope)

        self._threads.run(part_of_columns, len(self._s), dense.TILE)
        self._gradient += slope / np.float64(len(by_z))

    def _walk(self, work: _Work, direction: int) -> FloatArray:
        batch, step = work.batch, work.chain.step
        step = step if direction < 0 else step[:-1].copy()
        y = np.ascontiguousarray(batch.y[:, ::direction])
        r = np.zeros((len(y), len(step) + 1, len(batch.rows)))
        r[:, 0] = y
        if len(step):
            carry = self._zeros(f"carry {direction}", (len(y) * len(step), len(self._s)))
            rows, weight = batch.rows[::direction].copy(), batch.weight[::direction].copy()
            dense.walk_chains(self._X, rows, self._s, y, weight, step, carry, r)
        return r[:, :, ::direction]


class SparseEstimator(Estimator):
    """For sparse rows, centred implicitly: work and memory grow with the stored cells."""

    def __init__(self, rows: SparseRows, order: int, scale: float, threads: Threads) -> None:
        super().__init__(len(rows.mean), order, scale, threads)
        self._rows = rows
        self._card = np.zeros((len(rows.mean), sparse.FOUR), self._dtype)
        self._number = self._card.view(np.int64 if order >= FLOAT64_ORDER else np.int32)
        self._number[:, sparse.NUMBER] = -1
        self._base = 0
        self._collected = np.zeros_like(self._gradient)
        self._by_mean = 0.0
        self._gradient_by_means = 0.0

    def set_inclusion(self, s: FloatArray) -> None:
        """Set the inclusion of each column for the batches that follow."""
        self._by_mean = sparse.fill_cards(s, self._rows.mean, self._card)

    def collect(self) -> FloatArray:
        """The sum of the gradients since the last call."""
        moved = self._gradient_by_means, self._rows.mean, self._collected
        sparse.take_slopes(self._gradient, *moved)
        self._gradient_by_means = 0.0
        return self._collected

    def _add(self, work: _Work, walks: list[FloatArray], by_z: FloatArray) -> None:
        given, carried = _row_factors(work, walks, by_z / len(by_z))
        before = np.cumsum(carried, axis=1) - carried
        after = np.cumsum(given[:, ::-1], axis=1)[:, ::-1] - given
        by_means = (given * before).sum(axis=0)
        self._gradient_by_means += by_means.sum()
        centre = by_means + (carried * after).sum(axis=0)
        ptr, number, z, _, _, columns, mean, *alone = work.part
        sparse.add_alone(*alone, centre, self._gradient)
        fours = [self._in_fours(lanes) for lanes in (given, carried)]
        n_fours, n = len(fours[0]), len(columns)
        # the rows in two halves, for any number of threads
        middle = int(np.searchsorted(ptr, ptr[-1] // 2))
        kept = self._zeros("kept", (2, n_fours, n, sparse.FOUR))
        slopes = self._zeros("slopes", (2, n))
        centres = np.zeros((n_fours, len(centre)), self._dtype)
        centres[0] = centre  # once, not with each four of lanes

        def of_half(_: int, high: int) -> None:
            walk = (len(centre) - 1, middle - 1, -1) if high else (0, middle, 1)
            give, keep = fours[::-1] if high else fours
            for f in range(n_fours):
                lanes = (give[f], keep[f], centres[f], kept[high, f], slopes[high])
                sparse.sparse_slopes(ptr, number, z, mean, *walk, *lanes)

        self._run_two(of_half, len(z))
        sparse.join_halves(columns, kept[0], kept[1], slopes, self._gradient)

    def _in_fours(self, lanes: FloatArray) -> AnyArray:
        """Lanes (lanes, N) as (fours, N, FOUR), padded with zeros."""
        n_fours = -(-len(lanes) // sparse.FOUR)
        filled = np.zeros((n_fours * sparse.FOUR, lanes.shape[1]), self._dtype)
        filled[: len(lanes)] = lanes
        return np.ascontiguousarray(filled.reshape(n_fours, sparse.FOUR, -1).transpose(0, 2, 1))

    def _prepare(self, batch: Batch) -> _Work:
        indptr, indices, data, _ = self._rows
        n_cells = int((indptr[batch.rows + 1] - indptr[batch.rows]).sum())
        if self._base > np.iinfo(np.int32).max - n_cells:
            self._number[:, sparse.NUMBER] = -1
            self._base = 0
        array, shape, n = self._array, (n_cells,), len(batch.rows)
        index, columns, alone = (array(k, shape, np.int32) for k in ("index", "columns", "alone"))
        cells = index, array("z", shape, np.float32), array("zs", shape)
        zm, mean = (array(name, shape) for name in ("zm", "mean"))
        u, ptr, alone_ptr = np.empty(n), *np.empty((2, n + 1), np.int64)
        sparse.copy_cells(indptr, indices, data, batch.rows, self._card, cells, zm, u)
        numbers = self._card, self._number, self._base
        n_columns = sparse.renumber(index, *numbers, columns, mean)
        sparse.set_apart(indptr, batch.rows, cells, zm, ptr, alone_ptr, alone)
        self._base += n_cells
        several = columns[:n_columns], mean[:n_columns]
        part = (ptr, *cells, u, *several, alone_ptr, alone, zm)
        return _Work(batch, chain_of(self._order, batch.weight, self._scale), n_cells, part)

    def _walk(self, work: _Work, direction: int) -> FloatArray:
        batch, step = work.batch, work.chain.step
        *cells, columns, _ = work.part[:7]
        step = step if direction < 0 else step[:-1].copy()
        r = np.zeros((len(batch.y), len(step) + 1, len(batch.rows)))
        r[:, 0] = batch.y
        if len(step):
            n_fours = -(-len(batch.y) * len(step) // sparse.FOUR)
            carry = self._zeros(f"carry {direction}", (n_fours, len(columns), sparse.FOUR))
            rows = (batch.y, batch.weight, step, direction < 0)
            sparse.walk_sparse_chains(*cells, self._by_mean, *rows, carry, r)
        return r


def make_estimator(columns: Centred, order: int, scale: float, threads: Threads) -> Estimator:
    """The estimator for dense or sparse rows."""
    if isinstance(columns.rows, DenseRows):
        return DenseEstimator(columns.rows, order, scale, threads)
    return SparseEstimator(columns.rows, order, scale, threads)
