"""A threshold between any two values, also of columns with more values than bins.

A column becomes several, each clipped to a range of 255 of its values, which all have a bin then.
A split of a clipped column is a split of the column itself, and the first one pays for all.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from secateur.data.costs import as_costs
from secateur.data.frames import is_lazy, read_table
from secateur.data.table import Table
from secateur.engines.boosted.trees import BoostedModel, Ensemble
from secateur.engines.drive import better, same_lifetime
from secateur.exceptions import (
    EmptySelectionWarning,
    InputError,
    InterruptedWarning,
    SecateurError,
)
from secateur.model_selection.encoding import as_features, with_costs
from secateur.path import SelectionPath, Step
from secateur.selectors.boosted_base import BoostedSelector
from secateur.selectors.parameters import ExactThresholds
from secateur.storage.stored_table import StoredTable
from secateur.typing import FloatArray, IntArray

N_VALUES = 255  # of a range: as many as there are bins


class Ranges(NamedTuple):
    """The column of each range, and its ends; neighbouring ranges share a value."""

    sources: IntArray
    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, table: Table) -> Ranges:
        """Ranges of the values of all columns; the first and the last are open."""
        parts = []
        for j in range(table.n_features):
            values = np.unique(table.columns(np.array([j])))
            inner = values[np.isfinite(values)][N_VALUES - 1 : -1 : N_VALUES - 1]
            ends = np.concatenate([[-np.inf], inner, [np.inf]])
            parts.append((np.full(len(ends) - 1, j), ends[:-1], ends[1:]))
        return cls(*(np.concatenate(part) for part in zip(*parts, strict=True)))

    def clip(self, table: Table) -> FloatArray:
        """The columns of a table, once for each of their ranges."""
        clipped: FloatArray = np.clip(table.columns(self.sources), self.low, self.high)
        return clipped


class ExactFit(BoostedSelector):
    """What a boosted selector does where a bin is wanted for each value."""

    @classmethod
    def of(cls, selector: BoostedSelector) -> Callable[..., Any]:
        """How the selector is fitted: only some know ``max_bins=None``."""
        is_known = isinstance(selector, ExactThresholds)
        return partial(cls._fit_exactly if is_known else cls._fit, selector)

    def _fit_exactly(self, X: Any, y: Any, sample_weight: Any, groups: Any, **more: Any) -> Any:
        """Fit a selector to clipped columns; its path is that of the columns."""
        self._check_parameters()
        ExactFit._refuse(self, X, more["resume"])
        given = self._problem(X, y, sample_weight, **more)
        table, (X_val, y_val, weight_val) = given.problem.table, more["validation"]
        if table.categories:
            raise InputError(
                "X must hold numbers where 'max_bins' is None. Got categories. Use max_bins=255, "
                "or encode them."
            )
        ranges = Ranges.of(table)
        inner = with_costs(clone(self), ranges.sources, table.names).set_params(
            max_bins=N_VALUES, categorical_features=None, on_interrupt="keep"
        )
        of_columns, on_step = (ranges.sources, table.n_features), self.on_step
        if on_step is not None:
            inner.on_step = lambda step: on_step(_over_columns(step, *of_columns))
        if X_val is not None:
            X_val = ranges.clip(read_table(X_val, like=table.schema))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", EmptySelectionWarning)
                warnings.simplefilter("ignore", InterruptedWarning)
                rows = ranges.clip(read_table(X)), y, sample_weight
                inner.fit(*rows, X_val, y_val, weight_val, groups=groups)
        except SecateurError:
            if not hasattr(inner, "path_"):
                raise
        self._remember(given)
        metadata = self._metadata(table.schema, given.problem.cost_model)
        del metadata["costs"]  # each step has its cost
        self._set_path(_path_over_columns(inner.path_, *of_columns, **metadata))
        return self

    def _refuse(self, X: Any, resume: Any) -> None:
        """Refuse what has bins already, and costs that no group of columns stands for."""
        costs = as_costs(self.costs, self.feature_groups, self.keep)
        wrong = {
            "'max_features'": self.max_features is not None,  # they would count clipped columns
            "a stored table or a dask collection": isinstance(X, StoredTable) or is_lazy(X),
            "'resume'": resume is not None,
            "costs with neighbours or a rule": not (costs.neighbours is costs.rule is None),
        }
        for what, is_given in wrong.items():
            if is_given:
                raise InputError(
                    "A fit with max_bins=None takes a table in memory, costs, feature groups, "
                    f"'cut' and 'cost_budget'. Got {what}. Use max_bins=255."
                )


def _path_over_columns(
    path: SelectionPath, sources: IntArray, n_columns: int, **metadata: Any
) -> SelectionPath:
    """The path of the clipped columns as that of the columns."""
    steps: list[Step] = []
    for clipped in path:
        step = _over_columns(clipped, sources, n_columns)
        if steps and same_lifetime(steps[-1], step):
            steps[-1] = better(steps[-1], step)
        else:
            steps.append(step)
    return replace(path, steps=tuple(steps), **metadata)


def _over_columns(step: Step, sources: IntArray, n_columns: int) -> Step:
    weight = np.bincount(sources[step.support], step.weight, n_columns)
    order = as_features(step.order, sources)
    support, model = np.sort(order), step.model
    if model is not None:
        rounds = [
            [t._replace(feature=np.where(t.left >= 0, sources[t.feature], -1)) for t in trees]
            for trees in model.ensemble.rounds[: model.n_rounds]
        ]
        parts = model.ensemble
        whole = Ensemble(parts.loss, parts.baseline, rounds, parts.n_cells)
        model = BoostedModel(whole, model.n_rounds)
    return replace(step, support=support, order=order, weight=weight[support], model=model)
