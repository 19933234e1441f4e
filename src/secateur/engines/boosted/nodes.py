"""Histograms of the nodes of a growing tree: build the smaller child, subtract for the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from secateur._kernels.splitting import LOW, search_features
from secateur._kernels.threads import Threads
from secateur.data.binning import BinnedColumns
from secateur.engines.boosted.block_histograms import (
    few_histograms,
    histograms_of,
    search_node,
    spread_histograms,
)
from secateur.execution.blocks import RowBlock, nodes_at_once
from secateur.execution.local import only_block
from secateur.typing import BoolArray, Executor, FloatArray, IntArray


@dataclass(slots=True, eq=False)
class Node:
    """A node while its tree grows: what is known of each feature's best split in it.

    ``gain[j]`` is dSSE, ``split[j]`` = (last position of the left side, missing left, packed left
    sum); both are valid where feature j is known to the siblings. ``divisible[j]`` is whether any
    split of the node or below it can use feature j. ``total`` is the packed sum of the rows,
    ``slot`` the position of the histogram in the store, ``left`` the number of the left child or
    -1.
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
class Siblings:
    """The two children of a split, or the root alone: always evaluated together.

    ``known`` are the features evaluated so far, ``listed`` the same without those that no node here
    could be split on, if they were evaluated in one go. ``parent`` is the node that was split, and
    ``inherited`` are the features whose histograms of it are in ``parent_slot``.
    """

    nodes: list[Node]
    known: BoolArray | None = None
    listed: IntArray | None = None
    parent: Node | None = None
    parent_slot: int = -1
    inherited: BoolArray | None = None

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


class Candidates(NamedTuple):
    """Features to be evaluated, as a mask and as a list; one and the same while nothing changes."""

    mask: BoolArray
    features: IntArray


STORE_SHARE = 0.2
"""Histograms kept for subtraction take at most this share of the codes' own memory..."""

STORE_LEAST = 1 << 25
"""... or so many bytes, if that is more."""

BINS_PER_THREAD = 20_000
"""Searching fewer bins than this is not worth a second thread."""

NOWHERE = np.empty(0, np.int64)
"""Where the histogram of a node goes that need not be kept."""


class _Search(NamedTuple):
    """A node to be searched: see ``search_features`` for the three histograms."""

    node: Node
    features: IntArray
    histogram: IntArray
    less: IntArray
    kept: IntArray


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
        block: RowBlock | None = only_block(executor)
        self._is_near = block is not None and not block.is_sparse
        width = int(columns.offset[-1])
        self._n_at_once = nodes_at_once(width)
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

    def root(self, total: int) -> Siblings:
        """The siblings of the root."""
        node = self._node(0, 0, total)
        self._root_weight = node.weight
        node.slot = self._take() if self._depth > 1 else -1
        return Siblings([node])

    def children(self, siblings: Siblings, parent: Node) -> Siblings:
        """The siblings of a split node; the parent's slot goes to the larger child."""
        left = int(parent.split[parent.feature, 2])
        depth = parent.depth + 1
        nodes = [
            self._node(parent.left, depth, left),
            self._node(parent.left + 1, depth, parent.total - left),
        ]
        young = Siblings(nodes, None, None, parent, parent.slot, siblings.known)
        if depth + 1 < self._depth:
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

    def evaluate(self, level: list[Siblings], candidates: Candidates) -> None:
        """Find the best split of each of the features in each node of the level."""
        asked = [request for siblings in level for request in self._requests(siblings, candidates)]
        for first in range(0, len(asked), self._n_at_once):
            some = asked[first : first + self._n_at_once]
            built = self._build([node for node, _, _ in some], [fs for _, fs, _ in some])
            searches = [
                search
                for histogram, (node, features, sibling) in zip(built, some, strict=True)
                for search in self._searches(histogram, node, features, sibling)
            ]
            self._search(searches)

    def evaluate_in(self, node: Node, features: IntArray) -> None:
        """Find the best split of each of the features in one node; its siblings learns nothing."""
        if self._is_near:
            self.count(len(features), node.weight)
            found = (node.gain, node.split, node.divisible)
            limits = (self.unit, self.least)
            self._executor.apply(search_node, node.number, features, node.total, limits, found)
            return
        built = self._build([node], [features])[0]
        self._search([_Search(node, features, built, NOWHERE, NOWHERE)])

    def _requests(
        self, siblings: Siblings, candidates: Candidates
    ) -> list[tuple[Node, IntArray, tuple[Node, int] | None]]:
        """Nodes whose histograms must be built, for which features, and who is had from them.

        Of siblings whose parent's histograms are kept, the smaller is built, and the larger is the
        parent minus the smaller.
        """
        features = self._unknown(siblings, candidates)
        if len(features) == 0:
            return []
        if siblings.parent_slot < 0 or siblings.inherited is None:
            return [(node, features, None) for node in siblings.nodes]
        larger = (siblings.larger, siblings.parent_slot)
        if siblings.inherited is candidates.mask:
            return [(siblings.smaller, features, larger)]
        is_kept = siblings.inherited[features]
        kept, new = features[is_kept], features[~is_kept]
        found = [(siblings.smaller, kept, larger)] if len(kept) else []
        return found + [(node, new, None) for node in siblings.nodes if len(new)]

    def _unknown(self, siblings: Siblings, candidates: Candidates) -> IntArray:
        """The features that are new to a siblings and that one of its nodes may be split on."""
        is_first = siblings.known is None
        features = candidates.features
        if siblings.known is None:
            siblings.known = candidates.mask
        else:
            features = features[~siblings.known[features]]
            siblings.known = siblings.known | candidates.mask
        if siblings.parent is not None and siblings.inherited is not None:
            divisible = siblings.parent.divisible
            if siblings.inherited is not candidates.mask:
                # Of what was not for sale when the parent was evaluated nothing is known yet.
                divisible = divisible | ~siblings.inherited
            features = features[divisible[features]]
        siblings.listed = features if is_first else None
        return features

    def _build(self, nodes: list[Node], features: list[IntArray]) -> IntArray:
        for node, asked in zip(nodes, features, strict=True):
            self.count(len(asked), node.weight)
        numbers = [node.number for node in nodes]
        if self._executor.one_pass:
            sent = self._executor.sum(few_histograms, numbers, features)
            return spread_histograms(sent, features, self._columns.offset)
        built: IntArray = self._executor.sum(histograms_of, numbers, features)
        return built

    def count(self, n_features: int, weight: int) -> None:
        """Book work done: the cells of the table that were added up."""
        self.cells += n_features * self._columns.n_rows * weight / self._root_weight

    def _searches(
        self,
        built: IntArray,
        node: Node,
        features: IntArray,
        sibling: tuple[Node, int] | None,
    ) -> list[_Search]:
        """What there is to search once a node is built: itself, and perhaps its sibling."""
        kept = self._store[node.slot] if node.slot >= 0 else NOWHERE
        own = _Search(node, features, built, NOWHERE, kept)
        if sibling is None:
            return [own]
        # Nobody needs the parent after this: the larger node takes its place.
        larger, slot = sibling
        return [own, _Search(larger, features, self._store[slot], built, NOWHERE)]

    def _search(self, searches: list[_Search]) -> None:
        """Search the nodes; where that is much work, in threads by node and by feature."""
        n_features = sum(len(search.features) for search in searches)
        n_threads = min(self._threads.n_threads, max(1, n_features // self._grain))
        if n_threads == 1:
            for search in searches:
                self._search_part(search, 0, len(search.features))
            return
        n_parts = -(-n_threads // len(searches))
        pieces = [
            (
                search,
                part * len(search.features) // n_parts,
                (part + 1) * len(search.features) // n_parts,
            )
            for search in searches
            for part in range(n_parts)
        ]
        self._threads.share(lambda _, number: self._search_part(*pieces[number]), len(pieces))

    def _search_part(self, search: _Search, start: int, stop: int) -> None:
        node = search.node
        search_features(
            search.histogram,
            search.less,
            search.kept,
            search.features,
            self._shape,
            node.total,
            self.unit,
            self.least,
            start,
            stop,
            (node.gain, node.split, node.divisible),
        )

    def histogram_of(self, node: Node, feature: int) -> IntArray:
        """The packed sums of one feature's bins in a node, missing last."""
        built = self._build([node], [np.array([feature])])[0]
        first = int(self._columns.offset[feature])
        bins: IntArray = built[first : first + int(self._columns.n_bins[feature]) + 1]
        return bins.copy()
