"""Predictions of a fitted selector: by the model of the chosen step, or of every step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from secateur._kernels.threads import Threads, resolve_n_jobs
from secateur.data.table import Table
from secateur.selectors.base import PathSelector
from secateur.typing import AnyArray, FloatArray, IntArray


class StepPredictor(PathSelector):
    """A selector whose steps carry models; it predicts with the one that was chosen.

    A model has ``features``, the columns that it asks for, ``response(table, threads)``, its
    predictions on the scale of the target, and perhaps ``raw``, those of shape (n_outputs, n_rows).
    """

    @property
    def _model(self) -> Any:
        check_is_fitted(self)
        return self.path_[self.selection_.index].model

    def _response(self, X: Any) -> FloatArray:
        """Predictions of the chosen model on the scale of the target."""
        return self._predict(self._model, self._read_again(X, only=self._model.features))

    def _predict(self, model: Any, table: Table, kind: str = "response") -> FloatArray:
        with Threads(resolve_n_jobs(self.n_jobs)) as threads:
            predicted: FloatArray = getattr(model, kind)(table, threads)
        return predicted

    def _staged(self, X: Any, finish: Callable[[FloatArray], Any]) -> Iterator[Any]:
        """Predictions of every step; X is read and checked once, before the first."""
        models, table = self._models_and_rows(X)
        return (finish(self._predict(model, table)) for model in models)

    def _models_and_rows(self, X: Any) -> tuple[list[Any], Table]:
        """The models of all steps, and X with the columns that any of them asks for."""
        check_is_fitted(self)
        models = [step.model for step in self.path_]
        asked: IntArray = np.unique(np.concatenate([model.features for model in models]))
        return models, self._read_again(X, only=asked)


class PathPredictor(StepPredictor):
    """One whose model also gives raw scores, and whose weights are shares of importance."""

    @property
    def feature_importances_(self) -> FloatArray:
        """The share of each feature in what the chosen step holds to be important."""
        check_is_fitted(self)
        step = self.path_[self.selection_.index]
        shares = np.zeros(self.n_features_in_)
        shares[step.support] = step.weight
        total = shares.sum()
        return shares / total if total > 0 else shares

    def _raw(self, X: Any) -> FloatArray:
        """Raw predictions of the chosen model, shape (n_outputs, n_rows)."""
        return self._predict(self._model, self._read_again(X, only=self._model.features), "raw")


class PredictsProbabilities:
    """The predictions of a classifier, from the probabilities of its model."""

    classes_: AnyArray
    _response: Callable[[Any], FloatArray]
    _staged: Callable[[Any, Callable[[FloatArray], Any]], Iterator[Any]]

    def predict_proba(self, X: Any) -> FloatArray:
        """The probability of each class, in the order of ``classes_``."""
        return self._response(X)

    def predict(self, X: Any) -> AnyArray:
        """The likeliest class of each row."""
        return self._labels(self._response(X))

    def staged_predict(self, X: Any) -> Iterator[AnyArray]:
        """The classes predicted at each step of the path."""
        return self._staged(X, self._labels)

    def staged_predict_proba(self, X: Any) -> Iterator[FloatArray]:
        """The probabilities predicted at each step of the path."""
        return self._staged(X, lambda probabilities: probabilities)

    def _labels(self, probabilities: FloatArray) -> AnyArray:
        return self.classes_[probabilities.argmax(axis=1)]


class PredictsClasses(PredictsProbabilities):
    """The same of a model that gives raw scores as well."""

    _raw: Callable[[Any], FloatArray]

    def decision_function(self, X: Any) -> FloatArray:
        """Log odds of the second of two classes, or a raw score per class."""
        raw = self._raw(X)
        return raw[0] if len(raw) == 1 else raw.T


class PredictsNumbers:
    """The predictions of a regressor."""

    _response: Callable[[Any], FloatArray]
    _staged: Callable[[Any, Callable[[FloatArray], Any]], Iterator[Any]]

    def predict(self, X: Any) -> FloatArray:
        """The predicted number of each row."""
        return self._response(X)

    def staged_predict(self, X: Any) -> Iterator[FloatArray]:
        """The numbers predicted at each step of the path."""
        return self._staged(X, lambda values: values)
