from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from secateur.data.frames import read_table
from secateur.exceptions import InputError, InputTypeError, ParameterError

NAN = np.nan


def column(frame, feature=0, **settings):
    return read_table(frame, **settings).block(feature, feature + 1)[:, 0]


# ---- missing values ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "series",
    [
        pd.array([1, None, 0], dtype="Int64"),
        pd.array([1, None, 0], dtype="Float64"),
        pd.array([True, None, False], dtype="boolean"),
        pd.array([1, None, 0], dtype="int64[pyarrow]"),
        pd.array([True, None, False], dtype="bool[pyarrow]"),
        np.array([1, None, 0], dtype=object),
        np.array([True, None, False], dtype=object),
        np.array([1, pd.NA, 0.0], dtype=object),
        pd.arrays.SparseArray([1.0, NAN, 0.0]),
    ],
    ids=str,
)
def test_pandas_gaps_are_nan(series):
    np.testing.assert_array_equal(column(pd.DataFrame({"a": series})), [1, NAN, 0])


POLARS_TYPES = [pl.Int64, pl.UInt8, pl.Float32, pl.Boolean, pl.Decimal(10, 2)]
POLARS_TYPES += [pl.Int128] if hasattr(pl, "Int128") else []  # since polars 1.18


@pytest.mark.parametrize("dtype", POLARS_TYPES, ids=str)
def test_polars_gaps_are_nan(dtype):
    frame = pl.DataFrame({"a": pl.Series([1, None, 0]).cast(dtype)})
    np.testing.assert_array_equal(column(frame), [1, NAN, 0])


@pytest.mark.parametrize(
    "kind", [pa.int32(), pa.float64(), pa.bool_(), pa.decimal128(10, 2)], ids=str
)
def test_arrow_gaps_are_nan(kind):
    values = [True, None, False] if kind == pa.bool_() else [1, None, 0]
    frame = pa.table({"a": pa.array(values, type=kind), "b": pa.array([1.0, 2.0, 3.0])})
    np.testing.assert_array_equal(column(frame), [1, NAN, 0])


def test_columns_without_any_value_are_missing():
    for frame in (
        pl.DataFrame({"a": [None, None]}),
        pa.table({"a": pa.nulls(2)}),
        pd.DataFrame({"a": [None, None]}),
    ):
        assert np.isnan(column(frame)).all()


def test_masked_values_are_missing():
    X = np.ma.masked_array(np.array([[1, 2], [3, 4]]), mask=[[False, True], [False, False]])
    np.testing.assert_array_equal(read_table(X).block(0, 2), [[1, NAN], [3, 4]])


def test_objects_with_none_and_na_are_numbers():
    X = np.array([[1, None], [pd.NA, 2.5]], dtype=object)
    np.testing.assert_array_equal(read_table(X).block(0, 2), [[1, NAN], [NAN, 2.5]])


def test_things_that_numpy_reads_are_read():
    class Wrapped:
        def __array__(self, dtype=None, copy=None):
            return np.eye(2)

    np.testing.assert_array_equal(read_table(Wrapped()).block(0, 2), np.eye(2))


# ---- what is refused --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.ones(3), r"Expected 2D array, got 1D array instead.*Reshape your data"),
        ([1, 2, 3], "Expected 2D array, got 1D array instead"),
        (pd.Series([1.0, 2.0]), "Expected 2D array, got 1D array instead"),
        (pl.Series([1.0, 2.0]), "Expected 2D array, got 1D array instead"),
        (np.ones((2, 2, 2)), "dim 3"),
        (3.0, "got scalar array"),
        (
            np.ones((0, 3)),
            r"Found array with 0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1",
        ),
        (np.ones((12, 0)), r"0 feature\(s\) \(shape=\(12, 0\)\) while a minimum of 1 is required."),
        (pd.DataFrame({"a": []}), r"0 sample\(s\)"),
        (sp.csr_array((4, 0)), r"0 feature\(s\) \(shape=\(4, 0\)\)"),
        (np.ones((2, 2)) * 1j, "Complex data not supported"),
        (sp.csr_array(np.ones((2, 2)) * 1j), "Complex data not supported"),
        (np.array([[1j, "a"], [2, 3]], dtype=object)[:, :1], "Complex data not supported"),
        (np.array([["a", 1], ["b", 2]], dtype=object), "could not convert string to float"),
        (np.array([["a"], ["b"]]), "could not convert string to float"),
        (np.array([["2020-01-01"]], dtype="datetime64[D]"), "days since a date"),
        ([[1, 2], [3]], "rows of equal length"),
        (np.array([[10**400]], dtype=object), "not numbers"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "must differ. Got more than one 'a'"),
        (pd.DataFrame([[1, 2]], columns=[0, 0]), "must differ. Got more than one 0"),
        (pa.table([[1], [2]], names=["a", "a"]), "must differ. Got more than one 'a'"),
    ],
)
def test_bad_tables_are_refused(X, message):
    with pytest.raises(InputError, match=message):
        read_table(X)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.array([[{"foo": 1}], [2]], dtype=object), "argument must be .* string.* number"),
        (np.zeros(3, dtype=[("a", float), ("b", int)]), "structured array"),
        (pl.LazyFrame({"a": [1]}), r"Call \.collect\(\)"),
        (pd.DataFrame([[1, 2]], columns=["a", 0]), "must all be text"),
    ],
)
def test_bad_kinds_are_type_errors(X, message):
    with pytest.raises(InputTypeError, match=message):
        read_table(X)


@pytest.mark.parametrize(
    "make",
    [
        np.ascontiguousarray,
        np.asfortranarray,
        lambda x: x.astype(np.float16),
        lambda x: x.astype(object),
        sp.csr_array,
        sp.csc_matrix,
        pd.DataFrame,
        pl.DataFrame,
    ],
)
def test_infinities_are_refused_with_their_columns(make):
    X = np.ones((4, 10))
    X[0, 0] = NAN
    X[1, 2] = np.inf
    X[3, 7] = -np.inf
    with pytest.raises(InputError, match="Input X contains infinity") as caught:
        read_table(make(X))
    assert "'x2', 'x7'." in str(caught.value).replace("column_", "x")


def test_at_most_five_infinite_columns_are_named():
    X = np.full((2, 7), np.inf)
    with pytest.raises(InputError, match=r"'x4', \.\.\. \(7 in all\)"):
        read_table(X)


def test_infinities_are_found_in_every_tile():
    for row in (0, 99_999, 199_999):
        X = np.zeros((200_000, 3))
        X[row, 1] = np.inf
        for table in (X, np.asfortranarray(X), X[::-1]):
            with pytest.raises(InputError, match="'x1'"):
                read_table(table)


def test_only_the_columns_asked_for_are_looked_into():
    X = np.ones((3, 3))
    X[0, 0] = np.inf
    for table in (X, sp.csr_array(X), pd.DataFrame(X), X.astype(object)):
        schema = read_table(np.ones((3, 3))).schema
        only = np.array([2, 1])
        np.testing.assert_array_equal(
            read_table(table, like=schema, only=only).columns(only), np.ones((3, 2))
        )
        with pytest.raises(InputError, match="'x0'"):
            read_table(table, like=schema, only=np.array([1, 0]))


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"n": [1.0], "t": ["a"]}),
        pd.DataFrame({"n": [1.0], "t": np.array(["a"], dtype=object)}),
        pl.DataFrame({"n": [1.0], "t": ["a"]}),
        pa.table({"n": [1.0], "t": ["a"]}),
        pd.DataFrame({"n": [1.0, 1.0], "t": np.array([1, "a"], dtype=object)}),
    ],
)
def test_text_is_refused_with_what_to_do(frame):
    with pytest.raises(InputError, match=r"column\(s\) 't'.*categorical_features"):
        read_table(frame)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"n": [1.0], "t": pd.to_datetime(["2020-01-01"])}),
        pd.DataFrame({"n": [1.0], "t": pd.to_timedelta([5])}),
        pl.DataFrame({"n": [1.0], "t": [dt.date(2020, 1, 1)]}),
        pl.DataFrame({"n": [1.0], "t": [dt.time(12)]}),
        pa.table({"n": [1.0], "t": pa.array([5], pa.timestamp("s"))}),
    ],
)
def test_dates_are_refused_with_what_to_do(frame):
    for categorical_features in (None, ["t"]):
        with pytest.raises(InputError, match=r"column\(s\) 't'. Convert them to numbers"):
            read_table(frame, categorical_features=categorical_features)


def test_nested_and_complex_columns_are_refused():
    with pytest.raises(InputError, match=r"lists, structures.* in column\(s\) 'l'"):
        read_table(pl.DataFrame({"n": [1], "l": [[1, 2]]}))
    with pytest.raises(InputError):
        read_table(pd.DataFrame({"z": np.array([1j])}))


# ---- which columns are categories -------------------------------------------------------------

MIXED = {"n": [1.0, 2.0], "t": ["u", "v"], "m": [5, 6]}


def test_none_takes_category_types_only():
    frame = pd.DataFrame({"n": [1.0, 2.0], "c": pd.Categorical(["u", "v"])})
    assert list(read_table(frame).categories) == [1]


def test_from_dtype_takes_text_as_well():
    frame = pl.DataFrame(MIXED).with_columns(pl.Series("c", ["p", "q"], dtype=pl.Categorical))
    assert list(read_table(frame, categorical_features="from_dtype").categories) == [1, 3]


@pytest.mark.parametrize(
    "chosen", [["t", "m"], [1, 2], [False, True, True], np.array([2, 1]), np.array([0, 1, 1]) > 0]
)
def test_columns_may_be_named_counted_or_masked(chosen):
    table = read_table(pd.DataFrame(MIXED), categorical_features=chosen)
    assert list(table.categories) == [1, 2]
    np.testing.assert_array_equal(table.block(0, 3), [[1, 0, 0], [2, 1, 1]])


def test_arrays_have_categories_where_declared():
    X = np.array([[30.0, 1.0], [10.0, 2.0], [NAN, 3.0], [30.0, 4.0]])
    table = read_table(X, categorical_features=[0])
    np.testing.assert_array_equal(table.categories[0], [10.0, 30.0])
    np.testing.assert_array_equal(table.block(0, 2)[:, 0], [1, 0, NAN, 1])
    np.testing.assert_array_equal(table.columns(np.array([1, 0]))[:, 1], [1, 0, NAN, 1])
    np.testing.assert_array_equal(table.take(np.array([3, 2])).block(0, 1)[:, 0], [1, NAN])


def test_arrays_of_objects_may_mix_text_and_numbers():
    X = np.array([["v", 1], [None, 2], ["u", None]], dtype=object)
    table = read_table(X, categorical_features=[True, False])
    np.testing.assert_array_equal(table.block(0, 2), [[1, 1], [NAN, 2], [0, NAN]])
    np.testing.assert_array_equal(table.take(np.array([2])).block(0, 2), [[0, NAN]])
    assert table.categories[0].tolist() == ["u", "v"]


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        (["tt"], "'categorical_features' must name features of X. Got 'tt'. Did you mean 't'"),
        ([3], "indices from 0 to 2. Got 3"),
        ([-1], "indices from 0 to 2. Got -1"),
        ([True], "one value per feature, 3"),
        ([1.5], "Got 1.5"),
        ("t", r"Use \['t'\]"),
    ],
)
def test_wrong_choices_of_categories_are_refused(chosen, message):
    with pytest.raises((InputError, ParameterError), match=message):
        read_table(pd.DataFrame(MIXED), categorical_features=chosen)


def test_a_single_name_is_refused_for_arrays_too():
    with pytest.raises(ParameterError, match=r"Use \['x0'\]"):
        read_table(np.eye(2), categorical_features="x0")
    assert read_table(np.eye(2), categorical_features="from_dtype").categories == {}


def test_sparse_tables_have_no_categories():
    with pytest.raises(ParameterError, match="sparse"):
        read_table(sp.eye_array(3, format="csr"), categorical_features=[0])
    schema = read_table(np.eye(3), categorical_features=[0]).schema
    with pytest.raises(InputError, match="must be dense"):
        read_table(sp.eye_array(3, format="csr"), like=schema)


# ---- the second table -------------------------------------------------------------------------


def test_another_width_is_refused():
    for X in (np.ones((2, 3)), sp.csr_array(np.ones((2, 3))), pd.DataFrame(np.ones((2, 3)))):
        schema = read_table(np.ones((2, 2))).schema
        with pytest.raises(
            InputError, match="X has 3 features, but secateur is expecting 2 features as input"
        ):
            read_table(X, like=schema)


def test_missing_and_unknown_names_are_reported():
    schema = read_table(pd.DataFrame({"a": [1], "b": [2]})).schema
    with pytest.raises(InputError, match="missing: 'b'; unknown: 'c'"):
        read_table(pd.DataFrame({"a": [1], "c": [2]}), like=schema)
    with pytest.raises(InputError, match="Got unknown: 'c'"):
        read_table(pl.DataFrame({"a": [1], "b": [1], "c": [2]}), like=schema)


def test_names_decide_over_positions():
    schema = read_table(pd.DataFrame({"a": [1], "b": [2]})).schema
    table = read_table(pl.DataFrame({"b": [20], "a": [10]}), like=schema)
    np.testing.assert_array_equal(table.block(0, 2), [[10, 20]])


def test_an_array_may_follow_a_frame():
    schema = read_table(pd.DataFrame({"a": [1], "b": [2]})).schema
    table = read_table(np.array([[3, 4]]), like=schema)
    assert table.names == ("a", "b")


def test_text_where_numbers_were_is_refused():
    schema = read_table(pd.DataFrame({"a": [1.0]})).schema
    for frame in (pd.DataFrame({"a": ["u"]}), pd.DataFrame({"a": pd.Categorical(["u"])})):
        with pytest.raises(InputError, match=r"column\(s\) 'a'"):
            read_table(frame, like=schema)


# ---- what is loaded ---------------------------------------------------------------------------


USE_POLARS = """
import polars as pl
X = pl.DataFrame({'a': ['u', None], 'b': [True, None], 'c': [1, None]})
read_table(X, categorical_features=['a']).block(0, 3)
"""


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import numpy as np; read_table(np.ones((2, 2)))", {"narwhals", "pandas", "polars"}),
        (
            "import scipy.sparse as sp; read_table(sp.eye_array(3, format='csr'))",
            {"narwhals", "pandas", "polars", "sklearn"},
        ),
        (
            USE_POLARS,
            {"pandas", "sklearn"},
        ),
    ],
)
def test_no_library_is_loaded_for_another(code, absent):
    check = f"import sys; print(*({absent!r} & set(sys.modules)))"
    run = f"from secateur.data.frames import read_table\n{code}\n{check}"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(
        [sys.executable, "-c", run], capture_output=True, text=True, check=True, env=env
    )
    assert done.stdout.strip() == ""
