"""A tree as it grows, and the finished tree."""

from __future__ import annotations

import numpy as np

from secateur._data.binned import BinnedColumns
from secateur._engines.boosted.nodes import Node
from secateur._engines.boosted.rows import RowSplit
from secateur._engines.boosted.tree import Tree, WordArray
from secateur.typing import FloatArray


class Growth:
    """The splits of a tree so far; nodes are numbered breadth first, children side by side."""

    def __init__(self, columns: BinnedColumns) -> None:
        self._columns = columns
        self._splits: list[tuple[Node, WordArray]] = []

    @property
    def n_nodes(self) -> int:
        """How many nodes there are."""
        return 1 + 2 * len(self._splits)

    def split(self, node: Node, words: WordArray) -> RowSplit:
        """Make two leaves of one; ``words`` are the codes that go left."""
        node.left = self.n_nodes
        self._splits.append((node, words))
        return RowSplit(node.number, node.left, node.feature, words)

    def leaves(self) -> list[int]:
        """The numbers of the leaves."""
        inner = {node.number for node, _ in self._splits}
        return [number for number in range(self.n_nodes) if number not in inner]

    def tree(self, leaves: list[int], values: FloatArray) -> Tree:
        """The finished tree, with the values of its leaves."""
        tree = Tree.of_leaves(self.n_nodes)
        tree.value[leaves] = values
        for node, words in self._splits:
            q, j = node.number, node.feature
            last = int(node.split[j, 0])
            cuts = self._columns.cuts[j]
            tree.feature[q] = j
            tree.left[q] = node.left
            tree.words[q] = words
            tree.gain[q] = node.gain[j]
            tree.missing_left[q] = node.split[j, 1]
            tree.is_set[q] = self._columns.is_categorical[j]
            tree.threshold[q] = cuts[last] if last < len(cuts) else np.inf
        return tree
