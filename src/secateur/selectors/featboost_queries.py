"""Forward selection by metrics of queries: the scorer of its folds, and ``fit`` with ``qid``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from secateur.data.frames import check_length
from secateur.data.table import Fold
from secateur.data.target import read_target
from secateur.data.tasks import check_pairs, check_whole, read_queries, weights_of_rows
from secateur.exceptions import ParameterError
from secateur.losses.ranking import Queries
from secateur.model_selection.ranking import query_metric
from secateur.selectors.base import PathSelector
from secateur.selectors.parameters import with_parameters_of
from secateur.typing import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class QueryScorer:
    """A metric of queries, as ``query_metric`` gives it, with the number of each row's query."""

    name: str
    values: Callable[[Queries, FloatArray], FloatArray]
    number: IntArray

    @classmethod
    def read(cls, scoring: Any, qid: Any, y: Any) -> QueryScorer:
        """The metric that a user asks for; y must be grades."""
        found = query_metric("ndcg@10" if scoring is None else scoring)
        if found is None:
            raise ParameterError(
                f"'scoring' must be a metric of queries where 'qid' is given. Got {scoring!r}. "
                "Use 'ndcg@10', 'map@10' or 'mrr', or leave out 'qid'."
            )
        number = read_queries(qid)
        check_length(len(number), len(read_target(y, target_type="ranking").values), "qid")
        return cls(*found, number)

    def take(self, rows: IntArray) -> QueryScorer:
        """The same of some rows."""
        return replace(self, number=self.number[rows])

    def score(
        self, rows: IntArray, prediction: FloatArray, grade: FloatArray, weight: FloatArray
    ) -> float:
        """The mean over the queries of some rows, each with the mean weight of its rows."""
        queries = Queries.of(self.number[rows], np.asarray(grade, np.float64))
        values = self.values(queries, np.asarray(prediction, np.float64))
        return float(np.average(values, weights=queries.weights(weight)))


class ScoresQueries(PathSelector):
    """A forward selection whose ``fit`` takes ``qid``."""

    @with_parameters_of(PathSelector.fit)
    def fit(  # type: ignore[override]  # explicit arguments
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        qid: Any = None,
    ) -> Any:
        """Search the path of selections and choose a step.

        Parameters
        ----------
        qid : array or series of shape (n_rows,), optional
            The query of each row, for ``scoring`` "ndcg@10" (then the default), "map@10" or "mrr":
            y are grades from 0 to 30, and folds never split a query.
        """
        return self._fit(X, y, sample_weight, groups, qid=qid)

    def _problem(self, X: Any, y: Any, sample_weight: Any, qid: Any = None) -> Any:
        if qid is None:
            return super()._problem(X, y, sample_weight)
        queries = QueryScorer.read(self.scoring, qid, y)
        weight = weights_of_rows(sample_weight, queries.number)
        given: Any = super()._problem(X, y, weight, queries)
        scorer = queries.take(given.kept)
        check_pairs(scorer.number, given.problem.target.values)
        return replace(given, groups=queries.number, scorer=scorer)

    def _folds(self, given: Any) -> list[Fold]:
        folds = super()._folds(given)
        if isinstance(given.scorer, QueryScorer):
            check_whole(folds, given.scorer.number)
        return folds
