from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from secateur.data.costs import FeatureCosts, as_costs, read_neighbours
from secateur.exceptions import InputError, ParameterError

NAMES = ("age", "height", "mass", "pulse")
NOTHING = np.zeros(4, dtype=bool)


def used(*features, n=4):
    mask = np.zeros(n, dtype=bool)
    mask[list(features)] = True
    return mask


def costs_of(*features, **words):
    return FeatureCosts(**words).bind(NAMES).costs(used(*features)).tolist()


# ---- costs ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("costs", "expected"),
    [
        (None, [1, 1, 1, 1]),
        (3, [3, 3, 3, 3]),
        ([1, 2, 3, 4], [1, 2, 3, 4]),
        (np.array([1, 2, 3, 4]), [1, 2, 3, 4]),
        ({"mass": 7, 0: 0}, [0, 1, 7, 1]),
        (pd.Series([1, 2, 3, 4]), [1, 2, 3, 4]),
        (pd.Series({"pulse": 9.0, "age": 2.0}), [2, 1, 1, 9]),
    ],
)
def test_costs_in_every_form(costs, expected):
    bound = FeatureCosts(costs).bind(NAMES)
    assert bound.cost.tolist() == expected
    assert bound.costs(NOTHING).tolist() == expected
    assert bound.is_plain


def test_used_and_kept_features_are_free():
    assert costs_of(1, costs=[1, 2, 3, 4], keep=["mass"]) == [1, 0, 0, 4]
    bound = FeatureCosts([1, 2, 3, 4], keep=[2]).bind(NAMES)
    assert bound.keep.tolist() == [False, False, True, False]
    assert bound.is_plain


@pytest.mark.parametrize("keep", [["mass"], "mass", [2], 2, np.array([2]), used(2), ("mass",)])
def test_keep_in_every_form(keep):
    assert FeatureCosts(keep=keep).bind(NAMES).keep.tolist() == used(2).tolist()


def test_asking_for_prices_changes_nothing():
    bound = FeatureCosts([1, 2, 3, 4], keep=[2]).bind(NAMES)
    mask = used(0)
    bound.costs(mask)[:] = 99
    assert mask.tolist() == used(0).tolist()
    assert bound.cost.tolist() == [1, 2, 3, 4]


# ---- bags -------------------------------------------------------------------------------------

MEMBERS = np.array([[0, 0], [1, 0], [1, 0], [0, 0]], dtype=bool)[:, :1]


@pytest.mark.parametrize(
    "groups",
    [
        [None, "body", "body", None],
        [np.nan, 1, 1, np.nan],
        np.array([np.nan, 1, 1, np.nan]),
        np.array([0, 1, 1, 2]),
        pd.Series(["p", "body", "body", "q"]),
        {"height": "body", "mass": "body"},
        {1: "body", "mass": "body", "age": None},
        {"body": ["height", "mass"]},
        {"body": {"height", 2}},
        {"body": np.array([1, 2]), "alone": ["age"]},
        MEMBERS,
        MEMBERS.tolist(),
        sp.csr_array(MEMBERS),
        pd.DataFrame(MEMBERS),
    ],
)
def test_bags_in_every_form(groups):
    bound = FeatureCosts([1, 2, 3, 4], feature_groups=groups).bind(NAMES)
    assert not bound.is_plain
    assert bound.costs(NOTHING).tolist() == [1, 2, 3, 4]
    assert bound.costs(used(1)).tolist() == [1, 0, 0, 4]
    assert bound.costs(used(0)).tolist() == [0, 2, 3, 4]
    assert bound.total(np.array([2, 1, 0])) == 4.0


@pytest.mark.parametrize(
    ("groups", "labels"),
    [
        ([None, "body", "arm", "body"], ["body", "arm"]),
        (np.array(["body", "arm", "arm", "leg"]), ["arm", "body", "leg"]),
        ({"height": "body", "mass": None, "age": "arm"}, ["body", "arm"]),
        ({"body": ["height"], "arm": ["mass", "age"]}, ["body", "arm"]),
        (np.eye(4, dtype=bool), ["0", "1", "2", "3"]),
        (None, []),
    ],
)
def test_bags_are_called_what_the_user_calls_them(groups, labels):
    bound = FeatureCosts(feature_groups=groups).bind(NAMES)
    assert bound.group_labels == labels
    if groups is not None:
        assert bound.feature_groups.shape[1] == len(labels)


def test_labels_are_in_the_order_of_the_groups():
    groups = np.array(["b", "a", "b", "c"])
    bound = FeatureCosts(feature_groups=groups).bind(NAMES)
    members = bound.feature_groups.toarray()
    assert [bound.group_labels[row.argmax()] for row in members] == groups.tolist()


def test_overlapping_bags_are_all_opened():
    groups = {"p": ["age", "height"], "q": ["height", "mass"]}
    assert costs_of(0, feature_groups=groups) == [0, 0, 1, 1]
    assert costs_of(1, feature_groups=groups) == [0, 0, 0, 1]


def test_kept_features_open_their_groups():
    assert costs_of(feature_groups={"p": ["age", "height"]}, keep=["age"]) == [0, 0, 1, 1]


# ---- neighbours -------------------------------------------------------------------------------


def test_neighbours_on_a_grid_cost_less():
    bound = FeatureCosts(2, neighbours=(3, 3)).bind([f"p{i}" for i in range(9)])
    grid = bound.costs(used(4, n=9)).reshape(3, 3)
    np.testing.assert_array_equal(grid, [[2, 1, 2], [1, 0, 1], [2, 1, 2]])
    assert bound.total(np.array([4, 1, 0])) == 2 + 1 + 1


def test_two_used_neighbours_give_no_more_than_one():
    assert costs_of(0, 2, neighbours=(4,), discount=0.25) == [0, 0.25, 0, 0.25]


@pytest.mark.parametrize("shape", [(5,), (2, 3), (28, 28), (2, 3, 4), (1, 4)])
def test_grids_connect_cells_at_distance_one(shape):
    cells = np.stack(np.unravel_index(np.arange(np.prod(shape)), shape), axis=1)
    distance = np.abs(cells[:, None] - cells[None]).sum(axis=2)
    found = read_neighbours(shape, len(cells)).toarray()
    np.testing.assert_array_equal(found, distance == 1)


@pytest.mark.parametrize("make", [sp.csr_array, np.asarray, sp.coo_matrix])
def test_a_matrix_counts_both_ways_and_not_for_itself(make):
    matrix = np.zeros((4, 4))
    matrix[0, 3] = 2.5
    matrix[1, 1] = 1
    assert costs_of(3, neighbours=make(matrix)) == [0.5, 1, 1, 0]
    assert costs_of(0, neighbours=make(matrix)) == [0, 1, 1, 0.5]


def test_an_open_bag_beats_a_discount():
    assert costs_of(0, neighbours=(2, 2), feature_groups={"p": ["age", "mass"]}) == [0, 0.5, 0, 1]


# ---- a rule of one's own ----------------------------------------------------------------------


def second_is_double(mask):
    return np.full(mask.size, 1.0 + mask.sum())


def test_a_rule_replaces_costs_but_not_what_is_used_or_kept():
    assert costs_of(0, costs=50, rule=second_is_double) == [0, 2, 2, 2]
    assert costs_of(0, rule=second_is_double, keep=[3]) == [0, 3, 3, 0]
    bound = FeatureCosts(rule=second_is_double).bind(NAMES)
    assert not bound.is_plain
    assert bound.total(np.array([3, 1, 0])) == 1 + 2 + 3


def test_a_rule_cannot_change_what_is_used():
    def vandal(mask):
        mask[:] = True
        return np.ones(mask.size)

    mask = used(1)
    assert FeatureCosts(rule=vandal).bind(NAMES).costs(mask).tolist() == [1, 0, 1, 1]
    assert mask.sum() == 1


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([1, 2], r"'wrong' returns must have one value per feature, 4. Got shape \(2,\)"),
        ([1, -1, 1, 1], "'wrong' returns must be finite and >= 0. Got -1.0 for 1"),
        ([1, np.nan, 1, 1], "Got nan"),
        ([1, np.inf, 1, 1], "Got inf"),
        ("cheap", "'wrong' returns must hold numbers"),
        (None, "'wrong' returns must have one value per feature"),
    ],
)
def test_a_wrong_rule_is_named(answer, message):
    def wrong(mask):
        return answer

    with pytest.raises(InputError, match=message):
        FeatureCosts(rule=wrong).bind(NAMES).costs(NOTHING)


# ---- mistakes ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"costs": -1}, "'costs' must be finite and >= 0. Got -1.0"),
        ({"costs": [1, 2, np.nan, 4]}, "Got nan for 'mass'"),
        ({"costs": {"age": np.inf}}, "Got inf for 'age'"),
        ({"costs": [1, 2]}, r"one value per feature, 4. Got shape \(2,\)"),
        ({"costs": {"hieght": 1}}, "Got 'hieght'. Did you mean 'height'"),
        ({"costs": {"zzz": 1}}, "Got 'zzz'. The features are 'age', 'height'"),
        ({"costs": {9: 1}}, "indices from 0 to 3. Got 9"),
        ({"costs": "dear"}, "'costs' must hold numbers"),
        ({"costs": ["a"] * 4}, "'costs' must hold numbers"),
        ({"costs": {"age": "dear"}}, "'costs' must hold numbers"),
        ({"feature_groups": ["p", "q"]}, r"one label per feature, 4. Got shape \(2,\)"),
        (
            {"feature_groups": {"weight": "p"}},
            "'feature_groups' must name features of X. Got 'weight'",
        ),
        (
            {"feature_groups": {"p": ["weight"]}},
            "'feature_groups' must name features of X. Got 'weight'",
        ),
        ({"feature_groups": {"weight": None}}, "'feature_groups' must name features of X"),
        ({"feature_groups": {"p": ["age"], "mass": "q"}}, "Got both: 'mass' have no list"),
        ({"feature_groups": np.ones((3, 2), dtype=bool)}, "one row per feature, 4"),
        ({"feature_groups": np.full((4, 2), 7)}, "must be boolean"),
        ({"feature_groups": [("p",), {"q"}, None, None]}, "plain labels"),
        ({"feature_groups": 5}, "'feature_groups' must be a sequence"),
        ({"neighbours": (2, 3)}, r"one cell per feature, 4. Got \(2, 3\), which has 6"),
        ({"neighbours": 4}, "'neighbours' must be the shape of a grid"),
        ({"neighbours": (4.5,)}, "'neighbours' must be the shape of a grid"),
        ({"neighbours": ()}, "'neighbours' must be the shape of a grid"),
        ({"neighbours": sp.eye_array(3)}, r"shape \(4, 4\). Got \(3, 3\)"),
        ({"discount": 1.5}, "'discount' must be from 0 to 1. Got 1.5"),
        ({"discount": np.nan}, "'discount' must be from 0 to 1"),
        ({"discount": "half"}, "'discount' must be from 0 to 1"),
        ({"rule": 3}, "'rule' must be a function"),
        ({"keep": ["agge"]}, "'keep' must name features of X. Got 'agge'. Did you mean 'age'"),
        ({"keep": [4]}, "'keep' must hold indices from 0 to 3"),
        ({"keep": [True, False]}, "one value per feature, 4"),
    ],
)
def test_mistakes_are_reported_when_bound(words, message):
    costs = FeatureCosts(**words)
    with pytest.raises((InputError, ParameterError), match=message):
        costs.bind(NAMES)


# ---- the short form ---------------------------------------------------------------------------


def test_short_forms():
    assert as_costs(None).costs is None
    assert as_costs(2.0).costs == 2.0
    assert as_costs([1, 2], feature_groups=["p", "p"], keep=[0]).feature_groups == ["p", "p"]
    long = FeatureCosts(3, unit="euro", discount=0.1)
    both = as_costs(long, feature_groups={"p": [0]}, keep=["age"])
    assert (both.costs, both.unit, both.discount) == (3, "euro", 0.1)
    assert (both.feature_groups, both.keep) == ({"p": [0]}, ["age"])


def test_nothing_is_given_twice():
    with pytest.raises(ParameterError, match="'feature_groups' must be given once"):
        as_costs(FeatureCosts(feature_groups=["p"]), feature_groups=["q"])
    with pytest.raises(ParameterError, match="'keep' must be given once"):
        as_costs(FeatureCosts(keep=["p"]), keep=["q"])


def test_words_are_held_untouched_and_can_be_copied():
    words = {"age": 1}
    costs = FeatureCosts(words, unit="euro")
    assert costs.costs is words
    for other in (copy.deepcopy(costs), pickle.loads(pickle.dumps(costs))):  # noqa: S301
        assert other.costs == words
        assert other.unit == "euro"


# ---- what holds for all costs ----------------------------------------------------------------


@st.composite
def any_prices(draw):
    n = draw(st.integers(1, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    words = {"costs": rng.integers(0, 5, size=n).astype(float), "keep": rng.random(n) < 0.1}
    if draw(st.booleans()):
        words["feature_groups"] = rng.random((n, draw(st.integers(1, 4)))) < 0.3
    if draw(st.booleans()):
        words["neighbours"] = rng.random((n, n)) < 0.2
        words["discount"] = draw(st.sampled_from([0.0, 0.25, 1.0]))
    order = rng.integers(0, n, size=draw(st.integers(0, n + 2)))
    return FeatureCosts(**words).bind([f"x{i}" for i in range(n)]), order


@given(any_prices())
def test_selecting_never_raises_a_cost(case):
    bound, order = case
    owned = np.zeros(bound.n_features, dtype=bool)
    before = bound.costs(owned)
    for feature in order:
        owned[feature] = True
        after = bound.costs(owned)
        assert (after <= before).all()
        assert (after >= 0).all()
        assert after[feature] == 0
        before = after


@given(any_prices())
def test_the_total_is_the_sum_of_the_prices_paid(case):
    bound, order = case
    owned = np.zeros(bound.n_features, dtype=bool)
    paid = []
    for feature in order:
        paid.append(bound.costs(owned)[feature])
        owned[feature] = True
    np.testing.assert_array_equal(bound.paid(order), paid)
    assert bound.total(order) == sum(paid)


def test_many_features_are_bound_at_once():
    n = 200_000
    names = [f"x{i}" for i in range(n)]
    bound = FeatureCosts(np.ones(n), feature_groups=np.arange(n) // 10, keep=["x5"]).bind(names)
    assert bound.costs(np.zeros(n, dtype=bool)).sum() == n - 10
    assert bound.total(np.arange(0, n, 1000)) == n / 1000 - 1
