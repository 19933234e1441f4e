"""Tables with categories for estimators that know numbers only: a column of 0 and 1 per value."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

from secateur._data.frames import read_table
from secateur._data.table import Table
from secateur.exceptions import UnknownCategoryWarning
from secateur.typing import AnyArray, FloatArray, IntArray


class AsNumbers(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # untyped bases
    """A table of any kind as floats: missing cells NaN, a column for each value of a category.

    Sparse matrices stay sparse.

    Attributes
    ----------
    sources_ : array of int
        The column of X that each column of the result is made of.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"size": [1.5, None], "sex": pd.Categorical(["f", "m"])})
    >>> numbers = AsNumbers().fit(X)
    >>> numbers.transform(X)
    array([[1.5, 1. , 0. ],
           [nan, 0. , 1. ]])
    >>> numbers.sources_, numbers.get_feature_names_out().tolist()
    (array([0, 1, 1]), ['size', 'sex=f', 'sex=m'])
    """

    def fit(self, X: Any, y: Any = None) -> Any:  # noqa: ARG002 - scikit-learn hands it over
        """Learn names and categories."""
        table = read_table(X, categorical_features="from_dtype")
        self.schema_ = table.schema
        n_values = [_n_columns(values) for values in table.categories.values()]
        categories = np.repeat(np.array(list(table.categories), np.int64), n_values)
        self.sources_: IntArray = np.concatenate([_plain(table), categories])
        return self

    def transform(self, X: Any) -> Any:
        """The numbers; a value that was not there at fit time has no column."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnknownCategoryWarning)
            table = read_table(X, like=self.schema_)
            return sp.csr_matrix(table.csc) if table.is_sparse else _with_categories(table)

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:  # noqa: ARG002
        """Names of the columns, as ``sex=f`` for those of a category."""
        schema = self.schema_
        n_plain = schema.n_features - len(schema.encoders)
        names = [schema.names[source] for source in self.sources_[:n_plain]]
        for feature, values in schema.categories.items():
            told = values.tolist() or [""]
            names += [f"{schema.names[feature]}={value}" for value in told]
        return np.array(names, dtype=object)


def _plain(table: Table) -> IntArray:
    return np.setdiff1d(np.arange(table.n_features), list(table.categories)).astype(np.int64)


def _n_columns(values: AnyArray) -> int:
    """A category whose cells are all missing has one column, of zeros: it is a feature too."""
    return max(1, len(values))


def _with_categories(table: Table) -> FloatArray:
    numbers = table.columns(np.arange(table.n_features))
    if not table.categories:
        return numbers
    parts = [numbers[:, _plain(table)]]
    for feature, values in table.categories.items():
        codes = np.arange(_n_columns(values))
        parts.append((numbers[:, [feature]] == codes).astype(np.float64))
    return np.hstack(parts)


def takes_categories(estimator: Any) -> bool:
    """Whether an estimator can do something with columns of categories or text.

    It says so by a parameter ``categorical_features`` or by its tags; a pipeline takes what its
    first step does.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.preprocessing import OneHotEncoder
    >>> pipeline = make_pipeline(OneHotEncoder(), LogisticRegression())
    >>> takes_categories(LogisticRegression()), takes_categories(pipeline)
    (False, True)
    """
    inner = getattr(estimator, "estimator", None)  # of a search for parameters, for instance
    if isinstance(inner, Pipeline):
        return takes_categories(inner)
    if isinstance(estimator, Pipeline):
        return takes_categories(estimator.steps[0][1])
    if isinstance(estimator, AsNumbers | ColumnTransformer | FunctionTransformer):
        return True
    known = estimator.get_params(deep=False) if hasattr(estimator, "get_params") else {}
    if "categorical_features" in known:
        return True
    if not hasattr(estimator, "__sklearn_tags__"):
        return False
    tags = estimator.__sklearn_tags__().input_tags
    return bool(tags.categorical or tags.string)


def reading_text(estimator: Any) -> Any:
    """The same selector of secateur, told that text is categories, where nothing was said of it.

    >>> from secateur import AGBMClassifier
    >>> reading_text(AGBMClassifier()).categorical_features
    'from_dtype'
    """
    if not hasattr(estimator, "with_cut"):
        return estimator
    known = estimator.get_params(deep=False)
    if "categorical_features" not in known or known["categorical_features"] is not None:
        return estimator
    return clone(estimator).set_params(categorical_features="from_dtype")


def on_numbers(estimator: Any, *, has_categories: bool) -> Any:
    """An estimator that can be fitted to a table with categories: it gets numbers if it needs them.

    >>> from sklearn.linear_model import Ridge
    >>> [name for name, _ in on_numbers(Ridge(), has_categories=True).steps]
    ['asnumbers', 'ridge']
    """
    if not has_categories:
        return estimator
    if takes_categories(estimator):
        return reading_text(estimator)
    if isinstance(estimator, Pipeline):  # not a pipeline in another: weights go to the last step
        return Pipeline([("asnumbers", AsNumbers()), *estimator.steps])
    return make_pipeline(AsNumbers(), estimator)
