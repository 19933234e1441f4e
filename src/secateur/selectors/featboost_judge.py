"""What predictions are worth by any scorer of scikit-learn, quickly where it is a common one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from secateur._data.target import Target
from secateur.evaluation.folds import Fold
from secateur.evaluation.scoring import Scorer, takes_weight
from secateur.path.step import Score
from secateur.typing import AnyArray, FloatArray


class Judge:
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
