from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.feature_selection import SelectFdr, f_classif
from sklearn.linear_model import Lasso
from sklearn.metrics import mutual_info_score

from secateur import compare
from secateur.model_selection.baselines import Baseline
from secateur.model_selection.columns import as_matrix
from secateur.model_selection.filters import information, states
from secateur.model_selection.group_lasso import GroupLasso, group_lasso_path
from secateur.model_selection.trials import at_most, subsets_of
from secateur.path import SelectionPath, Step, StopReason


def problem(n_rows=80, n_features=10, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    return X, (X[:, 2] + X[:, 7] + 0.3 * rng.normal(size=n_rows) > 0).astype(int)


def naive_mrmr(X, y, k):
    F = f_classif(X, y)[0]
    chosen = [int(F.argmax())]
    while len(chosen) < k:
        best, best_worth = -1, -np.inf
        for j in range(X.shape[1]):
            if j not in chosen:
                doubled = np.mean([abs(np.corrcoef(X[:, j], X[:, s])[0, 1]) for s in chosen])
                if F[j] / max(doubled, 1e-3) > best_worth:
                    best, best_worth = j, F[j] / max(doubled, 1e-3)
        chosen.append(best)
    return chosen


@settings(max_examples=20)
@given(st.integers(0, 10**6))
def test_mrmr_is_the_greedy_quotient(seed):
    X, y = problem(n_rows=40, n_features=8, seed=seed)
    assert Baseline("mrmr").fit(X, y).order_[:6].tolist() == naive_mrmr(X, y, 6)


def test_mrmr_ranks_as_many_as_are_asked_for():
    X, y = problem(n_features=90)
    found = compare(X, y, "mrmr", sizes=[5, 70], cv=2, validators="logistic", random_state=0)
    assert {len(s.support) for trial in found.trials for s in trial.subsets} == {5, 70}
    assert len(Baseline("mrmr").fit(X, y).order_) == 50


def test_mrmr_is_the_same_for_sparse_tables():
    X, y = problem()
    X = np.where(np.abs(X) < 0.7, 0.0, X)
    dense, sparse = (Baseline("mrmr").fit(table, y).order_ for table in (X, csr_matrix(X)))
    assert dense.tolist() == sparse.tolist()


def test_the_f_test_chooses_like_scikit_learns_false_discovery_rate():
    X, y = problem()
    found = Baseline("f_classif").fit(X, y)
    known = SelectFdr(alpha=0.05).fit(X, y).get_support(indices=True)
    assert sorted(found.order_[: found.n_own_]) == sorted(known)
    assert found.order_[0] in {2, 7}


def test_constant_columns_come_last():
    X, y = problem()
    X[:, 2] = 1.0
    assert Baseline("f_classif").fit(X, y).order_[-1] == 2


@pytest.mark.parametrize("method", [Baseline("l1"), Baseline("rfecv")])
def test_models_find_what_matters(method):
    X, y = problem()
    assert sorted(method.fit(X, y).order_[:2]) == [2, 7]
    assert 1 <= method.n_own_ <= 10


@pytest.mark.slow
def test_elimination_of_many_columns_ends_one_by_one():
    X, y = problem(n_features=54)
    order = Baseline("rfecv").fit(X, y).order_
    assert sorted(order) == list(range(54))
    assert {2, 7} <= set(order[:5])


def chosen_from(steps, size):
    path = SelectionPath(steps, StopReason.FINISHED, list("abcde"), "demo")
    return at_most(path, [step.order for step in path], size).tolist()


def test_a_path_is_filled_up_with_what_enters_next():
    steps = [Step.of([3]), Step.of([3, 1, 0]), Step.of([4, 3, 1, 0, 2])]
    assert chosen_from(steps, 2) == [3, 1]
    assert chosen_from(steps, 4) == [3, 1, 0, 4]
    assert chosen_from(steps, 9) == [4, 3, 1, 0, 2]
    assert chosen_from([Step.of([4, 2, 0])], 2) == [4, 2]


def test_a_support_without_a_ranking_gives_only_what_fits():
    class Mask:
        def get_support(self):
            return np.array([True, False, True])

    assert [(s.size, s.order.tolist()) for s in subsets_of(Mask(), [1, 2])] == [
        (2, [0, 2]),
        (None, [0, 2]),
    ]


def test_matrices_are_of_one_scale_without_gaps():
    X, _ = problem()
    X[::5, 0] = np.nan
    X[:, 1] = 3.0
    values = as_matrix(X)[0]
    assert np.isfinite(values).all()
    assert values[:, 2:].std(axis=0) == pytest.approx(1.0)
    assert (values[:, 1] == 0.0).all()
    sparse = as_matrix(csr_matrix(np.abs(problem()[0])))[0]
    assert sparse.toarray().std(axis=0) == pytest.approx(1.0)


def naive_mrmr_mi(X, y, k):
    codes = [states(column) for column in X.T]
    chosen = []
    while len(chosen) < k:
        worth = {
            j: mutual_info_score(codes[j], y)
            - np.mean([mutual_info_score(codes[j], codes[s]) for s in chosen] or [0.0])
            for j in range(X.shape[1])
            if j not in chosen
        }
        chosen.append(max(worth, key=worth.get))
    return chosen


@pytest.mark.parametrize("seed", range(3))
def test_mrmr_by_information_is_the_greedy_difference(seed):
    X, y = problem(n_rows=60, n_features=8, seed=seed)
    X[:, 3] = np.round(X[:, 3])
    found = Baseline("mrmr_mi").fit(X, y).order_
    assert found.tolist() == naive_mrmr_mi(X, y, 8)
    sparse = csr_matrix(np.where(np.abs(X) < 0.7, 0.0, X))
    assert Baseline("mrmr_mi").fit(sparse, y).order_.tolist() == naive_mrmr_mi(
        sparse.toarray(), y, 8
    )


def test_information_of_categories_is_that_of_all_their_values():
    rng = np.random.default_rng(0)
    town = rng.integers(0, 26, 400)
    y = np.isin(town, [3, 8, 14, 20, 25]).astype(int)
    frame = pd.DataFrame({"x": y + rng.normal(size=400), "town": pd.Categorical(town)})
    assert Baseline("mrmr_mi").fit(frame, y).order_[0] == 1


def test_information_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    codes, target = rng.integers(0, 4, (50, 3)).astype(np.int8), rng.integers(0, 3, 50)
    known = [mutual_info_score(column, target) for column in codes.T]
    assert information(codes, target) == pytest.approx(known)


def grouped(n_rows=120):
    """Three groups of four columns; the second one matters."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 12))
    return X, X[:, 4:8].sum(axis=1) + rng.normal(size=n_rows), np.repeat([5, 1, 7], 4)


@pytest.mark.parametrize("is_classes", [True, False])
def test_group_lasso_meets_the_conditions_of_its_optimum(is_classes):
    X, y, groups = grouped()
    y = np.digitize(y, [-1.0, 1.0]) if is_classes else y
    model = GroupLasso(X, y, groups, is_classes=is_classes)
    top = model.largest_penalty()
    none, weights = model.path([1.001 * top, 0.3 * top])
    assert not none[:-1].any()
    slope = model._gradient(weights)
    assert slope[-1] == pytest.approx(0.0, abs=1e-3)
    for g in np.unique(groups):
        inside, pull = weights[:-1][groups == g], slope[:-1][groups == g]
        limit, norm = 0.3 * top * 2.0, np.linalg.norm(inside)  # the root of four columns is 2
        if norm > 0:
            assert pull == pytest.approx(-limit * inside / norm, abs=1e-2 * limit)
        else:
            assert np.linalg.norm(pull) <= limit


def test_group_lasso_of_single_columns_is_the_lasso():
    X, y, _ = grouped()
    model = GroupLasso(X, y, np.arange(12), is_classes=False)
    *_, weights = model.path(np.geomspace(1.0, 0.1, 5))
    assert weights[:-1, 0] == pytest.approx(Lasso(0.1, tol=1e-10).fit(X, y).coef_, abs=1e-3)


def test_group_lasso_takes_whole_groups():
    X, y, groups = grouped()
    found = Baseline("group_lasso", "regression", feature_groups=groups).fit(X, y)
    assert set(found.order_[:4]) == {4, 5, 6, 7}
    assert found.n_own_ % 4 == 0
    sizes, best = group_lasso_path(csr_matrix(X), y > 0, groups, 0, is_classes=True)
    assert sizes[best][4:8].all()


@pytest.mark.parametrize("name", ["hsic_lasso", "rf_topk", "gbdt_topk"])
def test_rankers_of_other_packages_find_what_matters(name):
    pytest.importorskip({"hsic_lasso": "pyHSICLasso", "gbdt_topk": "lightgbm"}.get(name, "sklearn"))
    X, _ = problem(n_features=8)
    y = (X[:, 5] > 0).astype(int)
    assert Baseline(name, random_state=0).fit(X, y).order_[0] == 5
