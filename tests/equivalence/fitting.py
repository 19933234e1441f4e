"""How tests run the engine of boosted trees: on one block of rows or many, and its naive twin."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from reference.boosted import MISSING, Boosted, boost

from secateur._kernels.records import DenseCodes, SparseCodes
from secateur._kernels.threads import Threads
from secateur.data.binning import BinnedColumns, bin_table, with_bundles
from secateur.data.categories import Categories
from secateur.data.costs import FeatureCosts
from secateur.data.table import DenseTable, SparseTable, Table, TableSchema, canonical_csc
from secateur.engines.boosted.engine import BoostedData, trace_boosted
from secateur.engines.boosted.groups import Groups, sum_groups
from secateur.engines.boosted.trees import BoostingParams
from secateur.engines.boosted.whole_fit import WholeFit, suits
from secateur.engines.limits import FeatureUse
from secateur.execution.blocks import (
    CodeBlock,
    FitRows,
    HeapAllocator,
    HistogramBuffers,
    LocalExecutor,
    RowBlock,
)
from secateur.losses import SquaredError


@dataclass(frozen=True)
class Task:
    """One question to the engine: data, loss, costs and parameters.

    ``categories[j]`` is the number of categories of column j, whose values are codes.
    """

    X: np.ndarray
    target: np.ndarray
    weight: np.ndarray
    loss: Any = field(default_factory=SquaredError)
    costs: FeatureCosts = field(default_factory=FeatureCosts)
    categories: dict = field(default_factory=dict)
    params: dict = field(default_factory=dict)

    def with_params(self, **params):
        return replace(self, params={**self.params, **params})

    def take(self, rows):
        return replace(self, X=self.X[rows], target=self.target[rows], weight=self.weight[rows])

    @property
    def names(self):
        return tuple(f"x{j}" for j in range(self.X.shape[1]))


@dataclass(frozen=True)
class Fit:
    """What came of it: a step per round, and the blocks with their predictions."""

    steps: list
    blocks: list
    columns: BinnedColumns

    @property
    def rounds(self):
        return self.steps[-1].model.ensemble.rounds

    @property
    def order(self):
        return self.steps[-1].order.tolist()

    @property
    def raw(self):
        return np.concatenate([block.raw for block in self.blocks], axis=1)


def make_table(task: Task, *, sparse: bool = False) -> Table:
    """The task's X as the engine's callers hold it."""
    known = {j: Categories(np.arange(float(n))) for j, n in task.categories.items()}
    schema = TableSchema(task.names, encoders=known)
    if sparse:
        assert not known
        return SparseTable(canonical_csc(sp.csr_array(task.X)), schema)
    return DenseTable(task.X, schema, is_encoded=True)


def fit_engine(task: Task, *, sparse=False, n_threads=1, cuts=(), held=(), testing=None) -> Fit:
    """Run the engine; ``cuts`` are row numbers where blocks begin, ``held`` rows do not train.

    ``testing`` is a GroupTesting, for a search by group tests.
    """
    with Threads(n_threads) as threads:
        columns = bin_table(make_table(task, sparse=sparse), task.weight, threads=threads)
        blocks = make_blocks(task, columns, threads, cuts, held)
        cost_model = task.costs.bind(task.names)
        params = BoostingParams(**task.params)
        executor = LocalExecutor(blocks)
        groups = None
        if testing is not None:
            groups = sum_groups_of_blocks(task, columns, blocks, testing, threads)
        rows = (task.target, task.weight, task.loss)
        data = BoostedData(columns, *rows, cost_model, threads, groups=groups)
        use = FeatureUse(cost_model, params.max_features, params.cost_budget)
        steps = list(trace_boosted(data, executor, params, use))
    return Fit(steps, blocks, columns)


def fit_whole(task: Task, *, sparse=False, held=()) -> tuple[Fit, WholeFit]:
    """The same fit, all rounds in one call; with a step for every round."""
    columns = bin_table(make_table(task, sparse=sparse), task.weight)
    blocks = make_blocks(task, columns, Threads(1), held=held)
    given = (columns, task.loss, task.costs.bind(task.names), BoostingParams(**task.params))
    assert suits(LocalExecutor(blocks), *given)
    fit = WholeFit(LocalExecutor(blocks), *given)
    n_rounds = given[-1].n_rounds
    deque(fit.grow(n_rounds, fit.buffers()), 0)
    return Fit([fit.step(n) for n in range(1, n_rounds + 1)], blocks, columns), fit


def sum_groups_of_blocks(task, columns, blocks, testing, threads) -> Groups | None:
    """Give each block the sums of its rows; the groups, None without tests."""
    groups = sum_groups(columns, task.weight, testing, threads)
    for block in blocks if groups is not None else ():
        rows = slice(block.first_row, block.first_row + block.columns.n_rows)
        block.group_sums = np.ascontiguousarray(groups.codes[:, rows])
    return groups


def make_blocks(task: Task, columns: BinnedColumns, threads: Threads, cuts=(), held=()) -> list:
    """The rows in blocks that begin at 0 and at the cuts."""
    n_rows = len(task.target)
    is_held = np.zeros(n_rows, bool)
    is_held[list(held)] = True
    bounds = [0, *sorted(cuts), n_rows]
    blocks = []
    for start, stop in pairwise(bounds):
        inside = is_held[start:stop]
        codes = CodeBlock(cut_columns(columns, start, stop), start, threads)
        asked = FitRows(
            task.target[start:stop],
            task.weight[start:stop],
            np.flatnonzero(~inside),
            np.flatnonzero(inside),
            task.loss.n_outputs,
        )
        blocks.append(RowBlock(codes, asked, HeapAllocator(), HistogramBuffers()))
    return blocks


def cut_columns(columns: BinnedColumns, start: int, stop: int) -> BinnedColumns:
    """The rows start to stop of binned columns, with the bins of the whole."""
    codes = columns.codes
    if isinstance(codes, DenseCodes):
        part = DenseCodes(codes.codes[:, start:stop].copy())
    else:
        column = np.repeat(np.arange(columns.n_features), np.diff(codes.indptr))
        inside = (codes.indices >= start) & (codes.indices < stop)
        counts = np.bincount(column[inside], minlength=columns.n_features)
        part = SparseCodes(
            np.concatenate([[0], np.cumsum(counts)]),
            codes.indices[inside] - np.int32(start),
            codes.codes[inside],
            codes.zero_code,
            codes.row_start[start : stop + 1] - codes.row_start[start],
            codes.row_bins[codes.row_start[start] : codes.row_start[stop]],
        )
    cut = columns._replace(codes=part, n_rows=stop - start, bundles=None)
    return cut if columns.bundles is None else with_bundles(cut, Threads(1))


# ---------------------------------------------------------------------------- the twin


def naive_codes(task: Task) -> tuple[np.ndarray, np.ndarray]:
    """A bin for each distinct value, found without the package; and the numbers of bins."""
    codes = np.full(task.X.shape, MISSING)
    n_bins = np.zeros(task.X.shape[1], int)
    for j, values in enumerate(task.X.T):
        seen = ~np.isnan(values)
        distinct = np.unique(values[seen])
        if j in task.categories:
            distinct = np.arange(task.categories[j])
        codes[seen, j] = np.searchsorted(distinct, values[seen])
        n_bins[j] = len(distinct)
    return codes, n_bins


def fit_twin(task: Task, **more) -> Boosted:
    """Run the naive twin on the same question."""
    codes, n_bins = naive_codes(task)
    cost_model = task.costs.bind(task.names)
    is_categorical = np.isin(np.arange(task.X.shape[1]), list(task.categories))
    params = {key: value for key, value in task.params.items() if key not in ("lazy", "whole")}
    return boost(
        codes,
        n_bins,
        is_categorical,
        task.target,
        task.weight,
        task.loss,
        prices=cost_model.costs,
        used=cost_model.keep,
        **params,
        **more,
    )


# ---------------------------------------------------------------------------- trees as lists


def left_codes(words: np.ndarray) -> frozenset:
    """The codes that go left, of the 256 bits of a split; missing left out."""
    bits = np.unpackbits(words.astype("<u8").view(np.uint8), bitorder="little")
    return frozenset(np.flatnonzero(bits[:MISSING]).tolist())


def describe(tree) -> list:
    """A tree of the engine, node by node: (feature, left codes, missing left, left child)."""
    return [
        (int(j), left_codes(words), bool(missing_left), int(left)) if left >= 0 else "leaf"
        for j, words, missing_left, left in zip(
            tree.feature, tree.words, tree.missing_left, tree.left, strict=True
        )
    ]


def describe_twin(nodes, is_categorical) -> list:
    """The same of a tree of the twin."""
    lines = []
    for node in nodes:
        if node.feature < 0:
            lines.append("leaf")
            continue
        assert node.right == node.left + 1
        of_values = frozenset(range(node.bin + 1))
        left = node.left_set if is_categorical[node.feature] else of_values
        lines.append((node.feature, left, node.missing_left, node.left))
    return lines


def splits(fit: Fit) -> list:
    """All trees without their values."""
    return [[describe(tree) for tree in round_] for round_ in fit.rounds]


def assert_same_fit(one: Fit, other: Fit) -> None:
    """Bit for bit the same trees, first_uses, predictions, gains and objectives."""
    assert one.order == other.order
    assert len(one.rounds) == len(other.rounds)
    for trees, others in zip(one.rounds, other.rounds, strict=True):
        for tree, its_twin in zip(trees, others, strict=True):
            for name in tree._fields:
                mine, its = getattr(tree, name), getattr(its_twin, name)
                np.testing.assert_array_equal(mine, its, err_msg=name, strict=True)
    np.testing.assert_array_equal(one.raw, other.raw)
    for step, its_step in zip(one.steps, other.steps, strict=True):
        assert step.objective == its_step.objective
        assert step.cost == its_step.cost
        np.testing.assert_array_equal(step.order, its_step.order)
        np.testing.assert_array_equal(step.weight, its_step.weight)


def assert_equals_twin(fit: Fit, twin: Boosted, task: Task) -> None:
    """The engine's trees are the twin's, bit for bit.

    Both are given the same loss, so the gradients of a row are the same floats; splits come from
    integers and leaves from sums without order: nothing is left that could differ in a bit.
    """
    rate = task.params.get("learning_rate", 0.1)
    is_categorical = fit.columns.is_categorical
    assert len(fit.rounds) == len(twin.rounds)
    for trees, its_trees in zip(fit.rounds, twin.rounds, strict=True):
        for tree, nodes in zip(trees, its_trees, strict=True):
            assert describe(tree) == describe_twin(nodes, is_categorical)
            np.testing.assert_array_equal(tree.value, [rate * node.value for node in nodes])
            np.testing.assert_array_equal(tree.gain, [node.dsse for node in nodes])
    kept = np.flatnonzero(task.costs.bind(task.names).keep).tolist()
    assert fit.order == kept + twin.first_uses
    assert fit.steps[-1].cost == twin.spent
    np.testing.assert_array_equal(fit.raw, twin.raw)
