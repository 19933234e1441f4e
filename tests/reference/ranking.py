"""Gradients of LambdaRank and ranking metrics straight from their definitions, query by query."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, permutations

import numpy as np


def discount(rank: int) -> float:
    return 1.0 / np.log2(2.0 + rank)


def orders(score: np.ndarray) -> Iterator[tuple[int, ...]]:
    """All orders of documents by falling score: those of tied documents in any order."""
    for order in permutations(range(len(score))):
        if all(score[a] >= score[b] for a, b in pairwise(order)):
            yield order


def best_dcg(label: np.ndarray, k: int) -> float:
    gains = np.sort(2.0**label - 1.0)[::-1]
    return sum(gain * discount(rank) for rank, gain in enumerate(gains[:k]))


def ndcg(label: np.ndarray, score: np.ndarray, k: int) -> float:
    """NDCG at k, the mean over all orders of tied documents; 1 where nothing is relevant."""
    best = best_dcg(label, k)
    if best == 0.0:
        return 1.0
    found = [
        sum((2.0 ** label[i] - 1.0) * discount(rank) for rank, i in enumerate(order[:k]))
        for order in orders(score)
    ]
    return float(np.mean(found)) / best


def change_of_ndcg(label: np.ndarray, score: np.ndarray, k: int) -> np.ndarray:
    """|change of NDCG at k| when two documents swap, 0 if neither is among the first k."""
    n = len(label)
    change = np.zeros((n, n))
    all_orders = list(orders(score))
    for order in all_orders:
        rank = {i: r for r, i in enumerate(order)}
        for i in range(n):
            for j in range(n):
                if min(rank[i], rank[j]) < k:
                    gap = abs(2.0 ** label[i] - 2.0 ** label[j])
                    change[i, j] += gap * abs(discount(rank[i]) - discount(rank[j]))
    return change / len(all_orders) / (best_dcg(label, k) or np.inf)


def lambdarank(
    label: np.ndarray, score: np.ndarray, k: int, sigma: float, *, normalised: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Negative gradient and hessian of one query, with the normalisation of LightGBM."""
    weight = change_of_ndcg(label, score, k)
    if normalised and score.max() != score.min():
        weight = weight / (0.01 + np.abs(score[:, None] - score[None, :]))
    gradient, hessian = np.zeros(len(label)), np.zeros(len(label))
    for i in range(len(label)):
        for j in range(len(label)):
            if label[i] > label[j]:
                p = 1.0 / (1.0 + np.exp(sigma * (score[i] - score[j])))
                gradient[i] += sigma * weight[i, j] * p
                gradient[j] -= sigma * weight[i, j] * p
                hessian[[i, j]] += sigma**2 * weight[i, j] * p * (1.0 - p)
    # the sum of the sizes of all lambdas: each pair has two of the same size
    total = sum(
        2.0 * sigma * weight[i, j] / (1.0 + np.exp(sigma * (score[i] - score[j])))
        for i in range(len(label))
        for j in range(len(label))
        if label[i] > label[j]
    )
    factor = np.log2(1.0 + total) / total if normalised and total > 0.0 else 1.0
    return factor * gradient, factor * hessian


def ranknet_loss(label: np.ndarray, score: np.ndarray, sigma: float) -> float:
    n = len(label)
    return sum(
        np.log1p(np.exp(-sigma * (score[i] - score[j])))
        for i in range(n)
        for j in range(n)
        if label[i] > label[j]
    )


def xendcg_loss(label: np.ndarray, score: np.ndarray, sample: np.ndarray) -> float:
    gain = 2.0**label - sample
    log_softmax = score - np.log(np.exp(score).sum())
    return float(-(gain / gain.sum()) @ log_softmax)


def average_precision(label: np.ndarray, score: np.ndarray, k: int) -> float:
    """Tied documents all have the last of their ranks; 1 where nothing is relevant."""
    relevant = label > 0
    if not relevant.any():
        return 1.0
    total = 0.0
    for i in np.flatnonzero(relevant):
        rank = int((score >= score[i]).sum())
        if rank <= k:
            total += (relevant & (score >= score[i])).sum() / rank
    return total / min(int(relevant.sum()), k)


def reciprocal_rank(label: np.ndarray, score: np.ndarray) -> float:
    relevant = np.flatnonzero(label > 0)
    return max((1.0 / (score >= score[i]).sum() for i in relevant), default=0.0)
