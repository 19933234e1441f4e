"""Linear models as those of scikit-learn, and boosted trees as plain arrays for SHAP."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np

from secateur.data.frames import read_table
from secateur.engines.boosted.trees import BoostedModel, Tree
from secateur.engines.grafting.models import LinearModel
from secateur.exceptions import InputError, SecateurError
from secateur.export.fitted import FittedModel, column_numbers, read_fitted, tree_rounds
from secateur.typing import FloatArray, IntArray


def to_sklearn(selector: Any) -> Any:
    """Convert a fitted linear model to scikit-learn's, on the selected columns.

    Parameters
    ----------
    selector : fitted GraftingClassifier or GraftingRegressor with ``model="linear"``
        Or an AutoSelector that chose one, or what ``reduced()`` gives.

    Returns
    -------
    LogisticRegression or LinearRegression
        Its coefficients are in the units of X. It takes the selected columns, and, as scikit-learn
        has it, no missing values.

    Examples
    --------
    >>> import numpy as np
    >>> from secateur import GraftingRegressor
    >>> X = np.random.default_rng(0).normal(size=(100, 5))
    >>> selector = GraftingRegressor(l1=0.1).fit(X, 3.0 * X[:, 1])
    >>> model = to_sklearn(selector)
    >>> model, model.n_features_in_
    (LinearRegression(), 1)
    >>> bool(np.allclose(model.predict(selector.transform(X)), selector.predict(X)))
    True
    """
    from sklearn.linear_model import LinearRegression, LogisticRegression

    reduced = selector.reduced() if hasattr(selector, "reduced") else selector
    fitted = read_fitted(reduced)
    model = fitted.model
    if not isinstance(model, LinearModel):
        raise InputError(
            f"to_sklearn converts linear models. Got a {type(model).__name__}. Use to_onnx for "
            "trees and networks, or keep reduced(), an estimator of scikit-learn's kind."
        )
    coef = np.zeros((len(model.coef), fitted.n_columns))
    coef[:, fitted.columns] = model.coef
    linear: Any = LinearRegression() if fitted.classes is None else LogisticRegression(C=np.inf)
    linear.n_features_in_ = fitted.n_columns
    if hasattr(reduced, "feature_names_in_"):
        linear.feature_names_in_ = reduced.feature_names_in_
    if fitted.classes is None:
        linear.coef_, linear.intercept_ = coef[0], float(model.intercept[0])
    else:
        linear.classes_, linear.coef_, linear.intercept_ = fitted.classes, coef, model.intercept
        linear.n_iter_ = np.array([selector.n_iter_]) if hasattr(selector, "n_iter_") else None
    return linear


def to_tree_dict(selector: Any, X: Any) -> dict[str, Any]:
    """Give boosted trees as the dictionary of arrays that ``shap.TreeExplainer`` reads.

    Parameters
    ----------
    selector : fitted boosted selector, or what ``reduced()`` gives
    X : array or data frame of shape (n_rows, n_selected)
        Rows of the selected columns, as ``transform`` gives them: the distribution that the
        explanation refers to, usually the training rows.

    Returns
    -------
    dict
        SHAP values of the selected columns add up to the raw prediction: the value, the log odds
        of the second class, or a score per class.

    Examples
    --------
    >>> import numpy as np
    >>> from secateur import AGBMRegressor
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> selector = AGBMRegressor(penalty=0.01, max_iter=20).fit(X, X[:, 1] + X[:, 3] ** 2)
    >>> trees = to_tree_dict(selector, selector.transform(X))
    >>> len(trees["trees"])
    20
    >>> import shap  # doctest: +SKIP
    >>> values = shap.TreeExplainer(trees).shap_values(selector.transform(X))  # doctest: +SKIP
    """
    reduced = selector.reduced() if hasattr(selector, "reduced") else selector
    fitted = read_fitted(reduced)
    model = fitted.model
    if not isinstance(model, BoostedModel):
        raise InputError(
            f"to_tree_dict converts boosted trees. Got a {type(model).__name__}. For a linear "
            "model use shap.LinearExplainer(to_sklearn(selector), ...)."
        )
    cells = read_table(X).columns(slice(None))
    if cells.shape[1] != fitted.n_columns:
        raise InputError(
            f"X must have the {fitted.n_columns} selected columns. Got {cells.shape[1]}. Give "
            "selector.transform(X)."
        )
    n_outputs = len(model.ensemble.baseline)
    return {
        "trees": [
            _tree_arrays(fitted, tree, cells, k, n_outputs)
            for round_ in tree_rounds(model)
            for k, tree in enumerate(round_)
        ],
        "base_offset": model.ensemble.baseline.copy(),
        "tree_output": "raw_value",
        "input_dtype": np.float64,
        "internal_dtype": np.float64,
    }


def mean_shap(selector: Any, X: Any, *, n_rows: int = 500, random_state: int = 0) -> FloatArray:
    """The mean size of the SHAP values of each selected feature, over a sample of rows.

    Empty where shap is not installed, or the model is none of boosted trees without categories.
    """
    if find_spec("shap") is None or not selector.support_.any():
        return np.empty(0)
    import shap

    try:
        table = read_table(selector.transform(X))
        rows = np.random.default_rng(random_state).permutation(table.n_rows)[:n_rows]
        cells = table.take(rows).columns(slice(None))
        trees = to_tree_dict(selector, cells)
    except SecateurError:  # another kind of model
        return np.empty(0)
    values = np.abs(shap.TreeExplainer(trees).shap_values(cells)).mean(axis=0)
    sizes: FloatArray = values if values.ndim == 1 else values.sum(axis=1)
    return sizes


def _tree_arrays(
    fitted: FittedModel, tree: Tree, cells: FloatArray, output: int, n_outputs: int
) -> dict[str, Any]:
    """One tree with the weight of the rows in each node; leaves have the child -1."""
    is_split = tree.left >= 0
    right = np.where(is_split, tree.left + 1, -1)
    feature = np.where(is_split, 0, -2)
    feature[is_split] = column_numbers(fitted, tree.feature[is_split])
    value = np.zeros((len(tree.left), n_outputs))
    value[:, output] = tree.value
    return {
        "children_left": tree.left,
        "children_right": right,
        "children_default": np.where(tree.missing_left, tree.left, right),
        "features": feature,
        "thresholds": np.where(is_split, tree.threshold, 0.0),
        "values": value,
        "node_sample_weight": _node_weight(tree, feature, cells),
    }


def _node_weight(tree: Tree, feature: IntArray, cells: FloatArray) -> FloatArray:
    """The number of rows in each node; a leaf without rows has a very small one."""
    node = np.zeros(len(cells), np.int64)
    while (moving := np.flatnonzero(tree.left[node] >= 0)).size:
        at = node[moving]
        x = cells[moving, feature[at]]
        goes_left = np.where(np.isnan(x), tree.missing_left[at], x <= tree.threshold[at])
        node[moving] = tree.left[at] + ~goes_left
    weight = np.bincount(node, minlength=len(tree.left)).astype(np.float64)
    is_split = tree.left >= 0
    weight[~is_split] = np.maximum(weight[~is_split], 1e-6)
    for q in np.flatnonzero(is_split)[::-1]:  # children come after their parents
        weight[q] = weight[tree.left[q]] + weight[tree.left[q] + 1]
    return weight
