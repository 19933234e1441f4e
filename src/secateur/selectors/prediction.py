"""Predictions of a fitted selector: by the model of the chosen step, or of every step."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from secateur._kernels.threads import Threads, resolve_n_jobs
from secateur.data.checks import names_of
from secateur.data.frames import read_table
from secateur.data.table import DenseTable, SelectedTable, Table
from secateur.selectors.base import PathSelector
from secateur.selectors.reduced import ReducedModel
from secateur.typing import AnyArray, FloatArray, IntArray


class StepPredictor(PathSelector):
    """A selector whose steps carry models; it predicts with the one that was chosen.

    A model has ``features``, the columns that it asks for, ``response(table, threads)``, its
    predictions on the scale of the target, and perhaps ``raw``, those of shape (n_outputs, n_rows).
    """

    _is_reduced: bool = False
    """Whether X always has the selected columns alone."""

    @property
    def _model(self) -> Any:
        check_is_fitted(self)
        return self.path_[self.selection_.index].model

    def reduced(self) -> ReducedModel:
        """The fitted model as an estimator that takes the selected columns alone.

        Returns
        -------
        ReducedModel
            With ``predict`` and the like, ``score``, ``n_features_in_`` and ``feature_names_in_``
            of the selected columns. It has the model of the chosen step only.
        """
        check_is_fitted(self)
        chosen = self.selection_.index
        steps = tuple(
            step if index == chosen else replace(step, model=None)
            for index, step in enumerate(self.path_)
        )
        alone = copy.copy(self)
        alone.on_step, alone._is_reduced = None, True  # noqa: SLF001 - its own
        alone.path_ = replace(self.path_, steps=steps)
        return ReducedModel(alone)

    def _read_for_model(self, X: Any) -> Table:
        """The columns of the chosen model, from all columns or from the selected ones alone."""
        features, support = self._model.features, np.flatnonzero(self.support_)
        if not self._are_selected(X, len(support)):
            return self._read_again(X, only=features)
        schema = self._schema.take(support)
        if len(support) == 0:
            return DenseTable(np.empty((len(X), 0)), schema)
        only = np.searchsorted(support, features)
        return SelectedTable(read_table(X, like=schema, only=only), support, self._schema)

    def _are_selected(self, X: Any, n_selected: int) -> bool:
        """Whether X has the selected columns alone, by their names if both have names.

        One column without a name could be any.
        """
        if self._is_reduced:
            return True
        shape = X.shape if hasattr(X, "shape") else np.asarray(X).shape
        if len(shape) != 2 or shape[1] != n_selected or n_selected == self.n_features_in_:
            return False
        names, has_names = names_of(X)
        if not (has_names and self._schema.has_names):
            return n_selected != 1
        return names == self._schema.take(np.flatnonzero(self.support_)).names

    def _other_columns(self) -> str:
        if self.support_.sum() == 1:
            return ", or to predict from the selected one alone, use reduced()"
        return f", or to predict the {self.support_.sum()} selected ones that transform gives"

    def _response(self, X: Any) -> FloatArray:
        """Predictions of the chosen model on the scale of the target."""
        return self._predict(self._model, self._read_for_model(X))

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

    @property
    def feature_importances_(self) -> FloatArray:
        """The share of each feature in what the chosen step holds to be important."""
        check_is_fitted(self)
        step = self.path_[self.selection_.index]
        shares = np.zeros(self.n_features_in_)
        shares[step.support] = step.weight
        total = shares.sum()
        return shares / total if total > 0 else shares


class PathPredictor(StepPredictor):
    """One whose model also gives raw scores."""

    def _raw(self, X: Any) -> FloatArray:
        """Raw predictions of the chosen model, shape (n_outputs, n_rows)."""
        return self._predict(self._model, self._read_for_model(X), "raw")


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
