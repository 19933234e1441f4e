"""Trees that several tasks have in common: one fit on all rows, in which the task is a category."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from secateur._data.rebinned import with_category
from secateur._data.table import Table
from secateur._engines.boosted.ensemble import BoostedModel
from secateur._engines.boosted.grid import BoostedData, BoostedRun
from secateur._engines.boosted.ledger import Ledger
from secateur._engines.boosted.params import BoostingParams
from secateur._engines.boosted.task_ledger import TaskLedger
from secateur._engines.boosted.tree import Tree
from secateur._kernels.records import MAX_BINS
from secateur._kernels.threads import Threads
from secateur.evaluation.folds import Fold
from secateur.path.step import Step
from secateur.typing import BoolArray, FloatArray, IntArray

TOLLS = (1.0, 0.0)
"""What a split by task may cost, as shares of T / n: T tasks without any difference explain about
so much of the squared error of n rows. Tasks that differ at random are fitted too well for nothing,
those that come in kinds are told apart at any node."""


@dataclass(frozen=True, slots=True, eq=False)
class CommonRows:
    """The rows of all tasks as those of one.

    Parameters
    ----------
    data : BoostedData
        All rows with one more column, the task.
    code : array of int of shape (n_tasks,)
        The category of each task.
    plain : BoostedData
        The same without that column.
    toll : float
        What a split by task costs, as a share of T / n.
    """

    data: BoostedData
    code: IntArray
    plain: BoostedData
    toll: float = TOLLS[0]

    @classmethod
    def of(cls, plain: BoostedData, rows: Sequence[IntArray]) -> CommonRows:
        """All rows, given those of each task; large tasks come first among the categories."""
        order = np.argsort([-len(its) for its in rows], kind="stable")
        code = np.empty(len(rows), np.int64)
        code[order] = np.minimum(np.arange(len(rows)), MAX_BINS - 1)
        category = np.zeros(plain.columns.n_rows, np.int64)
        for its_code, its in zip(code, rows, strict=True):
            category[its] = its_code
        return cls(replace(plain, columns=with_category(plain.columns, category)), code, plain)


class CommonFit:
    """The common trees of one fit, round by round, and which features they ask of each task."""

    def __init__(
        self, rows: CommonRows, fold: Fold, params: BoostingParams, account: Ledger
    ) -> None:
        self._code = rows.code
        self._column = rows.plain.columns.n_features
        toll = rows.toll * len(rows.code) / float(rows.data.weight[fold.train].sum())
        ledger = TaskLedger(rows.data.prices, account, params.penalty, 0.0, tolls=[toll])
        told = replace(params, penalty=1.0)
        self.run: BoostedRun = rows.data.run(fold, told, ledger, is_shared=True)
        self.asked: BoolArray = np.zeros((len(rows.code), self._column), np.bool_)

    def round(self) -> Step:
        """One more tree for all."""
        step = next(self.run.steps)
        for tree in step.model.ensemble.rounds[-1]:
            self._note(tree)
        return step

    def _note(self, tree: Tree) -> None:
        """Book the features that rows of a task can meet on their way down."""
        reached = reached_by(tree, self._column, self._code)
        for node in np.flatnonzero((tree.left >= 0) & (tree.feature != self._column)):
            self.asked[reached[:, node], tree.feature[node]] = True

    def model(self, step: Step, t: int, own: BoostedModel) -> SumModel:
        """What a task predicts with."""
        return SumModel(step.model, own, self._column, int(self._code[t]))


def reached_by(tree: Tree, column: int, codes: Sequence[int] | IntArray) -> BoolArray:
    """Which nodes rows of some categories can come to: (n_categories, n_nodes)."""
    reached = np.zeros((len(codes), len(tree.left)), np.bool_)
    reached[:, 0] = True
    asked = np.asarray(codes).astype(np.uint64)
    for node in np.flatnonzero(tree.left >= 0):  # parents come before their children
        to_left = to_right = reached[:, node]
        if tree.feature[node] == column:
            word = tree.words[node][asked // np.uint64(64)]
            is_left = (word >> (asked % np.uint64(64))) & np.uint64(1) == 1
            to_left, to_right = to_left & is_left, to_right & ~is_left
        reached[:, tree.left[node]] = to_left
        reached[:, tree.left[node] + 1] = to_right
    return reached


@dataclass(frozen=True, slots=True, eq=False)
class SumModel:
    """The common trees, the task being known, and those of the task, added up.

    ``column`` is that of the task in the common trees, after all features; ``code`` its category.
    """

    common: BoostedModel
    own: BoostedModel
    column: int
    code: int

    @property
    def n_rounds(self) -> int:
        """The rounds of both."""
        return self.own.n_rounds

    @property
    def _of_all(self) -> IntArray:
        """The features that the common trees ask for."""
        features = self.common.features
        return features[features < self.column]

    @property
    def features(self) -> IntArray:
        """The features that either asks for, sorted."""
        return np.union1d(self._of_all, self.own.features)

    def response(self, table: Table, threads: Threads | None = None) -> FloatArray:
        """Predictions on the scale of the target."""
        features = self._of_all
        columns = np.full((table.n_rows, len(features) + 1), float(self.code))
        columns[:, :-1] = table.columns(features)
        everyone = self.common.raw_of(columns, np.append(features, self.column), threads)
        return self.own.ensemble.loss.response(everyone + self.own.raw(table, threads))
