"""Queries to train on and to test on: a real set, and two synthetic ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from common.data import array_of, missing, whole
from common.options import Options

from secateur.datasets import make_ranking
from secateur.losses.ranking import Queries as ByQuery

REAL = "lightgbm_lambdarank"
N_PARTS = 5  # of the queries of a synthetic set, of which one tests
N_DRAWS = 5  # of the uneven set: one has too few test queries to tell subsets apart
LARGE = "large: with --full, it takes 5 GB"


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

    def ndcg(self, scores: Any) -> Any:
        """NDCG@10 of each test query."""
        return ByQuery.of(self.query_test, self.y_test.astype(float)).ndcg(scores, 10)


@dataclass(frozen=True, slots=True)
class Problem:
    """A set, or several draws of it by number."""

    name: str
    sizes: tuple[Any, ...]  # of ``make_ranking``; none for the real set
    n_draws: int = 1
    is_large: bool = False

    def draws(self) -> Iterator[Queries]:
        """The draws, made when they are asked for."""
        for seed in range(self.n_draws):
            yield _made(self.name, *self.sizes, seed) if self.sizes else _real(self.name)

    def shape(self, draw: Queries) -> str:
        """What it is, for a table, by one of its draws."""
        n_queries, (n_rows, n_features) = len(np.unique(draw.query)), draw.X.shape
        text = f"{self.name}, {n_queries:,} queries, {n_rows:,} x {n_features:,}"
        return text if self.n_draws == 1 else f"{text}, {self.n_draws} draws"


def _split(name: str, X: Any, y: Any, query: Any, is_test: Any) -> Queries:
    """The rows by query, those of the test apart."""
    order = np.argsort(query, kind="stable")
    train, test = order[~is_test[order]], order[is_test[order]]
    return Queries(name, X[train], y[train], query[train], X[test], y[test], query[test])


def _made(name: str, *sizes: Any) -> Queries:
    problem = make_ranking(*sizes)
    X, y, query = problem.X.astype(np.float32), problem.y, problem.query
    del problem  # which has twice the memory
    return _split(f"{name} {sizes[-1]}", X, y, query, query % N_PARTS == 0)


def _real(name: str) -> Queries:
    found = whole(REAL)
    assert found is not None  # it was asked for before
    X, y = found
    query, is_test = (array_of(REAL, key, None) for key in ("query", "test_mask"))
    return _split(name, X, y.astype(np.int64), query.astype(np.int64), is_test)


def small(options: Options) -> Iterator[Problem | str]:
    """The real set and the uneven one, or what to say where one is not there."""
    yield Problem("LightGBM's example", ()) if whole(REAL) else missing(REAL)
    n_queries, n_draws = (60, 1) if options.quick else (1_000, N_DRAWS)
    yield Problem("uneven", (n_queries, (3, 300), 50, 10), n_draws)


def large(options: Options) -> Iterator[Problem | str]:
    """The large set, where it is asked for."""
    sizes = (100, 20) if options.quick else (5_000, 100)
    problem = Problem("large", (*sizes, 500, 20), is_large=True)
    yield problem if options.full or options.quick else LARGE
