"""Predictions of a fitted selector: by the model of the chosen step, or of every step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
from sklearn.utils.validation import check_is_fitted

from secateur._kernels.threads import Threads, resolve_n_jobs
from secateur.data.table import Table
from secateur.selectors.base import PathSelector
from secateur.typing import AnyArray, FloatArray, IntArray


class StepModel(Protocol):
    """What the model of a step can do."""

    @property
    def features(self) -> IntArray:
        """The columns that it asks for."""
        ...

    def raw(self, table: Table, threads: Threads | None = None) -> FloatArray:
        """Raw predictions of shape (n_outputs, n_rows)."""
        ...

    def response(self, table: Table, threads: Threads | None = None) -> FloatArray:
        """Predictions on the scale of the target."""
        ...


class StepPredictor(PathSelector):
    """A selector whose steps carry models; it predicts with the one that was chosen."""

    @property
    def _model(self) -> Any:
        check_is_fitted(self)
        return self.path_[self.selection_.index].model

    def _response(self, X: Any) -> FloatArray:
        """Predictions of the chosen model on the scale of the target."""
        model: StepModel = self._model
        return self._predict(model, self._read_again(X, only=model.features))

    def _predict(self, model: StepModel, table: Table) -> FloatArray:
        with Threads(resolve_n_jobs(self.n_jobs)) as threads:
            return model.response(table, threads)

    def _staged(self, X: Any, finish: Callable[[FloatArray], Any]) -> Iterator[Any]:
        """Predictions of every step; X is read and checked once, before the first."""
        check_is_fitted(self)
        models: list[StepModel] = [step.model for step in self.path_]
        asked: IntArray = np.unique(np.concatenate([model.features for model in models]))
        table = self._read_again(X, only=asked)
        return (finish(self._predict(model, table)) for model in models)


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
        model: StepModel = self._model
        table = self._read_again(X, only=model.features)
        with Threads(resolve_n_jobs(self.n_jobs)) as threads:
            return model.raw(table, threads)


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
        labels: AnyArray = self.classes_[probabilities.argmax(axis=1)]
        return labels


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
