"""The model that boosting makes: rounds of trees, and its state after any round."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from secateur._data.table import Table
from secateur._engines.boosted.tree import Tree, join_trees
from secateur._kernels.prediction import add_trees_raw
from secateur._kernels.threads import Threads
from secateur.typing import FloatArray, IntArray, Loss


@dataclass(slots=True, eq=False)
class Ensemble:
    """Rounds of trees, one tree per output and round; grows while it is fitted.

    ``n_cells`` counts the cells of the table that were added up for it: work, not part of the
    model.
    """

    loss: Loss
    baseline: FloatArray
    rounds: list[list[Tree]] = field(default_factory=list)
    n_cells: float = 0.0

    def at(self, n_rounds: int) -> BoostedModel:
        """The model after so many rounds."""
        return BoostedModel(self, n_rounds)


@dataclass(frozen=True, slots=True, eq=False)
class BoostedModel:
    """An ensemble at one of its rounds: what a step of a path predicts with.

    All steps of a path share the trees; a step is a number of rounds.
    """

    ensemble: Ensemble
    n_rounds: int

    @property
    def features(self) -> IntArray:
        """The features that the trees ask for, sorted."""
        asked = [t.feature[t.left >= 0] for round_ in self._rounds for t in round_]
        found: IntArray = np.unique(np.concatenate([np.empty(0, np.int64), *asked]))
        return found

    @property
    def _rounds(self) -> list[list[Tree]]:
        return self.ensemble.rounds[: self.n_rounds]

    def frozen(self) -> BoostedModel:
        """The same model with trees of its own and none of later rounds."""
        return BoostedModel(
            Ensemble(self.ensemble.loss, self.ensemble.baseline, list(self._rounds)), self.n_rounds
        )

    def importances(self, n_features: int) -> FloatArray:
        """The sum of dSSE of each feature's splits."""
        total = np.zeros(n_features)
        for round_ in self._rounds:
            for tree in round_:
                split = tree.left >= 0
                np.add.at(total, tree.feature[split], tree.gain[split])
        return total

    def raw(self, table: Table, threads: Threads | None = None) -> FloatArray:
        """Raw predictions of shape (n_outputs, n_rows); only the model's own columns are read."""
        features = self.features
        columns = table.columns(features) if len(features) else np.empty((table.n_rows, 1))
        return self.raw_of(columns, features, threads)

    def raw_of(
        self, columns: FloatArray, features: IntArray, threads: Threads | None = None
    ) -> FloatArray:
        """The same of columns that were read already, those of ``features`` in their order."""
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
        threads.run(
            lambda start, stop: add_trees_raw(
                columns,
                column,
                tree.threshold,
                tree.missing_left,
                tree.is_set,
                tree.words,
                tree.left,
                tree.value,
                roots,
                start,
                stop,
                out,
            ),
            len(columns),
            1024,
        )

    def response(self, table: Table, threads: Threads | None = None) -> FloatArray:
        """Predictions on the target's scale: values, or a probability per class."""
        return self.ensemble.loss.response(self.raw(table, threads))
