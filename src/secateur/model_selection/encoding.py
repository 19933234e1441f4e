"""One-hot columns for methods that take numbers only, and their selections as features again."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

from secateur.data.costs import FeatureCosts, as_costs
from secateur.data.frames import read_table
from secateur.exceptions import InputError, UnknownCategoryWarning
from secateur.model_selection.rows import Rows, fit_clone
from secateur.path import Selection, SelectionPath
from secateur.path.cutting import CuttingRule
from secateur.typing import AnyArray, IntArray


class AsNumbers(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # untyped bases
    """Encode a table of any kind as floats: NaN for missing cells, one-hot columns for categories.

    Sparse matrices stay sparse. ``sources_`` has the column of X that each column is made of: first
    the numbers, then the values of each category.
    """

    def fit(self, X: Any, y: Any = None) -> Any:  # noqa: ARG002 - scikit-learn passes it
        """Learn names and categories."""
        table = read_table(X, categorical_features="from_dtype")
        self.schema_ = table.schema
        numbers = np.setdiff1d(np.arange(table.n_features), list(table.categories))
        self.n_numbers_ = len(numbers)
        # a category whose cells are all missing has one column, of zeros: it is a feature too
        n_values = [max(1, len(values)) for values in table.categories.values()]
        categories = np.repeat(np.array(list(table.categories), np.int64), n_values)
        self.sources_: IntArray = np.concatenate([numbers.astype(np.int64), categories])
        return self

    def transform(self, X: Any) -> Any:
        """Encode a table; a value that was unknown at fit time has no column."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnknownCategoryWarning)
            table = read_table(X, like=self.schema_)
            if table.is_sparse:
                return sp.csr_matrix(table.csc)
            numbers = table.columns(np.arange(table.n_features))
        if not table.categories:
            return numbers
        parts = [numbers[:, self.sources_[: self.n_numbers_]]]
        for feature, values in table.categories.items():
            codes = np.arange(max(1, len(values)))
            parts.append((numbers[:, [feature]] == codes).astype(np.float64))
        return np.hstack(parts)

    def transform_some(self, X: Any, features: IntArray) -> AnyArray:
        """Encode a table that has some of the columns only; those of the others are zeros."""
        is_there = np.isin(self.sources_, features)
        some = AsNumbers()
        some.schema_ = self.schema_.take(features)
        some.n_numbers_ = int(is_there[: self.n_numbers_].sum())
        some.sources_ = np.searchsorted(features, self.sources_[is_there])
        encoded = some.transform(X)
        found: AnyArray = np.zeros((encoded.shape[0], len(self.sources_)))
        found[:, is_there] = encoded
        return found

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:  # noqa: ARG002
        """Names of the columns, as ``sex=f`` for those of a category."""
        schema = self.schema_
        names = [schema.names[source] for source in self.sources_[: self.n_numbers_]]
        for feature, values in schema.categories.items():
            names += [f"{schema.names[feature]}={value}" for value in values.tolist() or [""]]
        return np.array(names, dtype=object)


def takes_categories(estimator: Any) -> bool:
    """Whether an estimator takes columns of categories or text; of a pipeline the first step."""
    inner = getattr(estimator, "estimator", None)  # of a grid search, for instance
    if isinstance(inner, Pipeline):
        return takes_categories(inner)
    if isinstance(estimator, Pipeline):
        return takes_categories(estimator.steps[0][1])
    is_encoder = isinstance(estimator, AsNumbers | ColumnTransformer | FunctionTransformer)
    if is_encoder or hasattr(estimator, "categorical_features"):
        return True
    if not hasattr(estimator, "__sklearn_tags__"):
        return False
    tags = estimator.__sklearn_tags__().input_tags
    return bool(tags.categorical or tags.string)


def on_numbers(estimator: Any, *, has_categories: bool) -> Any:
    """An estimator for a table with categories: behind an encoder if it takes numbers only."""
    if not has_categories:
        return estimator
    if takes_categories(estimator):
        is_set = getattr(estimator, "categorical_features", "") is not None
        if is_set or not hasattr(estimator, "with_cut"):
            return estimator
        return clone(estimator).set_params(categorical_features="from_dtype")  # text as categories
    if isinstance(estimator, Pipeline):  # not a pipeline in another: weights go to the last step
        return Pipeline([("asnumbers", AsNumbers()), *estimator.steps])
    return make_pipeline(AsNumbers(), estimator)


def as_features(columns: Any, sources: IntArray | None) -> Any:
    """Columns in some order as the features they were made of, each where its first column is."""
    if sources is None or columns is None:
        return columns
    features = sources[np.asarray(columns, np.int64)]
    _, first = np.unique(features, return_index=True)
    return features[np.sort(first)]


def over_columns(
    path: SelectionPath, sources: IntArray | None, names: Sequence[Any]
) -> SelectionPath:
    """A path over the columns that one-hot ones were made of, with the largest of their weights."""
    if sources is None:
        return replace(path, feature_names=tuple(names))
    steps = []
    for step in path:
        order = as_features(step.order, sources)
        weight = np.zeros(len(names))
        np.maximum.at(weight, sources[step.support], step.weight)
        support = np.sort(order)
        steps.append(replace(step, support=support, order=order, weight=weight[support]))
    return replace(path, steps=tuple(steps), feature_names=tuple(names))


def cut_by_columns(path: SelectionPath, rule: CuttingRule, sources: IntArray | None) -> Selection:
    """Cut a path by a rule that counts the columns that features were made of."""
    if sources is None:
        return path.cut(rule)
    chosen = over_columns(path, sources, range(int(sources.max()) + 1)).cut(rule)
    step = path[chosen.index]
    names = path.names_of(step)
    return replace(chosen, support=step.support, names=names, n_features_in=path.n_features_in)


def fit_method(
    method: Any, rows: Rows, seed: int, n_jobs: int | None
) -> tuple[Any, IntArray | None]:
    """The method fitted to some rows, encoded if it takes numbers only; sources of its columns."""
    if not rows.has_categories or takes_categories(method):
        ready = on_numbers(method, has_categories=rows.has_categories)
        return fit_clone(ready, rows, seed, n_jobs), None
    numbers = AsNumbers().fit(rows.X)
    names = tuple(numbers.get_feature_names_out())
    columns = replace(rows, X=numbers.transform(rows.X), names=names, has_categories=False)
    method = with_costs(method, numbers.sources_, rows.names)
    return fit_clone(method, columns, seed, n_jobs), numbers.sources_


def with_costs(method: Any, of_columns: IntArray, names: tuple[str, ...]) -> Any:
    """The method with the costs of features given to their columns, if it has costs."""
    known = method.get_params(deep=False) if hasattr(method, "with_cut") else {}
    if "costs" not in known:
        return method
    costs = as_costs(known["costs"], known.get("feature_groups"), known.get("keep"))
    free = {name: None for name in ("feature_groups", "keep") if name in known}
    return clone(method).set_params(costs=costs_of_encoded(costs, of_columns, names), **free)


def costs_of_encoded(
    costs: FeatureCosts, of_columns: IntArray, names: Sequence[str]
) -> FeatureCosts:
    """The costs of features given to the columns that were made of them, as one group each."""
    if costs.neighbours is not None or costs.rule is not None:
        raise InputError(
            "Costs of tables with categories must be costs and feature groups for a method that "
            "takes numbers only. Got neighbours, or a rule. Encode the categories beforehand."
        )
    cost_model = costs.bind(names)
    # the groups of columns: those of their features, or one for a category that is in none
    alone = np.bincount(of_columns, minlength=cost_model.n_features) > 1
    groups = [] if cost_model.feature_groups is None else [cost_model.feature_groups]
    if groups:
        alone &= np.diff(groups[0].indptr) == 0
    groups.append(sp.eye_array(len(alone), dtype=np.int32, format="csr")[:, np.flatnonzero(alone)])
    joined = sp.csr_array(sp.hstack(groups))[of_columns]
    return FeatureCosts(
        cost_model.cost[of_columns],
        feature_groups=joined if joined.shape[1] else None,
        keep=cost_model.keep[of_columns],
        unit=costs.unit,
        sources=of_columns,
    )
