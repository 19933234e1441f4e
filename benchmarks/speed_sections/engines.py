"""Whole searches of the other engines: FeatBoost, Grafting with networks, Feature Gradients."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from common.data import missing, whole
from common.measure import N_THREADS, say
from common.options import Options
from common.table import Section, table
from sklearn.linear_model import SGDClassifier

from secateur import FeatBoostClassifier, GraftingClassifier
from secateur._kernels.threads import Threads
from secateur.data.costs import as_costs
from secateur.data.frames import read_table
from secateur.data.table import Problem
from secateur.data.target import read_target
from secateur.datasets.synthetic import make_grafting_a, make_grafting_b
from secateur.engines.feature_gradients.batches import SearchParams, make_batches
from secateur.engines.feature_gradients.search import search

ORDER = 4
FORWARD_LIMIT, NETWORK_LIMIT, EPOCH_LIMIT = 10.0, 4.0, float(ORDER)


def _timed(run: Callable[[], Any], repeats: int) -> tuple[float, float, Any]:
    """The least CPU and wall seconds of some runs, and the last result."""
    cpu, wall, found = [], [], None
    for _ in range(repeats):
        start = time.process_time(), time.perf_counter()
        found = run()
        cpu.append(time.process_time() - start[0])
        wall.append(time.perf_counter() - start[1])
    return min(cpu), min(wall), found


def forward(options: Options) -> Section:
    """Twenty features of COIL20 by FeatBoost."""
    section, found = Section("forward"), whole("COIL20")
    if found is None:
        section.skip(missing("COIL20"))
        return section
    X, y = found
    n = 3 if options.quick else 20
    # features that do not improve the score enter too, so that there are as many as asked for
    selector = FeatBoostClassifier(max_features=n, epsilon=-1.0, random_state=0, n_jobs=N_THREADS)
    FeatBoostClassifier(max_features=1, n_jobs=N_THREADS).fit(X, y)  # compile
    cpu, wall, _ = _timed(lambda: selector.fit(X, y), options.repeats)
    shape = "{:,} x {:,}".format(*X.shape)
    rows = [[shape, int(selector.support_.sum()), cpu, wall, FORWARD_LIMIT]]
    section.add("`FeatBoostClassifier(max_features=20, epsilon=-1)` on COIL20.")
    section.add(table(["", "features", "CPU s", "s", "CPU wanted"], rows))
    section.aim("FeatBoost, COIL20, CPU s", cpu, FORWARD_LIMIT)
    return section


def networks(options: Options) -> Section:
    """The whole search of grafting with a network on two problems of the paper."""
    section, rows = Section("networks"), []
    for name, make in (("A", make_grafting_a), ("B", make_grafting_b)):
        say(f"problem {name}")
        made = make(300 if options.quick else 1000)
        selector = GraftingClassifier(model="mlp", random_state=0, n_jobs=N_THREADS)
        cpu, wall, _ = _timed(partial(selector.fit, made.X, made.y), options.repeats)
        right = int(np.isin(made.relevant, np.flatnonzero(selector.support_)).sum())
        kept = f"{right} of {len(made.relevant)}, and {int(selector.support_.sum()) - right}"
        rows.append([name, kept, cpu, wall, NETWORK_LIMIT])
        section.aim(f"problem {name}: whole search, s", wall, NETWORK_LIMIT)
    section.add(
        '`GraftingClassifier(model="mlp").fit(X, y)`, 1,000 x 100: penalty and folds included.',
        table(["problem", "relevant, and other features", "CPU s", "s", "s wanted"], rows),
    )
    return section


def epoch(options: Options) -> Section:
    """One epoch on a wide sparse table against one of scikit-learn's gradient descent."""
    section, rng = Section("epoch"), np.random.default_rng(0)
    n, d = (5_000, 50_000) if options.quick else (100_000, 1_000_000)
    indices = np.sort(rng.integers(0, d, (n, 100), dtype=np.int32), axis=1).ravel()
    cells = (
        np.abs(rng.standard_normal(indices.size)),
        indices,
        np.arange(0, n * 100 + 1, 100, np.int32),
    )
    X = sp.csr_array(cells, shape=(n, d))
    X.sum_duplicates()
    y = rng.integers(0, 2, n)
    table_, target = read_table(X), read_target(y, target_type="classification")
    plain = as_costs(None, None, None).bind(table_.names)
    problem = Problem(table_, target, np.ones(n), plain, "classification")
    params = SearchParams("classification", order=ORDER, n_epochs=1)
    rivals = SGDClassifier(loss="log_loss")
    with Threads(N_THREADS) as threads:
        batches = make_batches(problem, params, threads)
        ours: Callable[[], Any] = lambda: list(search(batches, params, 1.0))  # noqa: E731
        theirs: Callable[[], Any] = lambda: rivals.partial_fit(X, y, classes=[0, 1])  # noqa: E731
        ours()  # compile
        pairs = [(_timed(ours, 1), _timed(theirs, 1)) for _ in range(options.repeats + 2)]
    cpu, wall = (min(pair[0][k] for pair in pairs) for k in (0, 1))
    sgd, sgd_wall = (min(pair[1][k] for pair in pairs) for k in (0, 1))
    rows = [["Feature Gradients", cpu, wall], ["SGDClassifier", sgd, sgd_wall]]
    section.add(
        f"One epoch of each on {n:,} x {d:,} with 100 cells a row; order {ORDER}, batches of "
        f"1,000, an update after each. Ratio of CPU times {cpu / sgd:.2f}.",
        table(["", "CPU s", "s"], rows),
    )
    section.aim("epoch / SGDClassifier, CPU", cpu / sgd, EPOCH_LIMIT)
    return section
