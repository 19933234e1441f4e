"""What tasks predict with: models of their own, or one of all in which the task is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from secateur._data.table import Table
from secateur._engines.boosted.ensemble import BoostedModel
from secateur._kernels.threads import Threads
from secateur.typing import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class CommonModel:
    """The trees that all tasks have in common, as one task meets them.

    ``column`` is that of the task in these trees, after all features; ``code`` its category.
    """

    common: BoostedModel
    column: int
    code: int

    @property
    def n_rounds(self) -> int:
        """The rounds of the trees."""
        return self.common.n_rounds

    @property
    def features(self) -> IntArray:
        """The features that the trees ask for, of whatever task, sorted."""
        features = self.common.features
        return features[features < self.column]

    def raw(self, table: Table, threads: Threads | None = None) -> FloatArray:
        """Raw predictions of shape (n_outputs, n_rows), for rows of the task."""
        features = self.features
        columns = np.full((table.n_rows, len(features) + 1), float(self.code))
        columns[:, :-1] = table.columns(features)
        return self.common.raw_of(columns, np.append(features, self.column), threads)

    def response(self, table: Table, threads: Threads | None = None) -> FloatArray:
        """Predictions on the scale of the target."""
        return self.common.ensemble.loss.response(self.raw(table, threads))


@dataclass(frozen=True, slots=True, eq=False)
class TasksModel:
    """The models of all tasks at one round, in the order of the tasks."""

    models: tuple[BoostedModel | CommonModel, ...]

    @property
    def n_rounds(self) -> int:
        """The rounds of each."""
        return self.models[0].n_rounds

    @property
    def has_common_trees(self) -> bool:
        """Whether the tasks have their trees in common."""
        return isinstance(self.models[0], CommonModel)

    @property
    def features(self) -> IntArray:
        """The features that any task asks for, sorted."""
        if self.has_common_trees:
            return self.models[0].features
        found: IntArray = np.unique(np.concatenate([model.features for model in self.models]))
        return found
