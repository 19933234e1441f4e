"""The losses of ranking, whose gradients need all documents of a query, and NDCG."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from secateur._kernels import ranking as kernels
from secateur._kernels.threads import Threads
from secateur.losses import Loss
from secateur.typing import FloatArray, IntArray

NO_LIMIT = int(np.iinfo(np.int64).max)  # as k of NDCG at k: all documents
ROWS_AT_ONCE = 4096  # a thread takes the queries of about so many rows at a time


@dataclass(frozen=True, slots=True, eq=False)
class Queries:
    """Some rows by query: the documents of each follow each other, the highest label first.

    >>> queries = Queries.of(np.array([1, 0, 1, 1]), np.array([2.0, 0.0, 3.0, 0.0]))
    >>> queries.order, queries.start, queries.gain
    (array([1, 2, 0, 3]), array([0, 1, 4]), array([0., 7., 3., 0.]))
    """

    order: IntArray  # rows, query after query
    start: IntArray  # where each query begins, and the end of the last
    gain: FloatArray  # 2^label - 1, as the order
    discount_sums: FloatArray  # of the ranks before each rank
    _best: dict[int, FloatArray] = field(default_factory=dict, repr=False)  # by k

    @classmethod
    def of(cls, number: IntArray, label: FloatArray, rows: IntArray | None = None) -> Queries:
        """The queries of all rows or of some, by the number of each row's query."""
        rows = np.arange(len(number)) if rows is None else np.sort(rows)
        order = rows[np.lexsort((-label[rows], number[rows]))]
        start = np.append(np.flatnonzero(np.diff(number[order], prepend=-1)), len(order))
        longest = int(np.diff(start).max(initial=0))
        sums = np.append(0.0, np.cumsum(1.0 / np.log2(2.0 + np.arange(longest))))
        return cls(order, start, np.exp2(label[order]) - 1.0, sums)

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def arrays(self) -> tuple[IntArray, IntArray, FloatArray]:
        """As kernels take them."""
        return self.start, self.order, self.gain

    def share(self, threads: Threads, part: Callable[[int, int], Any]) -> None:
        """Call ``part(first, last)`` for ranges of queries with about as many rows each."""
        wanted = np.arange(0, self.start[-1], ROWS_AT_ONCE)
        cuts = np.unique(np.append(np.searchsorted(self.start, wanted), len(self))).tolist()
        threads.share(lambda _, at: part(cuts[at], cuts[at + 1]), len(cuts) - 1)

    def every(self, stride: int) -> Queries:
        """Every so many-th query."""
        taken = np.arange(0, len(self), stride)
        sizes = np.diff(self.start)[taken]
        start = np.append(0, np.cumsum(sizes))
        place = np.repeat(self.start[taken] - start[:-1], sizes) + np.arange(start[-1])
        return Queries(self.order[place], start, self.gain[place], self.discount_sums)

    def weights(self, weight: FloatArray) -> FloatArray:
        """The weight of each query: the mean of those of its documents."""
        sums: FloatArray = np.add.reduceat(weight[self.order], self.start[:-1])
        return sums / np.diff(self.start)

    def best(self, k: int) -> FloatArray:
        """The largest possible DCG at k."""
        if k not in self._best:
            self._best[k] = np.empty(len(self))
            kernels.best_dcg(self.arrays, k, self.discount_sums, self._best[k])
        return self._best[k]

    def ndcg(self, raw: FloatArray, k: int | None, best: FloatArray | None = None) -> FloatArray:
        """NDCG at k of each query, for the scores of all rows; None is all documents.

        Ties count as the mean over all orders, as in scikit-learn; a query without a relevant
        document has 1, as in LightGBM.
        """
        k = NO_LIMIT if k is None else k
        found, best = np.empty(len(self)), self.best(k) if best is None else best
        given = (self.arrays, np.ascontiguousarray(raw, np.float64), best, self.discount_sums, k)
        kernels.ndcg_of_queries(*given, found)
        return found


class RankingLoss(Loss):
    """Base of the losses of ranking; the score of a query is 1 - NDCG at ``eval_at``."""

    by_query = True
    has_sample = False  # whether gains are sampled
    # (queries, raw, sample): a kernel that takes the first and last query, and the outputs.
    _part: Callable[[Queries, FloatArray, FloatArray], Callable[..., Any]]

    def __init__(self, eval_at: int | None = 10) -> None:
        self.eval_at = eval_at

    @property
    def metric(self) -> str:
        """The name of the scores."""
        return "1 - ndcg" if self.eval_at is None else f"1 - ndcg@{self.eval_at}"

    def query_scores(self, queries: Queries, raw: FloatArray) -> FloatArray:
        """1 - NDCG of each query, for the raw predictions of all rows."""
        return 1.0 - queries.ndcg(raw, self.eval_at)

    def query_gradients(
        self,
        queries: Queries,
        raw: FloatArray,
        sample: FloatArray,
        threads: Threads,
        outs: tuple[FloatArray, FloatArray],
    ) -> None:
        """Fill the negative gradient and the hessian of the rows of some queries.

        ``sample`` has a random number in [0, 1) for each row.
        """
        part = self._part(queries, raw, sample)
        queries.share(threads, lambda first, last: part(first, last, outs))

    def _best_constant(self, target: FloatArray, weight: FloatArray) -> float:  # noqa: ARG002
        return 0.0  # the order of documents does not depend on it


class LambdaRank(RankingLoss):
    """LambdaRank: the pairs of a query, each by what their exchange changes of NDCG.

    The better document i and the other j of a pair get the gradient
    +- sigma |change of NDCG| / (1 + exp(sigma (s_i - s_j))). Only pairs with a document among the
    first ``truncation`` count, and NDCG is that at ``truncation``. Tied documents have the mean
    over all their orders.
    """

    name = "lambdarank"
    _kind = (False, True)

    def __init__(self, truncation: int = 30, sigma: float = 1.0, eval_at: int | None = 10) -> None:
        super().__init__(eval_at)
        self.truncation, self.sigma = int(truncation), float(sigma)

    def _part(self, queries: Queries, raw: FloatArray, _: FloatArray) -> Callable[..., Any]:
        given = (queries.arrays, raw, queries.best(self.truncation), queries.discount_sums)
        more = (self.truncation, self.sigma, self._kind)
        return partial(kernels.pair_gradients, *given, *more)


class Pairwise(LambdaRank):
    """RankNet: log(1 + exp(-sigma (s_i - s_j))) over all pairs with the better document i."""

    name = "pairwise"
    _kind = (True, False)


class XENDCG(RankingLoss):
    """Cross entropy of the softmax of scores, against gains 2^label - u, u uniform in [0, 1)."""

    name = "xendcg"
    has_sample = True

    def _part(self, queries: Queries, raw: FloatArray, sample: FloatArray) -> Callable[..., Any]:
        return partial(kernels.listwise_gradients, queries.arrays, raw, sample)


def get_ranking_loss(
    name: str, *, truncation: int = 30, sigma: float = 1.0, eval_at: int | None = 10
) -> RankingLoss:
    """The loss of a given name; parameters that it does not have are ignored."""
    if name == "xendcg":
        return XENDCG(eval_at)
    return {"lambdarank": LambdaRank, "pairwise": Pairwise}[name](truncation, sigma, eval_at)
