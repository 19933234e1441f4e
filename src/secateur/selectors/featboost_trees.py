"""Boosted trees as ranker and as evaluator of forward selection, on columns binned once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from secateur._kernels.records import DenseCodes
from secateur._kernels.threads import Threads
from secateur.data.binning import BinnedColumns, take_columns
from secateur.data.costs import as_costs
from secateur.data.table import Fold, Problem, all_rows
from secateur.data.target import are_counts
from secateur.engines.boosted.engine import BoostedData, boost_small
from secateur.engines.boosted.trees import BoostedModel, BoostingParams, Ensemble, Tree
from secateur.engines.featboost.evaluator import Evaluator, FoldScorer
from secateur.losses import get_loss
from secateur.typing import AnyArray, FloatArray, IntArray

SMALL_TABLE = 8_000_000
"""Cells up to which a ranking in one call is faster than the engine with threads."""


class BoostedTrees(Evaluator):
    """Trees without a penalty rank by total gain (H1); small ensembles score subsets (H2)."""

    def __init__(
        self,
        problem: Problem,
        columns: BinnedColumns,
        params: BoostingParams,
        threads: Threads,
        folds: Sequence[Fold],
        fold_scorer: FoldScorer,
    ) -> None:
        super().__init__(problem.target.values, folds)
        self._weight, self._columns, self._params = problem.weight, columns, params
        self._threads, self._fold_scorer = threads, fold_scorer
        self._n_classes = n_classes = problem.target.n_classes
        name = "log_loss" if n_classes else "squared_error"
        self._loss = get_loss(name, n_classes=n_classes)

    def rank(self, target: FloatArray, weight: FloatArray | None = None) -> FloatArray:
        """Importances of a fit to weighted rows."""
        columns, weight = self._columns, self._weight if weight is None else weight
        n_cells = columns.n_rows * columns.n_features
        if n_cells <= SMALL_TABLE and isinstance(columns.codes, DenseCodes):
            given = (weight, self._loss, self._params_for(weight))
            return boost_small(columns, target, *given, all_rows(len(target)))[1]
        return self._train(columns, target, weight).importances(columns.n_features)

    def losses(self, features: IntArray) -> FloatArray:
        """-log of the probability of the true class, or the absolute error."""
        raw = self._raw(features, all_rows(len(self.target)), self.target)
        if self._n_classes:
            return self._loss.pointwise(self.target, raw)
        return np.abs(self.target - raw[0])

    def errors(self, features: IntArray) -> FloatArray:
        """1 where the predicted class is wrong."""
        raw = self._raw(features, all_rows(len(self.target)), self.target)
        predicted = self._loss.response(raw).argmax(axis=1)
        return np.asarray(predicted != self.target, np.float64)

    def subset_scores(self, subsets: Sequence[IntArray], target: AnyArray) -> FloatArray:
        """Scores of shape (n_subsets, n_folds)."""
        responses: dict[tuple[int, int], FloatArray] = {}
        out = np.empty((len(subsets), len(self.folds)))

        def task(_: int, number: int) -> None:
            c, t = divmod(number, len(self.folds))
            responses[c, t] = self.held_out(subsets[c], t, target)

        self._threads.share(task, out.size)
        for (c, t), response in responses.items():
            out[c, t] = self._fold_scorer(t, response, target[self.folds[t].test])
        return out

    def held_out(self, features: IntArray, t: int, target: AnyArray) -> FloatArray:
        """Predictions of the test rows of fold t from these features."""
        fold = self.folds[t]
        raw = self._raw(features, fold, target)
        return self._loss.response(np.ascontiguousarray(raw[:, fold.test]))

    def model(self) -> Any:
        """Trees on the accepted features, fitted to all rows."""
        if not self.features:
            baseline = self._loss.baseline(self.target, self._weight)
            return BoostedModel(Ensemble(self._loss, baseline), 0)
        features = np.array(self.features)
        trained = self._train(take_columns(self._columns, features), self.target, self._weight)

        def whole(tree: Tree) -> Tree:
            """With the feature numbers of the whole table."""
            return tree._replace(feature=np.where(tree.left >= 0, features[tree.feature], -1))

        old = trained.ensemble
        rounds = [[whole(tree) for tree in round_] for round_ in old.rounds]
        return BoostedModel(Ensemble(old.loss, old.baseline, rounds), trained.n_rounds)

    def _raw(self, features: IntArray, fold: Fold, target: FloatArray) -> FloatArray:
        """Raw predictions of a small ensemble on some features."""
        columns = take_columns(self._columns, features)
        return boost_small(columns, target, self._weight, self._loss, self._params, fold)[0]

    def _train(
        self, columns: BinnedColumns, target: FloatArray, weight: FloatArray
    ) -> BoostedModel:
        """A model on these columns and all rows; features are free."""
        free = as_costs(None, None, None).bind([str(j) for j in range(columns.n_features)])
        data = BoostedData(columns, target, weight, self._loss, free, self._threads)
        *_, last = data.run(data.everything, self._params_for(weight)).steps
        return last.model

    def _params_for(self, weight: FloatArray) -> BoostingParams:
        """With the smallest leaf in units of the weights, if they no longer count rows."""
        if are_counts(weight) or not are_counts(self._weight):
            return self._params
        min_rows = self._params.min_samples_leaf * len(weight) / float(weight.sum())
        return replace(self._params, min_samples_leaf=min_rows)
