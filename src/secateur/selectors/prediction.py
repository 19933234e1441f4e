"""Predictions of a fitted selector: by the model of the chosen step, or of every step."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import wraps
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from secateur._kernels.threads import Threads, resolve_n_jobs
from secateur.data.checks import names_of
from secateur.data.frames import read_table
from secateur.data.table import DenseTable, SelectedTable, Table
from secateur.data.target import TargetType
from secateur.selectors.base import PathSelector
from secateur.typing import AnyArray, FloatArray, IntArray


class StepPredictor(PathSelector):
    """A selector whose steps carry models; it predicts with the one that was chosen.

    A model has ``features``, the columns that it uses, ``response(table, threads)``, its
    predictions on the scale of the target, and perhaps ``raw``, those of shape (n_outputs, n_rows).
    """

    _is_reduced: bool = False  # whether X always has the selected columns alone

    @property
    def _target_type(self) -> TargetType:
        return "classification" if is_classifier(self) else "regression"

    @property
    def _model(self) -> Any:
        return self._step.model

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
        schema = self._schema.take(support)
        if not self._are_selected(X, schema.names):
            return self._read_again(X, only=features)
        if len(support) == 0:
            return DenseTable(np.empty((len(X), 0)), schema)
        only = np.searchsorted(support, features)
        return SelectedTable(read_table(X, like=schema, only=only), support, self._schema)

    def _are_selected(self, X: Any, selected: tuple[str, ...]) -> bool:
        """Whether X has the selected columns alone; one column without a name could be any."""
        n_selected = len(selected)
        if self._is_reduced:
            return True
        shape = X.shape if hasattr(X, "shape") else np.asarray(X).shape
        if len(shape) != 2 or shape[1] != n_selected or n_selected == self.n_features_in_:
            return False
        names, has_names = names_of(X)
        if not (has_names and self._schema.has_names):
            return n_selected != 1
        return names == selected

    @property
    def _other_columns(self) -> str:  # type: ignore[override]  # once it is fitted
        if self.support_.sum() == 1:
            return ", or to predict from the selected one alone, use reduced()"
        return f", or to predict the {self.support_.sum()} selected ones that transform gives"

    def predict(self, X: Any) -> AnyArray:
        """The prediction of each row."""
        return self._predict(self._model, self._read_for_model(X))

    def staged_predict(self, X: Any) -> Iterator[AnyArray]:
        """The predictions at each step of the path."""
        models, table = self._models_and_rows(X)
        return (self._predict(model, table) for model in models)

    def _predict(self, model: Any, table: Table, kind: str = "response") -> FloatArray:
        with Threads(resolve_n_jobs(self.n_jobs)) as threads:
            predicted: FloatArray = getattr(model, kind)(table, threads)
        return predicted

    def _models_and_rows(self, X: Any) -> tuple[list[Any], Table]:
        """The models of all steps, and X with the columns that any of them uses."""
        check_is_fitted(self)
        models = [step.model for step in self.path_]
        asked: IntArray = np.unique(np.concatenate([model.features for model in models]))
        return models, self._read_again(X, only=asked)

    @property
    def feature_importances_(self) -> FloatArray:
        """The share of each feature in the importances of the chosen step."""
        step = self._step
        shares = np.zeros(self.n_features_in_)
        shares[step.support] = step.weight
        return shares / (shares.sum() or 1.0)


class PredictsProbabilities(ClassifierMixin, StepPredictor):  # type: ignore[misc]  # untyped
    """The predictions of a classifier, from the probabilities of its model."""

    def predict_proba(self, X: Any) -> FloatArray:
        """The probability of each class, in the order of ``classes_``."""
        return super().predict(X)

    def predict(self, X: Any) -> AnyArray:
        """The likeliest class of each row."""
        return self._labels(super().predict(X))

    def staged_predict(self, X: Any) -> Iterator[AnyArray]:
        """The classes predicted at each step of the path."""
        return map(self._labels, super().staged_predict(X))

    def staged_predict_proba(self, X: Any) -> Iterator[FloatArray]:
        """The probabilities predicted at each step of the path."""
        return super().staged_predict(X)

    def _labels(self, probabilities: FloatArray) -> AnyArray:
        return self.classes_[probabilities.argmax(axis=1)]


class PredictsClasses(PredictsProbabilities):
    """The same of a model that gives raw scores as well."""

    def decision_function(self, X: Any) -> FloatArray:
        """Log odds of the second of two classes, or a raw score per class."""
        raw = self._predict(self._model, self._read_for_model(X), "raw")
        return raw[0] if len(raw) == 1 else raw.T


class PredictsValues(RegressorMixin, StepPredictor):  # type: ignore[misc]  # untyped
    """A regressor, whose model predicts values."""


def delegated(method: Callable[..., Any]) -> Any:
    """The same method of an estimator that asks another one, where that has it."""
    name = method.__name__

    @wraps(method)
    def ask(self: Any, X: Any, **more: Any) -> Any:
        return self._ask(name, X, **more)

    return available_if(lambda self: self._has_method(name))(ask)


class ReducedModel(BaseEstimator):  # type: ignore[misc]  # untyped
    """A fitted model that takes the selected columns, as ``transform`` of its selector gives them.

    ``fit`` does nothing, and ``clone`` gives the model itself. ``task`` and the like are passed on.

    Parameters
    ----------
    selector : estimator
        A fitted selector that predicts.
    """

    def __init__(self, selector: Any) -> None:
        self.selector = selector

    @property
    def n_features_in_(self) -> int:
        """The number of selected features."""
        return int(self.selector.support_.sum())

    @property
    def feature_names_in_(self) -> AnyArray:
        """Names of the selected features, if the selector knows names."""
        return self.selector.feature_names_in_[self.selector.support_]

    @property
    def classes_(self) -> AnyArray:
        """The classes, of a classifier."""
        return self.selector.classes_

    @property
    def feature_importances_(self) -> FloatArray:
        """Those of the selected features."""
        return self.selector.feature_importances_[self.selector.support_]

    def fit(self, X: Any = None, y: Any = None, **_: Any) -> ReducedModel:  # noqa: ARG002
        """Do nothing: the model is fitted."""
        return self

    def _ask(self, method: str, X: Any, *more: Any, **named: Any) -> Any:
        if hasattr(X, "shape"):
            validate_data(self, X, reset=False, skip_check_array=True)
        return getattr(self.selector, method)(X, *more, **named)

    def _has_method(self, name: str) -> bool:
        return hasattr(self.selector, name)

    def score(self, X: Any, y: Any, sample_weight: Any = None, **more: Any) -> float:
        """The score of the predictions, as of the selector."""
        return float(self._ask("score", X, y, sample_weight, **more))

    predict = delegated(StepPredictor.predict)
    predict_proba = delegated(PredictsClasses.predict_proba)
    decision_function = delegated(PredictsClasses.decision_function)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_clone__(self) -> ReducedModel:
        return self

    def __sklearn_tags__(self) -> Any:
        tags = self.selector.__sklearn_tags__()
        tags.transformer_tags = None
        return tags
