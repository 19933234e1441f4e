from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils.class_weight import compute_class_weight

from secateur.data.target import (
    are_counts,
    class_weights,
    combine_weights,
    read_target,
    read_weights,
)
from secateur.exceptions import InputError, InputTypeError, ParameterError


@pytest.mark.parametrize(
    ("given_weight", "expected"),
    [
        (None, [1, 1, 1]),
        (2, [2, 2, 2]),
        ([1, 0, 3], [1, 0, 3]),
        (np.array([True, False, True]), [1, 0, 1]),
        (pd.Series([1, 2, 3], dtype="Int64"), [1, 2, 3]),
        (pl.Series([1, 2, 3]), [1, 2, 3]),
    ],
)
def test_weights_are_floats_one_per_row(given_weight, expected):
    weight = read_weights(given_weight, 3)
    assert weight.dtype == np.float64
    np.testing.assert_array_equal(weight, expected)


def test_weights_are_a_copy():
    mine = np.ones(3)
    read_weights(mine, 3)[:] = 5
    assert (mine == 1).all()


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1, -1, 1], "finite and >= 0. Got -1.0. Use 0"),
        ([1, np.nan, 1], "Got nan"),
        ([1, None, 1], "Got nan"),
        ([1, np.inf, 1], "Got inf"),
        ([0, 0, 0], "zeros only"),
        (0, "zeros only"),
        (np.ones((3, 2)), r"1D array.*Got shape \(3, 2\)"),
        (np.ones(6), r"inconsistent numbers of samples: \[3, 6\]"),
    ],
)
def test_bad_weights_are_refused(weight, message):
    with pytest.raises(InputError, match=message):
        read_weights(weight, 3)


def test_weights_that_are_no_numbers_are_refused():
    with pytest.raises(InputTypeError, match="must hold numbers"):
        read_weights(["a", "b", "c"], 3)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 4)), min_size=2, max_size=20))
def test_balanced_weights_give_every_class_the_same_share(rows):
    codes, sample_weight = np.array(rows).T
    if len(set(codes)) < 2:
        return
    target = read_target(codes, target_type="classification")
    weight = combine_weights(target, sample_weight.astype(float), "balanced")
    share = np.bincount(target.values.astype(int), weights=weight)
    np.testing.assert_allclose(share, sample_weight.sum() / target.n_classes)
    assert weight.sum() == pytest.approx(sample_weight.sum())


def test_balanced_agrees_with_scikit_learn():
    y = np.array(["a", "b", "b", "c", "c", "c"])
    target = read_target(y, target_type="classification")
    np.testing.assert_allclose(
        class_weights(target, "balanced"),
        compute_class_weight("balanced", classes=np.unique(y), y=y),
    )


def test_a_class_without_weight_does_no_harm():
    target = read_target([0, 1, 1], target_type="classification")
    weight = combine_weights(target, np.array([0.0, 1.0, 1.0]), "balanced")
    assert weight[0] == 0
    assert np.isfinite(weight).all()


def test_dicts_go_by_label():
    target = read_target(["a", "b", "c", "a"], target_type="classification")
    np.testing.assert_array_equal(class_weights(target, {"b": 3}), [1, 3, 1])
    weight = combine_weights(target, np.array([1.0, 2.0, 3.0, 4.0]), {"a": 0.5, "b": 2})
    np.testing.assert_array_equal(weight, [0.5, 4, 3, 2])


def test_no_class_weight_changes_nothing():
    target = read_target([0, 1], target_type="classification")
    weight = np.array([1.0, 2.0])
    np.testing.assert_array_equal(class_weights(target, None), [1, 1])
    assert combine_weights(target, weight, None) is weight


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ({"z": 1}, "labels of y as keys. Got 'z'. The labels are 'a', 'b'"),
        ({"a": -1}, "finite weights >= 0"),
        ({"a": np.nan}, "finite weights >= 0"),
        ("even", "None, 'balanced' or a dict.*Got 'even'"),
        (3, "Got 3"),
    ],
)
def test_bad_class_weights_are_refused(class_weight, message):
    target = read_target(["a", "b"], target_type="classification")
    with pytest.raises(ParameterError, match=message):
        class_weights(target, class_weight)


def test_class_weights_may_not_leave_nothing():
    target = read_target(["a", "b"], target_type="classification")
    with pytest.raises(InputError, match="zeros only"):
        combine_weights(target, np.ones(2), {"a": 0, "b": 0})


def test_whole_weights_are_counts():
    assert are_counts(np.array([0.0, 1.0, 7.0]))
    assert not are_counts(np.array([0.0, 1.5]))
