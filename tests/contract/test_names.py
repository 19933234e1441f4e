"""Columns go by their names, of whatever type these are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from contract.registry import having, quick, small_problem

from secateur import AGBMClassifier, FeatureCosts, GraftingRegressor, held_out, open_table
from secateur.exceptions import InputError, InputTypeError

LABELS = {
    "numbers": [17, 16, 15, 14, 13, 12, 11, 10],
    "positions": [7, 6, 5, 4, 3, 2, 1, 0],
    "text of numbers": list("76543210"),
    "dates": list(pd.date_range("2020", periods=8)),
    "levels": list(pd.MultiIndex.from_product([["a", "b"], [1, 2, 3, 4]])),
    "fractions": [0.5 * j for j in range(1, 9)],
    "numbers and tuples": [20, (1, 2), 21, 22, 23, 24, 25, 26],
}


def frame(X, labels):
    return pd.DataFrame(X, columns=pd.Index(labels))


@pytest.mark.parametrize("kind", LABELS)
def test_names_come_out_as_they_are(kind):
    small, labels = small_problem(GraftingRegressor), LABELS[kind]
    X = frame(small.X, labels)
    selector = quick(GraftingRegressor, costs={labels[1]: 100.0, labels[2]: 0.5}).fit(X, small.y)
    named = quick(GraftingRegressor, costs=[1, 100, 0.5, 1, 1, 1, 1, 1]).fit(small.X, small.y)
    np.testing.assert_array_equal(selector.support_, named.support_)
    expected = [labels[j] for j in np.flatnonzero(selector.support_)]
    assert list(selector.get_feature_names_out()) == expected
    assert list(selector.transform(X).columns) == expected
    assert list(selector.set_output(transform="pandas").transform(X).columns) == expected
    is_text = isinstance(labels[0], str)
    assert hasattr(selector, "feature_names_in_") == is_text  # as in scikit-learn
    if kind in {"numbers", "positions", "text of numbers"}:
        assert [str(each) for each in expected] == list(selector.selection_.names)
    np.testing.assert_array_equal(selector.predict(X), selector.predict(small.X))


@pytest.mark.parametrize("kind", ["numbers", "positions", "levels"])
@pytest.mark.parametrize("cls", having("costs", "feature_groups", "keep"))
def test_costs_groups_and_kept_features_go_by_name(cls, kind):
    small, labels = small_problem(cls), LABELS[kind]
    costs, groups = {labels[4]: 9.0}, {"g": [labels[5], labels[6]]}
    settings = {"costs": costs, "feature_groups": groups, "keep": [labels[0]]}
    named = quick(cls, **settings).fit(frame(small.X, labels), small.y)
    settings = {"costs": {4: 9.0}, "feature_groups": {"g": [5, 6]}, "keep": [0]}
    plain = quick(cls, **settings).fit(small.X, small.y)
    np.testing.assert_array_equal(named.support_, plain.support_)
    assert named.selection_.cost == plain.selection_.cost
    assert named.support_[0]


@pytest.mark.parametrize("kind", ["numbers", "positions"])
@pytest.mark.parametrize("cls", [GraftingRegressor, AGBMClassifier])
def test_another_order_of_names_is_refused(cls, kind):
    small = small_problem(cls, n_rows=60)
    X = frame(small.X, LABELS[kind])
    selector = quick(cls).fit(X, small.y)
    with pytest.raises(InputError, match=str(LABELS[kind][0])):
        selector.transform(X[X.columns[::-1]])


def test_another_order_of_columns_without_names_is_refused():
    small = small_problem(GraftingRegressor)
    selector = quick(GraftingRegressor).fit(pd.DataFrame(small.X), small.y)
    with pytest.raises(InputError, match="order"):
        selector.predict(pd.DataFrame(small.X)[[7, 6, 5, 4, 3, 2, 1, 0]])


def test_numbers_that_are_no_names_are_refused_where_all_names_are_numbers():
    small = small_problem(GraftingRegressor)
    selector = quick(GraftingRegressor, costs={3: 2.0})
    with pytest.raises(InputError, match=r"'costs'.* 3\..*'17'"):
        selector.fit(frame(small.X, LABELS["numbers"]), small.y)


def test_a_number_that_is_a_name_and_the_position_of_another_column_is_refused():
    names = ("a", "0", "b")
    with pytest.raises(InputError, match="0, the name of column 1 and the position of 'a'"):
        FeatureCosts(keep=[0]).bind(names)
    assert FeatureCosts(keep=["0"]).bind(names).keep.tolist() == [False, True, False]
    assert FeatureCosts(keep=[2]).bind(names).keep.tolist() == [False, False, True]
    assert FeatureCosts(keep=[2019]).bind(("a", "2019")).keep.tolist() == [False, True]


def test_a_series_of_costs_goes_by_its_labels():
    cost = pd.Series([5.0, 6.0, 7.0], index=[3, 1, 2])
    assert FeatureCosts(cost).bind(("1", "2", "3")).cost.tolist() == [6.0, 7.0, 5.0]
    assert FeatureCosts(cost).bind(("a", "b", "c")).cost.tolist() == [5.0, 6.0, 7.0]


def test_names_of_both_kinds_or_twice_are_refused():
    small = small_problem(GraftingRegressor)
    with pytest.raises(InputTypeError, match="'a'"):
        GraftingRegressor().fit(frame(small.X, [1, 2, 3, 4, "a", 6, 7, 8]), small.y)
    with pytest.raises(InputError, match="more than one 1"):
        GraftingRegressor().fit(frame(small.X, [1, 1, 3, 4, 5, 6, 7, 8]), small.y)


def test_numbers_are_names_in_stored_tables_and_evaluations(tmp_path):
    small, labels = small_problem(GraftingRegressor), LABELS["positions"]
    X = frame(small.X, labels)
    selector = quick(GraftingRegressor, costs=FeatureCosts({labels[1]: 50.0}, keep=[labels[0]]))
    stored = selector.fit(open_table(X, small.y, cache=tmp_path))
    assert stored.support_[0]
    assert held_out(selector, X, small.y).path[-1].score is not None
