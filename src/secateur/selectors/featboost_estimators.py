"""Estimators of the user's own as ranker and as evaluator; they are cloned, never fitted."""

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
from secateur.data.folds import Fold
from secateur.data.problem import Problem
from secateur.data.table import Table
from secateur.data.target import Target
from secateur.engines.featboost.neighbours import NeighbourModel, NeighbourTargets, Scaling
from secateur.exceptions import ParameterError
from secateur.model_selection.scorers import Scorer, prepared, takes_weight
from secateur.path.step import Score
from secateur.typing import AnyArray, FloatArray, IntArray


class SklearnFoldScorer:
    """Scores predictions of the test rows of each fold.

    Parameters
    ----------
    target : Target
    weight : array of shape (n_rows,)
        Rows count by their weight, where the scorer takes weights.
    folds : sequence of Fold
    scorer : callable
    name : str
        What the scores are called.
    """

    def __init__(
        self, target: Target, weight: FloatArray, folds: Sequence[Fold], scorer: Scorer, name: str
    ) -> None:
        self._target = target
        self._folds = folds
        self._scorer = scorer
        self._name = name
        self.n_classes = target.n_classes
        self._is_even = bool((weight == weight[0]).all())
        self._weight = weight
        self._takes_weight = not self._is_even and takes_weight(scorer)

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
        told = Predicted(prediction, self._target.classes)
        return self.of_estimator(told, np.zeros((len(rows), 1)), self._labels(target), fold)

    def of_estimator(self, estimator: Any, X: AnyArray, y: AnyArray, fold: int) -> float:
        """The score of a fitted estimator that speaks in labels."""
        more = {"sample_weight": self._weight[self._folds[fold].test]} if self._takes_weight else {}
        return float(self._scorer(estimator, X, y, **more))

    def _labels(self, target: FloatArray) -> AnyArray:
        classes = self._target.classes
        return target if classes is None else classes[target.astype(np.int64)]

    def labels_of(self, fold: int) -> AnyArray:
        """The labels, or numbers, of the test rows of a fold."""
        return self._labels(self._target.values[self._folds[fold].test])

    def score(self, folds: FloatArray) -> Score:
        """The scores of all folds under their name; their rows helped to choose the features."""
        return Score.of(folds, origin="inner", metric=self._name, greater_is_better=True)


def weighted_r2(target: FloatArray, prediction: FloatArray, weight: FloatArray) -> float:
    """1 - squared error / squared deviation; 0 (or 1 if all is met) for a constant target."""
    residual = float(weight @ (target - prediction) ** 2)
    mean = float(weight @ target) / float(weight.sum())
    spread = float(weight @ (target - mean) ** 2)
    if spread == 0.0:
        return 1.0 if residual == 0.0 else 0.0
    return 1.0 - residual / spread


def Predicted(prediction: FloatArray, classes: AnyArray | None) -> Any:  # noqa: N802 - makes one
    """An estimator that has made its predictions already, whatever X it is asked about."""
    if classes is None:
        return _PredictedNumbers(prediction)
    return _PredictedClasses(prediction, classes)


class _PredictedNumbers(RegressorMixin, BaseEstimator):  # type: ignore[misc]  # untyped bases
    def __init__(self, prediction: Any) -> None:
        self.prediction = prediction

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: Any) -> Any:  # noqa: ARG002 - already made
        """The numbers."""
        return self.prediction


class _PredictedClasses(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # untyped bases
    def __init__(self, prediction: Any, classes_: Any) -> None:
        self.prediction = prediction
        self.classes_ = classes_

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict_proba(self, X: Any) -> Any:  # noqa: ARG002 - already made
        """The probabilities."""
        return self.prediction

    def predict(self, X: Any) -> Any:  # noqa: ARG002 - already made
        """The likeliest labels."""
        return self.classes_[self.prediction.argmax(axis=1)]


LEAST_PROBABILITY = 1e-30
"""Probabilities below this count as this: the loss of a row stays finite."""


def check_ranker(estimator: Any, *, needs_weights: bool, needs_probabilities: bool) -> None:
    """Refuse a ranker that lacks what Algorithm 1 asks of it."""
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


class Asked:
    """A problem as estimators want it: arrays of floats, classes as the codes 0, 1, ..."""

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
        """Fit with the weights of the rows, where they differ and the estimator takes them."""
        if not self.is_even and has_fit_parameter(estimator, "sample_weight"):
            return estimator.fit(X[rows], y[rows], sample_weight=self.weight[rows])
        return estimator.fit(X[rows], y[rows])


class EstimatorRanker:
    """H1 as any estimator with ``feature_importances_`` (or ``coef_``)."""

    def __init__(self, estimator: Any, problem: Problem, seed: int) -> None:
        self._estimator = estimator
        self._asked = Asked(problem)
        self._seed = seed
        self._X: Any = None

    def rank(self, weight: FloatArray) -> FloatArray:
        """Importances of a fit to weighted rows."""
        model = prepared(self._estimator, self._seed)
        if (weight == 1.0).all() and not has_fit_parameter(model, "sample_weight"):
            return importances(model.fit(self._all(), self._asked.target))
        return importances(model.fit(self._all(), self._asked.target, sample_weight=weight))

    def rank_for(self, target: FloatArray) -> FloatArray:
        """Importances of a fit to another target."""
        model = prepared(self._estimator, self._seed)
        return importances(self._asked.fit(model, self._all(), target))

    def losses(self, features: IntArray) -> FloatArray:
        """-log of the probability of the true class, or the distance to the true number."""
        model, X = self._fitted(features)
        target = self._asked.target
        if not self._asked.is_classes:
            distance: FloatArray = np.abs(target - np.asarray(model.predict(X), np.float64))
            return distance
        shares = np.asarray(model.predict_proba(X), np.float64)
        true = shares[np.arange(len(target)), target]
        losses: FloatArray = -np.log(np.clip(true, LEAST_PROBABILITY, 1.0))
        return losses

    def errors(self, features: IntArray) -> FloatArray:
        """1 where the predicted class is wrong."""
        model, X = self._fitted(features)
        wrong: FloatArray = (np.asarray(model.predict(X)) != self._asked.target).astype(np.float64)
        return wrong

    def _fitted(self, features: IntArray) -> tuple[Any, FloatArray]:
        X = self._asked.columns(features)
        model = prepared(self._estimator, self._seed)
        return self._asked.fit(model, X, self._asked.target), X

    def _all(self) -> Any:
        if self._X is None:
            self._X = self._asked.all_columns()
        return self._X


def importances(model: Any) -> FloatArray:
    """What a fitted estimator says of its features, as numbers >= 0."""
    found = getattr(model, "feature_importances_", None)
    if found is None:
        found = getattr(model, "coef_", None)
    if found is None:
        msg = (
            "'ranker' must have feature_importances_ or coef_ once it is fitted. Got "
            f"{type(model).__name__} without. Use None for the built-in trees."
        )
        raise ParameterError(msg)
    sizes = np.abs(np.nan_to_num(np.asarray(found, np.float64)))
    return sizes.sum(axis=0) if sizes.ndim == 2 else sizes


class EstimatorEvaluator:
    """H2 as any estimator: a fit for every candidate and fold."""

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
        self._asked = Asked(problem)
        self._target = problem.target
        self._folds = folds
        self._fold_scorer = fold_scorer
        self._seed = seed
        self._n_jobs = n_jobs
        self._features: list[int] = []

    def accept(self, feature: int) -> None:
        """One more feature is in."""
        self._features.append(feature)

    def scores(self, candidates: IntArray) -> FloatArray:
        """Scores with each candidate, shape (n_candidates, n_folds)."""
        subsets = [np.array([*self._features, int(j)]) for j in candidates]
        return self._all_scores(subsets, self._asked.target)

    def current(self) -> FloatArray:
        """Scores of the accepted features alone."""
        scores: FloatArray = self._all_scores([np.array(self._features)], self._asked.target)[0]
        return scores

    def alone(self, candidates: IntArray, target: FloatArray) -> FloatArray:
        """Scores of each candidate by itself for another target."""
        return self._all_scores([np.array([int(j)]) for j in candidates], target)

    def _all_scores(self, subsets: Sequence[IntArray], target: AnyArray) -> FloatArray:
        # Threads of joblib, so that estimators that use joblib themselves know of each other.
        found = Parallel(n_jobs=self._n_jobs, prefer="threads")(
            delayed(self._score)(features, t, target)
            for features in subsets
            for t in range(len(self._folds))
        )
        return np.array(found).reshape(len(subsets), len(self._folds))

    def _score(self, features: IntArray, t: int, target: AnyArray) -> float:
        X, fold = self._asked.columns(features), self._folds[t]
        model = self._asked.fit(prepared(self._estimator, self._seed), X, target, fold.train)
        if self._target.classes is None:
            return self._fold_scorer.of_estimator(model, X[fold.test], target[fold.test], t)
        told = Labelled(model, self._target.classes)
        return self._fold_scorer.of_estimator(told, X[fold.test], self._fold_scorer.labels_of(t), t)

    def predicted(self, target: FloatArray) -> FloatArray:
        """Another target, predicted for the test rows of each fold; 0 for rows never tested."""
        X = self._asked.columns(np.array(self._features))
        total, times = np.zeros(len(target)), np.zeros(len(target))
        for fold in self._folds:
            model = self._asked.fit(prepared(self._estimator, self._seed), X, target, fold.train)
            total[fold.test] += np.asarray(model.predict(X[fold.test]), np.float64)
            times[fold.test] += 1.0
        return np.divide(total, times, out=np.zeros(len(target)), where=times > 0.0)

    def score(self, folds: FloatArray) -> Score:
        """The scores under their name."""
        return self._fold_scorer.score(folds)

    def model(self) -> Any:
        """The estimator fitted to all rows on the accepted features."""
        target, n_classes = self._target.values, self._target.n_classes
        if not self._features:
            none = np.empty(0)
            voters = NeighbourTargets(target, self._asked.weight, n_classes, 1)
            return NeighbourModel(Scaling(np.empty(0, np.int64), none, none, none), voters, ())
        features = np.array(self._features)
        X = self._asked.columns(features)
        fitted = self._asked.fit(prepared(self._estimator, self._seed), X, self._asked.target)
        return EstimatorModel(features, fitted, n_classes)


@dataclass(frozen=True, slots=True, eq=False)
class EstimatorModel:
    """A fitted estimator, and the columns that it asks for."""

    features: IntArray
    fitted: Any
    n_classes: int

    def response(self, table: Table, threads: Threads) -> FloatArray:  # noqa: ARG002 - its own
        """Numbers, or probabilities of shape (n_rows, n_classes)."""
        X = table.columns(self.features)
        if self.n_classes == 0:
            return np.asarray(self.fitted.predict(X), np.float64)
        if hasattr(self.fitted, "predict_proba"):
            return np.asarray(self.fitted.predict_proba(X), np.float64)
        sure: FloatArray = np.eye(self.n_classes)[np.asarray(self.fitted.predict(X), np.int64)]
        return sure


class Labelled(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # untyped bases
    """A classifier of codes that speaks in labels, so that scorers meet the labels of the user."""

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
