"""The base of all selectors: their ``fit``, the choice of a step, and ``transform``."""

from __future__ import annotations

import copy
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from secateur._kernels.threads import Threads, resolve_n_jobs
from secateur.data.checks import check_shape, labels_of, names_of
from secateur.data.costs import CostModel
from secateur.data.frames import as_container, read_table, select_columns
from secateur.data.table import Fold, Table, TableSchema
from secateur.data.target import Target
from secateur.engines.path_search import PathSearch, search_path
from secateur.exceptions import (
    ClusterError,
    EmptySelectionWarning,
    InputError,
    InterruptedWarning,
    SecateurError,
    SecateurWarning,
    some_of,
)
from secateur.model_selection.encoding import cut_by_columns
from secateur.model_selection.folds import check_groups, draw_folds, is_drawn, read_folds
from secateur.path import Selection, SelectionPath, Step, StopReason, TimeLimit, as_rule
from secateur.path.cutting import CuttingRule
from secateur.path.step import count_of
from secateur.selectors.inputs import FitInput
from secateur.selectors.parameters import SelectorParameters, read_stopping
from secateur.selectors.progress import CallbackSupportMixin, progress_of, with_callbacks
from secateur.typing import AnyArray, BoolArray, IntArray


class PathSelector(
    CallbackSupportMixin,  # type: ignore[misc]  # untyped
    SelectorMixin,  # type: ignore[misc]  # untyped
    BaseEstimator,  # type: ignore[misc]  # untyped
    SelectorParameters,
):
    """A transformer that keeps the columns of one step of its path; the base of all selectors.

    ``_fit`` is here, and only here. A family of selectors supplies two methods, and a ``fit`` of
    its own only to name and document more arguments, which it passes on to ``_fit``:

    ``_problem(X, y, sample_weight, **more) -> FitInput``
        Read and check the input. Most families call `read_input` and return a subclass of
        `FitInput` with what their engine needs. All errors of the user are raised before any work.
    ``_engine(given, folds, threads, progress) -> list of PathSearch``
        Prepare the algorithm: one `PathSearch`, or several variants of which validation rows
        choose one. Its ``steps`` are a generator of `Step`, often that of `search_penalties`. It
        calls ``progress.expect`` once, and ``progress.round`` and ``progress.part`` on the way.

    A family may also override ``_folds``, which rows train and validate; ``_remember``, what is
    kept of the input; and ``_default_rule``, what ``cut=None`` means. A fit that fails leaves the
    fitted attributes of the previous one as they were. Only where no step suits the cutting rule,
    the new path is kept for ``with_cut``, and the selector counts as not fitted.

    Attributes
    ----------
    selection_ : Selection
        The chosen step of ``path_``; print it for a sentence.
    support_ : array of bool, shape (n_features_in_,)
    ranking_ : array of int, shape (n_features_in_,)
        1 for the selected features, then by entry into the path, last those that never entered.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if X has names that are text.
    classes_ : array
        Only for classification.
    """

    classes_: AnyArray
    _problem: Callable[..., FitInput]
    _engine: Callable[..., list[PathSearch]]
    # where it fits on tables on disk: "here", in this process, or on a "cluster"
    _fits_on_disk: ClassVar[frozenset[str]] = frozenset()
    _folds_on_disk: ClassVar[bool] = True
    # what to do with the steps that were found before a cluster was lost
    _after_lost_cluster: ClassVar[str] = "path_.cut(...) chooses one of them."
    _schema: TableSchema
    path_: SelectionPath
    _other_columns: str = ""  # what columns some methods take as well
    cv: Any = 0  # of selectors with a constructor of their own

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Any:
        """Search the path of selections and choose a step.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features)
            Missing values are NaN or None; category columns are used as such.
        y : array or series of shape (n_rows,)
        sample_weight : array of shape (n_rows,), optional
            Weights of the rows, also in scores: whole weights count rows, other weights are
            relative. Rows of weight 0 are left out.
        groups : array of shape (n_rows,), optional
            Which rows belong together, as those of one patient: folds, and rows that are held out
            for early stopping, keep them together. Given to the splitter in ``cv``.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, groups)

    @with_callbacks  # type: ignore[untyped-decorator]
    def _fit(self, X: Any, y: Any, sample_weight: Any, groups: Any, **more: Any) -> Any:
        started = perf_counter()
        self._check_parameters()
        given = self._problem(X, y, sample_weight, **more)
        if groups is not None:
            given = replace(given, groups=check_groups(groups, len(given.target.values)))
        folds = self._folds(given)
        _warn_of_single_rows(given.problem.target, folds)
        metadata = self._metadata(given.problem.table.schema, given.problem.cost_model)
        n_threads = resolve_n_jobs(self.n_jobs)
        try:
            with Threads(n_threads) as threads, progress_of(self, X, y) as progress:
                searches = self._engine(given, folds, threads, progress)
                path = search_path(searches, started=started, **self._limits(), **metadata)
                progress.finish(path)
        except ClusterError as error:
            if error.path is not None:  # the steps before the cluster was lost
                self.path_ = error.path
                self.__dict__.pop("selection_", None)
                found = f"What was done, {count_of(len(error.path), 'step')}, is kept in 'path_': "
                error.add_note(found + self._after_lost_cluster)
            raise
        self._remember(given)
        self._set_path(path, is_asked=progress.is_asked_to_stop)
        return self

    def _limits(self) -> dict[str, Any]:
        """What ends a search: the stopping rules, the time limit and ``on_step`` of the user."""
        rules = read_stopping(self.stopping)
        if self.time_limit is not None:
            rules.append(TimeLimit(self.time_limit))
        return {"rules": rules, "on_step": self.on_step}

    def _check_parameters(self) -> None:
        for name, constraint in self._constraints.items():
            if hasattr(self, name):
                constraint.check(name, getattr(self, name))
        as_rule(self.cut)
        resolve_n_jobs(self.n_jobs)

    def _folds(self, given: Any) -> list[Fold]:
        """The folds of ``cv``; none where there are too few rows for any."""
        if is_drawn(self.cv):
            return draw_folds(
                given.strata,
                self.cv,
                random_state=given.seed,
                groups=given.row_groups,
                default=given.default_folds,
            )
        return read_folds(self.cv, given.target, given.kept, given.groups)

    def _metadata(self, schema: TableSchema, cost_model: CostModel) -> dict[str, Any]:
        """What a path keeps of the fit: plain parameters, and the types of estimators."""
        plain = {}
        for name, value in self.get_params(deep=False).items():
            if value is None or isinstance(value, str | bool | int | float):
                plain[name] = value
            elif hasattr(value, "fit"):
                plain[name] = type(value).__name__
        return {
            "feature_names": schema.names,
            "algorithm": type(self).__name__,
            "parameters": plain,
            "costs": cost_model.total,
            "cost_unit": getattr(self.costs, "unit", ""),
        }

    def _remember(self, given: Any) -> None:
        self._remember_input(given.problem.table.schema, given.classes)

    def _remember_input(self, schema: TableSchema, classes: AnyArray | None) -> None:
        """Keep the columns and the classes of the input, as scikit-learn does."""
        self._schema = schema
        self.n_features_in_ = schema.n_features
        for name in ("feature_names_in_", "classes_"):
            self.__dict__.pop(name, None)
        if schema.has_names and schema.labels is None:
            self.feature_names_in_ = np.array(schema.names, dtype=object)
        if classes is not None:
            self.classes_ = classes

    def _read_again(self, X: Any, only: IntArray) -> Table:
        """Some columns of the X of a later call, checked against that of the fit."""
        check_is_fitted(self)
        if hasattr(X, "shape"):  # the shape of lists is checked once they are arrays
            check_shape(tuple(X.shape))
            self._check_names(X)
        return read_table(X, like=self._schema, only=only)

    def _check_names(self, X: Any) -> None:
        """Refuse other columns or another order, in scikit-learn's words and ours."""
        try:
            validate_data(self, X, reset=False, skip_check_array=True)
            # scikit-learn looks at text only; numbers may also be in another order
            found = labels_of(X)
            known = list(self._schema.labels or range(self.n_features_in_))
            is_moved = found != known and set(found) == set(known)
            if is_moved or (self._schema.labels and names_of(X)[1] and found != known):
                raise InputError("The feature names should match those of the fit.")
        except ValueError as error:
            raise InputError(
                f"{str(error).strip()}\nGot columns that are not those of fit time, in that order: "
                f"{some_of(self._schema.names)}. Give "
                f"X[list(selector.feature_names_in_)] where names are text{self._other_columns}."
            ) from error

    def _set_path(self, path: SelectionPath, *, is_asked: bool = False) -> None:
        """Keep the path and choose a step; raise an interruption that no callback asked for."""
        self.path_ = path
        for name in ("selection_", "support_", "ranking_"):
            self.__dict__.pop(name, None)
        interrupted = path.stop_reason is StopReason.INTERRUPTED and (
            f"{type(self).__name__} was interrupted. It keeps the {count_of(len(path), 'step')} "
            "done so far, in 'path_'; fit again for the whole path."
        )
        is_raised = interrupted and self.on_interrupt == "raise" and not is_asked
        if interrupted and not is_raised:
            warn_caller(interrupted, InterruptedWarning)
        try:
            self._choose()
        except SecateurError as error:
            if is_raised:
                raise KeyboardInterrupt(interrupted) from error
            if len(path):
                error.add_note("The path is kept: with_cut(...) can choose another of its steps.")
            raise
        if is_raised:
            raise KeyboardInterrupt(interrupted)
        if not self.support_.any():
            self._warn_of_none()

    def _warn_of_none(self) -> None:
        largest = int(self.path_.n_features.max())
        advice = "Lower the penalty, or raise the budget."
        if largest:
            advice = f"with_cut('best') or with_cut({largest}) chooses another step of the path."
        warn_caller(
            f"{type(self).__name__} selected no features. Got: {self.selection_.sentence} {advice}",
            EmptySelectionWarning,
        )

    def _choose(self) -> None:
        path, rule = self.path_, self._rule
        sources = getattr(self.costs, "sources", None)
        is_plain = sources is None  # else columns of text are encoded, and counted as one
        self._set_selection(path.cut(rule) if is_plain else cut_by_columns(path, rule, sources))

    @property
    def _rule(self) -> CuttingRule:
        return self._default_rule() if self.cut is None else as_rule(self.cut)

    def _default_rule(self) -> CuttingRule:
        return as_rule(None)

    @property
    def _wanted_size(self) -> int | None:
        """The number of features that ``cut`` asks for, for which penalties are tried."""
        return getattr(as_rule(self.cut), "n_features", None)

    def _set_selection(self, selection: Selection) -> None:
        self.selection_ = selection
        self.support_: BoolArray = selection.mask
        self.ranking_ = _ranking(self.path_, selection)

    def with_cut(self, cut: Any) -> Any:
        """The same fitted selector cut elsewhere along its path; nothing is fitted again.

        Parameters
        ----------
        cut : None, cutting rule, "best", "one_se", "elbow" or int
            As the parameter ``cut``; a number is the most features.

        Returns
        -------
        A new selector; this one does not change.
        """
        check_is_fitted(self, "path_")
        other: PathSelector = copy.copy(self)
        other.cut = cut
        PathSelector._choose(other)
        return other

    @property
    def _step(self) -> Step:
        """The chosen step of the path."""
        check_is_fitted(self)
        return self.path_[self.selection_.index]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "selection_")

    def _get_support_mask(self) -> BoolArray:
        check_is_fitted(self)
        return self.support_

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """The names of the selected columns, as X has them; x0, x1, ... where it has none."""
        check_is_fitted(self)
        labels = self._schema.labels
        if labels is None or input_features is not None:
            return super().get_feature_names_out(input_features)
        chosen = [labels[feature] for feature in np.flatnonzero(self.support_)]
        return np.fromiter(chosen, dtype=object, count=len(chosen))

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
            self._warn_of_none()
        # what ``set_output`` asks for, of this selector or of all
        own: dict[str, str] = getattr(self, "_sklearn_output_config", {})
        wanted = own.get("transform", get_config()["transform_output"])
        return as_container(select_columns(X, np.flatnonzero(self.support_)), wanted)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the line that called this library, however many frames there are between."""
    frame, level = sys._getframe(1), 2  # noqa: SLF001  # as warnings does
    while frame.f_back and frame.f_globals["__name__"].partition(".")[0] in {"secateur", "sklearn"}:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _warn_of_single_rows(target: Target, folds: list[Fold]) -> None:
    """Name the classes of one row, which scores leave out."""
    is_scored = any(len(fold.test) for fold in folds)
    codes = target.values.astype(np.int64) if target.n_classes and is_scored else np.zeros(0, int)
    if target.classes is not None and len(single := np.flatnonzero(np.bincount(codes) == 1)):
        warn_caller(
            "A class needs two rows to be trained and validated. Got one row of "
            f"{some_of(target.classes[single].tolist())}: it trains in every fold, and scores "
            "say nothing about it. Give more rows of it, or leave it out.",
            SecateurWarning,
        )


def _ranking(path: SelectionPath, selection: Selection) -> IntArray:
    """1 for what is selected, then by first entry along the path, last all that never entered."""
    rank = np.zeros(path.n_features_in, dtype=np.int64)
    rank[selection.support] = 1
    place = 2
    for step in path:
        new = step.order[rank[step.order] == 0]
        rank[new] = np.arange(place, place + len(new))
        place += len(new)
    rank[rank == 0] = place
    return rank
