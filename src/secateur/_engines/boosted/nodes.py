"""Nodes of a growing tree and their histograms: build the smaller child, subtract for the other."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from secateur._data.binned import BinnedColumns
from secateur._engines.boosted.building import histogram
from secateur._kernels.scanning import LOW
from secateur._kernels.splitting import search_built, search_rest
from secateur._kernels.threads import Threads
from secateur.typing import BoolArray, Executor, FloatArray, IntArray

STORE_SHARE = 0.2
"""Histograms kept for subtraction take at most this share of the codes' own memory..."""

STORE_LEAST = 1 << 25
"""... or so many bytes, if that is more."""

BINS_PER_THREAD = 20_000
"""Searching fewer bins than this is not worth a second thread."""

NOWHERE = np.empty(0, np.int64)
"""Where the histogram of a node goes that need not be kept."""


@dataclass(slots=True, eq=False)
class Node:
    """A node while its tree grows: what is known of each feature's best split in it.

    ``gain[j]`` is dSSE, ``split[j]`` = (last position of the left side, missing left, packed left
    sum); both are valid where the family knows feature j. ``divisible[j]`` is whether any split of
    the node or below it can use feature j. ``total`` is the packed sum of the rows, ``slot`` the
    place of the histogram in the store, ``left`` the number of the left child, or -1.
    """

    number: int
    depth: int
    total: int
    gain: FloatArray
    split: IntArray
    divisible: BoolArray
    slot: int = -1
    feature: int = -1
    left: int = -1

    @property
    def weight(self) -> int:
        """The integer weight of the rows."""
        return self.total & LOW


@dataclass(slots=True, eq=False)
class Family:
    """The two children of a split, or the root alone: always evaluated together.

    ``known`` are the features evaluated so far, ``inherited`` those whose histograms of the parent
    are in ``parent_slot``, ``divisible`` those that a node here could perhaps be split on.
    """

    nodes: list[Node]
    known: BoolArray
    divisible: BoolArray
    parent_slot: int = -1
    inherited: BoolArray = field(default_factory=lambda: np.zeros(0, np.bool_))
    asked: IntArray | None = None

    @property
    def smaller(self) -> Node:
        """The lighter of the two, the left one of equals."""
        left, right = self.nodes
        return left if left.weight <= right.weight else right

    @property
    def larger(self) -> Node:
        """The other one."""
        left, right = self.nodes
        return right if left.weight <= right.weight else left


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
        self._shape = (columns.offset, columns.n_bins, columns.is_categorical)
        self._depth = depth
        self._threads = threads
        width = int(columns.offset[-1])
        self._grain = max(1, BINS_PER_THREAD * columns.n_features // max(1, width))
        room = max(STORE_LEAST, int(STORE_SHARE * columns.n_rows * columns.n_features))
        self._n_slots = int(min(2 ** max(0, depth - 2), max(1, room // (8 * width + 1)), 64))
        self._store = np.empty((self._n_slots, width), np.int64)
        self._free: list[int] = []
        self._room: list[tuple[FloatArray, IntArray, BoolArray]] = []
        self._n_nodes = 0
        self._root_weight = 1
        self.cells = 0.0
        self.unit = (1.0, 1.0)
        self.least = np.int64(1)

    def begin(self, unit: tuple[float, float], least: int) -> None:
        """Forget the last tree; set the scales and the least weight of a side."""
        self.unit = unit
        self.least = np.int64(least)
        self._free = list(range(self._n_slots))
        self._n_nodes = 0

    def root(self, total: int) -> Family:
        """The family of the root."""
        node = self._node(0, 0, total)
        self._root_weight = node.weight
        node.slot = self._take() if self._depth > 1 else -1
        d = self._columns.n_features
        return Family([node], np.zeros(d, np.bool_), np.ones(d, np.bool_))

    def children(self, family: Family, parent: Node) -> Family:
        """The family of a split node; the parent's slot goes to the larger child."""
        left = int(parent.split[parent.feature, 2])
        nodes = [
            self._node(parent.left + side, parent.depth + 1, total)
            for side, total in enumerate((left, parent.total - left))
        ]
        known = np.zeros(self._columns.n_features, np.bool_)
        # Of what was not for sale when the parent was evaluated nothing is known yet.
        divisible = parent.divisible | ~family.known
        young = Family(nodes, known, divisible, parent.slot, family.known)
        if parent.depth + 2 < self._depth:
            young.larger.slot = parent.slot if parent.slot >= 0 else self._take()
            young.smaller.slot = self._take()
        return young

    def _node(self, number: int, depth: int, total: int) -> Node:
        """A new node, in arrays that a node of an earlier tree has left."""
        if self._n_nodes == len(self._room):
            d = self._columns.n_features
            self._room.append((np.empty(d), np.empty((d, 3), np.int64), np.empty(d, np.bool_)))
        gain, split, divisible = self._room[self._n_nodes]
        self._n_nodes += 1
        gain.fill(-1.0)
        divisible.fill(False)
        return Node(number, depth, total, gain, split, divisible)

    def _take(self) -> int:
        return self._free.pop() if self._free else -1

    def release(self, slot: int) -> None:
        """A node that is a leaf, or whose children are searched, needs its histogram no more."""
        if slot >= 0:
            self._free.append(slot)

    def evaluate(self, family: Family, features: IntArray) -> None:
        """Find the best split of each of the features in each node of the family."""
        family.known[features] = True
        features = features[family.divisible[features]]
        if len(features) == 0:
            return
        if family.parent_slot < 0:
            self._directly(family, features)
            return
        inherited = family.inherited[features]
        if inherited.all():
            self._from_parent(family, features)
            return
        self._from_parent(family, features[inherited])
        self._directly(family, features[~inherited])

    def evaluate_in(self, node: Node, features: IntArray) -> None:
        """Find the best split of each of the features in one node; its family learns nothing."""
        self._search_built(node, self._build(node, features), features, keep=False)

    def _build(self, node: Node, features: IntArray) -> IntArray:
        self.count(len(features), node.weight)
        built: IntArray = self._executor.sum(histogram, node.number, features)
        return built

    def count(self, n_features: int, weight: int) -> None:
        """Book work done: the cells of the table that were added up."""
        self.cells += n_features * self._columns.n_rows * weight / self._root_weight

    def _directly(self, family: Family, features: IntArray) -> None:
        """Build every node of the family."""
        for node in family.nodes:
            self._search_built(node, self._build(node, features), features)

    def _from_parent(self, family: Family, features: IntArray) -> None:
        """Build the smaller node; the larger is the parent less the smaller."""
        if len(features) == 0:
            return
        smaller, larger = family.smaller, family.larger
        built = self._build(smaller, features)
        # Nobody needs the parent after this: the larger node takes its place.
        parent = self._store[family.parent_slot]

        def part(start: int, stop: int) -> None:
            search_rest(
                parent,
                built,
                features,
                self._shape,
                larger.total,
                self.unit,
                self.least,
                start,
                stop,
                larger.gain,
                larger.split,
                larger.divisible,
            )

        self._threads.run(part, len(features), self._grain)
        self._search_built(smaller, built, features)

    def _search_built(
        self, node: Node, built: IntArray, features: IntArray, *, keep: bool = True
    ) -> None:
        kept = self._store[node.slot] if keep and node.slot >= 0 else NOWHERE

        def part(start: int, stop: int) -> None:
            search_built(
                built,
                kept,
                features,
                self._shape,
                node.total,
                self.unit,
                self.least,
                start,
                stop,
                node.gain,
                node.split,
                node.divisible,
            )

        self._threads.run(part, len(features), self._grain)

    def histogram_of(self, node: Node, feature: int) -> IntArray:
        """The packed sums of one feature's bins in a node, missing last."""
        built = self._build(node, np.array([feature]))
        first = int(self._columns.offset[feature])
        bins: IntArray = built[first : first + int(self._columns.n_bins[feature]) + 1]
        return bins.copy()
