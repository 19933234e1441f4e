"""What a tree asks of a block of rows: gradients, sums, histograms, leaves.

Each function takes a block and small things and gives back small things; an executor runs it on all
blocks. Sums are of integers, so that they are the same however the rows are cut into blocks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from secateur._kernels.fixed_point import (
    add_leaf_values,
    largest_terms,
    pack_rows,
    sum_leaves,
    sum_terms,
)
from secateur._kernels.prediction import add_trees_binned
from secateur._kernels.records import DenseCodes
from secateur.data.binning import narrowed
from secateur.data.sampling import shares_of
from secateur.data.weights import are_counts
from secateur.engines.boosted.block_histograms import histograms_of
from secateur.engines.boosted.trees import Tree
from secateur.execution.blocks import ROWS_PER_THREAD, RowArray, RowBlock
from secateur.losses.base import fixed_point_sum
from secateur.typing import FloatArray, IntArray, Loss

GRADIENT_STEPS = 32767
"""Weighted gradients are rounded to so many steps on either side of zero, or fewer."""

WEIGHT_STEPS = 65535.0
"""Weights that are not whole numbers are rounded to so many steps, or fewer."""


def fixed_point_scale(largest: float, n_rows: int) -> float:
    """The power of two by which terms up to ``largest`` can be rounded and summed in int64.

    >>> fixed_point_scale(1.0, 3) == 2.0 ** 58
    True
    """
    return math.ldexp(1.0, min(61 - math.frexp(largest)[1] - n_rows.bit_length(), 1000))


def gradient_scale(largest: float, sum_absolute: float, n_rows: int) -> float:
    """Steps per unit of gradient, such that no sum of rounded gradients reaches 2^31.

    Up to 65,000 rows these are always 32767 steps for the largest; above, as many as the sum of
    absolute gradients leaves room for.

    >>> gradient_scale(0.5, 100.0, 1000)
    65534.0
    """
    room = (2**31 - 1 - n_rows) * largest / sum_absolute
    return min(GRADIENT_STEPS, math.floor(room)) / largest


@dataclass(frozen=True, slots=True)
class WeightScale:
    """How row weights become integers: whole numbers as they are, others in steps.

    ``mean`` is what one row counts: 1 for whole weights, the mean weight otherwise.
    """

    scale: float
    mean: float
    most: float
    total: float

    @classmethod
    def of(cls, weight: FloatArray) -> WeightScale:
        """Whole weights count rows and stay exact; others are relative, as if their mean were one.

        >>> import numpy as np
        >>> WeightScale.of(np.array([1.0, 3.0])).scale
        1.0
        """
        most, total, n = float(weight.max()), fixed_point_sum(weight), len(weight)
        counts = are_counts(weight)
        room = (2**32 - 1 - 2 * n) / total
        exact = counts and most <= WEIGHT_STEPS and room >= 1.0
        scale = 1.0 if exact else min(WEIGHT_STEPS / most, room)
        return cls(scale, 1.0 if counts else total / n, most, total)

    def least(self, min_samples_leaf: float) -> int:
        """The smallest integer weight that counts as ``min_samples_leaf`` rows."""
        needed = min_samples_leaf * (1.0 - 1e-9) * self.mean * self.scale
        return max(1, math.ceil(needed))


def set_baseline(block: RowBlock, baseline: FloatArray, weight_scale: float) -> None:
    """Begin at the constant prediction; round the weights, none to zero."""
    block.raw[:] = baseline[:, None]
    scaled = np.rint(block.weight * weight_scale).astype(np.int64)
    block.quantised_weight[:] = np.maximum(scaled, 1)


def go_on_from(
    block: RowBlock,
    baseline: FloatArray,
    weight_scale: float,
    divisible: IntArray,
    stride: int,
    rounds: Sequence[Sequence[Tree]],
) -> None:
    """Bring a block that was made anew to where the others are: after so many rounds of trees."""
    set_baseline(block, baseline, weight_scale)
    choose_objective_rows(block, stride)
    narrow(block, divisible)
    for trees in rounds:
        add_round(block, trees)


def add_round(block: RowBlock, trees: Sequence[Tree]) -> None:
    """Add trees that were grown before to the predictions of all rows, one for each output."""
    everyone = np.arange(block.columns.n_rows, dtype=np.uint32)
    for k, tree in enumerate(trees):
        _add_tree(block, k, tree, everyone)


def training_rows(block: RowBlock) -> tuple[FloatArray, FloatArray]:
    """Target and weight of the rows that train."""
    return block.target[block.rows], block.weight[block.rows]


def begin_round(block: RowBlock, loss: Loss) -> None:
    """Gradients of all outputs at the prediction so far."""
    if block.n_outputs > 1:
        loss.gradients(block.target, block.raw, block.gradient, block.hessian)
        return

    def part(start: int, stop: int) -> None:
        cut = slice(start, stop)
        loss.gradients(
            block.target[cut], block.raw[:, cut], block.gradient[:, cut], block.hessian[:, cut]
        )

    block.threads.run(part, len(block.target), ROWS_PER_THREAD)


def begin_tree(
    block: RowBlock, k: int, subsample: float, seed: int
) -> tuple[tuple[float, ...], int]:
    """Put all rows (or a sample) into the root; gives the largest terms and the number of rows."""
    rows = block.rows
    if subsample < 1.0:
        rows = rows[shares_of(rows.astype(np.int64) + block.first_row, seed) < subsample]
    block.tree_rows = rows
    block.order = rows.copy() if len(rows) != len(block.order) else block.order
    block.order[:] = rows
    block.begin_root()
    found: list[tuple[float, float, float]] = []

    def part(start: int, stop: int) -> None:
        found.append(
            largest_terms(block.gradient[k], block.hessian[k], block.weight, rows, start, stop)
        )

    block.threads.run(part, len(rows), ROWS_PER_THREAD)
    return (*map(max, zip(*found, strict=True)),), len(rows)


def term_sums(block: RowBlock, k: int, scale_g: float, scale_gg: float) -> IntArray:
    """Exact sums of |w g|, w g and w g g over the rows of the tree."""
    found: list[tuple[int, int, int]] = []

    def part(start: int, stop: int) -> None:
        found.append(
            sum_terms(block.gradient[k], block.weight, block.order, scale_g, scale_gg, start, stop)
        )

    block.threads.run(part, len(block.order), ROWS_PER_THREAD)
    return np.array([sum(terms) for terms in zip(*found, strict=True)])


def pack(block: RowBlock, k: int, scale: float) -> int:
    """Round and pack the rows of the tree; gives their packed sum."""
    found: list[int] = []

    def part(start: int, stop: int) -> None:
        found.append(
            pack_rows(
                block.gradient[k],
                block.weight,
                block.quantised_weight,
                block.order,
                scale,
                start,
                stop,
                block.packed_by_row,
            )
        )

    block.threads.run(part, len(block.order), ROWS_PER_THREAD)
    return sum(int(total) for total in found)


def reset_tree(block: RowBlock) -> None:
    """All rows of the tree back into its root."""
    block.order[:] = block.tree_rows
    block.begin_root()


def bin_weights(block: RowBlock) -> IntArray:
    """The weight of each bin of each feature over all training rows."""
    block.order = block.rows.copy()
    block.begin_root()
    block.packed_by_row[:] = block.quantised_weight
    features = np.arange(block.columns.n_features)
    weights: IntArray = histograms_of(block, [0], [features])[0]
    return weights


def narrow(block: RowBlock, features: IntArray) -> None:
    """Keep room in histograms for the features that any split can use."""
    block.columns = narrowed(block.columns, features)
    block.make_buffers()


def leaf_sums(
    block: RowBlock, k: int, leaves: list[int], scales: tuple[float, float, float]
) -> IntArray:
    """Exact sums of w g, w h, w of the leaves, from unrounded gradients."""
    bounds = np.array([block.bounds[leaf] for leaf in leaves], dtype=np.int64)
    out = np.empty((len(leaves), 3), np.int64)

    def part(first: int, last: int) -> None:
        sum_leaves(
            block.gradient[k],
            block.hessian[k],
            block.weight,
            block.order,
            bounds,
            scales,
            first,
            last,
            out,
        )

    block.threads.run(part, len(leaves), _leaves_at_once(block, leaves))
    return out


def _leaves_at_once(block: RowBlock, leaves: list[int]) -> int:
    """One leaf at a time where rows are many, all together where a second thread would not pay."""
    return 1 if len(block.order) > ROWS_PER_THREAD else len(leaves)


def leaf_residuals(block: RowBlock, k: int, leaf: int) -> tuple[FloatArray, FloatArray]:
    """Residuals and weights of a leaf, for losses whose leaves are quantiles."""
    start, stop = block.bounds[leaf]
    rows = block.order[start:stop]
    return block.target[rows] - block.raw[k, rows], block.weight[rows]


def finish_tree(block: RowBlock, k: int, leaves: list[int], tree: Tree) -> None:
    """Add the tree to the predictions: of its own rows by leaf, of all others by its questions."""
    bounds = np.array([block.bounds[leaf] for leaf in leaves], dtype=np.int64)
    values = tree.value[leaves]
    block.threads.run(
        lambda first, last: add_leaf_values(block.order, bounds, values, first, last, block.raw[k]),
        len(leaves),
        _leaves_at_once(block, leaves),
    )
    if len(block.order) < len(block.rows):
        inside = np.zeros(len(block.target), np.bool_)
        inside[block.order] = True
        outside = block.rows[~inside[block.rows]]
        _add_tree(block, k, tree, outside)
    if len(block.held):
        _add_tree(block, k, tree, block.held)


def _add_tree(block: RowBlock, k: int, tree: Tree, rows: RowArray) -> None:
    """Add a tree to the predictions of rows that did not grow it."""
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
    roots = np.zeros(1, np.int64)
    block.threads.run(
        lambda start, stop: add_trees_binned(
            codes, column, tree.words, tree.left, tree.value, roots, rows, start, stop, block.raw[k]
        ),
        len(rows),
        ROWS_PER_THREAD,
    )


def choose_objective_rows(block: RowBlock, stride: int) -> FloatArray:
    """Every stride-th training row of the whole table tells the objective; gives their weights."""
    place = (block.rows.astype(np.int64) + block.first_row) % stride
    block.objective_rows = block.rows[place == 0]
    return block.weight[block.objective_rows]


def loss_terms(block: RowBlock, loss: Loss) -> FloatArray:
    """Weighted losses of the rows that tell the objective."""
    rows = block.objective_rows
    losses = loss.pointwise(block.target[rows], block.raw[:, rows])
    return block.weight[rows] * losses


def held_losses(block: RowBlock, loss: Loss) -> FloatArray:
    """The losses of the rows that do not train."""
    return loss.pointwise(block.target[block.held], block.raw[:, block.held])
