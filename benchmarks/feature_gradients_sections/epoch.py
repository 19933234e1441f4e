"""One epoch of value and gradient, against Proposition 2.1 in plain numpy."""

from __future__ import annotations

import time

import numpy as np
from adapters.numpy_feature_gradients import value_and_gradient
from common.measure import N_THREADS, say
from common.options import Options
from common.table import Section, table

from feature_gradients_sections.common import Epoch, dense_columns, seconds
from secateur._kernels.threads import Threads

LIMIT = 0.03
ORDER = 4


def run(options: Options) -> Section:
    section = Section("epoch")
    n_rows, n_features = (2_000, 500) if options.quick else (6_000, 5_000)
    columns = dense_columns(n_rows, n_features)
    X = columns.rows[0]
    s = np.full(n_features, 0.5)
    with Threads(N_THREADS) as threads, Threads(1) as alone:
        ours = Epoch(columns, n_rows, ORDER, threads)
        single = Epoch(columns, n_rows, ORDER, alone)
        found = ours.run()
        times: dict[str, list[float]] = {"secateur": [], "one": [], "float64": [], "float32": []}
        tables = {"float64": X.astype(np.float64) / np.sqrt(3.0), "float32": X / np.float32(3**0.5)}
        for turn in range(options.repeats):
            times["secateur"] += [seconds(ours.run) for _ in range(3)]
            times["one"] += [seconds(single.run)]
            for kind, rows in tables.items():
                say(f"turn {turn}, numpy in {kind}")
                # one batch is enough: an epoch is that many times the same
                batch = ours.batches[0]
                part, y = rows[batch.rows], batch.y[0].astype(rows.dtype)
                inclusion = s.astype(rows.dtype)
                start = time.perf_counter()
                value, _ = value_and_gradient(part, y, inclusion, ORDER)
                once = time.perf_counter() - start
                times[kind].append(once * len(ours.batches))
                assert abs(value - found[0]) < 1e-3 * max(1.0, abs(found[0]))
    best = {name: min(value) for name, value in times.items()}
    rival = min(best["float64"], best["float32"])
    section.add(
        f"{n_rows:,} x {n_features:,}, order {ORDER}, batches of 1,000: value and gradient of all "
        f"batches once. numpy is timed on one batch and multiplied by {len(ours.batches)}; the "
        "faster of its two types is the rival.",
        table(
            ["", "seconds an epoch", "ns per cell", "ratio to numpy"],
            [
                [name, best[key], best[key] / (n_rows * n_features) * 1e9, best[key] / rival]
                for name, key in (
                    (f"secateur, {N_THREADS} threads", "secateur"),
                    ("secateur, 1 thread", "one"),
                    ("numpy, float64", "float64"),
                    ("numpy, float32", "float32"),
                )
            ],
        ),
    )
    section.aim("one epoch, as a share of numpy's", best["secateur"] / rival, LIMIT)
    return section
