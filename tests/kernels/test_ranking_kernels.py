"""The kernels of ranking against plain Python; the losses that use them are tested in losses."""

from itertools import permutations

import numpy as np
import pytest
from reference import ranking as naive

from secateur._kernels import ranking as kernels


def sums(n):
    return np.append(0.0, np.cumsum([naive.discount(rank) for rank in range(n)]))


@pytest.mark.parametrize(("a", "b", "k"), [(0, 1, 5), (0, 4, 2), (2, 5, 3), (3, 6, 2), (1, 3, 9)])
def test_ties_are_means_over_their_orders(a, b, k):
    found = kernels.tie_discounts(a, b, k, sums(8))
    first, share, mean, within = [], [], [], []
    for order in permutations(range(a, b)):
        r = order[0]
        first.append(naive.discount(r) if r < k else 0.0)
        share.append(r < k)
        mean.append(naive.discount(r))
        if b - a > 1:
            gap = abs(naive.discount(r) - naive.discount(order[1]))
            within.append(gap if min(r, order[1]) < k else 0.0)
    expected = [np.mean(first), np.mean(share), np.mean(mean), np.mean(within or [0.0])]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


def test_ends_of_ties():
    end = np.empty(6, np.int64)
    kernels.ends_of_ties(np.array([3.0, 3.0, 1.0, 0.5, 0.5, 0.5]), end)
    assert end.tolist() == [2, 2, 3, 6, 6, 6]


def one_query(label, score):
    """A query of documents by falling label, as kernels take them."""
    order = np.argsort(-label, kind="stable")
    return (np.array([0, len(label)]), order, 2.0 ** label[order] - 1.0), score


def test_best_dcg_and_ndcg():
    label, score = np.array([0.0, 3.0, 1.0, 0.0, 2.0]), np.array([0.3, 0.3, 0.9, -1.0, 0.2])
    queries, raw = one_query(label, score)
    for k in (1, 2, 5):
        best, value = np.empty(1), np.empty(1)
        kernels.best_dcg(queries, k, sums(5), best)
        assert best[0] == pytest.approx(naive.best_dcg(label, k))
        kernels.ndcg_of_queries(queries, raw, best, sums(5), k, value)
        assert value[0] == pytest.approx(naive.ndcg(label, score, k))


def test_pair_gradients():
    label, score = np.array([0.0, 2.0, 1.0, 0.0]), np.array([0.5, 0.5, -0.3, 0.1])
    queries, raw = one_query(label, score)
    best, outs = np.empty(1), (np.empty(4), np.empty(4))
    kernels.best_dcg(queries, 2, sums(4), best)
    kernels.pair_gradients(queries, raw, best, sums(4), 2, 1.5, (False, False), 0, 1, outs)
    expected = naive.lambdarank(label, score, 2, 1.5, normalised=False)
    np.testing.assert_allclose(outs, expected, rtol=1e-10)


def test_listwise_gradients_sum_to_zero():
    label, score = np.array([0.0, 2.0, 1.0]), np.array([0.5, -0.5, 30.0])
    queries, raw = one_query(label, score)
    outs = (np.empty(3), np.empty(3))
    kernels.listwise_gradients(queries, raw, np.array([0.1, 0.9, 0.4]), 0, 1, outs)
    assert outs[0].sum() == pytest.approx(0.0, abs=1e-12)
    gain = np.array([0.9, 3.1, 1.6])
    p = np.exp(score) / np.exp(score).sum()
    np.testing.assert_allclose(outs[0], gain / gain.sum() - p, atol=1e-12)
