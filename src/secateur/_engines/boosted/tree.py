"""A finished tree, and many of them laid end to end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

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


def left_words(bins: Sequence[int] | IntArray, missing_left: bool) -> WordArray:
    """The set of codes that go left, as 256 bits.

    >>> left_words([0, 1], missing_left=False)[0]
    np.uint64(3)
    """
    bits = np.zeros(256, np.uint8)
    bits[np.asarray(bins, dtype=np.int64)] = 1
    bits[255] = missing_left
    words: WordArray = np.packbits(bits, bitorder="little").view("<u8").astype(np.uint64)
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
