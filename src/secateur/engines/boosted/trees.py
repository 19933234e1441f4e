"""Trees, and the models made of rounds of trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from secateur._kernels.partition import add_trees_raw
from secateur._kernels.records import MISSING
from secateur._kernels.threads import Threads
from secateur.data.table import Table
from secateur.typing import BoolArray, FloatArray, IntArray, Loss

WordArray = npt.NDArray[np.uint64]


class Tree(NamedTuple):
    """Nodes in breadth-first order; a right child follows the left one, a leaf has ``left == -1``.

    Raw values are compared with ``threshold``, codes are looked up in ``words`` (256 bits of codes
    that go left). ``is_set`` marks splits of categories, which have no threshold. ``value`` of a
    leaf includes the learning rate, ``gain`` of a split is its dSSE.
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
    def empty(cls, n_nodes: int) -> Tree:
        """A tree of ``n_nodes`` nodes, none of them split yet."""
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

    def first(self, n_nodes: int) -> Tree:
        """A copy of the first nodes."""
        arrays: list[Any] = [array[:n_nodes].copy() for array in self]
        return Tree(*arrays)

    def leaves(self) -> list[int]:
        """The numbers of the leaves."""
        found: list[int] = np.flatnonzero(self.left < 0).tolist()
        return found

    def add_gains(self, total_out: FloatArray) -> None:
        """Add the dSSE of each split to its feature's total."""
        split = self.left >= 0
        np.add.at(total_out, self.feature[split], self.gain[split])


def left_words(bins: Sequence[int] | IntArray, missing_left: bool) -> WordArray:
    """The set of codes that go left, as 256 bits."""
    mask = sum(1 << int(b) for b in bins) | (int(missing_left) << MISSING)
    words: WordArray = np.frombuffer(mask.to_bytes(32, "little"), "<u8").astype(np.uint64)
    return words


_FIRST_WORDS = np.array(
    [left_words(range(last + 1), missing_left=False) for last in range(MISSING)]
)
"""``left_words`` of the bins 0 .. last."""


def first_words(last: int, missing_left: bool) -> WordArray:
    """As ``left_words`` for all bins up to ``last``."""
    words: WordArray = _FIRST_WORDS[last].copy()
    if missing_left:
        words[MISSING // 64] |= np.uint64(1 << (MISSING % 64))
    return words


def join_trees(trees: Sequence[Tree]) -> tuple[Tree, IntArray]:
    """All trees as one, and the roots of each."""
    sizes = [len(tree.left) for tree in trees]
    roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    parts = [
        tree._replace(left=np.where(tree.left >= 0, tree.left + root, -1))
        for tree, root in zip(trees, roots, strict=True)
    ]
    return Tree(*(np.concatenate(column) for column in zip(*parts, strict=True))), roots


@dataclass(slots=True, eq=False)
class Ensemble:
    """Rounds of trees, one tree per output and round; ``n_cells`` counts cells of histograms."""

    loss: Loss
    baseline: FloatArray
    rounds: list[list[Tree]] = field(default_factory=list)
    n_cells: float = 0.0

    def at(self, n_rounds: int) -> BoostedModel:
        """The model after ``n_rounds`` rounds."""
        return BoostedModel(self, n_rounds)


@dataclass(frozen=True, slots=True, eq=False)
class BoostedModel:
    """An ensemble at one of its rounds; the steps of a path share the trees."""

    ensemble: Ensemble
    n_rounds: int

    @property
    def features(self) -> IntArray:
        """The features that the trees use, sorted."""
        asked = [t.feature[t.left >= 0] for round_ in self._rounds for t in round_]
        found: IntArray = np.unique(np.concatenate([np.empty(0, np.int64), *asked]))
        return found

    @property
    def _rounds(self) -> list[list[Tree]]:
        return self.ensemble.rounds[: self.n_rounds]

    def frozen(self) -> BoostedModel:
        """A copy of the model without the trees of later rounds."""
        return BoostedModel(
            Ensemble(self.ensemble.loss, self.ensemble.baseline, list(self._rounds)), self.n_rounds
        )

    def importances(self, n_features: int) -> FloatArray:
        """The sum of dSSE of each feature's splits."""
        total = np.zeros(n_features)
        for round_ in self._rounds:
            for tree in round_:
                tree.add_gains(total)
        return total

    def raw(self, table: Table, threads: Threads | None = None) -> FloatArray:
        """Raw predictions of shape (n_outputs, n_rows); only the model's own columns are read."""
        features = self.features
        columns = table.columns(features) if len(features) else np.empty((table.n_rows, 1))
        return self.raw_of(columns, features, threads)

    def raw_of(
        self, columns: FloatArray, features: IntArray, threads: Threads | None = None
    ) -> FloatArray:
        """The same from columns read before: those of ``features``, in this order."""
        threads = threads or Threads(1)
        out = np.repeat(self.ensemble.baseline[:, None], len(columns), axis=1)
        if self.n_rounds == 0:
            return out
        for k in range(len(out)):
            self._add_output(k, columns, features, threads, out[k])
        return out

    def _add_output(
        self, k: int, columns: FloatArray, features: IntArray, threads: Threads, out: FloatArray
    ) -> None:
        tree, roots = join_trees([round_[k] for round_ in self._rounds])
        column = np.searchsorted(features, tree.feature)
        nodes = (column, *tree[1:7], roots)
        threads.run(
            lambda start, stop: add_trees_raw(columns, *nodes, start, stop, out), len(columns), 1024
        )

    def response(self, table: Table, threads: Threads | None = None) -> FloatArray:
        """Predictions on the target's scale: values, or a probability per class."""
        return self.ensemble.loss.response(self.raw(table, threads))
