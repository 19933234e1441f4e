"""Numbers of any size and type: tables, and weights of rows."""

from __future__ import annotations

import datetime as dt
import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from contract.registry import NAMES, estimator_classes, predictions, quick, small_problem

from secateur import (
    AGBMClassifier,
    FeatBoostRegressor,
    FeatureGradientsSelector,
    GraftingClassifier,
    GraftingRegressor,
    MultitaskAGBMRegressor,
    open_table,
)
from secateur.exceptions import GroupTestingWarning, InputError, SecateurError, SecateurWarning

CLASSES = estimator_classes()
LINEAR = [FeatureGradientsSelector, GraftingRegressor, GraftingClassifier]


@pytest.fixture(autouse=True)
def _no_other_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", GroupTestingWarning)
        yield


def _rounded(X):
    return np.round(X * 50)


def _with_zeros(X):
    return np.where(np.abs(X) < 0.5, 0.0, X)


def _weights():
    return 0.1 + np.random.default_rng(1).random(200)


@cache
def _plain(cls, change=np.asarray, kind=np.asarray, weights=lambda: None):
    """The fit to ordinary numbers, once for all that is compared with it."""
    small = small_problem(cls)
    return quick(cls).fit(kind(change(small.X)), small.y, sample_weight=weights())


@pytest.mark.parametrize("kind", ["<f2", ">f4", ">i4", "g"])
@pytest.mark.parametrize("cls", [*LINEAR, FeatBoostRegressor, AGBMClassifier])
def test_any_type_of_number_is_as_good_as_float64(cls, kind):
    small = small_problem(cls)
    X, X_new = (_rounded(each).astype(kind) for each in (small.X, small.X_new))
    plain = _plain(cls, _rounded)
    same = quick(cls).fit(X, small.y)
    np.testing.assert_array_equal(same.support_, plain.support_)
    np.testing.assert_allclose(predictions(same, X_new), predictions(plain, X_new.astype(float)))
    assert same.transform(X).dtype == X.dtype


@pytest.mark.parametrize("names", ["abcde", range(5), [("a", j) for j in range(5)]])
@pytest.mark.parametrize("cls", [FeatureGradientsSelector, FeatBoostRegressor, AGBMClassifier])
def test_frames_of_another_byte_order(cls, names):
    """Tables of FITS files are big-endian, and pandas cannot take rows or columns of them."""
    small = small_problem(cls)
    frame = pd.DataFrame(small.X.astype(">f8")[:, :5], columns=list(names))
    one = frame.columns[1]
    frame[one] = frame[one].astype("=f4").astype(">f4")
    y = pd.Series(small.y).astype(small.y.dtype.newbyteorder(">"))
    weight = pd.Series(_weights().astype(">f8"))
    plain = quick(cls).fit(frame.astype("=f8"), small.y, sample_weight=_weights())
    same = quick(cls).fit(frame, y, sample_weight=weight)
    np.testing.assert_array_equal(same.support_, plain.support_)
    assert same.transform(frame).equals(plain.transform(frame))


@pytest.mark.parametrize("factor", [1e300, 1e-160, 1e-310, 7.0])
@pytest.mark.parametrize("cls", CLASSES)
def test_only_shares_of_weights_matter(cls, factor):
    small = small_problem(cls)
    same = quick(cls).fit(small.X, small.y, sample_weight=_weights() * factor)
    np.testing.assert_array_equal(same.support_, _plain(cls, weights=_weights).support_)


def test_class_weights_of_any_size():
    small = small_problem(AGBMClassifier)
    plain = quick(AGBMClassifier, class_weight={0: 0.5, 1: 1.5}).fit(small.X, small.y)
    large = {0: 0.5e300, 1: 1.5e300}
    same = quick(AGBMClassifier, class_weight=large).fit(small.X, small.y, np.full(200, 0.5e300))
    np.testing.assert_array_equal(same.support_, plain.support_)


def test_l2_counts_in_rows_of_mean_weight():
    small = small_problem(AGBMClassifier)
    weight = np.random.default_rng(1).random(200)
    fits = [
        quick(AGBMClassifier, l2_regularization=5.0).fit(small.X, small.y, weight * factor)
        for factor in (1.0, 64.0)
    ]
    one, other = (fit.predict_proba(small.X_new) for fit in fits)
    np.testing.assert_array_equal(one, other)


def test_splits_by_task_cost_the_same_for_weights_of_any_size():
    rng = np.random.default_rng(1)
    X, task, weight = rng.normal(size=(200, 4)), np.arange(200) % 2, 0.1 + rng.random(200)
    y = X[:, 0] * np.where(task == 0, 1.0, -1.0)
    fits = [
        MultitaskAGBMRegressor(common_trees=True, group_penalty=0.01, max_iter=5).fit(
            X, y, sample_weight=weight * factor, task=task
        )
        for factor in (1.0, 2.0**-8)
    ]
    one, other = (fit.predict(X, task=task) for fit in fits)
    np.testing.assert_array_equal(one, other)
    assert np.corrcoef(one, y)[0, 1] > 0.5  # the tasks differ, so trees are split by task


@pytest.mark.parametrize("factor", [1e300, 1e-300])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("cls", [*LINEAR, FeatBoostRegressor])
def test_columns_of_any_scale(cls, kind, factor):
    small = small_problem(cls)
    X, X_new = _with_zeros(small.X), _with_zeros(small.X_new)
    plain = _plain(cls, _with_zeros, kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SecateurWarning)  # of large values; see below
        same = quick(cls).fit(kind(X * factor), small.y)
    np.testing.assert_array_equal(same.support_, plain.support_)
    if hasattr(plain, "predict"):
        expected = plain.predict(kind(X_new))
        np.testing.assert_allclose(same.predict(kind(X_new * factor)), expected, rtol=1e-6)


@pytest.mark.parametrize("cls", LINEAR)
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_columns_far_from_zero(cls, kind):
    small = small_problem(cls)
    same = quick(cls).fit(kind(small.X + 1e9), small.y)
    np.testing.assert_array_equal(same.support_, _plain(cls).support_)


@pytest.mark.parametrize("cls", LINEAR)
def test_lost_precision_is_said_with_the_column(cls):
    small = small_problem(cls)
    frame = pd.DataFrame(small.X, columns=list(NAMES))
    frame["far"] = 1e14 + np.round(small.X[:, 0])
    with pytest.warns(SecateurWarning, match="'far' count as constant"):
        quick(cls).fit(frame, small.y)
    frame["far"] = np.where(np.arange(200) == 3, 1e300, small.X[:, 0])
    with pytest.warns(SecateurWarning, match="'far' have values beyond"):
        quick(cls).fit(frame, small.y)


@pytest.mark.parametrize("cls", LINEAR)
def test_large_values_that_may_not_be_scaled_are_refused(cls):
    small = small_problem(cls)
    X = small.X * np.where(np.arange(8) == 5, 1e300, 1.0)
    with pytest.raises(InputError, match=r"Got (values beyond .* number 5|2\.\d+e\+300)"):
        quick(cls, standardize=False).fit(X, small.y)


def test_large_values_in_blocks_are_refused(tmp_path):
    small = small_problem(GraftingRegressor)
    X = small.X * np.where(np.arange(8) == 5, 1e300, 1.0)
    table = open_table(X, small.y, cache=tmp_path)
    with pytest.raises(InputError, match="number 5"):
        quick(GraftingRegressor).fit(table)


OBJECTS = {
    "complex": (1j, "complex"),
    "date": (dt.date(2020, 1, 1), "dates or times"),
    "timestamp": (pd.Timestamp("2020-01-01"), "dates or times"),
    "period": (pd.Period("2020-01"), "dates or times"),
    "text": ("red", "text"),
    "bytes": (b"red", "bytes|b'red'"),
    "dict": ({"red": 1}, "structures|dict"),
    "large": (10**400, "too large"),
}


@pytest.mark.parametrize("kind", ["frame", "array"])
@pytest.mark.parametrize("what", OBJECTS)
@pytest.mark.parametrize("cls", [GraftingRegressor, AGBMClassifier])
def test_objects_are_refused_by_column(cls, what, kind):
    small = small_problem(cls)
    value, expected = OBJECTS[what]
    frame = pd.DataFrame(small.X, columns=list(NAMES)).astype({"c": object})
    frame["c"] = pd.Series([value] * 200, dtype=object)
    X, name = (frame, "c") if kind == "frame" else (frame.to_numpy(object), "x2")
    with pytest.raises(SecateurError, match=f"'{name}'") as caught:
        quick(cls).fit(X, small.y)
    assert pd.Series(str(caught.value)).str.contains(expected)[0]


def test_columns_of_periods_and_complex_numbers_are_refused_by_name():
    small = small_problem(GraftingRegressor)
    frame = pd.DataFrame(small.X, columns=list(NAMES))
    frame["when"] = pd.period_range("2020", periods=200, freq="D")
    with pytest.raises(InputError, match=r"dates or times in column.*'when'"):
        GraftingRegressor().fit(frame, small.y)
    frame["when"] = small.X[:, 0] * 1j
    with pytest.raises(InputError, match=r"complex numbers in column.*'when'"):
        GraftingRegressor().fit(frame, small.y)
