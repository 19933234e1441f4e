"""The nodes of a growing tree: their histograms, and the split that each of them takes.

Of two children the histogram of the smaller is built, that of the larger is the parent's minus it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from secateur._kernels.splitting import LOW, pick_feature, search_features
from secateur._kernels.threads import Threads
from secateur.data.binning import BinnedColumns
from secateur.engines.boosted.block_histograms import (
    few_histograms,
    histograms_of,
    search_node,
    unpack_histograms,
)
from secateur.engines.limits import FeatureUse
from secateur.execution.blocks import Executor, RowBlock, nodes_at_once, only_block
from secateur.typing import BoolArray, FloatArray, IntArray

# Histograms kept for subtraction take at most this share of the memory of the codes,
STORE_SHARE = 0.2
MIN_STORE_BYTES = 1 << 25  # or this many bytes, if that is more
BINS_PER_THREAD = 20_000  # searching fewer bins than this is not worth a second thread
NOWHERE = np.empty(0, np.int64)  # stands for a histogram that is not kept


@dataclass(frozen=True, slots=True)
class TreeScale:
    """Units of gains in a tree, dSSE / ``unit`` - ``penalty`` * cost, rounding below ``floor``."""

    unit: float
    penalty: float
    floor: float
    steps: tuple[float, float]  # of sums of integers: 1 / gradient scale, 1 / weight scale


@dataclass(slots=True, eq=False)
class Node:
    """A node of a growing tree, with the best split of each feature j in ``Siblings.known``."""

    number: int
    depth: int
    total: int  # the packed sum of the rows
    gain: FloatArray
    split: IntArray  # of j: last position of the left side, missing left, packed left sum
    divisible: BoolArray  # whether the node or one below it can be split on j
    slot: int = -1  # the position of the histogram in the store
    feature: int = -1
    left: int = -1  # the number of the left child

    @property
    def weight(self) -> int:
        """The integer weight of the rows."""
        return self.total & LOW


@dataclass(slots=True, eq=False)
class Siblings:
    """The two children of a split, or the root alone: always evaluated together."""

    nodes: list[Node]
    known: BoolArray | None = None  # the features evaluated so far
    listed: IntArray | None = None  # those that a node can be split on, if evaluated in one go
    parent: Node | None = None
    inherited: BoolArray | None = None  # the features evaluated in the parent

    @property
    def parent_slot(self) -> int:
        """The slot of the parent's histogram, -1 if there is none."""
        return -1 if self.parent is None else self.parent.slot

    def by_weight(self) -> tuple[Node, Node]:
        """The lighter of two children, the left one of equals, and the other."""
        left, right = self.nodes
        return (left, right) if left.weight <= right.weight else (right, left)


class Candidates(NamedTuple):
    """Features to evaluate, as a mask and as a list; the same object while nothing changes."""

    mask: BoolArray
    features: IntArray


# A node, the features of its histogram to build, and the siblings if the other is to be the
# parent's minus this one.
_Request = tuple[Node, IntArray, Siblings | None]
# A node to search, its features, and three histograms: see ``search_features``.
_Search = tuple[Node, IntArray, IntArray, IntArray, IntArray]


class NodeHistograms:
    """Evaluates features in the nodes of one tree after the other, above depth ``depth``."""

    def __init__(
        self, executor: Executor, columns: BinnedColumns, depth: int, threads: Threads
    ) -> None:
        self.executor, self.threads = executor, threads
        self.columns, self._depth = columns, depth
        self._shape = (columns.offset, columns.n_bins, columns.is_categorical)
        block: RowBlock | None = only_block(executor)
        self._has_one_block = block is not None and not block.is_sparse
        width = int(columns.offset[-1])
        self._n_at_once = nodes_at_once(width)
        self._grain = max(1, BINS_PER_THREAD * columns.n_features // max(1, width))
        n_bytes = max(MIN_STORE_BYTES, int(STORE_SHARE * columns.n_rows * columns.n_features))
        self._n_slots = int(min(2 ** max(0, depth - 2), max(1, n_bytes // (8 * width + 1)), 64))
        self._store = np.empty((self._n_slots, width), np.int64)
        self._free: list[int] = []
        self._buffers: list[tuple[FloatArray, IntArray, BoolArray]] = []
        self._n_nodes, self._root_weight = 0, 1
        self.n_cells = 0.0
        self.steps, self.min_weight = (1.0, 1.0), np.int64(1)

    def begin_tree(self, steps: tuple[float, float], min_weight: int) -> None:
        """Forget the last tree; set the rounding steps and the smallest weight of a side."""
        self.steps, self.min_weight = steps, np.int64(min_weight)
        self._free = list(range(self._n_slots))
        self._n_nodes = 0

    def root(self, total: int) -> Siblings:
        """The root, which has no sibling."""
        node = self._node(0, 0, total)
        self._root_weight = node.weight
        node.slot = self._free.pop() if self._depth > 1 and self._free else -1
        return Siblings([node])

    def children(self, siblings: Siblings, parent: Node) -> Siblings:
        """The children of a split node; the parent's slot goes to the larger one."""
        left = int(parent.split[parent.feature, 2])
        depth, sums = parent.depth + 1, (left, parent.total - left)
        nodes = [self._node(parent.left + side, depth, sums[side]) for side in (0, 1)]
        young = Siblings(nodes, None, None, parent, siblings.known)
        if depth + 1 < self._depth:
            smaller, larger = young.by_weight()
            for node, slot in ((larger, parent.slot), (smaller, -1)):
                node.slot = slot if slot >= 0 or not self._free else self._free.pop()
        return young

    def _node(self, number: int, depth: int, total: int) -> Node:
        """A new node, in the arrays of a node of an earlier tree."""
        if self._n_nodes == len(self._buffers):
            d = self.columns.n_features
            self._buffers.append((np.empty(d), np.empty((d, 3), np.int64), np.empty(d, np.bool_)))
        gain, split, divisible = self._buffers[self._n_nodes]
        self._n_nodes += 1
        gain.fill(-1.0)
        divisible.fill(False)
        return Node(number, depth, total, gain, split, divisible)

    def release(self, slot: int) -> None:
        """Free the slot of a leaf, or of a node whose children are searched."""
        if slot >= 0:
            self._free.append(slot)

    def evaluate(self, level: list[Siblings], candidates: Candidates) -> None:
        """Find the best split of each candidate in each node of the level."""
        requests = [each for siblings in level for each in self._requests(siblings, candidates)]
        for first in range(0, len(requests), self._n_at_once):
            some = requests[first : first + self._n_at_once]
            built = self._build([node for node, *_ in some], [asked for _, asked, _ in some])
            searches: list[_Search] = []
            for histogram, (node, features, pair) in zip(built, some, strict=True):
                kept = self._store[node.slot] if node.slot >= 0 else NOWHERE
                searches.append((node, features, histogram, NOWHERE, kept))
                if pair is not None:  # the larger takes the place of the parent, needed no more
                    parent, (_, larger) = self._store[pair.parent_slot], pair.by_weight()
                    searches.append((larger, features, parent, histogram, NOWHERE))
            self._search(searches)

    def evaluate_in(self, node: Node, features: IntArray) -> None:
        """Find the best split of each of the features in one node, and in this node only."""
        if self._has_one_block:
            self.count(len(features), node.weight)
            found = (node.gain, node.split, node.divisible)
            limits = (self.steps, self.min_weight)
            self.executor.apply(search_node, node.number, features, node.total, limits, found)
            return
        self._search([(node, features, self._build([node], [features])[0], NOWHERE, NOWHERE)])

    def _requests(self, siblings: Siblings, candidates: Candidates) -> list[_Request]:
        """The histograms to build: of the smaller child only, where the parent's are kept."""
        # for the candidates not evaluated yet that one of the siblings may be split on
        features, known = candidates.features, siblings.known
        siblings.known = candidates.mask
        if known is not None:
            features = features[~known[features]]
            siblings.known = known | candidates.mask
        if siblings.parent is not None and siblings.inherited is not None:
            divisible = siblings.parent.divisible
            if siblings.inherited is not candidates.mask:
                # Nothing is known of features that were no candidates in the parent.
                divisible = divisible | ~siblings.inherited
            features = features[divisible[features]]
        siblings.listed = features if known is None else None
        if len(features) == 0:
            return []
        if siblings.parent_slot < 0 or siblings.inherited is None:
            return [(node, features, None) for node in siblings.nodes]
        smaller, _ = siblings.by_weight()
        if siblings.inherited is candidates.mask:
            return [(smaller, features, siblings)]
        is_kept = siblings.inherited[features]
        kept, new = features[is_kept], features[~is_kept]
        found: list[_Request] = [(smaller, kept, siblings)] if len(kept) else []
        return found + [(node, new, None) for node in siblings.nodes if len(new)]

    def _build(self, nodes: list[Node], features: list[IntArray]) -> IntArray:
        """The histograms of some nodes, of each for its features, over all blocks."""
        for node, asked in zip(nodes, features, strict=True):
            self.count(len(asked), node.weight)
        numbers = [node.number for node in nodes]
        if self.executor.one_pass:
            sent = self.executor.sum(few_histograms, numbers, features)
            return unpack_histograms(sent, features, self.columns.offset)
        return self.executor.sum(histograms_of, numbers, features)

    def count(self, n_features: int, weight: int) -> None:
        """Count the cells of the table that were added to histograms."""
        self.n_cells += n_features * self.columns.n_rows * weight / self._root_weight

    def _search(self, searches: list[_Search]) -> None:
        """Search the nodes, large ones in threads by node and by feature."""
        n_features = sum(len(features) for _, features, *_ in searches)
        n_threads = min(self.threads.n_threads, max(1, n_features // self._grain))
        n_parts = -(-n_threads // len(searches))

        def part(_: int, number: int) -> None:
            node, features, histogram, less, kept = searches[number // n_parts]
            start, stop = ((number % n_parts + end) * len(features) // n_parts for end in (0, 1))
            limits = (node.total, self.steps, self.min_weight, start, stop)
            found = (node.gain, node.split, node.divisible)
            search_features(histogram, less, kept, features, self._shape, *limits, found)

        if n_threads == 1:
            for number in range(len(searches)):
                part(0, number)
        else:
            self.threads.share(part, n_parts * len(searches))

    def histogram_of(self, node: Node, feature: int) -> IntArray:
        """The packed sums of one feature's bins in a node, missing last."""
        built = self._build([node], [np.array([feature])])[0]
        first = int(self.columns.offset[feature])
        bins: IntArray = built[first : first + int(self.columns.n_bins[feature]) + 1]
        return bins.copy()


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """The choice of a node, -1 for a leaf, with its costs and allowed features at that moment."""

    node: Node
    feature: int
    gain: float
    is_first_use: bool
    costs: FloatArray
    allowed: BoolArray


class ExactSearch:
    """Evaluates every allowed feature in every node; in drafts, ``only`` some of them."""

    def __init__(
        self, histograms: NodeHistograms, feature_use: FeatureUse, divisible: IntArray
    ) -> None:
        self.histograms = histograms
        self.feature_use = feature_use
        self.is_divisible: BoolArray = np.zeros(len(feature_use.used), np.bool_)
        self.is_divisible[divisible] = True
        self.scale = TreeScale(1.0, 0.0, 0.0, (1.0, 1.0))
        self.decisions: list[Decision] = []
        self._only: BoolArray | None = None
        self._candidates = Candidates(np.zeros(0, np.bool_), np.zeros(0, np.int64))

    def begin_tree(self, scale: TreeScale, only: BoolArray | None = None) -> None:
        """Begin a tree with its own units of gain."""
        self.scale = scale
        self.decisions = []
        self._only = only
        self.feature_use.begin_tree()
        self._update_candidates()

    def skip_tree(self) -> None:
        """A tree was taken over from an earlier fit."""

    def _update_candidates(self) -> None:
        """The features that a split may use now; the same object while they are the same."""
        mask = self._candidate_mask()
        if not np.array_equal(mask, self._candidates.mask):
            self._candidates = Candidates(mask, np.flatnonzero(mask))

    def _candidate_mask(self) -> BoolArray:
        """The features that are evaluated in every node."""
        mask: BoolArray = self.feature_use.allowed & self.is_divisible
        return mask if self._only is None else mask & self._only

    def evaluate(self, level: list[Siblings]) -> None:
        """Evaluate the candidates in the nodes of a level that can be split."""
        min_weight = 2 * int(self.histograms.min_weight)
        self.histograms.evaluate(
            [
                siblings
                for siblings in level
                if siblings.known is not self._candidates.mask
                and any(node.weight >= min_weight for node in siblings.nodes)
            ],
            self._candidates,
        )

    def _choices(self, siblings: Siblings, node: Node) -> IntArray:  # noqa: ARG002  # group tests
        """The features that a node may be split on, all of them evaluated in it."""
        if siblings.known is not self._candidates.mask:
            # A first use has changed the candidates.
            self.evaluate([siblings])
        return self._candidates.features if siblings.listed is None else siblings.listed

    def choose(self, siblings: Siblings, node: Node) -> int | None:
        """The feature that a node is split on at the current costs, or None for a leaf."""
        choices = self._choices(siblings, node)
        used, costs = self.feature_use.at_node(node.number)
        units = (self.scale.penalty, self.scale.unit, self.scale.floor)
        feature, gain = pick_feature(choices, node.gain, used, costs, *units)
        is_first_use = feature >= 0 and not used[feature]
        allowed = self.feature_use.allowed
        self.decisions.append(Decision(node, feature, gain, is_first_use, costs, allowed))
        if is_first_use:
            self.feature_use.add_at(node.number, feature)
            self._update_candidates()
        return int(feature) if feature >= 0 else None
