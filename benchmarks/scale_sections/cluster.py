"""Two workers of one thread each beside one process of two threads; and what travels."""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from common.measure import N_THREADS, say
from common.options import Options
from common.table import Section, table

from secateur import AGBMClassifier, DaskExecutor, open_table
from secateur.engines.boosted import lazy
from secateur.execution import dask_rows as far


@dataclass(slots=True)
class Traffic:
    """Trips and bytes of orders and answers, as they are pickled."""

    n_trips: int = 0
    sent: int = 0
    received: int = 0


@contextmanager
def counted() -> Iterator[Traffic]:
    """Count what goes from the client to its hosts and back."""
    traffic = Traffic()
    joined, send = far.joined, far.DaskRowStore.send

    def count_order(place: Any, order: Any) -> Any:
        traffic.n_trips += 1
        traffic.sent += len(pickle.dumps(order, 5)) * len(place.actors)
        return send(place, order)

    far.joined = lambda verb, answers: _noted(traffic, joined, verb, answers)
    far.DaskRowStore.send = count_order
    try:
        yield traffic
    finally:
        far.joined, far.DaskRowStore.send = joined, send


def _noted(traffic: Traffic, joined: Any, verb: str, answers: Any) -> Any:
    traffic.received += sum(len(pickle.dumps(answer, 5)) for answer in answers)
    return joined(verb, answers)


def run(options: Options) -> Section:
    from distributed import Client, LocalCluster

    section = Section("dask")
    n_rows, n_features = (60_000, 50) if options.quick else (1_000_000, 100)
    n_rounds = 10 if options.quick else 100
    say("making the table")
    stored = _table(n_rows, n_features)
    section.add(
        f"{n_rows:,} x {n_features}, {n_rounds} trees of depth 4, A-GBM at a penalty of 0.0005: "
        f"one process of {N_THREADS} threads, and {N_THREADS} workers of one thread."
    )
    params = {"max_iter": n_rounds, "n_jobs": N_THREADS, "penalty": 0.0005, "random_state": 0}
    with (
        LocalCluster(
            n_workers=N_THREADS, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        there = open_table(stored.folder, executor=DaskExecutor(client))
        home, away = [], []
        for _ in range(options.repeats + 1):  # the first loads what is compiled
            home.append(_seconds(params, open_table(stored.folder)))
            away.append(_seconds(params, there))
        ratio = min(away[1:]) / min(home[1:])
        section.add(table(["", "s"], [["one process", min(home[1:])], ["dask", min(away[1:])]]))
        section.add(_travels(params, there, n_rounds))
    section.aim("dask over one process", ratio, 1.25)
    return section


def _table(n_rows: int, n_features: int) -> Any:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features), dtype=np.float32)
    noise = rng.standard_normal(n_rows)
    y = X[:, 3] + X[:, 7] * X[:, 1] + 0.5 * X[:, 9] + noise > 0
    return open_table(X, y.astype(np.int64))


def _seconds(params: dict[str, Any], stored: Any) -> float:
    start = time.perf_counter()
    AGBMClassifier(early_stopping=False, **params).fit(stored)
    return time.perf_counter() - start


def _travels(params: dict[str, Any], there: Any, n_rounds: int) -> str:
    """Bytes of a tree: with drafts and bounds, with drafts alone, and with a full search."""
    rows = []
    plain_bounds, worth = lazy.LazySearch.still_open, lazy.LazySearch.is_worth_it
    ways = {
        "drafts, confirmed by bounds": (plain_bounds, worth),
        "drafts, confirmed by histograms": (
            lambda _, features, *__: np.ones(len(features), np.bool_),
            worth,
        ),
        "every feature in every node": (plain_bounds, lambda *_: False),
    }
    for name, (is_open, is_worth_it) in ways.items():
        lazy.LazySearch.still_open, lazy.LazySearch.is_worth_it = is_open, is_worth_it
        with counted() as traffic:
            _seconds(params, there)
        rows.append(
            [
                name,
                traffic.n_trips / n_rounds,
                traffic.sent / n_rounds / 1e3,
                traffic.received / n_rounds / 1e3,
            ]
        )
    lazy.LazySearch.still_open, lazy.LazySearch.is_worth_it = plain_bounds, worth
    header = ["search", "trips a tree", "kB to workers", "kB from workers"]
    return table(header, rows)
