"""What every selector of secateur shares: a path, a cut through it, and the columns that stay."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from secateur._data.frames import as_frame, read_table, select_columns
from secateur._data.table import Table, TableSchema
from secateur.exceptions import InterruptedWarning
from secateur.path import Selection, SelectionPath, StopReason, as_rule
from secateur.selectors.constraints import Constraint, check_parameters
from secateur.selectors.progress import CallbackSupportMixin
from secateur.typing import BoolArray, IntArray


class PathSelector(CallbackSupportMixin, SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """A transformer that keeps the columns of one step of its path.

    A subclass traces a path in ``fit`` and calls ``_set_path``; everything here works on the path.

    Attributes
    ----------
    path_ : SelectionPath
        All steps.
    selection_ : Selection
        The step that was chosen; ``print(selector.selection_)`` tells how.
    support_ : array of bool, shape (n_features_in_,)
    ranking_ : array of int, shape (n_features_in_,)
        1 for the selected features; then the others by their entry into later steps of the path.
    """

    _constraints: dict[str, Constraint]
    _schema: TableSchema

    def _check_parameters(self) -> None:
        check_parameters(self._constraints, self.get_params(deep=False))

    def _read(self, X: Any, **how: Any) -> Table:
        """X of a fit; names and width are remembered as scikit-learn does."""
        table = read_table(X, **how)
        validate_data(self, X, skip_check_array=True)
        self.n_features_in_ = table.n_features
        self._schema = table.schema
        return table

    def _read_again(self, X: Any, only: IntArray | None = None) -> Table:
        """X of a later call, held against that of the fit."""
        check_is_fitted(self)
        if as_frame_or_none(X) is not None or hasattr(X, "shape"):
            validate_data(self, X, reset=False, skip_check_array=True)
        return read_table(X, like=self._schema, only=only)

    def _set_path(self, path: SelectionPath, cut: Any) -> None:
        self.path_ = path
        if path.stop_reason is StopReason.INTERRUPTED:
            warnings.warn(
                f"{type(self).__name__} was interrupted. It keeps the {len(path)} steps that were "
                "done; fit again for the whole path.",
                InterruptedWarning,
                stacklevel=3,
            )
        self._set_selection(path.cut(as_rule(cut)))

    def _set_selection(self, selection: Selection) -> None:
        self.selection_ = selection
        self.support_: BoolArray = np.asarray(selection.mask)
        self.ranking_ = _ranking(self.path_, selection)

    def with_cut(self, cut: Any) -> Any:
        """The same fitted selector cut elsewhere along its path; nothing is fitted again.

        Parameters
        ----------
        cut : cutting rule, "best", "one_se", "elbow" or int
            As the parameter ``cut``; a number is the most features.
        """
        check_is_fitted(self)
        other = copy.copy(self)
        other.cut = cut
        other._set_selection(other.path_.cut(as_rule(cut)))
        return other

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
                "No features were selected. Lower the penalty, or raise the budget.",
                UserWarning,
                stacklevel=2,
            )
        return select_columns(X, np.flatnonzero(self.support_))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags


def as_frame_or_none(X: Any) -> Any:
    """The wrapped data frame, or None if X is none."""
    return None if isinstance(X, np.ndarray | list | tuple) else as_frame(X)


def _ranking(path: SelectionPath, selection: Selection) -> IntArray:
    """1 for what is selected, then by first entry along the path, last all that never entered."""
    rank = np.zeros(path.n_features_in, dtype=np.int64)
    rank[selection.support] = 1
    place = 2
    for step in path:
        for feature in step.order:
            if rank[feature] == 0:
                rank[feature] = place
                place += 1
    rank[rank == 0] = place
    return rank
