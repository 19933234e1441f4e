"""Metrics of ranking, a value for each query: NDCG, average precision, reciprocal rank.

A document is relevant if its grade is above 0; gains are 2^grade - 1. Tied documents count as the
mean over all their orders for NDCG, as in scikit-learn's ``ndcg_score``, and have the last of
their ranks for average precision and reciprocal rank, as in its
``label_ranking_average_precision_score``. LightGBM takes them in the order of the rows. A query
without a relevant document has 1 for NDCG and average precision, as in LightGBM, and 0 for
reciprocal rank.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from secateur.data.target import read_target, read_weights
from secateur.data.tasks import read_queries, weights_of_rows
from secateur.exceptions import ParameterError
from secateur.losses.ranking import NO_LIMIT, Queries
from secateur.typing import FloatArray, IntArray

QueryValues = Callable[[Queries, FloatArray], FloatArray]
LOSS = "1 - "  # how the metric of a path begins, whose scores are losses


def average_precision(queries: Queries, scores: FloatArray, k: int | None = None) -> FloatArray:
    """Precision at the rank of each relevant document up to k, over the most there can be."""
    rank, hits, relevant, of_document = _last_ranks(queries, scores)
    k = NO_LIMIT if k is None else k
    counted = np.where(relevant & (rank <= k), hits / rank, 0.0)
    n_queries = len(queries)
    n_relevant = np.bincount(of_document, weights=relevant, minlength=n_queries)
    total = np.bincount(of_document, weights=counted, minlength=n_queries)
    return np.where(n_relevant > 0, total / np.maximum(1, np.minimum(n_relevant, k)), 1.0)


def reciprocal_rank(queries: Queries, scores: FloatArray, k: int | None = None) -> FloatArray:
    """1 / the rank of the first relevant document, 0 beyond k."""
    rank, _, relevant, of_document = _last_ranks(queries, scores)
    best = np.zeros(len(queries))
    counted = relevant & (rank <= (NO_LIMIT if k is None else k))
    np.maximum.at(best, of_document[counted], 1.0 / rank[counted])
    return best


def _last_ranks(queries: Queries, scores: FloatArray) -> tuple[Any, Any, Any, IntArray]:
    """Documents by query and falling score: the last rank of their ties, relevant ones up to it."""
    of_document = np.repeat(np.arange(len(queries)), np.diff(queries.start))
    score = np.asarray(scores, np.float64)[queries.order]
    by_score = np.lexsort((-score, of_document))
    score, relevant = score[by_score], queries.gain[by_score] > 0.0
    is_last = np.append((np.diff(score) != 0) | (np.diff(of_document) != 0), True)
    last = np.flatnonzero(is_last)[np.cumsum(is_last) - is_last]
    first = queries.start[of_document]
    before = np.append(0, np.cumsum(relevant))
    return last - first + 1, before[last + 1] - before[first], relevant, of_document


METRICS: dict[str, Callable[..., FloatArray]] = {
    "ndcg": Queries.ndcg,
    "map": average_precision,
    "mrr": reciprocal_rank,
}


def query_metric(name: Any) -> tuple[str, QueryValues] | None:
    """The metric of a name as "ndcg@10", "map@5", "mrr", "1 - ndcg@10"; None for other names.

    >>> query_metric("1 - ndcg@10")[0], query_metric("accuracy")
    ('ndcg@10', None)
    """
    plain = name.removeprefix(LOSS) if isinstance(name, str) else ""
    found = re.fullmatch(r"(ndcg|map|mrr)(?:@([1-9]\d*))?", plain)
    if found is None:
        return None
    k = None if found[2] is None else int(found[2])
    return plain, partial(METRICS[found[1]], k=k)


def ranking_score(y: Any, scores: Any, qid: Any, metric: str, sample_weight: Any = None) -> float:
    """The mean of a metric over queries, weighted by the mean weight of their rows.

    >>> y, scores, qid = [2, 0, 1, 0, 1], [0.9, 0.1, 0.4, 0.7, 0.2], [1, 1, 1, 2, 2]
    >>> [round(ranking_score(y, scores, qid, name), 4) for name in ("ndcg@10", "map@10", "mrr")]
    [0.8155, 0.75, 0.75]
    """
    found = query_metric(metric)
    if found is None:
        raise ParameterError(
            f"'metric' must be 'ndcg', 'map' or 'mrr', with @k for the first k documents. Got "
            f"{metric!r}. Use 'ndcg@10' for a start."
        )
    grade = read_target(y, target_type="ranking").values
    number = read_queries(qid, len(grade))
    weight = read_weights(weights_of_rows(sample_weight, number), len(grade))
    queries = Queries.of(number, grade, np.flatnonzero(weight))
    values = found[1](queries, np.asarray(scores, np.float64))
    return float(np.average(values, weights=queries.weights(weight)))
