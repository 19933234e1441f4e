"""The linear scorer is scikit-learn's ridge and logistic regression."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import StandardScaler

from secateur.data.costs import as_costs
from secateur.data.frames import read_table
from secateur.data.table import Problem
from secateur.data.target import Target
from secateur.engines.linear_scorer import LinearScorer


def problem(X, y, weight=None, n_classes=0):
    table, classes = read_table(X), np.arange(n_classes) if n_classes else None
    kind = "classification" if n_classes else "regression"
    weight = np.ones(len(y)) if weight is None else weight
    costs = as_costs(None).bind(table.names)
    return Problem(table, Target(np.asarray(y, float), classes), weight, costs, kind)


def losses_of(scorer, support):
    return scorer.losses_by_shrinkage(support, np.ones(1))[0]


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, 6)) < 0.7, rng.normal(size=(n, 6)), 0.0)
    return X, X[:, 0] - 2 * X[:, 3] + rng.normal(size=n)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("n", [80, 4])
def test_regression_is_ridge_regression(kind, n):
    X, y = rows(n)
    X_new, y_new = rows(30, seed=1)
    support = np.array([0, 2, 3, 5, 1])
    scorer = LinearScorer(problem(kind(X), y), problem(kind(X_new), y_new))
    scaler = StandardScaler().fit(X[:, support])
    model = Ridge(alpha=1.0).fit(scaler.transform(X[:, support]), y)
    expected = (model.predict(scaler.transform(X_new[:, support])) - y_new) ** 2
    found = losses_of(scorer, support)
    ratio = found / expected  # the loss may count half the square
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-6)
    assert ratio[0] == pytest.approx(1.0) or ratio[0] == pytest.approx(0.5)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_classification_is_logistic_regression(kind, n_classes):
    X, signal = rows(200)
    X_new, signal_new = rows(40, seed=1)
    cuts = [0.0] if n_classes == 2 else [-1.0, 1.0]
    y, y_new = np.digitize(signal, cuts), np.digitize(signal_new, cuts)
    support = np.array([0, 3])
    weight = np.random.default_rng(2).random(200) + 0.5
    test = problem(kind(X_new), y_new, n_classes=n_classes)
    scorer = LinearScorer(problem(kind(X), y, weight, n_classes), test)
    scaler = StandardScaler().fit(X[:, support], sample_weight=weight)
    model = LogisticRegression(C=1.0, max_iter=500, tol=1e-8)
    model.fit(scaler.transform(X[:, support]), y, sample_weight=weight)
    chances = model.predict_proba(scaler.transform(X_new[:, support]))
    expected = -np.log(chances[np.arange(40), y_new])
    np.testing.assert_allclose(losses_of(scorer, support), expected, atol=5e-3)


def test_no_columns_give_the_baseline():
    X, y = rows(50)
    losses = losses_of(LinearScorer(problem(X, y), problem(X, y)), np.empty(0, np.int64))
    np.testing.assert_allclose(losses / losses[0], (y - y.mean()) ** 2 / (y[0] - y.mean()) ** 2)


def test_missing_cells_are_the_mean():
    X, y = rows(60)
    gaps = X.copy()
    gaps[::7, 3] = np.nan
    filled = np.where(np.isnan(gaps), np.nanmean(gaps, axis=0), gaps)
    support = np.array([3])
    found = [losses_of(LinearScorer(problem(T, y), problem(T, y)), support) for T in (gaps, filled)]
    np.testing.assert_allclose(*found)


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_shrinkage_leads_from_the_constant_to_the_model(n_classes):
    X, y = rows(60)
    if n_classes:
        y = np.digitize(y, [0.0, 1.0][: n_classes - 1]).astype(float)
    both = problem(X, y, n_classes=n_classes)
    scorer = LinearScorer(both, both)
    support = np.array([0, 3])
    by_shrinkage = scorer.losses_by_shrinkage(support, np.array([0.0, 0.5, 1.0]))
    np.testing.assert_allclose(by_shrinkage[0], losses_of(scorer, np.empty(0, np.int64)))
    np.testing.assert_allclose(by_shrinkage[2], losses_of(scorer, support))
    assert (
        by_shrinkage[0].mean() > by_shrinkage[1].mean() > by_shrinkage[2].mean()
    )  # the rows that trained
