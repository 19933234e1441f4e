"""A finished tree, and many of them laid end to end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from secateur._kernels.records import MISSING
from secateur.typing import BoolArray, FloatArray, IntArray

WordArray = npt.NDArray[np.uint64]


class Tree(NamedTuple):
    """Nodes in breadth-first order; a right child follows the left one, a leaf has ``left == -1``.

    ``threshold`` asks raw values, ``words`` (256 bits) asks codes; ``is_set`` marks splits of
    categories, which have no threshold. ``value`` of a leaf includes the learning rate, ``gain`` of
    a split is its dSSE.
    """

    feature: IntArray
    threshold: FloatArray
    missing_left: BoolArray
    is_set: BoolArray
    words: WordArray
    left: IntArray
    value: FloatArray
    gain: FloatArray

    @classmethod
    def of_leaves(cls, n_nodes: int) -> Tree:
        """So many nodes, none of them split yet."""
        return cls(
            np.full(n_nodes, -1, np.int64),
            np.full(n_nodes, np.inf),
            np.zeros(n_nodes, np.bool_),
            np.zeros(n_nodes, np.bool_),
            np.zeros((n_nodes, 4), np.uint64),
            np.full(n_nodes, -1, np.int64),
            np.zeros(n_nodes),
            np.zeros(n_nodes),
        )


def left_words(bins: Sequence[int] | IntArray, missing_left: bool) -> WordArray:
    """The set of codes that go left, as 256 bits.

    >>> left_words([0, 1], missing_left=False)[0]
    np.uint64(3)
    """
    mask = sum(1 << int(b) for b in bins) | (int(missing_left) << MISSING)
    words: WordArray = np.frombuffer(mask.to_bytes(32, "little"), "<u8").astype(np.uint64)
    return words


_FIRST_WORDS = np.array(
    [left_words(range(last + 1), missing_left=False) for last in range(MISSING)]
)
"""``left_words`` of the bins 0 .. last."""


def first_words(last: int, missing_left: bool) -> WordArray:
    """As ``left_words`` for all bins up to ``last``.

    >>> first_words(1, missing_left=False)[0]
    np.uint64(3)
    """
    words: WordArray = _FIRST_WORDS[last].copy()
    if missing_left:
        words[MISSING // 64] |= np.uint64(1 << (MISSING % 64))
    return words


def join_trees(trees: Sequence[Tree]) -> tuple[Tree, IntArray]:
    """All trees in one, and where each begins."""
    sizes = [len(tree.left) for tree in trees]
    roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    parts = [
        tree._replace(left=np.where(tree.left >= 0, tree.left + root, -1))
        for tree, root in zip(trees, roots, strict=True)
    ]
    return Tree(*(np.concatenate(column) for column in zip(*parts, strict=True))), roots
