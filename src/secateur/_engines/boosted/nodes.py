"""Nodes of a growing tree, and their histograms: build the smaller child, subtract for its sibling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from secateur._data.binned import BinnedColumns
from secateur._engines.boosted.rows import histograms
from secateur._kernels.records import DenseCodes
from secateur._kernels.splitting import copy_features, search_node, subtract_features
from secateur._kernels.threads import Threads
from secateur.typing import BoolArray, Executor, FloatArray, IntArray

STORE_SHARE = 0.2
"""Histograms kept for subtraction take at most this share of the codes' own memory..."""

STORE_LEAST = 1 << 25
"""... or so many bytes, if that is more."""

FEATURES_PER_THREAD = 64
"""Searching fewer features than this is not worth a second thread."""


Question = tuple[int, bytes]
"""A split as a key: the feature and the codes that go left."""

Path = tuple[tuple[int, bytes, int], ...]
"""The questions that lead to a node and the side taken at each: equal paths, equal rows."""


@dataclass(slots=True, eq=False)
class Node:
    """A node while its tree grows: what is known of each feature's best split in it.

    ``gain[j]`` is dSSE, ``split[j]`` = (last position of the left side, missing left, G left, W left), both valid where
    ``known[j]``. ``slot`` is the place of its histograms in the store, or -1.
    """

    number: int
    depth: int
    totals: tuple[int, int]
    gain: FloatArray
    split: IntArray
    known: BoolArray
    path: Path = ()
    slot: int = -1
    feature: int = -1


@dataclass(slots=True, eq=False)
class Family:
    """The two children of a split (or the root alone), which share their parent's histograms."""

    nodes: list[Node]
    parent_slot: int = -1
    parent_known: BoolArray = field(default_factory=lambda: np.zeros(0, np.bool_))

    @property
    def smaller(self) -> Node:
        return min(self.nodes, key=lambda node: node.totals[1])

    @property
    def larger(self) -> Node:
        return self.nodes[0] if self.smaller is self.nodes[-1] else self.nodes[-1]


class NodeHistograms:
    """Evaluates features in nodes of one tree after the other.

    Parameters
    ----------
    executor : Executor
        Sums histograms over the blocks of rows.
    columns : BinnedColumns
        Only its shape is used: bins and offsets.
    depth : int
        Nodes of this depth are not split: their parents' histograms are not kept.
    """

    def __init__(
        self, executor: Executor, columns: BinnedColumns, depth: int, threads: Threads
    ) -> None:
        self._executor = executor
        self._columns = columns
        self._depth = depth
        self._threads = threads
        self._one_by_one = isinstance(columns.codes, DenseCodes)
        width = int(columns.offset[-1])
        room = max(STORE_LEAST, int(STORE_SHARE * columns.n_rows * columns.n_features))
        self._n_slots = int(min(2 ** max(0, depth - 2), max(1, room // (16 * width + 1)), 64))
        self._store = np.empty((self._n_slots, width, 2), np.int64)
        self._spare = np.empty((width, 2), np.int64)
        self.cells = 0
        self.begin((1.0, 1.0), 1)

    def begin(self, unit: tuple[float, float], least: int) -> None:
        """Forget the last tree; set the scales and the least weight of a side."""
        self.unit = unit
        self._least = np.int64(least)
        self._free = list(range(self._n_slots))

    def root(self, totals: tuple[int, int]) -> Family:
        """The family of the root."""
        node = self._node(0, 0, totals, ())
        node.slot = self._take() if self._depth > 1 else -1
        return Family([node], -1, np.zeros(self._columns.n_features, np.bool_))

    def children(self, parent: Node, left_number: int, question: Question) -> Family:
        """The family of a split node; the parent's slot goes to the larger child."""
        _, _, g, w = (int(x) for x in parent.split[parent.feature])
        total_g, total_w = parent.totals
        nodes = [
            self._node(left_number, parent.depth + 1, (g, w), (*parent.path, (*question, 0))),
            self._node(
                left_number + 1,
                parent.depth + 1,
                (total_g - g, total_w - w),
                (*parent.path, (*question, 1)),
            ),
        ]
        family = Family(nodes, parent.slot, parent.known)
        if parent.depth + 2 < self._depth:
            family.larger.slot = parent.slot if parent.slot >= 0 else self._take()
            family.smaller.slot = self._take()
        return family

    def _node(self, number: int, depth: int, totals: tuple[int, int], path: Path) -> Node:
        d = self._columns.n_features
        return Node(
            number,
            depth,
            totals,
            np.full(d, -1.0),
            np.zeros((d, 4), np.int64),
            np.zeros(d, np.bool_),
            path,
        )

    def _take(self) -> int:
        return self._free.pop() if self._free else -1

    def release(self, slot: int) -> None:
        """A node that is a leaf, or whose children are searched, needs its histograms no more."""
        if slot >= 0:
            self._free.append(slot)

    def evaluate(self, families: Sequence[Family], features: IntArray) -> None:
        """Find the best split of each feature in each node of the families."""
        if len(features) == 0 or not families:
            return
        for family in families:
            for node in family.nodes:
                node.known[features] = True
        batches = [[family] for family in families] if self._one_by_one else [list(families)]
        for batch in batches:
            known = np.logical_and.reduce([self._has_parent(f, features) for f in batch])
            self._from_parents(batch, features[known])
            self._directly(batch, features[~known])

    def _has_parent(self, family: Family, features: IntArray) -> BoolArray:
        if family.parent_slot < 0:
            return np.zeros(len(features), np.bool_)
        known: BoolArray = family.parent_known[features]
        return known

    def _build(self, nodes: list[Node], features: IntArray) -> IntArray:
        self.cells += len(features) * sum(node.totals[1] for node in nodes)
        totals = np.array([node.totals for node in nodes], dtype=np.int64)
        built: IntArray = self._executor.sum(
            histograms, [node.number for node in nodes], totals, features
        )
        return built

    def _directly(self, batch: list[Family], features: IntArray) -> None:
        """Build every node of the families."""
        nodes = [node for family in batch for node in family.nodes]
        if len(features) == 0:
            return
        groups = [[node] for node in nodes] if self._one_by_one else [nodes]
        for group in groups:
            for node, histogram in zip(group, self._build(group, features), strict=True):
                self._search_built(node, histogram, features)

    def _from_parents(self, batch: list[Family], features: IntArray) -> None:
        """Build the smaller node of each family; the larger is the parent less the smaller."""
        if len(features) == 0:
            return
        built = self._build([family.smaller for family in batch], features)
        for family, histogram in zip(batch, built, strict=True):
            larger, parent = family.larger, self._store[family.parent_slot]
            rest = parent if larger.slot >= 0 else self._spare
            self._subtract_and_search(larger, parent, histogram, rest, features)
            self._search_built(family.smaller, histogram, features)

    def _search_built(self, node: Node, histogram: IntArray, features: IntArray) -> None:
        columns = self._columns

        def part(start: int, stop: int) -> None:
            self._search(node, histogram, features, start, stop)
            if node.slot >= 0:
                copy_features(
                    histogram,
                    features,
                    columns.offset,
                    columns.n_bins,
                    start,
                    stop,
                    self._store[node.slot],
                )

        self._threads.run(part, len(features), FEATURES_PER_THREAD)

    def _subtract_and_search(
        self, node: Node, parent: IntArray, child: IntArray, rest: IntArray, features: IntArray
    ) -> None:
        columns = self._columns

        def part(start: int, stop: int) -> None:
            subtract_features(
                parent, child, features, columns.offset, columns.n_bins, start, stop, rest
            )
            self._search(node, rest, features, start, stop)

        self._threads.run(part, len(features), FEATURES_PER_THREAD)

    def _search(
        self, node: Node, histogram: IntArray, features: IntArray, start: int, stop: int
    ) -> None:
        columns = self._columns
        search_node(
            histogram,
            features,
            columns.offset,
            columns.n_bins,
            columns.is_categorical,
            node.totals,
            self.unit,
            self._least,
            start,
            stop,
            node.gain,
            node.split,
        )

    def histogram_of(self, node: Node, feature: int) -> IntArray:
        """The sums of one feature's bins in a node, missing last."""
        built = self._build([node], np.array([feature]))[0]
        first = int(self._columns.offset[feature])
        pairs: IntArray = built[first : first + int(self._columns.n_bins[feature]) + 1]
        return pairs.copy()
