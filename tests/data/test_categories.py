from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from secateur.data.categories import OTHER, learn_categories, missing_in
from secateur.data.frames import read_table
from secateur.exceptions import InputTypeError, SecateurWarning, UnknownCategoryWarning

NAN = np.nan
COLOURS = ["red", None, "blue", "red", "green"]


def objects(*values):
    return np.fromiter(values, dtype=object)


FRAMES = {
    "pandas": pd.DataFrame({"c": pd.Categorical(COLOURS)}),
    "pandas, other order": pd.DataFrame(
        {"c": pd.Categorical(COLOURS, categories=["red", "pink", "green", "blue"])}
    ),
    "pandas, arrow": pd.DataFrame(
        {"c": pd.array(COLOURS, dtype=pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string())))}
    ),
    "polars": pl.DataFrame({"c": pl.Series(COLOURS, dtype=pl.Categorical)}),
    "pyarrow": pa.table({"c": pa.array(COLOURS).dictionary_encode()}),
    "pyarrow chunks": pa.table(
        {
            "c": pa.chunked_array(
                [pa.array(part).dictionary_encode() for part in (COLOURS[:2], COLOURS[2:])]
            )
        }
    ),
    "polars text": pl.DataFrame({"c": COLOURS}),
    "pandas text": pd.DataFrame({"c": COLOURS}),
    "pyarrow text": pa.table({"c": COLOURS}),
}
CODES = np.array([[2, NAN, 0, 2, 1]]).T


@pytest.mark.parametrize("kind", FRAMES)
def test_all_frames_give_the_same_codes(kind):
    table = read_table(FRAMES[kind], categorical_features="from_dtype")
    assert table.categories[0].tolist() == ["blue", "green", "red"]
    np.testing.assert_array_equal(table.block(0, 1), CODES)
    np.testing.assert_array_equal(table.columns(np.array([0])), CODES)
    np.testing.assert_array_equal(table.take(np.array([2, 1])).block(0, 1), [[0], [NAN]])


@pytest.mark.parametrize("fitted", FRAMES)
@pytest.mark.parametrize("later", FRAMES)
def test_a_model_fitted_on_one_frame_reads_any_other(fitted, later):
    schema = read_table(FRAMES[fitted], categorical_features="from_dtype").schema
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = read_table(FRAMES[later], like=schema)
    np.testing.assert_array_equal(table.block(0, 1), CODES)


def test_declared_orders_are_kept():
    sizes = ["small", "large", "medium"]
    order = ["small", "medium", "large", "never"]
    for frame in (
        pd.DataFrame({"c": pd.Categorical(sizes, categories=order, ordered=True)}),
        pl.DataFrame({"c": pl.Series(sizes, dtype=pl.Enum(order))}),
    ):
        table = read_table(frame)
        assert table.categories[0].tolist() == ["small", "medium", "large"]
        np.testing.assert_array_equal(table.block(0, 1)[:, 0], [0, 2, 1])


def test_categories_that_are_numbers_match_by_value():
    fitted = read_table(pd.DataFrame({"c": pd.Categorical([30, 10, None])}))
    np.testing.assert_array_equal(fitted.block(0, 1)[:, 0], [1, 0, NAN])
    for later in (
        pd.DataFrame({"c": [10, 30]}),
        pl.DataFrame({"c": [10.0, 30.0]}),
        pd.DataFrame({"c": pd.array([10, 30], dtype="Int64")}),
        np.array([[10.0], [30.0]]),
        np.array([[10], [30]], dtype=object),
        pa.table({"c": pa.array([10, 30]).dictionary_encode()}),
    ):
        np.testing.assert_array_equal(
            read_table(later, like=fitted.schema).block(0, 1)[:, 0], [0, 1]
        )


def test_arrow_dictionaries_of_numbers_keep_their_gaps():
    frame = pa.table({"c": pa.array([5, None, 7]).dictionary_encode()})
    np.testing.assert_array_equal(read_table(frame).block(0, 1)[:, 0], [0, NAN, 1])


@pytest.mark.parametrize("kind", [pa.uint8(), pa.uint32(), pa.uint64()], ids=str)
def test_arrow_dictionaries_may_have_unsigned_codes(kind):  # polars writes them
    chunk = pa.DictionaryArray.from_arrays(pa.array([1, None, 0], kind), ["blue", "red"])
    frame = pa.table({"c": pa.chunked_array([chunk, chunk])})
    np.testing.assert_array_equal(read_table(frame).block(0, 1)[:, 0], [1, NAN, 0] * 2)


def test_intervals_are_categories():
    frame = pd.DataFrame({"c": pd.cut(np.array([1.0, 9.0, NAN]), 2)})
    np.testing.assert_array_equal(read_table(frame).block(0, 1)[:, 0], [0, 1, NAN])


def test_a_column_without_values_has_no_categories():
    for frame in (
        pd.DataFrame({"c": pd.Categorical([None, None])}),
        pl.DataFrame({"c": pl.Series([None, None], dtype=pl.String)}),
    ):
        table = read_table(frame, categorical_features="from_dtype")
        assert table.categories[0].size == 0
        assert np.isnan(table.block(0, 1)).all()


def test_a_declared_category_that_does_not_occur_is_unknown_later():
    dtype = pd.CategoricalDtype(["a", "b", "c"])
    schema = read_table(pd.DataFrame({"c": pd.Series(["a", "b"], dtype=dtype)})).schema
    with pytest.warns(UnknownCategoryWarning, match="'c' has categories.*Got 'c'"):
        read_table(pd.DataFrame({"c": pd.Series(["c", "b"], dtype=dtype)}), like=schema)


# ---- unknown values ---------------------------------------------------------------------------


def test_unknown_values_become_missing_with_a_warning():
    schema = read_table(FRAMES["pandas"]).schema
    later = pl.DataFrame({"c": ["red", *"abcdefg", None]})
    with pytest.warns(UnknownCategoryWarning, match=r"Column 'c'.*'e', \.\.\. \(7 in all\)"):
        table = read_table(later, like=schema)
    np.testing.assert_array_equal(table.block(0, 1)[:, 0], [2, *[NAN] * 8])


def test_unknown_numbers_become_missing_with_a_warning():
    schema = read_table(np.array([[1.0], [2.0]]), categorical_features=[0]).schema
    with pytest.warns(UnknownCategoryWarning, match=r"Column 'x0'.*Got 3.0\."):
        table = read_table(np.array([[3.0], [NAN], [2.0]]), like=schema)
    np.testing.assert_array_equal(table.block(0, 1)[:, 0], [NAN, NAN, 1])


def test_no_warning_for_columns_not_asked_for():
    schema = read_table(pd.DataFrame({"c": pd.Categorical(["a", "b"]), "n": [1.0, 2.0]})).schema
    later = pd.DataFrame({"c": ["z"], "n": [1.0]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_table(later, like=schema, only=np.array([1]))


# ---- many values ------------------------------------------------------------------------------


def test_255_categories_are_all_kept():
    table = read_table(np.arange(255.0)[:, None], categorical_features=[0])
    np.testing.assert_array_equal(table.block(0, 1)[:, 0], np.arange(255))


@pytest.mark.parametrize("as_text", [False, True])
def test_beyond_255_the_rare_share_one_code(as_text):
    values = np.concatenate([np.arange(300), np.arange(100, 300), [NAN]])
    column = objects(*[None if v != v else f"v{int(v):03}" for v in values]) if as_text else values
    with pytest.warns(SecateurWarning, match="Column 'x0' has more than 255.*Got 300"):
        table = read_table(column[:, None], categorical_features=[0])
    codes = table.block(0, 1)[:, 0]
    labels = table.categories[0]
    assert len(labels) == 255
    assert labels[-1] == OTHER
    # 200 values twice, then the first 54 of those that occur once
    assert (codes[54:100] == 254).all()
    np.testing.assert_array_equal(codes[:54], np.arange(54))
    np.testing.assert_array_equal(codes[100:300], np.arange(54, 254))
    assert np.isnan(codes[-1])


def test_later_values_join_the_others_where_there_are_others():
    names = [f"v{number:03}" for number in range(300)]
    with pytest.warns(SecateurWarning):
        schema = read_table(pl.DataFrame({"c": names}), categorical_features=["c"]).schema
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = read_table(pl.DataFrame({"c": ["v299", "new", "v000", None]}), like=schema)
    np.testing.assert_array_equal(table.block(0, 1)[:, 0], [254, 254, 0, NAN])


# ---- by value, whatever the values ------------------------------------------------------------

VALUES = st.one_of(
    st.none(), st.text(max_size=2), st.integers(-3, 3), st.floats(allow_infinity=False, width=16)
)


@given(st.lists(VALUES, min_size=1, max_size=30))
def test_codes_lead_back_to_the_values(values):
    column = objects(*values)
    known = learn_categories(column)
    codes = known.encode(column)
    missing = missing_in(column)
    np.testing.assert_array_equal(np.isnan(codes), missing)
    assert all(
        known.labels[int(code)] == value
        for code, value in zip(codes[~missing], column[~missing], strict=True)
    )


@given(st.lists(st.sampled_from("abcd"), min_size=1, max_size=20), st.permutations("abcd"))
def test_the_order_of_declared_categories_does_not_change_codes(values, order):
    plain = pd.DataFrame({"c": pd.Categorical(values)})
    shuffled = pd.DataFrame({"c": pd.Categorical(values, categories=list(order))})
    schema = read_table(plain).schema
    np.testing.assert_array_equal(
        read_table(plain).block(0, 1), read_table(shuffled, like=schema).block(0, 1)
    )


def test_values_that_cannot_be_categories_are_refused():
    X = objects({"a": 1}, {"b": 2})[:, None]
    with pytest.raises(InputTypeError, match="plain values"):
        read_table(X, categorical_features=[0])
