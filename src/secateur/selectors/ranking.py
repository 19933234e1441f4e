"""Boosted trees with feature costs for learning to rank: GBFS, A-GBM and GT-GBM."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from secateur.data.frames import check_length
from secateur.data.table import Fold, all_rows
from secateur.data.target import Target, TargetType, read_weights
from secateur.data.tasks import (
    check_one_task,
    check_pairs,
    check_pairs_of_tasks,
    check_whole,
    is_wide,
    labelled_rows,
    read_queries,
    weights_of_rows,
)
from secateur.losses.ranking import RankingLoss, get_ranking_loss
from secateur.model_selection.ranking import ranking_score
from secateur.path import SelectionPath
from secateur.selectors.boosted import AGBMPenalty, GBFSPenalty, GroupTestedSelector
from secateur.selectors.boosted_base import BoostedSelector
from secateur.selectors.multitask import MultitaskSelector
from secateur.selectors.parameters import number, one_of, with_constructor, with_parameters_of
from secateur.typing import FloatArray


@with_constructor
class QuerySelector(BoostedSelector):
    """A boosted selector whose rows belong to queries.

    Parameters
    ----------
    loss : {"lambdarank", "pairwise", "xendcg"}, default="lambdarank"
        LambdaRank: pairs of documents of a query, each by what their exchange changes of NDCG,
        normalised as LightGBM does by default; RankNet, all pairs alike; or the cross entropy of
        the scores of a query and sampled gains.
    truncation : int, default=30
        LambdaRank takes pairs with a document among the first so many; NDCG is that at this rank.
    sigma : float, default=1.0
        How steep the loss of a pair is, for LambdaRank and RankNet.
    eval_at : int or None, default=10
        Scores and early stopping are by NDCG of the first so many documents; None is all.
    """

    loss: str = one_of(
        "lambdarank", "pairwise", "xendcg", advice="Use 'lambdarank' for NDCG."
    ).default("lambdarank")
    truncation: int = number(1, whole=True).default(30)
    sigma: float = number(0, above=True, below=True).default(1.0)
    eval_at: int | None = number(
        1, whole=True, or_none=True, advice="Use 10, or None for all documents."
    ).default(10)

    _target_type: TargetType = "ranking"

    def _problem(self, X: Any, y: Any, sample_weight: Any, *, qid: Any, **more: Any) -> Any:  # type: ignore[override]
        queries = read_queries(qid)
        weight = weights_of_rows(sample_weight, queries)
        given = super()._problem(X, y, weight, **more)
        check_length(len(queries), len(given.target.values), "qid")
        given = replace(given, groups=queries, queries=queries[given.kept])
        self._check_queries(given)
        return given

    def _check_queries(self, given: Any) -> None:
        check_pairs(given.queries, given.problem.target.values)

    def _folds(self, given: Any) -> list[Fold]:
        if self.cv is None and np.ptp(given.queries) == 0:  # one query cannot be divided
            is_single = isinstance(given.penalty, float) or given.validation is not None
            return [all_rows(len(given.queries))] if is_single else []
        folds = super()._folds(given)
        check_whole(folds, given.queries)
        return folds

    def _loss(self, target: Target, weight: FloatArray) -> RankingLoss:  # noqa: ARG002
        names = ("truncation", "sigma", "eval_at")
        return get_ranking_loss(self.loss, **{name: getattr(self, name) for name in names})

    @property
    def _metric(self) -> str:
        return "ndcg" if self.eval_at is None else f"ndcg@{self.eval_at}"


@with_constructor
class BoostedRanker(QuerySelector):
    """Boosted trees with feature costs that order the documents of queries."""

    @with_parameters_of(BoostedSelector.fit)  # type: ignore[has-type]  # decorated itself
    def fit(  # type: ignore[override]  # explicit arguments
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        *,
        qid: Any = None,
        qid_val: Any = None,
        groups: Any = None,
        resume: SelectionPath | None = None,
    ) -> Any:
        """Search the path of selections and choose a step.

        Parameters
        ----------
        y : array or series of shape (n_rows,)
            Grades of relevance, whole numbers from 0 to 30; the gain of a document is
            2^grade - 1. Left out for a stored table, which has its own.
        sample_weight : array of shape (n_rows,) or (n_queries,), optional
            Weights of the rows, or of the queries in the order of their first rows. The weight of
            a query in a score is the mean of those of its rows.
        qid : array or series of shape (n_rows,)
            The query of each row, any hashable values; rows may come in any order. Folds and rows
            that are held out never split a query.
        X_val, y_val, sample_weight_val, qid_val : as above, optional
            Validation rows, instead of rows that are held out.
        groups : array of shape (n_rows,), optional
            Which queries belong together, as those of one user: folds keep them together.
        """
        validation = (X_val, y_val, sample_weight_val, qid_val)
        more = {"validation": validation, "resume": resume, "qid": qid}
        return self._fit(X, y, sample_weight, groups, **more)

    def predict(self, X: Any) -> FloatArray:
        """The score of each row; documents of a query are ordered by falling scores."""
        return super().predict(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, qid: Any = None) -> float:
        """NDCG at ``eval_at``, the mean over queries by their weight.

        Tied documents count as the mean over all their orders, as in scikit-learn; a query without
        a relevant document has 1, as in LightGBM.
        """
        return ranking_score(y, self.predict(X), qid, self._metric, sample_weight)


@with_constructor
class GBFSRanker(BoostedRanker, GBFSPenalty):
    """Gradient boosted feature selection for learning to rank.

    The gain of a split is that of GBFSClassifier.

    Examples
    --------
    >>> from secateur.datasets import make_ranking
    >>> made = make_ranking(60, 10, 8, 2, 0)
    >>> selector = GBFSRanker(max_features=3, max_iter=20, random_state=0)
    >>> selector = selector.fit(made.X, made.y, qid=made.query)
    >>> bool(selector.support_[made.relevant].any())
    True
    """


@with_constructor
class AGBMRanker(BoostedRanker, AGBMPenalty):
    """Boosted trees with a scaled penalty for new features, for learning to rank.

    The gain of a split is that of AGBMClassifier.

    Examples
    --------
    >>> from secateur.datasets import make_ranking
    >>> made = make_ranking(60, 10, 8, 2, 0)
    >>> selector = AGBMRanker(max_iter=20, random_state=0).fit(made.X, made.y, qid=made.query)
    >>> np.flatnonzero(selector.support_)
    array([3, 7])
    >>> bool(selector.score(made.X, made.y, qid=made.query) > 0.8)
    True
    """


@with_constructor
class GTGBMRanker(GroupTestedSelector, BoostedRanker, AGBMPenalty):
    """A-GBM with group tests, for learning to rank and tables with very many features.

    As AGBMRanker, with the group tests of GTGBMClassifier.

    Examples
    --------
    >>> from secateur.datasets import make_ranking
    >>> made = make_ranking(200, 10, 1_000, 3, 0)
    >>> selector = GTGBMRanker(penalty=0.02, expected_features=5, max_iter=20, random_state=0)
    >>> selector = selector.fit(made.X, made.y, qid=made.query)
    >>> bool(selector.support_[made.relevant].sum() >= 2)
    True
    """

    _exact: ClassVar[str] = "AGBMRanker"


@with_constructor
class MultitaskAGBMRanker(  # type: ignore[misc]  # `_problem` passes on more arguments
    QuerySelector, MultitaskSelector
):
    """A-GBM for several tasks over the same features, for learning to rank.

    Tasks are markets, countries or kinds of search; a query belongs to one of them. The gain of a
    split and the form of the rows are those of MultitaskAGBMClassifier, losses those of AGBMRanker.

    Examples
    --------
    >>> import numpy as np
    >>> from secateur.datasets import make_ranking
    >>> made = make_ranking(80, 10, 8, 1, 0)
    >>> task = np.where(made.query < 40, "north", "south")
    >>> model = MultitaskAGBMRanker(group_penalty=0.05, task_penalty=0.05, max_iter=10)
    >>> model = model.fit(made.X, made.y, task=task, qid=made.query)
    >>> bool(model.task_support_.to_numpy()[:, made.relevant].all())
    True
    """

    @with_parameters_of(MultitaskSelector.fit)  # type: ignore[has-type]  # decorated itself
    def fit(  # type: ignore[override]  # explicit arguments
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        task: Any = None,
        *,
        qid: Any = None,
        groups: Any = None,
    ) -> Any:
        """Search the path of selections of all tasks and choose a step.

        Parameters
        ----------
        y : array or series of shape (n_rows,), or array or frame of shape (n_rows, n_tasks)
            Grades of relevance, whole numbers from 0 to 30. With a column for each task, missing
            grades are NaN or None.
        sample_weight : array of shape (n_rows,) or (n_queries,), optional
            Weights of the rows, or of the queries in the order of their first rows.
        qid : array or series of shape (n_rows,)
            The query of each row, any hashable values. A query belongs to one task, unless y has
            columns; folds never split it.
        """
        return self._fit(X, y, sample_weight, groups, task=task, qid=qid)

    def _check_queries(self, given: Any) -> None:
        if not given.is_wide:
            check_one_task(given.queries, given.tasks)
        check_pairs_of_tasks(given.queries, given.tasks)

    def score(
        self, X: Any, y: Any, sample_weight: Any = None, task: Any = None, *, qid: Any = None
    ) -> float:
        """NDCG at ``eval_at``, the mean over the queries of all tasks by their weight.

        Where y has columns, it is the mean of those of the tasks.
        """
        predicted = self.predict(X, task)
        if not is_wide(y):
            return ranking_score(y, predicted, qid, self._metric, sample_weight)
        number = read_queries(qid, len(predicted))
        weight = read_weights(weights_of_rows(sample_weight, number), len(predicted))
        scores = [
            ranking_score(grade, predicted[rows, t], number[rows], self._metric, weight[rows])
            for t, (_, rows, grade) in enumerate(labelled_rows(y, len(predicted)))
        ]
        return float(np.mean(scores))
