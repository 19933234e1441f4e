"""What boosted trees with priced features find, on problems with a known answer."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.metrics import (
    mean_absolute_error,
    mean_pinball_loss,
    mean_poisson_deviance,
    mean_squared_error,
    r2_score,
)
from sklearn.model_selection import KFold

from secateur import (
    AGBMClassifier,
    AGBMRegressor,
    Best,
    FeatureCosts,
    GBFSClassifier,
    GBFSRegressor,
    NearBest,
    StopReason,
)
from secateur.datasets import make_nonlinear_pair, make_wide

CLASSIFIERS = [GBFSClassifier, AGBMClassifier]
REGRESSORS = [GBFSRegressor, AGBMRegressor]


@pytest.mark.parametrize("cls", CLASSIFIERS)
@pytest.mark.parametrize(("penalty", "seed"), [(0.03, 0), (0.03, 1), (0.03, 2), ("auto", 0)])
def test_finds_the_nonlinear_pair_of_figure_1(cls, penalty, seed):
    train, test = make_nonlinear_pair(2000, seed), make_nonlinear_pair(1000, 100 + seed)
    selector = cls(penalty=penalty, max_iter=30, random_state=0).fit(train.X, train.y)
    assert selector.support_.tolist() == [True, True, False]
    assert selector.score(test.X, test.y) == 1.0


@pytest.mark.parametrize("cls", CLASSIFIERS + REGRESSORS)
def test_defaults_give_a_small_subset_and_a_good_model(cls):
    classify = cls in CLASSIFIERS
    made = make_wide(900, 40, 6, 4, target_type="classification" if classify else "regression")
    selector = cls(random_state=0, max_iter=30).fit(made.X[:600], made.y[:600])
    assert 2 <= selector.support_.sum() <= 12
    assert selector.support_[[*made.relevant, *made.redundant]].sum() >= selector.support_.sum() - 3
    everything = cls(penalty=0.0, random_state=0, max_iter=30).fit(made.X[:600], made.y[:600])
    slack = 0.06
    assert selector.score(made.X[600:], made.y[600:]) > (
        everything.score(made.X[600:], made.y[600:]) - slack
    )
    assert selector.selection_.rule == repr(NearBest())
    assert selector.selection_.score.origin == "held_out"


def test_small_subset_of_a_real_table():
    X, y = load_breast_cancer(return_X_y=True)
    selector = AGBMClassifier(random_state=0, max_iter=40).fit(X[::2], y[::2])
    assert selector.support_.sum() <= 12
    assert selector.score(X[1::2], y[1::2]) > 0.93


# ---- the penalty ------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_a_higher_penalty_buys_fewer_features(cls):
    X, y = load_breast_cancer(return_X_y=True)
    grid = [0.0, 0.02, 0.2, 0.9] if cls is AGBMClassifier else [0.0, 2.0, 20.0, 1e6]
    sizes = [cls(penalty=p, max_iter=20).fit(X, y).support_.sum() for p in grid]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[1] > sizes[2]
    assert sizes[-1] <= 1


@pytest.mark.parametrize("cls", REGRESSORS)
def test_a_grid_of_ones_own(cls):
    X, y = load_diabetes(return_X_y=True)
    given = np.array([0.01, 0.1, 0.03])
    selector = cls(penalty=given, max_iter=30, cv=3, random_state=0).fit(X, y)
    penalties = [step.penalty for step in selector.path_]
    assert penalties == [c for c in (0.1, 0.03, 0.01) if c in penalties]
    assert selector.path_.has_scores
    assert given.tolist() == [0.01, 0.1, 0.03]
    alone = cls(penalty=[0.03], max_iter=30, cv=3, random_state=0).fit(X, y)
    index = penalties.index(0.03)
    assert alone.path_[0].score.mean == selector.path_[index].score.mean


@pytest.mark.parametrize("cls", CLASSIFIERS + REGRESSORS)
def test_one_penalty_is_one_fit_whose_steps_are_its_supports(cls):
    X, y = load_breast_cancer(return_X_y=True)
    selector = cls(penalty=0.01, max_iter=20).fit(X, y)
    path = selector.path_
    assert path.stop_reason is StopReason.FINISHED
    assert (np.diff(path.n_features) > 0).all()
    assert not path.has_scores
    assert {step.penalty for step in path} == {0.01}
    assert selector.selection_.index == len(path) - 1
    assert selector.n_iter_ == 20
    for earlier, later in pairwise(path):
        assert later.order[: earlier.n_features].tolist() == earlier.order.tolist()


def test_numpy_numbers_are_penalties_too():
    X, y = load_breast_cancer(return_X_y=True)
    plain = AGBMClassifier(penalty=0.0625, max_iter=10).fit(X, y)
    same = AGBMClassifier(penalty=np.float32(0.0625), max_iter=10).fit(X, y)
    np.testing.assert_array_equal(same.support_, plain.support_)


@pytest.mark.parametrize("cls", CLASSIFIERS + REGRESSORS)
def test_few_rows_are_not_cut_into_folds(cls):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 5))
    y = X[:, 2] > 0 if cls in CLASSIFIERS else X[:, 2]
    selector = cls(max_iter=20).fit(X, y)
    assert len(selector.path_) == 1
    assert not selector.path_.has_scores
    assert selector.support_[2]
    assert "no step was scored" in str(selector.selection_)


@pytest.mark.parametrize("cls", CLASSIFIERS + REGRESSORS)
def test_the_smallest_tables_there_are(cls):
    for n_rows in (2, 3, 5):
        X = np.arange(2.0 * n_rows).reshape(n_rows, 2)
        y = np.arange(n_rows) % 2
        for early in (True, False):
            selector = cls(max_iter=3, early_stopping=early, penalty=0.01).fit(X, y)
            assert selector.predict(X).shape == (n_rows,)
    if cls in REGRESSORS:
        alone = cls().fit([[1.0, 2.0]], [7.0])
        assert alone.predict([[0.0, 0.0]]).tolist() == [7.0]


# ---- validation rows ------------------------------------------------------------------------


@pytest.mark.parametrize("cls", REGRESSORS)
def test_early_stopping_ends_a_fit_that_learns_noise(cls):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 5)), rng.normal(size=400)
    selector = cls(
        penalty=0.0, early_stopping=True, n_iter_no_change=4, validation_fraction=0.25
    ).fit(X, y)
    assert selector.path_.stop_reason is StopReason.PATIENCE
    assert selector.selection_.score.origin == "inner"
    assert selector.n_iter_ < 30
    without = cls(penalty=0.0, early_stopping=False).fit(X, y)
    assert without.n_iter_ == without.max_iter


def test_early_stopping_is_for_many_rows_by_default():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_001, 2))
    many = AGBMRegressor(penalty=0.1, max_iter=5, max_bins=16).fit(X, X[:, 0])
    assert many.path_.has_scores
    few = AGBMRegressor(penalty=0.1, max_iter=5, max_bins=16).fit(X[1:], X[1:, 0])
    assert not few.path_.has_scores


@pytest.mark.parametrize("cls", CLASSIFIERS)
@pytest.mark.parametrize("penalty", ["auto", 0.01])
def test_own_validation_rows_are_scored(cls, penalty):
    X, y = load_breast_cancer(return_X_y=True)
    labels = np.array(["bad", "good"])[y]
    train, validation = np.arange(0, 400), np.arange(400, 569)
    selector = cls(penalty=penalty, max_iter=30, random_state=0)
    selector.fit(X[train], labels[train], X_val=X[validation], y_val=labels[validation])
    chosen = selector.selection_.score
    p = selector.predict_proba(X[validation])[np.arange(len(validation)), y[validation]]
    assert chosen.mean == pytest.approx(-np.log(p).mean(), rel=1e-9)
    weight = np.linspace(0.1, 2.0, len(validation))
    selector.fit(
        X[train],
        labels[train],
        X_val=X[validation],
        y_val=labels[validation],
        sample_weight_val=weight,
    )
    p = selector.predict_proba(X[validation])[np.arange(len(validation)), y[validation]]
    expected = -np.average(np.log(p), weights=weight)
    assert selector.selection_.score.mean == pytest.approx(expected, rel=1e-9)


def test_own_validation_rows_of_a_frame_are_put_in_order():
    import pandas as pd

    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    fits = [
        AGBMClassifier(penalty=0.01, max_iter=10).fit(X[:400], y[:400], X_val=other, y_val=y[400:])
        for other in (X[400:], X[400:][X.columns[::-1]], pd.DataFrame(X[400:]).to_numpy())
    ]
    assert fits[0].path_.scores.tolist() == fits[1].path_.scores.tolist()
    assert fits[0].path_.scores.tolist() == fits[2].path_.scores.tolist()


def test_class_weights_hold_for_validation_rows_too():
    X, y = load_breast_cancer(return_X_y=True)
    selector = AGBMClassifier(penalty=0.01, max_iter=10, class_weight={0: 4, 1: 1})
    selector.fit(X[:400], y[:400], X_val=X[400:], y_val=y[400:])
    p = selector.predict_proba(X[400:])[np.arange(169), y[400:]]
    expected = -np.average(np.log(p), weights=np.where(y[400:] == 0, 4.0, 1.0))
    assert selector.selection_.score.mean == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("cls", REGRESSORS)
def test_held_out_scores_are_those_of_refitted_folds(cls):
    X, y = load_diabetes(return_X_y=True)
    splitter = KFold(3, shuffle=True, random_state=0)
    grid = cls(penalty=[0.05], max_iter=12, cv=splitter, n_iter_no_change=100).fit(X, y)
    n_rounds = grid.n_iter_
    losses = np.empty(len(y))
    for train, test in splitter.split(X):
        # bins are made of all rows: with few distinct values they are the same for the fold
        alone = cls(penalty=0.05, max_iter=n_rounds).fit(X[train], y[train])
        losses[test] = (y[test] - alone.predict(X[test])) ** 2
    assert grid.selection_.score.mean == pytest.approx(losses.mean(), rel=0.1)
    assert len(grid.selection_.score.folds) == 3


# ---- costs ------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_prices_turn_the_choice(cls):
    X, y = (part[::2] for part in load_breast_cancer(return_X_y=True))
    free = cls(max_iter=20, cv=2, random_state=0).fit(X, y)
    expensive = np.where(free.support_, 50.0, 1.0)
    priced = cls(max_iter=20, cv=2, random_state=0, costs=expensive).fit(X, y)
    assert (priced.support_ & free.support_).sum() < free.support_.sum()
    assert priced.score(X, y) > 0.93


def test_neighbours_cost_less():
    rng = np.random.default_rng(0)
    images = rng.normal(size=(300, 36))
    blob = [14, 15, 20, 21]
    y = images[:, blob].sum(axis=1) + 0.5 * images[:, 0] > 0
    costs = FeatureCosts(neighbours=(6, 6), discount=0.1)
    selector = AGBMClassifier(penalty=0.03, max_iter=30, costs=costs).fit(images, y)
    plain = AGBMClassifier(penalty=0.03, max_iter=30).fit(images, y)
    assert selector.support_[blob].all()
    near = [j for j in np.flatnonzero(selector.support_) if j not in blob]
    assert selector.path_[-1].cost < selector.support_.sum()
    assert plain.path_[-1].cost == plain.support_.sum()
    assert len(near) >= 1


@pytest.mark.data
@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_colon_with_bags_comes_from_few_bags(cls, load_set):
    colon = load_set("colon_continuous")
    genes, bags = colon["ica50_gene"].astype(int), colon["ica50_group"].astype(int) - 1
    covered = np.unique(genes)
    X, y = np.log(colon["X"][:, covered]), colon["y"]
    shape = (len(covered), bags.max() + 1)
    inside = np.ones(len(genes), bool), (np.searchsorted(covered, genes), bags)
    membership = sp.csr_matrix(inside, shape=shape)
    penalty = 0.05 if cls is AGBMClassifier else 0.5
    plain = cls(penalty=penalty, max_iter=30, random_state=0).fit(X, y)
    bagged = cls(penalty=penalty, max_iter=30, feature_groups=membership, random_state=0).fit(X, y)
    assert _bags_paid(bagged.path_[-1].order, membership) == bagged.selection_.cost == 1
    assert _bags_paid(plain.path_[-1].order, membership) >= 3
    assert bagged.support_.sum() >= plain.support_.sum()
    assert bagged.score(X, y) > 0.95


def _bags_paid(order, membership):
    """How often a feature came from bags of which none was open."""
    is_open = np.zeros(membership.shape[1], bool)
    paid = 0
    for feature in order:
        own = membership[[feature]].toarray()[0]
        paid += not (own & is_open).any()
        is_open |= own
    return paid


# ---- losses and leaves ------------------------------------------------------------------------


METRICS = {
    "squared_error": mean_squared_error,
    "absolute_error": mean_absolute_error,
    "poisson": mean_poisson_deviance,
    "quantile": mean_pinball_loss,
}


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "poisson", "quantile"])
def test_scores_are_the_metrics_of_scikit_learn(loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = rng.poisson(np.exp(0.8 * X[:, 1])).astype(float)
    weight = rng.uniform(0.5, 2.0, 100)
    more = {"quantile": 0.3} if loss == "quantile" else {}
    selector = AGBMRegressor(loss=loss, penalty=0.01, max_iter=20, **more)
    selector.fit(X[:200], y[:200], X_val=X[200:], y_val=y[200:], sample_weight_val=weight)
    metric = partial(METRICS[loss], **({"alpha": 0.3} if loss == "quantile" else {}))
    expected = metric(y[200:], selector.predict(X[200:]), sample_weight=weight)
    assert selector.selection_.score.mean == pytest.approx(expected, rel=1e-9)


LEARNT = ("squared_error", "absolute_error", "huber", "poisson", "quantile")


@pytest.mark.parametrize(
    ("cls", "loss", "leaf"),
    [
        (cls, loss, ("newton", "mean")[(i + j) % 2])
        for i, cls in enumerate(REGRESSORS)
        for j, loss in enumerate(LEARNT)
    ],
)
def test_every_loss_learns(cls, loss, leaf):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6))
    y = rng.poisson(np.exp(0.8 * X[:, 1] + 0.5 * X[:, 3])).astype(float)
    quantile = 0.5 if loss == "quantile" else None
    params = {"loss": loss, "leaf": leaf, "quantile": quantile, "max_iter": 20}
    selector = cls(random_state=0, cv=2, **params).fit(X[:300], y[:300])
    assert selector.support_[1]
    assert selector.path_[0].score.metric == (
        "huber" if loss == "huber" else METRICS[loss].__name__.removeprefix("mean_")
    )
    nothing = cls(penalty=0.0, costs=1.0, max_features=1, keep=[5], **params).fit(X[:300], y[:300])
    assert nothing.support_.tolist() == [False] * 5 + [True]
    error = mean_absolute_error(y[300:], selector.predict(X[300:]))
    assert error < mean_absolute_error(y[300:], nothing.predict(X[300:]))
    if loss == "poisson":
        assert (selector.predict(X) > 0).all()


@pytest.mark.parametrize("cls", REGRESSORS)
def test_quantiles_have_their_share_below_them(cls):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    y = X[:, 0] + rng.normal(size=600)
    for level in (0.1, 0.9):
        selector = cls(loss="quantile", quantile=level, penalty=0.0, max_iter=60, max_depth=2)
        below = (y <= selector.fit(X, y).predict(X)).mean()
        assert abs(below - level) < 0.06


@pytest.mark.parametrize("cls", REGRESSORS)
def test_outliers_hurt_the_huber_loss_less(cls):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    clean = 2.0 * X[:, 0]
    y = np.where(rng.random(400) < 0.05, 300.0, clean)
    fits = {
        loss: cls(loss=loss, penalty=0.0, max_iter=50).fit(X, y).predict(X)
        for loss in ("squared_error", "huber", "absolute_error")
    }
    errors = {loss: mean_absolute_error(clean, found) for loss, found in fits.items()}
    assert errors["huber"] < errors["squared_error"]
    assert errors["absolute_error"] < errors["squared_error"]


@pytest.mark.parametrize("cls", REGRESSORS)
def test_subsampling_and_regularisation_still_learn(cls):
    X, y = load_diabetes(return_X_y=True)
    selector = cls(penalty=0.0, subsample=0.5, l2_regularization=5.0, random_state=0).fit(X, y)
    assert r2_score(y, selector.predict(X)) > 0.5
    other = cls(penalty=0.0, subsample=0.5, l2_regularization=5.0, random_state=1).fit(X, y)
    assert not np.array_equal(selector.predict(X), other.predict(X))


def test_the_default_cut_goes_by_the_penalty():
    X, y = load_breast_cancer(return_X_y=True)
    one = AGBMClassifier(penalty=0.02, max_iter=5).fit(X, y)
    assert one.selection_.rule == repr(Best())
    grid = AGBMClassifier(penalty=[0.02, 0.01], max_iter=5, cv=2).fit(X, y)
    assert grid.selection_.rule == repr(NearBest())


def test_a_class_that_is_held_out_whole_is_no_trouble():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.r_[np.zeros(30), np.ones(29), 2]
    for seed in range(4):
        selector = AGBMClassifier(
            penalty=0.01, early_stopping=True, validation_fraction=0.5, random_state=seed
        ).fit(X, y)
        assert np.isfinite(selector.predict_proba(X)).all()


def test_the_penalty_of_gbfs_means_the_same_under_subsampling():
    """A stump whose gain is 1.5 times its penalty on all rows is grown on half of them as well."""
    rng = np.random.default_rng(0)
    X = np.repeat([0.0, 1.0], 1000)[:, None] + np.zeros((2000, 1))
    y = X[:, 0] + 0.01 * rng.normal(size=2000)
    half_of_sse = 0.5 * ((y - y.mean()) ** 2).sum()
    for subsample in (1.0, 0.5):
        settings = {"max_iter": 1, "max_depth": 1, "early_stopping": False, "random_state": 0}
        below, above = (
            GBFSRegressor(penalty=share * half_of_sse, subsample=subsample, **settings).fit(X, y)
            for share in (0.67, 1.1)
        )
        assert below.support_.all()
        assert not above.support_.any()


def test_patience_follows_the_learning_rate():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    y = X[:, 0] + rng.normal(size=300)
    found = {}
    for rate in (0.3, 0.1, 0.01):
        settings = {"learning_rate": rate, "penalty": 0.0, "early_stopping": True, "max_iter": 900}
        n_done = []
        AGBMRegressor(random_state=0, on_step=n_done.append, **settings).fit(X, y)
        best = min(n_done, key=lambda step: step.score.mean).details["round"]
        found[rate] = n_done[-1].details["round"] - best
    assert found == {0.3: 10, 0.1: 10, 0.01: 100}


def test_rows_of_rare_classes_do_not_make_boosting_diverge():
    """Newton steps towards a class of three rows in 20,000 would be hundreds of logits."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 4))
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 1.0)
    for label, n_rows in ((5, 4), (7, 3), (9, 30)):
        y[rng.permutation(len(y))[:n_rows]] = label
    selector = AGBMClassifier(penalty=0.001, max_iter=40, early_stopping=False).fit(X, y)
    assert selector.path_.steps[-1].objective < 0.1
    assert selector.score(X, y) > 0.997
