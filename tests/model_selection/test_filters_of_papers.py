"""ReliefF, FCBF and MISSION against versions straight from their papers."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import normalized_mutual_info_score

from secateur.exceptions import ParameterError
from secateur.model_selection.baselines import Baseline
from secateur.model_selection.mission import CountSketch, row_blocks, stream_weights
from secateur.model_selection.redundancy import symmetrical_uncertainty
from secateur.model_selection.relief import relief_of_classes, relief_of_numbers
from secateur.model_selection.validators import read_validators


def problem(seed=0, n_rows=90, n_features=8):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    X[:, 7] = rng.integers(0, 3, n_rows)
    return X, (X[:, 2] * X[:, 5] > 0).astype(int) + (X[:, 7] == 1)


def naive_relieff(X, y, is_category, k=10):
    spread = np.where(is_category, 1.0, np.ptp(X, axis=0))
    score = np.zeros(X.shape[1])

    def apart(a, b):
        return np.where(is_category, a != b, np.abs(a - b) / spread)

    for i in range(len(X)):
        for other in np.unique(y):
            near = [j for j in np.flatnonzero(y == other) if j != i]
            near = sorted(near, key=lambda j: apart(X[i], X[j]).sum())[:k]
            mean = np.mean([apart(X[i], X[j]) for j in near], axis=0)
            share = (y == other).mean() / (1 - (y == y[i]).mean())
            score += (-mean if other == y[i] else share * mean) / len(X)
    return score


def test_relieff_is_the_formula():
    X, y = problem()
    is_category = np.arange(8) == 7
    found = relief_of_classes(X, y, is_category, np.arange(len(y)))
    np.testing.assert_allclose(found, naive_relieff(X, y, is_category), atol=1e-12)


def test_relieff_is_that_of_skrebate_for_two_classes():
    skrebate = pytest.importorskip("skrebate")
    X, y = problem()
    X, y = X[:, :7], (y > 0).astype(int)
    theirs = skrebate.ReliefF(n_neighbors=10, n_jobs=1).fit(X, y).feature_importances_
    ours = relief_of_classes(X, y, np.zeros(7, bool), np.arange(len(y)))
    np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_relieff_sees_pairs_that_no_single_column_shows():
    X, _ = problem(n_rows=300)
    y = (X[:, 2] * X[:, 5] > 0).astype(int)
    assert set(Baseline("relieff").fit(X, y).order_[:2].tolist()) == {2, 5}


def test_relieff_of_numbers_finds_what_matters():
    X, _ = problem(n_rows=200)
    y = X[:, 1] + np.abs(X[:, 4])
    found = relief_of_numbers(X, y, np.zeros(8, bool), np.arange(200))
    assert set(np.argsort(-found)[:2].tolist()) == {1, 4}
    assert set(Baseline("relieff", "regression").fit(X, y).order_[:2].tolist()) == {1, 4}


def test_symmetrical_uncertainty_is_normalized_information():
    rng = np.random.default_rng(0)
    codes, y = rng.integers(0, 4, (60, 5)), rng.integers(0, 3, 60)
    wanted = [normalized_mutual_info_score(y, column) for column in codes.T]
    np.testing.assert_allclose(symmetrical_uncertainty(codes, y), wanted, atol=1e-12)
    words = sp.csc_matrix(codes[:, :3] > 1)
    np.testing.assert_allclose(
        symmetrical_uncertainty(words, y),
        symmetrical_uncertainty(words.toarray().astype(int), y),
        atol=1e-12,
    )


def naive_fcbf(codes, y):
    su = normalized_mutual_info_score
    left = sorted(range(codes.shape[1]), key=lambda j: -su(y, codes[:, j]))
    for p in list(left):
        if p in left:
            later = left[left.index(p) + 1 :]
            for q in later:
                if su(codes[:, p], codes[:, q]) >= su(y, codes[:, q]):
                    left.remove(q)
    return left


def test_fcbf_keeps_predominant_columns():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 3, (200, 9))
    y = codes[:, 0] + codes[:, 1] > 2
    codes[:, 4], codes[:, 6] = codes[:, 0], np.where(rng.random(200) < 0.8, codes[:, 1], 2)
    found = Baseline("fcbf").fit(codes, y)
    chosen = found.order_[: found.n_own_].tolist()
    assert chosen == naive_fcbf(codes, y)
    assert not {0, 4} <= set(chosen)
    assert sorted(found.order_.tolist()) == list(range(9))


def test_fcbf_of_sparse_tables_is_that_of_presence():
    rng = np.random.default_rng(2)
    words = rng.poisson(0.4, (150, 12))
    y = (words[:, 3] > 0) ^ (rng.random(150) < 0.1)
    sparse, dense = (
        Baseline("fcbf").fit(table, y) for table in (sp.csr_matrix(words), (words > 0).astype(int))
    )
    assert sparse.order_[: sparse.n_own_].tolist() == dense.order_[: dense.n_own_].tolist()


def test_a_large_sketch_holds_sums_and_a_small_one_nearly():
    rng = np.random.default_rng(0)
    keys, values = rng.permutation(10**6)[:300], rng.normal(size=300)
    for n_buckets, close in ((2**16, 1e-9), (2**9, 2.0)):
        sketch = CountSketch(n_buckets)
        sketch.add(keys, values)
        sketch.add(keys[:100], values[:100])
        wanted = np.where(np.arange(300) < 100, 2 * values, values)
        assert np.quantile(np.abs(sketch.query(keys) - wanted), 0.9) < close


def test_mission_with_room_for_all_is_plain_gradient_descent():
    rng = np.random.default_rng(0)
    X = sp.random(120, 30, 0.3, format="csr", random_state=0)
    y = (X[:, [4]].toarray().ravel() > 0.3).astype(float)
    order = rng.permutation(120)
    w = np.zeros(30)
    for block, labels in row_blocks(X, y, order):
        slope = labels - 1.0 / (1.0 + np.exp(-(block @ w)))
        w += 0.5 / len(labels) * (block.T @ slope)
    found = stream_weights(row_blocks(X, y, order), 30, CountSketch(2**16))
    np.testing.assert_allclose([found[j] for j in range(30)], w, atol=1e-12)


def test_mission_finds_columns_among_many_with_few_buckets():
    rng = np.random.default_rng(3)
    X = sp.random(900, 3_000, 0.004, format="csr", random_state=1)
    X.data[:] = 1.0
    X = X.tolil()
    for j in (11, 222, 2333):
        X[rng.random(900) < 0.3, j] = 1.0
    X = sp.csr_matrix(X)
    y = np.asarray(X[:, [11, 222]].sum(axis=1)).ravel() > 0
    found = stream_weights(row_blocks(X, y.astype(float), np.arange(900)), 20, CountSketch(2**9))
    best = sorted(found, key=lambda j: -abs(found[j]))[:3]
    assert {11, 222} <= set(best)
    assert len(found) == 20


@pytest.mark.parametrize("method", ["fcbf", "relieff", "mission", "svm_rfe"])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_rivals_find_what_matters(method, is_sparse):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(250, 12))
    X = np.where(np.abs(X) < 0.3, 0.0, X)
    y = (2 * X[:, 2] - 2 * X[:, 7] + 0.3 * rng.normal(size=250) > 0).astype(int)
    X = np.abs(X) * (1 + np.sign(X)) if method == "fcbf" else X
    found = Baseline(method, random_state=0).fit(sp.csr_matrix(X) if is_sparse else X, y)
    assert set(found.order_[:2].tolist()) == {2, 7}


@pytest.mark.parametrize("target_type", ["classification", "regression"])
def test_validators_of_the_papers_score_by_name(target_type):
    X, _ = problem()
    names = ["1nn", "rbf_svm"] + ["naive_bayes"] * (target_type == "classification")
    numbers = X[:, 7] + X[:, 1]
    labels = (numbers > 0.5).astype(int)
    for table in (X, sp.csr_matrix(X)):
        found = read_validators(names, target_type, is_sparse=sp.issparse(table))
        target = labels if target_type == "classification" else numbers
        assert all(model.fit(table, target).score(table, target) > 0.6 for model in found.values())
    with pytest.raises(ParameterError, match="1nn"):
        read_validators("2nn", target_type, is_sparse=False)
