"""What is computed on a block of rows while trees grow: gradients, sums, partition, leaves.

An executor runs these functions on all blocks. Sums are of integers, so they do not depend on how
the rows are cut into blocks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from secateur._kernels.histogram import (
    add_leaf_values,
    largest_terms,
    pack_rows,
    pack_rows_unbiased,
    sum_leaves,
    sum_terms,
)
from secateur._kernels.partition import add_trees_binned, split_dense, split_run
from secateur._kernels.records import DenseCodes
from secateur.data.binning import BinnedColumns, narrowed
from secateur.data.sampling import shares_of
from secateur.data.target import are_counts
from secateur.engines.boosted.block_histograms import histograms_of
from secateur.engines.boosted.trees import BoostingParams, Tree, WordArray
from secateur.execution.blocks import ROWS_PER_THREAD, CodeBlock, Executor, RowArray, RowBlock
from secateur.losses import Loss, fixed_point_sum
from secateur.typing import CodeArray, FloatArray, IntArray, Result

# The rows of a node with at least this many are partitioned by all threads together.
MANY_ROWS = 1 << 17
OBJECTIVE_ROWS = 10_000  # of which the training loss is the mean, at most
MAX_CURVATURE = 32.0  # the largest hessian of a row that splits see, as a multiple of the mean
WEIGHT_STEPS = 65535.0  # weights that are not whole numbers are rounded to at most this many steps


class RowSplit(NamedTuple):
    """A split of a node: its number, its left child's (the right one follows), the codes left."""

    node: int
    left: int
    feature: int
    words: WordArray


class WeightScale(NamedTuple):
    """How row weights become integers; ``mean`` is the weight of one row, 1 for whole weights."""

    scale: float
    mean: float
    total: float
    largest: float

    @classmethod
    def of(cls, weight: FloatArray, *, by_curvature: bool = False) -> WeightScale:
        """Whole weights count rows and stay exact; others are relative, with mean one.

        ``by_curvature`` if weights will be multiplied by relative hessians.
        """
        largest, total, n = float(weight.max()), float(fixed_point_sum(weight)), len(weight)
        counts = are_counts(weight)
        max_scale = (2**32 - 1 - 2 * n) / total
        exact = counts and largest <= WEIGHT_STEPS and max_scale >= 1.0 and not by_curvature
        steps = WEIGHT_STEPS / MAX_CURVATURE if by_curvature else WEIGHT_STEPS
        scale = 1.0 if exact else min(steps / largest, max_scale)
        return cls(scale, 1.0 if counts else total / n, total, largest)

    def min_weight(self, min_samples_leaf: float) -> int:
        """The smallest integer weight that counts as ``min_samples_leaf`` rows."""
        needed = min_samples_leaf * (1.0 - 1e-9) * self.mean * self.scale
        return max(1, math.ceil(needed))


# ---- a fit ----------------------------------------------------------------------------------


class Beginning(NamedTuple):
    """What a fit has before its first tree; ``divisible`` are the features that splits can use.

    The training loss of a step is the mean over every ``stride``-th row.
    """

    columns: BinnedColumns
    baseline: FloatArray
    weights: WeightScale
    divisible: IntArray
    stride: int


def begin(
    executor: Executor,
    columns: BinnedColumns,
    loss: Loss,
    params: BoostingParams,
    *,
    has_tests: bool = False,
) -> Beginning:
    """Begin at the best constant; histograms have room for the divisible features alone."""
    parts = executor.each(training_rows)
    targets, weights = map(list, zip(*parts, strict=True))
    del parts  # memory is short for long tables: pieces are freed once they are concatenated
    target = np.concatenate(targets)
    del targets
    weight = np.concatenate(weights)
    del weights
    baseline = loss.baseline(target, weight)
    scale = WeightScale.of(weight, by_curvature=loss.by_query)
    executor.apply(set_baseline, baseline, scale.scale)
    divisible = columns.varying
    if not has_tests:  # with group tests most features are never evaluated, nor are these sums
        sums, first = executor.sum(bin_weights), columns.offset[:-1]
        # all bins but the heaviest must weigh enough
        rest = np.add.reduceat(sums, first) - np.maximum.reduceat(sums, first)
        divisible = np.flatnonzero(rest >= scale.min_weight(params.min_samples_leaf))
    if params.only is not None:
        divisible = np.intersect1d(divisible, params.only)
    executor.apply(narrow, divisible)
    stride = -(-len(target) // OBJECTIVE_ROWS)
    return Beginning(narrowed(columns, divisible), baseline, scale, divisible, stride)


def size_of_codes(block: CodeBlock) -> tuple[int, int]:
    """The number of cells that have a code, and of rows."""
    return block.columns.codes.codes.size, block.columns.n_rows


def training_codes(block: RowBlock, features: IntArray) -> CodeArray:
    """The codes of some features in the training rows, by feature and row."""
    found = np.empty((len(features), len(block.rows)), np.uint8)
    for place, feature in enumerate(features.tolist()):
        found[place] = block.codes_of(feature)[block.rows]
    return found


def training_rows(block: RowBlock) -> tuple[FloatArray, FloatArray]:
    """Target and weight of the training rows."""
    return block.target[block.rows], block.weight[block.rows]


def set_baseline(block: RowBlock, baseline: FloatArray, weight_scale: float) -> None:
    """Begin at the constant prediction; round the weights, none to zero."""
    block.raw[:] = baseline[:, None]
    scaled = np.rint(block.weight * weight_scale).astype(np.int64)
    block.quantised_weight[:] = np.maximum(scaled, 1)


def bin_weights(block: RowBlock) -> IntArray:
    """The weight of each bin of each feature over all training rows."""
    block.order = block.rows.copy()
    block.begin_root()
    block.packed_by_row[:] = block.quantised_weight
    return histograms_of(block, [0], [np.arange(block.columns.n_features)])[0]


def narrow(block: RowBlock, features: IntArray) -> None:
    """Keep only the given features in histograms."""
    block.columns = narrowed(block.columns, features)


def choose_objective_rows(block: RowBlock, stride: int) -> FloatArray:
    """Take every stride-th training row of the table for the objective; returns their weights."""
    number = (block.rows.astype(np.int64) + block.first_row) % stride
    block.objective_rows = block.rows[number == 0]
    return block.weight[block.objective_rows]


def row_losses(block: RowBlock, loss: Loss, which: Literal["held", "objective_rows"]) -> FloatArray:
    """The losses of the held-out rows, or of those of the objective."""
    rows = getattr(block, which)
    return loss.pointwise(block.target[rows], block.raw[:, rows])


def restore(
    block: RowBlock,
    baseline: FloatArray,
    weight_scale: float,
    divisible: IntArray,
    stride: int,
    rounds: Sequence[Sequence[Tree]],
) -> None:
    """Bring a block that was read again to the state of the others, after some rounds of trees."""
    set_baseline(block, baseline, weight_scale)
    choose_objective_rows(block, stride)
    narrow(block, divisible)
    for trees in rounds:
        add_round(block, trees)


# ---- a tree ---------------------------------------------------------------------------------


def begin_round(block: RowBlock, loss: Loss) -> None:
    """Gradients of all outputs at the current prediction."""

    def part(start: int, stop: int) -> None:
        for first in range(start, stop, ROWS_PER_THREAD):  # copies of outputs stay in the cache
            its = slice(first, min(first + ROWS_PER_THREAD, stop))
            arrays = (block.raw[:, its], block.gradient[:, its], block.hessian[:, its])
            copies = [np.ascontiguousarray(array) for array in arrays]  # of one output: the same
            loss.gradients(block.target[its], *copies)
            if block.n_outputs > 1:
                arrays[1][:], arrays[2][:] = copies[1:]

    block.threads.run(part, len(block.target), ROWS_PER_THREAD)


def raw_predictions(block: RowBlock) -> FloatArray:
    """The raw predictions of all rows, of a loss with one output."""
    return block.raw[0]


def set_gradients(
    block: RowBlock, gradient: FloatArray, hessian: FloatArray, weight: RowArray
) -> None:
    """Take gradients and the rounded weights of splits from those of the whole table."""
    here = slice(block.first_row, block.first_row + block.columns.n_rows)
    block.gradient[0], block.hessian[0] = gradient[here], hessian[here]
    block.quantised_weight[:] = weight[here]


def begin_tree(
    block: RowBlock, k: int, subsample: float, seed: int
) -> tuple[tuple[float, ...], int]:
    """Put all rows (or a sample) into the root; returns the largest terms and the row count."""
    rows = block.rows
    if subsample < 1.0:
        rows = rows[shares_of(rows.astype(np.int64) + block.first_row, seed) < subsample]
    block.tree_rows = rows
    block.order = rows.copy() if len(rows) != len(block.order) else block.order
    reset_tree(block)
    gradient, hessian, weight = block.gradient[k], block.hessian[k], block.weight
    found = _by_thread(
        block, lambda start, stop: largest_terms(gradient, hessian, weight, rows, start, stop)
    )
    return (*map(max, zip(*found, strict=True)),), len(rows)


def reset_tree(block: RowBlock) -> None:
    """Put all rows of the tree back into its root."""
    block.order[:] = block.tree_rows
    block.begin_root()


def term_sums(block: RowBlock, k: int, scale_g: float, scale_gg: float) -> IntArray:
    """Exact sums of |w g|, w g and w g g over the rows of the tree."""
    gradient, weight, rows = block.gradient[k], block.weight, block.order
    found = _by_thread(
        block, lambda start, stop: sum_terms(gradient, weight, rows, scale_g, scale_gg, start, stop)
    )
    return np.array([sum(terms) for terms in zip(*found, strict=True)])


def pack(block: RowBlock, k: int, scale: float, is_coarse: bool) -> int:
    """Round and pack the rows of the tree; returns their packed sum."""
    kernel, out = pack_rows, block.packed_by_row
    terms: Any = (block.gradient[k], block.weight, block.quantised_weight, block.order, scale)
    if is_coarse:
        kernel, terms = pack_rows_unbiased, (*terms, block.first_row)
    found = _by_thread(block, lambda start, stop: kernel(*terms, start, stop, out))
    return sum(int(total) for total in found)


def _by_thread(block: RowBlock, function: Callable[[int, int], Result]) -> list[Result]:
    """What ``function(start, stop)`` returns for each thread's part of the tree's rows."""
    found: list[Result] = []
    block.threads.run(
        lambda start, stop: found.append(function(start, stop)), len(block.order), ROWS_PER_THREAD
    )
    return found


# ---- partition ------------------------------------------------------------------------------


def partition(block: RowBlock, splits: list[RowSplit]) -> None:
    """Partition the rows of the split nodes into their children; their order stays."""
    small = []
    for split in splits:
        block.codes_of(split.feature)  # sparse columns are written out before threads ask for them
        if np.ptp(block.bounds[split.node]) < MANY_ROWS:
            small.append(split)
        else:
            _partition_by_threads(block, split)

    def part(first: int, last: int) -> None:
        for split in small[first:last]:
            start, stop = block.bounds[split.node]
            codes, buffer = block.codes_of(split.feature), block.spare[start:stop]
            middle = split_dense(codes, split.words, block.order, start, stop, buffer)
            _note_children(block, split, middle)

    busy = len(block.order) > ROWS_PER_THREAD
    block.threads.run(part, len(small), 1 if busy else max(1, len(small)))


def _partition_by_threads(block: RowBlock, split: RowSplit) -> None:
    """Partition the rows of one node by all threads, each a run of them."""
    start, stop = block.bounds[split.node]
    order, spare = block.order, block.spare
    codes = block.codes_of(split.feature)
    runs: list[tuple[int, int, int]] = []

    def part(first: int, last: int) -> None:
        a, b = start + first, start + last
        runs.append((a, b, split_run(codes, split.words, order, a, b, spare[a:b])))

    block.threads.run(part, stop - start, ROWS_PER_THREAD)
    middle = start
    for a, _, end in sorted(runs):
        order[middle : middle + end - a] = order[a:end]
        middle += end - a
    _note_children(block, split, middle)
    for a, b, end in sorted(runs):
        order[middle : middle + b - end] = spare[a : a + b - end]
        middle += b - end


def _note_children(block: RowBlock, split: RowSplit, middle: int) -> None:
    start, stop = block.bounds[split.node]
    block.bounds[split.left] = (start, middle)
    block.bounds[split.left + 1] = (middle, stop)


# ---- leaves ---------------------------------------------------------------------------------


def leaf_sums(
    block: RowBlock, k: int, leaves: list[int], scales: tuple[float, float, float]
) -> IntArray:
    """Exact sums of w g, w h, w of the leaves, from unrounded gradients."""
    bounds = np.array([block.bounds[leaf] for leaf in leaves], dtype=np.int64)
    terms = (block.gradient[k], block.hessian[k], block.weight, block.order)
    out = np.empty((len(leaves), 3), np.int64)
    block.threads.run(
        lambda first, last: sum_leaves(*terms, bounds, scales, first, last, out),
        len(leaves),
        _leaves_per_thread(block, leaves),
    )
    return out


def _leaves_per_thread(block: RowBlock, leaves: list[int]) -> int:
    """One leaf where rows are many, all of them where a second thread is not worth it."""
    return 1 if len(block.order) > ROWS_PER_THREAD else len(leaves)


def leaf_residuals(block: RowBlock, k: int, leaf: int) -> tuple[FloatArray, FloatArray]:
    """Residuals and weights of a leaf, for losses whose leaf values are quantiles."""
    start, stop = block.bounds[leaf]
    rows = block.order[start:stop]
    return block.target[rows] - block.raw[k, rows], block.weight[rows]


def finish_tree(block: RowBlock, k: int, leaves: list[int], tree: Tree) -> None:
    """Add the tree to the predictions: of its own rows by leaf, of all others by its splits."""
    bounds = np.array([block.bounds[leaf] for leaf in leaves], dtype=np.int64)
    values = tree.value[leaves]
    block.threads.run(
        lambda first, last: add_leaf_values(block.order, bounds, values, first, last, block.raw[k]),
        len(leaves),
        _leaves_per_thread(block, leaves),
    )
    if len(block.order) < len(block.rows):
        inside = np.zeros(len(block.target), np.bool_)
        inside[block.order] = True
        _add_tree(block, k, tree, block.rows[~inside[block.rows]])
    if len(block.held):
        _add_tree(block, k, tree, block.held)


def add_round(block: RowBlock, trees: Sequence[Tree]) -> None:
    """Add trees that were grown before to the predictions of all rows, one for each output."""
    all_rows = np.arange(block.columns.n_rows, dtype=np.uint32)
    for k, tree in enumerate(trees):
        _add_tree(block, k, tree, all_rows)


def _add_tree(block: RowBlock, k: int, tree: Tree, rows: RowArray) -> None:
    """Add a tree to the predictions of rows that were not used to grow it."""
    features = np.unique(tree.feature[tree.left >= 0])
    if len(features) == 0:
        block.raw[k, rows] += tree.value[0]
        return
    held = block.columns.codes
    if isinstance(held, DenseCodes) and features[-1] < block.columns.n_coded:
        codes, column = held.codes, tree.feature
    else:
        codes = np.stack([block.codes_of(int(j)) for j in features])
        column = np.searchsorted(features, tree.feature)
    nodes = (column, tree.words, tree.left, tree.value, np.zeros(1, np.int64))
    block.threads.run(
        lambda start, stop: add_trees_binned(codes, *nodes, rows, start, stop, block.raw[k]),
        len(rows),
        ROWS_PER_THREAD,
    )
