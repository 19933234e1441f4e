"""A fitted model needs the selected columns only."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from contract.registry import NAMES, InTens, having, quick, small_problem
from sklearn.base import clone, is_classifier
from sklearn.metrics import get_scorer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from secateur.exceptions import EmptySelectionWarning, InputError

PREDICTING = having("predict")
KINDS = {
    "array": np.asarray,
    "list": lambda X: X.tolist(),
    "pandas": lambda X: pd.DataFrame(X, columns=list(NAMES)),
    "polars": lambda X: pl.DataFrame(X, schema=list(NAMES)),
    "sparse": sp.csr_array,
}
METHODS = ("predict", "predict_proba", "decision_function")


def taken(cls, kind):
    """A selector of some columns, rows of all columns, of the selected ones, and targets."""
    small = small_problem(cls)
    X, X_new = KINDS[kind](small.X), KINDS[kind](small.X_new)
    selector = quick(cls, max_features=3).fit(X, small.y)
    assert 0 < selector.support_.sum() < 8
    return selector, X_new, selector.transform(X_new), small.y_new


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cls", PREDICTING)
def test_predictions_from_the_selected_columns(cls, kind):
    selector, X_new, selected, y_new = taken(cls, kind)
    reduced = selector.reduced()
    for name in METHODS:
        assert hasattr(reduced, name) == hasattr(selector, name)
        if hasattr(selector, name):
            expected = getattr(selector, name)(X_new)
            np.testing.assert_array_equal(getattr(selector, name)(selected), expected)
            np.testing.assert_array_equal(getattr(reduced, name)(selected), expected)
    assert selector.score(selected, y_new) == selector.score(X_new, y_new)
    assert reduced.score(selected, y_new) == selector.score(X_new, y_new)


@pytest.mark.parametrize("cls", PREDICTING)
def test_the_model_on_the_selected_columns_is_an_estimator(cls):
    selector, X_new, selected, y_new = taken(cls, "pandas")
    reduced = selector.reduced()
    assert reduced.n_features_in_ == selector.support_.sum()
    assert list(reduced.feature_names_in_) == list(selected.columns)
    assert is_classifier(reduced) == is_classifier(selector)
    np.testing.assert_array_equal(
        reduced.feature_importances_, selector.feature_importances_[selector.support_]
    )
    again = pickle.loads(pickle.dumps(reduced))  # noqa: S301
    expected = selector.predict(X_new)
    np.testing.assert_array_equal(again.predict(selected), expected)
    assert clone(reduced).fit(selected, y_new) is reduced
    scorer = get_scorer("accuracy" if is_classifier(reduced) else "r2")
    if issubclass(cls, InTens):  # scikit-learn has no scorer of rankers
        scorer = type(reduced).score
    assert scorer(reduced, selected, y_new) == pytest.approx(selector.score(X_new, y_new))
    with pytest.raises(ValueError, match="feature names"):
        reduced.predict(X_new)
    with pytest.raises(ValueError, match="expecting"):
        reduced.predict(X_new.to_numpy())
    assert len(selector.path_) > 1  # it is as it was
    assert len(list(selector.staged_predict(X_new))) == len(selector.path_)


@pytest.mark.parametrize("cls", PREDICTING)
def test_other_columns_are_refused(cls):
    selector, X_new, selected, _ = taken(cls, "pandas")
    n_selected = selector.support_.sum()
    for wrong in (
        selected[selected.columns[::-1]] if n_selected > 1 else selected.assign(more=1.0),
        selected.rename(columns={selected.columns[0]: "other"}),
        X_new.iloc[:, :7],
    ):
        with pytest.raises(InputError, match=f"the {n_selected} selected ones"):
            selector.predict(wrong)
    with pytest.raises(InputError, match="expecting 8 features"):
        selector.predict(X_new.to_numpy()[:, :7])
    with pytest.raises(InputError, match="feature names"):
        selector.transform(selected)  # which keeps columns of all


@pytest.mark.parametrize("cls", PREDICTING)
def test_one_column_without_a_name_could_be_any(cls):
    small = small_problem(cls)
    selector = quick(cls, max_features=1, cut=1, keep=[1]).fit(small.X, small.y)
    selected = selector.transform(small.X_new)
    expected = selector.predict(small.X_new)
    np.testing.assert_array_equal(selector.reduced().predict(selected), expected)
    np.testing.assert_array_equal(selector.reduced().predict(selected.tolist()), expected)
    with pytest.raises(InputError, match=r"reduced\(\)"):
        selector.predict(selected)
    named = pd.DataFrame(small.X, columns=list(NAMES))
    selector.fit(named, small.y)
    np.testing.assert_array_equal(selector.predict(named[["b"]]), selector.predict(named))


@pytest.mark.parametrize("cls", PREDICTING)
def test_categories_among_the_selected_columns(cls):
    if "categorical_features" not in cls().get_params():
        pytest.skip("takes numbers only")
    small = small_problem(cls)
    X = pd.DataFrame(small.X, columns=list(NAMES))
    X["b"] = pd.cut(X["b"], [-9, -1, 0, 1, 9], labels=["low", "less", "more", "high"])
    selector = quick(cls, keep=["b"], max_features=2).fit(X, small.y)
    selected = selector.transform(X)
    assert "b" in selected
    np.testing.assert_array_equal(selector.predict(selected), selector.predict(X))
    np.testing.assert_array_equal(selector.reduced().predict(selected), selector.predict(X))


@pytest.mark.parametrize("cls", PREDICTING)
def test_none_are_enough_where_none_are_selected(cls):
    small = small_problem(cls)
    selector = quick(cls, cost_budget=0.0)
    with pytest.warns(EmptySelectionWarning):
        selector.fit(small.X, small.y)
    nothing = np.empty((60, 0))
    np.testing.assert_array_equal(selector.predict(nothing), selector.predict(small.X_new))
    assert selector.reduced().n_features_in_ == 0


def test_a_pipeline_of_a_selector_and_its_model():
    from secateur import GraftingRegressor

    small = small_problem(GraftingRegressor)
    scaler = StandardScaler().fit(small.X)
    selector = GraftingRegressor(l1=0.1).fit(scaler.transform(small.X), small.y)
    pipeline = make_pipeline(scaler, selector, selector.reduced())
    expected = selector.predict(scaler.transform(small.X_new))
    np.testing.assert_array_equal(pipeline.predict(small.X_new), expected)
