"""Boosted trees as ranker and as evaluator, on columns that are binned once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from secateur._kernels.records import DenseCodes
from secateur._kernels.threads import Threads
from secateur.data.binning import BinnedColumns, take_columns
from secateur.data.costs import as_costs
from secateur.data.problem import Fold, Problem, all_rows
from secateur.data.weights import are_counts
from secateur.engines.boosted.engine import BoostedData
from secateur.engines.boosted.params import BoostingParams
from secateur.engines.boosted.trees import BoostedModel, Ensemble, Tree
from secateur.engines.boosted.whole_tree import SmallTrees
from secateur.engines.featboost.evaluator import Evaluator, FoldScorer
from secateur.losses import get_loss
from secateur.typing import AnyArray, FloatArray, IntArray, Loss

SMALL_TABLE = 8_000_000
"""Cells up to which a ranking in one call is faster than the engine with threads."""


@dataclass(frozen=True, slots=True, eq=False)
class TreeContext:
    """Binned columns, loss and parameters of all trees of a fit."""

    problem: Problem
    columns: BinnedColumns
    params: BoostingParams
    threads: Threads

    @property
    def loss(self) -> Loss:
        """The log loss for classes, the squared error for numbers."""
        n_classes = self.problem.target.n_classes
        return get_loss("log_loss" if n_classes else "squared_error", n_classes=n_classes or None)

    def small_with(self, weight: FloatArray) -> SmallTrees:
        """Ensembles on rows of these weights."""
        params = replace(self.params, min_samples_leaf=self._smallest_leaf(weight))
        return SmallTrees(self.columns, weight, self.loss, params)

    def train(self, columns: BinnedColumns, target: FloatArray, weight: FloatArray) -> BoostedModel:
        """A model on these columns and all rows; features are free."""
        names = [str(j) for j in range(columns.n_features)]
        free = as_costs(None, None, None).bind(names)
        data = BoostedData(columns, target, weight, self.loss, free, self.threads)
        params = replace(self.params, min_samples_leaf=self._smallest_leaf(weight))
        *_, last = data.run(data.everything, params).steps
        model: BoostedModel = last.model
        return model

    def _smallest_leaf(self, weight: FloatArray) -> float:
        """The smallest leaf in units of the weights, if they no longer count rows."""
        min_rows = self.params.min_samples_leaf
        if are_counts(weight) or not are_counts(self.problem.weight):
            return min_rows
        return min_rows * len(weight) / float(weight.sum())


class TreeRanker:
    """H1 as boosted trees without a penalty; the importance of a feature is its total gain."""

    def __init__(self, context: TreeContext) -> None:
        self._context = context
        self._target = context.problem.target.values

    def rank(self, target: FloatArray, weight: FloatArray | None = None) -> FloatArray:
        """Importances of a fit to weighted rows."""
        context, columns = self._context, self._context.columns
        weight = context.problem.weight if weight is None else weight
        n_cells = columns.n_rows * columns.n_features
        if n_cells <= SMALL_TABLE and isinstance(columns.codes, DenseCodes):
            return context.small_with(weight).importances(target)
        return context.train(columns, target, weight).importances(columns.n_features)

    def losses(self, features: IntArray) -> FloatArray:
        """-log of the probability of the true class, or the absolute error."""
        raw = self._raw(features)
        if self._context.problem.target.classes is None:
            distance: FloatArray = np.abs(self._target - raw[0])
            return distance
        return self._context.loss.pointwise(self._target, raw)

    def errors(self, features: IntArray) -> FloatArray:
        """1 where the predicted class is wrong."""
        shares = self._context.loss.response(self._raw(features))
        wrong: FloatArray = (shares.argmax(axis=1) != self._target).astype(np.float64)
        return wrong

    def _raw(self, features: IntArray) -> FloatArray:
        small = self._context.small_with(self._context.problem.weight)
        return small.raw(features, all_rows(len(self._target)), self._target)


class TreeEvaluator(Evaluator):
    """Boosted trees on column subsets: a small ensemble for every candidate and fold."""

    def __init__(
        self, context: TreeContext, folds: Sequence[Fold], fold_scorer: FoldScorer
    ) -> None:
        super().__init__(context.problem.target.values, folds)
        self._context = context
        self._fold_scorer = fold_scorer
        self._small = context.small_with(context.problem.weight)

    def subset_scores(self, subsets: Sequence[IntArray], target: AnyArray) -> FloatArray:
        """Scores of shape (n_subsets, n_folds)."""
        responses: dict[tuple[int, int], FloatArray] = {}
        out = np.empty((len(subsets), len(self.folds)))

        def task(_: int, number: int) -> None:
            c, t = divmod(number, len(self.folds))
            responses[c, t] = self.held_out(subsets[c], t, target)

        self._context.threads.share(task, out.size)
        for (c, t), response in responses.items():
            out[c, t] = self._fold_scorer(t, response, target[self.folds[t].test])
        return out

    def held_out(self, features: IntArray, t: int, target: AnyArray) -> FloatArray:
        """Predictions of the test rows of fold t from these features."""
        fold = self.folds[t]
        raw = self._small.raw(features, fold, target)
        return self._context.loss.response(np.ascontiguousarray(raw[:, fold.test]))

    def model(self) -> Any:
        """Trees on the accepted features, fitted to all rows."""
        weight = self._context.problem.weight
        if not self.features:
            loss = self._context.loss
            return Ensemble(loss, loss.baseline(self.target, weight)).at(0)
        features = np.array(self.features)
        some = take_columns(self._context.columns, features)
        trained = self._context.train(some, self.target, weight)

        def whole(tree: Tree) -> Tree:
            """With the feature numbers of the whole table."""
            return tree._replace(feature=np.where(tree.left >= 0, features[tree.feature], -1))

        old = trained.ensemble
        rounds = [[whole(tree) for tree in round_] for round_ in old.rounds]
        return Ensemble(old.loss, old.baseline, rounds).at(trained.n_rounds)
