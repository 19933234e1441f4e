"""Models that judge columns: any table as numbers first, then a plain estimator."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import has_fit_parameter

from secateur._data.frames import read_table
from secateur._data.table import Table
from secateur.exceptions import UnknownCategoryWarning
from secateur.typing import FloatArray

ALPHAS = tuple(10.0**power for power in range(-3, 4))
"""The penalties that ridge regression chooses from, by leaving one row out."""


class AsNumbers(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # untyped bases
    """A table of any kind as floats: missing cells NaN, a column for each value of a category.

    Sparse matrices stay sparse.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"size": [1.5, None], "sex": pd.Categorical(["f", "m"])})
    >>> AsNumbers().fit(X).transform(X)
    array([[1.5, 1. , 0. ],
           [nan, 0. , 1. ]])
    """

    def fit(self, X: Any, y: Any = None) -> Any:  # noqa: ARG002 - scikit-learn hands it over
        """Learn names and categories."""
        self.schema_ = read_table(X, categorical_features="from_dtype").schema
        return self

    def transform(self, X: Any) -> Any:
        """The numbers; a value that was not there at fit time has no column."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnknownCategoryWarning)
            table = read_table(X, like=self.schema_)
            return sp.csr_matrix(table.csc) if table.is_sparse else _with_categories(table)


def _with_categories(table: Table) -> FloatArray:
    numbers = table.columns(np.arange(table.n_features))
    if not table.categories:
        return numbers
    plain = np.setdiff1d(np.arange(table.n_features), list(table.categories))
    parts = [numbers[:, plain]]
    for feature, values in table.categories.items():
        parts.append((numbers[:, [feature]] == np.arange(len(values))).astype(np.float64))
    return np.hstack(parts)


def numbers_then(estimator: Any, *, is_sparse: bool) -> Pipeline:
    """An estimator behind columns as numbers: means for missing cells, standard deviation one."""
    fill = SimpleImputer(keep_empty_features=True)
    return make_pipeline(AsNumbers(), fill, StandardScaler(with_mean=not is_sparse), estimator)


def linear_model(task: str, *, is_sparse: bool) -> Pipeline:
    """Logistic regression, or ridge regression that chooses its penalty."""
    if task == "classification":
        return numbers_then(LogisticRegression(max_iter=1000), is_sparse=is_sparse)
    return numbers_then(RidgeCV(alphas=ALPHAS), is_sparse=is_sparse)


def constant_model(task: str) -> Any:
    """What predicts without any column: the shares of the classes, or the mean."""
    return DummyClassifier(strategy="prior") if task == "classification" else DummyRegressor()


def fit_weighted(estimator: Any, X: Any, y: Any, weight: FloatArray | None, **more: Any) -> Any:
    """Fit with weights, where the estimator (or the last one of a pipeline) takes them."""
    if weight is None:
        return estimator.fit(X, y, **more)
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        if has_fit_parameter(last, "sample_weight"):
            return estimator.fit(X, y, **{f"{name}__sample_weight": weight})
        return estimator.fit(X, y)
    if has_fit_parameter(estimator, "sample_weight"):
        return estimator.fit(X, y, sample_weight=weight, **more)
    return estimator.fit(X, y, **more)
