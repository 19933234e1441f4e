"""Selectors that predict with the model of their chosen step, and what such predictions are."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Protocol

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from secateur._kernels.threads import Threads, resolve_n_jobs
from secateur.data.checks import check_shape
from secateur.data.costs import CostModel
from secateur.data.frames import as_frame, read_table, select_columns
from secateur.data.table import Table, TableSchema
from secateur.exceptions import (
    ClusterError,
    InputError,
    InterruptedWarning,
    SecateurError,
    SecateurWarning,
)
from secateur.path import Selection, SelectionPath, StopReason, as_rule
from secateur.path.cutting import CuttingRule
from secateur.selectors.parameters import Constraint, check_parameters
from secateur.selectors.progress import CallbackSupportMixin
from secateur.typing import AnyArray, BoolArray, FloatArray, IntArray


class PathSelector(CallbackSupportMixin, SelectorMixin, BaseEstimator):  # type: ignore[misc]  # untyped bases
    """A transformer that keeps the columns of one step of its path.

    A subclass traces a path in ``fit`` and calls ``_remember`` and ``_set_path``, last of all:
    a fit that fails leaves the one before it whole. Only where no step suits the rule, the path is
    kept for ``with_cut`` to choose from, and the selector counts as not fitted.

    Attributes
    ----------
    path_ : SelectionPath
        All steps.
    selection_ : Selection
        The step that was chosen; ``print(selector.selection_)`` tells how.
    support_ : array of bool, shape (n_features_in_,)
    ranking_ : array of int, shape (n_features_in_,)
        1 for the selected features; then the others by their entry into the path, and last those
        that never entered.
    """

    _constraints: dict[str, Constraint]
    _fits_on_disk: ClassVar[frozenset[str]] = frozenset()
    """Where it fits on tables on disk: "here", in this process, or on a "cluster"."""
    _schema: TableSchema
    cut: Any
    costs: Any

    def _check_parameters(self) -> None:
        check_parameters(self._constraints, self.get_params(deep=False))
        as_rule(self.cut)

    def _told(self, schema: TableSchema, cost_model: CostModel) -> dict[str, Any]:
        """What a path remembers of the fit: plain parameters, and the kinds of estimators."""
        told = {
            name: value if _is_plain(value) else type(value).__name__
            for name, value in self.get_params(deep=False).items()
            if _is_plain(value) or hasattr(value, "fit")
        }
        return {
            "feature_names": schema.names,
            "algorithm": type(self).__name__,
            "parameters": told,
            "costs": cost_model.total,
            "cost_unit": getattr(self.costs, "unit", ""),
        }

    def _remember(self, schema: TableSchema) -> None:
        """Names and width of the table, as scikit-learn keeps them."""
        self._schema = schema
        self.n_features_in_ = schema.n_features
        if schema.has_names:
            self.feature_names_in_ = np.array(schema.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _read_again(self, X: Any, only: IntArray) -> Table:
        """Some columns of the X of a later call, held against that of the fit."""
        check_is_fitted(self)
        if hasattr(X, "shape"):  # lists are asked for their shape once they are arrays
            check_shape(tuple(X.shape))
            self._check_names(X)
        return read_table(X, like=self._schema, only=only)

    def _check_names(self, X: Any) -> None:
        """Refuse other columns or another order, in scikit-learn's words and ours."""
        try:
            validate_data(self, X, reset=False, skip_check_array=True)
        except ValueError as error:
            msg = (
                f"{str(error).strip()}\nGot columns that are not those of fit time, in that order. "
                "Give X[list(selector.feature_names_in_)] if they have names."
            )
            raise InputError(msg) from error

    def _set_path(self, path: SelectionPath) -> None:
        self.path_ = path
        for name in ("selection_", "support_", "ranking_"):
            self.__dict__.pop(name, None)
        if path.stop_reason is StopReason.INTERRUPTED:
            warnings.warn(
                f"{type(self).__name__} was interrupted. It keeps the {len(path)} steps that were "
                "done; fit again for the whole path.",
                InterruptedWarning,
                stacklevel=3,
            )
        try:
            self._choose()
        except SecateurError as error:
            error.add_note("The path is kept: with_cut(...) can choose another of its steps.")
            raise

    def _choose(self) -> None:
        """Cut the path by the rule, and keep what it chose."""
        rule = self._default_rule() if self.cut is None else as_rule(self.cut)
        self._set_selection(self.path_.cut(rule))

    def _default_rule(self) -> CuttingRule:
        return as_rule(None)

    def _set_selection(self, selection: Selection) -> None:
        self.selection_ = selection
        self.support_: BoolArray = np.asarray(selection.mask)
        self.ranking_ = _ranking(self.path_, selection)

    def with_cut(self, cut: Any) -> Any:
        """The same fitted selector cut elsewhere along its path; nothing is fitted again.

        Parameters
        ----------
        cut : None, cutting rule, "best", "one_se", "elbow" or int
            As the parameter ``cut``; a number is the most features.

        Returns
        -------
        A new selector; the one that is asked stays as it is.
        """
        check_is_fitted(self, "path_")
        other: PathSelector = copy.copy(self)
        other.cut = cut
        PathSelector._choose(other)
        return other

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "selection_")

    def _get_support_mask(self) -> BoolArray:
        check_is_fitted(self)
        return self.support_

    def transform(self, X: Any) -> Any:
        """Keep the selected columns, in the kind of container that X is.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features_in_)

        Returns
        -------
        array, sparse matrix or data frame of shape (n_rows, n_selected)
        """
        self._read_again(X, only=np.empty(0, np.int64))
        if not self.support_.any():
            warnings.warn(
                "No features were selected. Got a penalty or a budget that leaves none worth its "
                "cost. Lower the penalty, or raise the budget.",
                SecateurWarning,
                stacklevel=2,
            )
        taken = select_columns(X, np.flatnonzero(self.support_))
        return _converted(taken, self._wanted_container())

    def _wanted_container(self) -> str:
        """What ``set_output`` asks for, of this selector or of all."""
        own: dict[str, str] = getattr(self, "_sklearn_output_config", {})
        for_all: str = get_config()["transform_output"]
        return own.get("transform", for_all)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags


@contextmanager
def keeping_steps(selector: Any, advice: str) -> Iterator[None]:
    """A cluster that is lost leaves the path of what was found before."""
    try:
        yield
    except ClusterError as error:
        if error.path is not None:
            selector.path_ = error.path
            selector.__dict__.pop("selection_", None)
            error.add_note(f"The {len(error.path)} steps so far are kept in 'path_': {advice}")
        raise


def _converted(taken: Any, wanted: str) -> Any:
    """A frame of another library, types kept; scikit-learn would go through objects."""
    if isinstance(taken, np.ndarray) or wanted not in {"pandas", "polars"}:
        return taken
    frame = as_frame(taken)
    if frame is None:
        return taken
    return frame.to_pandas() if wanted == "pandas" else frame.to_polars()


def _ranking(path: SelectionPath, selection: Selection) -> IntArray:
    """1 for what is selected, then by first entry along the path, last all that never entered."""
    rank = np.zeros(path.n_features_in, dtype=np.int64)
    rank[selection.support] = 1
    place = 2
    for step in path:
        for feature in step.order[rank[step.order] == 0]:
            rank[feature] = place
            place += 1
    rank[rank == 0] = place
    return rank


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | bool | int | float)


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

    n_jobs: int | None

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
