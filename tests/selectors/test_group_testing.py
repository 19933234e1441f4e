"""GT-GBM as users meet it: what it finds, what it costs, and where an exact search is as fast."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array
from sklearn.datasets import dump_svmlight_file

from secateur import AGBMClassifier, AGBMRegressor, GTGBMClassifier, GTGBMRegressor, open_table
from secateur.data import memory
from secateur.engines.boosted.group_design import GroupDesign, GroupTesting, largest_group
from secateur.exceptions import GroupTestingWarning, OutOfMemoryError

PARAMS = {"penalty": 0.02, "max_iter": 15, "learning_rate": 0.3, "random_state": 0}
GROUPS = {"expected_features": 4, "group_size": 16}


def made(n_rows=3000, n_features=2000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, n_features), dtype=np.float32)
    chosen = rng.choice(n_features, 4, replace=False)
    y = 3.0 * X[:, chosen].sum(axis=1) + 0.5 * rng.normal(size=n_rows)
    return X, y, np.sort(chosen)


@pytest.fixture(scope="module")
def problem():
    return made()


def test_finds_what_exact_search_finds(problem):
    X, y, chosen = problem
    model = GTGBMRegressor(**GROUPS, **PARAMS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, y)
    exact = AGBMRegressor(**PARAMS).fit(X, y)
    assert np.flatnonzero(model.support_).tolist() == chosen.tolist()
    np.testing.assert_array_equal(model.support_, exact.support_)
    work = [m.path_[-1].model.ensemble.n_cells for m in (model, exact)]
    assert work[0] < 0.8 * work[1]


def test_the_papers_search_to_the_end_finds_strong_features():
    X, y, chosen = made(n_features=160)
    paper = GTGBMRegressor(expected_features=4, leaf_size=1, group_size=None, **PARAMS)
    with pytest.warns(GroupTestingWarning):
        paper.fit(X, y)
    assert set(chosen) <= set(np.flatnonzero(paper.support_))


@pytest.mark.slow
def test_without_arguments_it_chooses_a_small_subset(problem):
    X, y, chosen = problem
    with pytest.warns(GroupTestingWarning):  # twenty features are expected
        model = GTGBMClassifier(max_iter=20, random_state=0).fit(X, y > np.median(y))
    assert set(chosen) <= set(np.flatnonzero(model.support_))
    assert model.support_.sum() <= 8
    assert "of 2000 features" in str(model.selection_)
    assert model.path_[0].score.origin == "held_out"


def test_random_state_deals_the_features_out(problem):
    X, y, _ = problem
    params = PARAMS | {"penalty": 0.0, "max_iter": 8, "expected_features": 2, "group_size": 32}
    fits = [GTGBMRegressor(**params | {"random_state": seed}).fit(X, y) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(fits[0].support_, fits[1].support_)
    assert (fits[0].support_ != fits[2].support_).any()


def test_sparse_tables_give_the_same(problem):
    X, y, _ = problem
    X = np.where(X < 0.7, 0.0, X)
    dense = GTGBMRegressor(**GROUPS, **PARAMS).fit(X, y)
    sparse = GTGBMRegressor(**GROUPS, **PARAMS).fit(csr_array(X), y)
    np.testing.assert_array_equal(dense.support_, sparse.support_)
    np.testing.assert_array_equal(dense.predict(X), sparse.predict(csr_array(X)))


def test_categories_are_always_searched(problem):
    import pandas as pd

    X, y, _ = problem
    frame = pd.DataFrame(X[:, :600]).add_prefix("c")
    town = np.random.default_rng(1).integers(0, 6, len(y))
    frame["town"] = pd.Categorical(town)
    target = y + np.array([0.0, 5.0, -5.0, 4.0, -4.0, 0.0])[town]
    model = GTGBMRegressor(**GROUPS, **PARAMS).fit(frame, target)
    assert model.support_[-1]


def test_costs_and_budgets_hold(problem):
    X, y, chosen = problem
    costs = np.ones(X.shape[1])
    costs[chosen[0]] = 1000.0
    model = GTGBMRegressor(costs=costs, max_features=2, **GROUPS, **PARAMS).fit(X, y)
    assert model.support_.sum() == 2
    assert not model.support_[chosen[0]]


@pytest.mark.parametrize(
    ("cls", "exact"), [(GTGBMClassifier, "AGBMClassifier"), (GTGBMRegressor, "AGBMRegressor")]
)
def test_a_warning_where_group_testing_does_not_pay(cls, exact, problem):
    X, y, _ = problem
    target = y > np.median(y) if cls is GTGBMClassifier else y
    with pytest.warns(GroupTestingWarning, match=f"Eq. 3.* 40 features.*{exact}") as caught:
        narrow = cls(**PARAMS).fit(X[:, :40], target)
    assert caught[0].filename == __file__
    same = {"AGBMClassifier": AGBMClassifier, "AGBMRegressor": AGBMRegressor}[exact]
    np.testing.assert_array_equal(narrow.support_, same(**PARAMS).fit(X[:, :40], target).support_)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("more", [{}, {"penalty": [0.05, 0.01], "cv": 2}, {"leaf_size": 4}])
def test_where_no_design_pays_the_result_is_that_of_an_exact_search(sparse, more):
    X, y, _ = made(300, 300)
    X = csr_array(np.where(X < 0.5, 0.0, X)) if sparse else X
    with pytest.warns(GroupTestingWarning, match="300 features. All are searched"):
        grouped = GTGBMRegressor(**PARAMS | more).fit(X, y)
    more = {name: value for name, value in more.items() if name != "leaf_size"}
    exact = AGBMRegressor(**PARAMS | more).fit(X, y)
    assert not grouped.design_.has_tests
    assert [s.order.tolist() for s in grouped.path_] == [s.order.tolist() for s in exact.path_]
    assert [s.objective for s in grouped.path_] == [s.objective for s in exact.path_]
    np.testing.assert_array_equal(grouped.predict(X), exact.predict(X))


def test_the_design_tells_how_many_columns_a_node_looks_at(problem):
    X, y, _ = problem
    model = GTGBMRegressor(expected_features=2, **PARAMS | {"max_iter": 2})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, y, np.full(len(y), 4.0))  # as many as 12,000 rows
    assert 0 < model.design_.n_columns <= 500
    assert f"about {model.design_.n_columns} columns" in str(model.design_)
    assert "2,000 features" in str(model.design_)
    with pytest.warns(GroupTestingWarning):
        model.fit(X[:, :100], y)
    assert model.design_.n_columns == 100
    assert "all 100 features" in str(model.design_)


@pytest.mark.parametrize("n_rows", [300, 4_000, 20_000, 80_000, 1_000_000])
@pytest.mark.parametrize("n_features", [1, 2, 30, 2_000, 20_001, 100_000])
@pytest.mark.parametrize("expected", [1, 5, 20, 300])
def test_the_chosen_sizes_have_the_fewest_columns(n_rows, n_features, expected):
    largest = largest_group(n_rows)
    chosen = GroupDesign.of(n_features, GroupTesting(expected, largest=largest))
    assert chosen.n_columns <= n_features
    assert chosen.n_groups <= n_features
    for leaf_size in (1, 2, 4, 7, 16, 32, 100, 1000):
        for size in {s for s in (1, 2, 3, 8, 25, 64, 160, largest) if s <= largest}:
            given = GroupDesign.of(n_features, GroupTesting(expected, 0.1, leaf_size, size))
            if given.n_groups <= n_features and given.is_faster:
                assert chosen.n_columns <= given.n_columns
        auto = GroupDesign.of(n_features, GroupTesting(expected, 0.1, leaf_size, largest=largest))
        assert auto.n_columns <= n_features
        assert auto.is_faster or not auto.has_tests


def test_halving_pays_where_rows_allow_large_groups():
    design = GroupDesign.of(20_000, GroupTesting(20, largest=largest_group(80_000)))
    assert design.leaf > design.entry
    assert design.n_columns <= 2_240  # with leaves of 32: 3,360
    # no size that 80,000 rows allow is faster than an exact search of 2,000 features
    assert not GroupDesign.of(2_000, GroupTesting(20, largest=160)).has_tests
    assert GroupDesign.best(2_000, GroupTesting(20, largest=160)).n_columns <= 1_200


def test_sizes_that_are_given_are_used(problem):
    X, y, chosen = problem
    model = GTGBMRegressor(expected_features=4, group_size=5, leaf_size=3, **PARAMS)
    with pytest.warns(GroupTestingWarning, match="group_size='auto'"):
        model.fit(X[:, chosen[0] : chosen[0] + 80], y)
    assert model.design_.has_tests
    assert model.design_.n_members == 3


def test_memory_is_checked_before_it_is_taken(problem, monkeypatch):
    X, y, _ = problem
    monkeypatch.setattr(memory, "available_memory", lambda: 200_000)
    model = GTGBMRegressor(**GROUPS, **PARAMS)
    with pytest.raises(OutOfMemoryError, match=r"need .* MB of memory. Got 0.2 MB.*'leaf_size'"):
        model.fit(X, y)
    assert not hasattr(model, "selection_")
    monkeypatch.setattr(memory, "available_memory", lambda: None)
    model.fit(X, y)


def test_designs_keep_to_the_memory_of_the_paper():
    # 2 / leaf_size * e * log(s / delta) times the binned data, and the turns of ours within it
    for d, s, leaf, size in [(20_000, 10, 32, 40), (100_000, 10, 32, 20), (5_000, 30, 16, None)]:
        design = GroupDesign.of(d, GroupTesting(s, 0.1, leaf, size))
        bound = 2 / leaf * np.e * np.log(s / 0.1) * d
        assert design.n_groups <= 2 * bound  # halving stops between leaf_size / 2 and leaf_size
        assert design.is_faster == (size is not None)


def test_designs_of_odd_sizes_leave_no_feature_out():
    from secateur.engines.boosted.groups import _cuts

    for d, s, leaf, size in [(7, 3, 1, None), (101, 4, 3, 9), (1000, 7, 8, 30), (5, 9, 1, 2)]:
        design = GroupDesign.of(d, GroupTesting(s, 0.1, leaf, size))
        cuts = _cuts(design)
        assert cuts[0] == 0
        assert cuts[-1] == d * design.n_orders
        assert (np.diff(cuts) >= 0).all()
        assert np.diff(cuts).max() <= max(leaf, 1)


@pytest.mark.parametrize("is_stored", [False, True])
def test_sparse_rows_are_searched_exactly(is_stored, tmp_path):
    """Sums of groups are dense: tests would read more cells than rows store."""
    rng = np.random.default_rng(0)
    X = random_array((3000, 2000), density=0.01, rng=rng, format="csr")
    X.data[:] = np.ceil(5 * X.data)
    y = X[:, [0]].toarray().ravel() + 0.1 * rng.normal(size=3000)
    data = (X, y)
    if is_stored:
        dump_svmlight_file(X, y, str(tmp_path / "rows.svm"))
        data = (open_table(tmp_path / "rows.svm", cache=tmp_path),)
    model = GTGBMRegressor(expected_features=2, **PARAMS | {"max_iter": 2})
    with pytest.warns(
        GroupTestingWarning, match="about 20 stored cells of a row in 2,000 features"
    ):
        model.fit(*data)
    assert not model.design_.has_tests
    assert "A row stores about 20 of them." in str(model.design_)
