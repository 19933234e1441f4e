from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from report.examples import make_evidence, make_path, make_table, score

from secateur import FeatureCosts
from secateur.exceptions import InputError, ParameterError, StorageError
from secateur.path import SelectionPath, Step, StopReason
from secateur.report import Evidence, gather_evidence, load_evidence
from secateur.report.association import (
    association,
    association_with_sparse,
    cramers_v,
    distribution,
    groups_by_class,
    groups_by_thirds,
    indicator,
    prepare,
)


def path_over(names, order):
    return SelectionPath([Step.of(order)], StopReason.FINISHED, names, "demo")


# ---- distributions ----------------------------------------------------------------------------


def test_few_values_are_counted_one_by_one():
    groups = groups_by_class(np.array([0.0, 0, 1, 1, 1]), ["a", "b"])
    result = distribution(np.array([3.0, 7, 7, np.nan, 3]), None, groups)
    assert result.labels == ("3", "7")
    assert result.edges == ()
    assert result.counts == ((1, 1), (1, 1))
    assert result.missing == (0, 1)


def test_categories_are_called_by_name():
    groups = groups_by_class(np.zeros(3), ["a"])
    result = distribution(np.array([1.0, 0, 1]), ["red", "blue"], groups)
    assert (result.labels, result.counts) == (("red", "blue"), ((1, 2),))


def test_rare_categories_are_merged_and_all_rows_counted():
    codes = np.concatenate([np.repeat(np.arange(30.0), 2), [4.0, 4.0]])
    groups = groups_by_class(np.zeros(len(codes)), ["a"])
    result = distribution(codes, [f"c{code}" for code in range(30)], groups)
    assert len(result.labels) == 12
    assert result.labels[-1] == "other"
    assert "c4" in result.labels
    assert sum(result.counts[0]) == 62


@given(st.lists(st.floats(-1e12, 1e12) | st.just(math.nan), min_size=1, max_size=200))
def test_every_row_is_counted_once(values):
    column = np.array(values)
    codes = np.arange(len(column)) % 2
    result = distribution(column, None, groups_by_class(codes.astype(float), ["a", "b"]))
    counted = np.array([sum(group) for group in result.counts]) + np.array(result.missing)
    assert counted.tolist() == np.bincount(codes, minlength=2).tolist()


def test_far_values_do_not_squeeze_the_others():
    column = np.concatenate([np.linspace(0, 1, 1000), [1e9]])
    result = distribution(column, None, groups_by_class(np.zeros(1001), ["a"]))
    assert result.edges[-1] < 2
    assert sum(result.counts[0]) == 1001


def test_bins_of_whole_numbers_hold_equally_many_of_them():
    column = np.arange(40.0)
    result = distribution(column, None, groups_by_class(np.zeros(40), ["a"]))
    assert result.edges[:3] == (-0.5, 2.5, 5.5)
    assert result.counts == ((3,) * 13 + (1,),)


def test_many_classes_become_eight_groups():
    codes = np.repeat(np.arange(20.0), np.arange(1, 21))
    groups = groups_by_class(codes, [f"c{code}" for code in range(20)])
    assert groups.names == (*(f"c{code}" for code in range(13, 20)), "other")
    assert len(groups.of_row) == 210


def test_numbers_are_grouped_in_thirds():
    groups = groups_by_thirds(np.arange(9.0))
    assert np.bincount(groups.of_row).tolist() == [3, 3, 3]
    assert groups.names == ("low (up to 2.667)", "middle (to 5.333)", "high (above 5.333)")


# ---- association ------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_numbers_have_pearsons_r(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(50, 4)) @ rng.normal(size=(4, 4))
    columns = prepare(X, [False] * 4)
    np.testing.assert_allclose(association(columns, columns), np.corrcoef(X.T), atol=1e-12)


def test_sparse_columns_give_the_same_as_dense_ones():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5)) * (rng.random((60, 5)) < 0.3)
    X[:, 4] = 0
    columns = prepare(X[:, :2], [False] * 2)
    dense = association(columns, prepare(X, [False] * 5))
    np.testing.assert_allclose(association_with_sparse(columns, sp.csc_array(X)), dense, atol=1e-12)
    assert np.isnan(dense[:, 4]).all()


def test_the_correlation_ratio_of_a_category_and_a_number():
    codes, x = np.array([0.0, 0, 1, 1]), np.array([1.0, 3.0, 5.0, 7.0])
    found = association(prepare(codes[:, None], [True]), prepare(x[:, None], [False]))
    # means 2 and 6 about 4: 16 of a total of 20
    assert found[0, 0] == pytest.approx(math.sqrt(16 / 20))
    back = association(prepare(x[:, None], [False]), prepare(codes[:, None], [True]))
    assert back[0, 0] == pytest.approx(math.sqrt(16 / 20))


def test_cramers_v_of_two_categories():
    from scipy.stats import contingency

    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, 200).astype(float)
    b = np.where(rng.random(200) < 0.5, a, rng.integers(0, 4, 200))
    joint = np.array([[np.sum((a == i) & (b == j)) for j in range(4)] for i in range(3)])
    assert cramers_v(indicator(a), indicator(b)) == pytest.approx(contingency.association(joint))
    assert cramers_v(indicator(a), indicator(a)) == pytest.approx(1.0)


def test_constants_have_no_association():
    X = np.column_stack([np.ones(5), np.arange(5.0), np.full(5, 0.1)])
    found = association(prepare(X, [False] * 3), prepare(X, [False] * 3))
    assert np.isnan(found[0]).all()
    assert np.isnan(found[2]).all()
    assert found[1, 1] == pytest.approx(1.0)


def test_huge_values_do_not_overflow():
    X = np.array([[1e300, 1e-300], [2e300, 2e-300], [4e300, 4e-300]])
    found = association(prepare(X, [False] * 2), prepare(X, [False] * 2))
    assert found[0, 1] == pytest.approx(1.0)


# ---- gathering --------------------------------------------------------------------------------


def test_chosen_features_come_first_and_substitutes_are_found_in_the_whole_table():
    path = make_path()
    evidence = make_evidence(path)
    assert evidence.features == (2, 1, 0, 3)  # the cut by weight, then the other on the path
    assert evidence.substitutes[2][0][0] == 5  # the noisy copy, which is on no path
    assert evidence.substitutes[2][0][1] == pytest.approx(0.99, abs=0.01)
    assert evidence.substitutes[0] == ()
    X, _ = make_table(path)
    assert evidence.association[0][1] == pytest.approx(
        np.corrcoef(X[:, 2], X[:, 1])[0, 1], abs=1e-4
    )
    assert evidence.n_rows == evidence.n_sampled == 200
    assert evidence.target_groups == ("no", "yes")
    assert sum(evidence.target_counts) == 200


@pytest.mark.parametrize("convert", [sp.csr_matrix, pd.DataFrame, pl.DataFrame, np.ndarray.tolist])
def test_all_kinds_of_tables_say_the_same(convert):
    path = make_path()
    X, y = make_table(path)
    expected = gather_evidence(X, y, path, target_type="classification")
    found = gather_evidence(convert(X), y, path, target_type="classification")
    assert found.distributions == expected.distributions
    assert found.substitutes == expected.substitutes


def test_frames_with_categories_text_and_gaps():
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "blue"], 90)
    frame = pd.DataFrame(
        {
            "colour": pd.Categorical(colour),
            "word": np.where(colour == "red", "warm", "cold"),
            "size": np.where(rng.random(90) < 0.2, np.nan, rng.normal(size=90)),
        }
    )
    path = path_over(frame.columns, [0, 2])
    evidence = gather_evidence(frame, rng.normal(size=90), path, target_type="regression")
    assert evidence.target_groups[0].startswith("low")
    assert evidence.distributions[0].labels == ("blue", "red")
    assert evidence.substitutes[0] == ((1, 1.0),)
    assert sum(evidence.distributions[1].missing) == int(frame["size"].isna().sum())


def test_costs_feature_groups_and_marginal_costs():
    path = path_over(["a", "b", "c"], [1, 0])
    costs = FeatureCosts({"a": 2.0, "b": 5.0}, feature_groups={"lab": ["a", "b"]})
    evidence = gather_evidence(
        np.eye(3), [0, 1, 0], path, target_type="classification", costs=costs
    )
    assert evidence.costs == {0: 2.0, 1: 5.0}
    assert evidence.groups == {0: ("lab",), 1: ("lab",)}
    assert evidence.steps[0].paid == (5.0, 0.0)
    assert evidence.cost_of_all == 2.0 + 1.0  # the first of the group pays for both


def test_kept_features_are_free():
    path = path_over(["a", "b", "c"], [1, 0])
    evidence = gather_evidence(
        np.eye(3), [0, 1, 0], path, target_type="classification", costs=[2, 5, 1], keep=["b"]
    )
    assert evidence.steps[0].paid == (0.0, 2.0)
    assert evidence.cost_of_all == 3.0


def test_a_rule_has_marginal_costs_but_no_single_costs():
    costs = FeatureCosts(rule=lambda used: np.full(3, 1.0 + used.sum()))
    path = path_over(["a", "b", "c"], [1, 0])
    evidence = gather_evidence(
        np.eye(3), [0, 1, 0], path, target_type="classification", costs=costs
    )
    assert evidence.costs == {}
    assert evidence.steps[0].paid == (1.0, 2.0)


def test_costs_of_one_each_are_left_out():
    evidence = make_evidence(make_path(), costs=FeatureCosts(unit="ms"))
    assert evidence.costs == {}
    assert math.isnan(evidence.cost_of_all)


def test_rows_are_sampled_and_the_sample_is_the_same_each_time():
    path = make_path()
    X, y = make_table(path, n_rows=1000)
    found = [
        gather_evidence(X, y, path, target_type="classification", sample_limit=100)
        for _ in range(2)
    ]
    assert found[0].n_sampled == 100
    assert found[0].n_rows == 1000
    assert found[0].to_json() == found[1].to_json()


def test_the_map_of_a_grid_has_the_mean_of_each_cell():
    X = np.array([[0.0, 1, 2, 3], [0, 3, 4, 5]])
    path = path_over(list("abcd"), [1])
    result = gather_evidence(X, [0, 1], path, target_type="classification", grid_shape=(2, 2))
    assert result.grid_shape == (2, 2)
    assert result.backdrop == (0.0, 0.5, 0.75, 1.0)


def test_several_targets_are_one_group():
    path = path_over(list("ab"), [1])
    result = gather_evidence(np.eye(2), np.eye(2), path, target_type="regression")
    assert result.target_groups == ("all rows",)
    assert result.target_counts == (2,)


def test_a_path_that_ended_before_its_first_step_has_evidence_too():
    path = SelectionPath([], StopReason.MAX_FEATURES, ["a", "b"], "demo")
    assert gather_evidence(np.eye(2), [0, 1], path, target_type="classification").features == ()


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        (
            {"target_type": "clustering"},
            ParameterError,
            "'target_type' must be 'classification', 'regression' or 'ranking'",
        ),
        ({"grid_shape": (2, 2)}, ParameterError, "'grid_shape' must have .* 6 cells"),
        ({"grid_shape": (1, 1, 2, 3)}, ParameterError, "one to three axes"),
        ({"costs": [1, 2]}, InputError, "'costs' must have one value per feature"),
    ],
)
def test_wrong_parameters_are_refused(changes, error, words):
    with pytest.raises(error, match=words):
        make_evidence(make_path(), **changes)


def test_another_table_is_refused():
    with pytest.raises(InputError, match="7 columns for a path over 6 features"):
        gather_evidence(np.ones((3, 7)), [0, 1, 0], make_path(), target_type="classification")


# ---- JSON -------------------------------------------------------------------------------------


def test_evidence_comes_back_from_json_and_from_the_file_of_a_path(tmp_path):
    path = make_path()
    X, y = make_table(path)
    X[:, 3] = 1.0  # a constant: NaN in the association
    result = gather_evidence(
        X,
        y,
        path,
        target_type="classification",
        costs=[1, 2, 3, 4, 5, 6],
        feature_groups={"lab": [0, 1]},
        grid_shape=(2, 3),
        fold_paths=[path],
        all_features=score(0.3, standard_error=math.nan),
        all_features_model="boosted trees",
    )
    assert np.isnan(np.array(result.association)).any()
    again = Evidence.from_json(result.to_json())
    assert again.to_json() == result.to_json()
    assert again.all_features_model == "boosted trees"
    assert math.isnan(again.all_features.standard_error)
    file = tmp_path / "path.json"
    path.save(file, evidence=result.to_json())
    assert load_evidence(file).to_json() == result.to_json()
    path.save(file)
    assert load_evidence(file) is None
    file.write_text("{")
    with pytest.raises(StorageError, match=r"path\.json.*JSON"):
        load_evidence(file)


def test_evidence_cannot_be_changed():
    result = make_evidence(make_path())
    with pytest.raises(TypeError):
        result.costs[0] = 1.0
    with pytest.raises(AttributeError):
        result.n_rows = 3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "JSON"),
        ("[]", "secateur.evidence"),
        ('{"format": "secateur.path", "version": 1}', "secateur.evidence"),
        ('{"format": "secateur.evidence", "version": 99}', "version 99"),
        ('{"format": "secateur.evidence", "version": 1}', "damaged"),
    ],
)
def test_what_is_not_evidence_is_refused(text, words):
    with pytest.raises(StorageError, match=words):
        Evidence.from_json(text)


def test_damaged_evidence_is_refused():
    document = json.loads(make_evidence(make_path()).to_json())
    document["features"] = "abc"
    with pytest.raises(StorageError, match="damaged"):
        Evidence.from_json(json.dumps(document))


def test_evidence_of_version_1_still_loads():
    old = {
        "format": "secateur.evidence",
        "version": 1,
        "n_rows": 3,
        "n_sampled": 3,
        "task": "regression",
        "target_groups": ["low"],
        "target_counts": [3],
        "features": [1],
        "substitutes": [[[2, 0.5]]],
        "grid_shape": [],
        "backdrop": [],
        "n_folds": 2,
        "all_features_model": "",
        "all_features": None,
        "distributions": [[[], [0.0, 1.0], [[3]], [0]]],
        "association": [[None]],
        "steps": [[[2.0], [0.5]]],
        "stand_ins": [[[1, 2, 0.5, 1]]],
        "costs": {"1": 2.0},
        "groups": {"1": ["lab"]},
        "cost_of_all": None,
    }
    found = Evidence.from_json(json.dumps(old))
    assert found.distributions[0].edges == (0.0, 1.0)
    assert [(each.feature, each.other) for each in found.steps[0].substitutes] == [(1, 2)]
    assert dict(found.costs) == {1: 2.0}
    assert math.isnan(found.association[0][0])
    assert math.isnan(found.cost_of_all)
