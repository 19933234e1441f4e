"""Whatever y is, the same model; classes come back as they went in."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from contract.registry import estimator_classes, fitted, having, predictions, quick, small_problem
from sklearn.base import is_classifier, is_regressor

from secateur import FeatureGradientsSelector, MultitaskAGBMClassifier
from secateur.exceptions import ManyClassesWarning, SecateurError, SecateurWarning

CLASSIFIERS = [cls for cls in estimator_classes() if is_classifier(cls())]
REGRESSORS = [cls for cls in estimator_classes() if is_regressor(cls())]

LABELS = {
    "strings": np.array(["no", "yes"]),
    "objects": np.array(["no", "yes"], dtype=object),
    "booleans": np.array([False, True]),
    "integers": np.array([-1, 7]),
    "floats": np.array([0.0, 2.0]),
}
SERIES = {
    "list": lambda y: y.tolist(),
    "pandas": pd.Series,
    "pandas_category": lambda y: pd.Series(pd.Categorical(y)),
    "polars": lambda y: pl.Series(y.tolist()),
    "pyarrow": lambda y: pa.chunked_array([y.tolist()]),
    "column": lambda y: pd.DataFrame({"y": y}),
}


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_labels_of_any_kind(cls, kind):
    small = small_problem(cls)
    labels = LABELS[kind]
    plain = fitted(cls)
    named = quick(cls).fit(small.X, labels[small.y])
    np.testing.assert_array_equal(named.classes_, labels)
    np.testing.assert_array_equal(named.support_, plain.support_)
    np.testing.assert_array_equal(
        named.predict(small.X_new), labels[plain.predict(small.X_new).astype(int)]
    )
    assert set(named.predict(small.X_new).tolist()) <= set(labels.tolist())


@pytest.mark.filterwarnings("ignore:A column-vector y was passed")
@pytest.mark.parametrize("kind", SERIES)
@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_series_of_labels(cls, kind):
    small = small_problem(cls)
    y = np.array(["no", "yes"])[small.y]
    plain = quick(cls).fit(small.X, y)
    same = quick(cls).fit(small.X, SERIES[kind](y))
    assert same.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(predictions(same, small.X_new), predictions(plain, small.X_new))


@pytest.mark.filterwarnings("ignore:A column-vector y was passed")
@pytest.mark.parametrize("kind", [kind for kind in SERIES if kind != "pandas_category"])
@pytest.mark.parametrize("cls", REGRESSORS)
def test_series_of_numbers(cls, kind):
    small = small_problem(cls)
    plain = fitted(cls)
    same = quick(cls).fit(small.X, SERIES[kind](small.y))
    np.testing.assert_array_equal(same.predict(small.X_new), plain.predict(small.X_new))


@pytest.mark.parametrize("cls", REGRESSORS)
def test_integers_and_booleans_are_numbers_for_a_regressor(cls):
    small = small_problem(cls)
    whole = np.rint(small.y)
    plain = quick(cls).fit(small.X, whole)
    same = quick(cls).fit(small.X, whole.astype(int))
    np.testing.assert_array_equal(same.predict(small.X), plain.predict(small.X))
    quick(cls).fit(small.X, small.y > 0)


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_three_classes_share_one_support(cls):
    small = small_problem(cls)
    y = np.digitize(small.X[:, 1], [-0.5, 0.5])
    selector = quick(cls, max_iter=20).fit(small.X, np.array(["a", "b", "c"])[y])
    assert selector.predict_proba(small.X_new).shape == (len(small.X_new), 3)
    np.testing.assert_allclose(selector.predict_proba(small.X_new).sum(axis=1), 1.0)
    if hasattr(selector, "decision_function"):
        assert selector.decision_function(small.X_new).shape == (len(small.X_new), 3)
    assert selector.score(small.X, np.array(["a", "b", "c"])[y]) > 0.95
    assert selector.support_[1]


@pytest.mark.parametrize("cls", REGRESSORS)
def test_a_constant_target_buys_nothing(cls):
    small = small_problem(cls)
    selector = quick(cls).fit(small.X, np.full(len(small.X), 3.25))
    assert not selector.support_.any()
    np.testing.assert_array_equal(selector.predict(small.X_new), 3.25)


@pytest.mark.parametrize("few", [1, 2, 3])
@pytest.mark.parametrize("cls", [*CLASSIFIERS, FeatureGradientsSelector])
def test_a_class_of_few_rows_does_not_switch_scores_off(cls, few):
    small = small_problem(cls, n_rows=120)
    y = np.where(small.X[:, 1] > 0, "yes", "no").astype(object)
    y[5 : 5 + few] = "rare"
    warned = pytest.warns(SecateurWarning, match="one row of 'rare'") if few == 1 else nullcontext()
    with warned:
        selector = quick(cls, short_grid=False, cv=None).fit(small.X, y)
    assert selector.support_[1]
    scores = selector.path_.scores
    assert np.isfinite(scores).all()
    assert (scores < 5.0).all()  # a class that did not train would cost far more
    assert 1 <= selector.with_cut(3).support_.sum() <= 3


@pytest.mark.parametrize("few", [1, 2, 3])
def test_a_class_of_few_rows_in_one_of_several_columns(few):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 4))
    y = np.column_stack([X[:, 1] > 0, np.arange(100) < few]).astype(int)
    selector = MultitaskAGBMClassifier(max_iter=5, random_state=0).fit(X, y)
    assert selector.support_[1]
    assert (selector.path_.scores < 1.0).all()


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_more_than_fifty_classes_are_warned_of_before_the_fit(cls):
    X, y = np.ones((306, 2)), np.arange(306) % 51
    selector = quick(cls)
    with (
        pytest.warns(ManyClassesWarning, match=r"51 classes in 306 rows.*regressor"),
        pytest.raises(SecateurError),
    ):
        selector.fit(X, y, sample_weight=np.where(np.arange(306) == 5, -1.0, 1.0))


@pytest.mark.parametrize("cls", [cls for name in ("penalty", "l1") for cls in having(name)])
def test_nothing_is_selected_from_noise(cls):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 8)), rng.integers(0, 2, 120)
    selector = quick(cls, short_grid=False, cv=None).fit(
        X, y if is_classifier(cls()) else rng.normal(size=120)
    )
    assert not selector.support_.any()
    assert "constant" in str(selector.selection_)
