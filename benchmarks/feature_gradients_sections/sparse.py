"""A million sparse columns: time per stored cell against a dense cell, and memory."""

from __future__ import annotations

from common.measure import N_THREADS, say
from common.options import Options
from common.spawn import spawn
from common.table import Section, table

from feature_gradients_sections.common import Epoch, dense_columns, seconds, sparse_columns
from secateur._kernels.threads import Threads

ORDER = 4
TIME_LIMIT = 8.0
MEMORY_LIMIT = 1.0


def run(options: Options) -> Section:
    section = Section("sparse")
    n_rows, n_features = (5_000, 50_000) if options.quick else (100_000, 1_000_000)
    rows = []
    with Threads(N_THREADS) as threads:
        dense = Epoch(dense_columns(4_000, 5_000), 4_000, ORDER, threads)
        dense.run()
        cell = min(seconds(dense.run) for _ in range(3)) / (4_000 * 5_000)
        rows.append(["dense, 4,000 x 5,000", cell * 1e9, 1.0])
        for width in (n_features // 100, n_features):
            say(f"{n_rows:,} x {width:,}")
            epoch = Epoch(sparse_columns(n_rows, width, 100), n_rows, ORDER, threads)
            epoch.run()
            stored = min(seconds(epoch.run) for _ in range(2)) / (n_rows * 100)
            rows.append([f"sparse, {n_rows:,} x {width:,}", stored * 1e9, stored / cell])
            section.aim(
                f"time per non-zero of {width:,} columns, in dense cells", stored / cell, TIME_LIMIT
            )
    say("one epoch of the selector")
    child = spawn("gradients_memory", n_rows, n_features)
    section.add(
        f"Order {ORDER}, batches of 1,000, 100 non-zeros a row in columns drawn at random, the "
        f"worst case for the cache; {N_THREADS} threads. Value and gradient of all batches once.",
        table(["", "ns per cell", "in dense cells"], rows),
        f"`FeatureGradientsSelector(penalty=1, max_epochs=1).fit(X, y)` on the last table, in a "
        f"process of its own: {child['seconds']:.1f} s in all, of which {child['epoch']:.1f} s are "
        f"the epoch; {child['beyond'] / 2**30:.2f} GiB beyond the input.",
    )
    section.aim("peak memory beyond the input, GiB", child["beyond"] / 2**30, MEMORY_LIMIT)
    return section
