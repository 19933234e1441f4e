"""Parameters of boosting, trees, and the models made of rounds of trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from secateur._kernels.partition import add_trees_raw
from secateur._kernels.records import MISSING
from secateur._kernels.threads import Threads
from secateur.data.binning import BinnedColumns
from secateur.data.table import Table
from secateur.data.target import are_counts
from secateur.losses import Loss
from secateur.typing import AnyArray, BoolArray, FloatArray, IntArray

WordArray = npt.NDArray[np.uint64]
TreeArrays = tuple[AnyArray, ...]  # see `room_for_trees`


@dataclass(frozen=True, slots=True)
class BoostingParams:
    """Parameters of boosting; gains are dSSE / 2 (Eq. 14 of GBFS) or dSSE / SSE of the root.

    ``only`` are the features that may be used, if not all. ``lazy`` (trees are drafted on few
    features) and ``whole`` (in one call) do not change trees.
    """

    criterion: Literal["gbfs", "agbm"] = "agbm"
    penalty: float = 0.0
    learning_rate: float = 0.1
    n_rounds: int = 100
    max_depth: int = 4
    min_samples_leaf: float = 20
    l2: float = 0.0
    leaf: Literal["newton", "mean"] = "newton"
    max_features: int | None = None
    cost_budget: float | None = None
    subsample: float = 1.0
    feature_subsample: float = 1.0
    seed: int = 0
    only: IntArray | None = None
    lazy: bool = True
    whole: bool = True


def min_leaf_rows(min_samples_leaf: float | str, weight: FloatArray) -> float:
    """The smallest weight of a leaf: as given, or one for every 50 rows, from 1 to 20.

    >>> min_leaf_rows("auto", np.ones(500))
    10.0
    """
    if min_samples_leaf != "auto":
        return float(min_samples_leaf)
    n_rows = weight.sum() if are_counts(weight) else len(weight)
    return float(np.clip(n_rows // 50, 1, 20))


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

    def add_gains(self, total_out: FloatArray) -> None:
        """Add the dSSE of each split to its feature's total."""
        split = self.left >= 0
        np.add.at(total_out, self.feature[split], self.gain[split])


def room_for_trees(n_trees: int, n_nodes: int) -> TreeArrays:
    """Room for trees of a leaf: numbers of nodes; left, feature, split, gain, words, value."""
    shape = (n_trees, n_nodes)
    return (
        np.ones(n_trees, np.int64),
        np.full(shape, -1, np.int64),
        np.empty(shape, np.int64),
        np.empty((*shape, 2), np.int64),
        np.zeros(shape),
        np.zeros((*shape, 4), np.uint64),
        np.zeros(shape),
    )


def inner_nodes(grown: TreeArrays) -> BoolArray:
    """Which of the nodes that were grown are splits, by tree and node."""
    n_nodes, left = grown[:2]
    return (np.arange(left.shape[1]) < n_nodes[:, None]) & (left >= 0)


def trees_of(grown: TreeArrays, columns: BinnedColumns) -> list[Tree]:
    """The trees that were grown; a split is the (last position left, missing left)."""
    n_nodes = grown[0]
    left, feature, split, gain, words, value = (each[:, : n_nodes.max()] for each in grown[1:])
    inner = inner_nodes((n_nodes, left))
    threshold, is_set = np.full(inner.shape, np.inf), np.zeros_like(inner)
    threshold[inner] = columns.thresholds(feature[inner], split[inner, 0])
    is_set[inner] = columns.is_categorical[feature[inner]]
    by_node = (
        np.where(inner, feature, -1),
        threshold,
        inner & (split[..., 1] > 0),
        is_set,
        np.where(inner[..., None], words, np.uint64(0)),
        np.where(inner, left, -1),
        np.where(inner, 0.0, value),
        np.where(inner, gain, 0.0),
    )
    numbers = enumerate(n_nodes.tolist())
    return [Tree(*(array[t, :n] for array in by_node)) for t, n in numbers]  # type: ignore[arg-type]  # in their order


def left_words(mask: int, missing_left: bool) -> WordArray:
    """The codes that go left, the bits of ``mask`` and perhaps the missing one, as 256 bits."""
    mask |= int(missing_left) << MISSING
    return np.frombuffer(mask.to_bytes(32, "little"), "<u8").astype(np.uint64)


def _add_trees(
    trees: Sequence[Tree],
    columns: FloatArray,
    features: IntArray,
    threads: Threads,
    out: FloatArray,
) -> None:
    """Add the trees, joined to one, to the predictions of one output."""
    roots = np.cumsum([0, *(len(tree.left) for tree in trees[:-1])])
    parts = [
        tree._replace(left=np.where(tree.left >= 0, tree.left + root, -1))
        for tree, root in zip(trees, roots, strict=True)
    ]
    tree = Tree(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    nodes = (np.searchsorted(features, tree.feature), *tree[1:7], roots)
    threads.run(
        lambda start, stop: add_trees_raw(columns, *nodes, start, stop, out), len(columns), 1024
    )


@dataclass(eq=False)
class Ensemble:
    """Rounds of trees, one tree per output and round; ``n_cells`` counts cells of histograms."""

    loss: Loss
    baseline: FloatArray
    rounds: list[list[Tree]] = field(default_factory=list)
    n_cells: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class BoostedModel:
    """An ensemble at one of its rounds; the steps of a path share the trees."""

    ensemble: Ensemble
    n_rounds: int

    @property
    def features(self) -> IntArray:
        """The features that the trees use, sorted."""
        asked = [t.feature[t.left >= 0] for round_ in self._rounds for t in round_]
        return np.unique(np.concatenate([np.empty(0, np.int64), *asked]))

    @property
    def _rounds(self) -> list[list[Tree]]:
        return self.ensemble.rounds[: self.n_rounds]

    def importances(self, n_features: int) -> FloatArray:
        """The sum of dSSE of each feature's splits."""
        total = np.zeros(n_features)
        for round_ in self._rounds:
            for tree in round_:
                tree.add_gains(total)
        return total

    def split_counts(self, n_features: int) -> FloatArray:
        """The number of splits on each feature."""
        asked = [t.feature[t.left >= 0] for round_ in self._rounds for t in round_]
        return np.bincount(np.concatenate(asked), minlength=n_features).astype(np.float64)

    def raw(self, table: Table, threads: Threads | None = None) -> FloatArray:
        """Raw predictions of shape (n_outputs, n_rows); only the model's own columns are read."""
        features = self.features
        columns = table.columns(features) if len(features) else np.empty((table.n_rows, 1))
        return self.raw_of(columns, features, threads)

    def raw_of(
        self, columns: FloatArray, features: IntArray, threads: Threads | None = None
    ) -> FloatArray:
        """The same from columns read before: those of ``features``, in this order."""
        out = np.repeat(self.ensemble.baseline[:, None], len(columns), axis=1)
        for raw, trees in zip(out, zip(*self._rounds, strict=True), strict=False):
            _add_trees(trees, columns, features, threads or Threads(1), raw)
        return out

    def response(self, table: Table, threads: Threads | None = None) -> FloatArray:
        """Predictions on the target's scale: values, or a probability per class."""
        return self.ensemble.loss.response(self.raw(table, threads))
