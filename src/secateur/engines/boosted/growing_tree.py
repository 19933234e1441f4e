"""A tree as it grows, and the finished tree."""

from __future__ import annotations

from secateur.data.binning import BinnedColumns
from secateur.engines.boosted.nodes import Node
from secateur.engines.boosted.partition import RowSplit
from secateur.engines.boosted.trees import Tree, WordArray
from secateur.typing import FloatArray


class TreeBuilder:
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
        if not self._splits:
            return tree
        nodes = [node for node, _ in self._splits]
        inner = [node.number for node in nodes]
        features = [node.feature for node in nodes]
        lasts, missing, _ = zip(*(node.split[node.feature].tolist() for node in nodes), strict=True)
        tree.feature[inner] = features
        tree.left[inner] = [node.left for node in nodes]
        tree.words[inner] = [words for _, words in self._splits]
        tree.gain[inner] = [node.gain[node.feature] for node in nodes]
        tree.missing_left[inner] = missing
        tree.is_set[inner] = self._columns.is_categorical[features]
        tree.threshold[inner] = [
            self._columns.threshold(j, last) for j, last in zip(features, lasts, strict=True)
        ]
        return tree
