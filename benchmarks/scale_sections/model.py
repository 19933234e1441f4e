"""The model of what a tree costs on a cluster, held against points that it was not fitted to.

Seconds of a tree, by rows of a worker n, features d, features in use u and depth k:

    seconds = per_tree + per_row n + per_cell n (d + k u)

The three constants are fitted, none below 0, to every other point; the rest are predicted. Bytes
follow from the formula alone. What is fixed before anything is run: the points, which of them are
fitted to, and the assumptions of the forecast.
"""

from __future__ import annotations

import itertools
import statistics
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from common.measure import say
from common.options import Options
from common.table import Section, table

from scale_sections.cluster import counted
from secateur import AGBMClassifier, DaskExecutor, open_table
from secateur.storage import open_table as opening

DEPTH = 4
BINS = 255
DRAFTED = 8
"""Features beside those in use that a draft looks at."""

LOSSES_BYTES = 80_000
"""The losses that measure the objective, of all hosts together."""

ROWS = (50_000, 200_000)
FEATURES = (50, 150)
INFORMATIVE = (4, 16)
WORKERS = (1, 2)
FEW, MANY = 10, 40
"""Rounds of two fits: the difference is that of trees alone."""

LATENCY = 0.5e-3
BANDWIDTH = 1e9 / 8
CORES = 16
FORECAST = ((10**9, 10**4, 100), (10**9, 10**4, 1000), (10**8, 10**3, 10))
FAN_IN = 8
"""Assumptions of the forecast: seconds of a trip to a host and back, bytes a second of its line,
cores of a worker, which share its cells evenly; sizes; and hosts that one adds up."""


@dataclass(frozen=True, slots=True)
class Point:
    """A size, and what a tree took there."""

    rows: int
    features: int
    used: float
    workers: int
    seconds: float = 0.0
    bytes: float = 0.0
    trips: float = 0.0

    @property
    def terms(self) -> list[float]:
        """What the constants are multiplied by."""
        return [1.0, self.rows, self.rows * (self.features + DEPTH * self.used)]

    @property
    def told_bytes(self) -> float:
        """What the formula says that comes from one host, and its part of the losses."""
        bounds = (self.features - self.used) * 2**DEPTH
        histograms = 2 ** (DEPTH - 1) * (self.used + DRAFTED) * BINS
        return 8 * (bounds + histograms) + LOSSES_BYTES / self.workers


def run(options: Options) -> Section:
    section = Section("model")
    sizes = list(itertools.product(ROWS, FEATURES, INFORMATIVE, WORKERS))
    if options.quick:
        sizes = [(n // 10, d, m, w) for n, d, m, w in sizes if w == 1 or n == ROWS[0]]
    found = {size: point for w in WORKERS for size, point in _measured(sizes, w)}
    points = [found[size] for size in sizes]
    # Half of a factorial design: neighbours differ in one size only, both halves see all sizes.
    is_fitted = [place.bit_count() % 2 == 0 for place in range(len(points))]
    constants = _fit([p for p, fitted in zip(points, is_fitted, strict=True) if fitted])
    section.add(
        f"A-GBM, depth {DEPTH}, workers of one thread each: seconds of a tree by (T({MANY}) - "
        f"T({FEW})) / {MANY - FEW} rounds. Constants fitted to every other point: "
        f"{1e3 * constants[0]:.2f} ms a tree, {1e9 * constants[1]:.2f} ns a row, "
        f"{1e9 * constants[2]:.3f} ns a cell."
    )
    section.add(_points(points, is_fitted, constants))
    section.add(_judged(points, is_fitted, constants))
    trips = statistics.mean(p.trips for p in points)
    section.add(_forecast(constants, trips))
    return section


# ---- measuring --------------------------------------------------------------------------------


Size = tuple[int, int, int, int]


def _measured(sizes: list[Size], workers: int) -> list[tuple[Size, Point]]:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        executor = DaskExecutor(client)
        found = []
        for n, d, m, w in sizes:
            if w == workers:
                say(f"{n:,} rows a worker, {d} features, {m} of use, {w} workers")
                found.append(((n, d, m, w), _point(_table(n, d, m, w, executor), n, w)))
        return found


def _table(rows: int, n_features: int, n_informative: int, workers: int, executor: Any) -> Any:
    opening.BLOCK_ROWS = rows // 2  # so that all workers have as many
    n_rows = rows * workers
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features), dtype=np.float32)
    signal = X[:, :n_informative].sum(axis=1) / np.sqrt(n_informative)
    y = signal + 0.5 * rng.standard_normal(n_rows) > 0
    return open_table(X, y.astype(np.int64), executor=executor)


def _point(stored: Any, n_rows: int, workers: int) -> Point:
    _fitted(stored, FEW)  # loads what is compiled, and reads the blocks
    few = _seconds(stored, FEW)
    many = _seconds(stored, MANY)
    with counted() as a_few:
        _fitted(stored, FEW)
    with counted() as more:
        selector = _fitted(stored, MANY)
    n = MANY - FEW
    return Point(
        n_rows,
        stored.n_features,
        float(selector.path_[-1].n_features),
        workers,
        (many - few) / n,
        (more.received - a_few.received) / n / workers,
        (more.n_trips - a_few.n_trips) / n,
    )


def _seconds(stored: Any, n_rounds: int) -> float:
    start = time.perf_counter()
    _fitted(stored, n_rounds)
    return time.perf_counter() - start


def _fitted(stored: Any, n_rounds: int) -> Any:
    params = {"penalty": 0.001, "max_iter": n_rounds, "max_depth": DEPTH, "random_state": 0}
    return AGBMClassifier(early_stopping=False, **params).fit(stored)


# ---- the model --------------------------------------------------------------------------------


def _fit(points: list[Point]) -> list[float]:
    """Constants of least squares of the relative errors, none below 0."""
    from scipy.optimize import nnls

    terms = np.array([p.terms for p in points])
    seconds = np.array([p.seconds for p in points])
    scale = terms.max(axis=0)
    found, _ = nnls(terms / scale / seconds[:, None], np.ones(len(points)))
    return [float(value) for value in found / scale]


def _said(constants: list[float], point: Point) -> float:
    return sum(c * term for c, term in zip(constants, point.terms, strict=True))


def _points(points: list[Point], is_fitted: list[bool], constants: list[float]) -> str:
    rows = [
        [
            f"{p.rows:,}",
            p.features,
            f"{p.used:g}",
            p.workers,
            "fitted" if fitted else "predicted",
            1e3 * p.seconds,
            _said(constants, p) / p.seconds,
            p.bytes / 1e3,
            p.told_bytes / p.bytes,
        ]
        for p, fitted in zip(points, is_fitted, strict=True)
    ]
    header = ["rows a worker", "features", "in use", "workers", "", "ms a tree", "model/measured"]
    return table([*header, "kB a host", "formula/measured"], rows)


def _judged(points: list[Point], is_fitted: list[bool], constants: list[float]) -> str:
    unseen = [p for p, fitted in zip(points, is_fitted, strict=True) if not fitted]
    seconds = sorted(_said(constants, p) / p.seconds for p in unseen)
    size = sorted(p.told_bytes / p.bytes for p in unseen)
    return (
        f"Predicted over measured at the {len(unseen)} points that were not fitted to: seconds "
        f"{seconds[0]:.2f} to {seconds[-1]:.2f}, median {statistics.median(seconds):.2f}; bytes "
        f"{size[0]:.2f} to {size[-1]:.2f}, median {statistics.median(size):.2f}."
    )


def _forecast(constants: list[float], trips: float) -> str:
    """What the model says of sizes that nobody measured."""
    rows = []
    for n_rows, features, workers in (
        (10**9, 10**4, 100),
        (10**9, 10**4, 1000),
        (10**8, 10**3, 10),
    ):
        point = Point(n_rows // workers, features, 50.0, workers)
        work = (constants[1] * point.terms[1] + constants[2] * point.terms[2]) / CORES
        levels = 1 + int(np.ceil(np.log(workers) / np.log(FAN_IN)))
        # A host that adds up others gets the answers of all of them through its line.
        travel = FAN_IN * levels * point.told_bytes / BANDWIDTH
        waiting = constants[0] + trips * levels * LATENCY
        params = [f"{n_rows:,} x {features:,}", workers, work, travel, waiting]
        rows.append([*params, work + travel + waiting])
    header = ["size", "workers", "computing, s", "travel, s", "waiting, s", "a tree, s"]
    return (
        f"A forecast, not a measurement, with 50 features in use: {CORES} cores a worker that "
        f"share its cells evenly, {LATENCY * 1e3:g} ms a trip, {BANDWIDTH * 8 / 1e9:g} Gbit/s, "
        f"{FAN_IN} hosts added up by one, {trips:.0f} trips a tree.\n\n" + table(header, rows)
    )
