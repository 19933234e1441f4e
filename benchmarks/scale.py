"""Benchmark boosted trees on tables larger than memory, and on a cluster.

    ./dev bench scale                 everything, as tables on the console
    ./dev bench scale --quick         small sizes, to see that it runs
    ./dev bench scale --only dask     one section; may be given several times
    ./dev bench scale --write         put the tables into docs/benchmarks/scale.md

Each method of the large case has a process of its own, so that peaks of memory are its own.
"""

from __future__ import annotations

from collections.abc import Callable

from common.command import benchmark
from common.options import Options
from common.page import DOCS
from common.table import Section
from scale_sections import cluster, large, model

SECTIONS: dict[str, Callable[[Options], Section]] = {
    "large": large.run,
    "dask": cluster.run,
    "model": model.run,
}

if __name__ == "__main__":
    benchmark(
        "scale",
        SECTIONS,
        "Benchmark boosted trees on tables larger than memory, and on a cluster.",
        DOCS / "benchmarks" / "scale.md",
    )
