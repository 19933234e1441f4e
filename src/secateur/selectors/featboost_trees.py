"""Our own boosted trees as ranker and as evaluator, on columns that are binned once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from secateur._kernels.records import DenseCodes
from secateur._kernels.threads import Threads
from secateur.data.binning import BinnedColumns, take_columns
from secateur.data.costs import as_costs
from secateur.data.folds import Fold, all_rows
from secateur.data.problem import Problem
from secateur.data.weights import are_counts
from secateur.engines.boosted.engine import BoostedData
from secateur.engines.boosted.params import BoostingParams
from secateur.engines.boosted.trees import BoostedModel, Ensemble, Tree
from secateur.engines.boosted.whole_tree import SmallTrees
from secateur.losses import get_loss
from secateur.path.step import Score
from secateur.selectors.featboost_estimators import SklearnFoldScorer
from secateur.typing import FloatArray, IntArray, Loss

SMALL_TABLE = 8_000_000
"""Cells up to which a ranking in one call is quicker than one by the engine and its threads."""


@dataclass(frozen=True, slots=True, eq=False)
class TreeContext:
    """Binned columns, the loss and the limits that all trees of a fit share."""

    problem: Problem
    columns: BinnedColumns
    params: BoostingParams
    threads: Threads

    @property
    def loss(self) -> Loss:
        """The log loss for classes, the squared error for numbers."""
        n_classes = self.problem.target.n_classes
        return get_loss("log_loss" if n_classes else "squared_error", n_classes=n_classes or None)

    @property
    def small(self) -> SmallTrees:
        """Ensembles on a few columns."""
        return self.small_with(self.problem.weight)

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
        """So many rows; weights that moved away from counts still count rows by their sum."""
        least = self.params.min_samples_leaf
        if are_counts(weight) or not are_counts(self.problem.weight):
            return least
        return least * len(weight) / float(weight.sum())


class TreeRanker:
    """H1 as boosted trees without a penalty; the importance of a feature is its total gain."""

    def __init__(self, context: TreeContext) -> None:
        self._tree_context = context
        self._target = context.problem.target.values

    def rank(self, weight: FloatArray) -> FloatArray:
        """Importances of a fit to weighted rows."""
        return self._importances(self._target, weight)

    def rank_for(self, target: FloatArray) -> FloatArray:
        """Importances of a fit to another target."""
        return self._importances(target, self._tree_context.problem.weight)

    def _importances(self, target: FloatArray, weight: FloatArray) -> FloatArray:
        context, columns = self._tree_context, self._tree_context.columns
        n_cells = columns.n_rows * columns.n_features
        if n_cells <= SMALL_TABLE and isinstance(columns.codes, DenseCodes):
            return context.small_with(weight).importances(target)
        return context.train(columns, target, weight).importances(columns.n_features)

    def losses(self, features: IntArray) -> FloatArray:
        """-log of the probability of the true class, or the distance to the true number."""
        raw = self._raw(features)
        if self._tree_context.problem.target.classes is None:
            distance: FloatArray = np.abs(self._target - raw[0])
            return distance
        return self._tree_context.loss.pointwise(self._target, raw)

    def errors(self, features: IntArray) -> FloatArray:
        """1 where the predicted class is wrong."""
        shares = self._tree_context.loss.response(self._raw(features))
        wrong: FloatArray = (shares.argmax(axis=1) != self._target).astype(np.float64)
        return wrong

    def _raw(self, features: IntArray) -> FloatArray:
        return self._tree_context.small.raw(features, all_rows(len(self._target)), self._target)


class TreeEvaluator:
    """H2 as boosted trees on column subsets: a small ensemble for every candidate and fold."""

    def __init__(
        self, context: TreeContext, folds: Sequence[Fold], fold_scorer: SklearnFoldScorer
    ) -> None:
        self._tree_context = context
        self._small = context.small
        self._folds = folds
        self._fold_scorer = fold_scorer
        self._target = context.problem.target.values
        self._features: list[int] = []

    def accept(self, feature: int) -> None:
        """One more feature is in."""
        self._features.append(feature)

    def scores(self, candidates: IntArray) -> FloatArray:
        """Scores with each candidate, shape (n_candidates, n_folds)."""
        subsets = [np.array([*self._features, int(j)]) for j in candidates]
        return self._all_scores(subsets, self._target)

    def current(self) -> FloatArray:
        """Scores of the accepted features alone."""
        scores: FloatArray = self._all_scores([np.array(self._features)], self._target)[0]
        return scores

    def alone(self, candidates: IntArray, target: FloatArray) -> FloatArray:
        """Scores of each candidate by itself for another target."""
        return self._all_scores([np.array([int(j)]) for j in candidates], target)

    def _all_scores(self, subsets: Sequence[IntArray], target: FloatArray) -> FloatArray:
        responses: dict[int, FloatArray] = {}
        n_folds = len(self._folds)

        def task(_: int, number: int) -> None:
            c, t = divmod(number, n_folds)
            responses[number] = self._held(subsets[c], self._folds[t], target)

        self._tree_context.threads.share(task, len(subsets) * n_folds)
        out = np.empty((len(subsets), n_folds))
        for number, response in responses.items():
            c, t = divmod(number, n_folds)
            out[c, t] = self._fold_scorer.value_for(t, response, target[self._folds[t].test])
        return out

    def _held(self, features: IntArray, fold: Fold, target: FloatArray) -> FloatArray:
        """Predictions for the test rows of a fold."""
        raw = self._small.raw(features, fold, target)
        return self._tree_context.loss.response(np.ascontiguousarray(raw[:, fold.test]))

    def predicted(self, target: FloatArray) -> FloatArray:
        """Another target, predicted for the test rows of each fold; 0 for rows never tested."""
        total, times = np.zeros(len(target)), np.zeros(len(target))
        for fold in self._folds:
            total[fold.test] += self._held(np.array(self._features), fold, target)
            times[fold.test] += 1.0
        return np.divide(total, times, out=np.zeros(len(target)), where=times > 0.0)

    def score(self, folds: FloatArray) -> Score:
        """The scores under their name."""
        return self._fold_scorer.score(folds)

    def model(self) -> Any:
        """Trees on the accepted features, fitted to all rows."""
        weight = self._tree_context.problem.weight
        if not self._features:
            loss = self._tree_context.loss
            return Ensemble(loss, loss.baseline(self._target, weight)).at(0)
        features = np.array(self._features)
        some = take_columns(self._tree_context.columns, features)
        return _renamed(self._tree_context.train(some, self._target, weight), features)


def _renamed(model: BoostedModel, features: IntArray) -> BoostedModel:
    """The same trees, asking for features by their numbers in the whole table."""

    def whole(tree: Tree) -> Tree:
        return tree._replace(feature=np.where(tree.left >= 0, features[tree.feature], -1))

    old = model.ensemble
    rounds = [[whole(tree) for tree in round_] for round_ in old.rounds]
    return Ensemble(old.loss, old.baseline, rounds).at(model.n_rounds)
