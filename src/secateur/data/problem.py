"""A feature selection problem: table, target, weights, costs and type of target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from secateur.data.costs import CostModel
from secateur.data.table import Table
from secateur.data.target import Target, TargetType
from secateur.exceptions import InputError
from secateur.typing import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """The data of a fit: table, target, weights and costs of features."""

    table: Table
    target: Target
    weight: FloatArray
    cost_model: CostModel
    target_type: TargetType

    def __post_init__(self) -> None:
        rows = (self.table.n_rows, len(self.target.values), len(self.weight))
        if len(set(rows)) != 1:
            raise InputError(
                f"Table, target and weight have inconsistent numbers of samples. Got {rows}. Give "
                "one target and one weight per row."
            )
        if self.cost_model.n_features != self.table.n_features:
            raise InputError(
                f"Costs must be of the table's {self.table.n_features} features. Got "
                f"{self.cost_model.n_features}. Bind the costs to the names of the table."
            )

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.table.n_rows

    @property
    def n_features(self) -> int:
        """The number of features."""
        return self.table.n_features

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features."""
        return self.table.names

    def take(self, rows: IntArray) -> Problem:
        """Give the problem of some rows, as for a fold; features and costs stay."""
        return Problem(
            table=self.table.take(rows),
            target=self.target.take(rows),
            weight=self.weight[rows],
            cost_model=self.cost_model,
            target_type=self.target_type,
        )


class Fold(NamedTuple):
    """Row numbers of one fold: training rows and test rows."""

    train: IntArray
    test: IntArray


def all_rows(n_rows: int) -> Fold:
    """A fold whose training rows are all rows."""
    return Fold(np.arange(n_rows), np.empty(0, np.int64))
