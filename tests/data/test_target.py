from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import DataConversionWarning

from secateur.data.target import read_target
from secateur.exceptions import InputError, InputTypeError

LABELS = ["no", "yes", "no", "maybe"]

TEXT = {
    "list": LABELS,
    "numpy": np.array(LABELS),
    "objects": np.array(LABELS, dtype=object),
    "pandas": pd.Series(LABELS),
    "pandas category": pd.Series(LABELS, dtype="category"),
    "pandas string": pd.Series(LABELS, dtype="string"),
    "polars": pl.Series(LABELS),
    "polars category": pl.Series(LABELS, dtype=pl.Categorical),
    "arrow": pa.array(LABELS),
    "arrow chunks": pa.chunked_array([LABELS]),
    "arrow dictionary": pa.chunked_array([pa.array(LABELS).dictionary_encode()]),
}


@pytest.mark.parametrize("kind", TEXT)
def test_text_labels_become_sorted_codes(kind):
    target = read_target(TEXT[kind], target_type="classification", n_rows=4)
    np.testing.assert_array_equal(target.values, [1, 2, 1, 0])
    assert target.classes.tolist() == ["maybe", "no", "yes"]
    assert target.n_classes == 3


@pytest.mark.parametrize(
    ("y", "kind"),
    [
        ([3, 1, 3], "i"),
        (np.array([3.0, 1.0, 3.0]), "f"),
        (np.array([3, 1, 3], dtype=np.int8), "i"),
        (np.array([True, False, True]), "b"),
        (np.array([3, 1, 3], dtype=object), "i"),
        (pd.Series([3, 1, 3], dtype="Int64"), "iO"),
        (pl.Series([True, False, True]), "b"),
        (pd.Series([3, 1, 3], dtype="category"), "i"),
    ],
)
def test_number_labels_keep_their_type(y, kind):
    target = read_target(y, target_type="classification")
    np.testing.assert_array_equal(target.values, [1, 0, 1])
    assert target.values.dtype == np.float64
    assert target.classes.dtype.kind in kind


@given(st.lists(st.integers(-5, 5), min_size=2, max_size=30).filter(lambda y: len(set(y)) > 1))
def test_classes_lead_back_to_the_labels(y):
    target = read_target(y, target_type="classification")
    assert target.classes[target.values.astype(int)].tolist() == y
    assert target.classes.tolist() == sorted(set(y))


@pytest.mark.parametrize(
    "y",
    [
        [1, 2, 3],
        np.array([1, 2, 3], dtype=object),
        pd.Series([1, 2, 3], dtype="Float64"),
        pl.Series([1, 2, 3]),
        pa.array([1, 2, 3]),
        pa.chunked_array([[1], [2, 3]]),
    ],
)
def test_numbers_are_read_for_regression(y):
    target = read_target(y, target_type="regression", n_rows=3)
    np.testing.assert_array_equal(target.values, [1.0, 2.0, 3.0])
    assert target.classes is None
    assert target.n_classes == 0


def test_the_target_is_a_copy():
    y = np.array([1.0, 2.0])
    read_target(y, target_type="regression").values[:] = 0
    assert y.tolist() == [1.0, 2.0]
    y.setflags(write=False)
    assert read_target(y, target_type="regression").values.flags.writeable


def test_take_keeps_the_classes():
    target = read_target(LABELS, target_type="classification").take(np.array([0, 2]))
    np.testing.assert_array_equal(target.values, [1, 1])
    assert target.n_classes == 3


@pytest.mark.parametrize(
    "y",
    [
        np.array([[0], [1]]),
        pd.DataFrame({"y": [0, 1]}),
        pl.DataFrame({"y": [0, 1]}),
        pa.table({"y": [0, 1]}),
    ],
)
def test_a_single_column_is_flattened_with_a_warning(y):
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed when a 1d array"):
        target = read_target(y, target_type="classification")
    np.testing.assert_array_equal(target.values, [0, 1])


def test_a_vector_draws_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_target([0, 1], target_type="classification")


MISSING = [
    [1.0, np.nan, 2.0],
    [1, None, 2],
    pd.Series([1, None, 2], dtype="Int64"),
    pl.Series([1, None, 2]),
    pa.array([1, None, 2]),
    pa.chunked_array([pa.array([1, None, 2]).dictionary_encode()]),
]


@pytest.mark.parametrize("target_type", ["classification", "regression"])
@pytest.mark.parametrize("y", MISSING, ids=lambda y: type(y).__name__)
def test_missing_targets_are_counted_and_refused(y, target_type):
    with pytest.raises(InputError, match=r"Input y contains NaN. Got 1 missing of 3"):
        read_target(y, target_type=target_type)


def test_missing_labels_are_refused():
    for y in (["a", None], pd.Series(["a", None]), pl.Series(["a", None])):
        with pytest.raises(InputError, match="Input y contains NaN"):
            read_target(y, target_type="classification")


@pytest.mark.parametrize("target_type", ["classification", "regression"])
@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y to be passed, but the target y is None"),
        ([1.0, np.inf], "Input y contains infinity"),
        (np.ones((3, 2)), r"y should be a 1d array, got an array of shape \(3, 2\) instead"),
        ([], r"0 sample\(s\)"),
        (np.array([1j, 2]), "Complex data not supported"),
        ([[1], [2, 3]], "y must hold one value per row"),
    ],
)
def test_bad_targets_are_refused(y, message, target_type):
    with pytest.raises(InputError, match=message):
        read_target(y, target_type=target_type)


def test_wrong_lengths_are_refused():
    with pytest.raises(InputError, match=r"inconsistent numbers of samples: \[3, 2\]"):
        read_target([0, 1], target_type="classification", n_rows=3)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.ones(4), "at least two classes. Got 1 class: 1.0"),
        (["a", "a"], "Got 1 class: 'a'"),
        ([0.5, 1.5, 1.0], "Unknown label type: continuous. Got values such as 0.5, 1.5"),
        (np.array([0.5, 1.5], dtype=object), "Unknown label type: continuous"),
        (np.array([1, "a"], dtype=object), "Unknown label type: a mixture"),
    ],
)
def test_bad_labels_are_refused(y, message):
    with pytest.raises(InputError, match=message):
        read_target(y, target_type="classification")


def test_labels_of_another_kind_are_type_errors():
    with pytest.raises(InputTypeError):
        read_target(np.array([{"a": 1}, {"b": 1}], dtype=object), target_type="classification")


@pytest.mark.parametrize(
    "y", [["1", "2"], pl.Series(["a"]), pd.Series(pd.to_datetime(["2020-01-01"]))]
)
def test_text_and_dates_are_refused_for_regression(y):
    with pytest.raises(InputError, match="must hold numbers for regression"):
        read_target(y, target_type="regression")


def test_objects_are_refused_for_regression():
    with pytest.raises(InputTypeError, match="must hold numbers"):
        read_target(np.array([{"a": 1}], dtype=object), target_type="regression")


def test_infinite_objects_are_refused_for_regression():
    with pytest.raises(InputError, match="infinity"):
        read_target(np.array([1, float("inf")], dtype=object), target_type="regression")


def test_lazy_targets_are_refused():
    with pytest.raises(InputTypeError, match="collect"):
        read_target(pl.LazyFrame({"y": [1]}), target_type="regression")


def test_infinite_labels_of_mixed_type_are_refused():
    y = np.array([0, 1, float("inf"), 1], dtype=object)
    with pytest.raises(InputError, match="1 infinite of 4"):
        read_target(y, target_type="classification")
