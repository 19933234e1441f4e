"""The losses of ranking against their definitions, finite differences and LightGBM."""

from __future__ import annotations

import numpy as np
import pytest
from reference import ranking as naive
from scipy.optimize import approx_fprime

from secateur._kernels.threads import Threads
from secateur.losses.ranking import Queries, get_ranking_loss


def a_problem(seed: int, n_queries: int = 5, *, tied: bool = False):
    """A few small queries in mixed order: query, label, score."""
    rng = np.random.default_rng(seed)
    query = rng.permutation(np.repeat(np.arange(n_queries), rng.integers(1, 7, n_queries)))
    label = rng.integers(0, 4, len(query)).astype(float)
    score = rng.normal(size=len(query))
    return query, label, np.round(score) if tied else score


def gradients(loss, query, label, score, sample=None, n_threads=1):
    outs = (np.zeros(len(query)), np.zeros(len(query)))
    sample = np.zeros(len(query)) if sample is None else sample
    with Threads(n_threads) as threads:
        loss.query_gradients(Queries.of(query, label), score, sample, threads, outs)
    return outs


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("truncation", [1, 2, 30])
@pytest.mark.parametrize("seed", range(3))
def test_lambdarank_is_that_of_the_definition(seed, truncation, tied):
    query, label, score = a_problem(seed, tied=tied)
    loss = get_ranking_loss("lambdarank", truncation=truncation, sigma=1.3)
    gradient, hessian = gradients(loss, query, label, score)
    for q in np.unique(query):
        its = query == q
        expected = naive.lambdarank(label[its], score[its], truncation, 1.3)
        np.testing.assert_allclose(gradient[its], expected[0], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(hessian[its], expected[1], rtol=1e-9, atol=1e-12)


def test_pairwise_gradient_is_that_of_finite_differences():
    query, label, score = a_problem(1)
    gradient, hessian = gradients(get_ranking_loss("pairwise", sigma=0.7), query, label, score)
    for q in np.unique(query):
        its, h = query == q, 1e-5

        def slope(s, its=its):
            return approx_fprime(s, lambda s: naive.ranknet_loss(label[its], s, 0.7), 1e-7)

        np.testing.assert_allclose(gradient[its], -slope(score[its]), atol=1e-5)
        for i, row in enumerate(np.flatnonzero(its)):
            step = h * np.eye(its.sum())[i]
            second = (slope(score[its] + step)[i] - slope(score[its] - step)[i]) / (2 * h)
            assert hessian[row] == pytest.approx(second, abs=0.05)


def test_xendcg_gradient_is_that_of_finite_differences():
    query, label, score = a_problem(2)
    sample = np.random.default_rng(0).random(len(query))
    gradient, hessian = gradients(get_ranking_loss("xendcg"), query, label, score, sample)
    for q in np.unique(query):
        its = query == q
        slope = approx_fprime(
            score[its], lambda s, its=its: naive.xendcg_loss(label[its], s, sample[its]), 1e-7
        )
        np.testing.assert_allclose(gradient[its], -slope, atol=1e-6)
        p = np.exp(score[its]) / np.exp(score[its]).sum()
        np.testing.assert_allclose(hessian[its], p * (1 - p), rtol=1e-12)


@pytest.mark.parametrize("name", ["lambdarank", "pairwise"])
def test_order_of_rows_changes_no_bit(name):
    query, label, score = a_problem(3, 40, tied=True)
    loss = get_ranking_loss(name)
    one = gradients(loss, query, label, score)
    moved = np.random.default_rng(1).permutation(len(query))
    other = gradients(loss, 100 - query[moved], label[moved], score[moved])
    for before, after in zip(one, other, strict=True):
        np.testing.assert_array_equal(before[moved], after)


@pytest.mark.parametrize("name", ["lambdarank", "pairwise", "xendcg"])
def test_threads_change_no_bit(name):
    rng = np.random.default_rng(0)
    query, label = rng.integers(0, 900, 9000), rng.integers(0, 3, 9000).astype(float)
    score, sample = np.round(rng.normal(size=9000), 1), rng.random(9000)
    loss = get_ranking_loss(name)
    one, three = (gradients(loss, query, label, score, sample, n) for n in (1, 3))
    np.testing.assert_array_equal(one, three)


def test_scores_far_apart_stay_finite():
    query, label = np.zeros(4, int), np.array([0.0, 1.0, 2.0, 0.0])
    for name in ("lambdarank", "pairwise", "xendcg"):
        score = np.array([1e5, -1e5, 0.0, 1e5])
        assert np.isfinite(gradients(get_ranking_loss(name), query, label, score)).all()


def test_queries_without_an_order_have_no_gradient():
    query, label = np.array([0, 1, 1]), np.array([3.0, 0.0, 0.0])
    for name in ("lambdarank", "pairwise"):
        found = gradients(get_ranking_loss(name), query, label, np.array([0.5, 1.0, 2.0]))
        np.testing.assert_array_equal(found, 0.0)


@pytest.mark.parametrize("tied", [False, True])
def test_ndcg_is_that_of_the_definition(tied):
    query, label, score = a_problem(4, 8, tied=tied)
    for k in (1, 3, 100):
        expected = [naive.ndcg(label[query == q], score[query == q], k) for q in np.unique(query)]
        np.testing.assert_allclose(Queries.of(query, label).ndcg(score, k), expected, rtol=1e-10)


def test_some_queries():
    query, label, score = a_problem(5, 7)
    queries = Queries.of(query, label)
    rows = np.flatnonzero(np.isin(query, [0, 3, 6]))
    some, every = Queries.of(query, label, rows), queries.every(3)
    np.testing.assert_array_equal(some.ndcg(score, 2), queries.ndcg(score, 2)[[0, 3, 6]])
    np.testing.assert_array_equal(every.ndcg(score, 2), some.ndcg(score, 2))
    weight = np.random.default_rng(0).random(len(query))
    means = [weight[query == q].mean() for q in (0, 3, 6)]
    np.testing.assert_allclose(every.weights(weight), means)


def test_equal_to_lightgbm_where_nothing_is_tied():
    lightgbm = pytest.importorskip("lightgbm")
    query, label, score = a_problem(6, 12)
    order = np.argsort(query, kind="stable")
    query, label, score = query[order], label[order], score[order]
    sizes = np.bincount(query)
    data = lightgbm.Dataset(
        np.arange(len(query))[:, None].astype(float),
        label,
        group=sizes[sizes > 0],
        init_score=score,
        params={"min_data_in_bin": 1, "verbosity": -1},
    )
    params = {"objective": "lambdarank", "verbosity": -1, "min_data_in_leaf": 1, "num_threads": 1}
    params |= {"min_sum_hessian_in_leaf": 0, "learning_rate": 1.0, "num_leaves": len(query)}
    params |= {"lambdarank_truncation_level": 3, "lambda_l2": 1e3, "metric": "ndcg"}
    model = lightgbm.train(params | {"eval_at": [3]}, data, 1)
    gradient, hessian = gradients(get_ranking_loss("lambdarank", truncation=3), query, label, score)
    leaf = model.predict(np.arange(len(query))[:, None], pred_leaf=True).ravel()
    for each in np.unique(leaf):  # the value of a leaf is the step G / (H + l2)
        its = leaf == each
        step = gradient[its].sum() / (hessian[its].sum() + 1e3)
        assert model.predict(np.flatnonzero(its)[:1, None])[0] == pytest.approx(step, rel=1e-3)
    assert len(np.unique(leaf)) >= 5
