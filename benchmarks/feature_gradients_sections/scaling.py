"""Time against rows, features and order: is it linear?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from common.measure import N_THREADS, say
from common.options import Options
from common.table import Section, table

from feature_gradients_sections.common import Epoch, dense_columns, seconds
from secateur._kernels.threads import Threads

PICTURE = "feature_gradients_scaling.png"
LIMIT = 1.15
"""The exponent of a straight line is 1; caches and fixed costs may move it a little."""

Size = tuple[int, int, int]


def axes(options: Options) -> dict[str, list[Size]]:
    if options.quick:
        return {"rows": [(1_000, 200, 4), (2_000, 200, 4)]}
    return {
        "rows": [(n, 2_000, 4) for n in (2_000, 4_000, 8_000, 16_000)],
        "features": [(4_000, d, 4) for d in (1_000, 2_000, 4_000, 8_000)],
        "order": [(4_000, 2_000, k) for k in (1, 2, 4, 6)],
    }


def run(options: Options) -> Section:
    section = Section("scaling")
    found: dict[str, list[float]] = {}
    rows = []
    grown = {"rows": 0, "features": 1, "order": 2}
    with Threads(N_THREADS) as threads:
        for axis, sizes in axes(options).items():
            found[axis] = [_best(size, threads, options) for size in sizes]
            along = [size[grown[axis]] for size in sizes]
            slope = float(np.polyfit(np.log(along), np.log(found[axis]), 1)[0])
            for size, value in zip(sizes, found[axis], strict=True):
                cells = size[0] * size[1]
                rows.append(
                    [axis, "{:,} x {:,}, order {}".format(*size), value, value / cells * 1e9]
                )
            rows.append([axis, "exponent", slope, None])
            section.aim(f"growth with {axis}: exponent of the seconds of an epoch", slope, LIMIT)
    if not options.quick:
        _draw(axes(options), grown, found)
    section.add(
        "One epoch of value and gradient, dense, batches of 1,000. An exponent of 1 is linear "
        "growth; less is better.",
        table(["more", "", "seconds", "ns per cell"], rows),
        f"![time against rows, features and order]({PICTURE})",
    )
    return section


def _best(size: Size, threads: Threads, options: Options) -> float:
    n_rows, n_features, order = size
    say(f"{n_rows:,} x {n_features:,}, order {order}")
    epoch = Epoch(dense_columns(n_rows, n_features), n_rows, order, threads)
    epoch.run()
    return min(seconds(epoch.run) for _ in range(1 + 2 * options.repeats))


def _draw(
    axes: dict[str, list[Size]], grown: dict[str, int], found: dict[str, Sequence[float]]
) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(1, len(axes), figsize=(9, 2.8), layout="constrained")
    for panel, (axis, sizes) in zip(panels, axes.items(), strict=True):
        along = [size[grown[axis]] for size in sizes]
        panel.plot(along, found[axis], "o-", color="tab:green")
        panel.plot([0, along[-1]], [0, found[axis][-1]], ":", color="grey")
        panel.set(xlabel=axis, xlim=(0, None), ylim=(0, None))
    panels[0].set_ylabel("seconds an epoch")
    folder = Path(__file__).resolve().parents[2] / "docs" / "benchmarks"
    figure.savefig(folder / PICTURE, dpi=90)
