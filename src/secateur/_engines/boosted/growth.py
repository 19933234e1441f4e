"""The nodes of a tree as it grows, and the finished tree."""

from __future__ import annotations

import numpy as np

from secateur._data.binned import BinnedColumns
from secateur._engines.boosted.nodes import Node
from secateur._engines.boosted.rows import RowSplit
from secateur._engines.boosted.tree import Tree, left_words
from secateur.typing import FloatArray, IntArray


class Growth:
    """The nodes of a tree as it grows, breadth first."""

    def __init__(self, columns: BinnedColumns) -> None:
        self._columns = columns
        self._feature = [-1]
        self._threshold = [np.inf]
        self._missing_left = [False]
        self._words = [left_words([], missing_left=False)]
        self._left = [-1]
        self._gain = [0.0]
        self.value: FloatArray = np.zeros(1)

    def split(self, node: Node, left_bins: IntArray) -> RowSplit:
        """Make two leaves of one."""
        q, j, left = node.number, node.feature, len(self._left)
        node.left = left
        last, missing_left = int(node.split[j, 0]), bool(node.split[j, 1])
        self._feature[q] = j
        self._left[q] = left
        self._missing_left[q] = missing_left
        self._words[q] = left_words(left_bins, missing_left)
        self._gain[q] = float(node.gain[j])
        cuts = self._columns.cuts[j]
        self._threshold[q] = float(cuts[last]) if last < len(cuts) else np.inf
        for _ in range(2):
            self._feature.append(-1)
            self._threshold.append(np.inf)
            self._missing_left.append(False)
            self._words.append(self._words[0])
            self._left.append(-1)
            self._gain.append(0.0)
        self.value = np.zeros(len(self._left))
        return RowSplit(q, left, j, self._words[q])

    def leaves(self) -> list[int]:
        """The numbers of the leaves."""
        return [q for q, left in enumerate(self._left) if left < 0]

    def tree(self) -> Tree:
        """The finished tree."""
        feature = np.array(self._feature, dtype=np.int64)
        is_split = feature >= 0
        return Tree(
            feature,
            np.array(self._threshold),
            np.array(self._missing_left, dtype=np.bool_),
            np.where(is_split, self._columns.is_categorical[feature], False),
            np.array(self._words, dtype=np.uint64),
            np.array(self._left, dtype=np.int64),
            self.value,
            np.array(self._gain),
        )
