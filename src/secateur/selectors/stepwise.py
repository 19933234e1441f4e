"""Predictions of a selector whose every step carries a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from secateur._data.table import Table
from secateur._kernels.threads import Threads, resolve_n_jobs
from secateur.selectors.base import PathSelector
from secateur.typing import AnyArray, FloatArray, IntArray


class StepwiseSelector(PathSelector):
    """A selector that predicts with the model of its chosen step.

    A model has ``features``, the columns that it asks for, and ``response(table, threads)``.
    """

    n_jobs: int | None

    @property
    def _model(self) -> Any:
        check_is_fitted(self)
        return self.path_[self.selection_.index].model

    def _response(self, X: Any) -> FloatArray:
        """Predictions of the chosen model on the scale of the target."""
        model = self._model
        return self._predict(model, self._read_again(X, only=model.features))

    def _predict(self, model: Any, table: Table) -> FloatArray:
        with Threads(resolve_n_jobs(self.n_jobs)) as threads:
            response: FloatArray = model.response(table, threads)
            return response

    def _staged(self, X: Any, finish: Callable[[FloatArray], Any]) -> Iterator[Any]:
        """Predictions of every step; X is read and checked once, before the first."""
        check_is_fitted(self)
        models = [step.model for step in self.path_]
        asked: IntArray = np.unique(np.concatenate([model.features for model in models]))
        table = self._read_again(X, only=asked)
        return (finish(self._predict(model, table)) for model in models)


class LabelledSelector(StepwiseSelector):
    """A stepwise selector of classes."""

    classes_: AnyArray

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


class NumberSelector(StepwiseSelector):
    """A stepwise selector of numbers."""

    def predict(self, X: Any) -> FloatArray:
        """The predicted number of each row."""
        return self._response(X)

    def staged_predict(self, X: Any) -> Iterator[FloatArray]:
        """The numbers predicted at each step of the path."""
        return self._staged(X, lambda values: values)
