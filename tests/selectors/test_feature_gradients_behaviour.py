"""What users of Feature Gradients count on, beyond what all selectors share."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from secateur import FeatureCosts, FeatureGradientsSelector
from secateur.exceptions import InputError, ParameterError


def rows(n=400, n_features=30, seed=0, informative=(1, 5, 9)):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    return X, X[:, list(informative)].sum(axis=1) + 0.5 * rng.normal(size=n)


def quick(**params):
    return FeatureGradientsSelector(
        **{"max_epochs": 40, "learning_rate": 0.2, "random_state": 0, "cv": 2, **params}
    )


@pytest.mark.parametrize("target_type", ["regression", "classification", "ordinal"])
def test_no_arguments_find_what_matters_and_nothing_else(target_type):
    X, signal = rows(800)
    y = signal if target_type == "regression" else np.digitize(signal, [-1.0, 1.0])
    selector = FeatureGradientsSelector(target_type=target_type, random_state=0, max_epochs=40).fit(
        X, y
    )
    assert set(np.flatnonzero(selector.support_)) == {1, 5, 9}
    assert selector.target_type_ == target_type
    assert selector.selection_.score.origin == "held_out"
    assert "held-out" in str(selector.selection_)


def few_rows(n=60, n_features=300, seed=0):
    """Columns in blocks that say nearly the same, as genes do, and few rows."""
    rng = np.random.default_rng(seed)
    hidden = np.repeat(rng.normal(size=(n, 6)), n_features // 6, axis=1)
    X = hidden + 0.5 * rng.normal(size=(n, n_features))
    return X, X[:, ::50].sum(axis=1) + 0.3 * rng.normal(size=n)


def test_no_arguments_select_at_most_a_feature_for_two_rows():
    X, y = few_rows()
    selector = FeatureGradientsSelector(random_state=0).fit(X, y)
    assert 1 <= selector.support_.sum() <= 30
    assert 15 <= selector.path_.n_features.max() <= 30  # penalties between were tried
    assert selector.path_.stop_reason == "max_features"
    assert selector.selection_.score.origin == "held_out"
    asked = FeatureGradientsSelector(random_state=0, cut="best").fit(X, y)
    assert asked.path_.n_features.max() > 30  # who asks for a cut is not limited
    wider = FeatureGradientsSelector(random_state=0, max_features=100).fit(X, y)
    assert 30 < wider.path_.n_features.max() <= 100  # nor is who gives a limit


def one_bad_fold(n=60, n_features=300):
    """Two classes, far apart in six columns, but for ten rows, all in one validation fold."""
    y = np.arange(n) % 2
    looks = np.where(np.arange(n) < 10, 1 - y, y)
    X = np.random.default_rng(0).normal(size=(n, n_features))
    X[:, :6] += 3.0 * (2 * looks - 1)[:, None]
    parts = np.array_split(np.arange(n), 5)
    return X, y, [(np.setdiff1d(np.arange(n), part), part) for part in parts]


def test_a_fold_that_is_wrong_with_confidence_does_not_empty_the_selection():
    X, y, cv = one_bad_fold()
    selector = FeatureGradientsSelector(random_state=0, max_epochs=30, cv=cv).fit(X, y)
    assert 1 <= selector.support_.sum() <= 6
    assert set(np.flatnonzero(selector.support_)) <= set(range(6))
    score = selector.selection_.score
    assert score.folds[0] > np.log(2) > score.mean  # that fold is still predicted badly


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_no_arguments_select_nothing_where_there_is_nothing(seed):
    X, y = np.random.default_rng(seed).normal(size=(80, 100)), np.arange(80) % 2
    assert not FeatureGradientsSelector(random_state=0).fit(X, y).support_.any()


@pytest.mark.parametrize(
    ("n_columns", "is_scored", "limit"),
    [
        (400, True, 20),
        (401, True, None),
        (401, False, 8),
    ],
)
def test_held_out_scores_alone_limit_wide_tables(n_columns, is_scored, limit):
    X, y = np.random.default_rng(0).normal(size=(40, n_columns)), np.arange(40) % 2
    selector = FeatureGradientsSelector()
    given = selector._problem(X, y, None)
    assert given.max_features(selector, is_scored=is_scored) == limit


def test_a_step_without_features_is_scored_as_the_constant():
    X, y = rows(90)
    labels, expected = y > 0.4, []
    folds = list(StratifiedKFold(3).split(X, labels))
    for train, test in folds:
        share = labels[train].mean()
        expected.append(-np.log(np.where(labels[test], share, 1 - share)).mean())
    path = quick(cv=folds).fit(X, labels).path_
    assert path[0].n_features == 0
    assert path[0].score.folds == pytest.approx(tuple(expected))


@pytest.mark.slow
def test_rows_of_chowdary_that_once_selected_nothing(load_set):
    data = load_set("chowdary")
    folds = list(StratifiedKFold(5, shuffle=True, random_state=7).split(data["X"], data["y"]))
    train, _ = folds[1]
    selector = FeatureGradientsSelector(random_state=0).fit(data["X"][train], data["y"][train])
    assert 1 <= selector.support_.sum() <= len(train) // 2
    assert selector.path_[0].n_features == 0
    score, constant = selector.selection_.score, selector.path_[0].score
    assert (
        score.mean + score.standard_error < constant.mean
    )  # the gain is more than one standard error


def test_what_costs_nothing_and_what_comes_in_groups_does_not_count():
    X, y = few_rows()
    costs = FeatureCosts(dict.fromkeys(range(30), 0.0), keep=list(range(100, 110)))
    free = quick(costs=costs).fit(X, y)
    assert free.support_[100:110].all()
    assert free.path_.n_features.min() >= 10
    assert free.path_.n_features.max() <= 40 + 30
    grouped = quick(feature_groups=np.arange(300) // 50).fit(X, y)
    assert grouped.support_.sum() >= 50
    classes = quick().fit(X, np.digitize(y, [-3.0, 3.0])).path_.n_features
    assert 30 < classes.max() <= 90  # three questions


def test_scores_inclusion_and_support_agree():
    X, y = rows()
    selector = quick(penalty=0.5).fit(X, y)
    assert selector.scores_[selector.support_].min() > selector.scores_[~selector.support_].max()
    np.testing.assert_allclose(selector.inclusion_, 1 / (1 + np.exp(-2 * selector.scores_)))
    step = selector.path_[selector.selection_.index]
    np.testing.assert_allclose(step.weight, selector.inclusion_[step.support])


def test_every_step_of_one_search_remembers_where_it_was():
    X, y = rows()
    selector = quick(penalty=0.5).fit(X, y)
    assert len(selector.path_) > 1
    for size in np.unique(selector.path_.n_features):
        early = selector.with_cut(int(size))
        step = early.path_[early.selection_.index]
        np.testing.assert_allclose(step.weight, early.inclusion_[step.support])


@pytest.mark.parametrize("n_features", [1, 2, 7, 30])
def test_a_wanted_number_is_met_exactly(n_features):
    X, y = rows()
    selector = quick(n_features=n_features).fit(X, y)
    assert selector.support_.sum() == n_features
    assert selector.selection_.index == len(selector.path_) - 1
    if n_features >= 3:
        assert selector.support_[[1, 5, 9]].all()
    sizes = selector.path_.n_features[:-1]
    if 3 < n_features < 30:
        assert np.abs(sizes - n_features).min() <= 3  # its penalty was looked for


def test_the_estimate_is_near_the_true_value_and_says_what_it_is():
    X, y = rows(3000)
    found = quick(penalty=0.3).fit(X, y).learnability_
    assert found.is_estimate
    assert found.kind == "residual variance"
    assert float(found) == pytest.approx(0.25 / 3.25, abs=0.06)
    assert str(found).startswith("estimated residual variance 0.")
    labels = quick(penalty=0.3).fit(X, y > 0).learnability_
    assert labels.kind == "error rate"
    assert 0.02 < float(labels) < 0.2


@pytest.mark.parametrize("share", [0.5, 0.2, 0.05])
def test_the_estimated_error_rate_is_that_of_classes_of_any_share(share):
    rng = np.random.default_rng(0)
    y = rng.random(8000) < share
    X = rng.normal(size=(8000, 6))
    X[:, :2] += 1.5 * y[:, None]
    error = 1.0 - LogisticRegression().fit(X[:, :2], y).score(X[:, :2], y)
    found = quick(penalty=0.3).fit(X, y)
    assert found.support_[:2].all()
    assert float(found.learnability_) == pytest.approx(error, abs=0.02)
    in_blocks = ((X[k::8], y[k::8]) for k in range(8))
    stream = FeatureGradientsSelector(random_state=0).fit(in_blocks)
    assert float(stream.learnability_) < share + 0.01


def test_the_order_of_rows_does_not_matter():
    X, y = rows()
    order = np.random.default_rng(3).permutation(len(y))
    plain, mixed = quick(penalty=0.2).fit(X, y), quick(penalty=0.2).fit(X[order], y[order])
    np.testing.assert_array_equal(plain.support_, mixed.support_)
    np.testing.assert_allclose(plain.scores_, mixed.scores_, atol=1e-3)


def test_units_of_columns_do_not_matter_unless_asked():
    X, y = rows()
    scale = 10.0 ** np.random.default_rng(1).integers(-3, 4, 30)
    plain, scaled = quick(n_features=3).fit(X, y), quick(n_features=3).fit(X * scale, y)
    np.testing.assert_array_equal(plain.support_, scaled.support_)
    raw = quick(n_features=3, standardize=False).fit(X * scale, y)
    assert not np.array_equal(raw.support_, plain.support_)


def test_fractional_weights_are_relative():
    X, y = rows(600)
    other = rows(600, seed=1, informative=(2, 6))
    both, target = np.vstack([X, other[0]]), np.r_[y, other[1]]
    weight = np.r_[np.full(600, 0.97), np.full(600, 0.01)]
    selector = quick(n_features=3).fit(both, target, sample_weight=weight)
    assert set(np.flatnonzero(selector.support_)) == {1, 5, 9}
    same = quick(n_features=3).fit(both, target, sample_weight=weight * 3.7)
    np.testing.assert_allclose(same.scores_, selector.scores_, atol=1e-6)


def test_hard_groups_come_and_go_together():
    X, y = rows(800)
    groups = np.arange(30) // 3
    selector = quick(feature_groups=groups).fit(X, y)
    for step in selector.path_:
        chosen = np.isin(np.arange(30), step.support).reshape(10, 3)
        assert (chosen.all(axis=1) == chosen.any(axis=1)).all()
        assert step.cost == chosen.any(axis=1).sum()
    assert set(groups[selector.support_]) == {0, 1, 3}
    two = quick(feature_groups=groups, n_features=7).fit(X, y)
    assert two.support_.sum() == 6  # whole groups, as many as fit


def test_soft_groups_pay_for_their_largest_member():
    X, y = rows(800, informative=(0, 1, 2, 9))
    groups = ["a"] * 3 + [None] * 27
    priced = {"costs": dict.fromkeys(range(30), 1.0), "max_epochs": 100}
    top = quick(penalty=6.0, **priced).fit(X, y).support_[:3].sum()
    soft = quick(penalty=6.0, feature_groups=groups, group_mode="soft", **priced).fit(X, y)
    assert soft.support_[:3].sum() >= top
    assert soft.support_[:3].all()
    overlapping = np.zeros((30, 2), bool)
    overlapping[:3, 0] = overlapping[2:5, 1] = True
    quick(penalty=1.0, feature_groups=overlapping, group_mode="soft").fit(X, y)
    with pytest.raises(InputError, match=r"must not overlap.*Got a feature in 2 groups.*'soft'"):
        quick(penalty=1.0, feature_groups=overlapping).fit(X, y)


def test_soft_cost_gradients_are_those_of_a_shared_maximum():
    from secateur.engines.feature_gradients.units import SOFTNESS, Units

    cost_model = FeatureCosts([2.0, 3.0, 1.0], feature_groups=["a", "a", None]).bind(
        ["x", "y", "z"]
    )
    units = Units(cost_model, np.arange(3), "soft")
    s = np.array([0.6, 0.58, 0.5])
    share = np.exp(s[:2] / SOFTNESS) / np.exp(s[:2] / SOFTNESS).sum()
    np.testing.assert_allclose(units.cost_gradient(s), [*(2.0 * share), 1.0])
    assert units.total_cost(s) == pytest.approx(2.0 * 0.6 + 0.5)


def test_kept_features_are_in_every_step():
    X, y = rows()
    selector = quick(costs=FeatureCosts(keep=[20, 21])).fit(X, y)
    assert all({20, 21} <= set(step.support) for step in selector.path_)
    assert (selector.inclusion_[[20, 21]] == 1.0).all()
    assert selector.selection_.cost == selector.support_.sum() - 2
    X[:, 20] = 1.0  # a constant says nothing, but was asked for
    assert quick(costs=FeatureCosts(keep=[20])).fit(X, y).support_[20]


def test_neighbours_make_patches():
    X, y = rows(600, n_features=25, informative=(6, 7, 11, 12))
    beside = FeatureCosts(neighbours=(5, 5), discount=0.1)
    selector = quick(penalty=3.0, costs=beside).fit(X, y)
    assert selector.support_[[6, 7, 11, 12]].sum() >= 3


@pytest.mark.parametrize("order", [1, 7, 12])
def test_other_orders_select_as_well(order):
    X, y = rows(600)
    assert quick(order=order, n_features=3).fit(X, y).support_[[1, 5, 9]].all()


def test_interactions_of_correlated_features_need_an_order_above_one():
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(2000, 1))
    X = rng.normal(size=(2000, 12))
    X[:, :2] = 0.98 * hidden + 0.2 * X[:, :2]  # the difference of two alike columns matters
    X[:, 2] = X[:, 3] + rng.normal(size=2000)
    y = 6.0 * (X[:, 0] - X[:, 1]) + X[:, 3] + 0.3 * rng.normal(size=2000)
    high = quick(order=8, n_features=3, max_epochs=60).fit(X, y)
    first = quick(order=1, n_features=3, max_epochs=60).fit(X, y)
    assert high.support_[[0, 1]].all()
    assert high.learnability_.value < first.learnability_.value


def test_init_says_where_to_begin():
    X, y = rows()
    start = np.full(30, -2.0)
    start[[1, 5, 9]] = 2.0
    one = quick(penalty=0.2, init=start, max_epochs=1).fit(X, y)
    assert set(np.flatnonzero(one.support_)) == {1, 5, 9}


BAD = {
    "too few rows": (lambda X, y: (X[:5], y[:5]), {}, "needs at least 6 rows. Got 5 rows"),
    "one class": (lambda X, y: (X, np.zeros(len(y))), {}, "at least two classes|must vary"),
    "constant numbers": (
        lambda X, y: (X, np.full(len(y), 0.5)),
        {},
        "must vary.*the same value in every row",
    ),
    "categories": (
        lambda X, y: (pd.DataFrame(X).assign(c=pd.Categorical(["a", "b"] * 200)), y),
        {},
        "names|category column",
    ),
    "more than there are": (lambda X, y: (X, y), {"n_features": 31}, "'n_features' must be from"),
    "init too long": (lambda X, y: (X, y), {"init": np.zeros(31)}, "'init' must be.*30"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_with_advice(case):
    spoil, params, match = BAD[case]
    with pytest.raises((InputError, ParameterError, TypeError), match=match):
        quick(**params).fit(*spoil(*rows()))


def test_only_constant_columns_select_nothing():
    y = np.random.default_rng(0).normal(size=100)
    selector = quick().fit(np.ones((100, 4)), y)
    assert not selector.support_.any()
    assert selector.learnability_.value == 1.0


def test_values_too_far_apart_are_named():
    X, y = rows()
    X[0] = 1e30
    for table in (X, sp.csr_array(X)):
        with pytest.raises(InputError, match=r"must be finite.*Got [19].* Use standardize=True"):
            quick(penalty=1.0, standardize=False).fit(table, y)
    X[0] = 1e12
    found = quick(penalty=1.0, standardize=False, order=12, max_epochs=2).fit(X, y)
    assert np.isfinite(found.path_[-1].objective)


def test_a_wide_sparse_table_is_never_made_dense():
    rng = np.random.default_rng(0)
    X = sp.random(300, 100_000, density=2e-4, format="csr", random_state=0)
    X = sp.csr_array(X)
    signal = rng.normal(size=300)
    X = sp.hstack([X, sp.csr_array(np.where(rng.random(300) < 0.5, signal, 0.0)[:, None])]).tocsr()
    selector = quick(penalty=30.0, max_epochs=15).fit(X, signal)
    assert selector.support_[100_000]
    assert selector.support_.sum() < 1000
