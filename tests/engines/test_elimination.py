"""Backward elimination: which features are dropped, steps of the sizes asked for, limits."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from secateur import AGBMClassifier, AGBMRegressor
from secateur._kernels.threads import Threads
from secateur.data.binning import bin_table, take_columns
from secateur.data.costs import FeatureCosts
from secateur.data.frames import read_table
from secateur.data.table import Fold
from secateur.engines.boosted import elimination
from secateur.engines.boosted.elimination import (
    Elimination,
    can_eliminate,
    can_try,
    with_most_gain,
)
from secateur.engines.boosted.engine import BoostedData
from secateur.engines.boosted.search import BoostedEngine
from secateur.engines.boosted.trees import BoostingParams
from secateur.engines.boosted.whole_fit import boost_small
from secateur.losses import get_loss
from secateur.path.cutting import Best

PARAMS = BoostingParams(n_rounds=40, min_samples_leaf=20)
N_ROWS = 1500


def rows(n_rows=N_ROWS, seed=0):
    """Three informative features, a noisy copy of each, six of noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 12))
    X[:, 3:6] = X[:, :3] + rng.normal(size=(n_rows, 3))
    raw = 1.5 * X[:, 0] - 1.5 * X[:, 1] + X[:, 2] * X[:, 0]
    return X, (raw + 0.5 * rng.normal(size=n_rows) > 0).astype(float)


def data_of(X, y, *, costs=None, n_threads=1):
    table = read_table(X)
    columns, cost_model = bin_table(table, np.ones(len(y))), (costs or FeatureCosts())
    loss = get_loss("log_loss", n_classes=2)
    bound = cost_model.bind(table.names)
    return BoostedData(columns, y, np.ones(len(y)), loss, bound, Threads(n_threads))


@pytest.fixture(scope="module")
def data():
    return data_of(*rows())


@pytest.fixture(scope="module")
def fold():
    place = np.arange(N_ROWS) % 4
    return Fold(np.flatnonzero(place != 0), np.flatnonzero(place == 0))


def naive_elimination(data, train, features, size):
    """The same by its definition: every feature is tried, every fit is made again."""
    params = replace(
        PARAMS, learning_rate=elimination.SHORT_RATE, n_rounds=elimination.SHORT_ROUNDS
    )
    order = np.lexsort((np.random.default_rng(0).random(len(train)), data.target[train]))
    order = train[order]
    held = order[3::4]
    fold = Fold(np.setdiff1d(order, held), np.sort(held))
    left = list(features)
    while len(left) > size:
        losses = []
        for gone in left:
            columns = take_columns(data.columns, np.array([j for j in left if j != gone]))
            given = (data.target, data.weight, data.loss, params)
            raw, *_ = boost_small(columns, *given, fold)
            losses.append(data.loss.scores(data.target[fold.test], raw[:, fold.test]).mean())
        left.pop(int(np.argmin(losses)))
    return left


def test_the_features_that_are_left_are_those_of_the_naive_loop(data, fold):
    found = Elimination(data, PARAMS, fold.train, np.arange(12)).down_to(3, 0.0, 11)
    assert sorted(found) == sorted(naive_elimination(data, fold.train, np.arange(12), 3))
    assert sorted(found) == [0, 1, 2]


@pytest.mark.parametrize("way", [(0.0, 5), (0.3, 5)])
def test_few_candidates_and_several_at_once_leave_the_informative_features(data, fold, way):
    elimination = Elimination(data, PARAMS, fold.train, np.arange(12))
    sizes = [len(elimination.down_to(size, *way)) for size in (9, 5, 3)]
    assert sizes == [9, 5, 3]
    assert sorted(elimination.down_to(3, *way)) == [0, 1, 2]


def test_two_threads_drop_the_same_features(fold):
    found = [
        Elimination(data_of(*rows(), n_threads=n), PARAMS, fold.train, np.arange(12)).down_to(
            4, 0.0, 5
        )
        for n in (1, 2)
    ]
    np.testing.assert_array_equal(*found)


def test_kept_features_stay(fold):
    costs = FeatureCosts(keep=["x11"])
    data = data_of(*rows(), costs=costs)
    assert 11 in Elimination(data, PARAMS, fold.train, np.arange(12)).down_to(3, 0.0, 5)


def test_steps_have_the_sizes_asked_for_and_scores_of_their_own(data, fold):
    engine = BoostedEngine(data, PARAMS, [fold], 10)
    base = engine.fit(0.0)
    steps = []
    for step in engine.eliminate(base, [6, 3]):
        assert len(engine.fold_losses(step)) == 1
        steps.append(step)
    assert [step.n_features for step in steps] == [6, 3]
    assert all(set(step.support) <= set(base.support) for step in steps)
    assert len({base.penalty, *(step.penalty for step in steps)}) == 3


def test_where_trials_take_too_much_work_the_features_of_least_gain_go(data, fold, monkeypatch):
    engine = BoostedEngine(data, PARAMS, [fold], 10)
    base = engine.fit(0.0)
    monkeypatch.setattr(elimination, "MAX_WORK", 0.0)
    monkeypatch.setattr(elimination, "LITTLE_WORK", 0.0)
    steps = list(engine.eliminate(base, [6, 3]))
    assert [step.n_features for step in steps] == [6, 3]
    for before, after in pairwise([base, *steps]):
        most = before.support[np.argsort(-before.weight)[: after.n_features]]
        assert after.support.tolist() == sorted(most)


@pytest.mark.parametrize(("size", "expected"), [(3, [0, 3, 4]), (1, [3]), (5, [0, 1, 3, 4])])
def test_features_that_are_kept_go_before_those_with_the_largest_gain(size, expected):
    keep = np.arange(5) == 3
    found = with_most_gain(np.array([0, 1, 3, 4]), np.array([3.0, 1.0, 0.0, 2.0]), keep, size)
    assert found.tolist() == expected


def test_short_fits_decide_with_one_cost_and_many_rows_only(data, fold):
    assert can_try(data, [fold])
    costly = data_of(*rows(), costs=FeatureCosts([1.0] * 11 + [2.0]))
    assert can_eliminate(costly, PARAMS, [fold])
    assert not can_try(costly, [fold])
    assert not can_try(data, [Fold(np.arange(100), np.arange(100, N_ROWS))])


def test_features_of_a_budget_or_of_groups_are_not_eliminated(data, fold):
    assert not can_eliminate(data, replace(PARAMS, cost_budget=3.0), [fold])
    grouped = data_of(*rows(), costs=FeatureCosts(feature_groups=["a", "b"] * 6))
    assert not can_eliminate(grouped, PARAMS, [fold])


@pytest.mark.parametrize(("price", "are_first"), [(1.001, True), (1000.0, False)])
def test_gains_are_divided_by_costs(fold, price, are_first):
    costs = np.append(np.full(3, price), np.ones(9))  # the first three help most
    engine = BoostedEngine(data_of(*rows(), costs=FeatureCosts(costs)), PARAMS, [fold], 10)
    (step,) = engine.eliminate(engine.fit(0.0), [2])
    assert (step.support < 3).tolist() == [are_first] * 2


@pytest.mark.parametrize(
    ("n_rows", "more"),
    [(300, {}), (300, {"costs": np.arange(1.0, 13.0)}), (1200, {"loss": "absolute_error"})],
)
def test_the_sizes_of_a_path_have_no_gaps_below_the_best(n_rows, more):
    """Where short fits do not decide, penalties between and features of little gain fill gaps."""
    X, y = rows(n_rows)
    path = AGBMRegressor(random_state=0, max_iter=40, **more).fit(X, y).path_
    best = path[Best().choose(path)].n_features
    assert best >= 2
    sizes = sorted({step.n_features for step in path if 0 < step.n_features <= best})
    assert sizes[0] == 1
    assert all(larger <= 3 * smaller for smaller, larger in pairwise(sizes))


@pytest.mark.parametrize("more", [{"max_features": 3}, {"cut": 3}])
def test_a_wanted_size_is_the_best_subset_of_that_size(more):
    X, y = rows(1200)
    model = AGBMClassifier(random_state=0, max_iter=40, **more).fit(X, y)
    assert model.get_support(indices=True).tolist() == [0, 1, 2]
    assert any("eliminated_from" in step.details for step in model.path_)


def test_no_step_has_more_features_than_the_limit():
    X, y = rows(1200)
    path = AGBMRegressor(random_state=0, max_iter=40, max_features=4).fit(X, y).path_
    assert 1 <= path.n_features.max() <= 4


def test_an_interrupted_search_is_resumed_to_the_same_path():
    X, y = rows(1200)
    params = {"random_state": 0, "max_iter": 20, "max_features": 3}
    whole = AGBMClassifier(**params).fit(X, y).path_
    n_steps = len(whole) - 1
    assert "eliminated_from" in whole[n_steps].details
    seen = []

    def stop(step):
        seen.append(step)
        if len(seen) == n_steps:
            raise KeyboardInterrupt

    begun = AGBMClassifier(**params, on_step=stop, on_interrupt="keep")
    with pytest.warns(UserWarning, match="interrupted"):
        begun.fit(X, y)
    path = AGBMClassifier(**params).fit(X, y, resume=begun.path_).path_
    assert [s.support.tolist() for s in path] == [s.support.tolist() for s in whole]
    assert [s.score for s in path] == [s.score for s in whole]


@pytest.mark.parametrize("penalty", ["auto", [0.05, 0.01]])
def test_the_chosen_model_is_fitted_to_all_rows(penalty):
    X, y = rows(5401)
    model = AGBMClassifier(random_state=0, max_iter=15, penalty=penalty).fit(X, y)
    chosen = model.path_[model.selection_.index]
    share = y.mean()
    np.testing.assert_allclose(chosen.model.ensemble.baseline, np.log(share / (1 - share)))
    others = [step for step in model.path_ if step is not chosen and step.n_features]
    assert all(step.model.ensemble.baseline != chosen.model.ensemble.baseline for step in others)
