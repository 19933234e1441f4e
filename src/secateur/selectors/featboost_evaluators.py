"""Scikit-learn estimators as ranker and as evaluator of forward selection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from secateur._kernels.threads import Threads
from secateur.data.problem import Fold, Problem
from secateur.data.table import Table
from secateur.data.target import Target
from secateur.engines.featboost.neighbours import NeighbourModel, NeighbourTargets, Scaling
from secateur.exceptions import ParameterError
from secateur.model_selection.scorers import Scorer, prepared, takes_weight
from secateur.path.step import Score
from secateur.typing import AnyArray, FloatArray, IntArray

MIN_PROBABILITY = 1e-30
"""Lower bound of probabilities, so that losses are finite."""


class SklearnFoldScorer:
    """Scores predictions of the test rows of each fold by a scikit-learn scorer."""

    def __init__(
        self, target: Target, weight: FloatArray, folds: Sequence[Fold], scorer: Scorer, name: str
    ) -> None:
        self._target = target
        self._folds = folds
        self._scorer = scorer
        self._name = name
        self.n_classes = target.n_classes
        self._weight = weight
        self._takes_weight = bool((weight != weight[0]).any()) and takes_weight(scorer)

    def value(self, fold: int, prediction: FloatArray) -> float:
        """The score of the predictions for the test rows of a fold."""
        rows = self._folds[fold].test
        return self.value_for(fold, prediction, self._target.values[rows])

    def value_for(self, fold: int, prediction: FloatArray, target: FloatArray) -> float:
        """As ``value`` for another target of the test rows."""
        rows = self._folds[fold].test
        weight = self._weight[rows]
        if self._name == "accuracy":
            right = prediction.argmax(axis=1) == target
            return float(weight @ right) / float(weight.sum())
        if self._name == "r2":
            return weighted_r2(target, prediction, weight)
        classes = self._target.classes
        estimator = (
            _PredictedNumbers(prediction)
            if classes is None
            else _PredictedClasses(prediction, classes)
        )
        return self.of_estimator(estimator, np.zeros((len(rows), 1)), self._labels(target), fold)

    def of_estimator(self, estimator: Any, X: AnyArray, y: AnyArray, fold: int) -> float:
        """The score of a fitted estimator that predicts labels."""
        more = {"sample_weight": self._weight[self._folds[fold].test]} if self._takes_weight else {}
        return float(self._scorer(estimator, X, y, **more))

    def _labels(self, target: FloatArray) -> AnyArray:
        classes = self._target.classes
        return target if classes is None else classes[target.astype(np.int64)]

    def labels_of(self, fold: int) -> AnyArray:
        """The labels, or numbers, of the test rows of a fold."""
        return self._labels(self._target.values[self._folds[fold].test])

    def score(self, folds: FloatArray) -> Score:
        """The scores of all folds; an inner score, as the test rows also chose the features."""
        return Score.of(folds, origin="inner", metric=self._name, greater_is_better=True)


def weighted_r2(target: FloatArray, prediction: FloatArray, weight: FloatArray) -> float:
    """R squared; for a constant target 1 if it is predicted exactly, else 0."""
    residual = float(weight @ (target - prediction) ** 2)
    mean = float(weight @ target) / float(weight.sum())
    total = float(weight @ (target - mean) ** 2)
    if total == 0.0:
        return 1.0 if residual == 0.0 else 0.0
    return 1.0 - residual / total


class _PredictedNumbers(RegressorMixin, BaseEstimator):  # type: ignore[misc]  # untyped bases
    """An estimator with fixed predictions, for scorers."""

    def __init__(self, prediction: Any) -> None:
        self.prediction = prediction

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: Any) -> Any:  # noqa: ARG002  # fixed
        """The numbers."""
        return self.prediction


class _PredictedClasses(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # untyped bases
    """A classifier with fixed probabilities, for scorers."""

    def __init__(self, prediction: Any, classes_: Any) -> None:
        self.prediction = prediction
        self.classes_ = classes_

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict_proba(self, X: Any) -> Any:  # noqa: ARG002  # fixed
        """The probabilities."""
        return self.prediction

    def predict(self, X: Any) -> Any:  # noqa: ARG002  # fixed
        """The likeliest labels."""
        return self.classes_[self.prediction.argmax(axis=1)]


def check_ranker(estimator: Any, *, needs_weights: bool, needs_probabilities: bool) -> None:
    """Refuse a ranker that lacks what Algorithm 1 needs."""
    if needs_weights and not has_fit_parameter(estimator, "sample_weight"):
        msg = (
            "'ranker' must take sample_weight in fit, since rows are re-weighted. Got "
            f"{estimator!r}. Use weighting=None, or another ranker."
        )
        raise ParameterError(msg)
    if needs_probabilities and not hasattr(estimator, "predict_proba"):
        msg = (
            "'ranker' must have predict_proba for weighting='softmax'. Got "
            f"{estimator!r}. Use weighting='adaboost', or another ranker."
        )
        raise ParameterError(msg)


class EstimatorData:
    """A problem as arrays of floats, with classes as codes 0, 1, ..."""

    def __init__(self, problem: Problem) -> None:
        self._table = problem.table
        self.weight = problem.weight
        self.is_even = bool((problem.weight == problem.weight[0]).all())
        self.is_classes = problem.target.classes is not None
        values = problem.target.values
        self.target: AnyArray = values.astype(np.int64) if self.is_classes else values

    def columns(self, features: IntArray) -> FloatArray:
        """Some columns of all rows."""
        return self._table.columns(features)

    def all_columns(self) -> Any:
        """The whole table; a sparse one stays sparse."""
        if self._table.is_sparse:
            return csr_matrix(self._table.csc)
        return self._table.columns(np.arange(self._table.n_features))

    def fit(
        self, estimator: Any, X: AnyArray, y: AnyArray, rows: IntArray | slice = slice(None)
    ) -> Any:
        """Fit with the row weights, if they differ and the estimator takes them."""
        if not self.is_even and has_fit_parameter(estimator, "sample_weight"):
            return estimator.fit(X[rows], y[rows], sample_weight=self.weight[rows])
        return estimator.fit(X[rows], y[rows])


class EstimatorRanker:
    """H1 as any estimator with ``feature_importances_`` (or ``coef_``)."""

    def __init__(self, estimator: Any, problem: Problem, seed: int) -> None:
        self._estimator = estimator
        self._data = EstimatorData(problem)
        self._seed = seed
        self._X: Any = None

    def rank(self, weight: FloatArray) -> FloatArray:
        """Importances of a fit to weighted rows."""
        model = prepared(self._estimator, self._seed)
        if (weight == 1.0).all() and not has_fit_parameter(model, "sample_weight"):
            return importances(model.fit(self._all(), self._data.target))
        return importances(model.fit(self._all(), self._data.target, sample_weight=weight))

    def rank_for(self, target: FloatArray) -> FloatArray:
        """Importances of a fit to another target."""
        model = prepared(self._estimator, self._seed)
        return importances(self._data.fit(model, self._all(), target))

    def losses(self, features: IntArray) -> FloatArray:
        """-log of the probability of the true class, or the distance to the true number."""
        model, X = self._fitted(features)
        target = self._data.target
        if not self._data.is_classes:
            distance: FloatArray = np.abs(target - np.asarray(model.predict(X), np.float64))
            return distance
        shares = np.asarray(model.predict_proba(X), np.float64)
        true = shares[np.arange(len(target)), target]
        losses: FloatArray = -np.log(np.clip(true, MIN_PROBABILITY, 1.0))
        return losses

    def errors(self, features: IntArray) -> FloatArray:
        """1 where the predicted class is wrong."""
        model, X = self._fitted(features)
        wrong: FloatArray = (np.asarray(model.predict(X)) != self._data.target).astype(np.float64)
        return wrong

    def _fitted(self, features: IntArray) -> tuple[Any, FloatArray]:
        X = self._data.columns(features)
        model = prepared(self._estimator, self._seed)
        return self._data.fit(model, X, self._data.target), X

    def _all(self) -> Any:
        if self._X is None:
            self._X = self._data.all_columns()
        return self._X


def importances(model: Any) -> FloatArray:
    """Importances of a fitted estimator, >= 0."""
    found = getattr(model, "feature_importances_", None)
    if found is None:
        found = getattr(model, "coef_", None)
    if found is None:
        msg = (
            "'ranker' must have feature_importances_ or coef_ after fit. Got "
            f"{type(model).__name__} without. Use 'trees' for the built-in trees."
        )
        raise ParameterError(msg)
    sizes = np.abs(np.nan_to_num(np.asarray(found, np.float64)))
    return sizes.sum(axis=0) if sizes.ndim == 2 else sizes


class SubsetEvaluator:
    """H2: scores of column subsets in each fold; subclasses fit the models."""

    def __init__(
        self, target: AnyArray, folds: Sequence[Fold], fold_scorer: SklearnFoldScorer
    ) -> None:
        self._target = target
        self._folds = folds
        self._fold_scorer = fold_scorer
        self._features: list[int] = []

    def accept(self, feature: int) -> None:
        """Add a feature to the accepted ones."""
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
        """Scores of each candidate alone for another target."""
        return self._all_scores([np.array([int(j)]) for j in candidates], target)

    def predicted(self, target: FloatArray) -> FloatArray:
        """Held-out predictions of another target; 0 for rows that are never tested."""
        features = np.array(self._features)
        total, times = np.zeros(len(target)), np.zeros(len(target))
        for fold in self._folds:
            total[fold.test] += self._held_out(features, fold, target)
            times[fold.test] += 1.0
        return np.divide(total, times, out=np.zeros(len(target)), where=times > 0.0)

    def score(self, folds: FloatArray) -> Score:
        """The scores of the folds as one score."""
        return self._fold_scorer.score(folds)

    def _all_scores(self, subsets: Sequence[IntArray], target: AnyArray) -> FloatArray:
        raise NotImplementedError

    def _held_out(self, features: IntArray, fold: Fold, target: FloatArray) -> FloatArray:
        """Predictions of the test rows of a fold."""
        raise NotImplementedError


class EstimatorEvaluator(SubsetEvaluator):
    """Any estimator: a fit for every candidate and fold."""

    def __init__(
        self,
        estimator: Any,
        problem: Problem,
        folds: Sequence[Fold],
        fold_scorer: SklearnFoldScorer,
        seed: int,
        n_jobs: int,
    ) -> None:
        self._estimator = estimator
        self._data = EstimatorData(problem)
        super().__init__(self._data.target, folds, fold_scorer)
        self._classes, self._values = problem.target.classes, problem.target.values
        self._seed = seed
        self._n_jobs = n_jobs

    def _fit(self, X: AnyArray, target: AnyArray, rows: IntArray | slice = slice(None)) -> Any:
        return self._data.fit(prepared(self._estimator, self._seed), X, target, rows)

    def _all_scores(self, subsets: Sequence[IntArray], target: AnyArray) -> FloatArray:
        # joblib's threads, so that estimators that use joblib do not start more
        found = Parallel(n_jobs=self._n_jobs, prefer="threads")(
            delayed(self._score)(features, t, target)
            for features in subsets
            for t in range(len(self._folds))
        )
        return np.array(found).reshape(len(subsets), len(self._folds))

    def _score(self, features: IntArray, t: int, target: AnyArray) -> float:
        X, fold = self._data.columns(features), self._folds[t]
        model = self._fit(X, target, fold.train)
        if self._classes is None:
            return self._fold_scorer.of_estimator(model, X[fold.test], target[fold.test], t)
        labelled = Labelled(model, self._classes)
        labels = self._fold_scorer.labels_of(t)
        return self._fold_scorer.of_estimator(labelled, X[fold.test], labels, t)

    def _held_out(self, features: IntArray, fold: Fold, target: FloatArray) -> FloatArray:
        X = self._data.columns(features)
        return np.asarray(self._fit(X, target, fold.train).predict(X[fold.test]), np.float64)

    def model(self) -> Any:
        """The estimator fitted to all rows on the accepted features."""
        n_classes = 0 if self._classes is None else len(self._classes)
        if not self._features:
            none = np.empty(0)
            targets = NeighbourTargets(self._values, self._data.weight, n_classes, 1)
            return NeighbourModel(Scaling(np.empty(0, np.int64), none, none, none), targets, ())
        features = np.array(self._features)
        fitted = self._fit(self._data.columns(features), self._target)
        return EstimatorModel(features, fitted, n_classes)


@dataclass(frozen=True, slots=True, eq=False)
class EstimatorModel:
    """A fitted estimator and its columns."""

    features: IntArray
    fitted: Any
    n_classes: int

    def response(self, table: Table, threads: Threads) -> FloatArray:  # noqa: ARG002 - its own
        """Values, or probabilities of shape (n_rows, n_classes)."""
        X = table.columns(self.features)
        if self.n_classes == 0:
            return np.asarray(self.fitted.predict(X), np.float64)
        if hasattr(self.fitted, "predict_proba"):
            return np.asarray(self.fitted.predict_proba(X), np.float64)
        sure: FloatArray = np.eye(self.n_classes)[np.asarray(self.fitted.predict(X), np.int64)]
        return sure


class Labelled(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # untyped bases
    """A classifier of codes that predicts the labels of the user, for scorers."""

    def __init__(self, fitted: Any, classes_: Any) -> None:
        self.fitted = fitted
        self.classes_ = classes_

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: Any) -> Any:
        """The labels."""
        return self.classes_[np.asarray(self.fitted.predict(X), np.int64)]

    def __getattr__(self, name: str) -> Any:
        if name in {"predict_proba", "decision_function"}:
            return getattr(self.fitted, name)
        raise AttributeError(name)
