"""Queries to train on and to test on: a real set, and two synthetic ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from common.data import array_of, missing, whole
from common.options import Options

from secateur.datasets import make_ranking
from secateur.model_selection.ranking import ranking_score

REAL = "lightgbm_lambdarank"
N_PARTS = 5  # of the queries of a synthetic set, of which one tests


@dataclass(frozen=True, slots=True, eq=False)
class Queries:
    """Rows with the number of their query, sorted by it; the last ones test."""

    name: str
    X: Any
    y: Any
    query: Any
    X_test: Any
    y_test: Any
    query_test: Any

    @property
    def shape(self) -> str:
        n_queries = len(np.unique(self.query))
        return f"{self.name}, {n_queries:,} queries, {self.X.shape[0]:,} x {self.X.shape[1]:,}"

    def ndcg(self, scores: Any) -> float:
        return ranking_score(self.y_test, scores, self.query_test, "ndcg@10")


def split(name: str, X: Any, y: Any, query: Any, is_test: Any) -> Queries:
    """The rows by query, those of the test apart."""
    order = np.argsort(query, kind="stable")
    train, test = order[~is_test[order]], order[is_test[order]]
    return Queries(name, X[train], y[train], query[train], X[test], y[test], query[test])


def made(name: str, *sizes: Any) -> Queries:
    problem = make_ranking(*sizes)
    X, y, query = problem.X.astype(np.float32), problem.y, problem.query
    del problem  # which has twice the memory
    return split(name, X, y, query, query % N_PARTS == 0)


def real() -> Queries | None:
    found = whole(REAL)
    if found is None:
        return None
    X, y = found
    query, is_test = (array_of(REAL, key, None) for key in ("query", "test_mask"))
    return split("LightGBM's example", X, y.astype(np.int64), query.astype(np.int64), is_test)


def uneven(options: Options) -> Queries:
    return made("uneven", 60 if options.quick else 1_000, (3, 300), 50, 10)


def large(options: Options) -> Queries:
    return made("large", *((100, 20) if options.quick else (5_000, 100)), 500, 20)


def problems(options: Options) -> Iterator[Queries | str]:
    """The sets, or what to say where one is not there."""
    yield real() or missing(REAL)
    yield uneven(options)
    yield large(options) if options.full or options.quick else "large: with --full, 4 GB and hours"
