"""Whatever table X is, the same columns are found, and they come out as they went in."""

from __future__ import annotations

from copy import copy

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from contract.registry import (
    NAMES,
    estimator_classes,
    fitted,
    having,
    in_frame,
    predictions,
    quick,
    small_problem,
)

CLASSES = estimator_classes()


def _read_only(X):
    frozen = X.copy()
    frozen.flags.writeable = False
    return frozen


CONTAINERS = {
    "list": lambda X: X.tolist(),
    "fortran": np.asfortranarray,
    "read_only": _read_only,
    "pandas": in_frame,
    "pandas_unnamed": pd.DataFrame,
    "polars": lambda X: pl.DataFrame(X, schema=list(NAMES)),
    "pyarrow": lambda X: pa.table({name: X[:, j] for j, name in enumerate(NAMES)}),
    "csr_matrix": sp.csr_matrix,
    "csc_matrix": sp.csc_matrix,
    "csr_array": sp.csr_array,
    "csc_array": sp.csc_array,
    "coo_array": sp.coo_array,
}
NAMED = ["pandas", "polars", "pyarrow"]


def _dense(Z):
    if sp.issparse(Z):
        return Z.toarray()
    return Z.to_pandas().to_numpy() if hasattr(Z, "to_pandas") else np.asarray(Z)


@pytest.mark.parametrize("kind", CONTAINERS)
@pytest.mark.parametrize("cls", CLASSES)
def test_same_result_for_every_container(cls, kind):
    small = small_problem(cls)
    plain, same = fitted(cls), fitted(cls, CONTAINERS[kind])
    X_new = CONTAINERS[kind](small.X_new)
    np.testing.assert_array_equal(same.support_, plain.support_)
    np.testing.assert_array_equal(same.ranking_, plain.ranking_)
    np.testing.assert_array_equal(predictions(same, X_new), predictions(plain, small.X_new))


@pytest.mark.parametrize("kind", CONTAINERS)
@pytest.mark.parametrize("cls", CLASSES)
def test_transform_keeps_the_container_and_the_columns(cls, kind):
    small = small_problem(cls)
    X = CONTAINERS[kind](small.X)
    selector = fitted(cls, CONTAINERS[kind])
    taken = selector.transform(X)
    if kind == "list":
        assert isinstance(taken, np.ndarray)
    elif kind == "coo_array":
        assert isinstance(taken, sp.csr_array)
    else:
        assert type(taken) is type(X)
    np.testing.assert_array_equal(_dense(taken), small.X[:, selector.support_])


@pytest.mark.parametrize("kind", NAMED)
@pytest.mark.parametrize("cls", CLASSES)
def test_names_in_and_out(cls, kind):
    small = small_problem(cls)
    X = CONTAINERS[kind](small.X)
    selector = fitted(cls, CONTAINERS[kind])
    kept = np.array(NAMES)[selector.support_].tolist()
    assert selector.feature_names_in_.tolist() == list(NAMES)
    assert selector.get_feature_names_out().tolist() == kept
    assert list(selector.selection_.names) == kept
    taken = selector.transform(X)
    assert list(getattr(taken, "column_names", None) or taken.columns) == kept


@pytest.mark.parametrize("cls", CLASSES)
def test_made_up_names_without_names(cls):
    small = small_problem(cls)
    selector = quick(cls).fit(pd.DataFrame(small.X, columns=list(NAMES)), small.y)
    selector.fit(small.X, small.y)
    assert not hasattr(selector, "feature_names_in_")
    expected = [f"x{j}" for j in np.flatnonzero(selector.support_)]
    assert selector.get_feature_names_out().tolist() == expected


@pytest.mark.parametrize("kind", ["list", *NAMED])
@pytest.mark.parametrize("output", ["pandas", "polars"])
@pytest.mark.parametrize("cls", CLASSES)
def test_set_output(cls, output, kind):
    small = small_problem(cls)
    X = CONTAINERS[kind](small.X)
    selector = fitted(cls, CONTAINERS[kind])
    taken = copy(selector).set_output(transform=output).transform(X)
    assert isinstance(taken, pd.DataFrame if output == "pandas" else pl.DataFrame)
    assert list(taken.columns) == selector.get_feature_names_out().tolist()
    np.testing.assert_array_equal(taken.to_numpy(), small.X[:, selector.support_])


def _mixed_frame(n_rows=120):
    rng = np.random.default_rng(1)
    colour = rng.choice(["red", "green", "blue"], n_rows)
    frame = pd.DataFrame(
        {
            "number": rng.normal(size=n_rows),
            "count": rng.integers(0, 50, n_rows),
            "flag": rng.random(n_rows) < 0.5,
            "colour": pd.Categorical(colour),
            "short": rng.normal(size=n_rows).astype(np.float32),
        }
    )
    noise = 0.2 * rng.normal(size=n_rows)
    signal = 2.0 * (colour == "red") + frame["flag"] + frame["number"] + noise
    return frame, signal.to_numpy()


def _target(cls, signal):
    from sklearn.base import is_classifier

    return (signal > np.median(signal)).astype(int) if is_classifier(cls()) else signal


def _taken_by(cls, frame):
    """The columns that an estimator takes: categories are for those that know them."""
    return frame if cls in having("categorical_features") else frame.drop(columns="colour")


@pytest.mark.parametrize("cls", having("keep"))
def test_types_of_columns_stay(cls):
    frame, signal = _mixed_frame()
    y, frame = _target(cls, signal), _taken_by(cls, frame)
    selector = quick(cls, keep=list(frame.columns)).fit(frame, y)
    pd.testing.assert_frame_equal(selector.transform(frame), frame)
    in_polars = pl.from_pandas(frame)
    selector = quick(cls, keep=list(frame.columns)).fit(in_polars, y)
    assert selector.transform(in_polars).schema == in_polars.schema
    in_pandas = selector.set_output(transform="pandas").transform(in_polars)
    pd.testing.assert_series_equal(in_pandas.dtypes, frame.dtypes)


@pytest.mark.parametrize("cls", having("keep"))
def test_rows_of_a_pandas_frame_keep_their_index(cls):
    frame, signal = _mixed_frame()
    frame = _taken_by(cls, frame)
    frame.index = [f"row {i}" for i in range(len(frame))]
    selector = quick(cls, keep=["count"]).fit(frame, _target(cls, signal))
    assert selector.transform(frame).index.equals(frame.index)


@pytest.mark.parametrize("cls", having("categorical_features"))
def test_categories_of_pandas_polars_and_pyarrow_agree(cls):
    frame, signal = _mixed_frame()
    y = _target(cls, signal)
    in_pandas = quick(cls).fit(frame, y)
    assert "colour" in in_pandas.selection_.names
    in_polars = pl.from_pandas(frame)
    enum = in_polars.with_columns(pl.col("colour").cast(pl.Enum(["blue", "green", "red"])))
    for other in (in_polars, enum, in_polars.to_arrow()):
        same = quick(cls).fit(other, y)
        np.testing.assert_array_equal(same.support_, in_pandas.support_)
        np.testing.assert_array_equal(predictions(same, other), predictions(in_pandas, frame))


@pytest.mark.parametrize("cls", having("categorical_features"))
def test_codes_of_a_category_do_not_count_but_its_values(cls):
    frame, signal = _mixed_frame()
    selector = quick(cls).fit(frame, _target(cls, signal))
    again = frame.assign(colour=frame["colour"].cat.set_categories(["red", "blue", "green", "x"]))
    np.testing.assert_array_equal(predictions(selector, again), predictions(selector, frame))


@pytest.mark.parametrize("cls", having("categorical_features"))
def test_text_counts_as_categories_when_asked_for(cls):
    frame, signal = _mixed_frame()
    y = _target(cls, signal)
    text = frame.assign(colour=frame["colour"].astype(object))
    expected = quick(cls).fit(frame, y)
    for wanted in (["colour"], [3], "from_dtype", np.arange(5) == 3):
        same = quick(cls, categorical_features=wanted).fit(text, y)
        np.testing.assert_array_equal(predictions(same, text), predictions(expected, frame))
    if cls.__name__ == "AutoSelector":  # some of its methods take text from data frames only
        return
    in_numpy = text.astype(object).to_numpy()
    same = quick(cls, categorical_features=[3]).fit(in_numpy, y)
    np.testing.assert_array_equal(predictions(same, in_numpy), predictions(expected, frame))


@pytest.mark.parametrize("cls", CLASSES)
def test_nan_and_none_are_missing(cls):
    small = small_problem(cls)
    rng = np.random.default_rng(3)
    X = np.where(rng.random(small.X.shape) < 0.2, np.nan, small.X)
    X[np.isnan(small.X[:, 1]), 1] = np.nan
    plain = quick(cls).fit(X, small.y)
    with_none = X.astype(object)
    with_none[np.isnan(X)] = None
    frame = pd.DataFrame(X, columns=list(NAMES))
    nulls = pl.DataFrame(X, schema=list(NAMES)).fill_nan(None)
    for other in (with_none, frame, frame.convert_dtypes(), nulls, nulls.to_arrow()):
        same = quick(cls).fit(other, small.y)
        np.testing.assert_array_equal(same.support_, plain.support_)
        np.testing.assert_array_equal(predictions(same, other), predictions(plain, X))


@pytest.mark.parametrize("cls", CLASSES)
def test_booleans_and_integers_are_numbers(cls):
    small = small_problem(cls)
    whole = np.rint(3 * small.X)
    plain = quick(cls).fit(whole, small.y)
    same = quick(cls).fit(whole.astype(np.int16), small.y)
    np.testing.assert_array_equal(same.support_, plain.support_)
    flags = small.X > 0
    as_floats = quick(cls).fit(flags.astype(float), small.y)
    as_flags = quick(cls).fit(flags, small.y)
    np.testing.assert_array_equal(as_flags.support_, as_floats.support_)
    np.testing.assert_array_equal(predictions(as_flags, flags), predictions(as_floats, flags))
